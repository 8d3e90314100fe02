"""The diagonal of the inverse of a large sparse matrix, without the inverse.

Nodes at distance ``l`` from a first one have neighbours at ``l - 1``, ``l`` and ``l + 1`` alone: in the order of these
levels a matrix ``M`` on a graph is block tridiagonal, with blocks ``M_l`` and ``C_l`` between ``l`` and ``l + 1``. With
``S_0 = M_0`` and ``S_{l+1} = M_{l+1} - C_l' S_l^{-1} C_l``, the blocks of the inverse on the diagonal are, from the
last one ``Z = S^{-1}`` backwards,

    Z_l = S_l^{-1} + W_l Z_{l+1} W_l',    W_l = S_l^{-1} C_l

(Takahashi, Fagan and Chen 1973): a sum of squares. Levels are merged into a last block where that is less work. On a
graph that grows slowly (geometric, a grid) levels are small; on one that mixes fast all is one dense block.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse import csgraph

from ...costs.base import Array
from ..adversary import Nodes
from .posterior import too_far_apart

MIRROR = 512  # rows that are copied across the diagonal at once
NARROW = 32  # nodes that a level has at least, about
PER_LEVEL = 5  # multiplications per cube of a level: its inverse, and two products on the way back


def levels_of(graph: sparse.csr_array[Any]) -> list[Nodes]:
    """Of a connected graph, from a node at its far end, the last ones merged so that the work is least."""
    graph = abs(graph)  # a Laplacian will do, of which the edges are negative
    far = int(np.argmax(_distances(graph, 0)))
    distance = _distances(graph, far)
    order = np.argsort(distance, kind="stable")
    width = np.cumsum(np.bincount(distance))
    # Narrow levels are joined: a loop over them would take longer than their cubes.
    block = np.maximum.accumulate((width - 1) // NARROW)[distance[order]]
    levels = np.split(order, np.flatnonzero(np.diff(block)) + 1)
    return _merged(levels)


def work_of(levels: list[Nodes]) -> float:
    """In multiplications, about."""
    cubes = np.array([float(len(level)) ** 3 for level in levels])
    return float(PER_LEVEL * cubes[:-1].sum() + cubes[-1])


def _distances(graph: sparse.csr_array[Any], start: int) -> Nodes:
    return np.asarray(csgraph.dijkstra(graph, indices=[start], unweighted=True)[0]).astype(np.int64)


def _merged(levels: list[Nodes]) -> list[Nodes]:
    sizes = np.array([len(level) for level in levels], dtype=np.float64)
    before = PER_LEVEL * np.concatenate([[0.0], np.cumsum(sizes[:-1] ** 3)])
    after = np.cumsum(sizes[::-1])[::-1] ** 3
    k = int(np.argmin(before + after))
    return [*levels[:k], np.concatenate(levels[k:])]


class Levels:
    """A symmetric positive definite matrix, eliminated level by level."""

    def __init__(self, M: sparse.csr_array[Any], levels: list[Nodes]) -> None:
        self.levels, self.n = levels, M.shape[0]
        self.between: list[sparse.csr_array[Any]] = []  # C_l
        self.inverses: list[Array] = []  # of S_l
        for k, level in enumerate(levels):
            rows = sparse.csr_array(M[level])
            S = rows[:, level].toarray()
            if k:
                C = self.between[-1]
                S -= C.T @ (C.T @ self.inverses[-1]).T
            if k + 1 < len(levels):
                self.between.append(sparse.csr_array(rows[:, levels[k + 1]]))
            self.inverses.append(inverse(S))

    def diagonal(self) -> Array:
        """Of the inverse."""
        found = np.empty(self.n)
        Z = self.inverses[-1]
        found[self.levels[-1]] = np.diag(Z)
        for level, S, C in zip(self.levels[-2::-1], self.inverses[-2::-1], self.between[::-1], strict=True):
            W = (C.T @ S).T
            Z = S + (W @ Z) @ W.T
            found[level] = np.diag(Z)
        return found

    def solve(self, columns: Array) -> Array:
        """``M^{-1}`` times some columns."""
        rest = [columns[level] for level in self.levels]
        for k, C in enumerate(self.between):
            rest[k + 1] = rest[k + 1] - C.T @ (self.inverses[k] @ rest[k])
        found = np.empty_like(columns)
        later = self.inverses[-1] @ rest[-1]
        found[self.levels[-1]] = later
        for k in range(len(self.between) - 1, -1, -1):
            later = self.inverses[k] @ (rest[k] - self.between[k] @ later)
            found[self.levels[k]] = later
        return found


def inverse(M: Array) -> Array:
    """Of a symmetric positive definite matrix, in its place."""
    factor, failed = lapack.dpotrf(M.T, lower=True, clean=False, overwrite_a=True)
    if failed:
        raise too_far_apart()
    found = np.asarray(lapack.dpotri(factor, lower=True, overwrite_c=True)[0]).T
    for start in range(0, len(found), MIRROR):  # the other half
        block, after = slice(start, start + MIRROR), slice(start + MIRROR, None)
        corner = np.triu(found[block, block])
        found[block, block] = corner + np.triu(corner, 1).T
        found[after, block] = found[block, after].T
    return found
