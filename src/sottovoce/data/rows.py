"""The rows of one party, as a statistic sees them: ``(n, d)`` numbers of which it may have sums and nothing else.

A sum is a fold over blocks of rows. An array is one block; a table that is larger than memory has many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from ..sums import IntegerSums, NeededUnits, ProductSums, Whole

Array = npt.NDArray[np.float64]
BLOCK = 8192  # rows
Int64 = npt.NDArray[np.int64]
# Of a block (rows, d), the whole numbers that are summed: (rows, k), or (1, k) summed already.
WholeTerms = Callable[[Array], Int64]
# Of a block, the factors of a sum of products of whole numbers: left, right, and a weight (rows,) where there is one.
WholeColumns = Int64 | Whole  # Python's integers, where 64 bits are too few
WholeSides = Callable[[Array], tuple[WholeColumns, WholeColumns] | tuple[WholeColumns, WholeColumns, Int64]]

WholePairs = Callable[[Array], list[tuple[Int64, Int64]]]  # several of these


class Rows(ABC):
    """What a party holds: ``width`` numbers a row."""

    width: int

    @abstractmethod
    def __len__(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def totals(self, terms: WholeTerms) -> Whole:
        """``sum_r terms(r)`` of whole numbers, ``(k,)``: exact."""

    @abstractmethod
    def grams(self, sides: WholeSides) -> Whole:
        """``sum_r weight(r) left(r)' right(r)`` of whole numbers, ``(p, q)``: exact."""

    def several_grams(self, pairs: WholePairs) -> list[Whole]:
        """``sum_r left(r)' right(r)`` of several pairs: here a pass for each."""
        count = len(pairs(np.empty((0, self.width))))
        return [self.grams(lambda block, place=place: pairs(block)[place]) for place in range(count)]  # type: ignore[misc]

    @abstractmethod
    def needed_units(self) -> NeededUnits:
        """What the values of each column need of a unit."""

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

    def totals(self, terms: WholeTerms) -> Whole:
        sums = IntegerSums(terms(self.array[:0]).shape[1])
        for block in self._blocks():
            sums.add(terms(block))
        return sums.value()

    def grams(self, sides: WholeSides) -> Whole:
        left, right, *_ = sides(self.array[:0])
        sums = IntegerSums((left.shape[1], right.shape[1]))
        for block in self._blocks():
            sums.add_products(*sides(block))
        return sums.value()

    def several_grams(self, pairs: WholePairs) -> list[Whole]:
        """The same in one pass."""
        sums = ProductSums([(left.shape[1], right.shape[1]) for left, right in pairs(self.array[:0])])
        for block in self._blocks():
            sums.add(pairs(block))
        return sums.value()

    def needed_units(self) -> NeededUnits:
        needed = NeededUnits(self.width)
        needed.add(self.array)
        return needed

    def largest(self) -> Array:
        return np.asarray(np.abs(self.array).max(axis=0, initial=0.0))

    def _blocks(self) -> Iterator[Array]:
        """As many rows at a time as stay near the processor with all that is made of them."""
        return (self.array[first : first + BLOCK] for first in range(0, len(self.array), BLOCK))
