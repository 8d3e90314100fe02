"""Linear models: options, closed forms, refusals that name the column at every party, and where people look at them."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from picture_faults import faults
from unit.test_programs import Meeting, OneParty

import sottovoce as sv
from sottovoce.data.sources import open_source
from sottovoce.errors import InvalidInput, NotConverged
from sottovoce.statistics.agreements import SimulatedAgreements, Simulation
from sottovoce.statistics.linear.linear_model import LinearModel
from sottovoce.statistics.linear.new_rows import right_side
from sottovoce.statistics.of_tables import ask_analysis, run_on_tables
from sottovoce.statistics.settled import settled

SCHEMA = sv.Schema(
    {
        "x": {"type": "number", "range": (-10, 10)},
        "z": {"type": "number", "range": (-10, 10)},
        "one": {"type": "number", "range": (0, 2)},
        "g": {"type": "category", "levels": ["a", "b", "c"]},
        "w": {"type": "number", "range": (0, 3)},
        "y": {"type": "number", "range": (-50, 50)},
    }
)
RING = sv.Network.ring(3)


def tables(levels="abc", rows=(9, 0, 20)):
    rng = np.random.default_rng(4)
    found = []
    for count in rows:
        frame = pd.DataFrame({"x": rng.normal(size=count), "g": rng.choice(list(levels), count)})
        frame["z"] = 2 * frame["x"] - (frame["g"] == "b")
        frame["one"], frame["w"] = 1.5, rng.uniform(0.5, 2, count)
        frame["y"] = 1 + 2 * frame["x"] + rng.normal(size=count)
        found.append(frame)
    return found


@pytest.fixture(scope="module")
def study():
    return sv.Study(RING, tables(), schema=SCHEMA, seed=1)


@pytest.fixture(scope="module")
def fit(study):
    return study.linear("y ~ x + g")


# Closed forms


def test_a_line_through_points_is_perfect():
    """Residuals of 0 stay 0 to the digits of the response, and nothing divides by them."""
    x = np.arange(12.0).reshape(3, 4, 1)
    fit = sv.private_linear(RING, [(own, 3 - own[:, 0] / 4) for own in x], scale=10, seed=1)
    np.testing.assert_allclose(fit.params, [3, -0.25], rtol=1e-9)
    assert fit.ssr < 1e-16 * fit.centered_tss
    assert fit.rsquared == pytest.approx(1, abs=1e-12)


def test_the_mean_is_a_model(study):
    fit = study.linear("y ~ 1")
    y = pd.concat(tables())["y"]
    assert fit.terms == ("Intercept",)
    assert fit.params[0] == pytest.approx(y.mean(), rel=1e-9)
    assert fit.bse[0] == pytest.approx(y.sem(), rel=1e-9)
    assert np.isnan(fit.fvalue)
    assert fit.predict(tables()[0]).tolist() == [fit.params[0]] * 9


def test_weights_count_rows():
    """Whole weights are repeated rows, as far as estimates go."""
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(30, 2)), rng.normal(size=30), rng.integers(1, 4, 30)
    cut = (5, 12)
    pairs = list(zip(np.split(X, cut), np.split(y, cut), strict=True))
    weighted = sv.private_linear(RING, pairs, weights=np.split(w, cut), seed=1)
    repeated = [(np.repeat(a, k, axis=0), np.repeat(b, k)) for (a, b), k in zip(pairs, np.split(w, cut), strict=True)]
    np.testing.assert_allclose(weighted.params, sv.private_linear(RING, repeated, seed=1).params, rtol=1e-8)
    assert weighted.nobs == 30


def test_arrays_and_tables_agree(study, fit):
    frames = [pd.DataFrame({"x": t["x"], "b": t["g"] == "b", "c": t["g"] == "c", "y": t["y"]}) for t in tables()]
    other = sv.private_linear(RING, frames, target="y", scale={"x": 10, "y": 50}, seed=1)
    assert other.terms == ("Intercept", "x", "b", "c")
    np.testing.assert_allclose(other.params, fit.params, rtol=1e-8)
    np.testing.assert_allclose(other.predict(frames[0]), fit.predict(tables()[0]), rtol=1e-8)


def test_what_a_party_says_is_of_size_one(study):
    """Whatever the units: so that one mask hides it. A party's share of a mean is at most the number of parties."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) * [1e-3, 1e3] + [5e-3, 2e4]
    shards = list(zip(np.split(X, (4, 9)), np.split(X @ [1e3, 1e-3] + rng.normal(size=40), (4, 9)), strict=True))
    fit = sv.private_linear(RING, shards, robust="HC0", scale=[1e-2, 3e4, 100], seed=1)
    largest = [np.abs(problem.groups[0][1].s[:, :-1]).max() for problem in fit.problems[3:4]]
    assert max(largest) <= 3


def test_settled_numbers_are_the_same_everywhere():
    play = Simulation(RING, "tree", None, 1, 1e-9, None, None, False)
    numbers = np.array([0.0, -0.3, 1e-9, 1234.5678, -98765.4321, 3e9])
    votes = np.array([[1, 0], [1, 0], [1, 1]])
    apart = numbers + np.array([[-1e-12], [0.0], [1e-12]])
    found, said = settled(SimulatedAgreements(play), apart, votes, of="a test")
    np.testing.assert_allclose(found, numbers, rtol=1e-15, atol=1e-13)
    assert said.tolist() == [3, 1]


# Refusals


def refused_at_every_party(formula, parties, **options):
    """The sentence, which all parties must say alike, each with its own rows and nothing else."""
    asked = ask_analysis(LinearModel, SCHEMA, formula=formula, **options)
    meeting = Meeting(RING)

    def own(i):
        with pytest.raises(InvalidInput) as caught:
            run_on_tables(asked, OneParty(meeting, i), [asked.table(open_source(parties[i]))])
        return str(caught.value)

    with ThreadPoolExecutor(len(parties)) as threads:
        said = set(threads.map(own, range(len(parties))))
    assert len(said) == 1
    return said.pop()


@pytest.mark.parametrize(
    ("formula", "levels", "message"),
    [
        ("y ~ x + one", "abc", "column 'one' is constant over the rows of all parties"),
        ("y ~ x + g", "ab", r"column 'g\[T.c\]' is 0 in all rows of all parties"),
        ("y ~ x + g", "bc", r"columns 'g\[T.b\]', 'g\[T.c\]' are linearly dependent .* a reference level has no rows"),
        ("y ~ x + z + g", "ab", r"column 'g\[T.c\]' is 0"),
        ("y ~ x + z", "ac", "columns 'x', 'z' are linearly dependent"),
        ("one ~ x", "abc", "column 'one' is constant"),
    ],
)
def test_columns_that_say_nothing_are_named_alike(formula, levels, message):
    assert re.search(message, refused_at_every_party(formula, tables(levels)))


def test_a_row_of_leverage_one_has_no_hc3():
    parties = tables("ab")
    parties[0].loc[0, "g"] = "c"
    assert "HC3 divides by what a row leaves of its leverage" in refused_at_every_party(
        "y ~ x + g", parties, robust="HC3"
    )
    study = sv.Study(RING, parties, schema=SCHEMA, seed=1)
    assert np.isfinite(study.linear("y ~ x + g", robust="HC1").bse).all()


def test_too_few_rows():
    study = sv.Study(RING, tables(rows=(1, 0, 2)), schema=SCHEMA, seed=1)
    with pytest.raises(InvalidInput, match="the parties have 3 rows in all; this needs 4 at least"):
        study.linear("y ~ x + z")
    with pytest.raises(InvalidInput, match="no party has any rows"):
        sv.Study(RING, tables(rows=(0, 0, 0)), schema=SCHEMA, seed=1).linear("y ~ x")


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
    ],
)
def test_options_that_are_none(study, options, message):
    with pytest.raises(InvalidInput, match=message):
        study.linear(**options)


def test_weights_that_are_not_positive_are_refused_before_anything_is_sent():
    parties = tables()
    parties[2].loc[3, "w"] = 0.0
    with pytest.raises(InvalidInput, match="party 2: weights: column 'w' has values that are not positive"):
        sv.Study(RING, parties, schema=SCHEMA).linear("y ~ x", weights="w")


def test_arrays_that_do_not_fit():
    shards = [(np.ones((2, 2)), np.ones(2))] * 3
    with pytest.raises(InvalidInput, match="robust must be one of"):
        sv.private_linear(RING, shards, robust="hc3")
    with pytest.raises(InvalidInput, match="names must be 2 different strings"):
        sv.private_linear(RING, shards, names=["a", "a"])
    with pytest.raises(InvalidInput, match="a column is called 'Intercept'"):
        sv.private_linear(RING, shards, names=["a", "Intercept"])
    with pytest.raises(InvalidInput, match="mask must be a GaussianMask"):
        sv.private_linear(RING, shards, mask=sv.ModularMask())


def test_models_that_are_not_nested(study, fit):
    for other, message in [
        (study.linear("y ~ z"), "other must have some of the terms Intercept, x"),
        (study.linear("z ~ x"), "its response is 'z', here 'y'"),
        (study.linear("y ~ x", weights="w"), "its weights is 'w', here None"),
        (sv.Study(RING, tables(rows=(5, 5, 5)), schema=SCHEMA, seed=1).linear("y ~ x"), "its nobs is 15, here 29"),
        ("y ~ x", "other must be a LinearFit"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            fit.compare_f(other)
    with pytest.raises(InvalidInput, match=r"terms must be some of Intercept, x, .*; got 'h'"):
        fit.f_test("h")
    with pytest.raises(InvalidInput, match="typ must be 2 or 3; got 1"):
        fit.anova(1)


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


def test_what_it_gives_away(fit):
    shown = fit.disclosure
    assert shown.iterates == 0
    assert shown.small_cells == {}
    assert len(fit.shown) == 6


def test_a_run_that_does_not_end_has_no_values(study):
    hasty = sv.Study(RING, tables(), schema=SCHEMA, seed=1, max_iter=1).linear("y ~ x")
    with pytest.raises(NotConverged, match="params is not known"):
        _ = hasty.params


def test_new_rows(fit):
    new = pd.DataFrame({"g": ["c", "a"], "x": [1.0, -1.0]})
    expected = [fit.params[[0, 1, 3]].sum(), fit.params[0] - fit.params[1]]
    np.testing.assert_allclose(fit.predict(new), expected)
    with pytest.raises(InvalidInput, match="values are missing in new rows, by column: 'x' 1"):
        fit.predict(pd.DataFrame({"g": ["c", "a"], "x": [1.0, None]}))
    with pytest.raises(InvalidInput, match="no column 'g'"):
        fit.predict(new[["x"]])


def test_the_right_side_of_a_formula():
    assert right_side("`a ~ b` ~ x + `c ~ d`") == "x + `c ~ d`"
