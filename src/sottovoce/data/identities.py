"""Which rows of a party's table are in use, in numbers that tell rows apart and nothing else.

A row is known by the column that identifies it, or by all that the source has of it, whatever a run uses: were it known
by the columns in use, the same row would be another one in every run. Numbers count by their value and other cells by
their text, so that a table that is written anew has the same rows.

Keyed BLAKE2b makes 8 bytes of a row: among a million rows, two that are not the same are taken for one with a chance of
5e-8.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from .column import Column
from .sources import Source
from .sources.csv_source import CSVSource
from .table import Table
from .typed import typed

Words = npt.NDArray[np.uint64]

BY_COLUMN = np.uint64(1 << 63)  # set in the words of rows that a column identifies: those of others are never the same
NUMBER = r"^-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"  # 007 is a text
MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00:00(?:\.0+)?$"  # a date
EXACT = 2.0**53  # up to here float64 has all whole numbers
MISSING, FRACTION = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def rows_in_use(table: Table, key: bytes, by: str | None = None) -> Words:
    """A word for every row that a statistic of this table is computed on, in no order.

    Parameters
    ----------
    table : Table
        What is asked of a party's source.
    key : bytes
        32 secret ones. With another key rows have other words.
    by : str, optional
        The column that identifies a row. Default: all columns of the source.
    """
    source = table.source
    wanted = table.schema.restricted(table.selection.needs)
    if table.missing == "raise":  # all rows are in use, or the table is refused
        return rows_of_source(source, key, by)
    survey = table.no_rows()
    if isinstance(source, CSVSource):  # which reads a cell as the schema says, if it is asked for a number
        complete = [survey.complete(typed(wanted, batch, survey.read)) for batch in source.batches(wanted)]
        every = rows_of_source(source, key, by)
        used: Words = every[np.concatenate([np.empty(0, bool), *complete])]
        return used
    own = _as_they_are(source, by)
    together = {**own, **wanted}  # in one pass: a database may give the same rows in another order

    def complete_rows() -> Iterator[Words]:
        for batch in source.batches(together):
            kept = survey.complete(typed(wanted, batch, survey.read))
            yield words_of(batch.select(list(own)), key, by)[kept]

    return _joined(complete_rows())


def rows_of_source(source: Source, key: bytes, by: str | None = None) -> Words:
    """The same of a source of which all rows are in use."""
    return _joined(words_of(batch, key, by) for batch in source.batches(_as_they_are(source, by)))


def _as_they_are(source: Source, by: str | None) -> dict[str, Column]:
    """All columns that tell rows apart; as texts, where a source has nothing but texts."""
    names = sorted(source.names())
    if by is not None and by not in names:
        raise InvalidInput(f"id names the column {by!r}, which {source.describe()} has not. Name one that it has.")
    return {name: Column(name, "category", levels=("0", "1")) for name in ([by] if by is not None else names)}


def _joined(parts: Iterator[Words]) -> Words:
    return np.concatenate([np.empty(0, np.uint64), *parts])


def words_of(batch: Any, key: bytes, by: str | None = None) -> Words:
    """Of the rows of a record batch, by all its columns in their order."""
    if by is not None and batch.column(0).null_count:
        raise InvalidInput(f"id names the column {by!r}, in which values are missing. Name one that has all of them.")
    cells = np.column_stack([_cells(column, key) for column in batch.columns]).astype("<u8", copy=False)
    content, size = memoryview(np.ascontiguousarray(cells).tobytes()), 8 * cells.shape[1]
    digests = (
        hashlib.blake2b(content[at : at + size], key=key, digest_size=8, person=b"row").digest()
        for at in range(0, len(content), size)
    )
    words = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
    return words | BY_COLUMN if by is not None else words & ~BY_COLUMN


def _cells(array: Any, key: bytes) -> Words:
    """A word for every cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind):
        words = _cells(array.dictionary, key)
        at = pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False)
        found = words[at] if len(words) else np.full(len(array), MISSING)
    elif pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        numbers = pc.fill_null(array, False if pa.types.is_boolean(kind) else 0).to_numpy(zero_copy_only=False)
        found = numbers.astype(np.uint64 if kind == pa.uint64() else np.int64).view(np.uint64)
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(array)
    else:
        found = _texts(array, key)
    return np.where(_nulls(array), MISSING, found)


def _nulls(array: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def _numbers(array: Any) -> Words:
    """Whole ones are as integers have them; nan is missing."""
    import pyarrow as pa

    wide = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # nan for null
    whole = (np.abs(wide) < EXACT) & (wide == np.floor(wide))
    integers = np.where(whole, wide, 0.0).astype(np.int64).view(np.uint64)
    found = np.where(whole, integers, np.ascontiguousarray(wide).view(np.uint64) ^ FRACTION)
    return np.where(np.isnan(wide), MISSING, found)


def _texts(array: Any, key: bytes) -> Words:
    """Those of numbers are as those numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        texts = array.cast(pa.large_string())
    except (pa.ArrowException, NotImplementedError):  # bytes, lists, ..
        texts = pa.array([None if cell is None else repr(cell) for cell in array.to_pylist()], pa.large_string())
    texts = pc.utf8_trim_whitespace(texts)
    texts = pc.replace_substring_regex(texts, MIDNIGHT, r"\1")
    like = pc.fill_null(pc.match_substring_regex(texts, NUMBER), False)
    found = np.empty(len(texts), np.uint64)
    numbers = np.asarray(like.to_numpy(zero_copy_only=False), dtype=bool)
    if numbers.any():
        given = texts.filter(like)
        whole = np.asarray(pc.match_substring_regex(given, "^-?[0-9]+$").to_numpy(zero_copy_only=False), dtype=bool)
        values = _numbers(given.cast(pa.float64()))
        values[whole] = given.filter(pa.array(whole)).cast(pa.int64()).to_numpy(zero_copy_only=False).view(np.uint64)
        found[numbers] = values
    coded = texts.filter(pc.invert(like)).dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    words = [
        hashlib.blake2b(text.as_buffer() or b"", key=key, digest_size=8, person=b"cell").digest()
        for text in coded.dictionary
    ]
    each = np.frombuffer(b"".join(words), "<u8").astype(np.uint64)
    at = pc.fill_null(coded.indices, 0).to_numpy(zero_copy_only=False)
    found[~numbers] = each[at] if len(each) else MISSING  # nulls are told by who asks
    return found
