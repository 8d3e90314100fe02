"""The exact step of ``Hinge``: ``argmin sum_j max(0, 1 - a_j'x) + g'x + (kappa/2)||x||^2``, ``kappa = rho + 2 ridge``.

``a_j`` already carries its label. Optimality has one multiplier ``alpha_j`` in ``[0, 1]`` per row:

    kappa x + g = sum_j alpha_j a_j,     alpha_j = 0 if a_j'x > 1,   alpha_j = 1 if a_j'x < 1

Rows with ``alpha_j`` in between are *free*; they lie on the margin, ``a_j'x = 1``. Coordinate descent on
``alpha`` guesses them, and an active-set method finishes: solve for the free rows, drop one that leaves
``[0, 1]``, enter the row that violates its condition most. The dual objective falls all the way, so it ends.
Free rows are kept linearly independent, so at most ``d``, as ``A_F' = B'R`` with orthonormal rows ``B`` and ``R``
upper triangular, by Gram-Schmidt done twice.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt
from numba import carray, njit  # type: ignore[attr-defined]

from ._linear_kernels import EPS, dot, solve_upper
from .base import Array

Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SWEEPS = 50  # of coordinate descent; it only has to find most of the free rows
SETTLED = 3  # sweeps without a row joining or leaving a bound that end it
DEPENDENT = 1e-10  # a row this close to the span of the free ones, relative to its length, lies within
REFINEMENTS = 2
SLACK = 100.0  # of the accepted rounding over the aimed-for rounding


@njit(cache=True)
def step_all(g: Array, rho: Array, A: Array, starts: Index, ridge: Array, x: Array) -> int:
    """Step all nodes into ``x``; the flat index of the first step that cannot be verified, or -1."""
    batches, count = g.shape[:2]
    alpha = np.empty(np.diff(starts).max())
    for k in range(batches):
        for i in range(count):
            if not step_node(g[k, i], rho[i] + 2.0 * ridge[i], A[starts[i] : starts[i + 1]], alpha, x[k, i]):
                return int(k * count + i)
    return -1


def step_one(rho, ridge, numbers, length, g, x, d, work):  # type: ignore[no-untyped-def]
    """The same for one node, see ``one_node``: ``numbers`` has its rows."""
    A, alpha = carray(numbers, (length // d, d)), carray(work, length // d)
    return int(step_node(carray(g, d), rho + 2.0 * ridge, A, alpha, carray(x, d)))


@njit(cache=True)
def step_node(g: Array, kappa: float, A: Array, alpha: Array, x: Array) -> bool:
    """Step one node into ``x``; False if it cannot be verified. ``alpha`` is scratch."""
    if not np.isfinite(g).all():
        x[:] = np.nan
        return True
    descend(A, kappa, g, x, alpha)
    return pivot_to_optimum(A, kappa, g, x, alpha)


@njit(cache=True)
def descend(A: Array, kappa: float, g: Array, x: Array, alpha: Array) -> None:
    """Cyclic coordinate descent on ``alpha`` from zero, with ``x`` kept along."""
    n, d = A.shape
    alpha[:n] = 0.0
    for a in range(d):
        x[a] = -g[a] / kappa
    settled = 0
    for _ in range(SWEEPS):
        settled += 1
        for j in range(n):
            length = dot(A[j], A[j])
            new = 1.0
            if length > 0.0:
                new = min(max(alpha[j] + kappa * (1.0 - dot(A[j], x)) / length, 0.0), 1.0)
            if side(new) != side(alpha[j]):
                settled = 0
            for a in range(d):
                x[a] += (new - alpha[j]) / kappa * A[j, a]
            alpha[j] = new
        if settled == SETTLED:
            return


@njit(cache=True)
def pivot_to_optimum(A: Array, kappa: float, g: Array, x: Array, alpha: Array) -> bool:
    """From any ``alpha`` in the box to the optimum; False if the result does not verify."""
    n, d = A.shape
    free, size = np.empty(d, np.int64), 0
    within = np.zeros(n, np.bool_)  # whether a row is free
    barred = np.zeros(n, np.bool_)  # entered, but rounding sent it straight back; until something else moves
    B, R = np.empty((d, d)), np.empty((d, d))
    stationarity, rounding = np.empty(d), np.empty(d)
    dx, dalpha = np.empty(d), np.empty(d)
    for j in range(n):
        if 0.0 < alpha[j] < 1.0:
            size = enter(j, A, x, alpha, free, size, within, B, R)
    solves = 0  # since the free rows changed: the second and later ones refine
    entered = -1
    for _ in range(20 * (n + d) + 100):
        evaluate(A, kappa, g, x, alpha, stationarity, rounding)
        newton_change(A, kappa, x, free[:size], B, R, stationarity, dx, dalpha)
        length, leaving = 1.0, -1
        for p in range(size):
            now = alpha[free[p]]
            if not 0.0 <= now + dalpha[p] <= 1.0:
                room = (now if dalpha[p] < 0.0 else 1.0 - now) / abs(dalpha[p])
                if room < length or leaving < 0:
                    length, leaving = room, p
        for a in range(d):
            x[a] += length * dx[a]
        for p in range(size):
            alpha[free[p]] = min(max(alpha[free[p]] + length * dalpha[p], 0.0), 1.0)
        if leaving >= 0:
            j = free[leaving]
            alpha[j] = 0.0 if dalpha[leaving] < 0.0 else 1.0
            within[j] = False
            size = drop(leaving, A, free, size, B, R)
            if length > 0.0:
                barred[:] = False
                entered = -1
            elif j == entered:
                barred[j] = True
                entered = -1
            solves = 0
            continue
        if entered >= 0:
            barred[:] = False
        solves += 1
        entered, worst = -1, 0.0
        for j in range(n):
            if not (within[j] or barred[j]):
                excess = violation(A[j], x, alpha[j], rounding, 1.0, 0.0)
                if excess > worst:
                    entered, worst = j, excess
        if entered >= 0:
            size = enter(entered, A, x, alpha, free, size, within, B, R)
            solves = 0
        elif solves > REFINEMENTS:
            break
    return optimal(A, kappa, g, x, alpha, stationarity, rounding)


@njit(cache=True)
def optimal(A: Array, kappa: float, g: Array, x: Array, alpha: Array, stationarity: Array, rounding: Array) -> bool:
    """Whether ``x`` and ``alpha`` satisfy the optimality condition to rounding."""
    evaluate(A, kappa, g, x, alpha, stationarity, rounding)
    holds = True
    for a in range(len(x)):
        holds = holds and abs(stationarity[a]) <= SLACK * rounding[a]
    for j in range(len(A)):
        holds = holds and violation(A[j], x, alpha[j], rounding, SLACK, 1.0 / kappa) <= 0.0
    return holds


@njit(cache=True)
def evaluate(A: Array, kappa: float, g: Array, x: Array, alpha: Array, stationarity: Array, rounding: Array) -> None:
    """``kappa x + g - A'alpha``, and the size of its own rounding error."""
    n, d = A.shape
    for a in range(d):
        stationarity[a] = kappa * x[a] + g[a]
        rounding[a] = abs(kappa * x[a]) + abs(g[a])
    for j in range(n):
        if alpha[j] != 0.0:
            for a in range(d):
                stationarity[a] -= alpha[j] * A[j, a]
                rounding[a] += alpha[j] * abs(A[j, a])
    for a in range(d):
        rounding[a] *= sqrt(n + 8.0) * EPS


@njit(cache=True)
def violation(row: Array, x: Array, alpha: float, rounding: Array, slack: float, gain: float) -> float:
    """By how much a row violates its condition beyond rounding; not above zero if it does not.

    ``gain`` is what a rounding error in the stationarity does to ``x``, ``1/kappa``; 0 judges ``x`` as it stands.
    """
    margin, tolerance = -1.0, 4.0 * (len(x) + 8) * EPS
    for a in range(len(x)):
        margin += row[a] * x[a]
        tolerance += abs(row[a]) * (4.0 * (len(x) + 8) * EPS * abs(x[a]) + gain * rounding[a])
    if alpha == 0.0:
        return -margin - slack * tolerance
    if alpha == 1.0:
        return margin - slack * tolerance
    return abs(margin) - slack * tolerance


@njit(cache=True)
def newton_change(
    A: Array,
    kappa: float,
    x: Array,
    free: Index,
    B: Array,
    R: Array,
    stationarity: Array,
    dx: Array,
    dalpha: Array,
) -> None:
    """Solve ``kappa dx - A_F'dalpha = -stationarity``, ``A_F dx = 1 - A_F x``, through ``A_F' = B'R``."""
    size, d = len(free), len(x)
    for a in range(d):
        dx[a] = -stationarity[a] / kappa
    for p in range(size):
        # The part of dx along b_p is what the margins ask for, R'(B dx) = 1 - A_F x, by forward substitution.
        wanted = 1.0 - dot(A[free[p]], x)
        for r in range(p):
            wanted -= R[r, p] * dalpha[r]
        dalpha[p] = wanted / R[p, p]
        along = dot(B[p], dx)
        for a in range(d):
            dx[a] += (dalpha[p] - along) * B[p, a]
    for p in range(size):
        dalpha[p] = kappa * dalpha[p] + dot(B[p], stationarity)
    solve_upper(R, size, dalpha)


@njit(cache=True)
def enter(j: int, A: Array, x: Array, alpha: Array, free: Index, size: int, within: Flags, B: Array, R: Array) -> int:
    """Make row ``j`` free, and keep the free rows independent; the new number of free rows.

    A row within their span, ``a_j = sum_p w_p a_p``, is exchanged: ``alpha_j`` moves by ``t`` and each ``alpha_p`` by
    ``-t w_p``, which leaves ``x`` where it is, until one of them meets a bound and stays there.
    """
    weights = np.empty(len(x))
    for _ in range(len(x) + 1):
        if append(A[j], size, B, R, weights):
            free[size] = j
            within[j] = True
            return size + 1
        solve_upper(R, size, weights)
        slope = dot(A[j], x) - 1.0
        for p in range(size):
            slope -= weights[p] * (dot(A[free[p]], x) - 1.0)
        up = alpha[j] == 0.0 or (alpha[j] < 1.0 and slope < 0.0)
        length, leaving = (1.0 - alpha[j] if up else alpha[j]), -1
        for p in range(size):
            if not up:
                weights[p] = -weights[p]
            room = alpha[free[p]] if weights[p] > 0.0 else 1.0 - alpha[free[p]]
            if room < length * abs(weights[p]):
                length, leaving = room / abs(weights[p]), p
        for p in range(size):
            alpha[free[p]] = min(max(alpha[free[p]] - length * weights[p], 0.0), 1.0)
        if leaving < 0:
            alpha[j] = 1.0 if up else 0.0
            return size
        alpha[j] += length if up else -length
        alpha[free[leaving]] = 0.0 if weights[leaving] > 0.0 else 1.0
        within[free[leaving]] = False
        size = drop(leaving, A, free, size, B, R)
    return size


@njit(cache=True)
def append(row: Array, size: int, B: Array, R: Array, weights: Array) -> bool:
    """Add a row to ``B`` and ``R`` unless it lies in their span; ``weights`` gets ``B row``."""
    d = len(row)
    rest = row.copy()
    weights[:size] = 0.0
    for _ in range(2):
        for p in range(size):
            along = dot(B[p], rest)
            weights[p] += along
            for a in range(d):
                rest[a] -= along * B[p, a]
    length = sqrt(dot(rest, rest))
    if size == d or not length > DEPENDENT * sqrt(dot(row, row)):
        return False
    for p in range(size):
        R[p, size] = weights[p]
    R[size, size] = length
    for a in range(d):
        B[size, a] = rest[a] / length
    return True


@njit(cache=True)
def drop(at: int, A: Array, free: Index, size: int, B: Array, R: Array) -> int:
    """Take one row out of the free ones; those after it are orthogonalised again."""
    weights = np.empty(len(B))
    for p in range(at, size - 1):
        free[p] = free[p + 1]
        append(A[free[p]], p, B, R, weights)
    return size - 1


@njit(cache=True)
def side(alpha: float) -> int:
    """Which bound, -1 or 1, or 0 between them."""
    return -1 if alpha == 0.0 else 1 if alpha == 1.0 else 0
