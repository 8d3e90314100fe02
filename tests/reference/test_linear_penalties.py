"""Ridge and lasso paths of parties against scikit-learn on all rows, with the same folds.

scikit-learn's descent ends at its own ``tol``, set to 1e-14.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_regression
from sklearn.linear_model import ElasticNet, LassoCV, Ridge, RidgeCV
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sottovoce as sv
from sottovoce.statistics.linear.folds import fold_of

NETWORK = sv.Network.ring(4)
CLOSE = 1e-12
RIDGE, LASSO = (1000.0, 30.0, 1.0, 0.01), (20.0, 3.0, 0.3, 0.01)


def diabetes():
    return load_diabetes(return_X_y=True, scaled=False)


def many_columns():
    """More columns than matter, of sizes from 1e-2 to 1e2."""
    X, y = make_regression(120, 12, n_informative=4, noise=20, random_state=3)
    return X * np.logspace(-2, 2, 12), y


def rare():
    """A column that is 0 but in two equal rows, which share a fold: it does not vary in one of the training sets."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=(60, 2)), np.zeros(60)])
    X[[7, 50]] = [0.5, -0.5, 1.0]
    y = X @ [10.0, 0.0, 30.0] + rng.normal(size=60)
    y[[7, 50]] = 40.0
    return X, y


DATA = (diabetes, many_columns, rare)


def shards(X, y):
    cuts = (2, 2, len(y) // 3)
    return list(zip(np.split(X, cuts), np.split(y, cuts), strict=True))


def estimator(model, standardize):
    return make_pipeline(StandardScaler(), model) if standardize else make_pipeline(model)


def expected(model, X, y, folds, standardize):
    """Parameters from all rows, and the mean squared error in every fold."""
    fit = estimator(model, standardize).fit(X, y)
    slopes = fit[-1].coef_ / (fit[0].scale_ if standardize else 1.0)
    intercept = fit[-1].intercept_ - (slopes @ fit[0].mean_ if standardize else 0.0)
    errors = []
    for k in range(folds.max() + 1):
        fit = estimator(model, standardize).fit(X[folds != k], y[folds != k])
        errors.append(np.mean((y[folds == k] - fit.predict(X[folds == k])) ** 2))
    return np.append(intercept, slopes), errors


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("data", DATA)
def test_ridge(data, standardize):
    X, y = data()
    fit = sv.private_ridge(
        NETWORK, shards(X, y), penalties=RIDGE, folds=3, standardize=standardize,
    )  # fmt: skip
    folds = fold_of(np.column_stack([X, y]), 3)
    assert fit.fold_sizes.tolist() == np.bincount(folds).tolist()
    assert fit.penalties.tolist() == list(RIDGE)
    for place, penalty in enumerate(RIDGE):
        params, errors = expected(Ridge(alpha=penalty, solver="svd"), X, y, folds, standardize)
        np.testing.assert_allclose(fit.path[place], params, rtol=CLOSE, atol=CLOSE * np.abs(params).max())
        np.testing.assert_allclose(fit.cv_errors[place], errors, rtol=CLOSE)
    np.testing.assert_allclose(fit.cv_mean, fit.cv_errors.mean(axis=1))
    assert fit.best == fit.cv_mean.argmin()


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("data", DATA)
def test_lasso(data, standardize, l1_ratio):
    X, y = data()
    fit = sv.private_lasso(
        NETWORK, shards(X, y), penalties=LASSO, folds=3, standardize=standardize, l1_ratio=l1_ratio, fold_seed=5,
    )  # fmt: skip
    folds = fold_of(np.column_stack([X, y]), 3, 5)
    for place, penalty in enumerate(LASSO):
        model = ElasticNet(alpha=penalty, l1_ratio=l1_ratio, tol=1e-14, max_iter=10**6)
        params, errors = expected(model, X, y, folds, standardize)
        np.testing.assert_allclose(fit.path[place], params, rtol=CLOSE, atol=CLOSE * np.abs(params).max())
        assert ((fit.path[place] != 0) == (params != 0)).all()
        np.testing.assert_allclose(fit.cv_errors[place], errors, rtol=CLOSE)
    names = np.array(fit.terms[1:])
    assert fit.selected == tuple(names[fit.path[fit.best, 1:] != 0])


def test_choices_of_scikit_learn():
    """RidgeCV and LassoCV with the same folds choose the same penalties."""
    X, y = diabetes()
    split = PredefinedSplit(fold_of(np.column_stack([X, y]), 4))
    options = {"folds": 4, "standardize": False}
    penalties = np.logspace(-2, 3, 12)
    ridge = RidgeCV(penalties, cv=split, scoring="neg_mean_squared_error").fit(X, y)
    found = sv.private_ridge(NETWORK, shards(X, y), penalties=penalties.tolist(), **options)
    assert found.penalty == ridge.alpha_
    np.testing.assert_allclose(found.cv_mean[found.best], -ridge.best_score_, rtol=CLOSE)
    lasso = LassoCV(alphas=penalties, cv=split, tol=1e-12, max_iter=10**6).fit(X, y)
    found = sv.private_lasso(NETWORK, shards(X, y), penalties=penalties.tolist(), **options)
    assert found.penalty == lasso.alpha_
    np.testing.assert_allclose(found.cv_mean, lasso.mse_path_.mean(axis=1), rtol=CLOSE)
    np.testing.assert_allclose(found.cv_std, lasso.mse_path_.std(axis=1), rtol=10 * CLOSE)
    # the largest penalty within one standard error, from scikit-learn's numbers
    mean, se = lasso.mse_path_.mean(axis=1), lasso.mse_path_.std(axis=1, ddof=1) / 2
    assert found.best_1se == int(np.flatnonzero(mean <= mean.min() + se[mean.argmin()])[0])


def test_without_an_intercept():
    X, y = many_columns()
    y = y + 50  # so that it matters
    folds = fold_of(np.column_stack([X, y]), 3)
    options = {"penalties": [5.0, 0.5], "intercept": False, "standardize": False, "folds": 3}
    ridge, lasso = (ask(NETWORK, shards(X, y), **options) for ask in (sv.private_ridge, sv.private_lasso))
    for place, penalty in enumerate((5.0, 0.5)):
        for found, model in (
            (ridge, Ridge(alpha=penalty, fit_intercept=False, solver="svd")),
            (lasso, ElasticNet(alpha=penalty, l1_ratio=1.0, fit_intercept=False, tol=1e-14, max_iter=10**6)),
        ):
            params = model.fit(X, y).coef_
            np.testing.assert_allclose(found.path[place], params, rtol=CLOSE, atol=CLOSE * np.abs(params).max())
            for k in range(3):
                inside = folds == k
                left = y[inside] - X[inside] @ model.fit(X[~inside], y[~inside]).coef_
                np.testing.assert_allclose(found.cv_errors[place, k], np.mean(left**2), rtol=CLOSE)
