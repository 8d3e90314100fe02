"""Agents in virtual time that only meet: recorded hellos, impostors, lost and restored journals, disputes."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.trial import Trial, edit, prepare
from runtime.virtual_time import run

import sottovoce as sv
from sottovoce.runtime import agent as agent_module
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.journal import Journal
from sottovoce.runtime.keys.identity import load
from sottovoce.runtime.plan.node_file import read_node_file
from sottovoce.runtime.protocol.agreement import Contradiction, Final
from sottovoce.runtime.protocol.frames import KINDS, Hello, Opening
from sottovoce.runtime.transport.in_memory import Hub
from sottovoce.runtime.transport.transport import HANDSHAKE, HANDSHAKES, Lost

PAIR = sv.Network.from_edges(2, [(0, 1)])


@pytest.fixture(scope="module")
def trial(tmp_path_factory) -> Trial:
    return prepare(tmp_path_factory.mktemp("pair"), PAIR, channels="open")


@dataclass
class Meeting:
    """p0, which dials, and p1, over open channels: agents without a program."""

    trial: Trial
    folder: Path
    agents: dict[str, Agent] = field(default_factory=dict)
    frames: dict[str, list[bytes]] = field(default_factory=lambda: {"p0": [], "p1": []})
    ends: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.hub = Hub(self._overheard, seed=1)
        self.journals: dict[str, Journal] = {}

    def _overheard(self, sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        self.frames[sender].append(frame)
        return [(0.0, frame)]

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.sqlite"

    async def start(self, name: str) -> Agent:
        config = read_node_file(self.trial.folder / name / "node.toml")
        identity = load(config.identity)
        transport = self.hub.transport(name, ["p1" if name == "p0" else "p0"])
        self.journals[name] = Journal(self.path(name), identity.derive("journal"))
        agent = self.agents[name] = Agent(config, transport, identity, self.journals[name])
        self.ends[name] = asyncio.create_task(agent.failure())
        await asyncio.sleep(0)
        await transport.start(agent)
        return agent

    async def stop(self, name: str) -> None:
        self.ends[name].cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self.ends[name]
        await self.agents[name].transport.stop()
        self.journals[name].close()

    async def impostor(self, frames: list[bytes], stay: float = 1.0) -> str:
        """Somebody dials p1 as p0, says this, and stays: why p1 hung up."""
        pipe = self.hub._join("p0", "p1")
        try:
            async with asyncio.timeout(stay):
                for frame in frames:
                    await pipe.caller.send(frame)
                while True:
                    await pipe.caller.receive()
        except Lost as why:
            return str(why)
        except TimeoutError:
            pipe.close("the impostor has gone")
            return "open"

    @property
    def up(self) -> bool:
        return all(agent.transport.state(other) == "up" for agent, other in zip(self.both, ("p1", "p0"), strict=True))

    @property
    def both(self) -> list[Agent]:
        return [self.agents[name] for name in ("p0", "p1")]


def play(trial: Trial, folder: Path, scenario: Callable[[Meeting], Coroutine[Any, Any, None]]) -> Meeting:
    made = Meeting(trial, folder)

    async def happen() -> None:
        try:
            await made.start("p1")
            await made.start("p0")
            await asyncio.sleep(1.0)
            assert made.up
            await scenario(made)
        finally:
            for name in made.agents:
                await made.stop(name)

    run(happen())
    return made


def of(kind: type, frames: list[bytes]) -> list[bytes]:
    return [frame for frame in frames if KINDS[frame[0] - 1] is kind]


# Recorded


def test_recorded_hellos_half_a_minute_apart_end_nobody_and_displace_nobody(trial, tmp_path, caplog):
    """Of this run's earlier connection, and of an earlier run with another id."""
    caplog.set_level("INFO")
    folder = shutil.copytree(trial.folder, tmp_path / "earlier")
    for path in folder.glob("*/node.toml"):
        path.write_text(re.sub('id = "[0-9a-f]{32}"', f'id = "{"7" * 32}"', path.read_text()))
    other = replace(trial, folder=folder)
    (tmp_path / "then").mkdir()

    async def nothing(made: Meeting) -> None:
        pass

    earlier = play(other, tmp_path / "then", nothing)

    async def scenario(made: Meeting) -> None:
        p1 = made.agents["p1"]
        before = dict(p1.party.heard), p1.party.said, p1.party.links["p0"].secrets.known
        for _ in range(4):
            for frames in (made.frames["p0"], earlier.frames["p0"]):
                said = [of(Opening, frames)[0], of(Hello, frames)[0]]
                assert "is not signed by its certificate, for this connection" in await made.impostor(said)
            await asyncio.sleep(agent_module.GIVE_UP / 2 + 1)
        assert made.up
        assert not any(end.done() for end in made.ends.values())
        assert (dict(p1.party.heard), p1.party.said, p1.party.links["p0"].secrets.known) == before
        assert p1.status()["disagreements"] == {}
        assert p1.status()["frames_refused"] == 8

    play(trial, tmp_path, scenario)
    assert [record.message for record in caplog.records].count("connected") == 2 + 2


# Impostors


def test_impostors_leave_the_stream_of_the_neighbour_up(trial, tmp_path, caplog):
    """They talk, they stay silent, they are many; the handshakes of a neighbour are bounded, in time and number."""
    caplog.set_level("INFO")

    async def scenario(made: Meeting) -> None:
        silent = [asyncio.create_task(made.impostor([], stay=100.0)) for _ in range(20)]
        await asyncio.sleep(1.0)
        p1 = made.agents["p1"].transport
        assert len(p1._greetings["p0"]) == HANDSHAKES
        assert sum(task.done() for task in silent) == 20 - HANDSHAKES
        await asyncio.sleep(HANDSHAKE)
        assert not p1._greetings["p0"]
        assert {task.result() for task in silent} == {"the neighbour closed the connection"}
        for frame in (b"", b"x", made.frames["p0"][-1], bytes(1000)):
            assert "it refused" in await made.impostor([frame])
        assert made.up

    play(trial, tmp_path, scenario)
    assert [record.message for record in caplog.records].count("connected") == 2
    assert [record.message for record in caplog.records].count("disconnected") <= 2


def test_the_neighbour_itself_comes_through_a_crowd_of_impostors(trial, tmp_path):
    async def scenario(made: Meeting) -> None:
        crowd = [asyncio.create_task(made.impostor([], stay=30.0)) for _ in range(10)]
        made.hub.cut("p0", "p1")
        made.hub.heal("p0", "p1")
        await asyncio.sleep(3.0)
        assert made.up
        for task in crowd:
            task.cancel()

    play(trial, tmp_path, scenario)


# Journals that are lost, or older than they should be


@pytest.mark.parametrize("lost", ["p0", "p1"])
@pytest.mark.parametrize("found", [False, True], ids=["for ever", "found again"])
def test_a_lost_journal_ends_the_others_unless_it_is_found(trial, tmp_path, lost, found):
    other = "p1" if lost == "p0" else "p0"

    async def scenario(made: Meeting) -> None:
        await made.stop(lost)
        made.path(lost).rename(tmp_path / "found")
        await made.start(lost)
        await asyncio.sleep(agent_module.CONTRADICTED - 5.0)
        with pytest.raises(Final, match=f"{other} knows another key of this party .* The journal with it is lost"):
            made.ends[lost].result()
        assert not made.ends[other].done()
        assert f"{lost} has another key for this run than before" in made.agents[other].status()["disagreements"][lost]
        if found:
            await made.stop(lost)
            (tmp_path / "found").rename(made.path(lost))
            await made.start(lost)
        await asyncio.sleep(10.0)
        if found:
            assert made.up
            await asyncio.sleep(agent_module.GIVE_UP)
            assert made.agents[other].status()["disagreements"] == {}
            assert not made.ends[other].done()
        else:
            with pytest.raises(Contradiction, match=r"it has lost its journal\. Its pads cannot be made again"):
                made.ends[other].result()

    play(trial, tmp_path, scenario)


@pytest.mark.parametrize("older", ["p0", "p1"])
def test_a_journal_from_an_older_copy_ends_both_at_once(trial, tmp_path, older):
    """Each says which journal it is."""
    other = "p1" if older == "p0" else "p0"
    state = {"x": np.zeros(2), "sent": np.array([7.0]), "counters": np.array([[1.0 if other == "p0" else 0.0, 7.0]])}

    async def scenario(made: Meeting) -> None:
        for name in (older, other):
            await made.stop(name)
        config = read_node_file(trial.folder / other / "node.toml")
        with Journal(made.path(other), load(config.identity).derive("journal")) as journal:
            journal.put_arrays("stage/0", state)
        for name in ("p1", "p0"):
            await made.start(name)
        await asyncio.sleep(1.0)
        with pytest.raises(Final, match=f"{other} has heard more of this party .* the journal here was restored"):
            made.ends[older].result()
        with pytest.raises(Final, match=f"The journal of {older} was restored from an older copy"):
            made.ends[other].result()

    play(trial, tmp_path, scenario)


# Disputes


def test_a_dispute_does_not_end_a_party_that_has_the_key_and_is_forgotten(trial, tmp_path):
    """p0 comes back with another file, and stays so for a minute; then with the right one."""
    node_file = trial.folder / "p0" / "node.toml"
    text = node_file.read_text()

    async def scenario(made: Meeting) -> None:
        await made.stop("p0")
        made.path("p0").rename(tmp_path / "kept")
        edit(node_file, "c = 0.4", "c = 0.5")
        await made.start("p0")
        await asyncio.sleep(2 * agent_module.GIVE_UP + 5.0)
        p0, p1 = made.both
        assert "c is 0.4 here and 0.5 there" in p1.status()["disagreements"]["p0"]
        assert "c is 0.5 here and 0.4 there" in p0.status()["disagreements"]["p1"]
        assert not made.ends["p1"].done()
        with pytest.raises(Contradiction, match=r"c is 0\.5 here and 0\.4 there"):
            made.ends["p0"].result()
        await made.stop("p0")
        made.path("p0").unlink()
        node_file.write_text(text)
        (tmp_path / "kept").rename(made.path("p0"))
        await made.start("p0")
        await asyncio.sleep(3.0)
        assert made.up
        assert p1.status()["disagreements"] == {}

    try:
        play(trial, tmp_path, scenario)
    finally:
        node_file.write_text(text)
