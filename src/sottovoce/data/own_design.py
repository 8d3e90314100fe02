"""What one party's rows say of a design: columns that do not vary there, its rank and its condition number.

Rows are folded into the triangle of a QR decomposition, which keeps the digits that ``X'X`` squares away. Nothing of it
is agreed on: it need not be the same to the bit for another size of batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .batch import Array
from .selection import INTERCEPT

Which = npt.NDArray[np.bool_]
DIGITS = 1e-10  # of its length is left of a column that others explain
SHARE = 1e-6  # of a column that explains another, both of length 1


class OwnDesign:
    """A fold over blocks of rows; ``triangle=False`` leaves out rank and condition.

    >>> design = OwnDesign(("Intercept", "age", "months"))
    >>> design.add(np.array([[1.0, 40.0, 480.0], [1.0, 50.0, 600.0], [1.0, 61.0, 732.0]]))
    >>> design.constant, design.rank, design.dependent
    ((), 2, {'months': ('age',)})
    """

    def __init__(self, names: Sequence[str], triangle: bool = True) -> None:
        self.names, self.rows = tuple(names), 0
        self._low, self._high = np.full(len(self.names), np.inf), np.full(len(self.names), -np.inf)
        self._triangle = np.zeros((0, len(self.names))) if triangle else None
        self._found: tuple[int, dict[str, tuple[str, ...]]] | None = None

    def add(self, block: Array) -> None:
        """Some rows, ``(rows, len(names))``."""
        if not len(block):
            return
        self.rows += len(block)
        self._low, self._high = np.minimum(self._low, block.min(axis=0)), np.maximum(self._high, block.max(axis=0))
        if self._triangle is not None:
            self._triangle = _triangle(np.vstack([self._triangle, block]))
            self._found = None

    @property
    def constant(self) -> tuple[str, ...]:
        """The columns that have one value in all rows; not the intercept, nor those that are zero."""
        return self._where((self._low == self._high) & ~self._zero, but=INTERCEPT)

    @property
    def zero(self) -> tuple[str, ...]:
        """The columns that are zero in all rows: mostly those of levels that no row has."""
        return self._where(self._zero)

    @property
    def rank(self) -> int | None:
        """How many columns are not made of those before them."""
        return None if self._triangle is None else self._looked()[0]

    @property
    def dependent(self) -> dict[str, tuple[str, ...]]:
        """By column that is made of some before it, which these are; columns of zeros are not listed."""
        return {} if self._triangle is None else self._looked()[1]

    @property
    def condition_number(self) -> float | None:
        """Of the columns brought to one length, centred if there is an intercept, as that of a regression; infinite
        where columns are dependent. None without rows, or without columns besides the intercept."""
        slopes = [k for k, name in enumerate(self.names) if name != INTERCEPT]
        if self._triangle is None or not self.rows or not slopes:
            return None
        if self._looked()[0] < len(self.names):
            return np.inf
        triangle = self._triangle
        if len(slopes) < len(self.names):  # below the first row of the triangle the columns are centred
            triangle = _triangle(triangle[:, [self.names.index(INTERCEPT), *slopes]])[1:, 1:]
        values = np.linalg.svd(_of_length_one(triangle), compute_uv=False)
        return float(values[0] / values[-1])

    @property
    def _zero(self) -> Which:
        return np.asarray((self._low == 0) & (self._high == 0))

    def _where(self, which: Which, but: str | None = None) -> tuple[str, ...]:
        return tuple(name for name, one in zip(self.names, which, strict=True) if one and name != but)

    def _looked(self) -> tuple[int, dict[str, tuple[str, ...]]]:
        """Column by column: what is left of it beside those before it."""
        if self._found is not None:
            return self._found
        assert self._triangle is not None
        columns = _of_length_one(self._triangle)
        basis = np.zeros((len(columns), 0))
        independent: list[int] = []
        dependent: dict[str, tuple[str, ...]] = {}
        for k, column in enumerate(columns.T):
            left = column
            for _ in range(2):  # once is not enough where little is left
                left = left - basis @ (basis.T @ left)
            length = float(np.linalg.norm(left))
            if length > DIGITS:
                basis = np.column_stack([basis, left / length])
                independent.append(k)
            elif column.any():
                made_of = np.linalg.lstsq(columns[:, independent], column, rcond=None)[0]
                parts = zip(independent, np.abs(made_of) > SHARE, strict=True)
                dependent[self.names[k]] = tuple(self.names[j] for j, part in parts if part)
        self._found = len(independent), dependent
        return self._found


def _triangle(rows: Array) -> Array:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _of_length_one(columns: Array) -> Array:
    """Zeros stay zeros; squares do not overflow on the way."""
    size = np.abs(columns).max(axis=0, initial=0.0)
    columns = columns / np.where(size > 0, size, 1.0)
    length = np.linalg.norm(columns, axis=0)
    return np.asarray(columns / np.where(length > 0, length, 1.0))
