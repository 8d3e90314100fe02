"""Groups: arguments, closed forms, refusals, and what is shown."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from picture_faults import faults
from scipy import stats

import sottovoce as sv
from sottovoce.errors import InvalidInput, NotConverged
from sottovoce.statistics.analyses import ANALYSES
from sottovoce.statistics.groups import contingency
from sottovoce.statistics.groups.search import Grid
from sottovoce.statistics.tables import _unplain

ARM = {"type": "category", "levels": ["a", "b", "c"]}
SCHEMA = {
    "arm": ARM,
    "ill": "boolean",
    "x": {"type": "number", "range": (0, 10)},
    "free": "number",
    "whole": {"type": "integer", "range": (-5, 20)},
    "day": {"type": "date", "range": ("2020-01-01", "2020-12-31")},
}


def frame(rng, rows):
    return pd.DataFrame(
        {
            "arm": rng.choice(["a", "b"], rows),
            "ill": rng.random(rows) < 0.4,
            "x": rng.uniform(0, 10, rows),
            "free": rng.normal(3, 1, rows),
            "whole": rng.integers(-5, 21, rows),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, rows), unit="D"),
        }
    )


def study(frames=None, **options):
    rng = np.random.default_rng(1)
    frames = [frame(rng, rows) for rows in (30, 5, 0)] if frames is None else frames
    return sv.Study(sv.Network.ring(len(frames)), frames, schema=options.pop("schema", SCHEMA), seed=1, **options)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda s: s.crosstab("arm", "x"), "columns must be a category or a boolean; 'x' is of type number"),
        (lambda s: s.crosstab("arm", "arm"), "columns must be two different columns"),
        (lambda s: s.crosstab("arm", "il"), "columns must be a column of the schema; got 'il'; did you mean 'ill'"),
        (lambda s: s.t_test("arm"), "column must be a number, an integer or a date; 'arm' is a category"),
        (lambda s: s.t_test("x", by="arm"), "levels must be two of 'arm', which has a, b, c; for all of them ask"),
        (lambda s: s.t_test("x", by="arm", levels=["a", "z"]), "levels must be levels of 'arm', a, b, c; got 'z'"),
        (lambda s: s.t_test("x", by="arm", levels=["a", "a"]), "levels must be 2 or more different levels of 'arm'"),
        (lambda s: s.t_test("x", levels=["a", "b"]), "levels are those of by"),
        (lambda s: s.t_test("x", by="ill", paired="free"), "paired compares two columns"),
        (lambda s: s.t_test("x", paired="x"), "paired must be another column than 'x'"),
        (lambda s: s.t_test("x", mu=float("nan")), "mu must be a finite number"),
        (lambda s: s.t_test("x", equal_var=1), "equal_var must be true or false"),
        (lambda s: s.t_test("x", by="arm", levels=["a", "c"]), "'c' has 0 of the parties' rows; a t-test needs two"),
        (lambda s: s.anova("x", by="whole"), "by must be a category or a boolean; 'whole' is of type integer"),
        (lambda s: s.levene("x", by="arm", center="median"), "center must be 'mean'; got 'median'. About the median"),
        (lambda s: s.quantiles("free"), "column must have a range in the schema; 'free' has none"),
        (lambda s: s.quantiles("x", 1.5), "q must be numbers from 0 to 1"),
        (lambda s: s.quantiles("x", resolution=0), "resolution must be a positive number"),
        (lambda s: s.quantiles("x", resolution=1e-13), "resolution must be a positive number"),
        (lambda s: s.quantiles("whole", resolution=0.5), "resolution must be a whole number for the integer 'whole'"),
        (lambda s: s.quantiles("x", ways=1), "ways must be an integer from 2"),
        (lambda s: s.describe(["x", "x"]), "columns must be different"),
        (lambda s: s.describe(steps=1), "steps must be an integer from 2"),
        (lambda s: s.table_one(by="x"), "by must be a category or a boolean"),
        (lambda s: s.table_one(by="arm", columns=["arm"]), "columns must have another one than by"),
        (lambda s: s.table_one(by="arm", columns=["x"], nonnormal=["whole"]), "nonnormal must be columns that are"),
        (lambda s: s.table_one(by="arm", nonnormal=["free"]), "nonnormal must have a range"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(ask, sentence):
    with pytest.raises(InvalidInput, match=sentence.replace("(", r"\(").replace(")", r"\)")):
        ask(study())


def rows(**columns):
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("tables", "ask", "sentence"),
    [
        ([rows(x=[], ill=[])] * 3, lambda s: s.anova("x", by="ill"), "no party has any rows of these levels of 'ill'"),
        ([rows(x=[], ill=[])] * 3, lambda s: s.median("x"), "no party has any rows"),
        ([rows(x=[], ill=[])] * 3, lambda s: s.describe(["x"]), "no party has any rows"),
        ([rows(x=[1.0, 2.0], ill=[True] * 2)] * 3, lambda s: s.anova("x", by="ill"), "have one level of 'ill'"),
        ([rows(x=[1.0], ill=[True]), rows(x=[2.0], ill=[False]), rows(x=[], ill=[])],
         lambda s: s.anova("x", by="ill"), "no level of 'ill' has two of the parties' rows"),
        ([rows(x=[4.0] * 2, ill=[True, False])] * 3, lambda s: s.t_test("x", by="ill"), "column 'x' does not vary"),
        ([rows(x=[4.0] * 2, ill=[True, False])] * 3, lambda s: s.anova("x", by="ill"), "'x' does not vary within"),
        ([rows(x=[4.0, 5.0] * 2, ill=[True, True, False, False])] * 3,
         lambda s: s.levene("x", by="ill"), "does not vary"),
    ],
)  # fmt: skip
def test_tables_that_give_no_answer(tables, ask, sentence):
    schema = {"x": {"type": "number", "range": (0, 10)}, "ill": "boolean"}
    with pytest.raises(InvalidInput, match=sentence):
        ask(study(tables, schema=schema))


def test_a_group_that_is_constant_is_compared_all_the_same():
    tables = [
        rows(x=[4.0, 4.0, 1.0], ill=[True, True, False]),
        rows(x=[4.0, 3.0], ill=[True, False]),
        rows(x=[], ill=[]),
    ]
    found = study(tables, schema={"x": {"type": "number", "range": (0, 10)}, "ill": "boolean"}).t_test("x", by="ill")
    expected = stats.ttest_ind([1.0, 3.0], [4.0] * 3, equal_var=False)
    assert np.allclose([found.statistic, found.pvalue], [expected.statistic, expected.pvalue], 1e-8)


@pytest.mark.parametrize(
    "table", [[[8, 2], [1, 5]], [[3, 3], [3, 3]], [[0, 4], [6, 0]], [[10, 0], [3, 0]], [[700, 800], [650, 900]]]
)
def test_fisher_and_odds_ratio(table):
    expected = stats.fisher_exact(table)
    ours = contingency.odds_ratio_of(np.array(table)), contingency.fisher_pvalue(np.array(table))
    assert np.allclose(ours, expected, 1e-10, equal_nan=True)


@pytest.mark.parametrize("table", [[[3, 3], [3, 4]], [[8, 2], [1, 5]]])
def test_yates_corrects_by_half_at_most(table):
    """Of counts that are nearer than that to the expected ones nothing is left."""
    expected = stats.chi2_contingency(table, correction=True).statistic
    assert np.isclose(contingency.chi2_of(np.array(table), yates=True), expected, 1e-12, 1e-15)


def test_tables_with_empty_lines():
    """They are left out; of a single line nothing is known."""
    counts = np.array([[5, 0, 3], [2, 0, 9], [0, 0, 0]])
    expected = stats.chi2_contingency(counts[:2][:, [0, 2]], correction=False)
    assert np.isclose(contingency.chi2_of(counts), expected.statistic)
    assert contingency.degrees_of_freedom(counts) == 1
    assert np.isnan(
        [contingency.chi2_of(counts[:1]), contingency.g_of(counts[:1]), contingency.cramers_v(counts[:1])]
    ).all()
    assert np.isnan(contingency.chi2_pvalue(float("nan"), 0))


def test_grids():
    """Whole numbers have a cell each, the largest too; the last cell of a range ends where it does."""
    whole = Grid.of(sv.Column("k", "integer", range=(-5, 20)), None, 2**53)
    assert (whole.cells, whole.step, whole.whole) == (26, 1.0, True)
    assert Grid.of(sv.Column("k", "integer", range=(0, 10**6)), None, 1000).step == 1000
    uneven = Grid.of(sv.Column("x", "number", range=(0, 1)), 0.3, 1)
    assert uneven.cut(np.arange(5)).tolist() == [0.0, 0.3, 0.6, 0.8999999999999999, 1.0]
    assert [Grid(0, 1, 1 / cells, cells, False).rounds(16) for cells in (1, 16, 17, 256, 257)] == [1, 1, 2, 2, 3]


def test_the_ends_of_a_range_are_found():
    tables = [rows(x=[0.0, 0.0, 10.0]), rows(x=[10.0]), rows(x=[])]
    found = study(tables, schema={"x": {"type": "number", "range": (0, 10)}}).quantiles("x", (0.5, 1.0), resolution=3)
    assert found.low.tolist() == [[0.0, 9.0]]
    assert found.high.tolist() == [[3.0, 10.0]]


QUESTIONS = {
    "crosstab": {"columns": ("arm", "ill")},
    "t_test": {"column": "x", "by": "ill"},
    "t_test of one group": {"column": "free", "mu": 1},
    "anova": {"column": "x", "by": "arm"},
    "levene": {"column": "x", "by": "ill"},
    "quantiles": {"column": "day", "by": "arm"},
    "quantiles of numbers": {"column": "x", "q": (0.5,)},
    "describe": {},
    "table_one": {"by": "arm", "nonnormal": ("x", "day")},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_how_answers_are_shown_and_foreseen(question):
    kind, options = ANALYSES[question.split(" ")[0]], QUESTIONS[question]
    found = study()._ask(kind, **options)
    text = found.summary()
    assert "35 observations of 3 parties" in text
    assert max(map(len, text.splitlines())) <= 150
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
    assert analysis.revealed
    keys = {key: value for key, value in analysis.to_dict().items() if key != "type"}
    assert kind(schema=analysis.schema, **keys).to_dict() == analysis.to_dict()


def test_the_layout_of_table_one():
    tables = [
        rows(ill=[True, True, False], arm=["a", "b", "a"], x=[1.0, 2.0, 6.0]),
        rows(ill=[False], arm=["c"], x=[4.0]),
    ]
    schema = {name: SCHEMA[name] for name in ("ill", "arm", "x")}
    found = sv.Study(sv.Network.from_edges(2, [(0, 1)]), tables, schema=schema, seed=1).table_one(by="ill")
    assert found.to_frame().to_numpy()[:, :4].tolist() == [
        ["n", "", "2", "2"],
        ["arm, n (%)", "a", "1 (50.0 %)", "1 (50.0 %)"],
        ["", "b", "0 (0.0 %)", "1 (50.0 %)"],
        ["", "c", "1 (50.0 %)", "0 (0.0 %)"],
        ["x, mean (sd)", "", "5 (1.41)", "1.5 (0.707)"],
    ]


def test_counts_that_are_small_are_seen():
    found = study().crosstab("arm", "ill")
    assert [shown.counts for shown in found.shown] == [tuple(found.counts.ravel().tolist())]
    assert found.shown[0].of == "rows by arm and ill"


def test_runs_that_do_not_converge():
    for ask in (lambda s: s.crosstab("arm", "ill"), lambda s: s.anova("x", by="ill"), lambda s: s.levene("x", by="ill"),
                lambda s: s.t_test("x"), lambda s: s.median("x"), lambda s: s.describe()):  # fmt: skip
        found = ask(study(max_iter=1, overlay=None))
        assert found.status is sv.Status.MAX_ITER
        assert "nothing to report" in found.summary()
        with pytest.raises(NotConverged):
            found.to_frame()


def test_rows_with_missing_values_are_dropped_and_counted():
    frames = [frame(np.random.default_rng(2), 20) for _ in range(3)]
    frames[0].loc[[1, 2], "x"] = np.nan
    found = study(frames, missing="drop").describe(["x", "arm"])
    assert found.observations == 58
    assert "2 rows dropped for missing values: x 2" in found.summary()
