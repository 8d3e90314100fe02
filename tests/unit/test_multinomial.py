"""Multinomial regression: closed forms, arguments, and sentences that name the column or the level."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.statistics import MultinomialFit
from sottovoce.statistics.analyses import restored
from sottovoce.statistics.models.multinomial import Multinomial

SCHEMA = sv.Schema(
    {
        "x": {"type": "number", "range": (-10, 10)},
        "tenfold": {"type": "number", "range": (-100, 100)},
        "same": {"type": "number", "range": (0, 10)},
        "y": {"type": "category", "levels": ["a", "b", "c"], "reference": "b"},
        "z": {"type": "category", "levels": ["u", "v", "w"]},
        "n": "integer",
    }
)


def tables(rng, y=None):
    found = []
    for n in (30, 0, 8, 50):
        x = rng.normal(size=n).round(3)
        found.append({"x": x, "tenfold": (10 * x).round(2), "same": np.full(n, 3.0), "n": np.arange(n)})
        found[-1] |= {"y": rng.choice(["a", "b", "c"], n) if y is None else y(x), "z": rng.choice(["u", "v"], n)}
    return found


def study(rng, **options):
    return sv.Study(sv.Network.ring(4), tables(rng, **options), schema=SCHEMA)


def test_intercepts_alone_are_logarithms_of_shares(rng):
    """``log(n_a / n_b)``, with variances ``1/n_a + 1/n_b``: Agresti 1.5."""
    shards = tables(rng)
    fit = sv.Study(sv.Network.ring(4), shards, schema=SCHEMA).multinomial("y ~ 1")
    a, b, c = (sum(int((np.array(shard["y"]) == level).sum()) for shard in shards) for level in "abc")
    assert fit.levels == ("b", "a", "c")
    assert fit.counts.tolist() == [b, a, c]
    assert fit.terms == ("a: Intercept", "c: Intercept")
    np.testing.assert_allclose(fit.params, np.log([a / b, c / b]), rtol=1e-12)
    np.testing.assert_allclose(fit.covariance, [[1 / a + 1 / b, 1 / b], [1 / b, 1 / c + 1 / b]], rtol=1e-11)
    assert fit.llf == pytest.approx(fit.llnull, rel=1e-12)
    assert (fit.df_model, fit.llr_pvalue) == (0, 1.0)


def test_what_it_says_and_keeps(rng):
    fit = study(rng).multinomial("y ~ x")
    back = restored("multinomial", json.loads(json.dumps(fit.to_dict())), 4)
    assert isinstance(back, MultinomialFit)
    assert back.summary() == fit.summary()
    np.testing.assert_array_equal(back.predict({"x": [0.5, 1.0]}), fit.predict({"x": [0.5, 1.0]}))
    assert "Reference level:" in fit.summary()
    assert "relative risk ratio" in fit.summary()
    assert fit.to_frame()["term"].tolist() == list(fit.terms)
    last = [shown.iterate for shown in fit.shown if shown.of.startswith("objective")]
    assert last == [True] * (len(last) - 1) + [False]


def test_plans_know_what_it_takes(rng):
    fit = study(rng).multinomial("y ~ x")
    asked = Multinomial(schema=SCHEMA, formula="y ~ x")
    assert asked.parameters == 4
    assert asked.revealed[0] == "the rows at each of 3 levels of y"
    assert fit.traffic.agreements <= asked.stages
    assert sum(shown.numbers for shown in fit.shown) <= asked.numbers


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("x ~ y", "formula: a multinomial model explains a category or a boolean; 'x' is of type number"),
        ("log(n) ~ x", r"formula: a multinomial model explains a category or a boolean; 'log\(n\)' is no column"),
        ("~ x", "formula: a multinomial model explains one column, which stands before ~; got 0"),
        ("y ~ x + offset(same)", "formula: a multinomial model takes no offset"),
        ("y ~ y", "formula: 'y' is the response, and a term as well"),
        ("y ~ x:y", "formula: 'y' is the response, and a term as well"),
    ],
)
def test_models_that_cannot_be_fitted(rng, formula, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        study(rng).multinomial(formula)


@pytest.mark.parametrize(
    ("formula", "alike", "aliased"),
    [
        ("y ~ x + same", "y ~ x", ("same",)),
        ("y ~ x + tenfold", "y ~ x", ("tenfold",)),
        ("y ~ z", "y ~ z", ("z[T.w]",)),
    ],
)
def test_columns_that_tell_nothing_more_are_left_out_and_named(rng, formula, alike, aliased):
    """A constant, a multiple of another column, and a level that no row has, as R leaves them out."""
    fit = study(np.random.default_rng(5)).multinomial(formula)
    alone = study(np.random.default_rng(5)).multinomial(alike)
    assert fit.aliased == aliased
    assert fit.params.tolist() == alone.params.tolist()
    assert f"Left out, as they hang on terms before them: {aliased[0]}." in fit.summary()


def test_a_level_that_no_row_has(rng):
    with pytest.raises(InvalidInput, match="no row of any party has 'y' at the level 'c': nothing tells how likely"):
        study(rng, y=lambda x: np.where(x > 0, "a", "b")).multinomial("y ~ x")


def test_a_category_of_one_level_and_weights_that_are_not_positive(rng):
    shards = [{"x": [1.0, 2.0], "y": ["a", "a"]}] * 3
    one = {"x": "number", "y": {"type": "category", "levels": ["a"]}}
    with pytest.raises(InvalidInput, match="a multinomial model needs two levels or more; 'y' has one in the schema"):
        sv.Study(sv.Network.ring(3), shards, schema=one).multinomial("y ~ x")
    with pytest.raises(InvalidInput, match="weights: column 'n' has values that are not positive"):
        study(rng).multinomial("y ~ x", weights="n")
    with pytest.raises(InvalidInput, match="weights must be a column of numbers in the schema; got 'z'"):
        study(rng).multinomial("y ~ x", weights="z")


def test_separation(rng):
    def separated(x):
        return np.where(x > 1, "a", np.where(x < -1, "c", "b"))

    with pytest.raises(InvalidInput, match="'a: x', 'c: x' are infinite: columns separate levels of 'y'"):
        study(rng, y=separated).multinomial("y ~ x")


def test_too_few_rows():
    rows = {"x": [1.0], "y": ["a"], "z": ["u"]}
    others = [{**rows, "x": [2.0], "y": [level]} for level in "bc"]
    schema = SCHEMA.restricted(["x", "y", "z"])
    with pytest.raises(InvalidInput, match="3 observations do not determine 4 parameters"):
        sv.Study(sv.Network.ring(3), [rows, *others], schema=schema).multinomial("y ~ x")
    nobody = [{"x": [], "y": [], "z": []}] * 3
    with pytest.raises(InvalidInput, match="no party has any rows"):
        sv.Study(sv.Network.ring(3), nobody, schema=schema).multinomial("y ~ x")
