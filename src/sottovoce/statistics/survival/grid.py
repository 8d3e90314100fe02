"""A public grid of times, and the counts of those who leave at each of its points.

A time counts at the first point that is not before it: one in ``(g[k-1], g[k]]`` at ``g[k]``. On whole days and a grid
of days nothing is moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...costs.base import Array, as_floats
from ...data.rows import Rows
from ...data.schema import Column, Schema
from ...errors import InvalidCost, InvalidInput
from ...numerics.grid import equal_steps
from ...pdmm.modular_mask import Integers

UNIT_STEPS = 2_000  # so many points at most where a column of whole numbers has one for each of them
BINS = 100  # of a range, unless told otherwise
MOST = 200_000  # numbers that are counted: points, for every group twice

Grid = Sequence[float] | int | None


def read_grid(column: Column, grid: Any) -> tuple[float, ...]:
    """The points that ``grid`` stands for: themselves; so many equal steps over the range of the column; by default a
    step for each whole number, if the column has those and not too many, else ``BINS`` steps."""
    if grid is None or (isinstance(grid, int | np.integer) and not isinstance(grid, bool)):
        if column.limits is None or column.limits[1] <= 0:
            raise InvalidInput(
                f"grid must be points in time here, as the schema has no range of {column.name!r} that it could be "
                "made of: give it, [30, 60, 90], or add a range."
            )
        low, high = max(column.limits[0], 0.0), column.limits[1]
        if grid is None and column.type == "integer" and high - low <= UNIT_STEPS:
            return tuple(np.arange(low, high + 1).tolist())
        steps = BINS if grid is None else int(grid)
        if not 1 <= steps <= MOST:
            raise InvalidInput(f"grid must have 1 to {MOST:,} steps; got {grid!r}.")
        return tuple(equal_steps(low, high, steps).tolist())
    try:
        points = as_floats(grid, "grid")
    except InvalidCost:
        points = np.empty(0)
    if points.ndim != 1 or not len(points) or not np.isfinite(points).all() or (np.diff(points) <= 0).any():
        raise InvalidInput(f"grid must be finite times in increasing order, or a number of steps; got {grid!r}.")
    if points[0] < 0 or points[-1] == 0:
        raise InvalidInput(f"grid must have times from 0 on, and one above it; got {grid!r}.")
    return tuple(points.tolist())


def read_time(schema: Schema, name: Any, key: str = "time") -> Column:
    """The column that holds times, which are lengths and no dates."""
    column = read_column(schema, name, key)
    if column.type not in ("number", "integer"):
        raise InvalidInput(
            f"{key} must be a column of numbers, the time from a start; {name!r} is a {column.type}. "
            + ("Make a column of the days between two dates." if column.type == "date" else "Choose another.")
        )
    return column


def read_event(schema: Schema, name: Any, key: str = "event") -> Column:
    """The column that says whether a time ends with the event (1, true) or is censored (0, false)."""
    column = read_column(schema, name, key)
    if column.type not in ("boolean", "integer", "number"):
        raise InvalidInput(
            f"{key} must be a boolean, or 0 and 1: whether a time ends with the event; {name!r} is a {column.type}."
        )
    return column


def read_levels(schema: Schema, name: Any, key: str) -> tuple[str, ...]:
    """What the rows are grouped by."""
    column = read_column(schema, name, key)
    if column.type == "boolean":
        return ("false", "true")
    if column.type != "category":
        raise InvalidInput(f"{key} must be a category or a boolean; {name!r} is a {column.type}. Make groups of it.")
    return column.levels


def read_column(schema: Schema, name: Any, key: str) -> Column:
    """Of the schema, or a sentence that begins with the key."""
    if not isinstance(name, str):
        raise InvalidInput(f"{key} must be the name of a column; got {name!r}.")
    try:
        return schema.restricted([name])[name]
    except InvalidInput as error:
        raise InvalidInput(f"{key} must be a column: {error}") from None


def check_times(rows: Rows, time: str, event: str, at: int = 0) -> None:
    """Refuse a party's times below 0, and events that are neither 0 nor 1, in columns ``at`` and ``at + 1``."""

    def faults(block: Array) -> Integers:
        t, d = block[:, at], block[:, at + 1]
        return np.column_stack([t < 0, (d != 0) & (d != 1)]).astype(np.int64)

    below, other = rows.totals(faults).tolist()
    if below:
        raise InvalidInput(
            f"column {time!r} has times below 0. Times are counted from a start, such as the day of diagnosis: correct "
            "them, or leave those rows out."
        )
    if other:
        raise InvalidInput(
            f"column {event!r} has numbers beside 0 and 1: 1 stands for an event, 0 for a censored time."
        )


def departures(rows: Rows, points: Sequence[float], groups: Sequence[int] = ()) -> Integers:
    """How many of a party's rows leave at each point, ``(*groups, points, 2)``: censored first, then with an event.
    Rows are ``(time, event, *groups)``, groups as the places of their levels. Who is observed beyond the last point is
    censored there."""
    at, shape = np.asarray(points), (*groups, len(points), 2)

    def of_block(block: Array) -> Integers:
        place = np.searchsorted(at, block[:, 0], side="left")
        event = np.where(place < len(at), block[:, 1], 0.0)
        index = (*block[:, 2:].T, np.minimum(place, len(at) - 1), event)
        flat = np.ravel_multi_index(tuple(np.rint(each).astype(np.int64) for each in index), shape)
        return np.bincount(flat, minlength=int(np.prod(shape)))[None]

    return rows.totals(of_block).astype(np.int64).reshape(shape)
