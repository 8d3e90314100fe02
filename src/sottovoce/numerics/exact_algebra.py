"""Linear algebra of exact sums: ranks, solutions and least squares of integers, the same at every party.

A total of exact sums is a matrix of Python integers, and what follows from it by ``+ - * /`` is a matrix of rational
numbers. They are computed here, and rounded to float64 once, at the end: no party can find another rank, another sign
or another last digit, on no machine, and there is nothing that a bad condition could spoil.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, Undetermined
from .exact_sweeps import WORK, Rational, Whole, effort, not_definite, sweeps_of

Array = npt.NDArray[np.float64]

Numbers = npt.ArrayLike | Sequence[Fraction] | Sequence[Sequence[Fraction]]

PRIME = 2**127 - 1


class NoGram(InvalidInput):
    """Integers that are no sums of products of columns, of any rows."""


def nearest(exact: Numbers) -> Array:
    """The float64 nearest to each integer or fraction, ties to even; infinite beyond the largest; 0 is never -0."""
    values = np.asarray(exact, dtype=object)
    return np.array([_nearest(value) for value in values.flat], dtype=np.float64).reshape(values.shape)


def _nearest(value: Any) -> float:
    try:
        return int(value.numerator) / int(value.denominator) + 0.0  # Python rounds a quotient of integers once
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def independent(gram: Numbers, *, work: int = WORK) -> list[int]:
    """The columns that do not depend on those before them, in their order, of a Gram matrix of integers or fractions.

    Whoever regresses on columns drops the others, which are a combination of earlier ones.

    Ranks are found modulo the prime ``2**127 - 1``. What is independent there is so without it. What is dependent there
    is looked at again in whole numbers, unless that is more than ``work``: then a column is dropped wrongly, or the
    matrix refused, if a determinant other than 0 is a multiple of the prime. For data that do not aim at it the chance
    is about ``2**-127`` a column. Data that do, which takes the rows of all parties, do so to all parties alike.

    Raises
    ------
    InvalidInput
        The matrix is no Gram matrix: not symmetric, or seen not to be positive semidefinite.
    """
    A, _ = _symmetric(gram)
    proper = _holds_squares(A)
    columns, full = _eliminated(A, PRIME)
    if len(columns) < len(A) and proper and effort(A) <= work:
        columns, full = _eliminated(A, None)
    if not (proper and full):
        raise NoGram("the matrix is not positive semidefinite, so it holds no sums of products of columns.")
    return columns


def is_semidefinite(matrix: Numbers, *, work: int = WORK) -> bool:
    """Whether a symmetric matrix of integers or fractions is positive semidefinite, as all Gram matrices are.

    Exact up to ``work``. Beyond, the rank is found modulo a prime, as ``independent`` does, and is the rank of a
    principal block; the matrix is semidefinite if that block is positive definite.
    """
    A, _ = _symmetric(matrix)
    if not _holds_squares(A):
        return False
    if effort(A) <= work:
        return _eliminated(A, None)[1]
    columns, proper = _eliminated(A, PRIME)
    if not proper:
        return False
    try:
        sweeps_of(A[np.ix_(columns, columns)], work).move(range(len(columns)))
    except Undetermined:
        return False
    return True


def _holds_squares(A: Whole) -> bool:
    """Whether all ``|A_ij|^2 <= A_ii A_jj``, which bounds the digits of what follows."""
    diagonal = np.diagonal(A)
    return bool((diagonal >= 0).all() and (np.multiply.outer(diagonal, diagonal) >= A * A).all())


def _eliminated(A: Whole, prime: int | None) -> tuple[list[int], bool]:
    """The columns with a pivot, of the upper half alone; and whether nothing contradicts a semidefinite matrix: no
    pivot is negative, and one that is 0 stands in a row of zeros. Stops where something does."""
    columns: list[int] = []
    M, d = A.copy() if prime is None else A % prime, 1
    for k in range(len(M)):
        pivot, row = M[k, k], M[k, k:].copy()
        if pivot <= 0:
            if any(row):
                return columns, False
            continue
        inverse = None if prime is None else pow(d, -1, prime)
        for i in range(k + 1, len(M)):
            minor = pivot * M[i, i:] - row[i - k] * row[i - k :]
            M[i, i:] = minor // d if inverse is None else minor * inverse % prime
        columns.append(k)
        d = pivot
    return columns, True


def solved(A: Numbers, B: Numbers, *, work: int = WORK) -> Rational:
    """``A^-1 B`` as fractions, of a positive definite ``A`` and a ``B`` of any columns, integers or fractions.

    Exact up to ``work``, and beyond so near that ``nearest`` is the float64 of the exact number.

    Raises
    ------
    Undetermined
        ``A`` is not positive definite.

    Examples
    --------
    >>> solved([[2, 1], [1, 3]], [1, 0]).tolist()
    [Fraction(3, 5), Fraction(-1, 5)]
    """
    (left, by), (right, times) = _symmetric(A), _integers(B)
    n = len(left)
    if right.ndim not in (1, 2) or len(right) != n:
        raise InvalidInput(f"B must have a row for each of the {n} columns of A; its shape is {right.shape}.")
    X = _solution(np.hstack([left, right.reshape(n, right.size // max(n, 1))]), n, work)
    return np.asarray(X * Fraction(by, times)).reshape(right.shape)


def inverse_of(A: Numbers, *, work: int = WORK) -> Rational:
    """``A^-1`` as fractions, of a positive definite ``A`` of integers or fractions; like ``solved``."""
    left, by = _symmetric(A)
    return np.asarray(_solution(left, 0, work) * -by)


def _solution(A: Whole, first: int, work: int) -> Rational:
    """Columns from ``first`` on, with all of the square swept. Rounded sweeps would look long for what is singular."""
    n = len(A)
    if effort(A) > work and len(columns := _eliminated(A[:, :n], PRIME)[0]) < n:
        raise not_definite(next(k for k in range(n) if k not in columns))
    sweeps = sweeps_of(A, work)
    sweeps.move(range(n))
    return sweeps.values(range(n), range(first, A.shape[1]))


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """A linear model of exact sums: every number is the float64 nearest to the exact one.

    Parameters
    ----------
    columns : tuple of int
        The regressors that do not depend on those before them. What follows is theirs.
    coefficients : array, (p,)
    inverse : array, (p, p)
        ``(X'X)^-1``.
    residual_squares : float
        ``sum (y - Xb)^2``; 0 for a perfect fit.
    squares_about_zero, squares_about_mean : float
        ``sum y^2``, and what the column of ones leaves of it.
    """

    columns: tuple[int, ...]
    coefficients: Array
    inverse: Array
    residual_squares: float
    squares_about_zero: float
    squares_about_mean: float


def least_squares(
    gram: Numbers, regressors: Sequence[int], target: int, units: Sequence[Fraction] | None = None
) -> LeastSquares:
    """The linear model of one column on others, of the Gram matrix of ``(1, columns..., target)``."""
    return NestedModels(gram, target, units).fit(regressors)


def residual_squares(gram: Numbers, columns: Sequence[int], target: int) -> Fraction:
    """What some columns leave of ``sum y^2``. ``NestedModels`` costs less for many models of one matrix."""
    return NestedModels(gram, target).residual_squares(columns)


class NestedModels:
    """Linear models of one target on some columns or others of one Gram matrix.

    A model costs one sweep for each column by which it differs from the model before it.

    Parameters
    ----------
    gram : array of integers, (q, q)
        ``sum a a'`` or ``sum w a a'`` of rows ``a = (1, columns..., target)``.
    target : int
        The place of the target.
    units : sequence of Fraction, optional
        Of each column: the data are ``a * units``, and answers are in the units of the data. The first is 1.
    """

    def __init__(
        self, gram: Numbers, target: int, units: Sequence[Fraction] | None = None, *, work: int = WORK
    ) -> None:
        (self._gram, times), self._target, self._work = _symmetric(gram), target, work
        if times != 1:
            raise InvalidInput("the sums of products must be integers; give the units of columns by units.")
        self._units = np.array(
            [Fraction(unit) for unit in ([1] * len(self._gram) if units is None else units)], dtype=object
        )
        if len(self._units) != len(self._gram):
            raise InvalidInput(f"units must have one entry for each of {len(self._gram)} columns: {len(self._units)}.")
        self._sweeps = sweeps_of(self._gram, work)
        self._columns: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._residuals: dict[frozenset[int], Fraction] = {}

    def independent(self, columns: Sequence[int]) -> tuple[int, ...]:
        """Those of the columns that do not depend on those before them; their number is the rank of the model."""
        key = tuple(columns)
        if len(set(key)) == len(key) and any(set(key) <= set(free) for free in self._columns.values()):
            return key  # some of columns that are independent
        if key not in self._columns:
            block = self._gram[np.ix_(key, key)]
            self._columns[key] = tuple(key[place] for place in independent(block, work=self._work))
        return self._columns[key]

    def residual_squares(self, columns: Sequence[int]) -> Fraction:
        """``min_b sum (y - Xb)^2`` for these columns ``X``; ``sum y^2`` for none."""
        wanted = frozenset(self.independent(columns))
        if wanted not in self._residuals:
            self._sweeps.move(wanted)
            left = self._sweeps.values([self._target], [self._target])[0, 0]
            self._residuals[wanted] = left * self._units[self._target] ** 2
        return self._residuals[wanted]

    def fit(self, columns: Sequence[int]) -> LeastSquares:
        """All that a linear model needs."""
        wanted, units = list(self.independent(columns)), self._units
        about_zero, about_mean = self.residual_squares([]), self.residual_squares([0])
        residual = self.residual_squares(columns)
        self._sweeps.move(wanted)
        coefficients = self._sweeps.values(wanted, [self._target])[:, 0] * units[self._target] / units[wanted]
        inverse = -self._sweeps.values(wanted, wanted) / np.outer(units[wanted], units[wanted])
        squares = nearest([residual, about_zero, about_mean]).tolist()
        return LeastSquares(tuple(wanted), nearest(coefficients), nearest(inverse), *squares)


def _integers(values: Numbers) -> tuple[Whole, int]:
    """Integers, and what all values were multiplied by to become such."""
    array = np.array(values, dtype=object)
    if not all(isinstance(value, numbers.Rational) for value in array.flat):
        raise InvalidInput("entries must be integers or fractions, which are exact; some are not.")
    times = math.lcm(*(int(value.denominator) for value in array.flat))
    whole = [int(value.numerator) * (times // int(value.denominator)) for value in array.flat]
    return np.array(whole, dtype=object).reshape(array.shape), times


def _symmetric(matrix: Numbers) -> tuple[Whole, int]:
    A, times = _integers(matrix)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise InvalidInput(f"the matrix must be square; its shape is {A.shape}.")
    if (A != A.T).any():
        raise InvalidInput("the matrix must be symmetric; some entry differs from its mirror image.")
    return A, times
