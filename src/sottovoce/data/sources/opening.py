"""Which source it is: by the suffix of a file, by settings such as ``[party.data]``, or by what Python has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...errors import InvalidFile, InvalidInput
from ...files.toml_table import nearest, shown
from ...numerics.unquoted import kind_of
from .arrow_source import ArrowSource
from .csv_source import CSVSource
from .duckdb_source import DuckDBSource
from .frame_source import FrameSource
from .parquet_source import ParquetSource
from .pieces_source import PiecesSource
from .postgresql_source import PostgreSQLSource
from .source import Source

KEYS: dict[str, dict[str, type]] = {  # by source, and what each key holds
    "csv": {"file": str, "delimiter": str, "decimal": str, "thousands": str, "encoding": str, "quote": str},
    "parquet": {"file": str},
    "arrow": {"file": str},
    "duckdb": {"file": str, "query": str},
    "postgresql": {
        "query": str, "host": str, "port": int, "database": str, "user": str, "password_env": str, "password_file": str,
        "sslmode": str,
    },
}  # fmt: skip
NEEDED = {"csv": "file", "parquet": "file", "arrow": "file", "duckdb": "query", "postgresql": "query"}
SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow",
    ".feather": "arrow", ".ipc": "arrow", ".duckdb": "duckdb",
}  # fmt: skip
ADDRESS = re.compile(
    r"(^|[/\\])[a-z][a-z+]+:/", re.IGNORECASE
)  # postgresql://ada:secret@server; a drive has one letter
WORDS = {str: "text in quotes", int: "a whole number"}


def open_source(what: Any, base: str | Path = ".") -> Source:
    """The source that ``what`` stands for.

    Parameters
    ----------
    what : str, Path, mapping or table
        A file or a folder of Parquet files; settings such as ``{"source": "csv", "file": "rows.csv", "decimal": ","}``;
        or a table in Python: a frame, a pyarrow table, columns by name, batches.
    base : str or Path
        The folder from which paths start.

    Returns
    -------
    Source
        Not read yet.

    Raises
    ------
    InvalidInput
        Where it stands for none: a key that is not known, a value of the wrong type.

    Examples
    --------
    >>> open_source("rows.parquet", base="data").describe()
    'data/rows.parquet'
    >>> open_source({"source": "csv", "file": "rows.csv", "delimiter": ";", "decimal": ","}).delimiter
    ';'
    """
    if isinstance(what, Source):
        return what
    base = Path(base)
    if isinstance(what, str | Path):
        return _of_settings({"file": str(what)}, base)
    if isinstance(what, Mapping) and ("source" in what or any(isinstance(value, str) for value in what.values())):
        return _of_settings(what, base)
    if isinstance(what, bytes | int | float | complex) or what is None:
        raise InvalidInput(f"data must be a file, settings or a table; got {kind_of(what)}.")
    if _in_pieces(what):
        return PiecesSource(what)
    return FrameSource(what)


def _in_pieces(what: Any) -> bool:
    if callable(what) and not hasattr(what, "__arrow_c_stream__"):
        return True
    once = hasattr(what, "__next__")  # iterators, and pyarrow's RecordBatchReader
    return once or (isinstance(what, list) and isinstance(what, Iterable))


def _of_settings(given: Mapping[str, Any], base: Path) -> Source:
    kind = given.get("source")
    if any(ADDRESS.search(value) for key, value in given.items() if key in ("file", "host") and isinstance(value, str)):
        raise InvalidFile(  # unquoted: there may be a password in it
            'an address such as postgresql:// is not taken, as passwords stand in such. Set source = "postgresql", '
            "with host, database, user and password_env or password_file."
        )
    if kind is None:
        kind = _kind_of_file(given, base)
    if not isinstance(kind, str) or kind not in KEYS:
        near = nearest(kind, KEYS) if isinstance(kind, str) else "."
        raise InvalidFile(f"source = {shown(kind)} is not known{near} Known: {', '.join(KEYS)}.")
    options = {key: value for key, value in given.items() if key != "source"}
    for key, value in options.items():
        if key not in KEYS[kind]:
            # The value may be a password that has no place here.
            raise InvalidFile(
                f"{key} is no key of source = {kind!r}{nearest(str(key), KEYS[kind])} Known: {', '.join(KEYS[kind])}."
            )
        if type(value) is not KEYS[kind][key]:
            raise InvalidFile(f"{key} must be {WORDS[KEYS[kind][key]]}; got {kind_of(value)}.")
    if NEEDED[kind] not in options:
        hint = (
            ' A database file needs a query, such as query = "SELECT age, dose FROM visits".'
            if kind == "duckdb"
            else ""
        )
        raise InvalidFile(f"{NEEDED[kind]} is missing: source = {kind!r} needs it.{hint}")
    for key in ("file", "password_file"):
        if key in options:
            options[key] = base / options[key]
    if kind == "postgresql":
        return PostgreSQLSource(**options)
    if kind == "duckdb":
        return DuckDBSource(**options, folder=base)
    path = options.pop("file")
    if kind == "csv":
        if path.suffix.lower() == ".tsv":
            options.setdefault("delimiter", "\t")
        return CSVSource(path, **options)
    return ParquetSource(path) if kind == "parquet" else ArrowSource(path)


def _kind_of_file(given: Mapping[str, Any], base: Path) -> str:
    file = given.get("file")
    if not isinstance(file, str) or not file:
        raise InvalidFile(f"source is missing. Known: {', '.join(KEYS)}.")
    suffix = Path(file).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if (base / file).is_dir():
        return "parquet"
    raise InvalidFile(
        f"{base / file}: what it holds cannot be told from its name. Set source, one of {', '.join(KEYS)}; or give it "
        f"a suffix, one of {' '.join(SUFFIXES)}."
    )
