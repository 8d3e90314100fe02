"""Whole parties in memory and in virtual time, of which one leaves for good while the others say so."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from runtime.trial import prepare
from runtime.two_worlds import Program, StillLoop

import sottovoce as sv
from sottovoce.runtime import agent as agent_module
from sottovoce.runtime import process as process_module
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.cluster import Cluster
from sottovoce.runtime.drop import drop
from sottovoce.runtime.network_agreements import NetworkAgreements
from sottovoce.runtime.transport.in_memory import Faults, Hub

NEVER = 900.0


@dataclass
class Stage:
    """The folders of all parties, and what they do. ``plot`` is what happens to them."""

    folder: Path
    network: sv.Network
    kind: str = "mean"
    faults: Faults | None = None
    rows: int | None = None  # of every party; None: some
    channels: str = "encrypted"
    overlay: str = "all"
    agents: dict[str, Agent] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[int]] = field(default_factory=dict)
    refused: dict[str, Exception] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.trial = prepare(
            self.folder, self.network, self.kind, channels=self.channels, rows=self.rows, overlay=self.overlay
        )
        self.configs = Cluster(self.trial.folder).configs

    def play(self, plot: Callable[[Stage], Awaitable[None]]) -> dict[str, dict[str, Any]]:
        """What those parties wrote down that have an answer; the errors of the others are in ``refused``."""
        with asyncio.Runner(loop_factory=StillLoop) as runner, self.arranged(runner.get_loop()):
            runner.run(self.happen(plot))
        return Cluster(self.trial.folder).results()

    @contextmanager
    def arranged(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        clock, dice = SimpleNamespace(time=loop.time, monotonic=loop.time), random.Random(7)
        stage = self

        class Seen(Agent):
            def __init__(agent, config: Any, *others: Any) -> None:
                super().__init__(config, *others)
                agent.journal.database.execute("PRAGMA synchronous=OFF")  # no test here cuts the power
                stage.agents[config.name] = agent

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(agent_module, "time", clock)
            patch.setattr(process_module, "time", clock)
            patch.setattr(agent_module, "random", SimpleNamespace(Random=lambda: random.Random(dice.random())))
            patch.setattr(NetworkAgreements, "_wait", lambda _, coroutine: Program.current().ask(coroutine))
            patch.setattr(process_module, "Agent", Seen)
            yield

    async def happen(self, plot: Callable[[Stage], Awaitable[None]]) -> None:
        self.hub = Hub(self.faults, seed=1)
        await plot(self)
        ended = await asyncio.wait_for(asyncio.gather(*self.tasks.values(), return_exceptions=True), NEVER)
        for name, how in zip(self.tasks, ended, strict=True):
            if isinstance(how, Exception):
                self.refused[name] = how
            else:
                assert how == 0

    # What can happen

    def start(self, *names: str) -> None:
        for name in names or self.configs:
            around = [neighbour.name for neighbour in self.configs[name].neighbours]
            self.tasks[name] = asyncio.create_task(
                process_module.serve(self.configs[name], self.hub.transport(name, around))
            )

    async def kill(self, name: str) -> None:
        """As a crash does: nothing is said or saved any more."""
        with suppress(KeyError):
            self.hub.kill(name)
        if name in self.agents:
            self.agents[name].save = lambda: None
        task = self.tasks.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def drop(self, leaver: str, *signers: str) -> None:
        for name in signers:
            if not self.tasks[name].done():
                drop(self.agents[name], leaver, sure=True)

    async def until(self, condition: Callable[[], Any], step: float = 0.002) -> None:
        for _ in range(200_000):
            if condition():
                return
            await asyncio.sleep(step)
        raise TimeoutError

    def heard(self, leaver: str) -> int:
        """To how many stages it was heard to contribute, by anybody."""
        return max((agent.departure.heard.get(leaver, 0) for agent in self.agents.values()), default=0)

    # What must come out

    def mean(self, *without: str) -> np.ndarray:
        rows = [self.trial.shards[int(name[1:])] for name in self.configs if name not in without]
        return np.concatenate(rows).mean(axis=0)
