"""Tables that look like others: what was, or might be, read as something that it is not."""

from __future__ import annotations

import csv
import datetime as dt
import io
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput

pa = pytest.importorskip("pyarrow")

RING = sv.Network.ring(3)
NUMBER = {"x": {"type": "number", "range": (-100, 100)}}
OTHER = {"x": [1.0, 2.0]}
DAY = {"d": [dt.date(2020, 1, 1)]}
DATE = {"d": {"type": "date", "range": (dt.date(1990, 1, 1), dt.date(2030, 1, 1))}}
BINS = [dt.date(2019, 1, 1), dt.date(2025, 1, 1)]


def study(table, other=OTHER, schema=NUMBER, **options):
    return sv.Study(RING, [table, other, other], schema=schema, **options)


def test_rows_of_texts_are_rows_and_not_letters():
    rows = list(csv.DictReader(io.StringIO("x,y\n12,34\n56,78\n")))
    assert study(rows).histogram("x", bins=[0, 10, 100]).counts.tolist() == [4, 2]
    assert study(lambda: iter([{"x": "12"}])).mean("x").observations == 5


def test_what_is_no_date_is_not_missing_where_the_first_day_stands_for_that():
    schema = {"d": {"type": "date", "missing": ["1970-01-01"]}}
    bad = {"d": ["31.12.2024", "2020-01-01", "SECRET77"]}
    with pytest.raises(InvalidInput, match=r"'d': not a date.*rows 1, 3") as error:
        study(bad, DAY, schema, missing="drop").histogram("d", bins=BINS)
    assert "SECRET77" not in str(error.value)
    late = {"d": [dt.datetime(1970, 1, 1, 13)]}
    with pytest.raises(InvalidInput, match="time of day"):
        study(late, DAY, schema, missing="drop").histogram("d", bins=BINS)
    good = study({"d": ["1970-01-01", "2020-01-01"]}, DAY, schema, missing="drop").histogram("d", bins=BINS)
    assert (good.counts.tolist(), good.dropped) == ([3], {"rows": 1, "d": 1})


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([[7654.5, 1.0], None, [2.0]]),
        pa.array([[7654.5], None, [2.0]], pa.list_(pa.float64(), 1)),
        pa.array([{"a": 7654.5}, None, {"a": 1.0}]),
        pa.array([[("k", 7654.5)], None, []], pa.map_(pa.string(), pa.float64())),
    ],
    ids=["list", "list of one length", "structure", "map"],
)
@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("number", "not a number"),
        ("integer", "not a number"),
        ("date", "not a date"),
        ("boolean", "neither true nor false"),
        ({"type": "category", "levels": ["a", "b"]}, "unknown level"),
    ],
    ids=["number", "integer", "date", "boolean", "category"],
)
def test_a_cell_that_holds_several_values_is_none(cells, column, kind, tmp_path: Path):
    """In a file and in a frame: a sentence by rows, and nothing of the cell."""
    import pyarrow.parquet

    table = pa.table({"x": cells})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    for source in (table, tmp_path / "rows.parquet"):
        with pytest.raises(InvalidInput, match=rf"^party 0: .*column 'x': {kind}.* in rows 1, 3") as error:
            study(source, source, schema={"x": column}).describe(["x"])
        assert "7654" not in str(error.value)


def test_masked_cells_of_an_array_are_missing():
    masked = np.ma.masked_array([[1.0], [50.0]], mask=[[0], [1]])
    with pytest.raises(InvalidInput, match=r"missing in 1 of 2 rows.*row 2"):
        study((masked, ["x"])).mean("x")
    assert study((masked, ["x"]), missing="drop").mean("x").mean == pytest.approx(7 / 5, abs=0)


def test_times_among_dates_are_not_cut_off():
    pd = pytest.importorskip("pandas")
    days, mixed = [dt.date(2020, 1, 1), dt.date(2020, 1, 3)], [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 13)]
    for table in ({"d": mixed}, pd.DataFrame({"d": mixed}, dtype=object)):
        with pytest.raises(InvalidInput, match="of different kinds"):
            study(table, DAY, DATE).mean("d")
    for table in ({"d": days}, pd.DataFrame({"d": days}, dtype=object)):
        assert study(table, DAY, DATE).mean("d").mean == 18262.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SECRET77;f;2020-01-01\n", "there are data where the names"),
        ("SECRET77;1,5;-\n", "there are data where the names"),
        ("SECRET77;1 000 000;b\n", "there are data where the names"),
        ("SECRET77;b\nc;d\n", "Does that name the columns?"),
    ],
)
def test_a_first_line_that_may_be_data_is_not_quoted(text, said, tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    table = {"source": "csv", "file": str(path), "delimiter": ";", "decimal": ","}
    with pytest.raises(InvalidInput) as error:
        study(table).mean("x")
    assert said in str(error.value)
    assert "SECRET77" not in str(error.value)
    if "Does that" in said:
        assert "SECRET77" not in sv.data.check(table, schema=NUMBER, columns=["x"]).summary()


def test_a_blank_line_of_one_column_is_a_missing_value(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text("x\n1\n\n3\n")
    with pytest.raises(InvalidInput, match=r"missing in 1 of 3 rows.*row 2"):
        study(str(path)).mean("x")
    path.write_text("x\n1\n\n3\n\nSECRET77\n")
    with pytest.raises(InvalidInput, match="line 6, column 'x'"):
        study(str(path), missing="drop").mean("x")
    path.write_text("x,y\n1,2\n\n3,4\n")
    assert study(str(path)).mean("x").observations == 6


def test_a_word_for_true_or_false_is_no_missing_code():
    for word in ("n", "YES", "0.0"):
        with pytest.raises(InvalidInput, match="which is true or false"):
            sv.Schema({"b": {"type": "boolean", "missing": [word]}})


def test_names_that_differ_in_capitals_alone_get_a_sentence():
    duckdb = pytest.importorskip("duckdb")
    with pytest.raises(InvalidInput, match="same name"):
        study(duckdb.sql("select 90 as X, 5 as x, 1 as y")).mean("x")


def test_a_folder_whose_second_file_has_a_column_twice_gets_a_sentence(tmp_path: Path):
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": [1.0]}), tmp_path / "a.parquet")
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    parquet.write_table(twice, tmp_path / "b.parquet")
    with pytest.raises(InvalidInput, match="two columns are named 'x'"):
        study(str(tmp_path)).mean("x")


def test_designs_with_too_many_products_are_refused_before_anything_is_read():
    levels = {f"c{k}": {"type": "category", "levels": [f"l{i}" for i in range(17)]} for k in range(3)}
    with pytest.raises(InvalidInput, match=r"4,91\d columns are too many"):
        study(OTHER, schema=NUMBER | levels).linear("x ~ c0*c1*c2")
