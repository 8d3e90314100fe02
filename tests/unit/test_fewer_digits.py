"""Sums rounded to a hundredth of their standard error: what is told of a cell, how far answers move, and what such
digits cannot tell."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from lockstep import together
from unit.test_every_analysis import EXAMPLES, SCHEMA, SHARDS, SIZES, simulated

import sottovoce as sv
from sottovoce.data.sources import open_source
from sottovoce.errors import InvalidFile, InvalidInput, Undetermined
from sottovoce.statistics.agreements import PooledAgreements
from sottovoce.statistics.analyses import ANALYSES, restored
from sottovoce.statistics.fewer_digits import PART, Rounding, agreed_rounding
from sottovoce.statistics.of_tables import ask_analysis, run_on_tables

MEASURED = ("weight", "dose", "score", "cost")  # columns of the examples that are neither counted nor levels
CASES = {
    kind: options
    for kind, options in EXAMPLES.items()
    if ANALYSES[kind](schema=SCHEMA, **options).takes_fewer_digits and not ANALYSES[kind].counts_only
} | {
    "glm": {"formula": "visits ~ age + sex + dose + offset(log(cost))", "family": "poisson", "robust": "HC0"},
    "ridge": {
        "formula": "weight ~ age + sex + dose",
        "penalties": [1.0],
    },  # one: a fold follows from all digits of a row
    "lasso": {"formula": "weight ~ age + sex + dose", "penalties": [1.0]},
    "cox": {"formula": "days, death ~ age + sex + dose"},
    "multinomial": {"formula": "drug ~ weight + sex"},
    "ordinal": {"formula": "grade ~ weight + sex"},
}
NUMBERS = {"params", "mean", "variance", "covariance", "components", "statistic", "brier", "pvalue", "cv_mean"}
CLOSE = 0.05  # standard errors: eight times what roundings of four parties move an estimate by


def asked(kind, digits="statistical", **options):
    options = options or CASES.get(kind, EXAMPLES[kind])
    return ask_analysis(ANALYSES[kind], SCHEMA, digits=digits, **options)


def told(question, parts):
    """What each party adds to each agreement, and the answer."""

    def play(agreements, i):
        return run_on_tables(question, agreements, [question.table(open_source(parts[i]))])

    return together(play, len(parts))


def nudged(amount):
    """The examples, with one cell of each measured column a little higher."""
    parts = copy.deepcopy(SHARDS)
    for name in MEASURED:
        at = int(np.argsort(parts[0][name])[len(parts[0][name]) // 2])  # far from the ends of its range
        parts[0][name][at] += amount
    return parts


@pytest.mark.parametrize("kind", CASES)
def test_the_last_digits_of_a_cell_change_nothing_that_travels(kind):
    question = asked(kind)
    answers, sent = told(question, SHARDS)
    again, same = told(question, nudged(1e-7))
    assert len(sent) == len(same)
    for one, other in zip(sent, same, strict=True):
        for own, nearly in zip(one, other, strict=True):
            assert own.tolist() == nearly.tolist()
    assert repr(answers[0].to_dict()) == repr(again[0].to_dict())


@pytest.mark.parametrize("kind", CASES)
def test_with_all_digits_they_do(kind):
    question = asked(kind, "full")
    (_, sent), (_, other) = told(question, SHARDS), told(question, nudged(1e-7))
    assert any(
        a.tolist() != b.tolist() for one, two in zip(sent, other, strict=False) for a, b in zip(one, two, strict=True)
    )


@pytest.mark.parametrize("kind", CASES)
def test_every_party_has_one_answer_near_that_of_all_digits(kind):
    answers, _ = told(asked(kind), SHARDS)
    expected = simulated(asked(kind))
    for answer in answers:
        assert repr(answer.to_dict()) == repr(expected.to_dict())
    full = simulated(asked(kind, "full"))
    assert (full.digits, expected.digits) == ("full", "statistical")
    assert "digits" not in full.to_dict()
    assert expected.to_dict()["digits"] == "statistical"
    assert "sums to a hundredth of a standard error" in expected.summary()
    assert restored(kind, expected.to_dict(), 4).summary() == expected.summary()
    if hasattr(full, "bse"):
        off = (np.ravel(expected.params) - np.ravel(full.params)) / np.ravel(full.bse)
        assert 0 < np.abs(off).max() < CLOSE
        np.testing.assert_allclose(expected.bse, full.bse, rtol=0.02)
        return
    one, other = full.to_dict(), expected.to_dict()
    assert one != other
    compared = [name for name in NUMBERS & one.keys() if np.size(one[name])]
    assert compared
    for name in compared:
        a, b = (
            np.array([value for value in np.ravel(np.array(x[name], object)) if value is not None], float)
            for x in (one, other)
        )
        np.testing.assert_allclose(b, a, rtol=0.02, atol=0.02 * np.abs(a).max())


@pytest.mark.parametrize("kind", sorted(EXAMPLES.keys() - CASES.keys()))
def test_counts_have_all_digits_and_sums_of_parties_are_refused(kind):
    if ANALYSES[kind].counts_only:
        question = asked(kind)
        assert question.digits == "full"
        assert simulated(question).digits == "full"
        return
    with pytest.raises(InvalidInput, match=f"those of {kind} are about parties, or sets of rows that may be small"):
        asked(kind)
    assert asked(kind, None).digits == "full"


@pytest.mark.parametrize("parties", [1, 5, 15])
def test_estimates_move_by_as_much_as_said(parties):
    """The root of a twelfth of the number of parties, in hundredths of a standard error: means of 100 columns."""
    names = [f"x{k}" for k in range(100)]
    schema = sv.Schema({name: {"type": "number", "range": (-10, 10)} for name in names})
    parts = np.random.default_rng(3).normal(1, 1, (parties, 60, len(names)))
    question = ask_analysis(ANALYSES["mean"], schema, columns=names, digits="statistical")
    tables = [question.table(open_source(dict(zip(names, part.T, strict=True)))) for part in parts]
    found = run_on_tables(question, PooledAgreements(parties), tables)
    pooled = parts.reshape(-1, len(names))
    moved = (found.mean - pooled.mean(axis=0)) / (pooled.std(axis=0) / math.sqrt(len(pooled)))
    spread = np.std(moved) / (math.sqrt(parties / 12) / PART)
    assert abs(spread - 1) < 4 / math.sqrt(2 * len(moved))  # four standard errors of a standard deviation
    assert np.abs(moved).max() <= parties / 2 / PART * 1.05  # the step is by the deviation as it is agreed on


def looked_at(values, low, high, unit=1e-6, parties=4):
    """The step of a column, beside what it is meant to be."""
    schema = sv.Schema({"x": {"type": "number", "range": (low, high), "unit": unit}})
    question = ask_analysis(ANALYSES["mean"], schema, columns=["x"], digits="statistical")
    rows = [question.table(open_source({"x": part})).rows for part in np.array_split(values, parties)]
    agreements = PooledAgreements(parties)
    agreements.ends = question.spec.ends
    units = agreements.units(rows, question.spec.units)
    rounding = agreed_rounding(agreements, rows, [0], units)
    deviation = math.sqrt(np.mean((values - rounding.centre[0] * float(units[0])) ** 2)) / float(units[0])
    meant = max(deviation * math.sqrt(len(values)) / PART, 1.0)
    return rounding, rounding.step(0) / meant, len(agreements.shown)


@pytest.mark.parametrize(
    ("mean", "deviation", "looks"), [(0.0, 30.0, 1), (40.0, 5.0, 2), (99.0, 0.05, 4), (-70.0, 1e-3, 5), (12.0, 0.0, 8)]
)
def test_looks_find_where_a_column_lies(mean, deviation, looks):
    """In a range of 200: the wider it is beside the deviation, the more looks."""
    values = mean + deviation * np.random.default_rng(1).standard_normal(400)
    rounding, ratio, agreements = looked_at(values.round(6), -100, 100)
    assert abs(rounding.centre[0] * 1e-6 - mean) < max(4 * deviation, 1e-5)
    assert agreements == 1 + looks
    assert 0.8 < ratio < 1.2


def test_levels_and_booleans_are_counted_not_looked_at():
    rows = [asked("linear", formula="death ~ sex + drug").table(open_source(part)).rows for part in SHARDS]
    question = asked("linear", formula="death ~ sex + drug")
    agreements = PooledAgreements(4)
    agreements.ends = question.spec.ends
    units = agreements.units(rows, question.spec.units)
    rounding = agreed_rounding(agreements, rows, range(4), units)
    assert rounding.counted == {0, 1, 2, 3}
    assert [shown.of for shown in agreements.shown] == ["rows"]
    gram = rows[2].grams(lambda block: (block.astype(np.int64), block.astype(np.int64)))
    assert rounding.step(0, 3) == 1
    assert gram.shape == (4, 4)


def test_no_rounding_without_being_asked():
    assert agreed_rounding(PooledAgreements(2), [], [0], [1]) is None


def test_totals_that_rows_have_are_not_called_impossible():
    """Rounding makes squares smaller than the square of a sum: of a constant column, and of one row by group."""
    schema = sv.Schema({"x": {"type": "number", "range": (0, 1000)}, "g": {"type": "category", "levels": ["a", "b"]}})
    parts = [{"x": [500.25] * 9, "g": ["a"] * 8 + ["b"]}, {"x": [500.25] * 4, "g": ["a"] * 4}]
    study = sv.Study(sv.Network.complete(2), parts, schema=schema, digits="statistical")
    found = study.variance("x")
    np.testing.assert_allclose(found.mean, 500.25, rtol=1e-12)
    assert found.variance == 0
    table = study.table_one(columns=["x"], by="g").to_dict()
    assert np.nanmin(np.array(table["sd"], float)) == 0


def cohort(rows=200, parties=3, noise=1.0, digits="statistical"):
    rng = np.random.default_rng(4)
    parts = []
    for _ in range(parties):
        age, dose = rng.uniform(20, 80, rows), rng.uniform(0, 10, rows)
        y = 100 + age - 3 * dose + noise * rng.standard_normal(rows)
        parts.append({"age": age, "dose": dose, "months": 12 * age, "y": y})
    ends = {"age": (0, 120), "dose": (0, 10), "months": (0, 1440), "y": (-200, 400)}
    schema = sv.Schema({name: {"type": "number", "range": pair} for name, pair in ends.items()})
    return sv.Study(sv.Network.ring(parties), parts, schema=schema, digits=digits)


@pytest.mark.parametrize(
    "ask",
    [
        lambda study: study.linear("y ~ age + months + dose"),
        lambda study: study.ridge("y ~ age + months + dose"),
        lambda study: study.pca(["age", "months", "dose"]),
        lambda study: study.glm("y ~ age + months + dose", family="gaussian"),
    ],
    ids=["linear", "ridge", "pca", "glm"],
)
def test_columns_that_depend_on_each_other_are_named(ask):
    with pytest.raises(Undetermined) as caught:
        ask(cohort())
    assert "'age'" in str(caught.value)
    assert "'months'" in str(caught.value)
    assert "'dose'" not in str(caught.value)
    assert 'Take digits = "full"' in str(caught.value)


def test_a_fit_that_leaves_nothing_is_refused():
    with pytest.raises(Undetermined, match="do not tell what the columns leave of 'y'"):
        cohort(noise=1e-3).linear("y ~ age + dose")
    fit = cohort(noise=5.0).linear("y ~ age + dose")
    np.testing.assert_allclose(fit.params[1:], [1, -3], atol=0.3)


@pytest.mark.parametrize("formula", ["y ~ 0 + age + dose", "y ~ age * dose", "y ~ age + I(dose^2)"])
def test_robust_errors_are_near_those_of_all_digits(formula):
    """Also of products, which have more than 53 bits where all digits are told, and not where fewer are."""
    found, expected = (
        cohort(noise=5.0, digits=digits).linear(formula, robust="HC1") for digits in ("statistical", "full")
    )
    np.testing.assert_allclose(found.bse, expected.bse, rtol=0.02)  # three parties, half a hundredth each


def test_levels_that_depend_on_others_are_left_out_by_counts():
    schema = sv.Schema(
        {
            "y": {"type": "number", "range": (0, 50)},
            "g": {"type": "category", "levels": ["a", "b", "c"]},
            "h": {"type": "category", "levels": ["p", "q"]},
        }
    )
    rng = np.random.default_rng(0)
    g = rng.choice(["a", "b"], 90)
    parts = [
        {"y": rng.uniform(10, 40, 30), "g": g[k : k + 30], "h": np.where(g[k : k + 30] == "a", "p", "q")}
        for k in (0, 30, 60)
    ]
    found = [
        sv.Study(sv.Network.ring(3), parts, schema=schema, digits=digits).linear("y ~ g + h")
        for digits in ("full", "statistical")
    ]
    assert found[0].aliased == found[1].aliased == ("g[T.c]", "h[T.q]")
    assert found[0].df_resid == found[1].df_resid == 88


def test_a_column_needs_a_range():
    schema = sv.Schema({"age": {"type": "number"}, "crp": {"type": "number"}, "sex": {"type": "boolean"}})
    message = "needs a range in the schema of what 'age', 'crp' is made of"
    with pytest.raises(InvalidInput, match=message):
        ask_analysis(ANALYSES["linear"], schema, formula="crp ~ age + sex", digits="statistical")
    assert ask_analysis(ANALYSES["linear"], schema, formula="crp ~ age + sex", digits=None).digits == "full"
    assert ask_analysis(ANALYSES["mean"], SCHEMA, columns=["age"], digits=None).digits == "statistical"


def test_other_words_are_refused():
    for call in (
        lambda: sv.Study(sv.Network.ring(4), SHARDS, schema=SCHEMA, digits="few"),
        lambda: ask_analysis(ANALYSES["mean"], SCHEMA, columns=["age"], digits=3),
    ):
        with pytest.raises(InvalidInput, match=r'digits must be "full" or "statistical"; got'):
            call()


def test_no_rows_at_all():
    parts = [{"x": []}, {"x": []}]
    schema = sv.Schema({"x": {"type": "number", "range": (0, 1)}})
    with pytest.raises(Undetermined, match="no party has any rows"):
        sv.Study(sv.Network.complete(2), parts, schema=schema, digits="statistical").mean("x")


def test_how_far_totals_may_be_off():
    """What a party's roundings leave of a product is half a step; those of many add up like errors."""
    rng = np.random.default_rng(5)
    for parties in (1, 3, 30, 300):
        rounding = Rounding((10**6,), parties, {0: 1000}, {0: 400}, frozenset())
        step = rounding.step(0)
        assert step == math.isqrt(400 * 10**6 // PART**2)
        worst = 0
        for _ in range(30):
            own = [np.array([[int(value)]], object) for value in rng.integers(-(10**6), 10**6, parties)]
            counts = np.array([100], object)
            off = sum(int(rounding.sums(part, counts, [0])[0, 0] - part[0, 0]) for part in own)
            worst = max(worst, abs(off))
        assert 0 < worst <= rounding.off(0, 1, 0)


@pytest.mark.parametrize("digits", ["full", "statistical"])
def test_a_plan_says_which(digits, tmp_path):
    from unit.test_every_analysis import written

    from sottovoce.runtime.plan.question import read_question

    table = written(tmp_path, {"type": "mean", "columns": ["weight"], "digits": digits})
    question = read_question(table, None, 4, SCHEMA)
    assert question.asked.digits == digits
    assert question.to_dict()["statistic"]["digits"] == digits
    assert question.told()["digits"].startswith({"full": "all", "statistical": "each party rounds"}[digits])


def test_plans_have_those_of_statistics_where_they_can(tmp_path):
    from unit.test_every_analysis import written

    from sottovoce.runtime.plan.question import read_question

    for kind, options in EXAMPLES.items():
        question = read_question(written(tmp_path, {"type": kind, **options}), None, len(SIZES), SCHEMA)
        assert (question.asked.digits == "statistical") == (kind in CASES)
    free = sv.Schema({"x": {"type": "number"}})
    question = read_question(written(tmp_path, {"type": "mean", "columns": ["x"]}), None, 4, free)
    assert question.told()["digits"] == "all: x has no range in a schema"
    with pytest.raises(InvalidFile, match=r'digits must be "full" or "statistical"'):
        read_question(written(tmp_path, {"type": "mean", "columns": ["x"], "digits": "some"}), None, 4, free)
