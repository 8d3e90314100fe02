"""Small dense linear algebra, compiled: plain loops and tiles, so that the bits depend on the numbers alone."""
# mypy: disable-error-code="call-arg"

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

from ..numerics.tile import LANES, ROWS, tile
from .base import Array

EPS = float(np.finfo(np.float64).eps)


@njit(cache=True)
def factor(H: Array, n: int, diagonal: Array) -> bool:
    """Turn the upper triangle of ``H[:n, :n]`` into ``U`` with ``U'U = H``; ``diagonal`` is scratch.

    False if a pivot drowns in the rounding of its own diagonal entry: ``H`` is then singular as far as float64 can say.
    What the rows above take off is added up for a few rows at a time, by tiles; where there is no room for one, every
    row is taken off all rows below it at once.
    """
    fits, total = H.shape[1] >= LANES, np.empty((ROWS, LANES))
    for i in range(n):
        diagonal[i] = H[i, i]
    for first in range(0, n, ROWS):
        last = min(first + ROWS, n)
        if fits and first > 0:
            above = H[:first]
            for end in range(n, first, -LANES):
                at = max(end - LANES, 0)
                tile(above.T, first, above, at, total)
                for k in range(last - first):
                    for l in range(max(first - at, 0), end - at):
                        H[first + k, at + l] -= total[k, l]
        for i in range(first, last):
            if not EPS * diagonal[i] < H[i, i] < np.inf:
                return False
            root = sqrt(H[i, i])
            H[i, i] = root
            for j in range(i + 1, n):
                H[i, j] /= root
            for j in range(i + 1, last if fits else n):
                for k in range(j, n):  # along a row, which vectorises without reordering a sum
                    H[j, k] -= H[i, j] * H[i, k]
    return True


@njit(cache=True)
def product(A: Array, B: Array, M: Array) -> None:
    """``M = A'B``, which is symmetric: the upper triangle, and some of the rest; of ``LANES`` columns or more."""
    total, turned = np.empty((ROWS, LANES)), A.T
    for end in range(len(M), 0, -LANES):
        at = max(end - LANES, 0)  # the first columns may be done twice, to the same bits: they have the fewest rows
        for r in range(0, end, ROWS):
            tile(turned, r, B, at, total)
            for k in range(min(ROWS, len(M) - r)):
                for l in range(LANES):
                    M[r + k, at + l] = total[k, l]


@njit(cache=True)
def solve(U: Array, n: int, b: Array) -> None:
    """Overwrite ``b[:n]`` by the solution of ``U'U x = b``."""
    for i in range(n):
        b[i] /= U[i, i]
        for j in range(i + 1, n):
            b[j] -= U[i, j] * b[i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= U[i, j] * b[j]
        b[i] /= U[i, i]


@njit(cache=True)
def solve_upper(R: Array, size: int, b: Array) -> None:
    """Overwrite ``b[:size]`` by the solution of ``R w = b``, ``R`` upper triangular."""
    for p in range(size - 1, -1, -1):
        for r in range(p + 1, size):
            b[p] -= R[p, r] * b[r]
        b[p] /= R[p, p]


@njit(cache=True)
def dot(a: Array, b: Array) -> float:
    """``a'b``, summed in order."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@njit(cache=True)
def absolute_dot(a: Array, b: Array) -> float:
    """``|a|'|b|``, in four sums at a time."""
    n = len(a)
    whole = n - n % 4
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for k in range(0, whole, 4):
        s0 += abs(a[k] * b[k])
        s1 += abs(a[k + 1] * b[k + 1])
        s2 += abs(a[k + 2] * b[k + 2])
        s3 += abs(a[k + 3] * b[k + 3])
    for k in range(whole, n):
        s0 += abs(a[k] * b[k])
    return s0 + s1 + s2 + s3
