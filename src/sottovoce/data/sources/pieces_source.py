"""Tables that come in pieces: an iterator, a list of batches, or a function that starts one over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from ...errors import InvalidInput
from ...numerics.unquoted import kind_of
from ..schema import Column
from .frame_source import FrameSource
from .source import Source, library


class PiecesSource(Source):
    """Batches, one after the other, all with the same columns.

    Parameters
    ----------
    pieces : callable, list or iterator
        A function that gives an iterator of tables each time it is called; a list of tables; or an iterator or a
        ``RecordBatchReader``, which can be read once.

    Examples
    --------
    >>> from sottovoce.data.schema import Schema
    >>> source = PiecesSource(lambda: ({"age": [age]} for age in (61, 58)))
    >>> [batch.to_pydict() for batch in source.batches(Schema({"age": "number"}))]
    [{'age': [61]}, {'age': [58]}]
    """

    def __init__(self, pieces: Callable[[], Iterable[Any]] | Iterable[Any]) -> None:
        library("pyarrow", "a table")
        self._again = pieces if callable(pieces) else (lambda: pieces) if isinstance(pieces, list) else None
        self._once = None if callable(pieces) or isinstance(pieces, list) else iter(pieces)
        self._names: list[str] | None = None
        self._used = False

    def describe(self) -> str:
        return "the batches"

    def names(self) -> list[str]:
        if self._names is None:
            pieces = iter(self._again()) if self._again is not None else self._once
            assert pieces is not None
            first = next(pieces, None)
            if first is None:
                raise InvalidInput(
                    "there is no batch, and so no names of columns. Give at least one, which may be without rows."
                )
            self._names = _source(first).names()
            if self._once is not None:
                self._once = chain([first], pieces)
        return list(self._names)

    def _read(self, wanted: Mapping[str, Column]) -> Iterator[Any]:
        if self._again is None and self._used:
            raise InvalidInput(
                "an iterator of batches can be read once, and statistics read their rows several times. Give a list of "
                "batches, or a function that makes the iterator."
            )
        self._used = True
        names = self.names()
        pieces = iter(self._again()) if self._again is not None else self._once
        for number, piece in enumerate(pieces or (), start=1):
            source = _source(piece)
            if set(source.names()) != set(names):
                raise InvalidInput(f"batch {number} has other columns than the first. All must have the same.")
            yield from source._read(wanted)


def _source(piece: Any) -> FrameSource:
    if isinstance(piece, str | bytes | int | float):
        raise InvalidInput(f"a batch must be a table with named columns; got {kind_of(piece)}.")
    return FrameSource(piece)
