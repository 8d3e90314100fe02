"""Exact sums against fractions, whose digits are read as any float is, and against ``math.fsum``: no shared code."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.errors import InvalidInput
from sottovoce.numerics.exact_sum import BITS, CHUNKS, ExactSums

TINY, HUGE = 5e-324, 1.7976931348623157e308
AWKWARD = [0.0, -0.0, TINY, -TINY, HUGE, -HUGE, 1.0, -1.0, 2.0**-1022, -(2.0**-1022), 1 + 2.0**-52, 1e16, 2.0**53]
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(AWKWARD)
EXAMPLES = settings(max_examples=150, deadline=None)


def nearest(exact: Fraction) -> float:
    """A fraction of powers of two has finitely many digits, and ``float`` reads them to the nearest, ties to even."""
    places = exact.denominator.bit_length() - 1
    return float(f"{exact.numerator * 5**places}e-{places}")


def twin(terms) -> list[float]:
    return [nearest(sum(map(Fraction, column), Fraction(0))) for column in np.asarray(terms).T.tolist()]


def summed(*blocks):
    sums = ExactSums(blocks[0].shape[1])
    for block in blocks:
        sums.add(block)
    return sums


def same(a, b) -> None:
    """To the bit, also the sign of zero."""
    assert np.asarray(a, float).tobytes() == np.asarray(b, float).tobytes()


@EXAMPLES
@given(st.lists(FLOATS, max_size=40))
def test_the_nearest_float_of_any_terms(terms):
    block = np.array(terms).reshape(-1, 1)
    same(summed(block).value(), twin(block))


@EXAMPLES
@given(st.lists(st.tuples(FLOATS, FLOATS), max_size=20), st.randoms(use_true_random=False), st.integers(1, 5))
def test_blocks_order_and_merging_do_not_matter(pairs, random, cut):
    block = np.array(pairs).reshape(-1, 2)
    whole = summed(block)
    random.shuffle(pairs)
    turned = np.array(pairs).reshape(-1, 2)
    parts = [summed(turned[start : start + cut]) for start in range(0, len(turned), cut)]
    merged = ExactSums(2)
    for part in random.sample(parts, len(parts)):
        merged.merge(pickle.loads(pickle.dumps(part)))
    assert merged.chunks.tolist() == whole.chunks.tolist()  # not the value alone
    same(merged.value(), twin(block))


@pytest.mark.parametrize(
    ("terms", "exact"),
    [
        ([], 0.0),
        ([-0.0, -0.0], 0.0),
        ([1.0, 2.0**-53], 1.0),  # a tie, to even
        ([1 + 2.0**-52, 2.0**-53], 1 + 2.0**-51),
        ([1.0, 2.0**-53, TINY], 1 + 2.0**-52),  # beyond the tie by the smallest number there is
        ([HUGE, HUGE, -HUGE], HUGE),
        ([HUGE, HUGE], math.inf),
        ([-HUGE, -(2.0**970)], -math.inf),  # half a step beyond: a tie, to the even, which is no float
        ([-HUGE, -(2.0**969)], -HUGE),
        ([TINY, -TINY, TINY], TINY),
        ([2.0**-1022, -TINY], 2.0**-1022 - TINY),
        ([1e300, 1e-300, -1e300], 1e-300),
    ],
)
def test_by_hand(terms, exact):
    same(summed(np.array(terms, float).reshape(-1, 1)).value(), [exact])


@pytest.mark.parametrize("span", [(0, 1), (-30, 30), (-1074, 950), (-1074, -1060), (900, 1000)])
@pytest.mark.parametrize("rows", [1, 1023, 1024, 1025, 5000])
def test_many_terms_of_many_sizes_against_fsum(span, rows):
    rng = np.random.default_rng(rows)
    block = np.ldexp(rng.normal(size=(rows, 3)), rng.integers(*span, (rows, 3)))
    same(summed(block).value(), [math.fsum(column) for column in block.T])
    everything = rng.permutation(np.concatenate([block, -block]))
    assert not summed(everything).chunks.any()


def test_the_largest_pieces_of_every_tile_fit_and_chunks_stay_small():
    """The worst for the integers inside: every term all ones, in full tiles, many times over."""
    for top in (np.nextafter(2.0**30, 0), np.nextafter(2.0**990, 0), HUGE, 2.0**-1022 - TINY):
        block = np.full((40_000, 1), top)  # of the first, pieces of 2^48 units: 2^63 and more, were all summed at once
        sums = summed(*[block] * 25)
        assert sums.chunks.min() >= -(2 ** (BITS - 1))
        assert sums.chunks.max() < 2 ** (BITS - 1)
        units = sum(int(chunk) << (BITS * c) for c, chunk in enumerate(sums.chunks[0]))
        assert Fraction(units, 2**1074) == 25 * 40_000 * Fraction(float(top))
        for _ in range(40):  # 2^60 terms: the last chunk is as empty as ever
            sums.merge(sums)
        assert not sums.chunks[:, CHUNKS - 1].any()
        assert (
            Fraction(sum(int(n) << (BITS * c) for c, n in enumerate(sums.chunks[0])), 2**1074)
            == Fraction(float(top)) * 25 * 40_000 * 2**40
        )


@EXAMPLES
@given(st.data())
def test_products_are_rounded_once_and_summed_exactly(data):
    size = st.floats(-1e150, 1e150)
    rows, p, q = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    left = np.array(data.draw(st.lists(size, min_size=rows * p, max_size=rows * p))).reshape(rows, p)
    right = np.array(data.draw(st.lists(size, min_size=rows * q, max_size=rows * q))).reshape(rows, q)
    sums = ExactSums(p * q)
    sums.add_products(left, right)
    same(sums.value(), twin(np.stack([left[:, i] * right[:, j] for i in range(p) for j in range(q)], axis=1)))
    upper = ExactSums(p * (p + 1) // 2)
    upper.add_products(left, left)
    same(upper.value(), twin(np.stack([left[:, i] * left[:, j] for i in range(p) for j in range(i, p)], axis=1)))


def test_products_of_many_rows_against_fsum():
    rng = np.random.default_rng(3)
    left, right = rng.normal(size=(3001, 4)), rng.normal(size=(3001, 2)) * 1e-9
    sums = ExactSums(8)
    sums.add_products(left, right)
    same(sums.value(), [math.fsum(left[:, i] * right[:, j]) for i in range(4) for j in range(2)])


def test_memory_layouts_and_other_numbers_are_the_same():
    block = np.random.default_rng(0).integers(-9, 9, (50, 3)).astype(float)
    locked = block.copy()
    locked.flags.writeable = False
    for other in (np.asfortranarray(block), np.repeat(block, 2, axis=0)[::2], locked, block.astype(np.int32)):
        same(summed(other).value(), summed(block).value())
    assert block.tolist() == locked.tolist()  # and nothing was written to


@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan])
def test_terms_that_are_not_finite_are_refused(wrong):
    block = np.zeros((2000, 3))
    block[1500, 1] = wrong
    with pytest.raises(InvalidInput, match=r"^sum 1 of 3 has a term that is infinite or not a number\. Drop"):
        summed(block)
    with pytest.raises(InvalidInput, match="sum 1 of 6 has"):
        ExactSums(6).add_products(block, block)
    with pytest.raises(InvalidInput, match="sum 0 of 1 has"):  # finite numbers, but no finite product
        ExactSums(1).add_products(np.array([[1e200]]), np.array([[-1e200]]))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInput, match=r"must be \(rows, 2\), a column for each sum; got \(4, 3\)"):
        ExactSums(2).add(np.zeros((4, 3)))
    with pytest.raises(InvalidInput, match=r"\(4, 3\) and \(4, 2\) do not make 5 sums"):
        ExactSums(5).add_products(np.zeros((4, 3)), np.zeros((4, 2)))
    with pytest.raises(InvalidInput, match="do not make"):
        ExactSums(6).add_products(np.zeros((4, 3)), np.zeros((5, 2)))


def test_nothing_is_compiled_or_loaded_by_the_import():
    code = "import sys, sottovoce.numerics.exact_sum; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
