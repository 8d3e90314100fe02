"""Cells that are not what the schema says: by column, kind and row number, and never by what they hold.

Rows are counted from 1, without the header, as the table has them: row 1 is the first row of data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from .cells import DATE, DECIMAL_COMMA, MISSING, THOUSANDS, WITH_UNIT

FIRST = 5  # row numbers of each problem
SAID = 10  # problems in a sentence


class Fault(IntEnum):
    """Why a cell has no value. ``MISSING`` is no problem yet: what to do about it is for whoever asks."""

    MISSING = 1
    NOT_A_NUMBER = 2
    INFINITE = 3
    NOT_WHOLE = 4
    TOO_LARGE = 5
    NEITHER_TRUE_NOR_FALSE = 6
    UNKNOWN_LEVEL = 7
    NOT_A_DATE = 8
    TIME_OF_DAY = 9
    NOT_TEXT = 10
    OUT_OF_RANGE = 11
    TOO_LARGE_FOR_ITS_UNIT = 12

    @property
    def words(self) -> str:
        """``not a number``."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Problem:
    """Cells of one column that cannot be used for one reason.

    Attributes
    ----------
    column : str
        The name of the column.
    kind : str
        ``not a number``, ``infinite``, ``not whole``, ``too large``, ``neither true nor false``, ``unknown level``,
        ``not a date``, ``time of day``, ``not text``, ``out of range`` or ``too large for its unit``.
    count : int
        How many.
    rows : tuple of int
        The first of their rows, counted from 1; up to five.
    more : str
        What is public about it, or what they look like.
    """

    column: str
    kind: str
    count: int
    rows: tuple[int, ...]
    more: str = ""

    def told(self) -> str:
        """``column 'age': out of range (from 0 to 120) in 12 rows, of which the first are 4, 17, 200, 201, 350``."""
        rows = ", ".join(map(str, self.rows))
        if self.count == len(self.rows):
            where = f"row {rows}" if self.count == 1 else f"rows {rows}"
        else:
            where = f"{self.count:,} rows, of which the first are {rows}"
        return f"column {self.column!r}: {self.kind}{f' ({self.more})' if self.more else ''} in {where}"


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """Those of all batches of a table, given in its order, as those of the table."""
    found: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        key = problem.column, problem.kind
        before = found.get(key)
        if before is None:
            found[key] = problem
        else:
            rows = (*before.rows, *problem.rows)[:FIRST]
            found[key] = replace(before, count=before.count + problem.count, rows=rows)
    return list(found.values())


def told(problems: Sequence[Problem]) -> str:
    """One sentence on all of them, and what to do."""
    said = "; ".join(problem.told() for problem in problems[:SAID])
    more = f"; and {len(problems) - SAID} more problems" if len(problems) > SAID else ""
    return f"{said}{more}. Correct these cells, or agree on a schema that allows them."


def looks(text: str) -> str:
    """What a text looks like that is no number; nothing where it is not like anything known."""
    if text.lower() in MISSING:
        return "the first looks like a missing value: name what stands for one in the schema, as missing"
    if THOUSANDS.fullmatch(text):
        doubt = ", or a decimal comma" if text.count(",") == 1 and "." not in text else ""
        return f"the first looks like one with marks between thousands{doubt}"
    if DECIMAL_COMMA.fullmatch(text):
        return "the first looks like one with a decimal comma"
    if DATE.fullmatch(text):
        return "the first looks like a date or a time"
    return "the first looks like one with a unit" if WITH_UNIT.fullmatch(text) else ""
