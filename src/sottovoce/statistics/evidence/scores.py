"""How good a score is, from integers alone: how well it tells two kinds of rows apart, and whether probabilities that
were predicted are true."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, Undetermined
from ...numerics.grid import equal_steps
from ...pdmm.modular_mask import Integers
from ...sums import Whole, whole
from ..agreements import Agreements, unless_beyond
from ..analysis import Analysis, CountsAnalysis, check_rows
from ..fewer_digits import PART, rounded
from ..groups.columns import ranged_column, yes_of, yes_or_no
from ..groups.contingency import chi2_pvalue
from ..groups.finding import Finding, numbers, p_words
from ..statistic import Value, normal_reach

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BINS = 100_000
HALF = 31  # bits of a score
FINEST = 10**18  # units of a score in 1: less than 2^62, as it is measured against 0 and 1


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreAnalysis(Analysis):
    """``outcome``: a boolean, or a category of two levels, of which the reference stands for no. ``score``: a number
    with a public range. ``bins``: how many that range is divided into."""

    outcome: str = ""
    score: str = ""
    bins: int = 10

    def __post_init__(self) -> None:
        yes_or_no(self.schema, self.outcome, "outcome")
        ranged_column(self.schema, self.score, "score")
        if not 2 <= self.bins <= MOST_BINS:
            raise InvalidInput(f"bins must be an integer from 2 to {MOST_BINS:,}; got {self.bins!r}.")
        object.__setattr__(self, "bins", int(self.bins))

    @property
    def selection(self) -> PlainColumns:
        return PlainColumns((self.outcome, self.score))

    @cached_property
    def edges(self) -> Array:
        """Of the bins, public; a bin has its upper edge, and the first both."""
        limits = self.schema[self.score].limits
        assert limits is not None
        return equal_steps(*limits, self.bins)

    def happened(self, block: Array) -> Integers:
        """1 for a row that had the outcome, else 0."""
        return np.asarray(block[:, 0] == yes_of(self.schema[self.outcome]), dtype=np.int64)

    def places(self, block: Array) -> Integers:
        """The bin of each row."""
        return np.asarray(np.searchsorted(self.edges[1:-1], block[:, 1]))

    def cells(self, rows: Rows) -> Integers:
        """A party's rows by bin, with the outcome and then without it."""
        return rows.totals(lambda block: self.counted(block)[None]).astype(np.int64)

    def counted(self, block: Array) -> Integers:
        """A block's rows by bin, with the outcome and then without it."""
        return np.bincount(self.places(block) + self.bins * (1 - self.happened(block)), minlength=2 * self.bins)

    @property
    def counts_of(self) -> str:
        """What the counts are of, for people."""
        return f"rows by {self.outcome} in each of {self.bins} bins of {self.score}"

    def by_outcome(self, total: Whole) -> tuple[Integers, Integers]:
        """With and without the outcome, by bin, of all parties; refused where all rows are of one kind."""
        positives, negatives = total.astype(np.int64).reshape(2, self.bins)
        check_rows(positives + negatives)
        if not (positives.any() and negatives.any()):
            raise Undetermined(f"all rows of the parties have one level of {self.outcome!r}: there is nothing to tell.")
        return positives, negatives


@dataclass(frozen=True, eq=False, repr=False)
class Roc(Finding):
    """What ``Study.roc`` returns, besides the fields of ``Statistic``: exactly what the scores give that are rounded to
    bins, and bounds of what the scores themselves would.

    Attributes
    ----------
    outcome, score : str
        The two columns.
    edges : ndarray
        Of the bins; a bin has its upper edge, and the first both.
    positives, negatives : ndarray of int
        Rows with the outcome and without it, by bin.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = {"ill": "boolean", "risk": {"type": "number", "range": (0, 1)}}
    >>> tables = [{"ill": [True, False, False], "risk": [0.9, 0.4, 0.2]}, {"ill": [True, False], "risk": [0.35, 0.1]}]
    >>> found = sv.Study(sv.Network.from_edges(2, [(0, 1)]), tables, schema=schema).roc("ill", "risk", bins=10)
    >>> found.auc, found.bounds
    (0.9166666666666666, (0.8333333333333334, 1.0))
    """

    outcome: Value[str] = Value()
    score: Value[str] = Value()
    edges: Value[Array] = Value()
    positives: Value[Integers] = Value()
    negatives: Value[Integers] = Value()

    title: ClassVar[str] = "ROC curve"
    derived: ClassVar[tuple[str, ...]] = ("observations", "auc", "auc_se", "interval", "bounds", "fpr", "tpr")

    @property
    def observations(self) -> int:
        """Rows of all parties."""
        return sum(self._totals)

    @property
    def _totals(self) -> tuple[int, int]:
        return int(self.positives.sum()), int(self.negatives.sum())

    @property
    def thresholds(self) -> Array:
        """From the highest edge to the lowest: a row is called positive whose score is above one. At the lowest all
        are."""
        return self.edges[::-1]

    @property
    def tpr(self) -> Array:
        """The share of rows with the outcome that each threshold calls positive: sensitivity."""
        return np.append(0, np.cumsum(self.positives[::-1])) / self._totals[0]

    @property
    def fpr(self) -> Array:
        """The share of rows without it: one less specificity."""
        return np.append(0, np.cumsum(self.negatives[::-1])) / self._totals[1]

    @property
    def _pairs(self) -> tuple[int, int]:
        """Pairs of a positive and a negative row that the bins put into order, and those that they do not."""
        positives, negatives = self.positives.tolist(), self.negatives.tolist()
        below = [0, *np.cumsum(negatives).tolist()]
        ordered = sum(p * b for p, b in zip(positives, below, strict=False))  # Python's integers do not overflow
        return ordered, sum(p * n for p, n in zip(positives, negatives, strict=True))

    @property
    def auc(self) -> float:
        """The area under the curve: the share of pairs in order, of rows in one bin by half."""
        P, N = self._totals
        ordered, tied = self._pairs
        return (2 * ordered + tied) / (2 * P * N)

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which the area lies that the scores themselves have."""
        P, N = self._totals
        ordered, tied = self._pairs
        return ordered / (P * N), (ordered + tied) / (P * N)

    @property
    def auc_se(self) -> float:
        """Its standard error, of the scores in bins (E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, Biometrics 44
        (1988) 837); NaN of a single row of one kind."""
        p, n = numbers(self.positives), numbers(self.negatives)
        P, N = self._totals
        if min(P, N) < 2:
            return float("nan")
        of_positives = (np.cumsum(n) - n / 2) / N  # by bin, the share of negatives below
        of_negatives = 1 - (np.cumsum(p) - p / 2) / P
        auc = self.auc
        variance = (p * (of_positives - auc) ** 2).sum() / (P - 1) / P
        return float(np.sqrt(variance + (n * (of_negatives - auc) ** 2).sum() / (N - 1) / N))

    def conf_int(self, alpha: float = 0.05) -> tuple[float, float]:
        """An interval that holds the area with probability ``1 - alpha``, cut to 0 and 1."""
        reach = normal_reach(alpha) * self.auc_se
        return max(0.0, self.auc - reach), min(1.0, self.auc + reach)

    @property
    def interval(self) -> tuple[float, float]:
        """``conf_int()``, of 95 %."""
        return self.conf_int()

    def _facts(self) -> str:
        P, N = self._totals
        return f"{self.score} for {self.outcome}, {P} with and {N} without, of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        return {"threshold": self.thresholds.tolist(), "fpr": self.fpr.tolist(), "tpr": self.tpr.tolist()}

    def _body(self) -> dict[str, list[Any]]:
        """Not all of many thresholds."""
        columns = self._columns()
        step = max(1, len(columns["fpr"]) // 20)
        return {name: values[::step] for name, values in columns.items()}

    def _head(self) -> list[tuple[str, str]]:
        low, high = self.interval
        return [
            ("AUC", f"{self.auc:.4f}, standard error {self.auc_se:.4f}, 95 % interval {low:.4f} to {high:.4f}"),
            ("without bins", f"between {self.bounds[0]:.4f} and {self.bounds[1]:.4f}"),
        ]

    def _picture(self, path: str | Path | None) -> Figure:
        from ..pictures import plot_roc

        return plot_roc(path, self.fpr, self.tpr, f"{self._facts()}\nAUC {self.auc:.3f}")


@dataclass(frozen=True, eq=False, kw_only=True)
class RocAnalysis(CountsAnalysis, ScoreAnalysis):
    """See ``ScoreAnalysis``."""

    bins: int = 100

    type: ClassVar[str] = "roc"
    gives = Roc

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Roc:
        cells = [self.cells(part).tolist() for part in rows]
        positives, negatives = self.by_outcome(agreements.sum(cells, of=self.counts_of, counts=True))
        return Roc(*agreements.made, self.outcome, self.score, self.edges, positives, negatives)

    @property
    def revealed(self) -> list[str]:
        return [f"the {self.counts_of}"]

    @property
    def counts(self) -> int:
        return 2 * self.bins


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Finding):
    """What ``Study.calibration`` returns, besides the fields of ``Statistic``.

    Attributes
    ----------
    outcome, score : str
        The two columns.
    edges : ndarray
        Of the bins, from 0 to 1; a bin has its upper edge, and the first both.
    n, events : ndarray of int
        Rows of each bin, and those with the outcome.
    predicted : ndarray
        The mean score of each bin; NaN of an empty one.
    brier : float
        The mean of ``(score - outcome)^2`` over all rows.
    fitted : bool
        Whether the score was made from these rows.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = {"ill": "boolean", "risk": {"type": "number", "range": (0, 1)}}
    >>> tables = [{"ill": [True, False, False], "risk": [0.9, 0.4, 0.2]}, {"ill": [True, False], "risk": [0.3, 0.1]}]
    >>> found = sv.Study(sv.Network.from_edges(2, [(0, 1)]), tables, schema=schema).calibration("ill", "risk", bins=2)
    >>> found.observed.tolist(), found.predicted.round(6).tolist(), round(found.brier, 6)
    ([0.25, 1.0], [0.25, 0.9], 0.142)
    """

    outcome: Value[str] = Value()
    score: Value[str] = Value()
    edges: Value[Array] = Value()
    n: Value[Integers] = Value()
    events: Value[Integers] = Value()
    predicted: Value[Array] = Value()
    brier: Value[float] = Value()
    fitted: Value[bool] = Value()

    title: ClassVar[str] = "Calibration"
    derived: ClassVar[tuple[str, ...]] = (
        "observations", "observed", "hosmer_lemeshow", "df", "pvalue", "expected_to_observed",
    )  # fmt: skip

    @property
    def observations(self) -> int:
        """Rows of all parties."""
        return int(self.n.sum())

    @property
    def observed(self) -> Array:
        """The share of rows with the outcome in each bin; NaN of an empty one."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.events / self.n)

    @property
    def _there(self) -> npt.NDArray[np.bool_]:
        return self.n > 0

    @property
    def hosmer_lemeshow(self) -> float:
        """``sum (events - expected)^2 / (expected (1 - expected/n))`` over bins that have rows; infinite where the
        impossible has happened (D. W. Hosmer and S. Lemeshow, Communications in Statistics A9 (1980) 1043)."""
        n, events, predicted = (values[self._there] for values in (self.n, self.events, self.predicted))
        apart, variance = (events - n * predicted) ** 2, n * predicted * (1 - predicted)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.where(apart == 0, 0.0, apart / variance).sum())

    @property
    def df(self) -> int:
        """Degrees of freedom: bins with rows, less two where the score was made from these rows."""
        return int(self._there.sum()) - 2 * self.fitted

    @property
    def pvalue(self) -> float:
        """Of ``hosmer_lemeshow``; NaN without degrees of freedom."""
        return chi2_pvalue(self.hosmer_lemeshow, self.df)

    @property
    def expected_to_observed(self) -> float:
        """How many times as many outcomes were predicted as there were."""
        return float(np.nansum(self.n * self.predicted)) / float(self.events.sum())

    def _facts(self) -> str:
        return f"{self.score} for {self.outcome}, {self.observations} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        columns = {"from": self.edges[:-1], "to": self.edges[1:], "n": self.n, "events": self.events}
        columns |= {"predicted": self.predicted, "observed": self.observed}
        return {name: values.tolist() for name, values in columns.items()}

    def _head(self) -> list[tuple[str, str]]:
        test = f"{self.hosmer_lemeshow:.6g} on {self.df} degrees of freedom, p {p_words(self.pvalue)}"
        ratio = f"{self.expected_to_observed:.4f}"
        return [("Hosmer-Lemeshow", test), ("Brier score", f"{self.brier:.6g}"), ("expected / observed", ratio)]

    def _picture(self, path: str | Path | None) -> Figure:
        from ..pictures import plot_calibration

        there = self._there
        shown = self.predicted[there], self.observed[there], self.n[there]
        return plot_calibration(path, *shown, self._facts())


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibrationAnalysis(ScoreAnalysis):
    """``score``: a probability. ``fitted``: whether it was made from these rows."""

    fitted: bool = True

    type: ClassVar[str] = "calibration"
    gives = Calibration

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.schema[self.score].limits or (0, 0)
        if not 0 <= low < high <= 1:
            raise InvalidInput(f"score must be a probability, with a range within 0 and 1; {self.score!r} has another.")

    @cached_property
    def edges(self) -> Array:
        """Of the bins, from 0 to 1, whatever part of it the range is."""
        return equal_steps(0, 1, self.bins)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Calibration:
        unit = agreements.units(rows, self.units)[1]
        unit = unit if unit.denominator <= FINEST else Fraction(1, FINEST)
        terms = [unless_beyond(self._terms, part, unit) for part in rows]
        if agreements.ends is not None:
            (count,) = agreements.sum([[len(part)] for part in rows], of="rows", counts=True).tolist()
            steps = self._steps(count, unit)
            terms = [rounded(part, steps) for part in terms]
        of = f"{self.counts_of}, scores by bin, and squares of what they are off the outcome"
        total = agreements.sum(terms, of=of, counts=2 * self.bins, size=self.numbers)
        events, others = self.by_outcome(total[: 2 * self.bins])
        n, scores = events + others, total[2 * self.bins : -1]
        predicted = [
            float(unit * Fraction(score, count)) if count else np.nan
            for score, count in zip(scores.tolist(), n.tolist(), strict=True)
        ]
        brier = float(Fraction(int(total[-1]), int(n.sum()) * unit.denominator**2))
        return Calibration(
            *agreements.made, self.outcome, self.score, self.edges, n, events, np.array(predicted), brier, self.fitted
        )

    def _steps(self, rows: int, unit: Fraction) -> list[int]:
        """How finely terms are told with fewer digits: of scores in a bin it is public how widely they lie."""
        in_bin = math.sqrt(rows / self.bins / 12) / self.bins / float(unit)
        off = math.sqrt(rows) / 4 * unit.denominator**2
        told = [max(1, int(size / PART)) for size in (in_bin, off)]
        return [*[1] * (2 * self.bins), *[told[0]] * self.bins, told[1]]

    def _terms(self, rows: Rows, unit: Fraction) -> Whole:
        """Of one party: its ``cells``, the sums of scores by bin in units, and the sum of squares of what they are off
        the truth, in units of ``1 / unit.denominator``."""

        def of_block(block: Array) -> Integers:
            score, place, halves = whole(block[:, 1:], [unit])[:, 0], self.places(block), np.zeros((2, self.bins), int)
            np.add.at(halves[0], place, score >> HALF)  # whose sums are below 2^62 for 2^31 rows
            np.add.at(halves[1], place, score & (2**HALF - 1))
            return np.concatenate([self.counted(block), *halves])[None]

        def off(block: Array) -> tuple[Integers, Integers]:
            score = whole(block[:, 1:], [unit])
            apart = unit.numerator * score - unit.denominator * self.happened(block)[:, None]
            return apart, apart

        cells, high, low = np.split(rows.totals(of_block), [2 * self.bins, 3 * self.bins])
        return np.concatenate([cells, (high << HALF) + low, rows.grams(off)[0]])

    @property
    def revealed(self) -> list[str]:
        what = f"values of {self.score} in each bin, and squares of what they are off the outcome"
        return [f"the {self.counts_of}", what]

    @property
    def numbers(self) -> int:
        return 3 * self.bins + 1
