"""The first draft of a schema: it fits the table that it was made from, and names nobody."""

from __future__ import annotations

import json
import math
import stat
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.data.draft import Draft, draft
from sottovoce.data.rounded_out import rounded_out
from sottovoce.data.typed import typed
from sottovoce.errors import InvalidInput
from sottovoce.files.toml_table import TomlFile

pa = pytest.importorskip("pyarrow")


def of(*batches: dict[str, Any]) -> Draft:
    return draft([pa.record_batch({name: pa.array(cells) for name, cells in batch.items()}) for batch in batches])


def column(cells: Any) -> sv.Column:
    return of({"x": cells}).schema["x"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([20, 33, 33, 94], sv.Column("x", "integer", range=(20, 100))),
        (["20", " 33", "33", "94", ""], sv.Column("x", "integer", range=(20, 100))),
        ([20.0, math.nan, 94.0], sv.Column("x", "integer", range=(20, 100))),
        ([0.31, 7.2], sv.Column("x", "number", unit=0.01, range=(0, 8))),
        (["0.31", "NA", "7.2", "n/a", "NA"], sv.Column("x", "number", 0.01, range=(0, 8), missing=("NA", "n/a"))),
        ([Decimal("-1.5"), Decimal("0.2")], sv.Column("x", "number", unit=0.1, range=(-2, 1))),
        (pa.array([0.1, 36.6], pa.float32()), sv.Column("x", "number", unit=0.1, range=(0, 40))),
        (["1.50", "2e-3"], sv.Column("x", "number", unit=0.001, range=(0, 2))),
        ([1e-18, 4.25e-17], sv.Column("x", "number", unit=1e-19, range=(0, 5e-17))),
        ([123456789012345.5, 0.25], sv.Column("x", "number", range=(0, 2e14))),  # 17 digits for both
        ([1 / 3, 0.5], sv.Column("x", "number", range=(0.3, 0.5))),
        ([1e300, 2.5], sv.Column("x", "number", range=(0, 2e300))),
        ([True, False, None], sv.Column("x", "boolean")),
        (["a", "b", "nan"] * 2, sv.Column("x", "category", levels=("a", "b"), missing=("nan",))),
        ([2**53 - 1, 5, 5], sv.Column("x", "integer")),
        (["TRUE", "false"], sv.Column("x", "boolean")),
        ([0, 1, 1], sv.Column("x", "boolean")),
        ([date(2015, 6, 2), date(2024, 1, 1)], sv.Column("x", "date", range=("2015-01-01", "2024-12-31"))),
        (["2015-06-02", "2024-01-01 00:00"], sv.Column("x", "date", range=("2015-01-01", "2024-12-31"))),
        (["m", "f", " m", "f", "-"], sv.Column("x", "category", levels=("f", "m"), missing=("-",))),
        (["007", "007", "010", "010"], sv.Column("x", "category", levels=("007", "010"))),
        (pa.array(["m", "f", "m", "f"]).dictionary_encode(), sv.Column("x", "category", levels=("f", "m"))),
    ],
)
def test_guesses(cells: Any, expected: sv.Column) -> None:
    assert column(cells) == expected


@pytest.mark.parametrize(
    ("name", "cells", "why"),
    [
        ("x", [None, None], "it has no values"),
        ("x", ["", "NA"], "it has no values"),
        ("x", [math.nan], "it has no values"),
        ("x", ["NaN", "nan"], "it has no values"),
        ("x", ["-nan"], "it has no values"),
        ("x", [f"text {k % 31}" for k in range(200)], "more than 30 different texts"),
        ("x", [f"{k},5" for k in range(40)] * 3, "the first looks like one with a decimal comma"),
        ("x", ["Ann", "Bob", "Cem"], "most rows have a text of their own"),
        ("x", ["same"] * 9, "one text only"),
        ("x", list(range(1000, 1020)), "every row has another whole number"),
        ("x", [str(k * 7919) for k in range(20)], "every row has another whole number"),
        ("patient_id", [5, 5, 6, 6, 7], "by its name"),
        ("patientID", [5, 5, 6, 6, 7], "by its name"),
        ("MRN", ["a", "a", "b", "b"], "by its name"),
        ("x", [math.inf, 1.0], "neither finite numbers nor dates nor texts"),
        ("x", [[1], [2]], "neither finite numbers nor dates nor texts"),
        ("x", ["a\x01", "b"] * 5, "marks that a schema does not take"),
        ("x ", [0.5, 1.5], "marks that a schema does not take"),
        ("x", ["y" * 201, "b"] * 5, "too long"),
    ],
)
def test_what_is_left_out(name: str, cells: list[Any], why: str) -> None:
    made = of({name: cells, "kept": [0.5] * len(cells)})
    assert list(made.schema) == ["kept"]
    assert why in made.left_out[name]
    assert f"{why}" in made.to_toml()


def test_names_that_only_end_like_an_identifier() -> None:
    made = of({name: [5, 5, 6, 6] for name in ("paid", "steroid", "fluid", "width")})
    assert list(made.schema) == ["paid", "steroid", "fluid", "width"]


def test_no_name_of_a_person_is_in_a_draft() -> None:
    names = [f"SECRET{k}" for k in range(12)]
    made = of({"who": names, "sex": ["f", "m"] * 6, "when": ["SECRET free text"] * 11 + ["SECRET more"]})
    assert list(made.schema) == ["sex", "when"]  # two texts in twelve rows are levels, as far as anybody can tell
    assert "SECRET0" not in made.to_toml() + repr(made.warnings) + repr(made.left_out)
    assert made.rare == {"when": 1}
    assert "SECRET" not in made.warnings[0]
    assert made.warnings[0].startswith("column 'when': 1 of its levels is found in fewer than 5 rows")


def test_batches_are_one_table() -> None:
    """What the first batch suggests, a later one may refute."""
    made = of(
        {"x": ["1", "2"], "y": ["2020-01-01", "2020-01-01"]}, {"x": ["2", "a"], "y": ["2020-01-01", "2020-01-02"]}
    )
    assert made.left_out == {"x": "most rows have a text of their own, as names and identifiers have"}
    made = of({"x": ["1", "1"] * 2}, {"x": ["2", "a"] * 2})
    assert made.schema["x"].levels == ("1", "2", "a")
    made = of({"x": list(range(15))}, {"x": list(range(14, 30))})
    assert made.schema["x"].range == (0, 30)
    assert "x" in of({"x": list(range(15))}, {"x": list(range(15, 30))}).left_out


def test_codes_are_asked_about() -> None:
    made = of({"sex": [1, 2] * 20, "age": list(range(20, 40)) * 2})
    assert 'are these codes? Then it is type = "category"' in made.notes["sex"]
    assert "age" not in made.notes


def test_numbers_that_were_computed_get_a_comment_in_place_of_a_unit() -> None:
    made = of({"x": [1 / 3, 0.5], "y": [0.5, 1.5]})
    assert set(made.notes) == {"x"}
    comment, header, *_ = made.to_toml().partition("[schema.x]")
    assert "more than 15 digits or 22 decimals, as computed ones have, so that no unit is drafted" in comment
    assert header
    assert "unit = 0.1  # to be agreed on" in made.to_toml()


def test_tables_without_columns_and_with_two_of_one_name() -> None:
    with pytest.raises(InvalidInput, match="has no rows to draft from"):
        draft([])
    with pytest.raises(InvalidInput, match="two columns of the table are called 'x'"):
        draft([pa.record_batch([pa.array([1]), pa.array([2])], names=["x", "x"])])
    with pytest.raises(InvalidInput, match="no column of this table can be drafted"):
        _ = of({"x": [None]}).schema


# Rounding out


@pytest.mark.parametrize(
    ("low", "high", "whole", "expected"),
    [
        (18, 94, True, (10, 100)),
        (2015, 2024, True, (2000, 2100)),
        (130, 150, True, (130, 150)),
        (1, 5, True, (0, 10)),
        (-3, 3, True, (-10, 10)),
        (0, 0, True, (0, 10)),
        (90, 90, True, (90, 100)),
        (36.1, 41.2, False, (30, 50)),
        (0.0031, 0.0092, False, (0.003, 0.01)),
        (5.3, 5.3, False, (5, 6)),
        (-0.25, 12.5, False, (-10, 20)),
        (1e308, 1.7e308, False, None),
        (0, 2**53 - 1, True, None),
        (5e-324, 1e-323, False, (5e-324, 1e-323)),
    ],
)
def test_rounded_out(low: float, high: float, whole: bool, expected: Any) -> None:
    assert rounded_out(low, high, whole=whole) == expected


@settings(max_examples=60, deadline=None)
@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_ranges_hold_the_data_and_have_few_digits(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    found = rounded_out(low, high, whole=False)
    assert found is not None
    assert found[0] <= low <= high <= found[1]
    assert found[0] < found[1]
    unit = 10 ** (Decimal(repr(max(map(abs, found)))).adjusted() - 2)  # two digits, or three as 99 became 100
    if max(map(abs, found)) > 1e-300:
        assert all(float(Decimal(repr(end)) / Decimal(10) ** round(math.log10(unit))).is_integer() for end in found)


# A draft fits its table


CELLS = st.one_of(
    st.lists(st.none() | st.floats(allow_infinity=False), min_size=1, max_size=30),
    st.lists(st.none() | st.integers(-(2**60), 2**60), min_size=1, max_size=30),
    st.lists(
        st.sampled_from(["a", "b", " c ", "NA", "na", "", "e\u0301", "é", "1", "2.5", "true", "007", "nan", "-nan"]),
        min_size=1,
    ),
    st.lists(st.integers(-300, 300).map(lambda k: f"{k / 8}"), min_size=1, max_size=30),
    st.lists(st.none() | st.dates().map(date.isoformat), min_size=1, max_size=30),
    st.lists(st.none() | st.booleans(), min_size=1, max_size=30),
    st.lists(st.text(max_size=3), min_size=1, max_size=30),
)


@settings(max_examples=150, deadline=None)
@given(CELLS)
def test_a_draft_takes_the_table_that_it_was_made_from(cells: list[Any]) -> None:
    batch = pa.record_batch({"x": pa.array(cells), "kept": pa.array([0.5] * len(cells))})
    schema = draft([batch]).schema
    assert typed(schema, batch, 0).rows == len(cells)  # or it raises
    assert draft([batch.slice(0, 3), batch.slice(3)]).schema == schema


# The command


CSV = (
    "\ufeff"
    + "patient_id,age,sex,crp\n"
    + "\n".join(f"{k},{20 + k % 50},{'fm'[k % 2]},{k / 7:.2f}" for k in range(60))
    + "\n"
)


def sottovoce(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["schema", *map(str, arguments)])


def test_the_command_prints_what_a_schema_is_read_from(tmp_path: Path) -> None:
    data, out = tmp_path / "data.csv", tmp_path / "schema.toml"
    data.write_text(CSV)
    done = sottovoce(data)
    assert (done.exit_code, done.stderr) == (0, "")
    out.write_text(done.stdout)
    schema = sv.Schema.from_table(TomlFile(out).table("schema"))
    assert schema == sv.Schema([
        sv.Column("age", "integer", range=(20, 70)), sv.Column("sex", "category", levels=("f", "m")),
        sv.Column("crp", "number", unit=0.01, range=(0, 9)),
    ])  # fmt: skip
    assert done.stdout.count("# to be agreed on\n") == 7  # a type, and a range, a unit or levels
    assert '# "patient_id" is left out: by its name it is an identifier.' in done.stdout

    answer = json.loads(sottovoce(data, "--json").stdout)
    assert sv.Schema.from_dict(answer["schema"]) == schema
    assert answer["left_out"] == [{"column": "patient_id", "why": "by its name it is an identifier"}]


def test_the_command_writes_a_new_file(tmp_path: Path) -> None:
    data, out = tmp_path / "data.csv", tmp_path / "schema.toml"
    data.write_text(CSV.replace(",", ";") + "99;30;x;0.5\n")
    done = sottovoce(data, "--delimiter", ";", "--out", out)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"{out} is written: 3 columns, 1 left out.")
    assert done.stderr.startswith("warning: column 'sex': 1 of its levels is found in fewer than 5 rows")
    (tmp_path / "other").write_text("")
    assert stat.S_IMODE(out.stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)
    assert list(sv.Schema.from_table(TomlFile(out).table("schema"))) == ["age", "sex", "crp"]
    before = out.read_text()
    again = sottovoce(data, "--delimiter", ";", "--out", out)
    assert (again.exit_code, out.read_text()) == (2, before)
    assert "exists, and may be what was agreed on" in again.stderr
    assert "the name must end in .toml" in sottovoce(data, "--out", tmp_path / "schema.json").stderr


def test_the_command_reads_parquet(tmp_path: Path) -> None:
    from pyarrow import parquet

    path = tmp_path / "data.parquet"
    rng = np.random.default_rng(0)
    parquet.write_table(
        pa.table({"x": rng.uniform(0, 3, 50), "day": [date(2020, 1, 1 + k % 28) for k in range(50)]}), path
    )
    answer = json.loads(sottovoce(path, "--json").stdout)
    assert [column["type"] for column in answer["schema"]["columns"]] == ["number", "date"]


@pytest.mark.parametrize(
    ("content", "options", "why"),
    [
        ("", [], "is empty"),
        ("a,b\n", [], "has no rows to draft from"),
        ("a;b\n1;SECRET\n", [], "Is it separated by ';'?"),
        ("a,a\n1,2\n", [], "two columns are named 'a'"),
        ("1.5,2\n1,2\n", [], "there are numbers where the names of the columns should be"),
        ("a,b\n1,2\nSECRET,2,3\n", [], "cannot be read as CSV"),
        ("a,b\n1,2\n", ["--delimiter", ",,"], "must be one character"),
        (b"a,b\nSECRET\xff,2\n", [], "cannot be read as CSV"),
    ],
)
def test_files_that_are_refused(content: str | bytes, options: list[str], why: str, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = sottovoce(data, *options)
    assert done.exit_code == 2
    assert why in done.stderr
    assert "SECRET" not in done.stderr + done.stdout
    (tmp_path / "data.parquet").write_bytes(data.read_bytes())
    assert "cannot be read as Parquet" in sottovoce(tmp_path / "data.parquet").stderr
    assert "is not there" in sottovoce(tmp_path / "none.csv").stderr
    assert "is a directory" in sottovoce(tmp_path).stderr
