"""Spanning trees, and what else a network is cut down to: messages may use fewer edges than pads do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, InvalidNetwork
from . import names

if TYPE_CHECKING:
    from .network import Network

Array = npt.NDArray[np.float64]

LEVELS = 10_000  # of all sweeps that look for a centre, about, which takes a fraction of a second: a dozen sweeps do


class Trees:
    """What ``Network`` has of them."""

    def spanning_tree(self) -> SpanningTree:
        """The tree over which agreements go by default: breadth first from a centre, ties by number.

        The centre is the node whose farthest node is nearest, or nearly so in very large networks.

        Examples
        --------
        >>> from sottovoce import Network
        >>> tree = Network.grid(3, 3).spanning_tree()
        >>> tree.root, tree.depth, tree.edges.tolist()
        (4, 2, [[0, 1], [1, 2], [1, 4], [3, 4], [3, 6], [4, 5], [4, 7], [5, 8]])
        """
        network = cast("Network", self)
        return spanning_tree(network, centre(network))

    def restricted_to(self, edges: Iterable[tuple[Hashable, Hashable]] | npt.NDArray[Any]) -> Network:
        """The same nodes with some of the edges only, by the names of their ends.

        Raises
        ------
        InvalidNetwork
            An edge that the network does not have or that comes twice, or edges that do not connect it.

        Examples
        --------
        >>> from sottovoce import Network
        >>> Network.ring(4).restricted_to([(0, 1), (1, 2), (2, 3)])
        Network(n=4, m=3)
        """
        return restricted(cast("Network", self), edges)


@dataclass(frozen=True, eq=False, repr=False)
class SpanningTree:
    """A rooted tree on all nodes of a network; ``Network.spanning_tree`` makes one.

    Attributes
    ----------
    root : int
        Its number.
    parents : ndarray
        ``(n,)``, the number of each node's parent; -1 of the root.
    levels : ndarray
        ``(n,)``, how far each node is from the root.
    network : Network
        The same nodes, joined by the edges of the tree.

    Examples
    --------
    >>> import sottovoce as sv
    >>> tree = sv.Network.star(4).spanning_tree()
    >>> tree.root, tree.depth, tree.parents.tolist()
    (0, 1, [-1, 0, 0, 0])
    """

    root: int
    parents: npt.NDArray[np.int64]
    levels: npt.NDArray[np.int64]
    network: Network

    def __repr__(self) -> str:
        return f"SpanningTree(root={self.root}, depth={self.depth}, n={self.network.n})"

    @property
    def depth(self) -> int:
        """How far the farthest node is from the root."""
        return int(self.levels.max())

    @property
    def edges(self) -> npt.NDArray[np.int64]:
        """``(n-1, 2)``, in the order of ``network.edges``."""
        return self.network.edges

    @cached_property
    def children(self) -> npt.NDArray[np.int64]:
        """The lower end of each edge, in the order of ``edges``."""
        i, j = self.edges.T
        return np.asarray(np.where(self.parents[i] == j, i, j))

    def sums(self, values: npt.ArrayLike) -> Array:
        """For every node, the sum of ``(n,)`` values over the subtree below it, itself included."""
        total = np.array(values, dtype=np.float64)
        for i in np.argsort(-self.levels, kind="stable"):
            if i != self.root:
                total[self.parents[i]] += total[i]
        return total

    def matched(self, curvatures: npt.ArrayLike) -> Array:
        """The penalties ``c`` per edge with which nothing is reflected (theory: Fewer messages).

        For costs ``(a_i/2) ||x - s_i||^2`` the edge from ``i`` to its parent has ``c = sum of a_k`` over the subtree of
        ``i``. Then ``a_i`` and the penalties of the children sum up to the penalty of the parent, what the parent says
        cancels from what ``i`` tells it, and with ``theta = 1`` a run ends after one sweep up and one down.

        Examples
        --------
        >>> import sottovoce as sv
        >>> path = sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3)])
        >>> path.spanning_tree().matched([2.0, 2.0, 2.0, 2.0]).tolist()
        [2.0, 4.0, 2.0]
        """
        return self.sums(curvatures)[self.children]


def spanning_tree(network: Network, root: int) -> SpanningTree:
    """Breadth first from ``root``."""
    levels = distances(network, root)
    # Of the neighbours nearer to the root, the one with the smallest number; half-edges are sorted by (i, j).
    up = levels[network.indices] < levels[network.holders]
    parents = np.full(network.n, -1, dtype=np.int64)
    below, first = np.unique(network.holders[up], return_index=True)
    parents[below] = network.indices[up][first]
    pairs = np.column_stack([below, parents[below]])
    return SpanningTree(root, parents, levels, within(network, pairs))


def centre(network: Network) -> int:
    """The node whose farthest node is nearest, the smallest number of several; the best so far after ``LEVELS``."""
    least = np.zeros(network.n, dtype=np.int64)  # how far the farthest node is, at least
    tried = np.zeros(network.n, dtype=bool)
    best, radius, levels = 0, network.n, 0
    while levels < LEVELS:
        open_ = ~tried & ((least < radius) | ((least == radius) & (np.arange(network.n) < best)))
        if not open_.any():
            break
        i = int(np.flatnonzero(open_)[least[open_].argmin()])
        away = distances(network, i)
        farthest = int(away.max())
        tried[i], levels = True, levels + farthest
        least = np.maximum(least, np.maximum(away, farthest - away))  # by the triangle
        if (farthest, i) < (radius, best):
            best, radius = i, farthest
    return best


def distances(network: Network, i: int) -> npt.NDArray[np.int64]:
    """Edges between node ``i`` and each of them."""
    found = np.full(network.n, -1, dtype=np.int64)
    found[i], level, front = 0, 0, np.array([i])
    while len(front):
        level += 1
        starts, counts = network.indptr[front], network.degrees[front]
        at = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
        front = np.unique(network.indices[at])
        front = front[found[front] < 0]
        found[front] = level
    return found


def restricted(network: Network, edges: Iterable[tuple[Hashable, Hashable]] | npt.NDArray[Any]) -> Network:
    try:
        at = np.array([names.half_edge(network, pair) for pair in edges], dtype=np.int64)
    except TypeError:
        raise InvalidNetwork(f"edges must be pairs of nodes; got {edges!r:.80}.") from None
    except InvalidInput as error:
        raise InvalidNetwork(str(error)) from None
    pairs = network.half_edges[at]
    first = np.unique(np.minimum(at, network.twin[at]), return_index=True)[1]
    for again in np.setdiff1d(np.arange(len(at)), first):
        i, j = pairs[again]
        raise InvalidNetwork(f"the edge ({network.name(i)}, {network.name(j)}) is given twice. List it once.")
    found = within(network, pairs)
    for apart in np.flatnonzero(distances(found, 0) < 0):
        raise InvalidNetwork(f"without more edges {network.name(apart)} cannot be reached from {network.name(0)}.")
    return found


def within(network: Network, pairs: npt.NDArray[Any]) -> Network:
    """The same nodes with these edges, which are trusted."""
    return type(network)(network.n, pairs, network.positions, network.labels)
