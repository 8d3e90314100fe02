"""Linear models: options, closed forms, columns that are left out, robust errors in fractions, the same bits for any
partition, refusals at every party, and where people look at them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from lockstep import together
from partitions import assert_same_bits
from picture_faults import faults

import sottovoce as sv
from sottovoce.data.rows import ArrayRows
from sottovoce.data.sources import open_source
from sottovoce.errors import InvalidInput, PeerError, Undetermined
from sottovoce.statistics.agreements import PooledAgreements
from sottovoce.statistics.analysis import check_squares
from sottovoce.statistics.linear import linear_model
from sottovoce.statistics.linear.gram import symmetric
from sottovoce.statistics.linear.linear_model import LinearModel
from sottovoce.statistics.of_tables import ask_analysis, run_on_tables

SCHEMA = sv.Schema(
    {
        "x": {"type": "number", "range": (-10, 10)},
        "z": {"type": "number", "range": (-30, 30)},
        "one": {"type": "number", "range": (0, 2)},
        "g": {"type": "category", "levels": ["a", "b", "c"]},
        "w": {"type": "number", "range": (0, 3)},
        "y": {"type": "number", "range": (-50, 50)},
    }
)
RING = sv.Network.ring(3)


def tables(levels="abc", rows=(9, 0, 20)):
    """Numbers of two decimals, so that ``z`` is exactly what follows from ``x`` and ``g``."""
    rng = np.random.default_rng(4)
    found = []
    for count in rows:
        frame = pd.DataFrame({"x": rng.normal(size=count).round(2), "g": rng.choice(list(levels), count)})
        frame["z"] = (2 * frame["x"] - (frame["g"] == "b")).round(2)
        frame["one"], frame["w"] = 1.5, rng.uniform(0.5, 2, count).round(3)
        frame["y"] = (1 + 2 * frame["x"] + rng.normal(size=count)).round(2)
        found.append(frame)
    return found


def study_of(parties):
    return sv.Study(RING, parties, schema=SCHEMA)


@pytest.fixture(scope="module")
def study():
    return study_of(tables())


@pytest.fixture(scope="module")
def fit(study):
    return study.linear("y ~ x + g")


# Closed forms


def test_a_line_through_points_leaves_nothing():
    x = np.arange(12.0).reshape(3, 4, 1)
    for kind in (None, "HC3"):
        fit = sv.private_linear(RING, [(own, 3 - own[:, 0] / 4) for own in x], robust=kind)
        assert fit.params.tolist() == [3, -0.25]
        assert fit.ssr == 0
        assert not fit.covariance.any()
        assert fit.rsquared == fit.rsquared_adj == 1
        assert math.isinf(fit.fvalue)


def test_the_mean_is_a_model(study):
    fit = study.linear("y ~ 1")
    y = pd.concat(tables())["y"]
    assert fit.terms == ("Intercept",)
    assert fit.params[0] == pytest.approx(y.mean(), rel=1e-14)
    assert fit.bse[0] == pytest.approx(y.sem(), rel=1e-14)
    assert np.isnan(fit.fvalue)
    assert fit.predict(tables()[0]).tolist() == [fit.params[0]] * 9


def test_a_response_that_does_not_vary(study):
    fit = study.linear("one ~ x")
    assert fit.params.tolist() == [1.5, 0]
    assert fit.ssr == 0
    assert np.isnan([fit.rsquared, fit.rsquared_adj, fit.fvalue]).all()


def test_weights_count_rows():
    """Whole weights are repeated rows, as far as estimates go."""
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(30, 2)), rng.normal(size=30), rng.integers(1, 4, 30)
    cut = (5, 12)
    pairs = list(zip(np.split(X, cut), np.split(y, cut), strict=True))
    weighted = sv.private_linear(RING, pairs, weights=np.split(w, cut))
    repeated = [(np.repeat(a, k, axis=0), np.repeat(b, k)) for (a, b), k in zip(pairs, np.split(w, cut), strict=True)]
    np.testing.assert_array_equal(weighted.params, sv.private_linear(RING, repeated).params)
    assert weighted.nobs == 30


def test_arrays_and_tables_agree(study, fit):
    frames = [pd.DataFrame({"x": t["x"], "b": t["g"] == "b", "c": t["g"] == "c", "y": t["y"]}) for t in tables()]
    other = sv.private_linear(RING, frames, target="y")
    assert other.terms == ("Intercept", "x", "b", "c")
    for name in ("params", "covariance", "vif", "gram"):
        np.testing.assert_allclose(getattr(other, name), getattr(fit, name), rtol=1e-14, err_msg=name)
    np.testing.assert_allclose(other.predict(frames[0]), fit.predict(tables()[0]), rtol=1e-12)


def test_an_offset_on_another_grid_is_subtracted(study):
    pooled = pd.concat(tables())
    y = pooled["y"] - np.log(pooled["w"])
    slope, constant = np.polyfit(pooled["x"], y, 1)
    fit = study.linear("y ~ x + offset(log(w))")
    np.testing.assert_allclose(fit.params, [constant, slope], rtol=1e-11)
    robust_fit = study.linear("y ~ x + offset(log(w))", robust="HC0")
    X = np.column_stack([np.ones(29), pooled["x"]])
    inverse, e = np.linalg.inv(X.T @ X), (y - X @ [constant, slope]).to_numpy()
    np.testing.assert_allclose(robust_fit.covariance, inverse @ (X.T * e**2) @ X @ inverse, rtol=1e-10)


# The same bits


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ x + g", {}),
        ("y ~ x * g + one", {"robust": "HC2", "weights": "w"}),
        ("y ~ 0 + log(w) + g + offset(x)", {"robust": "HC3"}),
        ("y ~ x + z + g", {"robust": "HC1"}),
    ],
)
def test_any_partition_has_the_same_bits(formula, options):
    pooled = pd.concat(tables(rows=(40, 3, 90)))
    assert_same_bits(pooled.to_dict("list"), SCHEMA, lambda study: study.linear(formula, **options))


# Columns that are left out


@pytest.mark.parametrize(
    ("formula", "levels", "aliased"),
    [
        ("y ~ x + one", "abc", ("one",)),
        ("y ~ 0 + one + x + g", "abc", ("g[c]",)),
        ("y ~ x + g", "ab", ("g[T.c]",)),
        ("y ~ x + g", "bc", ("g[T.c]",)),  # the reference level has no rows
        ("y ~ x + g", "b", ("g[T.b]", "g[T.c]")),
        ("y ~ x + z + g", "ab", ("g[T.b]", "g[T.c]")),
        ("y ~ g + z + x", "ab", ("g[T.c]", "x")),
        ("y ~ x + z", "ac", ("z",)),
    ],
)
def test_aliased_columns_are_named(formula, levels, aliased):
    fit = study_of(tables(levels)).linear(formula)
    assert fit.aliased == aliased
    assert set(fit.terms) | set(aliased) == set(fit.all_terms)
    assert fit.df_resid == 29 - len(fit.terms)
    assert f"terms before them: {', '.join(aliased)}." in fit.summary()
    pooled = pd.concat(tables(levels))
    known = {"Intercept": 1.0, "g[T.b]": pooled["g"] == "b", "g[T.c]": pooled["g"] == "c"}
    known |= {f"g[{level}]": pooled["g"] == level for level in "abc"}
    X = np.column_stack([np.broadcast_to(known.get(t, pooled.get(t)), 29).astype(float) for t in fit.terms])
    b, left, rank, _ = np.linalg.lstsq(X, pooled["y"], rcond=None)
    assert rank == len(fit.terms)
    np.testing.assert_allclose(fit.params, b, rtol=1e-11)
    assert fit.ssr == pytest.approx(left[0], rel=1e-12)
    np.testing.assert_allclose(fit.predict(pooled), X @ b, rtol=1e-11)


def test_a_column_that_depends_but_for_rounding_is_left_out():
    """Computed in float64, or rounded to the grid of logarithms."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X = np.column_stack([X[:, :2], X[:, 0] + X[:, 1], X[:, 2], 3.7 * X[:, 0] - X[:, 2] / 7, 1e6 * X[:, 1] + X[:, 2]])
    y = X[:, 0] + rng.normal(size=60)
    shards = list(zip(np.split(X, (5, 9)), np.split(y, (5, 9)), strict=True))
    fit = sv.private_linear(RING, shards)
    assert fit.aliased == ("x2", "x4", "x5")
    plain = sv.private_linear(RING, [(own[:, [0, 1, 3]], b) for own, b in shards])
    np.testing.assert_array_equal(fit.params, plain.params)
    np.testing.assert_array_equal(fit.all_params[[0, 1, 2, 4]], plain.params)
    for typ in (1, 2, 3):
        assert fit.anova(typ).set_index("term").loc[["x0", "x1", "x3"], "df"].tolist() == [1, 1, 1]
    fit = study_of(tables()).linear("y ~ log(w) + x + log(w^2) + log(10 * w) + g")
    assert fit.aliased == ("log(w ** 2)", "log(10 * w)")


def test_shares_that_add_up_to_one_are_a_constant():
    """But for rounding; beside an intercept the last of them is left out."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    X /= X.sum(axis=1)[:, None]
    assert (X.sum(axis=1) != 1).any()
    y = X @ [1.0, 2.0, 5.0] + rng.normal(size=40)
    shards = list(zip(np.split(X, (5, 9)), np.split(y, (5, 9)), strict=True))
    bare, beside = sv.private_linear(RING, shards, intercept=False), sv.private_linear(RING, shards)
    assert beside.aliased == ("x2",)
    assert bare.constant
    assert (bare.df_model, beside.df_model) == (2, 2)
    assert bare.rsquared == pytest.approx(beside.rsquared, rel=1e-12)
    np.testing.assert_allclose(bare.vif[0], np.square(X[:, 0]).sum() * bare.covariance[0, 0] / bare.scale, rtol=1e-12)


def test_a_column_that_nearly_depends_stays():
    x = np.arange(12.0)
    z = 2 * x
    z[5] += 1e-9
    y = np.sin(x)
    X = np.column_stack([x, z])
    fit = sv.private_linear(RING, [(X[:5], y[:5]), (X[5:5], y[5:5]), (X[5:], y[5:])])
    assert fit.aliased == ()
    others = np.delete(np.arange(12), 5)
    slope, constant = np.polyfit(x[others], y[others], 1)  # row 5 is fitted by itself
    assert fit.ssr == pytest.approx(np.square(y - constant - slope * x)[others].sum(), rel=1e-12)


def test_terms_without_columns_of_their_own():
    """``one`` is the intercept, ``z`` follows from ``x`` and ``g``."""
    fit = study_of(tables()).linear("y ~ one + x + g + z")
    assert fit.anova(1)["term"].tolist() == ["x", "g", "Residual"]
    assert dict(zip(*fit.anova(3)[["term", "df"]].to_numpy().T, strict=True)) == {
        **{"one": 0, "x": 1, "g": 2, "z": 0},
        "Residual": 25,
    }
    second = fit.anova(2).set_index("term")
    assert second.loc[["x", "z"], "df"].tolist() == [0, 0]  # x follows from g and z
    assert np.isnan(second.loc["z", "F"])
    assert fit.anova(1)["sum_sq"].sum() == pytest.approx(fit.centered_tss, rel=1e-14)


# Robust errors


def in_fractions(X, y, kind):
    """``(X'X)^-1 X' diag(f) X (X'X)^-1`` of few whole numbers."""
    X = [[Fraction(v) for v in row] for row in X]
    p = len(X[0])
    A = [[sum(r[i] * r[j] for r in X) for j in range(p)] for i in range(p)]
    rows = [[*row, *(Fraction(i == j) for j in range(p))] for i, row in enumerate(A)]
    for j in range(p):
        pivot = next(i for i in range(j, p) if rows[i][j])
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [v / rows[j][j] for v in rows[j]]
        rows = [r if i == j else [a - r[j] * b for a, b in zip(r, rows[j], strict=True)] for i, r in enumerate(rows)]
    inverse = np.array([row[p:] for row in rows], object)
    X, y = np.array(X, object), np.array([Fraction(v) for v in y], object)
    e = y - X @ (inverse @ (X.T @ y))
    h = np.array([row @ inverse @ row for row in X], object)
    f = e * e / {"HC0": 1, "HC1": 1, "HC2": 1 - h, "HC3": (1 - h) ** 2}[kind]
    f = f * Fraction(len(X), len(X) - p) if kind == "HC1" else f
    return (inverse @ (X.T * f) @ X @ inverse).astype(float)


@pytest.mark.parametrize("kind", linear_model.ROBUST)
@pytest.mark.parametrize("base", [0, 10**6], ids=["about 0", "far from 0"])
def test_robust_covariance_is_that_of_fractions(kind, base):
    """Also where columns lie a million deviations from 0, and are nearly dependent."""
    rng = np.random.default_rng(3)
    x = base + rng.integers(-9, 9, 14)
    X = np.column_stack([np.ones(14, int), x, x**2 - 2 * base * x, rng.integers(0, 2, 14)])
    y = 3 * x - X[:, 2] + rng.integers(-5, 5, 14)
    cut = (4, 4)
    shards = list(zip(np.split(X[:, 1:].astype(float), cut), np.split(y.astype(float), cut), strict=True))
    fit = sv.private_linear(RING, shards, robust=kind)
    expected = in_fractions(X.tolist(), y.tolist(), kind)
    np.testing.assert_allclose(fit.bse, np.sqrt(np.diag(expected)), rtol=2e-12)
    sizes = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(fit.covariance / sizes, expected / sizes, atol=2e-12)


@pytest.mark.parametrize("kind", ["HC0", "HC1"])
@pytest.mark.parametrize("wide", [False, True])
def test_a_level_that_one_row_has(kind, wide):
    """Of a row that is fitted by itself the residual is 0, and so is the robust variance of its own effect, also where
    there are so many columns that their inverse is rounded."""
    parties = tables("ab", rows=(30, 0, 40))
    parties[0].loc[3, "g"] = "c"
    rng = np.random.default_rng(0)
    more = {f"v{k}": {"type": "number", "range": (-5, 5)} for k in range(36 if wide else 1)}
    for part in parties:
        for name in more:
            part[name] = rng.normal(size=len(part)).round(9)
    for part in parties:
        part.loc[part["g"] == "c", [*more, "x"]] = 0.0
    study = sv.Study(RING, parties, schema=sv.Schema({**SCHEMA, **more}))
    fit = study.linear(f"y ~ 0 + g + x + {' + '.join(more)}", robust=kind)
    place = fit.terms.index("g[c]")
    assert fit.bse[place] == 0
    assert not fit.covariance[place].any()
    assert (np.delete(fit.bse, place) > 0).all()
    assert math.isinf(fit.f_test("g").statistic)
    with_reference = study.linear("y ~ g + x", robust=kind)
    assert (with_reference.bse > 0).all()
    X, y = np.column_stack([np.ones(69), *_others(parties)]), pd.concat(parties).query("g != 'c'")["y"].to_numpy()
    inverse = np.linalg.inv(X.T @ X)
    f = np.square(y - X @ inverse @ X.T @ y) * (70 / 66 if kind == "HC1" else 1)
    middle = inverse @ (X.T * f) @ X @ inverse  # of what the other rows say; y - intercept has the variance of that
    places = [with_reference.terms.index(term) for term in ("Intercept", "g[T.b]", "x")]
    np.testing.assert_allclose(with_reference.covariance[np.ix_(places, places)], middle, rtol=1e-10)
    own = with_reference.terms.index("g[T.c]")
    assert with_reference.bse[own] == pytest.approx(math.sqrt(middle[0, 0]), rel=1e-10)


def test_effects_whose_errors_are_one():
    """Two levels of one row each differ from the reference by what that is uncertain: their difference is certain."""
    parties = tables("a")
    parties[0].loc[3, "g"], parties[2].loc[3, "g"] = "b", "c"
    for kind in ("HC0", "HC1"):
        fit = study_of(parties).linear("y ~ g", robust=kind)
        assert fit.bse[1] == fit.bse[2] == fit.bse[0] > 0
        assert math.isinf(fit.f_test("g").statistic)
        assert "inf" in fit.summary()


def _others(parties):
    rest = pd.concat(parties).query("g != 'c'")
    return rest["g"] == "b", rest["x"]


def test_residuals_far_above_the_mean_take_the_coarser_grid(monkeypatch):
    """A party objects to the finer grid; what comes of the coarser one has the digits of the outlier."""
    x = np.arange(12.0)
    y = np.sin(x)
    y[7] = 1e5
    shards = [(x[:5, None], y[:5]), (x[5:5, None], y[5:5]), (x[5:, None], y[5:])]
    expected = sv.private_linear(RING, shards, robust="HC0")
    monkeypatch.setattr(linear_model, "GRIDS", (60, 30))
    fit = sv.private_linear(RING, shards, robust="HC0")
    np.testing.assert_allclose(fit.bse, expected.bse, rtol=1e-8)
    assert len(fit.shown) == 2


# Refusals


def refused_at_every_party(formula, parties, **options):
    """The sentence, which all parties must say alike, each with its own rows and nothing else."""
    asked = ask_analysis(LinearModel, SCHEMA, formula=formula, **options)
    answers, _ = together(
        lambda agreements, i: run_on_tables(asked, agreements, [asked.table(open_source(parties[i]))]), len(parties)
    )
    assert len(set(answers)) == 1
    return answers[0]


def test_a_row_of_leverage_one_has_no_hc3():
    parties = tables("ab")
    parties[0].loc[0, "g"] = "c"
    for kind in ("HC2", "HC3"):
        sentence = refused_at_every_party("y ~ x + g", parties, robust=kind)
        assert f"{kind} divides by what a row leaves of its leverage" in sentence
    assert np.isfinite(study_of(parties).linear("y ~ x + g", robust="HC1").bse).all()


def test_too_few_rows():
    assert refused_at_every_party("y ~ x + g", tables("abc", rows=(1, 0, 3))).startswith("the parties have 4 rows")
    with pytest.raises(Undetermined, match="the parties have 2 rows in all, which determine 2 terms of 3"):
        study_of(tables(rows=(1, 0, 1))).linear("y ~ x + w")
    assert refused_at_every_party("y ~ x", tables(rows=(0, 0, 0))) == "no party has any rows."
    nothing = [part.assign(x=0.0) for part in tables()]
    assert refused_at_every_party("y ~ 0 + x", nothing) == "'x': 0 in all rows of all parties."


def test_totals_that_no_rows_have_are_refused():
    with pytest.raises(PeerError, match="a party has not kept to the protocol"):
        check_squares(symmetric(np.array([4, 3, 2], object), 2))
    check_squares(symmetric(np.array([4, 3, 3], object), 2))


def test_numbers_beyond_the_units():
    """Units are public; rows that they cannot count are objected to, and nobody learns whose they are."""
    rows = [ArrayRows(np.array(own)) for own in ([[1.0, 2.0], [2.0, 1.0]], [[1e9, 3.0]], [[4.0, 3.0]])]
    model = LinearModel(schema=sv.Schema({"x": {"type": "number", "unit": 1e-12}, "y": "integer"}), formula="y ~ x")
    with pytest.raises(Undetermined, match="the rows of some party lead to numbers that are not finite, or larger"):
        model.program(PooledAgreements(3), rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formula": "y ~ x", "robust": "HC4"}, "robust must be one of HC0, HC1, HC2, HC3, or left out; got 'HC4'"),
        ({"formula": "y ~ x", "weights": "g"}, "weights must be a column of numbers in the schema; got 'g'"),
        ({"formula": "y ~ x", "weights": "x"}, "weights must be a column that the formula does not use; got 'x'"),
        ({"formula": "y, x ~ z"}, "formula must have one column before ~"),
        ({"formula": "y ~ 0"}, "formula: there are no terms left"),
        ({"formula": "g ~ x"}, "'g' is a category"),
        ({"formula": "y ~ y + x"}, "'y' is the response, and a term as well"),
        ({"formula": "y ~ bs(x, df=1100)"}, "columns are too many|df"),
    ],
)
def test_options_that_are_none(study, options, message):
    with pytest.raises(InvalidInput, match=message):
        study.linear(**options)


def test_weights_that_are_not_positive_are_refused_before_anything_is_sent():
    parties = tables()
    parties[2].loc[3, "w"] = 0.0
    with pytest.raises(InvalidInput, match="party 2: weights: column 'w' has values that are not positive"):
        study_of(parties).linear("y ~ x", weights="w")


def test_arrays_that_do_not_fit():
    shards = [(np.ones((2, 2)), np.ones(2))] * 3
    with pytest.raises(InvalidInput, match="robust must be one of"):
        sv.private_linear(RING, shards, robust="hc3")
    with pytest.raises(InvalidInput, match="names must be 2 different strings"):
        sv.private_linear(RING, shards, names=["a", "a"])
    with pytest.raises(InvalidInput, match="a column is called 'Intercept'"):
        sv.private_linear(RING, shards, names=["a", "Intercept"])


def test_models_that_are_not_nested(study, fit):
    for other, message in [
        (study.linear("y ~ z"), "other must have some of the terms Intercept, x"),
        (study.linear("z ~ x"), "its response is 'z', here 'y'"),
        (study.linear("y ~ x", weights="w"), "its weights is 'w', here None"),
        (study_of(tables(rows=(5, 5, 5))).linear("y ~ x"), "its nobs is 15, here 29"),
        ("y ~ x", "other must be a LinearFit"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            fit.compare_f(other)
    with pytest.raises(InvalidInput, match=r"terms must be some of Intercept, x, .*; got 'h'"):
        fit.f_test("h")
    with pytest.raises(InvalidInput, match="typ must be 1, 2 or 3; got 4"):
        fit.anova(4)


def test_models_of_other_rows_are_not_compared(study, fit):
    """As many rows, with the same responses and other covariates, or the other way round: as where missing values are
    dropped in one model and not in the other."""
    for change in ("x", "y"):
        parties = tables()
        parties[2].loc[4, change] += 0.01
        other = study_of(parties).linear("y ~ x")
        assert other.nobs == fit.nobs
        for compare in (fit.compare_f, fit.compare_lr):
            with pytest.raises(InvalidInput, match="other must be fitted to the same rows and response"):
                compare(other)
    elsewhere = study_of([tables()[2], tables()[0], tables()[1]]).linear("y ~ x")  # the same rows at other parties
    assert fit.compare_f(elsewhere) == fit.compare_f(study.linear("y ~ x"))


# Where people look at it


def test_it_shows_itself(fit):
    assert repr(fit) == "LinearFit(converged, Least squares for y: 29 observations of 3 parties)"
    for word in ("Linear model", "R-squared", "Prob (F-statistic)", "g[T.b]", "P>|t|"):
        assert word in fit.summary()
    assert list(fit.to_frame()["term"]) == ["Intercept", "x", "g[T.b]", "g[T.c]"]
    assert "Linear model" in fit._repr_html_()
    assert faults(fit.plot()) == []
    told = fit.to_dict()
    assert told["rsquared"] == fit.rsquared
    assert told["vif"][0] is None
    assert told["aliased"] == []


def test_what_it_gives_away(study, fit):
    assert fit.disclosure.iterates == 0
    assert fit.disclosure.small_cells == {}
    assert [(shown.numbers, shown.counts) for shown in fit.shown] == [(15, (29,))]
    assert fit.traffic.agreements == 1
    weighted = study.linear("y ~ x + g", weights="w", robust="HC3")
    assert [(shown.numbers, shown.counts) for shown in weighted.shown] == [(17, (29,)), (11, (0,))]
    for options in ({}, {"weights": "w", "robust": "HC3"}, {"robust": "HC1"}):
        asked = LinearModel(schema=SCHEMA, formula="y ~ x + g", **options)
        shown = study.linear("y ~ x + g", **options).shown
        assert (len(shown), sum(each.numbers for each in shown)) == (asked.stages, asked.numbers)


def test_new_rows(fit):
    new = pd.DataFrame({"g": ["c", "a"], "x": [1.0, -1.0]})
    expected = [fit.params[[0, 1, 3]].sum(), fit.params[0] - fit.params[1]]
    np.testing.assert_allclose(fit.predict(new), expected)
    with pytest.raises(InvalidInput, match="values are missing in new rows, by column: 'x' 1"):
        fit.predict(pd.DataFrame({"g": ["c", "a"], "x": [1.0, None]}))
    with pytest.raises(InvalidInput, match="no column 'g'"):
        fit.predict(new[["x"]])


def test_new_rows_outside_of_the_range_are_refused_and_a_wider_range_changes_no_estimate():
    """By row and never by cell. The unit must be the same: a range without one gives it."""
    own = {"x": [0.5, 1.0, 2.5, 4.0], "y": [1.0, 2.0, 2.5, 5.0]}
    narrow, wide = (
        sv.Study(RING, [own] * RING.n, schema={"x": {"type": "number", "unit": 0.1, "range": (0, end)}, "y": "number"})
        .linear("y ~ x")
        for end in (5, 5000)
    )  # fmt: skip
    assert narrow.params.tolist() == wide.params.tolist()
    with pytest.raises(InvalidInput, match=r"^column 'x': out of range \(from 0 to 5\) in row 2\. ") as refused:
        narrow.predict({"x": [4.0, 77.7]})
    assert "77" not in str(refused.value)
    assert wide.predict({"x": [4.0, 77.7]})[1] == pytest.approx(wide.params @ [1, 77.7], rel=1e-15)
