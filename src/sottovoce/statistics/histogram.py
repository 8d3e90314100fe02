"""``type = "histogram"``: exact counts per bin, or per level of a category."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..costs.base import Array, as_floats
from ..data.rows import Rows
from ..data.schema import EPOCH, Column
from ..data.selection import PlainColumns
from ..errors import InvalidCost, InvalidInput
from ..pdmm.modular_mask import Integers
from ..pdmm.result import Status
from .agreements import Agreements
from .analysis import CountsAnalysis
from .statistic import Statistic, Value, plain_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 10  # of a range, unless told otherwise
MOST_BINS = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(Statistic):
    """What ``private_histogram`` returns, besides the fields of ``Statistic``.

    Attributes
    ----------
    edges : ndarray
        Of the bins.
    counts : ndarray of int
        ``counts[k]`` values lie in ``edges[k] <= x < edges[k+1]``; the last bin has both its edges.
    below, above : int
        How many lie outside.
    name : str
        Of the variable: that of a series or a column of frames, else ``x``.
    levels : tuple of str
        Of a category, where the variable is one: ``counts[k]`` are of ``levels[k]``. Else none.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_histogram(sv.Network.ring(3), [[1.0, 2.5], [0.5], [7.0]], bins=[0, 2, 4])
    >>> result.edges.tolist(), result.observations
    ([0.0, 2.0, 4.0], 4)
    """

    edges: Value[Array] = Value()
    counts: Value[Integers] = Value()
    below: Value[int] = Value()
    above: Value[int] = Value()
    name: Value[str] = Value()
    levels: Value[tuple[str, ...]] = Value()

    @property
    def observations(self) -> int:
        """All values, in the bins or not."""
        return int(self.counts.sum()) + self.below + self.above

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; the status alone where the runs did not converge."""
        told = super().to_dict()
        if not told.get("levels"):
            told.pop("levels", None)
        return told

    def summary(self) -> str:
        """A table for people: a row for each bin, or for each level."""
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: no counts to report."
        columns, head = self._columns(), f"{self.observations} observations of {self.parties} parties"
        if not self.levels:
            columns = {**columns, "from": [None, *self.edges.tolist()], "to": [*self.edges.tolist(), None]}
        heading = [f"Histogram of {self.name}: {head}", *filter(None, [self.data_notes()]), ""]
        return "\n".join([*heading, *plain_table(columns, texts=int(bool(self.levels)))])

    def _columns(self) -> dict[str, list[Any]]:
        if self.levels:
            return {"level": list(self.levels), "count": self.counts.tolist()}
        edges = [-np.inf, *self.edges.tolist(), np.inf]
        return {"from": edges[:-1], "to": edges[1:], "count": [self.below, *self.counts.tolist(), self.above]}

    def _facts(self) -> str:
        of = f"{len(self.counts)} {'levels' if self.levels else 'bins'}"
        return f"{self.name}: {self.observations} observations of {self.parties} parties in {of}"

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_histogram, plot_rows

        if self.levels:
            return plot_rows(path, self.levels, self.counts.astype(np.float64), None, self._facts(), "count")
        return plot_histogram(path, self.edges, self.counts.tolist(), (self.below, self.above), self.name)


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramAnalysis(CountsAnalysis):
    """``columns``, one; ``bins``, their edges or how many there are over the range of the schema, 10 unless told. Of a
    category or a boolean the levels are counted."""

    columns: str | tuple[str, ...] = ()  # type: ignore[assignment]
    bins: int | tuple[float, ...] | tuple[date, ...] | None = None

    type: ClassVar[str] = "histogram"
    has_tests: ClassVar[bool] = False
    gives: ClassVar[builtins.type[Statistic]] = Histogram

    def __post_init__(self) -> None:
        names = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        if len(names) != 1:
            raise InvalidInput(f"a histogram counts one column; got {len(names)}. Ask for one after the other.")
        object.__setattr__(self, "columns", names)
        edges = self.edges
        if not self.levels:
            object.__setattr__(self, "bins", tuple(edges.tolist()))

    @cached_property
    def column(self) -> Column:
        """The one that is counted."""
        return self.schema.restricted(self.columns)[self.columns[0]]

    @property
    def levels(self) -> tuple[str, ...]:
        """Of a category or a boolean, where the column is one."""
        return ("false", "true") if self.column.type == "boolean" else self.column.levels

    @cached_property
    def edges(self) -> Array:
        """Of the bins, or about the levels. The range of a column is public, that of its values is not."""
        column, count = self.column, BINS if self.bins is None else self.bins
        if self.levels:
            if self.bins is not None:
                raise InvalidInput(
                    f"column {column.name!r} is a {column.type}: leave bins out, its values are counted."
                )
            return np.arange(len(self.levels) + 1.0) - 0.5
        if isinstance(count, int | np.integer):
            if column.limits is None or not 1 <= count <= MOST_BINS:
                raise InvalidInput(
                    f"column {column.name!r}: {count} bins need a range in the schema, and are 1 to {MOST_BINS:,}. "
                    "Give the edges of bins, or add its range."
                )
            return np.asarray(np.linspace(*column.limits, int(count) + 1))
        if column.type == "date" and isinstance(count, Sequence):
            days = [(edge - EPOCH).days for edge in count if type(edge) is date]
            return read_bins(days if len(days) == len(count) else count)
        return read_bins(count)

    @property
    def selection(self) -> PlainColumns:
        return PlainColumns(tuple(self.columns))

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Histogram:
        own = [self.cells(part) for part in rows]
        total = agreements.sum(own, of="rows in each bin", counts=True)  # type: ignore[arg-type]
        counts = np.array(total[1:-1], dtype=np.int64)
        outside = int(total[0]), int(total[-1])
        return Histogram(*agreements.made, self.edges, counts, *outside, self.columns[0], self.levels)

    def cells(self, rows: Rows) -> Integers:
        edges = self.edges

        def of_block(x: Array) -> Integers:
            return np.array([[(x < edges[0]).sum(), *np.histogram(x, edges)[0], (x > edges[-1]).sum()]], dtype=np.int64)

        return rows.totals(of_block).astype(np.int64)

    @property
    def counts(self) -> int:
        return len(self.edges) + 1

    @property
    def revealed(self) -> list[str]:
        if self.levels:
            return [f"the rows at each of {len(self.levels)} levels of {self.columns[0]}"]
        return [f"the rows in each of {len(self.edges) - 1} bins of {self.columns[0]}, below and above them"]


def read_bins(bins: Any) -> Array:
    """The edges of bins."""
    try:
        edges = as_floats(bins, "bins")
    except InvalidCost:
        edges = np.empty(0)
    if edges.ndim != 1 or len(edges) < 2 or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise InvalidInput(
            f"bins must be two or more finite edges in increasing order; got {bins!r}. A number of bins would need the "
            "range of the pooled data, which nobody knows."
        )
    return edges
