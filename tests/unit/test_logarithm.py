"""Logarithms in whole numbers, against those of float64 and against each other."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.numerics.logarithm import logarithm

NUMBERS = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)


@given(st.floats(1e-300, 1e300))
def test_logarithms_are_those_of_float64(number):
    assert logarithm(Fraction(number), 160) / 2**160 == pytest.approx(math.log(number), rel=2**-52, abs=0)


@given(NUMBERS, NUMBERS)
def test_of_a_product_it_is_the_sum(left, right):
    assert abs(logarithm(left * right, 200) - logarithm(left, 200) - logarithm(right, 200)) <= 3


@given(NUMBERS)
def test_more_bits_begin_with_fewer(number):
    assert abs(logarithm(number, 300) / 2**140 - logarithm(number, 160)) <= 1


@pytest.mark.parametrize("number", [Fraction(10) ** 400, Fraction(10) ** -400])
def test_numbers_beyond_float64(number):
    expected = 400 * math.log(10) * (1 if number > 1 else -1)
    assert logarithm(number, 60) / 2**60 == pytest.approx(expected, rel=2**-51)


def test_near_one_it_is_what_is_above_one():
    assert logarithm(1, 160) == 0
    assert abs(logarithm(1 + Fraction(1, 2**100), 200) - 2**100) <= 1
    assert abs(logarithm(1 - Fraction(1, 2**100), 200) + 2**100) <= 1
