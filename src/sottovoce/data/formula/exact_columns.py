"""Products and polynomials of columns in all their digits, where float64 does not have them.

A power of a decimal is a decimal, of more digits than float64 holds. What float64 makes of it is rounded to 15 digits
of the largest there may be; here is the rest, counted in steps of 15 digits more. Designs of powers that are nearly
dependent (polynomials of degree 10) need both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from ...sums import Whole, common_unit, whole
from ..batch import Array
from ..decimal_unit import exactly
from ..schema import Schema
from .arithmetic import Expression
from .factors import Coded, Named
from .measure import Measure, of_column

FINER = 10**15  # steps of the rest in one of the column
MOST_OFF = 4  # steps of the column that float64 may be off: the rest is then a whole number that float64 has
MOST_REST = (MOST_OFF + 1) * FINER  # below 2^53

Multiples = tuple[Whole, Fraction]  # whole numbers by row, or one for all, of a unit


def has_rest(measure: Measure) -> bool:
    """Whether a column is a polynomial of columns with units that float64 rounds."""
    if measure.unit in (None, 0) or measure.is_column or measure.has_functions or not np.isfinite(measure.largest):
        return False
    grid = measure.grid
    return grid is not None and grid != measure.unit and Fraction(measure.error) < MOST_OFF * grid


def rest_of(column: Array, grid: Fraction, factors: Sequence[tuple[Coded, int]], values: Mapping[str, Array],
            schema: Schema) -> Array:  # fmt: skip
    """What a column in steps of its grid lacks of the product of some factors, in steps ``FINER`` times as fine."""
    product, unit = np.array([1] * len(column), object), Fraction(1)
    for coded, which in factors:
        multiples, of_factor = _of_factor(coded, which, values, schema)
        product, unit = product * multiples, unit * of_factor
    return np.asarray(_nearest(product, unit * FINER / grid) - _in_steps(column, grid) * FINER, np.float64)


def _of_factor(coded: Coded, which: int, values: Mapping[str, Array], schema: Schema) -> Multiples:
    if coded.is_category:
        return coded.column(values[coded.factor.names[0]], which).astype(np.int64).astype(object), Fraction(1)
    if isinstance(coded.factor, Named):
        return _of_column(coded.factor.name, values, schema)
    return _evaluated(coded.factor.of, values, schema)


def _of_column(name: str, values: Mapping[str, Array], schema: Schema) -> Multiples:
    unit = of_column(schema[name], {}).unit
    assert unit is not None
    return _in_steps(values[name], unit), unit


def _evaluated(expression: Expression, values: Mapping[str, Array], schema: Schema) -> Multiples:
    """As ``Expression.evaluate``, of additions, products and powers alone."""
    stack: list[Multiples] = []
    for kind, taken in expression.steps:
        if kind == "column":
            stack.append(_of_column(taken, values, schema))
        elif kind == "number":
            number = exactly(taken)
            stack.append((np.array(number.numerator, object), Fraction(1, number.denominator)))
        elif kind == "negative":
            multiples, unit = stack.pop()
            stack.append((-multiples, unit))
        elif kind == "power":
            stack.append(_power(*stack.pop(), taken))
        else:
            right = stack.pop()
            stack.append(_of_two(kind, stack.pop(), right))
    return stack.pop()


def _power(multiples: Whole, unit: Fraction, exponent: int) -> Multiples:
    if exponent < 0:  # of a number of the formula
        return np.array(1, object), (int(multiples) * unit) ** exponent
    return np.asarray(multiples**exponent, object), unit**exponent


def _of_two(kind: str, left: Multiples, right: Multiples) -> Multiples:
    (a, unit_a), (b, unit_b) = left, right
    if kind == "*":
        return np.asarray(a * b), unit_a * unit_b
    if kind == "/":  # by a number of the formula
        return a, unit_a / (int(b) * unit_b)
    unit = common_unit(unit_a, unit_b)
    a, b = a * int(unit_a / unit), b * int(unit_b / unit)
    return np.asarray(a + b if kind == "+" else a - b), unit


def _in_steps(column: Array, grid: Fraction) -> Whole:
    return np.asarray(whole(column[:, None], [grid])[:, 0].astype(object))


def _nearest(values: Whole, times: Fraction) -> Whole:
    """The nearest whole numbers to ``values times``."""
    below = times.denominator
    return np.asarray((2 * values * times.numerator + below) // (2 * below))
