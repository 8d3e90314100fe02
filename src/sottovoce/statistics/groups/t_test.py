"""Student's and Welch's t-tests, from counts, sums and squares about the mean of one group or two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.decimal_unit import exactly
from ...data.rows import Int64, Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, Undetermined, is_number
from ...pdmm.modular_mask import Integers
from ...sums import Whole, common_unit, whole
from ..agreements import Agreements
from ..statistic import Value, check_alpha
from .columns import bounds_of, level_column, levels_of, number_column
from .comparison import ByGroup, Comparison, Units
from .finding import numbers, p_words
from .group_moments import ALL_ROWS, Bounds, Grouping


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
        return squared_errors(np.asarray(self.n), numbers(self.variance), self.equal_var)

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

    @property
    def grouping(self) -> Grouping:
        return ALL_ROWS if self.by is None else super().grouping

    @property
    def _of(self) -> str:
        return self.column if self.paired is None else f"{self.column} - {self.paired}"

    def _own_sums(self, rows: Rows, units: Units) -> Whole:
        if self.paired is None:
            return super()._own_sums(rows, units)
        return own_sums_of_pairs(rows, units)

    def _unit(self, units: Units) -> Fraction:
        return units[0] if self.paired is None else common_unit(units[0], units[1])

    def _bounds(self, units: Units) -> Bounds:
        low, high = super()._bounds(units)
        if self.paired is None:
            return low, high
        lowest, highest = bounds_of(self.schema[self.paired], units[1])
        return low - highest, high - lowest

    @property
    def takes_fewer_digits(self) -> bool:
        return self.paired is None  # differences may vary far less than what they are of

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> TTest:
        units = agreements.units(rows, self.units)
        moments = self.agreed_moments(agreements, rows, units, self.agreed_rounding(agreements, rows, units))
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
