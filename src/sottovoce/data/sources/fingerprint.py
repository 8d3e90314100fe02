"""Whether two passes over a source saw the same rows, where no file can tell.

A database may give the same rows in another order, which no sum minds: entries are hashed one by one, and added.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]


class Fingerprint:
    """The number of rows, and for each column a sum of the hashes of its entries, modulo 2^64."""

    def __init__(self) -> None:
        self._rows = 0
        self._sums: dict[str, int] = {}

    def add(self, batch: Any) -> None:
        """The rows of one more record batch."""
        self._rows += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            self._sums[name] = (self._sums.get(name, 0) + _sum(column)) % 2**64

    @property
    def value(self) -> object:
        """To be compared."""
        return self._rows, self._sums


def _sum(column: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        numbers = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
        wide = numbers.astype(np.float64 if pa.types.is_floating(column.type) else np.int64, copy=False)
        nulls = 31 * int(column.null_count)
        return (int(_mixed(wide.view(np.uint64)).sum()) + nulls) % 2**64
    try:
        counted = pc.value_counts(column)  # few different texts, dates, booleans
        values, counts = counted.field("values").to_pylist(), counted.field("counts").to_numpy().astype(np.uint64)
    except NotImplementedError:  # lists and structures, which are refused by whoever reads them
        values, counts = column.to_pylist(), np.ones(len(column), np.uint64)
    hashes = np.array([crc32(repr(value).encode()) for value in values], np.uint64)
    return int((_mixed(hashes) * counts).sum())


def _mixed(words: Words) -> Words:
    """One round of splitmix64: not linear, so that changes do not cancel in a sum but by chance."""
    mixed = words >> np.uint64(30)
    mixed ^= words
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    return mixed
