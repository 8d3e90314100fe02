"""A party that waits is idle: it does not wake again and again without the neighbours that it needs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.two_worlds import Scene, World, asked_of

import sottovoce as sv
from sottovoce.runtime.agent import GATHER, Agent
from sottovoce.runtime.keys import identity
from sottovoce.runtime.protocol.frames import Snapshot, Value, Verdict, decode
from sottovoce.runtime.transport.in_memory import Faults
from sottovoce.runtime.waiting import HEARTBEAT

AWAY = 20.0  # virtual seconds
ROWS = [np.array([[0.25], [0.5]]), np.array([[0.125]]), np.array([[2.0]])]


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("three")
    for name in ("p0", "p1", "p2"):
        identity.create(folder / name, name)
    return folder


def mean_of(three: Path, folder: Path, edges: list[tuple[int, int]], faults: Faults, **more: Any) -> World:
    question = asked_of("mean", 3, columns=("a",))
    network = sv.Network.from_edges(3, edges)
    scene = Scene(network, question, three, tol=1e-6, channels="encrypted", faults=lambda: faults, **more)
    return World(scene, "A", folder, ROWS)


def test_a_party_is_idle_while_a_neighbour_is_away(three, tmp_path):
    away: list[float] = []

    def fate(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        if not away and len(world.frames) > 40:  # in the first stage
            loop = asyncio.get_running_loop()
            away.append(loop.time())
            for other in ("p0", "p1"):
                world.hub.cut(other, "p2")
                loop.call_later(AWAY, world.hub.heal, other, "p2")
        return [(0.0, frame)]

    world = mean_of(three, tmp_path / "a", [(0, 1), (1, 2), (0, 2)], fate)
    world.play()
    meanwhile = [(s, decode(frame)) for time, s, _, frame in world.frames if away[0] < time < away[0] + AWAY]
    wakes = sum(isinstance(body, Value) and sender == "p0" for sender, body in meanwhile)
    assert 0.5 * AWAY / HEARTBEAT < wakes < 3 * AWAY  # not dead, and not busy
    for agent in world.agents.values():
        assert agent.result["answer"]["mean"] == pytest.approx([2.875 / 4], rel=1e-15)


def test_an_idle_party_is_silent(three, tmp_path):
    """One is away from its first word on; the others have said what there is to say, and wait, heartbeat by
    heartbeat."""
    away: list[float] = []

    def fate(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        if not away and isinstance(decode(frame), Value):
            loop = asyncio.get_running_loop()
            away.append(loop.time())
            for other in ("p0", "p1"):
                world.hub.cut(other, "p2")
                loop.call_later(AWAY, world.hub.heal, other, "p2")
        return [(0.0, frame)]

    world = mean_of(three, tmp_path / "a", [(0, 1), (1, 2), (0, 2)], fate, overlay="tree")
    world.play()
    meanwhile = [frame for time, _, _, frame in world.frames if away[0] + 1 < time < away[0] + AWAY]
    assert meanwhile == []
    for agent in world.agents.values():
        assert agent.result["answer"]["mean"] == pytest.approx([2.875 / 4], rel=1e-15)


def test_those_who_take_turns(three, tmp_path):
    """Until the first epoch everybody wakes once it has heard each neighbour once; to begin with, those before it."""
    edges = [(0, 1), (1, 2)]
    world = mean_of(three, tmp_path / "a", edges, lambda s, r, frame: [(0.0, frame)], wake="turns")
    world.play()
    frozen = next(time for time, _, _, frame in world.frames if isinstance(decode(frame), Snapshot))
    wakes: dict[str, int] = {}
    for time, sender, _, frame in world.frames:
        if time < frozen and isinstance(body := decode(frame), Value):
            wakes[sender] = max(body.counter, wakes.get(sender, 0))
    for i, name in enumerate(sorted(wakes)):
        neighbours = {f"p{a + b - i}" for a, b in edges if i in (a, b)}
        heard = {other for other in neighbours if other > name}
        woken = 0
        for line in (tmp_path / "a" / name / "trace.jsonl").read_text().splitlines()[1:]:
            event = json.loads(line)
            if event["stage"] > 0 or woken >= wakes[name]:
                break
            if "heard" in event:
                assert event["heard"] not in heard
                heard.add(event["heard"])
            elif "wake" in event:
                assert heard == neighbours
                heard, woken = set(), woken + 1
        assert woken >= 10


def test_who_has_accepted_waits_for_the_word_of_the_others(three, tmp_path):
    """Verdicts take half of a heartbeat here; meanwhile those who accept have nothing to compute."""
    slow = HEARTBEAT / 2

    def fate(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        return [(slow if isinstance(decode(frame), Verdict) else 0.0, frame)]

    world = mean_of(three, tmp_path / "a", [(0, 1), (1, 2)], fate)
    world.play()
    accepted: dict[tuple[str, int], float] = {}  # when, by party and stage
    said = [(time, sender, decode(frame)) for time, sender, _, frame in world.frames]
    went_on = {
        (sender, body.stage, time)
        for time, sender, body in said
        if isinstance(body, Snapshot) or (isinstance(body, Verdict) and body.no)
    }
    for time, sender, body in said:
        if isinstance(body, Verdict):
            if body.no:
                accepted.pop((sender, body.stage), None)
            elif int(sender[1]) in body.acceptances:
                accepted.setdefault((sender, body.stage), time)
        if isinstance(body, Value) and (since := accepted.get((sender, body.stage))) is not None:
            # In one breath it says that it knows of a refusal, or of the next epoch, and what is new.
            assert (sender, body.stage, time) in went_on or not 0 < time - since < slow
    assert all((f"p{i}", stage) in accepted for i in range(3) for stage in range(1))


def test_what_others_say_is_passed_on_together(monkeypatch):
    monkeypatch.setattr(Agent, "__init__", lambda self: None)
    agent, told = Agent(), []
    agent.gathering = False
    monkeypatch.setattr(agent, "tell", lambda: told.append(asyncio.get_running_loop().time()))

    async def scenario() -> None:
        for _ in range(2):
            for _ in range(3):
                agent.tell_soon()
            await asyncio.sleep(2 * GATHER)

    asyncio.run(scenario())
    assert len(told) == 2
