"""How well a score tells two kinds of rows apart, from its histogram in each: integers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..analysis import CountsAnalysis
from ..groups.finding import Finding, numbers
from ..statistic import Value, check_alpha
from .score import ScoreAnalysis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        return int(np.sum(self.positives) + np.sum(self.negatives))

    @property
    def _totals(self) -> tuple[int, int]:
        return int(np.sum(self.positives)), int(np.sum(self.negatives))

    @property
    def thresholds(self) -> Array:
        """From the highest edge to the lowest: a row is called positive whose score is above one. At the lowest all
        are."""
        return numbers(self.edges)[::-1]

    @property
    def tpr(self) -> Array:
        """The share of rows with the outcome that each threshold calls positive: sensitivity."""
        return np.append(0, np.cumsum(np.asarray(self.positives)[::-1])) / self._totals[0]

    @property
    def fpr(self) -> Array:
        """The share of rows without it: one less specificity."""
        return np.append(0, np.cumsum(np.asarray(self.negatives)[::-1])) / self._totals[1]

    @property
    def _pairs(self) -> tuple[int, int]:
        """Pairs of a positive and a negative row that the bins put into order, and those that they do not."""
        positives, negatives = np.asarray(self.positives).tolist(), np.asarray(self.negatives).tolist()
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
        """An interval that holds the area with probability ``1 - alpha``, cut to 0 and 1.

        Parameters
        ----------
        alpha : float
            Between 0 and 1.

        Returns
        -------
        tuple of float
            Lower and upper end.
        """
        from scipy.special import ndtri

        reach = float(ndtri(1 - check_alpha(alpha) / 2)) * self.auc_se
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
        from .pictures import plot_roc

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
