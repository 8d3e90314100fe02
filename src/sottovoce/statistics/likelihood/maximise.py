"""Newton's method on exact sums: objective, score and information of all parties, step by step.

Everybody holds the same totals, to the bit, and decides on them with ``numerics/fixed_order``: the same next point, the
same end and the same sentence everywhere, and nothing to vote on. A step after which the objective fell, or at which
some party objects as its terms are ``Beyond``, is halved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import Undetermined
from ...numerics import fixed_order
from ...sums import Whole
from ..agreements import Agreements, Objected, unless_beyond
from ..fewer_digits import ClimbDigits, rounded
from ..fit import is_intercept

Sums = Callable[[Array], Whole]  # of one party's rows at parameters (k,): integers. It may raise ``Beyond``.
Read = Callable[[Whole, Array], tuple[float, Array, Array]]  # of totals and parameters: objective, score, information

MOST = 60  # agreements
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


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the climb ended, the same at every party: parameters ``theta (k,)``, objective, score and information there
    and at the first point at which sums were agreed on (for a score test), and the totals at the end. ``steps``: at how
    many points sums were agreed on."""

    theta: Array
    objective: float
    score: Array
    information: Array
    first: float
    first_score: Array
    first_information: Array
    total: Whole
    steps: int


def maximise(
    agreements: Agreements, parts: Sequence[Sums], start: Array, names: Sequence[str], read: Read, *, size: int,
    reach: float = REACH, infinite: str = "", of: str = "", rows: int | None = None, ahead: Array | None = None,
    before: Callable[[Whole], float] | None = None, named: Array | None = None, digits: ClimbDigits | None = None,
) -> Maximum:  # fmt: skip
    """Climb a concave objective, or one that Fisher scoring climbs.

    Parameters
    ----------
    parts : sequence of callables
        For each local party its ``size`` integers at given parameters. Where there is no objective they may raise
        ``Beyond``: such a point is never taken, unless it is the start.
    start, names
        Parameters ``(k,)``, and what they are called in sentences.
    read : callable
        Of totals and the parameters there: objective, score ``(k,)`` and information ``(k, k)``, each rounded once. An
        objective of NaN counts as one that fell.
    reach : float
        How far a parameter may be from 0; ``inf`` where it has units of the data.
    infinite : str
        What it means if a parameter grows without bound, as the end of a sentence.
    of : str, optional
        What the sums are of, for people. Default: objective, score and information.
    rows : int, optional
        Of an objective whose unit nobody knows, such as half of a sum of squares: how many rows it is of. Steps are
        then measured by what it is a row.
    ahead : ndarray, optional
        A first step that public numbers tell: no sums are needed at the start. The objective there is ``before`` of the
        totals of the first point, where that is given.
    named : ndarray, optional
        ``(k, k)``, what makes of the parameters those that the names are of. Default: they are.
    digits : ClimbDigits, optional
        How finely sums are told; None with all digits.

    Raises
    ------
    Undetermined
        Parameters that the rows do not tell, by name; the same at every party.
    """
    climb = Climb(start, names, reach, infinite, rows, ahead, named, digits)
    of = of or f"objective, score and information of {len(names)} parameters"
    steps, total, first = 0, None, None
    information = None if digits is None else digits.first
    for _ in range(MOST):
        own = [unless_beyond(part, climb.point) for part in parts]
        if digits is not None and information is not None:
            own = [rounded(part, digits.steps(information)) for part in own]
        try:
            total = agreements.sum(own, of=of, iterate=True, size=size)
        except Objected:
            climb.object()
            continue
        steps += 1
        there = read(total, climb.point)
        if first is None:
            first = there
            if before is not None:
                climb.height = before(total)
        if climb.hear(*there):
            break
        information = np.diag(there[2])
    else:
        raise Undetermined(
            f"there is no maximum after {MOST} steps. Drop columns that tell little, merge levels, or take another "
            "link."
        )
    assert total is not None
    assert first is not None
    agreements.shown[-1] = replace(agreements.shown[-1], iterate=False)
    return Maximum(climb.point, *there, *first, total, steps)


def covariance(information: Array) -> Array:
    """The inverse of the information at a maximum, symmetric to the bit."""
    L, _ = fixed_order.cholesky(information)
    return np.asarray(fixed_order.inverse(L))


class Climb:
    """The last point that was good, the step from there, and the ``point`` that is tried. ``height``: the objective at
    the former; -inf where nobody knows it. What it is made of is as for ``maximise``."""

    def __init__(
        self, start: Array, names: Sequence[str], reach: float, infinite: str, rows: int | None, ahead: Array | None,
        named: Array | None, digits: ClimbDigits | None,
    ) -> None:  # fmt: skip
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
        """Take in what was agreed on at the point: whether the climb ends there, or else where to go."""
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
        """The Cholesky factor of the information; refused where that does not tell a parameter."""
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
        """The refusal of parameters that grow along a way without end."""
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
        """Names of parameters; the intercepts of centred columns go along with any of them."""
        those = [name for name, flag in zip(self.names, flags, strict=True) if flag]
        return ", ".join(repr(name) for name in those if not is_intercept(name) or len(those) == 1)
