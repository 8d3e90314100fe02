"""What tests of a number by group share: the question, and means and variances of every group."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import Undetermined
from ...pdmm.modular_mask import Integers, check_size
from ..agreements import Agreements
from ..analysis import Analysis
from ..statistic import Value
from .columns import chosen_levels, frame, level_column, levels_of, number_column
from .finding import Finding, numbers
from .moments import MOMENT_COUNTS, MOMENT_STAGES, Grouped, Moments, agreed_moments, grouping


@dataclass(frozen=True, eq=False, repr=False)
class ByGroup(Finding):
    """A number by group, besides the fields of ``Statistic``.

    Attributes
    ----------
    column : str
        The number.
    by : str or None
        The column that groups rows.
    levels : tuple of str
        Of the groups.
    n : ndarray of int
        Rows of each group.
    mean, variance : ndarray
        Of each group; variances are unbiased. NaN where a group has too few rows.
    """

    column: Value[str] = Value()
    by: Value[str | None] = Value()
    levels: Value[tuple[str, ...]] = Value()
    n: Value[Integers] = Value()
    mean: Value[Array] = Value()
    variance: Value[Array] = Value()

    @property
    def observations(self) -> int:
        """Rows of all groups."""
        return int(np.sum(self.n))

    @property
    def sd(self) -> Array:
        """Standard deviations of the groups."""
        return np.sqrt(numbers(self.variance))

    def _facts(self) -> str:
        of = f"{self.column} by {self.by}" if self.by else self.column
        return f"{of}, {self.observations} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        spread = {"mean": numbers(self.mean), "sd": self.sd}
        values = {name: values.tolist() for name, values in spread.items()}
        return {self.by or "group": list(self.levels), "n": np.asarray(self.n).tolist(), **values}

    def _picture(self, path: Any) -> Any:
        """Means of the groups that have one, with 95 % intervals of their own."""
        from scipy.special import stdtrit

        from ..pictures import plot_rows

        n, mean = np.asarray(self.n), numbers(self.mean)
        there = n > 1
        reach = stdtrit(np.maximum(n - 1, 1), 0.975) * self.sd / np.sqrt(np.maximum(n, 1))
        intervals = np.column_stack([mean - reach, mean + reach])[there]
        names = [level for level, own in zip(self.levels, there, strict=True) if own]
        return plot_rows(path, names, mean[there], intervals, self._facts(), f"mean of {self.column}, 95 % interval")


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(Analysis, ABC):
    """``column``: a number. ``by``: a category or a boolean. ``levels``: those that are compared; all, unless told."""

    column: str = ""
    by: str | None = None
    levels: tuple[str, ...] | None = None

    least: ClassVar[int] = 2  # levels

    def __post_init__(self) -> None:
        number_column(self.schema, self.column, "column")
        by = level_column(self.schema, self.by, "by")
        object.__setattr__(self, "levels", chosen_levels(by, self.levels, "levels", self.least))

    @property
    def selection(self) -> PlainColumns:
        assert self.by is not None
        return PlainColumns((self.column, self.by))

    @cached_property
    def frame(self) -> tuple[float, float]:
        """A public centre and unit of the number."""
        return frame(self.schema[self.column])

    @property
    def ranged(self) -> bool:
        """Whether the number is known to be at most 1 in that unit."""
        return self.schema[self.column].limits is not None

    @cached_property
    def grouped(self) -> Grouped:
        """The number, by group."""
        assert self.by is not None
        assert self.levels is not None
        known = levels_of(self.schema[self.by])
        group = grouping(1, [known.index(level) for level in self.levels], len(known))
        return Grouped(_first, group, len(self.levels))

    def cells(self, rows: Rows) -> Integers:
        return self.grouped.counts(rows)

    def check(self, rows: Rows, parties: int) -> None:
        check_size(np.array([len(rows)]), self.counting, parties)

    def agreed_counts(self, agreements: Agreements, rows: Sequence[Rows]) -> Integers:
        """Rows of each group; refused where one has none."""
        own = np.array([self.grouped.counts(part) for part in rows])
        n = agreements.total(own, self.counting, of_rows=False, of=f"rows by {self.by}" if self.by else "rows")
        if not n.any():
            raise Undetermined("no party has any rows" + (f" of these levels of {self.by!r}." if self.by else "."))
        return n

    def agreed_moments(self, agreements: Agreements, rows: Sequence[Rows], n: Integers) -> Moments:
        """Means and variances ``(local, G, 1)``."""
        centre, unit = self.frame
        powers = [self.grouped.powers(part) for part in rows]
        of = f"values of {self.column}" + (f" by {self.by}" if self.by else "")
        about = np.array([centre]), np.array([unit])
        return agreed_moments(agreements, self.mask, n, powers, *about, of=of, ranged=self.ranged)

    @property
    def revealed(self) -> list[str]:
        of = f", by {self.by}" if self.by else ""
        return [f"the number of rows{of}", f"values of {self.column}, and their squares{of}"]

    @property
    def stages(self) -> int:
        return 2 + MOMENT_STAGES  # counts, and a vote whether anything varies

    @property
    def numbers(self) -> int:
        return 4 * self.grouped.groups

    @property
    def counts(self) -> int:
        return (1 + MOMENT_COUNTS) * self.grouped.groups + 1

    @property
    def parameters(self) -> int:
        return self.grouped.groups


def unbiased(n: Integers, variance: Array) -> Array:
    """The variance about the mean per degree of freedom; NaN of a single row."""
    return np.where(n > 1, variance * n / np.maximum(n - 1, 1), np.nan)


def within(n: Integers, variance: Array) -> Array:
    """The deviation within groups, ``(local,)``, of variances ``(local, G, 1)``."""
    return np.asarray(np.sqrt(np.nansum(variance[:, :, 0] * n, axis=1) / n.sum()))


def _first(block: Array) -> Array:
    return block[:, :1]
