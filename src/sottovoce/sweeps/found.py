"""What a sweep found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..files.frames import to_frame
from ..files.html_table import html_table
from .play import FAILED

SHOWN = 20  # settings in a summary
LONGEST = 300  # characters of a reason there; the table has all


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """All points of a sweep, a row each: made by ``sweep``.

    Attributes
    ----------
    columns : dict of lists
        The table, in the order of the points: ``point``; ``problem``, a column for each keyword of the grid, and
        ``seed``; ``status``, which is that of the result or ``"failed"``, ``iterations``, ``activations``,
        ``messages``, ``residual``, and ``used_c`` and ``used_theta``, as tuned; what ``measure`` returned;
        ``warnings``, and the type (``failure``) and text (``reason``) of what went wrong; ``seconds``, the only column
        that another call may give other numbers for. What is missing is None.
    settings : tuple of str
        Which of the columns are keywords of the grid.
    path : Path or None
        The Parquet file that holds the same.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(5), [1, 2, 3, 4, 5])
    >>> found = sv.sweep(problem, {"c": [0.2, 0.5]}, seeds=2, jobs=1)
    >>> found
    Sweep(4 points: 4 converged, 0 did not, 0 failed)
    >>> found.to_frame()[["c", "seed", "status", "iterations"]]
         c  seed     status  iterations
    0  0.2     0  converged         448
    1  0.2     1  converged         448
    2  0.5     0  converged         180
    3  0.5     1  converged         180
    """

    columns: dict[str, list[Any]]
    settings: tuple[str, ...]
    path: Path | None = None

    def __len__(self) -> int:
        return len(self.columns["point"])

    @property
    def converged(self) -> int:
        """How many points did."""
        return self.columns["status"].count("converged")

    @property
    def failed(self) -> int:
        """How many points have an error in place of a result."""
        return self.columns["status"].count(FAILED)

    def __repr__(self) -> str:
        rest = len(self) - self.converged - self.failed
        points = "1 point" if len(self) == 1 else f"{len(self)} points"
        return f"Sweep({points}: {self.converged} converged, {rest} did not, {self.failed} failed)"

    def rows(self) -> Iterator[dict[str, Any]]:
        """One after the other, by the names of the columns."""
        for cells in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, cells, strict=True))

    def to_frame(self) -> Any:
        """The table as a data frame: of pandas, or of polars or pyarrow where it is missing."""
        return to_frame(self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""
        counts = {"points": len(self), "converged": self.converged, "failed": self.failed}
        return counts | {"settings": list(self.settings), "rows": list(self.rows())}

    def _by_setting(self) -> list[list[str]]:
        """A line for each problem and setting: how many of its seeds converged, and the medians of what that took."""
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in self.rows():
            groups.setdefault(tuple(row[name] for name in ("problem", *self.settings)), []).append(row)
        lines = []
        for key, rows in groups.items():
            done = [row for row in rows if row["status"] == "converged"]
            medians = [
                f"{np.median([row[name] for row in done]):g}" if done else "-" for name in ("iterations", "messages")
            ]
            lines.append(["" if cell is None else str(cell) for cell in key] + [f"{len(done)}/{len(rows)}", *medians])
        return lines

    @property
    def _header(self) -> list[str]:
        return ["problem", *self.settings, "converged", "iterations", "messages"]

    def summary(self) -> str:
        """How many points ended how, and by setting what those that converged took, in the median over the seeds."""
        lines = self._by_setting()
        cells = [self._header, *lines[:SHOWN]]
        widths = [max(len(line[k]) for line in cells) for k in range(len(self._header))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
        ]
        more = [f"... and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
        trouble = [said for said in (self.first_failure(), self.first_warning()) if said]
        trouble = ["", *trouble] if trouble else []
        return "\n".join([repr(self), "", *table, *more, *trouble])

    def first_failure(self) -> str:
        """What happened at the first point that failed, as others may have failed alike; nothing where none did."""
        bad = next((row for row in self.rows() if row["status"] == FAILED), None)
        if bad is None:
            return ""
        return f"point {bad['point']} failed with {bad['failure']}: {_short(bad['reason'])}"

    def first_warning(self) -> str:
        """How many points have warnings, and those of the first of them; nothing where none has."""
        warned = [row for row in self.rows() if row["warnings"] is not None]
        if not warned:
            return ""
        points = "1 point has" if len(warned) == 1 else f"{len(warned)} points have"
        return f"{points} warnings; point {warned[0]['point']}: {_short(warned[0]['warnings'])}"

    def _repr_html_(self) -> str:
        return html_table(self._by_setting()[:SHOWN], self._header, repr(self))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
