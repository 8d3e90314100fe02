"""The result of an ordinal regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ..new_rows import linear_prediction
from ..statistic import Value
from .level_fit import LevelFit
from .ordinal_links import LINKS


@dataclass(frozen=True, eq=False, repr=False)
class OrdinalFit(LevelFit):
    """What ``Study.ordinal`` returns, besides those of ``LevelFit``: ``P(y <= level_j) = F(cut_j - x'slopes)``. Terms
    are the columns of the design, and the cuts between levels, called ``"low/high"``.

    Attributes
    ----------
    link : str
        ``"logit"`` or ``"probit"``.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> levels = ["low", "medium", "high"]
    >>> schema = {"age": {"type": "number", "range": (0, 100)}, "pain": {"type": "category", "levels": levels}}
    >>> rng = np.random.default_rng(1)
    >>> tables = [{"age": rng.uniform(20, 90, n), "pain": rng.choice(levels, n)} for n in (40, 25, 60)]
    >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).ordinal("pain ~ age")
    >>> fit.terms, bool(np.diff(fit.cuts)[0] > 0)
    (('age', 'low/medium', 'medium/high'), True)
    """

    link: Value[str] = Value()

    title: ClassVar[str] = "Ordinal regression"

    @property
    def ratio(self) -> str | None:  # type: ignore[override]  # what exp of an estimate is depends on the link
        """Of a slope the ratio of the odds of a higher level, for the logit; of a cut the odds of a level at or below
        it, where all columns are 0."""
        return "odds ratio" if self.link == "logit" else None

    @property
    def slopes(self) -> Array:
        """The estimates of the columns."""
        return self.params[: len(self.params) - len(self.levels) + 1]

    @property
    def cuts(self) -> Array:
        """The thresholds between levels, increasing."""
        return self.params[len(self.params) - len(self.levels) + 1 :]

    @property
    def _slopes(self) -> list[int]:
        return list(range(len(self.slopes)))

    def predict(self, table: Any) -> Array:
        """The probability of every level in new rows, ``(rows, levels)``: of a table with the columns that the formula
        reads, in any form that a party's table may have."""
        eta = linear_prediction(self.formula, self.schema, self.terms[: len(self.slopes)], self.slopes, table)
        below = LINKS[self.link].distribution(self.cuts - eta[:, None])
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    def _head(self) -> list[tuple[str, str]]:
        response, *others = super()._head()
        return [response, ("Link", self.link), *others]
