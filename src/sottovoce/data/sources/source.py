"""Where rows come from: a source yields the columns that are asked for, as Arrow record batches of bounded size.

A source is read several times, as statistics take several passes. What changes in between would make an answer of two
tables, so that a change is looked for and refused. No sentence quotes a cell, or what a library says of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import InvalidFile, InvalidInput, MissingExtra
from ...files.toml_table import nearest
from ..schema import Column
from .fingerprint import Fingerprint

ROWS = 32_768  # of a batch, at most: of 20 columns, 5 MB


class Source(ABC):
    """A table that can be read again and again, in the same order.

    ``names``, ``describe`` and ``_read`` are what a kind of source has of its own.

    Examples
    --------
    >>> from sottovoce.data.schema import Schema
    >>> from sottovoce.data.sources import open_source
    >>> source = open_source({"age": [61, None], "dose": [2.5, 3.0]})
    >>> source.names()
    ['age', 'dose']
    >>> [batch.to_pydict() for batch in source.batches(Schema({"age": "integer"}))]
    [{'age': [61, None]}]
    """

    _seen: object | None = None  # the stamp of the first pass
    _content: tuple[frozenset[str], object] | None = None  # of a source without a stamp: columns, and what they came to

    @abstractmethod
    def names(self) -> list[str]:
        """The names of its columns, all different."""

    @abstractmethod
    def describe(self) -> str:
        """What it is, for sentences; without a secret."""

    def stamp(self) -> object | None:
        """What changes when the data change; None where nothing tells, and what was read is compared instead."""
        return None

    def forgiving(self) -> Source:
        """The same table, whose cells that cannot be read come as texts that no type allows instead of a refusal: for
        those who want to know of all."""
        return self

    @abstractmethod
    def _read(self, wanted: Mapping[str, Column]) -> Iterable[Any]:
        """Record batches that have the columns ``wanted``, in any order, maybe among others, of any size."""

    def batches(self, wanted: Mapping[str, Column]) -> Iterator[Any]:
        """One pass over the rows: record batches of at most 32,768 rows with the columns ``wanted`` in their order.

        Parameters
        ----------
        wanted : mapping of str to Column
            The columns to read, such as a ``Schema``.

        Yields
        ------
        pyarrow.RecordBatch
            Some rows, in the order of the source.

        Raises
        ------
        InvalidInput
            Where a column is not there, or a cell cannot be read; ``InvalidFile`` also where the table has changed.
        """
        before = self.stamp()
        if self._seen is None:
            self._seen = before
        elif before != self._seen:
            raise self._changed("since it was read first")
        self._look_for(wanted)
        if before is not None:
            try:
                yield from self._bounded(wanted)
            except InvalidInput:  # half a file is mostly not one
                if self.stamp() == before:
                    raise
            if self.stamp() != before:
                raise self._changed("while it was read")
            return
        content = Fingerprint()
        for batch in self._bounded(wanted):
            content.add(batch)
            yield batch
        found = (frozenset(wanted), content.value)
        if self._content is not None and self._content[0] == found[0] and self._content != found:
            raise self._changed("since it was read first")
        self._content = found

    def _bounded(self, wanted: Mapping[str, Column]) -> Iterator[Any]:
        chosen = list(wanted)
        for batch in self._read(wanted):
            whole = batch if batch.schema.names == chosen else self._selected(batch, chosen)
            for first in range(0, whole.num_rows, ROWS):
                yield whole.slice(first, ROWS)

    def _selected(self, batch: Any, chosen: list[str]) -> Any:
        if all(batch.schema.names.count(name) == 1 for name in chosen):
            return batch.select(chosen)
        raise InvalidFile(f"{self.describe()}: two columns have the same name, but for capitals. Rename one of them.")

    def _look_for(self, wanted: Mapping[str, Column]) -> None:
        if not wanted:
            raise InvalidInput(f"{self.describe()}: no column is asked for. Name at least one.")
        names = self.names()
        for name in wanted:
            if name not in names:
                hint = self._hint()
                told = self._listed(names, wanted)
                near = nearest(name, names) if told.startswith(" It has") and not hint else "."
                raise InvalidFile(f"{self.describe()} has no column {name!r}{near}{told}{hint}")

    def _listed(self, names: list[str], wanted: Iterable[str]) -> str:
        """What columns it has."""
        return f" It has: {listed(names)}."

    def _hint(self) -> str:
        """What else may be wrong where a column is not there."""
        return ""

    def _changed(self, when: str) -> InvalidFile:
        return InvalidFile(
            f"{self.describe()} changed {when}; keep it as it is until the run has ended, and start again."
        )

    def _different(self, names: Sequence[str]) -> list[str]:
        """The names, none of them twice."""
        for name in names:
            if names.count(name) > 1:
                raise InvalidFile(f"{self.describe()}: two columns are named {name!r}. Rename one of them.")
        return list(names)


def library(name: str, what: str) -> Any:
    """A module of the extra ``data``, or how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(what, name.partition(".")[0].replace("_", "-"), "data") from None


def stamp_of(paths: Iterable[Path]) -> object:
    """Size, time of the last change and inode of files."""
    found = []
    for path in paths:
        try:
            status = path.stat()
        except FileNotFoundError:
            raise InvalidFile(f"{path} does not exist.") from None
        except OSError as error:
            raise InvalidFile(f"{path} cannot be read: {error.strerror or error}.") from None
        found.append((str(path), status.st_size, status.st_mtime_ns, status.st_ino))
    return tuple(found)


def listed(names: Sequence[str]) -> str:
    """Names for a sentence, the first twenty of many."""
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
