"""The result of a Cox model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array, as_floats
from ...errors import InvalidInput, Unsupported
from ..fit import Fit
from ..new_rows import linear_prediction
from ..statistic import Value


@dataclass(frozen=True, eq=False, repr=False)
class CoxFit(Fit):
    """What ``Study.cox`` and ``private_cox`` return, besides the fields of ``Fit``: log hazard ratios.

    Attributes
    ----------
    time, event : str
        The columns that are explained.
    formula, schema : str
        Of the design, the schema as JSON; empty where columns came as arrays.
    events : int
        Of all parties.
    ties, baseline : str
        As asked for.
    llf, llf_null : float
        The partial log-likelihood at the estimates, and with all of them 0.
    score_statistic : float
        Of the test that all are 0, from score and information there: of one 0/1 column without ties, the log-rank test.
    means : ndarray
        Of the columns, over all rows.
    offset : float
        Likewise, of the offset; 0 without.
    times, baseline_cumulative_hazard : ndarray or None
        With one baseline for all parties: the points of its grid that have events, and the hazard summed up to there
        for a row that has the means, of the offset too (Breslow's estimate). With a baseline for each party nobody sees
        those of others.
    steps : int
        Points at which score and information were agreed on.

    Examples
    --------
    >>> import sottovoce as sv
    >>> treated = [[[0.0], [1.0], [0.0], [1.0]], [[1.0], [0.0], [1.0]], [[0.0], [1.0], [0.0]]]
    >>> times, events = [[1, 4, 3, 6], [5, 2, 1], [4, 3, 2]], [[1, 1, 1, 0], [1, 1, 1], [0, 1, 1]]
    >>> shards = list(zip(treated, times, events))
    >>> fit = sv.private_cox(sv.Network.ring(3), shards, names=["treated"])
    >>> fit.params.round(4).tolist(), fit.bse.round(4).tolist(), fit.events
    ([-0.8469], [0.8865], 8)
    """

    time: Value[str] = Value()
    event: Value[str] = Value()
    formula: Value[str] = Value()
    schema: Value[str] = Value()
    events: Value[int] = Value()
    ties: Value[str] = Value()
    baseline: Value[str] = Value()
    llf: Value[float] = Value()
    llf_null: Value[float] = Value()
    score_statistic: Value[float] = Value()
    means: Value[Array] = Value()
    offset: Value[float] = Value()
    times: Value[Array | None] = Value()
    baseline_cumulative_hazard: Value[Array | None] = Value()
    steps: Value[int] = Value()

    title: ClassVar[str] = "Cox Proportional Hazards"
    ratio: ClassVar[str | None] = "hazard ratio"

    @property
    def df_model(self) -> int:
        """How many parameters there are."""
        return len(self.terms)

    @property
    def aic(self) -> float:
        """``2 df_model - 2 llf``, of the partial likelihood."""
        return 2 * self.df_model - 2 * self.llf

    @property
    def llr(self) -> float:
        """The statistic of the likelihood-ratio test that all parameters are 0."""
        return 2 * (self.llf - self.llf_null)

    @property
    def llr_pvalue(self) -> float:
        """Of that test."""
        return self._p_value(self.llr)

    @property
    def wald_statistic(self) -> float:
        """Of Wald's test of the same."""
        return float(self.params @ np.linalg.solve(self.covariance, self.params))

    @property
    def wald_pvalue(self) -> float:
        """Of that test."""
        return self._p_value(self.wald_statistic)

    @property
    def score_pvalue(self) -> float:
        """Of the score test."""
        return self._p_value(self.score_statistic)

    def _p_value(self, statistic: float) -> float:
        from scipy.special import chdtrc

        return float(chdtrc(self.df_model, statistic))

    def predict(self, table: Any) -> Array:
        """Hazard ratios ``exp(x'params)`` of new rows to one of zeros: of a table with the columns that the formula
        reads, in any form that a party's table may have, or an array or a frame of the columns, where the model was
        made from arrays; offsets are added to ``x'params``."""
        return np.exp(self._eta(table))

    def _eta(self, table: Any) -> Array:
        return linear_prediction(self.formula, self.schema, self.terms, self.params, table)

    def survival(self, table: Any, times: npt.ArrayLike) -> Array:
        """How likely rows like these are to be free of the event, ``(rows, times)``; with one baseline for all parties.

        Raises
        ------
        Unsupported
            With a baseline for each party, which nobody but that party sees.
        InvalidInput
            Times below 0.
        """
        if self.times is None or self.baseline_cumulative_hazard is None:
            raise Unsupported(
                'every party has a baseline of its own here, and shows it to nobody. Use baseline="grid".'
            )
        at = np.atleast_1d(as_floats(times, "times"))
        if at.ndim != 1 or not (at >= 0).all():
            raise InvalidInput(f"times must be numbers from 0 on; got {times!r}.")
        hazard = np.append(0.0, self.baseline_cumulative_hazard)[np.searchsorted(self.times, at, side="right")]
        ratio = np.exp(self._eta(table) - self.means @ self.params - self.offset)
        return np.exp(-np.outer(ratio, hazard))

    def _facts(self) -> str:
        return (
            f"{self.event} by {self.time}, {len(self.terms)} terms: {self.events} events in {self.nobs} observations "
            f"of {self.parties} parties"
        )

    def _head(self) -> list[tuple[str, str]]:
        tests = {"LR": (self.llr, self.llr_pvalue), "Wald": (self.wald_statistic, self.wald_pvalue)}
        tests["Score"] = self.score_statistic, self.score_pvalue
        df = self.df_model
        return [
            ("Dep. Variable", self.time),
            ("Status", self.event),
            ("Ties", self.ties.capitalize()),
            ("Baseline", "one for each party" if self.baseline == "party" else "one, on a grid"),
            ("No. Observations", f"{self.nobs:,}"),
            ("No. Events", f"{self.events:,}"),
            ("Parties", f"{self.parties}"),
            ("Log-Likelihood", f"{self.llf:.4f}"),
            ("LL-Null", f"{self.llf_null:.4f}"),
            *((f"{name} chi2({df})", f"{value:.4f} (p = {p:.3g})") for name, (value, p) in tests.items()),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; the status alone where the runs did not converge."""
        found = super().to_dict()
        if "llf" not in found:
            return found
        names = ("llr", "llr_pvalue", "wald_statistic", "wald_pvalue", "score_pvalue", "aic")
        return {**found, **{name: getattr(self, name) for name in names}}
