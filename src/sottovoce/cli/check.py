"""``sottovoce check``: what would be used of a party's table, and what would stop the party."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Json
from .terminal import facts, print_json, spinner

if TYPE_CHECKING:
    from ..data.checked import Checked


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The party's node file; or, with --schema, its table.")],
    schema: Annotated[
        Path | None,
        typer.Option(metavar="SCHEMA.TOML", help="A file with [schema]: what the columns mean."),
    ] = None,
    formula: Annotated[str | None, typer.Option(help="The model that is asked for.")] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B", help="The columns that are asked for. Default: all of the schema.")
    ] = None,
    missing: Annotated[str | None, typer.Option(metavar="raise|drop", help="What becomes of missing values.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What separates the cells of a CSV file. Default: ,")] = None,
    decimal: Annotated[str | None, typer.Option(help="What is before the fraction of a number in it.")] = None,
    json: Json = False,
) -> int | None:
    """Look through a party's table before anything is sent: rows used and dropped, what is wrong, rank and condition.

    Nothing leaves the party. All that is wrong is told by column and row number, and no cell is shown. With a node
    file its policy is asked as well, and its ledger, in which nothing is recorded.

    \b
    Examples:
      sottovoce check node.toml
      sottovoce check node.toml --json
      sottovoce check data.csv --schema schema.toml --formula "death ~ age + sex" --missing drop
      sottovoce check data.csv --schema schema.toml --columns age,dose --delimiter ";" --decimal ,

    Exit status: 0 the party could start, 2 it could not.
    """
    from ..errors import ExitStatus, InvalidInput
    from .check_node import checked_node

    own = {"formula": formula, "columns": columns, "missing": missing, "delimiter": delimiter, "decimal": decimal}
    given = {name: value for name, value in own.items() if value is not None}
    if schema is None:
        if file.suffix.lower() != ".toml":
            raise InvalidInput(f"{file} is no node file. To check a table, give --schema, a file with [schema].")
        if given:
            raise InvalidInput(f"--{next(iter(given))} has no meaning with a node file, which says it. Leave it out.")
    with spinner("reading ...", quiet=json):
        checked = checked_node(file) if schema is None else _of_table(file, schema, given)
    if json:
        print_json(checked.to_dict())
    else:
        print_checked(checked)
    return ExitStatus.DONE if checked.ok else ExitStatus.TO_MEND


def _of_table(file: Path, schema: Path, given: dict[str, Any]) -> Checked:
    from ..data import check
    from ..data.schema import Schema
    from ..errors import InvalidFile
    from ..files.toml_table import TomlFile

    agreed = TomlFile(schema)
    if "schema" not in agreed.values:
        raise InvalidFile(f"{schema} has no [schema]. Start from a draft: sottovoce schema data.csv")
    marks = {key: given.pop(key) for key in ("delimiter", "decimal") if key in given}
    table: Any = {"source": "csv", "file": str(file), **marks} if marks else file
    if "columns" in given:
        given["columns"] = given["columns"].split(",")
    return check(table, schema=Schema.from_table(agreed.table("schema")), **given)


def print_checked(checked: Checked) -> None:
    """For people."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(checked.verdict, style="bold green" if checked.ok else "bold red"), "", sep="\n")
    table = facts()
    for name, value in checked.facts():
        table.add_row(name, Text(value))
    for sentence in checked.refusals:
        table.add_row(Text("refused", style="bold red"), Text(sentence))
    for sentence in checked.remarks:
        table.add_row(Text("remark"), Text(sentence))
    console.print(table, soft_wrap=True)
