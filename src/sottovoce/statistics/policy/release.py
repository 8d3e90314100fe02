"""What a party would release of its rows, in the terms of a policy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...data.rows import Rows
from ...data.selection import ModelColumns
from ...pdmm.modular_mask import Integers
from ..of_tables import AnyTable, Asked


@dataclass(frozen=True, eq=False)
class Release:
    """One analysis of one party's rows.

    ``run`` is what people call it and ``hash`` what tells it from others; ``columns`` are those of the table;
    ``cells`` are this party's counts, of which sums are shown.
    """

    run: str
    hash: str
    type: str
    columns: tuple[str, ...]
    rows: int
    parameters: int
    cells: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(cls, run: str, hash: str, asked: Asked, table: AnyTable) -> Release:
        """Of what is asked of a party's table, which is checked."""
        spec, rows = asked.spec, table.rows
        cells = spec.cells(rows)
        if isinstance(spec.selection, ModelColumns) or not len(cells):  # others count what they are asked to
            cells = np.concatenate([cells, yes_and_no(rows)])
        cells = np.concatenate([cells, asked.level_counts(table)])
        return cls(run, hash, spec.type, asked.selection.needs, len(rows), spec.parameters, cells)


def yes_and_no(rows: Rows) -> Integers:
    """Of every column that is 0 or 1 in all of a party's rows, such as a boolean, an event, or a level in a formula,
    how many are 1 and how many 0: its sum is a count, whatever it is called."""
    counted = rows.totals(lambda block: np.column_stack([block == 1, block == 0]).astype(np.int64))
    both = counted.astype(np.int64).reshape(2, rows.width)
    return np.asarray(both[:, both.sum(axis=0) == len(rows)].ravel())
