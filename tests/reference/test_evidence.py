"""Strata, studies and scores, against statsmodels and scikit-learn on all rows in one place.

Counts and scores are added exactly, and what a party computes of its own keeps the digits of a float64: what is left is
the rounding of the others.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import datasets
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score, roc_curve
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.meta_analysis import combine_effects, effectsize_2proportions

import sottovoce as sv

CLOSE = 1e-13
SCHEMA = {"drug": {"type": "category", "levels": ["yes", "no"], "reference": "no"}, "ill": "boolean"}
TABLES = {  # [[a, b], [c, d]] of each party
    "trial": [[[30, 20], [12, 40]], [[3, 9], [1, 12]], [[400, 350], [300, 500]]],
    "rare": [[[3, 1000], [1, 990]], [[0, 50], [1, 60]], [[7, 5000], [2, 5100]], [[2, 40], [0, 31]]],
    "empty margins": [[[5, 3], [2, 8]], [[4, 0], [0, 0]], [[0, 7], [0, 9]], [[3, 0], [2, 0]], [[2, 6], [4, 5]]],
}


def rows_of(table):
    (a, b), (c, d) = table
    return pd.DataFrame(
        {"drug": ["yes"] * (a + b) + ["no"] * (c + d), "ill": [True] * a + [False] * b + [True] * c + [False] * d}
    )


def strata(name):
    """A party more than there are tables has no rows."""
    frames = [rows_of(table) for table in TABLES[name]]
    return sv.Study(sv.Network.ring(len(frames) + 1), [*frames, rows_of([[0, 0], [0, 0]])], schema=SCHEMA)


@pytest.mark.parametrize("name", TABLES)
def test_mantel_haenszel(name):
    found = strata(name).mantel_haenszel("drug", "ill")
    expected = StratifiedTable([np.array(table) for table in TABLES[name]])
    assert (found.counts == np.sum(TABLES[name], axis=0)).all()
    assert np.isclose(found.odds_ratio, expected.oddsratio_pooled, CLOSE, 0)
    assert np.isclose(found.risk_ratio, expected.riskratio_pooled, CLOSE, 0)
    assert np.isclose(found.log_odds_ratio_se, expected.logodds_pooled_se, CLOSE, 0)
    assert np.allclose(found.odds_ratio_interval, expected.oddsratio_pooled_confint(), CLOSE, 0)
    for correction, chi2, p in (
        (False, found.chi2, found.pvalue),
        (True, found.chi2_corrected, found.pvalue_corrected),
    ):
        test = expected.test_null_odds(correction=correction)
        assert np.allclose([chi2, p], [test.statistic, test.pvalue], CLOSE, 1e-12)


@pytest.mark.parametrize("name", TABLES)
def test_error_of_the_risk_ratio(name):
    """Greenland and Robins, by hand, one party after the other."""
    (a, b), (c, d) = np.moveaxis(np.array(TABLES[name], dtype=float), 0, -1)
    T = a + b + c + d
    above, below = (a * (c + d) / T).sum(), (c * (a + b) / T).sum()
    variance = (((a + b) * (c + d) * (a + c) - a * c * T) / T**2).sum() / (above * below)
    assert np.isclose(strata(name).mantel_haenszel("drug", "ill").log_risk_ratio_se, np.sqrt(variance), CLOSE, 0)


def assert_same_meta(found, y, v):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # about one of them, as statsmodels loses the digits of q where estimates are far from 0
        expected = combine_effects(np.array(y) - y[0], np.array(v), method_re="dl")
    digits = np.spacing(np.abs(y).max())  # which an estimate has far from 0
    assert found.studies == len(y)
    assert np.isclose(found.fixed - y[0], expected.mean_effect_fe, CLOSE, digits)
    assert np.isclose(found.fixed_se, expected.sd_eff_w_fe, CLOSE, 0)
    assert np.isclose(found.q, expected.q, CLOSE, 0)
    assert np.isclose(found.h2, expected.h2, CLOSE, 0)
    assert np.isclose(found.i2, max(0.0, expected.i2), CLOSE, 0)
    assert np.isclose(found.tau2, max(0.0, expected.tau2), CLOSE, 0)
    random, error = expected.mean_effect_re, expected.sd_eff_w_re
    if expected.tau2 < 0:  # which statsmodels leaves as it is; at 0 the two models are one
        random, error = expected.mean_effect_fe, expected.sd_eff_w_fe
        assert (found.random, found.random_se, found.traffic.agreements) == (found.fixed, found.fixed_se, 2)
    assert np.isclose(found.random - y[0], random, CLOSE, digits)
    assert np.isclose(found.random_se, error, CLOSE, 0)
    reach = stats.norm.ppf(0.975) * error
    ends = random - reach, random + reach
    assert np.allclose(np.subtract(found.interval_random, y[0]), ends, CLOSE, 2 * digits)


@pytest.mark.parametrize(
    ("y", "se"),
    [
        ([0.3, 0.5, -0.1, 0.2], [0.1, 0.2, 0.15, 0.3]),  # heterogeneous
        ([0.31, 0.33, 0.30], [0.2, 0.2, 0.1]),  # less so than chance: tau2 is 0
        ([0.3, 0.9, -0.5], [0.01, 0.2, 0.3]),  # one of them is nearly all
        ([0.30001, 0.30002, 0.29999], [1e-5, 2e-5, 1e-5]),  # close to each other, and very sure of it
    ],
)
def test_estimates_that_parties_bring(y, se):
    found = sv.private_meta_analysis(sv.Network.ring(5), [*zip(y, se, strict=True), *[None] * (5 - len(y))])
    assert_same_meta(found, y, np.square(se))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    ("effect", "statistic"),
    [("log_odds_ratio", "odds-ratio"), ("log_risk_ratio", "risk-ratio"), ("risk_difference", "diff")],
)
def test_effects_of_tables(name, effect, statistic):
    tables = [np.array(table, dtype=float) for table in TABLES[name] if np.sum(table, axis=1).all()]
    (a, b), (c, d) = np.moveaxis(np.array([t + 0.5 * (t == 0).any() for t in tables]), 0, -1)
    y, v = effectsize_2proportions(a, a + b, c, c + d, statistic=statistic)
    assert_same_meta(strata(name).meta_analysis(effect, exposure="drug", outcome="ill"), y, v)


def clinics(name):
    """Parties of very different sizes, one without rows, one with a single row and one without a level."""
    if name == "generated":
        rng = np.random.default_rng(4)
        frame = pd.DataFrame({"x": rng.normal(120, 15, 500).round(3), "g": rng.choice(["a", "b", "c"], 500)})
        frame.x += 10 * (np.arange(500) > 400) + 3 * (frame.g == "a")
    else:
        data = (
            datasets.load_iris(as_frame=True) if name == "iris" else datasets.load_diabetes(as_frame=True, scaled=False)
        )
        x = data.data["petal width (cm)" if name == "iris" else "bp"]
        frame = pd.DataFrame({"x": x, "g": np.array(["a", "b", "c"])[np.arange(len(x)) * 7 % 3]})
    edges = [0, 12, 40, len(frame) - 1, len(frame), len(frame)]
    frames = [frame.iloc[a:b] for a, b in pairwise(edges)]
    frames[0] = frames[0][frames[0].g != "b"]
    schema = {"x": {"type": "number", "range": (-1000, 1000)}, "g": {"type": "category", "levels": ["a", "b", "c"]}}
    return sv.Study(sv.Network.ring(len(frames)), frames, schema=schema), frames


@pytest.mark.parametrize("name", ["generated", "iris", "diabetes"])
def test_means_and_their_differences(name):
    study, frames = clinics(name)
    x = [frame.x for frame in frames if len(frame) > 1]
    assert_same_meta(study.meta_analysis("mean", column="x"), [s.mean() for s in x], [s.var() / len(s) for s in x])
    pairs = [(frame.x[frame.g == "a"], frame.x[frame.g == "b"]) for frame in frames]
    pairs = [pair for pair in pairs if min(map(len, pair)) > 1]
    y, v = [a.mean() - b.mean() for a, b in pairs], [a.var() / len(a) + b.var() / len(b) for a, b in pairs]
    found = study.meta_analysis("mean_difference", column="x", by="g", levels=("a", "b"))
    assert_same_meta(found, y, v)


def test_prediction_interval():
    y, se = np.array([0.3, 0.5, -0.1, 0.2]), np.array([0.1, 0.2, 0.15, 0.3])
    found = sv.private_meta_analysis(sv.Network.ring(4), list(zip(y, se, strict=True)))
    reach = stats.t.ppf(0.975, 2) * np.sqrt(found.tau2 + found.random_se**2)
    assert np.allclose(found.prediction, [found.random - reach, found.random + reach])


def scored(name):
    rng = np.random.default_rng(6)
    if name == "generated":
        score = rng.beta(2, 3, 600)
        ill = rng.random(600) < score**1.3
    else:
        data = datasets.load_breast_cancer() if name == "cancer" else datasets.load_wine()
        x, ill = data.data[:, : 2 if name == "wine" else 1], data.target == 1
        score = (
            LogisticRegression().fit((x - x.mean(0)) / x.std(0), ill).predict_proba((x - x.mean(0)) / x.std(0))[:, 1]
        )
    frame = pd.DataFrame({"ill": ill, "p": score})
    edges = [0, 100, 110, len(frame), len(frame)]
    frames = [frame.iloc[a:b] for a, b in pairwise(edges)]
    schema = {"ill": "boolean", "p": {"type": "number", "range": (0, 1)}}
    return sv.Study(sv.Network.ring(4), frames, schema=schema), frame


def delong(positive, negative):
    """By hand, pair by pair."""
    order = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    of_positives, of_negatives = order.mean(axis=1), order.mean(axis=0)
    return np.sqrt(of_positives.var(ddof=1) / len(positive) + of_negatives.var(ddof=1) / len(negative))


@pytest.mark.parametrize("name", ["generated", "cancer", "wine"])
@pytest.mark.parametrize("bins", [7, 100])
def test_roc(name, bins):
    study, frame = scored(name)
    found = study.roc("ill", "p", bins=bins)
    rounded = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], frame.p)
    assert np.isclose(found.auc, roc_auc_score(frame.ill, rounded), rtol=1e-14)
    low, high = found.bounds
    assert low <= roc_auc_score(frame.ill, frame.p) <= high
    assert np.isclose(found.auc_se, delong(rounded[frame.ill], rounded[~frame.ill]), rtol=1e-12)
    fpr, tpr, _ = roc_curve(frame.ill, rounded, drop_intermediate=False)
    ours = np.unique(np.column_stack([found.fpr, found.tpr]), axis=0)
    assert np.allclose(ours, np.unique(np.column_stack([fpr, tpr]), axis=0), rtol=1e-14)


@pytest.mark.parametrize("name", ["generated", "cancer", "wine"])
@pytest.mark.parametrize("bins", [5, 10])
def test_calibration(name, bins):
    study, frame = scored(name)
    found = study.calibration("ill", "p", bins=bins)
    observed, predicted = calibration_curve(frame.ill, frame.p, n_bins=bins, strategy="uniform")
    there = found.n > 0
    assert np.allclose(found.observed[there], observed, rtol=1e-14)
    assert np.allclose(found.predicted[there], predicted, CLOSE, 0)
    assert np.isclose(found.brier, brier_score_loss(frame.ill, frame.p), CLOSE, 0)
    place = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], frame.p)
    groups = frame.groupby(place)
    O, E, n = groups.ill.sum(), groups.p.sum(), groups.size()
    statistic = ((O - E) ** 2 / (E * (1 - E / n))).sum()
    assert np.isclose(found.hosmer_lemeshow, statistic, CLOSE, 0)
    assert np.isclose(found.pvalue, stats.chi2.sf(statistic, len(n) - 2), CLOSE, 0)
    assert study.calibration("ill", "p", bins=bins, fitted=False).df == len(n)
