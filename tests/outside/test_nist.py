"""Linear regression against values that NIST certifies (``nist.py``), at three parties and through ``Study.linear``.

The goal is 13 of the 15 certified digits, and nothing at all left over where NIST certifies a perfect fit: sums are
exact, what is solved from them is rounded once, and a square root and a quotient take less than a digit each. Of
R-squared 12 digits are asked for: it is 1 less a quotient, which loses three digits where that is near 1 (Wampler5).
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from outside import nist

import sottovoce as sv

SETS = {one.name: one for one in nist.sets()}
GOAL = {"coefficients": 13, "standard errors": 13, "residual deviation": 13, "R-squared": 12}
FILIP_GOAL = dict.fromkeys(GOAL, 12)


@cache
def fit_of(name: str, parties: int = nist.PARTIES) -> sv.LinearFit:
    return SETS[name].study(parties).linear(SETS[name].formula)


def check_data(one: nist.Certified) -> None:
    """The certified values are those of the data, to the last digit: neither can have a slip."""
    coefficients, squares, variance, rsquared = one.exact()
    for (value, error), b, square in zip(one.values, coefficients, squares, strict=True):
        assert nist.rounded(b) == Decimal(value)
        assert nist.rounded(square, root=True) == Decimal(error)
    assert nist.rounded(variance, root=True) == Decimal(one.deviation)
    assert nist.rounded(rsquared) == Decimal(one.rsquared)


@pytest.mark.parametrize("name", SETS)
def test_certified_values_solve_the_normal_equations_of_the_data(name):
    check_data(SETS[name])


@pytest.mark.parametrize("quantity", GOAL)
@pytest.mark.parametrize("name", SETS)
def test_digits(name, quantity):
    right = SETS[name].digits(fit_of(name))[quantity]
    assert right >= (nist.MOST_DIGITS if SETS[name].perfect else GOAL[quantity])


@pytest.mark.parametrize("name", [name for name in SETS if SETS[name].perfect])
def test_nothing_is_left_over_of_a_perfect_fit(name):
    fit = fit_of(name)
    assert fit.ssr == 0
    assert not fit.bse.any()
    assert fit.rsquared == 1


@pytest.mark.parametrize("name", SETS)
def test_any_partition_gives_the_same_bits(name):
    one, other = fit_of(name), fit_of(name, 4)
    for quantity in ("params", "bse", "covariance", "vif"):
        np.testing.assert_array_equal(getattr(one, quantity), getattr(other, quantity), err_msg=quantity)
    for quantity in ("ssr", "centered_tss", "uncentered_tss", "llf", "condition_number"):
        assert getattr(one, quantity) == getattr(other, quantity), quantity


def test_filip_is_what_its_certified_values_are_of(outside):
    check_data(nist.filip(outside))


@pytest.mark.parametrize("quantity", GOAL)
def test_filip(outside, quantity):
    one = nist.filip(outside)
    assert one.digits(one.study().linear(one.formula))[quantity] >= FILIP_GOAL[quantity]


def test_a_digit_is_counted_where_it_is_right():
    assert nist.digits(1.0, "1") == nist.MOST_DIGITS
    assert nist.digits(1.001, "1") == pytest.approx(3, abs=1e-9)
    assert nist.digits(1e-300, "0") == nist.digits(float("nan"), "1") == nist.digits(3.0, "1") == 0
