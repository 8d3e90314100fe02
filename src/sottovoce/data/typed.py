"""From Arrow to numbers, by the schema: cells of any type that can be read as what the schema says, and no others.

Texts are stripped of the blanks around them before anything else, and an empty one is missing. What each type is read
from is in docs/reference/schema.md: What a cell may hold. A number is rounded to the unit of its column, and ``check``
counts those that were no multiple. Any other cell that does not fit is a problem, told by its row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..files.toml_table import nearest
from .arrow import Faults, cells_of, in_units
from .batch import Array, Batch, UnitRounding
from .column import Column
from .decimal_unit import unit_text
from .problems import FIRST, Fault, Problem, looks, told
from .schema import Schema


def typed(schema: Schema, record_batch: Any, first: int, wanted: Iterable[str] | None = None) -> Batch:
    """The columns of an Arrow record batch as numbers.

    Parameters
    ----------
    schema : Schema
        What the columns mean.
    record_batch : pyarrow.RecordBatch
        Rows of a table, with the columns of the schema and any others, which are not looked at.
    first : int
        How many rows of the table come before these.
    wanted : iterable of str, optional
        Columns of the schema. Default: all.

    Returns
    -------
    Batch
        ``nan`` where a cell is missing. Arrays may be read-only: where they can they share Arrow's memory.

    Raises
    ------
    InvalidInput
        A column that is not there, or twice; cells that cannot be used, of all columns, with their first row numbers,
        counted from 1 without the header.
    """
    batch, problems = typed_or_not(schema, record_batch, first, wanted)
    if problems:
        raise InvalidInput(told(problems))
    return batch


def typed_or_not(
    schema: Schema, record_batch: Any, first: int, wanted: Iterable[str] | None = None
) -> tuple[Batch, list[Problem]]:
    """The same, with the problems beside it, and ``nan`` where a cell has one: for those who want to know of all."""
    columns = schema if wanted is None else schema.restricted(wanted)
    values: dict[str, Array] = {}
    rounding: dict[str, UnitRounding] = {}
    problems: list[Problem] = []
    names = record_batch.schema.names
    for column in columns.values():
        array = record_batch.column(_place(column.name, names))
        cells, fault = cells_of(column, array)
        values[column.name], rounding[column.name] = in_units(column, array, cells)
        problems += problems_of(column, array, fault, first)
    return Batch(values, first, record_batch.num_rows, rounding), problems


def _place(name: str, names: list[str]) -> int:
    if names.count(name) > 1:
        raise InvalidInput(f"two columns of the table are called {name!r}. Rename one of them, or leave it out.")
    if name not in names:
        raise InvalidInput(f"the table has no column {name!r}{nearest(name, names)} The schema asks for it.")
    return names.index(name)


def problems_of(column: Column, array: Any, faults: Faults, first: int) -> list[Problem]:
    """What is wrong with a column, by kind, from its cells as Arrow has them and the fault of each."""
    counts = np.bincount(faults, minlength=max(Fault) + 1)
    found = []
    for fault in Fault:
        if fault is not Fault.MISSING and counts[fault]:
            at = np.flatnonzero(faults == fault)[:FIRST]
            more = _more(column, fault, array, int(at[0]))
            found.append(Problem(column.name, fault.words, int(counts[fault]), tuple((at + first + 1).tolist()), more))
    return found


def _unit(column: Column) -> str:
    return "" if column.unit is None else unit_text(column.unit)


def _more(column: Column, fault: Fault, array: Any, at: int) -> str:
    """What helps: of the schema, which is public, or of the kind of a cell."""
    public = {
        Fault.OUT_OF_RANGE: column.range_told(),
        Fault.UNKNOWN_LEVEL: f"none of {column.levels_told()}",
        Fault.TOO_LARGE: "whole numbers are at most 2^53 - 1 in size",
        Fault.TIME_OF_DAY: "a date has none: it must be midnight",
        Fault.NOT_TEXT: "it is not UTF-8",
        Fault.TOO_LARGE_FOR_ITS_UNIT: f"numbers are less than 2^62 units of {_unit(column)}",
    }
    if fault in public:
        return public[fault]
    cell = array[at].as_py() if fault is Fault.NOT_A_NUMBER else None
    if isinstance(cell, str):
        return looks(cell.strip())
    return "write it as 2024-12-31" if fault is Fault.NOT_A_DATE else ""
