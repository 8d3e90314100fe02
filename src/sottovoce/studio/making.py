"""Scenes to begin with: of a family of networks, of a problem, of a network that somebody brought."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..costs import Averaging
from ..data.problem_file import GENERATORS
from ..errors import InvalidInput
from ..network import Network
from ..network.pictures import spring_layout
from ..pdmm.problem import Problem
from .checks import one_of, whole
from .scene import LONGEST, MOST, Place, Scene, party_names, place, sorted_edges

APART, PUSHES = 0.13, 60  # of the square: how far marks are kept from each other, and how often they are pushed


def on_network(
    scene: Scene, network: Network, names: Sequence[str] | None = None, numbers: Sequence[float] | None = None
) -> Scene:
    """The settings of a scene on another network: with drawn numbers where none are given, and nobody corrupt."""
    return replace(scene, **_parties(network, names, numbers, scene.seed), corrupt=frozenset(), at=0)


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
        "edges": sorted_edges(network.edges.tolist()),
    }


def drawn_numbers(n: int, seed: int) -> tuple[float, ...]:
    """Private numbers to begin with, of one digit after the point: ages of some clients, say."""
    drawn = np.random.default_rng([seed, n]).normal(50, 12, size=n)
    return tuple(float(f"{s:.1f}") for s in drawn)


def first_scene() -> Scene:
    """What a page shows that was asked for nothing: the paper's network of ten."""
    return generated("random_geometric", 10, seed=1)


def generated(family: str, n: int, seed: int, scene: Scene | None = None) -> Scene:
    """A network of a family of ``Network``, with parameters that suit its size."""
    one_of(family, tuple(GENERATORS), "the family")
    whole(n, 3, MOST, "the number of parties")
    whole(seed, 0, 2**32, "the seed")
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
    return Scene(**_parties(network, None, None, seed)) if scene is None else on_network(scene, network)


def places_of(network: Network) -> tuple[Place, ...]:
    """Where to draw the parties: the network's own places, or a spring layout, in the unit square."""
    places = network.positions if network.positions is not None else spring_layout(network)
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    middle = np.where(high > low, 0.0, 0.5)  # a line is drawn through the middle
    return tuple(place(x, y) for x, y in _apart((places - low) / spread + middle).tolist())


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
    return on_network(first_scene(), problem.network, names_of(problem.network), numbers)


def numbers_of(problem: Problem) -> list[float] | None:
    """The private numbers, where every party has one and all want the mean."""
    kinds = [cost for _, cost in problem.groups]
    if len(kinds) != 1 or not isinstance(kinds[0], Averaging) or problem.dim != 1 or not problem.consensus:
        return None
    return [float(s) for s in np.ravel(kinds[0].s)]
