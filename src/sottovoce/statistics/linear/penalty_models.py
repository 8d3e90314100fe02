"""``type = "ridge"`` and ``type = "lasso"``: penalised regressions of tables."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ...data.rows import Rows
from ...data.selection import ModelColumns
from ...errors import InvalidInput
from ..agreements import Agreements
from ..analysis import Analysis
from ..new_rows import schema_text
from ..statistic import Statistic
from .gram import numbers_of_gram
from .linear_model import equation_of, model_columns
from .penalised import Penalty, penalised_program, read_penalties
from .penalty_path import LassoPath, PenaltyPath, RidgePath


@dataclass(frozen=True, eq=False, kw_only=True)
class RidgeModel(Analysis):
    """``formula``; ``penalties``; ``folds`` of the cross-validation and their public ``fold_seed``; ``standardize``."""

    formula: str
    penalties: tuple[float, ...] | None = None
    folds: int = 5
    standardize: bool = True
    fold_seed: int = 0

    type: ClassVar[str] = "ridge"
    gives: ClassVar[builtins.type[Statistic]] = RidgePath

    def __post_init__(self) -> None:
        if self.penalties is not None:
            object.__setattr__(self, "penalties", read_penalties(self.penalties))
        _ = self.penalty
        if not self.selection.slopes:
            raise InvalidInput("formula has no column that a penalty could be on. Name one after ~.")

    @cached_property
    def selection(self) -> ModelColumns:
        return model_columns(self.formula, self.schema)

    @property
    def penalty(self) -> Penalty:
        """What is asked, without a schema."""
        return Penalty(self.penalties, self.folds, self.fold_seed, self.standardize, None)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> PenaltyPath:
        told = {"formula": self.formula, "schema": schema_text(self.schema, self.selection.design.needs)}
        return penalised_program(agreements, rows, equation_of(self.selection, self), self.penalty, told)

    @property
    def parameters(self) -> int:
        return len(self.selection.design.columns)

    @property
    def revealed(self) -> list[str]:
        names, by = ", ".join(self.selection.multiplied), ", by fold" if self.penalty.cut > 1 else ""
        return [f"the number of rows{by}", f"values and products, pair by pair, of {names}{by}"]

    @property
    def stages(self) -> int:
        return 1

    @property
    def numbers(self) -> int:
        k = len(self.selection.slopes) + 1 + self.selection.design.has_offset
        return numbers_of_gram(k, folds=self.penalty.cut)

    @property
    def counts(self) -> int:
        return 0


@dataclass(frozen=True, eq=False, kw_only=True)
class LassoModel(RidgeModel):
    """The options of ``RidgeModel``, and ``l1_ratio``."""

    l1_ratio: float = 1.0

    type: ClassVar[str] = "lasso"
    gives: ClassVar[builtins.type[Statistic]] = LassoPath

    @property
    def penalty(self) -> Penalty:
        return Penalty(self.penalties, self.folds, self.fold_seed, self.standardize, self.l1_ratio)
