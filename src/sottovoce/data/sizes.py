"""How large the numbers are that a statistic takes of a row, as far as the ranges of a schema tell: public numbers."""

from __future__ import annotations

import numpy as np

from ..errors import InvalidInput
from ..numerics.counter_random import uniform
from .batch import Array
from .schema import Column, Schema
from .selection import Selection

POINTS = 256


def sizes(selection: Selection, schema: Schema) -> dict[str, float]:
    """By column of the selection about the largest number, in absolute value, that the ranges allow; columns of which
    they tell nothing are left out.

    A column of the table has that of its range. What a formula makes of some is looked at in public places: in the
    corners of the ranges where all are low or all are high, and at places spread between.
    """
    found = {name: scale for name in selection.columns if name in schema and (scale := _size(schema[name]))}
    needs = [schema[name] for name in selection.needs]
    if found.keys() == set(selection.columns):
        return found
    for margin in (0.0, 0.01):  # log(x) has no value at the end of a range from 0
        try:
            # What changes with a column of no range is of unknown size.
            first, second = (selection.block(_places(needs, margin, other), np.arange(POINTS)) for other in (1.0, 2.0))
        except InvalidInput:
            continue
        largest = np.where((first == second).all(axis=0), np.abs(first).max(axis=0), 0.0)
        told = {name: float(f"{size:.0e}") for name, size in zip(selection.columns, largest.tolist(), strict=True)}
        return {name: size for name, size in told.items() if size > 0} | found
    return found


def _size(column: Column) -> float | None:
    """Of a category as it is, the last place of a level."""
    return max(1.0, len(column.levels) - 1.0) if column.type == "category" else column.scale


def _places(columns: list[Column], margin: float, other: float) -> dict[str, Array]:
    """Points in the ranges, the first in the low corner and the second in the high one; ``other`` without a range."""
    places = {}
    for j, column in enumerate(columns):
        spread = uniform(j, np.uint64(0), np.arange(POINTS, dtype=np.uint64))
        spread[:2] = 0.0, 1.0
        if column.type in ("category", "boolean"):
            count = len(column.levels) or 2
            places[column.name] = np.minimum(np.floor(spread * count), count - 1)
        elif column.limits is None:
            places[column.name] = np.full(POINTS, other)
        else:
            low, high = column.limits
            places[column.name] = np.clip(low + (margin + (1 - 2 * margin) * spread) * (high - low), low, high)
            if column.type in ("integer", "date"):
                places[column.name] = np.rint(places[column.name])
    return places
