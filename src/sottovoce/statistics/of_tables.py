"""Statistics of tables: an analysis under a schema, rows with missing values dropped or refused, and levels without
rows kept or left out.

What follows from schema and question alone is the same at every party: the numbers made of a row, and their names. Each
party then reads its own table, and everything in it that could stop a run stops it before the first agreement.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from ..data.batch import Array
from ..data.column import Column
from ..data.formula.measure import Largest, Measure, of_column
from ..data.number_columns import NumberColumns, NumberTable
from ..data.rows import Int64, Rows
from ..data.schema import Schema
from ..data.selection import NONE, ModelColumns, Numbers, Selection
from ..data.sources import Source
from ..data.table import Missing, Table, check_missing
from ..errors import InvalidInput, Undetermined, is_number
from ..files.toml_table import shown
from ..pdmm.modular_mask import Integers
from .agreements import Agreements, check_units
from .analysis import Analysis
from .fewer_digits import MOST_LOOKS, Digits, endless
from .statistic import Statistic

EmptyLevels = Literal["keep", "drop"]
AnyTable = Table | NumberTable
MOST_COLUMNS = 1_000  # of which products are summed
# What a field is annotated with: its name for people, alone and in a list, and whether a value is one.
KINDS: dict[str, tuple[str, str, Callable[[Any], bool]]] = {
    "str": ("a string", "strings", lambda value: isinstance(value, str)),
    "bool": ("true or false", "true and false", lambda value: isinstance(value, bool | np.bool_)),
    "int": ("an integer", "integers", lambda value: is_number(value) and isinstance(value, int | np.integer)),
    "date": ("a date", "dates", lambda value: type(value) is date),
    "float": ("a number", "numbers", is_number),
}


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
        needs = self.selection.needs
        categories = tuple(name for name in needs if self.schema[name].type == "category")
        return LevelColumns(needs, categories) if self.empty_levels == "drop" and categories else None

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
        looks = [self.spec.numbers, *[2 * len(self.spec.columns)] * MOST_LOOKS]  # at where columns lie, at most
        return dropped + levels + ([] if self.digits == "full" else looks)

    @property
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses."""
        shown = list(self.spec.revealed)
        if self.missing == "drop":
            shown.append("the rows left out for missing values, and by column those in which it is missing")
        if self.levels is not None:
            shown.append(f"the rows of each level of {', '.join(self.levels.columns)}")
        return shown

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
    check_rules(missing, empty_levels, "full" if digits is None else digits)
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


def check_rules(missing: Any, empty_levels: Any, digits: Any) -> None:
    """Refuse other ways to take rows, levels and sums than there are."""
    check_missing(missing)
    if empty_levels not in get_args(EmptyLevels):
        raise InvalidInput(f'empty_levels must be "keep" or "drop"; got {empty_levels!r}.')
    if digits not in get_args(Digits):
        raise InvalidInput(f'digits must be "full" or "statistical"; got {digits!r}.')


def _digits(spec: Analysis, asked: Digits | None) -> Digits:
    """Those that are asked for; counts alone have all of theirs."""
    if asked is None:
        asked = "statistical" if spec.takes_fewer_digits and not endless(spec.columns, spec.ends) else "full"
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
    """The part of the local parties in a statistic, from the table of each to the answer that they hold: tables are
    read and checked before the first agreement."""
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
    # Rows are read under the schema as it is: one that is left out may well have a level that is left out, too.
    taken = WithFewerLevels(fewer.selection, new_places(asked.schema, empty))
    return fewer, [Table(table.source, asked.schema, taken, asked.missing).rows for table in tables]


def checked_table(asked: Asked, table: AnyTable, parties: int) -> Rows:
    """A party's rows, refused now where they could only be refused later, when others would see that it stops."""
    asked.spec.check(table.rows, parties)
    return table.rows


def agreed_dropped(agreements: Agreements, tables: Sequence[AnyTable]) -> dict[str, int]:
    """How many rows the parties drop, and in how many each column is missing: exact, in one agreement."""
    own = [table.dropped or {"rows": 0, **dict.fromkeys(table.selection.needs, 0)} for table in tables]
    counts = [list(counts.values()) for counts in own]
    totals = agreements.sum(counts, of="rows with missing values, by column", counts=True)
    return dict(zip(own[0], totals.tolist(), strict=True))


@dataclass(frozen=True)
class LevelColumns(Selection):
    """A selection of the categories among the columns that another selection needs, of the same rows."""

    needs: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

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


def levels_without_rows(
    agreements: Agreements, schema: Schema, taken: LevelColumns, counts: Sequence[Int64]
) -> dict[str, tuple[str, ...]]:
    """By category the levels that no row of any party has, from each local party's rows by level: one agreement. A
    category keeps its levels if it has no rows at all."""
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

    def without(column: Column) -> Column:
        levels = tuple(level for level in column.levels if level not in empty.get(column.name, ()))
        if levels == column.levels:
            return column
        return replace(column, levels=levels, reference=column.reference if column.reference in levels else levels[0])

    return Schema([without(column) for column in schema.values()])


def new_places(schema: Schema, empty: Mapping[str, tuple[str, ...]]) -> dict[str, Array]:
    """For each category that loses levels, where those that it had are now."""
    found = {}
    for name, left_out in empty.items():
        stays = np.array([level not in left_out for level in schema[name].levels])
        found[name] = np.where(stays, np.cumsum(stays) - 1.0, np.nan)
    return found


def check_types(analysis: type[Analysis], options: Mapping[str, Any]) -> None:
    """Refuse an option that is of another type than its field, with a sentence that begins with its name."""
    for name, kinds in ((each.name, str(each.type)) for each in fields(analysis) if each.name in options):
        allowed = [_allowed(kind) for kind in kinds.split(" | ") if kind != "None"]
        if not any(fits(options[name]) for _, fits in allowed):
            words = " or ".join(words for words, _ in allowed)
            raise InvalidInput(f"{name} must be {words}; got {shown(options[name])}.")


def _allowed(kind: str) -> tuple[str, Callable[[Any], bool]]:
    """What a field of some type holds, for people, and whether a value is that."""
    one, many, fits = KINDS[kind.removeprefix("tuple[").removesuffix(", ...]")]
    if kind in KINDS:
        return one, fits

    def each_fits(value: Any) -> bool:
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes):
            return all(map(fits, value))
        return fits(value)  # as a list of one

    return f"a list of {many}", each_fits
