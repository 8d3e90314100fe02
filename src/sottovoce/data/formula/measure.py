"""Steps on which the numbers of a formula lie, and how large they may be: public, from the schema alone.

Columns lie on decimal units, and what is added, subtracted and multiplied of them lies on units again: the greatest
common divisor of two, and their product. Logarithms, quotients and the like lie on none. They are rounded to a binary
grid, ``2^-40`` of the largest that the ranges allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from ...sums import common_unit
from ..column import Column
from ..decimal_unit import exactly, fifteen_digits
from ..schema import Schema
from .arithmetic import Expression
from .factors import Factor, Named, Spline

BITS = 40  # of a computed number, below the largest there may be
ROUNDING = 2.0**-53  # of a float64, relative
TINY = 5e-324  # the smallest float64
SAFETY = 1 + 2.0**-30  # of computed bounds: functions of the machine differ in their last digits
MOST_BITS = 5_000  # of a unit
FARTHEST = Fraction(10**300)  # from 1, a unit of numbers without a bound
LARGEST_EXPONENT = 709.0  # of e, in float64

Largest = Mapping[str, float]  # by column of the table without a range, its largest absolute value


@dataclass(frozen=True)
class Measure:
    """What is public about numbers: their unit, their ends, and how much float64 errs about them.

    Attributes
    ----------
    unit : Fraction, optional
        All of them are whole multiples of it; 0 where all are 0. None where they lie on no step.
    low, high : float
        Ends, rounded outwards; infinite where none are known.
    error : float
        How far float64 may be from the number, at most.
    constant : Fraction, optional
        The number, where it is one of the formula.
    is_column : bool
        Whether they are the cells of a column, or some of them and else 0.
    has_products : bool
        Whether numbers of rows were multiplied with each other.
    has_functions : bool
        Whether more was done than to add and to multiply.
    """

    unit: Fraction | None
    low: float
    high: float
    error: float = 0.0
    constant: Fraction | None = None
    is_column: bool = False
    has_products: bool = False
    has_functions: bool = False

    @property
    def largest(self) -> float:
        """The largest absolute value, or infinity."""
        return max(abs(self.low), abs(self.high))

    @property
    def grid(self) -> Fraction | None:
        """The step to which the numbers are rounded: their unit, unless float64 cannot tell its multiples apart. Then
        the power of ten that leaves 15 digits to the largest of a polynomial, and ``2^-40`` of a power of two above the
        largest of what has logarithms, quotients and the like in it. None where nothing bounds these, or a product:
        that has more units than an integer of 64 bits all too soon."""
        if 0 in (self.unit, self.largest):
            return Fraction(1)
        if not math.isfinite(self.largest):
            is_useful = self.unit is not None and 1 / FARTHEST <= self.unit <= FARTHEST
            return self.unit if is_useful and not self.has_products else None
        if self.unit is not None and (self.is_column or self._is_told_apart(self.unit)):
            return self.unit
        if not self.has_functions:
            return fifteen_digits(self.largest)
        mantissa, exponent = math.frexp(min(self.largest, 1e308) * SAFETY)  # the same power above both
        return Fraction(2) ** (exponent - (mantissa == 0.5) - BITS)

    def _is_told_apart(self, unit: Fraction) -> bool:
        """Whether float64 is nearer to the right multiple than to any other."""
        return math.isfinite(self.error) and 2 * Fraction(self.error) < unit


ONE = Measure(Fraction(1), 1.0, 1.0, constant=Fraction(1))


def of_column(column: Column, largest: Largest) -> Measure:
    """Of a column as it is: numbers, days, 0 and 1, or the places of levels."""
    if column.type in ("category", "boolean"):
        return Measure(Fraction(1), 0.0, max(len(column.levels) - 1.0, 1.0), is_column=True)
    unit, ends = column.grid, column.limits
    if ends is None and column.name in largest:
        ends = -abs(largest[column.name]), abs(largest[column.name])
        unit = unit or (fifteen_digits(ends[1]) if ends[1] else Fraction(1))
    if ends is None:
        return Measure(unit, -math.inf, math.inf, math.inf, is_column=True)
    assert unit is not None
    below, above = (exactly(end) / unit for end in ends)  # a number is rounded to the nearest whole multiple
    low, high = _enclosing(math.floor(below) * unit, math.ceil(above) * unit)
    return Measure(unit, low, high, 0.0 if unit == 1 else ROUNDING * max(abs(low), abs(high)), is_column=True)


def of_factor(factor: Factor, schema: Schema, largest: Largest) -> Measure:
    """Of the numbers of a factor; those of a category are the places of its levels."""
    if isinstance(factor, Named):
        return of_column(schema[factor.name], largest)
    if isinstance(factor, Spline):  # B-splines sum to one; natural ones have weights of at most one
        return Measure(None, -1.0 if factor.degree is None else 0.0, 1.0, has_functions=True)
    return of_expression(factor.of, schema, largest)


def of_expression(expression: Expression, schema: Schema, largest: Largest) -> Measure:
    """Of what an expression computes."""
    stack: list[Measure] = []
    for kind, taken in expression.steps:
        if kind == "column":
            stack.append(of_column(schema[taken], largest))
        elif kind == "number":
            stack.append(_constant(taken))
        elif kind == "power":
            stack.append(_power(stack.pop(), taken))
        elif kind in ONE_NUMBER:
            stack.append(ONE_NUMBER[kind](stack.pop()))
        else:
            right = stack.pop()
            stack.append(TWO_NUMBERS[kind](stack.pop(), right))
    return stack.pop()


def _constant(number: float) -> Measure:
    exact = exactly(number)
    error = 0.0 if exact == Fraction(number) else ROUNDING * abs(number)
    return Measure(abs(exact), *_enclosing(exact, exact), error, exact)


# Two numbers


def plus(a: Measure, b: Measure) -> Measure:
    """``a + b``, whose unit is the greatest common divisor of both."""
    unit = None
    if a.unit is not None and b.unit is not None:
        unit = _short(common_unit(a.unit, b.unit))
    constant = None if a.constant is None or b.constant is None else _short(a.constant + b.constant)
    return _computed(unit, a.low + b.low, a.high + b.high, a.error + b.error, constant, a, b)


def minus(a: Measure, b: Measure) -> Measure:
    """``a - b``."""
    return plus(a, _negative(b))


def times(a: Measure, b: Measure) -> Measure:
    """``a b``, whose unit is the product of both."""
    for one, other in ((a, b), (b, a)):
        if one.is_column and one.unit == 1 and (one.low, one.high) == (0, 1):  # some of the other, else 0
            return replace(other, low=min(other.low, 0.0), high=max(other.high, 0.0), constant=None)
    unit = None if a.unit is None or b.unit is None else _short(a.unit * b.unit)
    constant = None if a.constant is None or b.constant is None else _short(a.constant * b.constant)
    corners = [_product(p, q) for p in (a.low, a.high) for q in (b.low, b.high)]
    error = _product(a.largest, b.error) + _product(b.largest, a.error) + _product(a.error, b.error)
    product = _computed(unit, min(corners), max(corners), error, constant, a, b)
    return replace(product, has_products=product.has_products or (a.constant is None and b.constant is None))


def _divided(a: Measure, b: Measure) -> Measure:
    """``a / b``: by a number of the formula a product, of which the unit is known."""
    if b.constant:
        inverse = 1 / b.constant
        low, high = _enclosing(inverse, inverse)
        error = (ROUNDING + b.error / b.largest) * max(abs(low), abs(high)) if b.largest else math.inf
        return times(a, Measure(abs(inverse), low, high, error, inverse))
    nearest = _float(1 / b.unit) if b.unit else math.inf  # multiples of a unit are 0, or as large as that
    high = nearest if b.low <= 0 < b.high else _inverse(b.low)
    low = -nearest if b.low < 0 <= b.high else _inverse(b.high)
    return times(a, Measure(None, low, high, has_functions=True))


def _inverse(end: float) -> float:
    return 1 / end if end else math.inf


def _computed(
    unit: Fraction | None, low: float, high: float, error: float, constant: Fraction | None, a: Measure, b: Measure
) -> Measure:
    """What float64 makes of two numbers: rounded once more."""
    low, high = (math.nextafter(end, away) if end else end for end, away in ((low, -math.inf), (high, math.inf)))
    error += ROUNDING * max(abs(low), abs(high)) + TINY
    has_products, has_functions = a.has_products or b.has_products, a.has_functions or b.has_functions
    return Measure(unit, low, high, error, constant, has_products=has_products, has_functions=has_functions)


TWO_NUMBERS: dict[str, Callable[[Measure, Measure], Measure]] = {"+": plus, "-": minus, "*": times, "/": _divided}


# One number


def _negative(a: Measure) -> Measure:
    return replace(a, low=-a.high, high=-a.low, constant=None if a.constant is None else -a.constant)


def _power(a: Measure, exponent: int) -> Measure:
    if exponent == 0:
        return ONE
    if exponent < 0:
        return _divided(ONE, _power(a, -exponent))
    power = a
    for _ in range(exponent - 1):
        power = times(power, a)
    if exponent > 2:  # by a function of the machine, which is right to four units of the last digit
        power = replace(power, error=power.error + 8 * ROUNDING * power.largest)
    return power if exponent % 2 else replace(power, low=max(power.low, 0.0))


def _logarithm(a: Measure) -> Measure:
    """Of positive numbers: multiples of a unit are at least as large as that."""
    least = a.low if a.low > 0 else _float(a.unit) if a.unit else 0.0
    return _function(math.log(least) if least > 0 else -math.inf, math.log(a.high) if a.high > 0 else math.inf)


def _logarithm_of_more(a: Measure) -> Measure:
    """``log1p``, of numbers above -1."""
    least = a.low
    if least <= -1 and a.unit:
        least = _float((math.floor(-1 / a.unit) + 1) * a.unit)
    return _function(math.log1p(least) if least > -1 else -math.inf, math.log1p(a.high) if a.high > -1 else math.inf)


def _exponential(a: Measure) -> Measure:
    low, high = (math.exp(end) if end < LARGEST_EXPONENT else math.inf for end in (a.low, a.high))
    return _function(low, high)


def _root(a: Measure) -> Measure:
    return _function(math.sqrt(max(a.low, 0.0)), math.sqrt(max(a.high, 0.0)))


def _function(low: float, high: float) -> Measure:
    return Measure(None, low, high, has_functions=True)


ONE_NUMBER: dict[str, Callable[[Measure], Measure]] = {
    "negative": _negative,
    "log": _logarithm,
    "log1p": _logarithm_of_more,
    "exp": _exponential,
    "sqrt": _root,
}


# Floats and fractions


def _product(a: float, b: float) -> float:
    """0 times anything is 0, as the number itself is finite."""
    return a * b if a and b else 0.0


def _float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def _enclosing(low: Fraction, high: Fraction) -> tuple[float, float]:
    """The nearest float64 outside, or the numbers themselves."""
    below, above = _float(low), _float(high)
    if math.isfinite(below) and Fraction(below) > low:
        below = math.nextafter(below, -math.inf)
    if math.isfinite(above) and Fraction(above) < high:
        above = math.nextafter(above, math.inf)
    return below, above


def _short(number: Fraction) -> Fraction | None:
    """None where a formula makes it long without end."""
    return number if max(abs(number.numerator), number.denominator).bit_length() <= MOST_BITS else None
