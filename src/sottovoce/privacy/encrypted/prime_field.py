"""Linear algebra without rounding: over the integers modulo a prime.

What a view shows depends on ranks, and functionals that are faint are not nothing. With rational ``c``, ``theta`` and
Hessians every message is a rational functional of ``(q, z(0))``, so ranks can be taken modulo a prime. That can only
lose rank, where the prime divides a minor: of the order of the number of unknowns in ``2^31``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import Unsupported

Residues = npt.NDArray[Any]  # int64

PRIMES = (2**31 - 1, 2**31 - 19, 2**31 - 61)  # products of two residues fit into 63 bits
PIECE = 16  # bits of a factor: pieces of 16 bits times 31 bits add up exactly in float64 ...
LONGEST = 2**6  # ... for this many terms
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


def product(a: Residues, b: Residues, p: int) -> Residues:
    """``a @ b`` modulo ``p``, by exact products in float64."""
    right, total = b.astype(np.float64), np.zeros((len(a), b.shape[1]))
    for first in range(0, a.shape[1], LONGEST):
        part = slice(first, first + LONGEST)
        high, low = (piece.astype(np.float64) @ right[part] for piece in np.divmod(a[:, part], 2**PIECE))
        total = _reduced(total + 2.0**PIECE * _reduced(high, p) + _reduced(low, p), p)
    return total.astype(np.int64)


def _reduced(whole: npt.NDArray[np.float64], p: int) -> npt.NDArray[np.float64]:
    """Modulo ``p``, of whole numbers below ``2^53``: much faster than integers divide."""
    rest = whole - p * np.floor(whole / p)
    return np.asarray(np.where(rest < 0, rest + p, rest))  # the quotient may have been rounded up


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
    """The space that some rows span, as their reduced echelon form."""

    def __init__(self, width: int, p: int) -> None:
        self.p = p
        self.rows: Residues = np.zeros((0, width), dtype=np.int64)
        self.pivots: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def without(self, vectors: Residues) -> Residues:
        """What of them is new, with zeros at the pivots."""
        return (vectors - product(vectors[:, self.pivots], self.rows, self.p)) % self.p

    def add(self, vectors: Residues) -> Residues:
        """Take some vectors in; returns the rows that are new."""
        p, rest = self.p, self.without(vectors)
        fresh: list[Residues] = []
        pivots: list[int] = []
        while len(rest := rest[rest.any(axis=1)]):
            row = rest[0]
            at = int(np.argmax(row != 0))
            row = row * pow(int(row[at]), -1, p) % p
            rest = (rest[1:] - np.multiply.outer(rest[1:, at], row) % p) % p
            fresh = [(other - other[at] * row % p) % p for other in fresh] + [row]
            pivots.append(at)
        new = np.array(fresh, dtype=np.int64).reshape(-1, self.rows.shape[1])
        if pivots:
            self.rows = np.vstack([(self.rows - product(self.rows[:, pivots], new, p)) % p, new])
            self.pivots = np.concatenate([self.pivots, pivots])
        return new


def kernel(one: Span, two: Span, three: Span) -> npt.NDArray[np.float64] | None:
    """The vectors that all rows of a space take to 0, as columns of simple fractions, if they are that.

    The space is given modulo three primes: two give the fractions, and what is one by chance is none modulo the third.
    """
    spans, width = (one, two, three), one.rows.shape[1]
    free = np.setdiff1d(np.arange(width), one.pivots)
    if any(set(span.pivots) != set(one.pivots) for span in spans):
        return None
    entries = np.stack([span.rows[np.argsort(span.pivots)][:, free].ravel() for span in spans])
    values, place = np.unique(entries, axis=1, return_inverse=True)
    simple = np.empty(values.shape[1])
    for k, residues in enumerate(values.T.tolist()):
        fraction = _fraction(residues, [span.p for span in spans])
        if fraction is None:
            return None
        simple[k] = float(fraction)
    columns = np.zeros((width, len(free)))
    columns[free] = np.eye(len(free))
    columns[np.sort(one.pivots)] = -simple[place.ravel()].reshape(one.rank, len(free))
    return columns


def _fraction(residues: list[int], primes: list[int]) -> Fraction | None:
    """The fraction of small numbers with these residues, by Euclid; None where there is none."""
    (u, v, last), (p, q, r) = residues, primes
    a, b, s, t = p * q, (u + p * ((v - u) * pow(p, -1, q) % q)) % (p * q), 0, 1  # b = t x modulo p q
    while b > SMALL:
        a, b, s, t = b, a % b, t, s - (a // b) * t
    if abs(t) > SMALL or (b - t * last) % r:
        return None
    return Fraction(b, t)
