"""All that a page shows, as one value that never changes: who talks to whom, who holds what, who is corrupt, behind
which mask. An edit gives another scene, so that undo is a list; ``link`` writes a scene into an address."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InvalidInput, InvalidNetwork
from ..network import Network
from ..pdmm.common_problems import averaging
from ..pdmm.masks import GaussianMask
from ..pdmm.problem import Problem
from .checks import one_of, whole, within

MOST = 200  # parties on a page
LONGEST = 24  # characters of a name
LARGEST = 1e12  # of a private number
VARIANCES = (1e-2, 1e12)  # of a mask
SCHEDULES = ("synchronous", "asynchronous", "permutations", "edge_reversal")
CHANNELS = ("open", "encrypted")
NAMES = (
    "Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jo", "Kit", "Lou", "Max", "Ned", "Ona", "Pia", "Quin",
    "Ray", "Sue", "Tom", "Uma", "Val", "Wim", "Xia", "Yves", "Zoe",
)  # fmt: skip

Place = tuple[float, float]


@dataclass(frozen=True)
class Scene:
    """What is drawn, held, assumed and asked.

    Attributes
    ----------
    names, places, numbers : tuple
        Of the parties: what they are called, where they stand in the unit square, what they hold.
    edges : tuple of pairs
        By number, the smaller one first, sorted.
    corrupt : frozenset of int
        Who colludes.
    variance : float or None
        Of the mask; None is no mask.
    channels : str
        ``"open"`` or ``"encrypted"``.
    prior : float or None
        The variance of a number that an attacker counts on; None takes the mean square of the numbers.
    schedule, loss, theta, c, seed
        How a run goes; None of ``theta`` and ``c`` lets the library choose.
    at : int
        The iteration that is looked at.
    coalition, bound : int, float
        What is asked for: how many may be corrupt, and the nats that the procedure may add.
    """

    names: tuple[str, ...]
    places: tuple[Place, ...]
    numbers: tuple[float, ...]
    edges: tuple[tuple[int, int], ...]
    corrupt: frozenset[int] = frozenset()
    variance: float | None = 1e6
    channels: str = "open"
    prior: float | None = None
    schedule: str = "asynchronous"
    loss: float = 0.0
    theta: float | None = None
    c: float | None = None
    seed: int = 0
    at: int = 0
    coalition: int = 1
    bound: float = 0.01

    def __post_init__(self) -> None:
        """Whatever it comes from, a scene that exists can be drawn and played."""
        n = len(self.names)
        if not 2 <= n <= MOST:
            raise InvalidInput(f"a network on this page has 2 to {MOST} parties; got {n}.")
        if not len(self.places) == len(self.numbers) == n:
            raise InvalidInput(f"every party needs a place and a number: {n} parties.")
        for name in self.names:
            if (
                not isinstance(name, str)
                or not 1 <= len(name) <= LONGEST
                or not name.isprintable()
                or name != name.strip()
            ):
                raise InvalidInput(f"a name has 1 to {LONGEST} printable characters; got {name!r:.60}.")
        if len(set(self.names)) < n:
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InvalidInput(f"two parties are called {twice!r}: give one of them another name.")
        for name, number in zip(self.names, self.numbers, strict=True):
            within(number, -LARGEST, LARGEST, f"the number of {name}")
        for place in self.places:
            for coordinate in place:
                within(coordinate, 0, 1, "a place")
        if not self.corrupt <= set(range(n)):
            raise InvalidInput(f"corrupt parties are numbers from 0 to {n - 1}.")
        if len(self.corrupt) == n:
            raise InvalidInput("all parties are corrupt: nobody is left to protect. Mark fewer.")
        if self.variance is not None:
            within(self.variance, *VARIANCES, "the variance of the mask")
        one_of(self.channels, CHANNELS, "channels")
        one_of(self.schedule, SCHEDULES, "the schedule")
        if self.prior is not None:
            within(self.prior, 1e-12, LARGEST**2, "the prior variance")
        within(self.loss, 0, 0.9, "the share of lost messages")
        if self.loss and self.schedule == "edge_reversal":
            raise InvalidInput(
                "a party that waits for all neighbours waits for ever where a message is lost: no losses."
            )
        if self.theta is not None:
            within(self.theta, 0.05, 1, "theta")
        if self.c is not None:
            within(self.c, 1e-6, 1e6, "c")
        for name, most in (("seed", 2**32), ("at", 10**6)):
            whole(getattr(self, name), 0, most, name)
        whole(self.coalition, 1, 3, "the number of corrupt parties")
        within(self.bound, 1e-9, 10, "the bound, in nats,")
        object.__setattr__(self, "edges", sorted_edges(self.edges))  # so that equal networks are equal scenes
        self.network  # noqa: B018  (refuses what is not connected, loops, and edges that come twice)

    # What the library makes of it

    @property
    def n(self) -> int:
        """How many parties there are."""
        return len(self.names)

    @cached_property
    def network(self) -> Network:
        """Who talks to whom, by name."""
        return Network.from_edges(self.n, self.edges, labels=self.names)

    @cached_property
    def problem(self) -> Problem:
        """The mean of the numbers."""
        return averaging(self.network, np.array(self.numbers))

    @property
    def mask(self) -> GaussianMask | None:
        """Behind which they are."""
        return None if self.variance is None else GaussianMask(self.variance)

    @property
    def corrupt_names(self) -> list[str]:
        """Who colludes, in the order of the parties."""
        return [self.names[i] for i in sorted(self.corrupt)]

    @property
    def mean(self) -> float:
        """The exact answer, which only a simulation can compute at once."""
        return math.fsum(self.numbers) / self.n

    def differs(self, other: Scene) -> set[str]:
        """In which of its fields it is another."""
        return {name for name in FIELDS if getattr(self, name) != getattr(other, name)}

    # Edits

    def toggled(self, i: int) -> Scene:
        """The same with party ``i`` corrupt, or honest again."""
        return replace(self, corrupt=self.corrupt ^ {_node(self, i)})

    def moved(self, i: int, x: float, y: float) -> Scene:
        """The same with party ``i`` at another place."""
        i = _node(self, i)
        return replace(self, places=(*self.places[:i], place(x, y), *self.places[i + 1 :]))

    def added(self, x: float, y: float) -> Scene:
        """The same with a party more, a neighbour of the nearest two, and with a number of 0."""
        at = place(x, y)
        near = sorted(range(self.n), key=lambda i: math.dist(self.places[i], at))[:2]
        return replace(
            self,
            names=(*self.names, _fresh_name(self.names)),
            places=(*self.places, at),
            numbers=(*self.numbers, 0.0),
            edges=sorted_edges([*self.edges, *((i, self.n) for i in near)]),
        )

    def joined(self, i: int, j: int) -> Scene:
        """The same with an edge more."""
        pair = _pair(self, i, j)
        if pair in self.edges:
            raise InvalidNetwork(f"{self.names[i]} and {self.names[j]} are neighbours already.")
        return replace(self, edges=sorted_edges([*self.edges, pair]))

    def cut(self, i: int, j: int) -> Scene:
        """The same without an edge."""
        pair = _pair(self, i, j)
        if pair not in self.edges:
            raise InvalidNetwork(f"{self.names[i]} and {self.names[j]} are no neighbours.")
        rest = tuple(edge for edge in self.edges if edge != pair)
        return self._connected(f"without the edge {self.names[pair[0]]} - {self.names[pair[1]]}", edges=rest)

    def without(self, i: int) -> Scene:
        """The same without a party and its edges."""
        i = _node(self, i)
        kept = [k for k in range(self.n) if k != i]
        number = {k: at for at, k in enumerate(kept)}
        return self._connected(
            f"without {self.names[i]}",
            names=tuple(self.names[k] for k in kept),
            places=tuple(self.places[k] for k in kept),
            numbers=tuple(self.numbers[k] for k in kept),
            edges=tuple((number[a], number[b]) for a, b in self.edges if i not in (a, b)),
            corrupt=frozenset(number[k] for k in self.corrupt if k != i),
        )

    def _connected(self, what: str, **changes: Any) -> Scene:
        try:
            return replace(self, **changes)
        except InvalidNetwork:
            raise InvalidNetwork(f"{what} the network falls apart: everybody must be reached by everybody.") from None

    def renamed(self, i: int, name: str) -> Scene:
        """The same with another name for party ``i``."""
        i = _node(self, i)
        return replace(self, names=(*self.names[:i], str(name).strip(), *self.names[i + 1 :]))

    def holding(self, i: int, number: Any) -> Scene:
        """The same with another private number at party ``i``."""
        i = _node(self, i)
        try:
            value = float(number)
        except (TypeError, ValueError):
            raise InvalidInput(f"the number of {self.names[i]} must be a number; got {number!r:.40}.") from None
        return replace(self, numbers=(*self.numbers[:i], value, *self.numbers[i + 1 :]))


def party_names(n: int) -> tuple[str, ...]:
    """Names for people: Ada, Bo, Cy, ..."""
    return tuple(NAMES[i] if i < len(NAMES) else f"{NAMES[i % len(NAMES)]} {i // len(NAMES) + 1}" for i in range(n))


def place(x: float, y: float) -> Place:
    """Inside the square, to a thousandth: what a screen shows."""
    for value in (x, y):
        within(value, -1e6, 1e6, "a place")
    return tuple(round(min(1.0, max(0.0, float(v))), 3) for v in (x, y))  # type: ignore[return-value]


def sorted_edges(edges: Iterable[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((min(pair), max(pair)) for pair in edges))


def _fresh_name(taken: Collection[str]) -> str:
    return next(name for name in party_names(2 * MOST) if name not in taken)


def _node(scene: Scene, i: Any) -> int:
    whole(i, 0, scene.n - 1, "a party")
    return int(i)


def _pair(scene: Scene, i: Any, j: Any) -> tuple[int, int]:
    i, j = _node(scene, i), _node(scene, j)
    if i == j:
        raise InvalidNetwork("an edge joins two parties, not one with itself.")
    return min(i, j), max(i, j)


FIELDS = tuple(field.name for field in fields(Scene))
