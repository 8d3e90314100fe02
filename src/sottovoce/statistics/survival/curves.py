"""Curves of a time to an event, of counts at the points of a public grid: with ``d_g`` events of ``n_g`` at risk,

    S(t) = prod_{g <= t} (1 - d_g / n_g)    (Kaplan and Meier, 1958),
    V(t) = sum_{g <= t} d_g / (n_g (n_g - d_g))    (Greenwood), and ``S sqrt(V)`` is the standard error of ``S``;
    H(t) = sum_{g <= t} d_g / n_g,    variance sum_{g <= t} d_g (n_g - d_g) / n_g^3    (Nelson, 1969; Aalen, 1978),

or, where events at one point happened one after the other and only the grid ties them (Fleming and Harrington, 1984),
``1/n_g + 1/(n_g - 1) + ... + 1/(n_g - d_g + 1)`` in the place of ``d_g / n_g``, and the sum of its squares.
"""

from __future__ import annotations

import builtins
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array, as_floats
from ...errors import InvalidCost, InvalidInput, is_number
from ...pdmm.modular_mask import Integers
from ...pdmm.result import Status
from ..statistic import Statistic, Value, normal_reach
from .grid import TimeToEvent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("log-log", "log", "plain")
ROUNDED = 1e-12  # a curve that comes to 1/2 but for rounding has come to 1/2


@dataclass(frozen=True, eq=False, repr=False)
class Curves(Statistic):
    """A curve for every group, besides the fields of ``Statistic``. Whatever has a value per group and point is
    ``(groups, points)``; the one group is called ``"all"`` where rows are not grouped. A group without rows has NaN.

    Attributes
    ----------
    time, event : str
        The columns.
    by : str or None
        What rows are grouped by.
    groups : tuple of str
        Its levels.
    times : ndarray
        The points of the grid. A time counts at the first point that is not before it.
    events, censored : ndarray of int
        How many leave at a point, with the event or without.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = sv.Schema({"days": {"type": "integer", "range": (0, 9)}, "death": "boolean"})
    >>> tables = [{"days": [2, 5], "death": [True, False]}, {"days": [5, 9], "death": [True, False]}]
    >>> curve = sv.Study(sv.Network.complete(2), tables, schema=schema).nelson_aalen("days", "death", grid=[3, 6, 9])
    >>> curve.times.tolist(), curve.events.tolist(), curve.censored.tolist(), curve.at_risk.tolist()
    ([3.0, 6.0, 9.0], [[1, 1, 0]], [[0, 1, 1]], [[4, 3, 1]])
    """

    time: Value[str] = Value()
    event: Value[str] = Value()
    by: Value[str | None] = Value()
    groups: Value[tuple[str, ...]] = Value()
    times: Value[Array] = Value()
    events: Value[Integers] = Value()
    censored: Value[Integers] = Value()

    _title: ClassVar[str]  # above the summary
    name: ClassVar[str]  # of the curve, in frames
    label: ClassVar[str]  # and in pictures
    start: ClassVar[float]  # before the first event

    @property
    def curve(self) -> Array:
        """The estimate at every point."""
        return np.asarray(getattr(self, self.name))

    @property
    @abstractmethod
    def std_error(self) -> Array:
        """Its standard error."""

    @abstractmethod
    def conf_int(self, alpha: float = 0.05) -> Array:
        """Intervals ``(groups, points, 2)`` that hold the value at a point with probability ``1 - alpha``."""

    @property
    def nobs(self) -> Integers:
        """Rows of every group."""
        return np.asarray((self.events + self.censored).sum(axis=1))

    @cached_property
    def at_risk(self) -> Integers:
        """How many have not left before a point."""
        return at_risk(self.events + self.censored)

    def risk_table(self, times: npt.ArrayLike) -> Integers:
        """How many of every group are at risk at given times, ``(groups, times)``: those who leave there or later."""
        at = np.searchsorted(self.times, self._read_times(times), side="left")
        return np.column_stack([self.at_risk, np.zeros(len(self.groups), np.int64)])[:, at]

    def predict(self, times: npt.ArrayLike) -> Array:
        """The curves at given times from 0 to the last point, ``(groups, times)``: a curve is flat up to the next
        point."""
        at = np.searchsorted(self.times, self._read_times(times), side="right")
        first = np.where(self.nobs > 0, self.start, np.nan)
        return np.column_stack([first, self.curve])[:, at]

    def _read_times(self, times: npt.ArrayLike) -> Array:
        try:
            found = np.atleast_1d(as_floats(times, "times"))
        except InvalidCost:
            found = np.array([np.nan])
        if found.ndim != 1 or not ((found >= 0) & (found <= self.times[-1])).all():
            raise InvalidInput(
                f"times must be numbers from 0 to {self.times[-1]:g}, the last point of the grid; got {times!r}."
            )
        return found

    def _derived(self) -> dict[str, Any]:
        return {"at_risk": self.at_risk, **self._ends()}

    def _ends(self) -> dict[str, Array]:
        """The curve, its error and the ends of its intervals."""
        low, high = np.moveaxis(self.conf_int(), -1, 0)
        return {self.name: self.curve, "std_error": self.std_error, "conf_low": low, "conf_high": high}

    def _columns(self) -> dict[str, list[Any]]:
        """The life table: a row per group and point."""
        values = {"at_risk": self.at_risk, "events": self.events, "censored": self.censored, **self._ends()}
        where = {
            self.by or "group": [group for group in self.groups for _ in self.times],
            self.time: np.tile(self.times, len(self.groups)).tolist(),
        }
        return {**where, **{name: np.asarray(value).ravel().tolist() for name, value in values.items()}}

    @abstractmethod
    def _figures(self) -> dict[str, Array]:
        """What the summary says of every group besides its rows and events, under its headings."""

    def _notes(self) -> list[str]:
        """What stands below the summary."""
        return []

    def summary(self) -> str:
        """A line per group: rows, events, and figures of its curve with 95 % intervals and errors."""
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: no curves to report."
        figures, events, width = self._figures(), self.events.sum(axis=1), max(5, *map(len, self.groups))
        head = f"{'':{width}}  {'n':>8}  {'events':>8}" + "".join(f"  {name:>10}" for name in figures)
        lines = [f"{self._title}, {self._facts()}", head]
        for k, group in enumerate(self.groups):
            told = "".join(f"  {values[k]:>10.5g}" for values in figures.values())
            lines.append(f"{group:{width}}  {self.nobs[k]:>8}  {int(events[k]):>8}{told}")
        return "\n".join([*lines, *self._notes()])

    def _facts(self) -> str:
        grouped = f" in {len(self.groups)} groups by {self.by}" if self.by else ""
        return (
            f"{self.event} by {self.time}: {int(self.events.sum())} events in {int(self.nobs.sum())} observations of "
            f"{self.parties} parties{grouped}, at {len(self.times)} points"
        )

    def _picture(self, path: str | Path | None) -> Figure:
        from ..pictures import plot_curves

        return plot_curves(path, self)


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

    _title: ClassVar[str] = "Kaplan-Meier"
    name: ClassVar[str] = "survival"
    label: ClassVar[str] = "survival"
    start: ClassVar[float] = 1.0

    @property
    def survival(self) -> Array:
        """``S`` at every point; where nobody is at risk any more it stays as it was."""
        curve = np.cumprod(1 - share(self.events, self.at_risk), axis=1)
        return np.where(self.nobs[:, None] > 0, curve, np.nan)

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
        """Intervals for ``S`` at every point, ``(groups, points, 2)``, cut at 0 and 1, and NaN where ``S`` is 0.

        ``kind``: on which scale they are symmetric, ``log(-log S)`` as in lifelines (``"log-log"``), ``log S``
        (``"log"``), or ``S`` itself (``"plain"``).
        """
        if kind not in KINDS:
            raise InvalidInput(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.")
        S, reach = self.survival, normal_reach(alpha) * np.sqrt(self.greenwood)
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
        group: ``sum_g (area from g to the end)^2 d_g / (n_g (n_g - d_g))`` is the square of the latter. By default up
        to the last point up to which all groups are observed."""
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

    def _figures(self) -> dict[str, Array]:
        (low, high), (mean, error) = self.median_conf_int().T, self.restricted_mean()
        return {"median": self.median, "[0.025": low, "0.975]": high, "mean": mean, "std. error": error}

    def _notes(self) -> list[str]:
        return ["median: inf where it is not reached; mean: up to the last time of all groups"]

    def _derived(self) -> dict[str, Any]:
        return {**super()._derived(), "median": self.median, "median_conf_int": self.median_conf_int()}


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

    _title: ClassVar[str] = "Nelson-Aalen"
    name: ClassVar[str] = "cumulative_hazard"
    label: ClassVar[str] = "cumulative hazard"
    start: ClassVar[float] = 0.0

    @property
    def cumulative_hazard(self) -> Array:
        """``H`` at every point."""
        return self._summed(_falling(self.at_risk, self.events, 1) if self.smooth else share(self.events, self.at_risk))

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
        reach = normal_reach(alpha) * np.where(H > 0, share(self.std_error, H), H)  # NaN stays NaN
        return np.stack([H * np.exp(-reach), H * np.exp(reach)], axis=-1)

    def _figures(self) -> dict[str, Array]:
        low, high = self.conf_int()[:, -1].T
        return {"H at end": self.curve[:, -1], "std. error": self.std_error[:, -1], "[0.025": low, "0.975]": high}

    def _summed(self, steps: Array) -> Array:
        return np.where(self.nobs[:, None] > 0, np.cumsum(steps, axis=1), np.nan)


@dataclass(frozen=True, eq=False, kw_only=True)
class KaplanMeierAnalysis(TimeToEvent):
    """What ``Study.kaplan_meier`` asks for."""

    type: ClassVar[str] = "kaplan_meier"
    gives: ClassVar[builtins.type[Statistic]] = KaplanMeier


@dataclass(frozen=True, eq=False, kw_only=True)
class NelsonAalenAnalysis(TimeToEvent):
    """What ``Study.nelson_aalen`` asks for."""

    smooth: bool = False

    type: ClassVar[str] = "nelson_aalen"
    gives: ClassVar[builtins.type[Statistic]] = NelsonAalen

    def answer(self, counts: Integers) -> dict[str, Any]:
        return {**super().answer(counts), "smooth": self.smooth}


def at_risk(leaving: Integers) -> Integers:
    """Of those who leave at each point, along the last axis, how many are there before."""
    return np.asarray(np.cumsum(leaving[..., ::-1], axis=-1)[..., ::-1])


def share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Array:
    """``part / whole``, and 0 where nobody is at risk."""
    return np.asarray(np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0), dtype=np.float64)


def _falling(at_risk: Integers, events: Integers, power: int) -> Array:
    """``sum_{j < d} 1 / (n - j)^power`` at every point."""
    n, d = at_risk.ravel(), events.ravel()
    point = np.repeat(np.arange(d.size), d)
    earlier = np.arange(len(point)) - np.repeat(np.cumsum(d) - d, d)  # at the same point
    terms = 1.0 / (n[point] - earlier) ** power
    return np.asarray(np.bincount(point, terms, d.size), dtype=np.float64).reshape(events.shape)
