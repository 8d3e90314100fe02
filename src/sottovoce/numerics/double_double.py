"""Sums of products of whole numbers and exact coefficients, as if nothing were rounded before the end.

A number is kept as the sum of two float64, some 106 bits. What a model leaves of a row may be a millionth of what it is
made of, or a rounding error; here it keeps its digits, and 0 is 0. Each operation is one NumPy call on whole arrays, so
that nothing fuses two of them, and an entry does not depend on those beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SPLITTER = 134217729.0  # 2^27 + 1


class WideColumns:
    """Columns ``(rows, k)`` of integers below ``2^62``, or of Python's below ``2^106``, of which combinations are made.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> columns = WideColumns(np.array([[2**60 + 1, 2**60], [3, 1]]))
    >>> columns.combined([Fraction(1, 3), Fraction(-1, 3)]).round(12).tolist()
    [0.333333333333, 0.666666666667]
    """

    def __init__(self, integers: npt.NDArray[np.int64] | npt.NDArray[np.object_]) -> None:
        self.high = np.ascontiguousarray(integers.T).astype(np.float64)
        whole = np.vectorize(int, [object])(self.high) if integers.dtype == object else self.high.astype(np.int64)
        self.low = np.asarray(integers.T - whole).astype(np.float64)
        self.first, self.second = _halves(self.high)

    def combined(self, coefficients: Sequence[Fraction]) -> Array:
        """``sum_k coefficients_k column_k`` of the first columns, as many as there are coefficients: ``(rows,)``."""
        total, rest = np.zeros(self.high.shape[1]), np.zeros(self.high.shape[1])
        for k, coefficient in enumerate(coefficients):
            if not coefficient:
                continue
            high = float(coefficient)
            low = float(coefficient - Fraction(high))
            product, error = self._times(k, high)
            total, carried = _sum(total, product)
            rest += carried
            rest += error
            rest += self.high[k] * low
            rest += self.low[k] * high
        return total + rest

    def _times(self, k: int, factor: float) -> tuple[Array, Array]:
        """A product as a float64 and what that lacks (T. J. Dekker 1971)."""
        product = self.high[k] * factor
        one, other = (float(half) for half in _halves(np.array(factor)))
        error = self.first[k] * one - product
        error += self.first[k] * other
        error += self.second[k] * one
        error += self.second[k] * other
        return product, error


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """A sum as a float64 and what that lacks (D. E. Knuth)."""
    total = a + b
    moved = total - a
    return total, (a - (total - moved)) + (b - moved)


def _halves(values: Array) -> tuple[Array, Array]:
    """Two numbers of 26 bits that add up to ``values``."""
    shifted = values * SPLITTER
    first = shifted - (shifted - values)
    return np.asarray(first), np.asarray(values - first)
