"""Statistics of tables: an analysis under a schema, rows with missing values dropped or refused.

What follows from schema and question alone is the same at every party: the numbers made of a row, and their names. Each
party then reads its own table, and everything in it that could stop a run stops it before the first agreement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..data.number_columns import NumberColumns, NumberTable
from ..data.rows import Rows
from ..data.schema import Schema
from ..data.selection import ModelColumns, Selection
from ..data.sources import Source
from ..data.table import Missing, Table, check_missing
from ..errors import InvalidInput, Undetermined
from ..pdmm.modular_mask import Integers
from .agreements import Agreements, check_units
from .analysis import Analysis
from .empty_levels import (
    EmptyLevels,
    LevelColumns,
    WithFewerLevels,
    check_empty_levels,
    fewer_levels,
    levels_without_rows,
    new_places,
)
from .fewer_digits import MOST_LOOKS, Digits, check_digits, endless
from .option_types import check_types
from .statistic import Statistic

MOST_COLUMNS = 1_000  # of which products are summed
AnyTable = Table | NumberTable


@dataclass(frozen=True, eq=False)
class Asked:
    """A statistic of tables as the parties agree on it: what is computed (``spec``), what its columns are made of
    (``selection``), what becomes of missing values and of levels without rows, and how finely sums are told.
    ``formula``: of a model, as it was given. ``options``: of the analysis, as they were given."""

    spec: Analysis
    schema: Schema
    selection: Selection
    missing: Missing = "raise"
    empty_levels: EmptyLevels = "keep"
    digits: Digits = "full"
    formula: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def table(self, source: Source) -> AnyTable:
        """What is asked of one party's source."""
        if isinstance(source, NumberColumns):
            return NumberTable(source, self.selection)
        return Table(source, self.schema, self.selection, self.missing)

    @cached_property
    def levels(self) -> LevelColumns | None:
        """The categories whose levels are counted first; None where levels without rows are kept, or there are none."""
        taken = LevelColumns.of(self.schema, self.selection.needs)
        return taken if self.empty_levels == "drop" and taken.columns else None

    def level_counts(self, table: AnyTable) -> Integers:
        """A party's rows by level, of all categories in use one after the other; empty where none are counted."""
        if (taken := self.levels) is None or isinstance(table, NumberTable):
            return np.empty(0, np.int64)
        rows = Table(table.source, self.schema, taken, self.missing).rows
        return rows.totals(lambda block: taken.indicators(self.schema, block)).astype(np.int64)

    @property
    def first_counts(self) -> list[int]:
        """Of the agreements on counts before the first one of the analysis, how many each has."""
        dropped = [1 + len(self.selection.needs)] if self.missing == "drop" else []
        levels = [] if self.levels is None else [sum(self.levels.sizes(self.schema))]
        return dropped + levels + self._looks

    @property
    def _looks(self) -> list[int]:
        """At where columns lie, at most."""
        if self.digits == "full":
            return []
        return [self.spec.numbers, *[2 * len(self.spec.columns)] * MOST_LOOKS]

    @property
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses."""
        first = ["the rows left out for missing values, and by column those in which it is missing"]
        first = first if self.missing == "drop" else []
        if self.levels is not None:
            first.append(f"the rows of each level of {', '.join(self.levels.columns)}")
        return [*self.spec.revealed, *first]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, in the keys of a file that has the schema too, with every default written out."""
        rules = {"missing": self.missing, "empty_levels": self.empty_levels, "digits": self.digits}
        return {**self.spec.to_dict(), **rules}

    def to_json(self) -> str:
        """What tells it from others, in one line."""
        return json.dumps([self.to_dict(), self.selection.needs])


def ask_analysis(
    analysis: type[Analysis],
    schema: Schema,
    *,
    missing: Missing = "raise",
    empty_levels: EmptyLevels = "keep",
    digits: Digits | None = "full",
    **options: Any,
) -> Asked:
    """An analysis, checked against the schema; ``options`` are its fields, and those that are None stay as they are.
    ``digits``: None for ``"statistical"`` where the analysis and the ranges of the schema allow it."""
    check_missing(missing)
    check_empty_levels(empty_levels)
    given = {key: value for key, value in options.items() if value is not None}
    check_types(analysis, given)
    spec = analysis(schema=schema, **given)
    if isinstance(spec.selection, ModelColumns) and len(spec.columns) > MOST_COLUMNS:
        raise InvalidInput(
            f"{len(spec.columns):,} columns are too many for sums of their products; at most {MOST_COLUMNS}."
        )
    if not spec.counts_only:
        needs = spec.selection.needs
        check_units([*needs, *spec.columns], [*(schema[name].grid for name in needs), *spec.units])
    formula = getattr(spec, "formula", None) or ""
    return Asked(spec, schema, spec.selection, missing, empty_levels, _digits(spec, digits), formula, given)


def _digits(spec: Analysis, asked: Digits | None) -> Digits:
    """Those that are asked for; counts alone have all of theirs."""
    if asked is None:
        asked = "statistical" if spec.takes_fewer_digits and not endless(spec.columns, spec.ends) else "full"
    check_digits(asked)
    if asked == "full" or spec.counts_only:
        return "full"
    if not spec.takes_fewer_digits:
        raise InvalidInput(
            f'digits = "statistical" is for sums over rows; those of {spec.type} are about parties, or sets of '
            'rows that may be small. Take digits = "full".'
        )
    if names := endless(spec.columns, spec.ends):
        raise InvalidInput(
            f'digits = "statistical" needs a range in the schema of what {", ".join(map(repr, names))} is made of: '
            'it says where to look for its mean. Add it: it is public. Or take digits = "full".'
        )
    return asked


def run_on_tables(asked: Asked, agreements: Agreements, tables: Sequence[AnyTable]) -> Statistic:
    """The part of the local parties in a statistic, from the table of each to the answer that they hold.

    Tables are read and checked first: what is refused is refused before the first agreement.
    """
    rows = [checked_table(asked, table, agreements.parties) for table in tables]
    counts = [asked.level_counts(table) for table in tables]
    if asked.missing == "drop":
        agreements.dropped = agreed_dropped(agreements, tables)
    if asked.levels is not None:
        agreements.empty_levels = levels_without_rows(agreements, asked.schema, asked.levels, counts)
        if agreements.empty_levels:
            asked, rows = _without_levels(asked, tables, agreements.empty_levels)
    agreements.ends = None if asked.digits == "full" else asked.spec.ends
    agreements.columns = asked.spec.columns
    return asked.spec.program(agreements, rows)


def _without_levels(
    asked: Asked, tables: Sequence[AnyTable], empty: Mapping[str, tuple[str, ...]]
) -> tuple[Asked, list[Rows]]:
    """The same question under a schema without levels that have no rows, and the rows as it takes them."""
    schema = fewer_levels(asked.schema, empty)
    try:
        fewer = ask_analysis(type(asked.spec), schema, missing=asked.missing, digits=asked.digits, **asked.options)
    except InvalidInput as error:  # the same at all parties: it follows from counts of all of them
        without = "; ".join(f"{name}: {', '.join(levels)}" for name, levels in empty.items())
        raise Undetermined(f"without the levels that no rows have ({without}): {error}") from None
    taken = WithFewerLevels(fewer.selection, new_places(asked.schema, empty))
    return fewer, [Table(table.source, asked.schema, taken, asked.missing).rows for table in tables]


def checked_table(asked: Asked, table: AnyTable, parties: int) -> Rows:
    """A party's rows, refused now where they could only be refused later, when others would see that it stops."""
    rows = table.rows
    asked.spec.check(rows, parties)
    return rows


def agreed_dropped(agreements: Agreements, tables: Sequence[AnyTable]) -> dict[str, int]:
    """How many rows the parties drop, and in how many each column is missing: exact, in one agreement."""
    own = [table.dropped or {"rows": 0, **dict.fromkeys(table.selection.needs, 0)} for table in tables]
    counts = [list(counts.values()) for counts in own]
    totals = agreements.sum(counts, of="rows with missing values, by column", counts=True)
    return dict(zip(own[0], totals.tolist(), strict=True))
