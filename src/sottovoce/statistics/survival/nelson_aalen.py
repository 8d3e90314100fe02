"""The cumulative hazard of Nelson (1969) and Aalen (1978), of counts at the points of a public grid:

    H(t) = sum_{g <= t} d_g / n_g,    variance sum_{g <= t} d_g (n_g - d_g) / n_g^3,

or, where events at one point happened one after the other and only the grid ties them (Fleming and Harrington, 1984),
``1/n_g + 1/(n_g - 1) + ... + 1/(n_g - d_g + 1)`` in the place of ``d_g / n_g``, and the sum of its squares.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...errors import InvalidInput
from ...pdmm.modular_mask import Integers
from ...pdmm.result import Status
from ..statistic import Statistic, Value
from .curves import Curves, quantile_of_normal, share
from .time_to_event import OfCurves


@dataclass(frozen=True, eq=False, repr=False)
class NelsonAalen(Curves):
    """What ``Study.nelson_aalen`` returns, besides the fields of ``Curves``: the hazard, summed up by time.

    Attributes
    ----------
    smooth : bool
        Whether events at one point count as one after the other.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = sv.Schema({"days": {"type": "integer", "range": (0, 9)}, "death": "boolean"})
    >>> tables = [{"days": [2, 5], "death": [True, False]}, {"days": [5, 9], "death": [True, False]}]
    >>> curve = sv.Study(sv.Network.complete(2), tables, schema=schema).nelson_aalen("days", "death")
    >>> curve.predict([1, 2, 9]).round(6).tolist()
    [[0.0, 0.25, 0.583333]]
    """

    smooth: Value[bool] = Value()

    name: ClassVar[str] = "cumulative_hazard"
    label: ClassVar[str] = "cumulative hazard"
    start: ClassVar[float] = 0.0

    @property
    def cumulative_hazard(self) -> Array:
        """``H`` at every point."""
        return self._summed(_falling(self.at_risk, self.events, 1) if self.smooth else share(self.events, self.at_risk))

    @property
    def curve(self) -> Array:
        """``cumulative_hazard``."""
        return self.cumulative_hazard

    @property
    def std_error(self) -> Array:
        """Of ``cumulative_hazard``."""
        if self.smooth:
            return np.sqrt(self._summed(_falling(self.at_risk, self.events, 2)))
        hazard = share(self.events, self.at_risk)
        return np.sqrt(self._summed(share((1 - hazard) * hazard, self.at_risk)))

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Intervals for ``H`` at every point, ``(groups, points, 2)``, symmetric in ``log H``; 0 before the first
        event."""
        H = self.cumulative_hazard
        reach = quantile_of_normal(alpha) * np.where(H > 0, share(self.std_error, H), H)  # NaN stays NaN
        return np.stack([H * np.exp(-reach), H * np.exp(reach)], axis=-1)

    def summary(self) -> str:
        """A line per group: rows, events, and the hazard at the last point with its 95 % interval."""
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: no curves to report."
        interval = self.conf_int()
        width = max(5, *(len(group) for group in self.groups))
        lines = [
            f"Nelson-Aalen, {self._facts()}",
            f"{'':{width}}  {'n':>8}  {'events':>8}  {'H at end':>10}  {'std. error':>10}  {'[0.025':>10}  "
            f"{'0.975]':>10}",
        ]
        for k, group in enumerate(self.groups):
            told = [self.curve[k, -1], self.std_error[k, -1], *interval[k, -1]]
            figures = "  ".join(f"{value:>10.5g}" for value in told)
            lines.append(f"{group:{width}}  {self.nobs[k]:>8}  {int(self.events[k].sum()):>8}  {figures}")
        return "\n".join(lines)

    def _summed(self, steps: Array) -> Array:
        return np.where(self.nobs[:, None] > 0, np.cumsum(steps, axis=1), np.nan)


def _falling(at_risk: Integers, events: Integers, power: int) -> Array:
    """``sum_{j < d} 1 / (n - j)^power`` at every point."""
    n, d = at_risk.ravel(), events.ravel()
    point = np.repeat(np.arange(d.size), d)
    earlier = np.arange(len(point)) - np.repeat(np.cumsum(d) - d, d)  # at the same point
    terms = 1.0 / (n[point] - earlier) ** power
    return np.asarray(np.bincount(point, terms, d.size), dtype=np.float64).reshape(events.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class NelsonAalenAnalysis(OfCurves):
    """``Study.nelson_aalen``."""

    smooth: bool = False

    type: ClassVar[str] = "nelson_aalen"
    gives: ClassVar[builtins.type[Statistic]] = NelsonAalen

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.smooth, bool):
            raise InvalidInput(f"smooth must be true or false; got {self.smooth!r}.")

    def answer(self, counts: Integers) -> dict[str, Any]:
        return {**super().answer(counts), "smooth": self.smooth}
