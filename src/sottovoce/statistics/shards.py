"""Reading what the parties hold. The first axis is always observations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..costs.base import Array, as_floats
from ..costs.quadratic import as_rows
from ..data.rows import ArrayRows, Rows
from ..data.selection import INTERCEPT
from ..errors import InvalidCost, InvalidInput, is_number
from ..files.frames import by_name, in_order, read_columns
from ..network import Network
from ..numerics.unquoted import kind_of
from ..pdmm.shards import entries, read_pairs, whose

DIGITS = 1e-3  # of a variance
Shards = Sequence[Any] | Mapping[Any, Any]


class SampleRows(NamedTuple):
    """What all parties hold: ``(n_i, d)`` each, the shape of one observation, ``()`` for one variable and ``(d,)`` for
    columns, and what the columns are called."""

    rows: list[Rows]
    shape: tuple[int, ...]
    names: tuple[str, ...]


class RegressionRows(NamedTuple):
    """Rows ``[A_i, b_i]`` per party, ``(n_i, d + 1)``, and where there are weights a further column of them; how many
    columns ``A_i`` has; what they and the target are called, where they have names."""

    rows: list[Rows]
    columns: int
    names: tuple[str, ...] | None
    target: str | None


def read_rows(network: Network, shards: Shards) -> SampleRows:
    """Rows of every party, columns of frames in the order of the first."""
    given = one_per_party(network, shards)
    parties = whose(network, "party")
    found = [read_columns(shard, who) for shard, who in zip(given, parties, strict=True)]
    names = by_name(found, parties)
    rows: list[Rows] = []
    shapes: list[tuple[int, ...]] = []
    for who, shard in zip(parties, given if names is None else in_order(found, names), strict=True):
        array = of_party(who, as_floats, shard, "its shard")
        if array.ndim > 2 or (array.ndim == 2 and array.shape[1] == 0):
            raise InvalidInput(
                f"{who}: a shard is a number, n_i numbers, or n_i rows of d columns; got shape {array.shape}."
            )
        if not np.isfinite(array).all():
            raise InvalidInput(f"{who}: its shard has NaN or inf. Remove or impute the missing values first.")
        rows.append(ArrayRows(array.reshape(-1, array.shape[1] if array.ndim == 2 else 1)))
        shapes.append(array.shape[1:])
    for who, shape in zip(parties, shapes, strict=True):
        if shape != shapes[0]:
            raise InvalidInput(
                f"parties must hold the same columns; {parties[0]} has {_columns(shapes[0])}, {who} {_columns(shape)}."
            )
    return SampleRows(rows, shapes[0], names or default_names(shapes[0]))


def default_names(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Of columns that have no names: ``x0, x1, ..``, and ``x`` for one variable."""
    return tuple(f"x{k}" for k in range(shape[0])) if shape else ("x",)


def column_names(
    found: tuple[str, ...] | None,
    names: Sequence[str] | None,
    d: int,
    *,
    of: str = "X",
    reserved: str | None = INTERCEPT,
) -> tuple[str, ...]:
    """Of ``d`` columns: those that were ``found`` on frames, or the given ones, or ``x0, x1, ..``. ``reserved``: what
    none may be called."""
    if found is not None and names is not None and tuple(names) != found:
        raise InvalidInput(f"names must be those of the frames, {', '.join(found)}, or left out; got {names!r}.")
    columns = found or default_names((d,)) if names is None else tuple(names)
    if len(columns) != d or len(set(columns)) != d or not all(isinstance(name, str) for name in columns):
        raise InvalidInput(f"names must be {d} different strings, one per column of {of}; got {names!r}.")
    if reserved in columns:
        raise InvalidInput(f"a column is called {reserved!r}, as that of the fit is. Rename it.")
    return columns


def read_regression(network: Network, shards: Shards, weights: Shards | None, target: str | None) -> RegressionRows:
    """Rows and targets of every party, from pairs, or with ``target`` from frames that have it as a column."""
    read = read_pairs(network, one_per_party(network, shards), target, "party")
    parties = whose(network, "party")
    rows: list[Array] = []
    for who, pair in zip(parties, read.pairs, strict=True):
        A, b = of_party(who, as_rows, *pair, "A", "b")
        rows.append(np.column_stack([A, b]))
        if rows[-1].shape[1] != rows[0].shape[1]:
            raise InvalidInput(
                f"parties must hold the same columns; {parties[0]} has {rows[0].shape[1] - 1}, {who} has {A.shape[1]}."
            )
    d = rows[0].shape[1] - 1
    if weights is not None:
        found = one_per_party(network, weights, "weights")
        rows = [_with_weights(*own) for own in zip(parties, rows, found, strict=True)]
    return RegressionRows([ArrayRows(part) for part in rows], d, read.names, read.target)


def _with_weights(who: str, rows: Array, given: Any) -> Array:
    columns = read_columns(given, f"{who}, weights")
    w = of_party(who, as_floats, given if columns is None else columns.values, "its weights")
    if w.shape != (len(rows),) or not (np.isfinite(w) & (w > 0)).all():
        raise InvalidInput(
            f"{who}: weights must be {len(rows)} positive numbers, one per row. Leave out rows of weight 0."
        )
    return np.column_stack([rows, w])


def read_scale(scale: npt.ArrayLike | Mapping[str, float] | None, names: Sequence[str], of: str) -> Array:
    """Public numbers that columns are divided by: one for all, one each, or by name, and then 1 for the others."""
    if isinstance(scale, Mapping):
        for name, value in scale.items():
            if name not in names:
                raise InvalidInput(f"scale names {name!r}, which is no column; they are {', '.join(map(repr, names))}.")
            if not (is_number(value) and math.isfinite(value) and value > 0):
                raise InvalidInput(f"scale must be positive numbers; got {value!r} for {name!r}.")
        return np.array([float(scale.get(name, 1.0)) for name in names])
    array = np.ones(()) if scale is None else as_floats(scale, "scale")
    columns = len(names)
    if array.shape not in ((), (columns,)) or not (np.isfinite(array) & (array > 0)).all():
        raise InvalidInput(f"scale must be a positive number, or {columns} of them, one per {of}; got {scale!r}.")
    return np.broadcast_to(array, (columns,)).copy()


def one_per_party(network: Network, shards: Any, name: str = "shards") -> Sequence[Any]:
    if not isinstance(network, Network) or network.constraints is not None:
        raise InvalidInput(f"network must be an sv.Network without edge constraints; got {kind_of(network)}.")
    if not isinstance(shards, Sequence | Mapping | np.ndarray) or isinstance(shards, str):
        raise InvalidInput(
            f"{name} must be a list with one entry per party, or a dict by their names; got {type(shards).__name__}."
        )
    if not isinstance(shards, Mapping) and len(shards) != network.n:
        raise InvalidInput(f"{name} must have one entry per party, {network.n}; got {len(shards)}.")
    return entries(network, shards, name)


def of_party(who: str, read: Callable[..., Any], *arguments: Any) -> Any:
    """A party's data, or a sentence that says whose they are."""
    try:
        return read(*arguments)
    except InvalidCost as error:
        raise InvalidInput(f"{who}: {error}") from None


def _columns(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} columns" if shape else "one variable"
