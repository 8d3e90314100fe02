"""What the columns of a table mean: public, agreed on beforehand, the same at every party (docs/reference/schema.md).

Nothing is guessed from a party's rows: the type of a column, its levels and their order, its range and what stands for
a missing value are in the schema, so that they are the same at a party without rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

from ..errors import InvalidInput, is_number

Type = Literal["number", "integer", "category", "boolean", "date"]
TYPES: tuple[str, ...] = get_args(Type)
EPOCH = date(1970, 1, 1)  # dates are counted in days from here


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
        As the table calls it.
    type : {"number", "integer", "category", "boolean", "date"}
        What its cells hold.
    unit : str
        For people.
    range : pair, optional
        The smallest and the largest value that is allowed: numbers, or dates.
    levels : sequence of str
        Of a category, in order.
    reference : str, optional
        The level that the others are compared with. Default: the first.
    missing : sequence of str
        Cells that stand for a missing value, besides those that are empty.

    Examples
    --------
    >>> Column("sex", "category", levels=("f", "m")).reference
    'f'
    """

    name: str
    type: Type
    unit: str = ""
    range: tuple[Any, Any] | None = None
    levels: tuple[str, ...] = ()
    reference: str | None = None
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        what = f"column {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput(f"a column needs a name; got {self.name!r}.")
        if self.type not in TYPES:
            raise InvalidInput(f"{what}: type must be one of {', '.join(TYPES)}; got {self.type!r}.")
        for key in ("levels", "missing"):
            value = getattr(self, key)
            if isinstance(value, str) or not all(isinstance(entry, str) for entry in value):
                raise InvalidInput(f"{what}: {key} must be a list of texts; got {value!r}.")
            object.__setattr__(self, key, tuple(value))
        self._check_levels(what)
        if self.range is not None:
            object.__setattr__(self, "range", self._checked_range(what))

    def _check_levels(self, what: str) -> None:
        if self.type != "category":
            if self.levels or self.reference is not None:
                raise InvalidInput(f"{what}: levels and reference are for a category; its type is {self.type!r}.")
            return
        if len(self.levels) < 2 or len(set(self.levels)) < len(self.levels):
            raise InvalidInput(f"{what}: a category needs two or more different levels; got {list(self.levels)}.")
        if self.reference is None:
            object.__setattr__(self, "reference", self.levels[0])
        elif self.reference not in self.levels:
            raise InvalidInput(
                f"{what}: reference {self.reference!r} is none of its levels, {', '.join(map(repr, self.levels))}."
            )
        if both := set(self.levels) & set(self.missing):
            raise InvalidInput(f"{what}: {sorted(both)[0]!r} is a level, and stands for missing as well. Keep one.")

    def _checked_range(self, what: str) -> tuple[Any, Any]:
        if self.type in ("category", "boolean"):
            raise InvalidInput(f"{what}: a {self.type} has no range. Leave it out.")
        given = self.range
        pair = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2 else None
        wanted = date if self.type == "date" else None
        good = pair is not None and all(type(end) is wanted if wanted else is_number(end) for end in pair)
        if pair is None or not good or not pair[0] < pair[1]:
            example = "[2020-01-01, 2024-12-31]" if wanted else "[0, 120]"
            kind = "dates" if wanted else "numbers"
            raise InvalidInput(f"{what}: range must be two {kind} in order, such as {example}; got {given!r}.")
        return pair if wanted else (float(pair[0]), float(pair[1]))

    @property
    def limits(self) -> tuple[float, float] | None:
        """The range as numbers; dates in days since 1970-01-01."""
        if self.range is None:
            return None
        low, high = self.range
        return (float((low - EPOCH).days), float((high - EPOCH).days)) if self.type == "date" else (low, high)


class Schema(Mapping[str, Column]):
    """The columns of a table by name, in order.

    Parameters
    ----------
    columns : sequence of Column, or mapping
        Columns, or by name what ``Column`` takes besides the name: a type, or a mapping with ``type`` in it.

    Examples
    --------
    >>> sex = {"type": "category", "levels": ["f", "m"]}
    >>> schema = Schema({"age": {"type": "number", "range": (0, 120)}, "sex": sex})
    >>> list(schema), schema["sex"].reference
    (['age', 'sex'], 'f')
    """

    def __init__(self, columns: Sequence[Column] | Mapping[str, Any]) -> None:
        if isinstance(columns, Mapping):
            columns = [_column(name, given) for name, given in columns.items()]
        self._columns: dict[str, Column] = {}
        for column in columns:
            if not isinstance(column, Column):
                raise InvalidInput(f"a schema is made of columns, Column(name, type, ...); got {column!r}.")
            if column.name in self._columns:
                raise InvalidInput(f"two columns of the schema are called {column.name!r}.")
            self._columns[column.name] = column
        if not self._columns:
            raise InvalidInput("a schema needs at least one column.")

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def _column(name: str, given: Any) -> Column:
    if isinstance(given, Column):
        if given.name != name:
            raise InvalidInput(f"column {name!r} is given as one that is called {given.name!r}.")
        return given
    if isinstance(given, str):
        return Column(name, given)  # type: ignore[arg-type]
    if not isinstance(given, Mapping) or "type" not in given:
        raise InvalidInput(f"column {name!r} needs a type: one of {', '.join(TYPES)}, or a table with type in it.")
    known = {"type", "unit", "range", "levels", "reference", "missing"}
    if unknown := sorted(set(given) - known):
        raise InvalidInput(
            f"column {name!r}: {unknown[0]!r} is no key of a column; there are {', '.join(sorted(known))}."
        )
    return Column(name, **given)
