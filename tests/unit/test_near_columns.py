"""Models of two columns that hardly differ are those of one of them and the difference, in other coordinates."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from partitions import assert_same_bits

import sottovoce as sv

SMALL = 2.0**-14  # of a deviation: estimates are then thousands of deviations, and were called infinite
SCHEMA = {
    "x": "number",
    "near": "number",
    "apart": "number",
    "y": {"type": "category", "levels": ["low", "middle", "high"]},
    "days": {"type": "integer", "range": (0, 8)},
    "death": "boolean",
}
ASKED = {
    "multinomial": lambda study, columns: study.multinomial(f"y ~ {columns}"),
    "ordinal": lambda study, columns: study.ordinal(f"y ~ {columns}"),
    "probit": lambda study, columns: study.ordinal(f"y ~ {columns}", link="probit"),
    "glm": lambda study, columns: study.glm(f"death ~ {columns}"),
    "cox": lambda study, columns: study.cox(f"days, death ~ {columns}"),
    "cox on a grid": lambda study, columns: study.cox(
        f"days, death ~ {columns}", baseline="grid", grid=[1, 2, 4, 8], min_departures=1
    ),
}


def rows(count=120):
    rng = np.random.default_rng(3)
    x, apart = rng.integers(-40, 41, size=(2, count)) / 16
    codes = np.digitize(0.5 * x - 0.4 * apart + rng.logistic(size=count), [-1, 1])
    return {
        "x": x,
        "near": x + SMALL * apart,
        "apart": apart,
        "y": np.array(SCHEMA["y"]["levels"])[codes],
        "days": np.clip(np.ceil(4 * rng.exponential(np.exp(0.4 * apart))), 0, 8),
        "death": rng.random(count) < 0.7,
    }


def study_of(table):
    cuts = [0, 50, 50, 71, len(table["x"])]
    tables = [{name: values[a:b] for name, values in table.items()} for a, b in pairwise(cuts)]
    return sv.Study(sv.Network.ring(4), tables, schema=SCHEMA)


@pytest.mark.parametrize("kind", ASKED)
def test_they_are_one_model(kind):
    study = study_of(rows())
    near, apart = (ASKED[kind](study, columns) for columns in ("x + near", "x + apart"))
    T = np.eye(len(near.params))  # what makes of one's parameters the other's
    for k, term in enumerate(near.terms):
        if term.endswith("near"):
            at = near.terms.index(term.replace("near", "x"))
            T[at, k], T[k, k] = 1.0, SMALL
    np.testing.assert_allclose(T @ near.params, apart.params, rtol=1e-10)  # sums of what is 2^14 times as large
    of_near = [k for k, term in enumerate(near.terms) if term.endswith("near")]
    np.testing.assert_allclose(SMALL * near.bse[of_near], apart.bse[of_near], rtol=1e-11)
    assert near.llf == pytest.approx(apart.llf, rel=1e-13)
    assert np.abs(near.params).max() > 500


@pytest.mark.parametrize("kind", [kind for kind in ASKED if kind != "cox"])
def test_they_have_the_same_bits_for_any_partition(kind):
    assert_same_bits(rows(), SCHEMA, lambda study: ASKED[kind](study, "x + near"), ways=4)


def test_separated_levels_have_the_names_of_the_columns():
    table = rows()
    table["y"] = np.array(SCHEMA["y"]["levels"])[np.digitize(table["apart"], [-0.5, 0.5])]
    for ask in (ASKED["multinomial"], ASKED["ordinal"]):
        with pytest.raises(sv.errors.Undetermined, match=r"x', .*near'.* are infinite: columns separate"):
            ask(study_of(table), "x + near")
