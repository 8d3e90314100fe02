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
from ...numerics.fixed_order import product
from ...pdmm.modular_mask import Integers
from ...sums import Whole
from ..agreements import Agreements, unless_beyond
from ..analysis import Analysis, check_rows
from ..fewer_digits import agreed_rounding
from ..likelihood.columns import Columns, columns_of, own_products, products_of, square
from ..likelihood.maximise import MOST, Maximum, covariance
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

    @abstractmethod
    def terms_of(self, columns: Columns) -> tuple[str, ...]:
        """Names of the parameters of these columns."""

    @property
    def most_terms(self) -> int:
        """How many parameters there are, if no column is left out."""
        slopes, intercept = len(self.selection.slopes), self.selection.intercept
        return len(self.terms_of(Columns(("",) * slopes, (), intercept, np.empty(0), np.empty(0))))

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
        levels = column.levels or ("false", "true")
        if len(levels) < 2:
            raise InvalidInput(
                f"formula: {self.what} needs two levels or more; {self.response!r} has one in the schema."
            )
        return levels

    def first_totals(
        self, agreements: Agreements, rows: Sequence[Rows], *, alias: bool = True
    ) -> tuple[Whole, Columns]:
        """How many rows of all parties have each level, refused where a level has none; and the columns, standardised.
        ``alias``: whether columns that depend on others are left out."""
        units, slopes = agreements.units(rows, self.units), self.selection.slopes
        rounding = agreed_rounding(agreements, rows, range(len(slopes)), units)

        def own(part: Rows) -> Whole:
            products = own_products(part, range(len(slopes)), units, rounding=rounding)
            return np.concatenate([self.cells(part).astype(object), products])

        shares = [unless_beyond(lambda part=part: own(part)) for part in rows]  # type: ignore[misc]
        levels = len(self.in_order)
        of = f"rows at each level of {self.response}, and products of columns"
        total = agreements.sum(shares, of=of, counts=levels, size=levels + products_of(len(slopes)))
        counts, products = total[:levels], total[levels:]
        check_rows(int(sum(counts)))
        if empty := [repr(level) for level, count in zip(self.in_order, counts, strict=True) if not count]:
            raise Undetermined(
                f"no row of any party has {self.response!r} at the level {', '.join(empty)}: nothing tells how likely "
                "it is. Merge it with another level, or take it out of the schema."
            )
        gram = square(products, 1 + len(slopes))
        columns = columns_of(
            gram, slopes, units, intercept=self.selection.intercept, alias=alias, rounding=rounding
        )  # fmt: skip
        if alias:
            check_enough(int(sum(counts)), len(self.terms_of(columns)))
        return counts, columns

    def fields_of(self, counts: Integers, ended: Maximum, columns: Columns, back: Array) -> dict[str, Any]:
        """The fields of ``LevelFit``, where ``back`` makes parameters of the columns as they are. ``counts`` are in the
        order of ``levels``."""
        return {
            "terms": self.terms_of(columns),
            "params": product(back, ended.theta),
            "covariance": sandwiched(back, covariance(ended.information)),
            "nobs": int(counts.sum()),
            "response": self.response,
            "formula": self.formula,
            "schema": schema_text(self.schema, self.selection.needs),
            "levels": self.levels,
            "aliased": columns.aliased,
            "counts": counts,
            "llf": ended.objective,
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
        return 1 + MOST

    @property
    def numbers(self) -> int:
        k = self.most_terms
        return len(self.in_order) + products_of(len(self.selection.slopes)) + MOST * (1 + k + k * (k + 1) // 2)

    @property
    def counts(self) -> int:
        return 0

    @property
    def parameters(self) -> int:
        return self.most_terms

    def cells(self, rows: Rows) -> Integers:
        place, levels = self.place, np.arange(len(self.in_order))
        return rows.totals(lambda block: (block[:, [place]] == levels).astype(np.int64)).astype(np.int64)


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


def entropy(counts: Integers | Array) -> float:
    """The log-likelihood of the model whose probabilities are the shares: the best of those without columns."""
    return float((counts * np.log(counts / counts.sum())).sum())


def check_enough(observations: int, parameters: int) -> None:
    """An agreed number of rows against what is to be estimated from them."""
    if observations < parameters:
        raise Undetermined(f"{observations} observations do not determine {parameters} parameters. Drop columns.")


def sandwiched(back: Array, of_theta: Array) -> Array:
    """``back V back'``, symmetric to the bit."""
    half = product(product(back, of_theta), back.T)
    return np.asarray((half + half.T) / 2)


def check_weights(rows: Rows, place: int, name: str) -> None:
    """Refuse weights of one party's rows that are not positive."""
    if rows.totals(lambda block: (block[:, [place]] <= 0).astype(np.int64))[0]:
        raise InvalidInput(f"weights: column {name!r} has values that are not positive. Leave out rows of weight 0.")


def factor_bits(rows: int) -> int:
    """On which grid the factors of a product are: as fine as int64 holds, as no standardised column of so many rows is
    beyond the root of their number, and probabilities are not beyond 1."""
    return 60 - max(11, -(-rows.bit_length() // 2))


def as_floats(totals: Whole, bits: int) -> Array:
    """Totals of terms on a grid of ``2^-bits``, each rounded once."""
    return np.array([int(total) / (1 << bits) for total in totals.ravel()]).reshape(totals.shape)
