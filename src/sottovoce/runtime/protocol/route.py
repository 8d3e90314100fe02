"""Over which edges of the network values, snapshots and verdicts go, and with which penalties (theory: Fewer messages).

Pads lie on all edges of the network, whatever the route: on those without messages they are folded into what a party
brings (``Node``, ``folded``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...pdmm.node import Link


@dataclass(frozen=True)
class Route:
    """Edges as pairs of party numbers ``i < j``, sorted, and the ``c`` of each."""

    edges: tuple[tuple[int, int], ...]
    c: tuple[float, ...]
    theta: float

    @classmethod
    def over(cls, edges: Sequence[tuple[int, int]], c: float | Sequence[float], theta: float) -> Route:
        """With one ``c`` for all edges, or one for each, in the order given."""
        each = [float(c)] * len(edges) if isinstance(c, float | int) else [float(of_edge) for of_edge in c]
        ordered = sorted(((min(edge), max(edge)), of_edge) for edge, of_edge in zip(edges, each, strict=True))
        return cls(tuple(edge for edge, _ in ordered), tuple(of_edge for _, of_edge in ordered), float(theta))

    def around(self, i: int) -> dict[int, float]:
        """The neighbours to which party ``i`` talks, with the ``c`` of the edge."""
        return {a + b - i: c for (a, b), c in zip(self.edges, self.c, strict=True) if i in (a, b)}

    @property
    def penalty(self) -> float | list[float]:
        """One number where all are the same."""
        return self.c[0] if len(set(self.c)) == 1 else list(self.c)

    @cached_property
    def is_tree(self) -> bool:
        """Whether nothing that is said can come back: every edge is needed (routes are connected)."""
        return len(self.edges) == len({end for edge in self.edges for end in edge}) - 1

    @cached_property
    def root(self) -> int:
        """Of a tree: its centre, the smaller number of two, which is the root of ``Network.spanning_tree``."""
        around = self._neighbours
        left = {i: len(others) for i, others in around.items()}
        leaves = [i for i, degree in left.items() if degree == 1]
        while len(left) > 2:
            inner = []
            for leaf in leaves:
                del left[leaf]
                for j in around[leaf]:
                    if j in left:
                        left[j] -= 1
                        inner += [j] if left[j] == 1 else []
            leaves = inner
        return min(left)

    @cached_property
    def first(self) -> int:
        """Whose numbers are the answer, but for their rounding: the root of a tree, else the smallest."""
        return self.root if self.is_tree else min(self._neighbours)

    @cached_property
    def hops(self) -> int:
        """How many edges the farthest party is away from the first."""
        found, front, hops = {self.first}, {self.first}, 0
        while front := {k for i in front for k in self._neighbours[i]} - found:
            found |= front
            hops += 1
        return hops

    def parent(self, i: int) -> int | None:
        """Of a tree: the neighbour of ``i`` that is nearer to the root."""
        return next((j for j in self._neighbours[i] if i != self.root and self.root not in self.side(i, j)), None)

    def side(self, i: int, j: int) -> set[int]:
        """Of a tree: all parties from which ``j`` is reached through ``i``, its neighbour."""
        found, front = {i}, [i]
        while front:
            new = [k for k in self._neighbours[front.pop()] if k not in found and k != j]
            found.update(new)
            front += new
        return found

    @cached_property
    def _neighbours(self) -> dict[int, list[int]]:
        around: dict[int, list[int]] = {}
        for a, b in self.edges:
            around.setdefault(a, []).append(b)
            around.setdefault(b, []).append(a)
        return around


def routed(i: int, edges: Mapping[int, Link], route: Route) -> tuple[dict[int, Link], list[Link], dict[int, float]]:
    """Of a party's edges, by neighbour: those it talks over, those whose pads are folded, and ``c`` of the former. An
    edge that is not there any more (its party was dropped) is in neither."""
    c = {j: of_edge for j, of_edge in route.around(i).items() if j in edges}
    return {j: edges[j] for j in c}, [edge for j, edge in edges.items() if j not in c], c
