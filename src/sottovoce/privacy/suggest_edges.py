"""Where a graph is thin: which edges would make it harder to cut (theory: Exposure)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..network import Network
from ..pdmm.settings import positive_integer
from .vertex_cuts import Neighbours, check_graph, cuts, neighbours_of, outwards, sides, smallest_cut


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Edges that raise the vertex connectivity from ``before`` to ``after``, or the ``reason`` why there are none.

    Attributes
    ----------
    edges : tuple of pairs
        The new ones, by the names of their nodes, each in the order of the nodes.
    before, after : int
        The fewest nodes that cut the graph without the edges, and with them, computed anew on ``network``.
    network : Network
        With the edges, and the old labels and positions.
    reason : str or None
        Why there are no edges; None where there are.

    Examples
    --------
    >>> import sottovoce as sv
    >>> found = sv.privacy.suggest_edges(sv.Network.complete(3))
    >>> found.edges, found.reason
    ((), 'The graph is complete: every edge is there.')
    """

    edges: tuple[tuple[Any, Any], ...]
    before: int
    after: int
    network: Network
    reason: str | None


def suggest_edges(network: Network, *, most: int = 5) -> Suggestion:
    """New edges after which one node more must be corrupt to cut the graph.

    One edge if one suffices, exactly. Otherwise a greedy search: none of its edges can be left out, but fewer others
    may do, and where it finds nothing there may be something; ``reason`` then says how many are needed at least.

    Parameters
    ----------
    network
        Who talks to whom.
    most
        How many edges are tried at most.

    Returns
    -------
    Suggestion
        The edges, and the network with them.

    Examples
    --------
    >>> import sottovoce as sv
    >>> path = sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    >>> found = sv.privacy.suggest_edges(path)
    >>> found.edges, found.before, found.after
    (((0, 3),), 1, 2)
    """
    check_graph(network)
    positive_integer(most, "most")
    neighbours = neighbours_of(network)
    cut = smallest_cut(neighbours)
    if cut is None:
        return Suggestion((), network.n - 1, network.n - 1, network, "The graph is complete: every edge is there.")
    before, parts = len(cut), 1 + max(sides(neighbours, cut).values())
    weakest = [i for i in range(network.n) if len(neighbours[i]) == before]
    least, why = max(
        ((len(weakest) + 1) // 2, f"each of {len(weakest)} nodes with {before} neighbours needs another"),
        (parts - 1, f"a cut of {before} leaves {parts} parts"),
    )
    edges: list[tuple[int, int]] = []
    if least == 1 and not (edges := _one_edge(neighbours, cut, weakest)):
        least, why = 2, "none crosses every minimum cut alone"
    if not edges and least <= most:
        edges = _grow(neighbours, cut, most)
    if not edges:
        reason = f"No {most} edges were found; at least {least} are needed: {why}. Raise most."
        return Suggestion((), before, before, network, reason)
    joined = np.concatenate([network.edges, np.array(edges)])
    better = Network(network.n, joined, network.positions, network.labels)
    after = smallest_cut(neighbours_of(better))
    named = tuple((network.label(i), network.label(j)) for i, j in edges)
    return Suggestion(named, before, network.n - 1 if after is None else len(after), better, None)


def _one_edge(neighbours: Neighbours, cut: Set[int], weakest: list[int]) -> list[tuple[int, int]]:
    """The edge that is enough by itself, if there is one: it crosses every minimum cut.

    A try that fails brings a minimum cut which it does not cross, and which excludes others with it.
    """
    known_sides = [sides(neighbours, known) for known in (cut, *(neighbours[i] for i in weakest))]
    far = outwards(neighbours, cut)[::-1]
    for a, b in product(*([i for i in far if known_sides[0][i] == side] for side in (0, 1))):
        if any(a not in side or b not in side or side[a] == side[b] for side in known_sides):
            continue
        _toggle(neighbours, a, b)
        remaining = next(cuts(neighbours, len(cut) + 1), None)
        _toggle(neighbours, a, b)
        if remaining is None:
            return [(min(a, b), max(a, b))]
        known_sides.append(sides(neighbours, remaining))
        if max(known_sides[-1].values()) > 1:  # three parts, which one edge does not join
            break
    return []


def _grow(neighbours: Neighbours, cut: Set[int], most: int) -> list[tuple[int, int]]:
    """Edges across one minimum cut after the other, as long as there are any, less those that were not needed."""
    k, edges = len(cut), list[tuple[int, int]]()
    remaining: Set[int] | None = cut
    while remaining is not None:
        if len(edges) == most:
            return []
        side = sides(neighbours, remaining)
        # Whoever has k neighbours needs an edge in any case; an edge between distant nodes crosses many cuts.
        ranked = sorted(outwards(neighbours, remaining)[::-1], key=lambda i: len(neighbours[i]) > k)
        a, b = ranked[0], next(i for i in ranked if side[i] != side[ranked[0]])
        edges.append((min(a, b), max(a, b)))
        _toggle(neighbours, a, b)
        remaining = next(cuts(neighbours, k + 1), None)
    for edge in edges.copy():
        _toggle(neighbours, *edge)
        if next(cuts(neighbours, k + 1), None) is None:
            edges.remove(edge)
        else:
            _toggle(neighbours, *edge)
    return edges


def _toggle(neighbours: Neighbours, a: int, b: int) -> None:
    """Add the edge, or take it away."""
    neighbours[a] ^= {b}
    neighbours[b] ^= {a}
