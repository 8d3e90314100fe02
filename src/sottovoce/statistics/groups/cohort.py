"""Columns of all kinds, described side by side and by group: ``describe``, and the first table of a paper.

Numbers have means and deviations, and quartiles where they are asked for; categories have counts. The smallest and the
largest value are left out: each is a person's.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput
from ...network.labels import shortened
from ...network.pictures import BLUE, ORANGE, picture
from ...pdmm.modular_mask import Integers
from ...sums import Whole
from ..agreements import Agreements, unless_beyond
from ..analysis import Analysis, check_rows
from ..fewer_digits import Rounding, agreed_rounding
from ..statistic import Value
from . import contingency
from .columns import NUMBERS, bounds_of, by_words, column_of, day, level_column, levels_of, ranged_column, written
from .finding import Finding, left_out, p_words
from .group_moments import ALL_ROWS, Grouping, GroupMoments, Units, own_sums, row_counts
from .quantiles import Grid, Series, agreed_quantiles, check_ways, most_counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUARTILES = (0.25, 0.5, 0.75)
STATISTICS = ("mean", "sd", "25%", "50%", "75%")
MOST_STEPS = 2**20


@dataclass(frozen=True, eq=False, repr=False)
class Description(Finding):
    """What ``Study.describe`` returns, besides the fields of ``Statistic``: of all rows that have a value in every
    column asked for. The smallest and the largest value are not shown: each is a person's.

    Attributes
    ----------
    names, types : tuple of str
        Of the columns.
    by : str or None
        The column that groups rows: of a table one.
    groups : tuple of str
        Its levels; ``("all",)`` without one.
    n : ndarray of int
        Rows of each group.
    mean, sd : ndarray
        ``(names, groups)``; NaN of categories, and where a group has too few rows.
    quartiles : ndarray
        ``(names, groups, 3)``, to within ``resolution``; NaN where they were not asked for.
    resolution : ndarray
        Of the quartiles of each column.
    level_of : ndarray of int
        For each level of a category the place of its column in ``names``.
    level_names : tuple of str
        Levels of categories, one after the other.
    level_counts : ndarray of int
        ``(level_names, groups)``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = {"age": {"type": "integer", "range": (0, 120)}, "ill": "boolean"}
    >>> tables = [{"age": [61, 58], "ill": [True, False]}, {"age": [40], "ill": [True]}, {"age": [], "ill": []}]
    >>> print(sv.Study(sv.Network.ring(3), tables, schema=schema).describe().summary())
    Description: 2 columns, 3 observations of 3 parties
    <BLANKLINE>
    column  level  count  percent  mean       sd  25%  50%  75%
    age                3             53  11.3578   40   58   61
    ill     false      1  33.3333
    ill     true       2  66.6667
    """

    names: Value[tuple[str, ...]] = Value()
    types: Value[tuple[str, ...]] = Value()
    by: Value[str | None] = Value()
    groups: Value[tuple[str, ...]] = Value()
    n: Value[Integers] = Value()
    mean: Value[Array] = Value()
    sd: Value[Array] = Value()
    quartiles: Value[Array] = Value()
    resolution: Value[Array] = Value()
    level_of: Value[Integers] = Value()
    level_names: Value[tuple[str, ...]] = Value()
    level_counts: Value[Integers] = Value()

    title: ClassVar[str] = "Description"

    @property
    def observations(self) -> int:
        """Rows of all groups."""
        return int(np.sum(self.n))

    def counts(self, name: str) -> Integers:
        """How many rows of each group have each level of the category ``name``, ``(levels, groups)``."""
        own = self.level_of == self._place(name)
        return np.asarray(self.level_counts.reshape(-1, len(self.groups))[own])

    def levels(self, name: str) -> tuple[str, ...]:
        """Of the category ``name``."""
        place = self._place(name)
        return tuple(level for level, own in zip(self.level_names, self.level_of, strict=True) if own == place)

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise InvalidInput(f"name must be one of {', '.join(self.names)}; got {name!r}.")
        return self.names.index(name)

    def _numbers(self, name: str) -> tuple[Array, Array, Array]:
        """Mean, deviation and quartiles by group."""
        k = self._place(name)
        return self.mean[k], self.sd[k], self.quartiles[k]

    def _facts(self) -> str:
        return f"{len(self.names)} columns, {self.observations} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        rows: list[list[Any]] = []
        for name, kind in zip(self.names, self.types, strict=True):
            if kind in NUMBERS:
                rows.append([name, "", self.observations, None, *self._described(name, kind)])
                continue
            counts = zip(self.levels(name), self.counts(name)[:, 0].tolist(), strict=True)
            rows += [[name, level, count, 100 * count / self.observations, *[None] * 5] for level, count in counts]
        header = ["column", "level", "count", "percent", *STATISTICS]
        return {head: [row[k] for row in rows] for k, head in enumerate(header)}

    def _described(self, name: str, kind: str) -> list[Any]:
        mean, sd, quartiles = self._numbers(name)
        found = [mean[0], sd[0], *quartiles[0]]
        dated = [kind == "date" and statistic != "sd" for statistic in STATISTICS]
        told = zip((float(value) for value in found), dated, strict=True)
        return [None if np.isnan(value) else day(value).isoformat() if date else value for value, date in told]

    def _picture(self, path: str | Path | None) -> Figure:
        """A panel per column: of numbers the mean and a deviation about it with quartiles, of categories the counts."""
        from ..pictures import LONGEST, ROWS

        names = self.names[:ROWS]
        heights = [max(1, len(self.levels(name))) for name in names]
        with picture(path, 7.4, 1.0 + 0.75 * len(names) + 0.3 * sum(heights)) as figure:
            panels = figure.subplots(len(names), 1, height_ratios=[1 + h for h in heights], squeeze=False)[:, 0]
            for axes, name in zip(panels, names, strict=True):
                levels = self.levels(name)
                if levels:
                    at = np.arange(len(levels))
                    axes.barh(at, self.counts(name)[:, 0], color=BLUE, edgecolor="white")
                    axes.set_yticks(at, [shortened(level, LONGEST) for level in levels], parse_math=False)
                    axes.set_ylim(len(levels) - 0.4, -0.6)
                    axes.set_xlim(left=0)
                else:
                    mean, sd, quartiles = (values[0] for values in self._numbers(name))
                    axes.hlines(
                        0, mean - np.nan_to_num(sd), mean + np.nan_to_num(sd), color=BLUE, linewidth=2.2, zorder=2
                    )
                    axes.scatter([mean], [0], color=BLUE, edgecolors="white", s=52, zorder=3)
                    for value in quartiles[~np.isnan(quartiles)]:
                        axes.vlines(value, -0.35, 0.35, color=ORANGE, linewidth=1.4, zorder=1)
                    axes.set_yticks([])
                    axes.set_ylim(-0.6, 0.6)
                    axes.spines["left"].set_visible(False)
                axes.tick_params(axis="y", length=0)
                axes.set_title(shortened(name, LONGEST), loc="left", fontsize=10, parse_math=False)
            panels[-1].set_xlabel("numbers: mean, one deviation about it (blue), quartiles (orange); categories: rows")
            figure.suptitle(self._facts(), x=0.01, ha="left", fontsize=10, parse_math=False)
        return figure


@dataclass(frozen=True, eq=False, repr=False)
class TableOne(Description):
    """What ``Study.table_one`` returns, besides the fields of ``Description``: columns by group.

    Numbers are told as mean (sd), or median [quartiles] where they are ``nonnormal``; categories as count (percent of
    the group). ``pvalue``: of numbers from the analysis of variance, which is Student's t-test for two groups; of
    categories from chi-squared, with Yates' correction where there are two levels and two groups; none where medians
    are shown. ``smd``: standardised mean differences, averaged over pairs of groups.

    Attributes
    ----------
    nonnormal : tuple of str
        Numbers that are told by median and quartiles.
    pvalue : ndarray
        Of a test that groups do not differ, for each column; NaN where there is none.
    smd : ndarray
        The standardised mean difference of each column, averaged over pairs of groups that have rows.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = {"age": {"type": "integer", "range": (0, 120)}, "ill": "boolean", "male": "boolean"}
    >>> tables = [
    ...     {"age": [61, 58, 50], "ill": [True, False, True], "male": [True, True, False]},
    ...     {"age": [40, 44], "ill": [True, False], "male": [False, False]},
    ... ]
    >>> table = sv.Study(sv.Network.from_edges(2, [(0, 1)]), tables, schema=schema).table_one(by="ill")
    >>> print(table.summary())
    Table 1: by ill, 5 observations of 2 parties
    <BLANKLINE>
    variable        level  false       true          p       smd
    n                      2           3
    age, mean (sd)         51 (9.9)    50.33 (10.5)  0.9480  0.065
    male, n (%)     true   1 (50.0 %)  1 (33.3 %)    1.0000  0.343
    """

    nonnormal: Value[tuple[str, ...]] = Value()
    pvalue: Value[Array] = Value()
    smd: Value[Array] = Value()

    title: ClassVar[str] = "Table 1"

    def _facts(self) -> str:
        return f"by {self.by}, {self.observations} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        """The usual layout: texts."""
        rows = [["n", "", *(str(n) for n in self.n.tolist()), "", ""]]
        for name, kind, p, smd in zip(self.names, self.types, self.pvalue, self.smd, strict=True):
            told = ["" if np.isnan(p) else p_words(float(p)), "" if np.isnan(smd) else f"{smd:.3f}"]
            if kind in NUMBERS:
                how = "median [quartiles]" if name in self.nonnormal else "mean (sd)"
                rows.append([f"{name}, {how}", "", *self._number_cells(name, kind), *told])
                continue
            counts = list(zip(self.levels(name), self.counts(name).tolist(), strict=True))
            for k, (level, own) in enumerate(counts[1:] if kind == "boolean" else counts):
                first = [f"{name}, n (%)" if k == 0 else "", level]
                rows.append([*first, *self._count_cells(own), *(told if k == 0 else ["", ""])])
        header = ["variable", "level", *self.groups, "p", "smd"]
        if len(set(header)) < len(header):  # a level may be called as a column is
            header = ["variable", "level", *(f"{self.by} = {group}" for group in self.groups), "p", "smd"]
        return {head: [row[k] for row in rows] for k, head in enumerate(header)}

    def _number_cells(self, name: str, kind: str) -> list[str]:
        mean, sd, quartiles = self._numbers(name)
        if name in self.nonnormal:
            fine = float(self.resolution[self.names.index(name)])
            told = [[written(float(value), kind, fine) for value in own] for own in quartiles]
            return [f"{median} [{low}, {high}]" if median else "" for low, median, high in told]
        spread = [f" ({s:.3g})" if s == s else "" for s in sd]
        return [written(float(m), kind) + (s if m == m else "") for m, s in zip(mean, spread, strict=True)]

    def _count_cells(self, counts: Sequence[int]) -> list[str]:
        sizes = self.n.tolist()
        return [f"{c} ({100 * c / n:.1f} %)" if n else "0" for c, n in zip(counts, sizes, strict=True)]

    def _notes(self) -> list[str]:
        return left_out(f"levels of {self.by}", self.groups, self.n)

    def _picture(self, path: str | Path | None) -> Figure:
        from ..pictures import plot_rows

        there = ~np.isnan(self.smd)
        names = [name for name, own in zip(self.names, there, strict=True) if own]
        return plot_rows(path, names, self.smd[there], None, self._facts(), "standardised mean difference")


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
        if not 2 <= self.steps <= MOST_STEPS:
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
        """Groups that rows are divided into."""
        return levels_of(self.schema[self.by]) if self.by else ("all",)

    @property
    @abstractmethod
    def quartered(self) -> tuple[str, ...]:
        """Columns of which quartiles are asked for."""

    @cached_property
    def _numeric(self) -> list[int]:
        return [k for k, name in enumerate(self.described) if self.schema[name].type in NUMBERS]

    @cached_property
    def _categories(self) -> list[tuple[int, tuple[str, ...]]]:
        return [(k, levels_of(self.schema[name])) for k, name in enumerate(self.described) if k not in self._numeric]

    @cached_property
    def _grids(self) -> dict[int, Grid]:
        schema, places = self.schema, self.described.index
        return {places(name): Grid.of(schema[name], None, self.steps) for name in self.quartered}

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

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Description:
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

    def _answer(self, agreements: Agreements, values: dict[str, Any], moments: GroupMoments) -> Description:
        return self.gives(*agreements.made, **values)  # type: ignore[return-value]

    def _agreed(self, agreements: Agreements, rows: Sequence[Rows]) -> tuple[Integers, GroupMoments]:
        """Counts of levels, ``(levels, groups)``, and the moments of the numbers by group: one agreement."""
        units, G = agreements.units(rows, self.units), len(self.groups)
        columns = [self.schema[self.described[k]] for k in self._numeric]
        rounding = agreed_rounding(agreements, rows, self._numeric, units, self._grouping.counts) if columns else None
        own = [unless_beyond(self._own_sums, part, units, rounding) for part in rows]
        told = ["rows", *(["rows of each level"] * bool(self._categories)), *(["values", "squares"] * bool(columns))]
        of, counts = ", ".join(told) + by_words(self.by), self._cells if columns else True
        total = agreements.sum(own, of=of, counts=counts, size=self._cells + 2 * G * len(columns))
        bounds = [bounds_of(column, units[k]) for k, column in zip(self._numeric, columns, strict=True)]
        n, level_counts, sums = np.split(total, [G, self._cells])
        of_numbers, own_units = np.concatenate([n, sums]), [units[k] for k in self._numeric]
        moments = GroupMoments.of_totals(of_numbers, own_units, bounds, G, rounding, self._numeric)
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
        sums = own_sums(rows, self._grouping, self._numeric, [units[k] for k in self._numeric], rounding)
        return np.concatenate([cells, sums[len(self.groups) :]])

    def _quartiles(self, agreements: Agreements, rows: Sequence[Rows]) -> dict[int, Array]:
        """By column ``(groups, 3)``: where a cell has one value, that, else its middle."""
        by, G = len(self.columns) - 1 if self.by else None, len(self.groups)
        series = [Series(grid, QUARTILES, k, by, g) for k, grid in self._grids.items() for g in range(G)]
        agreed_quantiles(agreements, rows, series, self.ways, "rows in intervals of columns")
        found = [low if each.grid.whole else (low + high) / 2 for each in series for low, high in [each.ends()]]
        return dict(zip(self._grids, np.reshape(found, (-1, G, 3)), strict=True))

    # What it shows

    @property
    def revealed(self) -> list[str]:
        by = by_words(self.by)
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


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribeAnalysis(CohortAnalysis):
    """``quartiles``: whether to search for those of numbers, which must have a range then."""

    quartiles: bool = True

    type: ClassVar[str] = "describe"
    gives = Description

    def __post_init__(self) -> None:
        if self.by is not None:
            raise InvalidInput("by is for table_one. Leave it out.")
        super().__post_init__()

    @property
    def quartered(self) -> tuple[str, ...]:
        found = [self.schema[self.described[k]] for k in self._numeric]
        return tuple(column.name for column in found if self.quartiles and column.limits is not None)


@dataclass(frozen=True, eq=False, kw_only=True)
class TableOneAnalysis(CohortAnalysis):
    """``nonnormal``: numbers that are told by median and quartiles, which must have a range."""

    nonnormal: tuple[str, ...] = ()

    type: ClassVar[str] = "table_one"
    gives = TableOne

    def __post_init__(self) -> None:
        level_column(self.schema, self.by, "by")
        super().__post_init__()
        given = (self.nonnormal,) if isinstance(self.nonnormal, str) else tuple(self.nonnormal)
        for name in given:
            if ranged_column(self.schema, name, "nonnormal").name not in self.described:
                raise InvalidInput(f"nonnormal must be columns that are described; got {name!r}.")
        object.__setattr__(self, "nonnormal", given)

    @property
    def quartered(self) -> tuple[str, ...]:
        return self.nonnormal

    def _answer(self, agreements: Agreements, values: dict[str, Any], moments: GroupMoments) -> Description:
        pvalue, smd = np.full((2, len(self.described)), np.nan)
        for j, k in enumerate(self._numeric):
            smd[k] = averaged(moments.n, partial(_of_means, moments, j))
            if self.described[k] not in self.nonnormal:
                pvalue[k] = _f_pvalue(moments, j)
        for k, _ in self._categories:
            counts = values["level_counts"][values["level_of"] == k]
            smd[k] = averaged(moments.n, partial(_of_shares, counts))
            pvalue[k] = _chi2_pvalue(counts)
        return super()._answer(
            agreements, {**values, "nonnormal": self.nonnormal, "pvalue": pvalue, "smd": smd}, moments
        )


def averaged(n: Integers, apart: Callable[[int, int], float]) -> float:
    """Over pairs of groups that have rows; NaN where there are fewer than two."""
    found = [apart(a, b) for a, b in combinations(np.flatnonzero(n > 0).tolist(), 2)]
    return float(np.mean(found)) if found else math.nan


def _f_pvalue(moments: GroupMoments, j: int) -> float:
    """Of the analysis of variance of one number; NaN where it does not vary within groups."""
    from scipy.special import fdtrc

    there, within = int((moments.n > 0).sum()), moments.within[j]
    groups, rest = there - 1, int(moments.n.sum()) - there
    if groups < 1 or not within:
        return math.nan
    return float(fdtrc(groups, rest, float(moments.between[j] / groups / (within / rest))))


def _chi2_pvalue(counts: Integers) -> float:
    """Of Pearson's test, corrected by Yates where two levels and two groups have rows."""
    yates = contingency.without_empty(counts).shape == (2, 2)
    return contingency.chi2_pvalue(contingency.chi2_of(counts, yates), contingency.degrees_of_freedom(counts))


def _of_means(moments: GroupMoments, j: int, a: int, b: int) -> float:
    """``|m1 - m2| / sqrt((s1^2 + s2^2) / 2)`` of one number."""
    n, scatter = moments.n.tolist(), moments.scatter[:, j]
    if n[a] < 2 or n[b] < 2 or not scatter[a] + scatter[b]:
        return math.nan
    squared = (moments.mean[a, j] - moments.mean[b, j]) ** 2 / ((scatter[a] / (n[a] - 1) + scatter[b] / (n[b] - 1)) / 2)
    return math.sqrt(squared)


def _of_shares(counts: Integers, a: int, b: int) -> float:
    """The Mahalanobis distance of the shares of levels but the first (D. Yang and J. E. Dalton, A unified approach to
    measuring the effect size between two groups, SAS Global Forum 2012, paper 335)."""
    p, q = counts[1:, a] / counts[:, a].sum(), counts[1:, b] / counts[:, b].sum()
    covariance = (np.diag(p) - np.outer(p, p) + np.diag(q) - np.outer(q, q)) / 2
    squared = float((p - q) @ np.linalg.pinv(covariance, hermitian=True) @ (p - q))
    return float("nan") if not covariance.any() and (p != q).any() else float(np.sqrt(max(0.0, squared)))
