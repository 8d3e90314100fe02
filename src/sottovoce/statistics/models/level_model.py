"""Models of a response that is one of several levels: which column it is, and how many rows have each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.formula import Formula
from ...data.rows import Rows
from ...data.schema import Schema
from ...data.selection import ModelColumns
from ...errors import InvalidInput, Undetermined
from ...pdmm.modular_mask import Integers, check_size
from ..agreements import Agreements
from ..analysis import Analysis, check_rows
from ..likelihood import columns as standardised
from ..likelihood.maximise import MOST, Maximum, numbers, of_objective
from ..new_rows import schema_text


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelModel(Analysis):
    """A model that a formula describes, whose response is a category or a boolean."""

    formula: str

    what: ClassVar[str]  # in sentences

    @cached_property
    def selection(self) -> ModelColumns:
        return model_columns(self.schema, self.formula, self.what)

    @property
    @abstractmethod
    def levels(self) -> tuple[str, ...]:
        """Of the response, as the answer has them."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""

    @property
    def response(self) -> str:
        """The name of the column that is explained."""
        return self.selection.design.response[0]

    @property
    def place(self) -> int:
        """Where it is in a row."""
        return len(self.selection.slopes)

    @cached_property
    def in_order(self) -> tuple[str, ...]:
        """Its levels as the schema has them: a cell is a place among them."""
        column = self.schema.get(self.response)
        if column is None or column.type not in ("category", "boolean"):
            kind = "no column of the schema" if column is None else f"of type {column.type}"
            raise InvalidInput(f"formula: {self.what} explains a category or a boolean; {self.response!r} is {kind}.")
        return column.levels or ("false", "true")

    def agreed_levels(self, agreements: Agreements, rows: Sequence[Rows]) -> Integers:
        """How many rows of all parties have each level, exactly; refused where a level has none."""
        own = np.array([self.cells(part) for part in rows])
        counts = agreements.total(own, self.counting, of=f"rows at each level of {self.response}")
        check_rows(counts)
        if empty := [repr(level) for level, count in zip(self.in_order, counts.tolist(), strict=True) if not count]:
            raise Undetermined(
                f"no row of any party has {self.response!r} at the level {', '.join(empty)}: nothing tells how likely "
                "it is. Merge it with another level, or take it out of the schema."
            )
        check_enough(int(counts.sum()), self.parameters)
        return counts

    def found(self, counts: Integers, ended: Maximum, back: Array) -> dict[str, Any]:
        """The fields of ``LevelFit``, where ``back`` makes parameters of the columns as they are. ``counts`` are in the
        order of ``levels``."""
        N = int(counts.sum())
        return {
            "terms": self.names,
            "params": back @ ended.theta[0],
            "covariance": back @ np.linalg.inv(ended.information[0]) @ back.T / N,
            "nobs": N,
            "response": self.response,
            "formula": self.formula,
            "schema": schema_text(self.schema, self.selection.needs),
            "levels": self.levels,
            "counts": counts,
            "llf": float(ended.objective[0] * N),
            "llnull": entropy(counts),
        }

    @property
    def revealed(self) -> list[str]:
        columns = ", ".join(self.selection.slopes)
        return [
            f"the rows at each of {len(self.in_order)} levels of {self.response}",
            *([f"values of {columns}, and their squares about the mean"] if columns else []),
            f"log-likelihood, score and information of {self.parameters} parameters, at every step of Newton's method",
        ]

    @property
    def stages(self) -> int:
        return 1 + standardised.AGREEMENTS + MOST

    @property
    def numbers(self) -> int:
        return 2 * len(self.selection.slopes) + MOST * numbers(self.parameters)

    @property
    def counts(self) -> int:
        return len(self.in_order) + standardised.counts(len(self.selection.slopes))

    def spread(self, prior: float) -> float:
        return super().spread(prior) + of_objective(self.parameters)

    @property
    def parameters(self) -> int:
        return len(self.names)

    def check(self, rows: Rows, parties: int) -> None:
        check_size(self.cells(rows), self.counting, parties)

    def cells(self, rows: Rows) -> Integers:
        place, levels = self.place, np.arange(len(self.in_order))
        found = rows.sums(lambda block: (block[:, [place]] == levels).astype(np.float64))
        return np.asarray(np.rint(found), dtype=np.int64)


def model_columns(schema: Schema, formula: str, what: str) -> ModelColumns:
    """What a model with one response and no offset takes of a row."""
    columns = ModelColumns(Formula(formula).design(schema, categories=True))
    if len(columns.design.response) != 1:
        raise InvalidInput(
            f"formula: {what} explains one column, which stands before ~; got {len(columns.design.response)}."
        )
    if columns.design.has_offset:
        raise InvalidInput(f"formula: {what} takes no offset. Leave it out.")
    return columns


def entropy(counts: Integers) -> float:
    """The log-likelihood of the model whose probabilities are the shares: the best of those without columns."""
    return float((counts * np.log(counts / counts.sum())).sum())


def check_enough(observations: int, parameters: int) -> None:
    """An agreed number of rows against what is to be estimated from them."""
    if observations < parameters:
        raise Undetermined(f"{observations} observations do not determine {parameters} parameters. Drop columns.")
