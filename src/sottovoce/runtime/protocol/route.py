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


def routed(i: int, edges: Mapping[int, Link], route: Route) -> tuple[dict[int, Link], list[Link], dict[int, float]]:
    """Of a party's edges, by neighbour: those it talks over, those whose pads are folded, and ``c`` of the former. An
    edge that is not there any more (its party was dropped) is in neither."""
    c = {j: of_edge for j, of_edge in route.around(i).items() if j in edges}
    return {j: edges[j] for j in c}, [edge for j, edge in edges.items() if j not in c], c
