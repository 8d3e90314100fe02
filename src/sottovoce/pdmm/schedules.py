"""Schedules: who wakes at iteration ``k``, and whose message arrives (paper, eq. 9; the random vector ``U``).

Every random choice is a pure function of ``(key, k, index)``, so that a run depends on its seed alone: not on the
number of threads, not on the engine, and iteration ``k`` can be asked for without the ones before it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, is_number
from ..network import Network
from ..network.names import in_order
from ..numerics.counter_random import mix, uniform
from .schedule_bases import Chosen, Law, Nodes, NodeSchedule, Schedule, SetSchedule, Stage
from .traces import Trace
from .turns import EdgeReversal, Permutations

AT_ONCE = 1 << 12  # activations whose delays are drawn together
MOST_DELAY = 1 << 53  # from which on hashes have too few bits
Rates = Sequence[float] | npt.NDArray[np.float64] | Mapping[Hashable, float]


@dataclass(frozen=True)
class Synchronous(SetSchedule):
    """All nodes wake, all messages arrive: ``U = 1``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), schedule=sv.Synchronous(), c=0.5).activations
    160
    """

    _hashed = True

    @property
    def law(self) -> Law:
        return Law("all")

    def sets(self, network: Network, key: int, k: int) -> tuple[None, None]:
        return None, None


@dataclass(frozen=True, eq=False)
class Asynchronous(NodeSchedule):
    """One node wakes, uniformly at random (``mu = 1/n``) or with probability proportional to ``rates``.

    Parameters
    ----------
    rates : sequence or mapping of float, optional
        A positive number per node, in the order of the nodes or by their names. None is the same for all.

    Examples
    --------
    >>> import sottovoce as sv
    >>> network = sv.Network.ring(4)
    >>> sv.Asynchronous().nodes(network, key=1, first=0, count=6).tolist()
    [1, 3, 3, 1, 1, 3]
    >>> eager = sv.Asynchronous(rates=[10, 1, 1, 1])
    >>> eager.nodes(network, key=1, first=0, count=6).tolist()
    [0, 2, 3, 0, 0, 1]
    >>> named = network.with_labels(["Ada", "Bob", "Eve", "Joe"])
    >>> eager = sv.Asynchronous(rates={"Ada": 10, "Bob": 1, "Eve": 1, "Joe": 1})
    >>> eager.nodes(named, key=1, first=0, count=6).tolist()
    [0, 2, 3, 0, 0, 1]
    """

    _hashed = True
    rates: Rates | None = None

    def __post_init__(self) -> None:
        if isinstance(self.rates, Mapping):
            positive_rates(self.rates.values())
        elif self.rates is not None:
            object.__setattr__(self, "rates", positive_rates(self.rates))

    @property
    def law(self) -> Law:
        return self._own_law()

    def _own_law(self) -> Law:
        """That of ``nodes`` here, also for those that a subclass makes of them."""
        if isinstance(self.rates, Mapping):
            raise InvalidInput("rates by name belong to a network: ask for the law of schedule.on(network).")
        return Law("one node", rates=None if self.rates is None else np.asarray(self.rates))

    def on(self, network: Network) -> Asynchronous:
        if not isinstance(self.rates, Mapping):
            return self
        return replace(self, rates=in_order(network, self.rates, "rates"))

    def check(self, network: Network) -> None:
        rates = self.on(network).rates
        if rates is not None and len(rates) != network.n:
            raise InvalidInput(f"rates must have one entry per node, {network.n}; got {len(rates)}.")

    def nodes(self, network: Network, key: int, first: int, count: int) -> Nodes:
        u = uniform(key, np.arange(first, first + count, dtype=np.uint64), 0)
        cumulative = self.on(network)._own_law().cumulative()
        if cumulative is None:
            return (u * network.n).astype(np.int64)
        return np.minimum(np.searchsorted(cumulative, u, side="right"), network.n - 1)


@dataclass(frozen=True, eq=False)
class PoissonClocks(Asynchronous):
    """Node ``i`` wakes on its own Poisson clock of rate ``rates[i]``: asynchronous, with real time attached.

    Parameters
    ----------
    rates : sequence or mapping of float
        Wakes per unit of time, a positive number per node, in the order of the nodes or by their names.

    Examples
    --------
    >>> import sottovoce as sv
    >>> clocks = sv.PoissonClocks([1.0, 1.0, 2.0])
    >>> clocks.times(key=1, count=3).round(2).tolist()
    [0.05, 0.56, 1.15]
    """

    rates: Rates = ()

    def times(self, key: int, count: int) -> npt.NDArray[np.float64]:
        """When the first ``count`` activations happen: the merged clocks tick at the sum of the rates."""
        u = uniform(key, np.arange(count, dtype=np.uint64), 1)
        rates = self.rates.values() if isinstance(self.rates, Mapping) else self.rates
        return np.asarray(np.cumsum(-np.log1p(-u)) / np.sum(list(rates)))


@dataclass(frozen=True)
class NodeBernoulli(SetSchedule):
    """Every node wakes with probability ``p``, independently: ``mu = p``.

    Parameters
    ----------
    p : float
        In ``(0, 1]``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> active, arrived = sv.NodeBernoulli(0.5).sets(sv.Network.ring(4), key=1, k=1)
    >>> active.tolist()
    [False, False, False, True]
    """

    _hashed = True
    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p))

    @property
    def law(self) -> Law:
        return Law("nodes", self.p)

    def sets(self, network: Network, key: int, k: int) -> tuple[Chosen, Chosen]:
        index = network.layout.number.astype(np.uint64)
        active = np.asarray(uniform(key, np.uint64(k), index) < self.p)
        return active, active[network.indices]


@dataclass(frozen=True)
class EdgeBernoulli(SetSchedule):
    """Every node wakes, every message arrives with probability ``p``: packet loss ``1 - p``, ``mu = p``.

    Parameters
    ----------
    p : float
        In ``(0, 1]``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> lossy = sv.solve(problem, schedule=sv.EdgeBernoulli(0.7), c=0.5, seed=1)
    >>> lossy.status.value, [round(float(x), 6) for x in lossy.x]
    ('converged', [3.0, 3.0, 3.0, 3.0])
    """

    _hashed = True
    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p))

    @property
    def law(self) -> Law:
        return Law("messages", self.p)

    def sets(self, network: Network, key: int, k: int) -> tuple[None, Chosen]:
        return None, np.asarray(uniform(key, np.uint64(k), network.layout.slot.astype(np.uint64)) < self.p)


@dataclass(frozen=True)
class Delayed(Schedule):
    """Asynchronous, but every message is under way for ``0 .. max_delay`` activations, uniformly at random.

    Reads are therefore stale; a message overtaken by a later one of the same half-edge is dropped, as by the counter
    of ``Node``. ``max_delay = 0`` is ``Asynchronous``.

    Parameters
    ----------
    max_delay : int
        The most activations for which a message is under way.
    wakes : NodeSchedule, optional
        Who wakes, one node at a time. Default: ``Asynchronous()``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> late = sv.solve(problem, schedule=sv.Delayed(max_delay=8), theta=0.5, c=0.5, seed=1)
    >>> late.status.value, [round(float(x), 6) for x in late.x]
    ('converged', [3.0, 3.0, 3.0, 3.0])
    """

    max_delay: int
    wakes: NodeSchedule = Asynchronous()

    def __post_init__(self) -> None:
        whole = isinstance(self.max_delay, int | np.integer) and not isinstance(self.max_delay, bool)
        if not (whole and 0 <= self.max_delay < MOST_DELAY):
            raise InvalidInput(
                f"max_delay must be an integer from 0 to 2^53 - 1, in activations; got {self.max_delay!r}."
            )
        object.__setattr__(self, "max_delay", int(self.max_delay))  # small integers of NumPy would overflow
        if not isinstance(self.wakes, NodeSchedule):
            raise InvalidInput("Delayed wraps a schedule that wakes one node at a time; got " + repr(self.wakes) + ".")

    def length(self) -> int | None:
        return self.wakes.length()

    def round(self, network: Network) -> int:
        return self.wakes.round(network)

    def on(self, network: Network) -> Delayed:
        return replace(self, wakes=self.wakes.on(network))

    def check(self, network: Network) -> None:
        self.wakes.check(network)

    def play(self, stage: Stage, network: Network, key: int, first: int, count: int) -> None:
        for part in range(first, first + count, AT_ONCE):
            nodes, delays, ends = self.late_wakes(network, key, part, min(AT_ONCE, first + count - part))
            for k, (i, some) in enumerate(zip(nodes.tolist(), np.split(delays, ends[:-1]), strict=True), start=part):
                stage.wake_late(k, i, some)

    def late_wakes(self, network: Network, key: int, first: int, count: int) -> tuple[Nodes, Nodes, Nodes]:
        """The nodes that wake at iterations ``first ..``, the delays of all messages that they send, neighbour by
        neighbour, and where those of each node end."""
        nodes = self.wakes.checked_nodes(network, key, first, count).astype(np.int64)
        degrees = network.degrees[nodes]
        ends = np.cumsum(degrees)
        half_edges = np.arange(degrees.sum()) + np.repeat(network.indptr[nodes] - (ends - degrees), degrees)
        k = np.repeat(np.arange(first, first + count), degrees)
        return nodes, self.delays(network, key, k, network.twin[half_edges]), ends

    def awake(self, network: Network, key: int, iterations: int) -> Chosen:
        return self.wakes.awake(network, key, iterations)

    def delays(self, network: Network, key: int, k: int | Nodes, half_edges: npt.NDArray[np.integer[Any]]) -> Nodes:
        """For how many activations each message sent at iteration ``k``, one for all or one each, is under way."""
        other_stream = int(mix(np.uint64(key))[0])
        u = uniform(other_stream, np.asarray(k, dtype=np.uint64), network.layout.slot[half_edges].astype(np.uint64))
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


def key_of(seed: int | None) -> int:
    """The 64-bit key of a run's schedule: from the seed, or from the operating system."""
    entropy = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return int(entropy[0])


__all__ = [
    "Asynchronous",
    "Delayed",
    "EdgeBernoulli",
    "EdgeReversal",
    "NodeBernoulli",
    "NodeSchedule",
    "Permutations",
    "PoissonClocks",
    "Schedule",
    "SetSchedule",
    "Synchronous",
    "Trace",
]
