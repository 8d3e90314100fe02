"""The way up: what is done with the sums at a point, all in float64 of a fixed order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import Undetermined
from ...numerics import fixed_order
from ..fewer_digits import ClimbDigits
from ..fit import is_intercept

FINE = 1e-26  # Newton's decrement after the last step, in squared standard errors: 1e-13 of one
ROUGH = 1e-10  # a decrement that no longer shrinks may be what rounding leaves
NOTHING = 1e-22  # of the objective at the first point, likewise: that of a perfect fit is all rounding
FALL = 1e-10  # of an objective, what rounding may take from it
REACH = 200.0  # of a parameter, per deviation of its column, on a logarithmic scale: beyond it counts as infinite
STRIDE = 0.025  # of the reach, what a step may move a parameter: exp stays finite
HALVINGS = 30
DEPENDENT = 1e-12  # of its information, what a column has left that depends on others
LOST = 1e-9  # of what a parameter's information was first: it goes to 0 on the way to infinity
SHARE = 0.1  # of the largest, what a column takes part in


class Climb:
    """The last point that was good, the step from there, and the ``point`` that is tried.

    ``height``: the objective at the last point that was good; -inf where nobody knows it.
    """

    def __init__(
        self,
        start: Array,
        names: Sequence[str],
        reach: float,
        infinite: str,
        rows: int | None,
        ahead: Array | None,
        named: Array | None,
        digits: ClimbDigits | None = None,
    ) -> None:
        self.named = np.eye(len(start)) if named is None else named
        self.names, self.reach, self.infinite, self.rows, self.digits = names, reach, infinite, rows, digits
        self.good, self.step, self.height = start, np.zeros(len(start)), -math.inf
        self.halved, self.is_last, self.begun = 0, False, ahead is not None
        self.first: Array | None = None  # pivots of the information at the first point
        self.size = 0.0  # of the objective there, or before
        self.decrement: float | None = None
        self.rate: float | None = None  # by which the decrement shrank in the last step
        self.point = start
        if ahead is not None:
            self._go(ahead)

    def object(self) -> None:
        """Some party has no numbers at the point."""
        if not self.begun or self.halved == HALVINGS:
            raise Undetermined(
                "the sums at the start are not finite for the rows of some party, or larger than exact sums hold. Look "
                "for outliers, bring columns, weights and offsets to sizes about 1, or take another link."
            )
        self._halve()

    def hear(self, f: float, g: Array, H: Array) -> bool:
        """What was agreed on at the point: whether the climb ends there, or else where to go."""
        fell = not f >= self.height - FALL * abs(f) - NOTHING * self.size - (self.digits.fall if self.digits else 0.0)
        if self.begun and fell and self.halved < HALVINGS:
            self._halve()
            return False
        if self.is_last:
            return True
        L = self._lower(f, H)
        y = fixed_order.forward(L, g)
        if self._is_top(float(fixed_order.total(y * y)), f):
            return True
        self.good, self.height, self.begun = self.point, f, True
        self._go(fixed_order.solve(L, g))
        return False

    def _go(self, step: Array) -> None:
        longest = float(np.abs(step).max(initial=0.0))
        if longest > STRIDE * self.reach:
            step, self.is_last = step * (STRIDE * self.reach / longest), False
        self.step, self.halved = step, 0
        self.point = self.good + step
        if (np.abs(self.point) > self.reach).any():
            raise self._infinite(self.point)

    def _halve(self) -> None:
        self.halved, self.is_last = self.halved + 1, False
        self.point = self.good + self.step / 2.0**self.halved

    def _is_top(self, decrement: float, f: float) -> bool:
        """Whether nothing is left that could be told; and, by the rates of the steps before, whether the next is the
        last one. Steps that get no shorter are what rounding leaves."""
        unit = 1.0 if self.rows is None else 2 * abs(f) / self.rows
        fine = FINE * unit if self.digits is None else self.digits.decrement
        last, before = self.decrement, self.rate
        self.decrement = decrement
        if decrement <= fine or not last:
            return decrement <= fine
        self.rate = rate = decrement / last
        left = decrement * min(1.0, rate)
        if before is not None and rate * rate <= before * before * before:
            left *= rate  # Newton's steps square the error; such a power of 1.5 is nearer to that than to none
        self.is_last = left <= fine
        return rate >= 1.0 and (decrement <= ROUGH * unit or decrement <= NOTHING * self.size)

    def _lower(self, f: float, H: Array) -> Array:
        """Its Cholesky factor; refused where it does not tell a parameter."""
        if self.first is None:
            L, place = fixed_order.cholesky(H, DEPENDENT)
            if place is not None:
                raise self._dependent(H, L, place)
            self.first = np.diag(L) ** 2
            self.size = max(abs(f), abs(self.height) if math.isfinite(self.height) else 0.0)
            return L
        L, place = fixed_order.cholesky(H)
        lost = np.arange(len(H)) == place if place is not None else np.diag(L) ** 2 <= LOST * self.first
        if lost.any():
            raise self._infinite(self.step if self.step.any() else lost.astype(np.float64))
        return L

    def _infinite(self, way: Array) -> Undetermined:
        """Of the parameters that grow along a way without end."""
        share = np.abs(fixed_order.product(self.named, way))
        those = self._listed(share >= SHARE * share.max())
        subject = f"the estimates of {those} are" if "', '" in those else f"the estimate of {those} is"
        return Undetermined(f"{subject} infinite{self.infinite}")

    def _dependent(self, H: Array, L: Array, place: int) -> Undetermined:
        size = np.diag(H)
        flat = ~(size > 0)
        if flat.any():
            subject = f"the columns {self._listed(flat)} do" if flat.sum() > 1 else f"column {self._listed(flat)} does"
            return Undetermined(
                f"{subject} not vary over the rows of all parties: a constant, or a level that no row has. Drop it, or "
                "merge the level with another."
            )
        share = np.zeros(len(H))
        share[:place] = np.abs(fixed_order.solve(L[:place, :place], H[:place, place])) * np.sqrt(size[:place])
        share[place] = math.sqrt(size[place])
        return Undetermined(
            f"the columns {self._listed(share >= SHARE * share.max())} are linearly dependent over the rows of all "
            "parties, or so nearly that float64 does not tell them apart. Drop one of them; of a category, merge a "
            "level that no row has (its reference may be one)."
        )

    def _listed(self, flags: npt.NDArray[np.bool_]) -> str:
        """Names; the intercepts of centred columns go along with any of them."""
        those = [name for name, flag in zip(self.names, flags, strict=True) if flag]
        return ", ".join(repr(name) for name in those if not is_intercept(name) or len(those) == 1)
