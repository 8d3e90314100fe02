"""Who is exposed if whom is corrupt: what the graph alone decides about privacy (theory: Exposure).

A coalition of corrupt nodes splits the honest nodes into components. Of each component the sum of the secrets is
disclosed whatever the mask, and a component of one node is that node disclosed. So the privacy budget of a node is how
few corrupt nodes confine it to how small a group, and that of a graph is its vertex connectivity.

A set ``S`` of honest nodes is confined by exactly the coalitions that contain its boundary ``N(S)``, the neighbours of
``S`` outside ``S``. Everything here is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from ..network import Network
from ..pdmm.settings import positive_integer
from .adversary import Worst, worst_of
from .vertex_cuts import Neighbours, articulation, check_graph, neighbours_of, smallest_cut

NAMED = 10  # nodes that a summary names before it says how many more there are


@dataclass(frozen=True, eq=False)
class Exposure:
    """What coalitions of at most ``t`` nodes can do to each node, and where the graph is thin. Made by ``exposure``.

    Attributes
    ----------
    network : Network
        Who talks to whom.
    t : int
        How many may be corrupt.
    largest : int
        Groups up to this size were searched for.
    isolated_by : ndarray of int
        The fewest corrupt nodes that isolate a node: all its neighbours.
    group : tuple of int or None
        The smallest group a node can be confined to; None: more than ``largest``.
    coalition : tuple of frozenset or None
        The fewest who do it, first in order; None if ``group`` is.
    connectivity : int
        The fewest nodes that cut the graph in parts; ``n - 1`` for a complete graph, which nobody cuts.
    cut : frozenset of int or None
        That many nodes which do; None for a complete graph.
    articulation : tuple of int
        The nodes that cut the graph alone.

    Examples
    --------
    >>> import sottovoce as sv
    >>> found = sv.privacy.exposure(sv.Network.ring(6), sv.privacy.Worst(2))
    >>> found.exposed == (0, 1, 2, 3, 4, 5), found.connectivity, sorted(found.coalition[0])
    (True, 2, [1, 5])
    """

    network: Network
    t: int
    largest: int
    isolated_by: npt.NDArray[np.int64]
    group: tuple[int | None, ...]
    coalition: tuple[frozenset[int] | None, ...]
    connectivity: int
    cut: frozenset[int] | None
    articulation: tuple[int, ...]

    @property
    def exposed(self) -> tuple[int, ...]:
        """The nodes whose secrets ``t`` corrupt nodes can learn exactly."""
        return tuple(i for i, size in enumerate(self.group) if size == 1)

    def summary(self) -> str:
        """A few sentences for people."""
        n, largest = self.network.n, self.largest
        confined = [i for i, size in enumerate(self.group) if size is not None and size > 1]
        cut = f"Nobody cuts a complete graph; {n - 1} isolate a node."
        if self.cut is not None:
            cut = f"The fewest that cut the graph: {self._names(sorted(self.cut))}."
        sentences = [
            f"At most {self.t} of {n} nodes are corrupt.",
            f"Disclosed exactly, if all their neighbours are: {self._names(self.exposed)}.",
            f"Confined to groups of 2 to {largest}, whose sums are disclosed: {self._names(confined)}.",
            f"Always among more than {largest}: {self.group.count(None)}.",
            cut,
            f"Those that cut it alone: {self._names(self.articulation)}.",
        ]
        return " ".join(sentences)

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.summary())}</p>"

    def _names(self, nodes: Sequence[int]) -> str:
        """``nodes`` by the user's labels, the first few of them."""
        first = ", ".join(self.network.name(i) for i in nodes[:NAMED])
        more = f" and {len(nodes) - NAMED} more" if len(nodes) > NAMED else ""
        return f"{len(nodes)} ({first}{more})" if nodes else "none"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; nodes are numbers, and ``labels`` their names where they have any."""
        labels = self.network.labels
        return {
            "t": self.t,
            "largest": self.largest,
            "labels": None if labels is None else [str(label) for label in labels],
            "isolated_by": self.isolated_by.tolist(),
            "group": list(self.group),
            "coalition": [None if nodes is None else sorted(nodes) for nodes in self.coalition],
            "exposed": list(self.exposed),
            "connectivity": self.connectivity,
            "cut": None if self.cut is None else sorted(self.cut),
            "articulation": list(self.articulation),
        }


def exposure(network: Network, against: Worst = Worst(1), *, largest: int = 8) -> Exposure:  # noqa: B008 - frozen
    """How far at most ``t`` corrupt nodes can close in on every node, exactly, whatever the mask.

    The search for groups is linear in ``n``, but ``t`` and ``largest`` are exponents: it visits at most
    ``C(largest + t, t)`` sets a node and size. The connectivity takes seconds for a thousand nodes, dense graphs more.

    Parameters
    ----------
    network
        Who talks to whom.
    against
        How many may be corrupt.
    largest
        Groups of up to so many nodes are told apart.

    Returns
    -------
    Exposure
        Who can be isolated, who can be confined to which group, and where the graph is thin.

    Examples
    --------
    >>> import sottovoce as sv
    >>> path = sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    >>> sv.privacy.exposure(path, sv.privacy.Worst(1)).exposed
    (0, 3)
    """
    check_graph(network)
    t = worst_of(against, network)
    positive_integer(largest, "largest")
    neighbours = neighbours_of(network)
    group, coalition = _groups(neighbours, t, min(int(largest), network.n))
    cut = smallest_cut(neighbours)
    return Exposure(
        network=network,
        t=t,
        largest=int(largest),
        isolated_by=network.degrees.copy(),
        group=group,
        coalition=coalition,
        connectivity=network.n - 1 if cut is None else len(cut),
        cut=cut,
        articulation=articulation(neighbours),
    )


def _groups(
    neighbours: Neighbours, t: int, largest: int
) -> tuple[tuple[int | None, ...], tuple[frozenset[int] | None, ...]]:
    """For every ``i`` the smallest ``|S|`` with ``|N(S)| <= t``, ``S`` connected and with ``i``, and its ``N(S)``."""
    n = len(neighbours)
    group: list[int | None] = [None] * n
    coalition: list[frozenset[int] | None] = [None] * n
    for size in range(1, largest + 1):
        undecided = [i for i in range(n) if group[i] is None]
        # First in order is enough: where size > 1 all have t nodes, since a spare one would make the group smaller.
        best: dict[int, list[int]] = {}
        past: set[int] = set()  # every set with one of these has been met, so each set is met once
        for i in undecided:
            for S, boundary in _confined(neighbours, i, size, t, past):
                found = sorted(boundary)
                for j in S:
                    if group[j] is None:
                        best[j] = min(best.get(j, found), found)
            past.add(i)
        for j, nodes in best.items():
            group[j], coalition[j] = size, frozenset(nodes)
    return tuple(group), tuple(coalition)


def _confined(
    neighbours: Neighbours, i: int, size: int, t: int, outside: Set[int]
) -> Iterator[tuple[set[int], set[int]]]:
    """Every connected ``S`` of ``size`` nodes with ``i``, none ``outside`` and ``|N(S)| <= t``; with it ``N(S)``.

    A neighbour of ``S`` joins it, or stays in ``N(S)`` for good: at most ``C(size + t, t)`` leaves (Fomin, Villanger).
    """
    stack: list[tuple[set[int], set[int], set[int]]] = [({i}, neighbours[i], set())]
    while stack:
        S, boundary, out = stack.pop()
        room = size - len(S)
        if len(boundary) - room > t:  # whoever joins takes itself out of the boundary, and nobody else
            continue
        if room == 0:
            yield S, boundary
            continue
        undecided = boundary - out - outside
        out = boundary - undecided
        for u in undecided:
            if len(out) > t:
                break
            joined = S | {u}
            stack.append((joined, (boundary | neighbours[u]) - joined, out))
            out = out | {u}
