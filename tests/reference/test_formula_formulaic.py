"""Designs against formulaic on the common grammar: names, order and values; splines against SciPy and formulaic."""

from __future__ import annotations

import random
import re
import warnings

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.linalg import null_space

import sottovoce as sv
from sottovoce.data.formula import Design
from sottovoce.data.schema import Schema
from sottovoce.errors import InvalidInput

pandas = pytest.importorskip("pandas")
formulaic = pytest.importorskip("formulaic")

LEVELS = {"sex": ["f", "m"], "dose": ["low", "mid", "high"], "site": ["north", "east", "south", "west"]}
SCHEMA = Schema(
    {
        "age": "number",
        "crp": "number",
        "visits": "integer",
        "smoker": "boolean",
        "entry": "date",
        "body mass": "number",
        "sex": {"type": "category", "levels": LEVELS["sex"]},
        "dose": {"type": "category", "levels": LEVELS["dose"]},
        "site": {"type": "category", "levels": LEVELS["site"], "reference": "south"},  # not the first
    }
)
SITE = "C(site, contr.treatment('south'))"  # how formulaic is told of another reference


def rows(count: int = 96) -> tuple[dict[str, np.ndarray], pandas.DataFrame]:
    """The same rows for both, with all levels in them."""
    draw = np.random.default_rng(5)
    values = {
        "age": draw.uniform(20, 90, count),
        "crp": draw.uniform(0.1, 30, count),
        "visits": draw.integers(0, 9, count).astype(float),
        "smoker": draw.integers(0, 2, count).astype(float),
        "entry": draw.integers(18_000, 19_000, count).astype(float),
        "body mass": draw.uniform(17, 40, count),
        **{name: np.arange(count) % len(levels) * 1.0 for name, levels in LEVELS.items()},
    }
    frame = pandas.DataFrame(values)
    frame["smoker"] = frame["smoker"] == 1
    for name, levels in LEVELS.items():
        frame[name] = pandas.Categorical.from_codes(values[name].astype(int), categories=levels)
    return values, frame


VALUES, FRAME = rows()
COMPARED = 150  # formulaic takes some milliseconds for each


def by_formulaic(text: str) -> tuple[list[str], np.ndarray]:
    for written in ("C(site)", "site"):
        text = text.replace(written, "@" if written == "C(site)" else "$")
    text = text.replace("@", SITE).replace("$", "C(site, contr.treatment('south'), levels=None)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = formulaic.model_matrix(text, FRAME, context={"log1p": np.log1p, "sqrt": np.sqrt})
    names = [name.replace("C(site, contr.treatment('south'), levels=None)", "site") for name in found.columns]
    return [name.replace(SITE, "C(site)") for name in names], found.to_numpy(dtype=float)


class Generator:
    """Random formulas of the grammar that both have."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        categories = [name if self.draw.random() < 0.7 else f"C({name})" for name in LEVELS]
        numbers = ["age", "crp", "visits", "smoker", "entry", "`body mass`"]
        self.factors = [*self.draw.sample(numbers, 2), *self.draw.sample(categories, 2)]
        if "smoker" not in self.factors and self.draw.random() < 0.3:
            self.factors.append("C(smoker)")
        if self.draw.random() < 0.6:
            self.factors.append(self.draw.choice(["log", "log1p", "sqrt", "I"]) + f"(crp + {self.arithmetic(2)})")

    def arithmetic(self, depth: int) -> str:
        """Of positive numbers, and with brackets where none are needed too."""
        if depth == 0 or self.draw.random() < 0.3:
            return self.draw.choice(["age", "crp", "visits + 1", "`body mass`", "2.50", "3", "1e2"]) if depth else "crp"
        left, right = self.arithmetic(depth - 1), self.arithmetic(depth - 1)
        forms = (
            f"{left}+{right} * age",
            f"({left}) * ({right})+crp",
            f"({left})/( crp + 0.5)",
            f"(({left}) + age)**2",
            f"exp(-( {left} )/ 1000) + crp",
            f"age + ({left} + ({right}))",
            f"200 * age - (-{left[:3] if left[:3] == 'age' else 'crp'} + 3)",
        )
        return self.draw.choice(forms)

    def sum(self, depth: int) -> str:
        text = self.product(depth)
        for _ in range(self.draw.choice([0, 1, 1, 2])):
            text += self.draw.choice([" + ", "+", " + ", " - "]) + self.product(depth)
        return text

    def product(self, depth: int) -> str:
        text = self.interaction(depth)
        for _ in range(self.draw.choice([0, 0, 0, 1, 2])):
            text += self.draw.choice([" * ", "*", " / "]) + self.interaction(depth)
        return text

    def interaction(self, depth: int) -> str:
        return ":".join(self.single(depth) for _ in range(self.draw.choice([1, 1, 1, 2, 3])))

    def single(self, depth: int) -> str:
        if depth == 0 or self.draw.random() < 0.6:
            return self.draw.choice(self.factors)
        inner = self.sum(depth - 1)
        several = any(mark in inner for mark in (" + ", " * ", "*"))  # of one term a power is refused
        return f"({inner})" + (self.draw.choice(["", "", "^2", "**2", "^3"]) if several else "")

    def formula(self) -> str:
        return (
            self.draw.choice(["", "", "~ ", "0 + ", "-1 + ", "~0+", "1+"])
            + self.sum(2)
            + self.draw.choice(["", "", "", " - 1", "+0", " + 1", " - 0"])
        )


REFUSED = re.compile("nothing is left|no terms left|a term to a power")  # which formulaic takes for something


def designed(text: str) -> Design | None:
    try:
        return sv.Formula(text).design(SCHEMA)
    except InvalidInput as error:
        if not REFUSED.search(str(error)):
            raise
        return None


def test_random_formulas_have_the_columns_of_formulaic():
    compared = 0
    for seed in range(3 * COMPARED):
        text = Generator(seed).formula()
        if (design := designed(text)) is None:
            continue
        if len(design.columns) > 60:  # formulaic takes long
            continue
        names, expected = by_formulaic(text)
        assert list(design.columns) == names, text
        # a column is a product of a few numbers, each rounded once or twice, in another order
        np.testing.assert_allclose(design.matrix(VALUES), expected, rtol=1e-13, atol=0, err_msg=text)
        compared += 1
        if compared == COMPARED:
            break
    assert compared == COMPARED


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("knots", [[], [55], [30, 45.5, 70]])
def test_b_splines_are_those_of_formulaic_and_scipy(degree, knots):
    ours = f"bs(age, knots={knots}, range=[20, 95], degree={degree})"
    theirs = f"bs(age, knots={knots}, lower_bound=20, upper_bound=95, degree={degree})"
    design = sv.Formula(f"{ours} * sex").design(SCHEMA)
    names, expected = by_formulaic(f"{theirs} * sex")
    label = design.columns[1].removesuffix("[1]")
    assert list(design.columns) == [name.replace(theirs, label) for name in names]
    matrix = design.matrix(VALUES)
    # the recursions of both multiply positive numbers up to degree times: some roundings of numbers below 1
    np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-14)
    t = np.r_[[20.0] * (degree + 1), knots, [95.0] * (degree + 1)]
    basis = BSpline.design_matrix(VALUES["age"], t, degree).toarray()
    np.testing.assert_allclose(matrix[:, 1 : basis.shape[1]], basis[:, 1:], rtol=0, atol=1e-14)


@pytest.mark.parametrize("knots", [[], [55.0], [30, 45.5, 70], list(range(25, 90, 5))])
def test_natural_splines_span_what_they_should(knots):
    low, high = 20.0, 95.0
    x = np.linspace(low, high, 400)
    basis = sv.Formula(f"0 + ns(age, knots={knots}, range=[20, 95])").design(SCHEMA).matrix({"age": x})
    assert basis.shape == (400, len(knots) + 1)
    t = np.r_[[low] * 4, knots, [high] * 4]
    cubic = BSpline.design_matrix(x, t, 3).toarray()
    curvature = np.array([BSpline(t, np.eye(len(t) - 4), 3).derivative(2)(end) for end in (low, high)])
    spaces = [cubic @ null_space(curvature)]  # all cubic splines without curvature at the ends
    if knots:  # formulaic needs some
        written = f"cr(age, knots={knots}, lower_bound=20, upper_bound=95) - 1"
        frame = pandas.DataFrame({"age": x})
        spaces.append(formulaic.model_matrix(written, frame).to_numpy(dtype=float))
    with_constant = np.column_stack([np.ones(400), basis])
    for space in spaces:
        assert np.linalg.matrix_rank(with_constant) == np.linalg.matrix_rank(space) == len(knots) + 2
        left = with_constant - space @ np.linalg.lstsq(space, with_constant, rcond=None)[0]
        assert np.abs(left).max() < 1e-12  # least squares of a well-conditioned basis of numbers below 1
    # the recipe of R's ns: a QR factorisation of the constraints, without the first B-spline
    q = np.linalg.qr(curvature[:, 1:].T, mode="complete")[0]
    np.testing.assert_allclose(basis, (cubic[:, 1:] @ q)[:, 2:], rtol=0, atol=1e-13)


def test_natural_splines_are_straight_at_the_ends():
    """In its first interval a column is a cubic, of which second differences give the second derivative exactly."""
    h = 2.0**-3
    for end, step in ((0.0, h), (64.0, -h)):
        x = end + step * np.arange(4)
        y = sv.Formula("0 + ns(age, knots=[16, 32, 40], range=[0, 64])").design(SCHEMA).matrix({"age": x})
        second = y[:-2] - 2 * y[1:-1] + y[2:]  # h^2 f'' at one step and at two steps from the end
        at_end = 2 * second[0] - second[1]
        assert np.abs(at_end).max() < 1e-14  # roundings of numbers below 1
        assert np.abs(second[0]).max() > 1e-7  # where a curved one has something to show
