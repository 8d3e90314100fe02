"""The exact step of ``Logistic``: ``argmin F``, ``F(x) = sum_j log(1 + exp(-a_j'x)) + g'x + (kappa/2)||x||^2``.

``kappa = rho + 2 ridge``, and ``a_j`` already carries its label. On the way to a solution that Newton's method
does not find directly, the loss is softened to ``tau log(1 + exp(-a_j'x / tau))``; the answer has ``tau = 1``.

Newton's equations ``(kappa I + B'B) change = -h``, ``B = W^{1/2} A``, have as many unknowns as there are rows or
columns, whichever are fewer: ``change = -(h - B'(kappa I + BB')^{-1} B h) / kappa``.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import carray, njit  # type: ignore[attr-defined]

from ..numerics.tile import LANES
from ._linear_kernels import EPS, absolute_dot, dot, factor, product, solve
from .base import Array

ITERATIONS = 60  # of Newton at one tau; about ten are usual from zero, three from near by
BISECTIONS = 60
LASTING = 0.01  # by this much margins may move, in units of tau, before the Hessian is computed again
JUDGED = 1e-6  # relative to margins: a step that moves them by more does not end at rounding, so nobody looks ...
UNJUDGED = 12  # ... in so many iterations; margins may be noise themselves
ROWS = 256  # multiplied at a time, so that a long party needs no second copy of its rows
DOMINANT = 1e8  # of BB' over kappa: above, the solution by rows would be a difference of large numbers


class Scratch(NamedTuple):
    """Memory for one node at a time."""

    per_dim: Array  # (5, d): gradient, rounding, change, for factor, previous
    per_row: Array  # (5, longest): margin, slope, p, weight, for solve
    B: Array  # (rows at a time, d)
    matrix: Array  # flat: as many unknowns squared as there are, at most d^2
    product: Array  # flat: of a second piece of rows


@njit(cache=True)
def step_all(g: Array, rho: Array, A: Array, starts: npt.NDArray[np.int64], ridge: Array, x: Array) -> int:
    """Step all nodes from ``x`` into ``x``; the flat index of the first step that cannot be verified, or -1."""
    batches, count, d = g.shape
    longest = 1
    for i in range(count):
        longest = max(longest, starts[i + 1] - starts[i])
    s = scratch_of(np.empty(scratch_size(longest, d)), longest, d)
    for i in range(count):
        for k in range(batches):
            if not step_node(g[k, i], rho[i] + 2.0 * ridge[i], A[starts[i] : starts[i + 1]], x[k, i], s):
                return int(k * count + i)
    return -1


def step_one(rho, ridge, numbers, length, g, x, d, work):  # type: ignore[no-untyped-def]
    """The same for one node, see ``one_node``: ``numbers`` has its rows."""
    n = length // d
    s = scratch_of(carray(work, scratch_size(max(n, 1), d)), max(n, 1), d)
    return int(step_node(carray(g, d), rho + 2.0 * ridge, carray(numbers, (n, d)), carray(x, d), s))


@njit(cache=True)
def step_node(g: Array, kappa: float, A: Array, x: Array, s: Scratch) -> bool:
    """Step one node from ``x`` into ``x``; False if it cannot be verified."""
    known, placed = True, True
    for a in range(len(g)):
        known = known and np.isfinite(g[a])
        placed = placed and np.isfinite(x[a])
    for a in range(len(g)):
        if not known:
            x[a] = np.nan
        elif len(A) == 0:
            x[a] = -g[a] / kappa
        elif not placed:
            x[a] = 0.0
    return not known or len(A) == 0 or newton(A, kappa, g, 1.0, x, s) or sharpen(A, kappa, g, x, s)


@njit(cache=True)
def scratch_size(longest: int, d: int) -> int:
    """In numbers, for nodes of up to so many rows."""
    at_once = min(longest, max(ROWS, d))
    return 5 * d + 5 * longest + at_once * d + d * d + (d * d if longest > at_once else 0)


@njit(cache=True)
def scratch_of(work: Array, longest: int, d: int) -> Scratch:
    """``work``, cut into parts."""
    at_once = min(longest, max(ROWS, d))
    per_row, B, matrix = 5 * d, 5 * d + 5 * longest, 5 * d + 5 * longest + at_once * d
    return Scratch(
        work[:per_row].reshape(5, d),
        work[per_row:B].reshape(5, longest),
        work[B:matrix].reshape(at_once, d),
        work[matrix : matrix + d * d],
        work[matrix + d * d :],
    )


@njit(cache=True)
def sharpen(A: Array, kappa: float, g: Array, x: Array, s: Scratch) -> bool:
    """Follow the minimum from a loss so soft that ``F`` is almost quadratic down to the true one.

    Needed where margins are in the millions, as under a large mask: next to them the bend of the loss is a
    kink, and Newton's method, which sees either side of it as straight, zigzags.
    """
    n, d = A.shape
    previous = s.per_dim[4]
    tau, reach = 1.0, 0.0
    for a in range(d):
        x[a] = abs(g[a])
        for j in range(n):
            x[a] += abs(A[j, a])
    for j in range(n):
        reach = 0.0
        for a in range(d):
            reach += abs(A[j, a]) * x[a] / kappa
        tau = max(tau, reach)  # no margin of the solution is larger
    x[:] = 0.0
    previous[:] = 0.0
    while tau > 1.0:
        if not newton(A, kappa, g, tau, x, s):
            return False
        for a in range(d):  # the minimum is almost linear in tau
            now = x[a]
            x[a] += 0.5 * (now - previous[a])
            previous[a] = now
        tau *= 0.5
    return newton(A, kappa, g, 1.0, x, s)


@njit(cache=True)
def newton(A: Array, kappa: float, g: Array, tau: float, x: Array, s: Scratch) -> bool:
    """Damped Newton from ``x`` until the gradient is its own rounding error, and once more; roughly if ``tau > 1``."""
    n, d = A.shape
    gradient, change = s.per_dim[0], s.per_dim[2]
    margin, slope, p, weight = s.per_row[0, :n], s.per_row[1, :n], s.per_row[2, :n], s.per_row[3, :n]
    close, steepest, moved, unknowns = False, np.inf, np.inf, 0
    for turn in range(ITERATIONS):
        np.dot(A, x, margin)
        largest = 1.0
        for j in range(n):
            p[j], weight[j] = bend(margin[j] / tau)
            weight[j] /= tau
            largest = max(largest, abs(margin[j]) / tau)
        np.dot(A.T, p, gradient)
        for a in range(d):
            gradient[a] = g[a] + kappa * x[a] - gradient[a]
        small = (steepest <= JUDGED * largest or turn >= UNJUDGED) and only_rounding(A, kappa, g, x, s)
        if small and (close or tau > 1.0):
            return True
        close = small
        if moved > LASTING:
            unknowns, moved = factor_hessian(A, kappa, s), 0.0
            if unknowns == 0:
                return False
        find_change(A, kappa, unknowns, s)
        np.dot(A, change, slope)
        steepest = 0.0
        for j in range(n):
            steepest = max(steepest, abs(slope[j]) / tau)
        # F is self-concordant in this sense: while no margin moves by more than tau, no curvature changes by
        # more than a factor e, and a full Newton step lowers F. Beyond that, the slope along the line decides.
        length = 1.0
        if steepest > 1.0:
            length = max(1.0 / steepest, damping(kappa, g, tau, x, change, gradient, margin, slope))
        for a in range(d):
            x[a] += length * change[a]
        moved += length * steepest
        if tau > 1.0 and steepest < 0.1:
            return True
    return False


@njit(cache=True)
def only_rounding(A: Array, kappa: float, g: Array, x: Array, s: Scratch) -> bool:
    """Whether the gradient is not above a bound on its own rounding error."""
    n, d = A.shape
    gradient, rounding, p, weight = s.per_dim[0], s.per_dim[1], s.per_row[2], s.per_row[3]
    for a in range(d):
        rounding[a] = abs(g[a]) + abs(kappa * x[a])
    for j in range(n):
        # The rounding of the terms of a margin passes through the curvature.
        size = p[j] + weight[j] * absolute_dot(A[j], x)
        for a in range(d):
            rounding[a] += size * abs(A[j, a])
    small = True
    for a in range(d):
        small = small and abs(gradient[a]) <= (n + d + 8) * EPS * rounding[a]
    return small


@njit(cache=True)
def factor_hessian(A: Array, kappa: float, s: Scratch) -> int:
    """Factor ``kappa I + BB'``, or ``kappa I + B'B``, into ``s.matrix``; the number of unknowns, 0 if singular."""
    n, d = A.shape
    weight, size = s.per_row[3], 0.0
    unknowns = n if n < d else d
    for j in range(n if n < d else 0):
        size += weight[j] * dot(A[j], A[j])
    if size > DOMINANT * kappa:
        unknowns = d
    M = s.matrix[: unknowns * unknowns].reshape(unknowns, unknowns)
    for first in range(0, n, len(s.B)):
        B, rows = s.B[: min(len(s.B), n - first)], A[first : first + len(s.B)]
        for j in range(len(B)):
            times = sqrt(weight[first + j]) if unknowns < d else weight[first + j]
            for a in range(d):
                B[j, a] = times * rows[j, a]
        if unknowns < d:
            np.dot(B, B.T, M)
            continue
        into = M if first == 0 else s.product.reshape(d, d)
        if d < LANES:
            np.dot(B.T, rows, into)
        else:
            product(B, rows, into)
        if first > 0:
            for a in range(d):
                for b in range(a, d):
                    M[a, b] += into[a, b]
    for a in range(unknowns):
        M[a, a] += kappa
    return unknowns if factor(M, unknowns, s.per_dim[3]) else 0


@njit(cache=True)
def find_change(A: Array, kappa: float, unknowns: int, s: Scratch) -> None:
    """Newton's change, by the factors that ``factor_hessian`` has left."""
    n, d = A.shape
    gradient, change = s.per_dim[0], s.per_dim[2]
    M = s.matrix[: unknowns * unknowns].reshape(unknowns, unknowns)
    if unknowns < d:
        B, inner = s.B[:n], s.per_row[4, :n]
        np.dot(B, gradient, inner)
        solve(M, n, inner)
        np.dot(B.T, inner, change)
        for a in range(d):
            change[a] = (change[a] - gradient[a]) / kappa
    else:
        for a in range(d):
            change[a] = -gradient[a]
        solve(M, d, change)


@njit(cache=True)
def damping(
    kappa: float, g: Array, tau: float, x: Array, change: Array, gradient: Array, margin: Array, slope: Array
) -> float:
    """A length in ``(0, 1]`` up to which ``F`` falls all the way, by bisection on its slope along the line."""
    linear, quadratic, start = 0.0, 0.0, 0.0
    for a in range(len(x)):
        linear += (g[a] + kappa * x[a]) * change[a]
        quadratic += kappa * change[a] * change[a]
        start += gradient[a] * change[a]
    low, high, length = 0.0, 1.0, 1.0
    for _ in range(BISECTIONS):
        now = linear + length * quadratic
        for j in range(len(margin)):
            now -= bend((margin[j] + length * slope[j]) / tau)[0] * slope[j]
        if now > 0.0:
            high = length
        elif length == 1.0 or now >= 0.5 * start:
            return length
        else:
            low = length
        length = 0.5 * (low + high)
    return low


@njit(cache=True)
def bend(t: float) -> tuple[float, float]:
    """``p = 1 / (1 + exp(t))`` and ``p (1 - p)``, without overflow."""
    e = exp(-abs(t))
    low = e / (1.0 + e)
    return (low if t >= 0.0 else 1.0 / (1.0 + e)), low / (1.0 + e)
