"""Rows that are larger than memory: every sum is a pass over blocks, exact, and the same to the bit in any blocks."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ..errors import InvalidInput
from ..sums import IntegerSums, NeededUnits, ProductSums, Whole
from .fold import Array, Fold, Folded, even
from .rows import Rows, WholePairs, WholeSides, WholeTerms

MOST_THREADS = 4  # blocks are read one after the other: more would wait for them


class FoldedRows(Rows):
    """Rows of which a pass over all of them makes sums; ``_folded`` is the pass.

    A table that is not the same in two passes is refused, as its sums would belong to no table at all.
    """

    def __init__(self, width: int, count: int | None = None) -> None:
        self.width, self._count = width, count
        self._fingerprint: int | None = None
        self._largest: Array | None = None

    def __getstate__(self) -> dict[str, int]:
        """Terms that use ``linear`` take their rows along to a worker: without the table."""
        return {"width": self.width}

    @abstractmethod
    def _folded(self, fold: Fold) -> Folded:
        """One pass over all rows."""

    def __len__(self) -> int:
        if self._count is None:
            self._pass(Fold(self.width, _nothing, partial(IntegerSums, 0)))
        assert self._count is not None
        return self._count

    def totals(self, terms: WholeTerms) -> Whole:
        """``sum_r terms(r)`` of whole numbers, ``(k,)``: exact."""

        def into(sums: IntegerSums, block: Array) -> None:
            sums.add(terms(block))

        start = partial(IntegerSums, terms(self._no_rows).shape[1:])
        whole: Whole = self._pass(Fold(self.width, into, start)).sums.value()
        return whole

    def grams(self, sides: WholeSides) -> Whole:
        """``sum_r weight(r) left(r)' right(r)`` of whole numbers, ``(p, q)``: exact."""

        def into(sums: IntegerSums, block: Array) -> None:
            sums.add_products(*sides(block))

        left, right, *_ = sides(self._no_rows)
        start = partial(IntegerSums, (left.shape[1], right.shape[1]))
        whole: Whole = self._pass(Fold(self.width, into, start)).sums.value()
        return whole

    def several_grams(self, pairs: WholePairs) -> list[Whole]:
        """``sum_r left(r)' right(r)`` of several pairs, in one pass over the table."""

        def into(sums: ProductSums, block: Array) -> None:
            sums.add(pairs(block))

        shapes = [(left.shape[1], right.shape[1]) for left, right in pairs(self._no_rows)]
        wholes: list[Whole] = self._pass(Fold(self.width, into, partial(ProductSums, shapes))).sums.value()
        return wholes

    def needed_units(self) -> NeededUnits:
        """What the values of each column need of a unit."""
        needed: NeededUnits = self._pass(Fold(self.width, NeededUnits.add, partial(NeededUnits, self.width))).sums
        return needed

    def largest(self) -> Array:
        """The largest absolute value of each column, ``(d,)``; 0 without rows."""
        if self._largest is None:
            self._pass(Fold(self.width, _nothing, partial(IntegerSums, 0)))
        assert self._largest is not None
        return self._largest.copy()

    @property
    def _no_rows(self) -> Array:
        return np.empty((0, self.width))

    def _pass(self, fold: Fold) -> Folded:
        done = self._folded(fold)
        if self._count is None:
            self._count = done.rows
        if done.rows != self._count:
            raise _changed("their number is another")
        if self._fingerprint is None:
            self._fingerprint = done.fingerprint
        if done.fingerprint != self._fingerprint:
            raise _changed("their numbers are others")
        self._largest = done.largest
        return done


def _nothing(sums: IntegerSums, block: Array) -> None:
    """Where the rows are only looked at."""


def _changed(how: str) -> InvalidInput:
    return InvalidInput(
        f"the table changed between two passes over its rows: {how}. "
        "Nobody may write to it until the run is over; take a copy, or a snapshot of the database."
    )


class TableRows(FoldedRows):
    """The rows of a table that is read again for every sum.

    Parameters
    ----------
    blocks : callable
        ``blocks()`` is one pass over the table: arrays ``(rows, width)`` of any number of rows, which stay as they are
        when the next is made. Every pass has the same rows; their order does not matter.
    width : int
        Numbers a row.
    count : int, optional
        How many rows there are, where that is known. Default: counted in the first pass.
    threads : int, optional
        How many work on blocks at the same time. Default: one for each core, four at most. Results do not depend on it.

    Raises
    ------
    InvalidInput
        From sums: the table is not the same in two passes, or has a cell that is no finite number.

    Examples
    --------
    >>> import numpy as np
    >>> halves = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]])]
    >>> rows = TableRows(lambda: iter(halves), 2)
    >>> len(rows), rows.totals(lambda block: block.astype(np.int64)).tolist()
    (3, [9, 12])
    """

    def __init__(
        self, blocks: Callable[[], Iterator[Array]], width: int, count: int | None = None, threads: int | None = None
    ) -> None:
        super().__init__(width, count)
        if threads is not None and (not isinstance(threads, int) or threads < 1):
            raise InvalidInput(f"threads must be an integer >= 1, or None; got {threads!r}.")
        self.blocks, self.threads = blocks, threads or min(MOST_THREADS, _cores())

    def _folded(self, fold: Fold) -> Folded:
        blocks = even(self.blocks(), self.width)
        return fold.of(blocks) if self.threads == 1 else fold.in_threads(blocks, self.threads)


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
