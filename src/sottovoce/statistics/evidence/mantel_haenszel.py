"""One odds ratio and one risk ratio of strata that are parties: their sums, and nobody's own table.

With ``a, b, c, d`` of a party and ``T`` their sum (K. J. Rothman, S. Greenland and T. L. Lash, Modern Epidemiology, 3rd
ed., chapter 15):

    OR = sum R / sum S,  R = ad/T,  S = bc/T
    var log OR = sum PR / (2 (sum R)^2) + sum (PS + QR) / (2 sum R sum S) + sum QS / (2 (sum S)^2),
        P = (a + d)/T,  Q = (b + c)/T                                 (Robins, Breslow and Greenland 1986)
    RR = sum a(c + d)/T / sum c(a + b)/T
    var log RR = sum ((a + b)(c + d)(a + c) - acT)/T^2 / (numerator x denominator of RR)    (Greenland and Robins 1985)
    chi2 = (|sum a - sum E| - correction)^2 / sum V,  E = (a + b)(a + c)/T,
        V = (a + b)(c + d)(a + c)(b + d) / (T^2 (T - 1))

Fractions of other denominators cannot be added in whole numbers, so a party rounds its terms to multiples of 2^-160. A
term that is not 0 is 1/T^3 at least: of up to 2^35 rows it keeps 2^-54 of itself, the digits of a float64, and a sum is
0 only where all terms are. A term is T at most, so sums over 2^16 parties of 2^40 rows stay below 2^217 in these units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.schema import Schema
from ...data.selection import PlainColumns
from ...errors import InvalidInput, Undetermined
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..analysis import Analysis, check_rows
from ..groups.columns import yes_of, yes_or_no
from ..groups.contingency import chi2_pvalue
from ..groups.finding import Finding, numbers, p_words
from ..statistic import Value, normal_reach

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS, TERMS, GRID = 4, 9, 160


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
        return int(self.counts.sum())

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
        """``chi2`` with a continuity correction of 1/2."""
        return self._chi2(0.5)

    @property
    def pvalue_corrected(self) -> float:
        """Of ``chi2_corrected``."""
        return chi2_pvalue(self.chi2_corrected, 1)

    def _chi2(self, correction: float) -> float:
        excess, variance = numbers([self.excess, self.excess_variance])
        return float((abs(excess) - correction) ** 2 / variance) if variance > 0 else float("nan")

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Intervals ``(lower, upper)`` of the odds ratio and of the risk ratio, each with probability ``1 - alpha``."""
        ratios = numbers([self.odds_ratio, self.risk_ratio])
        reach = normal_reach(alpha) * numbers([self.log_odds_ratio_se, self.log_risk_ratio_se])
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
        there = np.isfinite(logs.sum(axis=1))
        if not there.any():
            raise InvalidInput(
                f"there is nothing to plot: a group of {self.exposure!r} has {self.outcome!r} in no row, or in all, so "
                "no ratio has an interval."
            )
        names = np.array(["log odds ratio", "log risk ratio"])[there].tolist()
        return plot_rows(path, names, logs[there, 0], logs[there, 1:], self._facts(), "common ratio, 95 % interval")


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
        terms = [[*table.tolist(), int(says_something(table)), *ratio_terms(table)] for table in tables]
        of = f"rows by {self.exposure} and {self.outcome}, parties with both levels, and terms of common ratios"
        total = agreements.sum(terms, of=of, counts=CELLS).tolist()
        counts, strata = np.array(total[:CELLS]), total[CELLS]
        check_rows(counts)
        if not strata:
            raise Undetermined(
                f"no party has both levels of {self.exposure!r} and of {self.outcome!r}: there is no table to "
                "combine. Ask for crosstab, of all rows."
            )
        ratios = ratio_estimates(total[CELLS + 1 :])
        return MantelHaenszel(*agreements.made, self.exposure, self.outcome, counts.reshape(2, 2), strata, *ratios)

    @property
    def revealed(self) -> list[str]:
        return [
            f"the rows by {self.exposure} and {self.outcome}, and how many parties have both levels of both",
            f"{TERMS} terms of common ratios and their variances",
        ]

    @property
    def numbers(self) -> int:
        return CELLS + 1 + TERMS


def check_columns(schema: Schema, exposure: object, outcome: object) -> None:
    """Two different columns of two levels each."""
    if yes_or_no(schema, exposure, "exposure").name == yes_or_no(schema, outcome, "outcome").name:
        raise InvalidInput(f"outcome must be another column than the exposure, {exposure!r}.")


def fourfold(rows: Rows, schema: Schema, exposure: str, outcome: str) -> Integers:
    """``a, b, c, d``: exposed with and without the outcome, others with and without it. ``rows``: the two columns."""
    exposed, happened = yes_of(schema[exposure]), yes_of(schema[outcome])

    def of_block(block: Array) -> Integers:
        place = 2 * (block[:, 0] != exposed).astype(np.int64) + (block[:, 1] != happened)
        return np.bincount(place, minlength=4)[None]

    return rows.totals(of_block).astype(np.int64)


def ratio_terms(table: Integers) -> list[int]:
    """What a party adds to the sums, in multiples of ``2^-GRID``: nothing where it has at most one row."""
    a, b, c, d = (int(count) for count in table)
    T = a + b + c + d
    if T < 2:
        return [0] * TERMS
    R, S, P, Q = (Fraction(part, T) for part in (a * d, b * c, a + d, b + c))
    spread = Fraction((a + b) * (c + d) * (a + c) - a * c * T, T**2)
    variance = Fraction((a + b) * (c + d) * (a + c) * (b + d), T**2 * (T - 1))
    above, below = Fraction(a * (c + d), T), Fraction(c * (a + b), T)
    exact = [R, S, P * R, P * S + Q * R, Q * S, above, below, spread, variance]
    return [round(term * 2**GRID) for term in exact]


def says_something(table: Integers) -> bool:
    """Whether a party's table has no empty margin."""
    cells = table.reshape(2, 2)
    return bool(cells.sum(axis=0).all() and cells.sum(axis=1).all())


def ratio_estimates(sums: list[int]) -> tuple[float, float, float, float, float, float]:
    """Odds ratio and the error of its logarithm, risk ratio and that error; the excess and its variance. The logarithm
    of a ratio that is 0 or infinite has no error."""

    def ratio(over: Fraction, under: Fraction) -> float:
        return float(over / under) if under else math.inf if over else math.nan

    def root(variance: Fraction | None) -> float:
        return math.nan if variance is None else float(np.sqrt(float(variance)))

    R, S, PR, mixed, QS, above, below, spread, variance = (Fraction(total, 2**GRID) for total in sums)
    of_odds = (PR / R**2 + mixed / (R * S) + QS / S**2) / 2 if R * S else None
    of_risks = spread / (above * below) if above * below else None
    excess = R - S  # a - (a + b)(a + c)/T = (ad - bc)/T
    return ratio(R, S), root(of_odds), ratio(above, below), root(of_risks), float(excess), float(variance)
