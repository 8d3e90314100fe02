"""What parties know at one ratio ``theta`` of the variances between and within them, in two agreements.

A party of ``n`` rows with means ``m`` of ``t = (x, y)`` and products ``W`` of ``t`` about them has

    T' V^-1 T = W + c m m',   log det V = log(1 + n theta),   c = n / (1 + n theta),   d c / d theta = -c^2

With ``sigma^2 = rss / df`` and ``df = N``, or ``N - p`` for REML, the profile likelihood is

    l(theta) = -(df log(rss) + sum log(1 + n theta) [+ log det A]) / 2,   A = X' V^-1 X

and with the mean residual ``r`` of a party and the means ``x`` of its columns its slope in ``log theta`` is half of

    sum  theta c^2 r^2 df / rss - theta c [+ theta c^2 x' A^-1 x]

The parties agree on ``T' V^-1 T``, solve for ``beta``, and then agree on what its residuals say: a few numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...costs.base import Array
from ...numerics.symmetric import symmetric, upper
from ...pdmm.masks import GaussianMask
from ..agreements import Agreements, resolution
from ..likelihood.climb import untold

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Party:
    """What the likelihood needs of a party's rows ``t = (x, y)``: their number, means, and products about the means."""

    n: int
    mean: Array
    within: Array

    def weight(self, theta: float) -> float:
        """``c``, the information on the party's mean."""
        return self.n / (1 + self.n * theta)


@dataclass(frozen=True, eq=False)
class Point:
    """What one party holds of a ratio: the estimates there, and what they say of the ratio."""

    theta: float
    beta: Array
    inverse: Array  # of X'V^-1X
    rss: float
    profile: float  # likelihood
    slope: float
    information: float


@dataclass(frozen=True, eq=False)
class Task:
    """The local parties at work: ``own`` are their rows, of ``observations`` in all at ``holders`` parties."""

    agreements: Agreements
    mask: GaussianMask
    own: Sequence[Party]
    observations: int
    holders: int
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

    def error(self, size: float) -> float:
        """What an agreement leaves open of a number, the largest being of this size."""
        return 10 * self.agreements.tol * size + resolution(self.mask)

    def weight(self, theta: float) -> float:
        """About what ``c`` of all parties adds up to."""
        return self.holders * self.observations / (self.holders + self.observations * theta)

    def units(self, theta: float) -> Array:
        """What brings ``T'V^-1T`` to size 1: the intercept is known by parties, and the columns by rows."""
        units = np.full(len(self.names) + 1, np.sqrt(self.observations))
        if self.intercept:
            units[0] = np.sqrt(self.weight(theta))
        return units


def numbers(p: int) -> int:
    """How many real numbers travel at one ratio, besides flags."""
    return (p + 1) * (p + 2) // 2 + 1 + 2 + 4 + 1


def visit(
    task: Task,
    theta: Array,
    near: float,
    votes: Array,
    good: Sequence[Point] | None = None,
    *,
    checked: bool = False,
) -> tuple[list[Point], Array, Array]:
    """The points of the local parties at a ratio each, and ``near`` a public one. ``votes`` ride along with the first
    agreement; with the second, whether the likelihood is lower than at ``good``, and if ``checked`` which terms are of
    no use. The sums of both come back: integers."""
    agreements, p = task.agreements, len(task.names)
    sums = []
    for own, ratio in zip(task.own, theta, strict=True):
        products = own.within + own.weight(ratio) * np.outer(own.mean, own.mean)
        units = task.units(ratio)
        sums.append(np.append(upper(agreements.parties * products / np.outer(units, units)), np.log1p(own.n * ratio)))
    of = f"X'V^-1X, X'V^-1y and y'V^-1y of {p} terms, and log det V"
    agreed = agreements.mean(
        np.column_stack([sums, votes]), task.mask, degree=0, of=of, iterate=True, votes=np.shape(votes)[1]
    )
    solved = [_Solved(task, float(ratio), own) for ratio, own in zip(theta, agreed, strict=True)]
    # Of a response of variance 1 about 1 / (1 + near) lies within parties: squares of residuals are brought to size 1.
    size = 1 / (1 + near)
    told = np.array([_of_residuals(task, *both, size) for both in zip(task.own, solved, strict=True)])
    opinions = np.zeros((len(told), 1 + 2 * p * checked))
    for k, (opinion, at) in enumerate(zip(opinions, solved, strict=True)):
        opinion[0] = good is not None and at.profile < good[k].profile - 1e-8 * (task.df + abs(at.profile))
        opinion[1:] = at.untold if checked else []
    of = "what residuals say of the ratio of variances"
    heard = agreements.mean(
        np.column_stack([told, opinions]), task.mask, degree=0, of=of, iterate=True, votes=np.shape(opinions)[1]
    )
    points = [_point(task, *both, size) for both in zip(solved, heard, strict=True)]
    first, second = agreed[0, -np.shape(votes)[1] :], heard[0, told.shape[1] :]
    return points, np.rint(agreements.parties * first), np.rint(agreements.parties * second)


class _Solved:
    """``beta`` at a ratio, from ``T'V^-1T`` as it was agreed on."""

    def __init__(self, task: Task, theta: float, agreed: Array) -> None:
        p, units = len(task.names), task.units(theta)
        half = (p + 1) * (p + 2) // 2
        products = symmetric(agreed[:half], p + 1)
        A, b = products[:p, :p], products[:p, p]  # of size 1
        try:
            inverse = np.linalg.inv(A)
        except np.linalg.LinAlgError:  # far from where opinions differ: everybody flags it
            inverse = np.zeros((p, p))
        beta = inverse @ b
        self.theta, self.beta = theta, beta * units[p] / units[:p]
        self.inverse = inverse / np.outer(units[:p], units[:p])
        log_det = np.linalg.slogdet(A)[1] + 2 * np.log(units[:p]).sum() if task.reml else 0.0
        self.determinants = float(task.agreements.parties * agreed[half] + log_det)
        # As far as a difference of squares tells it.
        rss = max(float(products[p, p] - b @ beta), TINY) * task.observations
        self.profile = -(task.df * np.log(rss) + self.determinants) / 2
        self.untold = np.concatenate(untold(A, task.agreements.tol, resolution(task.mask)))


def _of_residuals(task: Task, own: Party, at: _Solved, size: float) -> Array:
    """A party's squared residuals, and what they say of the ratio: how its mean pulls it up, what pulls it down, and
    the expected information. The slope is that in ``log theta``; at 0 that in ``theta``, in units that leave it
    small."""
    theta, c, contrast = at.theta, own.weight(at.theta), np.append(-at.beta, 1.0)
    residual, x = float(own.mean @ contrast), own.mean[:-1]
    rss = contrast @ own.within @ contrast + c * residual**2
    per = theta or task.holders / task.observations**2
    leverage = per * c * c * float(x @ at.inverse @ x) if task.reml else 0.0
    squares = np.array([task.agreements.parties / task.observations * rss, per * c * c * residual**2])
    return np.append(squares / size, [per * c - leverage, (per * c) ** 2])


def _point(task: Task, at: _Solved, heard: Array, size: float) -> Point:
    squares, pull, down, curvature = heard[:4]
    rss = max(task.observations * float(squares) * size, TINY)
    slope = task.agreements.parties * (pull * size * task.df / rss - down) / 2
    profile = -(task.df * np.log(rss) + at.determinants) / 2
    return Point(at.theta, at.beta, at.inverse, rss, profile, slope, task.agreements.parties * curvature / 2)
