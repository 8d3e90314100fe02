"""A table of an answer in plain text: for terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def plain_table(columns: Mapping[str, Sequence[Any]], *, texts: int) -> list[str]:
    """Lines: a header, and the rows below it. The first ``texts`` columns are aligned to the left, numbers to the
    right.

    >>> plain_table({"column": ["age", "crp"], "mean": [61.5, 3.0]}, texts=1)
    ['column  mean', 'age     61.5', 'crp        3']
    """
    rows = [list(columns), *([_cell(entry) for entry in row] for row in zip(*columns.values(), strict=True))]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    sides = ["<" if k < texts else ">" for k in range(len(widths))]
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
        for row in rows
    ]


def _cell(entry: Any) -> str:
    return "" if entry is None else f"{entry:.9g}" if isinstance(entry, float) else str(entry)
