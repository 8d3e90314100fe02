"""One party's table, read under a schema: complete rows, and of each the numbers that a statistic takes.

A table is looked through once before anything is sent. What cannot be used is refused then: by column and row number,
never by content.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, PrecisionLost
from .batch import Array, Batch, UnitRounding
from .dask_source import DaskSource
from .decimal_unit import unit_text
from .rows import Rows
from .schema import Schema
from .selection import Numbers, Selection
from .sources import Source, open_source
from .table_rows import TableRows
from .typed import typed

Missing = Literal["raise", "drop"]
SHOWN = 5  # rows in a sentence, by number


@dataclass
class Gaps:
    """Where a column has no value: how often, and in which rows first."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, missing: npt.NDArray[np.bool_], numbers: Numbers) -> None:
        """Those of some rows."""
        self.count += int(missing.sum())
        self.first += numbers[missing][: SHOWN - len(self.first)].tolist()

    def told(self) -> str:
        """``12 (rows 3, 8, 9, 15, 21, ..)``."""
        more = ", .." if self.count > len(self.first) else ""
        return f"{self.count} ({'row' if self.count == 1 else 'rows'} {', '.join(map(str, self.first))}{more})"


@dataclass
class Survey:
    """What a pass over a table found.

    Attributes
    ----------
    gaps : dict
        By column in use, where it is missing.
    read, used : int
        Rows of the table, and those without a missing value in the columns in use.
    rounding : dict
        By column in use, how far its numbers are from multiples of its unit.
    """

    gaps: dict[str, Gaps]
    read: int = 0
    used: int = 0
    rounding: dict[str, UnitRounding] = field(default_factory=dict)

    @property
    def dropped(self) -> dict[str, int]:
        """How many rows are left out, under ``"rows"``, and by column in how many it is missing."""
        return {"rows": self.read - self.used, **{name: gap.count for name, gap in self.gaps.items()}}

    def add(self, other: Survey) -> None:
        """What was found elsewhere, in rows that are counted there."""
        self.read, self.used = self.read + other.read, self.used + other.used
        for name, gap in other.gaps.items():
            self.gaps[name].count += gap.count
            self.gaps[name].first += gap.first[: SHOWN - len(self.gaps[name].first)]
        self._add_rounding(other.rounding)

    def _add_rounding(self, rounding: Mapping[str, UnitRounding]) -> None:
        for name, off in rounding.items():
            self.rounding.setdefault(name, UnitRounding()).add(off)

    def complete(self, batch: Batch) -> npt.NDArray[np.bool_]:
        """Which rows of a batch have all values; they are added to what was found."""
        complete, numbers = np.ones(batch.rows, bool), row_numbers(batch)
        for name, gap in self.gaps.items():
            missing = batch.missing(name)
            if missing.any():
                gap.add(missing, numbers)
                complete &= ~missing
        self.read += batch.rows
        self.used += int(complete.sum())
        self._add_rounding(batch.rounding)
        return complete


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

    Examples
    --------
    >>> from sottovoce.data.selection import PlainColumns
    >>> from sottovoce.data.sources import open_source
    >>> source = open_source({"age": [61.0, None, 58.0], "dose": [2.5, 1.0, 3.0]})
    >>> table = Table(source, Schema({"age": "number", "dose": "number"}), PlainColumns(("age", "dose")), "drop")
    >>> len(table.rows), table.rows.largest().tolist(), table.dropped
    (2, [61.0, 3.0], {'rows': 1, 'age': 1, 'dose': 0})
    """

    def __init__(self, source: Source, schema: Schema, selection: Selection, missing: Missing = "raise") -> None:
        check_missing(missing, selection.needs)
        self.source, self.schema, self.selection, self.missing = source, schema, selection, missing
        self._taken = Taken(schema.restricted(selection.needs), selection)
        self._rows: Rows
        if isinstance(source, DaskSource):
            self._rows = source.on.rows(source.partitions, len(selection.columns), self._taken.blocks_of)
        else:
            self._rows = TableRows(self._blocks, len(selection.columns))
        self._has_warned = False
        self._survey: Survey | None = None  # of the last pass; where the next one differs, its rows are refused

    @property
    def survey(self) -> Survey:
        """What is in the table; read where it was not yet.

        Raises
        ------
        InvalidInput
            A cell that is not what the schema says, or of which the formula makes no number: by column and row.
        """
        if self._survey is None and isinstance(self.source, DaskSource):
            self._survey = self._taken.no_rows()
            for part in self.source.on.map(self._taken.survey_of, self.source.partitions):
                self._survey.add(part)
        elif self._survey is None:
            len(self._rows)
        assert self._survey is not None
        self._warn_of_rounding(self._survey)
        return self._survey

    def _warn_of_rounding(self, survey: Survey) -> None:
        """Tell the owner, once, of columns that lose digits by their unit. Nobody else hears of it."""
        if self._has_warned:
            return
        self._has_warned = True
        for name, off in survey.rounding.items():
            if off.is_heavy:
                column = self.schema[name]
                assert column.grid is not None
                unit = unit_text(column.grid)
                its = f"its unit, {unit}" if column.unit is not None else f"{unit}, the unit that its range gives it"
                warnings.warn(
                    f"{self.source.describe()}: column {name!r}: {off.count:,} of {survey.read:,} numbers are no "
                    f"multiple of {its}, and are rounded to it. Agree on a smaller unit if they were measured more "
                    "finely.",
                    PrecisionLost,
                    stacklevel=2,
                )

    @property
    def rows(self) -> Rows:
        """The complete rows.

        Raises
        ------
        InvalidInput
            What ``survey`` refuses; with ``missing="raise"`` any missing value: how many by column, and the first rows.
        """
        found = self.survey
        if self.missing == "raise" and found.read > found.used:
            gaps = ", ".join(f"{name!r} {gap.told()}" for name, gap in found.gaps.items() if gap.count)
            raise InvalidInput(
                f"values are missing in {found.read - found.used} of {found.read} rows, by column: {gaps}. "
                'Impute them, or use missing="drop", which leaves out rows that have one.'
            )
        return self._rows

    @property
    def dropped(self) -> dict[str, int] | None:
        """What ``missing="drop"`` leaves out, as ``Survey.dropped``; None where nothing is."""
        return self.survey.dropped if self.missing == "drop" else None

    def no_rows(self) -> Survey:
        """What a pass has found before the first row."""
        return self._taken.no_rows()

    def _blocks(self) -> Iterator[Array]:
        """One pass over the source."""
        survey = self._taken.no_rows()
        yield from self._taken.blocks(self.source, survey)
        self._survey = survey


@dataclass(frozen=True)
class Taken:
    """What is taken of a source, wherever it is read."""

    wanted: Schema
    selection: Selection

    def blocks(self, source: Source, survey: Survey) -> Iterator[Array]:
        """The numbers of its complete rows; what is found on the way is added to the survey."""
        for record_batch in source.batches(self.wanted):
            batch = typed(self.wanted, record_batch, survey.read)
            complete, values = survey.complete(batch), batch.values
            if not complete.all():
                values = {name: values[name][complete] for name in self.selection.needs}
            yield self.selection.block(values, row_numbers(batch)[complete])

    def no_rows(self) -> Survey:
        """What a table without rows holds."""
        return Survey({name: Gaps() for name in self.selection.needs})

    def blocks_of(self, part: Any) -> Iterator[Array]:
        """Of one partition of a table, where it lies."""
        return self.blocks(open_source(part), self.no_rows())

    def survey_of(self, part: Any) -> Survey:
        """What one partition holds."""
        survey = self.no_rows()
        for _ in self.blocks(open_source(part), survey):
            pass
        return survey


def row_numbers(batch: Batch) -> Numbers:
    """Of its rows in the table, counted from 1."""
    return np.arange(batch.first + 1, batch.first + batch.rows + 1)


def check_missing(missing: Any, needs: Sequence[str] = ()) -> None:
    """A policy, or a sentence."""
    if missing not in get_args(Missing):
        raise InvalidInput(f'missing must be "raise" or "drop"; got {missing!r}.')
    if missing == "drop" and "rows" in needs:
        raise InvalidInput(
            "a column is called 'rows', which is what missing=\"drop\" calls the number of rows that it left out. "
            "Rename it."
        )
