"""The cells of a CSV column, as the schema types them: read by Arrow where it can, else as text by the rules here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

from ..cells import DATE, DECIMAL_COMMA, MISSING, THOUSANDS, WITH_UNIT
from ..column import IN_CSV
from ..schema import Column

TRUE, FALSE = IN_CSV[1::2], IN_CSV[::2]
DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00(?::00(?:\.0+)?)?$"  # a date, as ``arrow.dates`` reads it
TIME = re.compile(rf"{DAY.pattern}[ T][0-9]{{2}}:.*")
REFUSED = "\0"  # of no type, and of no level or missing code, as those have no control characters
POINT = re.compile(r"[-+]?\d*\.\d+(e[-+]?\d+)?", re.IGNORECASE)


class Marks(NamedTuple):
    """How numbers are written."""

    decimal: str = "."
    thousands: str | None = None


def words(meaning: bool) -> list[str]:
    """What is written for it: true, True, TRUE and others."""
    known = TRUE if meaning else FALSE
    return sorted({form for word in known for form in (word, word.capitalize(), word.upper())})


def common_codes(wanted: Mapping[str, Column]) -> frozenset[str]:
    """The missing codes of most columns: Arrow takes one list for all, and other columns are read as text."""
    lists = [frozenset(column.missing) for column in wanted.values() if column.type != "category"]
    return max(lists, key=lambda codes: (lists.count(codes), sorted(codes)), default=frozenset())


def as_text(column: Column, codes: frozenset[str], marks: Marks) -> bool:
    """Whether Arrow cannot read the column by itself."""
    numbers = column.type in ("number", "integer")
    return column.type != "category" and (
        frozenset(column.missing) != codes or (numbers and marks.thousands is not None)
    )


def arrow_type(column: Column) -> Any:
    """What a column comes as."""
    import pyarrow as pa

    if column.type == "category":
        return pa.dictionary(pa.int32(), pa.string())
    return {"date": pa.date32(), "boolean": pa.bool_()}.get(column.type, pa.float64())


def from_text(texts: Any, column: Column, marks: Marks) -> tuple[Any, int | None]:
    """A column from its cells, and the first cell that cannot be read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = _stripped(texts, column)
    if column.type == "category":
        return texts.dictionary_encode(), None
    bad = pc.index(_readable(texts, column, marks), False).as_py()
    if bad >= 0:
        return None, bad
    if column.type == "boolean":
        true = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(TRUE))
        return pc.if_else(pc.is_null(texts), pa.scalar(None, pa.bool_()), true), None
    if marks.thousands and column.type != "date":
        texts = pc.replace_substring(texts, marks.thousands, "")
    if marks.decimal == ",":
        texts = pc.replace_substring(texts, ",", ".")
    return texts.cast(arrow_type(column)), None


def kept(texts: Any, column: Column, marks: Marks) -> Any:
    """A column of text, though some of its cells cannot be read: these as they are if that is no number with any marks,
    and as ``REFUSED`` otherwise; the others as every program writes them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = _stripped(texts, column)
    good = _readable(texts, column, marks)
    read, _ = from_text(pc.if_else(good, texts, pa.scalar(None, pa.string())), column, marks)
    like = pc.match_substring_regex(texts, _number(Marks())) if column.type in ("number", "integer") else True
    return pc.if_else(good, read.cast(pa.string()), pc.if_else(like, REFUSED, texts))


def _stripped(texts: Any, column: Column) -> Any:
    """Without blanks around them, and dates without a midnight; null for what stands for missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(texts, value_set=pa.array(["", *column.missing], pa.string()))
    texts = pc.if_else(missing, pa.scalar(None, pa.string()), texts)
    return pc.replace_substring_regex(texts, MIDNIGHT, r"\1") if column.type == "date" else texts


def _readable(texts: Any, column: Column, marks: Marks) -> Any:
    """Of each cell whether it can be read, or is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type == "boolean":
        good = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(TRUE + FALSE))
    elif column.type == "date":
        days = [text for text in pc.unique(texts).to_pylist() if text is not None and _is_day(text)]
        good = pc.is_in(texts, value_set=pa.array(days, pa.string()))
    else:
        good = pc.match_substring_regex(texts, _number(marks))
    return pc.or_kleene(good, pc.is_null(texts))


def cleaned(categories: Any, column: Column) -> Any:
    """Levels without blanks around them; null for what stands for missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = pc.utf8_trim_whitespace(categories.dictionary)
    missing = pc.is_in(levels, value_set=pa.array(["", *column.missing], pa.string()))
    indices = categories.indices
    if pc.any(missing).as_py():
        indices = pc.if_else(missing.take(indices), pa.scalar(None, indices.type), indices)
    return pa.DictionaryArray.from_arrays(indices, levels)


def _number(marks: Marks) -> str:
    decimal = re.escape(marks.decimal)
    groups = rf"|[0-9]{{1,3}}(?:{re.escape(marks.thousands)}[0-9]{{3}})+" if marks.thousands else ""
    exponent = "(?:[eE][-+]?[0-9]+)?"
    whole = rf"(?:[0-9]+{groups})(?:{decimal}[0-9]*)?{exponent}|{decimal}[0-9]+{exponent}"
    return rf"^[-+]?(?:{whole}|(?i:nan|inf|infinity))$"


def _is_day(text: str) -> bool:
    try:
        return DAY.fullmatch(text) is not None and date.fromisoformat(text) is not None
    except ValueError:
        return False


def what_is_wrong(text: str, column: Column, marks: Marks) -> str:
    """A sentence on a cell that cannot be read: what it looks like, and what helps. It quotes nothing of it."""
    text = text.strip()
    if text.lower() in MISSING:
        return "the cell looks like a code for a missing value. List it in missing, in the schema's column."
    if column.type == "date" and TIME.fullmatch(re.sub(MIDNIGHT, r"\1", text)):
        return "the cell has a time of day, and a date has none but midnight. Leave the time out."
    if column.type == "date":
        return "the cell is not a date as 2024-01-31 is one. Write dates in this way."
    if column.type == "boolean":
        return "the cell is neither true nor false. Write true and false, yes and no, or 1 and 0."
    return f"the cell is not a number{_looks(text, marks)}"


def _looks(text: str, marks: Marks) -> str:
    comma = marks.decimal != "," and DECIMAL_COMMA.fullmatch(text)
    if marks.thousands is None and THOUSANDS.fullmatch(text):
        doubt = ', or a decimal comma: set decimal = ","' if comma else ""
        return f": it looks like one with marks between thousands: set thousands{doubt}."
    if comma:
        return ': it looks like a decimal comma: set decimal = ",".'
    if marks.decimal == "," and POINT.fullmatch(text):
        return ': it looks like one with a decimal point: set decimal = ".", or thousands = "." if it is between those.'
    if DATE.fullmatch(text):
        return ": it looks like a date or a time. A column of dates has the type date."
    if WITH_UNIT.fullmatch(text):
        return ": it looks like one with a unit. Name the unit in the schema, as unit_name."
    return ": it looks like text. A column of levels has the type category."
