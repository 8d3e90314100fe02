"""Quantiles and medians, to a stated resolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, is_number
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..analysis import Analysis, check_rows
from ..statistic import Value
from .columns import day, level_column, levels_of, ranged_column
from .finding import Finding, numbers
from .search import Grid, Series, agreed_quantiles, divided, own_counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
        low, high = numbers(self.low), numbers(self.high)
        value = low if self.exact else (low + high) / 2
        return np.asarray(value if self.by else value[0])

    def _facts(self) -> str:
        of = f"{self.column} by {self.by}" if self.by else self.column
        return f"{of}, {self.observations} observations of {self.parties} parties, to {self.resolution:.4g}"

    def _columns(self) -> dict[str, list[Any]]:
        Q, G = len(self.q), len(self.groups)
        ends = {"low": numbers(self.low), "high": numbers(self.high), "value": np.atleast_2d(self.value)}
        by = {self.by: np.repeat(self.groups, Q).tolist()} if self.by else {}
        shares = {"n": np.repeat(np.asarray(self.n), Q).tolist(), "q": np.tile(numbers(self.q), G).tolist()}
        return {**by, **shares, **{name: self._told(values.ravel()) for name, values in ends.items()}}

    def _told(self, values: Array) -> list[Any]:
        if self.type != "date":
            return list(values.tolist())
        return [None if np.isnan(value) else day(value).isoformat() for value in values]

    def _picture(self, path: str | Path | None) -> Figure:
        from ..pictures import plot_rows

        G, Q = numbers(self.low).shape
        names = [f"{q:g} of {group}" if self.by else f"{q:g}" for group in self.groups for q in numbers(self.q)]
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
        given = self.q if isinstance(self.q, Sequence) and not isinstance(self.q, str) else (self.q,)
        if not 1 <= len(given) <= MOST_QUANTILES or not all(is_number(q) and 0 <= q <= 1 for q in given):
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
        return [Series(self.grid, values_of(0, 1 if self.by else None, g), self.q) for g in range(len(self._groups))]

    def cells(self, rows: Rows) -> Integers:
        """Those of the first round: others depend on what was agreed before."""
        series, edges = self._series(), divided((0, self.grid.cells), self.ways)
        return own_counts(rows, series, [[edges]] * len(series))

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Quantiles:
        series = self._series()
        of = f"rows in intervals of {self.column}" + (f", by {self.by}" if self.by else "")
        agreed_quantiles(agreements, rows, series, self.ways, of)
        n = np.array([each.n for each in series])
        check_rows(n)
        low, high = (np.array(ends) for ends in zip(*(each.ends() for each in series), strict=True))
        asked = self.column, self.schema[self.column].type, self.by, self._groups
        return Quantiles(*agreements.made, *asked, n, np.array(self.q), low, high, self.grid.step)

    @property
    def revealed(self) -> list[str]:
        by = f", by {self.by}" if self.by else ""
        return [f"the rows in up to {self.counts} intervals of {self.column}, as narrow as {self.grid.step:g}{by}"]

    @property
    def stages(self) -> int:
        return self.grid.rounds(self.ways)

    @property
    def numbers(self) -> int:
        return 0

    @property
    def counts(self) -> int:
        return len(self._groups) * most_counts(self.grid, self.ways, len(self.q))

    @property
    def parameters(self) -> int:
        return len(self.q) * len(self._groups)


def values_of(place: int, by: int | None, group: int) -> Any:
    """Of a block the values of a column, of all rows or of those of a group."""
    if by is None:
        return lambda block: block[:, place]
    return lambda block: block[block[:, by] == group, place]


def most_counts(grid: Grid, ways: int, quantiles: int) -> int:
    """Counts that a search takes of one series, at most."""
    return ways * (1 + (grid.rounds(ways) - 1) * quantiles)


def check_ways(ways: Any) -> None:
    """Into how many parts an interval is divided."""
    if isinstance(ways, bool) or not isinstance(ways, int | np.integer) or not 2 <= ways <= MOST_WAYS:
        raise InvalidInput(f"ways must be an integer from 2 to {MOST_WAYS:,}; got {ways!r}.")
