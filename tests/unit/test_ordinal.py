"""Ordinal regression: closed forms, links, cuts that stay in order, and sentences that name the column or the level."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.data.rows import ArrayRows
from sottovoce.errors import InvalidInput
from sottovoce.statistics.analyses import restored
from sottovoce.statistics.likelihood.columns import Columns
from sottovoce.statistics.models.ordinal import LINKS, Ordinal
from sottovoce.sums import Beyond

SCHEMA = sv.Schema(
    {
        "x": {"type": "number", "range": (-10, 10)},
        "same": {"type": "number", "range": (0, 10)},
        "y": {"type": "category", "levels": ["low", "middle", "high"], "reference": "middle"},
    }
)
DISTRIBUTIONS = {"logit": stats.logistic, "probit": stats.norm}


def tables(rng, y=None):
    found = []
    for n in (30, 0, 8, 50):
        x = rng.normal(size=n)
        own = np.array(SCHEMA["y"].levels)[np.digitize(x + rng.logistic(size=n), [-1, 1])] if y is None else y(x)
        found.append({"x": x, "same": np.full(n, 3.0), "y": own})
    return found


def study(rng, **options):
    return sv.Study(sv.Network.ring(4), tables(rng, **options), schema=SCHEMA)


@pytest.mark.parametrize("link", LINKS)
def test_links_in_the_middle_and_in_the_tails(link):
    """Against SciPy's distributions and differences of the logarithm; where one end is infinite as well."""
    F = DISTRIBUTIONS[link]
    a, b = np.array([0.3, -1.0, 4.0, np.inf, 0.5, 8.0]), np.array([-0.2, -4.0, 3.5, 1.0, -np.inf, 7.0])

    def value(a, b):
        upper = a + b > 0
        return np.log(np.where(upper, F.sf(b) - F.sf(a), F.cdf(a) - F.cdf(b)))

    h = 1e-4
    found = LINKS[link].between(a, b)
    np.testing.assert_allclose(found.value, value(a, b), rtol=1e-9)
    np.testing.assert_allclose(found.a, (value(a + h, b) - value(a - h, b)) / (2 * h), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(found.b, (value(a, b + h) - value(a, b - h)) / (2 * h), rtol=1e-5, atol=1e-9)
    slope_a = [LINKS[link].between(a + e, b).a for e in (h, -h)]
    slope_b = [LINKS[link].between(a, b + e).b for e in (h, -h)]
    across = [LINKS[link].between(a, b + e).a for e in (h, -h)]
    np.testing.assert_allclose(found.aa, (slope_a[1] - slope_a[0]) / (2 * h), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(found.bb, (slope_b[1] - slope_b[0]) / (2 * h), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(found.ab, (across[1] - across[0]) / (2 * h), rtol=1e-5, atol=1e-9)
    shares = np.array([0.1, 0.5, 0.8])
    np.testing.assert_allclose(LINKS[link].distribution(LINKS[link].quantile(shares)), shares, rtol=1e-12)


@pytest.mark.parametrize("link", LINKS)
def test_cuts_alone_are_quantiles_of_shares(rng, link):
    fit = study(rng).ordinal("y ~ 1", link=link)
    shares = np.cumsum(fit.counts)[:-1] / fit.nobs
    assert fit.terms == ("low/middle", "middle/high")
    np.testing.assert_allclose(fit.cuts, DISTRIBUTIONS[link].ppf(shares), rtol=1e-8)
    # delta method: Var F^-1(share) = share (1 - share) / N / f^2
    density = DISTRIBUTIONS[link].pdf(fit.cuts)
    np.testing.assert_allclose(fit.bse, np.sqrt(shares * (1 - shares) / fit.nobs) / density, rtol=1e-7)


def test_cuts_out_of_order_are_no_point():
    """All parties object there, and half of the step is taken."""
    rows = ArrayRows(np.column_stack([np.linspace(-1, 1, 9), np.arange(9) % 3]))
    sums = Ordinal(schema=SCHEMA, formula="y ~ x")._sums(rows, Columns(("x",), (0,), True, np.zeros(1), np.ones(1)), 40)
    with pytest.raises(Beyond):
        sums(np.array([0.0, 1.0, -1.0]))
    assert len(sums(np.array([0.0, -1.0, 1.0]))) == 1 + 3 + 1 + 2 + 2 + 1


def test_what_it_says_and_keeps(rng):
    fit = study(rng).ordinal("y ~ x")
    back = restored("ordinal", json.loads(json.dumps(fit.to_dict())), 4)
    assert back.summary() == fit.summary()
    assert "odds ratio" in fit.summary()
    np.testing.assert_allclose(fit.predict({"x": [0.0, 2.0]}).sum(axis=1), 1.0)
    assert fit.slopes[0] > 0
    assert fit.predict({"x": [2.0]})[0, 2] > fit.predict({"x": [0.0]})[0, 2]
    probit = study(rng).ordinal("y ~ x", link="probit")
    assert probit.ratio is None
    assert "odds ratio" not in probit.summary()


@pytest.mark.parametrize(
    ("formula", "link", "sentence"),
    [
        ("y ~ x", "cauchit", "link must be one of logit, probit; got 'cauchit'"),
        ("y ~ 0 + x", "logit", "formula: the cuts of an ordinal model stand for an intercept. Leave 0 or -1 out"),
        ("x ~ y", "logit", "formula: an ordinal model explains a category or a boolean; 'x' is of type number"),
        ("y ~ offset(x)", "logit", "formula: an ordinal model takes no offset"),
    ],
)
def test_models_that_cannot_be_fitted(rng, formula, link, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        study(rng).ordinal(formula, link=link)


def test_a_constant_is_left_out_and_named(rng):
    fit = study(rng).ordinal("y ~ x + same")
    assert fit.aliased == ("same",)
    assert fit.terms == ("x", "low/middle", "middle/high")


def test_levels_without_rows_and_levels_that_are_separated(rng):
    with pytest.raises(InvalidInput, match="no row of any party has 'y' at the level 'middle'"):
        study(rng, y=lambda x: np.where(x > 0, "low", "high")).ordinal("y ~ x")

    def separated(x):
        return np.array(SCHEMA["y"].levels)[np.digitize(x, [-0.5, 0.5])]

    with pytest.raises(InvalidInput, match=r"are infinite: columns separate levels of 'y'"):
        study(rng, y=separated).ordinal("y ~ x")
