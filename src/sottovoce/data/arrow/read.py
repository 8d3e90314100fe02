"""By the type that the schema gives a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..column import Column
from ..problems import Fault
from .dates import dates
from .levels import booleans, levels
from .numbers import numbers
from .texts import Cells, is_text

READ: dict[str, Callable[[Column, Any], Cells]] = {
    "number": numbers,
    "integer": numbers,
    "category": levels,
    "boolean": booleans,
    "date": dates,
}


def cells_of(column: Column, array: Any) -> Cells:
    """The numbers of a column, ``nan`` where there is a fault, and the fault of each cell."""
    values, fault = _cells(column, array)
    wrong = fault != 0
    return (np.where(wrong, np.nan, values) if wrong.any() else values), fault


def _cells(column: Column, array: Any) -> Cells:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _plain(array)
    if is_text(array.type) and column.type in ("category", "boolean"):  # few texts, many times
        array = pc.dictionary_encode(array)
    if not pa.types.is_dictionary(array.type):
        return _read(column, array)
    values, fault = _read(column, _plain(array.dictionary))
    # A cell without an index is missing; it gets a place of its own, behind the last.
    at = pc.fill_null(array.indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)
    return np.append(values, 0.0)[at], np.append(fault, np.uint8(Fault.MISSING))[at]


def _plain(array: Any) -> Any:
    """Without a wrapping, and texts of one type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    return array.cast(pa.large_string()) if is_text(array.type) else array


def _read(column: Column, array: Any) -> Cells:
    import pyarrow as pa

    if pa.types.is_null(array.type):
        return np.zeros(len(array)), np.full(len(array), Fault.MISSING, np.uint8)
    return READ[column.type](column, array)
