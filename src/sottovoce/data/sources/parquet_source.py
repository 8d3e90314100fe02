"""Parquet: one file, or the files of a folder in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import InvalidFile
from ..schema import Column
from .source import ROWS, Source, library, listed, stamp_of

SUFFIXES = (".parquet", ".pq")


class ParquetSource(Source):
    """A Parquet file, or a folder of Parquet files with the same columns.

    Parameters
    ----------
    path : str or Path
        The file or the folder.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow, pyarrow.parquet
    >>> from sottovoce.data.schema import Schema
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in (1, 2):
    ...         rows = pyarrow.table({"age": [60 + part, None], "dose": [1.0, 2.0]})
    ...         pyarrow.parquet.write_table(rows, f"{folder}/part-{part}.parquet")
    ...     [batch.to_pydict() for batch in ParquetSource(folder).batches(Schema({"age": "number"}))]
    [{'age': [61, None]}, {'age': [62, None]}]
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def describe(self) -> str:
        return str(self.path)

    def stamp(self) -> object:
        return stamp_of(self._files())

    def _files(self) -> list[Path]:
        if not self.path.is_dir():
            return [self.path]
        files = sorted(path for path in self.path.iterdir() if path.suffix in SUFFIXES and path.name[0] not in "._")
        if not files:
            raise InvalidFile(
                f"{self.path} is a folder without a file *.parquet or *.pq. Files in folders of it are not read."
            )
        return files

    def names(self) -> list[str]:
        first, *others = self._files()
        names = self._different(self._open(first).schema_arrow.names)
        for path in others:
            if extra := sorted(set(names) ^ set(self._different(self._open(path).schema_arrow.names))):
                raise InvalidFile(
                    f"{path} and {first} have different columns: only one of them has {listed(extra)}. Make them agree."
                )
        return names

    def _open(self, path: Path) -> Any:
        parquet = library("pyarrow.parquet", "a Parquet table")
        stamp_of([path])  # says what is wrong with a file that is not there
        try:
            # Arrow would read all row groups ahead, and keep them until the last is asked for.
            return parquet.ParquetFile(path, memory_map=False, pre_buffer=False)
        except (OSError, ValueError):  # ArrowInvalid is a ValueError
            pass
        raise InvalidFile(f"{path} cannot be read as Parquet. Is the file whole?")

    def _read(self, wanted: Mapping[str, Column]) -> Iterator[Any]:
        for path in self._files():
            file = self._open(path)
            try:
                yield from file.iter_batches(ROWS, columns=list(wanted))
                continue
            except (OSError, ValueError):
                pass
            finally:
                file.close()
            raise InvalidFile(f"{path} cannot be read to its end. Is the file whole?")
