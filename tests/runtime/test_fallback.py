"""A link on the route stays dead while both its parties live: all go on over the whole network, with the right answer
and a word about it; nothing else does that, and nobody can do it to others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pytest
from runtime.leavers import Stage
from runtime.trial import ACCURACY

import sottovoce as sv
from sottovoce.runtime.agent import Agent

SCHEMA = json.loads((files("sottovoce.runtime") / "result.schema.json").read_text())
RING, COMPLETE = sv.Network.ring(4), sv.Network.complete(4)
AFTER = 30.0  # seconds, the default


def link_of(stage: Stage, k: int = 0) -> tuple[str, str]:
    """The ``k``-th of the tree."""
    config = stage.configs["p0"]
    i, j = config.route.edges[k]
    return config.names[i], config.names[j]


def check(stage: Stage, results: dict[str, Any], *dead: tuple[str, str]) -> None:
    """All have the right answer, and say which links were dead."""
    assert sorted(results) == sorted(stage.configs), stage.refused
    for name, result in results.items():
        jsonschema.validate(result, SCHEMA)
        np.testing.assert_allclose(result["answer"]["mean"], stage.mean(), rtol=0, atol=ACCURACY, err_msg=name)
        told = result["fallback"]
        assert ([] if told is None else told["dead"]) == sorted(map(list, dead)), name


def anybody(stage: Stage, what: Callable[[Agent], Any]) -> bool:
    return any(what(agent) for agent in stage.agents.values())


def met(stage: Stage) -> bool:
    return len(stage.agents) == stage.network.n and all(agent.met.is_set() for agent in stage.agents.values())


MOMENTS: dict[str, Callable[[Stage], bool]] = {
    "before the first value": met,
    "frozen": lambda stage: anybody(stage, lambda a: a.party.agreement is not None and a.party.agreement.epoch),
    "accepted": lambda stage: anybody(stage, lambda a: a.party.agreement is not None and a.party.agreement.accepted),
    "one stage is over": lambda stage: anybody(stage, lambda a: a.party.ended),
    "one has finished": lambda stage: anybody(stage, lambda a: a.result is not None),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_link_that_stays_dead(tmp_path, moment):
    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: met(stage) and MOMENTS[moment](stage), step=0.0005)
        stage.hub.cut(*link_of(stage))

    stage = Stage(tmp_path, RING, overlay="tree")
    results = stage.play(plot)
    fell_back = [result["fallback"] for result in results.values() if result["fallback"] is not None]
    if moment == "one has finished":  # it has nothing to say of it, and others may have heard the end just before
        for result in results.values():
            result["fallback"] = fell_back[0] if fell_back else None
    check(stage, results, *([link_of(stage)] if fell_back or moment != "one has finished" else []))


@pytest.mark.parametrize("down", [AFTER - 3, AFTER + 1, AFTER + 40])
def test_a_link_that_comes_back(tmp_path, down):
    """In time: nothing has happened. Later: nothing breaks."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: met(stage))
        stage.hub.cut(*link_of(stage))
        await asyncio.sleep(down)
        stage.hub.heal(*link_of(stage))

    stage = Stage(tmp_path, RING, overlay="tree")
    check(stage, stage.play(plot), *([link_of(stage)] if down > AFTER else []))


def test_two_links_stay_dead(tmp_path):
    """One after the other: the route changes twice."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: met(stage))
        for k in (0, 1):
            stage.hub.cut(*link_of(stage, k))
            await asyncio.sleep(0.2)

    stage = Stage(tmp_path, COMPLETE, overlay="tree")
    check(stage, stage.play(plot), link_of(stage, 0), link_of(stage, 1))


def test_a_bridge_is_waited_for(tmp_path):
    """There is no way around it. When it is back it is used, and nothing else has happened."""
    network = sv.Network.from_edges(4, [(0, 1), (1, 2), (0, 2), (2, 3)])

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: met(stage))
        stage.hub.cut("p2", "p3")
        await asyncio.sleep(3 * AFTER)
        assert {by for by, _ in stage.agents["p3"].fallback.lost.statements} == {"p3"}
        assert all(agent.result is None for agent in stage.agents.values())
        stage.hub.heal("p2", "p3")

    stage = Stage(tmp_path, network, overlay="tree")
    check(stage, stage.play(plot))


@pytest.mark.parametrize("away", [1.0, AFTER + 5])
def test_one_that_has_crashed_is_waited_for(tmp_path, away):
    """It signs nothing: nobody does without it, however long it is away. Any party may be the root."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: met(stage))
        await stage.kill("p0")
        await asyncio.sleep(away)
        assert all(agent.result is None for agent in stage.agents.values())
        stage.start("p0")

    stage = Stage(tmp_path, RING, overlay="tree")
    check(stage, stage.play(plot))


@pytest.mark.parametrize("switched", [1, 3])
def test_a_crash_in_the_middle_of_the_switch(tmp_path, switched):
    """Some are on the new route already, one is not, or was: it goes on from its disk."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: met(stage))
        stage.hub.cut(*link_of(stage))
        await stage.until(lambda: sum(bool(a.fallback.lost.dead) for a in stage.agents.values()) >= switched, 0.0005)
        victim = max(name for name, agent in stage.agents.items() if agent.fallback.lost.dead)
        await stage.kill(victim)
        await asyncio.sleep(2.0)
        stage.start(victim)

    stage = Stage(tmp_path, RING, overlay="tree")
    check(stage, stage.play(plot), link_of(stage))


def test_without_a_tree_too(tmp_path):
    """Where all links are planned, one that stays dead is left out as well."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: met(stage))
        stage.hub.cut("p0", "p1")

    stage = Stage(tmp_path, RING)
    check(stage, stage.play(plot), ("p0", "p1"))


@pytest.mark.parametrize("when", ["before", "after"])
def test_one_leaves_and_a_link_is_dead(tmp_path, when):
    """The others are connected without both."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: stage.heard("p3") == 2)
        if when == "before":
            stage.hub.cut("p0", "p1")
            await stage.until(lambda: all(agent.fallback.lost.dead for agent in stage.agents.values()))
        await stage.kill("p3")
        stage.drop("p3", *stage.tasks)
        if when == "after":
            stage.hub.cut("p0", "p1")

    stage = Stage(tmp_path, COMPLETE, overlay="tree")
    results = stage.play(plot)
    assert sorted(results) == ["p0", "p1", "p2"], stage.refused
    for result in results.values():
        np.testing.assert_allclose(result["answer"]["mean"], stage.mean(), rtol=0, atol=ACCURACY)
        assert result["left"][0]["how"] == "adopted"
