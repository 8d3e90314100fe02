"""One-way analysis of variance, and Levene's test about the mean: sums of squares within groups and between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...data.rows import Rows
from ...errors import InvalidInput, Undetermined
from ..agreements import Agreements, unless_beyond
from ..fewer_digits import rounded
from ..statistic import Value
from .comparison import ByGroup, Comparison
from .finding import p_words
from .group_moments import GroupMoments, distance_moments, distance_steps, own_distances


@dataclass(frozen=True, eq=False, repr=False)
class Anova(ByGroup):
    """What ``Study.anova`` returns, besides the fields of ``Statistic``: have all groups one mean? Groups without rows
    are left out.

    Attributes
    ----------
    column : str
        The number.
    by : str
        The column that groups rows.
    levels : tuple of str
        Of the groups.
    n : ndarray of int
        Rows of each group.
    mean, variance : ndarray
        Of each group; variances are unbiased. NaN where a group has too few rows.
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
        n = np.asarray(self.n)
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
    """What ``Study.levene`` returns, besides the fields of ``Statistic``: have all groups one variance? It is the
    analysis of variance of ``|x - m|``, with the mean ``m`` of the group.

    Attributes
    ----------
    column : str
        The number.
    by : str
        The column that groups rows.
    levels : tuple of str
        Of the groups.
    n : ndarray of int
        Rows of each group.
    mean, variance : ndarray
        Of ``|x - m|`` in each group; variances are unbiased.
    between, within : float
        Sums of squares of ``|x - m|`` between groups and within them.
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
        return {
            {"mean": "mean |x - m|", "sd": "sd |x - m|"}.get(name, name): column for name, column in columns.items()
        }

    def _head(self) -> list[tuple[str, str]]:
        return [("W", super()._head()[0][1])]


@dataclass(frozen=True, eq=False, kw_only=True)
class AnovaAnalysis(Comparison):
    """``column`` by ``by``."""

    type: ClassVar[str] = "anova"
    gives = Anova

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Anova:
        units = agreements.units(rows, self.units)
        moments = self.agreed_moments(agreements, rows, units, self.agreed_rounding(agreements, rows, units))
        return Anova(*agreements.made, **self._answer(moments))

    def _answer(self, moments: GroupMoments) -> dict[str, Any]:
        """The fields of an answer; refused where there is no test."""
        there = int((moments.n > 0).sum())
        if there < 2:
            raise Undetermined(f"all rows of the parties have one level of {self.by!r}: there is nothing to compare.")
        if moments.n.sum() <= there:
            raise Undetermined(
                f"no level of {self.by!r} has two of the parties' rows: nothing is known of their spread."
            )
        if not moments.within[0]:
            raise Undetermined(f"column {self.column!r} does not vary within the levels of {self.by!r}: no test.")
        return {
            "column": self.column, "by": self.by, "levels": self.levels, "n": moments.n, "mean": moments.means[:, 0],
            "variance": moments.variances[:, 0], "between": float(moments.between[0]),
            "within": float(moments.within[0]),
        }  # fmt: skip


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
        units = agreements.units(rows, self.units)
        unit, rounding = self._unit(units), self.agreed_rounding(agreements, rows, units)
        moments = self.agreed_moments(agreements, rows, units, rounding)
        own = [unless_beyond(partial(own_distances, part, self.grouping, unit, moments)) for part in rows]
        if rounding is not None:
            own = [rounded(part, distance_steps(moments, rounding, 0).tolist()) for part in own]
        of = f"distances from the mean of {self.column}, by {self.by}"
        total = agreements.sum(own, of=of, size=self.grouping.groups)
        answer = self._answer(distance_moments(moments, unit, total, rounding))
        return Levene(*agreements.made, **answer, center=self.center)

    @property
    def revealed(self) -> list[str]:
        return [*super().revealed, f"distances from the mean of {self.column}, by {self.by}"]

    @property
    def stages(self) -> int:
        return 2

    @property
    def numbers(self) -> int:
        return super().numbers + self.grouping.groups
