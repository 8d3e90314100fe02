"""Counts, tests, quantiles and tables of groups, against SciPy, NumPy and pandas on all rows in one place.

Sums are exact, and what follows from them is rounded once: what is left is the rounding of the others.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import datasets

import sottovoce as sv

CLOSE = 1e-12


def generated(rng, rows):
    arm = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {
            "group": arm,
            "ill": rng.random(rows) < 0.3 + 0.1 * (arm == "b"),
            "x": rng.lognormal(1, 0.5, rows).round(3) + 0.3 * (arm == "b"),
            "whole": rng.integers(18, 95, rows),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1461, rows), unit="D"),
        }
    )


def of_sklearn(load, value, flag):
    """Rows in the order of the classes: a party has not all of them."""
    data = load(as_frame=True)
    names = [f"class {k}" for k in range(len(data.target_names))]
    x = data.data[value]
    day = pd.Timestamp("2021-03-01") + pd.to_timedelta((10 * x).round().astype(int), unit="D")
    whole = (7 * x).round().astype(int)
    group = [names[k] for k in data.target]
    return pd.DataFrame(
        {"group": group, "ill": data.data[flag] > data.data[flag].mean(), "x": x, "whole": whole, "day": day}
    )


def cut(frame, sizes):
    """Shards of very different sizes, in turn; the rest is the last but one, and the last party has no rows."""
    edges = [0, *np.cumsum(sizes), len(frame), len(frame)]
    return [frame.iloc[a:b] for a, b in pairwise(edges)]


@cache
def cohort(name):
    rng = np.random.default_rng(3)
    if name == "generated":  # nobody has level d; a range far wider than the data
        frames, levels, top = [generated(rng, n) for n in (700, 40, 7, 0)], ["a", "b", "c", "d"], 4000.0
    elif name == "wine":
        frames = cut(of_sklearn(datasets.load_wine, "alcohol", "magnesium"), (120, 50))
        levels, top = ["class 2", "class 0", "class 1"], 20.0
    else:
        frames = cut(of_sklearn(datasets.load_breast_cancer, "mean radius", "mean texture"), (9, 400, 20))
        levels, top = ["class 0", "class 1"], 100.0
    schema = {
        "group": {"type": "category", "levels": levels},
        "ill": "boolean",
        "x": {"type": "number", "range": (0, top)},
        "whole": {"type": "integer", "range": (0, 5000)},
        "day": {"type": "date", "range": ("2020-01-01", "2023-12-31")},
    }
    study = sv.Study(sv.Network.ring(len(frames)), frames, schema=schema)
    pooled = pd.concat(frames)
    return study, pooled, [level for level in levels if (pooled.group == level).any()]


NAMES = ["generated", "wine", "cancer"]


@pytest.mark.parametrize("name", NAMES)
def test_crosstab(name):
    study, pooled, levels = cohort(name)
    found = study.crosstab("group", "ill")
    table = pd.crosstab(pooled.group, pooled.ill).reindex(levels)
    there = [found.row_levels.index(level) for level in levels]
    assert (found.counts[there] == table.to_numpy()).all()
    assert found.observations == len(pooled)
    plain = stats.chi2_contingency(table, correction=False)
    ratio = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert np.allclose([found.chi2, found.chi2_pvalue, found.df], plain[:3], rtol=1e-12)
    assert np.allclose([found.g, found.g_pvalue, found.df], ratio[:3], rtol=1e-12)
    assert np.allclose(found.expected[there], plain.expected_freq)
    assert np.isclose(found.cramers_v, stats.contingency.association(table.to_numpy(), method="cramer"), rtol=1e-12)


def test_crosstab_of_two_by_two():
    study, pooled, _ = cohort("cancer")
    found = study.crosstab("group", "ill")
    table = pd.crosstab(pooled.group, pooled.ill)
    yates = stats.chi2_contingency(table, correction=True)
    fisher = stats.fisher_exact(table)
    assert np.allclose([found.chi2_yates, found.chi2_yates_pvalue], yates[:2], rtol=1e-12)
    assert np.allclose([found.odds_ratio, found.fisher_pvalue], fisher, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("equal_var", [False, True])
def test_two_groups(name, equal_var):
    study, pooled, levels = cohort(name)
    chosen = levels[:2]
    found = study.t_test("x", by="group", levels=chosen, equal_var=equal_var)
    samples = [pooled.x[pooled.group == level] for level in chosen]
    expected = stats.ttest_ind(*samples, equal_var=equal_var)
    assert np.allclose(
        [found.statistic, found.pvalue, found.df], [expected.statistic, expected.pvalue, expected.df], CLOSE, 0
    )
    assert np.allclose(found.interval, expected.confidence_interval(), CLOSE, 0)
    assert np.allclose(found.conf_int(0.1), expected.confidence_interval(0.9), CLOSE, 0)


@pytest.mark.parametrize("name", NAMES)
def test_one_group_and_pairs(name):
    study, pooled, _ = cohort(name)
    found = study.t_test("x", mu=3)
    expected = stats.ttest_1samp(pooled.x, 3)
    assert np.allclose(
        [found.statistic, found.pvalue, found.df], [expected.statistic, expected.pvalue, expected.df], CLOSE, 0
    )
    found, expected = study.t_test("x", paired="whole"), stats.ttest_rel(pooled.x, pooled.whole)
    assert np.allclose([found.statistic, found.df], [expected.statistic, expected.df], CLOSE, 0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("column", ["x", "whole", "day"])
def test_anova_and_levene(name, column):
    study, pooled, levels = cohort(name)
    values = pooled[column] if column != "day" else (pooled.day - pd.Timestamp("1970-01-01")).dt.days
    samples = [values[pooled.group == level] for level in levels]
    found, expected = study.anova(column, by="group"), stats.f_oneway(*samples)
    assert np.isclose(found.statistic, expected.statistic, CLOSE, 0)
    assert np.isclose(found.pvalue, expected.pvalue, CLOSE, 0)
    there = found.n > 0
    ours = dict(zip(np.array(found.levels)[there], zip(found.mean[there], found.sd[there], strict=True), strict=True))
    assert np.allclose([ours[level] for level in levels], [(s.mean(), s.std()) for s in samples], CLOSE, 0)
    found, expected = study.levene(column, by="group"), stats.levene(*samples, center="mean")
    assert np.allclose([found.statistic, found.pvalue], expected, CLOSE, 0)


@pytest.mark.parametrize("name", NAMES)
def test_quantiles_of_whole_numbers_and_days_are_exact(name):
    study, pooled, _ = cohort(name)
    q = (0.05, 0.25, 1 / 3, 0.5, 0.9, 1.0)
    assert (study.quantiles("whole", q).value == np.quantile(pooled.whole, q, method="inverted_cdf")).all()
    days = (pooled.day - pd.Timestamp("1970-01-01")).dt.days
    assert (study.median("day").value == np.quantile(days, [0.5], method="inverted_cdf")).all()


@pytest.mark.parametrize("name", NAMES)
def test_quantiles_of_numbers_lie_where_they_are_said_to(name):
    study, pooled, _ = cohort(name)
    q = np.linspace(0, 1, 11)
    for options in ({}, {"resolution": 0.5}, {"resolution": 0.01, "ways": 2}):
        if "ways" in options and name != "wine":
            continue
        found = study.quantiles("x", q.tolist(), by="group", **options)
        for k, level in enumerate(found.groups):
            values = pooled.x[pooled.group == level]
            if not len(values):
                assert np.isnan(found.low[k]).all()
                continue
            expected = np.quantile(values, q, method="inverted_cdf")
            assert (found.low[k] <= expected).all()
            assert (expected < found.high[k]).all()
            assert np.allclose(found.high[k] - found.low[k], found.resolution, 1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_table_one(name):
    study, pooled, levels = cohort(name)
    found = study.table_one(by="group", columns=["x", "ill", "whole"], nonnormal=["whole"])
    places = [found.groups.index(level) for level in levels]
    groups = [pooled[pooled.group == level] for level in levels]
    assert found.n[places].tolist() == [len(group) for group in groups]
    assert np.allclose(found.mean[0, places], [group.x.mean() for group in groups], CLOSE, 0)
    assert np.allclose(found.sd[0, places], [group.x.std() for group in groups], CLOSE, 0)
    assert found.counts("ill")[1, places].tolist() == [group.ill.sum() for group in groups]
    quartiles = [np.quantile(group.whole, [0.25, 0.5, 0.75], method="inverted_cdf") for group in groups]
    assert (found.quartiles[2][places] == quartiles).all()
    p = (
        stats.f_oneway(*(group.x for group in groups)).pvalue,
        stats.chi2_contingency(pd.crosstab(pooled.ill, pooled.group)).pvalue,
    )
    assert np.allclose(found.pvalue[:2], p, CLOSE, 0)
    assert np.isnan(found.pvalue[2])


def test_standardised_mean_differences():
    """Of two groups by their definition, of three averaged over pairs."""
    study, pooled, _ = cohort("cancer")
    found = study.table_one(by="group", columns=["x", "ill"])
    a, b = (pooled[pooled.group == level] for level in found.groups)
    by_hand = abs(a.x.mean() - b.x.mean()) / np.sqrt((a.x.var() + b.x.var()) / 2)
    p, q = a.ill.mean(), b.ill.mean()
    of_shares = abs(p - q) / np.sqrt((p * (1 - p) + q * (1 - q)) / 2)
    assert np.allclose(found.smd, [by_hand, of_shares], CLOSE, 0)
    study, pooled, levels = cohort("wine")
    groups = [pooled.x[pooled.group == level] for level in levels]
    pairs = [(0, 1), (0, 2), (1, 2)]
    each = [
        abs(groups[a].mean() - groups[b].mean()) / np.sqrt((groups[a].var() + groups[b].var()) / 2) for a, b in pairs
    ]
    assert np.isclose(study.table_one(by="group", columns=["x"]).smd[0], np.mean(each), CLOSE, 0)


@pytest.mark.parametrize("name", NAMES)
def test_describe(name):
    study, pooled, _ = cohort(name)
    found = study.describe(["x", "ill", "whole", "group"])
    assert np.allclose(found.mean[[0, 2], 0], [pooled.x.mean(), pooled.whole.mean()], CLOSE, 0)
    assert np.allclose(found.sd[[0, 2], 0], [pooled.x.std(), pooled.whole.std()], CLOSE, 0)
    expected = np.quantile(pooled.x, [0.25, 0.5, 0.75], method="inverted_cdf")
    assert (np.abs(found.quartiles[0, 0] - expected) <= found.resolution[0] / 2 * (1 + 1e-9)).all()
    counts = pooled.group.value_counts()
    assert found.counts("group")[:, 0].tolist() == [counts.get(level, 0) for level in found.levels("group")]
