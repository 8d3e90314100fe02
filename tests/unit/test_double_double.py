"""Combinations of whole numbers in two float64, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.numerics.double_double import WideColumns

WHOLE = st.integers(-(2**62) + 1, 2**62 - 1)
COEFFICIENT = st.fractions(-(10**9), 10**9, max_denominator=10**12)


@given(st.lists(st.tuples(WHOLE, WHOLE, WHOLE), min_size=1, max_size=5), st.tuples(*[COEFFICIENT] * 3))
def test_combinations_are_those_of_fractions(rows, coefficients):
    """Within 2^-100 of the largest of what is added, and then of the nearest float64."""
    found = WideColumns(np.array(rows, np.int64)).combined(coefficients)
    for row, value in zip(rows, found.tolist(), strict=True):
        terms = [c * v for c, v in zip(coefficients, row, strict=True)]
        exact = sum(terms, Fraction(0))
        assert abs(Fraction(value) - exact) <= abs(exact) / 2**52 + max(map(abs, terms)) / 2**98


def test_what_cancels_keeps_its_digits():
    x = np.array([2**60 + 1, 2**60 - 7, 12345], np.int64)
    columns = WideColumns(np.column_stack([x, x - 1, np.ones(3, np.int64)]))
    np.testing.assert_allclose(columns.combined([Fraction(1, 3), Fraction(-1, 3)]), 1 / 3, atol=2.0**-40)
    assert np.abs(columns.combined([Fraction(1, 3), Fraction(-1, 3), Fraction(-1, 3)])).max() < 2.0**-40


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_a_row_does_not_depend_on_the_others(rows):
    whole = np.random.default_rng(1).integers(-(2**61), 2**61, (50, 4))
    coefficients = [Fraction(k + 1, 7) for k in range(4)]
    at_once = WideColumns(whole).combined(coefficients)
    np.testing.assert_array_equal(WideColumns(whole[:rows]).combined(coefficients), at_once[:rows])
    assert WideColumns(whole[:rows]).combined([]).tolist() == [0.0] * rows
