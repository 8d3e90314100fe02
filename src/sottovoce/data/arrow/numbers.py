"""Numbers, from numbers and texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..batch import LOSS, Array, UnitRounding
from ..column import WHOLE, Column
from ..decimal_unit import beyond, rounded_to
from ..problems import Fault
from .texts import Cells, Faults, is_text, of_type, stripped, unreadable, without

NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"
NUMBER_OR_NONE = rf"{NUMBER}|^[+-]?(?i:nan|inf|infinity)$"


def numbers(column: Column, array: Any) -> Cells:
    """Finite numbers, whole ones where the column has such, within its range."""
    values, fault = any_numbers(column, array)
    wrong = [(Fault.INFINITE, np.isinf(values))]
    if column.type == "integer":
        wrong += [(Fault.TOO_LARGE, np.abs(values) > WHOLE), (Fault.NOT_WHOLE, values != np.floor(values))]
    if column.limits is not None:
        # Ends are in the range, also where the table has fewer digits than the schema: 0.1 as a float32 is more than
        # 0.1.
        low, high = column.limits
        rounded_low, rounded_high = _as_of(array.type, column.limits)
        outside = (values < min(low, rounded_low)) | (values > max(high, rounded_high))
        wrong.append((Fault.OUT_OF_RANGE, outside))
    if column.unit is not None:
        wrong.append((Fault.TOO_LARGE_FOR_ITS_UNIT, np.abs(values) >= beyond(column.unit)))
    for kind, where in wrong:
        if where.any():
            fault[where & (fault == 0)] = kind
    return values, fault


def in_units(column: Column, array: Any, values: Array) -> tuple[Array, UnitRounding]:
    """Numbers of an array brought to the unit of their column, and how far they were from its multiples. An array with
    fewer digits than float64 has multiples as near as it can. Without a unit numbers stay as they are, and are rounded
    to the grid of their range when they are summed."""
    unit = column.grid if column.type == "number" else None
    if unit is None:
        return values, UnitRounding()
    size = float(np.nansum(np.abs(values)))
    if column.unit is None and float(unit) * len(values) <= LOSS * size:  # a loss of no weight, whatever they are
        return values, UnitRounding(size=size)
    rounded = rounded_to(unit, values)
    nearest = _as_of(getattr(array.type, "value_type", array.type), rounded)  # of a dictionary
    off = (nearest != values) & ~np.isnan(values)
    lost = np.abs(rounded[off] - values[off]).sum()
    return values if column.unit is None else rounded, UnitRounding(int(np.count_nonzero(off)), float(lost), size)


def any_numbers(column: Column, array: Any) -> Cells:
    """The numbers of an array, whatever they are, less those that stand for missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if is_text(kind) or pa.types.is_decimal(kind):  # Arrow's own way from decimals to floats rounds twice
        values, fault = _parsed(column, array.cast(pa.large_string()))
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        fault = np.where(np.isnan(values), Fault.MISSING, 0).astype(np.uint8)
    else:
        return unreadable(array, Fault.NOT_A_NUMBER)
    if codes := [float(code) for code in column.missing if re.match(NUMBER, code, re.ASCII)]:
        fault[np.isin(values, _as_of(kind, codes))] = Fault.MISSING
    return values, fault


def _parsed(column: Column, texts: Any) -> tuple[Array, Faults]:
    import pyarrow as pa
    import pyarrow.compute as pc

    fault = np.zeros(len(texts), np.uint8)
    found = of_type(texts, pa.float64())
    if found is None:  # blanks, missing codes, or no numbers
        texts, fault = stripped(column, texts)
        found = of_type(without(texts, fault), pa.float64())
    if found is None:
        fault[~_matches(texts) & (fault == 0)] = Fault.NOT_A_NUMBER
        found = pc.cast(without(texts, fault), pa.float64())
    values = found.to_numpy(zero_copy_only=False)
    if (missing := np.isnan(values) & (fault == 0)).any():
        fault[missing] = Fault.MISSING
        written = np.flatnonzero(missing & np.asarray(texts.is_valid()))
        odd = ~_matches(texts.take(pa.array(written)))  # to Arrow nan(5) is NaN as well
        fault[written[odd]] = Fault.NOT_A_NUMBER
    return values, fault


def _matches(texts: Any) -> Any:
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(pc.match_substring_regex(texts, NUMBER_OR_NONE), False))


def _as_of(kind: Any, values: Sequence[float] | Array) -> Array:
    """The numbers as an Arrow type has them, with its digits."""
    import pyarrow as pa

    digits: type[np.floating[Any]] = np.float64
    if pa.types.is_float32(kind):
        digits = np.float32
    elif pa.types.is_float16(kind):
        digits = np.float16
    with np.errstate(over="ignore"):
        return np.array(values).astype(digits).astype(np.float64)
