"""Whether predicted probabilities are true: what was predicted against what came of it, bin by bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import InvalidInput, NotConverged
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..groups.contingency import chi2_pvalue
from ..groups.finding import Finding, numbers, p_words
from ..statistic import Value
from .score import ScoreAnalysis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
            return float(np.where((variance <= 0) & (apart < 1e-9), 0.0, apart / np.maximum(variance, 0.0)).sum())

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
        return np.linspace(0, 1, self.bins + 1)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Calibration:
        middle, half = self.edges[:-1] + 0.5 / self.bins, 0.5 / self.bins
        try:
            events, others = self.agreed_counts(agreements, rows)
            n = events + others
            share = agreements.parties / np.append(np.maximum(n, 1), n.sum())

            def sides(block: Array) -> tuple[Array, Array]:
                """Which bin a row is in, or any; and by how much its score is off the middle, or the truth."""
                place, score = self.places(block), block[:, 1]
                bins = place[:, None] == np.arange(self.bins)
                off = np.column_stack([(score - middle[place]) / half, (score - self.happened(block)) ** 2])
                return np.column_stack([bins, np.ones(len(block))]).astype(np.float64), off

            sums = np.array([_sums(part.products(sides)) for part in rows])
            of = f"scores by bin of {self.score}, and squares of what they are off the outcome"
            agreed = agreements.mean(share * sums, self.mask, 0, of=of)[0]
        except NotConverged:
            return Calibration(*agreements.made)
        predicted = np.where(n > 0, np.clip(middle + half * agreed[:-1], 0.0, 1.0), np.nan)
        asked = self.outcome, self.score, self.edges, n, events
        return Calibration(*agreements.made, *asked, predicted, max(0.0, float(agreed[-1])), self.fitted)

    @property
    def revealed(self) -> list[str]:
        return [
            f"the rows by {self.outcome} in each of {self.bins} bins of {self.score}",
            f"values of {self.score} in each bin, and squares of what they are off the outcome",
        ]

    @property
    def stages(self) -> int:
        return 2

    @property
    def numbers(self) -> int:
        return self.bins + 1


def _sums(products: Array) -> Array:
    """Of scores by bin, and of squares over all rows."""
    return np.append(products[:-1, 0], products[-1, 1])
