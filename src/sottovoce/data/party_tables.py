"""Whose tables: the keys of ``[statistic]`` that give every party its source, in a file that has a ``[schema]``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import InvalidFile, InvalidInput
from ..files.toml_table import Table
from .party_rows import DATA_KEYS, check_parties, paths_of
from .sources import Source, open_source

PARTY_TABLE_KEYS = ("name", "data")
TABLE_DATA_KEYS = ("parties", "files")


def read_sources(table: Table, base: Path) -> tuple[list[str], list[Source]]:
    """The names of the parties, and the source of each.

    Parameters
    ----------
    table : Table
        With ``files``, named after what they are called, or with tables ``parties``, each a ``name`` and ``data``: a
        path, or settings such as ``{ source = "csv", file = "h2.csv", delimiter = ";", decimal = "," }``.
    base : Path
        Where paths start.

    Returns
    -------
    names : list of str
        In the order of the file.
    sources : list of Source
        Of which the names of the columns have been read.

    Raises
    ------
    InvalidFile
        With key and line.
    """
    for key in DATA_KEYS:
        if key in table and key not in TABLE_DATA_KEYS:
            raise table.refuse(
                key,
                f"has no meaning with [schema]: give files, or each party as [[{table.name}.parties]] with data, such "
                'as data = { source = "csv", file = "rows.csv", delimiter = ";" }.',
            )
    given = [key for key in TABLE_DATA_KEYS if key in table]
    if len(given) != 1:
        if given:
            raise table.refuse(given[1], f"and {given[0]} are both given. Keep one.")
        raise table.refuse(None, f"has no data. Give one of {', '.join(TABLE_DATA_KEYS)}.")
    if given == ["files"]:
        paths = paths_of(table, base)
        parties, sources = [path.stem for path in paths], [_opened(table, "files", path, Path()) for path in paths]
    else:
        parties, sources = _parties(table, base)
    check_parties(table, parties)
    return parties, sources


def _parties(table: Table, base: Path) -> tuple[list[str], list[Source]]:
    entries = table.get("parties")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise table.refuse("parties", f"must be tables: start each party with [[{table.name}.parties]].")
    parties, sources = [], []
    for k, entry in enumerate(entries):
        one = Table(table.file, f"{table.name}.parties", entry, at=k)
        if "rows" in one:
            raise one.refuse("rows", 'has no meaning with [schema]: name a table, such as data = "rows.csv".')
        one.refuse_unknown(PARTY_TABLE_KEYS)
        parties.append(one.string("name", str(k)))
        what = one.get("data")
        if not isinstance(what, str | dict) or not what:
            raise one.refuse("data", 'must be a path, or a table such as { source = "csv", file = "rows.csv" }.')
        sources.append(_opened(one, "data", what, base))
    return parties, sources


def _opened(table: Table, key: str, what: Any, base: Path) -> Source:
    """The source, which is there and has a header; what it holds is looked at later."""
    source: Source = _said(table, key, open_source, what, base)
    _said(table, key, source.names)
    return source


def _said(table: Table, key: str, make: Callable[..., Any], *arguments: Any) -> Any:
    """What ``make`` gives, or its refusal with the line of the key."""
    try:
        return make(*arguments)
    except (InvalidFile, InvalidInput) as error:
        said = str(error)  # out of here, so that what it was raised from is not its context
    raise table.refuse(key, f"cannot be used: {said}")
