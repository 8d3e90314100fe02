"""One baseline for all parties on a public grid of times: sums at the points where events happen.

With ``w = exp(x'beta)``, a party's rows add ``w``, ``w x`` and ``w x x'`` to the last point of events that they reach;
summed up from the end, these are the sums over the risk sets, of which the partial likelihood is made (``cox_sums``).
Efron's takes the same of the events at every point that has two or more.

What differs between two risk sets are the rows that leave between them: of a single one, the sums would show all its
columns. So the counts, which are agreed on first, decide which grids are refused (``scarce``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.rows import Int64
from ...errors import Undetermined
from ...numerics import fixed_order
from ...numerics.symmetric import symmetric
from ...pdmm.modular_mask import Integers
from ...sums import GRID, Whole, on_grid
from .cox_sums import shares
from .level_model import as_floats

Places = npt.NDArray[np.intp]
LISTED = 30  # points of a grid that is proposed


@dataclass(frozen=True, eq=False)
class Leaving:
    """How many rows of all parties leave at each point, and what follows for the sums that are shown.

    ``censored`` and ``events`` are ``(points,)``; ``efron``: whether the sums over events are shown as well.
    """

    censored: Integers
    events: Integers
    efron: bool

    @cached_property
    def shown(self) -> Places:
        """The points at which events happen: those of risk sets."""
        return np.flatnonzero(self.events)

    @cached_property
    def apart(self) -> Places:
        """Which of those have sums over their events beside the ones over the risk set."""
        return np.flatnonzero(self.events[self.shown] > 1) if self.efron else np.empty(0, np.intp)

    def width(self, p: int) -> int:
        """How many numbers are summed up at every step."""
        return p + 1 + (len(self.shown) + len(self.apart)) * _terms(p)

    def scarce(self, fewest: int) -> list[tuple[int, int]]:
        """Sums that would be of too few rows: at which point, and of how many. What can be told apart are the rows that
        leave between two points of events, those who leave before the first, those with and without the event, and, of
        Efron, both at one point."""
        leaving = np.append(self.events + self.censored, 0)
        ends = np.append(self.shown, len(leaving) - 1)
        found = [(0, int(leaving[: ends[0]].sum()))]
        for j, (point, end) in enumerate(pairwise(ends.tolist())):
            d, everybody = int(self.events[point]), int(leaving[point:end].sum())
            found += [(point, d), (point, everybody - d)] if j in self.apart else [(point, everybody)]
        last = len(self.events) - 1
        found += [(last, int(self.events.sum())), (last, int(self.censored.sum()))]
        return [(point, count) for point, count in found if 0 < count < fewest]

    def coarser(self, fewest: int) -> list[int]:
        """Points of this grid, not too many to write down, that would do as one; none where even the last alone would
        not."""
        kept = self._merged(fewest)
        while len(kept) > LISTED:
            fewest *= 2
            kept = self._merged(fewest)
        return kept

    def _merged(self, fewest: int) -> list[int]:
        kept: list[int] = []
        last = len(self.events) - 1
        for point in range(last + 1):
            if self._do(kept, point, fewest):
                kept.append(point)
        while kept and kept[-1] < last and (self.events + self.censored)[kept[-1] + 1 :].any():
            kept.pop()  # rows are left at the end, too few for a point of their own
            if self._do(kept, last, fewest):
                kept.append(last)
        return kept

    def _do(self, kept: Sequence[int], point: int, fewest: int) -> bool:
        """Whether the rows that leave after the points kept so far, up to this one, are enough."""
        own = slice(kept[-1] + 1 if kept else 0, point + 1)
        d, c = int(self.events[own].sum()), int(self.censored[own].sum())
        return d >= fewest and (c == 0 or c >= fewest) if self.efron else d >= 1 and d + c >= fewest


def refuse_scarce(leaving: Leaving, points: Sequence[float], fewest: int) -> None:
    """Before any real number is shown: by counts, so that all say the same.

    Raises
    ------
    Undetermined
        Sums over fewer than ``fewest`` rows, with a grid that has none, if there is one.
    """
    if not (found := leaving.scarce(fewest)):
        return
    some = ", ".join(f"{count} at {points[point]:g}" for point, count in found[:5]) + (", ..." if found[5:] else "")
    kind = "events or other rows" if leaving.efron else "rows"
    kept = ", ".join(f"{points[point]:g}" for point in leaving.coarser(fewest))
    instead = f"Use a coarser grid, such as grid=[{kept}], or baseline" if kept else "Use baseline"
    raise Undetermined(
        f"grid has points where fewer than min_departures = {fewest} {kind} leave ({some}): sums over the others would "
        f'show theirs. {instead}="party".'
    )


@dataclass(frozen=True, eq=False)
class Binned:
    """The rows of one party at the points of a grid.

    Attributes
    ----------
    x, offset : ndarray
        ``(n, p)`` and ``(n,)``.
    event : ndarray of bool
        Whether a row leaves with the event.
    reached : ndarray of int
        How many points of events a row reaches.
    leaving : Leaving
        Of all parties.
    """

    x: Array
    offset: Array
    event: npt.NDArray[np.bool_]
    reached: Places
    leaving: Leaving

    @classmethod
    def of(cls, x: Array, time: Array, event: Array, offset: Array, points: Sequence[float], all_: Leaving) -> Binned:
        """Rows in any order; who is observed beyond the last point is censored there."""
        place = np.searchsorted(np.asarray(points), time, side="left")
        inside = (event > 0) & (place < len(points))
        order = np.lexsort((*x.T, offset, inside, place))  # as in Stratum.of
        place, inside = np.minimum(place, len(points) - 1)[order], inside[order]
        reached = np.searchsorted(all_.shown, place, side="right")
        return cls(x[order], offset[order], inside, reached, all_)

    def integers(self, beta: Array, shift: float) -> Whole:
        """With weights divided by ``exp(shift)``: of events ``x`` and the offset; of those who leave from a point of
        events on, up to the next, ``w``, ``w x`` and ``w x x'``; and of the events where there are two or more. Each
        row's numbers are rounded to the grid before they are added."""
        x, event, J = self.x, self.event, len(self.leaving.shown)
        upper = np.triu_indices(x.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is beyond the grid
            eta = self.offset.copy()
            for column, b in zip(x.T, beta, strict=True):  # a row's value does not depend on the rows beside it
                eta += column * b
            w = np.exp(eta - shift)
            terms = on_grid(w[:, None] * np.column_stack([np.ones(len(x)), x, x[:, upper[0]] * x[:, upper[1]]]))
        leave = _by(self.reached, terms, J + 1)[1:]
        at_once = _by(self.reached[event] - 1, terms[event], J)[self.leaving.apart]
        happened = on_grid(np.column_stack([x[event], self.offset[event]]))
        firsts = _by(np.zeros(len(happened), np.intp), happened, 1)
        return np.concatenate([firsts.ravel(), leave.ravel(), at_once.ravel()])


@dataclass(frozen=True, eq=False)
class Pooled:
    """The partial likelihood of all rows, from exact totals."""

    leaving: Leaving
    ties: str

    def risk_sets(self, sums: Whole, p: int) -> tuple[Whole, Whole]:
        """Sums over the risk set, and over the events, at every point of events: ``(points, 1 + p + p(p+1)/2)``. The
        latter are 0 where there is one event, or ties are Breslow's."""
        J, q = len(self.leaving.shown), _terms(p)
        leave = sums[p + 1 : p + 1 + J * q].reshape(J, q)
        at_once = np.zeros((J, q), object)
        at_once[self.leaving.apart] = sums[p + 1 + J * q :].reshape(-1, q)
        return np.cumsum(leave[::-1], axis=0)[::-1], at_once

    def read(self, sums: Whole, beta: Array, shift: float) -> tuple[float, Array, Array]:
        """Objective, score and information; NaN for an objective of which nothing is left."""
        p, d = len(beta), self.leaving.events[self.leaving.shown]
        S, F = (as_floats(totals, GRID) for totals in self.risk_sets(sums, p))
        at = np.repeat(np.arange(len(d)), d)
        share = shares(d, self.ties)
        own = S[at] - share[:, None] * F[at]
        c = own[:, 0]
        if not (c > 0).all():  # weights below the grid
            return float("nan"), np.zeros(p), np.eye(p)
        m = own[:, 1 : p + 1] / own[:, :1]
        second = symmetric(fixed_order.total(own[:, p + 1 :] / own[:, :1]), p)
        first = as_floats(sums[: p + 1], GRID)
        linear = float(fixed_order.total(first[:p] * beta)) + float(first[p])
        loglik = linear - float(fixed_order.total(np.log(c))) - len(at) * shift
        return loglik, first[:p] - fixed_order.total(m), second - fixed_order.product(m.T, m)

    def cumulative_hazard(self, sums: Whole, p: int, shift: float) -> Array:
        """Breslow's estimate, at every point of events, for a row of ``x = 0``."""
        S = as_floats(self.risk_sets(sums, p)[0][:, 0], GRID)
        return np.asarray(np.cumsum(self.leaving.events[self.leaving.shown] / S) * np.exp(-shift))


class OnGrid:
    """The way of the likelihood on a grid, the same at every party.

    Weights grow and fall by orders of magnitude with ``beta``, and a grid resolves what is of size 1. So they are
    divided by a number that all parties know before: ``log sum w`` is convex, and where its tangents at earlier points
    are at most is a bound from below.
    """

    def __init__(self, pooled: Pooled) -> None:
        self.pooled = pooled
        self._tangents: list[tuple[Array, float, Array]] = []  # where, value, slope
        self._last_shift = 0.0

    def shift(self, beta: Array) -> float:
        """What the logarithms of weights are taken less at a point: of the mean of all rows, at least."""
        return max(
            (value + float(fixed_order.total(slope * (beta - at))) for at, value, slope in self._tangents), default=0.0
        )

    def read(self, sums: Whole, beta: Array) -> tuple[float, Array, Array]:
        """Objective, score and information of all rows at a point."""
        p, shift = len(beta), self.shift(beta)
        self._last_shift = shift
        found = self.pooled.read(sums, beta, shift)
        rows = int(self.pooled.leaving.events.sum() + self.pooled.leaving.censored.sum())
        S = as_floats(self.pooled.risk_sets(sums, p)[0][0], GRID)
        if S[0] > 0 and not any(np.array_equal(at, beta) for at, _, _ in self._tangents):
            self._tangents.append((beta, math.log(S[0] / rows) + shift, S[1 : p + 1] / S[0]))
        return found

    def cumulative_hazard(self, sums: Whole, beta: Array) -> Array:
        """Breslow's estimate from the totals at the last point."""
        return self.pooled.cumulative_hazard(sums, len(beta), self._last_shift)


def _terms(p: int) -> int:
    """Numbers of a point: of ``w``, ``w x`` and half of ``w x x'``."""
    return 1 + p + p * (p + 1) // 2


def _by(place: Places, terms: Int64, count: int) -> Whole:
    """Sums of rows by place, ``(count, k)``, of integers below ``2^62``."""
    high = terms >> 31
    parts = []
    for half in (high, terms - (high << 31)):
        sums = np.zeros((count, terms.shape[1]), np.int64)
        np.add.at(sums, place, half)
        parts.append(sums.astype(object))
    return np.asarray(parts[0] * (1 << 31) + parts[1])
