"""The first table of a paper: who was in which group, and how the groups differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...errors import InvalidInput
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..statistic import Value
from . import contingency
from .cohort import Cohort
from .cohort_program import CohortAnalysis
from .columns import NUMBERS, level_column, ranged_column, written
from .finding import left_out, numbers, p_words
from .group_moments import GroupMoments

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class TableOne(Cohort):
    """What ``Study.table_one`` returns, besides the fields of ``Statistic``: of all rows that have a value in every
    column asked for.

    Numbers are told as mean (sd), or median [quartiles] where they are ``nonnormal``; categories as count (percent of
    the group). ``pvalue``: of numbers from the analysis of variance, which is Student's t-test for two groups; of
    categories from chi-squared, with Yates' correction where there are two levels and two groups; none where medians
    are shown. ``smd``: standardised mean differences, averaged over pairs of groups.

    Attributes
    ----------
    names, types : tuple of str
        Of the columns.
    by : str
        The column that groups rows.
    groups : tuple of str
        Its levels.
    n : ndarray of int
        Rows of each group.
    mean, sd : ndarray
        ``(names, groups)``; NaN of categories, and where a group has too few rows.
    quartiles : ndarray
        ``(names, groups, 3)``, to within ``resolution``; NaN where a column is not ``nonnormal``.
    resolution : ndarray
        Of the quartiles of each column.
    level_of : ndarray of int
        For each level of a category the place of its column in ``names``.
    level_names : tuple of str
        Levels of categories, one after the other.
    level_counts : ndarray of int
        ``(level_names, groups)``.
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
        rows = [["n", "", *(str(n) for n in np.asarray(self.n).tolist()), "", ""]]
        for name, kind, p, smd in zip(self.names, self.types, numbers(self.pvalue), numbers(self.smd), strict=True):
            told = ["" if np.isnan(p) else p_words(float(p)), "" if np.isnan(smd) else f"{smd:.3f}"]
            if kind in NUMBERS:
                how = "median [quartiles]" if name in tuple(self.nonnormal) else "mean (sd)"
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
        if name in tuple(self.nonnormal):
            fine = float(numbers(self.resolution)[self.names.index(name)])
            told = [[written(float(value), kind, fine) for value in own] for own in quartiles]
            return [f"{median} [{low}, {high}]" if median else "" for low, median, high in told]
        spread = [f" ({s:.3g})" if s == s else "" for s in sd]
        return [written(float(m), kind) + (s if m == m else "") for m, s in zip(mean, spread, strict=True)]

    def _count_cells(self, counts: Sequence[int]) -> list[str]:
        sizes = np.asarray(self.n).tolist()
        return [f"{c} ({100 * c / n:.1f} %)" if n else "0" for c, n in zip(counts, sizes, strict=True)]

    def _notes(self) -> list[str]:
        return left_out(f"levels of {self.by}", self.groups, np.asarray(self.n))

    def _picture(self, path: str | Path | None) -> Figure:
        from ..pictures import plot_rows

        smd = numbers(self.smd)
        there = ~np.isnan(smd)
        names = [name for name, own in zip(self.names, there, strict=True) if own]
        return plot_rows(path, names, smd[there], None, self._facts(), "standardised mean difference")


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

    def _answer(self, agreements: Agreements, values: dict[str, Any], moments: GroupMoments) -> Cohort:
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
