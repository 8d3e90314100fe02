"""Ordinal regression against statsmodels' ``OrderedModel``, and against derivatives by complex steps."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import special
from statsmodels.miscmodels.ordinal_model import OrderedModel

import sottovoce as sv

CLOSE = 1e-7  # relative; agreements leave 3e-11 to 3e-9 open of sums of size 1


def fair():
    frame = sm.datasets.fair.load_pandas().data.iloc[::8]
    names = ["age", "yrs_married", "children", "religious"]
    frame = frame[names].assign(rate=frame["rate_marriage"].astype(int).astype(str))
    schema = {name: {"type": "number", "range": (0, 60)} for name in names}
    schema["rate"] = {"type": "category", "levels": list("12345"), "reference": "3"}
    shards = [frame.iloc[:6], frame.iloc[:0], frame.iloc[6:200], frame.iloc[200:]]
    return shards, schema, names, "rate", " + ".join(names)


def anes():
    frame = sm.datasets.anes96.load_pandas().data
    names = ["selfLR", "age", "educ", "income"]
    frame = frame[names].assign(party=frame["PID"].astype(int).astype(str))
    schema = {name: {"type": "number", "range": (0, 100)} for name in names}
    schema["party"] = {"type": "category", "levels": [str(k) for k in range(7)]}
    return [frame.iloc[:100], frame.iloc[100:103], frame.iloc[103:]], schema, names, "party", " + ".join(names)


def made():
    """A category of which one party has one level, and a party without the highest level of the response."""
    rng = np.random.default_rng(6)
    n = 500
    x, group = rng.normal(20, 4, n), rng.choice(["u", "v"], n)
    latent = 0.2 * (x - 20) + 0.8 * (group == "v") + rng.logistic(size=n)
    pain = np.array(["none", "some", "much"])[np.digitize(latent, [-0.5, 2.0])]
    frame = pd.DataFrame({"x": x, "group": group, "pain": pain})
    frame["group[T.v]"] = (frame["group"] == "v") * 1.0
    first = frame[(frame["group"] == "v") & (frame["pain"] != "much")].iloc[:25]
    schema = {
        "x": "number",
        "group": {"type": "category", "levels": ["u", "v"]},
        "pain": {"type": "category", "levels": ["none", "some", "much"]},
    }
    return [first, frame.drop(first.index), frame.iloc[:0]], schema, ["x", "group[T.v]"], "pain", "x + group"


F = {"logit": lambda t: 1 / (1 + np.exp(-t)), "probit": lambda t: (1 + special.erf(t / np.sqrt(2))) / 2}


def gradient(params, X, y, cuts, link):
    """By complex steps, which leave no error; a difference of distribution functions, as it is defined."""
    found = []
    for k in range(len(params)):
        moved = params.astype(complex)
        moved[k] += 1e-30j
        eta = X @ moved[:-cuts]
        below = np.column_stack([np.zeros(len(y)), F[link](moved[-cuts:] - eta[:, None]), np.ones(len(y))])
        rows = np.arange(len(y))
        found.append(np.log(below[rows, y + 1] - below[rows, y]).sum().imag / 1e-30)
    return np.array(found)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("data", [fair, anes, made])
def test_estimates_errors_and_likelihood(data, link):
    shards, schema, names, response, terms = data()
    fit = sv.Study(sv.Network.ring(len(shards)), shards, schema=schema).ordinal(f"{response} ~ {terms}", link=link)
    frame = pd.concat(shards)
    levels = schema[response]["levels"]
    y = frame[response].map({level: k for k, level in enumerate(levels)}).to_numpy()
    X, cuts = frame[names].to_numpy(float), len(levels) - 1
    assert fit.terms == (*names, *(f"{a}/{b}" for a, b in pairwise(levels)))
    assert (np.diff(fit.cuts) > 0).all()

    # At the maximum the gradient is 0, and its derivative is the information: errors of central differences are 1e-9.
    steps = 1e-4 * fit.bse
    rows = [gradient(fit.params + e, X, y, cuts, link) - gradient(fit.params - e, X, y, cuts, link)
            for e in np.diag(steps)]  # fmt: skip
    covariance = np.linalg.inv(-np.array(rows) / (2 * steps[:, None]))
    np.testing.assert_allclose(fit.bse, np.sqrt(np.diag(covariance)), rtol=CLOSE)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-5, atol=1e-7 * np.abs(covariance).max())
    off = covariance @ gradient(fit.params, X, y, cuts, link)
    np.testing.assert_allclose(off / np.maximum(np.abs(fit.params), fit.bse), 0, atol=CLOSE)

    model = OrderedModel(pd.Series(y), pd.DataFrame(X, columns=names), distr=link)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it stops where rounding stops it, which it calls a failure
        pooled = model.fit(method="bfgs", maxiter=500, gtol=1e-8, disp=0)
    slopes, thresholds = pooled.params[: len(names)], model.transform_threshold_params(pooled.params)[1:-1]
    # an optimum by values of the likelihood alone, and derivatives by differences
    np.testing.assert_allclose(fit.params, [*slopes, *thresholds], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(fit.bse[: len(names)], pooled.bse[: len(names)], rtol=1e-4)
    for name in ("llf", "llnull", "aic", "bic", "prsquared", "nobs", "df_resid"):
        assert getattr(fit, name) == pytest.approx(getattr(pooled, name), rel=1e-8), name
    assert fit.llr_pvalue == pytest.approx(pooled.llr_pvalue, rel=1e-5)
    np.testing.assert_allclose(fit.predict(frame), np.asarray(pooled.predict()), atol=1e-5)


def test_two_levels_are_a_logistic_regression():
    frame = sm.datasets.spector.load_pandas().data
    frame["pass"] = frame.pop("GRADE") == 1
    schema = {"GPA": {"type": "number", "range": (0, 4)}, "PSI": {"type": "number", "range": (0, 1)}, "pass": "boolean"}
    shards = [frame.iloc[:9], frame.iloc[9:10], frame.iloc[10:]]
    fit = sv.Study(sv.Network.ring(3), shards, schema=schema).ordinal("pass ~ GPA + PSI")
    X = sm.add_constant(frame[["GPA", "PSI"]])
    pooled = sm.Logit(frame["pass"], X).fit(method="newton", maxiter=50, tol=1e-14, disp=0)
    np.testing.assert_allclose(fit.slopes, pooled.params[1:], rtol=CLOSE)
    np.testing.assert_allclose(-fit.cuts, pooled.params[:1], rtol=CLOSE)
    np.testing.assert_allclose(fit.bse, np.asarray(pooled.bse)[[1, 2, 0]], rtol=CLOSE)
