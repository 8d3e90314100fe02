"""Products by tiles and factors, against loops that anybody can read."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.costs._linear_kernels import factor, product
from sottovoce.numerics.tile import LANES, ROWS

SIZES = [LANES, LANES + 1, 2 * LANES + ROWS - 1, 3 * LANES]


@pytest.mark.parametrize("depth", [1, 7])
@pytest.mark.parametrize("d", SIZES)
def test_products_are_summed_in_order(rng, d, depth):
    """To the bit: row by row, a product and a sum at a time."""
    A = rng.normal(size=(depth, d))
    B, expected = A * rng.random((depth, 1)), np.zeros((d, d))
    for a, b in zip(A, B, strict=True):
        expected += b[:, None] * a
    M = np.full((d, d), np.nan)
    product(B, A, M)
    upper = np.triu_indices(d)
    np.testing.assert_array_equal(M[upper], expected[upper])


@pytest.mark.parametrize("d", [1, ROWS, LANES - 1, *SIZES])
@pytest.mark.parametrize("more", [0, 3, LANES])
def test_factors_multiply_to_the_matrix(rng, d, more):
    """Also of a corner of a larger matrix, whose other entries are nobody's business."""
    A = rng.normal(size=(d + 3, d))
    expected = A.T @ A
    H = np.full((d + more, d + more), np.nan)
    H[:d, :d] = np.triu(expected)  # what is below the diagonal is not read
    assert factor(H, d, np.empty(d))
    U = np.triu(H[:d, :d])
    np.testing.assert_allclose(U.T @ U, expected, rtol=0, atol=1e-14 * d * np.abs(expected).max())
    assert np.isnan(H[d:]).all()
    assert np.isnan(H[:, d:]).all()


@pytest.mark.parametrize("d", [3, LANES, 2 * LANES + 1])
def test_a_singular_matrix_has_no_factors(rng, d):
    A = rng.normal(size=(d, d))
    A[:, d // 2] = A[:, 0]
    assert not factor(A.T @ A, d, np.empty(d))
    assert not factor(np.full((d, d), np.nan), d, np.empty(d))
