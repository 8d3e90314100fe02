"""The ratio ``theta`` of the variances between and within parties at which the profile likelihood is highest.

A party of ``n`` rows ``t = (x, y)``, whose sums are ``k`` and whose sums of products are ``K``, has

    T' V^-1 T = K - theta/(1 + n theta) k k',   log det V = log(1 + n theta),   c = n / (1 + n theta)

With ``sigma^2 = rss / df`` and ``df = N``, or ``N - p`` for REML, the profile likelihood is

    l(theta) = -(df log(rss) + sum log(1 + n theta) [+ log det A]) / 2,   A = X' V^-1 X

and with the mean residual ``r`` of a party and the means ``x`` of its columns its slope in ``log theta`` is half of
``theta (sum s - sum c)``, and the expected information there half of ``theta^2 sum c^2``, where

    s = c^2 (r^2 df / rss [+ x' A^-1 x])

At one ratio the parties add up ``T' V^-1 T``, ``log det V``, ``c`` and ``c^2``, solve for ``beta``, and then add up
``s``, which is one number. Each is a fraction, which a party rounds to a multiple of 2^-160, with columns counted in
powers of two about their root mean squares. ``T' V^-1 T`` is ``N`` at most in these units, and ``s`` and ``c^2`` are
``N^2``: with 2^39 rows there is room for 2^16 parties. Where columns, or the response, hang so much on others that
2^-100 of their squares is left, 18 digits of that remain.

There may be several maxima where parties are of very different sizes. So the parties first look at a public grid of
ratios, by four numbers each: the intercept is the best there, and the slopes are those of all rows alike, or those
within parties. They climb from about the highest maximum above 0: by the expected information at first, and then by the
secant of the last two slopes. Ratios are powers of two, or ``stretched`` from others by ``+ - * /``, and likelihoods
are whole numbers: all parties go the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...errors import Undetermined
from ...numerics.exact_sweeps import WORK, Rational, sweeps_of
from ...numerics.logarithm import logarithm
from ...sums import Whole
from ..agreements import Agreements
from ..likelihood.columns import half, products_of, square

GRID = 160
ONE = 1 << GRID
NOTHING = 90  # bits: what is less of the squares of the response is rounding of what it was computed from
HARDLY_ANY = 13  # bits: what 1/N is more than the first ratio above 0 that is looked at
LARGEST = 30  # bits: of the last
MOST = HARDLY_ANY + 40 + LARGEST + 2  # ratios, 0 among them, with 2^40 rows
LOOKS = 3  # at most, besides the first
STEPS = 40  # of the climb, at most
STRIDE = 2.0  # in log theta, at most
WITHIN = 16.0  # a ratio at which slopes are about those within parties, however few rows they have
OCTAVE = 0.7  # in log theta, from one ratio to the next
CLOSE = 2.0**-44  # of a step and the one before, multiplied: about the error that the secant leaves
NONE = 2.0**-20  # of 1/N, a ratio that counts as 0
ENDLESS = 2.0**60  # a ratio that is infinite: nothing is left within parties
VISITS = LOOKS + STEPS
STAGES = 2 * VISITS
SAY = "what residuals say of the ratio of variances"
LOOK = f"{SAY}; and weights, residuals and their squares, and log det V, on a public grid of ratios"


@dataclass(frozen=True, eq=False)
class Party:
    """What the likelihood needs of a party's rows: their number, sums ``k`` and sums of products ``K``, in units of the
    columns."""

    n: int
    sums: Whole
    products: Whole

    def weight(self, theta: Fraction) -> Fraction:
        """``c``, the information on the party's mean."""
        return self.n / (1 + self.n * theta)


@dataclass(frozen=True, eq=False)
class Point:
    """What is known of a ratio. Columns, and the response, are counted in powers of two of their units."""

    theta: float
    beta: Rational
    inverse: Rational  # of A
    rss: Fraction
    height: int  # twice the profile likelihood, in multiples of 2^-GRID
    weight: Fraction  # sum c
    squares: Fraction  # sum c^2


@dataclass(frozen=True, eq=False)
class Task:
    """The local parties at work: ``parties`` are their rows, of ``observations`` in all. ``powers``: of each column, by
    which power of two it is counted."""

    agreements: Agreements
    parties: Sequence[Party]
    powers: tuple[int, ...]
    observations: int
    names: tuple[str, ...]
    response: str
    reml: bool

    @property
    def df(self) -> int:
        """``N``, or ``N - p``."""
        return self.observations - len(self.names) * self.reml

    @property
    def intercept(self) -> bool:
        """Whether there is one; it is the first term."""
        return self.names[:1] == ("Intercept",)

    def point(self, theta: float, products: Whole, log_det: int, weight: Fraction, squares: Fraction) -> Point | None:
        """The point of ``T'V^-1T`` in multiples of ``2^-GRID``; None where nothing is left of the response."""
        p, smallest = len(self.names), products[-1, -1] >> NOTHING
        sweeps = sweeps_of(products, WORK)
        sweeps.move(range(p))
        left = sweeps.values([p], [p])[0, 0]
        if left <= smallest:
            return None
        rss, inverse = Fraction(left) / ONE, -sweeps.values(range(p), range(p)) * ONE
        height = -self.df * logarithm(rss, GRID) - log_det
        if self.reml:
            height -= logarithm(Fraction(_determinant(products[:p, :p]), ONE**p), GRID)
        return Point(theta, sweeps.values(range(p), [p])[:, 0], inverse, rss, height, weight, squares)


def numbers(p: int) -> int:
    """How many numbers travel for ``p`` terms, at most: at every ratio that is visited, and at the grid."""
    return VISITS * (products_of(p) + 4) + (1 + LOOKS) * (2 + 4 * MOST)


def grid(observations: int) -> list[Fraction]:
    """Public ratios: 0, and powers of two from hardly any variance between parties to hardly any within."""
    lowest = -HARDLY_ANY - observations.bit_length()
    return [Fraction(0), *(Fraction(2) ** power for power in range(lowest, LARGEST + 1))]


def best_ratio(task: Task, pooled: Point) -> Point:
    """The maximum. ``pooled``: the point without variance between parties."""
    slope, heights, inside = _first_look(task, pooled)
    _, others = _look(task, inside)
    heights = [max(pair) for pair in zip(heights, others, strict=True)]
    # Determinants of slopes are not in these: the restricted likelihood may rise from 0 all the same, to about 1/N.
    at = _maximum(heights) or (HARDLY_ANY + 2) * (slope > 0)
    if not at:
        return pooled
    for _ in range(LOOKS - 1):
        point = visit(task, _about(task, heights, at))
        slope, heights = _look(task, point)
        before, at = at, _maximum(heights) or at
        if abs(at - before) <= 1:
            break
    top = _climb(task, point, slope)
    return top if top is not None and top.height > pooled.height else pooled


def _maximum(heights: list[int]) -> int:
    """The place of the highest maximum on the grid above 0, for slopes as they are; 0 where there is none."""
    inner = [k for k in range(1, len(heights)) if heights[k - 1] < heights[k] and heights[k] >= max(heights[k:][:2])]
    return max(inner, key=lambda place: heights[place], default=0)


def _about(task: Task, heights: list[int], at: int) -> float:
    """The ratio at which a parabola through the heights at a place and beside it is highest."""
    theta = float(grid(task.observations)[at])
    if not 1 < at < len(heights) - 1:
        return theta
    left, middle, right = heights[at - 1 : at + 2]
    bend = 2 * middle - left - right
    return stretched(theta, float(Fraction(right - left, 2 * bend)) * OCTAVE) if bend > 0 else theta


def _first_look(task: Task, pooled: Point) -> tuple[float, list[int], Point]:
    """At the grid with the slopes of all rows alike, and the point of those within parties, in one agreement."""
    terms, more = _look_terms(task, pooled), terms_at(task, WITHIN)
    of = f"{LOOK}; and X'V^-1X, X'V^-1y and y'V^-1y within parties"
    total = task.agreements.sum([[*a, *b] for a, b in zip(terms, more, strict=True)], of=of, iterate=True)
    split = len(total) - len(more[0])
    return *_read_look(task, pooled, total[:split]), point_of(task, WITHIN, total[split:])


def _look(task: Task, point: Point) -> tuple[float, list[int]]:
    """The slope at a point, in ``log theta`` or at 0 in ``theta``, and likelihoods on the grid for its slopes."""
    return _read_look(task, point, task.agreements.sum(_look_terms(task, point), of=LOOK, iterate=True))


def _look_terms(task: Task, point: Point) -> list[list[int]]:
    ratios, v, e = grid(task.observations), contrast(task, point), GRID + max(task.powers)
    pulled = zip(task.parties, pulls(task, point), strict=True)
    return [[pull, *_of_grid(party, ratios, v, e)] for party, pull in pulled]


def _read_look(task: Task, point: Point, sums: Whole) -> tuple[float, list[int]]:
    total = sums.tolist()
    heights, inside = [], total[1]
    for c, cr, crr, log_det in zip(*(total[k::4] for k in range(2, 6)), strict=True):
        rss = inside + crr - (Fraction(cr * cr, c) if task.intercept else 0)
        height = -task.df * logarithm(max(Fraction(rss), Fraction(1)) / ONE, GRID) - log_det
        heights.append(height - (logarithm(Fraction(c, ONE), GRID) if task.reml and task.intercept else 0))
    return _slope(point, total[0]), heights


def _of_grid(party: Party, ratios: list[Fraction], v: Whole, e: int) -> list[int]:
    """Squares of a party's residuals about their mean; and at each ratio ``c``, ``cr``, ``cr^2`` and ``log det V``."""
    if not party.n:
        return [0] * (1 + 4 * len(ratios))
    r = Fraction(int(v @ party.sums), party.n << e)
    terms = [on_grid(Fraction(int(v @ party.products @ v), 1 << 2 * e) - party.n * r * r)]
    for theta in ratios:
        c = party.weight(theta)
        terms += [on_grid(c), on_grid(c * r), on_grid(c * r * r), logarithm(1 + party.n * theta, GRID)]
    return terms


def _slope(point: Point, pull: int) -> float:
    return float((Fraction(point.theta) or 2) * (Fraction(pull, ONE) - point.weight) / 2)


def _climb(task: Task, good: Point, slope: float) -> Point | None:
    """Uphill in ``log theta`` from a point; None where that leads to 0."""
    step, last = min(max(slope / _information(good), -STRIDE), STRIDE), STRIDE
    for _ in range(STEPS):
        is_last, theta = abs(step * last) <= CLOSE, stretched(good.theta, step)
        if theta * task.observations < NONE:
            return None
        point = visit(task, theta, is_last=is_last)
        if is_last:
            return point
        if point.height < good.height:
            step /= 2
            continue
        pull = task.agreements.sum([[pull] for pull in pulls(task, point)], of=SAY, iterate=True)
        before, slope, last = slope, _slope(point, int(pull[0])), step
        bend = (before - slope) / step
        good, step = point, slope / bend if bend > 0 else math.copysign(2 * step, slope)
        step = min(max(step, -STRIDE), STRIDE)
    raise Undetermined(
        f"the likelihood has no maximum after {STEPS} steps in the ratio of the variances of {task.response!r} between "
        "and within parties. Drop columns that tell little."
    )


def _information(point: Point) -> float:
    """Expected, in ``log theta``."""
    return float(Fraction(point.theta) ** 2 * point.squares / 2)


def stretched(theta: float, step: float) -> float:
    """About ``theta exp(step)`` for small steps, by ``+ - * /`` alone (the approximation of Pade)."""
    return theta * ((12.0 + step * (6.0 + step)) / (12.0 - step * (6.0 - step)))


def visit(task: Task, theta: float, *, is_last: bool = False) -> Point:
    """The point at a ratio. ``is_last``: it is the answer."""
    if theta > ENDLESS:
        raise _nothing_within(task)
    of = f"X'V^-1X, X'V^-1y and y'V^-1y of {len(task.names)} terms, and log det V"
    return point_of(task, theta, task.agreements.sum(terms_at(task, theta), of=of, iterate=not is_last))


def terms_at(task: Task, theta: float) -> list[list[int]]:
    """What the local parties add to the point at a ratio."""
    at, terms = Fraction(theta), []
    for party in task.parties:
        c = party.weight(at)
        counted = [logarithm(1 + party.n * at, GRID), on_grid(c), on_grid(c * c)]
        terms.append([*half(_weighted(party, at, task.powers)), *counted])
    return terms


def point_of(task: Task, theta: float, total: Whole) -> Point:
    """The point, from the totals; refused where nothing is left of the response."""
    log_det, weight, squares = total[-3:].tolist()
    products = square(total[:-3], len(task.powers))
    point = task.point(theta, products, log_det, Fraction(weight, ONE), Fraction(squares, ONE))
    if point is None:
        raise _nothing_within(task)
    return point


def _nothing_within(task: Task) -> Undetermined:
    return Undetermined(
        f"within the parties nothing is left of {task.response!r} beside the columns: it is constant there, or made of "
        "them. There are no variances to tell apart."
    )


def pulls(task: Task, point: Point) -> list[int]:
    """``s`` of the local parties, on the grid."""
    theta, e = Fraction(point.theta), max(task.powers)
    v, per = contrast(task, point), Fraction(on_grid(task.df / point.rss), ONE)
    inverse = np.array([[on_grid(entry) for entry in row] for row in point.inverse], object)
    terms = []
    for party in task.parties:
        if not party.n:
            terms.append(0)
            continue
        residual = Fraction(int(v @ party.sums), party.n << GRID + e)
        s = residual**2 * per
        if task.reml:
            x = shifted(party.sums[:-1], [e - power for power in task.powers[:-1]])
            s += Fraction(int(x @ inverse @ x), party.n**2 << GRID + 2 * e)
        terms.append(on_grid(party.weight(theta) ** 2 * s))
    return terms


def contrast(task: Task, point: Point) -> Whole:
    """``(-beta, 1)``, whose product with a row is its residual, in multiples of ``2^-(GRID + e)`` for the largest power
    ``e`` of a column."""
    e = max(task.powers)
    steps = np.array([*(-on_grid(entry) for entry in point.beta), ONE], object)
    return shifted(steps, [e - power for power in task.powers])


def on_grid(number: Fraction | int) -> int:
    """The nearest multiple of ``2^-GRID``."""
    return round(number * ONE)


def shifted(values: Whole, powers: Sequence[int]) -> Whole:
    """Each times its power of two."""
    return np.array([int(value) << power for value, power in zip(values, powers, strict=True)], object)


def _weighted(party: Party, theta: Fraction, powers: tuple[int, ...]) -> Whole:
    """``T'V^-1T`` of a party, on the grid."""
    a, b = theta.numerator, theta.denominator
    below = b + party.n * a
    above = party.products * below - np.multiply.outer(party.sums, party.sums) * a
    steps = GRID - np.add.outer(np.array(powers, object), np.array(powers, object))
    return np.asarray((above * (2 << steps) + below) // (2 * below))


def _determinant(A: Whole) -> int:
    """Of positive definite integers, by divisions that leave no remainder (Bareiss 1968)."""
    M, before = A.copy(), 1
    for k in range(len(M) - 1):
        column, pivot = M[k + 1 :, k].copy(), M[k, k]
        M[k + 1 :, k + 1 :] = (pivot * M[k + 1 :, k + 1 :] - np.multiply.outer(column, column)) // before
        before = pivot
    return int(M[-1, -1])
