"""A party's table looked through before anything is sent: everything that is wrong with it, and not only the first.

It is for the party itself. Nothing of it is logged or leaves the party, and still no cell is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..numerics.unquoted import kind_of
from .arrow import cells_of, in_units
from .batch import Array, UnitRounding
from .checked import Checked
from .formula import Design, Formula
from .formula.arithmetic import InRows
from .own_design import OwnDesign
from .problems import FIRST, Fault, Problem, merged
from .schema import Schema
from .sources import Source, open_source
from .table import Gaps, Missing, check_missing
from .typed import problems_of

RARE = 5  # rows, of which a level should have as many


def check(
    table: Any,
    *,
    schema: Schema | Mapping[str, Any],
    formula: str | Formula | None = None,
    columns: str | Sequence[str] | None = None,
    missing: Missing = "raise",
) -> Checked:
    """What would be used of a party's table, and all that would stop the party: before anything is sent.

    The table is read once, some rows at a time; it may be larger than memory.

    Parameters
    ----------
    table : str, Path, frame, mapping or Source
        The party's own, as ``sv.Study`` takes it.
    schema : Schema, or mapping
        What its columns mean.
    formula : str or Formula, optional
        Of the model that is asked for.
    columns : str or sequence of str, optional
        Instead of a formula, the columns that are asked for. Default: all of the schema.
    missing : {"raise", "drop"}
        Whether missing values are refused, or rows left out that have one in a column in use.

    Returns
    -------
    Checked
        With ``ok``, ``summary()`` and ``to_dict()``. What is wrong with the table is in there, and raises nothing.

    Raises
    ------
    InvalidInput
        A schema, a formula or columns that cannot be used, whatever the table has; a table that cannot be opened.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = {"age": {"type": "number", "range": (0, 120)}, "sex": {"type": "category", "levels": ["f", "m"]}}
    >>> table = {"age": [61.0, None, 40.0, 33.0], "sex": ["f", "m", "f", "f"]}
    >>> print(sv.data.check(table, schema=schema, formula="~ age + sex", missing="drop").summary())
    The party could start with this table.
    table      the table (dict)
    rows read  4
    rows used  3
    dropped    1, with missing values, by column: 'age' 1 (row 2)
    columns    Intercept, age, sex[T.m]
    rank       2 of 3, of this party's own design
    condition  inf
    remark     column 'sex[T.m]' is 0 in all rows used; this need not be so for all parties together
    remark     levels of 'sex' that fewer than five rows have: 'f' 3, 'm' 0
    """
    schema = schema if isinstance(schema, Schema) else Schema(schema)
    design = None
    if formula is not None:
        if columns is not None:
            raise InvalidInput("formula and columns are both given. Keep one.")
        design = (formula if isinstance(formula, Formula) else Formula(formula)).design(schema)
        if not design.needs:
            raise InvalidInput("the formula reads no column of the table. Name one in it.")
    needs = design.needs if design is not None else _asked(schema, columns)
    check_missing(missing, needs)
    source = open_source(table).forgiving()
    names = source.names()
    absent = tuple(name for name in needs if name not in names)
    look = _Look(schema, [name for name in needs if name in names], None if absent else design)
    stopped = look.through(source) if look.needs else ()
    if absent:
        stopped = (*_not_there(source, schema.restricted(needs)), *stopped)
    own, used = look.own, 0 if absent else look.used
    return Checked(
        source=source.describe(),
        missing=missing,
        read=look.read,
        used=used,
        dropped=look.dropped,
        bad=look.bad,
        gaps=look.gaps,
        problems=tuple(merged(look.problems)),
        rounded={name: off.count for name, off in look.rounding.items() if off.count},
        absent=absent,
        unused=tuple(name for name in schema if name not in names and name not in needs),
        unknown=() if schema.keys().isdisjoint(names) else tuple(name for name in names if name not in schema),
        columns=design.columns if design is not None else needs,
        constant=own.constant if used else (),
        zero=own.zero if used and design is not None else (),
        rank=None if absent else own.rank,
        condition_number=None if absent else own.condition_number,
        dependent=own.dependent,
        rare=look.rare() if used else {},
        stopped=stopped,
    )


def _asked(schema: Schema, columns: Any) -> tuple[str, ...]:
    if columns is None:
        return tuple(schema)
    names = [columns] if isinstance(columns, str) else columns
    if not isinstance(names, Sequence) or not names:
        raise InvalidInput(f"columns must be the names of one or more columns; got {kind_of(columns)}.")
    schema.restricted(names)  # a sentence for names that are none of columns
    return tuple(dict.fromkeys(names))


def _not_there(source: Source, wanted: Schema) -> Iterator[str]:
    """What a source says of a column that it has not, with a hint at what else may be wrong."""
    try:
        next(source.batches(wanted), None)
    except InvalidInput as error:
        yield str(error).rstrip(".")


def _computed(design: Design, values: Mapping[str, Array], numbers: npt.NDArray[np.int64]) -> Array:
    """The design; response and offset are computed too, since they may be refused."""
    block = design.matrix(values, numbers)
    design.target(values, numbers)
    design.offset(values, numbers)
    return block


class _Look:
    """One pass over a table."""

    def __init__(self, schema: Schema, needs: Sequence[str], design: Design | None) -> None:
        self.wanted = schema.restricted(needs) if needs else {}
        self.needs, self.design = list(needs), design
        self.read = self.used = self.dropped = self.bad = 0
        self.gaps = {name: Gaps() for name in needs}
        self.rounding = {name: UnitRounding() for name in needs}
        self.problems: list[Problem] = []
        self.own = OwnDesign(needs if design is None else design.columns, triangle=design is not None)
        self._counts = {name: np.zeros(len(schema[name].levels), np.int64) for name in needs if schema[name].levels}

    def through(self, source: Source) -> tuple[str, ...]:
        """All batches; or what stopped it on the way."""
        try:
            for batch in source.batches(self.wanted):
                self._add(batch)
        except InvalidInput as error:
            return (f"reading stopped after {self.read:,} rows: {str(error).rstrip('.')}",)
        return ()

    def _add(self, record_batch: Any) -> None:
        rows, first = record_batch.num_rows, self.read
        numbers = np.arange(first + 1, first + rows + 1)
        missing, wrong = np.zeros(rows, bool), np.zeros(rows, bool)
        values: dict[str, Array] = {}
        for name, column in self.wanted.items():
            array = record_batch.column(name)
            cells, faults = cells_of(column, array)
            values[name], off = in_units(column, array, cells)
            self.rounding[name].add(off)
            self.problems += problems_of(column, array, faults, first)
            gap = faults == Fault.MISSING
            self.gaps[name].add(gap, numbers)
            missing |= gap
            wrong |= (faults != 0) & ~gap
        good = ~(missing | wrong)
        whole = values if good.all() else {name: column[good] for name, column in values.items()}
        block, left = self._block(whole, numbers[good])
        self.own.add(block)
        for name, counts in self._counts.items():
            counts += np.bincount(left[name].astype(np.int64), minlength=len(counts))
        self.problems = merged(self.problems)
        self.read += rows
        self.used += len(block)
        self.bad += int(wrong.sum()) + int(good.sum()) - len(block)
        self.dropped += int((missing & ~wrong).sum())

    def _block(self, values: Mapping[str, Array], numbers: npt.NDArray[np.int64]) -> tuple[Array, Mapping[str, Array]]:
        """What is made of complete rows, and their values, less rows that cannot be used."""
        if self.design is None:
            return np.column_stack([values[name] for name in self.needs]), values
        while True:
            try:
                return _computed(self.design, values, numbers), values
            except InRows as fault:  # of one kind: there may be others in the rows that are left
                rows = numbers[fault.bad]
                self.problems.append(Problem(fault.what, fault.why, len(rows), tuple(rows[:FIRST].tolist())))
                values = {name: column[~fault.bad] for name, column in values.items()}
                numbers = numbers[~fault.bad]

    def rare(self) -> dict[str, dict[str, int]]:
        """By category the levels that few rows have."""
        found = {}
        for name, counts in self._counts.items():
            few = zip(self.wanted[name].levels, counts.tolist(), strict=True)
            found[name] = {level: count for level, count in few if count < RARE}
        return {name: levels for name, levels in found.items() if levels}
