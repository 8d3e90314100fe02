"""Generalised linear models of tables."""

from __future__ import annotations

import builtins
import math
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
from .families import FAMILIES, Family
from .glm_fit import GLMFit
from .glm_model import GLMModel
from .glm_program import agreements_of, glm_program, numbers_sent
from .links import LINKS, Link

DISPERSIONS = ("fixed", "pearson")
ROBUST = ("HC0", "HC1")


@dataclass(frozen=True, eq=False, kw_only=True)
class GLM(Analysis):
    """``formula`` with a response of ``family``; see ``Study.glm``."""

    formula: str
    family: str = "binomial"
    link: str | None = None
    weights: str | None = None
    exposure: str | None = None
    shape: float | None = None
    dispersion: str | None = None
    robust: str | None = None
    ridge: float = 0.0

    type: ClassVar[str] = "glm"
    gives: ClassVar[builtins.type[Statistic]] = GLMFit

    def __post_init__(self) -> None:
        _check_ridge(self.ridge, self._family_link_dispersion[0], self.robust)
        object.__setattr__(self, "ridge", float(self.ridge))
        for key in ("weights", "exposure"):
            _check_number(key, getattr(self, key), self.schema)
        self._check_response()
        if self.model.offset is not None and (self.model.link.power or 0) < 0:
            raise InvalidInput(f"offset has no use with the link {self.model.link.name}. Leave it out.")

    def _check_response(self) -> None:
        response = self.selection.design.response
        if len(response) != 1:
            raise InvalidInput(f"formula: it needs one column before ~, which is to be explained; got {len(response)}.")
        column, levels = self.schema.get(response[0]), FAMILIES[self.family].levels
        if column is not None and column.type == "category":
            if not levels:
                raise InvalidInput(f"formula: {column.name!r} is a category, and no response of family {self.family}.")
            if len(column.levels) != levels:
                raise InvalidInput(
                    f"formula: {column.name!r} has {len(column.levels)} levels; family {self.family} takes {levels}. "
                    "Merge some, or take a multinomial model."
                )

    @cached_property
    def selection(self) -> ModelColumns:
        design = Formula(self.formula).design(self.schema, categories=True)
        return ModelColumns(design, tuple(dict.fromkeys(name for name in (self.weights, self.exposure) if name)))

    @cached_property
    def _family_link_dispersion(self) -> tuple[Family, Link, str]:
        return read_family(self.family, self.link, self.shape, self.dispersion, self.robust, self.exposure is not None)

    @cached_property
    def model(self) -> GLMModel:
        """What is fitted."""
        taken = self.selection
        family, link, dispersion = self._family_link_dispersion
        response = taken.design.response[0]
        column = self.schema.get(response)
        return GLMModel(
            names=taken.slopes, response=response, family=family, link=link, intercept=taken.intercept,
            units=self.units, offset=taken.offset,
            exposure=None if self.exposure is None else taken.place(self.exposure),
            weights=None if self.weights is None else taken.place(self.weights),
            turned=column is not None and column.type == "category" and column.reference != column.levels[0],
            dispersion=dispersion, robust=self.robust, ridge=self.ridge, formula=self.formula,
            schema=schema_text(self.schema, taken.needs), weights_name=self.weights, exposure_name=self.exposure,
        )  # fmt: skip

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Statistic:
        return glm_program(agreements, rows, self.model)

    def check(self, rows: Rows, parties: int) -> None:
        self.model.check(rows)

    @property
    def revealed(self) -> list[str]:
        return revealed_of(self.model)

    @property
    def stages(self) -> int:
        return agreements_of(self.model)

    @property
    def numbers(self) -> int:
        return numbers_sent(self.model)

    @property
    def counts(self) -> int:
        return 0

    @property
    def parameters(self) -> int:
        return self.model.k


def read_family(
    family: str, link: str | None, shape: float | None, dispersion: str | None, robust: str | None, exposed: bool
) -> tuple[Family, Link, str]:
    """Family, link and dispersion, or a sentence that begins with the name of what is wrong."""
    if family not in FAMILIES:
        raise InvalidInput(f"family must be one of {', '.join(FAMILIES)}; got {family!r}.")
    chosen = FAMILIES[family].of_shape(shape)
    if link is not None and link not in chosen.links:
        raise InvalidInput(f"link must be one of {', '.join(chosen.links)} for family {family}; got {link!r}.")
    name = link or chosen.links[0]
    if dispersion is not None and dispersion not in DISPERSIONS:
        raise InvalidInput(f"dispersion must be one of {', '.join(DISPERSIONS)}; got {dispersion!r}.")
    if chosen.estimated and dispersion == "fixed":
        raise InvalidInput(f"dispersion of family {family} is estimated; got 'fixed'. Leave it out.")
    if robust is not None and robust not in ROBUST:
        raise InvalidInput(f"robust must be one of {', '.join(ROBUST)}, or left out; got {robust!r}.")
    if exposed and name != "log":
        raise InvalidInput(f"exposure needs the link log; got {name!r}. Use offset() or weights.")
    return chosen, LINKS[name], dispersion or ("pearson" if chosen.estimated else "fixed")


def revealed_of(model: GLMModel) -> list[str]:
    """What the sums are of that every honest component discloses."""
    k, kinds = model.k, 1 + (not model.canonical)
    found = [
        f"the numbers of {', '.join(model.counted)}",
        f"the sums of {len(model.names)} columns, of their squares and products, and of {model.response}",
        f"at every step of Newton's method deviance, score and information: {1 + k + kinds * k * (k + 1) // 2} sums",
        "the sums of squared residuals, and the log-likelihood",
    ]
    return found + (["the products of the scores of rows, for the errors"] if model.robust else [])


def _check_ridge(ridge: float, family: Family, robust: str | None) -> None:
    if not (math.isfinite(ridge) and ridge >= 0):
        raise InvalidInput(f"ridge must be a number >= 0; got {ridge!r}.")
    if ridge and family.estimated:
        raise InvalidInput(
            f"ridge: family {family.name} has a dispersion, against which a penalty has no size. Take binomial, "
            "poisson or negative_binomial; for a Gaussian response there is ridge regression."
        )
    if ridge and robust is not None:
        raise InvalidInput(f"robust: estimates with a ridge penalty have no standard errors; got {robust!r}.")


def _check_number(key: str, name: str | None, schema: Schema) -> None:
    if name is None:
        return
    if name not in schema:
        raise InvalidInput(f"{key} must be a column of the schema; got {name!r}.")
    if schema[name].type not in ("number", "integer"):
        raise InvalidInput(f"{key} must be a column of numbers; {name!r} is a {schema[name].type}.")
