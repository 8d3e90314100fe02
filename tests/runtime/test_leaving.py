"""A party leaves for good: the others go on without it, or stand in for it, or end with a sentence; never silently, and
never with a wrong answer."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from runtime.leavers import Stage
from runtime.trial import ACCURACY

import sottovoce as sv
from sottovoce.runtime.leaving import Departed

RING = sv.Network.ring(4)
HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (3, 4)])


def check(stage: Stage, results: dict[str, Any], leaver: str, how: str) -> None:
    rest = [name for name in stage.configs if name != leaver]
    assert sorted(results) == rest, stage.refused
    without = [leaver] if how == "dropped" else []
    for name in rest:
        result = results[name]
        np.testing.assert_allclose(result["answer"]["mean"], stage.mean(*without), rtol=0, atol=ACCURACY)
        assert result["covers"] == [other for other in stage.configs if other not in without]
        assert [entry["party"] for entry in result["left"]] == [leaver]
        assert result["left"][0]["how"] == how
        assert result["left"][0]["answer"] == ("without its rows" if without else "with its rows")


@pytest.mark.parametrize("network", [RING, HOUSE], ids=["ring", "house"])
def test_one_that_never_came_is_dropped(tmp_path, network):
    async def plot(stage: Stage) -> None:
        rest = [name for name in stage.configs if name != "p2"]
        stage.start(*rest)
        await asyncio.sleep(3.0)
        for name in rest:
            stage.drop("p2", name)
            await asyncio.sleep(0.3)

    stage = Stage(tmp_path, network)
    check(stage, stage.play(plot), "p2", "dropped")


@pytest.mark.parametrize(("network", "after"), [(RING, 0.0), (HOUSE, 0.03), (RING, 0.1)])
def test_one_that_leaves_in_the_last_stage_is_adopted(tmp_path, network, after):
    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: stage.heard("p2") == 2)
        await asyncio.sleep(after)
        await stage.kill("p2")
        for name in stage.tasks:
            stage.drop("p2", name)
            await asyncio.sleep(0.3)

    stage = Stage(tmp_path, network)
    check(stage, stage.play(plot), "p2", "adopted")


def test_one_that_leaves_too_early_ends_the_run(tmp_path):
    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: stage.heard("p2") == 1)
        await stage.kill("p2")
        stage.drop("p2", *stage.tasks)

    stage = Stage(tmp_path, RING)
    assert stage.play(plot) == {}
    for error in stage.refused.values():
        assert isinstance(error, Departed)
        assert "p2 has left for good, after it had brought its numbers to 1 of 2 stages" in str(error)
        assert "discloses what p2 brought" in str(error)
