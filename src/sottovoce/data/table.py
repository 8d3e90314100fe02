"""One party's table, read under a schema: complete rows, and of each the numbers that a statistic takes.

A table is looked through once before anything is sent. What cannot be used is refused then: by column and row number,
never by content.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from .batch import Array, Batch
from .rows import Rows
from .schema import Schema
from .selection import Selection
from .sources import Source
from .table_rows import TableRows
from .typed import typed

Missing = Literal["raise", "drop"]
SHOWN = 5  # rows in a sentence, by number


@dataclass
class Gaps:
    """Where a column has no value: how often, and in which rows first."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, missing: npt.NDArray[np.bool_], batch: Batch) -> None:
        """Those of one batch."""
        self.count += int(missing.sum())
        wanted = SHOWN - len(self.first)
        self.first += (np.flatnonzero(missing)[:wanted] + batch.first + 1).tolist()

    def told(self) -> str:
        """``12 (rows 3, 8, 9, 15, 21, ..)``."""
        more = ", .." if self.count > len(self.first) else ""
        return f"{self.count} ({'row' if self.count == 1 else 'rows'} {', '.join(map(str, self.first))}{more})"


@dataclass
class Survey:
    """What one pass over a table found.

    Attributes
    ----------
    read, used : int
        Rows of the table, and those without a missing value in the columns in use.
    gaps : dict
        By column in use, where it is missing.
    """

    gaps: dict[str, Gaps]
    read: int = 0
    used: int = 0

    @property
    def dropped(self) -> dict[str, int]:
        """How many rows are left out, under ``"rows"``, and by column in how many it is missing."""
        return {"rows": self.read - self.used, **{name: gap.count for name, gap in self.gaps.items()}}


class Table:
    """Some columns of a party's source, as rows of numbers.

    Parameters
    ----------
    source : Source
        Where the rows come from.
    schema : Schema
        What their columns mean.
    selection : Selection
        What is taken of a row: ``PlainColumns``, or the ``Equation`` of a formula.
    missing : {"raise", "drop"}
        Whether missing values are refused, or rows left out that have one in a column in use.
    """

    def __init__(self, source: Source, schema: Schema, selection: Selection, missing: Missing = "raise") -> None:
        check_missing(missing, selection.needs)
        self.source, self.schema, self.selection, self.missing = source, schema, selection, missing
        self._wanted = schema.restricted(selection.needs)

    @cached_property
    def survey(self) -> Survey:
        """One pass over the table.

        Raises
        ------
        InvalidInput
            A cell that is not what the schema says, or of which the formula makes no number: by row and column.
        """
        survey = Survey({name: Gaps() for name in self.selection.needs})
        for batch in self._batches():
            complete = np.ones(batch.rows, bool)
            for name, gap in survey.gaps.items():
                missing = batch.missing(name)
                gap.add(missing, batch)
                complete &= ~missing
            survey.read += batch.rows
            survey.used += int(complete.sum())
            block = self._block(batch, complete)  # refused now where it can be refused at all
            if not np.isfinite(block).all():
                row, k = np.argwhere(~np.isfinite(block))[0]
                number = batch.first + 1 + int(np.flatnonzero(complete)[row])
                raise InvalidInput(f"row {number}: {self.selection.columns[k]!r} is infinite.")
        return survey

    @cached_property
    def rows(self) -> Rows:
        """The complete rows.

        Raises
        ------
        InvalidInput
            What ``survey`` refuses; with ``missing="raise"`` any missing value: how many by column, and the first rows.
        """
        if self.missing == "raise" and self.survey.read > self.survey.used:
            gaps = ", ".join(f"{name!r} {gap.told()}" for name, gap in self.survey.gaps.items() if gap.count)
            raise InvalidInput(
                f"values are missing in {self.survey.read - self.survey.used} of {self.survey.read} rows, by column: "
                f'{gaps}. Impute them, or use missing="drop", which leaves out rows that have one.'
            )
        return TableRows(self._blocks, len(self.selection.columns), self.survey.used)

    @property
    def dropped(self) -> dict[str, int] | None:
        """What ``missing="drop"`` leaves out, as ``Survey.dropped``; None where nothing is."""
        return self.survey.dropped if self.missing == "drop" else None

    def _batches(self) -> Iterator[Batch]:
        first = 0
        for record_batch in self.source.batches(self._wanted):
            batch = typed(self._wanted, record_batch, first)
            first += batch.rows
            yield batch

    def _blocks(self) -> Iterator[Array]:
        for batch in self._batches():
            complete = ~np.any([batch.missing(name) for name in self.selection.needs], axis=0)
            yield self._block(batch, complete)

    def _block(self, batch: Batch, complete: npt.NDArray[np.bool_]) -> Array:
        whole = bool(complete.all())
        values = batch.values if whole else {name: batch.values[name][complete] for name in self.selection.needs}
        return self.selection.block(values, batch.first + 1 + np.flatnonzero(complete))


def check_missing(missing: Any, needs: Sequence[str] = ()) -> None:
    """A policy, or a sentence."""
    if missing not in get_args(Missing):
        raise InvalidInput(f'missing must be "raise" or "drop"; got {missing!r}.')
    if missing == "drop" and "rows" in needs:
        raise InvalidInput(
            "a column is called 'rows', which is what missing=\"drop\" calls the number of rows that it left out. "
            "Rename it."
        )
