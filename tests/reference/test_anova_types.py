"""Tests of terms where cells of a table are empty. Columns that follow from columns before them are dropped, in the
order of the formula, as in R. Sums of squares are

* of type I as R's ``anova`` has them: what each term explains after the terms before it;
* of type II: what a term explains beside all terms that do not contain it, by comparing the two models. Where factors
  meet this is what ``Anova`` of R's package car gives (Fox and Weisberg 2019); where one factor follows from another,
  both explain nothing beside each other, with no degrees of freedom, as in the cases of MIP (``tests/outside``);
* of type III as car has them with ``singular.ok = TRUE``: what the columns that are left of a term explain beside those
  that are left of all others, in the coding by differences from the reference.

Expected values are projections of the pooled response on the columns, one after the other, made orthogonal twice: some
1e-14 of the total. The same code gives the sums of squares of all 25 cases of MIP, to 1.2e-13.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f as f_distribution

import sottovoce as sv

CLOSE = 1e-11  # of a sum of squares, where it is at least a thousandth of the total
PARTIES = 4
TWO_WAY = "y ~ C(a) * C(b)"


@dataclass(frozen=True)
class Cells:
    """A two-way table: numbers of levels, cells without rows, and levels of ``b`` that the schema has besides."""

    a: int
    b: int
    empty: frozenset[tuple[int, int]] = frozenset()
    unseen: int = 0
    formula: str = TWO_WAY

    def rows(self) -> pd.DataFrame:
        """One to five rows a cell, and a response of one decimal."""
        rng = np.random.default_rng(11)
        filled = [cell for cell in product(range(self.a), range(self.b)) if cell not in self.empty]
        cells = np.array([cell for cell in filled for _ in range(rng.integers(2, 6))])
        rng.shuffle(cells)
        a, b = cells.T
        x = rng.integers(200, 700, len(a)) / 10
        y = 10 + 3 * a - 2 * b + 1.5 * (a * b % 3) + 0.1 * x + rng.normal(0, 2, len(a))
        return pd.DataFrame({"a": [f"a{k}" for k in a], "b": [f"b{k}" for k in b], "x": x, "y": y.round(1)})

    def study(self) -> sv.Study:
        number = {"type": "number", "range": (-200, 200)}
        schema = {
            "a": {"type": "category", "levels": [f"a{k}" for k in range(self.a)]},
            "b": {"type": "category", "levels": [f"b{k}" for k in range(self.b + self.unseen)]},
            "x": number,
            "y": number,
        }
        rows, cuts = self.rows(), [5, 5, 20]  # one party has none
        edges = [0, *cuts, len(rows)]
        tables = [rows.iloc[low:high] for low, high in pairwise(edges)]
        return sv.Study(sv.Network.ring(PARTIES), tables, schema=schema)

    def blocks(self) -> dict[str, np.ndarray]:
        """The columns of each term, in the order of the formula."""
        rows = self.rows()
        own = {
            "C(a)": np.column_stack([rows["a"] == f"a{k}" for k in range(1, self.a)]).astype(float),
            "C(b)": np.column_stack([rows["b"] == f"b{k}" for k in range(1, self.b + self.unseen)]).astype(float),
            "x": rows[["x"]].to_numpy(),
        }
        terms = ["C(a)", "C(b)", "C(a):C(b)"] if self.formula == TWO_WAY else self.formula.split("~ ")[1].split(" + ")
        found = {"Intercept": np.ones((len(rows), 1))}
        for term in sorted(terms, key=lambda term: term.count(":")):
            columns = np.ones((len(rows), 1))
            for factor in term.split(":"):
                columns = (columns[:, :, None] * own[factor][:, None, :]).reshape(len(rows), -1)
            found[term] = columns
        return found


def cells(*pairs: str) -> frozenset[tuple[int, int]]:
    """``"02"`` is row 0, column 2."""
    return frozenset((int(pair[0]), int(pair[1])) for pair in pairs)


FULL = {
    "two by two": Cells(2, 2),
    "three by four": Cells(3, 4),
    "beside a number": Cells(3, 3, formula="y ~ x + C(a) + C(b) + C(a):C(b)"),
    "slopes by group": Cells(2, 3, formula="y ~ C(a) + C(b) + x + C(b):x"),
}
EMPTY = {
    "one cell": Cells(3, 4, cells("12")),
    "the cell of the references": Cells(3, 3, cells("00")),
    "half of the cells": Cells(4, 4, cells("03", "10", "13", "21", "30", "32", "33")),
    "a level in one cell only": Cells(3, 3, cells("20", "21")),
    "no interaction is left": Cells(3, 3, cells("11", "12", "21", "22")),
    "a level without rows": Cells(3, 3, unseen=1),
    "a level without rows, and a cell": Cells(3, 3, cells("12"), unseen=2),
    "one factor follows from the other": Cells(3, 3, cells("01", "02", "10", "12", "20", "21")),
    "two tables that do not meet": Cells(4, 4, cells("02", "03", "12", "13", "20", "21", "30", "31")),
    "one cell, beside a number": Cells(3, 3, cells("12"), formula="y ~ x + C(a) + C(b) + C(a):C(b)"),
}
TABLES = FULL | EMPTY


def directions(columns: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Orthonormal directions, each of a column less what columns before it say of it, and which columns have one."""
    Q, kept = np.empty((len(columns), 0)), []
    for j, column in enumerate(columns.T):
        rest = column
        for _ in range(2):
            rest = rest - Q @ (Q.T @ rest)
        if np.linalg.norm(rest) > 1e-8 * max(1.0, np.linalg.norm(column)):
            Q, kept = np.column_stack([Q, rest / np.linalg.norm(rest)]), [*kept, j]
    return Q, kept


def squares(y: np.ndarray, small: np.ndarray, more: np.ndarray) -> tuple[float, int]:
    """How much more of ``y`` the columns of both explain than the first alone, and in how many directions."""
    Q, _ = directions(np.column_stack([small, more]))
    new = Q[:, directions(small)[0].shape[1] :]
    return float(np.square(new.T @ y).sum()), new.shape[1]


@cache
def expected(name: str, typ: int) -> dict[str, tuple[float, int]]:
    """Sum of squares and degrees of freedom by term."""
    table = TABLES[name]
    y, blocks = table.rows()["y"].to_numpy(), table.blocks()
    owners = [term for term, block in blocks.items() for _ in range(block.shape[1])]
    every = np.column_stack(list(blocks.values()))
    Q, kept = directions(every)

    def of(terms: list[str]) -> np.ndarray:
        places = kept if typ == 3 else range(every.shape[1])
        return every[:, [j for j in places if owners[j] in terms]]

    names, found = list(blocks), {}
    for place, term in enumerate(names[1:], start=1):
        within = {other for other in names if set(term.split(":")) <= set(other.split(":"))}
        besides = {
            1: names[:place],
            2: [other for other in names if other not in within],
            3: [other for other in names if other != term],
        }[typ]
        found[term] = squares(y, of(besides), of([term]))
    rest = y - Q @ (Q.T @ y)
    return found | {"Residual": (float(rest @ rest), len(y) - len(kept))}


@cache
def fit_of(name: str) -> sv.LinearFit:
    return TABLES[name].study().linear(TABLES[name].formula)


@pytest.mark.parametrize("typ", [1, 2, 3])
@pytest.mark.parametrize("name", TABLES)
def test_sums_of_squares(name, typ):
    right = expected(name, typ)
    frame = fit_of(name).anova(typ).set_index("term")
    tested = {term: values for term, values in right.items() if values[1] > 0}
    # A term of which nothing is left may stand there, with no degrees of freedom, or not.
    assert [term for term in frame.index if frame.loc[term, "df"] > 0] == list(tested)
    total = sum(value for value, _ in expected(name, 1).values())
    scale = right["Residual"][0] / right["Residual"][1]
    for term, (value, df) in tested.items():
        row = frame.loc[term]
        assert row["df"] == df, term
        assert row["sum_sq"] == pytest.approx(value, rel=CLOSE, abs=1e-3 * CLOSE * total), term
        if term != "Residual":
            assert row["F"] == pytest.approx(value / df / scale, rel=10 * CLOSE, abs=1e-10), term
            p = f_distribution.sf(value / df / scale, df, right["Residual"][1])
            assert row["p_value"] == pytest.approx(p, rel=1e-8), term


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_what_they_are_called(name):
    """Type I adds up to the total about the mean; full tables have all columns, the others some fewer; type II and
    III of the last term are those of type I."""
    table = TABLES[name]
    y, columns = table.rows()["y"].to_numpy(), sum(block.shape[1] for block in table.blocks().values())
    first = expected(name, 1)
    assert sum(value for value, _ in first.values()) == pytest.approx(np.square(y - y.mean()).sum(), rel=1e-12)
    dropped = columns - 1 - sum(df for term, (_, df) in first.items() if term != "Residual")
    assert (dropped > 0) == (name in EMPTY)
    last = list(first)[-2]
    for typ in (2, 3):
        assert expected(name, typ)[last] == pytest.approx(first[last], rel=1e-12)
        assert expected(name, typ)["Residual"] == first["Residual"]
