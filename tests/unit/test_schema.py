"""What a schema means, how it is written and read, and what of a hostile one is refused."""

from __future__ import annotations

import json
import math
import re
import tomllib
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import counted
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import InvalidFile, InvalidInput
from sottovoce.files.toml_table import Table, TomlFile
from sottovoce.runtime.protocol.link import canonical

TEXT = """
[schema]
death = "boolean"

[schema.age]
type = "integer"
unit_name = "years"
range = [0, 120]
missing = ["-9", "NA"]

[schema.sex]
type = "category"
levels = ["f", "m", "x"]
reference = "m"

[schema."first seen"]
type = "date"
range = [2015-01-01, 2024-12-31]

[schema.crp]
type = "number"
unit = 0.05
range = [-0.0, 500.5]
"""


def read(text: str, folder: Path) -> sv.Schema:
    path = folder / "problem.toml"
    path.write_text(text)
    return sv.Schema.from_table(TomlFile(path).table("schema"))


def test_a_table_of_a_file_is_read_in_its_order(tmp_path: Path) -> None:
    schema = read(TEXT, tmp_path)
    assert list(schema) == ["death", "age", "sex", "first seen", "crp"]
    assert schema["age"] == sv.Column("age", "integer", None, "years", (0, 120), missing=("-9", "NA"))
    assert schema["sex"].reference == "m"
    assert schema["first seen"].limits == (16436.0, 20088.0)  # date(2015, 1, 1).toordinal() - 719163
    assert schema["death"].range is None
    assert schema["crp"].unit == Fraction(1, 20)


def test_one_canonical_form(tmp_path: Path) -> None:
    """However it is given, what is hashed is the same; JSON and TOML bring it back."""
    schema = read(TEXT, tmp_path)
    assert schema.to_dict()["columns"][1:3] == [
        {
            "name": "age", "type": "integer", "unit": None, "unit_name": "years", "range": [0.0, 120.0], "levels": [],
            "reference": None, "missing": ["-9", "NA"],
        },
        {
            "name": "sex", "type": "category", "unit": None, "unit_name": "", "range": None, "levels": ["f", "m", "x"],
            "reference": "m", "missing": [],
        },
    ]  # fmt: skip
    assert schema.to_dict()["columns"][3]["range"] == ["2015-01-01", "2024-12-31"]
    assert schema.to_dict()["columns"][4]["unit"] == "0.05"
    again = sv.Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema == read(schema.to_toml(), tmp_path)
    assert hash(again) == hash(schema)
    other = sv.Schema(
        {
            "death": sv.Column("death", "boolean"),
            "age": {"type": "integer", "unit_name": "years", "range": (np.int64(0), 120.0), "missing": ("-9", "NA")},
            "sex": {"type": "category", "levels": ["f", "m", "x"], "reference": "m"},
            "first seen": {"type": "date", "range": ["2015-01-01", date(2024, 12, 31)]},
            "crp": {"type": "number", "unit": "5e-2", "range": [0, 500.5]},  # 0 for -0
        }
    )
    assert canonical(other.to_dict()) == canonical(schema.to_dict())
    assert canonical(read(TEXT.replace("-0.0", "0"), tmp_path).to_dict()) == canonical(schema.to_dict())


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ('["f", "m", "x"]', '["m", "f", "x"]'),  # the same levels in another order
        ('reference = "m"', 'reference = "x"'),
        ("[0, 120]", "[0, 121]"),
        ('"years"', '"months"'),
        ('["-9", "NA"]', '["NA", "-9"]'),
        ("2015-01-01", "2015-01-02"),
        ('"integer"', '"number"'),
        ("unit = 0.05", "unit = 0.5"),
        ("unit = 0.05\n", ""),
    ],
)
def test_any_difference_shows(was: str, now: str, tmp_path: Path) -> None:
    one, other = read(TEXT, tmp_path), read(TEXT.replace(was, now), tmp_path)
    assert one != other
    assert canonical(one.to_dict()) != canonical(other.to_dict())


def test_the_order_of_columns_is_content_and_the_default_reference_is_not_a_difference() -> None:
    a, b = sv.Column("a", "number"), sv.Column("b", "number")
    assert sv.Schema([a, b]) != sv.Schema([b, a])
    assert canonical(sv.Schema([a, b]).to_dict()) != canonical(sv.Schema([b, a]).to_dict())
    assert sv.Schema([a]) != {"a": a}
    assert sv.Column("c", "category", levels=["x", "y"]) == sv.Column("c", "category", levels=("x", "y"), reference="x")
    # An accent as a mark of its own is the same accent.
    assert sv.Column("c", "category", levels=["e\u0301", "y"]) == sv.Column("c", "category", levels=["é", "y"])


def test_restricted_keeps_the_order_and_knows_its_names() -> None:
    schema = sv.Schema({"age": "number", "dose": "number", "sex": {"type": "category", "levels": ["f", "m"]}})
    assert list(schema.restricted(["sex", "age"])) == ["age", "sex"]
    assert schema.restricted(["dose"])["dose"] is schema["dose"]
    with pytest.raises(InvalidInput, match=r"no column 'does'; did you mean 'dose'\?"):
        schema.restricted(["does"])


def test_what_is_shown() -> None:
    schema = sv.Schema({f"x{k}": "number" for k in range(12)})
    assert repr(schema).startswith("Schema(x0: number; x1: number;")
    assert repr(schema).endswith("x9: number; and 2 more)")
    column = sv.Column("day", "date", range=("2024-01-01", "2024-12-31"))
    assert column.told() == "day: date from 2024-01-01 to 2024-12-31"
    column = sv.Column("crp", "number", unit=0.1, unit_name="mg/l", range=(0, 500))
    assert column.told() == "crp: number from 0 to 500 mg/l in steps of 0.1"
    assert sv.Column("crp", "number", unit="1e-20").told() == "crp: number in steps of 1e-20"


# Units


@pytest.mark.parametrize(
    ("given", "unit", "text", "toml"),
    [
        (0.1, Fraction(1, 10), "0.1", "0.1"),
        ("0.05", Fraction(1, 20), "0.05", "0.05"),
        ("5e-2", Fraction(1, 20), "0.05", "0.05"),
        (".50", Fraction(1, 2), "0.5", "0.5"),
        (Decimal("2.50"), Fraction(5, 2), "2.5", "2.5"),
        (1, Fraction(1), "1", "1"),
        (1.0, Fraction(1), "1", "1"),
        (np.int64(1000), Fraction(1000), "1000", "1000"),
        (np.float64(0.01), Fraction(1, 100), "0.01", "0.01"),
        (Fraction(1, 8), Fraction(1, 8), "0.125", "0.125"),
        (1e-7, Fraction(1, 10**7), "0.0000001", "1e-07"),
        (1e-20, Fraction(1, 10**20), "1e-20", "1e-20"),
        (1e20, Fraction(10**20), "1e+20", "1e+20"),
        ("0.12345678901234567", Fraction("0.12345678901234567"), "0.12345678901234567", '"0.12345678901234567"'),
        (Fraction(1, 2**40), Fraction(1, 2**40), "9.094947017729282379150390625e-13", None),
    ],
)
def test_a_unit_is_a_decimal_however_it_is_given(
    given: Any, unit: Fraction, text: str, toml: str | None, tmp_path: Path
) -> None:
    schema = sv.Schema([sv.Column("x", "number", unit=given)])
    assert schema["x"].unit == schema["x"].grid == unit
    assert type(schema["x"].unit) is Fraction
    assert schema.to_dict()["columns"][0]["unit"] == text
    assert f"unit = {toml or json.dumps(text)}\n" in schema.to_toml()
    again = sv.Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema == read(schema.to_toml(), tmp_path)
    assert hash(again) == hash(schema)
    assert sv.Column("x", "number", unit=text) == schema["x"]


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10**16), st.integers(-280, 260))
def test_units_survive_json_and_toml(digits: int, exponent: int) -> None:
    unit = digits * Fraction(10) ** exponent
    schema = sv.Schema([sv.Column("x", "number", unit=unit)])
    assert schema["x"].unit == unit
    assert sv.Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert sv.Schema(tomllib.loads(schema.to_toml())["schema"]) == schema
    written = sv.Schema([sv.Column("x", "number", unit=f"{digits}e{exponent}")])
    assert canonical(written.to_dict()) == canonical(schema.to_dict())


@pytest.mark.parametrize(
    ("options", "grid"),
    [
        ({"type": "number", "unit": 0.5, "range": (0, 120)}, Fraction(1, 2)),
        ({"type": "number", "range": (0, 120)}, Fraction(1, 10**12)),
        ({"type": "number", "range": (-999.5, 120)}, Fraction(1, 10**12)),
        ({"type": "number", "range": (0, 1000)}, Fraction(1, 10**11)),
        ({"type": "number", "range": (0, 0.002)}, Fraction(1, 10**17)),
        ({"type": "number", "range": (0, 3e20)}, Fraction(10**6)),
        ({"type": "number"}, None),
        ({"type": "integer"}, Fraction(1)),
        ({"type": "integer", "range": (0, 10**15)}, Fraction(1)),
        ({"type": "boolean"}, Fraction(1)),
        ({"type": "date"}, Fraction(1)),
        ({"type": "category", "levels": ["a", "b"]}, Fraction(1)),
    ],
)
def test_the_step_on_which_numbers_lie(options: dict[str, Any], grid: Fraction | None) -> None:
    assert sv.Column("x", **options).grid == grid


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10**15 - 1), st.integers(-30, 30))
def test_numbers_of_15_digits_lie_on_the_step_of_their_range(digits: int, exponent: int) -> None:
    end = digits * Fraction(10) ** exponent
    grid = sv.Column("x", "number", range=(-1e-300, float(end))).grid
    assert grid is not None
    assert (end / grid).denominator == 1 or digits >= 10**14  # then by the float, which may have a digit more
    assert end / grid < 10**15 + 1 < 2**62


def test_units_for_columns_without() -> None:
    schema = sv.Schema(
        {"age": "number", "dose": {"type": "number", "unit": 0.5}, "crp": "number", "sex": "boolean", "n": "integer"}
    )
    filled = schema.with_units({"age": Fraction(1, 10), "dose": Fraction(1, 4)})
    assert [column.unit for column in filled.values()] == [Fraction(1, 10), Fraction(1, 2), None, None, None]
    assert list(filled) == list(schema)
    assert filled != schema
    assert schema.with_units({}) == schema
    for units, why in (
        ({"aeg": Fraction(1)}, r"no column 'aeg'; did you mean 'age'\?"),
        ({"sex": Fraction(1)}, "column 'sex': unit has no meaning for a boolean"),
        ({"age": Fraction(1, 3)}, "column 'age': unit must be a positive decimal"),
    ):
        with pytest.raises(InvalidInput, match=why):
            schema.with_units(units)


# What follows for a run


# Refusals


def test_the_scale_of_an_older_schema_gets_a_sentence() -> None:
    with pytest.raises(InvalidInput, match=r"column 'age': scale is gone: .* The decimals of a column are its unit"):
        sv.Schema({"age": {"type": "number", "scale": 10.0}})


NO_UNITS: list[Any] = [
    0, -1, -0.1, "0", "0.000", "-0.1", math.nan, math.inf, "nan", "inf", True, False, "", " 0.1", "0,1", "1/3", "1_000",
    "٣", "5 mg", Fraction(1, 3), Fraction(-1, 2), Fraction(0), Fraction(1, 2**5000), Decimal("nan"), 10**400, 1j, [0.1],
    {}, b"1", np.array([0.1]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"type": "float"}, r"type must be one of number, integer, category, boolean, date; got 'float'\."),
        ({"type": ["number"]}, "type must be one of"),
        ({"unit_name": 5}, r"unit_name must be text in quotes; got 5\."),
        ({"unit_name": "a\nb"}, "unit_name must not have control characters"),
        ({"unit_name": "x" * 201}, r"unit_name must have at most 200 characters; got 201\."),
        *(({"unit": unit}, "unit must be a positive decimal, the smallest step of what was") for unit in NO_UNITS),
        ({"unit": "years"}, r"unit must be .*; got 'years'\. What it is measured in goes into unit_name\."),
        ({"type": "integer", "unit": "years"}, r"What it is measured in goes into unit_name\."),
        ({"unit": 0.1 + 0.2}, "unit is 0.30000000000000004 as a number, of 17 digits. Write the decimal that is meant"),
        ({"unit": np.float32(0.1)}, "unit is 0.10000000149011612 as a number"),
        ({"unit": "1e-301"}, r"unit must be from 1e-280 to 1e280, of at most 50 digits; got '1e-301'\."),
        ({"unit": "1e301"}, "unit must be from 1e-280 to 1e280"),
        ({"unit": Decimal("1e999999")}, "unit must be from 1e-280 to 1e280"),
        ({"unit": "0." + 51 * "1"}, "unit must be from 1e-280 to 1e280, of at most 50 digits"),
        ({"unit": "1e9999"}, "unit must be a positive decimal"),
        ({"type": "integer", "unit": 1000}, 'no meaning for an integer.* For larger steps make it a "number"'),
        ({"type": "date", "unit": 1}, r"unit has no meaning for a date: it is for a number\. Leave it out\."),
        ({"type": "boolean", "unit": 1}, "unit has no meaning for a boolean"),
        ({"type": "category", "levels": ["a", "b"], "unit": 1}, "unit has no meaning for a category"),
        ({"unit": 5, "range": (0, 4)}, "unit 5 is larger than the range from 0 to 4 is wide"),
        ({"unit": 1, "range": (10**6, 10**6 + 0.5)}, "unit 1 is larger than the range"),
        ({"unit": "1e-17", "range": (0, 120)}, r"unit 1e-17 is too fine for the range from 0 to 120, whose ends must"),
        ({"unit": 1, "range": (-(2.0**62), 0)}, r"unit 1 is too fine .* less than 2\^62 units\. Take the step of"),
        ({"range": (1, 0)}, r"range must be two numbers in order, such as \[0, 120\]; got \(1, 0\)\."),
        ({"range": (1, 1)}, "in order"),
        ({"range": (0, math.inf)}, "range must be two numbers"),
        ({"range": (math.nan, 1)}, "range must be two numbers"),
        ({"range": (0, 10**400)}, "range must be two numbers"),
        ({"range": (False, True)}, "range must be two numbers"),
        ({"range": (0, "9")}, "range must be two numbers"),
        ({"range": "01"}, "range must be two numbers"),
        ({"range": {0: 1, 1: 2}}, "range must be two numbers"),
        ({"range": (0, 1, 2)}, "range must be two numbers"),
        ({"range": (date(2020, 1, 1), date(2021, 1, 1))}, "range must be two numbers"),
        ({"type": "integer", "range": (0.5, 3)}, "range must be two whole numbers"),
        ({"type": "integer", "range": (0, 2**53)}, "range must be two whole numbers"),
        ({"type": "date", "range": (0, 1)}, "range must be two dates in order"),
        ({"type": "date", "range": (datetime(2020, 1, 1), datetime(2021, 1, 1))}, "range must be two dates"),
        ({"type": "date", "range": ("2020-01-01", "2020-02-30")}, "range must be two dates"),
        ({"type": "date", "range": ("20200101", "20210101")}, "range must be two dates"),
        ({"type": "date", "range": ("2021-01-01", "2020-01-01")}, "in order"),
        ({"type": "boolean", "range": (0, 1)}, r"range has no meaning for a boolean\. Leave it out\."),
        ({"levels": ["a", "b"]}, "levels has no meaning for a number"),
        ({"reference": "a"}, "reference has no meaning for a number"),
        ({"type": "category"}, "levels must be there, one or more"),
        ({"type": "category", "levels": "ab"}, "levels must be a list of texts"),
        ({"type": "category", "levels": {"a": 1, "b": 2}}, "levels must be a list of texts"),
        ({"type": "category", "levels": ["a", 2]}, "levels number 2 must be text in quotes; got 2"),
        ({"type": "category", "levels": ["a", ""]}, r"levels number 2 is empty\. Leave it out\."),
        ({"type": "category", "levels": ["a", " b"]}, "levels number 2 must not begin or end with a blank"),
        ({"type": "category", "levels": ["a", "b\u202ec"]}, "levels number 2 must not have control characters"),
        ({"type": "category", "levels": ["a", "\ud800"]}, "levels number 2 must not have control characters"),
        ({"type": "category", "levels": ["a", "b", "a"]}, "levels has 'a' twice"),
        ({"type": "category", "levels": ["é", "e\u0301"]}, "levels has 'é' twice"),
        ({"type": "category", "levels": [str(k) for k in range(1001)]}, "levels must be at most 1,000; got 1,001"),
        ({"type": "category", "levels": ["a", "b"], "reference": "c"}, "reference 'c' is none of its levels, 'a', 'b'"),
        ({"type": "category", "levels": ["a", "b"], "reference": 1}, "reference must be text"),
        ({"type": "category", "levels": ["a", "b"], "missing": ["b"]}, "missing has 'b', which is a level as well"),
        ({"type": "boolean", "missing": ["0.0"]}, "missing has '0.0', which is true or false"),
        ({"missing": [-9]}, "missing number 1 must be text in quotes; got -9"),
        ({"missing": [str(k) for k in range(51)]}, "missing must be at most 50"),
    ],
)
def test_columns_that_are_refused(options: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"^column 'age': .*{why}"):
        sv.Column("age", **{"type": "number", **options})
    with pytest.raises(InvalidInput, match=f"^column 'age': .*{why}"):
        sv.Schema({"age": {"type": "number", **options}})


@pytest.mark.parametrize("name", ["", " age", "a\x00b", "a\u2028b", 5, None, ("a",), "x" * 201])
def test_names_that_are_refused(name: Any) -> None:
    with pytest.raises(InvalidInput, match="the name of a column "):
        sv.Column(name, "number")


def test_schemas_that_are_refused() -> None:
    column = sv.Column("age", "number")
    for columns, why in (
        ([], "one to 2,000 columns; got 0"),
        ({}, "one to 2,000 columns; got 0"),
        ("age", "a schema is made of columns"),
        (5, "a schema is made of columns"),
        ([column, "dose"], "a schema is made of columns"),
        ([column, column], "two columns of the schema are called 'age'"),
        ([sv.Column("é", "number"), sv.Column("e\u0301", "number")], "an accent as a mark of its own"),
        ({f"x{k}": "number" for k in range(2001)}, "one to 2,000 columns; got 2,001"),
        ({"dose": column}, "is given as one that is called 'age'"),
        ({"age": 5}, "needs a type"),
        ({"age": {"unit_name": "years"}}, "needs a type"),
        ({"age": {"type": "number", "lower": 0}}, "'lower' is no key of a column"),
        (
            {f"x{k}": {"type": "category", "levels": [str(i) for i in range(1000)]} for k in range(21)},
            "20,000 levels together; got 21,000",
        ),
    ):
        with pytest.raises(InvalidInput, match=why):
            sv.Schema(columns)  # type: ignore[arg-type]
    for written in (
        [],
        {"columns": {}},
        {"columns": [{"name": "a"}]},
        {"columns": [{"name": "a", "type": "number", "x": 1}]},
    ):
        with pytest.raises(InvalidInput, match="is written"):
            sv.Schema.from_dict(written)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("was", "now", "why"),
    [
        ("[0, 120]", "[120, 0]", r"line 8: \[schema\.age\] range must be two numbers in order"),
        ('unit_name = "years"', "units = 5", r"line 7: \[schema\.age\] units is not a known key; did you mean 'unit'"),
        (
            'unit_name = "years"',
            "scale = 5",
            r"line 7: \[schema\.age\] scale is gone: sums are exact, whatever the size",
        ),
        ('unit_name = "years"', 'unit = "years"', r"line 7: \[schema\.age\] unit must be a positive .* unit_name\."),
        ('unit_name = "years"', "unit = 1", r"line 7: \[schema\.age\] unit has no meaning for an integer"),
        ("0.05", "inf", r"line 22: \[schema\.crp\] unit must be a positive decimal"),
        ("0.05", "501", r"line 22: \[schema\.crp\] unit 501 is larger than the range from 0 to 500\.5 is wide"),
        ('"integer"', '"int"', r"line 6: \[schema\.age\] type = 'int' is not known; did you mean 'integer'\?"),
        ('type = "integer"\n', "", r"line 5: \[schema\.age\] type is missing"),
        ('death = "boolean"', "death = 5", r"line 3: \[schema\] death must be a table with a type in it"),
        ('reference = "m"', 'reference = "d"', r"line 14: \[schema\.sex\] reference 'd' is none of its levels"),
        ("2024-12-31", "2024-12-31T00:00:00", r"line 18: \[schema\.first seen\] range must be two dates in order"),
        ("[schema.crp]", '[schema."é"]\ntype = "number"\n[schema."e\u0301"]', "an accent as a mark of its own"),
        ("[schema.crp]", '[schema.""]', "the name of a column is empty"),
    ],
)
def test_a_mistake_in_a_file_has_its_line(was: str, now: str, why: str, tmp_path: Path) -> None:
    assert was in TEXT
    with pytest.raises(InvalidFile, match=why):
        read(TEXT.replace(was, now), tmp_path)


def refused(table: Table) -> str:
    with pytest.raises(InvalidFile) as caught:
        sv.Schema.from_table(table)
    return str(caught.value)


def test_a_hostile_file_takes_no_time(tmp_path: Path) -> None:
    """Sizes are looked at before texts."""
    levels = json.dumps([f"{k:0180}" for k in range(1000)])
    for text, why in (
        (
            "".join(f"[schema.x{k}]\ntype = 'category'\nlevels = {levels}\n" for k in range(25)),
            "20,000 levels together",
        ),
        ("[schema]\n" + "".join(f"x{k} = 'number'\n" for k in range(60_000)), "2,000 columns; got 60,000"),
        (f"[schema.{'x' * 10**6}]\ntype = 'number'\n", "at most 200 characters; got 1,000,000"),
        (f"[schema.x]\ntype = '{'x' * 10**6}'\n", "type must have at most 200 characters"),
        (f"[schema.x]\n{'x' * 10**6} = 'number'\n", "has a key that must have at most 200 characters"),
        (f"[schema.x]\ntype = 'number'\nrange = [{'0, ' * 10**5}0]\n", "range must be two numbers"),
    ):
        path = tmp_path / "problem.toml"
        path.write_text(text)
        table = TomlFile(path).table("schema")
        sentence, calls = counted(lambda table=table: refused(table))
        assert re.search(why, sentence)
        assert len(sentence) < 1000
        assert calls < 1_000_000


def test_a_file_without_columns(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="one to 2,000 columns"):
        read("[schema]\n", tmp_path)


WORDS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(WORDS, st.lists(WORDS, min_size=2, max_size=4), WORDS)
def test_any_words_that_a_column_takes_come_back(name: str, levels: list[str], unit: str) -> None:
    try:
        schema = sv.Schema([sv.Column(name, "category", unit, levels=tuple(levels), missing=("?!?!?!?!?",))])
    except InvalidInput:
        return
    assert sv.Schema.from_dict(json.loads(canonical(schema.to_dict()))) == schema
    read_back = tomllib.loads(schema.to_toml("plan.schema"))["plan"]["schema"]
    assert sv.Schema(read_back) == schema
