"""Tables with named columns, as pandas, polars and pyarrow have them: read by name, and made.

What cannot be read is said by party, column, row and type. A cell is never quoted: it is somebody's data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, Unsupported

Array = npt.NDArray[np.float64]

PLAIN = (float, int, np.ndarray, np.generic, list, tuple, str, bytes, dict, complex, type(None))  # certainly no table


class Columns(NamedTuple):
    """Named columns: ``values`` is ``(rows, columns)``, or ``(rows,)`` of a series, which is one column."""

    names: tuple[str, ...]
    values: Array


def to_frame(columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> Any:
    """Columns as a pandas frame; where pandas is not installed as one of polars, or as a pyarrow table.

    >>> to_frame({"party": ["ada", "bo"], "x": [1.0, 2.0]}).shape
    (2, 2)
    """
    made = {name: list(values) for name, values in columns.items()}
    for library, maker in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        if find_spec(library) is not None:
            return getattr(import_module(library), maker)(made)
    raise Unsupported(
        "a frame needs pandas, polars or pyarrow; none is installed. Use to_dict(), or: pip install pandas"
    )


def read_columns(table: Any, whose: str) -> Columns | None:
    """The columns of a frame or a series with a name, as numbers; None for what has no names, such as an array.

    Whatever ``narwhals`` takes is a frame: pandas, polars (lazy, too), pyarrow and others. A pandas index is no column.
    ``whose`` it is begins the sentence that says what is wrong.
    """
    if isinstance(table, PLAIN):
        return None
    import narwhals as nw

    try:
        found = nw.from_native(table, allow_series=True, pass_through=True)
        if isinstance(found, nw.LazyFrame):
            found = _collected(found, whose)
        elif not isinstance(found, nw.DataFrame | nw.Series) and hasattr(table, "__arrow_c_stream__"):
            found = nw.from_arrow(table, backend="pyarrow")  # such as a record batch
    except nw.exceptions.DuplicateError:
        raise InvalidInput(f"{whose}: two columns have the same name. Rename one of them.") from None
    if isinstance(found, nw.Series):
        bare = found.name in (None, "")  # polars and pyarrow have no None
        values = _numbers(found, "without a name" if bare else str(found.name), whose)
        return None if bare else Columns((str(found.name),), values)
    if not isinstance(found, nw.DataFrame):
        return None
    names = tuple(str(name) for name in found.columns)
    if not names:
        raise InvalidInput(f"{whose}: its frame has no columns.")
    if len(set(names)) < len(names):  # "1" and 1
        raise InvalidInput(f"{whose}: two columns have the same name. Rename one of them.")
    values = np.empty((len(found), len(names)))
    for k, series in enumerate(found.iter_columns()):
        values[:, k] = _numbers(series, names[k], whose)
    return Columns(names, values)


def _collected(lazy: Any, whose: str) -> Any:
    """What a lazy frame comes to. Its own words for what went wrong may quote cells."""
    try:
        return lazy.collect()
    except Exception as error:
        kind = type(error).__name__
    raise InvalidInput(f"{whose}: its lazy frame cannot be computed: {kind}. Look at what collect() says of it.")


def _numbers(series: Any, name: str, whose: str) -> Array:
    """A column as real numbers, True and False as 1 and 0, none of them missing."""
    if not len(series):
        return np.empty(0)  # which has no type either
    kind = str(series.dtype).split("(")[0]  # an Enum would list its levels
    if not (series.dtype.is_numeric() or kind == "Boolean"):
        levels = kind in ("String", "Categorical", "Enum")
        hint = "Make 0/1 columns of it, or leave it out" if levels else "Make it numbers, or leave it out"
        raise InvalidInput(f"{whose}, column {name!r}: holds {kind}, not numbers. {hint}.")
    if (missing := series.is_null().to_numpy()).any():
        raise InvalidInput(_at(whose, name, kind, missing, "is missing"))
    values = np.asarray(series.to_numpy(), dtype=np.float64)
    if (bad := ~np.isfinite(values)).any():
        raise InvalidInput(_at(whose, name, kind, bad, "is NaN or infinite"))
    return values


def _at(whose: str, name: str, kind: str, where: npt.NDArray[np.bool_], what: str) -> str:
    row = f"row {int(where.argmax())} (the first is row 0)"
    return f"{whose}, column {name!r} ({kind}), {row}: its value {what}. Remove or impute the missing values first."


def by_name(found: Sequence[Columns | None], whose: Sequence[str]) -> tuple[str, ...] | None:
    """The names that all tables have, in the order of the first; None where none of them has names.

    A table without names among others, and a column that is missing or too many, are refused.
    """
    named = [columns for columns in found if columns is not None]
    if not named:
        return None
    if len(named) < len(found):
        bare = whose[next(i for i, columns in enumerate(found) if columns is None)]
        first = whose[next(i for i, columns in enumerate(found) if columns is not None)]
        raise InvalidInput(
            f"{bare}: its columns have no names, but those of {first} have. An array could be in any order: "
            "give frames, or arrays, of all."
        )
    for columns, who in zip(named, whose, strict=True):
        _compare(columns.names, named[0].names, who, whose[0])
    return named[0].names


def _compare(own: tuple[str, ...], names: tuple[str, ...], who: str, first: str) -> None:
    missing, extra = [name for name in names if name not in own], [name for name in own if name not in names]
    if missing or extra:
        parts = [f"has no column {_listed(missing)}"] if missing else []
        parts += [f"has a column {_listed(extra)} that {first} has not"] if extra else []
        raise InvalidInput(f"{who}: {', and '.join(parts)}. All must have the same columns, in any order.")


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def in_order(found: Sequence[Columns | None], names: tuple[str, ...]) -> Iterator[Array]:
    """The values of tables that have these columns, in this order."""
    for columns in found:
        assert columns is not None
        if columns.names == names or columns.values.ndim == 1:
            yield columns.values
        else:
            yield np.ascontiguousarray(columns.values[:, [columns.names.index(name) for name in names]])


def chosen(columns: Columns, names: tuple[str, ...], whose: str) -> Array:
    """These columns of a frame, which may have others."""
    if columns.values.ndim == 1:
        raise InvalidInput(f"{whose}: a series is one column; give a frame, such as df.iloc[[0]] for one row.")
    if missing := [name for name in names if name not in columns.names]:
        raise InvalidInput(f"{whose}: has no column {_listed(missing)}.")
    return columns.values[:, [columns.names.index(name) for name in names]]
