"""Categories and booleans, from texts and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..column import TRUTHS, WHOLE, Column
from ..problems import Fault
from .numbers import any_numbers
from .texts import Cells, is_text, stripped, unreadable


def levels(column: Column, array: Any) -> Cells:
    """The places of levels. A number is the text of it, 1.0 that of 1."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values, fault = any_numbers(column, array)
        whole = (fault == 0) & (np.abs(values) <= WHOLE) & (values == np.floor(values))
        fault[(fault == 0) & ~whole] = Fault.UNKNOWN_LEVEL
        places, unknown = levels(column, pa.array(np.where(whole, values, 0).astype(np.int64)))
        return places, np.where(whole, unknown, fault)
    if is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _places(column, array, column.levels, Fault.UNKNOWN_LEVEL)
    return unreadable(array, Fault.UNKNOWN_LEVEL)


def booleans(column: Column, array: Any) -> Cells:
    """0 and 1."""
    import pyarrow as pa

    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if is_text(array.type):
        places, fault = _places(column, array, TRUTHS, Fault.NEITHER_TRUE_NOR_FALSE, any_case=True)
        return places % 2, fault
    values, fault = any_numbers(column, array)
    fault[(fault > Fault.MISSING) | ((fault == 0) & (values != 0) & (values != 1))] = Fault.NEITHER_TRUE_NOR_FALSE
    return values, fault


def _places(column: Column, array: Any, known: tuple[str, ...], otherwise: Fault, any_case: bool = False) -> Cells:
    """Of each cell its place among texts that are known."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts, fault = stripped(column, array.cast(pa.large_string()))
    texts = pc.utf8_lower(texts) if any_case else texts
    places = pc.index_in(texts, value_set=pa.array(known, pa.large_string()))
    fault[np.asarray(places.is_null()) & (fault == 0)] = otherwise
    return pc.fill_null(places, 0).to_numpy(zero_copy_only=False).astype(np.float64), fault
