"""``type = "linear"``: ordinary and weighted least squares of tables."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ...data.formula import Formula
from ...data.rows import Rows
from ...data.schema import Schema
from ...data.selection import ModelColumns
from ...errors import InvalidInput
from ..agreements import Agreements
from ..analysis import Analysis
from ..new_rows import schema_text
from ..statistic import Statistic
from .equation import Equation, check_weights
from .gram import check_size, numbers_of_gram
from .linear_fit import LinearFit
from .linear_program import linear_program
from .robust import ROBUST, numbers_of_robust


def model_columns(formula: str, schema: Schema, weights: str | None = None) -> ModelColumns:
    """What a linear model takes of a row, or a sentence."""
    design = Formula(formula).design(schema)
    if len(design.response) != 1:
        raise InvalidInput(
            f"formula must have one column before ~, which is to be explained; it has {len(design.response)}."
        )
    if weights is not None:
        if weights not in schema or schema[weights].type not in ("number", "integer"):
            raise InvalidInput(f"weights must be a column of numbers in the schema; got {weights!r}.")
        if weights in design.needs:
            raise InvalidInput(f"weights must be a column that the formula does not use; got {weights!r}.")
    check_size(len(design.columns))
    more = () if weights is None else (weights,)
    return ModelColumns(design, more, with_rests=not more)  # beside weights there is no room for longer numbers


def equation_of(selection: ModelColumns, analysis: Analysis) -> Equation:
    """Where the columns are in its rows."""
    return Equation(
        names=(*selection.slopes, selection.design.response[0]),
        declared=analysis.units,
        offset=selection.offset,
        weight=selection.place(selection.more[0]) if selection.more else None,
        rests=selection.rests,
        intercept=selection.intercept,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel(Analysis):
    """``formula``; ``weights``, the name of a column; ``robust``, which covariance."""

    formula: str
    weights: str | None = None
    robust: str | None = None

    type: ClassVar[str] = "linear"
    gives: ClassVar[builtins.type[Statistic]] = LinearFit

    def __post_init__(self) -> None:
        if self.robust is not None and self.robust not in ROBUST:
            raise InvalidInput(f"robust must be one of {', '.join(ROBUST)}, or left out; got {self.robust!r}.")
        _ = self.selection

    @cached_property
    def selection(self) -> ModelColumns:
        return model_columns(self.formula, self.schema, self.weights)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> LinearFit:
        design, equation = self.selection.design, equation_of(self.selection, self)
        of = dict(zip(design.columns, design.terms, strict=True))
        told = {
            "formula": self.formula,
            "schema": schema_text(self.schema, design.needs),
            "weights": self.weights,
        }
        return linear_program(agreements, rows, equation, self.robust, [of[term] for term in equation.terms], told)

    def check(self, rows: Rows, parties: int) -> None:
        if self.weights is not None:
            check_weights(rows, self.selection.place(self.weights), self.weights)

    @property
    def parameters(self) -> int:
        return len(self.selection.design.columns)

    @property
    def revealed(self) -> list[str]:
        names, by = ", ".join(self.selection.multiplied), f", weighted by {self.weights}," if self.weights else ""
        terms = ", ".join(self.selection.design.columns)
        robust = [f"squared residuals times products of {terms}, pair by pair"] if self.robust else []
        weights = [f"{self.weights} and its logarithm"] if self.weights else []
        return ["the number of rows", *weights, f"values{by} and products, pair by pair,{by} of {names}", *robust]

    @property
    def stages(self) -> int:
        return 1 if self.robust is None else 2

    @property
    def numbers(self) -> int:
        k = len(self.selection.slopes) + 1 + self.selection.design.has_offset
        return numbers_of_gram(k, weighted=self.weights is not None) + numbers_of_robust(self.parameters, self.robust)

    @property
    def counts(self) -> int:
        return 0
