"""The mixed model: closed forms, the end of the range, and sentences that name the column."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from unit.test_programs import Meeting, OneParty

import sottovoce as sv
from sottovoce.data.sources import open_source
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.statistics.analyses import restored
from sottovoce.statistics.models import mixed
from sottovoce.statistics.models.mixed import Mixed, best_ratio, visit
from sottovoce.statistics.of_tables import ask_analysis, run_on_tables

SCHEMA = sv.Schema(
    {
        "x": {"type": "number", "range": (-10, 10)},
        "tenfold": {"type": "number", "range": (-100, 100)},
        "same": {"type": "number", "range": (0, 10)},
        "y": {"type": "number", "range": (-100, 100)},
        "group": {"type": "category", "levels": ["u", "v"]},
    }
)


def tables(rng, sizes=(30, 0, 8, 50), tau=2.0, noise=1.0):
    found = []
    for n in sizes:
        x = rng.normal(size=n).round(3)
        y = 1 + x + tau * rng.normal() + noise * rng.normal(size=n)
        found.append(
            {"x": x, "tenfold": (10 * x).round(2), "same": np.full(n, 3.0), "y": y, "group": rng.choice(["u", "v"], n)}
        )
    return found


def study(shards):
    return sv.Study(sv.Network.ring(len(shards)), shards, schema=SCHEMA)


def test_balanced_groups_are_an_analysis_of_variance(rng):
    """REML: ``sigma^2 = MSW`` and ``tau^2 = (MSB - MSW) / n``; ML divides squares between parties by their number
    (Searle, Casella and McCulloch, Variance Components, 4.2 and 3.7)."""
    K, n = 5, 12
    shards = tables(rng, (n,) * K)
    y = np.array([shard["y"] for shard in shards])
    between = n * ((y.mean(axis=1) - y.mean()) ** 2).sum()
    msw = ((y - y.mean(axis=1, keepdims=True)) ** 2).sum() / (K * (n - 1))
    for method, msb in (("reml", between / (K - 1)), ("ml", between / K)):
        fit = study(shards).mixed("y ~ 1", method=method)
        assert fit.scale == pytest.approx(msw, rel=1e-12)
        assert fit.tau2 == pytest.approx((msb - msw) / n, rel=1e-12)
        assert fit.params[0] == pytest.approx(y.mean(), rel=1e-12)
        assert fit.bse[0] == pytest.approx(np.sqrt(msb / (K * n)), rel=1e-12)
        assert fit.llf > fit.llf_pooled
        assert fit.llr_pvalue < 0.05


def test_parties_that_do_not_differ_are_at_the_end_of_the_range(rng):
    """Least squares then: no variance between parties, and it is said."""
    shards = tables(rng, (20, 20, 20), tau=0.0)
    for shard in shards:  # the same mean at all of them
        shard["y"] = shard["y"] - (shard["y"] - 1 - shard["x"]).mean()
    for method, df in (("reml", 58), ("ml", 60)):
        fit = study(shards).mixed("y ~ x", method=method)
        assert (fit.tau2, fit.icc, fit.at_boundary, fit.llr, fit.llr_pvalue) == (0.0, 0.0, True, 0.0, 1.0)
        X = np.column_stack([np.ones(60), np.concatenate([shard["x"] for shard in shards])])
        y = np.concatenate([shard["y"] for shard in shards])
        beta, rss, *_ = np.linalg.lstsq(X, y, rcond=None)
        np.testing.assert_allclose(fit.params, beta, rtol=1e-12)
        assert fit.scale == pytest.approx(rss[0] / df, rel=1e-12)
        assert fit.traffic.agreements == 3
        assert "0, the end of its range" in fit.summary()


def test_a_large_party_in_the_middle_does_not_hide_the_others(rng, monkeypatch):
    """At 0 the slope is negative, and a party that went downhill from there would find nothing."""
    shards = tables(rng, (500, *[4] * 12), tau=0.0)
    for k, shard in enumerate(shards[1:]):
        shard["y"] = shard["y"] + 1.5 * (-1) ** k
    slopes, first = [], mixed._first_look

    def looked(*of):
        slopes.append(first(*of)[0])
        return first(*of)

    monkeypatch.setattr(mixed, "_first_look", looked)
    assert study(shards).mixed("y ~ x", method="ml").tau2 > 0.5
    assert slopes[0] < 0


def climbed(shards, ratio, monkeypatch):
    """The answer, where a climb from some ratio ends, and the ratios on the way."""
    ends, way = [], []

    def recorded(task, theta, **options):
        way.append(theta)
        return visit(task, theta, **options)

    def from_there(task, pooled):
        start = visit(task, ratio)
        monkeypatch.setattr(mixed, "visit", recorded)
        ends.append(mixed._climb(task, start, mixed._look(task, start)[0]))
        monkeypatch.undo()
        return best_ratio(task, pooled)

    monkeypatch.setattr("sottovoce.statistics.models.mixed.best_ratio", from_there)
    return study(shards).mixed("y ~ x"), ends[0], way


def test_a_climb_that_goes_to_0_ends_there(rng, monkeypatch):
    shards = tables(rng, (20, 20, 20), tau=0.0)
    for shard in shards:
        shard["y"] = shard["y"] - (shard["y"] - 1 - shard["x"]).mean()
    fit, end, way = climbed(shards, 0.125, monkeypatch)
    assert end is None
    assert (np.diff(way) < 0).all()
    assert mixed.NONE / 60 < way[-1] < 8 * mixed.NONE / 60  # the next ratio counts as 0
    assert fit.at_boundary


def test_a_step_that_goes_too_far_is_halved(rng, monkeypatch):
    """With hardly any information expected, the first step goes as far as it may, beyond a maximum close by."""
    shards = tables(rng)
    top = study(shards).mixed("y ~ x")
    start = 0.9 * top.tau2 / top.scale
    monkeypatch.setattr(mixed, "_information", lambda point: 1e-300)
    _, end, way = climbed(shards, start, monkeypatch)
    assert way[:2] == [mixed.stretched(start, 2.0), mixed.stretched(start, 1.0)]
    assert end.theta == pytest.approx(top.tau2 / top.scale, rel=1e-12)


def test_steps_are_about_powers_of_e_by_exact_operations():
    for step in np.linspace(-2, 2, 41):
        assert mixed.stretched(3.0, step) == pytest.approx(3 * np.exp(step), rel=0.06)
        assert mixed.stretched(mixed.stretched(1.0, step), -step) == pytest.approx(1, rel=1e-15)
    assert mixed.stretched(1.0, 1e-3) == pytest.approx(np.exp(1e-3), rel=1e-15)


def test_parties_that_differ_a_million_times_as_much_as_their_rows():
    """The variances within parties keep their digits; by the sums of squares of an analysis of variance."""
    rng = np.random.default_rng(5)
    K, n = 4, 6
    noise, level = rng.integers(-99, 100, (K, n)), rng.integers(-(10**9), 10**9, K)
    shards = [{"y": (level[k] + noise[k]) / 1e6, "x": np.zeros(n)} for k in range(K)]
    y = [[Fraction(int(level[k] + e), 10**6) for e in noise[k]] for k in range(K)]
    means = [sum(part) / n for part in y]
    centre = sum(means) / K
    msb = n * sum((mean - centre) ** 2 for mean in means) / (K - 1)
    msw = sum((value - mean) ** 2 for part, mean in zip(y, means, strict=True) for value in part) / (K * (n - 1))
    schema = {"y": {"type": "number", "range": (-2000, 2000), "unit": 1e-6}, "x": "number"}
    fit = sv.Study(sv.Network.ring(K), shards, schema=schema).mixed("y ~ 1")
    assert fit.tau2 / fit.scale > 1e13
    assert fit.scale == pytest.approx(float(msw), rel=1e-12)
    assert fit.tau2 == pytest.approx(float((msb - msw) / n), rel=1e-12)
    assert fit.params[0] == pytest.approx(float(centre), rel=1e-14)
    assert fit.bse[0] == pytest.approx(float(msb / (K * n)) ** 0.5, rel=1e-12)


def test_parties_by_themselves_come_to_one_answer(rng):
    shards = tables(rng)
    for formula in ("y ~ x + group", "y ~ 0 + x"):
        expected = study(shards).mixed(formula)
        assert expected.tau2 > 0
        asked, meeting = ask_analysis(Mixed, SCHEMA, formula=formula), Meeting(4)
        with ThreadPoolExecutor(4) as threads:
            futures = [
                threads.submit(run_on_tables, asked, OneParty(meeting, i), [asked.table(open_source(shard))])
                for i, shard in enumerate(shards)
            ]
            answers = [future.result() for future in futures]
        assert {repr(fit.to_dict()) for fit in answers} == {repr(expected.to_dict())}


def test_the_same_bits_in_whatever_order_parties_are(rng):
    """Their rows stay together; a party without rows changes nothing."""
    shards = tables(rng, (12, 5, 30, 7))
    nobody = {name: values[:0] for name, values in shards[0].items()}
    turned = {name: values[::-1] for name, values in shards[2].items()}
    answers = set()
    for parts in (shards, [nobody, *reversed(shards)], [turned, shards[0], nobody, shards[3], shards[1], nobody]):
        told = study(parts).mixed("y ~ x + group").to_dict()
        answers.add(repr({name: value for name, value in told.items() if name != "parties"}))
    assert len(answers) == 1


def test_what_it_says_and_keeps(rng):
    fit = study(tables(rng)).mixed("y ~ x")
    back = restored("mixed", json.loads(json.dumps(fit.to_dict())), 4)
    assert back.summary() == fit.summary()
    np.testing.assert_array_equal(back.predict({"x": [1.0]}), fit.predict({"x": [1.0]}))
    assert fit.predict({"x": [1.0]})[0] == pytest.approx(fit.params.sum())
    for name in ("aic", "bic"):
        with pytest.raises(Unsupported, match=r'method="reml" depends on the columns\. Use "ml"'):
            getattr(fit, name)
    iterates = [shown.iterate for shown in fit.shown if shown.of.startswith("X'V^-1X")]
    assert iterates == [True] * (len(iterates) - 1) + [False]
    asked = Mixed(schema=SCHEMA, formula="y ~ x")
    assert fit.traffic.agreements <= asked.stages
    assert sum(shown.numbers for shown in fit.shown) <= asked.numbers
    assert "means of each party, though not whose they are" in " ".join(asked.revealed)


def test_matrices_at_three_ratios_tell_rows_and_means_of_few_parties(rng):
    """What ``revealed`` and the guide warn of. Differences of ``W + sum c m m'`` share their vectors ``m``, which are
    then those of a generalised eigenvalue problem; the entry of the intercept tells their size."""
    n, ratios = np.array([30.0, 8.0, 50.0]), np.array([0.1, 0.5, 2.0])
    means = np.column_stack([np.ones(3), rng.normal(size=(3, 2))])  # intercept, x, y
    within = rng.normal(size=(9, 3))
    shown = [within.T @ within + (means.T * (n / (1 + n * ratio))) @ means for ratio in ratios]
    values, vectors = np.linalg.eig(np.linalg.solve(shown[0] - shown[1], shown[1] - shown[2]))
    found = np.linalg.inv(vectors).real
    found /= found[:, :1]
    # c(a) - c(b) = (b - a) n^2 / ((1 + n a)(1 + n b)), so a value is 3.75 (1 + 0.1 n) / (1 + 2 n)
    rows = (3.75 - values.real) / (2 * values.real - 0.375)
    order = np.argsort(rows)
    np.testing.assert_allclose(rows[order], [8, 30, 50], rtol=1e-6)
    np.testing.assert_allclose(found[order], means[[1, 0, 2]], rtol=1e-6)


@pytest.mark.parametrize(
    ("formula", "method", "sentence"),
    [
        ("y ~ x", "mle", "method must be one of reml, ml; got 'mle'"),
        ("group ~ x", "ml", "formula: a mixed model explains a number; 'group' is a category"),
        ("y ~ x + offset(same)", "ml", "formula: a mixed model takes no offset"),
        ("same ~ x", "reml", "nothing is left of 'same' beside the columns: it is constant, or made of them"),
        ("tenfold ~ x", "reml", "nothing is left of 'tenfold' beside the columns"),
    ],
)
def test_models_that_cannot_be_fitted(rng, formula, method, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        study(tables(rng)).mixed(formula, method=method)


def test_columns_that_tell_nothing_more_are_left_out_and_named(rng):
    shards = tables(rng)
    alone = study(shards).mixed("y ~ x")
    for name in ("same", "tenfold"):
        fit = study(shards).mixed(f"y ~ x + {name}")
        assert (fit.terms, fit.aliased) == (("Intercept", "x"), (name,))
        assert fit.params.tolist() == alone.params.tolist()


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ((0, 0, 0), "0 of the parties have rows: a variance between parties needs two or more"),
        ((0, 9, 0), "1 of the parties have rows"),
        ((1, 1, 1), "no party has two rows: the variance between parties cannot be told from that within"),
        ((2, 1, 0), "3 observations do not determine 4 parameters"),
    ],
)
def test_rows_that_cannot_tell_variances(rng, sizes, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        study(tables(rng, sizes)).mixed("y ~ x + group")


def test_nothing_within_parties(rng):
    """The ratio grows without end."""
    with pytest.raises(InvalidInput, match="within the parties nothing is left of 'y'"):
        study(tables(rng, (5, 6, 7, 8), noise=0.0)).mixed("y ~ x")
