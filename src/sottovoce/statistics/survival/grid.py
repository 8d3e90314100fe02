"""A public grid of times, and the analyses that count those who leave at each of its points, by group.

A time counts at the first point that is not before it: one in ``(g[k-1], g[k]]`` at ``g[k]``. On whole days and a grid
of days nothing is moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...costs.base import Array, as_floats
from ...data.rows import Rows
from ...data.schema import Column, Schema
from ...data.selection import PlainColumns
from ...errors import InvalidCost, InvalidInput
from ...numerics.grid import equal_steps
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..analysis import CountsAnalysis, check_rows
from ..statistic import Statistic

UNIT_STEPS = 2_000  # so many points at most where a column of whole numbers has one for each of them
BINS = 100  # of a range, unless told otherwise
MOST = 200_000  # numbers that are counted: points, for every group twice
ALL = "all"  # the one group where rows are not grouped


@dataclass(frozen=True, eq=False, kw_only=True)
class TimeToEvent(CountsAnalysis):
    """Times, whether they end with the event, and groups; ``grid`` as ``grid.read_grid`` takes it."""

    time: str
    event: str
    by: str | None = None
    grid: tuple[float, ...] | int | None = None

    def __post_init__(self) -> None:
        time = read_time(self.schema, self.time)
        read_event(self.schema, self.event)
        if len(set(self.selection.columns)) < len(self.selection.columns):
            raise InvalidInput(f"time, event and groups must be different columns; got {self.selection.columns}.")
        for key, name in self._grouping.items():
            read_levels(self.schema, name, key)
        if self.grid is not None:  # given points stay given points, also in a file
            points = read_grid(time, self.grid)
            counted = isinstance(self.grid, int | np.integer)
            object.__setattr__(self, "grid", int(self.grid) if counted else points)  # type: ignore[arg-type]
        if self.counts > MOST:
            count, groups = len(self.points), math.prod(self._sizes)
            raise InvalidInput(
                f"grid must be coarser: {count:,} points, {groups:,} groups, two counts of each, make "
                f"{self.counts:,}, above {MOST:,}."
            )

    @property
    def _grouping(self) -> dict[str, str]:
        """By option the columns that rows are grouped by."""
        return {} if self.by is None else {"by": self.by}

    @cached_property
    def points(self) -> tuple[float, ...]:
        """Of the grid."""
        return read_grid(self.schema[self.time], self.grid)

    @property
    def groups(self) -> tuple[str, ...]:
        """Levels of ``by``."""
        return (ALL,) if self.by is None else read_levels(self.schema, self.by, "by")

    @property
    def selection(self) -> PlainColumns:
        return PlainColumns((self.time, self.event, *self._grouping.values()))

    @property
    def revealed(self) -> list[str]:
        within = "".join(f", by level of {name}" for name in self._grouping.values())
        low, high = self.points[0], self.points[-1]
        return [
            f"the events ({self.event}) and the censorings at each of {len(self.points):,} points in time from {low:g} "
            f"to {high:g}{within}"
        ]

    @property
    def counts(self) -> int:
        return math.prod(self._sizes) * len(self.points) * 2

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(read_levels(self.schema, name, key)) for key, name in self._grouping.items())

    def check(self, rows: Rows, parties: int) -> None:
        check_times(rows, self.time, self.event)

    def cells(self, rows: Rows) -> Integers:
        return departures(rows, self.points, self._sizes).ravel()

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Statistic:
        cells = [self.cells(part).tolist() for part in rows]
        total = agreements.sum(cells, of="events and censorings by point in time and group", counts=True)
        shape = (*(self._sizes or (1,)), len(self.points), 2)
        return self.gives(*agreements.made, **self.answer(total.astype(np.int64).reshape(shape)))

    def answer(self, counts: Integers) -> dict[str, Any]:
        """The values of the result, here of a curve for every group, from how many of all parties leave: censored or
        with an event, at every point, ``(groups, points, 2)``."""
        check_rows(counts)
        asked = {name: getattr(self, name) for name in ("time", "event", "by", "groups")}
        return asked | {"times": np.array(self.points), "events": counts[..., 1], "censored": counts[..., 0]}


def read_grid(column: Column, grid: Any) -> tuple[float, ...]:
    """The points that ``grid`` stands for: themselves, or so many equal steps over the range of the column; by default
    a step for each whole number, if the column has those and not too many, else ``BINS`` steps."""
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
