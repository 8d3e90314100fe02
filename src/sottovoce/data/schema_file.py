"""The table ``[schema]`` of a problem or a plan: the columns themselves, or the file that they are in."""

from __future__ import annotations

from ..errors import InvalidFile
from ..files.toml_table import TomlFile
from .column import TYPES
from .schema import Schema


def read_schema(file: TomlFile) -> Schema:
    """The schema of a file that has ``[schema]``.

    Parameters
    ----------
    file : TomlFile
        With ``[schema.age]`` and so on, or with ``[schema]`` and in it ``file = "schema.toml"`` alone: a file beside
        this one that has the columns, and nothing else.

    Returns
    -------
    Schema
        In the order of the file that has the columns.

    Raises
    ------
    InvalidFile
        With the line, in the file where it is.
    """
    table = file.table("schema")
    if not _elsewhere(table.values):
        return Schema.from_table(table)
    name = table.string("file")
    if len(table.values) > 1:
        other = next(key for key in table.values if key != "file")
        raise table.refuse(other, f"and file are both given: {name} has all columns. Keep one.")
    own = table.call(TomlFile, file.path.parent / name, at="file")
    for key in own.values:
        if key != "schema":
            raise InvalidFile(f"{own.where('', key)}: {key!r} has no place here: the file has [schema] alone.")
    columns = own.table("schema")
    if not columns.values:
        raise table.refuse("file", f"names {own.path}, which has no [schema].")
    if _elsewhere(columns.values):
        raise columns.refuse("file", "names a further file. Name that one in its place.")
    return Schema.from_table(columns)


def _elsewhere(values: dict[str, object]) -> bool:
    """Whether ``file`` names a file; a column may be called so, and then it is a table or a type."""
    return isinstance(values.get("file"), str) and values["file"] not in TYPES
