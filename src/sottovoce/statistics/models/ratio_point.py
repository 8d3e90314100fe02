"""What parties know at one ratio ``theta`` of the variances between and within them, in two agreements.

A party of ``n`` rows with means ``m`` of ``t = (x, y)`` and products ``W`` of ``t`` about them has

    T' V^-1 T = W + c m m',   log det V = log(1 + n theta),   c = n / (1 + n theta),   d c / d theta = -c^2

With ``sigma^2 = rss / df`` and ``df = N``, or ``N - p`` for REML, the profile likelihood is

    l(theta) = -(df log(rss) + sum log(1 + n theta) [+ log det A]) / 2,   A = X' V^-1 X

and with the mean residual ``r`` of a party and the means ``x`` of its columns its slope in ``log theta`` is half of

    sum  theta c^2 r^2 df / rss - theta c [+ theta c^2 x' A^-1 x]

The parties add up ``T' V^-1 T``, solve for ``beta``, and then add up what its residuals say: a few numbers. What a
party adds is computed in float64 and counted in multiples of ``2^-64``: everybody holds the same totals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...costs.base import Array
from ...numerics.exact_algebra import nearest, solved
from ...numerics.fixed_order import cholesky, inverse, product, total
from ..agreements import Agreements, unless_beyond
from ..likelihood.columns import square
from .cox_sums import FINEST, multiples
from .level_model import as_floats

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
    """What is known of a ratio: the estimates there, and what they say of the ratio."""

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

    def weight(self, theta: float) -> float:
        """About what ``c`` of all parties adds up to."""
        return self.holders * self.observations / (self.holders + self.observations * theta)

    def summed(self, own: Sequence[Array], of: str) -> Array:
        """Totals of what the local parties bring, each rounded once."""
        sent = [unless_beyond(lambda values=values: multiples(values, FINEST)) for values in own]  # type: ignore[misc]
        return as_floats(self.agreements.sum(sent, of=of, iterate=True, size=len(own[0])), FINEST)


def numbers(p: int) -> int:
    """How many numbers travel at one ratio."""
    return (p + 1) * (p + 2) // 2 + 1 + 4


def visit(task: Task, theta: float) -> Point:
    """The point at a ratio."""
    p = len(task.names)
    sums = [
        np.append(_half(own.within + own.weight(theta) * np.outer(own.mean, own.mean)), np.log1p(own.n * theta))
        for own in task.own
    ]
    totals = task.summed(sums, f"X'V^-1X, X'V^-1y and y'V^-1y of {p} terms, and log det V")
    products = square(multiples(totals[:-1], FINEST), p + 1)
    # Exact from here on: what is left of y'V^-1y may be a small part of it.
    A, b = products[:p, :p], products[:p, p]
    exact = solved(A, b[:, None])[:, 0]
    rss = max(float(nearest([products[p, p] - sum(b * exact)])[0]) / 2.0**FINEST, TINY)
    lower, _ = cholesky(as_floats(A, FINEST))
    beta, of_params = nearest(exact), inverse(lower)
    log_det = 2 * float(total(np.log(np.diag(lower)))) if task.reml else 0.0
    determinants = float(totals[-1]) + log_det
    told = [_of_residuals(task, own, theta, beta, of_params) for own in task.own]
    pull, down, curvature = task.summed(told, "what residuals say of the ratio of variances")
    slope = (pull * task.df / rss - down) / 2
    profile = -(task.df * np.log(rss) + determinants) / 2
    return Point(theta, beta, of_params, rss, float(profile), float(slope), float(curvature / 2))


def _half(matrix: Array) -> Array:
    return np.asarray(matrix[np.triu_indices(len(matrix))])


def _of_residuals(task: Task, own: Party, theta: float, beta: Array, of_params: Array) -> Array:
    """What a party's residuals say of the ratio: how its mean pulls it up, what pulls it down, and the expected
    information. The slope is that in ``log theta``; at 0 that in ``theta``, in units that leave it small."""
    c, contrast = own.weight(theta), np.append(-beta, 1.0)
    residual, x = float(total(own.mean * contrast)), own.mean[:-1]
    per = theta or task.holders / task.observations**2
    leverage = per * c * c * float(total(x * product(of_params, x))) if task.reml else 0.0
    return np.array([per * c * c * residual**2, per * c - leverage, (per * c) ** 2])
