"""Whole parties in one process and in virtual time, ``serve`` with its agent, journal and result file; what one of them
says can be changed on its way, as if its software lied, and journals can be put back as they were."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pytest
from runtime.trial import Trial
from runtime.two_worlds import Program, StillLoop

from sottovoce.runtime import agent as agent_module
from sottovoce.runtime import process as process_module
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.network_agreements import NetworkAgreements
from sottovoce.runtime.plan.node_file import read_node_file
from sottovoce.runtime.protocol.frames import Body, Snapshot, Value, Verdict, decode, encode
from sottovoce.runtime.transport.in_memory import Hub

T = TypeVar("T")
LONG = 120.0  # virtual seconds in which everybody has ended

Lie = Callable[[str, str, Body], list[Body]]  # what a frame from one party to another becomes


def honest(sender: str, receiver: str, body: Body) -> list[Body]:
    return [body]


@dataclass
class Company:
    """All parties of a trial, over encrypted channels (so that frames have no MAC, and can be changed)."""

    trial: Trial
    lie: Lie = honest
    agents: dict[str, Agent] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        paths = sorted(self.trial.folder.glob("*/node.toml"))
        self.configs = {path.parent.name: read_node_file(path) for path in paths}
        self.hub = Hub(self._carry)

    def _carry(self, sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        return [(0.0, encode(body)) for body in self.lie(sender, receiver, decode(frame))]

    def start(self, *names: str) -> None:
        for name in names or self.configs:
            config = self.configs[name]
            transport = self.hub.transport(name, [neighbour.name for neighbour in config.neighbours])
            self.tasks[name] = asyncio.create_task(process_module.serve(config, transport))

    async def crash(self, name: str) -> None:
        self.hub.kill(name)
        self.agents[name].save = lambda: None
        self.tasks[name].cancel()
        await asyncio.gather(self.tasks[name], return_exceptions=True)

    async def ends(self, *names: str, seconds: float = LONG) -> dict[str, Any]:
        """How these have ended: the exit status, or the error that is status 2."""
        names = names or tuple(self.configs)
        async with asyncio.timeout(seconds):
            found = await asyncio.gather(*(self.tasks[name] for name in names), return_exceptions=True)
        return dict(zip(names, found, strict=True))

    def errors(self) -> dict[str, float]:
        """Of the results that were written, how far they are from the truth."""
        key = {"mean": "mean", "linear": "params", "robust": "params"}.get(self.trial.kind)
        found = {}
        for name, config in self.configs.items():
            if config.result.exists():
                told = json.loads(config.result.read_text())
                assert told["status"] == "converged"
                answer = told["answer"].get(key, np.inf) if key else list(told["answer"].values())  # of a cost
                found[name] = float(np.abs(np.array(answer) - self.trial.answer).max())
        return found

    def copy_journal(self, name: str, to: Path) -> None:
        """As a backup would; its process is between two writes."""
        to.mkdir(exist_ok=True)
        for path in self.configs[name].journal.parent.glob("journal.sqlite*"):
            if path.suffix != ".sock":
                shutil.copy(path, to / path.name)

    def put_back(self, name: str, copy: Path) -> None:
        own = self.configs[name].journal.parent
        for path in own.glob("journal.sqlite*"):
            path.unlink()
        for path in copy.iterdir():
            shutil.copy(path, own / path.name)


@contextmanager
def company(trial: Trial, lie: Lie = honest) -> Iterator[Company]:
    """Parties for which no real time passes, and whose agents can be looked at."""
    made = Company(trial, lie)

    class Seen(Agent):
        def __init__(agent, config: Any, *others: Any) -> None:
            super().__init__(config, *others)
            made.agents[config.name] = agent

    def now() -> float:
        return asyncio.get_running_loop().time()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_module, "Agent", Seen)
        for module in (agent_module, process_module):
            patch.setattr(module, "time", SimpleNamespace(time=now, monotonic=now))
        patch.setattr(NetworkAgreements, "_wait", lambda _, coroutine: Program.current().ask(coroutine))
        yield made


def run(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` in virtual time, in which programs take none."""
    with asyncio.Runner(loop_factory=StillLoop) as runner:
        return runner.run(main)


async def leave(made: Company) -> None:
    """End whoever still runs."""
    for task in made.tasks.values():
        task.cancel()
    await asyncio.gather(*made.tasks.values(), return_exceptions=True)


# Lies


@dataclass
class Once:
    """A party is honest but for one thing: its frame number ``after`` of a kind, in a stage, is another one."""

    liar: str
    kind: type
    after: int
    change: Callable[[Any], list[Body]]
    stage: int = 0
    always: bool = False
    seen: dict[str, int] = field(default_factory=dict)

    def __call__(self, sender: str, receiver: str, body: Body) -> list[Body]:
        if sender != self.liar or not isinstance(body, self.kind) or body.stage != self.stage:
            return [body]
        self.seen[receiver] = self.seen.get(receiver, 0) + 1
        now = self.seen[receiver]
        return self.change(body) if now == self.after or (self.always and now > self.after) else [body]


def all_accept(n: int, epoch: int = 1, later: int = 0) -> Callable[[Any], list[Body]]:
    """After the frame itself, a verdict in which everybody accepts; of a later stage, if so."""
    forged = dict.fromkeys(range(n), b"forged")
    return lambda body: [body, Verdict(body.stage + later, epoch, False, forged)]


def refused_at(epoch: int) -> Callable[[Any], list[Body]]:
    return lambda body: [body, Verdict(body.stage, epoch, True, {})]


def of_size(size: float) -> Callable[[Any], list[Body]]:
    """The same frame with another first number."""

    def change(body: Value | Snapshot) -> list[Body]:
        return [body._replace(data=np.concatenate([[size], body.data[1:]]))]

    return change
