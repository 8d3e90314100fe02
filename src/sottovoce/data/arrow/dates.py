"""Days since 1970-01-01, from dates, timestamps at midnight and texts."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np

from ..column import EPOCH, Column
from ..problems import Fault
from .texts import Cells, is_text, of_type, stripped, unreadable, without

TEXT = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?", re.ASCII)
EARLIEST, LATEST = ((day - EPOCH).days for day in (date.min, date.max))
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # in a second


def dates(column: Column, array: Any) -> Cells:
    """Within the range of the column."""
    import pyarrow as pa

    kind = array.type
    if is_text(kind):
        days, fault = _of_texts(column, array)
    elif pa.types.is_date32(kind):
        days, fault = _whole(array.cast(pa.int32()), 1)
    elif pa.types.is_date64(kind):
        days, fault = _whole(array.cast(pa.int64()), 86_400 * TICKS["ms"])
    elif pa.types.is_timestamp(kind) and (local := _on_the_wall(array)) is not None:
        days, fault = _whole(local.cast(pa.int64()), 86_400 * TICKS[kind.unit])
    else:
        return unreadable(array, Fault.NOT_A_DATE)
    for code in column.missing:
        day, wrong = _of_text(code)
        if not wrong:
            fault[(days == day) & (fault == 0)] = Fault.MISSING
    fault[((days < EARLIEST) | (days > LATEST)) & (fault == 0)] = Fault.NOT_A_DATE
    if column.limits is not None:
        low, high = column.limits
        fault[((days < low) | (days > high)) & (fault == 0)] = Fault.OUT_OF_RANGE
    return days, fault


def _whole(ticks: Any, day: int) -> Cells:
    """Whole days, of so many ticks each."""
    import pyarrow.compute as pc

    fault = np.where(np.asarray(ticks.is_null()), Fault.MISSING, 0).astype(np.uint8)
    days, rest = np.divmod(pc.fill_null(ticks, 0).to_numpy(zero_copy_only=False), day)
    fault[rest != 0] = Fault.TIME_OF_DAY
    return days.astype(np.float64), fault


def _on_the_wall(array: Any) -> Any:
    """Timestamps as a clock in their time zone shows them; None where that zone is not known here."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return array if array.type.tz is None else pc.local_timestamp(array)
    except pa.ArrowInvalid:
        return None


def _of_texts(column: Column, texts: Any) -> Cells:
    import pyarrow as pa
    import pyarrow.compute as pc

    fault = np.zeros(len(texts), np.uint8)
    found = of_type(texts, pa.date32())
    if found is None:  # blanks, missing codes, times, or no dates
        texts, fault = stripped(column, texts)
        texts = without(texts, fault)
        found = of_type(texts, pa.date32())
    if found is not None:
        days, missing = _whole(found.cast(pa.int32()), 1)
        return days, np.where(fault == 0, missing, fault)
    encoded = pc.dictionary_encode(texts)  # one by one, but each text once
    cells = [(0.0, 0), *map(_of_text, encoded.dictionary.to_pylist())]
    at = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False) + 1
    wrong = np.array([fault for _, fault in cells], np.uint8)[at]
    return np.array([day for day, _ in cells])[at], np.where(fault == 0, wrong, fault)


def _of_text(text: str) -> tuple[float, int]:
    found = TEXT.fullmatch(text)
    if found is None:
        return 0.0, Fault.NOT_A_DATE
    try:
        day = (date.fromisoformat(found[1]) - EPOCH).days
    except ValueError:
        return 0.0, Fault.NOT_A_DATE
    return float(day), Fault.TIME_OF_DAY if (found[2] or "").strip("0:.") else 0
