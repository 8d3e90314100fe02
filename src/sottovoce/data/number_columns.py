"""Columns of numbers in memory as one party's table: what arrays become, without Arrow and without a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .column import Column
from .rows import Array, ArrayRows, Rows
from .selection import Selection
from .sources import Source
from .sources.frame_source import FrameSource


class NumberColumns(Source):
    """Columns by name, ``(n,)`` finite float64 each.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce.data.selection import PlainColumns
    >>> NumberColumns({"x": np.array([1.0, 2.0])}).rows_of(PlainColumns(("x",))).largest().tolist()
    [2.0]
    """

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.columns = dict(columns)

    def describe(self) -> str:
        return "the array"

    def names(self) -> list[str]:
        return list(self.columns)

    def _read(self, wanted: Mapping[str, Column]) -> Iterable[Any]:
        return FrameSource({name: self.columns[name] for name in wanted})._read(wanted)

    def rows_of(self, selection: Selection) -> Rows:
        """What a selection takes of every row."""
        count = len(next(iter(self.columns.values())))
        return ArrayRows(selection.block(self.columns, np.arange(1, count + 1)))


class NumberTable:
    """What is asked of ``NumberColumns``: like ``Table``, of which no cell can be missing."""

    dropped = None

    def __init__(self, source: NumberColumns, selection: Selection) -> None:
        self.source, self.selection, self.rows = source, selection, source.rows_of(selection)
