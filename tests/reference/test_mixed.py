"""The mixed model against a profile likelihood with dense matrices, and against statsmodels' ``MixedLM``."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.optimize import brentq

import sottovoce as sv

CLOSE = 1e-11  # relative; of this the dense matrices have their share


class Dense:
    """``V`` as a matrix, party by party; the best ratio on a fine grid, and from there by the root of the slope."""

    def __init__(self, X, y, reml):
        self.parts = [(a, b) for a, b in zip(X, y, strict=True) if len(b)]
        self.reml, self.p = reml, X[0].shape[1]
        self.df = sum(len(b) for _, b in self.parts) - self.p * reml
        places = np.linspace(-20, 10, 61)
        best = int(np.argmax([self.at(np.exp(x))["llf"] for x in places]))
        self.theta = 0.0
        if best and self.at(np.exp(places[best]))["llf"] > self.at(0.0)["llf"]:
            self.theta = np.exp(brentq(self.slope, places[best - 1], places[best + 1], xtol=1e-13, rtol=1e-14))

    def at(self, theta):
        inverse = [np.linalg.inv(np.eye(len(y)) + theta) for _, y in self.parts]
        A = sum(X.T @ V @ X for (X, _), V in zip(self.parts, inverse, strict=True))
        beta = np.linalg.solve(A, sum(X.T @ V @ y for (X, y), V in zip(self.parts, inverse, strict=True)))
        left = [y - X @ beta for X, y in self.parts]
        scale = sum(r @ V @ r for r, V in zip(left, inverse, strict=True)) / self.df
        logs = -sum(np.linalg.slogdet(V)[1] for V in inverse) + self.reml * np.linalg.slogdet(A)[1]
        llf = -(self.df * (np.log(2 * np.pi * scale) + 1) + logs) / 2
        return {"params": beta, "scale": scale, "covariance": scale * np.linalg.inv(A), "llf": llf, "inverse": inverse}

    def slope(self, x):
        found = self.at(np.exp(x))
        total = 0.0
        for (X, y), V in zip(self.parts, found["inverse"], strict=True):
            v = V.sum(axis=0)
            total += (v @ (y - X @ found["params"])) ** 2 / found["scale"] - v.sum()
            total += self.reml * (v @ X) @ found["covariance"] @ (v @ X) / found["scale"]
        return total


def grunfeld():
    """A panel: every firm is a party."""
    frame = sm.datasets.grunfeld.load_pandas().data
    schema = {name: {"type": "number", "range": (0, 8000)} for name in ("invest", "value", "capital")}
    shards = [part for _, part in frame.groupby("firm")]
    return shards, schema, "invest ~ value + capital", ["value", "capital"], "invest"


def engel():
    """Shards of very different sizes by income: what is left of the differences is small."""
    frame = sm.datasets.engel.load_pandas().data.sort_values("income")
    schema = {"income": {"type": "number", "range": (0, 5000)}, "foodexp": {"type": "number", "range": (0, 3000)}}
    return (
        [frame.iloc[:4], frame.iloc[4:20], frame.iloc[:0], frame.iloc[20:]],
        schema,
        "foodexp ~ income",
        ["income"],
        "foodexp",
    )


def made():
    """Sixteen small parties and a large one in the middle, at which 0 is a maximum too; a level absent at the first."""
    rng = np.random.default_rng(9)
    shards = []
    for k, n in enumerate([150, 0, *[4] * 16]):
        x, arm = rng.normal(30, 2, n), rng.choice(["a", "b"], n) if k != 2 else np.full(n, "a")
        y = 5 + 0.5 * x + (arm == "b") + (1.5 * rng.normal() if k else 0.0) + rng.normal(size=n)
        shards.append(pd.DataFrame({"x": x, "arm": arm, "y": y, "arm[T.b]": (arm == "b") * 1.0}))
    schema = {"x": {"type": "number", "range": (0, 60)}, "y": {"type": "number", "range": (-50, 100)}}
    schema["arm"] = {"type": "category", "levels": ["a", "b"]}
    return shards, schema, "y ~ x + arm", ["x", "arm[T.b]"], "y"


def shifted(seed):
    """Four small parties at which two columns have other means: slopes between parties are not those within."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(4, 2)) * rng.choice([1, 5])
    levels, shards = rng.normal(size=4) * rng.choice([0.3, 1]), []
    for n, mean, level in zip((6, 3, 10, 4), means, levels, strict=True):
        x = (rng.normal(size=(n, 2)) + mean).round(2)
        y = (1 + x @ [1, -1] + level + rng.normal(size=n)).round(2)
        shards.append(pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "y": y}))
    return shards


@pytest.mark.parametrize(
    ("method", "seed"),
    [
        ("reml", 240),  # with slopes as they are it falls from 0 everywhere, and rises as they are not
        ("reml", 104),
        ("reml", 19),  # with the slopes of all rows alike it only falls; with those within parties there is a maximum
        ("ml", 12),
    ],
)
def test_maxima_that_are_not_seen_from_0(method, seed):
    shards = shifted(seed)
    schema = dict.fromkeys("xzy", "number")
    fit = sv.Study(sv.Network.ring(4), shards, schema=schema).mixed("y ~ x + z", method=method)
    X = [np.column_stack([np.ones(len(part)), part[["x", "z"]]]) for part in shards]
    dense = Dense(X, [part["y"].to_numpy() for part in shards], method == "reml")
    assert dense.theta > 0.1
    assert dense.at(dense.theta)["llf"] > dense.at(0.0)["llf"] + 0.1
    assert fit.tau2 / fit.scale == pytest.approx(dense.theta, rel=CLOSE)
    assert fit.llf == pytest.approx(dense.at(dense.theta)["llf"], rel=1e-13)


@pytest.mark.parametrize(("method", "seed"), [("ml", 75), ("ml", 217), ("reml", 353)])
def test_a_maximum_above_0_that_is_lower_than_0_is_left(method, seed):
    """Parties climb to it, and then compare: no variance between them explains more."""
    shards = shifted(seed)
    fit = sv.Study(sv.Network.ring(4), shards, schema=dict.fromkeys("xzy", "number")).mixed("y ~ x + z", method=method)
    X = [np.column_stack([np.ones(len(part)), part[["x", "z"]]]) for part in shards]
    dense = Dense(X, [part["y"].to_numpy() for part in shards], method == "reml")
    slopes = np.array([dense.slope(x) for x in np.linspace(-6, 6, 61)])
    assert ((slopes[:-1] > 0) & (slopes[1:] < 0)).any()  # there is one
    assert dense.theta == fit.tau2 == 0
    assert fit.at_boundary
    assert fit.llf == pytest.approx(dense.at(0.0)["llf"], rel=1e-13)


@pytest.mark.parametrize("method", ["reml", "ml"])
@pytest.mark.parametrize("data", [grunfeld, engel, made])
def test_estimates_variances_and_likelihood(data, method):
    shards, schema, formula, names, response = data()
    fit = sv.Study(sv.Network.ring(len(shards)), shards, schema=schema).mixed(formula, method=method)
    X = [np.column_stack([np.ones(len(part)), part[names].to_numpy(float)]) for part in shards]
    dense = Dense(X, [part[response].to_numpy(float) for part in shards], method == "reml")
    expected = dense.at(dense.theta)
    assert dense.theta > 0
    assert fit.tau2 / fit.scale == pytest.approx(dense.theta, rel=CLOSE)
    assert fit.scale == pytest.approx(expected["scale"], rel=CLOSE)
    assert fit.icc == pytest.approx(dense.theta / (1 + dense.theta), rel=CLOSE)
    np.testing.assert_allclose(fit.params, expected["params"], rtol=CLOSE)
    np.testing.assert_allclose(fit.bse, np.sqrt(np.diag(expected["covariance"])), rtol=CLOSE)
    assert fit.llf == pytest.approx(expected["llf"], rel=1e-13)
    assert fit.llf_pooled == pytest.approx(dense.at(0.0)["llf"], rel=1e-13)
    assert (fit.nobs, fit.groups) == (sum(map(len, shards)), sum(len(part) > 0 for part in shards))

    frame = pd.concat(shards)
    group = np.repeat(np.arange(len(shards)), [len(part) for part in shards])
    model = sm.MixedLM(frame[response].to_numpy(), np.concatenate(X), group)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pooled = model.fit(reml=method == "reml", method=["bfgs", "powell"])
    # its optimum is as loose as values of the likelihood leave it, and its likelihood is not
    assert fit.llf == pytest.approx(pooled.llf, rel=1e-6)
    assert fit.llf >= pooled.llf - 1e-6
    np.testing.assert_allclose(fit.params, pooled.fe_params, rtol=1e-3)
    assert fit.scale == pytest.approx(pooled.scale, rel=1e-3)
    assert fit.tau2 == pytest.approx(pooled.cov_re[0, 0], rel=2e-2)
    if method == "ml":
        assert fit.aic == pytest.approx(pooled.aic, rel=1e-6)
        assert fit.bic == pytest.approx(pooled.bic, rel=1e-6)
    np.testing.assert_allclose(fit.predict(frame), np.concatenate(X) @ fit.params, rtol=1e-13)


def test_errors_are_those_of_the_fixed_effects_of_statsmodels():
    """``MixedLM.bse_fe`` is of all parameters together; the block of the fixed effects alone is what mixed models
    commonly report. Its own ratio is taken, so that nothing is left of its optimum."""
    shards, _, _, names, response = grunfeld()
    frame = pd.concat(shards)
    model = sm.MixedLM(frame[response], sm.add_constant(frame[names]), frame["firm"])
    pooled = model.fit(method=["bfgs", "powell"])
    X = [np.column_stack([np.ones(len(part)), part[names].to_numpy(float)]) for part in shards]
    dense = Dense(X, [part[response].to_numpy(float) for part in shards], reml=True)
    expected = dense.at(pooled.cov_re.to_numpy()[0, 0] / pooled.scale)
    np.testing.assert_allclose(pooled.fe_params, expected["params"], rtol=1e-9)
    assert pooled.llf == pytest.approx(expected["llf"], rel=1e-10)
    hessian = model.hessian(pooled.params_object)[0][:3, :3]
    np.testing.assert_allclose(np.linalg.inv(-hessian), expected["covariance"], rtol=1e-6)
