"""What parties know at one ratio ``theta`` of the variances between and within them, in two agreements.

A party of ``n`` rows ``t = (x, y)``, whose sums are ``k`` and whose sums of products are ``K``, has

    T' V^-1 T = K - theta/(1 + n theta) k k',   log det V = log(1 + n theta),   c = n / (1 + n theta)

With ``sigma^2 = rss / df`` and ``df = N``, or ``N - p`` for REML, the profile likelihood is

    l(theta) = -(df log(rss) + sum log(1 + n theta) [+ log det A]) / 2,   A = X' V^-1 X

and with the mean residual ``r`` of a party and the means ``x`` of its columns its slope in ``log theta`` is half of
``theta (sum s - sum c)``, and the expected information there half of ``theta^2 sum c^2``, where

    s = c^2 (r^2 df / rss [+ x' A^-1 x])

The parties add up ``T' V^-1 T``, ``log det V``, ``c`` and ``c^2``, solve for ``beta``, and then add up ``s``, which is
one number.

Each is a fraction, which a party rounds to a multiple of 2^-160, with columns counted in powers of two about their root
mean squares. ``T' V^-1 T`` is ``N`` at most in these units, and ``s`` and ``c^2`` are ``N^2``: with 2^39 rows there is
room for 2^16 parties. Where columns, or the response, hang so much on others that 2^-100 of their squares is left,
18 digits of that remain. From the totals on everything is exact, and nobody can decide otherwise than others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...numerics.exact_sweeps import WORK, Rational, sweeps_of
from ...numerics.logarithm import logarithm
from ...sums import Whole
from ..agreements import Agreements
from ..likelihood.columns import half, square

GRID = 160
ONE = 1 << GRID


@dataclass(frozen=True, eq=False)
class Party:
    """What the likelihood needs of a party's rows ``t = (x, y)``, in units of the columns: their number, sums ``k`` and
    sums of products ``K``."""

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


NOTHING = 90  # bits: what is less of the squares of the response is rounding of what it was computed from


def numbers(p: int) -> int:
    """How many numbers travel at one ratio."""
    return (p + 1) * (p + 2) // 2 + 3 + 1


def visit(task: Task, theta: float, *, is_last: bool = False) -> Point | None:
    """The point at a ratio; None where nothing is left of the response there. ``is_last``: it is the answer."""
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


def point_of(task: Task, theta: float, total: Whole) -> Point | None:
    """The point, from the totals."""
    log_det, weight, squares = total[-3:].tolist()
    products = square(total[:-3], len(task.powers))
    return task.point(theta, products, log_det, Fraction(weight, ONE), Fraction(squares, ONE))


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
