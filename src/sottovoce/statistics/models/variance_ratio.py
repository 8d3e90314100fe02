"""The ratio of the variances between and within parties at which the profile likelihood is highest.

There may be several maxima where parties are of very different sizes. So the parties first look at a public grid of
ratios, by few numbers each (the intercept is the best there, and the slopes stay as they are), vote on the best, and
climb from there: by the expected information at first, and then by the secant of the last two slopes.

What is decided is voted on, as nobody may branch on reals that others hold a little differently; what is clipped needs
no vote, as it is continuous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...costs.base import Array
from ...errors import Undetermined
from ..likelihood.maximise import refuse
from ..settled import majority, voted
from .ratio_point import TINY, Point, Task, visit
from .ratio_point import numbers as numbers_of_visit

GRID = 12  # ratios that are looked at, besides 0
LOOKS = 2  # at the grid, at most
STEPS = 40  # of the climb, at most
STRIDE = 2.0  # in log theta, at most
CLOSE = 1e-6  # the step that is the last: the error that the secant leaves after it is some 1e-10
VISITS = 1 + LOOKS + STEPS
STAGES = 2 * VISITS + 2 * LOOKS + 1
VOTES = LOOKS * (GRID + 2) + 1  # that travel as integers


def numbers(p: int) -> int:
    """How many real numbers travel, at most."""
    return VISITS * numbers_of_visit(p) + 2 * p + LOOKS * (4 * (GRID + 1) + 1)


def grid(observations: int) -> Array:
    """Public ratios: none, and from hardly any variance between parties to hardly any within."""
    return np.append(0.0, np.geomspace(1e-4 / observations, 1e3, GRID))


def best_ratio(task: Task) -> tuple[Point, Point]:
    """The maximum, and the point without variance between parties, as the first local party holds them."""
    local = len(task.own)
    nothing = np.zeros((local, 2))
    pooled, _, votes = visit(task, np.zeros(local), 0.0, nothing, checked=True)
    refuse(majority(task.agreements, votes[1:]), task.names, begun=False, infinite="")
    points, at, ratios = pooled, 0, grid(task.observations)
    for _ in range(LOOKS):
        if (best := _look(task, points, pooled)) == at:
            break
        at = best
        points = pooled if at == 0 else visit(task, np.full(local, ratios[at]), float(ratios[at]), nothing)[0]
    if at == 0:
        return pooled[0], pooled[0]
    found = _climb(task, float(ratios[at]), points, pooled)
    lower = np.array([[one.profile < two.profile] for one, two in zip(found, pooled, strict=True)])
    against = voted(task.agreements, lower, of="votes for a ratio of 0")
    return (pooled[0] if majority(task.agreements, against)[0] else found[0]), pooled[0]


def _look(task: Task, points: Sequence[Point], pooled: Sequence[Point]) -> int:
    """The place on the grid that the parties find best, for slopes as they are; 0 only where it is a maximum."""
    agreements, N, ratios = task.agreements, task.observations, grid(task.observations)
    size = np.array([task.weight(ratio) for ratio in ratios])
    own = []
    for party, point in zip(task.own, points, strict=True):
        contrast = np.append(-point.beta, 1.0)
        mean, c = float(party.mean @ contrast), party.n / (1 + party.n * ratios)
        parts = [c / size, c * mean / size, c * mean**2 / size, np.log1p(party.n * ratios) / agreements.parties]
        own.append(np.append(parts, contrast @ party.within @ contrast / N))
    of = "weights, residuals and their squares, and log det V, on a public grid of ratios"
    agreed = agreements.mean(agreements.parties * np.array(own), task.mask, degree=0, of=of, iterate=True)
    votes = np.zeros((len(points), GRID + 2), dtype=np.int64)
    for vote, sums, none in zip(votes, agreed, pooled, strict=True):
        weight, first, second, determinant = sums[:-1].reshape(4, GRID + 1)
        between = second - first**2 / weight if task.intercept else second
        rss = np.maximum(sums[-1] * N + size * between, TINY)
        log_det = np.log(weight * size) if task.reml and task.intercept else 0.0
        profile = -(task.df * np.log(rss) + agreements.parties * determinant + log_det) / 2
        lowest = int(none.slope > 0)
        exact = sums[-1] <= 100 * task.error(1.0)
        vote[-1 if exact else lowest + int(np.argmax(profile[lowest:]))] = 1
    best = int(np.argmax(voted(agreements, votes, of="votes for the best ratio")))
    if best == GRID + 1:
        raise Undetermined(
            f"within the parties nothing is left of {task.response!r} beside the columns, to the precision of the "
            "agreement: it is constant there, or made of them. There are no variances to tell apart."
        )
    return best


def _climb(task: Task, near: float, points: list[Point], pooled: list[Point]) -> list[Point]:
    """Uphill in ``log theta`` from the points at a public ratio, the best on the grid."""
    floor = 1e-6 / task.observations
    good, places = points, np.log([point.theta for point in points])
    steps = np.array([_step(point.slope, point.information) for point in points])
    for _ in range(STEPS):
        trial = places + steps
        votes = np.column_stack([np.abs(steps) <= CLOSE, np.exp(trial) < floor]).astype(np.float64)
        found, *said = visit(task, np.exp(trial), near, votes, good)
        last, none, fell = majority(task.agreements, np.concatenate(said))
        if none:
            return pooled
        if fell:
            steps = steps / 2
            continue
        if last:
            shown = task.agreements.shown
            shown[-2:] = [replace(each, iterate=False) for each in shown[-2:]]
            return found
        secants = [
            np.clip((one.slope - two.slope) / (there - here), two.information / 8, 8 * two.information)
            for one, two, here, there in zip(good, found, places, trial, strict=True)
        ]
        steps = np.array([_step(point.slope, curve) for point, curve in zip(found, secants, strict=True)])
        good, places = found, trial
    raise Undetermined(
        f"the likelihood has no maximum after {STEPS} steps in the ratio of the variances of {task.response!r} between "
        "and within parties. Drop columns that tell little."
    )


def _step(slope: float, curve: float) -> float:
    return float(np.clip(slope / max(curve, 1e-12), -STRIDE, STRIDE))
