"""All parties at once are struck, and come back: right answers, whatever they were at. In virtual time.

What only the order of events decides is searched exhaustively (``test_explored.py``); here are whole parties, with their
journals, several agreements, and times that chance draws."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from runtime.among_liars import Company, company, leave, run
from runtime.trial import ACCURACY, prepare

import sottovoce as sv
from sottovoce.runtime.transport.in_memory import Hub

SOON = 60.0  # virtual seconds after a cut in which all have ended, at the very latest; it takes some


def chance_of(seed: int) -> random.Random:
    return random.Random(f"power {seed}")


def a_tree(seed: int) -> sv.Network:
    """Of four to six parties; long ones are the rule, as what lies two edges away matters."""
    chance = chance_of(seed)
    n = chance.randint(4, 6)
    return sv.Network.from_edges(n, [(max(0, i - chance.choice([1, 1, 2])), i) for i in range(1, n)])


async def struck(made: Company, *names: str) -> None:
    """A crash of all of these at one moment."""
    for name in names:
        made.hub.kill(name)
        made.agents[name].save = lambda: None
        made.tasks[name].cancel()
    await asyncio.gather(*(made.tasks[name] for name in names), return_exceptions=True)


async def cut(made: Company, seed: int) -> dict[str, int]:
    """One party is away first, or none; then all are struck, and come back."""
    chance = chance_of(seed)
    names = sorted(made.configs)
    made.start()
    away = [chance.choice(names)] if chance.random() < 0.7 else []
    await asyncio.sleep(0.3 + chance.uniform(0.0, 0.4))
    await struck(made, *away)
    await asyncio.sleep(chance.uniform(0.0, 0.6))
    there = [name for name in names if name not in away and not made.tasks[name].done()]
    await struck(made, *there)
    made.start(*there, *away)
    try:
        return await made.ends(seconds=SOON)
    finally:
        await leave(made)


def play(folder: Path, seed: int, kind: str) -> Company:
    def late(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        """Each way of each link takes its own time, and keeps the order."""
        return [(random.Random(f"{seed} {sender} {receiver}").expovariate(10.0), frame)]

    with company(prepare(folder, a_tree(seed), kind, overlay="tree")) as made:
        made.hub = Hub(late)
        ends = run(cut(made, seed))
        assert ends == dict.fromkeys(made.configs, 0)
    return made


# With parties that sleep once they have accepted, the first three never ended.
@pytest.mark.parametrize(
    ("seed", "kind"), [(20, "mean"), (29, "averaging"), (31, "averaging"), (0, "mean"), (1, "averaging")]
)
def test_all_at_once(tmp_path, seed, kind):
    made = play(tmp_path, seed, kind)
    errors = made.errors()
    assert set(errors) == set(made.configs)
    assert max(errors.values()) <= ACCURACY
