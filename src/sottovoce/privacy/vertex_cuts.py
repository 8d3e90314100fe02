"""Vertex cuts: the fewest nodes that cut a graph in parts, exactly."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Set
from itertools import chain, combinations

from ..errors import Unsupported
from ..network import Network

Neighbours = list[set[int]]  # N_i of every node


def smallest_cut(neighbours: Neighbours) -> frozenset[int] | None:
    """A minimum vertex cut, or None for a complete graph. Linear time where it has one or two nodes."""
    if alone := articulation(neighbours):
        return frozenset(alone[:1])
    cut = None
    for cut in cuts(neighbours, len(neighbours) - 1):
        if len(cut) == 2:
            break
    return cut


def cuts(neighbours: Neighbours, k: int) -> Iterator[frozenset[int]]:
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
    for v in outwards(neighbours, before):
        if cut := separator(neighbours, v, before, k):
            k = len(cut)
            yield cut
        before.add(v)
    for u, w in combinations(sorted(neighbours[root]), 2):
        if w not in neighbours[u] and (cut := separator(neighbours, u, neighbours[w], k)):
            k = len(cut)
            yield cut


def separator(neighbours: Neighbours, v: int, targets: Set[int], k: int) -> frozenset[int] | None:
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


def outwards(neighbours: Neighbours, start: Collection[int]) -> list[int]:
    """All other nodes, nearest to ``start`` first."""
    order, known = list(start), set(start)
    for i in order:
        new = sorted(neighbours[i] - known)
        known.update(new)
        order.extend(new)
    return order[len(start) :]


def articulation(neighbours: Neighbours) -> tuple[int, ...]:
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


def sides(neighbours: Neighbours, cut: Set[int]) -> dict[int, int]:
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


def neighbours_of(network: Network) -> Neighbours:
    return [set(network.around(i).tolist()) for i in range(network.n)]


def check_graph(network: Network) -> None:
    if not isinstance(network, Network) or network.constraints is not None:
        raise Unsupported(
            f"what a graph gives away is known for a Network with consensus on its edges; got {network!r}."
        )
