"""The decimal unit of a measured number: how it is read and written, and numbers brought to whole multiples of it.

Decimals do not lie on a binary grid, so sums of what was measured are kept in units of its decimals, exactly. The unit
is public, as a range is.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import is_number
from ..files.toml_table import shown
from ..sums.integer_sums import WINDOW
from ..sums.units import DIGITS, whole
from .batch import Array

MOST_DIGITS = 50
SMALLEST, LARGEST = -280, 280  # powers of ten
FARTHEST = 10**290  # of a number with a unit: products on the way are float64
ROOM = 1 - 2.0**-40  # for their rounding
MOST_BITS = 1_200  # of numbers that are looked at: more than 10^350 has
TEXT = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
EXACT = 2**53  # whole numbers up to it are float64
NEEDED = "must be a positive decimal, the smallest step of what was measured, such as 0.1 or 5"


def unit_of(given: Any) -> Fraction | str:
    """A unit as an exact number; or the end of a sentence on what is wrong with it."""
    if isinstance(given, str) and not TEXT.fullmatch(given):
        hint = " What it is measured in goes into unit_name." if re.search(r"[^\W\d_]", given) else ""
        return f"{NEEDED}; got {shown(given)}.{hint}"
    decimal = _decimal(given)
    if decimal is None or not decimal.is_finite() or decimal <= 0:
        return f"{NEEDED}; got {shown(given)}."
    digits, size = len("".join(map(str, decimal.as_tuple().digits)).rstrip("0")), decimal.adjusted()
    if digits > DIGITS and not isinstance(given, str | int | Decimal | Fraction):
        return f"is {decimal} as a number, of {digits} digits. Write the decimal that is meant, in quotes."
    if digits > MOST_DIGITS or not SMALLEST <= size <= LARGEST:
        return f"must be from 1e{SMALLEST} to 1e{LARGEST}, of at most {MOST_DIGITS} digits; got {shown(given)}."
    return Fraction(decimal)


def _decimal(given: Any) -> Decimal | None:
    if isinstance(given, str | Decimal):
        return Decimal(given)
    if isinstance(given, int) and not isinstance(given, bool):
        return Decimal(given) if given.bit_length() <= MOST_BITS else None
    if isinstance(given, Fraction):
        return _of_fraction(given)
    return Decimal(repr(float(given))) if is_number(given) else None


def _of_fraction(given: Fraction) -> Decimal | None:
    """The decimal that a fraction is, if it is one of few digits."""
    rest, powers = given.denominator, [0, 0]
    if max(given.numerator, rest).bit_length() > MOST_BITS:
        return None
    for place, factor in enumerate((2, 5)):
        while rest % factor == 0:
            rest //= factor
            powers[place] += 1
    if rest != 1:
        return None
    decimals = max(powers)
    digits = str(abs(given.numerator) * 10**decimals // given.denominator)
    kept = digits.rstrip("0") or "0"
    sign = int(given < 0)
    return Decimal((sign, tuple(map(int, kept)), len(digits) - len(kept) - decimals))


def unit_text(unit: Fraction) -> str:
    """A unit as a decimal; of equal ones the same text.

    Examples
    --------
    >>> unit_text(Fraction(1, 20)), unit_text(Fraction(10)), unit_text(Fraction(1, 10**20))
    ('0.05', '10', '1e-20')
    """
    decimal = _of_fraction(unit)
    assert decimal is not None
    plain = abs(decimal.adjusted()) <= DIGITS and int(decimal.as_tuple().exponent) >= -DIGITS
    return format(decimal, "f") if plain else str(decimal).lower()


def unit_in_toml(unit: Fraction) -> int | float | str:
    """As a file has it: a number if that is the unit exactly, else a text."""
    if unit.denominator == 1 and unit < EXACT:
        return int(unit)
    return float(unit) if unit_of(float(unit)) == unit else unit_text(unit)


def exactly(end: float) -> Fraction:
    """The decimal that a float64 is written as."""
    return Fraction(Decimal(repr(end)))


def fifteen_digits(largest: float) -> Fraction:
    """The power of ten that leaves 15 digits to a number: a decimal of so many digits and that size is a multiple.

    Examples
    --------
    >>> fifteen_digits(120.0) == Fraction(1, 10**12)
    True
    """
    return Fraction(10) ** (Decimal(repr(largest)).adjusted() - DIGITS + 1)


def beyond(unit: Fraction) -> float:
    """From which absolute value on a number has too many units for an integer of 64 bits."""
    return float(min(WINDOW * unit, Fraction(FARTHEST))) * ROOM


def rounded_to(unit: Fraction, values: Array) -> Array:
    """The multiples of a unit that are nearest to some numbers, as float64; ``nan`` stays.

    Raises
    ------
    Beyond
        A number is ``beyond(unit)``.

    Examples
    --------
    >>> rounded_to(Fraction(1, 10), np.array([0.30000000000000004, 36.55, np.nan])).tolist()
    [0.3, 36.5, nan]
    """
    there = ~np.isnan(values)
    multiples = whole(values[there][:, None], [unit])[:, 0]
    rounded = np.full(len(values), np.nan)
    rounded[there] = _times(multiples, unit)
    return rounded


def _times(multiples: Any, unit: Fraction) -> Array:
    """Rounded once: both sides of the quotient are float64, or Python's integers divide."""
    largest = max(int(np.abs(multiples).max(initial=0)), 1)
    above, below = unit.numerator, unit.denominator
    if largest * above <= EXACT and below <= 10**LARGEST and int(float(below)) == below:
        return np.asarray(multiples * float(above) / float(below))
    return np.array([multiple * above / below for multiple in multiples.tolist()], np.float64)
