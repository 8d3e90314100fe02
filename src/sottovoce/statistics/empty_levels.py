"""Levels that no row of any party has: kept as the schema has them, or left out by counts that all parties agree on.

Such levels arise where all rows of a level drop out for a blank in another column. Rows are read under the schema as it
is, and the places of their levels are told anew: a row that is left out may well have a level that is left out, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from ..data.batch import Array
from ..data.column import Column
from ..data.formula.measure import Largest, Measure, of_column
from ..data.rows import Int64
from ..data.schema import Schema
from ..data.selection import NONE, Numbers, Selection
from ..errors import InvalidInput
from .agreements import Agreements

EmptyLevels = Literal["keep", "drop"]


@dataclass(frozen=True)
class LevelColumns(Selection):
    """A selection of the categories among the columns that another selection needs, of the same rows."""

    needs: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: Schema, needs: tuple[str, ...]) -> LevelColumns:
        """The categories of a schema among some columns."""
        return cls(needs, tuple(name for name in needs if schema[name].type == "category"))

    def block(self, values: Mapping[str, Array], numbers: Numbers) -> Array:
        """The places of their levels, side by side."""
        return np.column_stack([values[name] for name in self.columns])

    def measures(self, schema: Schema, largest: Largest = NONE) -> list[Measure]:
        """Those of the columns."""
        return [of_column(schema[name], largest) for name in self.columns]

    def sizes(self, schema: Schema) -> list[int]:
        """How many levels each of them has."""
        return [len(schema[name].levels) for name in self.columns]

    def indicators(self, schema: Schema, block: Array) -> Int64:
        """For every level of every category, in their order, 1 in the rows that have it, else 0."""
        parts = [places[:, None] == np.arange(size) for places, size in zip(block.T, self.sizes(schema), strict=True)]
        return np.hstack(parts).astype(np.int64)


@dataclass(frozen=True)
class WithFewerLevels(Selection):
    """A selection under a schema with fewer levels, of rows that were read with all of them.

    ``places``: for each category that lost some, the new place of each of its old levels; NaN of one that is left out.
    """

    selection: Selection
    places: Mapping[str, Array]

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that the selection needs."""
        return self.selection.needs

    @property
    def columns(self) -> tuple[str, ...]:
        """What the selection makes of them."""
        return self.selection.columns

    def block(self, values: Mapping[str, Array], numbers: Numbers) -> Array:
        """The selection's numbers, of the new places."""
        moved = {name: places[values[name].astype(np.int64)] for name, places in self.places.items()}
        return self.selection.block({**values, **moved}, numbers)

    def measures(self, schema: Schema, largest: Largest = NONE) -> list[Measure]:
        """Those of the selection."""
        return self.selection.measures(schema, largest)


def check_empty_levels(given: Any) -> None:
    """Refuse anything but ``"keep"`` and ``"drop"``."""
    if given not in get_args(EmptyLevels):
        raise InvalidInput(f'empty_levels must be "keep" or "drop"; got {given!r}.')


def levels_without_rows(
    agreements: Agreements, schema: Schema, taken: LevelColumns, counts: Sequence[Int64]
) -> dict[str, tuple[str, ...]]:
    """By category the levels that no row of any party has, from each local party's rows by level: one agreement.

    A category keeps its levels if it has no rows at all.
    """
    names = ", ".join(map(repr, taken.columns))
    totals = agreements.sum([own.tolist() for own in counts], of=f"rows by level of {names}", counts=True)
    found, first = {}, 0
    for name in taken.columns:
        levels = schema[name].levels
        rows = totals[first : first + len(levels)]
        first += len(levels)
        empty = tuple(level for level, count in zip(levels, rows, strict=True) if not count)
        if 0 < len(empty) < len(levels):
            found[name] = empty
    return found


def fewer_levels(schema: Schema, empty: Mapping[str, tuple[str, ...]]) -> Schema:
    """The schema without some levels. Where the reference is among them, the first that stays takes its place."""
    return Schema([_without(column, empty.get(column.name, ())) for column in schema.values()])


def new_places(schema: Schema, empty: Mapping[str, tuple[str, ...]]) -> dict[str, Array]:
    """For each category that loses levels, where those that it had are now."""
    found = {}
    for name, left_out in empty.items():
        stays = np.array([level not in left_out for level in schema[name].levels])
        found[name] = np.where(stays, np.cumsum(stays) - 1.0, np.nan)
    return found


def _without(column: Column, left_out: tuple[str, ...]) -> Column:
    if not left_out:
        return column
    levels = tuple(level for level in column.levels if level not in left_out)
    reference = column.reference if column.reference in levels else levels[0]
    return replace(column, levels=levels, reference=reference)
