"""From one stage to the next: when a party first speaks does not tell how long it took to compute, and so not how many
rows it has; and whoever lags is told how the last one ended."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from runtime.two_worlds import PACE, Scene, World, asked_of

import sottovoce as sv
from sottovoce.data.schema import Schema
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.keys import identity
from sottovoce.runtime.protocol.frames import Hello, Value, Verdict, decode
from sottovoce.runtime.transport.in_memory import LATENCY, Faults

STAGES = 3  # of a median
SCHEMA = Schema({"a": {"type": "number", "range": [-4.0, 4.0]}})
A_ROW = 1e-6  # virtual seconds that a row takes, in each stage


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    for name in ("p0", "p1"):
        identity.create(folder / name, name)
    return folder


def median_of_two(pair: Path, folder: Path, faults: Callable[[], Faults] | None = None) -> World:
    question = asked_of("quantiles", 2, schema=SCHEMA, column="a", q=(0.5,), ways=8, resolution=1 / 64)
    scene = Scene(
        sv.Network.from_edges(2, [(0, 1)]), question, pair, tol=1e-6, channels="encrypted", faults=faults
    )  # fmt: skip
    return World(scene, "A", folder, [np.array([[0.25], [0.5]]), np.array([[0.125]])])


def play(pair: Path, folder: Path, rows: int, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, type, int]]:
    """When p1 said what, where it has so many rows: ``(time, kind, stage)``. Its numbers are the same in any case."""
    agree = Agent.agree

    async def slow(agent: Agent, stage: int, *rest: object) -> object:
        await agent.met.wait()  # the first stage is computed while neighbours meet, or later
        await asyncio.sleep(A_ROW * rows if agent.config.name == "p1" else 0.0)
        return await agree(agent, stage, *rest)

    monkeypatch.setattr(Agent, "agree", slow)
    world = median_of_two(pair, folder).play()
    monkeypatch.undo()
    said = [(time, decode(frame)) for time, sender, _, frame in world.frames if sender == "p1"]
    return [(time, type(body), getattr(body, "stage", -1)) for time, body in said]


def firsts(said: list[tuple[float, type, int]]) -> list[float]:
    return [min(time for time, kind, of in said if kind is Value and of == stage) for stage in range(STAGES)]


def test_the_time_of_a_first_message_does_not_depend_on_the_number_of_rows(pair, tmp_path, monkeypatch):
    histories = [play(pair, tmp_path / str(rows), rows, monkeypatch) for rows in (1, 1_000, 100_000, 240_000)]
    assert all(history == histories[0] for history in histories)  # nor does any other
    hello = min(time for time, kind, _ in histories[0] if kind is Hello)
    assert firsts(histories[0])[0] == pytest.approx(hello + PACE)  # p1 was dialled: it knew the key when it answered


def test_a_computation_that_takes_longer_shows_in_multiples(pair, tmp_path, monkeypatch):
    short, long, longer = (play(pair, tmp_path / str(rows), rows, monkeypatch) for rows in (1, 300_000, 490_000))
    assert long == longer
    assert firsts(long)[0] - firsts(short)[0] == pytest.approx(PACE)
    assert all(
        late - soon > PACE * (0.9 + stage)
        for stage, (soon, late) in enumerate(zip(firsts(short), firsts(long), strict=True))
    )


def test_a_neighbour_that_lags_is_told_how_its_stage_ended(pair, tmp_path):
    """p1 never hears that p0 accepts, until p0 is in the next stage and they meet again: then p0 knows how the last one
    ended, and says so."""
    met_again = []

    def faults() -> Faults:
        def fate(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
            body = decode(frame)
            accepts = isinstance(body, Verdict) and body.stage == 0 and 0 in body.acceptances
            if sender == "p0" and accepts and not met_again:
                return []
            if world.agents["p0"].party.stage == 1 and not met_again:
                met_again.append(world.agents["p1"].party.stage)
                world.hub.cut("p0", "p1")
                world.hub.heal("p0", "p1")
            return [(0.0, frame)]

        return fate

    world = median_of_two(pair, tmp_path / "a", faults)
    world.play()
    assert met_again == [0]
    assert [agent.party.stage for agent in world.agents.values()] == [STAGES - 1] * 2
    assert [agent.party.counts.refused for agent in world.agents.values()] == [0, 0]


def test_a_party_goes_on_the_network_at_a_multiple_too(pair, tmp_path, monkeypatch):
    """Its data are read before."""
    said = play(pair, tmp_path / "a", 1, monkeypatch)
    hello = min(time for time, kind, _ in said if kind is Hello)
    assert hello >= PACE
    assert math.isclose(hello, PACE, abs_tol=10 * LATENCY)
