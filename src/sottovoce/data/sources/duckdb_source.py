"""A SQL query on DuckDB, which runs inside this process: over files beside the party's own, or on a database file.

Nothing is written, nothing is fetched from the net, and no file is read that lies elsewhere. What DuckDB says of an
error may quote cells, and is not passed on.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...errors import InvalidFile, InvalidInput
from ..schema import Column
from .source import ROWS, Source, library, stamp_of

SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # no table is a variable of this program
    "memory_limit": "1GB",  # what needs more, such as an order, goes to a folder that is removed
}
QUOTED = re.compile(r"'([^']+)'" + '|"([^"]+)"')
REASONS = {  # by the name of DuckDB's exception
    "ParserException": "is not valid SQL",
    "CatalogException": "names a table, a file or a function that is not there",
    "BinderException": "names a column that is not there, or compares what cannot be compared",
    "PermissionException": "would read what it may not: files of another folder, or the net",
    "IOException": "names a file that is not there, or cannot be read",
    "ConversionException": "makes a number or a date of a cell that is none",
    "OSError": "fails at a cell, which is not what the query takes it for",  # while rows are read
    "OutOfMemoryException": "needs more memory than it has. Select less at a time",
}


class DuckDBSource(Source):
    """The rows of one SELECT.

    Parameters
    ----------
    query : str
        One SELECT. Files are named by their paths from ``folder``: ``SELECT age FROM 'rows.parquet' WHERE age >= 18``;
        as arguments of functions such as ``read_csv`` by their whole paths.
    file : str or Path, optional
        A database file, whose tables the query may name; files are then not read.
    folder : str or Path
        Where files are, and in folders below it.

    Examples
    --------
    >>> from sottovoce.data.schema import Schema
    >>> source = DuckDBSource("SELECT range AS n, n * n AS square FROM range(3)")
    >>> source.names()
    ['n', 'square']
    >>> [batch.to_pydict() for batch in source.batches(Schema({"square": "number"}))]
    [{'square': [0, 1, 4]}]
    """

    def __init__(self, query: str, file: str | Path | None = None, folder: str | Path = ".") -> None:
        if not isinstance(query, str) or not query.strip():
            raise InvalidInput(f"query must be a SELECT; got {query!r}.")
        self.query, self.folder = query, Path(folder)
        self.file = None if file is None else Path(file)

    def describe(self) -> str:
        return "the query on DuckDB" if self.file is None else f"the query on {self.file}"

    def stamp(self) -> object | None:
        if self.file is None:
            return None
        log = self.file.with_name(self.file.name + ".wal")
        return stamp_of([self.file, log] if log.exists() else [self.file])

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        duckdb = library("duckdb", "a query on files or on a DuckDB database")
        library("pyarrow", "a query on files or on a DuckDB database")
        with tempfile.TemporaryDirectory(prefix="sottovoce-duckdb-") as scratch:
            connection = duckdb.connect(":memory:", config={**SETTINGS, "temp_directory": scratch})
            try:
                if self.file is None:
                    self._name_files(connection)
                else:
                    self._attach(connection)
                connection.execute("SET enable_external_access = false; SET lock_configuration = true")
                yield connection
            finally:
                connection.close()

    def _name_files(self, connection: Any) -> None:
        """Files that the query quotes are those of the folder: DuckDB itself would look in the working directory."""
        folder = self.folder.resolve()
        connection.execute(f"SET allowed_directories = [{_text(str(folder))}]")
        for single, double in QUOTED.findall(self.query):
            name = single or double
            if _below(name) and any(folder.glob(name)):
                with suppress(Exception):  # text of the query that happens to name a file; what reads it will say so
                    connection.execute(f"CREATE VIEW {_name(name)} AS FROM {_text(str(folder / name))}")

    def _attach(self, connection: Any) -> None:
        self.stamp()  # says what is wrong with a file that is not there
        try:
            connection.execute(
                f"ATTACH {_text(str(self.file))} AS source_file (TYPE duckdb, READ_ONLY); USE source_file"
            )
            return
        except Exception:
            pass
        raise InvalidFile(f"{self.file} cannot be opened: it is no DuckDB database, or somebody is writing to it.")

    def names(self) -> list[str]:
        with self._connection() as connection:
            return self._different(self._run(connection, self._select(connection)).columns)

    def _select(self, connection: Any) -> str:
        """The query without what may follow it."""
        duckdb = library("duckdb", "")
        try:
            statements = connection.extract_statements(self.query)
        except duckdb.Error:
            statements = None
        if statements is None:
            raise InvalidFile(f"{self.describe()}: it {REASONS['ParserException']}. Try it in DuckDB first.")
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InvalidFile(f"{self.describe()}: it must be one SELECT, and nothing else.")
        return str(statements[0].query).rstrip().rstrip(";")

    def _run(self, connection: Any, query: str) -> Any:
        try:
            return connection.sql(query)
        except Exception as error:
            sentence = self._why(error)
        raise InvalidFile(sentence)

    def _why(self, error: Exception) -> str:
        kind = type(error).__name__
        return f"{self.describe()}: it {REASONS.get(kind, f'failed ({kind})')}. Try it in DuckDB first."

    def _read(self, wanted: Mapping[str, Column]) -> Iterator[Any]:
        columns = ", ".join(_name(name) for name in wanted)
        with self._connection() as connection:
            found = self._run(connection, f"SELECT {columns} FROM (\n{self._select(connection)}\n) AS source_rows")
            reader = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader  # as it was called
            try:
                yield from reader(ROWS)
                return
            except Exception as error:
                sentence = self._why(error)
        raise InvalidFile(sentence)


def _below(name: str) -> bool:
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts and "**" not in name and name.strip(".") != ""


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
