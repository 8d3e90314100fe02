"""A party that has learned that there is no way to an answer: it says so, and does nothing else."""

from __future__ import annotations

import asyncio
import shutil

from runtime.leavers import Stage
from runtime.trial import journal_of

import sottovoce as sv


def test_what_is_on_the_disk_of_a_party_that_forgot_stays_as_it_is(tmp_path):
    """Otherwise it would seem to have said more than it knows of, and would not be recognised when it starts again."""
    name, kept = "p2", tmp_path / "copy"
    rows: list[dict[str, bytes | None]] = []

    def look(stage: Stage) -> None:
        with journal_of(stage.configs[name]) as journal:
            rows.append({row: journal.get(row) for row in journal.under("spent/", "answer/", "stage/")})

    async def plot(stage: Stage) -> None:
        journal = stage.configs[name].journal
        stage.start()
        await stage.until(lambda: stage.heard(name) == 1)
        await stage.kill(name)
        shutil.copy(journal, kept)
        stage.start(name)
        await stage.until(lambda: stage.heard(name) == 2)
        await stage.kill(name)
        shutil.copy(kept, journal)
        look(stage)
        await stage.kill("p1")  # which is waited for, to be told
        stage.start(name)
        ended = await asyncio.gather(*stage.tasks.values(), return_exceptions=True)
        assert "than its journal knows of" in str(ended[list(stage.tasks).index(name)])
        look(stage)

    stage = Stage(tmp_path / "run", sv.Network.ring(4))
    assert stage.play(plot) == {}
    assert rows[0] == rows[1]
