"""Who is exposed if whom is corrupt: what the graph alone decides about privacy (theory: Exposure).

A coalition of corrupt nodes splits the honest nodes into components. Of each component the sum of the secrets is
disclosed whatever the mask, and a component of one node is that node disclosed. So the privacy budget of a node is how
few corrupt nodes confine it to how small a group, and that of a graph is its vertex connectivity.

A set ``S`` of honest nodes is confined by exactly the coalitions that contain its boundary ``N(S)``, the neighbours of
``S`` outside ``S``. Everything here is exact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, Unsupported
from ..network import Network
from ..pdmm.settings import positive_integer

Neighbours = list[set[int]]  # N_i of every node

NAMED = 10  # nodes that a summary names before it says how many more there are


@dataclass(frozen=True, eq=False)
class Exposure:
    """What coalitions of at most ``t`` nodes can do to each node, and where the graph is thin."""

    network: Network
    t: int
    largest: int  # groups up to this size were searched for
    isolated_by: npt.NDArray[np.int64]  # the fewest corrupt nodes that isolate a node: all its neighbours
    group: tuple[int | None, ...]  # the smallest group a node can be confined to; None: more than ``largest``
    coalition: tuple[frozenset[int] | None, ...]  # the fewest who do it, first in order; None if ``group`` is
    connectivity: int  # the fewest nodes that cut the graph in parts; n-1 for a complete graph, which nobody cuts
    cut: frozenset[int] | None  # that many nodes which do; None for a complete graph
    articulation: tuple[int, ...]  # the nodes that cut the graph alone

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


def exposure(network: Network, t: int, *, largest: int = 8) -> Exposure:
    """How far at most ``t`` corrupt nodes can close in on every node, exactly, in groups of up to ``largest`` nodes.

    The search for groups is linear in ``n``, but ``t`` and ``largest`` are exponents: it visits at most
    ``C(largest + t, t)`` sets a node and size. The connectivity takes seconds for a thousand nodes, dense graphs more.
    """
    _check(network)
    if isinstance(t, bool) or not isinstance(t, int | np.integer) or not 0 <= t < network.n:
        raise InvalidInput(f"t must be an integer in 0 .. {network.n - 1}, a number of corrupt nodes; got {t!r}.")
    positive_integer(largest, "largest")
    neighbours = _neighbours(network)
    group, coalition = _groups(neighbours, int(t), min(int(largest), network.n))
    cut = _smallest_cut(neighbours)
    return Exposure(
        network=network,
        t=int(t),
        largest=int(largest),
        isolated_by=network.degrees.copy(),
        group=group,
        coalition=coalition,
        connectivity=network.n - 1 if cut is None else len(cut),
        cut=cut,
        articulation=_articulation(neighbours),
    )


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Edges that raise the vertex connectivity from ``before`` to ``after``, or the ``reason`` why there are none."""

    edges: tuple[tuple[int, int], ...]
    before: int
    after: int  # computed anew on ``network``; equals ``before`` where there are no edges
    network: Network  # with the edges, and the old labels and positions
    reason: str | None


def suggest_edges(network: Network, *, most: int = 5) -> Suggestion:
    """At most ``most`` new edges after which one node more must be corrupt to cut the graph.

    One edge if one suffices, exactly. Otherwise a greedy search: none of its edges can be left out, but fewer others
    may do, and where it finds nothing there may be something; ``reason`` then says how many are needed at least.
    """
    _check(network)
    positive_integer(most, "most")
    neighbours = _neighbours(network)
    cut = _smallest_cut(neighbours)
    if cut is None:
        return Suggestion((), network.n - 1, network.n - 1, network, "The graph is complete: every edge is there.")
    before, parts = len(cut), 1 + max(_sides(neighbours, cut).values())
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
    after = _smallest_cut(_neighbours(better))
    return Suggestion(tuple(edges), before, network.n - 1 if after is None else len(after), better, None)


def _one_edge(neighbours: Neighbours, cut: Set[int], weakest: list[int]) -> list[tuple[int, int]]:
    """The edge that is enough by itself, if there is one: it crosses every minimum cut.

    A try that fails brings a minimum cut which it does not cross, and which excludes others with it.
    """
    sides = [_sides(neighbours, known) for known in (cut, *(neighbours[i] for i in weakest))]
    far = _outwards(neighbours, cut)[::-1]
    for a, b in product(*([i for i in far if sides[0][i] == side] for side in (0, 1))):
        if any(a not in side or b not in side or side[a] == side[b] for side in sides):
            continue
        _toggle(neighbours, a, b)
        remaining = next(_cuts(neighbours, len(cut) + 1), None)
        _toggle(neighbours, a, b)
        if remaining is None:
            return [(min(a, b), max(a, b))]
        sides.append(_sides(neighbours, remaining))
        if max(sides[-1].values()) > 1:  # three parts, which one edge does not join
            break
    return []


def _grow(neighbours: Neighbours, cut: Set[int], most: int) -> list[tuple[int, int]]:
    """Edges across one minimum cut after the other, as long as there are any, less those that were not needed."""
    k, edges = len(cut), list[tuple[int, int]]()
    remaining: Set[int] | None = cut
    while remaining is not None:
        if len(edges) == most:
            return []
        side = _sides(neighbours, remaining)
        # Whoever has k neighbours needs an edge in any case; an edge between distant nodes crosses many cuts.
        ranked = sorted(_outwards(neighbours, remaining)[::-1], key=lambda i: len(neighbours[i]) > k)
        a, b = ranked[0], next(i for i in ranked if side[i] != side[ranked[0]])
        edges.append((min(a, b), max(a, b)))
        _toggle(neighbours, a, b)
        remaining = next(_cuts(neighbours, k + 1), None)
    for edge in edges.copy():
        _toggle(neighbours, *edge)
        if next(_cuts(neighbours, k + 1), None) is None:
            edges.remove(edge)
        else:
            _toggle(neighbours, *edge)
    return edges


def _toggle(neighbours: Neighbours, a: int, b: int) -> None:
    """Add the edge, or take it away."""
    neighbours[a] ^= {b}
    neighbours[b] ^= {a}


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


def _smallest_cut(neighbours: Neighbours) -> frozenset[int] | None:
    """A minimum vertex cut, or None for a complete graph. Linear time where it has one or two nodes."""
    if alone := _articulation(neighbours):
        return frozenset(alone[:1])
    cut = None
    for cut in _cuts(neighbours, len(neighbours) - 1):
        if len(cut) == 2:
            break
    return cut


def _cuts(neighbours: Neighbours, k: int) -> Iterator[frozenset[int]]:
    """Cuts of fewer than ``k`` nodes, each smaller than the one before, the last a minimum cut; none if there is none.

    Even's scheme from one root ``r``. A minimum cut without ``r`` separates the closed neighbourhood of ``r`` (but for
    the cut itself) from some first node in any order of the others, hence that node from all before it. A minimum cut
    with ``r`` has neighbours of ``r`` on two sides. Menger's theorem decides each case.
    """
    root = min(range(len(neighbours)), key=lambda i: len(neighbours[i]))
    if len(neighbours[root]) < k:
        k = len(neighbours[root])
        yield frozenset(neighbours[root])
    before = {root, *neighbours[root]}
    for v in _outwards(neighbours, before):
        if cut := _separator(neighbours, v, before, k):
            k = len(cut)
            yield cut
        before.add(v)
    for u, w in combinations(sorted(neighbours[root]), 2):
        if w not in neighbours[u] and (cut := _separator(neighbours, u, neighbours[w], k)):
            k = len(cut)
            yield cut


def _separator(neighbours: Neighbours, v: int, targets: Set[int], k: int) -> frozenset[int] | None:
    """Fewer than ``k`` nodes between ``v`` and all ``targets``, or None if ``k`` paths from ``v``, disjoint but for
    ``v``, end in ``k`` targets (Menger): maximum flow with capacity 1 through every node, by augmenting paths."""
    previous = dict.fromkeys(neighbours[v] & targets, v)  # the node before each node that is on a path
    paths = len(previous)
    for x in neighbours[v] - targets:  # most paths are of one or two edges, and need no search
        if paths >= k:
            return None
        for y in neighbours[x]:
            if y in targets and y not in previous:
                previous[x], previous[y] = v, x
                paths += 1
                break
    for _ in range(paths, k):
        # A node on a path can be entered only to push that path back to the node before, which then goes elsewhere.
        entered, left = {v: v}, {v: v}  # from where; ``left[x] = x``: x was on no path and is passed through
        queue, end = deque([v]), None
        while queue and end is None:
            x = queue.popleft()
            for y in chain(neighbours[x], (x,)):  # x itself: its path may be pushed back further
                if y in entered:
                    continue
                entered[y] = x
                if y in previous:
                    if previous[y] not in left:
                        left[previous[y]] = y
                        queue.append(previous[y])
                elif y in targets:
                    end = y
                    break
                else:
                    left[y] = y
                    queue.append(y)
        if end is None:
            return frozenset(entered.keys() - left.keys())
        x = y = end
        while x != v:
            x = entered[y]
            if x == y:  # the path of y was pushed back beyond y
                del previous[y]
            else:
                previous[y] = x
            y = left[x]
    return None


def _outwards(neighbours: Neighbours, start: Collection[int]) -> list[int]:
    """All other nodes, nearest to ``start`` first."""
    order, known = list(start), set(start)
    for i in order:
        new = sorted(neighbours[i] - known)
        known.update(new)
        order.extend(new)
    return order[len(start) :]


def _articulation(neighbours: Neighbours) -> tuple[int, ...]:
    """The nodes that cut the graph alone, in linear time (Tarjan): one depth-first search, without recursion."""
    n = len(neighbours)
    when = [-1] * n  # the order of discovery
    low = [n] * n  # the earliest node next to one in the subtree
    parts = [1] * n  # into which the graph falls without the node: what is above it, and subtrees that hang by it
    when[0], parts[0], visited = 0, 0, 1
    rest = [iter(nodes) for nodes in neighbours]
    path = [0]
    while path:
        i = path[-1]
        for j in rest[i]:
            if when[j] < 0:
                when[j], visited = visited, visited + 1
                path.append(j)
                break
            low[i] = min(low[i], when[j])
        else:
            path.pop()
            if path:
                above = path[-1]
                low[above] = min(low[above], low[i])
                parts[above] += low[i] >= when[above]
    return tuple(i for i in range(n) if parts[i] > 1)


def _sides(neighbours: Neighbours, cut: Set[int]) -> dict[int, int]:
    """Of every node outside ``cut`` the number of its component, 0, 1, .."""
    side: dict[int, int] = {}
    parts = 0
    for start in range(len(neighbours)):
        if start not in cut and start not in side:
            side[start], part = parts, [start]
            for i in part:
                new = [j for j in neighbours[i] if j not in cut and j not in side]
                side.update(dict.fromkeys(new, parts))
                part.extend(new)
            parts += 1
    return side


def _neighbours(network: Network) -> Neighbours:
    return [set(network.neighbours(i).tolist()) for i in range(network.n)]


def _check(network: Network) -> None:
    if not isinstance(network, Network) or network.constraints is not None:
        raise Unsupported(
            f"what a graph gives away is known for a Network with consensus on its edges; got {network!r}."
        )
