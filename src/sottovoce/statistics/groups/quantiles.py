"""Quantiles to a stated resolution: counts in public intervals, of which the one with the quantile is divided further.

The ``k``-th smallest of ``n`` values, ``k = ceil(q n)``, lies in one of ``ways`` intervals that divide the range. Their
counts tell which; it is divided in turn, until it is as short as was asked for. All decisions follow from integers that
all parties share, so that all of them ask for the same counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.schema import Column
from ...data.selection import PlainColumns
from ...errors import InvalidInput
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..analysis import Analysis, check_rows
from ..statistic import Value
from .columns import by_words, day, level_column, levels_of, ranged_column
from .finding import Finding
from .group_moments import row_counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Bracket = tuple[int, int]  # cells of a grid, from the first and up to the second
MOST = 2.0**40  # cells of a grid
STEPS = 2**20
MOST_QUANTILES = 100
MOST_WAYS = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles(Finding):
    """What ``Study.quantiles`` and ``Study.median`` return, besides the fields of ``Statistic``.

    A quantile is the smallest value ``x`` such that a share ``q`` of all values is at most ``x``: NumPy's method
    ``"inverted_cdf"``. It lies in ``low <= x < high``, for certain; in the last interval of the range ``x <= high``.

    Attributes
    ----------
    column : str
        Of which.
    type : str
        Of that column; dates are days since 1970-01-01.
    by : str or None
        The column that groups rows.
    groups : tuple of str
        Its levels; ``("all",)`` without one.
    n : ndarray of int
        Values of each group.
    q : ndarray
        Shares.
    low, high : ndarray
        ``(groups, q)``; NaN of an empty group.
    resolution : float
        How long an interval is.

    Examples
    --------
    >>> import sottovoce as sv
    >>> tables = [{"age": [61, 58]}, {"age": [40]}, {"age": [44, 70, 33]}]
    >>> study = sv.Study(sv.Network.ring(3), tables, schema={"age": {"type": "integer", "range": (0, 120)}})
    >>> study.quantiles("age", (0.25, 0.5, 0.75)).value.tolist()
    [40.0, 44.0, 61.0]
    """

    column: Value[str] = Value()
    type: Value[str] = Value()
    by: Value[str | None] = Value()
    groups: Value[tuple[str, ...]] = Value()
    n: Value[Integers] = Value()
    q: Value[Array] = Value()
    low: Value[Array] = Value()
    high: Value[Array] = Value()
    resolution: Value[float] = Value()

    title: ClassVar[str] = "Quantiles"
    derived: ClassVar[tuple[str, ...]] = ("value",)

    @property
    def observations(self) -> int:
        """Values of all groups."""
        return int(np.sum(self.n))

    @property
    def exact(self) -> bool:
        """Whether an interval has a single value in it."""
        return self.type in ("integer", "date") and self.resolution == 1

    @property
    def value(self) -> Array:
        """The quantiles where they are exact, else the middles of their intervals: ``(q,)``, or ``(groups, q)`` with
        groups."""
        low, high = self.low, self.high
        value = low if self.exact else (low + high) / 2
        return np.asarray(value if self.by else value[0])

    def _facts(self) -> str:
        of = f"{self.column} by {self.by}" if self.by else self.column
        return f"{of}, {self.observations} observations of {self.parties} parties, to {self.resolution:.4g}"

    def _columns(self) -> dict[str, list[Any]]:
        Q, G = len(self.q), len(self.groups)
        ends = {"low": self.low, "high": self.high, "value": np.atleast_2d(self.value)}
        by = {self.by: np.repeat(self.groups, Q).tolist()} if self.by else {}
        shares = {"n": np.repeat(self.n, Q).tolist(), "q": np.tile(self.q, G).tolist()}
        return {**by, **shares, **{name: self._told(values.ravel()) for name, values in ends.items()}}

    def _told(self, values: Array) -> list[Any]:
        if self.type != "date":
            return list(values.tolist())
        return [None if np.isnan(value) else day(value).isoformat() for value in values]

    def _picture(self, path: str | Path | None) -> Figure:
        from ..pictures import plot_rows

        G, Q = self.low.shape
        names = [f"{q:g} of {group}" if self.by else f"{q:g}" for group in self.groups for q in self.q]
        value = np.atleast_2d(self.value).reshape(G * Q)
        there = ~np.isnan(value)
        shown = [name for name, own in zip(names, there, strict=True) if own]
        return plot_rows(path, shown, value[there], None, self._facts(), f"quantiles of {self.column}")


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantilesAnalysis(Analysis):
    """``q``: shares. ``resolution``: how long an interval may be in the end; a 2^20th of the range, or 1 for whole
    numbers and days, unless told. ``ways``: into how many parts an interval is divided in each round."""

    column: str = ""
    q: tuple[float, ...] = (0.25, 0.5, 0.75)
    resolution: float | None = None
    by: str | None = None
    ways: int = 16

    type: ClassVar[str] = "quantiles"
    gives = Quantiles
    counts_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        ranged_column(self.schema, self.column, "column")
        given = np.ravel(self.q).tolist()
        if not 1 <= len(given) <= MOST_QUANTILES or not all(0 <= q <= 1 for q in given):
            raise InvalidInput(f"q must be numbers from 0 to 1, at most {MOST_QUANTILES}; got {self.q!r}.")
        object.__setattr__(self, "q", tuple(map(float, given)))
        check_ways(self.ways)
        if self.by is not None:
            level_column(self.schema, self.by, "by")
        object.__setattr__(self, "resolution", self.grid.step)

    @cached_property
    def grid(self) -> Grid:
        """Where the range may be cut."""
        steps = STEPS if self.schema[self.column].type == "number" else 2**53
        return Grid.of(self.schema[self.column], self.resolution, steps)

    @property
    def selection(self) -> PlainColumns:
        return PlainColumns((self.column, *([self.by] if self.by else [])))

    @property
    def _groups(self) -> tuple[str, ...]:
        return levels_of(self.schema[self.by]) if self.by else ("all",)

    def _series(self) -> list[Series]:
        by = 1 if self.by else None
        return [Series(self.grid, self.q, place=0, by=by, group=g) for g in range(len(self._groups))]

    def cells(self, rows: Rows) -> Integers:
        """Counts of the first round: others depend on what was agreed before."""
        series, edges = self._series(), divided((0, self.grid.cells), self.ways)
        return own_counts(rows, series, [[edges]] * len(series))

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Quantiles:
        series = self._series()
        of = f"rows in intervals of {self.column}{by_words(self.by)}"
        agreed_quantiles(agreements, rows, series, self.ways, of)
        n = np.array([each.n for each in series])
        check_rows(n)
        low, high = (np.array(ends) for ends in zip(*(each.ends() for each in series), strict=True))
        asked = self.column, self.schema[self.column].type, self.by, self._groups
        return Quantiles(*agreements.made, *asked, n, np.array(self.q), low, high, self.grid.step)

    @property
    def revealed(self) -> list[str]:
        narrow = f"as narrow as {self.grid.step:g}{by_words(self.by)}"
        return [f"the rows in up to {self.counts} intervals of {self.column}, {narrow}"]

    @property
    def stages(self) -> int:
        return self.grid.rounds(self.ways)

    numbers = 0

    @property
    def counts(self) -> int:
        return len(self._groups) * most_counts(self.grid, self.ways, len(self.q))

    @property
    def parameters(self) -> int:
        return len(self.q) * len(self._groups)


def most_counts(grid: Grid, ways: int, quantiles: int) -> int:
    """Counts that a search takes of one series, at most."""
    return ways * (1 + (grid.rounds(ways) - 1) * quantiles)


def check_ways(ways: int) -> None:
    """Into how many parts an interval is divided."""
    if not 2 <= ways <= MOST_WAYS:
        raise InvalidInput(f"ways must be an integer from 2 to {MOST_WAYS:,}; got {ways!r}.")


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
        if countable and resolution is None:
            step = max(1.0, float(math.ceil(step)))
        if not 0 < step < math.inf or (high - low) / step > MOST or high + step == high:
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

    ``place``: of the column; ``by``: of the one that groups rows, if any. ``brackets``: of each quantile; ``below``:
    values that are smaller.
    """

    grid: Grid
    quantiles: Sequence[float]
    place: int
    by: int | None
    group: int
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
        if not self.brackets:
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

    def counts_in(self, block: Array, edges: Integers) -> Integers:
        """Values in each part of a bracket; the ends of the range are open, as no value lies beyond."""
        cuts = self.grid.cut(edges)
        cuts[0] = -np.inf if edges[0] == 0 else cuts[0]
        cuts[-1] = np.inf if edges[-1] == self.grid.cells else cuts[-1]
        rows = block if self.by is None else block[block[:, self.by] == self.group]
        part = np.searchsorted(cuts, rows[:, self.place], side="right")
        return np.asarray(np.bincount(part, minlength=len(cuts) + 1)[1:-1])

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
    brackets = [(each, cells) for each, own in zip(series, edges, strict=True) for cells in own]
    return row_counts(rows, lambda block: np.concatenate([each.counts_in(block, cells) for each, cells in brackets]))
