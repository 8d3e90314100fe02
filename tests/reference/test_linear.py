"""Linear models of parties against statsmodels on all rows in one place.

``CLOSE`` is what statsmodels has: it works with the pseudo-inverse of columns whose condition number is up to 1e6, and
loses as many digits. What our numbers have is seen in ``tests/unit/test_linear.py``, beside fractions, and in
``tests/outside``, beside certified values.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from sklearn.datasets import load_diabetes
from statsmodels.stats.outliers_influence import variance_inflation_factor

import sottovoce as sv

CLOSE = 2e-10
SCALARS = (
    "ssr", "rsquared", "rsquared_adj", "llf", "aic", "bic", "fvalue", "centered_tss", "uncentered_tss",
    "condition_number", "df_resid", "df_model", "scale", "nobs",
)  # fmt: skip
SCHEMA = sv.Schema(
    {
        "age": {"type": "number", "range": (0, 120)},
        "year": {"type": "integer", "range": (1900, 2030)},
        "arm": {"type": "category", "levels": ["a", "b", "c"]},
        "sex": {"type": "category", "levels": ["f", "m"]},
        "share": {"type": "number", "range": (0, 0.001)},
        "before": {"type": "number", "range": (-100, 100)},
        "w": {"type": "number", "range": (0, 5)},
        "y": {"type": "number", "range": (-200, 200)},
    }
)


def cohort() -> list[pd.DataFrame]:
    """Parties of 6, 0, 30 and 210 rows; the first has nobody in arm c."""
    rng = np.random.default_rng(5)
    parties = []
    for i, rows in enumerate((6, 0, 30, 210)):
        frame = pd.DataFrame(
            {
                "age": rng.uniform(20 + 5 * i, 90, rows),
                "year": rng.integers(1990, 2021, rows),
                "arm": rng.choice(["a", "b"] if i == 0 else ["a", "b", "c"], rows),
                "sex": rng.choice(["f", "m"], rows),
                "share": rng.uniform(0, 1e-3, rows),
                "before": rng.normal(0, 20, rows),
                "w": rng.uniform(0.2, 4, rows),
            }
        )
        arm = frame["arm"].map({"a": 0.0, "b": 2.0, "c": 5.0}).astype(float)
        noise = rng.normal(size=rows) * (1 + frame["age"] / 40)
        frame["y"] = 3 + 0.4 * frame["age"] + arm - 0.3 * (frame["year"] - 2005) + 4e3 * frame["share"] + noise
        parties.append(frame)
    return parties


PARTIES = cohort()
POOLED = pd.concat(PARTIES)
STUDY = sv.Study(sv.Network.ring(4), PARTIES, schema=SCHEMA)


def compare(fit, oracle, names, rtol=CLOSE):
    """Everything that both have, by the names of the terms."""
    at = [list(names).index(term) for term in fit.terms]
    for name in ("params", "bse", "tvalues", "pvalues"):
        expected = np.asarray(getattr(oracle, name))[at]
        # a p-value is exp(-t^2/2) and less: digits of t are lost t^2-fold
        loose = 1 + np.square(oracle.tvalues).max() if name == "pvalues" else 1
        np.testing.assert_allclose(getattr(fit, name), expected, rtol=rtol * loose, err_msg=name)
    np.testing.assert_allclose(fit.conf_int(0.1), np.asarray(oracle.conf_int(0.1))[at], rtol=10 * rtol, atol=rtol)
    np.testing.assert_allclose(fit.cov_params(), np.asarray(oracle.cov_params())[np.ix_(at, at)], rtol=20 * rtol)
    for name in SCALARS:
        expected = getattr(oracle, name)
        if np.isfinite(expected):
            np.testing.assert_allclose(getattr(fit, name), expected, rtol=rtol, atol=1e-9, err_msg=name)


EVERYTHING = "y ~ age + year + share + C(arm) * C(sex)"
FORMULAS = [(EVERYTHING, robust) for robust in (None, "HC0", "HC1", "HC2", "HC3")]
FORMULAS += [
    (other, r) for other in ("y ~ 0 + age + year + C(arm)", "y ~ 0 + age + share", "y ~ 1") for r in (None, "HC3")
]


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize(("formula", "robust"), FORMULAS)
def test_a_cohort(formula, robust, weights):
    model = smf.ols(formula, POOLED) if weights is None else smf.wls(formula, POOLED, weights=POOLED["w"])
    oracle = model.fit() if robust is None else model.fit().get_robustcov_results(robust)
    compare(STUDY.linear(formula, weights=weights, robust=robust), oracle, model.exog_names)


def test_an_offset_is_subtracted():
    oracle = smf.ols("I(y - before) ~ age + C(sex)", POOLED).fit()
    fit = STUDY.linear("y ~ age + C(sex) + offset(before)")
    compare(fit, oracle, oracle.model.exog_names)
    np.testing.assert_allclose(fit.predict(POOLED), oracle.predict(POOLED) + POOLED["before"], rtol=CLOSE)


def test_tests_of_terms():
    """Against the same tests of statsmodels."""
    small, large = "y ~ age + year", "y ~ age + year + C(arm) * C(sex)"
    oracles = [smf.ols(formula, POOLED).fit() for formula in (small, large)]
    fits = [STUDY.linear(formula) for formula in (small, large)]
    np.testing.assert_allclose(fits[1].compare_lr(fits[0])[:3], oracles[1].compare_lr_test(oracles[0]), rtol=CLOSE)
    np.testing.assert_allclose(fits[1].compare_f(fits[0])[:3], oracles[1].compare_f_test(oracles[0]), rtol=CLOSE)
    for typ in (2, 3):
        expected, found = sm.stats.anova_lm(oracles[1], typ=typ), fits[1].anova(typ).set_index("term")
        for term in found.index:
            np.testing.assert_allclose(
                found.loc[term, ["sum_sq", "df", "F"]].astype(float), expected.loc[term].iloc[:3], rtol=CLOSE
            )
    ordered = "y ~ C(arm) + C(sex) + age + year"  # by patsy as by us
    first, found = sm.stats.anova_lm(smf.ols(ordered, POOLED).fit(), typ=1), STUDY.linear(ordered).anova(1)
    assert found["term"].tolist() == first.index.tolist()
    np.testing.assert_allclose(found[["sum_sq", "df", "F"]], first[["sum_sq", "df", "F"]], rtol=CLOSE)
    test = oracles[1].f_test("C(arm)[T.b] = 0, C(arm)[T.c] = 0")
    found = fits[1].f_test(["C(arm)[T.b]", "C(arm)[T.c]"])
    np.testing.assert_allclose(found[:2], (test.fvalue, test.pvalue), rtol=CLOSE)
    assert found[2:] == (2, oracles[1].df_resid)
    np.testing.assert_allclose(fits[1].f_test("C(arm)"), found, rtol=1e-12)
    test = oracles[1].wald_test("age = 0, year = 0", use_f=False, scalar=True)
    np.testing.assert_allclose(fits[1].wald_test(["age", "year"]).statistic, test.statistic, rtol=CLOSE)


@pytest.mark.filterwarnings("ignore:The design matrix is poorly conditioned")
@pytest.mark.parametrize(
    "formula", ["y ~ age + share + before + I(age^2)", "y ~ 0 + age + share + before", "y ~ 0 + C(arm) + age"]
)
def test_variance_inflation(formula):
    """In the last one the arms span the constant, and each two of them do not."""
    intercept = "0" not in formula
    X = np.asarray(smf.ols(formula.replace("^", "**"), POOLED).exog)
    expected = [variance_inflation_factor(X, j, standardize=False) for j in range(X.shape[1])]
    found = STUDY.linear(formula).vif
    assert np.isnan(found[0]) == intercept
    np.testing.assert_allclose(found[int(intercept) :], expected[int(intercept) :], rtol=CLOSE)


def split(*arrays, cuts=(3, 3, 50)):
    return list(zip(*(np.split(np.asarray(array, float), cuts) for array in arrays), strict=True))


@pytest.mark.parametrize("robust", [None, "HC3"])
def test_diabetes(robust):
    """Ten columns, some of them nearly dependent; as arrays."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    oracle = sm.OLS(y, sm.add_constant(X)).fit()
    oracle = oracle if robust is None else oracle.get_robustcov_results(robust)
    names = [f"x{j}" for j in range(10)]
    fit = sv.private_linear(sv.Network.ring(4), split(X, y), robust=robust)
    compare(fit, oracle, ["Intercept", *names])
    np.testing.assert_allclose(fit.predict(X), oracle.predict(sm.add_constant(X)), rtol=CLOSE)


@pytest.mark.parametrize(("data", "rtol"), [(sm.datasets.stackloss, CLOSE), (sm.datasets.ccard, CLOSE)])
def test_data_of_statsmodels(data, rtol):
    """A few rows; and columns whose sizes differ by thousands, with weights."""
    frame = data.load_pandas().data
    target, *names = frame.columns
    X, y = frame[names], frame[target]
    w = np.linspace(0.5, 2, len(y))
    model = sm.WLS(y, sm.add_constant(X), weights=w)
    shards, weights = split(X, y, cuts=(3, 3, 10)), [part for (part,) in split(w, cuts=(3, 3, 10))]
    fit = sv.private_linear(sv.Network.ring(4), shards, weights=weights, robust="HC2", names=names)
    compare(fit, model.fit().get_robustcov_results("HC2"), ["Intercept", *names], rtol=rtol)


def test_longley():
    """Its columns have a condition number of 5e9; statsmodels loses half of its digits."""
    data = sm.datasets.longley.load_pandas()
    oracle = sm.OLS(data.endog, sm.add_constant(data.exog)).fit()
    fit = sv.private_linear(sv.Network.ring(3), split(data.exog, data.endog, cuts=(2, 9)))
    names = [f"x{j}" for j in range(6)]
    np.testing.assert_allclose(fit.params, oracle.params, rtol=1e-9)
    np.testing.assert_allclose(fit.bse, oracle.bse, rtol=1e-9)
    np.testing.assert_allclose(fit.condition_number, oracle.condition_number, rtol=1e-6)
    assert fit.terms == ("Intercept", *names)
