"""Multinomial regression against statsmodels' ``MNLogit`` on all rows in one place."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import sottovoce as sv

# Agreements leave about 3e-11 open of sums of size 1, and at most 3 tol = 3e-9. Estimates keep that in units of their
# standard errors, up to the condition of the information: 4e-9 is the most that was seen. Relative to themselves they
# do not: one of a thirtieth of its error has 1e-7.
OF_ERRORS = 3e-8
CLOSE = 1e-7  # of standard errors, relative


def cut(frame: pd.DataFrame, *places: int) -> list[pd.DataFrame]:
    """Shards of a frame."""
    ends = [0, *places, len(frame)]
    return [frame.iloc[a:b] for a, b in pairwise(ends)]


def anes():
    """Seven levels, shards of 5, 0, 150 and 789 rows."""
    frame = sm.datasets.anes96.load_pandas().data
    names = ["logpopul", "selfLR", "age", "educ"]
    frame = frame[names].assign(party=frame["PID"].astype(int).astype(str))
    schema = {name: {"type": "number", "range": (-3, 100)} for name in names}
    schema["party"] = {"type": "category", "levels": [str(k) for k in range(7)]}
    return cut(frame, 5, 5, 155), schema, "party ~ " + " + ".join(names), names


def fair():
    """Five levels, whose reference is in the middle."""
    frame = sm.datasets.fair.load_pandas().data.iloc[::8]
    names = ["age", "children", "religious"]
    frame = frame[names].assign(rate=frame["rate_marriage"].astype(int).astype(str))
    schema = {name: {"type": "number", "range": (0, 60)} for name in names}
    schema["rate"] = {"type": "category", "levels": list("12345"), "reference": "3"}
    return cut(frame, 20, 300), schema, "rate ~ " + " + ".join(names), names


def made():
    """A category among the columns, of which one party has one level, and a party without a level of the response."""
    rng = np.random.default_rng(4)
    n = 700
    x, group = rng.normal(50, 3, n), rng.choice(["u", "v", "w"], n)
    eta = np.column_stack([np.zeros(n), 0.3 * (x - 50), 0.5 * (group == "v") - 0.5])
    choice = (eta + rng.gumbel(size=(n, 3))).argmax(axis=1)
    frame = pd.DataFrame({"x": x, "group": group, "choice": np.array(["a", "b", "c"])[choice]})
    frame["group[T.v]"], frame["group[T.w]"] = (frame["group"] == "v") * 1.0, (frame["group"] == "w") * 1.0
    first = frame[(frame["group"] == "w") & (frame["choice"] != "c")].iloc[:30]
    rest = frame.drop(first.index)
    schema = {
        "x": {"type": "number", "range": (30, 70)},
        "group": {"type": "category", "levels": ["u", "v", "w"]},
        "choice": {"type": "category", "levels": ["a", "b", "c"]},
    }
    return [first, rest.iloc[:0], rest], schema, "choice ~ x + group", ["x", "group[T.v]", "group[T.w]"]


@pytest.mark.parametrize("data", [anes, fair, made])
def test_all_that_statsmodels_reports(data):
    shards, schema, formula, names = data()
    fit = sv.Study(sv.Network.ring(len(shards)), shards, schema=schema).multinomial(formula)
    frame = pd.concat(shards)
    column = formula.split(" ~ ")[0]
    place = {level: k for k, level in enumerate(fit.levels)}
    X = sm.add_constant(frame[names].astype(float))
    pooled = sm.MNLogit(frame[column].map(place), X).fit(method="newton", maxiter=50, tol=1e-14, disp=0)

    assert fit.levels[0] == schema[column].get("reference", schema[column]["levels"][0])
    np.testing.assert_array_equal(fit.counts, [(frame[column] == level).sum() for level in fit.levels])
    assert fit.terms == tuple(f"{level}: {term}" for level in fit.levels[1:] for term in ["Intercept", *names])
    levels = len(fit.levels) - 1
    assert np.all(np.abs(fit.coefficients - pooled.params) <= OF_ERRORS * pooled.bse)
    np.testing.assert_allclose(fit.bse.reshape(levels, -1).T, pooled.bse, rtol=CLOSE)
    np.testing.assert_allclose(fit.covariance, pooled.cov_params(), rtol=1e-6, atol=1e-9)
    # p-values fall by a factor of z times the error of z
    np.testing.assert_allclose(fit.pvalues.reshape(levels, -1).T, pooled.pvalues, rtol=1e-5, atol=1e-12)
    intervals = pooled.conf_int().to_numpy()
    np.testing.assert_allclose(fit.conf_int(), intervals, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.ratios(), np.exp(np.column_stack([fit.params, intervals])), rtol=1e-6)
    for name in ("llf", "aic", "bic", "df_model", "df_resid", "nobs"):
        assert getattr(fit, name) == pytest.approx(getattr(pooled, name), rel=1e-9), name
    # its own null model is fitted to a looser tolerance
    for name in ("llnull", "prsquared", "llr"):
        assert getattr(fit, name) == pytest.approx(getattr(pooled, name), rel=1e-6), name
    assert fit.llr_pvalue == pytest.approx(pooled.llr_pvalue, rel=1e-4, abs=1e-30)
    np.testing.assert_allclose(fit.predict(frame), np.asarray(pooled.predict(X)), atol=1e-8)


def test_two_levels_are_a_logistic_regression():
    frame = sm.datasets.spector.load_pandas().data
    frame["pass"] = frame.pop("GRADE") == 1
    schema = {"GPA": {"type": "number", "range": (0, 4)}, "TUCE": {"type": "number", "range": (0, 40)}}
    schema |= {"PSI": {"type": "number", "range": (0, 1)}, "pass": "boolean"}
    fit = sv.Study(sv.Network.ring(3), cut(frame, 4, 12), schema=schema).multinomial("pass ~ GPA + TUCE + PSI")
    X = sm.add_constant(frame[["GPA", "TUCE", "PSI"]])
    pooled = sm.Logit(frame["pass"], X).fit(method="newton", maxiter=50, tol=1e-14, disp=0)
    assert np.all(np.abs(fit.params - pooled.params) <= OF_ERRORS * pooled.bse)
    np.testing.assert_allclose(fit.bse, pooled.bse, rtol=CLOSE)


def test_without_an_intercept():
    shards, schema, formula, names = fair()
    fit = sv.Study(sv.Network.ring(3), shards, schema=schema).multinomial(formula.replace("~", "~ 0 +"))
    frame = pd.concat(shards)
    y = frame["rate"].map({level: k for k, level in enumerate(fit.levels)})
    pooled = sm.MNLogit(y, frame[names]).fit(method="newton", maxiter=50, tol=1e-14, disp=0)
    assert np.all(np.abs(fit.coefficients - pooled.params) <= OF_ERRORS * pooled.bse.to_numpy())
    np.testing.assert_allclose(fit.bse, pooled.bse.to_numpy().T.ravel(), rtol=CLOSE)
