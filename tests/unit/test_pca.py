"""Principal components: options, closed forms, signs by votes, and where people look at them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from picture_faults import faults

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.statistics.linear.components_model import _pivots

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
    return sv.Study(RING, tables, schema=SCHEMA, seed=1)


def test_one_direction_is_all_there_is():
    x = np.arange(12.0)
    rows = np.column_stack([x, 2 * x])
    found = sv.private_pca(RING, np.split(rows, (2, 7)), scale=20, seed=1)
    np.testing.assert_allclose(found.components[0], np.array([1, 2]) / np.sqrt(5), atol=1e-9)
    np.testing.assert_allclose(found.explained_variance, [5 * x.var(ddof=1), 0], atol=1e-6)
    np.testing.assert_allclose(found.transform(rows)[:, 0], np.sqrt(5) * (x - x.mean()), atol=1e-8)


def test_a_constant_column_has_no_part_unless_columns_are_standardised(study):
    found = study.pca(["a", "b", "flag"])
    assert found.explained_variance[-1] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(np.abs(found.components[-1]), [0, 1, 0], atol=1e-8)
    with pytest.raises(InvalidInput, match="column 'b' is constant over the rows of all parties"):
        study.pca(["a", "b", "flag"], standardize=True)


def test_the_sign_is_what_most_parties_say():
    class Agreements:
        def total(self, counts, mask, *, of_rows, of, votes):
            return counts.sum(axis=0)

    one, two = [0.8, -0.6 - 1e-12], [0.6, -0.8]
    assert _pivots(Agreements(), np.array([[one], [two], [two]])).tolist() == [1]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (["a", "g"], {}, "columns has 'g', a category"),
        (["a"], {}, "columns must be two or more different columns"),
        (["a", "a"], {}, "columns must be two or more different columns"),
        ("a", {}, "columns must be two or more different columns"),
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
