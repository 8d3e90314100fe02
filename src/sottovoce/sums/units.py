"""Columns as whole multiples of public units, and computed terms as whole multiples of a public grid.

Decimals do not lie on a binary grid: what is added there tells which decimals were added. So a column is counted in
decimal units, those of what was measured. What a model computes of a row has no decimals, and is rounded to a binary
grid before anything is added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .integer_sums import WINDOW, Array, Int64

GRID = 40  # computed terms are multiples of 2^-40, of numbers about 1
DIGITS = 15  # a decimal of so many is the only one that its float64 stands for
MOST_DIGITS = 17  # that a float64 has at all
EXACT_POWERS = 22  # 10^22 is a float64


class Beyond(ArithmeticError):
    """A number is not finite, or larger than integers reach: no party may say whose."""


def on_grid(values: Array, bits: int = GRID) -> Int64:
    """The nearest multiples of ``2^-bits``.

    Raises
    ------
    Beyond
        A value is NaN, infinite, or ``2^62`` grid steps or more.
    """
    return _checked(np.ldexp(values, bits))


def whole(values: Array, units: Sequence[Fraction]) -> Int64:
    """The nearest multiples ``(rows, d)`` of public units, one a column.

    Raises
    ------
    Beyond
        A value is NaN, infinite, or ``2^62`` units or more.

    Examples
    --------
    >>> import numpy as np
    >>> whole(np.array([[37.1, 3.0]]), [Fraction(1, 10), Fraction(1)]).tolist()
    [[371, 3]]
    """
    multiples = np.empty(values.shape, np.int64, order="F")
    for place, unit in enumerate(units):
        multiples[:, place] = _column(values[:, place], unit)
    return multiples


def common_unit(one: Fraction, other: Fraction) -> Fraction:
    """The greatest common divisor of two units: the largest of which both are whole multiples.

    >>> common_unit(Fraction(1, 4), Fraction(1, 10))
    Fraction(1, 20)
    """
    above = math.gcd(one.numerator * other.denominator, other.numerator * one.denominator)
    return Fraction(above, one.denominator * other.denominator)


def _column(values: Array, unit: Fraction) -> Int64:
    if unit == 1:
        return _checked(values)
    inverse = 1 / unit
    if inverse.denominator == 1 and inverse.numerator & (inverse.numerator - 1) == 0:
        return _checked(np.ldexp(values, inverse.numerator.bit_length() - 1))
    rounded, rest = values, np.zeros_like(values)
    for factor in _exact_factors(inverse.numerator):
        rounded, rest = _times(rounded, rest, factor)
    if inverse.denominator != 1:
        # A unit that is a multiple of 1: the quotient of float64 is near enough, as it has few digits left.
        rounded, rest = (rounded + rest) / float(inverse.denominator), np.zeros_like(values)
    return _checked(rounded) + np.rint((rounded - np.rint(rounded)) + rest).astype(np.int64)


def _checked(multiples: Array) -> Int64:
    nearest = np.rint(multiples)
    if not (np.abs(nearest) < WINDOW).all():  # NaN as well
        raise Beyond("a number is not finite, or 2^62 units or more.")
    return nearest.astype(np.int64)


def _exact_factors(number: int) -> list[float]:
    """Float64 factors of an integer, each exact; of a power of ten beyond 10^22 more than one."""
    factors = []
    while number > 10**EXACT_POWERS and number % 10**EXACT_POWERS == 0:
        factors.append(1e22)
        number //= 10**EXACT_POWERS
    return [*factors, float(number)]


def _times(high: Array, low: Array, factor: float) -> tuple[Array, Array]:
    """``(high + low) factor`` as the sum of a float64 and a small one (T. J. Dekker 1971)."""
    product = high * factor
    high_1, high_2 = _halves(high)
    factor_1, factor_2 = _halves(np.asarray(factor, np.float64))
    rest = ((high_1 * factor_1 - product) + high_1 * factor_2 + high_2 * factor_1) + high_2 * factor_2
    return product, rest + low * factor


def _halves(values: Array) -> tuple[Array, Array]:
    """Two numbers of 26 bits that add up to ``values``."""
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = values * 134217729.0  # 2^27 + 1
        first = shifted - (shifted - values)
    return first, values - first


class NeededUnits:
    """What columns need of a unit, block by block: decimals, while they have at most 15 digits, and the largest.

    Examples
    --------
    >>> import numpy as np
    >>> needed = NeededUnits(2)
    >>> needed.add(np.array([[0.25, 3.0], [7.0, 1.0]]))
    >>> needed.units
    (Fraction(1, 100), Fraction(1, 1))
    """

    def __init__(self, width: int) -> None:
        self.decimals: list[int | None] = [0] * width
        self.largest = np.zeros(width)

    def add(self, block: Array) -> None:
        """Look at rows ``(rows, width)``."""
        self.largest = np.maximum(self.largest, np.abs(block).max(axis=0, initial=0.0))
        for place, before in enumerate(self.decimals):
            if before is not None:
                self._more(place, decimals_of(block[:, place]))

    def merge(self, other: NeededUnits) -> None:
        """Take in what other rows need."""
        self.largest = np.maximum(self.largest, other.largest)
        for place, decimals in enumerate(other.decimals):
            self._more(place, decimals)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """The unit of each column, as of ``needed_unit``."""
        return tuple(map(_unit, self.decimals, self.largest.tolist()))

    def _more(self, place: int, decimals: int | None) -> None:
        before = self.decimals[place]
        self.decimals[place] = None if before is None or decimals is None else max(before, decimals)


def needed_unit(values: Array) -> Fraction:
    """The unit that the values of a column need: that of their decimals, or where they have more than 15 digits, the
    power of ten that leaves 17 to the largest of them.

    Examples
    --------
    >>> import numpy as np
    >>> needed_unit(np.array([37.1, 36.25])), needed_unit(np.array([3.0, -2.0]))
    (Fraction(1, 100), Fraction(1, 1))
    """
    return _unit(decimals_of(values), float(np.abs(values).max(initial=0.0)))


def _unit(decimals: int | None, largest: float) -> Fraction:
    """Of columns whose largest value has more than 15 digits in so many decimals, as well."""
    if decimals is None or largest * 10.0**decimals >= 10.0**MOST_DIGITS:
        return _finest(largest)
    return Fraction(1, 10**decimals)


def _finest(largest: float) -> Fraction:
    """The power of ten that leaves 17 digits to the largest of some numbers."""
    exponent = len(str(int(largest))) if largest >= 1 else int(np.ceil(np.log10(largest)))
    return Fraction(10) ** (exponent - MOST_DIGITS)


def decimals_of(values: Array) -> int | None:
    """The fewest decimals that all values have; None where some have more than 15 digits."""
    left = values[values != 0]
    if not np.isfinite(left).all():
        raise Beyond("a number is not finite.")
    if len(left) > 1000 and decimals_of(left[:1000]) is None:
        return None
    for decimals in range(EXACT_POWERS + 1):
        power = 10.0**decimals
        with np.errstate(over="ignore"):
            rounded = np.rint(left * power)
        exact = (np.abs(rounded) < 10.0**DIGITS) & (rounded / power == left)
        left = left[~exact]
        if not len(left):
            return decimals
        if np.abs(left).max() * power >= 10.0**DIGITS:
            return None
    return None
