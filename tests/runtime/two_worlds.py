"""Two worlds that nobody outside can tell apart: other data at every party, and pads such that its ``(w, e)`` is equal.

World A is played first. From what everybody brought to each agreement, and from the totals, follows what the parties
of world B will bring; the pads that make up for the difference follow along a spanning tree. Of a statistic, whose sums
are exact, an integer is moved along it in the ring, and all covered words stay as they are. Of averaging both pads of
an edge, ``z_{i|j}(0)`` and ``z_{j|i}(0)``, are moved by the same ``delta``: that leaves ``e_ij``, and moves ``w_i`` by
``A_ij delta``. Parties are whole ones: ``serve``, with its agent, links, journal, trace, status and metrics.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import queue
import random
import socketserver
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from runtime.virtual_time import VirtualTimeLoop

import sottovoce as sv
from sottovoce.costs import Averaging
from sottovoce.data.number_columns import NumberColumns
from sottovoce.data.rows import Rows
from sottovoce.data.schema import Schema
from sottovoce.numerics.grid import on_grid
from sottovoce.pdmm import node as node_module
from sottovoce.pdmm.masks import GaussianMask
from sottovoce.pdmm.modular_mask import ModularMask
from sottovoce.runtime import agent as agent_module
from sottovoce.runtime import process as process_module
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.cluster import free_ports
from sottovoce.runtime.drop import drop
from sottovoce.runtime.journal import Journal
from sottovoce.runtime.keys import hybrid
from sottovoce.runtime.keys.edge_secrets import EdgeSecrets
from sottovoce.runtime.keys.identity import Identity, load, public_key
from sottovoce.runtime.network_agreements import NetworkAgreements
from sottovoce.runtime.plan.in_common import PACE
from sottovoce.runtime.plan.node_file import Neighbour, NodeConfig
from sottovoce.runtime.plan.question import Question
from sottovoce.runtime.plan.routes import Routes
from sottovoce.runtime.protocol import handshake as handshake_module
from sottovoce.runtime.protocol.route import Route
from sottovoce.runtime.transport.in_memory import Faults, Hub
from sottovoce.statistics.agreements import UNIT, Agreements, Objected
from sottovoce.statistics.analyses import ANALYSES
from sottovoce.statistics.of_tables import ask_analysis, run_on_tables
from sottovoce.sums import Ring, Whole

C, THETA, RUN = 0.4, 0.8, "two worlds"
CAPSULES: dict[bytes, tuple[bytes, bytes]] = {}  # by encapsulation key, and so are these
SIGNATURES: dict[tuple[str, bytes], bytes] = {}  # ECDSA signatures are random; both worlds have the same
ASKED = 0.4  # virtual seconds between two looks at status and metrics


@dataclass(frozen=True)
class Event:
    """A party goes, by a crash or as it is told to, and comes back after a while."""

    time: float
    party: int
    crash: bool
    away: float = 0.3


@dataclass
class Scene:
    """All that is the same in both worlds."""

    network: sv.Network
    question: Question
    identities: Path  # with a folder for each of p0, p1, ...
    tol: float = 1e-4
    wake: Any = "eager"
    channels: str = "open"
    events: tuple[Event, ...] = ()
    faults: Callable[[], Faults] | None = None
    own_data: dict[str, Callable[[int], Any]] = field(default_factory=dict)  # by world, instead of reading the CSV file
    leaver: tuple[float, int] | None = None  # when who leaves for good; then the others say so
    leaving: int = -1  # the stage that all have begun by then, if need be later
    dead: tuple[float, int] | None = None  # when which link of the route dies for good
    overlay: str = "all"
    ends: Any = 0  # what parties come to: their exit status, or an exception

    @property
    def routes(self) -> Routes:
        whole = Routes.all([(int(i), int(j)) for i, j in self.network.edges], C, THETA)
        if self.overlay == "all":
            return whole
        tree = self.network.spanning_tree()
        c = tree.matched(np.full(self.network.n, 2.0)).tolist()
        return Routes(whole.edges, Route.over([(int(i), int(j)) for i, j in tree.edges], c, 1.0), whole.route)


class Unlucky(Exception):
    """The data of the two worlds add up to different sums: no pads make up for that."""


Shifts = dict[tuple[int, frozenset[str]], Any]  # of the pads of an edge in a stage
Brought = tuple[Any, Ring | GaussianMask, Any]  # what a party brought, what hides it, and the totals of all


@dataclass
class World:
    """One play of a scene, and all that came out of it."""

    scene: Scene
    name: str
    folder: Path
    rows: list[np.ndarray]
    shifts: Shifts = field(default_factory=dict)
    frames: list[tuple[float, str, str, bytes]] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    logs: list[str] = field(default_factory=list)
    brought: dict[tuple[str, int], Brought] = field(default_factory=dict)  # by party and stage
    collapsed: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)  # q before, and w after
    agents: dict[str, Agent] = field(default_factory=dict)
    hub: Hub | None = None
    restarts: int = 0

    @property
    def shown(self) -> dict[str, Any]:
        """What others may see."""
        return {"frames": self.frames, "statuses": self.statuses, "files": self.files, "logs": self.logs}

    def config(self, i: int) -> NodeConfig:
        scene, folder = self.scene, self.folder / f"p{i}"
        around = []
        for j in scene.network.neighbours(i).tolist():
            certificate = (scene.identities / f"p{j}" / "certificate.pem").read_text()
            around.append(Neighbour(f"p{j}", j, "", "", certificate))
        kind = NodeConfig if not scene.own_data else Given
        config = kind(
            path=folder / "node.toml", name=f"p{i}", names=tuple(f"p{k}" for k in range(scene.network.n)),
            listen="", identity=scene.identities / f"p{i}",
            data=folder / "data.csv", delimiter=",", journal=folder / "journal.sqlite", result=folder / "result.json",
            wake=scene.wake, pace=PACE, record=folder / "trace.jsonl",
            metrics=f"127.0.0.1:{free_ports(1)[0]}" if i == 0 else None, run_name=RUN, run_id="0" * 32,
            channels=scene.channels, routes=scene.routes, tol=scene.tol,
            question=scene.question, neighbours=tuple(around),
            keys=tuple(public_key(load(scene.identities / f"p{k}").certificate) for k in range(scene.network.n)),
        )  # fmt: skip
        if scene.own_data:
            config.__dict__["given"] = scene.own_data[self.name](i)
        return config

    def prepare(self, i: int) -> None:
        """The party's folder: its data, and a journal with the keys that it has in both worlds."""
        (self.folder / f"p{i}").mkdir(parents=True)
        lines = [
            ",".join(columns_of(self.scene.question)),
            *(",".join(map(repr, row)) for row in self.rows[i].tolist()),
        ]
        (self.folder / f"p{i}" / "data.csv").write_text("\n".join(lines) + "\n")
        key = load(self.scene.identities / f"p{i}").derive("journal")
        with Journal(self.folder / f"p{i}" / "journal.sqlite", key) as journal:
            for j in self.scene.network.neighbours(i).tolist():
                size = len(hybrid.draw(first=f"p{i}" < f"p{j}"))
                journal.put({f"edge/p{j}/private": hashlib.shake_256(f"{i} {j}".encode()).digest(size)})

    def play(self) -> World:
        for i in range(self.scene.network.n):
            self.prepare(i)
        with pytest.MonkeyPatch.context() as patch, self.logged(), asyncio.Runner(loop_factory=StillLoop) as runner:
            self.arrange(patch, runner.get_loop())
            runner.run(self.happen())
        for path in sorted(self.folder.glob("*/trace.jsonl")) + sorted(self.folder.glob("*/result.json")):
            self.files[str(path.relative_to(self.folder))] = path.read_bytes()
        return self

    async def happen(self) -> None:
        n = self.scene.network.n
        faults = None if self.scene.faults is None else self.scene.faults()

        def overheard(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
            self.frames.append((asyncio.get_running_loop().time(), sender, receiver, frame))
            self.statuses.append(json.dumps(self.agents[sender].status()))
            return [(0.0, frame)] if faults is None else faults(sender, receiver, frame)

        hub = self.hub = Hub(overheard, seed=1)
        configs = [self.config(i) for i in range(n)]

        def start(i: int) -> asyncio.Task[int]:
            around = [neighbour.name for neighbour in configs[i].neighbours]
            return asyncio.create_task(process_module.serve(configs[i], hub.transport(f"p{i}", around)))

        parties = [start(i) for i in range(n)]
        watch = asyncio.create_task(self.watch(configs[0].metrics))
        loop = asyncio.get_running_loop()
        for event in sorted(self.scene.events, key=lambda event: event.time):
            await asyncio.sleep(max(0.0, event.time - loop.time()))
            if parties[event.party].done() or f"p{event.party}" not in self.agents:
                continue
            if event.crash:
                with suppress(KeyError):  # it may not be on the network yet
                    hub.kill(f"p{event.party}")
                self.agents[f"p{event.party}"].save = lambda: None  # a crash saves nothing
            parties[event.party].cancel()
            await asyncio.gather(parties[event.party], return_exceptions=True)
            await asyncio.sleep(event.away)
            parties[event.party] = start(event.party)
            self.restarts += 1
        if self.scene.dead is not None:
            when, k = self.scene.dead
            await asyncio.sleep(max(0.0, when - loop.time()))
            hub.cut(*(f"p{end}" for end in self.scene.routes.route.edges[k]))
        if self.scene.leaver is not None:
            when, leaver = self.scene.leaver
            await asyncio.sleep(when - loop.time())
            while any(agent.party.stage < self.scene.leaving for agent in self.agents.values()):
                await asyncio.sleep(0.01)
            hub.kill(f"p{leaver}")
            self.agents[f"p{leaver}"].save = lambda: None
            gone = parties.pop(leaver)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
            for name in sorted(self.agents.keys() - {f"p{leaver}"}):
                self.logs.append(drop(self.agents[name], f"p{leaver}", sure=False))
                self.logs.append(drop(self.agents[name], f"p{leaver}", sure=True))
                await asyncio.sleep(0.1)
        ends = await asyncio.wait_for(asyncio.gather(*parties, return_exceptions=self.scene.ends != 0), 900.0)
        assert {type(end) if isinstance(end, Exception) else end for end in ends} == {self.scene.ends}
        watch.cancel()

    async def watch(self, metrics: str) -> None:
        """All statuses, and the metrics of one party, as they are asked for now and then."""
        while True:
            await asyncio.sleep(ASKED)
            self.statuses += [json.dumps(agent.status()) for agent in self.agents.values()]
            with suppress(OSError), urllib.request.urlopen(f"http://{metrics}/metrics", timeout=5) as answer:
                self.statuses.append(answer.read().decode())

    @contextmanager
    def logged(self) -> Iterator[None]:
        """What the parties log, at every level."""
        standard = set(vars(logging.makeLogRecord({})))

        class Keeper(logging.Handler):
            def emit(_, record: logging.LogRecord) -> None:
                more = {key: str(value) for key, value in vars(record).items() if key not in standard}
                self.logs.append(f"{record.getMessage()} {more}".replace(str(self.folder), ""))

        keeper, logger = Keeper(), logging.getLogger("sottovoce")
        before = logger.level
        logger.addHandler(keeper)
        logger.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            logger.removeHandler(keeper)
            logger.setLevel(before)

    def arrange(self, patch: pytest.MonkeyPatch, loop: asyncio.AbstractEventLoop) -> None:
        """What chance and clocks bring to both worlds alike, the pads of this one, and notes for the test."""
        clock = SimpleNamespace(time=loop.time, monotonic=loop.time)
        dice = random.Random(7)
        patch.setattr(agent_module, "time", clock)
        patch.setattr(process_module, "time", clock)
        patch.setattr(agent_module, "random", SimpleNamespace(Random=lambda: random.Random(dice.random())))
        patch.setattr(NetworkAgreements, "_wait", lambda _, coroutine: Program.current().ask(coroutine))
        sign = Identity.sign
        patch.setattr(
            Identity, "sign", lambda me, message: SIGNATURES.setdefault((me.name, message), sign(me, message))
        )
        nonces = random.Random(8)
        patch.setattr(handshake_module, "os", SimpleNamespace(urandom=nonces.randbytes))
        tagged: dict[tuple[int, frozenset[str]], bytes] = {}

        def check(own: EdgeSecrets, stage: int, content: bytes) -> bytes:
            """A digest under a key that only both ends have, who know the pads: to all others it is random. So it is
            the same in both worlds, as nonces are."""
            edge = stage, frozenset((own.own, own.neighbour))
            assert tagged.setdefault(edge, content) == content
            return hashlib.sha256(str((stage, sorted(edge[1]))).encode()).digest()[:16]

        patch.setattr(EdgeSecrets, "check", check)
        encapsulate = hybrid.encapsulate
        patch.setattr(
            hybrid, "encapsulate", lambda key: CAPSULES.get(key) or CAPSULES.setdefault(key, encapsulate(key))
        )
        pads, words, collapsed = EdgeSecrets.pads, EdgeSecrets.words, node_module.collapsed

        def moved_pads(own: EdgeSecrets, stage: int, holder: str, count: int, mask: GaussianMask) -> np.ndarray:
            return pads(own, stage, holder, count, mask) + self.shift(own, stage, 0.0)

        def moved_words(own: EdgeSecrets, stage: int, count: int, bits: int) -> np.ndarray:
            pad, more = words(own, stage, count, bits), self.shift(own, stage, None)
            if more is None:
                return pad
            ring = Ring(64 * more.shape[1])
            return ring.add(pad.reshape(more.shape), more).ravel()

        def noted(cost: Any, links: Any, grid: float, folded: Any = ()) -> Any:
            found = collapsed(cost, links, grid, folded)
            self.collapsed.append((cost.quadratic.q.copy(), found.q.copy()))
            return found

        add_up, optimise = NetworkAgreements.add_up, NetworkAgreements.optimise

        def noted_sum(own: NetworkAgreements, integers: Sequence[Whole], ring: Ring, rows_counted: int) -> Whole:
            key = own.agent.config.name, len(own.runs)
            before = self.brought.setdefault(key, (integers[0], ring, None))  # all that is known of one that leaves
            assert before[0].tolist() == integers[0].tolist()  # whatever happened: another number shows the difference
            total = add_up(own, integers, ring, rows_counted)
            self.brought[key] = (integers[0], ring, total)
            return total

        def noted_cost(own: NetworkAgreements, cost: Any, mask: GaussianMask) -> Any:
            def noted_once() -> Any:
                made = cost() if callable(cost) else cost
                if isinstance(made, Averaging):
                    self.brought[own.agent.config.name, 0] = (made.s[0], mask, None)
                return made

            return optimise(own, noted_once, mask)

        class Seen(Agent):
            def __init__(agent, config: NodeConfig, *others: Any) -> None:
                super().__init__(config, *others)
                self.agents[config.name] = agent

        patch.setattr(EdgeSecrets, "pads", moved_pads)
        patch.setattr(EdgeSecrets, "words", moved_words)
        patch.setattr(node_module, "collapsed", noted)
        patch.setattr(NetworkAgreements, "add_up", noted_sum)
        patch.setattr(NetworkAgreements, "optimise", noted_cost)
        patch.setattr(process_module, "Agent", Seen)
        # A server of metrics looks every half second whether it was told to end, and the still loop waits for it.
        patch.setattr(socketserver.BaseServer.serve_forever, "__defaults__", (0.01,))

    def shift(self, own: EdgeSecrets, stage: int, none: Any) -> Any:
        return self.shifts.get((stage, frozenset((own.own, own.neighbour))), none)


class Given(NodeConfig):
    """A party whose data are costs that no node file can name."""

    def own_data(self) -> Any:
        return self.__dict__["given"]


def asked_of(kind: str, parties: int, *, schema: Schema | None = None, **options: Any) -> Question:
    """A statistic of CSV files of numbers."""
    schema = schema or Schema.of_numbers(options.get("columns", ("a",)))
    asked = ask_analysis(ANALYSES[kind], schema, **options)
    return Question(asked, None, ModularMask(), parties, only_numbers=True)


# The other world


def columns_of(question: Question) -> list[str]:
    return question.party_cost().columns if question.asked is None else list(question.asked.selection.needs)


def other_world(first: World, folder: Path, rows: list[np.ndarray]) -> World:
    """A world with these rows in which nothing can be seen to differ from ``first``: rows have changed hands, and every
    total is what it was."""
    scene, n = first.scene, first.scene.network.n
    second = World(scene, "B", folder, rows)
    if scene.question.asked is None:  # averaging, of one row a party
        _, mask, _ = first.brought["p0", 0]
        missing = masked([first.brought[f"p{i}", 0][0] for i in range(n)], mask) - masked(
            [own[0] for own in rows], mask
        )
        second.shifts |= along_tree(scene.network, 0, missing, lambda v, parent: 1.0 if v > parent else -1.0)
        return second
    foretold: dict[tuple[str, int], Whole] = {}
    for i in range(n):
        table = scene.question.asked.table(NumberColumns(dict(zip(columns_of(scene.question), rows[i].T, strict=True))))
        with suppress(Objected):
            run_on_tables(scene.question.asked, Foretold(first, f"p{i}", foretold), [table])
    assert foretold.keys() == first.brought.keys()
    for stage in range(1 + max(stage for _, stage in foretold)):
        ring = first.brought["p0", stage][1]
        assert isinstance(ring, Ring)
        missing = np.array([first.brought[f"p{i}", stage][0] - foretold[f"p{i}", stage] for i in range(n)])
        tree = along_tree(scene.network, stage, missing, lambda v, parent: 1 if v < parent else -1)
        second.shifts |= {key: ring.words(delta) for key, delta in tree.items()}
    return second


def masked(s: list[np.ndarray], mask: GaussianMask) -> np.ndarray:
    """``q`` of averaging, on the grid of the pads."""
    return np.array([on_grid(-2 * own, mask.grid) for own in s])


def along_tree(network: sv.Network, stage: int, missing: np.ndarray, sign: Callable[[int, int], Any]) -> Shifts:
    """What to add to the pads of the edges of a spanning tree, so that every party gets what it is missing."""
    if missing.sum(axis=0).any():
        raise Unlucky(f"stage {stage}: {missing.sum(axis=0)}")
    parent, order = {0: 0}, [0]
    for v in order:
        for j in network.neighbours(v).tolist():
            if j not in parent:
                parent[j] = v
                order.append(j)
    left, shifts = missing.copy(), {}
    for v in reversed(order[1:]):
        shifts[stage, frozenset((f"p{v}", f"p{parent[v]}"))] = sign(v, parent[v]) * left[v]
        left[parent[v]] += left[v]
    return shifts


class Foretold(Agreements):
    """The agreements of a party as they will be: its totals are those of the first world."""

    def __init__(self, first: World, name: str, foretold: dict[tuple[str, int], Whole]) -> None:
        super().__init__(first.scene.network.n, [name])
        self.first, self.name, self.foretold, self.stage = first, name, foretold, 0

    def units(self, rows: Sequence[Rows], declared: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
        return tuple(UNIT if unit is None else unit for unit in declared)

    def add_up(self, own: Sequence[Whole], ring: Ring, rows_counted: int) -> Whole:
        self.foretold[self.name, self.stage] = own[0]
        key, self.stage = (self.name, self.stage), self.stage + 1
        total = self.first.brought[key][2]
        return self.first.brought["p0", key[1]][2] if total is None else total


# Programs that take no time


class Program:
    """A function in a thread of its own, which computes only while the event loop stands still: so everything happens
    in the same order again."""

    here = threading.local()

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.asked: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.told: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._run, args=(function, arguments), daemon=True).start()

    @classmethod
    def current(cls) -> Program:
        return cls.here.program

    def _run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.here.program = self
        try:
            self.asked.put(("end", function(*arguments)))
        except BaseException as error:
            self.asked.put(("error", error))

    def ask(self, coroutine: Any) -> Any:
        """In the thread: have the event loop do something, and wait for it."""
        self.asked.put(("ask", coroutine))
        kind, content = self.told.get()
        if kind == "error":
            raise content
        return content

    async def result(self) -> Any:
        """In the event loop."""
        while True:
            kind, content = self.asked.get(timeout=30)
            if kind == "error":
                raise content
            if kind == "end":
                return content
            try:
                told = ("value", await content)
            except BaseException as error:
                told = ("error", error)
            self.told.put(told)


class StillLoop(VirtualTimeLoop):
    def run_in_executor(self, executor: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.create_task(Program(function, arguments).result())
