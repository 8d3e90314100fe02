"""Whose data: the keys of ``[cost]`` or ``[statistic]`` that give every party its rows, in the file itself or in CSV
files beside it."""

from __future__ import annotations

import glob
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..files.toml_table import Table, finite
from ..numerics.unquoted import kind_of
from .csv_rows import Shards, read_one_per_party, read_together

Array = npt.NDArray[np.float64]

PARTY_KEYS = ("name", "rows")
DATA_KEYS = ("values", "parties", "files", "file", "party", "delimiter")


def read_data(table: Table, base: Path, regression: bool) -> Shards:
    """The rows of all parties: the columns to agree on, or the features and then the target of a regression."""
    shards = _read_data(table, base, regression)
    check_parties(table, shards.parties)
    return shards


def check_parties(table: Table, parties: list[str]) -> None:
    """Refuse a party alone, and two of one name."""
    if len(parties) < 2:
        raise table.refuse(None, f"has data of {len(parties)} party; at least two are needed to agree on anything.")
    name, count = Counter(parties).most_common(1)[0]
    if count > 1:
        raise table.refuse("parties", f"has two parties named {name!r}.")


def _read_data(table: Table, base: Path, regression: bool) -> Shards:
    sources = ("parties", "files", "file") if regression else ("values", "parties", "files", "file")
    given = [key for key in sources if key in table]
    if len(given) > 1:
        raise table.refuse(given[1], f"and {given[0]} are both given. Keep one.")
    if not given:
        raise table.refuse(None, f"has no data. Give one of {', '.join(sources)}.")
    if not regression:
        names, target = table.strings("columns", None), None
    else:
        names, target = table.strings("features", None), table.string("target", None)
        if target is None and given[0] in ("files", "file"):
            raise table.refuse("target", "is missing: name the column that the features explain.")
        target = target or "target"
        if names and target in names:
            raise table.refuse("features", f"contains the target {target!r}.")
    if given[0] == "values":
        return _values(table, names)
    if given[0] == "parties":
        return _parties(table, names, target)
    delimiter = _delimiter(table)
    if given[0] == "files":
        return read_one_per_party(paths_of(table, base), names, target, delimiter)
    party = table.string("party")
    if party == target or party in (names or ()):
        raise table.refuse("party", f"names the column {party!r}, which is also used as data.")
    return read_together(base / table.string("file"), party, names, target, delimiter)


def read_own_rows(table: Table, base: Path, columns: list[str]) -> Shards:
    """The rows of the one party whose table this is: ``rows`` in the table, or a CSV ``file`` with nobody else's.

    All parties must mean the same by a column, so ``columns`` come from what they agreed on and not from a header.
    """
    given = [key for key in ("rows", "file") if key in table]
    if len(given) != 1:
        raise table.refuse(None, "needs the party's own data, as rows or as a CSV file: give one of the two.")
    if given == ["file"]:
        return read_one_per_party([base / table.string("file")], columns, None, _delimiter(table))
    rows = _matrix(table.get("rows"), len(columns), table, "rows", "")
    return Shards(columns, [table.name], [rows], [table.file.where(table.name, "rows")])


def _delimiter(table: Table) -> str:
    delimiter = str(table.string("delimiter", ","))
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise table.refuse("delimiter", f"must be one character, such as ',' or ';'; got {delimiter!r}.")
    return delimiter


def paths_of(table: Table, base: Path) -> list[Path]:
    """The key ``files``: a pattern, or a list."""
    value = table.get("files")
    if isinstance(value, str):
        found = sorted(glob.glob(str(Path(glob.escape(str(base))) / value)))
        if not found:
            raise table.refuse("files", f"= {value!r} matches no file in {base.resolve()}.")
        return [Path(path) for path in found]
    return [base / name for name in table.strings("files")]


def _values(table: Table, names: list[str] | None) -> Shards:
    value = table.get("values")
    parties = list(value) if isinstance(value, dict) else None
    entries = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(entries, list) or not entries:
        raise table.refuse("values", f"must have a number, or a list of numbers, for each party; got {kind_of(value)}.")
    rows = [[entry if isinstance(entry, list) else [entry]] for entry in entries]
    parties = parties or [str(k) for k in range(len(rows))]
    matrices = []
    for party, row in zip(parties, rows, strict=True):
        matrices.append(_matrix(row, len(names) if names else len(rows[0][0]), table, "values", f"party {party}: "))
    where = table.file.where(table.name, "values")
    return Shards(names or _numbered(matrices[0].shape[1]), parties, matrices, [where] * len(rows))


def _parties(table: Table, names: list[str] | None, target: str | None) -> Shards:
    entries = table.get("parties")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise table.refuse("parties", f"must be tables: start each party with [[{table.name}.parties]].")
    parties, matrices, sources = [], [], []
    width = len(names) + (target is not None) if names else None
    for k, entry in enumerate(entries):
        one = Table(table.file, f"{table.name}.parties", entry, at=k)
        one.refuse_unknown(PARTY_KEYS)
        parties.append(one.string("name", str(k)))
        matrices.append(_matrix(one.get("rows"), width, one, "rows", ""))
        width = matrices[0].shape[1]
        sources.append(table.file.where(one.name, "rows", k))
    features = (width or 0) - (target is not None)
    if features < 1:
        raise table.refuse("parties", "have rows of one number; each row needs at least one feature and the target.")
    columns = names or _numbered(features)
    return Shards(columns if target is None else [*columns, target], parties, matrices, sources)


def _matrix(rows: Any, width: int | None, table: Table, key: str, who: str) -> Array:
    """A list of rows of numbers, each of ``width``. What is wrong is said by row and column, and never quoted."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        raise table.refuse(key, f"must be a list of rows such as [[1.0, 2.0], [3.0, 4.0]]; {who}got {kind_of(rows)}.")
    width = width or len(rows[0])
    for i, row in enumerate(rows, start=1):
        for k, value in enumerate(row, start=1):
            if not finite(value):
                what = "too large, or nan" if type(value) in (int, float) else kind_of(value)
                raise table.refuse(key, f"must hold finite numbers; {who}number {k} of row {i} is {what}.")
        if len(row) != width:
            raise table.refuse(key, f"must have {width} numbers in every row; {who}row {i} has {len(row)}.")
    return np.array(rows, dtype=np.float64)


def _numbered(width: int) -> list[str]:
    return ["x"] if width == 1 else [f"x[{k}]" for k in range(width)]
