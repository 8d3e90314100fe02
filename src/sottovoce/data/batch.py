"""Some rows of a table, as numbers: what sources and schema make of it, and formulas read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows ``first .. first + rows - 1`` of a party's table.

    Numbers and integers are as they are, a boolean is 0 or 1, a date the days since 1970-01-01, a category the place of
    its level in the schema; ``nan`` where a cell is missing.
    """

    values: Mapping[str, Array]  # by column, (rows,) each
    first: int
    rows: int

    def missing(self, name: str) -> npt.NDArray[np.bool_]:
        """Which cells of a column are missing."""
        return np.isnan(self.values[name])
