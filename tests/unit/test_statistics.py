"""Mean, variance, covariance and histogram: shapes, refusals, and answers that are the pooled ones."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import InvalidInput, Undetermined
from sottovoce.statistics.gone import WHY

N = 6
EDGES = [-1.0, 0.0, 1.0]


@pytest.fixture
def network():
    return sv.Network.ring(N)


@pytest.fixture
def rows(rng):
    return [rng.normal(size=(4 + i, 2)) for i in range(N)]


def every_statistic(network, **arguments):
    """All four on data that fit, as functions of nothing."""
    rng = np.random.default_rng(1)
    values = [rng.normal(size=5) for _ in range(N)]
    table = [rng.normal(size=(5, 2)) for _ in range(N)]
    return {
        "mean": lambda: sv.private_mean(network, values, **arguments),
        "variance": lambda: sv.private_variance(network, values, **arguments),
        "covariance": lambda: sv.private_covariance(network, table, **arguments),
        "counts": lambda: sv.private_histogram(network, values, bins=EDGES, **arguments),
    }


# Shapes


def test_the_first_axis_is_observations(network):
    numbers = sv.private_mean(network, np.arange(6.0))
    vectors = sv.private_mean(network, [np.arange(i + 1.0) for i in range(N)])
    table = sv.private_mean(network, [np.full((i, 2), [1.0, i]) for i in range(N)])
    assert (numbers.observations, vectors.observations, table.observations) == (6, 21, 15)
    assert (numbers.mean, vectors.mean) == (2.5, 35 / 21)
    assert table.mean.tolist() == [1.0, 55 / 15]


def test_numbers_and_vectors_mix(network):
    result = sv.private_variance(network, [1.0, [2.0, 3.0], [], 4.0, [5.0], 6.0])
    assert (result.observations, result.variance) == (6, 3.5)
    assert sv.private_variance(network, [np.ones((2, 3)) * i for i in range(N)]).standard_deviation.shape == (3,)


def test_a_variable_that_does_not_vary(network):
    result = sv.private_covariance(network, [np.column_stack([np.arange(3.0) + i, np.full(3, 0.1)]) for i in range(N)])
    assert result.correlation[0, 0] == 1.0
    assert np.isnan(result.correlation[1]).all()
    assert result.covariance[1].tolist() == [0.0, 0.0]
    assert sv.private_variance(network, [[0.1] * (i + 1) for i in range(N)]).standard_deviation == 0.0


# The pooled answers


def exact_moments(columns, ddof):
    """Means and covariances of float64 columns in fractions, rounded once."""
    exact = [[Fraction(value) for value in column] for column in columns]
    count = len(exact[0])
    means = [sum(column) / count for column in exact]
    products = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in exact] for x in exact]
    d = range(len(exact))
    covariance = [[(products[j][k] - count * means[j] * means[k]) / (count - ddof) for k in d] for j in d]
    return np.array(means, float), np.array(covariance, float)


@pytest.mark.parametrize("ddof", [0, 1])
def test_moments_of_decimals_are_right_to_the_last_digit(network, ddof):
    """Decimals as people write them, whose exact moments are those of the decimals and not of their float64."""
    rng = np.random.default_rng(2)
    tenths = [rng.integers(5000, 5050, (3 + i, 2)) for i in range(N)]
    pooled = np.concatenate(tenths).T
    means, covariance = exact_moments([[Fraction(int(v), 10) for v in column] for column in pooled], ddof)
    result = sv.private_covariance(network, [part / 10 for part in tenths], ddof=ddof)
    assert result.mean.tolist() == means.tolist()
    assert result.covariance.tolist() == covariance.tolist()
    variance = sv.private_variance(network, [part / 10 for part in tenths], ddof=ddof)
    assert variance.variance.tolist() == np.diag(covariance).tolist()


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 1e6, 1e15])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_moments_of_any_size_need_no_scale(network, size, shift):
    rng = np.random.default_rng(3)
    parts = [size * (shift + rng.normal(size=(5 + i, 2))) for i in range(N)]
    means, covariance = exact_moments(np.concatenate(parts).T, 1)
    result = sv.private_covariance(network, parts)
    # 17 digits of the largest value: a spread of a thousandth of it leaves 14.
    np.testing.assert_allclose(result.mean, means, rtol=2e-16, atol=4e-17 * size)
    np.testing.assert_allclose(result.covariance, covariance, rtol=1e-13, atol=1e-13 * size**2)


@pytest.mark.parametrize(
    ("values", "truth"),
    [
        (np.array([500, 501, 504, 502, 503, 500, 501, 502, 503, 504, 500, 503]), None),
        (1e6 + np.arange(12) / 8, None),
        (1e8 + np.array([0.0, 0.1] * 6), 0.03 / 11),
    ],
)
def test_a_column_that_varies_little_within_its_range(values, truth):
    """Ranges matter for no digit: a variance came out as 2.38 for 2.20, or as -3083, while sums were approximate."""
    parts = np.array_split(np.asarray(values, float), 4)
    truth = np.var(values, ddof=1) if truth is None else truth
    for top in (1e9, 1e11):
        study = sv.Study(
            sv.Network.ring(4), [{"x": p} for p in parts], schema={"x": {"type": "number", "range": (0, top)}}
        )
        unit = float(study.schema["x"].grid)
        assert study.variance("x").variance == pytest.approx(truth, rel=1e-12, abs=1e-12 + 3 * unit)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=6), min_size=3, max_size=3), st.randoms())
def test_any_partition_has_the_same_bits(parts, random):
    pooled = [value for part in parts for value in part]
    if len(pooled) < 2:
        return
    results = []
    for _ in range(3):
        random.shuffle(pooled)
        cut = sorted(random.randrange(len(pooled) + 1) for _ in range(2))
        shards = [pooled[: cut[0]], pooled[cut[0] : cut[1]], pooled[cut[1] :]]
        variance = sv.private_variance(sv.Network.ring(3), shards)
        results.append((variance.mean, variance.variance))
    assert len(set(results)) == 1


# What is refused


@pytest.mark.parametrize(
    ("shards", "sentence"),
    [
        (np.zeros(5), "shards must have one entry per party, 6; got 5"),
        (3.0, "shards must be a list with one entry per party, or a dict by their names; got float"),
        ("abcdef", "shards must be a list with one entry per party, or a dict by their names; got str"),
        ([1.0] * 5 + [np.nan], "party 5: its shard has NaN or inf"),
        ([1.0] * 5 + ["six"], "party 5: its shard must hold real numbers"),
        ([np.zeros((2, 2))] * 5 + [np.zeros((2, 3))], "party 0 has 2 columns, party 5 3 columns"),
        ([np.zeros((2, 2))] * 5 + [np.zeros(2)], "party 0 has 2 columns, party 5 one variable"),
        ([np.zeros((2, 2, 2))] * 6, r"party 0: a shard is a number, n_i numbers, or .* got shape \(2, 2, 2\)"),
        ([np.zeros((2, 0))] * 6, "party 0: a shard is a number"),
        ([[]] * 6, "no party has any rows"),
    ],
)
def test_bad_shards(network, shards, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        sv.private_mean(network, shards)


@pytest.mark.parametrize("bins", [5, [1.0], [0.0, 0.0, 1.0], [0.0, np.inf], [[0.0, 1.0]], "auto"])
def test_bad_bins(network, bins):
    with pytest.raises(InvalidInput, match="bins must be two or more finite edges in increasing order; got"):
        sv.private_histogram(network, np.zeros(N), bins=bins)


def test_other_refusals(network, rows):
    with pytest.raises(InvalidInput, match=r"takes rows \(n_i, d\) of every party; got vectors"):
        sv.private_covariance(network, np.zeros((N, 3)))
    with pytest.raises(InvalidInput, match="counts one variable; got rows of 2 columns"):
        sv.private_histogram(network, rows, bins=EDGES)
    for ddof in (-1, 1.0, True):
        with pytest.raises(InvalidInput, match="ddof must be an integer"):
            sv.private_variance(network, rows, ddof=ddof)
    with pytest.raises(Undetermined, match="ddof=6 needs more than 6 observations; the parties have 6 in all"):
        sv.private_variance(network, np.arange(6.0), ddof=6)
    constrained = network.with_constraints({(i, j): [[1.0]] for i, j in network.half_edges.tolist()})
    for wrong in (constrained, 6):
        with pytest.raises(InvalidInput, match=r"network must be an sv\.Network without edge constraints"):
            sv.private_mean(wrong, np.arange(6.0))


@pytest.mark.parametrize(("size", "word"), [(1e300, "large"), (3e67, "large"), (1e-200, "small"), (5e-324, "small")])
def test_numbers_of_which_float64_has_no_squares(network, size, word):
    """A variance would be infinite, or 0 though they vary."""
    parts = [size * np.arange(1.0, 3.0 + i)[:, None] * [1, 1] for i in range(N)]
    for run in (sv.private_mean, sv.private_variance, sv.private_covariance, sv.private_pca):
        with pytest.raises(
            InvalidInput, match=rf"^column 'x0' has the unit \S+: what is made .* too {word} for float64"
        ):
            run(network, parts)
    assert sv.private_histogram(network, [part[:, 0] for part in parts], bins=[0, size, 1e308]).counts[0] == 0
    for unit in ("1e-71", "1e51"):
        schema = {"a": {"type": "number", "unit": unit}, "y": "number"}
        study = sv.Study(network, [{"a": [float(unit)], "y": [1.0]}] * N, schema=schema)
        for ask in (lambda study=study: study.variance("a"), lambda study=study: study.linear("y ~ I(a / 2)")):
            with pytest.raises(InvalidInput, match=r"^column 'a' has the unit .* from 1e-70 to 1e\+50"):
                ask()
    for end in (None, 1e-38):  # without a range, and with one, which tells the unit of the product beforehand
        a = {"type": "number", "unit": "1e-40"} | ({} if end is None else {"range": (0, end)})
        schema = {"a": a, "y": {"type": "number", "range": (0, 9)}}
        study = sv.Study(network, [{"a": [1e-40], "y": [1.0]}] * N, schema=schema)
        with pytest.raises(InvalidInput, match=r"^column 'a:I\(a \* 2\)' has the unit .* too small"):
            study.linear("y ~ a:I(a * 2)")


@pytest.mark.parametrize("size", [3e48, 7e-53])
def test_numbers_that_are_nearly_too_large_or_small(network, size):
    """All digits are there, in models of them too."""
    rng = np.random.default_rng(1)
    rows = [rng.normal(size=(6, 2)) for _ in range(N)]
    fit, expected = (
        sv.private_linear(network, [(factor * x[:, :1], factor * x[:, 1]) for x in rows], robust="HC3")
        for factor in (size, 1.0)
    )
    np.testing.assert_allclose(fit.bse / [size, 1], expected.bse, rtol=1e-12)
    assert fit.rsquared == pytest.approx(expected.rsquared, rel=1e-12)
    own = [size * x for x in rows]
    _, covariance = exact_moments((np.concatenate(own) / size).T, 1)
    np.testing.assert_allclose(sv.private_covariance(network, own).covariance / size**2, covariance, rtol=1e-12)


@pytest.mark.parametrize("name", WHY)
def test_options_of_older_programs_get_a_sentence(network, name):
    for run in every_statistic(network, **{name: 1}).values():
        with pytest.raises(InvalidInput, match=f"{name} is gone"):
            run()
    with pytest.raises(InvalidInput, match="nonsense is no argument here"):
        every_statistic(network, nonsense=1)["mean"]()


# What is reported


def test_what_was_shown_and_sent(network):
    for name, (numbers, counts) in {"mean": (2, 1), "variance": (3, 1), "covariance": (6, 1), "counts": (4, 4)}.items():
        result = every_statistic(network)[name]()
        (shown,) = result.shown
        assert (shown.numbers, len(shown.counts), shown.iterate) == (numbers, counts, False)
        assert result.traffic.agreements == 1
        assert result.traffic.messages == 2 * (N - 1)
        assert json.loads(json.dumps(result.to_dict()))["status"] == "converged"
        for twin in (copy.copy(result), pickle.loads(pickle.dumps(result))):
            assert twin.to_dict() == result.to_dict()


def test_the_procedure_adds_nothing(network):
    for run in every_statistic(network).values():
        report = run().audit_total(corrupt={0, 2})
        assert np.nanmax(report.excess[[3, 4, 5]]) == 0.0
        assert report.excess[1] == np.inf  # between two corrupt neighbours
        assert report.guarantee == "exact"
        assert "uniform pads" in report.mask
