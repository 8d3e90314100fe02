"""A party that tells its neighbours different things, where all that they hear of each other comes through it: honest
parties have one answer, or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.among_liars import Company, company, leave, run
from runtime.trial import prepare

import sottovoce as sv
from sottovoce.runtime.protocol.frames import Body, Snapshot, Value

LAST = {"averaging": 0, "mean": 1}  # agreements before the last one


def shifted(r: np.ndarray, n: int, receiver: str) -> np.ndarray:
    """What the liar tells a party: half of them hear more, half hear less, in one number. To those at the ends of a star
    the answer looks larger or smaller by ``1 / n``; of a statistic that is a unit in the last place of a sum."""
    return r + (4 if int(receiver[1:]) % 2 else -4) / n * (np.arange(len(r)) == len(r) - len(r) // 4)


def two_faced(liar: str, n: int, stage: int) -> Any:
    """It keeps to the protocol otherwise, and to what it told everybody."""

    def lie(sender: str, receiver: str, body: Body) -> list[Body]:
        if sender == liar and isinstance(body, Value | Snapshot) and body.stage == stage:
            return [body._replace(data=shifted(body.data, n, receiver))]
        return [body]

    return lie


async def play(made: Company, honest: list[str]) -> dict[str, Any]:
    made.start()
    try:
        return await made.ends(*honest)
    finally:
        await leave(made)


def answers(made: Company, honest: list[str]) -> set[str]:
    """Those that honest parties have written down."""
    told = [json.loads(made.configs[name].result.read_text()) for name in honest if made.configs[name].result.exists()]
    return {json.dumps(result["answer"]) for result in told}


def among(folder: Path, n: int, kind: str, liar: str) -> tuple[Company, list[str], dict[str, Any]]:
    with company(prepare(folder, sv.Network.complete(n), kind, overlay="tree"), two_faced(liar, n, LAST[kind])) as made:
        honest = [name for name in made.configs if name != liar]
        return made, honest, run(play(made, honest))


@pytest.mark.parametrize("kind", LAST)
@pytest.mark.parametrize("n", [4, 5])
def test_a_liar_on_every_way_between_the_others(tmp_path, n, kind):
    """The network is complete, the overlay a star around the liar. Without signatures of the answer all others ended
    with status 0, and with two answers."""
    made, honest, ends = among(tmp_path, n, kind, "p0")
    assert made.configs["p1"].route.root == 0
    assert len(answers(made, honest)) <= 1
    assert all(isinstance(end, Exception) for end in ends.values()), ends
