"""Linear algebra modulo a prime, against Python's integers and fractions."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
import rational as oracle

from sottovoce.errors import Unsupported
from sottovoce.privacy.encrypted.prime_field import PRIMES, Span, inverse, kernel, product, residue, simplest


@pytest.mark.parametrize(
    ("number", "fraction"),
    [(0.7, F(7, 10)), (1 / 3, F(1, 3)), (2.0, F(2)), (1e-6, F(1, 10**6)), (0.0, F(0)), (-2 / 7, F(-2, 7))],
)
def test_floats_stand_for_simple_fractions(number, fraction):
    assert simplest(number) == fraction


@pytest.mark.parametrize("number", [np.pi, np.nextafter(0.7, 1), 1e-300, 2.0**70 + 2.0**20])
def test_any_float_has_a_fraction_that_rounds_to_it(number):
    assert float(simplest(number)) == number
    p = PRIMES[0]
    assert residue(number, p) * simplest(number).denominator % p == simplest(number).numerator % p


def test_products_are_exact_at_any_length():
    """Three products and a remainder add up in 64 bits."""
    rng = np.random.default_rng(0)
    p = PRIMES[0]
    for length in (1, 2, 3, 4, 65):
        a, b = rng.integers(p - 5, p, size=(2, length)), rng.integers(p - 5, p, size=(length, 3))
        exact = a.astype(object) @ b.astype(object) % p
        assert np.array_equal(product(a, b, p), exact.astype(np.int64))


def test_inverses():
    rng, p = np.random.default_rng(1), PRIMES[1]
    for n in (1, 2, 5):
        matrix = rng.integers(p, size=(n, n))
        matrix[0, 0] = 0 if n > 1 else 1  # a pivot that must be looked for
        assert np.array_equal(product(matrix, inverse(matrix, p), p), np.eye(n))
    with pytest.raises(Unsupported, match="Change one of them"):
        inverse(np.ones((2, 2), dtype=np.int64), p)


def spans(rows, batches=3):
    """One space of rational rows, modulo each prime, added in some batches."""
    found = []
    for p in PRIMES:
        span = Span(rows.shape[1], p)
        residues = np.array([[v.numerator * pow(v.denominator, -1, p) % p for v in row] for row in rows.tolist()])
        for part in np.array_split(residues.reshape(rows.shape).astype(np.int64), batches):
            span.add(part)
        found.append(span)
    return found


def halves(rows):
    """As ``kernel`` takes them."""
    one, *others = spans(rows)
    return one, others


@pytest.mark.parametrize("seed", range(20))
def test_ranks_and_kernels_are_those_of_fractions(seed):
    rng = np.random.default_rng(seed)
    width, rank = int(rng.integers(2, 12)), int(rng.integers(0, 5))
    base = rng.integers(-3, 4, size=(rank, width))
    mixed = rng.integers(-2, 3, size=(int(rng.integers(1, 15)), rank)) @ base
    divided = zip(mixed, rng.integers(1, 9, len(mixed)), strict=True)
    rows = np.array([[F(int(v), int(k)) for v in row] for row, k in divided])
    rows = rows.reshape(-1, width)
    found = spans(rows)
    rank = len(oracle.basis(rows.tolist()))
    assert [span.rank for span in found] == [rank] * 3
    columns = kernel(found[0], found[1:])
    assert columns.shape == (width, width - rank)
    assert np.linalg.matrix_rank(columns) == width - rank
    assert np.abs(rows.astype(float) @ columns).max(initial=0.0) < 1e-9


def test_the_kernel_of_everything_and_of_nothing():
    assert kernel(*halves(np.array([[F(1), F(0)], [F(1), F(1)]], dtype=object))).shape == (2, 0)
    assert np.array_equal(kernel(*halves(np.zeros((1, 3), dtype=object))), np.eye(3))


def test_long_fractions_are_not_recognised():
    assert kernel(*halves(np.array([[F(1), F(1234567, 9876543)]], dtype=object))) is None
    columns = kernel(*halves(np.array([[F(1), F(-123457, 98765)]], dtype=object)))
    assert np.allclose(columns[:, 0], [123457 / 98765, 1], rtol=1e-15)


def test_what_looks_simple_by_chance_is_refused():
    """5/7 modulo two primes, something else modulo the third; and other pivots."""
    found = spans(np.array([[F(1), F(5, 7)]], dtype=object))
    assert kernel(found[0], found[1:]) is not None
    other = Span(2, PRIMES[2])
    other.add(np.array([[1, 5]]))
    assert kernel(found[0], [found[1], other]) is None
    other = Span(2, PRIMES[2])
    other.add(np.array([[0, 1]]))
    assert kernel(found[0], [found[1], other]) is None


def test_the_primes_are_prime():
    for p in PRIMES:
        assert all(p % k for k in range(2, int(p**0.5) + 1))
