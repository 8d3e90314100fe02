"""Arrays of texts: without the blanks around them, and what of them is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch import Array
from ..column import Column
from ..problems import Fault

Faults = npt.NDArray[np.uint8]  # of each cell a Fault, or 0
Cells = tuple[Array, Faults]  # values, which mean nothing where there is a fault


def is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def of_type(array: Any, kind: Any) -> Any:
    """The array as one of another type; None where a cell cannot be read as that."""
    import pyarrow as pa

    try:
        return array.cast(kind)
    except pa.ArrowInvalid:
        return None


def without(array: Any, fault: Faults) -> Any:
    """The array with nothing where there is a fault."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pa.array(fault == 0), array, None)


def unreadable(array: Any, fault: Fault) -> Cells:
    """Of an array of a type that cannot be read: every cell that is not missing has the fault."""
    import pyarrow as pa

    # Frames have NaN in a column without any values, whatever it is meant to hold.
    missing = np.asarray(array.is_null(nan_is_null=pa.types.is_floating(array.type)))
    return np.zeros(len(array)), np.where(missing, Fault.MISSING, fault).astype(np.uint8)


def stripped(column: Column, texts: Any) -> tuple[Any, Faults]:
    """Texts without the blanks around them, accents as the schema has them, and those that are missing: without a
    value, empty, or a missing code."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fault = np.zeros(len(texts), np.uint8)
    try:
        texts = pc.utf8_trim_whitespace(texts)
    except pa.ArrowInvalid:  # a file may hold any bytes
        fault[:] = [_fault_of_bytes(cell) for cell in texts.cast(pa.large_binary()).to_pylist()]
        texts = pc.utf8_trim_whitespace(without(texts, fault))
    if not all(code.isascii() for code in (*column.levels, *column.missing)):
        texts = pc.utf8_normalize(texts, form="NFC")
    nothing = pc.is_in(texts, value_set=pa.array([None, "", *column.missing], pa.large_string()))
    fault[np.asarray(nothing) & (fault == 0)] = Fault.MISSING
    return texts, fault


def _fault_of_bytes(cell: bytes | None) -> int:
    try:
        (cell or b"").decode()
    except UnicodeDecodeError:
        return Fault.NOT_TEXT
    return 0
