"""Corners in which an answer was wrong, or a face of it broke."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput

NETWORK = sv.Network.ring(3)


def shards(X, y):
    return [(X[:20], y[:20]), (X[20:20], y[20:20]), (X[20:], y[20:])]


def test_components_of_equal_variances_stay_directions():
    """Every party has axes of its own in the plane of equal variances; none of them may become 0."""
    X = np.vstack([np.eye(4), -np.eye(4)] * 5)
    found = sv.private_pca(NETWORK, [X[:5], X[5:5], X[5:]])
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("robust", [None, "HC0"])
def test_a_perfect_fit_has_a_summary(robust):
    x = np.random.default_rng(0).normal(size=(30, 1)).round(2)
    fit = sv.private_linear(NETWORK, shards(x, (2 * x[:, 0] + 1).round(2)), robust=robust)
    assert (fit.fvalue, fit.f_pvalue) == (np.inf, 0.0)
    assert "inf" in str(fit.summary())
    assert json.dumps(fit.to_dict(), allow_nan=False)


def test_a_constant_column_is_left_out_by_every_model():
    """0.1 and 0.7 are no float64, and their sums are no multiples of them."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(2, 0.2, 30), np.full(30, 0.1), rng.normal(size=30)])
    y = rng.poisson(1, 30).astype(float)
    for ask, options in ((sv.private_linear, {}), (sv.private_lasso, {}), (sv.private_glm, {"family": "poisson"})):
        assert ask(NETWORK, shards(X, y), **options).aliased == ("x1",)
    X[:, 2] = 0.7
    assert sv.private_glm(NETWORK, shards(X, y), family="poisson").aliased == ("x1", "x2")


def test_everybody_leaves_at_once():
    schema = {"days": {"type": "integer", "range": (0, 9)}, "death": "boolean"}
    tables = [{"days": [0, 0], "death": [True, True]}, {"days": [0], "death": [True]}]
    curve = sv.Study(sv.Network.complete(2), tables, schema=schema).kaplan_meier("days", "death")
    assert curve.median.tolist() == [0.0]
    assert curve.restricted_mean()[0].tolist() == [0.0]
    assert "Kaplan-Meier" in curve.summary()


def test_a_ratio_of_nothing_has_no_interval_and_no_picture():
    def table(exposed, others):
        (a, b), (c, d) = exposed, others
        return {
            "drug": [True] * (a + b) + [False] * (c + d),
            "ill": [True] * a + [False] * b + [True] * c + [False] * d,
        }

    tables = [table((0, 20), (5, 40)), table((0, 3), (2, 9))]
    study = sv.Study(sv.Network.complete(2), tables, schema={"drug": "boolean", "ill": "boolean"})
    found = study.mantel_haenszel("drug", "ill")
    assert (found.odds_ratio, found.risk_ratio) == (0.0, 0.0)
    assert np.isnan(found.conf_int()).all()
    with pytest.raises(InvalidInput, match="there is nothing to plot"):
        found.plot()


def test_an_intercept_predicts_as_many_rows_as_there_are():
    schema = sv.Schema({"y~": "number", "x": "number"})
    tables = [{"y~": [1.0, 2.0, 4.0], "x": [1.0, 0.0, 2.0]}, {"y~": [3.0, 2.0], "x": [1.0, 1.0]}]
    study = sv.Study(sv.Network.complete(2), tables, schema=schema)
    for new in ({"x": [1.0, 0.0, 2.0]}, tables[0]):
        linear = study.linear("`y~` ~ 1").predict(new)
        poisson = study.glm("`y~` ~ 1", family="poisson").predict(new)
        np.testing.assert_allclose([linear, poisson], np.full((2, 3), 2.4))
    sloped = study.glm("`y~` ~ x", family="poisson")
    np.testing.assert_allclose(
        sloped.predict(tables[0]), np.exp(sloped.params[0] + sloped.params[1] * np.array([1.0, 0.0, 2.0]))
    )
