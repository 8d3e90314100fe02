"""Groups: arguments, closed forms, refusals, and what is shown."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from partitions import assert_same_bits
from picture_faults import faults
from scipy import stats

import sottovoce as sv
from sottovoce.data.rows import ArrayRows
from sottovoce.errors import InvalidInput, PeerError
from sottovoce.statistics.analyses import ANALYSES, _unplain
from sottovoce.statistics.groups import contingency
from sottovoce.statistics.groups.comparison import own_sums_of_pairs
from sottovoce.statistics.groups.group_moments import (
    ALL_ROWS,
    Grouping,
    GroupMoments,
    distance_moments,
    own_distances,
    own_sums,
)
from sottovoce.statistics.groups.quantiles import Grid
from sottovoce.sums import common_unit

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
    return sv.Study(sv.Network.ring(len(frames)), frames, schema=options.pop("schema", SCHEMA), **options)


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
    assert np.allclose([found.statistic, found.pvalue], [expected.statistic, expected.pvalue], 1e-12, 0)
    assert found.sd.tolist() == [math.sqrt(2), 0.0]


def crosstab(counts):
    levels = [tuple(map(str, range(count))) for count in np.shape(counts)]
    return contingency.Crosstab(sv.Status.CONVERGED, 1, row="a", column="b", row_levels=levels[0],
                                column_levels=levels[1], counts=np.array(counts))  # fmt: skip


@pytest.mark.parametrize(
    "table", [[[8, 2], [1, 5]], [[3, 3], [3, 3]], [[0, 4], [6, 0]], [[10, 0], [3, 0]], [[700, 800], [650, 900]]]
)
def test_fisher_and_odds_ratio(table):
    expected = stats.fisher_exact(table)
    ours = crosstab(table).odds_ratio, crosstab(table).fisher_pvalue
    assert np.allclose(ours, expected, 1e-12, 0, equal_nan=True)


def test_every_small_table():
    """All of up to 12 rows."""
    tables = [table for table in product(range(13), repeat=4) if sum(table) <= 12]
    assert len(tables) == 1820
    for table in tables:
        counts = np.reshape(table, (2, 2))
        expected = stats.fisher_exact(counts)
        ours = crosstab(counts).odds_ratio, crosstab(counts).fisher_pvalue
        assert np.allclose(ours, expected, 1e-12, 0, equal_nan=True), table


def test_tables_that_are_as_likely_are_as_extreme():
    """All of 20 rows, by binomial coefficients: where two tables are equally likely, rounding makes no difference."""
    for a, b, c in product(range(21), repeat=3):
        row, column = a + b, a + c
        if a + b + c <= 20:
            ways = [math.comb(row, k) * math.comb(20 - row, column - k) for k in range(min(row, column) + 1)]
            exact = Fraction(sum(way for way in ways if way <= ways[a]), math.comb(20, column))
            found = crosstab([[a, b], [c, 20 - a - b - c]]).fisher_pvalue
            assert np.isclose(found, float(exact), 1e-13, 0), (a, b, c)


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
    single = crosstab(counts[:1])
    assert np.isnan([single.chi2, single.g, single.cramers_v]).all()
    assert np.isnan(contingency.chi2_pvalue(float("nan"), 0))
    strength = stats.contingency.association(np.array([[5, 1, 3], [2, 7, 9]]), method="cramer")
    assert np.isclose(crosstab([[5, 1, 3], [0, 0, 0], [2, 7, 9]]).cramers_v, strength, 1e-12, 0)


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
    "t_test of pairs": {"column": "x", "paired": "free"},
    "anova": {"column": "x", "by": "arm"},
    "levene": {"column": "x", "by": "ill"},
    "quantiles": {"column": "day", "by": "arm"},
    "quantiles of numbers": {"column": "x", "q": (0.5,)},
    "describe": {},
    "describe categories": {"columns": ("arm", "ill")},
    "table_one": {"by": "arm", "nonnormal": ("x", "day")},
}


SEARCHED = ("quantiles", "quantiles of numbers", "describe", "table_one")


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
    assert type(found)(found.status, found.parties, **values).summary() == text
    assert len(found.to_frame()) == len(next(iter(found._columns().values())))
    assert "<table>" in found._repr_html_()
    assert faults(found.plot()) == []
    # Stages, numbers and counts, which plans count on; a search may end earlier.
    analysis = kind(schema=sv.Schema(SCHEMA), **options)
    counts_alone = [len(each.counts or ()) == each.numbers for each in found.shown]
    numbers = sum(each.numbers for each, alone in zip(found.shown, counts_alone, strict=True) if not alone)
    counts = sum(each.numbers for each, alone in zip(found.shown, counts_alone, strict=True) if alone)
    assert numbers == analysis.numbers
    assert found.shown[-1].iterate is False  # but for a search's steps on the way
    if question in SEARCHED:
        assert len(found.shown) <= analysis.stages
        assert 0 < counts <= analysis.counts
    else:
        assert (len(found.shown), counts) == (analysis.stages, analysis.counts)
    assert analysis.revealed
    keys = {key: value for key, value in analysis.to_dict().items() if key != "type"}
    assert kind(schema=analysis.schema, **keys).to_dict() == analysis.to_dict()


def test_the_layout_of_table_one():
    tables = [
        rows(ill=[True, True, False], arm=["a", "b", "a"], x=[1.0, 2.0, 6.0]),
        rows(ill=[False], arm=["c"], x=[4.0]),
    ]
    schema = {name: SCHEMA[name] for name in ("ill", "arm", "x")}
    found = sv.Study(sv.Network.from_edges(2, [(0, 1)]), tables, schema=schema).table_one(by="ill")
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


def test_rows_with_missing_values_are_dropped_and_counted():
    frames = [frame(np.random.default_rng(2), 20) for _ in range(3)]
    frames[0].loc[[1, 2], "x"] = np.nan
    found = study(frames, missing="drop").describe(["x", "arm"])
    assert found.observations == 58
    assert "2 rows dropped for missing values: x 2" in found.summary()


@pytest.mark.parametrize(
    ("question", "agreements"),
    [("crosstab", 1), ("t_test", 1), ("t_test of pairs", 1), ("anova", 1), ("levene", 2), ("quantiles", 3),
     ("quantiles of numbers", 5), ("describe", 5), ("describe categories", 1), ("table_one", 5)],
)  # fmt: skip
def test_how_many_agreements_there_are(question, agreements):
    found = study()._ask(ANALYSES[question.split(" ")[0]], **QUESTIONS[question])
    assert len(found.shown) == found.traffic.agreements == agreements


# Exactly what the pooled rows have


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_bits_however_rows_lie_among_parties(question):
    rows = frame(np.random.default_rng(4), 60)
    table = {name: rows[name].to_numpy() for name in rows}
    kind, options = ANALYSES[question.split(" ")[0]], QUESTIONS[question]
    assert_same_bits(table, SCHEMA, lambda own: own._ask(kind, **options), ways=8)


WIDE = {"x": {"type": "number", "range": (0, 10**6)}, "ill": "boolean"}


def far_away(rows, spread):
    """Numbers far from 0 and near to each other, in decimals."""
    rng = np.random.default_rng(6)
    return [500_000 + Fraction(int(k), 10) * Fraction(spread) for k in rng.integers(-20, 20, rows)]


def squares_about_the_mean(values):
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)


@pytest.mark.parametrize("spread", ["0.1", "0.001", "0.00001"])  # 1e-7, 1e-9 and 1e-11 of the range
def test_deviations_far_below_the_range_are_exact(spread):
    exact, ill = far_away(30, spread), np.arange(30) % 3 == 0
    x = np.array([float(value) for value in exact])
    tables = [{"x": x[:20], "ill": ill[:20]}, {"x": x[20:], "ill": ill[20:]}, {"x": [], "ill": []}]
    own = study(tables, schema=WIDE)
    squares = squares_about_the_mean(exact)
    assert own.describe(["x"]).sd[0, 0] == math.sqrt(squares / 29)
    groups = [[value for value, yes in zip(exact, ill, strict=True) if bool(yes) is of] for of in (False, True)]
    within = sum(map(squares_about_the_mean, groups))
    F = (squares - within) / (within / 28)
    anova, table, test = own.anova("x", by="ill"), own.table_one(by="ill"), own.t_test("x", by="ill", equal_var=True)
    assert (anova.between, anova.within) == (float(squares - within), float(within))
    assert np.isclose(anova.statistic, float(F), 1e-14, 0)
    assert np.isclose(table.pvalue[0], stats.f.sf(float(F), 1, 28), 1e-12, 0)
    assert np.isclose(test.statistic**2, float(F), 1e-14, 0)
    apart = [sum(group) / len(group) for group in groups]
    assert test.difference == float(apart[0] - apart[1])
    pooled = sum(squares_about_the_mean(group) / (len(group) - 1) for group in groups) / 2
    assert np.isclose(table.smd[0], abs(test.difference) / math.sqrt(pooled), 1e-14, 0)
    single = own.t_test("x", mu=500_000)
    error = math.sqrt(squares / 29 / 30)
    assert np.isclose(single.statistic, float(sum(exact) / 30 - 500_000) / error, 1e-14, 0)


@pytest.mark.parametrize("value", [0.1, 7.3, 123456.789])
def test_a_column_that_is_constant_has_the_deviation_zero(value):
    tables = [{"x": [value] * 7, "ill": [True] * 7}, {"x": [value, 3.5], "ill": [True, False]}, {"x": [], "ill": []}]
    found = study(tables, schema=WIDE).table_one(by="ill")
    assert found.sd[0, 1] == 0.0
    assert found.mean[0, 1] == value


def test_a_mean_is_compared_with_the_decimal_that_was_written():
    tables = [{"free": [0.1, 0.4]}, {"free": [-0.2]}, {"free": []}]
    found = study(tables, schema={"free": "number"}).t_test("free", mu=0.1)
    assert (found.difference, found.statistic, found.pvalue) == (0.1, 0.0, 1.0)


def test_moments_of_groups_are_those_of_fractions():
    """By Python's integers, of rows that fill 62 bits; rows of no group are left out."""
    rng = np.random.default_rng(7)
    block = np.column_stack([rng.integers(-(2**51), 2**51, 50) * 2.0**10, rng.integers(0, 4, 50)])
    grouping, unit = Grouping(1, (2, 0), 4), Fraction(1)
    total = own_sums(ArrayRows(block), grouping, [0], [unit])
    bounds = [(Fraction(-(2**62)), Fraction(2**62))]
    moments = GroupMoments.of_totals(total, [unit], bounds, 2)
    distances = own_distances(ArrayRows(block), grouping, unit, moments)
    apart = distance_moments(moments, unit, distances)
    for g, level in enumerate((2, 0)):
        values = [Fraction(x) for x, own in block.tolist() if own == level]
        mean = sum(values) / len(values)
        assert (moments.n[g], moments.mean[g, 0]) == (len(values), mean)
        assert moments.scatter[g, 0] == squares_about_the_mean(values)
        about = [abs(value - mean) for value in values]
        assert (apart.mean[g, 0], apart.scatter[g, 0]) == (sum(about) / len(about), squares_about_the_mean(about))


def test_pairs_in_units_that_are_far_apart():
    """A difference of both does not fit into 64 bits."""
    block = np.array([[123456.5, 1e-20], [0.25, 3e-20], [7.75, 2e-20]])
    units = Fraction(1, 100), Fraction(1, 10**20)
    assert common_unit(*units) == Fraction(1, 10**20)
    assert common_unit(Fraction(3, 4), Fraction(5, 6)) == Fraction(1, 12)
    n, S, Q = own_sums_of_pairs(ArrayRows(block), units)
    apart = [Fraction(x) - round(Fraction(y) * 10**20) * units[1] for x, y in block.tolist()]
    assert (n, S * units[1], Q * units[1] ** 2) == (3, sum(apart), sum(value**2 for value in apart))


@pytest.mark.parametrize(
    ("total", "sentence"),
    [
        ([2, 3, 4], "smaller than any rows could have them"),  # x = 1, 2 has 5
        ([0, 0, 1], "smaller than any rows could have them"),  # of no rows
        ([0, 1, 1], "smaller than any rows could have them"),
        ([2, 60, 1800], "beyond the public range"),
    ],
)
def test_totals_that_no_rows_have_are_refused(total, sentence):
    bounds = [(Fraction(0), Fraction(10))]
    fine = GroupMoments.of_totals(np.array([2, 3, 5], object), [Fraction(1)], bounds, 1)
    with pytest.raises(PeerError, match=sentence):
        GroupMoments.of_totals(np.array(total, object), [Fraction(1)], bounds, ALL_ROWS.groups)
    assert distance_moments(fine, Fraction(1), np.array([2], object)).scatter[0, 0] == 0
    for distance in (-2, 3):
        with pytest.raises(PeerError, match="distances from means are not those of any rows"):
            distance_moments(fine, Fraction(1), np.array([distance], object))


# Levels without rows


def test_options_may_be_of_numpys_types():
    own = study()
    assert own.quantiles("x", np.array([0.25, 0.5])).to_dict() == own.quantiles("x", (0.25, 0.5)).to_dict()
    fine = own.describe(["x"], steps=np.int64(64), quartiles=np.True_)
    assert fine.to_dict() == own.describe(["x"], steps=64).to_dict()
    student = own.t_test("x", by="ill", equal_var=np.True_)
    assert student.to_dict() == own.t_test("x", by="ill", equal_var=True).to_dict()


def test_levels_without_rows_are_counted_as_none_and_named():
    rng = np.random.default_rng(9)
    pooled = frame(rng, 50)
    own = study([pooled[:30], pooled[30:], pooled[:0]])
    a, b = (pooled[pooled.arm == arm] for arm in "ab")
    table = own.crosstab("arm", "ill")
    assert table.counts[2].tolist() == [0, 0]
    expected = stats.chi2_contingency(pd.crosstab(pooled.arm, pooled.ill), correction=False)
    assert np.allclose([table.chi2, table.chi2_pvalue, table.df], expected[:3], 1e-12, 0)
    assert "Left out of tests, without rows: levels of arm c." in table.summary()
    anova, levene = own.anova("x", by="arm"), own.levene("x", by="arm")
    assert anova.n.tolist() == [len(a), len(b), 0]
    assert np.allclose([anova.statistic, anova.pvalue], stats.f_oneway(a.x, b.x), 1e-12, 0)
    assert np.allclose([levene.statistic, levene.pvalue], stats.levene(a.x, b.x, center="mean"), 1e-12, 0)
    assert "without rows: levels of arm c." in anova.summary()
    assert "without rows: levels of arm c." in levene.summary()
    fewer = study([pooled[:30], pooled[30:], pooled[:0]], digits="statistical").levene("x", by="arm")
    assert fewer.n.tolist() == [len(a), len(b), 0]
    error = np.sqrt(levene.variance[:2] / levene.n[:2])
    assert (np.abs(fewer.mean - levene.mean)[:2] < 0.05 * error).all()  # three parties, half a hundredth each, twice
    quantiles = own.quantiles("x", by="arm")
    assert np.isnan(quantiles.low[2]).all()
    assert quantiles.n.tolist() == [len(a), len(b), 0]
    described = own.describe(["arm"])
    assert described.counts("arm")[:, 0].tolist() == [len(a), len(b), 0]
    assert own.table_one(by="ill", columns=["arm"]).counts("arm")[2].tolist() == [0, 0]


def test_table_one_with_a_group_without_rows():
    """Two levels and two groups that have rows: Yates corrects."""
    pooled = frame(np.random.default_rng(10), 40)
    found = study([pooled[:20], pooled[20:], pooled[:0]]).table_one(by="arm", columns=["ill", "x"])
    assert found.n.tolist() == [*pooled.arm.value_counts()[["a", "b"]], 0]
    groups = [pooled[pooled.arm == arm] for arm in "ab"]
    yates = stats.chi2_contingency(pd.crosstab(pooled.ill, pooled.arm), correction=True).pvalue
    F = stats.f_oneway(*(group.x for group in groups)).pvalue
    assert np.allclose(found.pvalue, [yates, F], 1e-12, 0)
    assert not np.isnan(found.smd).any()
    assert "Left out of tests, without rows: levels of arm c." in found.summary()
    assert "without rows" not in study([pooled[:20], pooled[20:], pooled[:0]]).table_one(by="ill").summary()
