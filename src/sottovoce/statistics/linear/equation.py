"""What is fitted, without a schema: where in a row explaining columns, target, offset and weight are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import InvalidInput
from ...pdmm.masks import GaussianMask

INTERCEPT = "Intercept"


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of rows of which moments are agreed on, the same at all parties: the first ones of a row, in units that
    bring them to size 1; ``offset``, the place of a column that is subtracted from the last of them; ``weight``, that
    of the rows' weights, in units of ``weight_unit``."""

    names: tuple[str, ...]
    unit: Array
    mask: GaussianMask
    offset: int | None = None
    weight: int | None = None
    weight_unit: float = 1.0

    def values(self, block: Array) -> Array:
        """Of some rows, ``(rows, columns)``, in the units of the data."""
        t = block[:, : len(self.names)]
        if self.offset is not None:
            t = t.copy()
            t[:, -1] -= block[:, self.offset]
        return t

    def weights(self, block: Array) -> Array:
        """Of some rows, ``(rows, 1)``; 1 without weights."""
        if self.weight is None:
            return np.ones((len(block), 1))
        return block[:, self.weight : self.weight + 1] / self.weight_unit


@dataclass(frozen=True, eq=False)
class Equation(Columns):
    """All columns but the last explain the last one, with an intercept or without."""

    intercept: bool = True

    @property
    def slopes(self) -> tuple[str, ...]:
        """The columns that explain."""
        return self.names[:-1]

    @property
    def target(self) -> str:
        """What they explain."""
        return self.names[-1]

    @property
    def terms(self) -> tuple[str, ...]:
        """What is estimated."""
        return (INTERCEPT, *self.slopes) if self.intercept else self.slopes


def check_weights(rows: Rows, place: int, name: str) -> None:
    """Refuse weights of one party's rows that are not positive."""
    if rows.sums(lambda block: np.asarray(block[:, place : place + 1] <= 0, np.float64))[0] > 0:
        raise InvalidInput(f"weights: column {name!r} has values that are not positive. Leave out rows of weight 0.")
