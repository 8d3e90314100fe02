"""All that a page shows, as one value that never changes: who talks to whom, who holds what, who is corrupt, behind
which mask. An edit gives another scene, so that undo is a list; ``link`` writes a scene into an address."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..data.problem_file import GENERATORS
from ..errors import InvalidInput, InvalidNetwork
from ..network import Network
from ..network.pictures import spring_layout
from ..pdmm.common_problems import averaging
from ..pdmm.masks import GaussianMask
from ..pdmm.problem import Problem

MOST = 200  # parties on a page
LONGEST = 24  # characters of a name
LARGEST = 1e12  # of a private number
VARIANCES = (1e-2, 1e12)  # of a mask
SCHEDULES = ("synchronous", "asynchronous", "permutations", "edge_reversal")
APART, PUSHES = 0.13, 60  # of the square: how far marks are kept from each other, and how often they are pushed
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
            _within(number, -LARGEST, LARGEST, f"the number of {name}")
        for place in self.places:
            for coordinate in place:
                _within(coordinate, 0, 1, "a place")
        if not self.corrupt <= set(range(n)):
            raise InvalidInput(f"corrupt parties are numbers from 0 to {n - 1}.")
        if len(self.corrupt) == n:
            raise InvalidInput("all parties are corrupt: nobody is left to protect. Mark fewer.")
        if self.variance is not None:
            _within(self.variance, *VARIANCES, "the variance of the mask")
        _one_of(self.channels, CHANNELS, "channels")
        _one_of(self.schedule, SCHEDULES, "the schedule")
        if self.prior is not None:
            _within(self.prior, 1e-12, LARGEST**2, "the prior variance")
        _within(self.loss, 0, 0.9, "the share of lost messages")
        if self.loss and self.schedule == "edge_reversal":
            raise InvalidInput(
                "a party that waits for all neighbours waits for ever where a message is lost: no losses."
            )
        if self.theta is not None:
            _within(self.theta, 0.05, 1, "theta")
        if self.c is not None:
            _within(self.c, 1e-6, 1e6, "c")
        for name, most in (("seed", 2**32), ("at", 10**6)):
            _whole(getattr(self, name), 0, most, name)
        _whole(self.coalition, 1, 3, "the number of corrupt parties")
        _within(self.bound, 1e-9, 10, "the bound, in nats,")
        object.__setattr__(self, "edges", _sorted(self.edges))  # so that equal networks are equal scenes
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
        return replace(self, places=(*self.places[:i], _place(x, y), *self.places[i + 1 :]))

    def added(self, x: float, y: float) -> Scene:
        """The same with a party more, a neighbour of the nearest two, and with a number of 0."""
        at = _place(x, y)
        near = sorted(range(self.n), key=lambda i: math.dist(self.places[i], at))[:2]
        return replace(
            self,
            names=(*self.names, _fresh_name(self.names)),
            places=(*self.places, at),
            numbers=(*self.numbers, 0.0),
            edges=_sorted([*self.edges, *((i, self.n) for i in near)]),
        )

    def joined(self, i: int, j: int) -> Scene:
        """The same with an edge more."""
        pair = _pair(self, i, j)
        if pair in self.edges:
            raise InvalidNetwork(f"{self.names[i]} and {self.names[j]} are neighbours already.")
        return replace(self, edges=_sorted([*self.edges, pair]))

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

    def on(self, network: Network, names: Sequence[str] | None = None, numbers: Sequence[float] | None = None) -> Scene:
        """The same settings on another network: with drawn numbers where none are given, and nobody corrupt."""
        return replace(self, **_parties(network, names, numbers, self.seed), corrupt=frozenset(), at=0)


def _parties(
    network: Network, names: Sequence[str] | None, numbers: Sequence[float] | None, seed: int
) -> dict[str, Any]:
    """Who they are, where they stand and what they hold, as a scene has it."""
    if network.n > MOST:
        raise InvalidInput(f"a network on this page has 2 to {MOST} parties; this one has {network.n:,}.")
    return {
        "names": tuple(names or party_names(network.n)),
        "places": places_of(network),
        "numbers": drawn_numbers(network.n, seed) if numbers is None else tuple(float(s) for s in numbers),
        "edges": _sorted(network.edges.tolist()),
    }


def party_names(n: int) -> tuple[str, ...]:
    """Names for people: Ada, Bo, Cy, ..."""
    return tuple(NAMES[i] if i < len(NAMES) else f"{NAMES[i % len(NAMES)]} {i // len(NAMES) + 1}" for i in range(n))


def drawn_numbers(n: int, seed: int) -> tuple[float, ...]:
    """Private numbers to begin with, of one digit after the point: ages of some clients, say."""
    drawn = np.random.default_rng([seed, n]).normal(50, 12, size=n)
    return tuple(float(f"{s:.1f}") for s in drawn)


def first_scene() -> Scene:
    """What a page shows that was asked for nothing: the paper's network of ten."""
    return generated("random_geometric", 10, seed=1)


def generated(family: str, n: int, seed: int, scene: Scene | None = None) -> Scene:
    """A network of a family of ``Network``, with parameters that suit its size."""
    _one_of(family, tuple(GENERATORS), "the family")
    _whole(n, 3, MOST, "the number of parties")
    _whole(seed, 0, 2**32, "the seed")
    suited: dict[str, Any] = {
        "n": n,
        "seed": seed,
        "p": 0.2 if family == "watts_strogatz" else min(1.0, 2.5 * math.log(n) / n),
        "degree": min(4 if n > 4 else 2, n - 1),
        "k": min(4, (n - 1) // 2 * 2),
        "rows": (rows := max(k for k in range(1, math.isqrt(n) + 1) if n % k == 0)),
        "columns": n // rows,
    }
    network = getattr(Network, family)(**{key: suited[key] for key in GENERATORS[family] if key in suited})
    return Scene(**_parties(network, None, None, seed)) if scene is None else scene.on(network)


def places_of(network: Network) -> tuple[Place, ...]:
    """Where to draw the parties: the network's own places, or a spring layout, in the unit square."""
    places = network.positions if network.positions is not None else spring_layout(network)
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    middle = np.where(high > low, 0.0, 0.5)  # a line is drawn through the middle
    return tuple(_place(x, y) for x, y in _apart((places - low) / spread + middle).tolist())


def _apart(places: Any) -> Any:
    """Pushed from each other until no two marks lie on one another, or nearly."""
    n = len(places)
    least = min(APART, 0.7 / math.sqrt(n))
    for _ in range(PUSHES):
        away = places[:, None] - places[None]
        away[np.arange(n), np.arange(n)] = 1.0
        away += 1e-6 * np.subtract.outer(np.arange(n), np.arange(n))[:, :, None]  # two at one place part, too
        distance = np.linalg.norm(away, axis=2)
        push = np.where(distance < least, (least - distance) / distance, 0.0)
        if not push.any():
            break
        places = np.clip(places + 0.3 * np.einsum("ij,ijk->ik", push, away), 0.0, 1.0)
    return places


def names_of(network: Network) -> list[str] | None:
    """The names of a network's own, as a page can show them; None where it has numbers only."""
    if network.labels is None:
        return None
    return [network.name(i).strip()[:LONGEST] for i in range(network.n)]


def scene_of(problem: Problem) -> Scene:
    """The mean of one number per party as a scene; other problems are refused."""
    numbers = numbers_of(problem)
    if numbers is None:
        raise InvalidInput(
            "the studio plays the mean of one number per party, sv.averaging(network, s); this problem is another."
        )
    return first_scene().on(problem.network, names_of(problem.network), numbers)


def numbers_of(problem: Problem) -> list[float] | None:
    """The private numbers, where every party has one and all want the mean."""
    from ..costs import Averaging

    kinds = [cost for _, cost in problem.groups]
    if len(kinds) != 1 or not isinstance(kinds[0], Averaging) or problem.dim != 1 or not problem.consensus:
        return None
    return [float(s) for s in np.ravel(kinds[0].s)]


def _place(x: float, y: float) -> Place:
    """Inside the square, to a thousandth: what a screen shows."""
    return tuple(round(min(1.0, max(0.0, float(v))), 3) for v in (x, y))  # type: ignore[return-value]


def _sorted(edges: Iterable[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((min(pair), max(pair)) for pair in edges))


def _fresh_name(taken: Collection[str]) -> str:
    return next(name for name in party_names(2 * MOST) if name not in taken)


def _node(scene: Scene, i: Any) -> int:
    _whole(i, 0, scene.n - 1, "a party")
    return int(i)


def _pair(scene: Scene, i: Any, j: Any) -> tuple[int, int]:
    i, j = _node(scene, i), _node(scene, j)
    if i == j:
        raise InvalidNetwork("an edge joins two parties, not one with itself.")
    return min(i, j), max(i, j)


def _within(value: Any, low: float, high: float, what: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not low <= value <= high:
        told = f"{value:.4g}" if number else f"{value!r:.40}"
        raise InvalidInput(f"{what} must be a number from {low:g} to {high:g}; got {told}.")


def _whole(value: Any, low: int, high: int, what: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidInput(f"{what} must be a whole number from {low} to {high}; got {value!r:.40}.")


def _one_of(value: Any, known: Sequence[str], what: str) -> None:
    if value not in known:
        raise InvalidInput(f"{what} must be one of {', '.join(known)}; got {value!r:.40}.")


FIELDS = tuple(field.name for field in fields(Scene))
