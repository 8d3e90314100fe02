"""One-way analysis of variance, and Levene's test about the mean: sums of squares within groups and between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import InvalidInput, NotConverged, Undetermined
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..statistic import Value
from .comparison import ByGroup, Comparison, unbiased, within
from .finding import numbers, p_words
from .moments import check_varies


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

    title: ClassVar[str] = "One-way analysis of variance"
    derived: ClassVar[tuple[str, ...]] = ("statistic", "df", "pvalue", "eta_squared")

    @property
    def _squares(self) -> tuple[float, float]:
        """Between and within groups."""
        return squares(np.asarray(self.n), numbers(self.mean), numbers(self.variance))

    @property
    def statistic(self) -> float:
        """``F``."""
        (between, inside), (groups, rest) = self._squares, self.df
        return float(np.divide(between / groups, inside / rest))

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
        between, inside = self._squares
        return between / (between + inside)

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
        try:
            n = self._comparable(self.agreed_counts(agreements, rows))
            moments = self.agreed_moments(agreements, rows, n)
            self._check_varies(agreements, n, moments.variance)
        except NotConverged:
            return Anova(*agreements.made)
        assert self.levels is not None
        asked = self.column, self.by, self.levels
        return Anova(*agreements.made, *asked, n, moments.mean[0, :, 0], unbiased(n, moments.variance[0, :, 0]))

    def _comparable(self, n: Integers) -> Integers:
        if (n > 0).sum() < 2:
            raise Undetermined(f"all rows of the parties have one level of {self.by!r}: there is nothing to compare.")
        if n.sum() <= (n > 0).sum():
            raise Undetermined(
                f"no level of {self.by!r} has two of the parties' rows: nothing is known of their spread."
            )
        return n

    def _check_varies(self, agreements: Agreements, n: Integers, variance: Array) -> None:
        sentence = f"column {self.column!r} does not vary within the levels of {self.by!r}: no test."
        check_varies(agreements, within(n, variance), self.frame[1], sentence)


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
        grouped, assumed = self.grouped, f"{self.column} by {self.by}"
        try:
            n = self._comparable(self.agreed_counts(agreements, rows))
            moments = self.agreed_moments(agreements, rows, n)
            unit, centre = moments.unit[:, 0], np.nan_to_num(moments.mean[:, :, 0])
            share = agreements.parties / np.maximum(n, 1)

            def agreed(about: Array, power: int, of: str) -> Array:
                """Means over groups of ``(|x - m| / unit - about)^power``, ``(local, G)``."""
                sums = []
                for part, m, a in zip(rows, centre, about, strict=True):

                    def terms(x: Array, group: Integers, m: Array = m, a: Array = a) -> Array:
                        return (np.abs(x[:, 0] - m[group]) / unit[group] - a[group])[:, None] ** power

                    sums.append(share * grouped.sums(part, terms)[:, 0])
                return agreements.mean(np.array(sums), self.mask, 0, of=of)

            apart = agreed(np.zeros_like(centre), 1, f"distances from the mean of {assumed}")
            variance = agreed(apart, 2, f"squares of distances from the mean of {assumed}, about theirs")
            variance = np.maximum(variance, 0.0) * unit**2
            self._check_varies(agreements, n, variance[:, :, None])
        except NotConverged:
            return Levene(*agreements.made)
        assert self.levels is not None
        mean = np.where(n > 0, apart[0] * unit, np.nan)
        values = n, mean, unbiased(n, variance[0])
        return Levene(*agreements.made, self.column, self.by, self.levels, *values, center=self.center)

    @property
    def revealed(self) -> list[str]:
        more = [f"distances from the mean of {self.column}, and their squares about their mean, by {self.by}"]
        return [*super().revealed, *more]

    @property
    def stages(self) -> int:
        return super().stages + 2

    @property
    def numbers(self) -> int:
        return super().numbers + 2 * self.grouped.groups


def squares(n: Integers, mean: Array, variance: Array) -> tuple[float, float]:
    """Sums of squares between groups and within them, of unbiased variances; NaN where nothing is known."""
    there = n > 0
    overall = (n * np.nan_to_num(mean)).sum() / max(1, n.sum())
    between = float((n[there] * (mean[there] - overall) ** 2).sum())
    return between, float(np.nansum((n - 1) * variance))
