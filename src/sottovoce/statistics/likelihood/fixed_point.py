"""Numbers that a model makes of rows, as whole multiples of powers of two: fine where they are small, and with room
where a row is far from what the model says of it.

A float64 goes into two integers, ``high`` steps of ``2^-bits`` and ``low`` ones of ``2^-(bits + LOW)``. Sums of both
are exact, and joined they are one integer again.
"""

from __future__ import annotations

import math

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64
from ...sums import Whole, on_grid

LOW = 56  # bits of the lower integer: what a float64 has beside its first digits
ROOM = 20  # bits of the higher one below 1: numbers about 1 have 2^-76 at the end, and 2^41 is their largest


def pair(values: Array, bits: int = ROOM) -> Int64:
    """Higher and lower integers, ``(rows, 2)``; ``Beyond`` where one is NaN, infinite, or ``2^(62 - bits)`` or more."""
    steps = np.ldexp(values, bits)
    high = on_grid(steps, 0)
    return np.column_stack([high, on_grid(steps - high, LOW)])


def join(high: int, low: int) -> int:
    """One integer of the sums of both, in steps of ``2^-(bits + LOW)``."""
    return (int(high) << LOW) + int(low)


def value(total: int, bits: int) -> float:
    """The float64 nearest to ``total 2^-bits``."""
    return int(total) / (1 << bits) if bits >= 0 else float(int(total) << -bits)


def values(totals: Whole, bits: int) -> Array:
    """The float64 nearest to each of some totals."""
    return np.array([value(total, bits) for total in totals.ravel()]).reshape(totals.shape)


def exponent(size: float) -> int:
    """The power of two that is nearest above a public size, about. The factor is no size that is likely to be met:
    two machines that take another last digit of the size take one power all the same."""
    return math.frexp(1.37 * size)[1] if 0 < size < math.inf else 0


def about(size: float) -> float:
    """A public size to 20 bits, for the start of a climb: what machines take differently is gone."""
    mantissa, power = math.frexp(size)
    return math.ldexp(round(math.ldexp(mantissa, ROOM)), power - ROOM)
