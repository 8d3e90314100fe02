"""Sources: each reads the same table to the same batches; what cannot be read is a sentence, and quotes no cell."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from sottovoce.data.schema import Schema
from sottovoce.data.sources import (
    ArrowSource,
    CSVSource,
    DuckDBSource,
    FrameSource,
    ParquetSource,
    PiecesSource,
    PostgreSQLSource,
    Source,
    open_source,
)
from sottovoce.data.sources.source import ROWS
from sottovoce.errors import InvalidFile, InvalidInput, MissingExtra, SottovoceError

SCHEMA = Schema(
    {
        "age": "number",
        "visits": "integer",
        "sex": {"type": "category", "levels": ["f", "m"]},
        "smoker": "boolean",
        "seen": "date",
    }
)
TABLE = pa.table(
    {
        "ward": ["north"] * 5,  # which nobody asks for
        "sex": ["f", None, "m", "m", "f"],
        "age": [61.5, 58.0, None, 40.25, 33.0],
        "visits": [3, 1, 4, None, 5],
        "smoker": [True, False, None, True, False],
        "seen": [date(2024, 1, 31), date(2024, 2, 29), date(2023, 12, 1), None, date(2020, 1, 1)],
    }
)
EXPECTED = TABLE.select(list(SCHEMA)).to_pydict()


def of_csv(folder: Path) -> Source:
    pyarrow.csv.write_csv(TABLE, folder / "rows.csv")
    return open_source("rows.csv", folder)


def of_parquet(folder: Path) -> Source:
    pyarrow.parquet.write_table(TABLE, folder / "rows.parquet")
    return open_source(folder / "rows.parquet")


def of_parquet_folder(folder: Path) -> Source:
    (folder / "parts").mkdir()
    pyarrow.parquet.write_table(TABLE.slice(3), folder / "parts" / "b.pq")
    pyarrow.parquet.write_table(TABLE.slice(0, 3).select(TABLE.column_names[::-1]), folder / "parts" / "a.parquet")
    (folder / "parts" / "_metadata").write_text("no rows")
    return open_source("parts", folder)


def of_arrow(folder: Path) -> Source:
    with pa.OSFile(str(folder / "rows.arrow"), "wb") as file, pa.ipc.new_file(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=max(2, TABLE.num_rows // 3))
    return open_source("rows.arrow", folder)


def of_arrow_stream(folder: Path) -> Source:
    with pa.OSFile(str(folder / "rows.ipc"), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=max(2, TABLE.num_rows // 3))
    return open_source("rows.ipc", folder)


def of_feather(folder: Path) -> Source:
    pyarrow.feather.write_feather(TABLE, folder / "rows.feather")
    return open_source("rows.feather", folder)


def of_duckdb_files(folder: Path) -> Source:
    pyarrow.parquet.write_table(TABLE, folder / "rows.parquet")
    return open_source({"source": "duckdb", "query": "SELECT * FROM 'rows.parquet';"}, folder)


def of_duckdb(folder: Path) -> Source:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.from_arrow(TABLE).create("visits_table")
    return open_source({"file": "rows.duckdb", "query": "SELECT * FROM visits_table -- all"}, folder)


def of_relation(folder: Path) -> Source:
    return open_source(duckdb.connect().from_arrow(TABLE))


def of_structured(folder: Path) -> Source:
    rows = [tuple(row.values()) for row in TABLE.to_pylist()]
    kinds = [(name, "f8" if name in ("age", "visits") else "O") for name in TABLE.column_names]
    return open_source(np.array(rows, dtype=kinds))


SOURCES: dict[str, Callable[[Path], Source]] = {
    "csv": of_csv,
    "parquet": of_parquet,
    "a folder": of_parquet_folder,
    "arrow": of_arrow,
    "arrow stream": of_arrow_stream,
    "feather": of_feather,
    "duckdb over files": of_duckdb_files,
    "duckdb": of_duckdb,
    "relation": of_relation,
    "pandas": lambda folder: open_source(TABLE.to_pandas()),
    "polars": lambda folder: open_source(pl.from_arrow(TABLE)),
    "lazy polars": lambda folder: open_source(pl.from_arrow(TABLE).lazy()),
    "pyarrow": lambda folder: open_source(TABLE),
    "dataset": lambda folder: open_source(pyarrow.dataset.dataset(TABLE)),
    "batch": lambda folder: open_source(TABLE.to_batches()[0]),
    "columns": lambda folder: open_source(TABLE.to_pydict()),
    "structured": of_structured,
    "list of batches": lambda folder: open_source(TABLE.to_batches(2)),
    "function": lambda folder: open_source(lambda: iter(TABLE.to_batches(2))),
}


def read(source: Source, wanted: Mapping[str, Any] = SCHEMA) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in wanted}
    for batch in source.batches(wanted):
        assert isinstance(batch, pa.RecordBatch)
        assert batch.schema.names == list(wanted)
        for name, values in batch.to_pydict().items():
            found[name] += [None if value != value else value for value in values]  # NumPy has nan for missing
    return found


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_reads_the_same_table(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    assert sorted(source.names()) == sorted(TABLE.column_names)
    for _ in range(2):
        assert read(source) == EXPECTED
    assert read(source, {"sex": SCHEMA["sex"]}) == {"sex": EXPECTED["sex"]}  # and fewer columns afterwards
    with pytest.raises(InvalidFile, match=r"has no column 'agee'; did you mean 'age'\? It has: "):
        read(source, Schema({"agee": "number"}))
    with pytest.raises(InvalidInput, match="no column is asked for"):
        read(source, {})
    assert source.describe()


LARGE = pa.table({"x": np.arange(150_000.0), "k": np.arange(150_000) % 7})


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "duckdb over files", "pandas", "lazy polars", "pyarrow"])
def test_batches_are_bounded_and_in_order(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "TABLE", LARGE)
    batches = list(SOURCES[kind](tmp_path).batches(Schema({"x": "number"})))
    assert max(batch.num_rows for batch in batches) <= ROWS
    x = np.concatenate([batch.column(0).to_numpy() for batch in batches])
    np.testing.assert_array_equal(x, np.arange(150_000.0))


@pytest.mark.parametrize("kind", ["csv", "parquet", "a folder", "arrow", "feather", "duckdb"])
def test_a_file_that_changes_between_passes(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    read(source)
    changed = next(path for path in sorted(tmp_path.rglob("*")) if path.is_file() and path.suffix)
    before = changed.stat()
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(InvalidFile, match="changed since it was read first; keep it as it is"):
        read(source)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_a_file_that_changes_while_it_is_read(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "TABLE", LARGE)
    source = SOURCES[kind](tmp_path)
    path = next(path for path in tmp_path.iterdir())
    batches = source.batches(Schema({"x": "number"}))
    next(batches)
    with path.open("ab") as file:
        file.write(b"1,2\n")
    with pytest.raises(InvalidFile, match="changed while it was read"):
        list(batches)


def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    """Half a file fails before its end is reached, but the reason is that it changed."""
    (tmp_path / "rows.csv").write_text("x,k\n" + "1.5,2\n" * 4_000_000)
    batches = CSVSource(tmp_path / "rows.csv").batches(Schema({"x": "number"}))
    next(batches)
    os.truncate(tmp_path / "rows.csv", 20_000_001)
    with pytest.raises(InvalidFile, match="changed while it was read"):
        list(batches)


@pytest.mark.parametrize(
    "second",
    [
        TABLE.slice(0, 4),
        pa.concat_tables([TABLE, TABLE.slice(0, 1)]),
        TABLE.set_column(2, "age", pa.array([61.5, 58.0, None, 40.25, 33.00000000000001])),
        TABLE.set_column(2, "age", pa.array([61.5, 58.0, 0.0, 40.25, 33.0])),
        TABLE.set_column(1, "sex", pa.array(["f", "f", "m", "m", "f"])),
    ],
    ids=["fewer", "more", "a number", "a zero for a null", "a level for a null"],
)
def test_other_rows_in_the_second_pass_are_noticed(second: pa.Table) -> None:
    """Where there is no file to look at: what is read is compared, whatever its order."""
    tables = iter([TABLE, TABLE, TABLE.take([4, 2, 0, 1, 3]), second])  # the first is looked at for its names
    source = PiecesSource(lambda: [next(tables)])
    read(source)
    read(source)
    with pytest.raises(InvalidFile, match="changed since it was read first"):
        read(source)


def test_an_iterator_is_read_once() -> None:
    for once in (iter(TABLE.to_batches(2)), TABLE.to_reader(2), ({"x": [k]} for k in range(3))):
        source = open_source(once)
        wanted = SCHEMA if "age" in source.names() else Schema({"x": "number"})
        assert read(source, wanted) == (EXPECTED if wanted is SCHEMA else {"x": [0, 1, 2]})
        with pytest.raises(InvalidInput, match=r"can be read once.*a function that makes the iterator"):
            read(source, wanted)


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    twice = pa.table([[1], [2]], names=["a", "a"])
    pyarrow.parquet.write_table(twice, tmp_path / "rows.parquet")
    pyarrow.feather.write_feather(pa.table({"a": [1]}), tmp_path / "one.feather")
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as file, pa.ipc.new_file(file, twice.schema) as writer:
        writer.write_table(twice)
    (tmp_path / "rows.csv").write_text("a,a\n1,2\n")
    pair = (np.ones((1, 2)), ["a", "a"])
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    query = {"source": "duckdb", "query": "SELECT 1 AS a, 2 AS a"}
    for what in ("rows.parquet", "rows.arrow", "rows.csv", twice, frame, pair, query, [twice]):
        with pytest.raises(InvalidInput, match="two columns"):
            list(open_source(what, tmp_path).batches(Schema({"a": "number"})))


def test_no_rows(tmp_path: Path) -> None:
    none = TABLE.slice(0, 0)
    pyarrow.parquet.write_table(none, tmp_path / "rows.parquet")
    pyarrow.csv.write_csv(none, tmp_path / "rows.csv")
    for what in ("rows.parquet", "rows.csv", none, none.to_pandas(), pl.from_arrow(none).lazy(), [none]):
        source = open_source(what, tmp_path)
        assert source.names() == TABLE.column_names
        assert list(source.batches(SCHEMA)) == []


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_text("SECRET77")
    (tmp_path / "rows.arrow").write_text("SECRET77")
    (tmp_path / "rows.feather").write_bytes(b"FEA1SECRET77")
    pyarrow.parquet.write_table(TABLE, tmp_path / "whole.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:-20])
    (tmp_path / "empty").mkdir()
    (tmp_path / "parts").mkdir()
    pyarrow.parquet.write_table(TABLE, tmp_path / "parts" / "a.parquet")
    pyarrow.parquet.write_table(TABLE.drop_columns("ward"), tmp_path / "parts" / "b.parquet")
    sentences = {
        "rows.parquet": "cannot be read as Parquet",
        "cut.parquet": "cannot be read as Parquet",
        "rows.arrow": "cannot be read as Arrow. Is the file whole",
        "rows.feather": "Feather file of version 1",
        "nowhere.parquet": "does not exist",
        "nowhere.arrow": "does not exist",
        "nowhere.csv": "does not exist",
        "empty": "a folder without a file",
        "parts": "only one of them has ward",
    }
    for name, sentence in sentences.items():
        assert sentence in refused(lambda name=name: read(open_source(name, tmp_path)))


def refused(do: Callable[[], object]) -> str:
    """The sentence; nothing of a cell in it, nor in what it was raised in the middle of."""
    with pytest.raises(SottovoceError) as caught:
        do()
    for error in chain(caught.value):
        assert "SECRET77" not in f"{error} {error.args!r}"
    return str(caught.value)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        yield from chain(error.__cause__)
        error = error.__context__


MIXED = [1, "SECRET77"]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (pd.DataFrame({"age": MIXED}), "column 'age': its cells are of different kinds"),
        ({"age": MIXED}, "column 'age': its cells are of different kinds"),
        ({"age": np.array(MIXED, dtype=object)}, "column 'age': its cells are of different kinds"),
        ({"age": [1], "sex": [1, 2]}, "columns must be of one length; they have 'age': 1, 'sex': 2."),
        (pl.LazyFrame({"age": ["SECRET77"]}).select(pl.col("age").cast(pl.Int64)), "cannot be computed"),
        (np.ones((3, 2)), "an array has no names"),
        ((np.ones((3, 2)), ["age"]), "has 2 columns; there are 1 names"),
        (3.5, "data must be a file, settings or a table; got float"),
        (None, "data must be a file, settings or a table; got None"),
        (object(), "is no table with named columns"),
        (["SECRET77"], "a batch must be a table with named columns; got text"),
        ([TABLE, TABLE.drop_columns("ward")], "batch 2 has other columns than the first"),
        ([], "there is no batch"),
        (lambda: iter(()), "there is no batch"),
    ],
)
def test_tables_that_cannot_be_read(table: Any, sentence: str) -> None:
    assert sentence in refused(lambda: read(open_source(table), Schema({"age": "number"})))


QUERY = "SELECT age FROM 'rows.parquet'"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (f"{QUERY}; {QUERY}", "it must be one SELECT, and nothing else"),
        ("CREATE TABLE x AS SELECT 1 AS age", "it must be one SELECT"),
        (f"COPY ({QUERY}) TO 'out.csv'", "it must be one SELECT"),
        ("INSTALL httpfs", "it must be one SELECT"),
        ("SET enable_external_access = true", "it must be one SELECT"),
        ("", "query must be a SELECT"),
        ("SELCT 'SECRET77'", "it is not valid SQL"),
        ("SELECT age FROM 'https://127.0.0.1/rows.parquet'", "files of another folder, or the net"),
        ("SELECT content AS age FROM read_text('/etc/hostname')", "files of another folder, or the net"),
        ("SELECT age FROM '../rows.parquet'", "files of another folder, or the net"),
        ("SELECT age FROM nowhere", "names a table, a file or a function that is not there"),
        ("SELECT nothing FROM 'rows.parquet'", "names a column that is not there"),
        ("SELECT CAST('SECRET77' AS INT) AS age", "makes a number or a date of a cell that is none"),
        (
            "SELECT CAST(CASE WHEN range > 300000 THEN 'SECRET77' ELSE '1' END AS INT) AS age FROM range(400000)",
            "fails at a cell",
        ),
    ],
)
def test_queries_on_duckdb_that_are_refused(query: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pyarrow.parquet.write_table(TABLE, tmp_path / "in" / "rows.parquet")
    pyarrow.parquet.write_table(TABLE, tmp_path / "rows.parquet")
    source = {"source": "duckdb", "query": query}
    assert sentence in refused(lambda: read(open_source(source, tmp_path / "in"), Schema({"age": "number"})))
    assert {path.name for path in (tmp_path / "in").iterdir()} == {"rows.parquet"}


def test_files_of_a_query_are_those_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not one of the same name where the program happens to run."""
    for name, value in (("here", 1.0), ("there", 2.0)):
        (tmp_path / name).mkdir()
        pyarrow.parquet.write_table(pa.table({"age": [value]}), tmp_path / name / "rows.parquet")
    monkeypatch.chdir(tmp_path / "here")
    whole = f"SELECT age FROM read_parquet('{tmp_path}/there/rows.parquet')"
    for query in (QUERY, "SELECT age FROM '*.parquet'", 'SELECT age FROM "rows.parquet"', whole):
        assert read(DuckDBSource(query, folder=tmp_path / "there"), Schema({"age": "number"})) == {"age": [2.0]}


def test_a_database_file_that_is_written_to_or_none(tmp_path: Path) -> None:
    (tmp_path / "none.duckdb").write_text("SECRET77")
    for name, sentence in (("none.duckdb", "it is no DuckDB database"), ("nowhere.duckdb", "does not exist")):
        assert sentence in refused(lambda name=name: DuckDBSource("SELECT 1 AS age", tmp_path / name).names())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"source": "csvv", "file": "a"}, "source = 'csvv' is not known; did you mean 'csv'? Known: csv, parquet"),
        ({"source": 3}, "source = 3 is not known."),
        (
            {"source": "csv", "file": "a.csv", "delimeter": ";"},
            "delimeter is no key of source = 'csv'; did you mean 'deli",
        ),
        ({"source": "postgresql", "query": "SELECT 1", "password": "SECRET77"}, "password is no key"),
        ({"source": "csv"}, "file is missing: source = 'csv' needs it."),
        ({"source": "postgresql"}, "query is missing"),
        ({"source": "postgresql", "query": "SELECT 1", "port": "5432"}, "port must be a whole number; got text"),
        ({"source": "postgresql", "query": "SELECT 1", "port": True}, "port must be a whole number; got bool"),
        ({"source": "csv", "file": "a.csv", "decimal": 1}, "decimal must be text in quotes; got int"),
        ({"file": "rows.xlsx"}, "what it holds cannot be told from its name"),
        ({"query": "SELECT 1"}, "source is missing. Known: csv"),
        ({"file": "rows.duckdb"}, "A database file needs a query"),
        ("rows.duckdb", "A database file needs a query"),
        ("rows", "what it holds cannot be told from its name"),
    ],
)
def test_settings_that_are_refused(given: Any, sentence: str) -> None:
    assert sentence in refused(lambda: open_source(given))


def test_suffixes_and_settings_choose_the_source(tmp_path: Path) -> None:
    kinds = {
        "a.csv": CSVSource, "a.TSV": CSVSource, "a.txt": CSVSource, "a.parquet": ParquetSource, "a.pq": ParquetSource,
        "a.arrow": ArrowSource, "a.feather": ArrowSource, "a.ipc": ArrowSource,
    }  # fmt: skip
    for name, kind in kinds.items():
        assert type(open_source(name)) is kind
        assert type(open_source(Path(name))) is kind
        assert type(open_source({"file": name})) is kind
    (tmp_path / "rows.tsv").write_text("age\tsex\n61\tf\n")
    assert read(open_source("rows.tsv", tmp_path), Schema({"age": "number"})) == {"age": [61.0]}
    settings = {"source": "postgresql", "query": "SELECT 1", "host": "db", "port": 5433, "password_file": "secret"}
    source = open_source(settings, "etc")
    assert isinstance(source, PostgreSQLSource)
    assert source.password_file == Path("etc/secret")
    assert open_source(source) is source
    assert isinstance(open_source(TABLE), FrameSource)


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_csv(tmp_path)
    of_parquet(tmp_path)
    for module, what in (("pyarrow.csv", "rows.csv"), ("pyarrow.parquet", "rows.parquet"), ("duckdb", None)):
        monkeypatch.setitem(sys.modules, module, None)
        given = what or {"source": "duckdb", "query": "SELECT 1 AS age"}
        with pytest.raises(MissingExtra, match=r"pip install 'sottovoce\[data\]'"):
            read(open_source(given, tmp_path))
