"""What the analyses of times to an event ask for: events and censorings at the points of a public grid, by group.

These are counts of rows, in one agreement: nothing is given away beyond their sums.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..analysis import CountsAnalysis, check_rows
from ..statistic import Statistic
from .grid import MOST, check_times, departures, read_event, read_grid, read_levels, read_time

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
            raise InvalidInput(
                f"grid must be coarser: {len(self.points):,} points, {self.counts // (2 * len(self.points)):,} groups"
                f", two counts of each, make {self.counts:,}, above {MOST:,}."
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
        return int(np.prod([*self._sizes, len(self.points), 2]))

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

    @abstractmethod
    def answer(self, counts: Integers) -> dict[str, Any]:
        """The values of the result, from how many of all parties leave: censored or with an event, at every point,
        ``(groups, points, 2)``."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OfCurves(TimeToEvent):
    """An analysis whose result is a curve for every group."""

    def answer(self, counts: Integers) -> dict[str, Any]:
        check_rows(counts)
        return {
            "time": self.time,
            "event": self.event,
            "by": self.by,
            "groups": self.groups,
            "times": np.array(self.points),
            "events": counts[..., 1],
            "censored": counts[..., 0],
        }
