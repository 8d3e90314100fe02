"""Evidence: arguments, closed forms, refusals, and what is shown."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from partitions import assert_same_bits
from picture_faults import faults

import sottovoce as sv
from sottovoce.data.rows import ArrayRows
from sottovoce.errors import InvalidInput, Undetermined
from sottovoce.statistics.agreements import SimulatedAgreements
from sottovoce.statistics.analyses import ANALYSES, _unplain
from sottovoce.statistics.evidence.mantel_haenszel import ratio_estimates, ratio_terms
from sottovoce.statistics.evidence.meta_analysis import of_table

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


def study(frames=None):
    rng = np.random.default_rng(1)
    frames = [frame(rng, rows) for rows in (60, 20, 0)] if frames is None else frames
    return sv.Study(sv.Network.ring(len(frames)), frames, schema=SCHEMA)


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
        (
            [(1e160, 1.0), None, None],
            "party 0: estimates must be below 1e150 in size, with errors from 1e-150 to 1e150",
        ),
        ([(1.0, 1e-160), None, None], "party 0: estimates must be below 1e150 in size"),
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
    found = sv.private_meta_analysis(sv.Network.ring(3), [None, (0.4, 0.2), None])
    assert np.allclose([found.fixed, found.fixed_se, found.random, found.random_se], [0.4, 0.2, 0.4, 0.2], 1e-15, 0)
    assert (found.studies, found.df, found.tau2, found.q) == (1, 0, 0.0, 0.0)
    assert np.isnan([found.i2, found.h2, found.q_pvalue, *found.prediction]).all()


def test_weights_of_any_size():
    """Errors of which nobody knows the size beforehand."""
    for size in (1e-150, 1e-30, 1e-3, 1e30, 1e149):
        found = sv.private_meta_analysis(sv.Network.ring(3), [(0.0, size), (size, size), (4 * size, 2 * size)])
        # w = 1, 1, 1/4: the mean is (0 + 1 + 1) / 2.25 = 8/9, and q = (8/9)^2 + (1/9)^2 + (28/9)^2 / 4
        assert np.allclose([found.fixed / size, found.fixed_se / size], [8 / 9, 2 / 3], 1e-15, 0)
        assert np.isclose(found.q, (64 + 1 + 196) / 81, 1e-15, 0)


def test_a_ratio_near_one_keeps_its_digits():
    """Its logarithm is what it is above 1, of which a float64 of the ratio has ten digits here."""
    found = of_table("log_odds_ratio", np.array([10**6 + 1, 10**6, 10**6, 10**6]), 0.5)
    assert found.value == Fraction(np.log1p(1e-6))


def test_weights_that_differ_by_sixty_powers_of_two():
    """The largest is nearly all; what is left of the others is tau2, by hand in fractions."""
    pairs = [(Fraction(1, 3), Fraction(1, 2**30)), (Fraction(5), Fraction(1)), (Fraction(-8), Fraction(2))]
    found = sv.private_meta_analysis(sv.Network.ring(3), [(float(y), float(se)) for y, se in pairs])
    y, w = [Fraction(float(y)) for y, _ in pairs], [1 / se**2 for _, se in pairs]
    W = sum(w)
    m = sum(a * b for a, b in zip(w, y, strict=True)) / W
    q = sum(a * (b - m) ** 2 for a, b in zip(w, y, strict=True))
    tau2 = (q - 2) / (W - sum(a * a for a in w) / W)
    adjusted = [1 / (1 / a + max(tau2, 0)) for a in w]
    random = sum(a * b for a, b in zip(adjusted, y, strict=True)) / sum(adjusted)
    assert tau2 > 0
    exact = [m, q, tau2, random]
    assert np.allclose([found.fixed, found.q, found.tau2, found.random], [*map(float, exact)], 1e-14, 0)


def test_estimates_of_sizes_too_different():
    for pairs in ([(1e11, 1e-2), (0.0, 1.0)], [(0.0, 1e-40), (0.0, 1e40)]):
        with pytest.raises(Undetermined, match="the estimates of the parties are of sizes too different"):
            sv.private_meta_analysis(sv.Network.complete(2), pairs)


def test_options_of_masks_are_gone():
    with pytest.raises(InvalidInput, match="scale is gone: sums are exact"):
        sv.private_meta_analysis(sv.Network.complete(2), [(0.0, 1.0)] * 2, scale=2.0)


def test_a_party_whose_rows_are_beyond_what_integers_hold_objects():
    """All end with one sentence, and nobody learns whose rows they are."""
    free = ANALYSES["meta_analysis"](schema=sv.Schema(SCHEMA), effect="mean", column="free")
    rows = [ArrayRows(np.array([[1.0], [value]])) for value in (2.0, 1e30)]
    agreements = SimulatedAgreements(sv.Network.complete(2))
    agreements.units = lambda rows, declared: (Fraction(1, 10**9),)  # as parties of a network settle it
    with pytest.raises(Undetermined, match="the rows of some party lead to numbers"):
        free.program(agreements, rows)


def test_a_party_that_leaves_no_estimate_is_left_out():
    """With an empty cell it has one by the correction alone."""
    half = of([True] * 4 + [False] * 4, ["yes", "no"] * 4)
    empty = of([True] * 4 + [False] * 4, ["yes"] * 4 + ["yes", "no"] * 2)
    s = study([half, empty, NOBODY])
    asked = {"exposure": "drug", "outcome": "ill"}
    assert s.meta_analysis("log_odds_ratio", **asked).studies == 2
    found = s.meta_analysis("log_odds_ratio", **asked, continuity=0)
    assert found.studies == 1
    assert np.isclose(found.fixed_se, np.sqrt(2), 1e-15, 0)  # sqrt(4 / 2)


def test_ratios_without_anything_below_the_line():
    """A sum is 0 for certain: no rounding makes a number of it."""
    table = of([True] * 4 + [False] * 4, ["yes", "yes", "no", "no"] + ["no"] * 4)
    found = study([table, table, NOBODY]).mantel_haenszel("drug", "ill")
    assert found.odds_ratio == found.risk_ratio == float("inf")
    assert found.to_dict()["odds_ratio"] is None
    assert np.isnan([found.log_odds_ratio_se, found.log_risk_ratio_se]).all()
    assert np.isclose(found.chi2, 14 / 3, 1e-15, 0)  # each: 2 - 4 x 2 / 8 = 1, and 4 x 4 x 2 x 6 / (8^2 x 7) = 3/7
    mirrored = study([table.assign(drug=~table.drug)] * 2 + [NOBODY]).mantel_haenszel("drug", "ill")
    assert (mirrored.odds_ratio, mirrored.risk_ratio, mirrored.excess) == (0.0, 0.0, -2.0)
    nothing = of([True] * 3 + [False], ["yes", "yes", "yes", "no"])
    nothing["ill"] = ["no"] * 4
    both = study([nothing, of([True, False], ["yes", "no"]), NOBODY]).mantel_haenszel("drug", "ill")
    assert (both.strata, both.counts.tolist()) == (1, [[1, 3], [0, 2]])


def test_terms_keep_their_digits_in_large_tables():
    """One exposed case among 2^34 rows: its terms are 2^-34 and 2^-68, and the answers right to the last digit."""
    for a, b, c, d in ([1, 2**33, 1, 2**33], [1, 2**34, 2, 3], [2**20, 1, 1, 2**20]):
        T = a + b + c + d
        R, S = Fraction(a * d, T), Fraction(b * c, T)
        found = ratio_estimates(ratio_terms(np.array([a, b, c, d])))
        log_variance = (
            Fraction(a + d, T) / R / 2
            + (Fraction(a + d, T) * S + Fraction(b + c, T) * R) / (2 * R * S)
            + Fraction(b + c, T) / S / 2
        )
        risk = (
            Fraction(a * (c + d), c * (a + b)),
            1 / Fraction(a) - 1 / Fraction(a + b) + 1 / Fraction(c) - 1 / Fraction(c + d),
        )
        exact = [R / S, log_variance, risk[0], risk[1], R - S]
        ours = [found[0], found[1] ** 2, found[2], found[3] ** 2, found[4]]
        np.testing.assert_allclose(ours, [float(each) for each in exact], rtol=1e-15)


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
    assert np.isclose(study([table, NOBODY, NOBODY]).calibration("ill", "p").hosmer_lemeshow, 0.16 / 0.24, 1e-15, 0)


@pytest.mark.parametrize("bins", [10, 35])
def test_a_score_on_an_edge_is_in_the_bin_below(bins):
    """Scores of one decimal lie on edges, all of 10 bins and 0.2, 0.4, 0.6, 0.8 of 35: a bin has its upper edge."""
    tenths = list(range(11))
    table = of([True] * 22, ["yes", "no"] * 11)
    table["p"] = [tenth / 10 for tenth in tenths for _ in range(2)]
    bin_of = [max(0, -(-tenth * bins // 10) - 1) for tenth in tenths]  # ceil(score * bins) - 1, in whole numbers
    expected = np.bincount(bin_of, minlength=bins)
    s = study([table[:9], table[9:], NOBODY])
    curve, found = s.roc("ill", "p", bins=bins), s.calibration("ill", "p", bins=bins)
    assert curve.positives.tolist() == curve.negatives.tolist() == found.events.tolist() == expected.tolist()
    for k in range(bins):
        scores = [Fraction(tenth, 10) for tenth, place in zip(tenths, bin_of, strict=True) if place == k]
        assert found.predicted[k] == float(sum(scores) / len(scores)) if scores else np.isnan(found.predicted[k])


def test_scores_are_added_exactly():
    """Decimals in decimal units: the Brier score is the float64 nearest to what the decimals give."""
    rng = np.random.default_rng(4)
    hundredths, ill = rng.integers(0, 101, 300), rng.random(300) < 0.5
    table = of([True] * 300, np.where(ill, "yes", "no").tolist())
    table["p"] = hundredths / 100
    found = study([table[:10], table[10:], NOBODY]).calibration("ill", "p")
    squares = [(Fraction(int(k), 100) - int(happened)) ** 2 for k, happened in zip(hundredths, ill, strict=True)]
    assert found.brier == float(sum(squares) / 300)
    for k in range(10):
        scores = [Fraction(int(p), 100) for p in hundredths if 10 * k < p <= 10 * k + 10 or p == k == 0]
        assert found.predicted[k] == float(sum(scores) / len(scores))


def test_scores_finer_than_whole_numbers_hold():
    """A probability of 1e-20 has a unit of 1e-35, in which 1 is no whole number of 64 bits: 1e-18 is fine enough."""
    schema = {"ill": "boolean", "p": {"type": "number", "range": (0, 1e-20)}}
    tables = [{"ill": [True, False], "p": [1e-20, 2e-21]}, {"ill": [False], "p": [0.0]}]
    found = sv.Study(sv.Network.complete(2), tables, schema=schema).calibration("ill", "p", bins=2)
    assert (found.n.tolist(), found.predicted[0], found.brier) == ([3, 0], 0.0, 1 / 3)


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
    assert type(found)(found.status, found.parties, **values).summary() == text
    assert len(found.to_frame()) == len(next(iter(found._columns().values())))
    assert "<table>" in found._repr_html_()
    assert faults(found.plot()) == []
    # Bounds of stages, numbers and counts, which plans count on, hold.
    analysis = kind(schema=sv.Schema(SCHEMA), **options)
    assert len(found.shown) == found.traffic.agreements <= analysis.stages
    assert sum(each.numbers for each in found.shown) <= analysis.numbers + analysis.counts
    assert analysis.counts_only is (analysis.numbers == 0)
    keys = {key: value for key, value in analysis.to_dict().items() if key != "type"}
    assert kind(schema=analysis.schema, **keys).to_dict() == analysis.to_dict()
    assert analysis.revealed


@pytest.mark.parametrize(
    ("question", "agreements"),
    [("mantel_haenszel", 1), ("meta_analysis of means", 2), ("roc", 1), ("calibration", 1)],
)
def test_agreements(question, agreements):
    """Of a meta-analysis one more where effects vary between parties."""
    found = study()._ask(ANALYSES[question.split(" ")[0]], **QUESTIONS[question])
    assert found.traffic.agreements == agreements
    if question.startswith("meta"):
        assert found.tau2 == 0
        varied = sv.private_meta_analysis(sv.Network.complete(2), [(0.0, 0.1), (1.0, 0.1)])
        assert (varied.tau2 > 0, varied.traffic.agreements) == (True, 3)


def test_small_counts_are_told_and_those_of_parties_are_not():
    found = study([of([True, False], ["yes", "no"]), of([True] * 6, ["no"] * 6), NOBODY]).mantel_haenszel("drug", "ill")
    assert found.shown[0].counts == (1, 6, 0, 1)
    assert list(found.disclosure.small_cells.values()) == [(1, 1)]
    estimates = sv.private_meta_analysis(sv.Network.ring(3), [(0.0, 0.1), None, (1.0, 0.1)])
    assert estimates.disclosure.small_cells == {}


@pytest.mark.parametrize("question", ["roc", "calibration"])
def test_the_same_bits_however_rows_lie_among_parties(question, rng):
    rows = frame(rng, 150).to_dict("list")
    kind, options = ANALYSES[question], QUESTIONS[question]
    assert_same_bits(rows, SCHEMA, lambda study: study._ask(kind, **options))


@pytest.mark.parametrize("question", ["mantel_haenszel", "meta_analysis", "meta_analysis of means"])
def test_the_same_bits_in_whatever_order_parties_are(question, rng):
    """They are strata and studies, whose rows stay together; one without rows changes nothing."""
    frames = [frame(rng, n) for n in (40, 25, 33, 12)]
    kind, options = ANALYSES[question.split(" ")[0]], QUESTIONS[question]
    answers = []
    for parts in (frames, [*reversed(frames), NOBODY], [NOBODY, frames[2].iloc[::-1], frames[0], frames[3], frames[1]]):
        told = study(parts)._ask(kind, **options).to_dict()
        answers.append({name: repr(value) for name, value in told.items() if name != "parties"})
    assert answers[0] == answers[1] == answers[2]


def test_a_ratio_without_an_interval_is_no_picture():
    """Nobody who is exposed has the outcome in any row: both ratios are 0."""
    found = study([of([True, True, False, False], ["no", "no", "yes", "no"]), NOBODY, NOBODY]).mantel_haenszel(
        "drug", "ill"
    )
    assert (found.odds_ratio, found.risk_ratio) == (0, 0)
    with pytest.raises(InvalidInput, match="a group of 'drug' has 'ill' in no row, or in all"):
        found.plot()


def test_one_row_of_a_kind_tells_no_error_of_the_area():
    parts = [of([True], ["yes"]).assign(p=0.9), of([True, False], ["no", "no"]).assign(p=[0.2, 0.4]), NOBODY]
    found = study(parts).roc("ill", "p")
    assert found.auc == 1
    assert np.isnan(found.auc_se)


def test_studies_of_three_show_where_another_party_may_lie():
    found = sv.private_meta_analysis(sv.Network.ring(3), [(0.3, 0.1), (0.5, 0.2), (-0.1, 0.15)])
    low, high = found.prediction
    assert low < found.random < high
    np.testing.assert_allclose(found.ratios[:, 0], np.exp([found.fixed, found.random]), rtol=1e-15)
    assert faults(found.plot()) == []
