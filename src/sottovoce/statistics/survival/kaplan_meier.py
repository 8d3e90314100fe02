"""The estimate of Kaplan and Meier (1958), of counts at the points of a public grid:

    S(t) = prod_{g <= t} (1 - d_g / n_g),    V(t) = sum_{g <= t} d_g / (n_g (n_g - d_g))    (Greenwood),

with ``d_g`` events of ``n_g`` at risk, and ``S sqrt(V)`` the standard error of ``S``.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...errors import InvalidInput, is_number
from ...pdmm.result import Status
from ..statistic import Statistic, plain
from .curves import Curves, quantile_of_normal, share
from .time_to_event import OfCurves

KINDS = ("log-log", "log", "plain")
ROUNDED = 1e-12  # a curve that comes to 1/2 but for rounding has come to 1/2


@dataclass(frozen=True, eq=False, repr=False)
class KaplanMeier(Curves):
    """What ``Study.kaplan_meier`` returns, besides the fields of ``Curves``: how many are free of the event, by time.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = sv.Schema({"days": {"type": "integer", "range": (0, 9)}, "death": "boolean"})
    >>> tables = [{"days": [2, 5], "death": [True, False]}, {"days": [5, 9], "death": [True, False]}]
    >>> curve = sv.Study(sv.Network.complete(2), tables, schema=schema).kaplan_meier("days", "death")
    >>> curve.predict([1, 2, 9]).tolist(), curve.median.tolist(), curve.at_risk[0, [0, 3, 9]].tolist()
    ([[1.0, 0.75, 0.5]], [5.0], [4, 3, 1])
    """

    name: ClassVar[str] = "survival"
    label: ClassVar[str] = "survival"
    start: ClassVar[float] = 1.0

    @property
    def survival(self) -> Array:
        """``S`` at every point; where nobody is at risk any more it stays as it was."""
        curve = np.cumprod(1 - share(self.events, self.at_risk), axis=1)
        return np.where(self.nobs[:, None] > 0, curve, np.nan)

    @property
    def curve(self) -> Array:
        """``survival``."""
        return self.survival

    @property
    def greenwood(self) -> Array:
        """``V``, the variance of ``log S``; infinite once everybody had the event."""
        return np.cumsum(self._steps, axis=1)

    @property
    def _steps(self) -> Array:
        n, d = self.at_risk.astype(np.float64), self.events
        with np.errstate(divide="ignore"):
            return np.divide(d, n * (n - d), out=np.zeros(d.shape), where=d > 0)

    @property
    def std_error(self) -> Array:
        """Of ``survival``, by Greenwood's formula; NaN where that is 0."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.survival * np.sqrt(self.greenwood))

    def conf_int(self, alpha: float = 0.05, kind: str = "log-log") -> Array:
        """Intervals for ``S`` at every point, ``(groups, points, 2)``.

        Parameters
        ----------
        alpha : float
            One minus their level.
        kind : {"log-log", "log", "plain"}
            On which scale they are symmetric: ``log(-log S)``, as in lifelines, ``log S``, or ``S`` itself; cut at 0
            and 1. They are NaN where ``S`` is 0.

        Returns
        -------
        ndarray
            Lower and upper ends.
        """
        if kind not in KINDS:
            raise InvalidInput(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.")
        S, reach = self.survival, quantile_of_normal(alpha) * np.sqrt(self.greenwood)
        with np.errstate(divide="ignore", invalid="ignore"):
            if kind == "plain":
                ends = [S - S * reach, S + S * reach]
            elif kind == "log":
                ends = [S * np.exp(-reach), S * np.exp(reach)]
            else:
                ends = [S ** np.exp(-reach / np.log(S)), S ** np.exp(reach / np.log(S))]
        interval = np.clip(np.stack(ends, axis=-1), 0.0, 1.0)
        interval[S == 1] = 1.0  # no event yet
        interval[S == 0] = np.nan
        return interval

    def quantile(self, p: float = 0.5) -> Array:
        """The first point at which ``S`` is ``1 - p`` or less, of every group; infinite where it never is."""
        if not (is_number(p) and 0 < p < 1):
            raise InvalidInput(f"p must lie between 0 and 1, 0.5 for the median; got {p!r}.")
        return self._reached(self.survival, 1 - p)

    @property
    def median(self) -> Array:
        """The first point at which half of a group or less is left; infinite where that is never so."""
        return self.quantile(0.5)

    def median_conf_int(self, alpha: float = 0.05, kind: str = "log-log") -> Array:
        """Intervals of the medians, ``(groups, 2)``: where the ends of the intervals of ``S`` come to 1/2 (Brookmeyer
        and Crowley, 1982)."""
        low, high = np.moveaxis(self.conf_int(alpha, kind), -1, 0)
        return np.column_stack([self._reached(low, 0.5), self._reached(high, 0.5)])

    def _reached(self, curve: Array, level: float) -> Array:
        below = curve <= level + ROUNDED
        found = np.where(below.any(axis=1), self.times[below.argmax(axis=1)], np.inf)
        return np.where(self.nobs > 0, found, np.nan)

    def restricted_mean(self, to: float | None = None) -> tuple[Array, Array]:
        """The mean time without the event up to a time ``to``, the area under ``S``, and its standard error, of every
        group: ``sum_g (area from g to the end)^2 d_g / (n_g (n_g - d_g))`` is the square of the latter.

        Parameters
        ----------
        to : float, optional
            Up to the last point of the grid. Default: the last point up to which all groups are observed.

        Returns
        -------
        tuple of ndarray
            Means and standard errors.
        """
        if to is None:
            last = [self.times[risk > 0][-1] for risk in self.at_risk if risk[0]]
            to = float(min(last))  # 0 where a group leaves at once
        elif not (is_number(to) and 0 < to <= self.times[-1]):
            raise InvalidInput(f"to must be a time up to {self.times[-1]:g}, the last point of the grid; got {to!r}.")
        end = float(to)
        inside = self.times < end
        S = self.predict([0.0, *self.times[inside]])
        areas = S * np.diff([0.0, *self.times[inside], end])
        left = np.cumsum(areas[:, ::-1], axis=1)[:, ::-1][:, 1:]  # from each point on
        with np.errstate(invalid="ignore"):
            terms = np.where(left > 0, left**2 * self._steps[:, inside], 0.0)
        return areas.sum(axis=1), np.where(self.nobs > 0, np.sqrt(terms.sum(axis=1)), np.nan)

    def summary(self) -> str:
        """A line per group: rows, events, the median and the restricted mean, with 95 % intervals and errors."""
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: no curves to report."
        interval, (mean, error) = self.median_conf_int(), self.restricted_mean()
        width = max(5, *(len(group) for group in self.groups))
        lines = [
            f"Kaplan-Meier, {self._facts()}",
            f"{'':{width}}  {'n':>8}  {'events':>8}  {'median':>10}  {'[0.025':>10}  {'0.975]':>10}  {'mean':>10}  "
            f"{'std. error':>10}",
        ]
        for k, group in enumerate(self.groups):
            told = [self.median[k], *interval[k], mean[k], error[k]]
            figures = "  ".join(f"{value:>10.5g}" for value in told)
            lines.append(f"{group:{width}}  {self.nobs[k]:>8}  {int(self.events[k].sum()):>8}  {figures}")
        return "\n".join([*lines, "median: inf where it is not reached; mean: up to the last time of all groups"])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; the status alone where the runs did not converge."""
        if self.status is not Status.CONVERGED:
            return super().to_dict()
        return {**super().to_dict(), "median": plain(self.median), "median_conf_int": plain(self.median_conf_int())}


@dataclass(frozen=True, eq=False, kw_only=True)
class KaplanMeierAnalysis(OfCurves):
    """``Study.kaplan_meier``."""

    type: ClassVar[str] = "kaplan_meier"
    gives: ClassVar[builtins.type[Statistic]] = KaplanMeier
