"""Tables in Python: pandas, polars, pyarrow, DuckDB relations and what else narwhals or Arrow know; NumPy with names.

Nothing is copied as a whole: frames are turned into Arrow some rows at a time, and lazy ones are streamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import numpy as np

from ...errors import InvalidFile, InvalidInput
from ..schema import Column
from .source import ROWS, Source, library


class FrameSource(Source):
    """A table that a program holds.

    Parameters
    ----------
    table : pandas, polars, pyarrow or other table, mapping of str to array, structured array, or pair
        A frame, also a lazy one; a pyarrow table, batch or dataset; a DuckDB relation; columns by name; or a pair of an
        array ``(rows, columns)`` and the columns' names.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce.data.schema import Schema
    >>> source = FrameSource((np.array([[61.0, 2.5], [58.0, 3.0]]), ["age", "dose"]))
    >>> [batch.to_pydict() for batch in source.batches(Schema({"dose": "number"}))]
    [{'dose': [2.5, 3.0]}]
    """

    def __init__(self, table: Any) -> None:
        library("pyarrow", "a table")
        self._kind = f"the table ({type(table).__name__})"
        self._columns = _columns(table)
        self._table = table if self._columns is not None else self._framed(table)

    def describe(self) -> str:
        return self._kind

    def _framed(self, table: Any) -> Any:
        """As narwhals has it; as it is where Arrow can read it."""
        import narwhals as nw

        found, trouble = None, ""
        try:
            found = nw.from_native(table, pass_through=True)
        except nw.exceptions.DuplicateError:
            trouble = "two columns have the same name. Rename one of them"
        except Exception as error:
            trouble = f"it cannot be read as a table ({type(error).__name__})"
        if trouble:
            raise InvalidFile(f"{self.describe()}: {trouble}.")
        if isinstance(found, nw.DataFrame | nw.LazyFrame) or _is_dataset(found):
            return found
        if hasattr(found, "__arrow_c_stream__") or hasattr(found, "__arrow_c_array__"):
            return found
        raise InvalidInput(
            f"{self.describe()} is no table with named columns. Give a frame, a pyarrow table, columns by name, or "
            "a pair of an array and names."
        )

    def names(self) -> list[str]:
        return self._different([str(name) for name in self._given()])

    def _given(self) -> list[Any]:
        """The names as the table has them, which need not be texts."""
        import narwhals as nw

        if self._columns is not None:
            return list(self._columns)
        if isinstance(self._table, nw.DataFrame):
            return list(self._table.columns)
        if isinstance(self._table, nw.LazyFrame):
            return list(self._table.collect_schema())
        return list(self._table.schema.names if _is_dataset(self._table) else _reader(self._table).schema.names)

    def _read(self, wanted: Mapping[str, Column]) -> Iterator[Any]:
        by_text = {str(name): name for name in self._given()}
        chosen = [by_text[name] for name in wanted]
        try:
            yield from self._batches_of(chosen)
            return
        except InvalidInput:
            raise
        except Exception as error:  # whose words may quote cells
            kind = type(error).__name__
        raise InvalidFile(f"{self.describe()} cannot be computed: {kind}. Look at what it says by itself.")

    def _batches_of(self, chosen: list[Any]) -> Iterator[Any]:
        import narwhals as nw

        table = self._table
        if self._columns is not None:
            rows = len(next(iter(self._columns.values())))
            for first in range(0, rows, ROWS):
                yield self._batch({name: self._columns[name][first : first + ROWS] for name in chosen})
        elif isinstance(table, nw.DataFrame):
            few = table.select(chosen)
            for first in range(0, len(few), ROWS):
                part = few[first : first + ROWS]
                yield self._batch({name: part.get_column(name) for name in chosen})
        elif isinstance(table, nw.LazyFrame):
            yield from _streamed(table.select(chosen).to_native())
        elif _is_dataset(table):
            yield from table.to_batches(columns=chosen, batch_size=ROWS, batch_readahead=2, fragment_readahead=1)
        else:
            yield from _reader(table)

    def _batch(self, columns: Mapping[Any, Any]) -> Any:
        import pyarrow as pa

        made = {}
        for name, values in columns.items():
            try:
                arrow = values.to_arrow() if hasattr(values, "to_arrow") else pa.array(values)
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                arrow = None
            if arrow is None or (pa.types.is_date(arrow.type) and _has_times(values)):
                raise InvalidFile(
                    f"{self.describe()}, column {str(name)!r}: its cells are of different kinds, or of none that Arrow "
                    "has."
                )
            made[str(name)] = arrow.combine_chunks() if isinstance(arrow, pa.ChunkedArray) else arrow
        return pa.record_batch(made)


def _columns(table: Any) -> dict[str, Any] | None:
    """The columns of what NumPy or plain Python holds; None for other tables."""
    if isinstance(table, np.ndarray):
        if table.dtype.names is None or table.ndim != 1:
            raise InvalidInput("an array has no names of columns. Give a pair, of it and their names.")
        return {name: table[name] for name in table.dtype.names}
    if isinstance(table, tuple):
        if len(table) != 2 or not isinstance(table[0], np.ndarray) or table[0].ndim != 2:
            raise InvalidInput("a pair must be an array (rows, columns) and the names of its columns.")
        array, names = table[0], [str(name) for name in table[1]]
        if array.shape[1] != len(names):
            raise InvalidInput(f"the array has {array.shape[1]} columns; there are {len(names)} names for them.")
        if len(set(names)) < len(names):
            raise InvalidInput("two columns have the same name. Rename one of them.")
        if isinstance(array, np.ma.MaskedArray):  # what is masked is missing
            return {name: array[:, k] for k, name in enumerate(names)}
        return {name: np.ascontiguousarray(array[:, k]) for k, name in enumerate(names)}
    if not isinstance(table, Mapping):
        return None
    columns = {str(name): values if _is_column(values) else [values] for name, values in table.items()}
    lengths = {name: len(values) for name, values in columns.items()}
    if not columns or len(columns) < len(table):
        raise InvalidInput("columns by name need at least one, and no name twice.")
    if len(set(lengths.values())) > 1:
        raise InvalidInput(
            f"columns must be of one length; they have {', '.join(f'{k!r}: {v}' for k, v in lengths.items())}."
        )
    return columns


def _is_column(values: Any) -> bool:
    """A text is one cell, and not a column of letters."""
    return hasattr(values, "__len__") and not isinstance(values, str | bytes)


def _has_times(values: Any) -> bool:
    """Whether there are times of a day among Python's dates: Arrow would cut them off."""
    kind = str(getattr(values, "dtype", "object")).lower()
    return kind == "object" and any(isinstance(value, datetime) for value in values)


def _is_dataset(table: Any) -> bool:
    return type(table).__module__.startswith("pyarrow") and hasattr(table, "get_fragments")


def _streamed(native: Any) -> Iterator[Any]:
    """What a lazy frame comes to, some rows at a time where it can."""
    if hasattr(native, "collect_batches"):  # polars
        for frame in native.collect_batches(chunk_size=ROWS, maintain_order=True):
            yield from _reader(frame)
    elif hasattr(native, "__arrow_c_stream__"):  # DuckDB
        yield from _reader(native)
    else:
        import narwhals as nw

        yield from nw.from_native(native).collect(backend="pyarrow").to_native().to_batches()


def _reader(table: Any) -> Any:
    import pyarrow as pa

    if hasattr(table, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(table)
    batch = pa.record_batch(table)
    return pa.RecordBatchReader.from_batches(batch.schema, [batch])
