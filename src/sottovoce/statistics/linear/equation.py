"""What is fitted, without a schema: where in a row explaining columns, target, offset and weight are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...errors import InvalidInput
from ...sums import whole

INTERCEPT = "Intercept"


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of rows of which products are summed, the same at all parties: the first ones of a row; ``offset``, the
    place of a column that is subtracted from the last of them; ``weight``, that of the rows' weights. ``declared``:
    units of all columns of a row, as far as they are public beforehand."""

    names: tuple[str, ...]
    declared: tuple[Fraction | None, ...]
    offset: int | None = None
    weight: int | None = None

    @property
    def places(self) -> list[int]:
        """In a row, of what is multiplied: the columns, and last the offset."""
        return [*range(len(self.names)), *([] if self.offset is None else [self.offset])]

    def integers(self, block: Array, units: Sequence[Fraction]) -> Int64:
        """Of some rows ``(rows, 1 + places)``: 1, and these columns; ``units`` are those of all columns of a row."""
        numbers = whole(block[:, self.places], [units[place] for place in self.places])
        return np.column_stack([np.ones(len(block), np.int64), numbers])


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
        """The columns of the design."""
        return (INTERCEPT, *self.slopes) if self.intercept else self.slopes


def common_unit(one: Fraction, other: Fraction) -> Fraction:
    """The greatest common divisor of two units, of which all differences of their multiples are multiples.

    >>> common_unit(Fraction(1, 4), Fraction(1, 10))
    Fraction(1, 20)
    """
    below = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * below), int(other * below)), below)


def check_weights(rows: Rows, place: int, name: str) -> None:
    """Refuse weights of one party's rows that are not positive."""
    if rows.totals(lambda block: np.asarray(block[:, place : place + 1] <= 0, np.int64))[0] > 0:
        raise InvalidInput(f"weights: column {name!r} has values that are not positive. Leave out rows of weight 0.")
