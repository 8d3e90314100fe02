"""Decimals in cells become whole multiples of a unit, as decimal arithmetic has them."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.data.decimal_unit import beyond, rounded_to
from sottovoce.data.selection import PlainColumns
from sottovoce.data.sources import open_source
from sottovoce.data.table import Table
from sottovoce.errors import InvalidInput, PrecisionLost
from sottovoce.sums.units import Beyond, whole

EXACT = Context(prec=1000)
UNITS = st.one_of(
    st.integers(-30, 10).map(lambda exponent: Fraction(10) ** exponent),
    st.sampled_from(
        [Fraction("0.05"), Fraction("0.25"), Fraction(5), Fraction("2.5"), Fraction(1, 2**20), Fraction("0.3")]
    ),
)


def decimal(number: Fraction) -> Decimal:
    return EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))


@st.composite
def texts(draw: Any) -> str:
    """A decimal as people write it: a sign, zeros in front and behind, an exponent."""
    digits = draw(st.integers(0, 10**15 - 1))
    exponent = draw(st.integers(-25, 8))
    number = Decimal((draw(st.integers(0, 1)), tuple(map(int, str(digits))), exponent))
    form = draw(st.sampled_from(["f", "e", "E"]))
    text = format(number, form)
    return text + "0" * draw(st.integers(0, 3)) if form == "f" and "." in text else text


@settings(max_examples=1000, deadline=None)
@given(texts(), UNITS)
def test_a_text_of_few_digits_becomes_the_nearest_multiple(text: str, unit: Fraction) -> None:
    """Below 10^15 units, float64 on the way takes nothing away: the multiple that a text says, else the nearest one. Of
    two that are as near, float64 may be on the side of either."""
    exact = EXACT.divide(Decimal(text), decimal(unit))
    assume(abs(exact) < 10**15)
    (multiple,) = whole(np.array([[float(text)]]), [unit])[:, 0].tolist()
    nearest = exact.quantize(Decimal(1), rounding=ROUND_HALF_EVEN, context=EXACT)
    distance = abs(EXACT.subtract(Decimal(multiple), exact))
    if distance != Decimal("0.5"):
        assert multiple == nearest
    (rounded,) = rounded_to(unit, np.array([float(text)]))
    assert rounded == float(multiple * unit)
    (again,) = whole(np.array([[rounded]]), [unit])[:, 0].tolist()
    assert again == multiple


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), UNITS)
def test_any_float_becomes_the_nearest_multiple_or_is_beyond(value: float, unit: Fraction) -> None:
    exact = Fraction(value) / unit
    if abs(value) >= beyond(unit):
        assert abs(exact) >= 2**62 - 2**22 or abs(value) >= 9e289  # with some room below the window
        return
    assert abs(exact) < 2**62
    (rounded,) = rounded_to(unit, np.array([value]))
    (multiple,) = whole(np.array([[value]]), [unit])[:, 0].tolist()
    digits = 80 if unit.numerator == 1 else 52  # a product in two float64, or a quotient in one
    assert abs(multiple - exact) <= Fraction(1, 2) + abs(exact) / 2**digits
    assert rounded == float(multiple * unit)


def test_beyond_is_where_integers_end() -> None:
    for unit in (Fraction(1), Fraction("0.1"), Fraction(10) ** 280, Fraction(1, 10**280)):
        edge = beyond(unit)
        assert np.isfinite(rounded_to(unit, np.array([np.nextafter(edge, 0.0), np.nan]))[0])
    with pytest.raises(Beyond):
        rounded_to(Fraction(1), np.array([2.0**62]))
    assert rounded_to(Fraction(1), np.array([])).tolist() == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-(10**9), 10**9), st.integers(0, 4)), min_size=1, max_size=30))
def test_a_csv_file_is_read_as_its_decimals(cells: list[tuple[int, int]]) -> None:
    """Sums of what a table takes of its cells are those of the decimals that the file has, to the last digit."""
    import tempfile

    written = [Decimal(digits).scaleb(-decimals, EXACT) for digits, decimals in cells]
    unit = Fraction(1, 10**4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text("\n".join(["x,y", *(f"{number},{number:.1f}" for number in written)]) + "\n")
        schema = sv.Schema({"x": {"type": "number", "unit": "0.0001"}, "y": {"type": "number", "unit": "0.0001"}})
        selection = PlainColumns(("x", "y"))
        rows = Table(open_source(path), schema, selection).rows
        units = [step for step in selection.units(schema) if step is not None]
        totals = rows.totals(lambda block: whole(block, units))
        rounded = [Decimal(f"{number:.1f}") for number in written]
        assert units == [unit, unit]
        assert totals.tolist() == [int(sum(written) * 10**4), int(sum(rounded) * 10**4)]


def test_cells_that_are_no_multiples_are_rounded_and_counted() -> None:
    pa = pytest.importorskip("pyarrow")
    schema = sv.Schema({"x": {"type": "number", "unit": 0.1, "range": (0, 50)}, "y": "number"})
    tables = [
        {"x": ["36.6", "36.64", "36.65000", " 3.66e1 ", "nan", "36.60000000000000001"], "y": [1 / 3] * 6},
        {"x": [36.6, 36.64, 36.65, 36.6, None, 36.6], "y": [1 / 3] * 6},
        pa.table({"x": pa.array([36.6, 36.64, 36.65, 36.6, None, 36.6], pa.float32()), "y": [1 / 3] * 6}),
        pa.table({"x": pa.array(np.array([36.6, 36.64, 36.65]), pa.float32()).dictionary_encode(), "y": [1 / 3] * 3}),
    ]
    for table in tables:
        checked = sv.data.check(table, schema=schema, missing="drop")
        assert checked.rounded == {"x": 2}
        assert checked.ok
        assert checked.to_dict()["rounded"] == {"x": 2}
        (remark,) = [text for text in checked.remarks if "multiple" in text]
        assert remark == "numbers that are no multiple of their column's unit, and are rounded to it: 'x' 2"
        with pytest.warns(PrecisionLost, match="2 of . numbers are no multiple of its unit, 0.1"):
            rows = Table(open_source(table), schema, PlainColumns(("x",)), "drop").rows
        assert rows.largest().tolist() in ([36.6], [36.7])
        totals = rows.totals(lambda block: whole(block, [Fraction(1, 10)]))
        assert totals.tolist()[0] in {366 * len(rows), 366 * len(rows) + 1}  # 36.65 is a tie, as float64 has it


def test_a_cell_beyond_its_unit_is_told_by_its_row() -> None:
    schema = sv.Schema({"x": {"type": "number", "unit": "1e-10"}, "y": {"type": "number", "unit": "1e280"}})
    table = {"x": [1.0, 461168601.8, 461168601.9, -1e300], "y": [0.0, 1.7e308, -1e300, 9e288]}
    checked = sv.data.check(table, schema=schema)
    assert [(problem.column, problem.kind, problem.rows) for problem in checked.problems] == [
        ("x", "too large for its unit", (3, 4)),
        ("y", "too large for its unit", (2, 3)),
    ]
    with pytest.raises(InvalidInput) as refusal:
        len(Table(open_source(table), schema, PlainColumns(("x",))).rows)
    assert str(refusal.value).startswith(
        "column 'x': too large for its unit (numbers are less than 2^62 units of 0.0000000001) in rows 3, 4."
    )
    assert "461168601" not in str(refusal.value)
