"""A first draft of a schema, from a party's own table. It stays with that party until somebody has read it.

What is guessed is on the careful side: a column that may name people is left out, ranges are rounded out, units are
those of the decimals, and what a draft still tells about the rows that it was made from is said in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from ..errors import InvalidInput
from ..files.toml_text import toml, toml_key
from .column import EPOCH, Column, Type
from .rounded_out import rounded_out
from .schema import Schema
from .seen import FEW, Seen

AGREE = "  # to be agreed on"
HEAD = """\
# A first draft of a schema, from one party's own table. Read it before you show it to anybody: levels tell who is in
# the table, those that few rows have above all, and ranges tell roughly how far it goes, though they are rounded out.
# What is marked "to be agreed on" is a guess, for all parties to decide on together.
"""
NO_UNIT = (
    "its numbers have more than 15 digits or 22 decimals, as computed ones have, so that no unit is drafted. State "
    "one, such as unit = 0.001: numbers are rounded to it"
)
CODES = 'are these codes? Then it is type = "category", and they are its levels'
IDENTIFIER = re.compile(r"(?:^|[\W_])(?i:id|ids|uuid|guid|mrn|ssn|pid)(?:[\W_]|$)|[a-z]I[dD]$")


@dataclass(frozen=True)
class Draft:
    """What a table suggests.

    Attributes
    ----------
    columns : list of Column
        Those that a schema may have.
    left_out : dict
        By name, why a column is none of them.
    notes : dict
        By name, what to think about.
    rare : dict
        By name, how many levels of a category occur in fewer than five rows.
    """

    columns: list[Column] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    rare: dict[str, int] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        """To be agreed on."""
        if not self.columns:
            raise InvalidInput("no column of this table can be drafted: they have no values, or may name people.")
        return Schema(self.columns)

    @property
    def warnings(self) -> list[str]:
        """What it tells about people; no level is quoted."""
        return [
            f"column {name!r}: {count} of its levels {'is' if count == 1 else 'are'} found in fewer than {FEW} rows, "
            "and would tell others about these people. Join them with other levels, or leave the column out."
            for name, count in self.rare.items()
        ]

    def to_toml(self) -> str:
        """A file that ``Schema.from_table`` reads, with all that is to be thought about in comments."""
        parts = [HEAD]
        for column in self.schema.values():
            lines = [f"[schema.{toml_key(column.name)}]"]
            if column.name in self.notes:
                lines.insert(0, f"# {self.notes[column.name]}")
            lines += [f"{key} = {toml(value)}{AGREE}" for key, value in column.given()]
            parts.append("\n".join(lines) + "\n")
        parts += [f"# {toml(name[:60])} is left out: {why}.\n" for name, why in self.left_out.items()]
        return "\n".join(parts)


def draft(batches: Iterable[Any]) -> Draft:
    """From the record batches of a table.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        All rows, with columns of any type; texts are read as what they are the text of.

    Returns
    -------
    Draft
        Columns, those that are left out, and what to think about.

    Raises
    ------
    InvalidInput
        A table without rows, or with two columns of one name.
    """
    seen: dict[str, Seen] | None = None
    for batch in batches:
        names = batch.schema.names
        if seen is None:
            if twice := [name for name in names if names.count(name) > 1]:
                raise InvalidInput(f"two columns of the table are called {twice[0]!r}. Rename one of them.")
            seen = {name: Seen() for name in names}
        for name, array in zip(names, batch.columns, strict=True):
            seen[name].add(array)
    if not seen:
        raise InvalidInput("the table has no rows to draft from.")
    made = Draft()
    for name, column in seen.items():
        _guess(made, name, column)
    return made


def _guess(made: Draft, name: str, seen: Seen) -> None:
    why = _leave_out(name, seen)
    if why:
        made.left_out[name] = why
        return
    options: dict[str, Any] = {"missing": tuple(sorted(seen.codes))}
    kind: Type = "category"
    if "boolean" in seen.possible:
        kind = "boolean"
    elif "number" in seen.possible:
        kind = "integer" if seen.whole else "number"
        options["range"] = rounded_out(seen.low, seen.high, whole=seen.whole)
        if not seen.whole and seen.decimals is not None:
            options["unit"] = Fraction(1, 10**seen.decimals)
        elif not seen.whole:
            made.notes[name] = NO_UNIT
        elif seen.count >= 20 and seen.different() <= 10:
            made.notes[name] = CODES
    elif "date" in seen.possible:
        kind = "date"
        ends = [EPOCH + timedelta(days=end) for end in (seen.low, seen.high)]
        options["range"] = date(ends[0].year, 1, 1), date(ends[1].year, 12, 31)
    else:
        options["levels"] = tuple(sorted(seen.texts))
    try:
        made.columns.append(Column(name, kind, **options))
    except InvalidInput:  # which quotes the text
        made.left_out[name] = "its name, or one of its texts, is too long or has marks that a schema does not take"
        return
    if kind == "category" and (few := sum(count < FEW for count in seen.texts.values())):
        made.rare[name] = few


def _leave_out(name: str, seen: Seen) -> str:
    """Why it should not be in a schema; nothing where it may."""
    if not seen.count or ("number" in seen.possible and seen.low > seen.high):  # where a text is NaN
        return "it has no values"
    if "boolean" in seen.possible or "date" in seen.possible:
        return ""
    if IDENTIFIER.search(name):
        return "by its name it is an identifier"
    if "number" in seen.possible:
        alike = seen.whole and seen.count >= 20 and seen.all_different()
        return "every row has another whole number, as identifiers have" if alike else ""
    if seen.texts_end:
        return seen.texts_end
    if 2 * len(seen.texts) > seen.count:
        return "most rows have a text of their own, as names and identifiers have"
    return "" if len(seen.texts) > 1 else "it has one text only, and a category needs two levels"
