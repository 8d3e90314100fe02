"""Private statistics against pooled rows, with the formulas written out.

``CONVERGED`` leaves ``tol (2 |x| + |x - s|) <= 3 tol M`` open in an agreed number, with ``M`` the largest contribution,
and rounding at the mask's grid leaves ``12 grid`` (``agreements.resolution``). Tolerances are made from these.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sottovoce as sv
from sottovoce.errors import InvalidInput

TOL = 1e-9
SCHEDULES = [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.7)]


def open_in(result, k):
    """What run ``k`` leaves open in an entry, in units of ``scale``."""
    contributions = np.abs(result.problems[k].groups[0][1].s).max()
    return 3 * TOL * contributions + 12 * result.masks[k].grid


@pytest.fixture
def rows(rng, network):
    """Parties of different sizes, means and spreads, one of them without rows."""
    sizes = rng.integers(1, 40, size=network.n)
    sizes[3] = 0
    mixing = rng.normal(size=(3, 3))
    return [(1 + rng.random()) * rng.normal(size=(k, 3)) @ mixing + rng.normal(size=3) for k in sizes]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: type(schedule).__name__)
@pytest.mark.parametrize("scale", [None, [1.0, 2.0, 5.0]])
def test_moments(network, rows, schedule, scale):
    unit = np.ones(3) if scale is None else np.array(scale)
    pooled = np.concatenate(rows)
    options = {"scale": scale, "schedule": schedule, "tol": TOL}
    covariance = sv.private_covariance(network, rows, **options)
    variance = sv.private_variance(network, rows, ddof=0, **options)
    mean = sv.private_mean(network, rows, **options)
    assert covariance.observations == variance.observations == mean.observations == len(pooled)
    spread = (pooled / unit).std(axis=0).max()
    for result in (covariance, variance, mean):
        off_mean = open_in(result, 1)
        assert (np.abs(result.mean - pooled.mean(axis=0)) <= off_mean * unit).all()
    # A party centres by its own mean, off by off_mean: sum_i |off_mean sum (x - m)| / N, twice, adds to the moments.
    for result, expected, units in (
        (covariance, np.cov(pooled.T), np.outer(unit, unit)),
        (variance, pooled.var(axis=0), unit**2),
    ):
        off = open_in(result, 2) + 2 * open_in(result, 1) * spread
        value = result.covariance if result is covariance else result.variance
        assert (np.abs(value - expected) <= 1.01 * off * units).all()
    # A correlation changes by at most 2 off/variance in each of its factors.
    worst = 4 * open_in(covariance, 2) / ((pooled / unit).var(axis=0).min())
    np.testing.assert_allclose(covariance.correlation, np.corrcoef(pooled.T), atol=worst)


def test_two_passes_keep_digits_that_one_would_lose(network, rng):
    """Mean 1, spread 1e-2: ``E[x^2] - E[x]^2`` of numbers that are right to ``off`` is right to ``3 off``."""
    values = [1 + 1e-2 * rng.normal(size=20) for _ in range(network.n)]
    pooled = np.concatenate(values)
    result = sv.private_variance(network, values, tol=TOL)
    off = open_in(result, 1)
    assert abs(result.variance - pooled.var(ddof=1)) <= open_in(result, 2) + 2.02 * off * pooled.std()
    assert open_in(result, 2) + 2.02 * off * pooled.std() < 3 * off / 5


def pooled_regression(shards, weights, intercept, ridge=0.0):
    """The classical formulas, on all rows at once."""
    A, b, w = (np.concatenate(part) for part in (*zip(*shards, strict=True), weights))
    X = np.column_stack([np.ones(len(A)), A]) if intercept else A
    root = np.sqrt(w)
    penalty = np.sqrt(ridge) * np.eye(X.shape[1])[int(intercept) :]
    design = np.concatenate([X * root[:, None], penalty])
    beta = np.linalg.lstsq(design, np.concatenate([b * root, np.zeros(len(penalty))]), rcond=None)[0]
    df = len(b) - X.shape[1]
    rss = w @ (b - X @ beta) ** 2
    centre = (w @ b) / w.sum() if intercept else 0.0
    r_squared = 1 - rss / (w @ (b - centre) ** 2)
    errors = np.sqrt(rss / df * np.diag(np.linalg.inv(X.T @ (w[:, None] * X))))
    t = beta / errors
    reach = stats.t.ppf(0.95, df) * errors
    return {
        "parameters": beta,
        "observations": len(b),
        "degrees_of_freedom": df,
        "residual_variance": rss / df,
        "r_squared": r_squared,
        "adjusted_r_squared": 1 - (1 - r_squared) * (len(b) - intercept) / df,
        "standard_errors": errors,
        "t_values": t,
        "p_values": 2 * stats.t.sf(np.abs(t), df),
        "interval": np.column_stack([beta - reach, beta + reach]),
    }


def relative_error(result, A, w, unit):
    """A bound on ``|d beta| / |beta|`` in units of ``scale``: ``d |dS| / lambda_min``, for matrix and right side."""
    X = A / unit[:-1]
    if result.fitted_intercept:
        X = X - (w @ X) / w.sum()
    S = X.T @ (w[:, None] * X) / len(X)
    entry = open_in(result, -2) + (2 * open_in(result, 1) * np.sqrt(np.diag(S).max()) if result.fitted_intercept else 0)
    return 2 * len(S) * entry / np.linalg.eigvalsh(S)[0]


@pytest.fixture
def regression(rng, network):
    """Correlated columns with an offset, of different sizes, heteroscedastic; one party has no rows."""
    sizes = rng.integers(2, 30, size=network.n)
    sizes[5] = 0
    shards, weights = [], []
    for k in sizes:
        A = (rng.normal(size=(k, 3)) @ np.array([[1, 0.6, 0], [0, 0.8, 0.3], [0, 0, 0.9]]) + [1, 0, 2]) * [1, 10, 0.1]
        w = rng.uniform(0.3, 3, size=k)
        shards.append((A, 3 + A @ [1.0, -0.2, 5.0] + rng.normal(size=k) / np.sqrt(w)))
        weights.append(w)
    return shards, weights


UNIT = np.array([1.0, 10.0, 0.1, 2.0])


def check_parameters(result, shards, weights, expected):
    """Coefficients and intercept against a bound of their error; returns it, and what it is made of."""
    A, w = np.concatenate([A for A, _ in shards]), np.concatenate(weights)
    slopes = expected[int(result.fitted_intercept) :]
    rel, size = relative_error(result, A, w, UNIT), np.linalg.norm(slopes * UNIT[:3])
    assert rel < 1e-5  # else the comparison would say little
    off = rel * size / UNIT[:3]
    assert (np.abs(result.coefficients - slopes) <= off).all()
    if result.fitted_intercept:
        # mean of b less means of A times slopes, where means are off by what run 1 leaves open, twice with weights.
        means = 2 * open_in(result, 1) * (UNIT[3] + np.abs(slopes) @ UNIT[:3])
        assert abs(result.intercept - expected[0]) <= off @ np.abs(w @ A / w.sum()) + means
    # RSS is off by what its run leaves open, and by residuals that are off by at most off |x| at each party.
    residual = np.sqrt(result.residual_sum_of_squares / result.observations)
    rss = open_in(result, -1) * UNIT[3] ** 2 + 2 * residual * off @ np.abs(A).max(axis=0)
    return rel + rss / residual**2


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_regression(network, regression, intercept, weighted):
    shards, weights = regression
    given = weights if weighted else None
    result = sv.private_least_squares(network, shards, weights=given, intercept=intercept, scale=UNIT, tol=TOL)
    weights = weights if weighted else [np.ones(len(b)) for _, b in shards]
    expected = pooled_regression(shards, weights, intercept)
    off = check_parameters(result, shards, weights, expected["parameters"])
    for name in ("observations", "degrees_of_freedom"):
        assert getattr(result, name) == expected[name]
    for name in ("residual_variance", "standard_errors"):
        np.testing.assert_allclose(getattr(result, name), expected[name], rtol=off)
    for name in ("r_squared", "adjusted_r_squared"):
        np.testing.assert_allclose(getattr(result, name), expected[name], atol=off)
    # The rest is made of parameters and standard errors: it is as far off as these are, by its own formula.
    moved = np.abs(result.parameters - expected["parameters"])
    stretched = np.abs(result.standard_errors - expected["standard_errors"])
    t_off = (moved + np.abs(expected["t_values"]) * stretched) / expected["standard_errors"]
    assert (np.abs(result.t_values - expected["t_values"]) <= 1.01 * t_off + 1e-12).all()
    # The density of t is below 0.4, on both sides; its quantile at 0.95 is below 2.
    assert (np.abs(result.p_values - expected["p_values"]) <= 0.8 * t_off + 1e-12).all()
    ends = np.abs(result.confidence_interval(0.9) - expected["interval"])
    assert (ends.max(axis=1) <= moved + 2 * stretched + 1e-12).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_leaves_the_intercept_alone(network, regression, intercept):
    shards, weights = regression
    result = sv.private_least_squares(
        network, shards, ridge=4.0, weights=weights, intercept=intercept, scale=UNIT, tol=TOL
    )
    expected = pooled_regression(shards, weights, intercept, ridge=4.0)
    off = check_parameters(result, shards, weights, expected["parameters"])
    assert result.r_squared == pytest.approx(expected["r_squared"], abs=off)
    plain = pooled_regression(shards, weights, intercept)["parameters"]
    assert np.abs(result.parameters - plain).max() > 1e-2  # the penalty does something


def test_nearly_dependent_columns_keep_the_digits_that_are_promised(network, rng):
    """The accuracy falls with the condition number, as the bound says, and what falls below two digits is refused."""
    base = [rng.normal(size=(30, 2)) for _ in range(network.n)]
    noise = [rng.normal(size=30) for _ in range(network.n)]

    def nearly(gap):
        columns = [np.column_stack([z[:, 0], z[:, 0] + gap * z[:, 1]]) for z in base]
        return [(A, z[:, 0] - z[:, 1] + e) for A, z, e in zip(columns, base, noise, strict=True)]

    for gap in (1.0, 1e-1, 1e-2):
        shards = nearly(gap)
        result = sv.private_least_squares(network, shards, tol=TOL)
        X, ones = np.concatenate([A for A, _ in shards]), [np.ones(30)] * network.n
        expected = pooled_regression(shards, ones, True)["parameters"][1:]
        rel = relative_error(result, X, np.concatenate(ones), np.ones(3))
        # To the right-hand side of size 1 belong coefficients of at least 1.
        assert np.linalg.norm(result.coefficients - expected) <= rel * max(1.0, np.linalg.norm(expected))
        assert result.condition_number == pytest.approx(np.sqrt(np.linalg.cond(np.corrcoef(X.T))), rel=2 * rel)
    assert result.condition_number > 100
    with pytest.raises(InvalidInput, match="linearly dependent"):
        sv.private_least_squares(network, nearly(1e-3), tol=TOL)
    finer = sv.private_least_squares(network, nearly(1e-3), tol=1e-11, mask=sv.GaussianMask(1e6))
    assert finer.condition_number > 1000


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    values=st.lists(st.lists(st.floats(-10, 10), max_size=6), min_size=5, max_size=5).filter(any),
    edges=st.lists(st.integers(-8, 8), min_size=2, max_size=6, unique=True).map(sorted),
)
def test_histograms_are_exact(values, edges):
    result = sv.private_histogram(sv.Network.ring(5), values, bins=edges)
    pooled = np.concatenate([np.array(part, dtype=float) for part in values])
    np.testing.assert_array_equal(result.counts, np.histogram(pooled, edges)[0])
    assert result.below == sum(v < edges[0] for v in pooled)
    assert result.above == sum(v > edges[-1] for v in pooled)
    assert result.observations == len(pooled)
