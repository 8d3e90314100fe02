"""Whether predicted probabilities are true: what was predicted against what came of it, bin by bin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import InvalidInput
from ...numerics.grid import equal_steps
from ...pdmm.modular_mask import Integers
from ...sums import Whole, whole
from ..agreements import Agreements, unless_beyond
from ..fewer_digits import PART, rounded
from ..groups.contingency import chi2_pvalue
from ..groups.finding import Finding, numbers, p_words
from ..statistic import Value
from .score import ScoreAnalysis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HALF = 31  # bits of a score
FINEST = 10**18


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
        return int(np.sum(self.n))

    @property
    def observed(self) -> Array:
        """The share of rows with the outcome in each bin; NaN of an empty one."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.asarray(self.events) / np.asarray(self.n))

    @property
    def _there(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.n) > 0

    @property
    def hosmer_lemeshow(self) -> float:
        """``sum (events - expected)^2 / (expected (1 - expected/n))`` over bins that have rows; infinite where the
        impossible has happened (D. W. Hosmer and S. Lemeshow, Communications in Statistics A9 (1980) 1043)."""
        n, events = np.asarray(self.n)[self._there], np.asarray(self.events)[self._there]
        predicted = numbers(self.predicted)[self._there]
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
        expected = float(np.nansum(np.asarray(self.n) * numbers(self.predicted)))
        return expected / float(np.sum(self.events))

    def _facts(self) -> str:
        return f"{self.score} for {self.outcome}, {self.observations} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        edges = numbers(self.edges).tolist()
        counts = {"n": np.asarray(self.n).tolist(), "events": np.asarray(self.events).tolist()}
        shares = {"predicted": numbers(self.predicted).tolist(), "observed": self.observed.tolist()}
        return {"from": edges[:-1], "to": edges[1:], **counts, **shares}

    def _head(self) -> list[tuple[str, str]]:
        test = f"{self.hosmer_lemeshow:.6g} on {self.df} degrees of freedom, p {p_words(self.pvalue)}"
        return [
            ("Hosmer-Lemeshow", test),
            ("Brier score", f"{self.brier:.6g}"),
            ("expected / observed", f"{self.expected_to_observed:.4f}"),
        ]

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_calibration

        there = self._there
        shown = numbers(self.predicted)[there], self.observed[there], np.asarray(self.n)[there]
        return plot_calibration(path, *shown, self._facts())


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibrationAnalysis(ScoreAnalysis):
    """``score``: a probability. ``fitted``: whether it was made from these rows."""

    fitted: bool = True

    type: ClassVar[str] = "calibration"
    gives = Calibration

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.fitted, bool):
            raise InvalidInput(f"fitted must be true or false; got {self.fitted!r}.")
        low, high = self.schema[self.score].limits or (0, 0)
        if not 0 <= low < high <= 1:
            raise InvalidInput(f"score must be a probability, with a range within 0 and 1; {self.score!r} has another.")

    @property
    def edges(self) -> Array:
        """Of the bins, from 0 to 1, whatever part of it the range is."""
        return equal_steps(0, 1, self.bins)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Calibration:
        unit = _within_one(agreements.units(rows, self.units)[1])
        terms = [unless_beyond(lambda part=part: self._terms(part, unit)) for part in rows]  # type: ignore[misc]
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
        return [
            f"the {self.counts_of}",
            f"values of {self.score} in each bin, and squares of what they are off the outcome",
        ]

    @property
    def stages(self) -> int:
        return 1

    @property
    def numbers(self) -> int:
        return 3 * self.bins + 1

    @property
    def counts(self) -> int:
        return 0


def _within_one(unit: Fraction) -> Fraction:
    """A unit of which 1 is less than 2^62, as scores are measured against 0 and 1."""
    return unit if unit.denominator <= FINEST else Fraction(1, FINEST)
