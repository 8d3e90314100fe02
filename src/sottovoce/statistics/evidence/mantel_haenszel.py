"""One odds ratio and one risk ratio of strata that are parties: their sums, and nobody's own table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, Undetermined
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..analysis import Analysis, check_rows
from ..groups.contingency import chi2_pvalue
from ..groups.finding import Finding, numbers, p_words
from ..statistic import Value, check_alpha
from . import common_ratios
from .fourfold import check_columns, fourfold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS = 4


@dataclass(frozen=True, eq=False, repr=False)
class MantelHaenszel(Finding):
    """What ``Study.mantel_haenszel`` returns, besides the fields of ``Statistic``: ratios that all parties share,
    whatever level of risk each has.

    Attributes
    ----------
    exposure, outcome : str
        The two columns.
    counts : ndarray of int
        ``[[a, b], [c, d]]`` of all parties: exposed with and without the outcome, others with and without it.
    strata : int
        Parties with exposed and others, and with and without the outcome: those that say something.
    odds_ratio, risk_ratio : float
        Common ones; NaN or infinite where nothing, or a zero, is below the line.
    log_odds_ratio_se, log_risk_ratio_se : float
        Standard errors of their logarithms.
    excess : float
        How many more exposed had the outcome than expected.
    excess_variance : float
        Its variance, given the margins of the tables.

    Examples
    --------
    >>> import sottovoce as sv
    >>> tables = [
    ...     {"drug": [True] * 5 + [False] * 5, "ill": [True] * 3 + [False] * 5 + [True] * 2},
    ...     {"drug": [True] * 3 + [False] * 4, "ill": [True] * 2 + [False] * 4 + [True]},
    ... ]
    >>> study = sv.Study(sv.Network.from_edges(2, [(0, 1)]), tables, schema={"drug": "boolean", "ill": "boolean"})
    >>> found = study.mantel_haenszel("drug", "ill")
    >>> found.strata, round(found.odds_ratio, 6), round(found.pvalue, 4)
    (2, 3.236842, 0.2645)
    """

    exposure: Value[str] = Value()
    outcome: Value[str] = Value()
    counts: Value[Integers] = Value()
    strata: Value[int] = Value()
    odds_ratio: Value[float] = Value()
    log_odds_ratio_se: Value[float] = Value()
    risk_ratio: Value[float] = Value()
    log_risk_ratio_se: Value[float] = Value()
    excess: Value[float] = Value()
    excess_variance: Value[float] = Value()

    title: ClassVar[str] = "Mantel-Haenszel"
    derived: ClassVar[tuple[str, ...]] = (
        "observations", "chi2", "pvalue", "chi2_corrected", "pvalue_corrected", "odds_ratio_interval",
        "risk_ratio_interval",
    )  # fmt: skip

    @property
    def observations(self) -> int:
        """Rows of all parties."""
        return int(np.sum(self.counts))

    @property
    def chi2(self) -> float:
        """Of the test that no party has an association, with one degree of freedom (Cochran, Mantel and Haenszel)."""
        return self._chi2(0.0)

    @property
    def pvalue(self) -> float:
        """Of ``chi2``."""
        return chi2_pvalue(self.chi2, 1)

    @property
    def chi2_corrected(self) -> float:
        """The same, with a continuity correction of 1/2."""
        return self._chi2(0.5)

    @property
    def pvalue_corrected(self) -> float:
        """Of ``chi2_corrected``."""
        return chi2_pvalue(self.chi2_corrected, 1)

    def _chi2(self, correction: float) -> float:
        excess, variance = numbers([self.excess, self.excess_variance])
        return float((abs(excess) - correction) ** 2 / variance) if variance > 0 else float("nan")

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Intervals ``(lower, upper)`` of the odds ratio and of the risk ratio.

        Parameters
        ----------
        alpha : float
            Each holds its ratio with probability ``1 - alpha``.

        Returns
        -------
        ndarray
            ``(2, 2)``.
        """
        from scipy.special import ndtri

        ratios = numbers([self.odds_ratio, self.risk_ratio])
        reach = ndtri(1 - check_alpha(alpha) / 2) * numbers([self.log_odds_ratio_se, self.log_risk_ratio_se])
        reach = np.where(np.isfinite(reach), reach, np.nan)  # of a ratio of 0, or an infinite one, nothing is known
        return np.column_stack([ratios * np.exp(-reach), ratios * np.exp(reach)])

    @property
    def odds_ratio_interval(self) -> tuple[float, float]:
        """Of 95 %."""
        low, high = self.conf_int()[0].tolist()
        return low, high

    @property
    def risk_ratio_interval(self) -> tuple[float, float]:
        """Of 95 %."""
        low, high = self.conf_int()[1].tolist()
        return low, high

    def _facts(self) -> str:
        of = f"{self.exposure} and {self.outcome}, {self.observations} observations"
        return f"{of} of {self.parties} parties, {self.strata} of which have both levels of both"

    def _columns(self) -> dict[str, list[Any]]:
        low, high = self.conf_int().T.tolist()
        return {
            "ratio": ["odds ratio", "risk ratio"],
            "estimate": [self.odds_ratio, self.risk_ratio],
            "log_std_error": [self.log_odds_ratio_se, self.log_risk_ratio_se],
            "conf_low": low,
            "conf_high": high,
        }

    def _head(self) -> list[tuple[str, str]]:
        return [
            ("no association: chi2", f"{self.chi2:.6g} on 1 degree of freedom, p {p_words(self.pvalue)}"),
            ("with correction", f"{self.chi2_corrected:.6g}, p {p_words(self.pvalue_corrected)}"),
        ]

    def _picture(self, path: str | Path | None) -> Figure:
        from ..pictures import plot_rows

        with np.errstate(divide="ignore"):
            logs = np.log(np.column_stack([numbers([self.odds_ratio, self.risk_ratio]), self.conf_int()]))
        names = ["log odds ratio", "log risk ratio"]
        there = np.isfinite(logs.sum(axis=1))
        if not there.any():
            raise InvalidInput(
                f"there is nothing to plot: a group of {self.exposure!r} has {self.outcome!r} in no row, or in all, so "
                "no ratio has an interval."
            )
        shown = [name for name, own in zip(names, there, strict=True) if own]
        return plot_rows(path, shown, logs[there, 0], logs[there, 1:], self._facts(), "common ratio, 95 % interval")


@dataclass(frozen=True, eq=False, kw_only=True)
class MantelHaenszelAnalysis(Analysis):
    """``exposure``, ``outcome``: booleans, or categories of two levels, of which the reference stands for no."""

    exposure: str = ""
    outcome: str = ""

    type: ClassVar[str] = "mantel_haenszel"
    gives = MantelHaenszel

    def __post_init__(self) -> None:
        check_columns(self.schema, self.exposure, self.outcome)

    @property
    def takes_fewer_digits(self) -> bool:
        return False

    @property
    def selection(self) -> PlainColumns:
        return PlainColumns((self.exposure, self.outcome))

    def cells(self, rows: Rows) -> Integers:
        return fourfold(rows, self.schema, self.exposure, self.outcome)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> MantelHaenszel:
        tables = [self.cells(part) for part in rows]
        terms = [
            [*table.tolist(), int(common_ratios.says_something(table)), *common_ratios.terms(table)] for table in tables
        ]
        of = f"rows by {self.exposure} and {self.outcome}, parties with both levels, and terms of common ratios"
        total = agreements.sum(terms, of=of, counts=CELLS).tolist()
        counts, strata = np.array(total[:CELLS]), total[CELLS]
        check_rows(counts)
        if not strata:
            raise Undetermined(
                f"no party has both levels of {self.exposure!r} and of {self.outcome!r}: there is no table to "
                "combine. Ask for crosstab, of all rows."
            )
        ratios = common_ratios.estimates(total[CELLS + 1 :])
        return MantelHaenszel(*agreements.made, self.exposure, self.outcome, counts.reshape(2, 2), strata, *ratios)

    @property
    def revealed(self) -> list[str]:
        return [
            f"the rows by {self.exposure} and {self.outcome}, and how many parties have both levels of both",
            f"{common_ratios.TERMS} terms of common ratios and their variances",
        ]

    @property
    def stages(self) -> int:
        return 1

    @property
    def numbers(self) -> int:
        return CELLS + 1 + common_ratios.TERMS

    @property
    def counts(self) -> int:
        return 0
