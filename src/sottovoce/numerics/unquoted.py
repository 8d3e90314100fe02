"""What can be said of data without quoting them: an error ends in a log, and a log is read by others."""

from __future__ import annotations

from collections.abc import Sized
from datetime import date, time, timedelta
from typing import Any

import numpy as np


def kind_of(value: object) -> str:
    """What it is, and how large: ``text``, ``list of 3``, ``DataFrame of shape (4, 2)``."""
    if value is None:
        return "None"
    if isinstance(value, str | bytes):
        return "text"
    name, shape = type(value).__name__, getattr(value, "shape", ())
    if isinstance(shape, tuple) and shape:
        return f"{name} of shape {shape}"
    return f"{name} of {len(value)}" if isinstance(value, Sized) and not isinstance(value, np.ndarray) else name


def not_numbers(value: Any) -> str:
    """Where an array-like has its first entry that is no real number, and what it is: ``row 3, column 'age' is text``.

    Rows are counted from 0; a frame's columns have names, and its rows have none, as they may be those of persons.
    """
    entries = _objects(value)
    if entries.ndim < 2 and any(isinstance(entry, list | tuple | np.ndarray) for entry in entries.flat):
        lengths = [len(entry) if isinstance(entry, Sized) else None for entry in entries.flat]
        other = next((k for k, length in enumerate(lengths) if length != lengths[0]), 0)
        if other:
            return f"its rows have different lengths: row {other} is not as long as row 0"
    for at, entry in zip(np.ndindex(entries.shape), entries.flat, strict=True):
        if what := _entry(entry):
            return f"{_place(at, value)} is {what}"
    return f"it is {kind_of(value)}"


def _objects(value: Any) -> Any:
    try:
        return np.array(value, dtype=object)
    except ValueError:  # rows of arrays of different shapes
        objects = np.empty(len(value), dtype=object)
        for k, row in enumerate(value):
            objects[k] = row
        return objects


def _entry(entry: Any) -> str:
    """What an entry is that is no real number; nothing for one."""
    if isinstance(entry, str | bytes):
        return "text"
    if isinstance(entry, date | time | timedelta | np.datetime64 | np.timedelta64):
        return "a date or a time"
    if isinstance(entry, complex | np.complexfloating):
        return "a complex number"
    if isinstance(entry, int) and abs(entry) >= 2**1023:
        return "too large for a float64"
    try:
        float(entry)
    except (TypeError, ValueError, OverflowError):
        return kind_of(entry)
    return ""


def _place(at: tuple[int, ...], value: Any) -> str:
    if not at:
        return "it"
    if len(at) == 1:
        return f"entry {at[0]}"
    if len(at) > 2:
        return f"the entry at {at}"
    names = list(getattr(value, "columns", ()))
    name = names[at[1]] if len(names) > at[1] else at[1]
    return f"row {at[0]}, column {name!r}"
