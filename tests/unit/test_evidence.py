"""Evidence: arguments, closed forms, refusals, and what is shown."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from picture_faults import faults

import sottovoce as sv
from sottovoce.errors import InvalidInput, NotConverged
from sottovoce.statistics.analyses import ANALYSES
from sottovoce.statistics.tables import _unplain

SCHEMA = {
    "arm": {"type": "category", "levels": ["a", "b", "c"]},
    "drug": "boolean",
    "ill": {"type": "category", "levels": ["no", "yes"]},
    "x": {"type": "number", "range": (0, 10)},
    "p": {"type": "number", "range": (0, 1)},
    "free": "number",
}


def frame(rng, rows):
    p = rng.uniform(0, 1, rows)
    return pd.DataFrame(
        {
            "arm": rng.choice(["a", "b", "c"], rows),
            "drug": rng.random(rows) < 0.5,
            "ill": np.where(rng.random(rows) < p, "yes", "no"),
            "x": rng.uniform(0, 10, rows),
            "p": p,
            "free": rng.normal(size=rows),
        }
    )


def study(frames=None, **options):
    rng = np.random.default_rng(1)
    frames = [frame(rng, rows) for rows in (60, 20, 0)] if frames is None else frames
    return sv.Study(sv.Network.ring(len(frames)), frames, schema=SCHEMA, seed=1, **options)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda s: s.mantel_haenszel("arm", "ill"), "exposure must be a boolean, or a category of two levels; 'arm'"),
        (lambda s: s.mantel_haenszel("drug", "drug"), "outcome must be another column than the exposure, 'drug'"),
        (lambda s: s.mantel_haenszel("drug", "x"), "outcome must be a category or a boolean; 'x' is of type number"),
        (lambda s: s.meta_analysis("median", column="x"), "effect must be one of mean, mean_difference"),
        (lambda s: s.meta_analysis("mean"), "column must be a column of the schema; got None"),
        (lambda s: s.meta_analysis("mean", column="x", by="arm"), "by has no meaning for effect 'mean'"),
        (lambda s: s.meta_analysis("mean_difference", column="x", by="arm"), "levels must be two of 'arm'"),
        (lambda s: s.meta_analysis("log_odds_ratio", exposure="drug"), "outcome must be a column of the schema"),
        (lambda s: s.meta_analysis("mean", column="x", continuity=-1), "continuity must be a number >= 0"),
        (lambda s: s.roc("ill", "free"), "score must have a range in the schema; 'free' has none"),
        (lambda s: s.roc("ill", "p", bins=1), "bins must be an integer from 2"),
        (lambda s: s.calibration("ill", "x"), "score must be a probability, with a range within 0 and 1"),
        (lambda s: s.calibration("ill", "p", fitted=1), "fitted must be true or false"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(ask, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        ask(study())


def of(drug, ill):
    """Rows with the other columns filled in."""
    n = len(drug)
    return pd.DataFrame({"arm": ["a"] * n, "drug": drug, "ill": ill, "x": [1.0] * n, "p": [0.5] * n, "free": [0.0] * n})


NOBODY = of([], [])


@pytest.mark.parametrize(
    ("tables", "ask", "sentence"),
    [
        ([NOBODY] * 3, lambda s: s.mantel_haenszel("drug", "ill"), "no party has any rows"),
        ([of([True], ["yes"]), of([False], ["no"]), NOBODY], lambda s: s.mantel_haenszel("drug", "ill"),
         "no party has both levels of 'drug' and of 'ill'"),
        ([of([True], ["yes"])] * 3, lambda s: s.meta_analysis("mean", column="x"), "no party has enough rows"),
        ([of([True] * 2, ["yes"] * 2)] * 3, lambda s: s.meta_analysis("mean", column="x"), "no party has enough rows"),
        ([of([True] * 2, ["yes"] * 2)] * 3, lambda s: s.roc("ill", "p"), "have one level of 'ill'"),
        ([NOBODY] * 3, lambda s: s.calibration("ill", "p"), "no party has any rows"),
    ],
)  # fmt: skip
def test_tables_that_give_no_answer(tables, ask, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        ask(study(tables))


@pytest.mark.parametrize(
    ("estimates", "sentence"),
    [
        ([(1.0, 0.0), None, None], "party 0: estimates must have a positive standard error"),
        ([(1.0,), None, None], "party 0: estimates must be pairs"),
        ([(1.0, float("nan")), None, None], "party 0: estimates must be pairs"),
        ([None, None, None], "no party has an estimate"),
        ([(1.0, 1.0)], "estimates must have one entry per party, 3; got 1"),
    ],
)
def test_estimates_that_are_none(estimates, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        sv.private_meta_analysis(sv.Network.ring(3), estimates)


def test_a_single_study():
    """Its estimate is the answer, and nothing is known of others."""
    found = sv.private_meta_analysis(sv.Network.ring(3), [None, (0.4, 0.2), None], seed=1)
    assert np.allclose([found.fixed, found.fixed_se, found.random, found.random_se], [0.4, 0.2, 0.4, 0.2], 1e-9)
    assert (found.studies, found.df, found.tau2) == (1, 0, 0.0)
    assert np.isnan([found.i2, found.h2, found.q_pvalue, *found.prediction]).all()


def test_weights_of_any_size():
    """Errors from 1e-30 to 1e30, of which nobody knows the size beforehand."""
    for size in (1e-30, 1e-3, 1e30):
        found = sv.private_meta_analysis(
            sv.Network.ring(3), [(0.0, size), (size, size), (4 * size, 2 * size)], scale=size, seed=1
        )
        # w = 1, 1, 1/4: the mean is (0 + 1 + 1) / 2.25 = 8/9, and q = (8/9)^2 + (1/9)^2 + (28/9)^2 / 4
        assert np.isclose(found.fixed / size, 8 / 9, 1e-8)
        assert np.isclose(found.q, (64 + 1 + 196) / 81, 1e-8)


def test_a_party_that_leaves_no_estimate_is_left_out():
    """With an empty cell it has one by the correction alone."""
    half = of([True] * 4 + [False] * 4, ["yes", "no"] * 4)
    empty = of([True] * 4 + [False] * 4, ["yes"] * 4 + ["yes", "no"] * 2)
    s = study([half, empty, NOBODY])
    asked = {"exposure": "drug", "outcome": "ill"}
    assert s.meta_analysis("log_odds_ratio", **asked).studies == 2
    found = s.meta_analysis("log_odds_ratio", **asked, continuity=0)
    assert found.studies == 1
    assert np.isclose(found.fixed_se, 2 * np.sqrt(0.5) / np.sqrt(1), 1e-8)  # sqrt(4 / 2)


def test_ratios_without_anything_below_the_line():
    """Whether a sum is 0 is known for certain: no rounding makes a number of it."""
    table = of([True] * 4 + [False] * 4, ["yes", "yes", "no", "no"] + ["no"] * 4)
    found = study([table, table, NOBODY]).mantel_haenszel("drug", "ill")
    assert found.odds_ratio == found.risk_ratio == float("inf")
    assert found.to_dict()["odds_ratio"] is None
    assert np.isclose(found.chi2, 14 / 3, 1e-8)  # each: 2 - 4 x 2 / 8 = 1, and 4 x 4 x 2 x 6 / (8^2 x 7) = 3/7


def test_a_perfect_score_and_one_that_tells_nothing():
    ill = ["yes"] * 3 + ["no"] * 3
    perfect, empty = of([True] * 6, ill), NOBODY
    perfect["p"] = [0.9, 0.8, 0.95, 0.1, 0.2, 0.05]
    found = study([perfect, empty, empty]).roc("ill", "p")
    assert (found.auc, found.bounds, found.auc_se) == (1.0, (1.0, 1.0), 0.0)
    assert study([of([True] * 6, ill), empty, empty]).roc("ill", "p").bounds == (0.0, 1.0)


def test_what_was_impossible_and_happened():
    table = of([True] * 4, ["yes", "no", "no", "yes"])
    table["p"] = [0.0, 0.0, 0.4, 1.0]
    found = study([table, NOBODY, NOBODY]).calibration("ill", "p")
    assert found.hosmer_lemeshow == float("inf")
    table["ill"] = ["no", "no", "no", "yes"]
    assert np.isclose(study([table, NOBODY, NOBODY]).calibration("ill", "p").hosmer_lemeshow, 0.16 / 0.24)


QUESTIONS = {
    "mantel_haenszel": {"exposure": "drug", "outcome": "ill"},
    "meta_analysis": {"effect": "log_risk_ratio", "exposure": "drug", "outcome": "ill"},
    "meta_analysis of means": {"effect": "mean_difference", "column": "x", "by": "arm", "levels": ("a", "c")},
    "roc": {"outcome": "ill", "score": "p", "bins": 20},
    "calibration": {"outcome": "ill", "score": "p"},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_how_answers_are_shown_and_foreseen(question):
    kind, options = ANALYSES[question.split(" ")[0]], QUESTIONS[question]
    found = study()._ask(kind, **options)
    text = found.summary()
    assert "3 parties" in text
    written = json.loads(json.dumps(found.to_dict()))
    assert written.keys() >= set(found.derived)
    values = {name: _unplain(written[name]) for name in found._values}  # as a party reads its result file
    assert type(found)(found.status, found.parties, (), (), (), **values).summary() == text
    assert len(found.to_frame()) == len(next(iter(found._columns().values())))
    assert "<table>" in found._repr_html_()
    assert faults(found.plot()) == []
    # Bounds of stages, numbers and counts, which plans count on, hold.
    analysis = kind(schema=sv.Schema(SCHEMA), **options)
    assert len(found.shown) <= analysis.stages
    assert sum(each.numbers for each in found.shown if each.counts is None) <= analysis.numbers
    assert sum(each.numbers for each in found.shown if each.counts is not None) <= analysis.counts
    keys = {key: value for key, value in analysis.to_dict().items() if key != "type"}
    assert kind(schema=analysis.schema, **keys).to_dict() == analysis.to_dict()
    assert analysis.revealed
    unfinished = study(max_iter=1, overlay=None)._ask(kind, **options)
    assert "nothing to report" in unfinished.summary()
    with pytest.raises(NotConverged):
        unfinished.to_frame()


def test_orders_of_weights_are_no_votes() -> None:
    """Their sum tells of the rows, and nothing before it has; how many parties have an estimate is in the answer."""
    tables = [{"x": [1.0, 2.0, 4.0 + i], "g": [True, False, True]} for i in range(4)]
    schema = {"x": {"type": "number", "range": (0, 10)}, "g": "boolean"}
    found = sv.Study(sv.Network.ring(4), tables, schema=schema).meta_analysis("mean", column="x")
    first = found.shown[0]
    assert (first.numbers, first.votes, first.is_public) == (1, 1, False)
    assert found.disclosure.small_cells == {}
