"""One pass over rows: exact sums of what is made of them, and enough to see that the next pass meets the same rows.

A fold is the same to the bit for any cut into blocks, any order, any number of threads or machines: sums are exact, and
what is made of a row must not depend on the rows beside it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..numerics.unquoted import kind_of

Array = npt.NDArray[np.float64]
Into = Callable[[Any, Array], None]  # adds what is made of a block to what the pass began with

CELLS = 2**18  # of a block, 2 MB: what statistics make of it fits into the second-level cache, or nearly
MOST, FEWEST = 8192, 256  # rows of a block


@dataclass
class Folded:
    """What a pass found: exact sums, and of all cells what two passes over one table have in common.

    Attributes
    ----------
    sums : IntegerSums or NeededUnits
        Of what was made of the rows.
    magnitudes : ndarray
        Bits of the largest absolute value of each column.
    rows : int
        How many.
    fingerprint : int
        A sum of a hash of each row, modulo 2^64: rows may come in another order, and must be the same.
    """

    sums: Any
    magnitudes: npt.NDArray[np.uint64]
    rows: int = 0
    fingerprint: int = 0

    def add(self, block: Array, into: Into) -> None:
        """Rows ``(rows, width)``, of which ``into`` makes terms."""
        from ._row_kernels import look

        words = np.require(block, np.float64, ["C", "W"]).view(np.uint64)
        self.fingerprint = (self.fingerprint + int(look(words, self.magnitudes))) % 2**64
        if not np.isfinite(self.largest).all():
            column = int(np.flatnonzero(~np.isfinite(self.largest))[0])
            raise InvalidInput(
                f"the table has cells that are missing, infinite or no numbers (column {column} of what is used of it, "
                "counted from 0). Drop such rows first."
            )
        self.rows += len(block)
        into(self.sums, block)

    def merge(self, other: Folded) -> None:
        """Those of other rows."""
        self.sums.merge(other.sums)
        self.magnitudes = np.maximum(self.magnitudes, other.magnitudes)
        self.rows += other.rows
        self.fingerprint = (self.fingerprint + other.fingerprint) % 2**64

    @property
    def largest(self) -> Array:
        """The largest absolute value of each column; 0 without rows."""
        return self.magnitudes.view(np.float64)


@dataclass(frozen=True)
class Fold:
    """What a pass does: ``into`` adds what it makes of blocks of ``width`` columns to what ``start`` makes, which can
    ``merge``."""

    width: int
    into: Into
    start: Callable[[], Any]

    @property
    def nothing(self) -> Folded:
        """What was found of no rows."""
        return Folded(self.start(), np.zeros(self.width, np.uint64))

    def of(self, blocks: Iterable[Array]) -> Folded:
        """Block after block."""
        done = self.nothing
        for block in blocks:
            done.add(block, self.into)
        return done

    def in_threads(self, blocks: Iterable[Array], threads: int) -> Folded:
        """The same, with blocks given to whoever is free; as many are in memory as there are threads."""
        done = self.of([np.empty((0, self.width))])  # compiles here, where it is heard
        shared = _Shared(iter(blocks))

        def work() -> Folded:
            try:
                return self.of(shared)
            except BaseException:
                shared.stopped = True
                raise

        with ThreadPoolExecutor(threads, "sottovoce-rows") as pool:
            try:
                for part in [pool.submit(copy_context().run, work) for _ in range(threads)]:
                    done.merge(part.result())
            except BaseException:  # also an interrupt, here
                shared.stopped = True
                raise
        return done


class _Shared(Iterator[Array]):
    """Blocks for several threads, read by one at a time."""

    def __init__(self, blocks: Iterator[Array]) -> None:
        self.blocks, self.lock, self.stopped = blocks, threading.Lock(), False

    def __next__(self) -> Array:
        with self.lock:
            if self.stopped:
                raise StopIteration
            return next(self.blocks)


def even(blocks: Iterable[Array], width: int) -> Iterator[Array]:
    """The same rows in blocks of one size, whatever the source gives: memory and speed do not depend on its batches."""
    rows = max(FEWEST, min(MOST, CELLS // max(1, width)))
    waiting, filled = np.empty((0, width)), 0  # rows of small blocks
    for block in blocks:
        if not isinstance(block, np.ndarray) or block.ndim != 2 or block.shape[1] != width:
            raise InvalidInput(f"a block of a table must be an array (rows, {width}); got {kind_of(block)}.")
        start = 0
        while start < len(block):
            if not filled and len(block) - start >= rows:
                yield block[start : start + rows]
                start += rows
                continue
            if not filled:
                waiting = np.empty((rows, width))  # a new one: the last may still be in use
            taken = min(rows - filled, len(block) - start)
            waiting[filled : filled + taken] = block[start : start + taken]
            filled, start = filled + taken, start + taken
            if filled == rows:
                yield waiting
                filled = 0
    if filled:
        yield waiting[:filled]
