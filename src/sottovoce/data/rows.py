"""The rows of one party, as a statistic sees them: ``(n, d)`` numbers of which it may have sums and nothing else.

A sum is a fold over blocks of rows. An array is one block; a table that is larger than memory has many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Terms = Callable[[Array], Array]  # of a block (rows, d), what is summed: (rows, k), or (1, k) already summed exactly
Sides = Callable[[Array], tuple[Array, Array]]  # of a block, the two factors of a sum of products


class Rows(ABC):
    """What a party holds: ``width`` numbers a row."""

    width: int

    @abstractmethod
    def __len__(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def sums(self, terms: Terms) -> Array:
        """``sum_r terms(r)``, ``(k,)``."""

    @abstractmethod
    def products(self, sides: Sides) -> Array:
        """``sum_r left(r)' right(r)``, ``(p, q)``."""

    @abstractmethod
    def largest(self) -> Array:
        """The largest absolute value of each column, ``(d,)``; 0 without rows."""

    def linear(self, block: Array, beta: Array) -> Array:
        """``block beta`` for use in terms, ``(rows,)``: column by column, so that a row's value does not depend on the
        rows that share its block, as it does in BLAS."""
        value = np.zeros(len(block))
        for column, b in zip(block.T, beta, strict=True):
            value += column * b
        return value


class ArrayRows(Rows):
    """Rows that are in memory, ``(n, d)``."""

    def __init__(self, array: Array) -> None:
        self.array, self.width = array, array.shape[1]

    def __len__(self) -> int:
        return len(self.array)

    def sums(self, terms: Terms) -> Array:
        return np.asarray(terms(self.array).sum(axis=0))

    def products(self, sides: Sides) -> Array:
        left, right = sides(self.array)
        return np.asarray(left.T @ right)

    def largest(self) -> Array:
        return np.asarray(np.abs(self.array).max(axis=0, initial=0.0))

    def linear(self, block: Array, beta: Array) -> Array:  # there is one block
        return np.asarray(block @ beta)
