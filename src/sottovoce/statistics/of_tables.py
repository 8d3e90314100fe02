"""Statistics of tables: an analysis under a schema, rows with missing values dropped or refused.

What follows from schema and question alone is the same at every party: the numbers made of a row, and their names. Each
party then reads its own table, and everything in it that could stop a run stops it before the first agreement.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..data.number_columns import NumberColumns, NumberTable
from ..data.rows import Rows
from ..data.schema import Schema
from ..data.selection import ModelColumns, Selection
from ..data.sources import Source
from ..data.table import Missing, Table, check_missing
from ..errors import InvalidInput
from .agreements import Agreements
from .analysis import Analysis
from .option_types import check_types
from .statistic import Statistic

MOST_COLUMNS = 1_000  # of which products are summed
AnyTable = Table | NumberTable


@dataclass(frozen=True, eq=False)
class Asked:
    """A statistic of tables as the parties agree on it: what is computed (``spec``), what its columns are made of
    (``selection``), and what becomes of missing values. ``formula``: of a model, as it was given."""

    spec: Analysis
    schema: Schema
    selection: Selection
    missing: Missing = "raise"
    formula: str = ""

    def table(self, source: Source) -> AnyTable:
        """What is asked of one party's source."""
        if isinstance(source, NumberColumns):
            return NumberTable(source, self.selection)
        return Table(source, self.schema, self.selection, self.missing)

    @property
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses."""
        dropped = ["the rows left out for missing values, and by column those in which it is missing"]
        return [*self.spec.revealed, *(dropped if self.missing == "drop" else [])]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, in the keys of a file that has the schema too, with every default written out."""
        return {**self.spec.to_dict(), "missing": self.missing}

    def to_json(self) -> str:
        """What tells it from others, in one line."""
        return json.dumps([self.spec.to_dict(), self.selection.needs, self.missing])


def ask_analysis(analysis: type[Analysis], schema: Schema, *, missing: Missing = "raise", **options: Any) -> Asked:
    """An analysis, checked against the schema; ``options`` are its fields, and those that are None stay as they are."""
    check_missing(missing)
    given = {key: value for key, value in options.items() if value is not None}
    check_types(analysis, given)
    spec = analysis(schema=schema, **given)
    if isinstance(spec.selection, ModelColumns) and len(spec.columns) > MOST_COLUMNS:
        raise InvalidInput(
            f"{len(spec.columns):,} columns are too many for sums of their products; at most {MOST_COLUMNS}."
        )
    return Asked(spec, schema, spec.selection, missing, formula=getattr(spec, "formula", None) or "")


def run_on_tables(asked: Asked, agreements: Agreements, tables: Sequence[AnyTable]) -> Statistic:
    """The part of the local parties in a statistic, from the table of each to the answer that they hold.

    Tables are read and checked first: what is refused is refused before the first agreement.
    """
    rows = [checked_table(asked, table, agreements.parties) for table in tables]
    if asked.missing == "drop":
        agreements.dropped = agreed_dropped(agreements, tables)
    return asked.spec.program(agreements, rows)


def checked_table(asked: Asked, table: AnyTable, parties: int) -> Rows:
    """A party's rows, refused now where they could only be refused later, when others would see that it stops."""
    rows = table.rows
    asked.spec.check(rows, parties)
    return rows


def agreed_dropped(agreements: Agreements, tables: Sequence[AnyTable]) -> dict[str, int]:
    """How many rows the parties drop, and in how many each column is missing: exact, in one agreement."""
    own = [table.dropped or {"rows": 0, **dict.fromkeys(table.selection.needs, 0)} for table in tables]
    counts = [list(counts.values()) for counts in own]
    totals = agreements.sum(counts, of="rows with missing values, by column", counts=True)
    return dict(zip(own[0], totals.tolist(), strict=True))
