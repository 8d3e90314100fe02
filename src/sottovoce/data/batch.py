"""Some rows of a table, as numbers: what sources and schema make of it, and formulas read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


LOSS = 1e-9  # of itself, above which a column does not lose digits in silence


@dataclass
class UnitRounding:
    """How far the numbers of a column are from the multiples of its unit that stand for them.

    Attributes
    ----------
    count : int
        How many numbers are no multiple.
    lost, size : float
        The sum of the distances, and of the absolute values.
    """

    count: int = 0
    lost: float = 0.0
    size: float = 0.0

    def add(self, other: UnitRounding) -> None:
        """Count other numbers of the same column too."""
        self.count, self.lost, self.size = self.count + other.count, self.lost + other.lost, self.size + other.size

    @property
    def is_heavy(self) -> bool:
        """Whether the column loses so much of itself that its owner must hear of it."""
        return self.lost > LOSS * self.size


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows ``first .. first + rows - 1`` of a party's table.

    Numbers and integers are as they are, a boolean is 0 or 1, a date the days since 1970-01-01, a category the place of
    its level in the schema; ``nan`` where a cell is missing. ``rounding`` is by column, where a unit or a range
    says what they are rounded to.
    """

    values: Mapping[str, Array]  # by column, (rows,) each
    first: int
    rows: int
    rounding: Mapping[str, UnitRounding] = field(default_factory=dict)

    def missing(self, name: str) -> npt.NDArray[np.bool_]:
        """Which cells of a column are missing."""
        return np.isnan(self.values[name])
