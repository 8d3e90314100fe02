"""The result of a multinomial logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ..new_rows import design_rows
from ..statistic import Value
from .level_fit import LevelFit


@dataclass(frozen=True, eq=False, repr=False)
class MultinomialFit(LevelFit):
    """What ``Study.multinomial`` returns, besides those of ``LevelFit``: ``log(p_level / p_reference) = x'beta_level``.
    Terms are called ``"level: term"``.

    Attributes
    ----------
    levels : tuple of str
        Of the response, the reference first; ``counts`` are in this order.
    variables : tuple of str
        Names of the columns of the design, the same for every level.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> schema = {"age": {"type": "number", "range": (0, 100)}, "diet": {"type": "category", "levels": ["a", "b", "c"]}}
    >>> rng = np.random.default_rng(1)
    >>> tables = [{"age": rng.uniform(20, 90, n), "diet": rng.choice(["a", "b", "c"], n)} for n in (40, 25, 60)]
    >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).multinomial("diet ~ age")
    >>> fit.terms
    ('b: Intercept', 'b: age', 'c: Intercept', 'c: age')
    >>> fit.coefficients.shape, round(float(fit.predict({"age": [50.0]}).sum()), 6)
    ((2, 2), 1.0)
    """

    variables: Value[tuple[str, ...]] = Value()

    title: ClassVar[str] = "Multinomial logistic regression"
    ratio: ClassVar[str | None] = "relative risk ratio"

    @property
    def coefficients(self) -> Array:
        """``params`` as a table with a column for every level but the reference, ``(variables, levels - 1)``."""
        return self.params.reshape(len(self.levels) - 1, len(self.variables)).T

    def predict(self, table: Any) -> Array:
        """The probability of every level in new rows, ``(rows, levels)``, in the order of ``levels``: of a table with
        the columns that the formula reads, in any form that a party's table may have."""
        X, _ = design_rows(self.formula, self.schema, self.variables, table)
        eta = np.column_stack([np.zeros(len(X)), X @ self.coefficients])
        odds = np.exp(eta - eta.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _head(self) -> list[tuple[str, str]]:
        response, *others = super()._head()
        return [response, ("Reference level", self.levels[0]), *others]
