"""Private statistics: how shapes are read, what is refused, what is reported when a run does not converge."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import BadlyHidden, InvalidInput, NotConverged, PrecisionLost, Unsupported
from sottovoce.statistics import Regression

N = 6
EDGES = [-1.0, 0.0, 1.0]


@pytest.fixture
def network():
    return sv.Network.ring(N)


@pytest.fixture
def rows(rng):
    return [rng.normal(size=(4 + i, 2)) for i in range(N)]


@pytest.fixture
def shards(rng):
    return [(rng.normal(size=(4 + i, 2)), rng.normal(size=4 + i)) for i in range(N)]


def every_statistic(network, **arguments):
    """All five on data that fit, as functions of nothing."""
    rng = np.random.default_rng(1)
    values = [rng.normal(size=5) for _ in range(N)]
    rows = [rng.normal(size=(5, 2)) for _ in range(N)]
    return {
        "mean": lambda: sv.private_mean(network, values, **arguments),
        "variance": lambda: sv.private_variance(network, values, **arguments),
        "covariance": lambda: sv.private_covariance(network, rows, **arguments),
        "coefficients": lambda: sv.private_least_squares(network, list(zip(rows, values, strict=True)), **arguments),
        "counts": lambda: sv.private_histogram(network, values, bins=EDGES, **arguments),
    }


# Shapes


def test_the_first_axis_is_observations(network):
    numbers = sv.private_mean(network, np.arange(6.0))
    vectors = sv.private_mean(network, [np.arange(i + 1.0) for i in range(N)])
    rows = sv.private_mean(network, [np.full((i, 2), [1.0, i]) for i in range(N)])
    assert (numbers.observations, vectors.observations, rows.observations) == (6, 21, 15)
    assert isinstance(numbers.mean, float)
    assert isinstance(vectors.mean, float)
    assert rows.mean.shape == (2,)
    # 1e-8: tol = 1e-9 relative to contributions up to 5 * 6/15 * 5.
    np.testing.assert_allclose(numbers.mean, 2.5, atol=1e-8)
    np.testing.assert_allclose(vectors.mean, 35 / 21, atol=1e-8)
    np.testing.assert_allclose(rows.mean, [1.0, 55 / 15], atol=1e-7)


def test_numbers_and_vectors_mix(network):
    result = sv.private_variance(network, [1.0, [2.0, 3.0], [], 4.0, [5.0], 6.0])
    assert result.observations == 6
    assert isinstance(result.variance, float)
    assert result.standard_deviation == pytest.approx(np.std(np.arange(6), ddof=1), abs=1e-7)
    assert sv.private_variance(network, [np.ones((2, 3)) * i for i in range(N)]).standard_deviation.shape == (3,)


def test_a_variable_that_does_not_vary_has_no_correlation(network):
    result = sv.private_covariance(network, [np.column_stack([np.arange(3.0) + i, np.full(3, 0.0)]) for i in range(N)])
    assert result.correlation[0, 0] == 1.0
    assert np.isnan(result.correlation[1]).all() or abs(result.covariance[1, 1]) < 4e-10  # 12 grids of 2^-35


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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"shards": [(np.ones((2, 2)), np.ones(2))] * 5}, "one entry per party, 6; got 5"),
        ({"shards": [np.ones((2, 2))] * 6}, r"party 0: its shard must be a pair \(A_i, b_i\); got ndarray"),
        ({"shards": [(np.ones((2, 2)), np.ones(3))] * 6}, "party 0: b must have one entry per row of A, 2"),
        ({"shards": [(np.full((2, 2), np.inf), np.ones(2))] * 6}, "party 0: A and b must be finite"),
        (
            {"shards": [(np.ones((2, 2)), np.ones(2))] * 5 + [(np.ones((2, 3)), np.ones(2))]},
            "party 0 has 2, party 5 has 3",
        ),
        ({"weights": [np.ones(4)] * 6}, "party 1: weights must be 5 positive numbers"),
        ({"weights": [np.ones(4 + i) * (i != 3) for i in range(6)]}, "party 3: weights must be 7 positive numbers"),
        ({"weights": [np.ones(4)] * 5}, "weights must have one entry per party, 6; got 5"),
        ({"ridge": -1.0}, "ridge must be a finite number >= 0; got -1.0"),
        ({"ridge": np.inf}, "ridge must be a finite number >= 0"),
        ({"names": ["a"]}, "names must be 2 different strings"),
        ({"names": ["a", "a"]}, "names must be 2 different strings"),
        ({"names": ["a", "intercept"]}, "a column is called 'intercept'"),
        ({"scale": [1.0, 1.0]}, "scale must be a positive number, or 3 of them, one per column of A and one for the"),
        ({"scale": 0.0}, "scale must be a positive number"),
    ],
)
def test_bad_regressions(network, shards, change, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        sv.private_least_squares(network, **{"shards": shards, **change})


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
        with pytest.raises(InvalidInput, match="ddof must be an integer >= 0"):
            sv.private_variance(network, rows, ddof=ddof)
    with pytest.raises(InvalidInput, match="ddof=6 needs more than 6 observations; the parties have 6 in all"):
        sv.private_variance(network, np.arange(6.0), ddof=6)
    with pytest.raises(InvalidInput, match="scale must be a positive number, or 2 of them, one per column"):
        sv.private_covariance(network, rows, scale=[1.0, -1.0])
    constrained = network.with_constraints({(i, j): [[1.0]] for i, j in network.half_edges.tolist()})
    for wrong in (constrained, 6):
        with pytest.raises(InvalidInput, match=r"network must be an sv\.Network without edge constraints"):
            sv.private_mean(wrong, np.arange(6.0))


def test_masks_must_fit_the_data(network):
    for name, run in every_statistic(network, mask=None).items():
        with pytest.raises(InvalidInput, match="for a run that hides nothing use"):
            run()
        wrong = sv.GaussianMask(1e8) if name == "counts" else sv.ModularMask()
        with pytest.raises(InvalidInput, match=r"mask must be a .* here"):
            every_statistic(network, mask=wrong)[name]()
        with pytest.raises(InvalidInput, match="seed must be an integer >= 0"):
            every_statistic(network, seed=-1)[name]()


def test_data_too_large_for_the_mask(network):
    with pytest.warns(BadlyHidden, match=r"party 5: its data are hidden badly, .* \(scale=\)") as caught:
        sv.private_mean(network, 1000 * np.arange(6.0))
    assert [warning.filename for warning in caught] == [__file__]  # once, and it points at the caller
    sv.private_mean(network, 1000 * np.arange(6.0), scale=1000.0)


def test_data_too_small_for_the_mask(network):
    farads = [1e-12 * np.arange(i + 1.0) for i in range(N)]
    with pytest.warns(PrecisionLost, match=r"column 'x' holds only numbers below 5.9e-04 in units of scale"):
        sv.private_mean(network, farads)
    result = sv.private_variance(network, farads, scale=1e-12)
    assert result.variance == pytest.approx(np.var(np.concatenate(farads), ddof=1), rel=1e-7)


def test_no_variance_at_all(network):
    result = sv.private_variance(network, [[7.0] * (i + 1) for i in range(N)])
    assert abs(result.variance) < 4e-10  # 12 grids of 2^-35
    assert result.standard_deviation < 2e-5


def test_dependent_columns_are_named(network, shards):
    doubled = [(np.column_stack([A, A[:, 0] + A[:, 1]]), b) for A, b in shards]
    with pytest.raises(InvalidInput, match="columns 'x0', 'x1', 'x2' are linearly dependent"):
        sv.private_least_squares(network, doubled)
    pair = [(np.column_stack([A, 2 * A[:, 1] + 3]), b) for A, b in shards]
    with pytest.raises(InvalidInput, match=r"columns 'age', 'months' are linearly dependent.* Drop one"):
        sv.private_least_squares(network, pair, names=["dose", "age", "months"])
    constant = [(np.column_stack([A, np.full(len(A), 7.0)]), b) for A, b in shards]
    with pytest.raises(InvalidInput, match="column 'x2' does not vary over the parties"):
        sv.private_least_squares(network, constant)
    assert sv.private_least_squares(network, constant, intercept=False).coefficients.shape == (3,)
    assert sv.private_least_squares(network, doubled, ridge=0.1).coefficients.shape == (3,)
    few = [(A[:1], b[:1]) if i < 2 else (A[:0], b[:0]) for i, (A, b) in enumerate(shards)]
    with pytest.raises(InvalidInput, match="2 observations do not determine 3 coefficients"):
        sv.private_least_squares(network, few)


# What is reported


def test_values_are_not_reported_where_a_run_did_not_converge(network):
    for name, run in every_statistic(network, max_iter=1).items():
        result = run()
        assert result.status is sv.Status.MAX_ITER
        assert (len(result.runs), len(result.problems), len(result.masks)) == (1, 1, 1)
        with pytest.raises(NotConverged, match=rf"{name} is not known: run 1 ended as max_iter after 1 iterations"):
            getattr(result, name)
        with pytest.raises(AttributeError):
            _ = result.nonsense
        assert result.to_dict() == {"status": "max_iter"}
        assert repr(result).endswith("(max_iter)")
        for twin in (copy.copy(result), pickle.loads(pickle.dumps(result))):
            assert twin.status is sv.Status.MAX_ITER
    regression = every_statistic(network, max_iter=1)["coefficients"]()
    assert regression.summary() == "max_iter: no regression to report."
    with pytest.raises(NotConverged):
        regression.predict([1.0, 2.0])


def test_a_later_run_that_does_not_converge():
    """The count needs ten digits; pads of 1e4 need thirteen, and more iterations on a long ring."""
    network, values = sv.Network.ring(30), np.arange(30.0) / 30
    enough = sv.private_mean(network, values, seed=1, overlay="all").runs[0].iterations
    result = sv.private_variance(network, values, seed=1, max_iter=enough, overlay="all")
    assert [run.status.value for run in result.runs] == ["converged", "max_iter"]
    assert result.status is sv.Status.MAX_ITER
    with pytest.raises(NotConverged, match="variance is not known: run 2 ended as max_iter"):
        _ = result.variance


def test_what_was_agreed_on_is_there_for_an_audit(network):
    for name, runs in {"mean": 2, "variance": 3, "covariance": 3, "coefficients": 4, "counts": 1}.items():
        result = every_statistic(network)[name]()
        assert result.status is sv.Status.CONVERGED
        assert len(result.runs) == len(result.problems) == len(result.masks) == runs
        assert isinstance(result.masks[0], sv.ModularMask)
        assert all(isinstance(mask, sv.GaussianMask) for mask in result.masks[1:])
        for problem, run in zip(result.problems, result.runs, strict=True):
            s = problem.groups[0][1].s  # with a public number at its end, if real
            # tol = 1e-9 on contributions below 10, and rounding at 1e4.
            np.testing.assert_allclose(run.x, np.broadcast_to(s.mean(axis=0), s.shape), atol=1e-7)
        assert all(run.secret for run in result.runs)
        assert json.loads(json.dumps(result.to_dict()))["status"] == "converged"


def test_an_audit_is_of_the_run_that_was_made(network, rng):
    """Taps see the more of a shift of all ``x``, the larger the penalties of the run are."""
    values = [rng.normal(size=3) for _ in range(N)]
    for overlay in ("tree", "all"):
        result = sv.private_mean(network, values, seed=1, mask=sv.GaussianMask(1e6), overlay=overlay)
        *_, report = result.audit()
        run, problem = result.runs[-1], result.problems[-1]
        assert ("over a spanning tree" in report.view) == (overlay == "tree")
        expected = sv.privacy.audit(
            sv.averaging(network, problem.groups[0][1].s[:, :-1]), result.masks[-1], c=run.c, overlay=overlay
        )
        np.testing.assert_allclose(report.leakage, expected.leakage, rtol=1e-9)


def test_a_seed_repeats_everything_and_no_pads(network):
    for name in every_statistic(network):
        one, two = (every_statistic(network, seed=3, schedule=sv.Asynchronous())[name]() for _ in range(2))
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        assert len({run.seed for run in one.runs}) == len(one.runs)
        assert not any(run.secret for run in one.runs)


def test_contributions_do_not_grow_with_the_rows(network, rng):
    """Ten thousand rows a party: what travels is still of the size of the data."""
    rows = [rng.normal(size=(10_000, 2)) for _ in range(N)]
    result = sv.private_covariance(network, rows)
    assert np.abs(result.problems[2].groups[0][1].s).max() < 2.0
    np.testing.assert_allclose(result.covariance, np.cov(np.concatenate(rows).T), atol=1e-8)


def test_summary_is_a_table(network, shards):
    result = sv.private_least_squares(network, shards, names=["age", "dose"])
    lines = result.summary().splitlines()
    assert lines[0] == "Least squares: 39 observations of 6 parties"
    assert "on 36 degrees of freedom" in lines[1]
    assert lines[3].split() == ["coefficient", "std.", "error", "t", "P>|t|", "[0.025", "0.975]"]
    assert [line.split()[0] for line in lines[4:]] == ["intercept", "age", "dose"]
    numbers = np.array([[float(cell) for cell in line.split()[1:]] for line in lines[4:]])
    np.testing.assert_allclose(numbers[:, 0], result.parameters, rtol=1e-5)
    np.testing.assert_allclose(numbers[:, 4:], result.confidence_interval(0.95), rtol=1e-4)
    assert len({len(line) for line in lines[3:]}) == 1


def test_ridge_gives_no_inference(network, shards):
    result = sv.private_least_squares(network, shards, ridge=1.0)
    for name in ("standard_errors", "t_values", "p_values", "residual_variance", "adjusted_r_squared"):
        with pytest.raises(Unsupported, match="not given for ridge > 0: the estimate is biased"):
            getattr(result, name)
    with pytest.raises(Unsupported):
        result.confidence_interval()
    assert 0 < result.r_squared < 1
    assert result.summary().startswith("Ridge regression (1)")
    assert "std. error" not in result.summary()
    assert "standard_errors" not in result.to_dict()


def test_as_many_observations_as_terms(network, rng):
    data = [(rng.normal(size=(1, 2)), rng.normal(size=1)) if i < 3 else (np.empty((0, 2)), []) for i in range(N)]
    result = sv.private_least_squares(network, data)
    assert result.degrees_of_freedom == 0
    with pytest.raises(Unsupported, match="needs more observations than terms; there are 3 and 3"):
        _ = result.standard_errors
    A, b = np.concatenate([A for A, _ in data]), np.concatenate([b for _, b in data])
    np.testing.assert_allclose(result.predict(A), b, atol=1e-6)


def test_a_perfect_fit(network, shards):
    exact = [(A, 1 + A @ [2.0, -3.0]) for A, _ in shards]
    result = sv.private_least_squares(network, exact)
    # Residuals are of the size of the error of the coefficients, 1e-8; their squares drown in 12 grids of 2^-35.
    assert 0 <= result.residual_variance < 4e-10
    assert result.r_squared == pytest.approx(1.0, abs=4e-10)


def test_predict_and_level(network, shards):
    result = sv.private_least_squares(network, shards)
    assert isinstance(result, Regression)
    assert result.predict([1.0, 2.0]) == pytest.approx(result.intercept + result.coefficients @ [1.0, 2.0])
    assert result.predict(np.ones((3, 2))).shape == (3,)
    for A in (np.ones(3), np.ones((2, 3)), 1.0):
        with pytest.raises(InvalidInput, match="A must have 2 columns"):
            result.predict(A)
    for level in (0, 1, 95, "0.95"):
        with pytest.raises(InvalidInput, match="level must lie between 0 and 1"):
            result.confidence_interval(level)


def test_rounds_end_a_statistic_as_they_end_a_run():
    short = sv.private_mean(sv.Network.ring(5), [1.0, 2, 3, 4, 5], schedule=sv.Asynchronous(), max_rounds=2, seed=1)
    assert (short.status, short.runs[0].iterations) == (sv.Status.MAX_ITER, 10)
