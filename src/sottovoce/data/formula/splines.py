"""Splines with public knots and a public range: the basis is the same at every party, whatever its rows are.

Sums run in one order and without BLAS, so that a row has the same numbers in a batch of any size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..batch import Array


def b_splines(x: Array, knots: Sequence[float], ends: tuple[float, float], degree: int) -> Array:
    """The B-splines of a degree, ``(rows, len(knots) + degree + 1)``, that sum to one (Cox and de Boor)."""
    t = _with_ends(knots, ends, degree)
    interval = np.clip(np.searchsorted(t, x, side="right") - 1, degree, len(t) - degree - 2)  # the last one is closed
    values = [np.ones(len(x))]  # of the degree + 1 splines that are not zero in the interval of a row
    for order in range(1, degree + 1):
        carried = np.zeros(len(x))
        for k in range(order):
            left, right = t[interval + k + 1 - order], t[interval + k + 1]
            share = values[k] / (right - left)
            values[k] = carried + (right - x) * share
            carried = (x - left) * share
        values.append(carried)
    basis = np.zeros((len(x), len(t) - degree - 1))
    for k, column in enumerate(values):
        basis[np.arange(len(x)), interval - degree + k] = column
    return basis


def natural_splines(x: Array, knots: Sequence[float], ends: tuple[float, float]) -> Array:
    """Cubic splines without curvature at both ends, ``(rows, len(knots) + 1)``: the basis of R's ``ns``.

    Of the cubic B-splines without the first, those combinations whose second derivative is zero at both ends.
    """
    cubic = b_splines(x, knots, ends, 3)[:, 1:]
    mixed = np.zeros((len(x), len(knots) + 1))
    for j, weights in enumerate(_uncurved(knots, ends)):
        for k, weight in enumerate(weights):
            mixed[:, k] += cubic[:, j] * weight
    return mixed


def _with_ends(knots: Sequence[float], ends: tuple[float, float], degree: int) -> Array:
    low, high = ends
    return np.array([low] * (degree + 1) + list(knots) + [high] * (degree + 1))


def _uncurved(knots: Sequence[float], ends: tuple[float, float]) -> list[list[float]]:
    """An orthonormal basis of the coefficients without curvature at both ends, a row for each cubic B-spline.

    The last columns of ``Q`` of a Householder QR factorisation, in plain floats: the same bits on every machine.
    """
    curvature = _second_derivatives(knots, ends)
    count = len(curvature[0])
    q = [[float(i == j) for j in range(count)] for i in range(count)]
    for pivot in range(2):
        row = curvature[pivot]
        v = [0.0] * pivot + row[pivot:]
        v[pivot] += math.copysign(math.sqrt(math.fsum(entry * entry for entry in v)), v[pivot])
        square = math.fsum(entry * entry for entry in v)
        for vector in (*curvature, *q):  # x <- x - 2 v (v'x) / v'v, for the constraints and the rows of Q
            along = 2 * math.fsum(a * b for a, b in zip(v, vector, strict=True)) / square
            vector[:] = [a - along * b for a, b in zip(vector, v, strict=True)]
    return [row[2:] for row in q]


def _second_derivatives(knots: Sequence[float], ends: tuple[float, float]) -> list[list[float]]:
    """Of each cubic B-spline but the first, at the lower and at the upper end."""
    t = _with_ends(knots, ends, 3).tolist()
    count = len(t) - 4
    at_ends: list[list[float]] = [[], []]
    for j in range(1, count):
        coefficients = [float(i == j) for i in range(count)]
        for degree, skipped in ((3, 1), (2, 2)):  # the derivative of a spline has differences as coefficients
            coefficients = [
                degree * (after - before) / (t[i + skipped + degree] - t[i + skipped])
                for i, (before, after) in enumerate(pairwise(coefficients))
            ]
        at_ends[0].append(coefficients[0])
        at_ends[1].append(coefficients[-1])
    return at_ends
