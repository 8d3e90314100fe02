"""Recorded runs as schedules: who woke, and what arrived."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..network import Network, names
from .schedule_bases import Chosen, Nodes, NodeSchedule, SetSchedule

Members = Nodes | tuple[Hashable, ...]  # numbers, or names until the network is known


def Trace(
    nodes: Iterable[Hashable] | None = None,
    *,
    node_sets: Sequence[Iterable[Hashable]] | None = None,
    half_edges: Sequence[Iterable[Hashable]] | None = None,
) -> NodeTrace | SetTrace | LossTrace:
    """A recorded run, to be played again: ``nodes``, ``node_sets``, ``half_edges``, or the last two together.

    Parameters
    ----------
    nodes : iterable, optional
        The node that woke, by name or number, step by step; all its messages arrived.
    node_sets : sequence of iterables, optional
        The nodes that woke, step by step: their names or numbers, or a truth value per node.
    half_edges : sequence of iterables, optional
        The half-edges that were updated, step by step: pairs ``(j, i)`` of names or numbers, or places in the order of
        ``network.half_edges``. ``(j, i)`` means that ``z_{j|i}`` was updated with what ``i`` wrote. Alone, a node
        computes when at least one of its messages arrives; beside ``node_sets`` it can have spoken although all its
        messages were lost.

    Returns
    -------
    Schedule
        It ends after the last step.

    Raises
    ------
    InvalidInput
        Where other arguments are given than these, or something that names no node. What does not fit the network is
        refused when a run begins.

    Examples
    --------
    >>> import sottovoce as sv
    >>> trace = sv.Trace([0, 2, 1])
    >>> trace.length()
    3
    >>> sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), schedule=trace, c=0.5, tol=0).activations
    3
    >>> ring = sv.Network.ring(4).with_labels(["Ada", "Bob", "Eve", "Joe"])
    >>> sv.solve(sv.averaging(ring, [1, 2, 3, 6]), schedule=sv.Trace(["Ada", "Eve"]), c=0.5, tol=0).activations
    2
    """
    if (nodes is None) == (node_sets is None and half_edges is None):
        raise InvalidInput("Trace takes exactly one of nodes, node_sets and half_edges, or the last two together.")
    if nodes is not None:
        return NodeTrace(members_of(nodes, "nodes"))
    if node_sets is not None and half_edges is not None:
        if len(node_sets) != len(half_edges):
            raise InvalidInput(
                "a Trace of node_sets and half_edges has one of each a step; got "
                f"{len(node_sets)} and {len(half_edges)}."
            )
        return LossTrace(set_trace(node_sets, "node_sets"), set_trace(half_edges, "half_edges"))
    if node_sets is not None:
        return set_trace(node_sets, "node_sets")
    assert half_edges is not None
    return set_trace(half_edges, "half_edges")


@dataclass(frozen=True, eq=False)
class NodeTrace(NodeSchedule):
    """A recorded sequence of active nodes."""

    sequence: Members
    settled: bool = False  # whether these are numbers for certain, and not names that are numbers

    def length(self) -> int:
        return len(self.sequence)

    def on(self, network: Network) -> NodeTrace:
        if self.settled:
            return self
        return NodeTrace(numbers_of(self.sequence, network, True), settled=True)

    def check(self, network: Network) -> None:
        self.on(network)

    def nodes(self, network: Network, key: int, first: int, count: int) -> Nodes:
        return np.asarray(self.on(network).sequence[first : first + count])


@dataclass(frozen=True, eq=False)
class SetTrace(SetSchedule):
    """A recorded sequence of sets of active nodes, or of half-edges that were updated."""

    members: tuple[Members, ...]
    of_nodes: bool
    lengths: frozenset[int] = frozenset()  # of the sets that were given as truth values
    settled: bool = False

    def length(self) -> int:
        return len(self.members)

    def on(self, network: Network) -> SetTrace:
        if self.settled:
            return self
        size = network.n if self.of_nodes else 2 * network.m
        for length in self.lengths - {size}:
            raise InvalidInput(f"the trace has a mask of length {length}; expected {size}.")
        members = tuple(numbers_of(step, network, self.of_nodes) for step in self.members)
        return replace(self, members=members, settled=True)

    def check(self, network: Network) -> None:
        self.on(network)

    def sets(self, network: Network, key: int, k: int) -> tuple[Chosen | None, Chosen]:
        member = np.zeros(network.n if self.of_nodes else 2 * network.m, dtype=bool)
        member[self.step(network, k)] = True
        if self.of_nodes:
            return member, member[network.indices]
        # A node computes when at least one of its messages is going to arrive.
        active = np.zeros(network.n, dtype=bool)
        active[network.indices[member]] = True
        return active, member

    def step(self, network: Network, k: int) -> Nodes:
        """The numbers of step ``k``, each once."""
        found = np.asarray(self.on(network).members[k])
        return found if len(set(found.tolist())) == len(found) else np.unique(found)

    def sets_as_numbers(self, network: Network, key: int, k: int) -> tuple[Nodes, Nodes]:
        found = self.step(network, k)
        if not self.of_nodes:
            return np.array(sorted(set(network.indices[found].tolist())), dtype=np.int64), found
        sent = [network.twin[network.indptr[i] : network.indptr[i + 1]] for i in found.tolist()]
        return found, np.concatenate([np.empty(0, dtype=np.int64), *sent])


@dataclass(frozen=True, eq=False)
class LossTrace(SetSchedule):
    """A recorded sequence of who woke, and of which of their messages arrived."""

    woke: SetTrace
    arrived: SetTrace

    def length(self) -> int:
        return self.woke.length()

    def on(self, network: Network) -> LossTrace:
        return LossTrace(self.woke.on(network), self.arrived.on(network))

    def check(self, network: Network) -> None:
        found = self.on(network)
        (node_steps, nodes), (steps, half_edges) = (in_a_row(part.members) for part in (found.woke, found.arrived))
        awake = np.isin(steps * network.n + network.indices[half_edges], node_steps * network.n + nodes)
        for at in np.flatnonzero(~awake):
            h = half_edges[at]
            i, j = network.name(network.indices[h]), network.name(network.holders[h])
            raise InvalidInput(
                f"step {steps[at]} of the trace: half-edge ({j}, {i}) was updated by node {i}, which did not wake."
            )

    def sets(self, network: Network, key: int, k: int) -> tuple[Chosen | None, Chosen]:
        return self.woke.sets(network, key, k)[0], self.arrived.sets(network, key, k)[1]

    def sets_as_numbers(self, network: Network, key: int, k: int) -> tuple[Nodes, Nodes]:
        return self.woke.step(network, k), self.arrived.step(network, k)


def in_a_row(members: tuple[Members, ...]) -> tuple[Nodes, Nodes]:
    """The steps of all members, and the members."""
    steps = np.repeat(np.arange(len(members)), [len(step) for step in members])
    return steps, np.concatenate([np.empty(0, dtype=np.int64), *map(np.asarray, members)])


def set_trace(sets: Sequence[Iterable[Hashable]], what: str) -> SetTrace:
    given: list[Any] = [members if isinstance(members, np.ndarray) else list(members) for members in sets]
    lengths = frozenset(len(step) for step in given if _is_mask(step))
    steps = (np.flatnonzero(step) if _is_mask(step) else step for step in given)
    return SetTrace(tuple(members_of(step, what) for step in steps), what == "node_sets", lengths)


def _is_mask(step: npt.NDArray[Any] | list[Any]) -> bool:
    if isinstance(step, np.ndarray):
        return step.dtype == bool and step.ndim == 1
    return len(step) > 0 and all(isinstance(member, bool | np.bool_) for member in step)


def members_of(values: Any, what: str) -> Members:
    """Integers as an array; names, or pairs of them, as they are until the network is known."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu":
        return values.astype(np.int64)
    try:
        members = tuple(tuple(value) if isinstance(value, list | np.ndarray) else value for value in values)
    except TypeError:
        members = (None,)
    kinds = set(map(type, members))
    if any(issubclass(kind, bool | np.bool_ | float | np.floating | type(None)) for kind in kinds):
        raise InvalidInput(f"{what} must be lists of integers or of names; got {values!r:.80}.")
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        return np.array(members, dtype=np.int64)
    return members


def numbers_of(step: Members, network: Network, of_nodes: bool) -> Nodes:
    """The numbers of nodes, or the places of half-edges."""
    if isinstance(step, np.ndarray) and not (of_nodes and network.numbers_are_names):
        size, what = (network.n, "node") if of_nodes else (2 * network.m, "half-edge")
        bad = step[(step < 0) | (step >= size)]
        if len(bad):
            raise InvalidInput(f"the trace names {what} {bad[0]}, but there are {size}, numbered from 0.")
        return step
    number = names.index if of_nodes else names.half_edge
    return np.array([number(network, member) for member in step], dtype=np.int64)
