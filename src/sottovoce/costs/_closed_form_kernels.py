"""The closed-form steps, compiled one node at a time: the twins, to the bit, of the NumPy forms in the families' files.

Sums are taken in order, as there. All have the signature of ``one_node.compiled``: ``rho`` and ``weight`` are numbers
of the node, ``numbers`` what else its family keeps, and ``x`` is overwritten. A projection finds in ``x`` what it
projects.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,attr-defined"

from __future__ import annotations

from math import copysign, isfinite, sqrt

import numpy as np
from numba import carray

DONE = 1


def unconstrained(rho, weight, numbers, length, g, x, d, work):
    """``-g / rho``, which an indicator projects."""
    g, x = carray(g, d), carray(x, d)
    for a in range(d):
        x[a] = -g[a] / rho
    return DONE


def isotropic(curvature, weight, numbers, length, g, x, d, work):
    """``Quadratic`` with ``Q = aI``: ``-(q + g) / (a + rho)``."""
    q, g, x = carray(numbers, length), carray(g, d), carray(x, d)
    for a in range(d):
        x[a] = -(q[a] + g[a]) / curvature
    return DONE


def dense(rho, weight, numbers, length, g, x, d, work):
    """``Quadratic``: ``-(Q + rho)^{-1} (q + g)``, where ``numbers`` has the inverse, and ``q`` after it."""
    numbers, g, x = carray(numbers, length), carray(g, d), carray(x, d)
    q = numbers[d * d :]
    for r in range(d):
        total = 0.0
        for s in range(d):
            total += numbers[r * d + s] * (q[s] + g[s])
        x[r] = -total
    return DONE


def huber(rho, delta, numbers, length, g, x, d, work):
    """``Huber``, see there."""
    s, g, x = carray(numbers, length), carray(g, d), carray(x, d)
    for a in range(d):
        offset = -(g[a] + rho * s[a]) / (1.0 + rho)
        if abs(offset) <= delta:
            x[a] = (s[a] - g[a]) / (1.0 + rho)
        else:
            x[a] = -(g[a] + copysign(delta, offset)) / rho
    return DONE


def absolute_deviation(rho, weight, numbers, length, g, x, d, work):
    """``AbsoluteDeviation``, see there."""
    s, g, x = carray(numbers, length), carray(g, d), carray(x, d)
    for a in range(d):
        pull = -(g[a] + rho * s[a])
        x[a] = s[a] if abs(pull) <= 1.0 else -(g[a] + copysign(1.0, pull)) / rho
    return DONE


def box(rho, weight, numbers, length, g, x, d, work):
    """``Box``: ``numbers`` has the lower bounds, and the upper ones after them."""
    bounds, x = carray(numbers, length), carray(x, d)
    for a in range(d):
        if x[a] < bounds[a]:
            x[a] = bounds[a]
        if x[a] > bounds[d + a]:
            x[a] = bounds[d + a]
    return DONE


def ball(rho, radius, numbers, length, g, x, d, work):
    """``Ball``: ``numbers`` is the centre."""
    centre, x = carray(numbers, length), carray(x, d)
    scale, total = 0.0, 0.0
    for a in range(d):
        size = abs(x[a] - centre[a])
        if size > scale or size != size:  # a NaN stays one
            scale = size
    scale = 1.0 if scale == 0.0 else scale
    for a in range(d):
        part = (x[a] - centre[a]) / scale
        total += part * part
    distance = scale * sqrt(total)
    if distance <= radius:
        return DONE
    for a in range(d):
        x[a] = centre[a] + (x[a] - centre[a]) * (radius / distance)
    return DONE


def simplex(rho, total, numbers, length, g, x, d, work):
    """``Simplex``, see there."""
    x, work = carray(x, d), carray(work, 2 * d)
    falling, taus = work[:d], work[d:]
    largest = -np.inf
    for a in range(d):
        if x[a] > largest or x[a] != x[a]:
            largest = x[a]
    if not isfinite(largest):
        for a in range(d):
            x[a] = np.nan
        return DONE
    for a in range(d):
        x[a] -= largest
        if x[a] <= -total:
            x[a] = -np.inf
        falling[a] = -x[a]
    falling.sort()
    sums, positives = 0.0, 0
    for a in range(d):
        sums += -falling[a]
        taus[a] = (sums - total) / (a + 1)
        positives += -falling[a] > taus[a]
    positives = max(positives, 1)
    tau = taus[positives - 1]
    rest = 0.0
    for a in range(d):
        rest += max(x[a] - tau, 0.0)
    tau += (rest - total) / positives
    for a in range(d):
        x[a] = max(x[a] - tau, 0.0)
    return DONE
