"""What the columns of a table mean: public, agreed on beforehand, the same at every party (docs/reference/schema.md).

Nothing is guessed from a party's rows: the type of a column, its levels and their order, its range and what stands for
a missing value are in the schema, so that they are the same at a party without rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..errors import InvalidInput
from ..files.toml_table import Table, nearest, shown
from ..files.toml_text import toml, toml_key
from .column import EPOCH, KEYS, TYPES, Column, Type
from .public_text import fault_of, same_form

__all__ = ["EPOCH", "TYPES", "Column", "Schema", "Type"]

SCALE_GONE = "is gone: sums are exact, whatever the size of numbers. Remove it. The decimals of a column are its unit."
MOST_COLUMNS = 2_000
MOST_LEVELS = 20_000  # of all columns together


class Schema(Mapping[str, Column]):
    """The columns of a table by name, in order.

    Two schemas are equal if their columns are, in order: of their content nothing is without meaning.

    Parameters
    ----------
    columns : sequence of Column, or mapping
        Columns, or by name what ``Column`` takes besides the name: a type, or a mapping with ``type`` in it. At most
        2,000, with at most 20,000 levels together.

    Raises
    ------
    InvalidInput
        What is wrong with a column, or two of one name. An accent may be a mark of its own or not: that makes no other
        name.

    Examples
    --------
    >>> sex = {"type": "category", "levels": ["f", "m"]}
    >>> schema = Schema({"age": {"type": "number", "range": (0, 120), "unit": 0.5, "unit_name": "years"}, "sex": sex})
    >>> list(schema), schema["sex"].reference
    (['age', 'sex'], 'f')
    >>> schema
    Schema(age: number from 0 to 120 years in steps of 0.5; sex: category 'f', 'm')
    """

    def __init__(self, columns: Sequence[Column] | Mapping[str, Any]) -> None:
        if isinstance(columns, Mapping):
            _check_size(list(columns.values()))
            columns = [_column(name, given) for name, given in columns.items()]
        if not isinstance(columns, Sequence) or isinstance(columns, str):
            raise InvalidInput(f"a schema is made of columns, Column(name, type, ...); got {shown(columns)}.")
        _check_size(columns)
        self._columns: dict[str, Column] = {}
        forms: dict[str, str] = {}
        for column in columns:
            if not isinstance(column, Column):
                raise InvalidInput(f"a schema is made of columns, Column(name, type, ...); got {shown(column)}.")
            other = forms.setdefault(same_form(column.name), column.name)
            if column.name in self._columns:
                raise InvalidInput(f"two columns of the schema are called {column.name!r}.")
            if other != column.name:
                raise InvalidInput(
                    f"two columns of the schema are called {column.name!r}: one of them writes an accent as a mark of "
                    "its own. Rename one."
                )
            self._columns[column.name] = column

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> Schema:
        """Columns of numbers, as many as there are names: those of arrays."""
        columns = [Column(name, "number") for name in names]
        schema = cls(columns[:1])
        for column in columns[1:]:
            if column.name in schema._columns:
                raise InvalidInput(f"two columns are called {column.name!r}.")
            schema._columns[column.name] = column
        return schema

    @classmethod
    def from_table(cls, table: Table) -> Schema:
        """From a table of a file: ``[schema.age]`` with ``type``, ``range`` and the other keys of a column.

        Parameters
        ----------
        table : Table
            Of ``files.toml_table``; a column is a table in it, or a type alone, as in ``age = "number"``.

        Returns
        -------
        Schema
            In the order of the file.

        Raises
        ------
        InvalidFile
            With the line.
        """
        table.call(_check_size, list(table.values.values()))
        return table.call(cls, [_column_of(table, name) for name in table.values])

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Schema:
        """What ``to_dict`` has written, also after a journey as JSON."""
        if not isinstance(values, Mapping) or not isinstance(values.get("columns"), list) or len(values) > 1:
            raise InvalidInput("a schema is written as {'columns': [...]}, and nothing beside it.")
        _check_size(values["columns"])
        columns = []
        for entry in values["columns"]:
            if not isinstance(entry, Mapping) or not {"name", "type"} <= entry.keys() <= {"name", *KEYS}:
                raise InvalidInput(f"a column is written with name, {', '.join(KEYS)}; got {shown(entry)}.")
            columns.append(Column(**entry))
        return cls(columns)

    def to_dict(self) -> dict[str, Any]:
        """In the one form that equal schemas share, for JSON: defaults are written out, dates as ``2024-12-31``.

        Returns
        -------
        dict
            ``columns``, a list: their order is kept where keys are sorted, as they are for a hash.
        """
        return {"columns": [column.to_dict() for column in self.values()]}

    def to_toml(self, name: str = "schema") -> str:
        """As tables of a file, ``[schema.age]`` and so on, which ``from_table`` reads."""
        tables = []
        for column in self.values():
            keys = [f"{key} = {toml(value)}" for key, value in column.given()]
            tables.append("\n".join([f"[{name}.{toml_key(column.name)}]", *keys]))
        return "\n\n".join(tables) + "\n"

    def restricted(self, names: Iterable[str]) -> Schema:
        """The schema of some columns alone, in its own order.

        Parameters
        ----------
        names : iterable of str
            Columns of the schema.

        Returns
        -------
        Schema
            Of these columns.

        Raises
        ------
        InvalidInput
            Where a name is none of a column.
        """
        wanted = [names] if isinstance(names, str) else list(names)
        for name in wanted:
            if name not in self._columns:
                near = nearest(name, self) if isinstance(name, str) else "."
                raise InvalidInput(f"the schema has no column {shown(name)}{near}")
        return Schema([column for column in self.values() if column.name in set(wanted)])

    def with_units(self, units: Mapping[str, Fraction]) -> Schema:
        """The schema with units of numbers that it states none for.

        Parameters
        ----------
        units : mapping of str to Fraction
            By column. A unit that the schema states stays as it is.

        Returns
        -------
        Schema
            In the same order.

        Raises
        ------
        InvalidInput
            For a name that is none of a column, a column that is no number, and a unit that does not fit.

        Examples
        --------
        >>> schema = Schema({"age": "number", "dose": {"type": "number", "unit": 0.5}})
        >>> schema.with_units({"age": Fraction(1, 10), "dose": Fraction(1, 4)})
        Schema(age: number in steps of 0.1; dose: number in steps of 0.5)
        """
        if units:
            self.restricted(units)  # a sentence for names that are none of columns
        columns = [
            replace(column, unit=units[name]) if name in units and column.unit is None else column
            for name, column in self.items()
        ]
        return Schema(columns)

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        return tuple(self.values()) == tuple(other.values()) if isinstance(other, Schema) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.values()))

    def __repr__(self) -> str:
        more = f"; and {len(self) - 10} more" if len(self) > 10 else ""
        return f"Schema({'; '.join(column.told() for column in list(self.values())[:10])}{more})"


def _check_size(columns: Sequence[Any]) -> None:
    """Of columns, or of what they are to be made from: before the work that a long text would make."""
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise InvalidInput(f"a schema has one to {MOST_COLUMNS:,} columns; got {len(columns):,}.")
    given = (each.get("levels") if isinstance(each, Mapping) else getattr(each, "levels", ()) for each in columns)
    if (levels := sum(len(each) for each in given if isinstance(each, Sequence))) > MOST_LEVELS:
        raise InvalidInput(f"the columns of a schema have at most {MOST_LEVELS:,} levels together; got {levels:,}.")


def _column(name: str, given: Any) -> Column:
    if isinstance(given, Column):
        if given.name != name:
            raise InvalidInput(f"column {shown(name)} is given as one that is called {given.name!r}.")
        return given
    if isinstance(given, str):
        return Column(name, given)  # type: ignore[arg-type]
    if not isinstance(given, Mapping) or "type" not in given:
        raise InvalidInput(f"column {shown(name)} needs a type: one of {', '.join(TYPES)}, or a table with type in it.")
    if "scale" in given:
        raise InvalidInput(f"column {shown(name)}: scale {SCALE_GONE}")
    if unknown := [key for key in given if key not in KEYS]:
        raise InvalidInput(
            f"column {shown(name)}: {shown(unknown[0])} is no key of a column; known: {', '.join(KEYS)}."
        )
    return Column(name, **given)


def _column_of(table: Table, name: str) -> Column:
    """One column of a table of a file, with refusals that name its line."""
    if wrong := fault_of(name):
        raise table.refuse(None, f"has a column of which the name {wrong}")
    given = table.get(name)
    if isinstance(given, str):
        given = {"type": given}
    if not isinstance(given, dict):
        raise table.refuse(name, f"must be a table with a type in it: write [{table.name}.{toml_key(name)}].")
    own = Table(table.file, f"{table.name}.{name}", given)
    for key in given:
        if wrong := fault_of(key):
            raise own.refuse(None, f"has a key that {wrong}")
    if "scale" in own:
        raise own.refuse("scale", SCALE_GONE)
    own.refuse_unknown(KEYS)
    if wrong := fault_of(given.get("type", "")):
        raise own.refuse("type", wrong)
    own.choice("type", TYPES)
    try:
        return Column(name, **given)
    except InvalidInput as error:
        why = str(error).removeprefix(f"column {name!r}: ")
    key, _, rest = why.partition(" ")
    raise own.refuse(key, rest) if key in given else own.refuse(None, why)
