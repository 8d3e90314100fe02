"""The linear models of a study."""

from __future__ import annotations

from typing import cast

from ..asking import Asking
from .linear_fit import LinearFit
from .linear_model import LinearModel


class Linear(Asking):
    """Linear models."""

    def linear(self, formula: str, weights: str | None = None, robust: str | None = None) -> LinearFit:
        return cast(LinearFit, self._ask(LinearModel, formula=formula, weights=weights, robust=robust))
