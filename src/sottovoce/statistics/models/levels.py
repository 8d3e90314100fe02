"""Models of a response that is one of several levels: how many rows have each, and what such models have in common."""

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
from ..agreements import Agreements
from ..analysis import Analysis, check_rows
from ..fewer_digits import agreed_rounding
from ..fit import Fit
from ..likelihood.columns import Columns, columns_of, counted_products, products_of, sandwiched
from ..likelihood.maximise import MOST, Maximum, covariance
from ..new_rows import schema_text
from ..statistic import Value
from . import special


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
        """The levels of the response, as the answer has them."""

    @abstractmethod
    def terms_of(self, columns: Columns) -> tuple[str, ...]:
        """Names of the parameters of these columns."""

    @property
    def parameters(self) -> int:
        slopes, intercept = len(self.selection.slopes), self.selection.intercept
        return len(self.terms_of(Columns(("",) * slopes, (), intercept, np.empty(0), np.empty(0))))

    @property
    def response(self) -> str:
        """The name of the column that is explained."""
        return self.selection.design.response[0]

    @property
    def place(self) -> int:
        """The place of the response in a row."""
        return len(self.selection.slopes)

    @cached_property
    def in_order(self) -> tuple[str, ...]:
        """The levels as the schema has them: a cell is a place among them."""
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
    ) -> tuple[Integers, Columns]:
        """How many rows of all parties have each level, refused where a level has none; and the columns, standardised.
        ``alias``: whether columns that depend on others are left out."""
        units, slopes = agreements.units(rows, self.units), self.selection.slopes
        places = range(len(slopes))
        rounding = agreed_rounding(agreements, rows, places, units)
        counts, gram = counted_products(
            agreements, rows, self.cells, places, units, rounding, counts=len(self.in_order),
            of=f"rows at each level of {self.response}, and products of columns",
        )  # fmt: skip
        N = int(counts.sum())
        check_rows(N)
        if empty := [repr(level) for level, count in zip(self.in_order, counts, strict=True) if not count]:
            raise Undetermined(
                f"no row of any party has {self.response!r} at the level {', '.join(empty)}: nothing tells how likely "
                "it is. Merge it with another level, or take it out of the schema."
            )
        columns = columns_of(
            gram, slopes, units, intercept=self.selection.intercept, alias=alias, rounding=rounding
        )  # fmt: skip
        if alias:
            check_enough(N, len(self.terms_of(columns)))
        return counts, columns

    def fields_of(self, counts: Integers, ended: Maximum, columns: Columns, back: Array) -> dict[str, Any]:
        """The fields of ``LevelFit``, where ``back`` makes parameters of the columns as they are. ``counts`` are in the
        order of ``levels``."""
        return {
            "terms": self.terms_of(columns), "params": product(back, ended.theta),
            "covariance": sandwiched(back, covariance(ended.information)), "nobs": int(counts.sum()),
            "response": self.response, "formula": self.formula,
            "schema": schema_text(self.schema, self.selection.needs), "levels": self.levels,
            "aliased": columns.aliased, "counts": counts, "llf": ended.objective, "llnull": entropy(counts),
        }  # fmt: skip

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
        return len(self.in_order) + products_of(len(self.selection.slopes)) + MOST * products_of(self.parameters)

    def cells(self, rows: Rows) -> Integers:
        place, levels = self.place, np.arange(len(self.in_order))
        return rows.totals(lambda block: (block[:, [place]] == levels).astype(np.int64)).astype(np.int64)


def model_columns(schema: Schema, formula: str, what: str) -> ModelColumns:
    """The columns that a model with one response and no offset takes of a row."""
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
    """Refuse an agreed number of rows that does not determine so many parameters."""
    if observations < parameters:
        raise Undetermined(f"{observations} observations do not determine {parameters} parameters. Drop columns.")


def factor_bits(rows: int) -> int:
    """On which grid the factors of a product are: as fine as int64 holds, as no standardised column of so many rows is
    beyond the root of their number, and probabilities are not beyond 1."""
    return 60 - max(11, -(-rows.bit_length() // 2))


@dataclass(frozen=True, eq=False, repr=False)
class LevelFit(Fit):
    """A fitted model of a category, besides the fields of ``Fit``.

    Attributes
    ----------
    response : str
        The column that is explained.
    formula, schema : str
        What was asked, and the columns that it reads as JSON: so much a prediction needs.
    levels : tuple of str
        Of the response.
    counts : ndarray
        Rows of all parties at each level.
    llf, llnull : float
        The log-likelihood, and that of shares that depend on no column.
    """

    response: Value[str] = Value()
    formula: Value[str] = Value()
    schema: Value[str] = Value()
    levels: Value[tuple[str, ...]] = Value()
    counts: Value[Integers] = Value()
    llf: Value[float] = Value()
    llnull: Value[float] = Value()

    @property
    def df_model(self) -> int:
        """Parameters besides those of shares that depend on no column."""
        return len(self.params) - (len(self.levels) - 1)

    @property
    def df_resid(self) -> int:
        """Rows less parameters."""
        return self.nobs - len(self.params)

    @property
    def aic(self) -> float:
        """Akaike's criterion, ``2 k - 2 llf``."""
        return 2 * len(self.params) - 2 * self.llf

    @property
    def bic(self) -> float:
        """Schwarz's criterion, ``k log(nobs) - 2 llf``."""
        return float(len(self.params) * np.log(self.nobs) - 2 * self.llf)

    @property
    def prsquared(self) -> float:
        """McFadden's, ``1 - llf / llnull``."""
        return 1 - self.llf / self.llnull

    @property
    def llr(self) -> float:
        """The likelihood ratio statistic of all columns together."""
        return 2 * (self.llf - self.llnull)

    @property
    def llr_pvalue(self) -> float:
        """The p-value of that statistic, by the chi-squared distribution."""
        return float(special.chdtrc(self.df_model, max(0.0, self.llr))) if self.df_model > 0 else 1.0

    def _head(self) -> list[tuple[str, str]]:
        return [
            ("Dep. Variable", self.response), *super()._head(),
            ("Df Residuals", f"{self.df_resid:,}"), ("Df Model", f"{self.df_model}"),
            ("Log-Likelihood", f"{self.llf:.5g}"), ("LL-Null", f"{self.llnull:.5g}"),
            ("Pseudo R-squ.", f"{self.prsquared:.4g}"), ("LLR p-value", f"{self.llr_pvalue:.4g}"),
            ("AIC", f"{self.aic:.5g}"), ("BIC", f"{self.bic:.5g}"),
        ]  # fmt: skip
