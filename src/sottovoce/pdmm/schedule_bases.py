"""What schedules are made of: who wakes at iteration ``k``, and whose message arrives (paper, eq. 9; the random ``U``).

A schedule of one's own starts from ``NodeSchedule``, where one node wakes at a time, or from ``SetSchedule``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, Unsupported
from ..network import Network

Nodes = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]  # a truth value per node or half-edge; None in its place is all of them


@dataclass(frozen=True, eq=False)
class Law:
    """How ``U`` is drawn, where every iteration draws it anew and in the same way.

    ``of``: ``"all"`` is ``U = 1``; ``"one node"`` wakes, with probability proportional to its entry of ``rates`` (None
    is equal); ``"nodes"`` or ``"messages"`` have a coin each, which says yes with probability ``p``.
    """

    of: Literal["all", "one node", "nodes", "messages"]
    p: float = 1.0
    rates: npt.NDArray[np.float64] | None = None

    def mu(self, n: int) -> float | None:
        """``Pr(U = 1)`` on ``n`` nodes where it is the same for every half-edge, else None."""
        if self.of != "one node":
            return self.p
        return 1 / n if self.rates is None or len(set(self.rates)) == 1 else None

    def cumulative(self) -> npt.NDArray[np.float64] | None:
        """Cumulated probabilities of the nodes, or None where they are equal."""
        return None if self.rates is None else np.cumsum(self.rates) / np.sum(self.rates)


class Stage(Protocol):
    """What a schedule has done by a run: ``Reference``, or what stands in for it."""

    def wake_one(self, i: int) -> None:
        """Node ``i`` wakes, and all its messages arrive."""

    def wake_many(self, active: Chosen | None, arrived: Chosen | None) -> None:
        """The active nodes wake together, and the arrived half-edges are updated."""

    def wake_late(self, k: int, i: int, delays: Nodes) -> None:
        """Node ``i`` wakes at iteration ``k``, and each of its messages is under way for so many iterations."""


class Schedule(ABC):
    """Who wakes when, and what arrives: what all schedules share.

    A schedule of one's own is a subclass of ``NodeSchedule`` or of ``SetSchedule``. Its random choices are functions of
    ``(key, k)`` alone, so that a seed gives the same run on every engine.

    Examples
    --------
    >>> import sottovoce as sv
    >>> network = sv.Network.ring(4)
    >>> [schedule.mu(network) for schedule in (sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.7))]
    [1.0, 0.25, 0.7]
    """

    one_at_a_time = False  # whether one node wakes per iteration
    late = True  # whether a message may arrive in a later iteration than the one in which it was sent
    _hashed = False  # whether its choices are the hashes that kernels draw by themselves

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()

        def at(name: str) -> int:
            return next(k for k, base in enumerate((*cls.__mro__, None)) if base is None or name in vars(base))

        # What is said of the choices of a base does not hold for one that chooses otherwise.
        chooses, tells = min(map(at, ("nodes", "sets", "play"))), at("law")
        if min(chooses, tells) < at("_hashed"):
            cls._hashed = False
        if chooses < tells:
            cls.law = Schedule.law  # type: ignore[method-assign]

    @property
    def law(self) -> Law | None:
        """How ``U`` is drawn where every iteration draws it alike; None where nothing is said about it."""
        return None

    @property
    def drawn(self) -> Law | None:
        """``law``, where kernels can draw the same choices by themselves: of the package's own schedules."""
        return self.law if self._hashed else None

    @abstractmethod
    def play(self, stage: Stage, network: Network, key: int, first: int, count: int) -> None:
        """Have the iterations ``first .. first + count - 1`` done."""

    def sets(self, network: Network, key: int, k: int) -> tuple[Chosen | None, Chosen | None]:
        """The nodes ``(n,)`` that wake at iteration ``k``, and the half-edges ``(2m,)`` that arrive in it; None is all.

        A half-edge ``(j, i)`` arrives when ``U_{j|i} = 1``: ``z_{j|i}`` is updated with what ``i`` wrote.
        """
        raise Unsupported(f"{type(self).__name__} does not say who wakes at an iteration, and what arrives in it.")

    def awake(self, network: Network, key: int, iterations: int) -> Chosen:
        """Who wakes at least once in the first ``iterations``, ``(n,)``."""
        found = np.zeros(network.n, dtype=bool)
        for k in range(iterations):
            active = self.sets(network, key, k)[0]
            found |= True if active is None else active
        return found

    @property
    def synchronous(self) -> bool:
        """Whether all nodes wake in every iteration, and all messages arrive."""
        return self.law is not None and self.law.of == "all"

    @property
    def loses(self) -> bool:
        """Whether a message may be lost that others of the same node survive; yes where nothing is known."""
        return not self.one_at_a_time and (self.law is None or self.law.of == "messages")

    @property
    def planned(self) -> bool:
        """Whether who wakes when is the same in every run, whatever the seed."""
        return self.synchronous or self.length() is not None

    def on(self, network: Network) -> Schedule:
        """The same schedule by the numbers of this network, where it was given by names."""
        return self

    def mu(self, network: Network) -> float | None:
        """``Pr(U = 1)`` where it is the same for every half-edge, else None."""
        law = self.on(network).law
        return None if law is None else law.mu(network.n)

    def length(self) -> int | None:
        """The number of iterations after which there is nothing left to play, or None."""
        return None

    def round(self, network: Network) -> int:
        """Iterations in which every node wakes once on average: 1, or ``n`` where nodes wake one at a time."""
        return 1

    def check(self, network: Network) -> None:  # noqa: B027  (many fit every network)
        """Refuse what does not fit the network."""


class NodeSchedule(Schedule):
    """One node wakes per iteration, and all its messages arrive. A subclass writes ``nodes``.

    Every cost of the package is played by the compiled engine, whatever the sequence.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> class InTurn(NodeSchedule):
    ...     def nodes(self, network, key, first, count):
    ...         return np.arange(first, first + count) % network.n
    >>> result = sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), schedule=InTurn(), c=0.5)
    >>> result.status.value, [round(float(x), 6) for x in result.x]
    ('converged', [3.0, 3.0, 3.0, 3.0])
    """

    one_at_a_time = True
    late = False

    def on(self, network: Network) -> NodeSchedule:
        return self

    @abstractmethod
    def nodes(self, network: Network, key: int, first: int, count: int) -> Nodes:
        """The nodes that wake at iterations ``first .. first + count - 1``, a function of these arguments alone."""

    def checked_nodes(self, network: Network, key: int, first: int, count: int) -> Nodes:
        """``nodes``, refused where they are not nodes of the network."""
        found = np.asarray(self.nodes(network, key, first, count))
        if found.shape != (count,) or found.dtype.kind not in "iu":
            raise InvalidInput(
                f"{type(self).__name__}.nodes must give {count} integers, an array of shape ({count},); got "
                f"{found.dtype} of shape {found.shape}."
            )
        if count and not (found.min() >= 0 and found.max() < network.n):
            wrong = found[(found < 0) | (found >= network.n)][0]
            raise InvalidInput(f"{type(self).__name__} wakes node {wrong}, but there are {network.n}, numbered from 0.")
        return found

    def play(self, stage: Stage, network: Network, key: int, first: int, count: int) -> None:
        for i in self.checked_nodes(network, key, first, count).tolist():
            stage.wake_one(i)

    def sets(self, network: Network, key: int, k: int) -> tuple[Chosen, Chosen]:
        active = np.zeros(network.n, dtype=bool)
        active[self.checked_nodes(network, key, k, 1)] = True
        return active, active[network.indices]

    def awake(self, network: Network, key: int, iterations: int) -> Chosen:
        found = np.zeros(network.n, dtype=bool)
        found[self.checked_nodes(network, key, 0, iterations)] = True
        return found

    def round(self, network: Network) -> int:
        return network.n


def wakes_in_turn(schedule: Schedule) -> bool:
    """Whether ``nodes`` says all: one of them wakes at a time, in no other way than its base has it."""
    return isinstance(schedule, NodeSchedule) and type(schedule).play is NodeSchedule.play


class SetSchedule(Schedule):
    """A set of nodes wakes per iteration, and a set of their messages arrives. A subclass writes ``sets``.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> class EvenThenOdd(SetSchedule):
    ...     def sets(self, network, key, k):
    ...         active = np.arange(network.n) % 2 == k % 2
    ...         return active, active[network.indices]
    >>> result = sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), schedule=EvenThenOdd(), c=0.5)
    >>> result.status.value, [round(float(x), 6) for x in result.x]
    ('converged', [3.0, 3.0, 3.0, 3.0])
    """

    late = False

    @abstractmethod
    def sets(self, network: Network, key: int, k: int) -> tuple[Chosen | None, Chosen | None]:
        """As in ``Schedule``, a function of these arguments alone. Only messages of nodes that wake can arrive:
        ``network.indices`` has the sender of every half-edge."""

    def play(self, stage: Stage, network: Network, key: int, first: int, count: int) -> None:
        for k in range(first, first + count):
            stage.wake_many(*self.checked_sets(network, key, k))

    def checked_sets(self, network: Network, key: int, k: int) -> tuple[Chosen | None, Chosen | None]:
        """``sets``, refused where they do not fit the network, or each other."""
        active, arrived = self.sets(network, key, k)
        if active is not None:
            self._check(active, network.n, "nodes", k)
        if arrived is not None:
            self._check(arrived, 2 * network.m, "half-edges", k)
        if active is not None:
            silent = ~active[network.indices]
            if (silent if arrived is None else silent & arrived).any():
                raise InvalidInput(
                    f"{type(self).__name__}, iteration {k}: a message arrives from a node that does not wake."
                )
        return active, arrived

    def sets_as_numbers(self, network: Network, key: int, k: int) -> tuple[Nodes, Nodes]:
        """The same sets as numbers of nodes and places of half-edges, each once."""
        active, arrived = self.checked_sets(network, key, k)
        nodes = np.arange(network.n) if active is None else np.flatnonzero(active)
        return nodes, np.arange(2 * network.m) if arrived is None else np.flatnonzero(arrived)

    def _check(self, chosen: Any, size: int, of: str, k: int) -> None:
        if not (isinstance(chosen, np.ndarray) and chosen.dtype == bool and chosen.shape == (size,)):
            raise InvalidInput(
                f"{type(self).__name__}, iteration {k}: sets must give {size} truth values for the {of}, an array of "
                f"shape ({size},), or None for all; got {chosen!r:.80}."
            )
