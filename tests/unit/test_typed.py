"""Arrow record batches as numbers: every cell as a plain reading of the rules has it, and no cell in any message."""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.data.problems import Problem, merged, told
from sottovoce.data.typed import typed, typed_or_not
from sottovoce.errors import InvalidInput

pa = pytest.importorskip("pyarrow")

NUMBER = sv.Column("x", "number", range=(-100, 1000), missing=("-9", "NA", "999.5"))
ANY_NUMBER = sv.Column("x", "number")
INTEGER = sv.Column("x", "integer", missing=("-9", "NA"))
CATEGORY = sv.Column("x", "category", levels=("f", "m", "1", "2", "é", "true"), missing=("NA", "9", "-1.5"))
BOOLEAN = sv.Column("x", "boolean", missing=("9", "NA"))
DATE = sv.Column("x", "date", range=("1900-01-01", "2030-12-31"), missing=("9999-12-31", "NA"))
COLUMNS = (NUMBER, ANY_NUMBER, INTEGER, CATEGORY, BOOLEAN, DATE)


def read(column: sv.Column, array: Any, first: int = 0) -> tuple[list[float], list[Problem]]:
    batch, problems = typed_or_not(sv.Schema([column]), pa.record_batch({"x": array}), first)
    assert batch.rows == len(array)
    assert batch.first == first
    assert batch.values["x"].dtype == np.float64
    return batch.values["x"].tolist(), problems


def kinds(problems: list[Problem]) -> dict[str, tuple[int, ...]]:
    return {problem.kind: problem.rows for problem in problems}


# The rules, cell by cell, in plain Python


def plain(column: sv.Column, cell: Any) -> float | str:
    """A number, ``missing``, or the kind of problem."""
    if isinstance(cell, str):
        cell = unicodedata.normalize("NFC", cell.strip())
    if cell is None or cell == "" or (isinstance(cell, str) and cell in column.missing):
        return "missing"
    if isinstance(cell, float) and math.isnan(cell):
        return "missing"
    return {
        "number": plain_number, "integer": plain_number, "category": plain_level, "boolean": plain_truth,
        "date": plain_date,
    }[column.type](column, cell)  # fmt: skip


def plain_float(cell: Any) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal | str):
        return None
    if isinstance(cell, str) and not re.fullmatch(r"[-+]?([0-9.]+(e[-+]?[0-9]+)?|nan|inf|infinity)", cell.lower()):
        return None
    try:
        return float(cell)
    except (ValueError, OverflowError):
        return None


def is_code(column: sv.Column, value: float) -> bool:
    return any(plain_float(code) == value for code in column.missing)


def plain_number(column: sv.Column, cell: Any) -> float | str:
    value = plain_float(cell)
    if value is None:
        return "not a number"
    if math.isnan(value) or is_code(column, value):
        return "missing"
    if math.isinf(value):
        return "infinite"
    if column.type == "integer" and abs(value) >= 2**53:
        return "too large"
    if column.type == "integer" and value != int(value):
        return "not whole"
    inside = column.range is None or column.range[0] <= value <= column.range[1]
    return value if inside else "out of range"


def plain_level(column: sv.Column, cell: Any) -> float | str:
    if isinstance(cell, bool):
        cell = "true" if cell else "false"
    if isinstance(cell, float | Decimal):
        if is_code(column, float(cell)):
            return "missing"
        cell = str(int(cell)) if math.isfinite(cell) and cell == int(cell) else "no level"
    if isinstance(cell, int):
        cell = str(cell)
    if isinstance(cell, str) and cell in column.missing:
        return "missing"
    return float(column.levels.index(cell)) if cell in column.levels else "unknown level"


def plain_truth(column: sv.Column, cell: Any) -> float | str:
    known = {"true": 1.0, "false": 0.0, "0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0}
    if isinstance(cell, str):
        return known.get(cell.lower(), "neither true nor false")
    if not isinstance(cell, bool | int | float | Decimal):
        return "neither true nor false"
    if is_code(column, float(cell)):
        return "missing"
    return float(cell) if cell in (0, 1) else "neither true nor false"


def plain_date(column: sv.Column, cell: Any) -> float | str:
    if isinstance(cell, str):
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?", cell):
            return "not a date"
        try:
            day, clock = date.fromisoformat(cell[:10]), cell[11:]
        except ValueError:
            return "not a date"
        if any(digit in "123456789" for digit in clock):
            return "time of day"
    elif isinstance(cell, datetime):
        if cell.time() != time(0):
            return "time of day"
        day = cell.date()
    elif isinstance(cell, date):
        day = cell
    else:
        return "not a date"
    if day.isoformat() in column.missing:
        return "missing"
    assert column.range is not None
    return float((day - date(1970, 1, 1)).days) if column.range[0] <= day <= column.range[1] else "out of range"


WRITTEN = [
    "", " ", "3", " 3 ", "3.0", "3.5", "-9", "-9.0", "NA", " NA", "na", "nan", "NaN", "nan(5)", "inf", "-Infinity",
    "1e3", "1E-3", ".5", "5.", "+5", "1_000", "0x10", "1,5", "1 000", "1e999", "9007199254740992", "9007199254740993",
    "1d5", "f", "m ", "\tm\u00a0", "F", "é", "e\u0301", "1", "2", "01", "9", "x", "true", "TRUE", "False", "yes", "0",
    "0.0", "1.0",
    "2020-02-29", "2021-02-29", "2020-2-3", " 2020-12-31", "1899-12-31", "9999-12-31", "0000-01-01", "31.12.2020",
    "2020-01-01 00:00", "2020-01-01T00:00:00.000", "2020-01-01 00:00:01", "2020-01-01T25:00", "999.5", "٣",
]  # fmt: skip
TEXTS = st.sampled_from(WRITTEN) | st.floats().map(repr) | st.integers().map(str) | st.text(max_size=4)
TYPES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-10, 10)),
    (pa.uint64(), st.integers(0, 2**64 - 1) | st.integers(0, 10)),
    (pa.float64(), st.floats() | st.sampled_from([-9.0, 0.0, 1.0, 2.0, 3.5, -1.5])),
    (pa.float32(), st.floats(width=32) | st.sampled_from([-9.0, 1.0, 3.5])),
    (pa.decimal128(20, 4), st.decimals(-(10**12), 10**12, places=4) | st.sampled_from([Decimal(1), Decimal("-9")])),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.dates()),
    (pa.date64(), st.dates()),
    (pa.timestamp("us"), st.dates().map(lambda day: datetime.combine(day, time(0))) | st.datetimes()),
    (pa.null(), st.none()),
]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: str(kind[0]))
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_every_cell_is_what_a_plain_reading_makes_of_it(kind: tuple[Any, Any], data: st.DataObject) -> None:
    cells = data.draw(st.lists(st.none() | kind[1], max_size=30))
    array = pa.array(cells, kind[0])
    for column in COLUMNS:
        values, problems = read(column, array)
        expected = [plain(column, cell) for cell in cells]
        assert [math.isnan(value) for value in values] == [isinstance(cell, str) for cell in expected]
        assert [value for value in values if value == value] == [cell for cell in expected if not isinstance(cell, str)]
        wrong: dict[str, list[int]] = {}
        for row, cell in enumerate(expected, start=1):
            if isinstance(cell, str) and cell != "missing":
                wrong.setdefault(cell, []).append(row)
        assert kinds(problems) == {what: tuple(rows[:5]) for what, rows in wrong.items()}
        assert {problem.kind: problem.count for problem in problems} == {
            what: len(rows) for what, rows in wrong.items()
        }


def test_every_written_cell_that_is_a_trap() -> None:
    """The list of texts at once, so that none depends on luck."""
    for column in COLUMNS:
        values, problems = read(column, pa.array(WRITTEN))
        expected = [plain(column, cell) for cell in WRITTEN]
        assert [value for value in values if value == value] == [cell for cell in expected if not isinstance(cell, str)]
        assert sum(problem.count for problem in problems) == sum(
            isinstance(cell, str) and cell != "missing" for cell in expected
        )
    assert sum(isinstance(plain(NUMBER, cell), float) for cell in WRITTEN) > 15  # or the oracle refuses too much


# One by one


def test_numbers_come_from_numbers_and_texts() -> None:
    assert read(ANY_NUMBER, pa.array(["1.5", " 2 ", "", "-3e2"])) == (
        pytest.approx([1.5, 2, math.nan, -300], nan_ok=True),
        [],
    )
    values, problems = read(ANY_NUMBER, pa.array([True, None, False]))
    assert kinds(problems) == {"not a number": (1, 3)}
    assert np.isnan(values).all()
    for odd in (pa.array([[1.0]]), pa.array([b"1"]), pa.array([timedelta(1)]), pa.array([date(2020, 1, 1)])):
        assert kinds(read(ANY_NUMBER, odd)[1]) == {"not a number": (1,)}


def test_decimals_are_rounded_once() -> None:
    """Arrow's own conversion is off in the last digit for one in eight."""
    cells = [Decimal(k).scaleb(-2) for k in range(1, 5000)]
    values, _ = read(ANY_NUMBER, pa.array(cells, pa.decimal128(20, 2)))
    assert values == [float(cell) for cell in cells]


def test_what_arrow_takes_for_a_number_or_a_date_is_not_always_one() -> None:
    assert kinds(read(ANY_NUMBER, pa.array(["1", "nan(5)", "nan", ""]))[1]) == {"not a number": (2,)}
    assert kinds(read(ANY_NUMBER, pa.array(["1", "nan(5)", "nan"]))[1]) == {"not a number": (2,)}  # without a blank
    any_date = sv.Column("x", "date")
    assert kinds(read(any_date, pa.array(["2020-01-01", "0000-12-31"]))[1]) == {"not a date": (2,)}
    assert kinds(read(any_date, pa.array([0, 2932897, -719163], pa.int32()).cast(pa.date32()))[1]) == {
        "not a date": (2, 3)
    }


def test_infinities_are_refused_and_nan_is_missing() -> None:
    values, problems = read(ANY_NUMBER, pa.array([math.inf, 1.0, math.nan, -math.inf, None]))
    assert values == pytest.approx([math.nan, 1.0, math.nan, math.nan, math.nan], nan_ok=True)
    assert kinds(problems) == {"infinite": (1, 4)}


def test_whole_numbers() -> None:
    array = pa.array([3.0, 3.5, -0.5, 2.0**53 - 1, 2.0**53, 1e300])
    values, problems = read(INTEGER, array)
    assert values == pytest.approx([3.0, math.nan, math.nan, 2.0**53 - 1, math.nan, math.nan], nan_ok=True)
    assert kinds(problems) == {"not whole": (2, 3), "too large": (5, 6)}
    # 2^53 + 1 would become 2^53, which is another number.
    assert kinds(read(INTEGER, pa.array([2**53 + 1, -(2**53)]))[1]) == {"too large": (1, 2)}


def test_missing_codes_are_texts_and_values() -> None:
    for array in (pa.array([-9, 7]), pa.array([-9.0, 7.0]), pa.array(["-9", "7"]), pa.array(["-9.0", " 7"])):
        assert read(INTEGER, array) == (pytest.approx([math.nan, 7.0], nan_ok=True), [])
    column = sv.Column("x", "number", range=(0, 0.1), missing=("-9.9",))
    # -9.9 and 0.1 with the digits of the table: a float32 of 0.1 is a little more.
    assert read(column, pa.array([-9.9, 0.1], pa.float32())) == (
        pytest.approx([math.nan, float(np.float32(0.1))], nan_ok=True),
        [],
    )
    assert kinds(read(column, pa.array([-9.8, 0.10001], pa.float32()))[1]) == {"out of range": (1, 2)}
    assert read(DATE, pa.array([date(9999, 12, 31)])) == (pytest.approx([math.nan], nan_ok=True), [])


def test_an_unknown_level_is_never_the_reference() -> None:
    column = sv.Column("x", "category", levels=("f", "m"), reference="m")
    values, problems = read(column, pa.array(["m", "M", "d", " f ", None, ""]))
    assert values == pytest.approx([1.0, math.nan, math.nan, 0.0, math.nan, math.nan], nan_ok=True)
    assert kinds(problems) == {"unknown level": (2, 3)}
    assert problems[0].more == "none of 'f', 'm'"


def test_levels_do_not_depend_on_the_dictionary_of_a_batch() -> None:
    """A dictionary has its own order, holes, repetitions, and words that no row has."""
    words = pa.array(["m", None, "zzz", "f", "m"])
    array = pa.DictionaryArray.from_arrays(pa.array([3, 0, 4, 1, None]), words)
    column = sv.Column("x", "category", levels=("f", "m"))
    assert read(column, array) == (pytest.approx([0.0, 1.0, 1.0, math.nan, math.nan], nan_ok=True), [])
    empty = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.array([], pa.string()))
    assert read(column, empty) == (pytest.approx([math.nan, math.nan], nan_ok=True), [])


def test_levels_that_are_numbers() -> None:
    column = sv.Column("x", "category", levels=("1", "2"), missing=("9",))
    for array in (pa.array([2, 1, 9]), pa.array([2.0, 1.0, 9.0]), pa.array([Decimal(2), Decimal(1), Decimal(9)])):
        assert read(column, array) == (pytest.approx([1.0, 0.0, math.nan], nan_ok=True), [])
    assert read(column, pa.array([math.nan, 1.0])) == (pytest.approx([math.nan, 0.0], nan_ok=True), [])
    assert kinds(read(column, pa.array([1.5, math.inf, 3.0]))[1]) == {"unknown level": (1, 2, 3)}


def test_dates_at_midnight_of_their_own_time_zone() -> None:
    day = (date(2020, 7, 1) - date(1970, 1, 1)).days
    local = pa.array([datetime(2020, 6, 30, 22, tzinfo=UTC)], pa.timestamp("ns", "Europe/Berlin"))
    assert read(DATE, local) == ([day], [])
    assert kinds(read(DATE, local.cast(pa.timestamp("s", "UTC")))[1]) == {"time of day": (1,)}
    unknown = pa.array([0, None], pa.timestamp("s", "Nowhere/Land"))
    assert kinds(read(DATE, unknown)[1]) == {"not a date": (1,)}
    for unit in ("s", "ms", "us", "ns"):
        before = pa.array([datetime(1969, 12, 31), datetime(1969, 12, 31, 0, 0, 1)], pa.timestamp(unit))
        values, problems = read(DATE, before)
        assert (values[0], kinds(problems)) == (-1.0, {"time of day": (2,)})
    assert kinds(read(DATE, pa.array([18000, 1]))[1]) == {"not a date": (1, 2)}


def test_wrapped_arrays_are_unwrapped() -> None:
    import pyarrow.compute as pc

    runs = pc.run_end_encode(pa.array([1.0, 1.0, 2.0]))
    assert read(ANY_NUMBER, runs) == ([1.0, 1.0, 2.0], [])
    wrapped = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8()))
    assert read(BOOLEAN, wrapped) == (pytest.approx([1.0, 0.0, math.nan], nan_ok=True), [])
    sliced = pa.array(["1", "x", "2", None])[2:]
    assert read(ANY_NUMBER, sliced) == (pytest.approx([2.0, math.nan], nan_ok=True), [])
    assert read(CATEGORY, pa.array(["x", "m", "f"]).dictionary_encode()[1:]) == ([1.0, 0.0], [])


def test_bytes_that_are_no_text() -> None:
    offsets = pa.py_buffer(np.array([0, 2, 3, 4], np.int32))
    array = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"\xff\xfe1f")])
    for column, faults in (
        (ANY_NUMBER, {"not text": (1,), "not a number": (3,)}),
        (CATEGORY, {"not text": (1,)}),
        (BOOLEAN, {"not text": (1,), "neither true nor false": (3,)}),
        (DATE, {"not text": (1,), "not a date": (2, 3)}),
    ):
        assert kinds(read(column, array)[1]) == faults


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.type)
def test_no_rows_and_only_blanks(column: sv.Column) -> None:
    for kind in (pa.string(), pa.float64(), pa.null(), pa.dictionary(pa.int8(), pa.string()), pa.list_(pa.int8())):
        assert read(column, pa.array([], kind)) == ([], [])
        values, problems = read(column, pa.array([None, None], kind))
        assert np.isnan(values).all()
        assert problems == []
    for blanks in (pa.array(["", "  "]), pa.array([math.nan, None])):  # frames have NaN where a column has nothing
        assert read(column, blanks)[1] == []


# The whole table


def test_columns_are_found_by_name_and_others_are_not_looked_at() -> None:
    schema = sv.Schema({"age": "number", "sex": {"type": "category", "levels": ["f", "m"]}, "dose": "number"})
    table = pa.record_batch([pa.array(["f"]), pa.array(["secret"]), pa.array([40])], names=["sex", "name", "age"])
    batch = typed(schema, table, 10, ["age", "sex"])
    assert {name: values.tolist() for name, values in batch.values.items()} == {"age": [40.0], "sex": [0.0]}
    assert (batch.first, batch.rows) == (10, 1)
    with pytest.raises(InvalidInput, match=r"the table has no column 'dose'\. The schema asks for it\."):
        typed(schema, table, 0)
    with pytest.raises(InvalidInput, match=r"the table has no column 'age'; did you mean 'Age'\? The schema"):
        typed(schema, table.rename_columns(["sex", "name", "Age"]), 0, ["age"])
    with pytest.raises(InvalidInput, match="the schema has no column 'name'"):
        typed(schema, table, 0, ["name"])
    twice = pa.record_batch([pa.array([1]), pa.array([2])], names=["age", "age"])
    with pytest.raises(InvalidInput, match="two columns of the table are called 'age'"):
        typed(schema, twice, 0, ["age"])


def test_all_problems_are_told_at_once_and_no_cell_is() -> None:
    schema = sv.Schema([
        sv.Column("age", "integer", range=(0, 120)), sv.Column("sex", "category", levels=("f", "m")),
        sv.Column("dose", "number"),
    ])  # fmt: skip
    table = pa.record_batch({
        "age": pa.array([918273] * 7), "sex": pa.array(["SECRET", "f", "m", "f", "m", "f", "f"]),
        "dose": pa.array(["1", "918,273", "2", "918273 mg", "1", "1", "1"]),
    })  # fmt: skip
    with pytest.raises(InvalidInput) as caught:
        typed(schema, table, 1000)
    assert str(caught.value) == (
        "column 'age': out of range (from 0 to 120) in 7 rows, of which the first are 1001, 1002, 1003, 1004, 1005; "
        "column 'sex': unknown level (none of 'f', 'm') in row 1001; "
        "column 'dose': not a number (the first looks like one with marks between thousands, or a decimal comma) in "
        "rows 1002, 1004. Correct these cells, or agree on a schema that allows them."
    )
    assert caught.value.__context__ is None  # where Arrow would quote the cell


def test_problems_of_batches_become_those_of_the_table() -> None:
    schema = sv.Schema([sv.Column("x", "number"), sv.Column("y", "boolean")])
    found: list[Problem] = []
    for first in range(0, 40, 10):
        table = pa.record_batch({"x": pa.array(["a", "1", "b"]), "y": pa.array(["true", "no", ""])})
        found += typed_or_not(schema, table, first)[1]
    assert merged(found) == [
        Problem("x", "not a number", 8, (1, 3, 11, 13, 21)),
        Problem("y", "neither true nor false", 4, (2, 12, 22, 32)),
    ]
    many = [Problem(f"x{k}", "infinite", 1, (1,)) for k in range(12)]
    assert "column 'x9'" in told(many)
    assert "; and 2 more problems. Correct" in told(many)
