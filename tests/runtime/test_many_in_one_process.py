"""Many parties of many runs in one process: each has a thread of its own, which ends with it however it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from runtime.trial import Trial, prepare

import sottovoce as sv
from sottovoce.errors import SottovoceError
from sottovoce.runtime import process
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file
from sottovoce.runtime.process import serve
from sottovoce.runtime.transport.in_memory import Hub

RUNS, PARTIES = 20, 9
SOON = 10.0  # seconds: a busy machine is late


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert threads() == []


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("sottovoce program")]


def configs_of(trial: Trial) -> list[NodeConfig]:
    return [read_node_file(file) for file in sorted(trial.folder.glob("*/node.toml"))]


def one_party(folder: Path, n: int = 3) -> tuple[NodeConfig, Hub]:
    config = configs_of(prepare(folder, sv.Network.complete(n), "mean", overlay="tree"))[0]
    return config, Hub()


def of(config: NodeConfig, hub: Hub) -> asyncio.Task[int]:
    return asyncio.create_task(serve(config, hub.transport(config.name, [other.name for other in config.neighbours])))


async def waiting(config: NodeConfig, count: int) -> None:
    """Until its program waits for what others say."""
    async with asyncio.timeout(SOON):
        while len(threads()) < count or not config.socket.exists():
            await asyncio.sleep(0.01)


def test_all_runs_of_a_process_end(tmp_path):
    """180 programs at a time, of which each waits for the eight others of its run. With the loop's own pool, of the
    number of cores and four threads, none of them ends. Nine parties in a ring, whose edges cost most of the time."""
    trials = [prepare(tmp_path / str(k), sv.Network.ring(PARTIES), "mean", overlay="tree") for k in range(RUNS)]

    async def everybody() -> list[int]:
        return await asyncio.gather(
            *(of(config, hub) for trial in trials for hub in [Hub()] for config in configs_of(trial))
        )

    assert asyncio.run(asyncio.wait_for(everybody(), 300.0)) == [0] * RUNS * PARTIES
    for trial in trials:
        trial.check(trial.cluster())


def test_the_thread_of_a_party_that_is_cancelled_ends(tmp_path_factory):
    config, hub = one_party(tmp_path_factory.mktemp("t") / "t")

    async def cancelled() -> None:
        party = of(config, hub)
        await waiting(config, 1)
        party.cancel()
        with pytest.raises(asyncio.CancelledError):
            await party
        assert threads() == []  # while the loop goes on, for other runs

    asyncio.run(cancelled())


def test_the_thread_of_a_party_that_fails_ends(tmp_path_factory, monkeypatch):
    """It waits for neighbours that never come, and something else goes wrong."""
    config, hub = one_party(tmp_path_factory.mktemp("t") / "t")
    agents = []
    begun = process.Agent.mark
    monkeypatch.setattr(process.Agent, "mark", lambda agent: (agents.append(agent), begun(agent))[1])

    async def failing() -> None:
        party = of(config, hub)
        await waiting(config, 1)
        agents[0].fail(SottovoceError("out of order"))
        with pytest.raises(SottovoceError, match="out of order"):
            await party
        assert threads() == []

    asyncio.run(failing())


def test_a_program_that_computes_ends_at_its_next_agreement(tmp_path_factory, monkeypatch):
    """And nobody waits for that."""
    config, hub = one_party(tmp_path_factory.mktemp("t") / "t")
    computed, answer = threading.Event(), process.answer

    def long(*arguments: object) -> object:
        computed.wait(SOON)
        return answer(*arguments)

    monkeypatch.setattr(process, "answer", long)
    monkeypatch.setattr(process, "ENDING", 0.01)

    async def cancelled() -> None:
        party = of(config, hub)
        await waiting(config, 1)
        party.cancel()
        with pytest.raises(asyncio.CancelledError):
            await party
        assert len(threads()) == 1
        computed.set()
        async with asyncio.timeout(SOON):
            while threads():
                await asyncio.sleep(0.01)

    asyncio.run(cancelled())
