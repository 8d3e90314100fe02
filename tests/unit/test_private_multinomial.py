"""Multinomial models of arrays: what is refused, and what weights are."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput

RING, LEVELS = sv.Network.ring(3), ["a", "b", "c"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 2))
    return X, np.digitize(X[:, 0] + rng.logistic(size=90), [-1.0, 1.0]).astype(float)


def parts(values):
    return np.split(values, [4, 30])


def shards(X, y):
    return list(zip(parts(X), parts(y), strict=True))


@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e4])
def test_weights_are_how_often_a_row_counts(table, unit):
    """Whole weights are repeated rows; others only multiply the log-likelihood."""
    X, y = table
    times = 1 + np.arange(90) % 3
    weighed = sv.private_multinomial(RING, shards(X, y), LEVELS, weights=parts(unit * times))
    own = [np.repeat(part, count, axis=0) for part, count in zip(parts(X), parts(times), strict=True)]
    of = [np.repeat(part, count) for part, count in zip(parts(y), parts(times), strict=True)]
    repeated = sv.private_multinomial(RING, list(zip(own, of, strict=True)), LEVELS)
    np.testing.assert_allclose(weighed.params, repeated.params, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(weighed.bse * np.sqrt(unit), repeated.bse, rtol=1e-11)
    assert weighed.llf == pytest.approx(unit * repeated.llf, rel=1e-12)
    assert weighed.llnull == pytest.approx(unit * repeated.llnull, rel=1e-12)
    assert weighed.nobs == 90


def test_it_is_that_of_tables(table):
    X, y = table
    named = {"x0": {"type": "number", "range": (-4, 4)}, "x1": {"type": "number", "range": (-4, 4)}}
    schema = {**named, "y": {"type": "category", "levels": LEVELS}}
    tables = [{"x0": own[:, 0], "x1": own[:, 1], "y": np.array(LEVELS)[of.astype(int)]} for own, of in shards(X, y)]
    study = sv.Study(RING, tables, schema=schema).multinomial("y ~ x0 + x1")
    fit = sv.private_multinomial(RING, shards(X, y), LEVELS)
    assert fit.terms == study.terms
    np.testing.assert_allclose(fit.params, study.params, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(fit.covariance, study.covariance, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(fit.predict(X[:5]).sum(axis=1), 1.0)
    assert np.isnan(sv.private_multinomial(RING, shards(X, y), LEVELS, ridge=1.0).bse).all()


@pytest.mark.parametrize(
    ("levels", "options", "words"),
    [
        (["a"], {}, "levels must be two or more different strings"),
        (["a", "a", "b"], {}, "levels must be two or more different strings"),
        ([1, 2, 3], {}, "levels must be two or more different strings"),
        (["a", "b"], {}, "party 0: y must be places among the levels, 0 to 1"),
        (["a", "b", "c", "d"], {}, "no row of any party has 'y' at the level 'd'"),
        (LEVELS, {"ridge": -1.0}, "ridge must be a number >= 0"),
        (LEVELS, {"names": ["x"]}, "names must be 2 different strings"),
        (LEVELS, {"scale": [1.0, 1.0, 1.0]}, "scale is gone"),
        (LEVELS, {"mask": sv.ModularMask()}, "mask is gone"),
    ],
)
def test_what_is_refused(table, levels, options, words):
    with pytest.raises(InvalidInput, match=words):
        sv.private_multinomial(RING, shards(*table), levels, **options)


def test_what_all_rows_do_not_determine(table):
    X, y = table
    nothing = [(own[:0], of[:0]) for own, of in shards(X, y)]
    with pytest.raises(InvalidInput, match="no party has any rows"):
        sv.private_multinomial(RING, nothing, LEVELS)
    separated = shards(X, np.digitize(X[:, 0], [-0.5, 0.5]).astype(float))
    with pytest.raises(InvalidInput, match=r"infinite: columns separate levels.*ridge penalty"):
        sv.private_multinomial(RING, separated, LEVELS)
    assert np.isfinite(sv.private_multinomial(RING, separated, LEVELS, ridge=1.0).params).all()
    few = [(own[:2], of[:2]) for own, of in shards(X, y)]
    few[0] = (X[:3], np.arange(3.0))
    wide = [(np.column_stack([own, np.cos(np.outer(own[:, 0], np.arange(2, 6)))]), of) for own, of in few]
    with pytest.raises(InvalidInput, match="7 observations do not determine 14"):
        sv.private_multinomial(RING, wide, LEVELS)
