"""CSV files as people save them: what can be read is, and the rest is a sentence by line and column, without a cell."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sottovoce.data.schema import Schema
from sottovoce.data.sources import CSVSource, csv_blocks
from sottovoce.errors import InvalidFile, InvalidInput

SCHEMA = Schema(
    {
        "age": {"type": "number", "missing": ["NA", "-9"]},
        "sex": {"type": "category", "levels": ["f", "m"], "missing": ["?"]},
        "seen": "date",
        "smoker": "boolean",
        "visits": "integer",
    }
)
HEADER = "age,sex,seen,smoker,visits\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def read(path: Path, text: str | bytes, schema: Schema = SCHEMA, **options: Any) -> list[tuple[Any, ...]]:
    encoding = options.get("encoding", "utf-8")
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    rows: list[tuple[Any, ...]] = []
    for batch in CSVSource(path, **options).batches(schema):
        rows += [tuple(row.values()) for row in batch.to_pylist()]
    return rows


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        yield from chain(error.__cause__)
        error = error.__context__


def refused(path: Path, text: str | bytes, schema: Schema = SCHEMA, **options: Any) -> str:
    """The sentence; nothing of a cell in it, nor in what it was raised from or in the middle of."""
    with pytest.raises(InvalidFile) as caught:
        read(path, text, schema, **options)
    for error in chain(caught.value):
        assert not any(mark in f"{error} {error.args!r}" for mark in ("SECRET77", "918273", "918.273", "918,273"))
    return str(caught.value).replace(str(path), "rows.csv")


def test_types_blanks_and_missing_codes(path: Path) -> None:
    text = (
        HEADER + "1.5,f,2024-01-31,true,3\nNA, m ,,,\n -9 ,?,2024-02-29,No,1e1\n,,  ,0,+4.0\n .5 ,x y,0001-01-01,T,-0\n"
    )
    assert read(path, text) == [
        (1.5, "f", date(2024, 1, 31), True, 3.0),
        (None, "m", None, None, None),
        (None, None, date(2024, 2, 29), False, 10.0),
        (None, None, None, False, 4.0),
        (0.5, "x y", date(1, 1, 1), True, 0.0),
    ]


def test_a_date_may_have_a_midnight_as_in_other_tables(path: Path) -> None:
    """As databases and spreadsheets write days."""
    cells = ["2024-01-31 00:00:00", "2024-02-29T00:00", " 2024-03-01 00:00:00.000 ", "2024-04-01", ""]
    days = [date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 1), date(2024, 4, 1), None]
    schema = Schema({"seen": "date"})
    text = "seen,x\n" + "".join(f"{cell},1\n" for cell in cells)
    assert read(path, text, schema) == [(day,) for day in days]
    forgiving = CSVSource(path).forgiving()
    assert [row["seen"] for batch in forgiving.batches(schema) for row in batch.to_pylist()] == days
    for cell in ("2024-01-31 13:00:00", "2024-01-31T00:00:01", "2024-01-31 00:00:00.5"):
        assert "column 'seen': the cell has a time of day, and a date has none" in refused(
            path, f"seen\n{cell}\n", schema
        )
    assert "is not a date as 2024-01-31 is one" in refused(path, "seen\n2024-02-30 00:00:00\n", schema)
    code = Schema({"seen": {"type": "date", "missing": ["1900-01-01 00:00:00"]}})
    assert read(path, "seen,x\n1900-01-01 00:00:00,1\n2024-01-31 00:00:00,1\n", code) == [(None,), (days[0],)]


def test_a_missing_code_is_that_of_its_column(path: Path) -> None:
    """-9 stands for missing in one column, and is a number in another."""
    schema = Schema({"a": {"type": "number", "missing": ["-9"]}, "b": "number", "c": "number"})
    assert read(path, "a,b,c\n-9,-9,1\n", schema) == [(None, -9.0, 1.0)]
    sentence = refused(
        path, "a,b,c\n1,2,3\n1,NA,3\n", Schema({"a": {"type": "number", "missing": ["NA"]}, "b": "number"})
    )
    assert sentence.startswith("rows.csv, line 3, column 'b': the cell looks like a code for a missing value. List it")


@pytest.mark.parametrize(
    ("cells", "options", "expected"),
    [
        ("1,5;1.234,5;1e2", {"decimal": ","}, None),
        ("1,5;1234,5;1e2", {"decimal": ","}, (1.5, 1234.5, 100.0)),
        ("1,5;1.234,5;-1.234.567", {"decimal": ",", "thousands": "."}, (1.5, 1234.5, -1234567.0)),
        ("1.5;1 234.5;1 234 567", {"thousands": " "}, (1.5, 1234.5, 1234567.0)),
        ("1.5;1'234.5;12'345", {"thousands": "'"}, (1.5, 1234.5, 12345.0)),
        ("1.5;1\u00a0234.5;999", {"thousands": "\u00a0"}, (1.5, 1234.5, 999.0)),
        ("1.5;2;3", {"decimal": ",", "thousands": "."}, None),  # 15, if marks were only taken away
        ("12.34;2;3", {"decimal": ",", "thousands": "."}, None),
        ("1.2345;2;3", {"decimal": ",", "thousands": "."}, None),
        ("inf;-Infinity;3", {}, (float("inf"), float("-inf"), 3.0)),  # which the schema's range judges
    ],
)
def test_decimal_commas_and_thousands(path: Path, cells: str, options: dict[str, Any], expected: Any) -> None:
    schema = Schema(dict.fromkeys("abc", "number"))
    text = f"a;b;c\n{cells}\n"
    if expected is None:
        assert "line 2, column" in refused(path, text, schema, delimiter=";", **options)
    else:
        assert read(path, text, schema, delimiter=";", **options) == [expected]


def test_quoted_decimal_commas_between_commas(path: Path) -> None:
    schema = Schema({"a": "number", "b": "number"})
    assert read(path, 'a,b\n"1,5",2\n"2,5","3,5"\n', schema, decimal=",") == [(1.5, 2.0), (2.5, 3.5)]
    assert read(path, 'a,b\n"1,234.5",2\n', schema, thousands=",") == [(1234.5, 2.0)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le"])
def test_encodings(path: Path, encoding: str) -> None:
    schema = Schema({"größe": "number", "ort": {"type": "category", "levels": ["Köln", "Zürich"]}})
    assert read(path, "größe,ort\n1.5,Köln\n2,Zürich\n", schema, encoding=encoding) == [(1.5, "Köln"), (2.0, "Zürich")]


def test_a_byte_order_mark_is_no_part_of_a_name(path: Path) -> None:
    assert read(path, "\ufeffage\n61\n".encode(), Schema({"age": "number"})) == [(61.0,)]
    assert read(path, '\ufeff"age"\n61\n'.encode(), Schema({"age": "number"})) == [(61.0,)]


def test_quotes_newlines_and_blank_lines(path: Path) -> None:
    text = '\r\n\r\n"age","sex","the\nnote"\r\n\r\n61,"f","a ""word""\r\nand, more"\r\n\r\n58,"m","\n\n"\r\n'
    assert read(path, text, Schema({"age": "number"})) == [(61.0,), (58.0,)]
    schema = Schema({"age": "number", "the note": {"type": "category", "levels": ["a", "b"]}})
    assert read(path, text.replace("the\nnote", "the note"), schema) == [(61.0, 'a "word"\r\nand, more'), (58.0, None)]
    sentence = refused(path, text + "SECRET77,f,x\r\n", Schema({"age": "number"}))
    assert sentence.startswith("rows.csv, line 12, column 'age': the cell is not a number: it looks like text.")


def test_no_last_line_end_and_no_rows(path: Path) -> None:
    schema = Schema({"age": "number"})
    assert read(path, "age,b\n61,2\n58,3", schema) == [(61.0,), (58.0,)]
    assert read(path, "age,b\n", schema) == read(path, "age,b", schema) == read(path, "age,b\n\n\n", schema) == []


def test_quotes_without_meaning(path: Path) -> None:
    schema = Schema({"size": {"type": "category", "levels": ["a", "b"]}})
    assert read(path, 'n,size\n1,5" pipe\n2,"b\n', schema, quote="") == [('5" pipe',), ('"b',)]
    assert read(path, "n,size\n1,'a,b'\n", schema, quote="'") == [("a,b",)]


ROW = "61,f,2024-01-31,yes,3\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "rows.csv is empty. Its first line must name the columns."),
        ("\n \n\n", "rows.csv is empty."),
        ("918273,1\n3,4\n", "rows.csv, line 1: there are numbers where the names of the columns should be."),
        ("918273;1\n3;4\n", "rows.csv, line 1: there are numbers where the names of the columns should be."),
        ("age,,sex\n", "rows.csv, line 1: column 2 has no name."),
        ("age,sex,age\n", "rows.csv: two columns are named 'age'. Rename one of them."),
        (HEADER.replace(",", ";") + "SECRET77\n", 'Is the file separated by ";"? Then set delimiter = ";".'),
        (HEADER.replace(",", "\t") + "SECRET77\n", 'Is the file separated by "\\t"? Then set delimiter = "\\t".'),
        ("age,sex\n", "rows.csv has no column 'seen'. It has: age, sex."),
        (HEADER + ROW + "61,SECRET77\n", "rows.csv, line 3: 2 cells; the header has 5."),
        (HEADER + ROW + "61,f,2024-01-31,yes,3,SECRET77\n", "rows.csv, line 3: 6 cells; the header has 5."),
        (HEADER + ROW + "\n" + ROW + "SECRET77,f,,,\n", "line 5, column 'age': the cell is not a number: it looks"),
        (HEADER + '"918,273",f,2024-01-31,yes,3\n', 'thousands: set thousands, or a decimal comma: set decimal = ",".'),
        (HEADER + '"918273,5",f,,,\n', 'the cell is not a number: it looks like a decimal comma: set decimal = ",".'),
        (HEADER + '"1,918,273.5",f,,,\n', "it looks like one with marks between thousands: set thousands."),
        (HEADER + "918273 mg,f,,,\n", "it looks like one with a unit. Name the unit in the schema, as unit_name."),
        (HEADER + "2024-01-31,f,,,\n", "it looks like a date or a time. A column of dates has the type date."),
        (HEADER + "918273_0,f,,,\n", "the cell is not a number"),
        (HEADER + "0x918273,f,,,\n", "the cell is not a number"),
        (HEADER + "n/a,f,,,\n", "the cell looks like a code for a missing value. List it in missing"),
        (HEADER + "1,f,31.01.2024,,\n", "column 'seen': the cell is not a date as 2024-01-31 is one."),
        (HEADER + "1,f,2024-02-30,,\n", "column 'seen': the cell is not a date as 2024-01-31 is one."),
        (HEADER + "1,f,2024-W05-1,,\n", "column 'seen': the cell is not a date as 2024-01-31 is one."),
        (HEADER + "1,f,,SECRET77,\n", "column 'smoker': the cell is neither true nor false."),
        (HEADER + "1,f,,,SECRET77\n", "column 'visits': the cell is not a number"),
        (HEADER + ROW + '1,SEC"RET77,,,\n', "line 3: a cell has a quote inside, or a blank beside one."),
        (HEADER + ROW + '1, "SECRET77",,,\n', "line 3: a cell has a quote inside, or a blank beside one."),
        (HEADER + ROW + '1,"f"SECRET77,,,\n', "line 3: a cell has a quote inside, or a blank beside one."),
        (HEADER + ROW + '1,"SECRET77,,,\n' + ROW, "line 3: a quoted cell does not end."),
        (HEADER + ROW + "1,SECRET77\0,,,\n", "line 3: has a NUL byte."),
        (HEADER.replace("\n", "\r") + "SECRET77,f,,,\r", "has lines that end in CR alone."),
        ((HEADER + ROW + "1,SECRET77é,,,\n").encode("latin-1"), "line 3: not UTF-8 text. Save the file as UTF-8, or"),
        ((HEADER + ROW).encode("utf-16"), 'looks like UTF-16 text. Set encoding = "utf-16", or save it as UTF-8.'),
    ],
)  # fmt: skip
def test_every_refusal_and_hint(path: Path, text: str | bytes, sentence: str) -> None:
    assert sentence in refused(path, text)


def test_a_decimal_point_where_a_comma_is_set(path: Path) -> None:
    sentence = refused(path, "a;b\n918.273;1\n", Schema({"a": "number"}), delimiter=";", decimal=",")
    assert 'it looks like one with a decimal point: set decimal = "."' in sentence


def test_text_in_another_encoding(path: Path) -> None:
    assert "not cp1252 text" in refused(path, b"age\nSECRET77\x81\n", encoding="cp1252")
    assert "not utf-16 text" in refused(
        path, "age\n1\n".encode("utf-16") + b"1", Schema({"age": "number"}), encoding="utf-16"
    )
    path.unlink()
    path.mkdir()
    with pytest.raises(InvalidFile, match="is a directory, not a file"):
        CSVSource(path).names()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"delimiter": "\n"}, "delimiter must be one character"),
        ({"delimiter": "§"}, "delimiter must be one character"),
        ({"quote": "''"}, "quote must be one character"),
        ({"decimal": ";"}, "decimal must be '.' or ','; got ';'."),
        ({"thousands": "3"}, "thousands must be one character"),
        ({"thousands": "."}, "decimal and thousands must differ"),
        ({"quote": ","}, "quote from both and the delimiter"),
        ({"encoding": "utf-9"}, "encoding 'utf-9' is not known"),
        ({"encoding": "base64"}, "encoding 'base64' is not known"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        CSVSource("rows.csv", **options)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("size", [64, 257, 4096])
def test_rows_are_the_same_for_any_size_of_block(path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random cells with quotes, delimiters and line ends in them, as Python's csv writes them; blocks end anywhere."""
    monkeypatch.setattr(csv_blocks.blocks, "__defaults__", (size,))
    draw = random.Random(size)
    cells = ["f", "m", "", 'a "b" c', "x,y", "line\nline", "line\r\nline", '"', ",", "é"]
    rows = [(round(draw.uniform(-9, 9), 3), draw.choice(cells), draw.choice(cells)) for _ in range(400)]
    out = io.StringIO()
    writer = csv.writer(out, quoting=draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer.writerows([("n", "one", "two"), *rows])
    level = {"type": "category", "levels": ["f", "m"]}
    found = read(path, out.getvalue(), Schema({"n": "number", "one": level, "two": level}))
    assert found == [(n, one.strip() or None, two.strip() or None) for n, one, two in rows]
    bad = out.getvalue() + "SECRET77,f,m\r\n"
    line = out.getvalue().count("\n") + 1
    assert f"line {line}, column 'n'" in refused(path, bad, Schema({"n": "number"}))


def test_a_row_that_never_ends(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_blocks, "LARGEST", 1000)
    monkeypatch.setattr(csv_blocks.blocks, "__defaults__", (512,))
    assert "line 2: no row ends within" in refused(path, 'age\n"' + "SECRET77\n" * 1000, Schema({"age": "number"}))
