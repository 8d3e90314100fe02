"""What the families ask of their arguments, and the sentences for what they refuse."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidCost
from ..numerics.unquoted import kind_of
from .base import Array, as_floats, as_vector


def finite_vector(value: npt.ArrayLike, name: str) -> tuple[Array, tuple[int, ...]]:
    """One node's number or vector as ``(1, d)``, with the shape that the user meant."""
    rows, shape = as_vector(value, name)
    return _finite(rows, name), shape


def finite_rows(value: npt.ArrayLike, name: str) -> tuple[Array, tuple[int, ...]]:
    """One node a row, ``(n,)`` or ``(n, d)``, as ``(n, d)``, with the shape of one node's variable."""
    rows = as_floats(value, name)
    if rows.ndim not in (1, 2):
        raise InvalidCost(f"{name} must have one row per node, (n,) or (n, d); got shape {rows.shape}.")
    return _finite(rows.reshape(len(rows), -1) if rows.size else rows.reshape(1, -1), name), rows.shape[1:]


def positive(value: npt.ArrayLike, name: str, count: int = 1) -> Array:
    """A parameter that must be > 0, one for all nodes or one each, as ``(count,)``."""
    array = as_floats(value, name)
    if array.shape not in ((), (count,)) or not (np.isfinite(array) & (array > 0)).all():
        each = f" or {count} of them, one per node" if count > 1 else ""
        got = value if array.shape == () else kind_of(value)
        raise InvalidCost(f"{name} must be a finite number > 0{each}; got {got}.")
    return array if array.ndim else np.full(count, array)


def as_shape(dim: int | None) -> tuple[int, ...]:
    """``()`` for one number, ``(dim,)`` for a vector."""
    if dim is None:
        return ()
    try:
        length = index(dim)
    except TypeError:
        length = 0
    if length < 1:
        got = dim if isinstance(dim, int | float) else kind_of(dim)
        raise InvalidCost(f"dim must be None, for one number, or a whole number >= 1; got {got}.")
    return (length,)


def as_signs(labels: Array) -> Array:
    """Labels of two classes, ``{0, 1}`` or ``{-1, 1}``, as ``-1`` and ``1``."""
    ones = labels == 1  # comparisons: np.isin takes ten times as long on the few rows of a party
    if not ((ones | (labels == 0)).all() or (ones | (labels == -1)).all()):  # not quoted: they are data
        raise InvalidCost("labels must all be in {0, 1} or all in {-1, 1}; there are others, or some of both.")
    return np.where(ones, 1.0, -1.0)


def one_object(thing: Any) -> npt.NDArray[Any]:
    """Anything as an object array of one node; ``np.array([thing])`` would look inside."""
    array = np.empty(1, dtype=object)
    array[0] = thing
    return array


def _finite(rows: Array, name: str) -> Array:
    if not rows.size:
        raise InvalidCost(f"{name} must not be empty.")
    if not np.isfinite(rows).all():
        bad = rows[~np.isfinite(rows)][0]
        raise InvalidCost(f"{name} must be finite; got {bad}. Remove or impute the missing values first.")
    return rows
