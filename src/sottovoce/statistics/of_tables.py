"""Statistics of tables: columns or a formula under a schema, rows with missing values dropped or refused.

What follows from schema and question alone is the same at every party: the numbers made of a row, their names and what
brings them to size 1. Each party then reads its own table, and everything in it that could stop a run stops it before
the first agreement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from ..costs.base import Array
from ..data.formula import Formula
from ..data.rows import Rows
from ..data.schema import EPOCH, Column, Schema
from ..data.selection import Equation, PlainColumns, Selection
from ..data.sizes import sizes
from ..data.sources import Source
from ..data.table import Missing, Table, check_missing
from ..errors import InvalidInput, NotConverged
from .agreements import Agreements
from .analysis import Analysis
from .at_one_party import LARGEST, Spec, check_rows, play
from .histogram import read_bins
from .option_types import check_types
from .shards import read_scale
from .statistic import Statistic
from .tables import FAMILIES

BINS = 10  # of a range, unless told otherwise
MOST_BINS = 10_000
MOST_COLUMNS = 1_000  # of which products are summed


@dataclass(frozen=True, eq=False)
class Asked:
    """A statistic of tables as the parties agree on it: what is computed (``spec``), what its columns are made of
    (``selection``), and what becomes of missing values.

    ``single``: the answer is a number, and not one per column. ``levels``: what a histogram counts, where not numbers.
    ``formula``: of a regression or a model, as it was given.
    """

    spec: Spec | Analysis
    schema: Schema
    selection: Selection
    missing: Missing = "raise"
    single: bool = False
    levels: tuple[str, ...] = ()
    formula: str = ""

    def table(self, source: Source) -> Table:
        """What is asked of one party's source."""
        return Table(source, self.schema, self.selection, self.missing)

    @property
    def family(self) -> type[Statistic]:
        """Of its answers."""
        return self.spec.gives if isinstance(self.spec, Analysis) else FAMILIES[self.spec.type]

    @property
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses."""
        dropped = ["the rows left out for missing values, and by column those in which it is missing"]
        of_levels = [f"the rows at each of {len(self.levels)} levels of {self.spec.columns[0]}"] if self.levels else []
        return [*(of_levels or self.spec.revealed), *(dropped if self.missing == "drop" else [])]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, in the keys of a file that has the schema too, with every default written out."""
        told = self.spec.to_dict()
        if isinstance(self.spec, Analysis):
            return {**told, "missing": self.missing}
        what: dict[str, Any] = {"formula": self.formula} if self.formula else {"columns": told["columns"]}
        follows = {"type", "columns", "features", "target"}  # from what is there, or from the schema
        follows |= {"intercept"} if self.formula else {"bins"} if self.levels else set()
        rest = {key: value for key, value in told.items() if key not in follows}
        return {"type": self.spec.type, **what, "missing": self.missing, **rest}

    def to_json(self) -> str:
        """What tells it from others, in one line."""
        return json.dumps([self.spec.to_dict(), self.selection.needs, self.missing, self.single])


def ask(
    kind: str,
    schema: Schema,
    what: str | Sequence[str],
    *,
    missing: Missing = "raise",
    scale: float | Mapping[str, float] | None = None,
    **options: Any,
) -> Asked:
    """A question, checked against the schema.

    Parameters
    ----------
    kind : str
        ``"mean"``, ``"variance"``, ``"covariance"``, ``"histogram"`` or ``"least_squares"``.
    schema : Schema
        What the columns mean.
    what : str or sequence of str
        Columns; of a regression the formula.
    missing : {"raise", "drop"}
        See ``Table``.
    scale : float or mapping, optional
        Public numbers that bring columns to size 1, one for all or by name. Others follow from the schema's ranges, and
        are 1 where there is none.
    **options
        Of the statistic, as in ``Spec``.

    Raises
    ------
    InvalidInput
        Columns that the schema does not have, or that the statistic cannot take.
    """
    check_missing(missing)
    if kind == "least_squares":
        return _regression(schema, what, missing, scale, options)
    single = isinstance(what, str)
    names = tuple([what] if isinstance(what, str) else what)
    columns = [_known(schema, name) for name in names]
    if kind == "histogram":
        if len(columns) != 1:
            raise InvalidInput(f"a histogram counts one column; got {len(columns)}. Ask for one after the other.")
        edges, levels = _bins(columns[0], options.pop("bins", None))
        return Asked(
            Spec(kind, names, bins=edges.tolist(), **options), schema, PlainColumns(names), missing, True, levels
        )
    for column in columns:
        if column.type == "category":
            raise InvalidInput(
                f"column {column.name!r} is a category, which has no {kind}: its histogram counts its levels."
            )
    if kind == "covariance":
        _bounded(names)
    if kind == "covariance" and single:
        raise InvalidInput(f"a covariance needs a list of columns; got {what!r}. Of one column ask for the variance.")
    spec = Spec(kind, names, scale=_scale(schema, PlainColumns(names), scale), **options)
    return Asked(spec, schema, PlainColumns(names), missing, single)


def ask_analysis(analysis: type[Analysis], schema: Schema, *, missing: Missing = "raise", **options: Any) -> Asked:
    """An analysis, checked against the schema; ``options`` are its fields, and those that are None stay as they are."""
    check_missing(missing)
    given = {key: value for key, value in options.items() if value is not None}
    check_types(analysis, given)
    spec = analysis(schema=schema, **given)
    _bounded(spec.columns)
    return Asked(spec, schema, spec.selection, missing, formula=getattr(spec, "formula", None) or "")


def run_on_tables(asked: Asked, agreements: Agreements, tables: Sequence[Table]) -> Statistic:
    """The part of the local parties in a statistic, from the table of each to the answer that they hold.

    Tables are read and checked first: what is refused is refused before the first agreement.
    """
    rows = [checked_table(asked, table, agreements.parties) for table in tables]
    if asked.missing == "drop":
        try:
            agreements.dropped = agreed_dropped(agreements, tables)
        except NotConverged:
            return asked.family(*agreements.made)
    if isinstance(asked.spec, Analysis):
        return asked.spec.program(agreements, rows)
    return play(asked.spec, agreements, rows, () if asked.single else None, asked.levels)


def checked_table(asked: Asked, table: Table, parties: int) -> Rows:
    """A party's rows, refused now where they could only be refused later, when others would see that it stops."""
    rows = table.rows
    if isinstance(asked.spec, Analysis):
        if (rows.largest() / asked.spec.unit).max(initial=0.0) > LARGEST:
            raise InvalidInput(
                f"the rows have numbers beyond {LARGEST:g} in units of scale. Give their columns a range."
            )
        asked.spec.check(rows, parties)
    else:
        check_rows(asked.spec, rows, parties)
    return rows


def agreed_dropped(agreements: Agreements, tables: Sequence[Table]) -> dict[str, int]:
    """How many rows the parties drop, and in how many each column is missing: exact, in one agreement."""
    own = [table.survey.dropped for table in tables]
    counts = [list(counts.values()) for counts in own]
    totals = agreements.sum(counts, of="rows with missing values, by column", counts=True)
    return dict(zip(own[0], totals.tolist(), strict=True))


def _bounded(columns: Sequence[str]) -> None:
    """Sums of all products of columns are held at once, exactly: half a kilobyte each."""
    if len(columns) > MOST_COLUMNS:
        raise InvalidInput(f"{len(columns):,} columns are too many for sums of their products; at most {MOST_COLUMNS}.")


def _known(schema: Schema, name: Any) -> Column:
    return schema.restricted([name])[name]


def _regression(
    schema: Schema, formula: Any, missing: Missing, scale: float | Mapping[str, float] | None, options: dict[str, Any]
) -> Asked:
    equation = Equation(Formula(formula).design(schema))
    _bounded(equation.columns)
    units = _scale(schema, equation, scale)
    spec = Spec("least_squares", equation.columns, scale=units, intercept=equation.intercept, **options)
    return Asked(spec, schema, equation, missing, formula=formula)


def _scale(schema: Schema, selection: Selection, given: float | Mapping[str, float] | None) -> list[float]:
    """What is given, else what follows from the ranges of the schema."""
    names = selection.columns
    if given is None or isinstance(given, Mapping):
        own = {name: value for name, value in (given or {}).items() if name in names or name not in schema}
        given = sizes(selection, schema) | own
    return [float(unit) for unit in read_scale(given, names, "column")]


def _bins(column: Column, bins: Any) -> tuple[Array, tuple[str, ...]]:
    """Edges, and the levels where they are about those. The range of a column is public, that of its values is not."""
    levels = ("false", "true") if column.type == "boolean" else column.levels
    if levels:
        if bins is not None:
            raise InvalidInput(f"column {column.name!r} is a {column.type}: leave bins out, its values are counted.")
        return np.arange(len(levels) + 1.0) - 0.5, levels
    count = BINS if bins is None else bins
    if isinstance(count, int | np.integer) and not isinstance(count, bool):
        if column.limits is None or not 1 <= count <= MOST_BINS:
            raise InvalidInput(
                f"column {column.name!r}: {count} bins need a range in the schema, and are 1 to {MOST_BINS:,}. Give "
                "the edges of bins, or add its range."
            )
        return np.asarray(np.linspace(*column.limits, int(count) + 1)), ()
    if isinstance(bins, Sequence) and all(type(edge) is date for edge in bins) and column.type == "date":
        return read_bins([(edge - EPOCH).days for edge in bins]), ()
    return read_bins(bins), ()
