"""Numbers on a grid, and sums that are rounded once at most (theory: Collapsed arithmetic).

A pad is a multiple of ``g = 2^(floor(log2 sigma) - 48)``: fine enough to be a float's own precision, and coarse enough
that nine ``sigma`` are still exact. On the grid a float sum has no rounding that could tell its terms apart.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

GRID_BITS = 48


def grid(sigma: float) -> float:
    """``g`` for pads of size ``sigma``; 0, which is no grid, where there are none."""
    return math.ldexp(1.0, math.frexp(sigma)[1] - 1 - GRID_BITS) if sigma > 0 else 0.0


def equal_steps(low: float, high: float, steps: int) -> Array:
    """Points from ``low`` to ``high``, one more than there are ``steps``, each the float64 nearest to what the decimals
    of the ends say: a decimal that lies on a point is equal to it.

    Examples
    --------
    >>> equal_steps(0.0, 0.7, 7).tolist()
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    """
    first, last = Fraction(repr(float(low))), Fraction(repr(float(high)))
    unit = math.lcm(first.denominator, last.denominator)
    start, end = int(first * unit), int(last * unit)
    return np.array([(start * (steps - k) + end * k) / (unit * steps) for k in range(steps + 1)])


def on_grid(v: Array, g: Array | float) -> Array:
    """``v`` to the nearest multiple of ``g``, a power of two. A float of ``2^53 g`` or more is one already."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # where g is 0, or v far beyond the grid
        return np.where(np.abs(v) < 2.0**53 * np.asarray(g), g * np.rint(v / g), v)


def nearest(exact: Fraction, g: float) -> float:
    """The multiple of ``g`` nearest to a rational number, as a float; the nearest float where there is no grid."""
    return float(round(exact / Fraction(g)) * Fraction(g)) if g else float(exact)


def lattice(g: float, size: Array) -> Array:
    """The grid for sums ``A_i1 z_1 + A_i2 z_2 + ...`` of multiples of ``g`` with ``|A_ij| <= size``.

    For ``A = +-1`` it is ``g``, and the sums lie on it. Other sums lie on no grid; rounded to one that is no finer than
    their own steps, their last bits hardly show what was added to them.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(g * np.exp2(np.ceil(np.log2(size))))
