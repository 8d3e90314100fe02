"""On which public steps the numbers of a formula lie: against exact arithmetic on values that lie on their units."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.data.decimal_unit import exactly
from sottovoce.data.formula.measure import of_expression
from sottovoce.data.selection import Equation, ModelColumns, PlainColumns, Selection
from sottovoce.errors import InvalidInput
from sottovoce.sums.units import whole

SCHEMA = sv.Schema(
    {
        "age": {"type": "number", "unit": 0.1, "range": (0, 120)},
        "dose": {"type": "number", "unit": "0.05", "range": (0, 20)},
        "heat": {"type": "number", "unit": 0.25, "range": (-3, 2)},
        "crp": {"type": "number", "range": (0.1, 500)},
        "salt": {"type": "number", "unit": 5, "range": (10, 1000)},
        "free": "number",
        "loose": {"type": "number", "unit": 0.01},
        "n": "integer",
        "visits": {"type": "integer", "range": (0, 50)},
        "smoker": "boolean",
        "day": {"type": "date", "range": ("2020-01-01", "2020-12-31")},
        "arm": {"type": "category", "levels": ["low", "mid", "high"]},
    }
)
LOG = Fraction(8, 2**40)  # of numbers whose logarithm is below 8


def units(formula: str, **options: Any) -> dict[str, Fraction | None]:
    taken = ModelColumns(sv.Formula(formula).design(SCHEMA, categories=True), **options)
    return dict(zip(taken.columns, taken.units(SCHEMA), strict=True))


def unit(term: str) -> Fraction | None:
    """Of the one column of a term that is not there without it."""
    return next(iter(units(f"~ {term}").values()))


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("age", Fraction("0.1")),
        ("crp", Fraction(1, 10**12)),
        ("free", None),
        ("loose", Fraction("0.01")),
        ("n", Fraction(1)),
        ("smoker", Fraction(1)),
        ("day", Fraction(1)),
        ("arm", Fraction(1)),
        ("C(smoker)", Fraction(1)),
        # products
        ("age:dose", Fraction("0.005")),
        ("age:smoker", Fraction("0.1")),
        ("crp:smoker", Fraction(1, 10**12)),
        ("arm:age", Fraction("0.1")),
        ("arm:crp", Fraction(1, 10**12)),
        ("free:smoker", None),
        ("age:dose:heat", Fraction("0.00125")),
        ("age:visits:smoker", Fraction("0.1")),
        ("I(age * dose)", Fraction("0.005")),
        ("I(age^3)", Fraction("0.001")),
        ("I(age^0)", Fraction(1)),
        # sums
        ("I(age + dose)", Fraction("0.05")),
        ("I(age - heat)", Fraction("0.05")),
        ("I(salt + 2.5)", Fraction("2.5")),
        ("I(salt - 3)", Fraction(1)),
        ("I(-age)", Fraction("0.1")),
        ("I(age + 0)", Fraction("0.1")),
        ("I(0 * age)", Fraction(1)),
        ("I(loose + free)", None),
        ("I(loose + n)", Fraction("0.01")),
        # numbers of the formula
        ("I(2.5 * age)", Fraction("0.25")),
        ("I(age / 4)", Fraction("0.025")),
        ("I(age / 3)", Fraction(1, 30)),
        ("I(age / 10^3)", Fraction(1, 10**4)),
        ("I((age - 60) / (2 * 5))", Fraction("0.01")),
        ("I((age - 60)^2)", Fraction("0.01")),
        ("I(1e-3 * loose)", Fraction(1, 10**5)),
        # no bound, and no unit
        ("loose:n", None),
        ("I(n * n)", None),
        ("log(loose)", None),
        ("exp(n)", None),
        ("I(1 / free)", None),
        ("log(sqrt(age))", None),  # nothing tells how near to 0
        # multiples that float64 cannot tell apart: 15 digits
        ("I(crp^2)", Fraction(1, 10**9)),
        ("I(age^10)", Fraction(10**6)),
        ("crp:heat", Fraction(1, 10**11)),
        # rounded to a binary grid
        ("log(crp)", LOG),
        ("log(age)", LOG),
        ("I(1 / age)", Fraction(16, 2**40)),  # at most 10
        ("I(dose / age)", Fraction(256, 2**40)),
        ("I(age^(-1))", Fraction(16, 2**40)),
        ("I(1 / (heat + 5))", Fraction(1, 2**40)),  # from 2 on
        ("I(1 / (heat^2 + 1))", Fraction(2, 2**40)),  # a square is not negative
        ("log1p(heat)", Fraction(2, 2**40)),  # from log(0.25)
        ("sqrt(salt)", Fraction(32, 2**40)),
        ("exp(heat)", Fraction(8, 2**40)),
        ("exp(dose):smoker", Fraction(2**29, 2**40)),
        ("log(dose):age", Fraction(512, 2**40)),
        ("I(log(crp) + age)", Fraction(128, 2**40)),
        ("exp(log(visits))", Fraction(64, 2**40)),
    ],
)
def test_the_unit_of_a_term(term: str, expected: Fraction | None) -> None:
    found = next(value for name, value in units(f"~ 0 + {term}").items() if not name.startswith("arm[T.low"))
    assert found == expected


def test_splines_are_at_most_one() -> None:
    for term in ("bs(age, knots=[40], range=[0, 120])", "ns(age, knots=[40, 60], range=[0, 120])"):
        assert set(units(f"~ {term}").values()) == {Fraction(2, 2**40)}
    assert set(units("~ bs(dose, knots=[4], range=[0, 20]):heat").values()) == {Fraction(4, 2**40)}


def test_responses_offsets_and_further_columns() -> None:
    assert units("arm ~ age") == {"age": Fraction("0.1"), "arm": 1}
    assert units("age ~ smoker + offset(dose) + offset(heat)", more=("crp", "visits")) == {
        "smoker": 1, "age": Fraction("0.1"), "(offset)": Fraction("0.05"), "crp": Fraction(1, 10**12), "visits": 1,
    }  # fmt: skip
    assert units("visits ~ age + offset(log(n))")["(offset)"] is None
    assert units("log(crp) ~ age")["log(crp)"] == LOG
    plain = PlainColumns(("arm", "age", "free", "day"))
    assert plain.units(SCHEMA) == (1, Fraction("0.1"), None, 1)
    for formula, last in (
        ("age ~ smoker", Fraction("0.1")),
        ("age ~ smoker + offset(dose)", Fraction("0.05")),
        ("age ~ smoker + offset(log(dose))", Fraction(128, 2**40)),
        ("loose ~ smoker + offset(log(dose))", None),
        ("free ~ smoker", None),
    ):
        assert Equation(sv.Formula(formula).design(SCHEMA)).units(SCHEMA) == (1, last)


def test_columns_without_a_range_have_what_a_simulation_knows_of_them() -> None:
    taken = ModelColumns(sv.Formula("~ loose:n + free + log(loose) + free:age").design(SCHEMA))
    largest = {"loose": 30.0, "n": 100.0, "free": 3.3, "age": 1e9}  # of age the range counts
    known = dict(zip(taken.columns, taken.units(SCHEMA, largest), strict=True))
    assert known == {
        "free": Fraction(1, 10**14), "log(loose)": LOG, "loose:n": Fraction(1, 100), "free:age": Fraction(1, 10**12),
    }  # fmt: skip
    assert PlainColumns(("free", "n")).units(SCHEMA, {"free": 0.0, "n": 5.0}) == (1, 1)


def test_units_that_are_filled_in_are_those_that_count() -> None:
    design = sv.Formula("~ free + free:smoker").design(SCHEMA)
    filled = SCHEMA.with_units({"free": Fraction(1, 10)})
    assert ModelColumns(design).units(filled) == (Fraction(1, 10), Fraction(1, 10))


# Against exact arithmetic

NAMES = ("age", "dose", "heat", "salt", "visits", "smoker")
EXACTLY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def polynomials() -> st.SearchStrategy[str]:
    leaves = st.sampled_from([*NAMES, "2", "0.5", "0.1", "3.75", "60"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({' '.join(parts)})"),
            st.tuples(inner, st.integers(0, 4)).map(lambda parts: f"({parts[0]})^{parts[1]}".replace("^0", "^1")),
            st.tuples(inner, st.sampled_from(["4", "10", "3", "0.2"])).map(lambda parts: f"({parts[0]} / {parts[1]})"),
            inner.map(lambda text: f"(-{text})" if not text.startswith("-") else text),
        ),
        max_leaves=6,
    )


def evaluated(steps: Any, values: dict[str, Fraction]) -> Fraction:
    stack: list[Fraction] = []
    for kind, taken in steps:
        if kind == "column":
            stack.append(values[taken])
        elif kind == "number":
            stack.append(exactly(taken))
        elif kind == "negative":
            stack.append(-stack.pop())
        elif kind == "power":
            stack.append(stack.pop() ** taken)
        elif kind == "/":
            right = stack.pop()
            stack.append(stack.pop() / right)
        else:
            right = stack.pop()
            stack.append(EXACTLY[kind](stack.pop(), right))
    return stack.pop()


def rows(seed: int, count: int = 20) -> tuple[dict[str, np.ndarray], list[dict[str, Fraction]]]:
    """Multiples of the units in the ranges, both ends among them, as float64 and exactly."""
    rng = np.random.default_rng(seed)
    exact: dict[str, list[Fraction]] = {}
    for name in NAMES:
        column = SCHEMA[name]
        step = column.grid
        low, high = column.limits or (0, 1)
        assert step is not None
        first, last = (int(exactly(float(end)) / step) for end in (low, high))
        exact[name] = [int(k) * step for k in (first, last, *rng.integers(first, last + 1, count - 2))]
    values = {name: np.array([float(value) for value in column]) for name, column in exact.items()}
    return values, [{name: exact[name][row] for name in NAMES} for row in range(count)]


@settings(max_examples=200, deadline=None)
@given(polynomials(), st.integers(0, 2**32))
def test_float64_and_the_unit_are_together_the_exact_number(text: str, seed: int) -> None:
    """Where the unit is that of exact arithmetic, the nearest multiple of what float64 computes is the exact number. In
    any case numbers are within the bound, and within half a step of the grid and the error of float64."""
    try:
        formula = sv.Formula(f"~ 0 + I({text})")
    except InvalidInput:  # no column in it, or too long
        return
    (factor,) = formula._factors
    measure = of_expression(factor.of, SCHEMA, {})  # type: ignore[union-attr]
    step = measure.grid
    assert step is not None
    assert not measure.has_functions
    values, exact = rows(seed)
    computed = formula.design(SCHEMA).matrix(values)
    multiples = whole(computed, [step])[:, 0].tolist()
    for number, multiple, row in zip(computed[:, 0], multiples, exact, strict=True):
        right = evaluated(factor.of.steps, row)  # type: ignore[union-attr]
        assert measure.low <= right <= measure.high
        assert abs(Fraction(float(number)) - right) <= Fraction(measure.error)
        if step == measure.unit:
            assert multiple * step == right
        assert abs(multiple * step - right) <= step / 2 + Fraction(measure.error)


FUNCTIONS = (
    "log(age + 1)", "log(dose)", "log1p(heat / 2)", "exp(heat)", "sqrt(salt)", "I(age / salt)", "I(dose / age)",
    "I(1 / heat)", "I(heat^(-3))", "exp(log(salt) / 2)", "log(sqrt(salt))", "I(salt / (heat - 4))",
    "I(exp(heat) * age - salt)", "I(log(age) * log(dose))", "I(smoker / dose)", "I(-(age / (dose - 10)))",
    "I((heat^2)^(-1))", "exp(-age)", "log1p(-smoker / 2)",
)  # fmt: skip


@pytest.mark.parametrize("term", FUNCTIONS)
def test_functions_stay_within_their_bounds(term: str) -> None:
    formula = sv.Formula(f"~ 0 + {term}")
    (factor,) = formula._factors
    measure = of_expression(factor.of, SCHEMA, {})  # type: ignore[union-attr]
    values, _ = rows(3, 2000)
    design = formula.design(SCHEMA)
    good = []
    for row in range(2000):
        one = {name: column[row : row + 1] for name, column in values.items()}
        try:
            good.append(design.matrix(one)[0, 0])
        except InvalidInput:  # a logarithm of 0, a division by 0
            continue
    assert len(good) > 1000
    slack = 1e-12 * max(map(abs, good))
    assert measure.low - slack <= min(good)
    assert max(good) <= measure.high + slack
    assert measure.grid is not None
    if measure.has_functions:
        assert max(map(abs, good)) <= 2**40 * measure.grid
        assert measure.largest > 2**38 * measure.grid  # and no finer than that


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_products_of_a_design_lie_on_the_products_of_units(seed: int) -> None:
    formula = sv.Formula("~ age * dose * smoker + heat:salt + visits:heat:dose")
    design = formula.design(SCHEMA)
    taken: Selection = ModelColumns(design)
    values, exact = rows(seed)
    block = taken.block(values, np.arange(len(exact)))
    steps = [step for step in taken.units(SCHEMA) if step is not None]
    multiples = whole(block, steps)
    for place, (name, step) in enumerate(zip(taken.columns, steps, strict=True)):
        parts = name.split(":")
        assert step == math.prod((SCHEMA[part].grid for part in parts), start=Fraction(1))  # type: ignore[type-var]
        for row, value in enumerate(exact):
            assert multiples[row, place] * step == math.prod((value[part] for part in parts), start=Fraction(1))


def test_formulas_that_grow_without_end_take_no_time_and_have_no_unit() -> None:
    deep = "age"
    for _ in range(15):
        deep = f"({deep})^20"
    for text in (f"I({deep})", "I(1e300 * age * 1e300 * 1e300)", f"I(1 / {deep})", "exp(exp(exp(exp(age))))"):
        assert unit(text) is None
    assert unit("I(age / 1e-300 / 1e-300)") is None
    assert unit("I(1e-300 * loose * 1e-300)") is None
