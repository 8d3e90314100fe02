"""Tests of a number by group: Student's and Welch's t-tests, the analysis of variance, and Levene's test."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.decimal_unit import exactly
from ...data.rows import Int64, Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, Undetermined
from ...pdmm.modular_mask import Integers
from ...sums import Whole, common_unit, whole
from ..agreements import Agreements, unless_beyond
from ..analysis import Analysis
from ..fewer_digits import Rounding, agreed_rounding
from ..statistic import Value, check_alpha
from .columns import bounds_of, by_words, chosen_levels, level_column, levels_of, number_column
from .finding import Finding, left_out, p_words
from .group_moments import (
    ALL_ROWS,
    Bounds,
    Grouping,
    GroupMoments,
    Units,
    distance_moments,
    own_distances,
    own_sums,
)


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
        return np.sqrt(self.variance)

    def _facts(self) -> str:
        of = f"{self.column} by {self.by}" if self.by else self.column
        return f"{of}, {self.observations} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        spread = {"mean": self.mean.tolist(), "sd": self.sd.tolist()}
        return {self.by or "group": list(self.levels), "n": self.n.tolist(), **spread}

    def _notes(self) -> list[str]:
        return left_out(f"levels of {self.by}", self.levels, self.n)

    def _picture(self, path: Any) -> Any:
        """Means of the groups that have one, with 95 % intervals of their own."""
        from scipy.special import stdtrit

        from ..pictures import plot_rows

        n, mean = self.n, self.mean
        there = n > 1
        reach = stdtrit(np.maximum(n - 1, 1), 0.975) * self.sd / np.sqrt(np.maximum(n, 1))
        intervals = np.column_stack([mean - reach, mean + reach])[there]
        names = [level for level, own in zip(self.levels, there, strict=True) if own]
        return plot_rows(path, names, mean[there], intervals, self._facts(), f"mean of {self.column}, 95 % interval")


@dataclass(frozen=True, eq=False, repr=False)
class TTest(ByGroup):
    """What ``Study.t_test`` returns: is the mean of the first group that of the second, or of a single group ``mu``?

    Besides the fields of ``Statistic`` it has what was compared (``column``, ``by``, ``levels``), and by group the rows
    ``n``, their ``mean`` and their unbiased ``variance``.

    Attributes
    ----------
    equal_var : bool
        Whether groups are taken to have one variance (Student), or one each (Welch).
    mu : float
        What the difference, or the mean of one group, is compared with.
    difference : float
        Mean of the first group less that of the second; of one group the mean itself.
    statistic : float
        The difference less ``mu``, in units of its error.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = {"age": {"type": "number", "range": (0, 120)}, "ill": "boolean"}
    >>> tables = [{"age": [61.0, 58.0, 49.0], "ill": [True, False, True]}, {"age": [40.0, 44.0], "ill": [False, True]}]
    >>> test = sv.Study(sv.Network.from_edges(2, [(0, 1)]), tables, schema=schema).t_test("age", by="ill")
    >>> round(test.difference, 6), round(test.statistic, 6), round(test.pvalue, 4)
    (-2.333333, -0.22616, 0.846)
    """

    equal_var: Value[bool] = Value()
    mu: Value[float] = Value()
    difference: Value[float] = Value()
    statistic: Value[float] = Value()

    title: ClassVar[str] = "t-test"
    derived: ClassVar[tuple[str, ...]] = ("std_error", "df", "pvalue", "interval")

    @property
    def std_error(self) -> float:
        """Of the difference."""
        return math.sqrt(self._errors.sum())

    @property
    def _errors(self) -> Array:
        """Squared standard errors of the means."""
        return squared_errors(self.n, self.variance, self.equal_var)

    @property
    def df(self) -> float:
        """Degrees of freedom; those of Welch and Satterthwaite where variances may differ."""
        n, errors = self.n, self._errors
        if self.equal_var or len(n) == 1:
            return float(n.sum() - len(n))
        return float(errors.sum() ** 2 / (errors**2 / (n - 1)).sum())

    @property
    def pvalue(self) -> float:
        """Two-sided."""
        from scipy.special import stdtr

        return float(2 * stdtr(self.df, -abs(self.statistic)))

    def conf_int(self, alpha: float = 0.05) -> tuple[float, float]:
        """The ends of an interval that holds the difference with probability ``1 - alpha``."""
        from scipy.special import stdtrit

        reach = float(stdtrit(self.df, 1 - check_alpha(alpha) / 2)) * self.std_error
        return self.difference - reach, self.difference + reach

    @property
    def interval(self) -> tuple[float, float]:
        """``conf_int()``, of 95 %."""
        return self.conf_int()

    def _head(self) -> list[tuple[str, str]]:
        low, high = self.interval
        two = len(self.levels) == 2
        kind = ("Student" if self.equal_var else "Welch") if two else "one sample"
        what = f"mean of {self.levels[0]} less {self.levels[1]}" if two else f"mean of {self.levels[0]}"
        return [
            (what, f"{self.difference:.6g}, 95 % interval {low:.6g} to {high:.6g}"),
            (f"t, {kind}", f"{self.statistic:.6g} on {self.df:.6g} degrees of freedom, p {p_words(self.pvalue)}"),
            *([("compared with", f"{self.mu:g}")] if self.mu else []),
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Anova(ByGroup):
    """What ``Study.anova`` returns: have all groups one mean? Groups without rows are left out.

    Besides the fields of ``Statistic`` it has what was compared (``column``, ``by``, ``levels``), and by group the rows
    ``n``, their ``mean`` and their unbiased ``variance``, NaN where there are too few rows.

    Attributes
    ----------
    between, within : float
        Sums of squares between groups and within them.

    Examples
    --------
    >>> import sottovoce as sv
    >>> arm = {"type": "category", "levels": ["a", "b", "c"]}
    >>> schema = {"crp": {"type": "number", "range": (0, 10)}, "arm": arm}
    >>> tables = [{"crp": [1.0, 2.0, 4.0], "arm": ["a", "a", "b"]}, {"crp": [6.0, 5.0, 9.0], "arm": ["b", "c", "c"]}]
    >>> test = sv.Study(sv.Network.from_edges(2, [(0, 1)]), tables, schema=schema).anova("crp", by="arm")
    >>> round(test.statistic, 6), test.df, round(test.eta_squared, 6)
    (4.428571, (2, 3), 0.746988)
    """

    between: Value[float] = Value()
    within: Value[float] = Value()

    title: ClassVar[str] = "One-way analysis of variance"
    derived: ClassVar[tuple[str, ...]] = ("statistic", "df", "pvalue", "eta_squared")

    @property
    def statistic(self) -> float:
        """``F``."""
        groups, rest = self.df
        return (self.between / groups) / (self.within / rest)

    @property
    def df(self) -> tuple[int, int]:
        """Degrees of freedom between groups and within them."""
        n = self.n
        return int((n > 0).sum()) - 1, int(n.sum() - (n > 0).sum())

    @property
    def pvalue(self) -> float:
        """Of ``F``."""
        from scipy.special import fdtrc

        return float(fdtrc(*self.df, self.statistic))

    @property
    def eta_squared(self) -> float:
        """The share of the variation that lies between groups."""
        return self.between / (self.between + self.within)

    def _head(self) -> list[tuple[str, str]]:
        f = f"{self.statistic:.6g} on {self.df[0]} and {self.df[1]} degrees of freedom, p {p_words(self.pvalue)}"
        return [("F", f), ("eta squared", f"{self.eta_squared:.4f}")]


@dataclass(frozen=True, eq=False, repr=False)
class Levene(Anova):
    """What ``Study.levene`` returns: have all groups one variance? It is the analysis of variance of ``|x - m|``, with
    the mean ``m`` of the group; ``mean``, ``variance``, ``between`` and ``within`` are those of ``|x - m|``.

    Attributes
    ----------
    center : str
        ``"mean"``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = {"crp": {"type": "number", "range": (0, 10)}, "ill": "boolean"}
    >>> tables = [{"crp": [1.0, 2.0, 4.0], "ill": [True] * 3}, {"crp": [6.0, 5.0, 9.5, 1.0], "ill": [False] * 4}]
    >>> test = sv.Study(sv.Network.from_edges(2, [(0, 1)]), tables, schema=schema).levene("crp", by="ill")
    >>> round(test.statistic, 6), round(test.pvalue, 4)
    (0.907487, 0.3845)
    """

    center: Value[str] = Value()

    title: ClassVar[str] = "Levene's test about the mean"

    def _columns(self) -> dict[str, list[object]]:
        columns = super()._columns()
        return {f"{name} |x - m|" if name in ("mean", "sd") else name: column for name, column in columns.items()}

    def _head(self) -> list[tuple[str, str]]:
        return [("W", super()._head()[0][1])]


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(Analysis, ABC):
    """``column``: a number. ``by``: a category or a boolean. ``levels``: those that are compared; all, unless told."""

    column: str = ""
    by: str | None = None
    levels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        number_column(self.schema, self.column, "column")
        by = level_column(self.schema, self.by, "by")
        object.__setattr__(self, "levels", chosen_levels(by, self.levels, "levels", least=2))

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
        self, agreements: Agreements, rows: Sequence[Rows]
    ) -> tuple[GroupMoments, Fraction, Rounding | None]:
        """Of the number by group, its unit, and how finely it is told; refused where no group has rows."""
        units, groups = agreements.units(rows, self.units), self.grouping.groups
        rounding = agreed_rounding(agreements, rows, [0], units, self.grouping.counts)
        of = f"rows, values of {self._of}, and their squares{by_words(self.by)}"

        own = [unless_beyond(self._own_sums, part, units, rounding) for part in rows]
        total = agreements.sum(own, of=of, counts=groups, size=3 * groups)
        unit, bounds = self._unit_and_bounds(units)
        moments = GroupMoments.of_totals(total, [unit], [bounds], groups, rounding)
        if not moments.n.any():
            raise Undetermined("no party has any rows" + (f" of these levels of {self.by!r}." if self.by else "."))
        return moments, unit, rounding

    def _own_sums(self, rows: Rows, units: Units, rounding: Rounding | None) -> Whole:
        return own_sums(rows, self.grouping, [0], units[:1], rounding)

    def _unit_and_bounds(self, units: Units) -> tuple[Fraction, Bounds]:
        """Of the number."""
        return units[0], bounds_of(self.schema[self.column], units[0])

    @property
    def _of(self) -> str:
        """The number that is compared, by its name."""
        return self.column

    @property
    def revealed(self) -> list[str]:
        by = by_words(self.by)
        return [f"the number of rows{by}", f"values of {self._of}, and their squares{by}"]

    stages = 1
    counts = 0

    @property
    def numbers(self) -> int:
        return 3 * self.grouping.groups

    @property
    def parameters(self) -> int:
        return self.grouping.groups


@dataclass(frozen=True, eq=False, kw_only=True)
class TTestAnalysis(Comparison):
    """``by`` with two ``levels``; without it one group, of ``column`` or of what it is larger by than ``paired``."""

    equal_var: bool = False
    mu: float = 0.0
    paired: str | None = None

    type: ClassVar[str] = "t_test"
    gives = TTest

    def __post_init__(self) -> None:
        if not abs(self.mu) < np.inf:
            raise InvalidInput(f"mu must be a finite number; got {self.mu!r}.")
        object.__setattr__(self, "mu", float(self.mu))
        number_column(self.schema, self.column, "column")
        if self.by is None:
            if self.levels is not None:
                raise InvalidInput("levels are those of by, and there is none. Leave them out.")
            if self.paired is not None and number_column(self.schema, self.paired, "paired").name == self.column:
                raise InvalidInput(f"paired must be another column than {self.column!r}.")
            return
        if self.paired is not None:
            raise InvalidInput("paired compares two columns of all rows, by two groups of them. Give one of the two.")
        super().__post_init__()
        assert self.levels is not None
        if len(self.levels) != 2:
            known = ", ".join(levels_of(level_column(self.schema, self.by, "by")))
            raise InvalidInput(f"levels must be two of {self.by!r}, which has {known}; for all of them ask for anova.")

    @property
    def selection(self) -> PlainColumns:
        return PlainColumns((self.column, *filter(None, [self.by, self.paired])))

    @property
    def grouping(self) -> Grouping:
        return ALL_ROWS if self.by is None else super().grouping

    @property
    def _of(self) -> str:
        return self.column if self.paired is None else f"{self.column} - {self.paired}"

    def _own_sums(self, rows: Rows, units: Units, rounding: Rounding | None) -> Whole:
        return super()._own_sums(rows, units, rounding) if self.paired is None else own_sums_of_pairs(rows, units)

    def _unit_and_bounds(self, units: Units) -> tuple[Fraction, Bounds]:
        unit, (low, high) = super()._unit_and_bounds(units)
        if self.paired is None:
            return unit, (low, high)
        lowest, highest = bounds_of(self.schema[self.paired], units[1])
        return common_unit(unit, units[1]), (low - highest, high - lowest)

    @property
    def takes_fewer_digits(self) -> bool:
        return self.paired is None  # differences may vary far less than what they are of

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> TTest:
        moments, *_ = self.agreed_moments(agreements, rows)
        names, n, exact = self.levels or (self._of,), moments.n, moments.mean[:, 0]
        for level, count in zip(names, n.tolist(), strict=True):
            if count < 2:
                raise Undetermined(f"{level!r} has {count} of the parties' rows; a t-test needs two of each group.")
        if not moments.within[0]:
            raise Undetermined(f"column {self.column!r} does not vary within groups: no t-test.")
        mean, variance = moments.means[:, 0], moments.variances[:, 0]
        difference = exact[0] - exact[1] if len(n) == 2 else exact[0]
        error = math.sqrt(squared_errors(n, variance, self.equal_var).sum())
        statistic = float(difference - exactly(self.mu)) / error
        values = n, mean, variance, self.equal_var, self.mu, float(difference), statistic
        return TTest(*agreements.made, self.column, self.by, names, *values)


def squared_errors(n: Integers, variance: Array, equal_var: bool) -> Array:
    """Squared standard errors of means."""
    if equal_var and len(n) == 2:
        variance = np.full(2, ((n - 1) * variance).sum() / (n.sum() - 2))
    return np.asarray(variance / n)


def own_sums_of_pairs(rows: Rows, units: Units) -> Whole:
    """A party's ``n``, ``S`` and ``Q`` of the differences of two columns, from the products of both: units may be so
    far apart that a difference does not fit into 64 bits."""

    def sides(block: Array) -> tuple[Int64, Int64]:
        z = np.column_stack([np.ones(len(block), np.int64), whole(block, units)])
        return z, z

    gram, unit = rows.grams(sides), common_unit(units[0], units[1])
    signs = np.array([0, int(units[0] / unit), -int(units[1] / unit)], object)
    return np.array([gram[0, 0], gram[0] @ signs, signs @ gram @ signs], object)


@dataclass(frozen=True, eq=False, kw_only=True)
class AnovaAnalysis(Comparison):
    """``column`` by ``by``."""

    type: ClassVar[str] = "anova"
    gives = Anova

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Anova:
        moments, *_ = self.agreed_moments(agreements, rows)
        return Anova(*agreements.made, **self._answer(moments))

    def _answer(self, moments: GroupMoments) -> dict[str, Any]:
        """The fields of an answer; refused where there is no test."""
        n, there = moments.n, int((moments.n > 0).sum())
        if there < 2:
            raise Undetermined(f"all rows of the parties have one level of {self.by!r}: there is nothing to compare.")
        if n.sum() <= there:
            raise Undetermined(
                f"no level of {self.by!r} has two of the parties' rows: nothing is known of their spread."
            )
        if not moments.within[0]:
            raise Undetermined(f"column {self.column!r} does not vary within the levels of {self.by!r}: no test.")
        spread = {"between": float(moments.between[0]), "within": float(moments.within[0])}
        by_group = {"n": n, "mean": moments.means[:, 0], "variance": moments.variances[:, 0]}
        return {"column": self.column, "by": self.by, "levels": self.levels, **by_group, **spread}


@dataclass(frozen=True, eq=False, kw_only=True)
class LeveneAnalysis(AnovaAnalysis):
    """``center``: ``"mean"``; the median of a group is not known."""

    center: str = "mean"

    type: ClassVar[str] = "levene"
    gives = Levene

    def __post_init__(self) -> None:
        if self.center != "mean":
            raise InvalidInput(
                f"center must be 'mean'; got {self.center!r}. About the median the test needs that of every group, a "
                "person's value. Ask for quantiles(..., by=...) to a stated resolution, and compare how they spread."
            )
        super().__post_init__()

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Levene:
        moments, unit, rounding = self.agreed_moments(agreements, rows)
        own = [unless_beyond(own_distances, part, self.grouping, unit, moments, rounding) for part in rows]
        total = agreements.sum(own, of=self._distances, size=self.grouping.groups)
        answer = self._answer(distance_moments(moments, unit, total, rounding))
        return Levene(*agreements.made, **answer, center=self.center)

    @property
    def _distances(self) -> str:
        return f"distances from the mean of {self.column}, by {self.by}"

    @property
    def revealed(self) -> list[str]:
        return [*super().revealed, self._distances]

    stages = 2

    @property
    def numbers(self) -> int:
        return super().numbers + self.grouping.groups
