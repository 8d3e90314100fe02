"""The ratio of the variances between and within parties at which the profile likelihood is highest.

There may be several maxima where parties are of very different sizes. So the parties first look at a public grid of
ratios, by few numbers each (the intercept is the best there, and the slopes stay as they are), take the best, and
climb from there: by the expected information at first, and then by the secant of the last two slopes. All hold the same
totals, and do the same with them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...costs.base import Array
from ...errors import Undetermined
from ...numerics.fixed_order import product, total
from .ratio_point import TINY, Point, Task, visit
from .ratio_point import numbers as numbers_of_visit

GRID = 12  # ratios that are looked at, besides 0
LOOKS = 2  # at the grid, at most
STEPS = 40  # of the climb, at most
STRIDE = 2.0  # in log theta, at most
CLOSE = 1e-6  # the step that is the last: the error that the secant leaves after it is some 1e-10
NOTHING = 1e-13  # of the variance of the response, what rounding may leave within parties where nothing is left
ENDLESS = 1e12  # a ratio beyond is infinite
VISITS = 1 + LOOKS + STEPS
STAGES = 2 * VISITS + LOOKS


def numbers(p: int) -> int:
    """How many numbers travel, at most."""
    return VISITS * numbers_of_visit(p) + LOOKS * (4 * (GRID + 1) + 1)


def grid(observations: int) -> Array:
    """Public ratios: none, and from hardly any variance between parties to hardly any within."""
    return np.append(0.0, np.geomspace(1e-4 / observations, 1e3, GRID))


def best_ratio(task: Task) -> tuple[Point, Point]:
    """The maximum, and the point without variance between parties."""
    pooled = visit(task, 0.0)
    point, at, ratios = pooled, 0, grid(task.observations)
    for _ in range(LOOKS):
        if (best := _look(task, point, pooled)) == at:
            break
        at = best
        point = pooled if at == 0 else visit(task, float(ratios[at]))
    if at == 0:
        return pooled, pooled
    top = _climb(task, point, pooled)
    return (pooled if top.profile < pooled.profile else top), pooled


def _look(task: Task, point: Point, pooled: Point) -> int:
    """The place on the grid that is best, for slopes as they are; 0 only where it is a maximum."""
    N, ratios = task.observations, grid(task.observations)
    contrast, own = np.append(-point.beta, 1.0), []
    for party in task.own:
        mean, c = float(total(party.mean * contrast)), party.n / (1 + party.n * ratios)
        inside = float(total(contrast * product(party.within, contrast)))
        own.append(np.concatenate([c, c * mean, c * mean**2, np.log1p(party.n * ratios), [inside]]))
    totals = task.summed(own, "weights, residuals and their squares, and log det V, on a public grid of ratios")
    weight, first, second, determinant = totals[:-1].reshape(4, GRID + 1)
    if totals[-1] <= NOTHING * N:
        raise _nothing_within(task)
    between = second - first**2 / weight if task.intercept else second
    rss = np.maximum(totals[-1] + between, TINY)
    log_det = np.log(weight) if task.reml and task.intercept else 0.0
    profile = -(task.df * np.log(rss) + determinant + log_det) / 2
    lowest = int(pooled.slope > 0)
    return lowest + int(np.argmax(profile[lowest:]))


def _climb(task: Task, point: Point, pooled: Point) -> Point:
    """Uphill in ``log theta`` from the best point on the grid."""
    floor = 1e-6 / task.observations
    good, place = point, float(np.log(point.theta))
    step = _step(point.slope, point.information)
    for _ in range(STEPS):
        trial = place + step
        if np.exp(trial) < floor:
            return pooled
        if trial > np.log(ENDLESS):
            raise _nothing_within(task)
        at = visit(task, float(np.exp(trial)))
        if at.profile < good.profile - 1e-8 * (task.df + abs(at.profile)):
            step = step / 2
            continue
        if abs(step) <= CLOSE:
            shown = task.agreements.shown
            shown[-2:] = [replace(each, iterate=False) for each in shown[-2:]]
            return at
        secant = np.clip((good.slope - at.slope) / (trial - place), at.information / 8, 8 * at.information)
        good, place, step = at, trial, _step(at.slope, float(secant))
    raise Undetermined(
        f"the likelihood has no maximum after {STEPS} steps in the ratio of the variances of {task.response!r} between "
        "and within parties. Drop columns that tell little."
    )


def _nothing_within(task: Task) -> Undetermined:
    return Undetermined(
        f"within the parties nothing is left of {task.response!r} beside the columns: it is constant there, or made of "
        "them. There are no variances to tell apart."
    )


def _step(slope: float, curve: float) -> float:
    return float(np.clip(slope / max(curve, 1e-12), -STRIDE, STRIDE))
