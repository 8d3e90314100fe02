"""Linear algebra in fractions, for oracles that must have more digits than float64: Gauss and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

Exact = np.ndarray[Any, np.dtype[Any]]  # of fractions
DIGITS = 60


def fractions(values: Any) -> Exact:
    """Numbers as the decimals that they are written in: what a table says."""
    flat = [Fraction(repr(float(value))) for value in np.ravel(np.asarray(values))]
    return filled(flat, np.shape(values))


def binary(values: Any) -> Exact:
    """Float64 as they are, not the decimals that they stand for."""
    return filled([Fraction(float(value)) for value in np.ravel(np.asarray(values))], np.shape(values))


def filled(flat: Sequence[Fraction], shape: tuple[int, ...]) -> Exact:
    """An array of objects."""
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(shape)


def solved(A: Exact, B: Exact) -> Exact:
    """``A^-1 B``, of a matrix that has an inverse."""
    n = len(A)
    rows = [[*map(Fraction, A[i]), *map(Fraction, np.atleast_1d(B[i]))] for i in range(n)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        inverse = 1 / rows[k][k]
        rows[k] = [entry * inverse for entry in rows[k]]
        for i in range(n):
            if i != k and (factor := rows[i][k]):
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    solution = filled([entry for row in rows for entry in row[n:]], (n, len(rows[0]) - n if n else 0))
    return solution[:, 0] if np.ndim(B) == 1 else solution


def inverse(A: Exact) -> Exact:
    """Of a matrix that has one."""
    return solved(A, filled([Fraction(int(i == j)) for i in range(len(A)) for j in range(len(A))], A.shape))


def independent(X: Exact) -> list[int]:
    """The columns that are no combinations of those before them."""
    return independent_rows(X.T @ X)


def independent_rows(A: Exact) -> list[int]:
    """The same of a semidefinite matrix."""
    rows, kept = [list(map(Fraction, row)) for row in A], []
    for k in range(len(rows)):
        if not rows[k][k]:
            continue
        kept.append(k)
        for i in range(k + 1, len(rows)):
            if factor := rows[i][k] / rows[k][k]:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return kept


def root(square: Fraction) -> Fraction:
    """A square root to sixty digits."""
    return _decimal(square, Decimal.sqrt)


def logarithm(number: Fraction) -> Fraction:
    """A natural logarithm to sixty digits."""
    return _decimal(number, Decimal.ln)


def _decimal(number: Fraction, function: Callable[[Decimal], Decimal]) -> Fraction:
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction(function(Decimal(number.numerator) / Decimal(number.denominator)))


def floats(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rounded once."""
    return np.asarray(np.asarray(values, object).astype(np.float64))
