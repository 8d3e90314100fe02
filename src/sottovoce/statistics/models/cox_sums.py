"""Cox's partial likelihood with its score and information (Cox, 1972; Efron, 1977): of a party, and on a grid of times.

With ``w = exp(x'beta)``, at every time ``k`` of ``d`` events, and for ``l = 0, ..., d - 1``:

    c_l = sum_{at risk} w - J_l sum_{events} w,    m_l = (sum_{at risk} w x - J_l sum_{events} w x) / c_l,

where ``J_l = 0`` (Breslow) or ``l / d`` (Efron). Then

    log-likelihood  sum_{events} x'beta - sum_{k,l} log c_l
    score           sum_{events} x - sum_{k,l} m_l
    information     sum_i h_i x_i x_i' - sum_{k,l} m_l m_l',
                    h_i = w_i (sum_{times up to i's} sum_l 1 / c_l - [i has the event] sum_l J_l / c_l),

so that rows cost ``n p^2``, and events ``d p^2``.

With one baseline for all parties on a public grid of times, a party's rows add ``w``, ``w x`` and ``w x x'`` to the
last point of events that they reach; summed up from the end, these are the sums over the risk sets. Efron's takes the
same of the events at every point that has two or more. What differs between two risk sets are the rows that leave
between them: of a single one, the sums would show all its columns. So the counts, which are agreed on first, decide
which grids are refused (``scarce``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.rows import ArrayRows, Int64, Rows
from ...errors import InvalidInput, Undetermined
from ...numerics import fixed_order
from ...numerics.symmetric import symmetric, upper
from ...pdmm.modular_mask import Integers
from ...sums import GRID, Beyond, Whole, on_grid
from ..likelihood.columns import products_of
from ..likelihood.fixed_point import values

TIES = ("efron", "breslow")
FINEST = 64  # of a party, whose sums are one number: 2^-64 of a number about 1 is below its last digit
LOWEST = -700.0  # of x'beta below the largest: exp stays above 0
LISTED = 30  # points of a grid that is proposed

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Stratum:
    """Rows ``x`` with one baseline, the latest first, and their ``offset``, which is added to ``x'beta``. ``events``:
    of every event its row, by time. Of the times with events, the latest first: so many rows, the first ones, are
    ``at_risk`` there, and where its events ``began`` among all."""

    x: Array
    offset: Array
    at_risk: Places
    events: Places
    began: Places

    @classmethod
    def of(cls, x: Array, time: Array, event: Array, offset: Array | None = None) -> Stratum:
        """Rows in any order."""
        offset = np.zeros(len(time)) if offset is None else offset
        # Rows of one time by all that they hold: sums are then the same in whatever order they were read.
        order = np.lexsort((*x.T, offset, event, -time))
        x, time, event, offset = x[order], time[order], event[order], offset[order]
        events = np.flatnonzero(event)
        falling, began = np.unique(-time[events], return_index=True)
        at_risk = np.searchsorted(-time, falling, side="right")
        return cls(x, offset, at_risk, events, began)

    def sums(self, beta: Array, ties: str) -> tuple[float, Array, Array]:
        """Log-likelihood, score and information."""
        p = len(beta)
        if not len(self.events):
            return 0.0, np.zeros(p), np.zeros((p, p))
        x, rows, d = self.x, self.events, np.diff(np.append(self.began, len(self.events)))
        eta = x @ beta + self.offset
        eta = np.maximum(eta - eta.max(), LOWEST)
        w = np.exp(eta)
        wx = w[:, None] * x
        at = np.repeat(np.arange(len(d)), d)  # of each event, its time
        J = shares(d, ties)
        last = self.at_risk[at] - 1
        c = np.cumsum(w)[last] - J * np.add.reduceat(w[rows], self.began)[at]
        m = np.cumsum(wx, axis=0)[last] - J[:, None] * np.add.reduceat(wx[rows], self.began)[at]
        m /= c[:, None]
        h = self._weights(c, J, at) * w
        loglik = float(eta[rows].sum() - np.log(c).sum())
        score = x[rows].sum(axis=0) - m.sum(axis=0)
        return loglik, score, (x * h[:, None]).T @ x - m.T @ m

    def integers(self, beta: Array, ties: str) -> Whole:
        """Log-likelihood, score and half of the information as the nearest multiples of ``2^-FINEST``, as integers of
        any size: what a party adds."""
        loglik, score, information = self.sums(beta, ties)
        found = np.concatenate([[loglik], score, upper(information)])
        if not np.isfinite(found).all():
            raise Beyond("a sum is not finite.")
        return np.array([round(Fraction(value) * (1 << FINEST)) for value in found.tolist()], object)

    def _weights(self, c: Array, J: Array, at: Places) -> Array:
        """``h / w`` of every row."""
        hazard = np.add.reduceat(1 / c, self.began)
        later = np.append(np.cumsum(hazard[::-1])[::-1], 0.0)  # the latest first: from a time back to the first one
        first = np.searchsorted(self.at_risk, np.arange(len(self.x)), side="right")  # latest time that a row sees
        weights = later[first]
        weights[self.events] -= np.add.reduceat(J / c, self.began)[at]
        return np.asarray(weights)


def shares(tied: Places, ties: str) -> Array:
    """``J`` of every event."""
    if ties == "breslow":
        return np.zeros(int(tied.sum()))
    rank = np.arange(int(tied.sum())) - np.repeat(np.cumsum(tied) - tied, tied)
    return np.asarray(rank / np.repeat(tied, tied))


def in_memory(rows: Rows) -> Array:
    """All rows of a party: a risk set needs them by time, which no single pass over blocks can do. Refused where the
    blocks do not come to this process."""
    if isinstance(rows, ArrayRows):
        return rows.array
    blocks = [np.empty((0, rows.width))]

    def keep(block: Array) -> Int64:
        blocks.append(block.copy())
        return np.zeros((1, 1), np.int64)

    rows.totals(keep)
    held = np.concatenate(blocks)
    if len(held) != len(rows):
        raise InvalidInput(
            "a Cox model needs the rows of a party in its own memory, sorted by time, and this table is summed "
            "elsewhere. Give it as a file or a frame, of the columns in use."
        )
    return held


@dataclass(frozen=True, eq=False)
class Departures:
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
        """Places among ``shown`` that have sums over their events beside the ones over the risk set."""
        return np.flatnonzero(self.events[self.shown] > 1) if self.efron else np.empty(0, np.intp)

    def width(self, p: int) -> int:
        """How many numbers are summed up at every step."""
        return p + 1 + (len(self.shown) + len(self.apart)) * products_of(p)

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


def refuse_scarce(leaving: Departures, points: Sequence[float], fewest: int) -> None:
    """Refuse sums over fewer than ``fewest`` rows, with a grid that has none, if there is one: by counts, before any
    real number is shown."""
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
    """The rows of one party at the points of a grid: whether each leaves with the ``event``, and how many points of
    events it ``reached``. ``leaving``: of all parties."""

    x: Array
    offset: Array
    event: npt.NDArray[np.bool_]
    reached: Places
    leaving: Departures

    @classmethod
    def of(
        cls, x: Array, time: Array, event: Array, offset: Array, points: Sequence[float], all_: Departures
    ) -> Binned:
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
        i, j = np.triu_indices(x.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is beyond the grid
            eta = self.offset.copy()
            for column, b in zip(x.T, beta, strict=True):  # a row's value does not depend on the rows beside it
                eta += column * b
            w = np.exp(eta - shift)
            terms = on_grid(w[:, None] * np.column_stack([np.ones(len(x)), x, x[:, i] * x[:, j]]))
        leave = _by(self.reached, terms, J + 1)[1:]
        at_once = _by(self.reached[event] - 1, terms[event], J)[self.leaving.apart]
        happened = on_grid(np.column_stack([x[event], self.offset[event]]))
        firsts = _by(np.zeros(len(happened), np.intp), happened, 1)
        return np.concatenate([firsts.ravel(), leave.ravel(), at_once.ravel()])


@dataclass(eq=False)
class OnGrid:
    """The partial likelihood of all rows, from exact totals, at one point after another.

    Weights grow and fall by orders of magnitude with ``beta``, and a grid resolves what is of size 1. So they are
    divided by a number that all parties know before: ``log sum w`` is convex, and where its tangents at earlier points
    are at most is a bound from below.
    """

    leaving: Departures
    ties: str
    tangents: list[tuple[Array, float, Array]] = field(default_factory=list)  # where, value, slope
    last_shift: float = 0.0

    def shift(self, beta: Array) -> float:
        """What the logarithms of weights are taken less at a point: of the mean of all rows, at least."""
        return max(
            (value + float(fixed_order.total(slope * (beta - at))) for at, value, slope in self.tangents), default=0.0
        )

    def risk_sets(self, sums: Whole, p: int) -> tuple[Array, Array]:
        """Sums over the risk set, and over the events, at every point of events: ``(points, products_of(p))``. The
        latter are 0 where there is one event, or ties are Breslow's."""
        J, q = len(self.leaving.shown), products_of(p)
        leave = sums[p + 1 : p + 1 + J * q].reshape(J, q)
        at_once = np.zeros((J, q), object)
        at_once[self.leaving.apart] = sums[p + 1 + J * q :].reshape(-1, q)
        return values(np.cumsum(leave[::-1], axis=0)[::-1], GRID), values(at_once, GRID)

    def read(self, sums: Whole, beta: Array) -> tuple[float, Array, Array]:
        """Objective, score and information; NaN for an objective of which nothing is left."""
        p, d, shift = len(beta), self.leaving.events[self.leaving.shown], self.shift(beta)
        S, F = self.risk_sets(sums, p)
        self.last_shift = shift
        if S[0, 0] > 0 and not any(np.array_equal(at, beta) for at, _, _ in self.tangents):
            rows = int(self.leaving.events.sum() + self.leaving.censored.sum())
            self.tangents.append((beta, math.log(S[0, 0] / rows) + shift, S[0, 1 : p + 1] / S[0, 0]))
        at = np.repeat(np.arange(len(d)), d)
        own = S[at] - shares(d, self.ties)[:, None] * F[at]
        c = own[:, 0]
        if not (c > 0).all():  # weights below the grid
            return float("nan"), np.zeros(p), np.eye(p)
        m = own[:, 1 : p + 1] / own[:, :1]
        second = symmetric(fixed_order.total(own[:, p + 1 :] / own[:, :1]), p)
        first = values(sums[: p + 1], GRID)
        linear = float(fixed_order.total(first[:p] * beta)) + float(first[p])
        loglik = linear - float(fixed_order.total(np.log(c))) - len(at) * shift
        return loglik, first[:p] - fixed_order.total(m), second - fixed_order.product(m.T, m)

    def cumulative_hazard(self, sums: Whole, p: int) -> Array:
        """Breslow's estimate from the totals at the last point, at every point of events, for a row of ``x = 0``."""
        S = self.risk_sets(sums, p)[0][:, 0]
        return np.asarray(np.cumsum(self.leaving.events[self.leaving.shown] / S) * np.exp(-self.last_shift))


def _by(place: Places, terms: Int64, count: int) -> Whole:
    """Sums of rows by place, ``(count, k)``, of integers below ``2^62``."""
    high = terms >> 31
    parts = []
    for half in (high, terms - (high << 31)):
        sums = np.zeros((count, terms.shape[1]), np.int64)
        np.add.at(sums, place, half)
        parts.append(sums.astype(object))
    return np.asarray(parts[0] * (1 << 31) + parts[1])
