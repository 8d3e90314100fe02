"""A recorded run once more, in one process: the same messages, to the bit.

Every party has its own order of events; what ties them together is that nothing can be heard before it was said. Any
order that keeps both leads to the same messages, since a node's numbers depend on its own events only. Crashes are part
of the run: a party that went on from a saved state is set back to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ...costs import Cost
from ...costs.base import Array
from ...errors import InvalidInput
from ...pdmm.masks import GaussianMask
from ...pdmm.node import Link, Message, Node
from ...pdmm.result import Result
from ..agent import Agent
from ..journal import Journal
from ..keys.identity import load
from ..network_agreements import NetworkAgreements, answer
from ..plan.node_file import NodeConfig, read_node_file
from ..protocol.route import routed
from ..stage_node import edges
from ..transport.in_memory import Hub
from .trace import Began, Event, Heard, Trace, Woke, read_trace, written

NodeOf = Callable[[int, int], Node]  # the fresh node of a party (its index) in a stage


@dataclass(frozen=True)
class Difference:
    """A message that came out otherwise than it was recorded."""

    party: str
    neighbour: str
    stage: int
    counter: int


@dataclass(frozen=True)
class Replay:
    """What was replayed, up to the first difference, if there is one."""

    wakes: int
    messages: int
    stages: int
    restarts: int
    difference: Difference | None

    @property
    def equal(self) -> bool:
        """Whether every message was the same, bit for bit."""
        return self.difference is None


def replay(traces: Iterable[Trace | str | Path], node_of: NodeOf) -> Replay:
    """Play the traces of all parties on nodes made from their costs and pads, and compare every message.

    For one agreement that is a ``Problem`` with known pads, ``node_of`` is
    ``lambda i, stage: sv.nodes_of(problem, c=c, theta=theta, z0=z0, grid=mask.grid)[i]``.
    """
    whole = together(traces)
    wakes = messages = 0
    difference = None
    for trace, event, said in play(whole, node_of):
        wakes += 1
        for message in said:
            if event.sent.get(message.receiver) != written(message.r, trace.public):
                neighbour = next(name for name, j in trace.neighbours.items() if j == message.receiver)
                difference = Difference(trace.party, neighbour, event.stage, event.counter)
                break
            messages += 1
        if difference is not None:
            break
    begun = [event for trace in whole for event in trace.events if isinstance(event, Began)]
    restarts = len(begun) - len({(trace.index, event.stage) for trace in whole for event in trace.events})
    return Replay(wakes, messages, len({event.stage for event in begun}), restarts, difference)


def replay_folders(folder: str | Path) -> Replay:
    """Replay the parties ``folder/<party>/node.toml`` of a trial, from their traces, data and journals.

    Nobody holds all that in a real run.
    """
    configs = [read_node_file(path) for path in sorted(Path(folder).glob("*/node.toml"))]
    if not configs:
        raise InvalidInput(f"{folder} holds no <party>/node.toml.")
    by_index = {config.index: config for config in configs}
    brought = {config.index: holdings(config) for config in configs}

    def node_of(i: int, stage: int) -> Node:
        if stage >= len(brought[i]):
            raise InvalidInput(f"{by_index[i].journal} knows nothing of stage {stage}, which was recorded.")
        own, config = brought[i][stage], by_index[i]
        links, folded, c = routed(i, own.links, config.route)
        return Node(i, own.cost, links, c=c, theta=config.route.theta, grid=own.grid, folded=folded)

    return replay(recorded(configs), node_of)


def recorded(configs: Iterable[NodeConfig]) -> list[Trace]:
    """The traces that parties wrote."""
    traces = []
    for config in configs:
        if config.record is None:
            raise InvalidInput(f"{config.path}: there is no record = ..., so this party has no trace.")
        traces.append(read_trace(config.record))
    return traces


# Events


def together(traces: Iterable[Trace | str | Path]) -> list[Trace]:
    """The traces of one whole run, by index."""
    found = [trace if isinstance(trace, Trace) else read_trace(trace) for trace in traces]
    if not found:
        raise InvalidInput("there are no traces; give those of all parties.")
    for trace in found:
        if trace.run != found[0].run:
            raise InvalidInput(f"{found[0].path} and {trace.path} are traces of different runs.")
    n = len(found[0].run["parties"])
    by_index = {trace.index: trace for trace in found}
    if sorted(trace.index for trace in found) != list(range(n)):
        raise InvalidInput(
            f"the run has the parties 0 .. {n - 1}; got traces of {sorted(t.index for t in found)}. Give one of each."
        )
    for trace in found:
        for name, j in trace.neighbours.items():
            if by_index[j].party != name or by_index[j].neighbours.get(trace.party) != trace.index:
                raise InvalidInput(f"{trace.path} and {by_index[j].path} do not agree on who is whose neighbour.")
    return [by_index[i] for i in range(n)]


def play(
    traces: Sequence[Trace], node_of: NodeOf, only: int | None = None
) -> Iterator[tuple[Trace, Woke, list[Message]]]:
    """Drive nodes through all that was recorded (or one stage of it), and tell every wake with its messages."""
    said: dict[tuple[int, int, int, int], Message] = {}
    players = [_Player(trace, node_of, only) for trace in traces]
    while any(not player.over for player in players):
        before = [player.at for player in players]
        for player in players:
            for event, messages in player.advance(said):
                for message in messages:
                    said[event.stage, message.sender, message.receiver, message.counter] = message
                yield player.trace, event, messages
        if before == [player.at for player in players]:
            raise next(player for player in players if not player.over).stuck()


class _Player:
    """One party's events, as far as they have been played."""

    def __init__(self, trace: Trace, node_of: NodeOf, only: int | None) -> None:
        self.trace, self.node_of, self.only, self.at = trace, node_of, only, 0
        self.nodes: dict[int, Node] = {}
        begun = [event for event in trace.events if isinstance(event, Began)]
        self.wanted = {event.after: event.stage for event in begun if event.after is not None}
        self.states: dict[tuple[int, int | None], tuple[dict[int, Array], dict[int, int], Array]] = {}

    @property
    def over(self) -> bool:
        return self.at == len(self.trace.events)

    def advance(self, said: Mapping[tuple[int, int, int, int], Message]) -> Iterator[tuple[Woke, list[Message]]]:
        """Play what can be played, and stop where something is heard that has not been said yet."""
        while not self.over:
            stage = self.wanted.get(self.at)
            if stage in self.nodes:
                self._keep(stage, self.at)
            event = self.trace.events[self.at]
            if self.only in (None, event.stage):
                if isinstance(event, Began):
                    self._begin(event)
                elif isinstance(event, Woke):
                    yield event, self._wake(event)
                else:
                    message = said.get((event.stage, event.sender, self.trace.index, event.counter))
                    if message is None:
                        return
                    if not self._node(event).receive(message):
                        raise self.refuse(event, "heard something that was old news to it")
            self.at += 1

    def _begin(self, event: Began) -> None:
        if event.after is not None and (event.stage, event.after) not in self.states:
            raise self.refuse(event, "went on from a state that belongs to another stage")
        if event.stage not in self.nodes:
            self.nodes[event.stage] = self.node_of(self.trace.index, event.stage)
            self._keep(event.stage, None)
        node = self.nodes[event.stage]
        if event.counter < node.sent:
            raise self.refuse(event, f"went on at message {event.counter}, but had sent {node.sent}")
        D, newest, x = self.states[event.stage, event.after]
        node.D, node.newest, node.x, node.sent = dict(D), dict(newest), x, event.counter

    def _keep(self, stage: int, after: int | None) -> None:
        # Vectors are replaced, never changed.
        node = self.nodes[stage]
        self.states[stage, after] = dict(node.D), dict(node.newest), node.x

    def _wake(self, event: Woke) -> list[Message]:
        node = self._node(event)
        if event.counter != node.sent + 1:
            raise self.refuse(event, f"sent message {event.counter} after message {node.sent}")
        return node.wake()

    def _node(self, event: Event) -> Node:
        if event.stage not in self.nodes:
            raise self.refuse(event, "did something before the stage began")
        return self.nodes[event.stage]

    def stuck(self) -> InvalidInput:
        event = self.trace.events[self.at]
        assert isinstance(event, Heard)
        name = next(name for name, j in self.trace.neighbours.items() if j == event.sender)
        return self.refuse(event, f"heard message {event.counter} of {name}, which the trace of {name} does not have")

    def refuse(self, event: Event, what: str) -> InvalidInput:
        return InvalidInput(
            f"{self.trace.path}, line {self.at + 2}: in stage {event.stage}, {self.trace.party} {what}. "
            "These are not the whole traces of one run."
        )


# What a party's folder tells


@dataclass(frozen=True, eq=False)
class Holding:
    """What one party brought to one agreement: its cost, and the pads of its edges; secret."""

    cost: Cost
    links: Mapping[int, Link]
    grid: float


def holdings(config: NodeConfig) -> list[Holding]:
    """What a party brought to each stage that it has begun, from its data and its journal."""
    return asyncio.run(_holdings(config))


async def _holdings(config: NodeConfig) -> list[Holding]:
    identity = load(config.identity)
    with Journal(config.journal, identity.derive("journal")) as journal:
        neighbours = [neighbour.name for neighbour in config.neighbours]
        transport = Hub().transport(config.name, neighbours)  # never started
        past = _Past(replace(config, record=None), transport, identity, journal)
        past.brought = []
        if past.met.is_set():
            agreements = NetworkAgreements(past, asyncio.get_running_loop())
            with suppress(_Unfinished):
                await asyncio.to_thread(answer, config, config.own_data(), agreements)
        return past.brought


class _Unfinished(Exception):
    """The run was stopped in this stage: the program cannot know more."""


class _Past(Agent):
    """A party whose agreements are over: it notes what it brought to each, and takes the answers from the journal."""

    brought: list[Holding]

    async def agree(
        self, stage: int, cost: Cost | Callable[[], Cost], mask: GaussianMask | None, tol: float, size: float = 1.0
    ) -> Result:
        cost = cost() if callable(cost) else cost
        grid = 0.0 if mask is None else mask.grid
        self.brought.append(Holding(cost, edges(self, stage, cost.dim, mask), grid))
        if self.journal.get_arrays(f"answer/{stage}") is None:
            raise _Unfinished
        return await super().agree(stage, cost, mask, tol, size)
