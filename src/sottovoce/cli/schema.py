"""``sottovoce schema``: a first draft of a schema from a party's own table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Json
from .terminal import print_json


def schema(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The party's own table: a CSV or a Parquet file.")],
    out: Annotated[Path | None, typer.Option(metavar="SCHEMA.TOML", help="Write the draft to a new file.")] = None,
    json: Json = False,
    delimiter: Annotated[str, typer.Option(help="What separates the cells of a CSV file.")] = ",",
) -> int | None:
    """Write a first draft of a schema: what the columns of a table seem to be, for all parties to agree on.

    Nothing is sent. Ranges are rounded out, and units are those of the decimals; columns that may name people are left
    out, and said to be. Read the draft before you show it: levels that few rows have tell about these people.

    \b
    Examples:
      sottovoce schema data.csv
      sottovoce schema data.csv --delimiter ";" --out schema.toml
      sottovoce schema data.parquet --json
    """
    from ..data.draft import draft

    if out is not None:
        _check(out)
    made = draft(_batches(data, delimiter))
    text = made.to_toml()
    if out is not None:
        from ..files.atomic import write_whole

        write_whole(out, lambda temporary: Path(temporary).write_text(text, encoding="utf-8"))
    if json:
        left_out = [{"column": name, "why": why} for name, why in made.left_out.items()]
        print_json({"schema": made.schema.to_dict(), "left_out": left_out, "warnings": made.warnings})
        return 0
    for warning in made.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if out is None:
        typer.echo(text, nl=False)
    else:
        left = f", {len(made.left_out)} left out" if made.left_out else ""
        typer.echo(f"{out} is written: {len(made.columns)} columns{left}. Read it before you show it to anybody.")
    return 0


def _check(out: Path) -> None:
    """A new file: one that is there may be what was agreed on."""
    from ..errors import InvalidInput
    from ..files.atomic import check_writable

    check_writable("--out", out, (".toml",))
    if out.exists():
        raise InvalidInput(f"--out {out} exists, and may be what was agreed on. Choose another name, or remove it.")


def _batches(path: Path, delimiter: str) -> Iterator[Any]:
    """The rows of a file, a CSV file as texts. What Arrow says of a row that it cannot read quotes the row."""
    import csv

    from ..errors import InvalidFile, MissingExtra

    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtra("sottovoce schema", "pyarrow", "data") from None
    if not path.is_file():
        raise InvalidFile(f"{path} is {'a directory, not a file' if path.is_dir() else 'not there'}.")
    parquet = path.suffix.lower() in (".parquet", ".pq")
    try:
        yield from _of_parquet(path) if parquet else _of_csv(path, delimiter)
        return
    except (pa.ArrowException, csv.Error, UnicodeDecodeError, OSError):
        pass
    raise InvalidFile(f"{path} cannot be read as {'Parquet' if parquet else 'CSV in UTF-8, with one number of cells'}.")


def _of_parquet(path: Path) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        yield from file.iter_batches()


def _of_csv(path: Path, delimiter: str) -> Iterator[Any]:
    import csv

    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    from ..data.cells import as_number
    from ..errors import InvalidFile, InvalidInput

    if len(delimiter) != 1:
        raise InvalidInput("--delimiter must be one character.")
    with path.open(encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file, delimiter=delimiter), [])
    if not names:
        raise InvalidFile(f"{path} is empty. Its first line must name the columns.")
    if any(as_number(name) is not None for name in names):
        raise InvalidFile(f"{path}, line 1: there are numbers where the names of the columns should be.")
    if len(names) == 1 and (other := [mark for mark in ";,\t|" if mark in names[0]]):
        raise InvalidFile(
            f"{path} has one column. Is it separated by {other[0]!r}? Then give --delimiter {other[0]!r}."
        )
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidFile(f"{path}, line 1: two columns are named {twice[0]!r}.")
    reader = arrow_csv.open_csv(
        path,
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    yield from reader
