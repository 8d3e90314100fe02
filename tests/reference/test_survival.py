"""Curves and tests of times to an event, against lifelines and statsmodels on the pooled rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter, NelsonAalenFitter, datasets
from lifelines.statistics import multivariate_logrank_test
from lifelines.utils import median_survival_times, restricted_mean_survival_time
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

import sottovoce as sv

CLOSE = {"rtol": 1e-13, "atol": 1e-15}  # counts are exact: what is left is the rounding of other formulas
GROUP = {"type": "category", "levels": ["a", "b", "c"]}


def generated() -> pd.DataFrame:
    """Fractions of days, three groups, a stratum; many events and censorings at every point of a coarse grid."""
    rng = np.random.default_rng(3)
    n = 260
    group, sex = rng.integers(0, 3, n), rng.integers(0, 2, n)
    died, left = rng.exponential(8 + 3 * group), rng.uniform(0, 25, n)
    days = np.minimum(died, left)
    return pd.DataFrame(
        {"days": days, "death": died <= left, "group": np.array(["a", "b", "c"])[group], "sex": sex.astype(bool)}
    )


def waltons() -> pd.DataFrame:
    found = datasets.load_waltons()
    named = found["group"].map({"control": "a", "miR-137": "c"})
    return pd.DataFrame(
        {"days": found["T"], "death": found["E"].astype(bool), "group": named, "sex": found.index % 2 > 0}
    )


def rossi() -> pd.DataFrame:
    found = datasets.load_rossi()
    group = np.array(["a", "b", "c"])[np.digitize(found["age"], [22, 28])]
    return pd.DataFrame(
        {"days": found["week"], "death": found["arrest"] == 1, "group": group, "sex": found["fin"] == 1}
    )


DATA = {  # rows, type and range of days, grid, and the times that the grid moves them to
    "generated": (generated(), "number", (0, 25), [2.5, 5, 7.5, 10, 15, 20, 25]),
    "waltons": (waltons(), "integer", (0, 80), None),
    "rossi": (rossi(), "integer", (0, 52), 13),
}


@pytest.fixture(params=DATA)
def case(request):
    """A study of five parties, one without rows, and the pooled rows at the points of the grid."""
    frame, kind, limits, grid = DATA[request.param]
    columns = {"days": {"type": kind, "range": limits}, "death": "boolean", "group": GROUP, "sex": "boolean"}
    order = np.argsort(frame["group"].to_numpy(), kind="stable")  # so that a party lacks a level
    shards = [frame.iloc[part] for part in np.split(order, [3, 40, 41, 41])]
    study = sv.Study(sv.Network.ring(5), shards, schema=sv.Schema(columns))
    low, high = limits
    points = (
        np.arange(low, high + 1.0)
        if grid is None
        else grid
        if isinstance(grid, list)
        else np.linspace(*limits, grid + 1)
    )
    moved = frame.assign(days=np.asarray(points)[np.searchsorted(points, frame["days"])])
    return study, moved, grid


def test_kaplan_meier(case):
    study, moved, grid = case
    found = study.kaplan_meier("days", "death", by="group", grid=grid)
    for k, level in enumerate(found.groups):
        own = moved[moved["group"] == level]
        if own.empty:
            assert np.isnan(found.survival[k]).all()
            assert np.isnan(found.predict([0.0])[k]).all()
            continue
        fitted = KaplanMeierFitter().fit(own["days"], own["death"])
        expected = fitted.survival_function_at_times(found.times)
        np.testing.assert_allclose(found.survival[k], expected, **CLOSE)
        np.testing.assert_allclose(found.predict(found.times)[k], expected, **CLOSE)
        assert found.median[k] == fitted.median_survival_time_
        ends = fitted.confidence_interval_.reindex(found.times, method="ffill").to_numpy()
        some = found.survival[k] > 0
        np.testing.assert_allclose(found.conf_int()[k][some], ends[some], **CLOSE)
        with warnings.catch_warnings():  # of pandas, in lifelines
            warnings.simplefilter("ignore")
            between = median_survival_times(fitted.confidence_interval_).to_numpy()[0]
        np.testing.assert_array_equal(found.median_conf_int()[k], between)
        area = restricted_mean_survival_time(fitted, t=float(found.times[-1]))
        assert found.restricted_mean(found.times[-1])[0][k] == pytest.approx(area, rel=1e-13)
        table = fitted.event_table.reindex(found.times).fillna(0)
        np.testing.assert_array_equal(found.events[k], table["observed"])
        np.testing.assert_array_equal(found.censored[k], table["censored"])
        right = SurvfuncRight(own["days"], own["death"].astype(int))
        at = np.searchsorted(found.times, right.surv_times)
        np.testing.assert_array_equal(found.at_risk[k][at], right.n_risk)
        left = right.surv_prob > 0
        np.testing.assert_allclose(found.std_error[k][at][left], right.surv_prob_se[left], **CLOSE)


def test_kaplan_meier_without_groups(case):
    study, moved, grid = case
    found = study.kaplan_meier("days", "death", grid=grid)
    expected = KaplanMeierFitter().fit(moved["days"], moved["death"]).survival_function_at_times(found.times)
    np.testing.assert_allclose(found.survival, [expected], **CLOSE)
    assert found.groups == ("all",)
    assert found.nobs.tolist() == [len(moved)]


@pytest.mark.parametrize("smooth", [False, True])
def test_nelson_aalen(case, smooth):
    study, moved, grid = case
    found = study.nelson_aalen("days", "death", by="sex", grid=grid, smooth=smooth)
    for k, level in enumerate([False, True]):
        own = moved[moved["sex"] == level]
        fitted = NelsonAalenFitter(nelson_aalen_smoothing=smooth).fit(own["days"], own["death"])
        expected = fitted.cumulative_hazard_at_times(found.times)
        np.testing.assert_allclose(found.cumulative_hazard[k], expected, **CLOSE)
        ends = fitted.confidence_interval_.reindex(found.times, method="ffill").fillna(0).to_numpy()
        np.testing.assert_allclose(found.conf_int()[k], ends, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("weighting", ["logrank", "wilcoxon", "tarone-ware", "peto", "fleming-harrington"])
def test_log_rank_of_three_groups(case, weighting):
    study, moved, grid = case
    powers = {"rho": 0.5, "gamma": 1.0} if weighting == "fleming-harrington" else {}
    found = study.log_rank("days", "death", by="group", grid=grid, weighting=weighting, **powers)
    named = None if weighting == "logrank" else weighting
    more = {"p": 0.5, "q": 1.0} if powers else {}
    expected = multivariate_logrank_test(moved["days"], moved["group"], moved["death"], weightings=named, **more)
    assert found.statistic == pytest.approx(expected.test_statistic, rel=1e-13)
    assert found.pvalue == pytest.approx(expected.p_value, rel=1e-12)
    assert found.df == expected.degrees_of_freedom == moved["group"].nunique() - 1


@pytest.mark.parametrize(
    ("weighting", "theirs"),
    [("logrank", None), ("wilcoxon", "gb"), ("tarone-ware", "tw"), ("fleming-harrington", "fh")],
)
@pytest.mark.parametrize("strata", [None, "sex"])
def test_log_rank_within_strata(case, weighting, theirs, strata):
    study, moved, grid = case
    found = study.log_rank("days", "death", by="group", strata=strata, grid=grid, weighting=weighting)
    options = {"fh_p": 1.0} if theirs == "fh" else {}
    within = None if strata is None else moved[strata].to_numpy()
    statistic, pvalue = survdiff(
        moved["days"].to_numpy(),
        moved["death"].to_numpy().astype(int),
        moved["group"].to_numpy(),
        theirs,
        within,
        **options,
    )
    assert found.statistic == pytest.approx(statistic, rel=1e-13)
    assert found.pvalue == pytest.approx(pvalue, rel=1e-12)
