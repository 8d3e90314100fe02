"""Columns of all kinds, described side by side and by group: what ``describe`` and ``table_one`` are made of.

Numbers have means and deviations, and quartiles where they are asked for; categories have counts. The smallest and the
largest value are left out: each is a person's.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput
from ...pdmm.modular_mask import Integers
from ...sums import Whole
from ..agreements import Agreements, unless_beyond
from ..analysis import Analysis, check_rows
from ..fewer_digits import Rounding, agreed_rounding
from .cohort import Cohort
from .columns import NUMBERS, bounds_of, column_of, levels_of
from .comparison import Units
from .group_moments import ALL_ROWS, Grouping, GroupMoments, off_by_rounding, own_sums, rounded_sums, row_counts
from .quantiles import check_ways, most_counts, values_of
from .search import Grid, Series, agreed_quantiles

QUARTILES = (0.25, 0.5, 0.75)
MOST_STEPS = 2**20


@dataclass(frozen=True, eq=False, kw_only=True)
class CohortAnalysis(Analysis, ABC):
    """``columns``: what is described, all columns of the schema unless told; ``by``, which groups rows, comes last.
    ``steps``: into how many parts a range is divided for quartiles. ``ways``: see ``QuantilesAnalysis``."""

    columns: tuple[str, ...] = ()
    by: str | None = None
    steps: int = 2**16
    ways: int = 16

    def __post_init__(self) -> None:
        given = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns or self.schema)
        names = [column_of(self.schema, name, "columns").name for name in given]
        if len(set(names)) < len(names):
            raise InvalidInput("columns must be different ones.")
        names = [name for name in names if name != self.by]
        if not names:
            raise InvalidInput("columns must have another one than by.")
        object.__setattr__(self, "columns", (*names, *([self.by] if self.by else [])))
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or not 2 <= self.steps <= MOST_STEPS:
            raise InvalidInput(f"steps must be an integer from 2 to {MOST_STEPS:,}; got {self.steps!r}.")
        check_ways(self.ways)

    @property
    def selection(self) -> PlainColumns:
        return PlainColumns(self.columns)

    # What follows from schema and question

    @property
    def described(self) -> tuple[str, ...]:
        """The columns but ``by``."""
        return self.columns[:-1] if self.by else self.columns

    @property
    def groups(self) -> tuple[str, ...]:
        """What rows are divided into."""
        return levels_of(self.schema[self.by]) if self.by else ("all",)

    @property
    def quartered(self) -> tuple[str, ...]:
        """Columns of which quartiles are asked for."""
        raise NotImplementedError

    @cached_property
    def _numeric(self) -> list[int]:
        return [k for k, name in enumerate(self.described) if self.schema[name].type in NUMBERS]

    @cached_property
    def _categories(self) -> list[tuple[int, tuple[str, ...]]]:
        return [(k, levels_of(self.schema[name])) for k, name in enumerate(self.described) if k not in self._numeric]

    @cached_property
    def _grids(self) -> dict[int, Grid]:
        return {
            self.described.index(name): Grid.of(self.schema[name], None, self.steps)
            for name in self.quartered
        }  # fmt: skip

    @cached_property
    def _grouping(self) -> Grouping:
        G = len(self.groups)
        return Grouping(len(self.columns) - 1, tuple(range(G)), G) if self.by else ALL_ROWS

    # The program

    def cells(self, rows: Rows) -> Integers:
        G, group_of = len(self.groups), self._grouping.group_of

        def of_block(block: Array) -> Integers:
            own = group_of(block)
            found = [np.bincount(own, minlength=G)]
            for k, levels in self._categories:
                found.append(np.bincount(block[:, k].astype(np.int64) * G + own, minlength=len(levels) * G))
            return np.concatenate(found)

        return row_counts(rows, of_block)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Cohort:
        d, G = len(self.described), len(self.groups)
        level_counts, moments = self._agreed(agreements, rows)
        check_rows(moments.n)
        mean, sd, quartiles = np.full((d, G), np.nan), np.full((d, G), np.nan), np.full((d, G, 3), np.nan)
        mean[self._numeric], sd[self._numeric] = moments.means.T, np.sqrt(moments.variances).T
        for k, own in self._quartiles(agreements, rows).items():
            quartiles[k] = own
        values: dict[str, Any] = {
            "names": self.described, "types": tuple(self.schema[name].type for name in self.described), "by": self.by,
            "groups": self.groups, "n": moments.n, "mean": mean, "sd": sd, "quartiles": quartiles,
            "resolution": np.array([self._grids[k].step if k in self._grids else np.nan for k in range(d)]),
            "level_of": np.array([k for k, levels in self._categories for _ in levels], dtype=np.int64),
            "level_names": tuple(level for _, levels in self._categories for level in levels),
            "level_counts": level_counts,
        }  # fmt: skip
        return self._answer(agreements, values, moments)

    def _answer(self, agreements: Agreements, values: dict[str, Any], moments: GroupMoments) -> Cohort:
        return self.gives(*agreements.made, **values)  # type: ignore[return-value]

    def _agreed(self, agreements: Agreements, rows: Sequence[Rows]) -> tuple[Integers, GroupMoments]:
        """Counts of levels, ``(levels, groups)``, and the moments of the numbers by group: one agreement."""
        units, G = agreements.units(rows, self.units), len(self.groups)
        columns = [self.schema[self.described[k]] for k in self._numeric]
        rounding = agreed_rounding(agreements, rows, self._numeric, units, self._grouping.counts) if columns else None
        own = [unless_beyond(partial(self._own_sums, part, units, rounding)) for part in rows]
        told = ["rows", *(["rows of each level"] * bool(self._categories)), *(["values", "squares"] * bool(columns))]
        of, counts = ", ".join(told) + (f", by {self.by}" if self.by else ""), self._cells if columns else True
        total = agreements.sum(own, of=of, counts=counts, size=self._cells + 2 * G * len(columns))
        bounds = [bounds_of(column, units[k]) for k, column in zip(self._numeric, columns, strict=True)]
        off = off_by_rounding(rounding, self._numeric)
        n, level_counts, sums = np.split(total, [G, self._cells])
        moments = GroupMoments.of_totals(np.concatenate([n, sums]), [units[k] for k in self._numeric], bounds, G, off)
        return level_counts.astype(np.int64).reshape(-1, G), moments

    @property
    def _cells(self) -> int:
        """How many counts there are before the sums."""
        return len(self.groups) * (1 + sum(len(levels) for _, levels in self._categories))

    def _own_sums(self, rows: Rows, units: Units, rounding: Rounding | None) -> Whole:
        """A party's ``cells``, then sums and squares of the numbers by group."""
        cells: Whole = self.cells(rows).astype(object)
        if not self._numeric:
            return cells
        sums = own_sums(rows, self._grouping, self._numeric, [units[k] for k in self._numeric])
        return np.concatenate(
            [cells, rounded_sums(sums, rounding, self._numeric, len(self.groups))[len(self.groups) :]]
        )

    def _quartiles(self, agreements: Agreements, rows: Sequence[Rows]) -> dict[int, Array]:
        """By column ``(groups, 3)``: where a cell has one value, that, else its middle."""
        by, G = len(self.columns) - 1 if self.by else None, len(self.groups)
        series = [Series(grid, values_of(k, by, g), QUARTILES) for k, grid in self._grids.items() for g in range(G)]
        agreed_quantiles(agreements, rows, series, self.ways, "rows in intervals of columns")
        found = [low if each.grid.whole else (low + high) / 2 for each in series for low, high in [each.ends()]]
        return dict(zip(self._grids, np.reshape(found, (-1, G, 3)), strict=True))

    # What it shows

    @property
    def revealed(self) -> list[str]:
        by = f", by {self.by}" if self.by else ""
        numeric = ", ".join(self.described[k] for k in self._numeric)
        levels = ", ".join(self.described[k] for k, _ in self._categories)
        searched = ", ".join(self.quartered)
        return [
            f"the number of rows{by}",
            *([f"the rows of each level of {levels}{by}"] if levels else []),
            *([f"values of {numeric}, and their squares{by}"] if numeric else []),
            *([f"the rows in intervals of {searched}{by}"] if searched else []),
        ]

    @property
    def stages(self) -> int:
        return 1 + max((grid.rounds(self.ways) for grid in self._grids.values()), default=0)

    @property
    def numbers(self) -> int:
        return self._cells + 2 * len(self.groups) * len(self._numeric) if self._numeric else 0

    @property
    def counts(self) -> int:
        searched = sum(most_counts(grid, self.ways, len(QUARTILES)) for grid in self._grids.values())
        return len(self.groups) * searched + (0 if self._numeric else self._cells)

    @property
    def parameters(self) -> int:
        return len(self.described) * len(self.groups)
