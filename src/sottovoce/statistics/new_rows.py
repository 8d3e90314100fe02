"""New rows for a fitted model: of a table by the formula and schema that the fit remembers, or the columns themselves
where the model was made from arrays."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..costs.base import Array, as_floats
from ..data.formula import Formula
from ..data.schema import Column, Schema
from ..data.selection import INTERCEPT, ModelColumns, Selection
from ..data.sources import open_source
from ..data.table import Taken
from ..errors import InvalidInput
from ..files.frames import chosen, read_columns


def schema_text(schema: Schema, needs: tuple[str, ...]) -> str:
    """The columns of a schema that a model reads, as JSON."""
    return json.dumps(schema.restricted(needs).to_dict()) if needs else ""


def design_rows(
    formula: str, schema: str, terms: tuple[str, ...], table: Any, exposure: str | None = None
) -> tuple[Array, Array]:
    """The columns ``(rows, terms)``, 1 for an intercept, and what is not estimated of the linear predictor: offsets,
    and the logarithm of the column ``exposure``. ``terms`` may lack some of the design, which were left out."""
    slopes = tuple(term for term in terms if term != INTERCEPT)
    if not formula:
        X = matrix_of(slopes, table)
        return _with_intercept(X, terms), np.zeros(len(X))
    design = Formula(formula).design(Schema.from_dict(json.loads(schema)), response=False)
    selection = ModelColumns(design, () if exposure is None else (exposure,))
    if not selection.needs:  # an intercept, in as many rows as any column has
        source = open_source(table).forgiving()
        first = source.names()[0]
        count = sum(batch.num_rows for batch in source.batches({first: Column(first, "number")}))
        return np.ones((count, 1)), np.zeros(count)
    rows = table_rows(schema, selection, table)
    fixed = np.zeros(len(rows)) if selection.offset is None else rows[:, selection.offset]
    if exposure is not None:
        fixed = fixed + log_exposure(rows[:, selection.place(exposure)])
    return _with_intercept(rows[:, [selection.slopes.index(term) for term in slopes]], terms), fixed


def linear_prediction(formula: str, schema: str, terms: tuple[str, ...], params: Array, table: Any) -> Array:
    """``X params``, and offsets."""
    X, fixed = design_rows(formula, schema, terms, table)
    return np.asarray(X @ params + fixed)


def matrix_of(names: tuple[str, ...], table: Any) -> Array:
    """Columns ``(rows, len(names))`` of an array, or of a frame that may have others."""
    columns = read_columns(table, "the table")
    rows = as_floats(table if columns is None else chosen(columns, names, "the table"), "the table")
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise InvalidInput(
            f"the table must have {len(names)} columns, as in the fit: {', '.join(names)}; got shape {rows.shape}."
        )
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


def log_exposure(exposure: Array) -> Array:
    """For the linear predictor."""
    if not (exposure > 0).all():
        raise InvalidInput(f"exposure: it must be positive, and {(~(exposure > 0)).sum()} of the new rows have others.")
    return np.log(exposure)


def _with_intercept(X: Array, terms: tuple[str, ...]) -> Array:
    return np.column_stack([np.ones(len(X)), X]) if INTERCEPT in terms else X
