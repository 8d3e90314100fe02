"""New rows for a fitted model: what its formula makes of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...costs.base import Array
from ...data.formula import Formula
from ...data.schema import Column, Schema
from ...data.selection import ModelColumns
from ...data.sources import open_source
from ...data.table import Taken
from ...errors import InvalidInput
from ..linear.new_rows import height, right_side


def without_response(formula: str) -> Formula:
    """What stands after ``~``: of new rows the response is not known."""
    return Formula(f"~ {right_side(formula)}")


def model_rows(
    table: Any, schema: Schema, formula: str, names: Sequence[str], exposure: str | None
) -> tuple[Array, Array]:
    """The columns of the design by name, and what is not estimated of the linear predictor."""
    if not formula:
        raise InvalidInput("schema: this model was fitted to arrays, and has no formula. Leave it out.")
    design = without_response(formula).design(schema)
    if not design.needs and exposure is None:
        return np.empty((height(table), 0)), np.zeros(height(table))  # an intercept, in as many rows as there are
    taken = ModelColumns(design, () if exposure is None else (exposure,))
    if taken.slopes != tuple(names):
        raise InvalidInput("schema: it is another than that of the fit, as the formula has other columns under it.")
    reading = Taken(schema.restricted(taken.needs), taken)
    survey = reading.no_rows()
    rows = np.concatenate([np.empty((0, len(taken.columns))), *reading.blocks(open_source(table), survey)])
    if survey.read > survey.used:
        raise InvalidInput(
            f"rows: values are missing in {survey.read - survey.used} of {survey.read}. Drop them first."
        )
    fixed = np.zeros(len(rows))
    if taken.offset is not None:
        fixed += rows[:, taken.offset]
    if exposure is not None:
        fixed += np.log(rows[:, taken.place(exposure)])
    return rows[:, : len(names)], fixed


def design_schema(schema: Schema, formula: Formula) -> Schema:
    """The same for a design, in which a category may be a response: the place of its level."""
    asked = set(formula.response)
    return Schema(
        [
            Column(name, "integer") if name in asked and column.type == "category" else column
            for name, column in schema.items()
        ]
    )
