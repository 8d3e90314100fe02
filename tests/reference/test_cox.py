"""Cox's model against statsmodels and lifelines on the pooled rows. lifelines itself is off by 4e-7."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter, datasets
from statsmodels.duration.hazard_regression import PHReg

import sottovoce as sv
from sottovoce.statistics.models.cox_sums import Stratum

# On a grid the terms of a row are multiples of 2^-40 of a bound, 1e-12: the worst parameter is off by 3e-12 of itself.
CLOSE = {"rtol": 1e-11}
YES_NO = {"type": "category", "levels": ["no", "yes"]}
GRADE = {"type": "category", "levels": ["I", "II", "III"], "reference": "II"}


def rossi() -> pd.DataFrame:
    found = datasets.load_rossi()
    return found.rename(columns={"week": "time", "arrest": "event"})[["time", "event", "fin", "age", "race", "prio"]]


def gbsg() -> pd.DataFrame:
    found = datasets.load_gbsg2().iloc[::2]
    kept = found.rename(columns={"time": "days", "cens": "event", "horTh": "hormones", "tgrade": "grade"})
    return kept.assign(time=np.ceil(kept["days"] / 30.0))[["time", "event", "age", "hormones", "grade", "pnodes"]]


def generated() -> pd.DataFrame:
    """Fractions of days without ties, a column in odd units, an offset."""
    rng = np.random.default_rng(5)
    n = 300
    dose, iron, start = rng.normal(size=n), 4e4 + 900 * rng.normal(size=n), rng.uniform(-1, 1, n)
    died = rng.exponential(9 * np.exp(-0.6 * dose - 0.0004 * (iron - 4e4) - start))
    left = rng.uniform(2, 30, n)
    columns = {"time": np.minimum(died, left), "event": (died <= left).astype(int)}
    return pd.DataFrame({**columns, "dose": dose, "iron": iron, "start": start})


CASES = {  # rows, further columns of the schema, the terms of the formula, and a grid
    "rossi": (rossi(), {}, "fin + age + race + prio", [8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52]),
    "gbsg": (
        gbsg(),
        {"hormones": YES_NO, "grade": GRADE},
        "age + C(hormones) + C(grade) + log(pnodes)",
        [12, 24, 36, 48, 90],
    ),
    "generated": (generated(), {}, "dose + iron + offset(start)", [1, 2, 5, 8, 12, 30]),
}


def design(frame: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray | None]:
    """The columns of the formula, made by hand."""
    if "fin" in frame:
        return frame[["fin", "age", "race", "prio"]].astype(float), None
    if "dose" in frame:
        return frame[["dose", "iron"]], frame["start"].to_numpy()
    x = {
        "age": frame["age"],
        "yes": frame["hormones"] == "yes",
        "I": frame["grade"] == "I",
        "III": frame["grade"] == "III",
    }
    return pd.DataFrame({**x, "log": np.log(frame["pnodes"])}).astype(float), None


def oracle(frame, ties, **options):
    x, offset = design(frame)
    scale = x.std()
    model = PHReg(
        frame["time"].to_numpy(), (x - x.mean()) / scale, frame["event"].to_numpy(), ties=ties, offset=offset, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(disp=0, gtol=1e-13), scale.to_numpy()


@pytest.fixture(params=list(CASES))
def case(request):
    """A study of five parties of very different sizes, the first without rows, the second without grade I; the pooled
    rows with their party; the formula; the grid."""
    frame, more, terms, grid = CASES[request.param]
    order = np.argsort(frame.get("grade", frame["time"]).to_numpy(), kind="stable")[::-1]
    party = np.empty(len(frame), int)
    for k, part in enumerate(np.split(order, [0, 23, 60, 200])):
        party[part] = k
    columns = {"time": {"type": "number", "range": (0, 100)}, "event": "boolean"}
    columns |= {name: {"type": "number", "range": (0, 90)} for name in frame if name not in ("time", "event")}
    columns |= {
        "iron": {"type": "number", "range": (3e4, 5e4)},
        "dose": {"type": "number", "range": (-9, 9)},
        "start": {"type": "number", "range": (-1, 1)},
    }
    schema = sv.Schema({name: (columns | more)[name] for name in frame})
    tables = [frame[party == k].assign(event=lambda part: part["event"] > 0) for k in range(5)]
    study = sv.Study(sv.Network.ring(5), tables, schema=schema)
    return study, frame, party, f"time, event ~ {terms}", grid


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_stratified_by_party(case, ties):
    study, frame, party, formula, _ = case
    fit = study.cox(formula, ties=ties)
    expected, scale = oracle(frame, ties, strata=party)
    np.testing.assert_allclose(fit.params * scale, expected.params, **CLOSE)
    np.testing.assert_allclose(fit.bse * scale, expected.bse, **CLOSE)
    np.testing.assert_allclose(fit.pvalues, expected.pvalues, **CLOSE)
    np.testing.assert_allclose(fit.cov_params() * np.outer(scale, scale), expected.cov_params(), **CLOSE)
    assert fit.llf == pytest.approx(expected.llf, rel=1e-13)
    at_zero = expected.model.loglike(np.zeros(len(scale)))
    assert fit.llf_null == pytest.approx(at_zero, rel=1e-13)
    assert (fit.nobs, fit.events) == (len(frame), frame["event"].sum())
    g, H = expected.model.score(np.zeros(len(scale))), -expected.model.hessian(np.zeros(len(scale)))
    assert fit.score_statistic == pytest.approx(g @ np.linalg.solve(H, g), rel=1e-11)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_one_baseline_on_a_grid(case, ties):
    study, frame, _, formula, grid = case
    moved = np.asarray(grid, float)[np.searchsorted(grid, frame["time"])]
    fit = study.cox(formula, ties=ties, baseline="grid", grid=grid)
    expected, scale = oracle(frame.assign(time=moved), ties)
    np.testing.assert_allclose(fit.params * scale, expected.params, **CLOSE)
    np.testing.assert_allclose(fit.bse * scale, expected.bse, **CLOSE)
    assert fit.llf == pytest.approx(expected.llf, rel=1e-13)
    ((times, before, _),) = expected.baseline_cumulative_hazard
    np.testing.assert_array_equal(fit.times, times)
    if "start" not in frame:
        # theirs is the hazard before a time, for a row of zeros, which are the means here; ours for a row of means
        np.testing.assert_allclose(fit.baseline_cumulative_hazard[:-1], before[1:], **CLOSE)


@pytest.mark.parametrize("case", ["rossi", "gbsg"], indirect=True)  # lifelines takes no offset
def test_lifelines(case):
    study, frame, party, formula, grid = case
    x, _ = design(frame)
    rows = x.assign(time=frame["time"], event=frame["event"], party=party)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = CoxPHFitter().fit(rows, "time", "event", strata=["party"], fit_options={"precision": 1e-12})
        fit = study.cox(formula)
        np.testing.assert_allclose(fit.params, expected.params_, rtol=1e-6)
        np.testing.assert_allclose(fit.ratios()[:, 1:], np.exp(expected.confidence_intervals_), rtol=1e-6)
        assert fit.llr == pytest.approx(expected.log_likelihood_ratio_test().test_statistic, rel=1e-7)
        moved = rows.assign(time=np.asarray(grid, float)[np.searchsorted(grid, rows["time"])]).drop(columns="party")
        one = CoxPHFitter().fit(moved, "time", "event", fit_options={"precision": 1e-12})
        fit = study.cox(formula, baseline="grid", grid=grid)
        survival = one.predict_survival_function(x.iloc[:4], times=grid).to_numpy().T
    np.testing.assert_allclose(fit.survival(frame.iloc[:4], grid), survival, rtol=1e-6)
    np.testing.assert_allclose(
        fit.predict(frame.iloc[:4]) / np.exp(fit.means @ fit.params), one.predict_partial_hazard(x.iloc[:4]), rtol=1e-6
    )


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_likelihood_score_and_information_anywhere(case, ties):
    _, frame, party, _, _ = case
    x, offset = design(frame)
    x, offset = ((x - x.mean()) / x.std()).to_numpy(), np.zeros(len(x)) if offset is None else offset
    beta = np.linspace(-0.7, 0.9, x.shape[1])
    time, event = frame["time"].to_numpy(float), frame["event"].to_numpy(float)
    model = PHReg(time, x, event, ties=ties, strata=party, offset=offset)
    own = [party == k for k in range(5)]
    parts = [Stratum.of(x[k], time[k], event[k], offset[k]).sums(beta, ties) for k in own]
    assert sum(part[0] for part in parts) == pytest.approx(model.loglike(beta), rel=1e-12)
    np.testing.assert_allclose(sum(part[1] for part in parts), model.score(beta), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sum(part[2] for part in parts), -model.hessian(beta), rtol=1e-10, atol=1e-10)
