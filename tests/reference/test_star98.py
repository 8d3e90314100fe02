"""Star98 (Gill 2000), as statsmodels ships it: pupils of 303 school districts of California above and below the
national median, by 20 columns of which eight are products of others. The oracle is statsmodels, whose estimates and
errors are within 2e-13 of Newton's method with 45 digits here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import sottovoce as sv

# The goal. Sums of what a model makes of a row are on a grid of 2^-40 of its bound: 1e-12, which the last step of
# Newton's method divides by the information.
CLOSE = 1e-10
PLAIN = "LOWINC + PERASIAN + PERBLACK + PERHISP + PCTCHRT + PCTYRRND"
CROSSED = f"{PLAIN} + PERMINTE * AVYRSEXP * AVSALK + PERSPENK * PTRATIO * PCTAF"
NAMES = ("params", "bse", "tvalues")
SCALARS = ("deviance", "null_deviance", "pearson_chi2", "llf", "llnull", "aic")


@cache
def districts() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Pupils above and below, and the columns."""
    data = sm.datasets.star98.load_pandas()
    return data.endog, data.exog


def product(name: str, columns: pd.DataFrame) -> np.ndarray:
    """The column of a term, ``Intercept`` or ``a:b``, of the columns it is made of."""
    parts = [] if name == "Intercept" else [columns[part].to_numpy() for part in name.split(":")]
    return np.prod([np.ones(len(columns)), *parts], axis=0)


@cache
def fits(formula: str, parties: int = 5) -> tuple[Any, Any]:
    """Of the parties, and of statsmodels on the columns of the terms in their order."""
    pupils, columns = districts()
    trials = pupils.sum(axis=1)
    frame = columns.assign(share=pupils["NABOVE"] / trials, trials=trials)
    reach = {name: 2 * float(frame[name].abs().max()) for name in frame}
    schema = {name: {"type": "number", "range": (-high, high)} for name, high in reach.items()}
    schema |= {"share": {"type": "number", "range": (0, 1)}}
    tables = [frame.iloc[k::parties] for k in range(parties)]
    study = sv.Study(sv.Network.ring(parties), tables, schema=schema)
    fit = study.glm(f"share ~ {formula}", family="binomial", weights="trials")
    design = np.column_stack([product(term, columns) for term in fit.terms])
    model = sm.GLM(pupils.to_numpy(), design, family=sm.families.Binomial())
    return fit, model.fit(maxiter=50, tol=1e-11, tol_criterion="params")


def shipped() -> str:
    """All columns as they are, products among them."""
    return " + ".join(districts()[1])


FORMULAS = {"as shipped": shipped, "crossed by the formula": lambda: CROSSED}


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_star98(formula):
    fit, oracle = fits(formula())
    assert oracle.converged
    assert len(fit.terms) == 21
    assert (fit.nobs, fit.df_model, fit.df_resid) == (303, 20, 282)
    for name in NAMES:
        np.testing.assert_allclose(getattr(fit, name), getattr(oracle, name), rtol=CLOSE, err_msg=name)
    correlations = [each.cov_params() / np.outer(oracle.bse, oracle.bse) for each in (fit, oracle)]
    np.testing.assert_allclose(*correlations, atol=CLOSE, rtol=0)
    for name in SCALARS:
        assert getattr(fit, name) == pytest.approx(getattr(oracle, name), rel=CLOSE), name
    assert fit.steps <= 6
