from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.numerics.grid import grid, lattice, nearest, on_grid

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("sigma", "exponent"), [(1.0, -48), (np.nextafter(1.0, 0), -49), (1e4, 13 - 48), (3e-8, -25 - 48)]
)
def test_the_grid_is_sigma_less_48_bits(sigma, exponent):
    assert grid(sigma) == 2.0**exponent


def test_no_pads_have_no_grid():
    assert grid(0.0) == 0.0
    np.testing.assert_array_equal(on_grid(np.array([0.1, -3.7, 0.0]), 0.0), [0.1, -3.7, 0.0])
    assert nearest(Fraction(1, 3), 0.0) == 1 / 3


@given(v=finite, exponent=st.integers(-900, 900))
def test_on_grid_is_the_nearest_multiple(v, exponent):
    g = 2.0**exponent
    found = float(on_grid(np.array([v]), g)[0])
    assert (Fraction(found) / Fraction(g)).denominator == 1 or found == v
    assert abs(Fraction(found) - Fraction(v)) <= Fraction(g) / 2
    assert found == nearest(Fraction(v), g)


@given(v=st.fractions(), exponent=st.integers(-60, 60))
def test_nearest_is_rounded_once(v, exponent):
    g = Fraction(2) ** exponent
    multiple = round(v / g) * g
    assert abs(multiple - v) <= g / 2
    assert nearest(v, float(g)) == float(multiple)


def test_the_grid_of_a_sum_is_as_wide_as_its_steps():
    np.testing.assert_array_equal(lattice(0.25, np.array([1.0, 3.0, 0.5, 0.3, 0.0])), [0.25, 1.0, 0.125, 0.125, 0.0])
