"""Arrow IPC files and streams; Feather files are such files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import InvalidFile
from ..schema import Column
from .source import Source, library, stamp_of


class ArrowSource(Source):
    """An Arrow IPC file or stream, or a Feather file (version 2).

    Parameters
    ----------
    path : str or Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow, pyarrow.feather
    >>> from sottovoce.data.schema import Schema
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.feather.write_feather(pyarrow.table({"age": [61, None]}), f"{folder}/rows.feather")
    ...     [batch.to_pydict() for batch in ArrowSource(f"{folder}/rows.feather").batches(Schema({"age": "number"}))]
    [{'age': [61, None]}]
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def describe(self) -> str:
        return str(self.path)

    def stamp(self) -> object:
        return stamp_of([self.path])

    def names(self) -> list[str]:
        with self._file() as file:
            return self._different(self._open(file).schema.names)

    def _file(self) -> Any:
        pyarrow = library("pyarrow", "an Arrow table")
        stamp_of([self.path])  # says what is wrong with a file that is not there
        try:
            return pyarrow.OSFile(str(self.path))
        except OSError as error:
            raise InvalidFile(f"{self.path} cannot be read: {error.strerror or 'no file'}.") from None

    def _open(self, file: Any, fields: list[int] | None = None) -> Any:
        ipc = library("pyarrow.ipc", "an Arrow table")
        begin = file.read(6)
        file.seek(0)
        options = ipc.IpcReadOptions(included_fields=fields or [])  # none means all
        try:
            return (
                ipc.open_file(file, options=options) if begin == b"ARROW1" else ipc.open_stream(file, options=options)
            )
        except (OSError, ValueError):
            pass
        old = " It is a Feather file of version 1: write it again." if begin[:4] == b"FEA1" else " Is the file whole?"
        raise InvalidFile(f"{self.path} cannot be read as Arrow.{old}")

    def _read(self, wanted: Mapping[str, Column]) -> Iterator[Any]:
        names = self.names()
        with self._file() as file:
            reader = self._open(file, [names.index(name) for name in wanted])
            try:
                if hasattr(reader, "num_record_batches"):
                    yield from (reader.get_batch(k) for k in range(reader.num_record_batches))
                else:
                    yield from reader
                return
            except (OSError, ValueError):
                pass
        raise InvalidFile(f"{self.path} cannot be read to its end. Is the file whole?")
