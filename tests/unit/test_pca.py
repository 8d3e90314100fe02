"""Principal components: options, closed forms, signs, the same bits for any partition, and where people look."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from partitions import assert_same_bits
from picture_faults import faults

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.statistics.linear import principal_components

RING = sv.Network.ring(3)
SCHEMA = {
    "a": {"type": "number", "range": (0, 10)},
    "b": {"type": "number", "range": (0, 10)},
    "flag": "boolean",
    "g": {"type": "category", "levels": ["u", "v"]},
}


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(0)
    tables = [
        pd.DataFrame({"a": rng.uniform(0, 9, n), "b": 5.0, "flag": rng.random(n) < 0.5, "g": "u"}) for n in (8, 0, 15)
    ]
    return sv.Study(RING, tables, schema=SCHEMA)


def test_one_direction_is_all_there_is():
    x = np.arange(12.0)
    rows = np.column_stack([x, 2 * x])
    found = sv.private_pca(RING, np.split(rows, (2, 7)))
    np.testing.assert_allclose(found.components[0], np.array([1, 2]) / np.sqrt(5), rtol=1e-15)
    np.testing.assert_allclose(found.explained_variance, [5 * x.var(ddof=1), 0], atol=1e-14)
    np.testing.assert_allclose(found.transform(rows)[:, 0], np.sqrt(5) * (x - x.mean()), atol=1e-13)


def test_small_deviations_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(1)
    steps = rng.integers(-9, 10, (40, 3))
    steps[:, 2] += steps[:, 0]
    near = sv.private_pca(RING, np.split(steps * 1.0, (2, 7)))
    far = sv.private_pca(RING, np.split(np.round(1e6 + steps / 1e6, 6), (2, 7)))
    np.testing.assert_allclose(far.components, near.components, atol=1e-13)
    np.testing.assert_allclose(far.explained_variance, near.explained_variance / 1e12, rtol=1e-13)


def test_a_constant_column_has_no_part_unless_columns_are_standardised(study):
    found = study.pca(["a", "b", "flag"])
    assert found.explained_variance[-1] == 0
    assert found.components[-1].tolist() == [0, 1, 0]
    with pytest.raises(InvalidInput, match="constant over the rows of all parties: 'b'"):
        study.pca(["a", "b", "flag"], standardize=True)


def test_one_column_is_its_own_component(study):
    found = study.pca("a", components=1)
    assert found.components.tolist() == [[1.0]]
    assert found.explained_variance[0] == pytest.approx(study.variance("a").variance, rel=1e-15)
    assert faults(found.plot()) == []


@pytest.mark.parametrize("few", [principal_components.FEW, 1], ids=["in a fixed order", "by LAPACK"])
def test_the_largest_loading_is_positive(monkeypatch, few):
    monkeypatch.setattr(principal_components, "FEW", few)
    X = np.random.default_rng(3).normal(size=(50, 6)) @ np.diag([1.0, 2, 3, 4, 5, 6])
    found = sv.private_pca(RING, np.split(X, (5, 9)))
    assert (found.components[np.arange(6), np.abs(found.components).argmax(axis=1)] > 0).all()
    variances, vectors = np.linalg.eigh(np.cov(X.T))
    np.testing.assert_allclose(found.explained_variance, variances[::-1], rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.components), np.abs(vectors.T[::-1]), atol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
def test_any_partition_has_the_same_bits(standardize):
    rng = np.random.default_rng(0)
    table = {"a": rng.uniform(0, 9, 60), "b": rng.uniform(2, 4, 60).round(1), "flag": rng.random(60) < 0.5}
    schema = {name: SCHEMA[name] for name in table}
    assert_same_bits(table, schema, lambda study: study.pca(list(table), standardize=standardize))


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (["a", "g"], {}, "columns has 'g', a category"),
        ([], {}, "columns is missing: name one or more"),
        (["a", "a"], {}, "columns must be different columns"),
        (["a", "b"], {"components": 3}, "components must be an integer from 1 to the number of columns, 2; got 3"),
        (["a", "b"], {"standardize": "yes"}, "standardize must be true or false"),
        (["a", "nothing"], {}, "the schema has no column 'nothing'"),
    ],
)
def test_options_that_are_none(study, columns, options, message):
    with pytest.raises(InvalidInput, match=message):
        study.pca(columns, **options)


def test_too_few_rows():
    with pytest.raises(InvalidInput, match="the parties have 1 rows in all; this needs 2 at least"):
        sv.private_pca(RING, [np.ones((1, 2)), np.ones((0, 2)), np.ones((0, 2))])
    with pytest.raises(InvalidInput, match=r"takes rows \(n_i, d\)"):
        sv.private_pca(RING, [[1.0], [2.0], [3.0]])


def test_it_shows_itself(study):
    found = study.pca(["a", "b", "flag"], components=2)
    assert (
        repr(found)
        == "PrincipalComponents(converged, 2 principal components of 3 columns: 23 observations of 3 parties)"
    )
    assert list(found.to_frame().columns) == [
        "component",
        "explained_variance",
        "ratio",
        "cumulative",
        "a",
        "b",
        "flag",
    ]
    assert "PC2" in found.summary()
    assert faults(found.plot()) == []
    assert found.to_dict()["explained_variance_ratio"] == found.explained_variance_ratio.tolist()
    assert found.disclosure.parameters == 3
    assert [(shown.numbers, shown.counts) for shown in found.shown] == [(10, (23,))]
