"""Private estimators against scikit-learn's own, on the rows of all parties in one place.

Sums are exact, so what they differ by is rounding: their own of the last steps, and scikit-learn's of all. It is below
``CLOSE`` of the largest number of a kind, as the conditions of these models are moderate. scikit-learn's iterations end
at ``EXACT``.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets, linear_model
from sklearn.decomposition import PCA

from sottovoce.sklearn import (
    PrivateLasso,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivatePoissonRegressor,
    PrivateRidge,
)

CLOSE, EXACT = 1e-12, 1e-13


def diabetes():
    return datasets.load_diabetes(return_X_y=True, scaled=False)


def linnerud():
    X, y = datasets.load_linnerud(return_X_y=True)
    return X, y[:, 0]


def wine():
    X, _ = datasets.load_wine(return_X_y=True)
    return X[:, 1:], X[:, 0]


def generated():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(90, 5)) * [1.0, 20.0, 0.02, 1.0, 1.0] + [0.0, 100.0, 0.0, 0.0, 5.0]
    return X, X @ [1.0, 0.1, 30.0, 0.0, 0.0] + rng.normal(size=90)


def shared_out(rows):
    """Groups of very different sizes: 2 rows, a tenth, the rest; rows of a party are not together."""
    groups = np.full(rows, "the rest")
    groups[:: max(10, rows // 30)] = "a tenth"
    groups[[3, rows // 2]] = "two"
    return groups


def close(found, expected, size=0.0, name=""):
    """``size``: of numbers of which these are differences."""
    largest = max(size, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=CLOSE, atol=CLOSE * largest, err_msg=name)


def equal(private, own, *names, size=0.0):
    for name in names:
        close(getattr(private, name), np.asarray(getattr(own, name)), size, name)


TABLES = [diabetes, linnerud, wine, generated]


@pytest.mark.parametrize("data", TABLES)
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares(data, intercept):
    X, y = data()
    weights = 1.0 + np.arange(len(y)) % 4
    for given in (None, weights):
        private = PrivateLinearRegression(fit_intercept=intercept)
        private.fit(X, y, groups=shared_out(len(y)), sample_weight=given)
        own = linear_model.LinearRegression(fit_intercept=intercept).fit(X, y, sample_weight=given)
        equal(private, own, "coef_")
        equal(private, own, "intercept_", size=np.abs(y).max())
        close(private.predict(X), own.predict(X))
        assert private.score(X, y) == pytest.approx(own.score(X, y), rel=CLOSE)


@pytest.mark.parametrize("data", TABLES)
@pytest.mark.parametrize("alpha", [0.01, 10.0])
def test_ridge(data, alpha):
    X, y = data()
    private = PrivateRidge(alpha).fit(X, y, groups=shared_out(len(y)))
    equal(private, linear_model.Ridge(alpha, solver="svd").fit(X, y), "coef_", "intercept_")


@pytest.mark.parametrize("data", TABLES)
@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_lasso(data, alpha):
    X, y = data()
    private = PrivateLasso(alpha).fit(X, y, groups=shared_out(len(y)))
    own = linear_model.Lasso(alpha, tol=1e-14, max_iter=1_000_000).fit(X, y)
    equal(private, own, "coef_", "intercept_")
    assert ((private.coef_ == 0) == (own.coef_ == 0)).all()


def cancer():
    """Thirty columns of very different sizes that separate the classes nearly."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return X, np.where(y == 1, "benign", "malignant")


def two_wines():
    X, y = datasets.load_wine(return_X_y=True)
    X = X[y < 2]
    return X / X.max(axis=0), y[y < 2]


def rare():
    """One class is rare, and one column hangs on the others."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    X = np.column_stack([X, X.sum(axis=1)])
    return X, rng.random(300) < 1 / (1 + np.exp(3 - X[:, 0]))


@pytest.mark.parametrize("data", [cancer, two_wines, rare])
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_logistic_regression(data, C):
    X, y = data()
    weights = 1.0 + np.arange(len(y)) % 3
    private = PrivateLogisticRegression(C)
    own = linear_model.LogisticRegression(C=C, solver="newton-cholesky", tol=EXACT, max_iter=1000)
    for given in (None, weights):
        private.fit(X, y, groups=shared_out(len(y)), sample_weight=given)
        own.fit(X, y, sample_weight=given)
        equal(private, own, "coef_", "intercept_")
    assert private.classes_.tolist() == own.classes_.tolist()
    close(private.decision_function(X), own.decision_function(X))
    close(private.predict_proba(X), own.predict_proba(X))
    log_odds = own.decision_function(X)  # scikit-learn's logarithms are -inf where 1 - p rounds to 0
    log_proba = -np.logaddexp(0, np.column_stack([log_odds, -log_odds]))
    close(private.predict_log_proba(X), log_proba)
    assert (private.predict(X) == own.predict(X)).all()
    assert private.score(X, y) == own.score(X, y)


def irises():
    X, y = datasets.load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def three_wines():
    return datasets.load_wine(return_X_y=True)


def four():
    """Four classes, one of them rare, in which no column separates any."""
    rng = np.random.default_rng(8)
    X = rng.normal([0.0, 2.0, 0.0], size=(250, 3))
    return X, np.digitize(X[:, 0] + rng.logistic(size=250), [-1.0, 0.5, 3.5])


@pytest.mark.parametrize("data", [irises, three_wines, four])
@pytest.mark.parametrize(("C", "intercept"), [(0.05, True), (1.0, True), (1.0, False)])
def test_logistic_regression_of_several_classes(data, C, intercept):
    X, y = data()
    private = PrivateLogisticRegression(C, fit_intercept=intercept)
    own = linear_model.LogisticRegression(
        C=C, fit_intercept=intercept, solver="newton-cholesky", tol=EXACT, max_iter=1000
    )
    for given in (1.0 + np.arange(len(y)) % 3, None):
        private.fit(X, y, groups=shared_out(len(y)), sample_weight=given)
        own.fit(X, y, sample_weight=given)
        equal(private, own, "coef_", "intercept_")
    close(private.predict_proba(X), own.predict_proba(X))
    scores = own.decision_function(X)  # nothing but rounding makes those of a row sum to 0 there
    products = np.abs(X) @ np.abs(own.coef_.T)
    close(private.decision_function(X), scores - scores.mean(axis=1, keepdims=True), products.max())
    assert (private.predict(X) == own.predict(X)).all()
    assert private.classes_.tolist() == own.classes_.tolist()


def test_several_classes_without_a_penalty_have_errors():
    sm = pytest.importorskip("statsmodels.api")
    X, y = four()
    private = PrivateLogisticRegression(np.inf).fit(X, y, groups=shared_out(len(y))).result_
    own = sm.MNLogit(y, sm.add_constant(X)).fit(method="newton", tol=1e-14, maxiter=100, disp=False)
    close(private.coefficients, own.params)
    np.testing.assert_allclose(private.bse, own.bse.T.ravel(), rtol=CLOSE)
    assert private.llf == pytest.approx(own.llf, rel=CLOSE)
    shares = np.bincount(y) / len(y)
    assert private.llnull == pytest.approx(len(y) * (shares * np.log(shares)).sum(), rel=CLOSE)
    assert private.counts.tolist() == np.bincount(y).tolist()


def test_logistic_regression_without_a_penalty_has_errors():
    X, y = rare()
    private = PrivateLogisticRegression(np.inf).fit(X[:, :3], y, groups=shared_out(len(y)))
    own = linear_model.LogisticRegression(C=np.inf, solver="newton-cholesky", tol=EXACT).fit(X[:, :3], y)
    equal(private, own, "coef_", "intercept_")
    assert np.isfinite(private.result_.bse).all()
    assert np.isnan(PrivateLogisticRegression(1.0).fit(X, y).result_.bse).all()


def test_logistic_regression_without_an_intercept():
    X, y = two_wines()
    private = PrivateLogisticRegression(fit_intercept=False).fit(X, y, groups=shared_out(len(y)))
    own = linear_model.LogisticRegression(fit_intercept=False, solver="newton-cholesky", tol=EXACT).fit(X, y)
    equal(private, own, "coef_", "intercept_")


def counts():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1]
    return X, rng.poisson(np.exp(X @ [0.4, -0.05, 2.0])).astype(float), None


def rates():
    """Counts per exposure, which weighs them: many are 0, and none is whole."""
    rng = np.random.default_rng(6)
    X, exposure = rng.uniform(size=(250, 2)), rng.uniform(0.05, 3.0, size=250)
    return X, rng.poisson(0.4 * exposure * np.exp(X[:, 0])) / exposure, exposure


def progress():
    X, y = datasets.load_diabetes(return_X_y=True)
    return 10 * X, y / 7, None


@pytest.mark.parametrize("data", [counts, rates, progress])
@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
def test_poisson_regression(data, alpha):
    X, y, weights = data()
    private = PrivatePoissonRegressor(alpha).fit(X, y, groups=shared_out(len(y)), sample_weight=weights)
    own = linear_model.PoissonRegressor(alpha=alpha, solver="newton-cholesky", tol=EXACT, max_iter=1000)
    own.fit(X, y, sample_weight=weights)
    equal(private, own, "coef_", "intercept_")
    np.testing.assert_allclose(private.predict(X), own.predict(X), rtol=CLOSE)
    assert private.score(X, y, weights) == pytest.approx(own.score(X, y, weights), rel=CLOSE)


@pytest.mark.parametrize("data", TABLES)
def test_principal_components(data):
    X, _ = data()
    private = PrivatePCA().fit(X, groups=shared_out(len(X)))
    own = PCA(svd_solver="full").fit(X)
    equal(private, own, "mean_", "singular_values_", "explained_variance_", "explained_variance_ratio_")
    # Of components only the first are told apart well: their variances are far from each other.
    close(private.components_[:2], own.components_[:2])
    close(private.transform(X)[:, :2], own.transform(X)[:, :2])
    assert private.n_components_ == own.n_components_
