"""Linear algebra without rounding: over the integers modulo a prime.

What a view shows depends on ranks, and functionals that are faint are not nothing. With rational ``c``, ``theta`` and
Hessians every message is a rational functional of ``(q, z(0))``, so ranks can be taken modulo a prime. That can only
lose rank, where the prime divides a minor: of the order of the number of unknowns in ``2^31``.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import Unsupported

Residues = npt.NDArray[Any]  # int64; where it says so uint32, which takes half the memory

PRIMES = (2**31 - 1, 2**31 - 19, 2**31 - 61)  # 2^31 less a little: so the kernels divide by none
TOGETHER = 64  # rows that are taken in at a time
SMALL = 10**6  # numerator and denominator up to which a fraction is recognised


def simplest(number: float) -> Fraction:
    """A simple fraction that rounds to this float: ``0.7`` is 7/10, the float next to 1/3 is 1/3."""
    exact = Fraction(float(number))
    for digits in range(16):
        found = exact.limit_denominator(10**digits)
        if float(found) == number:
            return found
    return exact


def residue(number: float, p: int) -> int:
    """The float, as the simple fraction that it stands for, modulo ``p``."""
    fraction = simplest(number)
    return fraction.numerator * reciprocal(fraction.denominator, p) % p


def reciprocal(whole: int, p: int) -> int:
    """Modulo ``p``."""
    if whole % p == 0:
        raise Unsupported(
            f"c, theta or a curvature is, by chance, such that ranks cannot be decided modulo the prime {p}. Change "
            "one of them in its last digit."
        )
    return pow(whole, -1, p)


def less(p: int) -> np.uint64:
    """``d`` of ``p = 2^31 - d``, as the kernels have it."""
    return np.uint64(2**31 - p)


def product(a: Residues, b: Residues, p: int) -> Residues:
    """``a @ b`` modulo ``p``."""
    from ._field_kernels import subtract_product

    total = np.zeros((len(a), b.shape[1]), dtype=np.uint32)
    subtract_product(total, (-a % p).astype(np.uint32), b.astype(np.uint32), less(p))
    return total.astype(np.int64)


def dropped(rows: Residues, at: npt.NDArray[np.int64], new: Residues, p: int) -> Residues:
    """``rows - rows[:, at] @ new``, which is 0 at the columns ``at``, without these; ``uint32``."""
    from ._field_kernels import subtract_product

    others = np.delete(np.arange(rows.shape[1]), at)
    rest = np.ascontiguousarray(rows[:, others])
    subtract_product(rest, np.ascontiguousarray(rows[:, at]), np.ascontiguousarray(new[:, others]), less(p))
    return rest


def inverse(matrix: Residues, p: int) -> Residues:
    """Of a small square matrix, by Gauss-Jordan."""
    n = len(matrix)
    rows = np.hstack([matrix % p, np.eye(n, dtype=np.int64)])
    for k in range(n):
        pivot = k + int(np.argmax(rows[k:, k] != 0))
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] = rows[k] * reciprocal(int(rows[k, k]), p) % p
        others = np.arange(n) != k
        rows[others] = (rows[others] - np.multiply.outer(rows[others, k], rows[k]) % p) % p
    return rows[:, n:]


class Span:
    """The space that some rows span, as their reduced echelon form: 1 at its own pivot and 0 at those of others, a row
    is told by what it has at the columns that are ``free``, its tail (``uint32``)."""

    def __init__(self, width: int, p: int) -> None:
        self.p, self.width = p, width
        self.pivots: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.free: npt.NDArray[np.int64] = np.arange(width)
        self.tails: Residues = np.zeros((0, width), dtype=np.uint32)

    @property
    def rank(self) -> int:
        return len(self.pivots)

    @property
    def rows(self) -> Residues:
        """All of them, whole."""
        rows = np.zeros((self.rank, self.width), dtype=np.int64)
        rows[np.arange(self.rank), self.pivots] = 1
        rows[:, self.free] = self.tails
        return rows

    def without(self, vectors: Residues) -> Residues:
        """What of them is new, with zeros at the pivots."""
        whole = np.zeros_like(vectors)
        whole[:, self.free] = self.left(vectors)
        return whole

    def left(self, vectors: Residues) -> Residues:
        """The same, at the free columns alone."""
        from ._field_kernels import subtract_product

        residues = (vectors % self.p).astype(np.uint32)
        rest = np.ascontiguousarray(residues[:, self.free])
        subtract_product(rest, np.ascontiguousarray(residues[:, self.pivots]), self.tails, less(self.p))
        return rest

    def add(self, vectors: Residues) -> Residues:
        """Take some vectors in; returns the rows that are new."""
        known = self.rank
        for first in range(0, len(vectors), TOGETHER):
            self.take(self.left(vectors[first : first + TOGETHER]))
        return self.rows[known:]

    def take(self, rest: Residues) -> tuple[Residues, npt.NDArray[np.int64]]:
        """Take in what is ``left`` of some vectors; returns the new rows, and where their pivots are: both among the
        columns that were free before."""
        from ._field_kernels import echelon

        new = rest.copy()
        at = echelon(new, less(self.p))
        new = new[: len(at)]
        if len(at):
            self.tails = np.vstack([dropped(self.tails, at, new, self.p), np.delete(new, at, axis=1)])
            self.pivots = np.concatenate([self.pivots, self.free[at]])
            self.free = np.delete(self.free, at)
        return new, at


def kernel(one: Span, others: Iterable[Span]) -> npt.NDArray[np.float64] | None:
    """The vectors that all rows of a space take to 0, as columns of simple fractions, if they are that.

    The space is given modulo three primes: two give the fractions, and what is one by chance is none modulo the third,
    which is asked for only where two give nothing but simple ones.
    """
    made = iter(others)
    two = next(made)
    if set(two.pivots) != set(one.pivots):
        return None
    pairs, place = np.unique(_told(one) << 31 | _told(two), return_inverse=True)
    simple = np.empty((len(pairs), 2), dtype=np.int64)
    for k, pair in enumerate(pairs.tolist()):
        fraction = _fraction(pair >> 31, pair & (2**31 - 1), one.p, two.p)
        if fraction is None:
            return None
        simple[k] = fraction
    three = next(made)
    if set(three.pivots) != set(one.pivots):
        return None
    above, below = simple[place].T
    if ((above - below * _told(three)) % three.p).any():
        return None
    free = one.free
    columns = np.zeros((one.width, len(free)))
    columns[free] = np.eye(len(free))
    columns[np.sort(one.pivots)] = -(above / below).reshape(one.rank, len(free))
    return columns


def _told(span: Span) -> npt.NDArray[np.int64]:
    """The tails in the order of their pivots, one after another."""
    return span.tails[np.argsort(span.pivots)].astype(np.int64).ravel()


def _fraction(u: int, v: int, p: int, q: int) -> tuple[int, int] | None:
    """Numerator and denominator, both small, of the fraction with these residues modulo ``p`` and ``q``, by Euclid;
    None where there is none."""
    a, b, s, t = p * q, (u + p * ((v - u) * pow(p, -1, q) % q)) % (p * q), 0, 1  # b = t x modulo p q
    while b > SMALL:
        a, b, s, t = b, a % b, t, s - (a // b) * t
    return None if abs(t) > SMALL else (b, t)
