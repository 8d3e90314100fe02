"""What curves of a time to an event share: who is at risk, who leaves, and steps between the points of the grid."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array, as_floats
from ...errors import InvalidCost, InvalidInput
from ...pdmm.modular_mask import Integers
from ...pdmm.result import Status
from ..statistic import Statistic, Value, check_alpha, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

    name: ClassVar[str]  # of the curve, in frames
    label: ClassVar[str]  # and in pictures
    start: ClassVar[float]  # before the first event

    @property
    @abstractmethod
    def curve(self) -> Array:
        """The estimate at every point."""

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
        """The curves at given times, ``(groups, times)``: a curve is flat up to the next point.

        Raises
        ------
        InvalidInput
            Times below 0 or beyond the last point.
        """
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

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; the status alone where the runs did not converge."""
        if self.status is not Status.CONVERGED:
            return super().to_dict()
        low, high = np.moveaxis(self.conf_int(), -1, 0)
        derived = {"at_risk": self.at_risk, self.name: self.curve, "std_error": self.std_error}
        derived |= {"conf_low": low, "conf_high": high}
        return {**super().to_dict(), **{name: plain(value) for name, value in derived.items()}}

    def _columns(self) -> dict[str, list[Any]]:
        """The life table: a row per group and point."""
        low, high = np.moveaxis(self.conf_int(), -1, 0)
        values = {
            "at_risk": self.at_risk, "events": self.events, "censored": self.censored, self.name: self.curve,
            "std_error": self.std_error, "conf_low": low, "conf_high": high,
        }  # fmt: skip
        where = {
            self.by or "group": [group for group in self.groups for _ in self.times],
            self.time: np.tile(self.times, len(self.groups)).tolist(),
        }
        return {**where, **{name: np.asarray(value).ravel().tolist() for name, value in values.items()}}

    def _facts(self) -> str:
        grouped = f" in {len(self.groups)} groups by {self.by}" if self.by else ""
        return (
            f"{self.event} by {self.time}: {int(self.events.sum())} events in {int(self.nobs.sum())} observations of "
            f"{self.parties} parties{grouped}, at {len(self.times)} points"
        )

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_curves

        return plot_curves(path, self)


def at_risk(leaving: Integers) -> Integers:
    """Of those who leave at each point, along the last axis, how many are there before."""
    return np.asarray(np.cumsum(leaving[..., ::-1], axis=-1)[..., ::-1])


def share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Array:
    """``part / whole``, and 0 where nobody is at risk."""
    return np.asarray(np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0), dtype=np.float64)


def quantile_of_normal(alpha: float) -> float:
    """How many standard errors an interval reaches to both sides."""
    from scipy.special import ndtri

    return float(ndtri(1 - check_alpha(alpha) / 2))
