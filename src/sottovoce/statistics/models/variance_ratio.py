"""The ratio of the variances between and within parties at which the profile likelihood is highest.

There may be several maxima where parties are of very different sizes. So the parties first look at a public grid of
ratios, by four numbers each: the intercept is the best there, and the slopes are those of all rows alike, or those
within parties. They climb from about the highest maximum above 0: by the expected information at first, and then by the
secant of the last two slopes. Ratios are powers of two, or ``stretched`` from others by ``+ - * /``, and likelihoods
are whole numbers: all parties go the same way.
"""

from __future__ import annotations

import math
from fractions import Fraction

from ...errors import Undetermined
from ...numerics.logarithm import logarithm
from ...sums import Whole
from .ratio_point import GRID, ONE, Party, Point, Task, contrast, on_grid, point_of, pulls, terms_at, visit
from .ratio_point import numbers as numbers_of_visit

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


def numbers(p: int) -> int:
    """How many numbers travel, at most."""
    return VISITS * numbers_of_visit(p) + (1 + LOOKS) * (2 + 4 * MOST)


SAY = "what residuals say of the ratio of variances"
LOOK = f"{SAY}; and weights, residuals and their squares, and log det V, on a public grid of ratios"


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
        point = _visited(task, _about(task, heights, at))
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
    return *_read_look(task, pooled, total[:split]), _there(task, point_of(task, WITHIN, total[split:]))


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


def _visited(task: Task, theta: float, *, is_last: bool = False) -> Point:
    return _there(task, None if theta > ENDLESS else visit(task, theta, is_last=is_last))


def _there(task: Task, point: Point | None) -> Point:
    if point is None:
        raise Undetermined(
            f"within the parties nothing is left of {task.response!r} beside the columns: it is constant there, or "
            "made of them. There are no variances to tell apart."
        )
    return point


def _climb(task: Task, good: Point, slope: float) -> Point | None:
    """Uphill in ``log theta`` from a point; None where that leads to 0."""
    step, last = min(max(slope / _information(good), -STRIDE), STRIDE), STRIDE
    for _ in range(STEPS):
        is_last, theta = abs(step * last) <= CLOSE, stretched(good.theta, step)
        if theta * task.observations < NONE:
            return None
        point = _visited(task, theta, is_last=is_last)
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
