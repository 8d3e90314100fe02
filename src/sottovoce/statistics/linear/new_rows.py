"""New rows for a fitted model: the columns of its design from a table, by formula and schema, or from an array."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...costs.base import Array, as_floats
from ...data.formula import Formula
from ...data.schema import Schema
from ...data.selection import ModelColumns, Selection
from ...data.sources import open_source
from ...data.table import Taken
from ...errors import InvalidInput
from ...files.frames import chosen, read_columns
from .equation import INTERCEPT


def schema_text(schema: Schema, needs: tuple[str, ...]) -> str:
    """The columns of a schema that a formula reads, as JSON."""
    return json.dumps(schema.restricted(needs).to_dict()) if needs else ""


def right_side(formula: str) -> str:
    """What stands after ``~``, which may be in the name of a response, between back-quotes."""
    quoted = False
    for place, letter in enumerate(formula):
        quoted ^= letter == "`"
        if letter == "~" and not quoted:
            return formula[place + 1 :].strip()
    return formula


def linear_prediction(formula: str, schema: str, terms: tuple[str, ...], params: Array, table: Any) -> Array:
    """``X params``, and offsets; of an array or a frame of the columns where there is no formula."""
    if not formula:
        slopes = tuple(term for term in terms if term != INTERCEPT)
        first = params[0] if len(slopes) < len(terms) else 0.0
        return np.asarray(first + matrix_of(slopes, table) @ params[len(terms) - len(slopes) :])
    design = Formula(f"~ {right_side(formula)}").design(Schema.from_dict(json.loads(schema)))
    selection = ModelColumns(design)
    if not selection.needs:  # an intercept, in as many rows as there are
        return np.full(height(table), params[0])
    rows = table_rows(schema, selection, table)
    at = [k for k, term in enumerate(terms) if term != INTERCEPT]
    found = rows[:, : len(at)] @ params[at] + (params[0] if selection.intercept else 0.0)
    return np.asarray(found if selection.offset is None else found + rows[:, selection.offset])


def height(table: Any) -> int:
    """How many rows a table has, of which no column is read."""
    return len(next(iter(table.values()), ())) if isinstance(table, Mapping) else len(table)


def matrix_of(names: tuple[str, ...], table: Any) -> Array:
    """Columns ``(rows, len(names))`` of an array, or of a frame that may have others."""
    columns = read_columns(table, "the table")
    rows = as_floats(table if columns is None else chosen(columns, names, "the table"), "the table")
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise InvalidInput(f"the table must have {len(names)} columns, as in the fit; got shape {rows.shape}.")
    return rows


def table_rows(schema: str, selection: Selection, table: Any) -> Array:
    """What is taken of the rows of a table, in their order; none may have a missing value."""
    taken = Taken(Schema.from_dict(json.loads(schema)).restricted(selection.needs), selection)
    survey = taken.no_rows()
    blocks = list(taken.blocks(open_source(table), survey))
    if survey.read > survey.used:
        gaps = ", ".join(f"{name!r} {gap.told()}" for name, gap in survey.gaps.items() if gap.count)
        raise InvalidInput(f"values are missing in new rows, by column: {gaps}. Leave those rows out.")
    return np.concatenate([np.empty((0, len(selection.columns))), *blocks])
