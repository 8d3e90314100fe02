"""Schedules: who wakes at iteration ``k``, and whose message arrives (paper, eq. 9; the random vector ``U``).

Every random choice is a pure function of ``(key, k, index)``, so that a run depends on its seed alone: not on the
number of threads, not on the engine, and iteration ``k`` can be asked for without the ones before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, is_number
from ..network import Network
from ..numerics.counter_random import mix, uniform

Nodes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Schedule:
    """What all schedules share. A run asks for one of three things, whichever the schedule defines."""

    def mu(self, network: Network) -> float | None:
        """``Pr(U = 1)`` where it is the same for every half-edge, else None."""
        return None

    def length(self) -> int | None:
        """The number of iterations after which there is nothing left to play, or None."""
        return None

    def round(self, network: Network) -> int:
        """Iterations in which every node wakes once on average: 1, or ``n`` where nodes wake one at a time."""
        return 1

    def check(self, network: Network) -> None:
        """Refuse what does not fit the network."""


class NodeSchedule(Schedule):
    """One node wakes per iteration, and all its messages arrive."""

    def round(self, network: Network) -> int:
        return network.n

    def nodes(self, network: Network, key: int, first: int, count: int) -> Nodes:
        """The nodes that wake at iterations ``first .. first + count - 1``."""
        raise NotImplementedError


class MaskSchedule(Schedule):
    """A set of nodes wakes per iteration, and a set of messages arrives."""

    def masks(self, network: Network, key: int, k: int) -> tuple[Mask | None, Mask | None]:
        """Active nodes ``(n,)`` and arrived half-edges ``(2m,)`` at iteration ``k``; None is all.

        A half-edge ``(j, i)`` is arrived when ``U_{j|i} = 1``: ``z_{j|i}`` is replaced by what ``i`` wrote.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Synchronous(Schedule):
    """All nodes wake, all messages arrive: ``U = 1``."""

    def mu(self, network: Network) -> float:
        return 1.0


@dataclass(frozen=True, eq=False)
class Asynchronous(NodeSchedule):
    """One node wakes, uniformly at random (``mu = 1/n``) or with probability proportional to ``rates``."""

    rates: Sequence[float] | npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.rates is not None:
            object.__setattr__(self, "rates", positive_rates(self.rates))

    def mu(self, network: Network) -> float | None:
        return 1 / network.n if self.rates is None or len(set(self.rates)) == 1 else None

    def check(self, network: Network) -> None:
        if self.rates is not None and len(self.rates) != network.n:
            raise InvalidInput(f"rates must have one entry per node, {network.n}; got {len(self.rates)}.")

    def cumulative(self) -> npt.NDArray[np.float64] | None:
        """Cumulated probabilities, or None where they are uniform."""
        return None if self.rates is None else np.cumsum(self.rates) / np.sum(self.rates)

    def nodes(self, network: Network, key: int, first: int, count: int) -> Nodes:
        u = uniform(key, np.arange(first, first + count, dtype=np.uint64), 0)
        cumulative = self.cumulative()
        if cumulative is None:
            return (u * network.n).astype(np.int64)
        return np.minimum(np.searchsorted(cumulative, u, side="right"), network.n - 1)


@dataclass(frozen=True, eq=False)
class PoissonClocks(Asynchronous):
    """Node ``i`` wakes on its own Poisson clock of rate ``rates[i]``: asynchronous, with real time attached."""

    rates: Sequence[float] | npt.NDArray[np.float64] = ()

    def times(self, key: int, count: int) -> npt.NDArray[np.float64]:
        """When the first ``count`` activations happen: the merged clocks tick at the sum of the rates."""
        u = uniform(key, np.arange(count, dtype=np.uint64), 1)
        return np.asarray(np.cumsum(-np.log1p(-u)) / np.sum(self.rates))


@dataclass(frozen=True)
class NodeBernoulli(MaskSchedule):
    """Every node wakes with probability ``p``, independently: ``mu = p``."""

    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p))

    def mu(self, network: Network) -> float:
        return self.p

    def masks(self, network: Network, key: int, k: int) -> tuple[Mask, Mask]:
        index = network.layout.number.astype(np.uint64)
        active = np.asarray(uniform(key, np.uint64(k), index) < self.p)
        return active, active[network.indices]


@dataclass(frozen=True)
class EdgeBernoulli(MaskSchedule):
    """Every node wakes, every message arrives with probability ``p``: packet loss ``1 - p``, ``mu = p``."""

    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p))

    def mu(self, network: Network) -> float:
        return self.p

    def masks(self, network: Network, key: int, k: int) -> tuple[None, Mask]:
        return None, np.asarray(uniform(key, np.uint64(k), network.layout.slot.astype(np.uint64)) < self.p)


def Trace(
    nodes: Iterable[int] | None = None,
    *,
    node_sets: Sequence[Iterable[int]] | None = None,
    half_edges: Sequence[Iterable[int]] | None = None,
) -> NodeTrace | SetTrace | LossTrace:
    """A recorded run: ``nodes`` (one a step), ``node_sets``, ``half_edges`` (index lists or masks), or the last two.

    Half-edge ``h = (j, i)`` in a set means that ``z_{j|i}`` was updated with what ``i`` wrote. With ``half_edges``
    alone a node computes when at least one of its messages arrives; ``node_sets`` beside it says who woke, so that a
    node can have spoken although all its messages were lost.

    >>> Trace([0, 2, 1]).length()
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
class SetTrace(MaskSchedule):
    """A recorded sequence of sets of active nodes, or of half-edges that were updated."""

    sets: tuple[Nodes, ...]
    of_nodes: bool
    mask_lengths: frozenset[int] = frozenset()  # of the sets that were given as masks

    def length(self) -> int:
        return len(self.sets)

    def check(self, network: Network) -> None:
        size = network.n if self.of_nodes else 2 * network.m
        for length in self.mask_lengths - {size}:
            raise InvalidInput(f"the trace has a mask of length {length}; expected {size}.")
        for members in self.sets:
            within(members, size, "node" if self.of_nodes else "half-edge")

    def masks(self, network: Network, key: int, k: int) -> tuple[Mask | None, Mask]:
        member = np.zeros(network.n if self.of_nodes else 2 * network.m, dtype=bool)
        member[self.sets[k]] = True
        if self.of_nodes:
            return member, member[network.indices]
        # A node computes when at least one of its messages is going to arrive.
        active = np.zeros(network.n, dtype=bool)
        active[network.indices[member]] = True
        return active, member


@dataclass(frozen=True, eq=False)
class LossTrace(MaskSchedule):
    """A recorded sequence of who woke, and of which of their messages arrived."""

    awake: SetTrace
    arrived: SetTrace

    def length(self) -> int:
        return self.awake.length()

    def check(self, network: Network) -> None:
        self.awake.check(network)
        self.arrived.check(network)
        for k, (nodes, half_edges) in enumerate(zip(self.awake.sets, self.arrived.sets, strict=True)):
            for h in half_edges[~np.isin(network.indices[half_edges], nodes)]:
                i = network.indices[h]
                raise InvalidInput(f"step {k} of the trace: half-edge {h} was updated by node {i}, which did not wake.")

    def masks(self, network: Network, key: int, k: int) -> tuple[Mask | None, Mask]:
        return self.awake.masks(network, key, k)[0], self.arrived.masks(network, key, k)[1]


@dataclass(frozen=True)
class Delayed(Schedule):
    """Asynchronous, but every message is under way for ``0 .. max_delay`` activations, uniformly at random.

    Reads are therefore stale; a message overtaken by a later one of the same half-edge is dropped, as by the counter
    of ``Node``. ``max_delay = 0`` is ``Asynchronous``.
    """

    max_delay: int
    wakes: NodeSchedule = Asynchronous()

    def __post_init__(self) -> None:
        if isinstance(self.max_delay, bool) or not isinstance(self.max_delay, int | np.integer) or self.max_delay < 0:
            raise InvalidInput(f"max_delay must be an integer >= 0, in activations; got {self.max_delay!r}.")
        if not isinstance(self.wakes, NodeSchedule):
            raise InvalidInput("Delayed wraps a schedule that wakes one node at a time; got " + repr(self.wakes) + ".")

    def length(self) -> int | None:
        return self.wakes.length()

    def round(self, network: Network) -> int:
        return self.wakes.round(network)

    def check(self, network: Network) -> None:
        self.wakes.check(network)

    def delays(self, network: Network, key: int, k: int, half_edges: npt.NDArray[np.integer[Any]]) -> Nodes:
        """For how many activations each message sent at iteration ``k`` is under way."""
        other_stream = int(mix(np.uint64(key))[0])
        u = uniform(other_stream, np.uint64(k), network.layout.slot[half_edges].astype(np.uint64))
        return np.asarray((u * (self.max_delay + 1)).astype(np.int64))


def probability(p: float) -> float:
    if not (is_number(p) and 0 < p <= 1):
        raise InvalidInput(f"p must be in (0, 1]; got {p!r}. p is the probability to act or arrive; loss is 1 - p.")
    return float(p)


def positive_rates(rates: Iterable[float]) -> npt.NDArray[np.float64]:
    try:
        array = np.array(rates if isinstance(rates, np.ndarray) else list(rates), dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"rates must be positive numbers, one per node; got {rates!r}.") from None
    if array.ndim != 1 or not len(array) or not (np.isfinite(array) & (array > 0)).all():
        raise InvalidInput(f"rates must be positive numbers, one per node; got {array!r}.")
    return array


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


def key_of(seed: int | None) -> int:
    """The 64-bit key of a run's schedule: from the seed, or from the operating system."""
    entropy = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return int(entropy[0])


__all__ = [
    "Asynchronous", "Delayed", "EdgeBernoulli", "NodeBernoulli", "PoissonClocks", "Schedule", "Synchronous", "Trace",
]  # fmt: skip
