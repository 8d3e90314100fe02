"""Student's and Welch's t-tests, from counts, sums and squares about the mean of one group or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, NotConverged, Undetermined, is_number
from ..agreements import Agreements
from ..statistic import Value, check_alpha
from .columns import frame, level_column, levels_of, number_column
from .comparison import ByGroup, Comparison, unbiased, within
from .finding import numbers, p_words
from .moments import Grouped, check_varies, no_groups


@dataclass(frozen=True, eq=False, repr=False)
class TTest(ByGroup):
    """What ``Study.t_test`` returns, besides the fields of ``Statistic``: is the mean of the first group that of the
    second, or of a single group ``mu``?

    Attributes
    ----------
    column : str
        The number.
    by : str or None
        The column that groups rows; None for one group.
    levels : tuple of str
        Of the groups.
    n : ndarray of int
        Rows of each group.
    mean, variance : ndarray
        Of each group; variances are unbiased.
    equal_var : bool
        Whether groups are taken to have one variance (Student), or one each (Welch).
    mu : float
        What the difference, or the mean of one group, is compared with.

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

    title: ClassVar[str] = "t-test"
    derived: ClassVar[tuple[str, ...]] = ("difference", "std_error", "statistic", "df", "pvalue", "interval")

    @property
    def difference(self) -> float:
        """Mean of the first group less that of the second; of one group the mean itself."""
        mean = numbers(self.mean)
        return float(mean[0] - mean[1]) if len(mean) == 2 else float(mean[0])

    @property
    def std_error(self) -> float:
        """Of the difference."""
        return float(np.sqrt(self._errors.sum()))

    @property
    def _errors(self) -> Array:
        """Squared standard errors of the means."""
        n, variance = np.asarray(self.n), numbers(self.variance)
        if self.equal_var and len(n) == 2:
            variance = np.full(2, np.nansum((n - 1) * variance) / (n.sum() - 2))
        return np.asarray(variance / n)

    @property
    def statistic(self) -> float:
        """The difference less ``mu``, in units of its error."""
        return (self.difference - self.mu) / self.std_error

    @property
    def df(self) -> float:
        """Degrees of freedom; those of Welch and Satterthwaite where variances may differ."""
        n, errors = np.asarray(self.n), self._errors
        if self.equal_var or len(n) == 1:
            return float(n.sum() - len(n))
        return float(errors.sum() ** 2 / (errors**2 / (n - 1)).sum())

    @property
    def pvalue(self) -> float:
        """Two-sided."""
        from scipy.special import stdtr

        return float(2 * stdtr(self.df, -abs(self.statistic)))

    def conf_int(self, alpha: float = 0.05) -> tuple[float, float]:
        """An interval that holds the difference with probability ``1 - alpha``.

        Parameters
        ----------
        alpha : float
            Between 0 and 1.

        Returns
        -------
        tuple of float
            Lower and upper end.
        """
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


@dataclass(frozen=True, eq=False, kw_only=True)
class TTestAnalysis(Comparison):
    """``by`` with two ``levels``; without it one group, of ``column`` or of what it is larger by than ``paired``."""

    equal_var: bool = False
    mu: float = 0.0
    paired: str | None = None

    type: ClassVar[str] = "t_test"
    gives = TTest

    def __post_init__(self) -> None:
        if not isinstance(self.equal_var, bool):
            raise InvalidInput(f"equal_var must be true or false; got {self.equal_var!r}.")
        if not (is_number(self.mu) and abs(self.mu) < np.inf):
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

    @cached_property
    def frame(self) -> tuple[float, float]:
        own = frame(self.schema[self.column])
        if self.paired is None:
            return own
        other = frame(self.schema[self.paired])
        return own[0] - other[0], own[1] + other[1]

    @property
    def ranged(self) -> bool:
        return super().ranged and (self.paired is None or self.schema[self.paired].limits is not None)

    @cached_property
    def grouped(self) -> Grouped:
        if self.by is not None:
            return super().grouped
        return Grouped(_first if self.paired is None else _difference, no_groups, 1)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> TTest:
        try:
            n = self.agreed_counts(agreements, rows)
            names = self.levels or (self.column + (f" - {self.paired}" if self.paired else ""),)
            for level, count in zip(names, n.tolist(), strict=True):
                if count < 2:
                    raise Undetermined(f"{level!r} has {count} of the parties' rows; a t-test needs two of each group.")
            moments = self.agreed_moments(agreements, rows, n)
            spread, unit = within(n, moments.variance), self.frame[1]
            check_varies(agreements, spread, unit, f"column {self.column!r} does not vary within groups: no t-test.")
        except NotConverged:
            return TTest(*agreements.made)
        found = moments.mean[0, :, 0], unbiased(n, moments.variance[0, :, 0])
        return TTest(*agreements.made, self.column, self.by, names, n, *found, self.equal_var, self.mu)


def _first(block: Array) -> Array:
    return block[:, :1]


def _difference(block: Array) -> Array:
    return block[:, :1] - block[:, 1:2]
