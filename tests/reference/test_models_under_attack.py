"""Answers where data are awkward, against statsmodels on pooled rows: columns of very different sizes
without a word on their scale, ranges far wider than the data, values far from 0 that hardly differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.duration.hazard_regression import PHReg

import sottovoce as sv

ROWS = 200
NETWORK = sv.Network.ring(3)
TIGHT = 1e-8  # units that follow from wide ranges are some 1e-9 of deviations here


def drawn() -> pd.DataFrame:
    rng = np.random.default_rng(81)
    big, one, near = rng.normal(1e8, 1e7, ROWS), rng.normal(size=ROWS), rng.normal(5, 1e-5, ROWS)
    eta = (big - 1e8) / 1e7 + one
    return pd.DataFrame(
        {
            "big": big,
            "one": one,
            "near": near,
            "ill": rng.uniform(size=ROWS) < 1 / (1 + np.exp(-eta)),
            "days": rng.exponential(np.exp(-one)),
            "gain": one + rng.normal(size=ROWS),
        }
    )


ROW_DATA = drawn()
# The oracles are given columns in their own units, which cost them no digits.
POOLED = ROW_DATA.assign(big=(ROW_DATA.big - 1e8) / 1e7, near=(ROW_DATA.near - 5) / 1e-5, ill=ROW_DATA.ill.astype(int))
UNITS = np.array([1e7, 1.0, 1e-5])
LARGE = {"big": {"type": "number", "range": (0, 2e8)}}
BARE = {name: "number" for name in ("one", "near", "days", "gain")} | {"ill": "boolean"} | LARGE
WIDE = BARE | {name: {"type": "number", "range": (-1e4, 1e4)} for name in ("one", "near", "gain")}
WIDE |= {"big": {"type": "number", "range": (0, 1e13)}}
WIDE["near"] = {"type": "number", "range": (-1e4, 1e4), "unit": 1e-14}  # as fine as its deviations need it


def study(schema) -> sv.Study:
    parts = [ROW_DATA[:150], ROW_DATA[150:150], ROW_DATA[150:]]
    return sv.Study(NETWORK, parts, schema=schema)


@pytest.mark.parametrize("schema", [BARE, WIDE], ids=["no ranges", "wide ranges"])
def test_columns_need_no_word_on_their_size(schema):
    """Deviations of 1e7, 1 and 1e-5, around 1e8, 0 and 5: without ranges, and in ranges that tell nothing."""
    ask = study(schema)
    logistic = ask.glm("ill ~ big + one + near")
    oracle = smf.glm("ill ~ big + one + near", POOLED, family=sm.families.Binomial()).fit(tol=1e-14)
    np.testing.assert_allclose(logistic.params[1:] * UNITS, oracle.params[1:], rtol=TIGHT)
    np.testing.assert_allclose(logistic.bse[1:] * UNITS, oracle.bse[1:], rtol=TIGHT)
    np.testing.assert_allclose(logistic.llf, oracle.llf, rtol=TIGHT)
    linear = ask.linear("gain ~ big + one + near", robust="HC3")
    oracle = smf.ols("gain ~ big + one + near", POOLED).fit(cov_type="HC3")
    np.testing.assert_allclose(linear.params[1:] * UNITS, oracle.params[1:], rtol=TIGHT)
    np.testing.assert_allclose(linear.bse[1:] * UNITS, oracle.bse[1:], rtol=TIGHT)
    np.testing.assert_allclose([linear.ssr, linear.llf], [oracle.ssr, oracle.llf], rtol=TIGHT)


def test_cox_needs_no_word_on_sizes_either():
    fit = study(BARE).cox("days, ill ~ big + one + near")
    columns, strata = POOLED[["big", "one", "near"]], np.repeat([0, 1], [150, 50])
    oracle = PHReg(POOLED.days, columns, status=POOLED.ill, strata=strata, ties="efron").fit()
    np.testing.assert_allclose(fit.params * UNITS, oracle.params, rtol=TIGHT)
    np.testing.assert_allclose(fit.bse * UNITS, oracle.bse, rtol=TIGHT)


@pytest.mark.parametrize("standardize", [False, True])
def test_small_components_beside_large_ones(standardize):
    """Columns at right angles, whose variances are the answer: those that hardly vary were known to few digits."""
    rng = np.random.default_rng(4)
    basis = np.linalg.qr(np.column_stack([np.ones(ROWS), rng.normal(size=(ROWS, 3))]))[0][:, 1:]
    deviations = np.array([3.0, 1.0, 1e-5])
    X = np.sqrt(ROWS - 1) * basis * deviations + [0.0, 4.0, 2.0]
    found = sv.private_pca(NETWORK, [X[:150], X[150:150], X[150:]], standardize=standardize)
    variances = np.full(3, ROWS / (ROWS - 1)) if standardize else deviations**2  # scikit-learn divides by n
    np.testing.assert_allclose(found.explained_variance, variances, rtol=TIGHT)


def test_years_without_an_intercept_are_no_constant():
    """2020 to 2023 come as close to the constant as 3e-7: R-squared, F and the degrees of freedom hang on it."""
    rng = np.random.default_rng(5)
    year, arm = rng.integers(2020, 2024, ROWS).astype(float), rng.choice(["a", "b", "c"], ROWS)
    cost = 3e5 + 40 * (year - 2020) + 50 * (arm == "b") + rng.normal(0, 9, ROWS)
    table = pd.DataFrame({"year": year, "arm": arm, "cost": cost})
    schema = {
        "year": {"type": "number", "range": (2000, 2030)},
        "arm": {"type": "category", "levels": ["a", "b", "c"]},
        "cost": {"type": "number", "range": (0, 1e6)},
    }
    ask = sv.Study(NETWORK, [table[:150], table[150:150], table[150:]], schema=schema)
    for formula in ("cost ~ year - 1", "cost ~ 0 + C(arm)"):
        fit, oracle = ask.linear(formula), smf.ols(formula, table).fit()
        assert (fit.df_model, fit.df_resid) == (oracle.df_model, oracle.df_resid)
        np.testing.assert_allclose(fit.rsquared, oracle.rsquared, rtol=TIGHT)
        np.testing.assert_allclose(fit.fvalue, oracle.fvalue, rtol=TIGHT)


def test_a_steep_curve_is_not_infinite():
    """43 per deviation, with an error of 13: outcomes overlap in a few rows, and nothing is separated."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=400)
    y = (x + 0.05 * rng.normal(size=400) > 0).astype(int)
    shards = [(x[:399, None], y[:399]), (x[:0, None], y[:0]), (x[399:, None], y[399:])]
    fit = sv.private_glm(NETWORK, shards)
    oracle = sm.GLM(y, sm.add_constant(x), family=sm.families.Binomial()).fit(
        tol=1e-14, tol_criterion="params", maxiter=200
    )
    np.testing.assert_allclose(fit.params[1], oracle.params[1], rtol=TIGHT)
    np.testing.assert_allclose(fit.bse, oracle.bse, rtol=TIGHT)
