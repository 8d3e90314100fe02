"""Powers and products of columns in all their digits, held against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.data.decimal_unit import exactly
from sottovoce.data.formula.exact_columns import FINER, MOST_REST
from sottovoce.data.selection import ModelColumns
from sottovoce.sums import whole

SCHEMA = sv.Schema(
    {
        "x": {"type": "number", "unit": 1e-9, "range": (-9, 9)},
        "z": {"type": "number", "unit": 0.25e-5, "range": (0, 70000)},
        "n": {"type": "integer", "range": (0, 500)},
        "g": {"type": "category", "levels": ["a", "b"]},
        "free": {"type": "number", "unit": 1e-9},
        "y": {"type": "number", "unit": 1e-6, "range": (-100, 100)},
    }
)
POLYNOMIALS = {
    "I(x^10)": lambda x, z, n, g: x**10,
    "I(-x^3 + 0.1 * z - 2^-3)": lambda x, z, n, g: -(x**3) + z / 10 - Fraction(1, 8),
    "I((x - z / 7.3)^4)": lambda x, z, n, g: (x - z / Fraction("7.3")) ** 4,
    "I(x * z^2 + 0 * n + 0)": lambda x, z, n, g: x * z**2,
    "x:z:n": lambda x, z, n, g: x * z * n,
    "I(x^5):g": lambda x, z, n, g: x**5 * g,
    "I(n^9)": lambda x, z, n, g: n**9,
}


def values(rows=40):
    rng = np.random.default_rng(2)
    return {
        "x": rng.uniform(-9, 9, rows).round(9),
        "z": np.arange(0, 69999, 69999 / rows).round(5)[:rows] * 0.5,
        "n": rng.integers(0, 501, rows).astype(float),
        "g": rng.integers(0, 2, rows).astype(float),
        "y": rng.uniform(-100, 100, rows).round(6),
    }


def exact_rows(found):
    """The cells as the decimals of their units."""
    units = {"x": Fraction(1, 10**9), "z": Fraction("0.0000025"), "n": Fraction(1), "g": Fraction(1)}
    return [
        tuple(round(exactly(float(found[k][i])) / units[k]) * units[k] for k in units) for i in range(len(found["x"]))
    ]


@pytest.mark.parametrize("term", POLYNOMIALS)
def test_column_and_rest_are_the_polynomial(term):
    found = values()
    selection = ModelColumns(sv.Formula(f"y ~ {term}").design(SCHEMA), with_rests=True)
    block = selection.block(found, np.arange(40))
    place = max(selection.rests)  # of two levels the second, whose place is 1
    grid = selection.units(SCHEMA)[place]
    rest = block[:, selection.rests[place]]
    assert np.abs(rest).max() <= MOST_REST < 2**53
    assert rest.any()
    steps = whole(block[:, [place]], [grid])[:, 0].tolist()
    for step, more, row in zip(steps, rest.tolist(), exact_rows(found), strict=True):
        off = (Fraction(step) + Fraction(int(more), FINER)) - POLYNOMIALS[term](*row) / grid
        assert abs(off) <= Fraction(1, 2 * FINER)


@pytest.mark.parametrize(
    "term", ["x", "n", "I(n^2)", "log(z)", "I(x / z)", "I(free^3)", "bs(x, knots=[0], range=[-9, 9])", "g"]
)
def test_no_rest_where_float64_has_all_digits_or_there_are_none(term):
    selection = ModelColumns(sv.Formula(f"y ~ {term}").design(SCHEMA), with_rests=True)
    assert not selection.rests
    assert "rest" not in "".join(selection.columns)


def polynomial(degree, rows=60, parties=3):
    rng = np.random.default_rng(6)
    x = rng.uniform(-8.9, -3.1, rows).round(9)
    y = (np.polyval(rng.normal(size=degree + 1), (x + 6) / 3) + rng.normal(0, 0.3, rows)).round(6)
    formula = "y ~ x + " + " + ".join(f"I(x^{k})" for k in range(2, degree + 1))
    tables = [{"x": x[k::parties], "y": y[k::parties]} for k in range(parties)]
    return sv.Study(sv.Network.ring(parties), tables, schema=SCHEMA), formula, x, y


def fitted(x, y, degree):
    """Estimates, and those of a sandwich without a correction, in fractions."""
    rows = [[exactly(float(a)) ** k for k in range(degree + 1)] for a in x]
    gram = [[sum(row[i] * row[j] for row in rows) for j in range(degree + 1)] for i in range(degree + 1)]
    inverse = inverted(gram)
    right = [sum(row[i] * exactly(float(b)) for row, b in zip(rows, y, strict=True)) for i in range(degree + 1)]
    params = [sum(inverse[i][j] * right[j] for j in range(degree + 1)) for i in range(degree + 1)]
    spread = [Fraction(0)] * (degree + 1)
    for row, b in zip(rows, y, strict=True):
        residual = exactly(float(b)) - sum(p * a for p, a in zip(params, row, strict=True))
        for i in range(degree + 1):
            spread[i] += (residual * sum(inverse[i][j] * row[j] for j in range(degree + 1))) ** 2
    return params, spread


def inverted(matrix):
    """By elimination (Gauss and Jordan)."""
    n = len(matrix)
    rows = [[*row, *(Fraction(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for j in range(n):
        rows[j] = [entry / rows[j][j] for entry in rows[j]]
        for i in range(n):
            if i != j:
                rows[i] = [a - rows[i][j] * b for a, b in zip(rows[i], rows[j], strict=True)]
    return [row[n:] for row in rows]


def test_a_polynomial_of_high_degree_has_its_digits():
    study, formula, x, y = polynomial(9)
    fit = study.linear(formula, robust="HC0")
    params, spread = fitted(x, y, 9)
    np.testing.assert_allclose(fit.params, [float(value) for value in params], rtol=2e-15)  # rounded once
    errors = [math.sqrt(value) for value in spread]
    np.testing.assert_allclose(fit.bse, errors, rtol=1e-9)  # HC0: residuals of a row are rounded, and squared
    assert fit.aliased == ()


def test_it_has_the_same_bits_however_rows_are_dealt_out():
    study, formula, *_ = polynomial(9)
    other, *_ = polynomial(9, parties=5)
    for robust in (None, "HC3"):
        assert (
            study.linear(formula, robust=robust).params.tobytes()
            == other.linear(formula, robust=robust).params.tobytes()
        )
        assert study.linear(formula, robust=robust).bse.tobytes() == other.linear(formula, robust=robust).bse.tobytes()


def test_penalties_have_them_as_well():
    """A ridge penalty that is next to nothing beside the columns."""
    study, formula, x, y = polynomial(4)
    path = study.ridge(formula, penalties=[1e-20, 1.0], standardize=False)
    params, _ = fitted(x, y, 4)
    np.testing.assert_allclose(path.path[np.argmin(path.penalties)], [float(value) for value in params], rtol=1e-9)


def test_beside_weights_and_with_fewer_digits_columns_are_rounded():
    schema = sv.Schema({**SCHEMA, "w": {"type": "number", "unit": 0.1, "range": (0.1, 9)}})
    design = sv.Formula("y ~ x + I(x^2)").design(schema)
    assert ModelColumns(design, ("w",)).columns == ("x", "I(x ** 2)", "y", "w")
    rng = np.random.default_rng(9)
    x = rng.uniform(-8.9, 8.9, 60).round(9)
    y = (1 + x + x**2 + rng.normal(0, 9, 60)).round(6)
    tables = [{"x": x, "y": y}, {"x": x[:5], "y": y[:5]}]
    plain, fewer = (
        sv.Study(sv.Network.complete(2), tables, schema=SCHEMA, digits=digits).linear("y ~ x + I(x^2)")
        for digits in ("full", "statistical")
    )
    assert np.abs((plain.params - fewer.params) / plain.bse).max() < 0.2


def test_what_is_shown_names_no_rests():
    study, formula, *_ = polynomial(3)
    assert "rest" not in str(study.linear(formula).disclosure)
