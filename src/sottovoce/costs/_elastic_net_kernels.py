"""The exact step of ``ElasticNet``: ``argmin x'Hx/2 + h'x + l1||x||_1`` with ``H = Q + rho I``, ``h = q + g``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import carray, njit  # type: ignore[attr-defined]

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
    for i in range(count):
        for a in range(d):
            for b in range(d):
                H[a, b] = Q[i, a, b]
            H[a, a] += rho[i]
        for k in range(batches):
            if not step_node(g[k, i], H, q[i], l1[i], h, x[k, i]):
                return int(k * count + i)
    return -1


def step_one(rho, l1, numbers, length, g, x, d, work):  # type: ignore[no-untyped-def]
    """The same for one node, see ``one_node``: ``numbers`` has ``H``, and ``q`` after it."""
    numbers = carray(numbers, length)
    H, q = numbers[: d * d].reshape(d, d), numbers[d * d :]
    return int(step_node(carray(g, d), H, q, l1, carray(work, d), carray(x, d)))


@njit(cache=True)
def step_node(g: Array, H: Array, q: Array, l1: float, h: Array, x: Array) -> bool:
    """Step one node into ``x``; False if it cannot be verified. ``h`` is scratch."""
    finite = True
    for a in range(len(g)):
        finite = finite and np.isfinite(g[a])
        h[a] = q[a] + g[a]
    if not finite:
        x[:] = np.nan
        return True
    find_signs(H, h, l1, x)
    return pivot_to_optimum(H, h, l1, x)


@njit(cache=True)
def find_signs(H: Array, h: Array, l1: float, x: Array) -> None:
    """Cyclic coordinate descent from zero, until the signs settle. ``Hx + h`` is kept along: a coordinate that stays
    where it is, as most do at zero, costs nothing."""
    d = len(h)
    x[:] = 0.0
    slope = h.copy()
    settled = 0
    for _ in range(SWEEPS):
        settled += 1
        for a in range(d):
            rest = slope[a] - H[a, a] * x[a]
            new = 0.0
            if rest > l1:
                new = (l1 - rest) / H[a, a]
            elif rest < -l1:
                new = (-l1 - rest) / H[a, a]
            if np.sign(new) != np.sign(x[a]):
                settled = 0
            change = new - x[a]
            if change != 0.0:
                x[a] = new
                for b in range(d):  # along a row of H, which is symmetric: this vectorises
                    slope[b] += change * H[a, b]
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
    n, factored = 0, False  # the support, and whether U has its factors
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
                factored = False
            else:
                entering = -1
        if solves == 0 or entering >= 0:
            evaluate(H, h, l1, x, sign, residual, rounding)
        if not factored:
            n, factored = 0, True
            for a in range(d):
                if sign[a] != 0.0:
                    support[n] = a
                    n += 1
            if not factor_support(H, support[:n], U, scratch):
                return False
        for a in range(n):
            change[a] = -residual[support[a]]
        solve(U, n, change)
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
            factored = False
            continue
        whole = True  # the support, after this step
        for a in range(n):
            j = support[a]
            x[j] += length * change[a]
            if l1 > 0.0 and (j == leaving or sign[j] * x[j] <= 0.0):
                x[j], sign[j] = 0.0, 0.0
                whole = factored = False
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
def factor_support(H: Array, support: npt.NDArray[np.int64], U: Array, scratch: Array) -> bool:
    """Factor ``H_SS`` into ``U``; False if it is singular to rounding."""
    n = len(support)
    for a in range(n):
        for b in range(a, n):
            U[a, b] = H[support[a], support[b]]
    return factor(U, n, scratch)


@njit(cache=True)
def evaluate(H: Array, h: Array, l1: float, x: Array, sign: Array, residual: Array, rounding: Array) -> None:
    """``Hx + h + l1 sign``, and a bound on its own rounding error. Row by row of the symmetric ``H``, so that each sum
    keeps its order and all of them vectorise."""
    d = len(h)
    for a in range(d):
        residual[a], rounding[a] = h[a], abs(h[a]) + l1
    for b in range(d):
        if x[b] != 0.0:
            for a in range(d):
                term = H[b, a] * x[b]
                residual[a] += term
                rounding[a] += abs(term)
    for a in range(d):
        residual[a] += l1 * sign[a]
        rounding[a] *= 2.0 * (d + 8) * EPS


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
