"""What is fitted, without a schema: where in a row explaining columns, target, offset and weight are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ...costs.base import Array
from ...data.formula.exact_columns import FINER
from ...data.rows import Rows, WholeColumns
from ...errors import InvalidInput
from ...sums import Whole, whole

INTERCEPT = "Intercept"


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of rows of which products are summed, the same at all parties: the first ones of a row; ``offset``, the
    place of a column that is subtracted from the last of them; ``weight``, that of the rows' weights; ``rests``, by
    place of a column that float64 rounds, that of what it lacks. ``declared``: units of all columns of a row, as far as
    they are public beforehand."""

    names: tuple[str, ...]
    declared: tuple[Fraction | None, ...]
    offset: int | None = None
    weight: int | None = None
    rests: Mapping[int, int] = field(default_factory=dict)

    @property
    def places(self) -> list[int]:
        """In a row, of what is multiplied: the columns, and last the offset."""
        return [*range(len(self.names)), *([] if self.offset is None else [self.offset])]

    def exact_units(self, units: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Those of all columns of a row, where the rests are added."""
        return tuple(unit / FINER if place in self.rests else unit for place, unit in enumerate(units))

    def integers(self, block: Array, units: Sequence[Fraction]) -> WholeColumns:
        """Of some rows ``(rows, 1 + places)``: 1, and these columns; ``units``: ``exact_units``. They are Python's
        integers where there are rests."""
        steps = [units[place] * (FINER if place in self.rests else 1) for place in self.places]
        integers = np.column_stack([np.ones(len(block), np.int64), whole(block[:, self.places], steps)])
        if not self.rests:
            return integers
        exact: Whole = integers.astype(object)
        for place, rest in self.rests.items():
            exact[:, 1 + place] = exact[:, 1 + place] * FINER + block[:, rest].astype(np.int64).astype(object)
        return exact


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


def check_weights(rows: Rows, place: int, name: str) -> None:
    """Refuse weights of one party's rows that are not positive."""
    if rows.totals(lambda block: np.asarray(block[:, place : place + 1] <= 0, np.int64))[0] > 0:
        raise InvalidInput(f"weights: column {name!r} has values that are not positive. Leave out rows of weight 0.")
