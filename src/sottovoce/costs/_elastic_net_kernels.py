"""The exact step of ``ElasticNet``: ``argmin x'Hx/2 + h'x + l1||x||_1`` with ``H = Q + rho I``, ``h = q + g``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from ._linear_kernels import EPS, factor, solve
from .base import Array

SWEEPS = 200  # of coordinate descent; it only has to find most of the signs
SETTLED = 4  # sweeps without a change of sign that end it
REFINEMENTS = 3
SLACK = 100.0  # of the accepted rounding over the aimed-for rounding


@njit(cache=True)
def step_all(g: Array, rho: Array, Q: Array, q: Array, l1: Array, x: Array) -> int:
    """Step all nodes into ``x``; the flat index of the first step that cannot be verified, or -1."""
    batches, count, d = g.shape
    H = np.empty((d, d))
    h = np.empty(d)
    for k in range(batches):
        for i in range(count):
            finite = True
            for a in range(d):
                finite = finite and np.isfinite(g[k, i, a])
                h[a] = q[i, a] + g[k, i, a]
                for b in range(d):
                    H[a, b] = Q[i, a, b]
                H[a, a] += rho[i]
            if not finite:
                x[k, i] = np.nan
                continue
            find_signs(H, h, l1[i], x[k, i])
            if not pivot_to_optimum(H, h, l1[i], x[k, i]):
                return int(k * count + i)
    return -1


@njit(cache=True)
def find_signs(H: Array, h: Array, l1: float, x: Array) -> None:
    """Cyclic coordinate descent from zero, until the signs settle."""
    d = len(h)
    x[:] = 0.0
    settled = 0
    for _ in range(SWEEPS):
        settled += 1
        for a in range(d):
            rest = h[a]
            for b in range(d):
                rest += H[a, b] * x[b]
            rest -= H[a, a] * x[a]
            new = 0.0
            if rest > l1:
                new = (l1 - rest) / H[a, a]
            elif rest < -l1:
                new = (-l1 - rest) / H[a, a]
            if np.sign(new) != np.sign(x[a]):
                settled = 0
            x[a] = new
        if settled == SETTLED:
            return


@njit(cache=True)
def pivot_to_optimum(H: Array, h: Array, l1: float, x: Array) -> bool:
    """From ``x`` to the optimum by exact solves on the support, in the manner of Lawson and Hanson.

    Within one orthant the problem is a quadratic: go to its minimum, or to the first face on the way, where
    a coordinate becomes zero and leaves. At the minimum of a support, the coordinate that violates
    ``|Hx + h| <= l1`` most enters. The objective falls all the way, so no support comes back, and the last
    one satisfies the optimality condition.
    """
    d = len(h)
    sign = np.sign(x)
    if l1 == 0.0:
        sign[:] = 1.0  # no kink at zero, so one orthant: every coordinate in the support, none ever leaves
    barred = np.zeros(d, np.bool_)  # entered, but rounding sent it straight back; until something else moves
    residual, rounding, change = np.empty(d), np.empty(d), np.empty(d)
    support = np.empty(d, np.int64)
    U, scratch = np.empty((d, d)), np.empty(d)
    solves = 0  # since the support changed: the second and later ones refine
    for _ in range(10 * d + 100):
        entering = -1
        if solves > 0:
            evaluate(H, h, l1, x, sign, residual, rounding)
            solved, entering = inspect(l1, sign, barred, residual, rounding, 1.0)
            if solved or solves > REFINEMENTS:
                if entering < 0:
                    break
                sign[entering] = -np.sign(residual[entering])
            else:
                entering = -1
        evaluate(H, h, l1, x, sign, residual, rounding)
        n = 0
        for a in range(d):
            if sign[a] != 0.0:
                support[n] = a
                n += 1
        if not newton_change(H, support[:n], residual, U, scratch, change):
            return False
        length, leaving = 1.0, -1
        if l1 > 0.0:
            for a in range(n):
                j = support[a]
                if sign[j] * (x[j] + change[a]) <= 0.0:
                    reach = abs(x[j] / change[a]) if x[j] != 0.0 else 0.0
                    if reach < length or leaving < 0:
                        length, leaving = reach, j
        if leaving >= 0 and leaving == entering:
            sign[entering] = 0.0
            barred[entering] = True
            continue
        whole = True  # the support, after this step
        for a in range(n):
            j = support[a]
            x[j] += length * change[a]
            if l1 > 0.0 and (j == leaving or sign[j] * x[j] <= 0.0):
                x[j], sign[j] = 0.0, 0.0
                whole = False
        if entering >= 0 or not whole:
            barred[:] = False
            solves = 0
        if whole:
            solves += 1
    barred[:] = False
    evaluate(H, h, l1, x, sign, residual, rounding)
    solved, entering = inspect(l1, sign, barred, residual, rounding, SLACK)
    return solved and entering < 0


@njit(cache=True)
def newton_change(
    H: Array, support: npt.NDArray[np.int64], residual: Array, U: Array, scratch: Array, change: Array
) -> bool:
    """``-H_SS^{-1} residual_S`` into ``change``; False if ``H_SS`` is singular to rounding."""
    n = len(support)
    for a in range(n):
        change[a] = -residual[support[a]]
        for b in range(a, n):
            U[a, b] = H[support[a], support[b]]
    if not factor(U, n, scratch):
        return False
    solve(U, n, change)
    return True


@njit(cache=True)
def evaluate(H: Array, h: Array, l1: float, x: Array, sign: Array, residual: Array, rounding: Array) -> None:
    """``Hx + h + l1 sign``, and a bound on its own rounding error."""
    d = len(h)
    for a in range(d):
        total, size = h[a], abs(h[a]) + l1
        for b in range(d):
            total += H[a, b] * x[b]
            size += abs(H[a, b] * x[b])
        residual[a] = total + l1 * sign[a]
        rounding[a] = 2.0 * (d + 8) * EPS * size


@njit(cache=True)
def inspect(
    l1: float, sign: Array, barred: npt.NDArray[np.bool_], residual: Array, rounding: Array, slack: float
) -> tuple[bool, int]:
    """Whether the condition holds on the support, and the coordinate outside that violates it most, or -1."""
    solved, entering, worst = True, -1, 0.0
    for a in range(len(sign)):
        excess = abs(residual[a]) - slack * rounding[a]
        if sign[a] != 0.0:
            solved = solved and excess <= 0.0
        elif not barred[a] and excess - l1 > worst:
            entering, worst = a, excess - l1
    return solved, entering
