"""Generalised linear models with a ridge penalty: maxima by another method, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats

import sottovoce as sv
from sottovoce.errors import InvalidInput

RING = sv.Network.ring(3)
RIDGE = 2.5


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2)) * [1.0, 0.05]
    return X, rng.poisson(np.exp(0.5 * X[:, 0] + 0.3)).astype(float), rng.uniform(0.5, 2.0, size=80)


def parts(values):
    return np.split(values, [3, 20])


def shards(X, y):
    return list(zip(parts(X), parts(y), strict=True))


def maximum(log_likelihood, X):
    """Of ``log_likelihood(X b + a) - RIDGE |b|^2 / 2``, by SciPy."""

    def loss(theta):
        return RIDGE * theta[1:] @ theta[1:] / 2 - log_likelihood(X @ theta[1:] + theta[0])

    found = optimize.minimize(loss, np.zeros(X.shape[1] + 1), method="BFGS", options={"gtol": 1e-9})
    return found.x


def assert_stationary(fit, X, score):
    """``sum score(eta) x = RIDGE b`` at the estimates, whose digits BFGS does not have: ``score`` of a row about its
    linear predictor."""
    u = score(X @ fit.params[1:] + fit.params[0])
    size = np.abs(u) @ np.abs(X) + RIDGE * np.abs(fit.params[1:])
    assert (np.abs(u @ X - RIDGE * fit.params[1:]) <= 1e-13 * size).all()
    assert abs(u.sum()) <= 1e-13 * np.abs(u).sum()


def cloglog(eta):
    return -np.expm1(-np.exp(np.minimum(eta, 3.0)))


@pytest.mark.parametrize(("link", "p"), [("probit", stats.norm.cdf), ("cloglog", cloglog)])
def test_links(table, link, p):
    X, y, _ = table
    hit = (y > 1).astype(float)
    fit = sv.private_glm(RING, shards(X, hit), link=link, ridge=RIDGE)
    expected = maximum(lambda eta: special.xlogy(hit, p(eta)).sum() + special.xlog1py(1 - hit, -p(eta)).sum(), X)
    np.testing.assert_allclose(fit.params, expected, atol=1e-6)  # what BFGS leaves open


def test_offsets_and_a_shape(table):
    X, y, exposure = table

    def log_likelihood(eta):
        mean = exposure * np.exp(eta)
        return stats.nbinom.logpmf(y, 2.0, 1 / (1 + mean / 2.0)).sum()

    fit = sv.private_glm(
        RING, shards(X, y), family="negative_binomial", shape=0.5, exposure=parts(exposure), ridge=RIDGE
    )
    assert fit.traffic.agreements == 1 + fit.steps
    np.testing.assert_allclose(fit.params, maximum(log_likelihood, X), atol=1e-6)
    assert fit.llf == pytest.approx(
        log_likelihood(X @ fit.params[1:] + fit.params[0]), rel=1e-12
    )  # without the penalty
    assert_stationary(fit, X, lambda eta: (y - exposure * np.exp(eta)) / (1 + 0.5 * exposure * np.exp(eta)))


def test_units_of_a_column_are_those_of_the_penalty(table):
    """A column in units of a millionth has next to no coefficient, and a constant one none."""
    X, y, _ = table
    small = sv.private_glm(RING, shards(X * [1.0, 1e-6], y), family="poisson", ridge=RIDGE)
    without = sv.private_glm(RING, shards(X[:, :1], y), family="poisson", ridge=RIDGE)
    np.testing.assert_allclose(small.params, np.append(without.params, 0.0), atol=1e-6)
    constant = sv.private_glm(RING, shards(np.column_stack([X[:, 0], np.ones(80)]), y), family="poisson", ridge=RIDGE)
    np.testing.assert_allclose(constant.params, np.append(without.params, 0.0), atol=1e-14)


def test_more_columns_than_rows_and_columns_that_separate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 30))
    y = (X[:, 0] > 0).astype(float)
    fit = sv.private_glm(RING, shards(X, y), ridge=RIDGE)
    expected = maximum(lambda eta: -np.logaddexp(0, np.where(y == 1, -eta, eta)).sum(), X)
    np.testing.assert_allclose(fit.params, expected, atol=1e-6)
    assert_stationary(fit, X, lambda eta: y - special.expit(eta))
    with pytest.raises(InvalidInput, match="24 observations do not determine 31"):
        sv.private_glm(RING, shards(X, y))


def test_there_are_no_errors(table):
    X, y, _ = table
    fit = sv.private_glm(RING, shards(X, y), family="poisson", ridge=RIDGE)
    assert fit.ridge == RIDGE
    assert np.isnan(fit.bse).all()
    assert fit.to_dict()["bse"] == [None] * 3
    assert sv.private_glm(RING, shards(X, y), family="poisson").ridge == 0.0
    smaller = sv.private_glm(RING, shards(X[:, :1], y), family="poisson", names=["x0"])
    with pytest.raises(InvalidInput, match="ridge penalty"):
        fit.compare_lr(smaller)


def test_rates_need_a_dispersion(table):
    """As R's quasipoisson: fractions are no Poisson counts, but have means and variances."""
    X, y, exposure = table
    with pytest.raises(InvalidInput, match="whole numbers"):
        sv.private_glm(RING, shards(X, y / 2), family="poisson")
    with pytest.raises(InvalidInput, match="does not take"):
        sv.private_glm(RING, shards(X, y - 0.5), family="poisson", dispersion="pearson")
    rates = sv.private_glm(
        RING, shards(X, y / exposure), family="poisson", dispersion="pearson", weights=parts(exposure)
    )
    counts = sv.private_glm(RING, shards(X, y), family="poisson", dispersion="pearson", exposure=parts(exposure))
    np.testing.assert_allclose(rates.params, counts.params, rtol=1e-12)
    np.testing.assert_allclose(rates.bse, counts.bse, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ridge": -1.0}, "ridge must be a number >= 0; got -1.0"),
        ({"ridge": np.inf}, "ridge must be a number >= 0"),
        ({"ridge": "1"}, "ridge must be a number; got '1'"),
        ({"ridge": 1.0, "family": "gaussian"}, "ridge: family gaussian has a dispersion.*there is ridge regression"),
        ({"ridge": 1.0, "robust": "HC0"}, "robust: estimates with a ridge penalty have no standard errors"),
    ],
)
def test_what_is_refused(table, options, words):
    X, y, _ = table
    with pytest.raises(InvalidInput, match=words):
        sv.private_glm(RING, shards(X, y), **{"family": "poisson", **options})
