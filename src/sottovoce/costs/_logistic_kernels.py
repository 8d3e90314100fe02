"""The exact step of ``Logistic``: ``argmin F``, ``F(x) = sum_j log(1 + exp(-a_j'x)) + g'x + (kappa/2)||x||^2``.

``kappa = rho + 2 ridge``, and ``a_j`` already carries its label. On the way to a solution that Newton's method
does not find directly, the loss is softened to ``tau log(1 + exp(-a_j'x / tau))``; the answer has ``tau = 1``.
"""

from __future__ import annotations

from math import exp

import numpy as np
import numpy.typing as npt
from numba import njit

from ._linear_kernels import EPS, dot, factor, solve
from .base import Array

ITERATIONS = 60  # of Newton at one tau; about ten are usual
BISECTIONS = 60


@njit(cache=True)
def step_all(g: Array, rho: Array, A: Array, starts: npt.NDArray[np.int64], ridge: Array, x: Array) -> int:
    """Step all nodes into ``x``; the flat index of the first step that cannot be verified, or -1."""
    batches, count, d = g.shape
    H = np.empty((d, d))
    per_dim, per_row = np.empty((5, d)), np.empty((2, np.diff(starts).max()))
    for k in range(batches):
        for i in range(count):
            if not np.isfinite(g[k, i]).all():
                x[k, i] = np.nan
                continue
            kappa, data = rho[i] + 2.0 * ridge[i], A[starts[i] : starts[i + 1]]
            x[k, i] = 0.0
            if newton(data, kappa, g[k, i], 1.0, x[k, i], H, per_dim, per_row):
                continue
            if not sharpen(data, kappa, g[k, i], x[k, i], H, per_dim, per_row):
                return int(k * count + i)
    return -1


@njit(cache=True)
def sharpen(A: Array, kappa: float, g: Array, x: Array, H: Array, per_dim: Array, per_row: Array) -> bool:
    """Follow the minimum from a loss so soft that ``F`` is almost quadratic down to the true one.

    Needed where margins are in the millions, as under a large mask: next to them the bend of the loss is a
    kink, and Newton's method, which sees either side of it as straight, zigzags.
    """
    n, d = A.shape
    previous = per_dim[4]
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
        if not newton(A, kappa, g, tau, x, H, per_dim, per_row):
            return False
        for a in range(d):  # the minimum is almost linear in tau
            now = x[a]
            x[a] += 0.5 * (now - previous[a])
            previous[a] = now
        tau *= 0.5
    return newton(A, kappa, g, 1.0, x, H, per_dim, per_row)


@njit(cache=True)
def newton(A: Array, kappa: float, g: Array, tau: float, x: Array, H: Array, per_dim: Array, per_row: Array) -> bool:
    """Damped Newton from ``x`` until the gradient is its own rounding error, and once more; roughly if ``tau > 1``."""
    n, d = A.shape
    gradient, rounding, change, scratch = per_dim[0], per_dim[1], per_dim[2], per_dim[3]
    margin, slope = per_row[0, :n], per_row[1, :n]
    close = False
    for _ in range(ITERATIONS):
        for j in range(n):
            margin[j] = dot(A[j], x)
        evaluate(A, kappa, g, tau, x, margin, gradient, rounding, H)
        small = True
        for a in range(d):
            small = small and abs(gradient[a]) <= rounding[a]
        if small and (close or tau > 1.0):
            return True
        close = small
        if not factor(H, d, scratch):
            return False
        for a in range(d):
            change[a] = -gradient[a]
        solve(H, d, change)
        steepest = 0.0
        for j in range(n):
            slope[j] = dot(A[j], change)
            steepest = max(steepest, abs(slope[j]) / tau)
        # F is self-concordant in this sense: while no margin moves by more than tau, no curvature changes by
        # more than a factor e, and a full Newton step lowers F. Beyond that, the slope along the line decides.
        length = 1.0
        if steepest > 1.0:
            length = max(1.0 / steepest, damping(kappa, g, tau, x, change, gradient, margin, slope))
        for a in range(d):
            x[a] += length * change[a]
        if tau > 1.0 and steepest < 0.1:
            return True
    return False


@njit(cache=True)
def evaluate(
    A: Array,
    kappa: float,
    g: Array,
    tau: float,
    x: Array,
    margin: Array,
    gradient: Array,
    rounding: Array,
    H: Array,
) -> None:
    """The gradient, a bound on its rounding error, and the upper triangle of the Hessian."""
    n, d = A.shape
    for a in range(d):
        gradient[a] = g[a] + kappa * x[a]
        rounding[a] = abs(g[a]) + abs(kappa * x[a])
        for b in range(a, d):
            H[a, b] = 0.0
        H[a, a] = kappa
    for j in range(n):
        p = sigmoid(-margin[j] / tau)
        weight = p * sigmoid(margin[j] / tau) / tau
        size = 0.0  # of the terms of the margin, whose rounding passes through the curvature
        for a in range(d):
            size += abs(A[j, a] * x[a])
        for a in range(d):
            gradient[a] -= p * A[j, a]
            rounding[a] += (p + weight * size) * abs(A[j, a])
            scaled = weight * A[j, a]
            for b in range(a, d):
                H[a, b] += scaled * A[j, b]
    for a in range(d):
        rounding[a] *= (n + d + 8) * EPS


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
            now -= sigmoid(-(margin[j] + length * slope[j]) / tau) * slope[j]
        if now > 0.0:
            high = length
        elif length == 1.0 or now >= 0.5 * start:
            return length
        else:
            low = length
        length = 0.5 * (low + high)
    return low


@njit(cache=True)
def sigmoid(t: float) -> float:
    """``1 / (1 + exp(-t))``, without overflow."""
    if t >= 0.0:
        return 1.0 / (1.0 + exp(-t))
    e = exp(t)
    return e / (1.0 + e)
