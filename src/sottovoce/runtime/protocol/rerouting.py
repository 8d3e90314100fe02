"""Which route a run takes: the planned one, until a link on it stays dead or a party has left for good.

From then on it is the whole network, without the one that has left, and without dead links as far as it stays connected
without them. That is a function of what is known alone, so parties that know the same are on the same route. A route
that was not planned has a tag; what is said on another one is not heard.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from ...numerics.grid import on_grid
from ...pdmm.node import Link
from ..keys.identity import with_lengths
from .frames import TAG
from .route import Route, routed

Edge = tuple[int, int]  # party numbers i < j
PLANNED = b""  # the tag of the planned route


@dataclass(frozen=True)
class Rerouting:
    """The ``planned`` route of a run, and the ``whole`` network; both have all parties."""

    planned: Route
    whole: Route
    parameters_hash: bytes

    def without(self, dead: Collection[Edge], leaver: int | None = None) -> tuple[Route, bytes]:
        """The route, and its tag, where these links are dead and this party has left."""
        kept = {edge: c for edge, c in zip(self.whole.edges, self.whole.c, strict=True) if leaver not in edge}
        parties = {end for edge in self.whole.edges for end in edge} - {leaver}
        cut = []
        for edge in sorted(dead):
            if edge in kept and connected(parties, kept.keys() - {edge}):
                del kept[edge]
                cut.append(edge)
        if leaver is None and not set(cut) & set(self.planned.edges):
            return self.planned, PLANNED
        return Route(tuple(kept), tuple(kept.values()), self.whole.theta), self._tag(cut, leaver)

    def _tag(self, cut: Iterable[Edge], leaver: int | None) -> bytes:
        parts = ["" if leaver is None else str(leaver), *(str(end) for edge in cut for end in edge)]
        content = with_lengths(self.parameters_hash, *(part.encode() for part in parts))
        return blake2b(content, digest_size=TAG, person=b"sottovoce route").digest()

    def links(
        self, i: int, edges: Mapping[int, Link], route: Route, tag: bytes, grid: float
    ) -> tuple[dict[int, Link], list[Link], dict[int, float]]:
        """What ``Node`` takes of a party's edges, by neighbour, on a route: links, folded ones, and ``c``. One that was
        not planned begins from the same ``w`` as if nothing had been said, so the pads of all edges are folded; and
        the offset ``e`` of an edge that was planned grows with its ``c``."""
        if tag == PLANNED:
            return routed(i, edges, route)
        c = {j: of_edge for j, of_edge in route.around(i).items() if j in edges}
        links = {}
        for j in c:
            half = (edges[j].held - edges[j].written) / 2 * self.stretch.get((min(i, j), max(i, j)), 1.0)
            half = on_grid(half, grid / 2)
            links[j] = Link(edges[j].A, edges[j].b, half, -half)
        return links, list(edges.values()), c

    @cached_property
    def stretch(self) -> dict[Edge, float]:
        """By how much the offset ``e`` of each planned edge grows on another route: with ``c``, so that other data
        which the messages on the one leave possible are possible after the other, too (theory: Fewer messages)."""
        on_whole = dict(zip(self.whole.edges, self.whole.c, strict=True))
        return {edge: on_whole[edge] / c for edge, c in zip(self.planned.edges, self.planned.c, strict=True)}

    def largest(self, tag: bytes) -> float:
        """How much larger than planned pads are on a route, at most."""
        return 1.0 if tag == PLANNED else max(1.0, *self.stretch.values())


def connected(parties: Collection[int], edges: Collection[Edge]) -> bool:
    """Whether the edges lead from every party to every other one."""
    around: dict[int, list[int]] = {i: [] for i in parties}
    for i, j in edges:
        around[i].append(j)
        around[j].append(i)
    reached, waiting = set[int](), [min(parties)]
    while waiting:
        if (i := waiting.pop()) not in reached:
            reached.add(i)
            waiting += around[i]
    return len(reached) == len(around)
