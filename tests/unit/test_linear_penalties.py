"""Penalised paths: options, closed forms, folds, choices, the same bits for any partition, and where people look."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from partitions import assert_same_bits
from picture_faults import faults

import sottovoce as sv
from sottovoce.data.sources import PiecesSource
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.statistics.linear import penalised
from sottovoce.statistics.linear.folds import fold_of
from sottovoce.statistics.linear.penalised import LASSO_PENALTIES, RIDGE_PENALTIES, elastic_net_path
from sottovoce.statistics.linear.penalty_path import within_one_error

RING = sv.Network.ring(3)
SCHEMA = {name: {"type": "number", "range": (-10, 10)} for name in ("a", "b", "c", "y")}


def tables(rows=(30, 0, 50)):
    rng = np.random.default_rng(6)
    found = []
    for count in rows:
        frame = pd.DataFrame(rng.normal(size=(count, 3)), columns=["a", "b", "c"])
        frame["y"] = 2 * frame["a"] - frame["b"] + 0.5 * rng.normal(size=count)
        found.append(frame)
    return found


@pytest.fixture(scope="module")
def study():
    return sv.Study(RING, tables(), schema=SCHEMA)


@pytest.fixture(scope="module")
def lasso(study):
    return study.lasso("y ~ a + b + c", folds=4)


# Closed forms


def test_orthogonal_columns_are_thresholded():
    """With orthonormal columns ridge divides and the lasso subtracts."""
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(24, 3)))[0] * np.sqrt(24)
    X -= X.mean(axis=0)
    X = np.linalg.qr(X)[0] * np.sqrt(24)
    y = X @ [3.0, -1.0, 0.2]
    shards = list(zip(np.split(X, (5, 9)), np.split(y, (5, 9)), strict=True))
    options = {"standardize": False, "intercept": False}
    ridge = sv.private_ridge(RING, shards, penalties=24.0, **options)
    np.testing.assert_allclose(ridge.params, [1.5, -0.5, 0.1], rtol=1e-13)
    lasso = sv.private_lasso(RING, shards, penalties=0.5, **options)
    np.testing.assert_allclose(lasso.params, [2.5, -0.5, 0.0], atol=1e-13)
    assert lasso.selected == ("x0", "x1")
    net = sv.private_lasso(RING, shards, penalties=1.0, l1_ratio=0.5, **options)
    np.testing.assert_allclose(net.params, [2.5 / 1.5, -0.5 / 1.5, 0.0], atol=1e-13)


def test_the_first_of_the_own_penalties_leaves_nothing_in(lasso):
    assert (lasso.path[0, 1:] == 0).all()
    assert (lasso.path[1, 1:] != 0).any()
    assert (np.diff(lasso.penalties) < 0).all()
    assert lasso.path[0, 0] == pytest.approx(math.fsum(pd.concat(tables())["y"]) / 80, rel=1e-14)
    np.testing.assert_allclose(lasso.penalties / lasso.penalties[0], np.logspace(0, -3, 50), rtol=1e-14)
    np.testing.assert_allclose(LASSO_PENALTIES, np.logspace(0, -3, 50), rtol=1e-15)
    np.testing.assert_allclose(RIDGE_PENALTIES, np.logspace(2, -4, 25), rtol=1e-15)


def test_a_small_penalty_is_least_squares(study):
    fit = study.linear("y ~ a + b + c")
    np.testing.assert_allclose(study.ridge("y ~ a + b + c", penalties=1e-7).params, fit.params, atol=1e-7)
    np.testing.assert_allclose(study.lasso("y ~ a + b + c", penalties=1e-9).params, fit.params, atol=1e-7)


def test_optimum_is_exact_where_columns_are_nearly_dependent():
    """The conditions of optimality to rounding, where plain descent would take thousands of sweeps."""
    S = np.array([[1.0, 0.9999], [0.9999, 1.0]])
    r, l1 = np.array([1.0, 0.9995]), np.full((1, 2), 1e-5)
    b = elastic_net_path(S, r, l1, np.zeros((1, 2)))[0]
    slope = r - S @ b
    assert np.allclose(slope[b != 0], l1[0, b != 0] * np.sign(b[b != 0]), rtol=1e-8)
    assert (np.abs(slope) <= l1[0] * (1 + 1e-8)).all()
    twins = elastic_net_path(np.ones((2, 2)), np.ones(2), np.full((1, 2), 0.25), np.zeros((1, 2)))[0]
    assert twins.sum() == pytest.approx(0.75)  # any split of them is an optimum
    both = elastic_net_path(np.ones((2, 2)), np.ones(2), np.full((2, 2), 0.25), np.array([[1.0, 1.0], [0.0, 0.0]]))
    assert (both[1] > 0).all()  # they begin where squares had a share, and no solve on the support tells them apart
    assert both[1].sum() == pytest.approx(0.75)


def test_signs_are_found_where_descent_takes_very_many_sweeps():
    """Of designs whose condition is 1e6 to 1e12, at which descent gave up after twenty thousand sweeps."""
    near = np.array([[1.0, 0.9999999999994236], [0.9999999999994236, 1.0]])
    two = near, np.array([-0.08332948241968362, -0.08332954220641339]), np.full(2, 0.04990995990140488)
    S = np.eye(4)
    S[0, 1:], S[1, 2:], S[2, 3] = [0.9999996441, -0.000364, -0.06883], [-0.000191, -0.06922], -0.5
    S = np.triu(S) + np.triu(S, 1).T
    four = S, np.array([-0.26023725, -0.26023687, 0.00012, 0.01786]), np.array([1.41e-4, 1.41e-4, 1.3e-3, 1.6e-3])
    for S, r, l1 in (two, four):
        assert np.linalg.cond(S) > 1e6
        b = elastic_net_path(S, r, l1[None], np.zeros((1, len(r))))[0]
        slope = r - S @ b
        assert np.allclose(slope[b != 0], (l1 * np.sign(b))[b != 0], rtol=1e-9)
        assert (np.abs(slope) <= l1 * (1 + 1e-9)).all()


def test_a_descent_that_does_not_settle_says_so(monkeypatch):
    monkeypatch.setattr(penalised, "SWEEPS", 1)
    S = np.full((6, 6), 0.999999) + 1e-6 * np.eye(6)
    with pytest.raises(Unsupported, match="coordinate descent does not settle"):
        elastic_net_path(S, np.arange(1.0, 7.0), np.full((1, 6), 1e-9), np.zeros((1, 6)))


# Folds and votes


def test_folds_follow_from_the_row_alone(study):
    rows = np.random.default_rng(0).normal(size=(3000, 4))
    folds = fold_of(rows, 5)
    order = np.random.default_rng(1).permutation(3000)
    assert (fold_of(rows[order], 5) == folds[order]).all()
    assert (fold_of(rows[::7], 5) == folds[::7]).all()
    counts = np.bincount(folds)
    assert counts.min() > 600 - 5 * 22  # five deviations of a binomial
    assert (fold_of(rows, 5, 1) != folds).mean() > 0.7
    assert fold_of(np.array([[0.0]]), 9) == fold_of(np.array([[-0.0]]), 9)


@pytest.mark.parametrize("cut", [1, 7])
def test_batches_and_order_change_nothing(study, cut):
    whole = study.ridge("y ~ a + b", folds=3)
    pieces = [PiecesSource([t.iloc[::-1].iloc[k : k + cut] for k in range(0, len(t), cut)] or [t]) for t in tables()]
    again = sv.Study(RING, pieces, schema=SCHEMA).ridge("y ~ a + b", folds=3)
    assert again.to_dict() == whole.to_dict()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ridge", {}),
        ("ridge", {"standardize": False, "folds": 3}),
        ("lasso", {"l1_ratio": 0.5}),
        ("lasso", {"folds": 2, "fold_seed": 9}),
    ],
)
def test_any_partition_has_the_same_bits(kind, options):
    pooled = pd.concat(tables()).to_dict("list")
    for formula in ("y ~ a + b * c", "y ~ 0 + a + log(c + 20) + offset(b)"):
        assert_same_bits(pooled, SCHEMA, lambda study, f=formula: getattr(study, kind)(f, **options), ways=4)


def test_the_largest_penalty_within_one_error():
    errors = np.array([[3.0, 3.0], [1.0, 1.2], [1.0 - 1e-10, 1.2]])
    assert within_one_error(errors) == (2, 1)
    assert within_one_error(errors[[0, 1, 1]]) == (1, 1)  # the larger penalty of two


def test_one_error_is_that_of_the_sample(study):
    """By hand from the errors: with deviations over ``folds - 1``, which choose another penalty than those over
    ``folds`` in some of these cuts."""
    told_apart = 0
    for seed in range(12):
        fit = study.lasso("y ~ a + b + c", folds=3, fold_seed=seed)
        mean, least = fit.cv_errors.mean(axis=1), fit.cv_errors.mean(axis=1).argmin()
        chosen = []
        for ddof in (0, 1):
            error = fit.cv_errors.std(axis=1, ddof=ddof) / np.sqrt(3)
            chosen.append(int(np.flatnonzero(mean <= mean[least] + error[least])[0]))
            assert np.allclose(fit.cv_se, error, rtol=1e-13) == ddof
        assert (fit.best, fit.best_1se) == (least, chosen[1])
        told_apart += chosen[0] != chosen[1]
    assert told_apart > 2


def test_errors_keep_their_digits_where_little_is_left_over():
    """R-squared is 1 - 1e-14, and values are a million deviations from 0."""
    rng = np.random.default_rng(2)
    X = rng.integers(-50, 50, (40, 2)) / 10 + 1e6
    y = (X @ [3.0, -2.0] + rng.integers(-3, 4, 40) / 1e6).round(6)
    fit = sv.private_ridge(
        RING, list(zip(np.split(X, (5, 9)), np.split(y, (5, 9)), strict=True)), penalties=[1e-9, 1e-12]
    )
    folds, errors = fold_of(np.column_stack([X, y]), 5), []
    for k in range(5):
        inside, centre = folds == k, X[folds != k].mean(axis=0)
        Z = np.column_stack([np.ones(40), X - centre]).astype(np.longdouble)
        target = (y - y[0] - (X - X[0]) @ [3.0, -2.0]).round(6)  # what the columns leave, whole multiples of 1e-6
        H = (Z[~inside].T @ Z[~inside]).astype(float)
        b = np.linalg.solve(H, (Z[~inside].T @ target[~inside]).astype(float))
        errors.append(float(np.mean((target[inside] - Z[inside] @ b) ** 2)))
    np.testing.assert_allclose(fit.cv_errors[1], errors, rtol=1e-6)


def test_one_penalty_has_nothing_to_choose(study):
    fit = study.ridge("y ~ a", penalties=[2.0])
    assert fit.folds == 0
    assert fit.cv_mean.size == 0
    assert (fit.best, fit.penalty) == (0, 2.0)
    assert [(shown.numbers, shown.counts) for shown in fit.shown] == [(6, (80,))]


# Refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalties": [1.0, -1.0]}, "penalties must be one to 1000 different positive numbers"),
        ({"penalties": [1.0, 1.0]}, "penalties must be one to 1000 different positive numbers"),
        ({"penalties": "x"}, "penalties must be a list of numbers; got 'x'"),
        ({"folds": 1}, "folds must be an integer from 2 to 100; got 1"),
        ({"fold_seed": -1}, "fold_seed must be an integer"),
        ({"standardize": 1}, "standardize must be true or false; got 1"),
    ],
)
def test_options_that_are_none(study, options, message):
    for ask in (study.ridge, study.lasso):
        with pytest.raises(InvalidInput, match=message):
            ask("y ~ a + b", **options)


def test_other_refusals(study):
    with pytest.raises(InvalidInput, match="l1_ratio must be above 0 and at most 1"):
        study.lasso("y ~ a", l1_ratio=0.0)
    with pytest.raises(InvalidInput, match="formula has no column that a penalty could be on"):
        study.ridge("y ~ 1")
    small = sv.Study(RING, tables((2, 0, 2)), schema=SCHEMA)
    with pytest.raises(InvalidInput, match=r"folds: fold \d+ of 50 has no rows, of 4 in all"):
        small.ridge("y ~ a", folds=50)
    flat = sv.Study(RING, [t.assign(c=1.0, y=2.5) for t in tables()], schema=SCHEMA)
    with pytest.raises(InvalidInput, match="the response 'y' is constant over the rows of all parties"):
        flat.lasso("y ~ a + b")
    with pytest.raises(InvalidInput, match=r"'c': constant over the rows of all parties\. No penalty has an effect"):
        flat.ridge("a ~ c")
    with pytest.raises(InvalidInput, match="the response 'y' is 0 in all rows"):
        sv.Study(RING, [t.assign(y=0.0) for t in tables()], schema=SCHEMA).ridge("y ~ 0 + a")
    crossed = [{"a": [-1.0, 1.0], "b": [0.0, 0.0], "c": [0.0, 0.0], "y": [1.0, 1.0]}] * 2
    crossed += [{"a": [-1.0, 1.0], "b": [0.0, 0.0], "c": [0.0, 0.0], "y": [-1.0, -1.0]}]
    with pytest.raises(InvalidInput, match="the response is not correlated with any column"):
        sv.Study(RING, crossed, schema=SCHEMA).lasso("y ~ a + b", folds=2)


def test_columns_that_are_constant_have_no_part():
    """Of a level without rows, for instance; so have those that do not vary in a training set, there."""
    parties = [t.assign(b=1.0) for t in tables()]
    study = sv.Study(RING, parties, schema=SCHEMA)
    without = study.ridge("y ~ a + c", folds=4, penalties=[10.0, 1.0])
    fit = study.ridge("y ~ a + b + c", folds=4, penalties=[10.0, 1.0])
    assert fit.aliased == ("b",)
    assert not fit.path[:, 2].any()
    np.testing.assert_array_equal(np.delete(fit.path, 2, axis=1), without.path)
    assert "Constant, and left out: b" in fit.summary()
    lasso = study.lasso("y ~ a + b + c", folds=4)
    assert (lasso.aliased, lasso.params[2]) == (("b",), 0.0)
    assert study.ridge("y ~ 0 + a + b + c", penalties=1.0).aliased == ()  # it is the constant there
    np.testing.assert_allclose(fit.predict(parties[0]), without.predict(parties[0]), rtol=1e-14)


def test_a_column_that_is_constant_but_for_rounding_has_no_part():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X = np.column_stack([X, (X[:, 0] + 0.1) - X[:, 0]])
    assert len(set(X[:, 2])) > 3
    shards = list(zip(np.split(X, (5, 9)), np.split(X[:, 0], (5, 9)), strict=True))
    assert sv.private_ridge(RING, shards).aliased == ("x2",)
    with pytest.raises(InvalidInput, match="constant over the rows of all parties: 'x2'"):
        sv.private_pca(RING, np.split(X, (5, 9)), standardize=True)


def test_a_penalty_that_is_too_small_for_dependent_columns():
    twins = [t.assign(b=t["a"]) for t in tables()]
    study = sv.Study(RING, twins, schema=SCHEMA)
    with pytest.raises(InvalidInput, match="penalties: 1e-290 is too small for columns that depend on each other"):
        study.ridge("y ~ a + b", penalties=1e-290)
    params = study.ridge("y ~ a + b", penalties=1.0).params
    assert params[1] == pytest.approx(params[2], rel=1e-12)


# Where people look at it


def test_it_shows_itself(study, lasso):
    ridge = study.ridge("y ~ a + b + c")
    assert repr(ridge) == "RidgePath(converged, Ridge regression for y, 25 penalties: 80 observations of 3 parties)"
    assert "one standard error: penalty" in ridge.summary()
    assert "of 3 columns are in" in lasso.summary()
    assert list(lasso.to_frame().columns) == ["term", "estimate", "estimate_1se"]
    assert faults(lasso.plot()) == faults(ridge.plot()) == []
    assert faults(study.ridge("y ~ a + b", penalties=1.0).plot()) == []
    told = lasso.to_dict()
    assert told["penalty"] == lasso.penalty
    assert told["selected"] == list(lasso.selected)


def test_predictions(lasso):
    new = tables()[0].drop(columns="y")
    X = np.column_stack([np.ones(len(new)), new[["a", "b", "c"]]])
    np.testing.assert_allclose(lasso.predict(new), X @ lasso.params)
    np.testing.assert_allclose(lasso.predict(new, rule="1se"), X @ lasso.params_1se)
    assert lasso.penalty_1se >= lasso.penalty


def test_what_it_gives_away(lasso):
    assert lasso.disclosure.iterates == 0
    assert lasso.disclosure.parameters == 4
