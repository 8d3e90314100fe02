"""One cell of a CSV file: a number, or what to do about it. A cell is data: no sentence here quotes one."""

from __future__ import annotations

import math
import re

MISSING = ("na", "n/a", "null", "none", "missing", "-", ".", "?")
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(e[-+]?\d+)?|[-+]?\d{1,3}(\.\d{3})+,\d+", re.IGNORECASE)
THOUSANDS = re.compile(r"[-+]?\d{1,3}([,' \u00a0\u202f]\d{3})+(\.\d*)?")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2})?")
WITH_UNIT = re.compile(r"[-+]?\d+(\.\d+)?\s*[^\d\s.,:/-]+|[$€£]\s*\d.*")


def as_number(text: str) -> float | None:
    """The number, which may be infinite or NaN; None for anything else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if "_" not in text else math.nan  # 1_000 is a number in Python only


def cell_hint(text: str) -> str:
    """The end of a sentence on a cell that is no number: what it looks like, and what helps."""
    if text.lower() in MISSING:
        return ": it looks like a missing value. Remove the row, or impute the value first."
    if THOUSANDS.fullmatch(text):
        doubt = ", or with a decimal comma" if text.count(",") == 1 and "." not in text else ""
        return f": it looks like one with marks between thousands{doubt}. Write it with a decimal point alone."
    if DECIMAL_COMMA.fullmatch(text):
        return ": it looks like one with a decimal comma. Save the file with decimal points."
    if DATE.fullmatch(text):
        return ": it looks like a date or a time. Make it a number first, such as days since an agreed day."
    if WITH_UNIT.fullmatch(text):
        return ": it looks like one with a unit. Move the unit into the name of the column."
    return ": it looks like text. Leave the column out, or make a 0/1 column of each category first."
