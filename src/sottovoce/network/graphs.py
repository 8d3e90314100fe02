"""Graph generators: each returns the ``(m, 2)`` edges that ``Network`` wraps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidNetwork, is_number

Edges = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]

T = TypeVar("T")

ATTEMPTS = 100  # draws before a random graph is declared hopeless


def random_geometric(
    n: int, radius: float | None, seed: int | None, largest_component: bool
) -> tuple[int, Edges, Array]:
    """Points in the unit square, joined when closer than ``radius``; returns ``(n, edges, positions)``."""
    from scipy.spatial import cKDTree

    _at_least(n, 2)
    if radius is None:
        radius = math.sqrt(2 * math.log(n) / n)
    if not (is_number(radius) and 1e-9 < radius < math.inf):
        raise InvalidNetwork(f"radius must be a number > 1e-9; got {radius!r}.")
    rng = generator(seed)

    def draw() -> tuple[Edges, Array]:
        # Numbering the points by cell keeps neighbours close in memory, which the engine's speed depends on.
        points = rng.random((n, 2))
        cells = max(1, int(1 / radius))
        column, row = (points * cells).astype(np.int64).T
        points = points[np.lexsort((points[:, 0], np.where(column % 2, -row, row), column))]
        tree = cKDTree(points, balanced_tree=False, compact_nodes=False)
        return tree.query_pairs(radius, output_type="ndarray"), points

    if not largest_component:
        edges, points = _until_connected(n, draw, lambda drawn: drawn[0], f"radius={radius:.4g}", "Raise radius")
        return n, edges, points
    edges, points = draw()
    part = components(n, edges)[1]
    keep = part == np.bincount(part).argmax()
    if keep.sum() < 2:
        raise InvalidNetwork(f"with n={n} and radius={radius:.4g} no two nodes reach each other. Raise radius.")
    number = np.cumsum(keep) - 1
    return int(keep.sum()), number[edges[keep[edges[:, 0]]]], points[keep]


def ring(n: int) -> Edges:
    _at_least(n, 3)
    i = np.arange(n)
    return np.column_stack([i, (i + 1) % n])


def grid(rows: int, columns: int) -> tuple[Edges, Array]:
    whole = all(isinstance(size, int | np.integer) and size >= 1 for size in (rows, columns))
    if not whole or rows * columns < 2:
        raise InvalidNetwork(
            f"a grid needs whole numbers of rows and columns, two nodes at least; got {rows} x {columns}."
        )
    node = np.arange(rows * columns).reshape(rows, columns)
    right = np.column_stack([node[:, :-1].ravel(), node[:, 1:].ravel()])
    down = np.column_stack([node[:-1].ravel(), node[1:].ravel()])
    r, c = np.divmod(node.ravel(), columns)
    scale = max(rows, columns)
    return np.concatenate([right, down]), np.column_stack([(c + 0.5) / scale, 1 - (r + 0.5) / scale])


def complete(n: int) -> Edges:
    _at_least(n, 2)
    return np.column_stack(np.triu_indices(n, 1))


def star(n: int) -> Edges:
    _at_least(n, 2)
    return np.column_stack([np.zeros(n - 1, dtype=np.int64), np.arange(1, n)])


def erdos_renyi(n: int, p: float, seed: int | None) -> Edges:
    _at_least(n, 2)
    if not (is_number(p) and 0 < p <= 1):
        raise InvalidNetwork(f"p must be in (0, 1], the probability of an edge; got {p}.")
    rng = generator(seed)
    pairs = n * (n - 1) // 2

    def draw() -> Edges:
        # A binomial number of distinct pairs is the same law as one coin per pair, without n^2 coins.
        number = rng.choice(pairs, rng.binomial(pairs, p), replace=False, shuffle=False)
        i = ((2 * n - 1 - np.sqrt((2 * n - 1) ** 2 - 8.0 * number)) / 2).astype(np.int64)
        first = i * (2 * n - i - 1) // 2  # rounding of the square root is mended here
        i = np.where(number < first, i - 1, np.where(number >= first + n - 1 - i, i + 1, i))
        first = i * (2 * n - i - 1) // 2
        return np.column_stack([i, number - first + i + 1])

    return _until_connected(n, draw, lambda edges: edges, f"p={p}", "Raise p")


def regular(n: int, degree: int, seed: int | None) -> Edges:
    _at_least(n, 3)
    if not 2 <= degree < n or n * degree % 2:
        raise InvalidNetwork(f"degree must be in 2 .. n-1 with n * degree even; got degree={degree} for n={n}.")
    if degree == n - 1:
        return complete(n)
    rng = generator(seed)
    if 2 * degree >= n:
        # Dense: the pairs that a sparse regular graph leaves out. More than n/2 neighbours each is always connected.
        missing = _pair_up(n, n - 1 - degree, rng)
        everything = complete(n)
        left_out = np.isin(everything[:, 0] * n + everything[:, 1], missing.min(axis=1) * n + missing.max(axis=1))
        return everything[~left_out]

    def draw() -> Edges:
        return _pair_up(n, degree, rng)

    return _until_connected(n, draw, lambda edges: edges, f"degree={degree}", "Raise degree")


def _pair_up(n: int, degree: int, rng: np.random.Generator) -> Edges:
    """Pair the stubs at random, then swap partners until no loop and no repeated edge is left."""
    stubs = rng.permutation(np.repeat(np.arange(n), degree)).reshape(-1, 2)
    while (bad := _bad_pairs(stubs, n)).any():
        at = np.flatnonzero(bad)
        other = rng.permutation(len(stubs))[: len(at)]
        mixed = np.unique(np.concatenate([at, other]))
        stubs[mixed, 1] = rng.permutation(stubs[mixed, 1])
    return stubs


def _bad_pairs(pairs: Edges, n: int) -> npt.NDArray[np.bool_]:
    key = pairs.min(axis=1) * n + pairs.max(axis=1)
    bad = np.ones(len(pairs), dtype=bool)
    bad[np.unique(key, return_index=True)[1]] = False
    return np.asarray(bad | (pairs[:, 0] == pairs[:, 1]))


def watts_strogatz(n: int, k: int, p: float, seed: int | None) -> Edges:
    _at_least(n, 4)
    if k % 2 or not 2 <= k < n:
        raise InvalidNetwork(f"k must be even and in 2 .. n-1; got k={k} for n={n}.")
    if not (is_number(p) and 0 <= p <= 1):
        raise InvalidNetwork(f"p must be in [0, 1], the probability to rewire an edge; got {p}.")
    rng = generator(seed)

    def draw() -> Edges:
        edges = [(i, (i + hop) % n) for hop in range(1, k // 2 + 1) for i in range(n)]
        present = {frozenset(edge) for edge in edges}
        for at in np.flatnonzero(rng.random(len(edges)) < p):
            i, j = edges[at]
            new = int(rng.integers(n))
            if new != i and frozenset((i, new)) not in present:
                present.remove(frozenset((i, j)))
                present.add(frozenset((i, new)))
                edges[at] = (i, new)
        return np.array(edges)

    return _until_connected(n, draw, lambda edges: edges, f"k={k}, p={p}", "Raise k or lower p")


def _until_connected(n: int, draw: Callable[[], T], edges: Callable[[T], Edges], what: str, cure: str) -> T:
    for _ in range(ATTEMPTS):
        drawn = draw()
        if len(edges(drawn)) and components(n, edges(drawn))[0] == 1:
            return drawn
    raise InvalidNetwork(f"no connected graph in {ATTEMPTS} draws with n={n}, {what}. {cure}.")


def components(n: int, edges: npt.NDArray[np.integer[Any]]) -> tuple[int, npt.NDArray[np.int32]]:
    """How many connected components there are, and the one of each node."""
    from scipy import sparse
    from scipy.sparse import csgraph

    ones = np.ones(len(edges), dtype=np.int8)
    matrix: sparse.coo_array[Any] = sparse.coo_array((ones, (edges[:, 0], edges[:, 1])), shape=(n, n))
    parts, part = csgraph.connected_components(matrix, directed=False)
    return int(parts), part


def _at_least(n: int, least: int) -> None:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < least:
        raise InvalidNetwork(f"n must be an integer >= {least}, the number of nodes; got {n!r}.")


def generator(seed: int | None) -> np.random.Generator:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise InvalidNetwork(f"seed must be an integer >= 0, or None; got {seed!r}.")
    return np.random.default_rng(seed)
