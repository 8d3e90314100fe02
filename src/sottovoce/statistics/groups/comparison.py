"""What tests of a number by group share: the question, and means and variances of every group."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import Undetermined
from ...pdmm.modular_mask import Integers
from ...sums import Whole
from ..agreements import Agreements, unless_beyond
from ..analysis import Analysis
from ..fewer_digits import Rounding, agreed_rounding
from ..statistic import Value
from .columns import bounds_of, chosen_levels, level_column, levels_of, number_column
from .finding import Finding, left_out, numbers
from .group_moments import Bounds, Grouping, GroupMoments, off_by_rounding, own_sums, rounded_sums

Units = tuple[Fraction, ...]  # of the columns of rows


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

    def _notes(self) -> list[str]:
        return left_out(f"levels of {self.by}", self.levels, np.asarray(self.n))

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

    @property
    def grouping(self) -> Grouping:
        """By the levels that are compared."""
        assert self.by is not None
        assert self.levels is not None
        known = levels_of(self.schema[self.by])
        return Grouping(1, tuple(known.index(level) for level in self.levels), len(known))

    def cells(self, rows: Rows) -> Integers:
        return self.grouping.counts(rows)

    def agreed_moments(
        self, agreements: Agreements, rows: Sequence[Rows], units: Units, rounding: Rounding | None
    ) -> GroupMoments:
        """Of the number by group; refused where no group has rows."""
        groups = self.grouping.groups
        of = f"rows, values of {self._of}, and their squares" + (f", by {self.by}" if self.by else "")

        def own(part: Rows) -> Whole:
            return rounded_sums(self._own_sums(part, units), rounding, [0], groups)

        total = agreements.sum([unless_beyond(own, part) for part in rows], of=of, counts=groups, size=3 * groups)
        off = off_by_rounding(rounding, [0])
        moments = GroupMoments.of_totals(total, [self._unit(units)], [self._bounds(units)], groups, off)
        if not moments.n.any():
            raise Undetermined("no party has any rows" + (f" of these levels of {self.by!r}." if self.by else "."))
        return moments

    def agreed_rounding(self, agreements: Agreements, rows: Sequence[Rows], units: Units) -> Rounding | None:
        """Of the number, by group."""
        return agreed_rounding(agreements, rows, [0], units, self.grouping.counts)

    def _own_sums(self, rows: Rows, units: Units) -> Whole:
        return own_sums(rows, self.grouping, [0], units[:1])

    def _unit(self, units: Units) -> Fraction:
        """Of the number."""
        return units[0]

    def _bounds(self, units: Units) -> Bounds:
        """Between which the number lies."""
        return bounds_of(self.schema[self.column], units[0])

    @property
    def _of(self) -> str:
        """What is compared."""
        return self.column

    @property
    def revealed(self) -> list[str]:
        of = f", by {self.by}" if self.by else ""
        return [f"the number of rows{of}", f"values of {self._of}, and their squares{of}"]

    @property
    def stages(self) -> int:
        return 1

    @property
    def numbers(self) -> int:
        return 3 * self.grouping.groups

    @property
    def counts(self) -> int:
        return 0

    @property
    def parameters(self) -> int:
        return self.grouping.groups
