"""What the answers of this room share: numbers that follow from what was agreed on, and a text for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...pdmm.modular_mask import Integers
from ...pdmm.result import Status
from ..statistic import Statistic, plain


@dataclass(frozen=True, eq=False, repr=False)
class Finding(Statistic):
    """A statistic with a summary; ``derived`` are properties that ``to_dict`` has too."""

    title: ClassVar[str] = ""
    derived: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; the status alone of an answer without values."""
        told = super().to_dict()
        if self.status is Status.CONVERGED:
            told |= {name: plain(getattr(self, name)) for name in self.derived}
        return told

    def _head(self) -> list[tuple[str, str]]:
        """What stands above the table of a summary: names and values."""
        return []

    def _body(self) -> dict[str, list[Any]]:
        """The table of a summary."""
        return self._columns()

    def _notes(self) -> list[str]:
        """What stands below it."""
        return []

    def summary(self) -> str:
        """A text for people: what was found above, a table below.

        Returns
        -------
        str
            Lines; one of them for an answer without values.
        """
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: nothing to report."
        head = [list(pair) for pair in self._head()]
        body = self._body()
        sides = "".join("<" if any(isinstance(entry, str) for entry in column) else ">" for column in body.values())
        cells = [list(body), *([cell(entry) for entry in row] for row in zip(*body.values(), strict=True))]
        parts = [
            [f"{self.title}: {self._facts()}", *filter(None, [self.data_notes()])],
            aligned(head, "<" * 2) if head else [],
            aligned(cells, sides),
            self._notes(),
        ]
        return "\n\n".join("\n".join(part) for part in parts if part)


def left_out(what: str, names: Sequence[str], counts: Integers) -> list[str]:
    """A note on what has no rows, and so no part in tests."""
    empty = [name for name, count in zip(names, counts.tolist(), strict=True) if not count]
    return [f"Left out of tests, without rows: {what} {', '.join(empty)}."] if empty else []


def cell(entry: Any) -> str:
    """Nothing for what is not known."""
    if entry is None or (isinstance(entry, float) and math.isnan(entry)):
        return ""
    return f"{entry:.6g}" if isinstance(entry, float) else str(entry)


def aligned(rows: Sequence[Sequence[str]], to: str) -> list[str]:
    """Rows of cells as lines, with columns of one width each, to the left (``"<"``) or to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{text:{side}{width}}" for text, side, width in zip(row, to, widths, strict=True)).rstrip()
        for row in rows
    ]


def p_words(p: float | None) -> str:
    """``0.0312``, ``< 0.0001``."""
    if p is None or p != p:
        return "not known"
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def numbers(values: Any) -> Array:
    """As floats, also after a journey as JSON, which has no NaN."""
    return np.asarray(values, dtype=np.float64)
