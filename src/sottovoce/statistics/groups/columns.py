"""Options that name columns, checked against a schema, and public numbers that say how large their values are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from ...data.decimal_unit import exactly
from ...data.schema import EPOCH, Column, Schema
from ...errors import InvalidInput
from ...files.toml_table import nearest, shown
from ...sums.integer_sums import WINDOW

NUMBERS = ("number", "integer", "date")


def column_of(schema: Schema, name: Any, field: str) -> Column:
    """The column that an option names."""
    if not isinstance(name, str) or name not in schema:
        near = nearest(name, schema) if isinstance(name, str) else "."
        raise InvalidInput(f"{field} must be a column of the schema; got {shown(name)}{near}")
    return schema[name]


def number_column(schema: Schema, name: Any, field: str) -> Column:
    """One that has a mean."""
    column = column_of(schema, name, field)
    if column.type not in NUMBERS:
        raise InvalidInput(
            f"{field} must be a number, an integer or a date; {column.name!r} is a {column.type}. Its levels are "
            "counted by crosstab."
        )
    return column


def ranged_column(schema: Schema, name: Any, field: str) -> Column:
    """One that has a mean, and a public range."""
    column = number_column(schema, name, field)
    if column.limits is None:
        raise InvalidInput(f"{field} must have a range in the schema; {column.name!r} has none. Add it: it is public.")
    return column


def level_column(schema: Schema, name: Any, field: str) -> Column:
    """One that has levels."""
    column = column_of(schema, name, field)
    if column.type not in ("category", "boolean"):
        raise InvalidInput(f"{field} must be a category or a boolean; {column.name!r} is of type {column.type}.")
    return column


def yes_or_no(schema: Schema, name: Any, field: str) -> Column:
    """One that has two levels."""
    column = level_column(schema, name, field)
    if (count := len(levels_of(column))) != 2:
        raise InvalidInput(f"{field} must be a boolean, or a category of two levels; {column.name!r} has {count}.")
    return column


def levels_of(column: Column) -> tuple[str, ...]:
    """In the order of the schema."""
    return ("false", "true") if column.type == "boolean" else column.levels


def yes_of(column: Column) -> int:
    """Which of two levels is the one that is asked about: true, or what is not the reference."""
    return 1 if column.type == "boolean" or column.reference == column.levels[0] else 0


def chosen_levels(column: Column, given: Any, field: str, least: int) -> tuple[str, ...]:
    """Levels that an option names, or all of them."""
    known = levels_of(column)
    levels = known if given is None else tuple(given) if isinstance(given, Sequence) else (given,)
    for level in levels:
        if level not in known:
            raise InvalidInput(f"{field} must be levels of {column.name!r}, {', '.join(known)}; got {shown(level)}.")
    if len(set(levels)) < max(len(levels), least):
        raise InvalidInput(f"{field} must be {least} or more different levels of {column.name!r}; got {len(levels)}.")
    return levels


def by_words(by: str | None) -> str:
    """``", by arm"``, or nothing where rows are not grouped."""
    return f", by {by}" if by else ""


def bounds_of(column: Column, unit: Fraction) -> tuple[Fraction, Fraction]:
    """Between which values lie once they are rounded to a unit, as far as a range or integers reach."""
    if column.limits is None:
        return -WINDOW * unit, WINDOW * unit
    low, high = map(exactly, column.limits)
    return low - unit, high + unit


def written(value: float, kind: str, resolution: float | None = None) -> str:
    """For people; of a date the day that it falls on. With a ``resolution`` no digits beyond it.

    >>> written(10.8478, "number"), written(10.8478, "number", 0.5), written(10.8478, "number", 0.0076)
    ('10.85', '11', '10.85')
    """
    if value != value:
        return ""
    if kind == "date":
        return day(value).isoformat()
    if resolution is None or not resolution > 0:
        return f"{value:.4g}"
    return f"{value:.{max(0, math.floor(-math.log10(resolution)))}f}"


def day(value: float) -> date:
    """That many days after 1970-01-01, rounded down."""
    return EPOCH + timedelta(days=int(value // 1))
