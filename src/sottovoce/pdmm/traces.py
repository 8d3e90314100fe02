"""Recorded runs as schedules: who woke, and what arrived."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidInput
from ..network import Network
from .schedule_bases import Chosen, Nodes, NodeSchedule, SetSchedule


def Trace(
    nodes: Iterable[int] | None = None,
    *,
    node_sets: Sequence[Iterable[int]] | None = None,
    half_edges: Sequence[Iterable[int]] | None = None,
) -> NodeTrace | SetTrace | LossTrace:
    """A recorded run, to be played again: ``nodes``, ``node_sets``, ``half_edges``, or the last two together.

    Parameters
    ----------
    nodes : iterable of int, optional
        The node that woke, step by step; all its messages arrived.
    node_sets : sequence of iterables of int, optional
        The nodes that woke, step by step: their numbers, or a truth value per node.
    half_edges : sequence of iterables of int, optional
        The half-edges that were updated, step by step, in the order of ``network.half_edges``: ``h = (j, i)`` means
        that ``z_{j|i}`` was updated with what ``i`` wrote. Alone, a node computes when at least one of its messages
        arrives; beside ``node_sets`` it can have spoken although all its messages were lost.

    Returns
    -------
    Schedule
        It ends after the last step.

    Raises
    ------
    InvalidInput
        Where other arguments are given than these, or something else than integers. What does not fit the network is
        refused when a run begins.

    Examples
    --------
    >>> import sottovoce as sv
    >>> trace = sv.Trace([0, 2, 1])
    >>> trace.length()
    3
    >>> sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), schedule=trace, c=0.5, tol=0).activations
    3
    """
    if (nodes is None) == (node_sets is None and half_edges is None):
        raise InvalidInput("Trace takes exactly one of nodes, node_sets and half_edges, or the last two together.")
    if nodes is not None:
        return NodeTrace(integers(nodes, "nodes"))
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

    sequence: Nodes

    def length(self) -> int:
        return len(self.sequence)

    def check(self, network: Network) -> None:
        within(self.sequence, network.n, "node")

    def nodes(self, network: Network, key: int, first: int, count: int) -> Nodes:
        return self.sequence[first : first + count]


@dataclass(frozen=True, eq=False)
class SetTrace(SetSchedule):
    """A recorded sequence of sets of active nodes, or of half-edges that were updated."""

    members: tuple[Nodes, ...]
    of_nodes: bool
    lengths: frozenset[int] = frozenset()  # of the sets that were given as truth values

    def length(self) -> int:
        return len(self.members)

    def check(self, network: Network) -> None:
        size = network.n if self.of_nodes else 2 * network.m
        for length in self.lengths - {size}:
            raise InvalidInput(f"the trace has a mask of length {length}; expected {size}.")
        for members in self.members:
            within(members, size, "node" if self.of_nodes else "half-edge")

    def sets(self, network: Network, key: int, k: int) -> tuple[Chosen | None, Chosen]:
        member = np.zeros(network.n if self.of_nodes else 2 * network.m, dtype=bool)
        member[self.members[k]] = True
        if self.of_nodes:
            return member, member[network.indices]
        # A node computes when at least one of its messages is going to arrive.
        active = np.zeros(network.n, dtype=bool)
        active[network.indices[member]] = True
        return active, member


@dataclass(frozen=True, eq=False)
class LossTrace(SetSchedule):
    """A recorded sequence of who woke, and of which of their messages arrived."""

    woke: SetTrace
    arrived: SetTrace

    def length(self) -> int:
        return self.woke.length()

    def check(self, network: Network) -> None:
        self.woke.check(network)
        self.arrived.check(network)
        for k, (nodes, half_edges) in enumerate(zip(self.woke.members, self.arrived.members, strict=True)):
            for h in half_edges[~np.isin(network.indices[half_edges], nodes)]:
                i = network.indices[h]
                raise InvalidInput(f"step {k} of the trace: half-edge {h} was updated by node {i}, which did not wake.")

    def sets(self, network: Network, key: int, k: int) -> tuple[Chosen | None, Chosen]:
        return self.woke.sets(network, key, k)[0], self.arrived.sets(network, key, k)[1]


def set_trace(sets: Sequence[Iterable[int]], what: str) -> SetTrace:
    arrays = [np.asarray(members if isinstance(members, np.ndarray) else list(members)) for members in sets]
    lengths = frozenset(len(array) for array in arrays if array.dtype == bool and array.ndim == 1)
    indices = (np.flatnonzero(array) if array.dtype == bool else array for array in arrays)
    return SetTrace(tuple(integers(array, what) for array in indices), what == "node_sets", lengths)


def integers(values: Iterable[int], what: str) -> Nodes:
    try:
        array = np.asarray(values if isinstance(values, np.ndarray) else list(values))
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be lists of integers; got {values!r}.") from None
    if array.size and (array.ndim != 1 or not np.issubdtype(array.dtype, np.integer)):
        raise InvalidInput(f"{what} must be lists of integers; got {array!r}.")
    return array.astype(np.int64).reshape(-1)


def within(members: Nodes, size: int, what: str) -> None:
    bad = members[(members < 0) | (members >= size)]
    if len(bad):
        raise InvalidInput(f"the trace names {what} {bad[0]}, but there are {size}, numbered from 0.")
