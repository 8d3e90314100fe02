"""The sweep of a symmetric matrix of integers, without rounding or with as little as wanted.

The sweep of a column (J. H. Goodnight, "A tutorial on the SWEEP operator", The American Statistician 33 (1979),
149-158) is the one step of which inverse, solution and least squares are made. It is undone by itself, and with columns
``K`` swept the matrix ``A`` has become

    -A_KK^-1             A_KK^-1 A_Kj                       minus the inverse          coefficients
        .         A_ij - A_iK A_KK^-1 A_Kj                                             what these leave

* ``ExactSweeps``: every entry is a minor of ``A`` over ``d = det A_KK``, so a division by the ``d`` before leaves no
  remainder (E. H. Bareiss, "Sylvester's identity and multistep integer-preserving Gaussian elimination", Mathematics of
  Computation 22 (1968), 565-578).
* ``RoundedSweeps``: minors have as many digits as all columns together, which is slow from some 20 columns on. There,
  numbers with 320 bits behind the point do, or twice as many, and again, until the condition leaves three quarters of
  them right. They are integers too, and so are alike everywhere. Half of their bits are used: with columns brought to
  one length, what is below ``2**-160`` is 0, and any other number has its first 64 bits right and more, so that its
  float64 is the one nearest to the exact number, unless that is very near to the middle between two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ..errors import Undetermined

Whole = npt.NDArray[np.object_]  # of Python integers
Rational = npt.NDArray[np.object_]  # of fractions

WORK = 10**9  # columns^3 bits^1.5 of what is done exactly, about 0.04 s: 21 columns with entries up to 2^100
BITS = 320  # behind the point, at first
SURE = 8  # scaled inverses up to 2^(bits / SURE): their errors are then some 2^-(bits (1 - 2 / SURE)) at most
RIGHT = 64  # bits of any number but 0


class ExactSweeps:
    """The upper half of a symmetric matrix of ``n`` columns, some swept, with any columns at its right, as integers
    over ``d``."""

    def __init__(self, A: Whole) -> None:
        self.A, self.M, self.inside, self.d = A, A.copy(), frozenset[int](), 1

    def move(self, columns: Iterable[int]) -> None:
        """Sweep until these columns are swept, and no other."""
        wanted = frozenset(columns)
        if len(wanted ^ self.inside) > len(wanted):
            self._restart()
        for k in sorted(self.inside - wanted) + sorted(wanted - self.inside):
            self._sweep(k, -1 if k in self.inside else 1)
            self.inside ^= {k}

    def _restart(self) -> None:
        self.M, self.inside, self.d = self.A.copy(), frozenset(), 1

    def _sweep(self, k: int, sign: int) -> None:
        M, column = self.M, self._column(k)
        if (size := sign * column[k]) <= 0:
            raise not_definite(k)
        for i in range(len(M)):
            M[i, i:] = (size * M[i, i:] - sign * column[i] * column[i:]) // self.d
        self._put(k, column, -sign * self.d)
        self.d = size

    def _column(self, k: int) -> Whole:
        return np.concatenate([self.M[:k, k], self.M[k, k:]])

    def _put(self, k: int, column: Whole, corner: int) -> None:
        self.M[:k, k], self.M[k, k:], self.M[k, k] = column[:k], column[k:], corner

    def values(self, rows: Sequence[int], columns: Sequence[int]) -> Rational:
        """Entries as fractions."""
        entries = [[self._value(min(i, j), max(i, j)) for j in columns] for i in rows]
        return np.array(entries, dtype=object).reshape(len(rows), len(columns))

    def _value(self, i: int, j: int) -> Fraction:
        return Fraction(self.M[i, j], self.d)


class RoundedSweeps(ExactSweeps):
    """Sweeps of ``A_ij / 2^(e_i + e_j)``, whose diagonal is about 1, in whole multiples of ``2^-bits``."""

    def __init__(self, A: Whole, bits: int = BITS) -> None:
        n, length = len(A), np.frompyfunc(lambda entry: int(entry).bit_length(), 1, 1)
        exponents = (length(np.diagonal(A)) + 1) // 2
        right = [max(length(A[:, j]) - exponents) for j in range(n, A.shape[1])]
        self.exponents, self.bits = np.concatenate([exponents, np.array(right, dtype=object)]), bits
        self.limit = sum(length(np.diagonal(A)))  # bits of the largest minor
        super().__init__(A)
        self._restart()

    def _restart(self) -> None:
        shifts = np.add.outer(self.exponents[: len(self.A)], self.exponents)
        self.M, self.inside = (self.A << self.bits) >> shifts, frozenset()

    def move(self, columns: Iterable[int]) -> None:
        """With twice the bits where these do not settle it; beyond those of any minor the matrix is singular."""
        wanted = frozenset(columns)
        while True:
            try:
                super().move(wanted)
                if self._is_sure():
                    return
            except _TooCoarse as error:
                if self.bits > SURE * self.limit + BITS:
                    raise not_definite(error.args[0]) from None
            self._refine()

    def _refine(self) -> None:
        self.bits *= 2
        self._restart()

    def _is_sure(self) -> bool:
        inverses = sum(-self.M[k, k] for k in self.inside)  # their trace is above the largest eigenvalue
        return bool(inverses < 1 << self.bits + self.bits // SURE)

    def _sweep(self, k: int, sign: int) -> None:
        M, column, bits = self.M, self._column(k), self.bits
        clear = 1 << bits - bits // SURE
        if (size := sign * column[k]) < clear:
            raise not_definite(k) if size < -clear and self._is_sure() else _TooCoarse(k)
        side = (column << bits) // size
        for i in range(len(M)):
            M[i, i:] -= sign * column[i] * side[i:] >> bits
        self._put(k, side, -sign * (1 << 2 * bits) // size)

    def values(self, rows: Sequence[int], columns: Sequence[int]) -> Rational:
        """Entries as fractions, with twice the bits where one has too few."""
        while True:
            try:
                return super().values(rows, columns)
            except _TooCoarse:
                inside = self.inside
                self._refine()
                self.move(inside)

    def _value(self, i: int, j: int) -> Fraction:
        half = self.bits // 2  # the others may be wrong; what is 0 is 0 without them
        entry = (self.M[i, j] + (1 << half - 1)) >> half
        if 0 < abs(entry) < 1 << RIGHT:
            raise _TooCoarse
        power = sum(-self.exponents[k] if k in self.inside else self.exponents[k] for k in (i, j))
        return Fraction(entry << max(power, 0), 1 << half + max(-power, 0))


class _TooCoarse(ArithmeticError):
    """A number is too near to 0 for so few bits."""


def not_definite(k: int) -> Undetermined:
    """An error that names the column at which it shows."""
    return Undetermined(
        f"the matrix is not positive definite: column {k} depends on those before it, or the matrix holds no sums of "
        "products. Leave that column out."
    )


def sweeps_of(A: Whole, work: int) -> ExactSweeps:
    """Exact sweeps of a matrix, or rounded ones where those are more than ``work``."""
    return ExactSweeps(A) if effort(A) <= work else RoundedSweeps(A)


def effort(A: Whole) -> int:
    """About how long it takes to sweep all columns exactly, in units of 35 ps. An integer: all parties find one."""
    bits = sum(int(entry).bit_length() for entry in np.diagonal(A))
    return int(len(A) ** 2 * A.shape[1] * bits * math.isqrt(bits))
