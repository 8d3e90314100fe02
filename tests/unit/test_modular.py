"""ModularMask: what it refuses, what it draws, what it reports."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.errors import InvalidCost, InvalidInput, Unsupported
from sottovoce.pdmm.modular_mask import LARGEST_BITS, TOTAL_BITS, joined, limb_width, split

MASK = sv.ModularMask()


@pytest.fixture
def s(rng, network):
    return rng.integers(-1000, 1000, size=network.n)


def test_the_mean_is_exact_and_the_pads_are_secret(network, s):
    result = sv.solve(sv.averaging(network, s), mask=MASK)
    assert result.status is sv.Status.CONVERGED
    np.testing.assert_array_equal(result.x, np.full(network.n, s.sum() / network.n))
    assert result.secret is True
    assert result.z.shape == (2 * network.m, 2)  # two limbs of 23 bits
    assert "operating system" in result.summary()


def test_a_seed_repeats_the_run_and_says_so(network, s):
    one, two = (sv.solve(sv.averaging(network, s), mask=MASK, seed=5, c=0.4) for _ in range(2))
    np.testing.assert_array_equal(one.z, two.z)
    assert one.secret is False
    other = sv.solve(sv.averaging(network, s), mask=MASK, seed=6, c=0.4)
    assert not np.array_equal(one.z, other.z)


def test_shapes_follow_the_problem(network, rng):
    for shape in ((network.n,), (network.n, 1), (network.n, 3)):
        s = rng.integers(-9, 9, size=shape)
        assert sv.solve(sv.averaging(network, s), mask=MASK).x.shape == shape
    mixed = sv.Problem(network, [sv.Averaging(float(k)) for k in range(network.n)])
    np.testing.assert_array_equal(sv.solve(mixed, mask=MASK).x, np.full(network.n, (network.n - 1) / 2))


def test_what_did_not_converge_is_not_decoded(network, s):
    result = sv.solve(sv.averaging(network, s), mask=MASK, max_iter=2)
    assert result.status is sv.Status.MAX_ITER
    assert np.isnan(result.x).all()
    assert result.x.shape == (network.n,)
    unlooked = sv.solve(sv.averaging(network, s), mask=MASK, tol=0, max_iter=500)
    assert unlooked.status is sv.Status.MAX_ITER
    assert np.isnan(unlooked.x).all()


def test_a_loose_tol_is_lowered_to_what_decodes(network, s):
    result = sv.solve(sv.averaging(network, s), mask=MASK, tol=0.5)
    np.testing.assert_array_equal(result.x, np.full(network.n, s.sum() / network.n))


def test_sums_that_are_not_integers_are_not_decoded(network, s, monkeypatch, caplog):
    """A residual that lies must not lead to a wrong integer."""
    monkeypatch.setattr("sottovoce.pdmm.modular_mask.TOLERANCE", 1e-3)
    result = sv.solve(sv.averaging(network, s), mask=MASK, seed=1, tol=1e-3)
    assert result.status is sv.Status.MAX_ITER
    assert np.isnan(result.x).all()
    assert "nothing is decoded" in caplog.text


def test_recorders_see_the_run_on_limbs(network, s):
    result = sv.solve(sv.averaging(network, s), mask=MASK, record=[sv.Residual(), sv.Messages()], record_every=10)
    assert result.history["messages"][-1] == result.messages
    with pytest.raises(Unsupported, match="MeanSquaredError has nothing to compare with"):
        sv.solve(sv.averaging(network, s), mask=MASK, record=[sv.MeanSquaredError(s.mean())])


@pytest.mark.parametrize("bits", [1, 0, -3, LARGEST_BITS + 1, 46.0, True, "46", None])
def test_bits_out_of_range(bits):
    with pytest.raises(InvalidInput, match=r"bits must be an integer in 2 \.\. 52; got"):
        sv.ModularMask(bits)


def test_bits_may_be_numpy_integers():
    assert sv.ModularMask(np.int32(8)) == sv.ModularMask(8)


def test_refused_problems(network, rng):
    triangle = sv.Network.ring(3)
    constrained = triangle.with_constraints({(i, j): [[1.0]] for i, j in triangle.half_edges.tolist()})
    for problem in (
        sv.Problem(network, [sv.Quadratic(2.0, 4.0) for _ in range(network.n)]),
        sv.least_squares(network, [(rng.normal(size=(3, 1)), rng.normal(size=3)) for _ in range(network.n)]),
        sv.Problem(constrained, [sv.Averaging([1.0])] * 3),
    ):
        with pytest.raises(Unsupported, match="ModularMask is for averaging under consensus"):
            sv.solve(problem, mask=MASK)


def test_refused_arguments(network, s):
    problem = sv.averaging(network, s)
    for arguments in ({"z0": np.zeros(2 * network.m)}, {"batch": 3}):
        with pytest.raises(Unsupported, match="neither z0 nor batch"):
            sv.solve(problem, mask=MASK, **arguments)
    for seed in (-1, 1.5, True, "one"):
        with pytest.raises(InvalidInput, match="seed must be an integer >= 0, or None; got"):
            sv.solve(problem, mask=MASK, seed=seed)
    with pytest.raises(InvalidInput, match="mask must be a mask"):
        next(sv.iterate(problem, mask=MASK))


def test_fractions_are_refused(network, s):
    with pytest.raises(InvalidInput, match=r"takes integers; number 0 of node 3 is none. Multiply by a public number"):
        sv.solve(sv.averaging(network, np.where(np.arange(network.n) == 3, 0.25, s)), mask=MASK)
    with pytest.raises(InvalidCost, match="NaN"):
        sv.solve(sv.averaging(network, np.full(network.n, np.nan)), mask=MASK)


@pytest.mark.parametrize("bits", [8, 46, 52])
def test_a_sum_that_could_wrap_is_refused_and_the_largest_is_exact(bits):
    network, mask = sv.Network.ring(5), sv.ModularMask(bits)
    largest = (2 ** (bits - 1) - 1) // 5
    for sign in (1, -1):
        result = sv.solve(sv.averaging(network, np.full(5, sign * largest)), mask=mask)
        assert [round(5 * float(x)) for x in result.x] == [5 * sign * largest] * 5
        s = np.array([0, 0, sign * (largest + 1), 0, 0])
        with pytest.raises(InvalidInput, match=rf"at most {largest}, .* node 2 holds more\. Use more bits"):
            sv.solve(sv.averaging(network, s), mask=mask)


def test_seeded_and_secret_pads_are_uniform():
    mask = sv.ModularMask(4)
    for pads in (mask.draw((10_000, 4)), mask.draw((10_000, 4), seed=1)):
        counts = np.bincount(pads.ravel().astype(np.int64), minlength=16)
        assert len(counts) == 16
        # The secret sample differs from run to run: a threshold that chance passes once in 1e9 runs.
        assert stats.chisquare(counts).pvalue > 1e-9
    top = sv.ModularMask(52).draw((10_000,)) >> np.uint64(51)
    assert stats.binomtest(int(top.sum()), 10_000).pvalue > 1e-9


def test_secret_pads_come_from_the_operating_system(monkeypatch):
    monkeypatch.setattr("sottovoce.pdmm.modular_mask.os.urandom", lambda count: b"\xff" * count)
    np.testing.assert_array_equal(sv.ModularMask(46).draw((2, 3)), np.full((2, 3), 2**46 - 1))


def test_the_run_is_a_function_of_the_hidden_words(network, s, monkeypatch):
    """Move one unit from one end of an edge to the other, and its pad by as much: not a bit of the run changes."""
    pads = MASK.draw((network.m, 1), seed=3)
    i, j = network.edges[4]
    moved, moved_pads = s.copy(), pads.copy()
    moved[i] += 1
    moved[j] -= 1
    moved_pads[4] -= np.uint64(1)
    runs = []
    for secrets, given in ((s, pads), (moved, moved_pads), (moved, pads)):
        monkeypatch.setattr(sv.ModularMask, "draw", lambda self, shape, seed=None, given=given: given)
        runs.append(sv.solve(sv.averaging(network, secrets), mask=MASK, seed=1))
    np.testing.assert_array_equal(runs[0].z, runs[1].z)
    assert not np.array_equal(runs[0].z, runs[2].z)


@pytest.mark.parametrize("n", [2, 3, 32, 33, 1000, 2**20, 2**27])
@pytest.mark.parametrize("bits", [2, 23, 46, 52])
def test_sums_of_limbs_stay_small(n, bits):
    width = limb_width(bits, n)
    assert 1 <= width <= 23
    assert n * 2**width <= 2**TOTAL_BITS
    words = np.array([[0], [1], [2**bits - 1], [2**bits // 3]], dtype=np.uint64)
    limbs = split(words, bits, width)
    assert limbs.max() < 2**width
    np.testing.assert_array_equal(joined(limbs.astype(np.uint64), 1, width), words[:, 0:1])
    carried = joined(limbs.astype(np.uint64).sum(axis=0, keepdims=True), 1, width)
    assert int(carried[0, 0]) == sum(int(word) for word in words[:, 0])
