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
COMMENSURABLE = 1_000  # units of one measured column in a unit of another, at most


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of rows of which products are summed, the same at all parties: the first ones of a row; ``offset``, the
    place of a column that is subtracted from the last of them; ``weight``, that of the rows' weights. ``declared``:
    units of all columns of a row, as far as they are public beforehand."""

    names: tuple[str, ...]
    declared: tuple[Fraction | None, ...]
    offset: int | None = None
    weight: int | None = None

    def units(self, of_rows: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Units of the columns, from those of all columns of a row."""
        own = tuple(of_rows[: len(self.names)])
        return own if self.offset is None else (*own[:-1], common_unit(own[-1], of_rows[self.offset]))

    def integers(self, block: Array, units: Sequence[Fraction]) -> Int64:
        """Of some rows ``(rows, 1 + columns)``: 1, and the columns in their units."""
        t = block[:, : len(self.names)]
        if self.offset is not None:
            t = t.copy()
            t[:, -1] -= block[:, self.offset]
        return np.column_stack([np.ones(len(block), np.int64), whole(t, units)])


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
    """A unit for differences of multiples of two units: their greatest common divisor. Units that do not fit together,
    as one of them is binary, have a very small one; there it is the smaller of the two.

    >>> common_unit(Fraction(1, 4), Fraction(1, 10)), common_unit(Fraction(1, 10), Fraction(1, 2**40))
    (Fraction(1, 20), Fraction(1, 1099511627776))
    """
    below = math.lcm(one.denominator, other.denominator)
    divisor = Fraction(math.gcd(int(one * below), int(other * below)), below)
    smaller = min(one, other)
    return divisor if smaller <= COMMENSURABLE * divisor else smaller


def check_weights(rows: Rows, place: int, name: str) -> None:
    """Refuse weights of one party's rows that are not positive."""
    if rows.totals(lambda block: np.asarray(block[:, place : place + 1] <= 0, np.int64))[0] > 0:
        raise InvalidInput(f"weights: column {name!r} has values that are not positive. Leave out rows of weight 0.")
