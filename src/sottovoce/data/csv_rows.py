"""CSV files: one per party, or one for all with a column that names the party."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import InvalidFile
from ..files.toml_table import nearest, read_text
from .cells import as_number, cell_hint

Array = npt.NDArray[np.float64]
MARKS = re.compile("[;,\t|]")


@dataclass(frozen=True, eq=False)
class Shards:
    """The data of all parties.

    Attributes
    ----------
    columns : list of str
        Their names, the same for everybody.
    parties : list of str
        A name for each party.
    rows : list of ndarray
        ``(n_i, d)`` for each.
    sources : list of str
        Where the rows of each came from, for sentences.
    """

    columns: list[str]
    parties: list[str]
    rows: list[Array] = field(repr=False)
    sources: list[str]

    def __len__(self) -> int:
        return len(self.parties)


class Sheet:
    """One CSV file, as text: a header, and the cells of every row with its line number.

    What is wrong with a cell is said by line and column, and never quoted: a party's errors go to a log."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.path, self.delimiter = path, delimiter
        reader = csv.reader(io.StringIO(read_text(path), newline=""), delimiter=delimiter, strict=True)
        self.rows: list[tuple[int, list[str]]] = []
        try:
            for cells in reader:
                if len(cells) > 1 or "".join(cells).strip():  # a blank line is no row
                    self.rows.append((reader.line_num, [cell.strip() for cell in cells]))
        except csv.Error as error:
            raise InvalidFile(f"{path}, line {reader.line_num}: not valid CSV: {error}.") from None
        if not self.rows:
            raise InvalidFile(f"{path} is empty. Its first line must name the columns.")
        line, self.header = self.rows.pop(0)
        # Numbers must not be quoted as names, nor those of a line that another mark separates.
        names = MARKS.split(self.header[0]) if len(self.header) == 1 else self.header
        if any(_is_number(name) for name in names):
            raise InvalidFile(f"{path}, line {line}: there are numbers where the names of the columns should be.")
        for number, name in enumerate(self.header, start=1):
            if not name:
                raise InvalidFile(f"{path}, line {line}: column {number} has no name.")
            if self.header.count(name) > 1:
                raise InvalidFile(f"{path}, line {line}: two columns are named {name!r}.")
        if not self.rows:
            raise InvalidFile(f"{path} has a header but no rows.")
        for line, cells in self.rows:
            if len(cells) != len(self.header):
                counts = f"{len(cells)} cells; the header has {len(self.header)}."
                raise InvalidFile(f"{path}, line {line}: {counts}{self.delimiter_hint()}")

    def position(self, column: str) -> int:
        if column in self.header:
            return self.header.index(column)
        has = f"It has: {', '.join(self.header)}.{self.delimiter_hint()}"
        raise InvalidFile(f"{self.path} has no column {column!r}{nearest(column, self.header)} {has}")

    def delimiter_hint(self) -> str:
        """What a header suggests that is one name with other marks in it."""
        others = [mark for mark in ";,\t|" if mark != self.delimiter and mark in self.header[0]]
        if not others or len(self.header) > 1:
            return ""
        mark = json.dumps(others[0])  # as TOML writes it
        return f" Is the file separated by {mark}? Then set delimiter = {mark}."

    def matrix(self, columns: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> Array:
        """Some rows of some columns, as numbers."""
        places = [(self.position(column), column) for column in columns]
        return np.array([[self.cell(line, cells[at], column) for at, column in places] for line, cells in rows])

    def cell(self, line: int, text: str, column: str) -> float:
        where = f"{self.path}, line {line}, column {column!r}"
        if not text:
            raise InvalidFile(f"{where}: the cell is empty. Remove the row, or impute the value first.")
        if (value := as_number(text)) is None:
            raise InvalidFile(f"{where}: the cell is not a number{cell_hint(text)}")
        if not math.isfinite(value):
            raise InvalidFile(f"{where}: the cell is not a finite number. Remove the row, or impute the value first.")
        return value


def read_one_per_party(
    paths: Sequence[Path], columns: Sequence[str] | None, target: str | None, delimiter: str
) -> Shards:
    """``columns`` (default: all but the target), then the target where there is one, of every file."""
    sheets = [Sheet(path, delimiter) for path in paths]
    for sheet in sheets if columns is None else ():
        if target is not None:
            sheet.position(target)
        if set(sheet.header) != set(sheets[0].header):
            extra = sorted(set(sheet.header) ^ set(sheets[0].header))
            raise InvalidFile(
                f"{sheet.path} and {sheets[0].path} have different columns: only one of them has {', '.join(extra)}. "
                "Name the columns to use, or make them agree."
            )
    wanted = _wanted(sheets[0].header, columns, target)
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    rows = [sheet.matrix(wanted, sheet.rows) for sheet in sheets]
    return Shards(wanted, names, rows, [str(path) for path in paths])


def read_together(path: Path, party: str, columns: Sequence[str] | None, target: str | None, delimiter: str) -> Shards:
    """One file for all: rows belong together when they agree in the column ``party``."""
    sheet = Sheet(path, delimiter)
    at = sheet.position(party)
    wanted = _wanted([name for name in sheet.header if name != party], columns, target)
    of_party: dict[str, list[tuple[int, list[str]]]] = {}
    for line, cells in sheet.rows:
        if not cells[at]:
            raise InvalidFile(f"{path}, line {line}, column {party!r}: the cell is empty; it must name the party.")
        of_party.setdefault(cells[at], []).append((line, cells))
    rows = [sheet.matrix(wanted, group) for group in of_party.values()]
    return Shards(wanted, list(of_party), rows, [f"{path}, party {name!r}" for name in of_party])


def _is_number(text: str) -> bool:
    value = as_number(text)
    return value is not None and text.lower() not in ("nan", "inf", "infinity")  # which may be names


def _wanted(header: Sequence[str], columns: Sequence[str] | None, target: str | None) -> list[str]:
    chosen = list(columns) if columns is not None else [name for name in header if name != target]
    return chosen if target is None else [*chosen, target]
