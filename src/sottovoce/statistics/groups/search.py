"""Quantiles by a search for them: counts in public intervals, of which the one with the quantile is divided further.

The ``k``-th smallest of ``n`` values, ``k = ceil(q n)``, lies in one of ``ways`` intervals that divide the range. Their
counts tell which; it is divided in turn, until it is as short as was asked for. All decisions follow from integers that
all parties share, so that all of them ask for the same counts. After ``r`` rounds an interval is ``ways^r`` times
shorter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.schema import Column
from ...errors import InvalidInput, is_number
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from .group_moments import row_counts

Bracket = tuple[int, int]  # cells of a grid, from the first and up to the second
MOST = 2.0**40  # cells of a grid


@dataclass(frozen=True)
class Grid:
    """Public cut points ``low, low + step, ..`` that divide the range of a column into ``cells``; the last one ends at
    ``high``."""

    low: float
    high: float
    step: float
    cells: int
    whole: bool  # whether a cell has a single value in it

    @classmethod
    def of(cls, column: Column, resolution: float | None, steps: int) -> Grid:
        """Cells as long as ``resolution``, else so many ``steps``; whole numbers and days are not divided."""
        assert column.limits is not None
        low, high = column.limits
        countable = column.type in ("integer", "date")
        step = (high - low) / steps if resolution is None else resolution
        if countable:
            step = max(1.0, float(math.ceil(step))) if resolution is None else step
        if not (is_number(step) and 0 < step < math.inf) or (high - low) / step > MOST or high + step == high:
            raise InvalidInput(
                f"resolution must be a positive number, a 2^40th of the range of {column.name!r} or more; got {step!r}."
            )
        if countable and step != int(step):
            raise InvalidInput(
                f"resolution must be a whole number for the {column.type} {column.name!r}; got {step:g}."
            )
        if countable:
            return cls(low, high + 1.0, float(step), int((high - low) // step) + 1, step == 1)
        return cls(low, high, float(step), max(1, math.ceil((high - low) / step)), False)

    def cut(self, cell: int | Integers) -> Array:
        """Where a cell begins."""
        return np.asarray(np.where(np.asarray(cell) < self.cells, self.low + np.asarray(cell) * self.step, self.high))

    def rounds(self, ways: int) -> int:
        """Until a bracket has one cell."""
        width, count = -(-self.cells // ways), 1
        while width > 1:
            width, count = -(-width // ways), count + 1
        return count


@dataclass
class Series:
    """Values of one column in one group, and how far the search for their quantiles is.

    ``values``: of a block, those of the group. ``brackets``: of each quantile; ``below``: values that are smaller.
    """

    grid: Grid
    values: Callable[[Array], Array]
    quantiles: Sequence[float]
    n: int = 0
    brackets: list[Bracket] = field(default_factory=list)
    below: list[int] = field(default_factory=list)

    def open(self) -> list[Bracket]:
        """Brackets that are to be divided; at first the whole range."""
        if not self.brackets:
            return [(0, self.grid.cells)]
        return sorted({(a, b) for a, b in self.brackets if b - a > 1}) if self.n else []

    def counted(self, brackets: Sequence[Bracket], ways: int, counts: Integers) -> None:
        """Go on with the counts in their parts."""
        first = not self.brackets
        if first:
            self.n = int(counts.sum())
            self.brackets, self.below = [brackets[0]] * len(self.quantiles), [0] * len(self.quantiles)
        for bracket in brackets:
            edges = divided(bracket, ways)
            own, counts = counts[: len(edges) - 1], counts[len(edges) - 1 :]
            for k in [k for k, current in enumerate(self.brackets) if current == bracket]:
                rank = max(1, math.ceil(self.quantiles[k] * self.n)) if self.n else 0
                part = int(np.searchsorted(self.below[k] + np.cumsum(own), rank)) if self.n else 0
                self.brackets[k] = int(edges[part]), int(edges[part + 1])
                self.below[k] += int(own[:part].sum())

    def ends(self) -> tuple[Array, Array]:
        """Of the interval of each quantile; NaN without values."""
        if not self.n:
            return np.full(len(self.quantiles), np.nan), np.full(len(self.quantiles), np.nan)
        brackets = np.array(self.brackets)
        return self.grid.cut(brackets[:, 0]), self.grid.cut(brackets[:, 1])


def divided(bracket: Bracket, ways: int) -> Integers:
    """Edges of its parts, of one length or nearly."""
    a, b = bracket
    return np.unique(a + (b - a) * np.arange(ways + 1) // ways)


def agreed_quantiles(
    agreements: Agreements, rows: Sequence[Rows], series: Sequence[Series], ways: int, of: str
) -> None:
    """Search for the quantiles of all series side by side, in as many agreements as the longest takes."""
    before = len(agreements.shown)
    while any(brackets := [each.open() for each in series]):
        edges = [[divided(bracket, ways) for bracket in own] for own in brackets]

        own = [own_counts(part, series, edges).tolist() for part in rows]
        total = agreements.sum(own, of=of, counts=True, iterate=True).astype(np.int64)
        for each, asked, cells in zip(series, brackets, edges, strict=True):
            width = sum(len(parts) - 1 for parts in cells)
            if asked:
                each.counted(asked, ways, total[:width])
            total = total[width:]
    if len(agreements.shown) > before:  # all but the last were steps on the way
        agreements.shown[-1] = replace(agreements.shown[-1], iterate=False)


def own_counts(rows: Rows, series: Sequence[Series], edges: Sequence[Sequence[Integers]]) -> Integers:
    """A party's values in each part of the brackets of all series."""

    def of_block(block: Array) -> Integers:
        found = [
            counts_in(each, each.values(block), cells) for each, own in zip(series, edges, strict=True) for cells in own
        ]
        return np.concatenate(found)

    return row_counts(rows, of_block)


def counts_in(series: Series, x: Array, edges: Integers) -> Integers:
    """Values in each part of a bracket; the ends of the range are open, as no value lies beyond."""
    cuts = series.grid.cut(edges)
    cuts[0] = -np.inf if edges[0] == 0 else cuts[0]
    cuts[-1] = np.inf if edges[-1] == series.grid.cells else cuts[-1]
    place = np.searchsorted(cuts, x, side="right")
    return np.asarray(np.bincount(place, minlength=len(cuts) + 1)[1:-1])
