"""Reading what the parties hold. The first axis is always observations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..costs.base import Array, as_floats
from ..costs.quadratic import as_rows
from ..data.selection import INTERCEPT
from ..errors import InvalidFile, InvalidInput
from ..files.frames import by_name, in_order, read_columns
from ..network import Network
from ..numerics.unquoted import kind_of
from ..pdmm.shards import entries, read_pairs, whose

Shards = Sequence[Any] | Mapping[Any, Any]


class RegressionRows(NamedTuple):
    """Rows ``[A_i, b_i, ..]`` per party, ``(n_i, d + 1 + k)``, with ``k`` further numbers of each; what the columns and
    the target are called, where they have names."""

    rows: list[Array]
    names: tuple[str, ...] | None
    target: str | None


def read_rows(network: Network, shards: Shards) -> tuple[list[Array], tuple[int, ...], tuple[str, ...]]:
    """Rows ``(n_i, d)`` of every party, columns of frames in the order of the first; the shape of one observation,
    ``()`` for one variable and ``(d,)`` for columns; and what the columns are called."""
    given = one_per_party(network, shards)
    parties = whose(network, "party")
    found = [read_columns(shard, who) for shard, who in zip(given, parties, strict=True)]
    names = by_name(found, parties)
    rows: list[Array] = []
    shapes: list[tuple[int, ...]] = []
    for who, shard in zip(parties, given if names is None else in_order(found, names), strict=True):
        array = of_party(who, as_floats, shard, "its shard")
        if array.ndim > 2 or (array.ndim == 2 and array.shape[1] == 0):
            raise InvalidInput(
                f"{who}: a shard is a number, n_i numbers, or n_i rows of d columns; got shape {array.shape}."
            )
        if not np.isfinite(array).all():
            raise InvalidInput(f"{who}: its shard has NaN or inf. Remove or impute the missing values first.")
        rows.append(array.reshape(-1, array.shape[1] if array.ndim == 2 else 1))
        shapes.append(array.shape[1:])
    for who, shape in zip(parties, shapes, strict=True):
        if shape != shapes[0]:
            first, other = (f"{each[0]} columns" if each else "one variable" for each in (shapes[0], shape))
            raise InvalidInput(f"parties must hold the same columns; {parties[0]} has {first}, {who} {other}.")
    return rows, shapes[0], names or default_names(shapes[0])


def default_names(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Of columns that have no names: ``x0, x1, ..``, and ``x`` for one variable."""
    return tuple(f"x{k}" for k in range(shape[0])) if shape else ("x",)


def column_names(found: tuple[str, ...] | None, names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """Of ``d`` columns: those that were ``found`` on frames, or the given ones, or ``x0, x1, ..``."""
    if found is not None and names is not None and tuple(names) != found:
        raise InvalidInput(f"names must be those of the frames, {', '.join(found)}, or left out; got {names!r}.")
    columns = found or default_names((d,)) if names is None else tuple(names)
    if len(columns) != d or len(set(columns)) != d or not all(isinstance(name, str) for name in columns):
        raise InvalidInput(f"names must be {d} different strings, one per column of X; got {names!r}.")
    if INTERCEPT in columns:
        raise InvalidInput(f"a column is called {INTERCEPT!r}, as that of the fit is. Rename it.")
    if quoted := [name for name in columns if "`" in name]:  # a formula could not write it
        raise InvalidInput(f"a column is called {quoted[0]!r}: a name has no back-quotes here. Rename it.")
    return columns


def read_regression(
    network: Network, shards: Shards, target: str | None, of_rows: Mapping[str, Shards]
) -> RegressionRows:
    """Rows and targets of every party, from pairs, or with ``target`` from frames that have it as a column; and beside
    them further numbers of each row, by name: weights, offsets, exposures."""
    read = read_pairs(network, one_per_party(network, shards), target, "party")
    further = {name: one_per_party(network, values, name) for name, values in of_rows.items()}
    parties = whose(network, "party")
    rows: list[Array] = []
    for i, (who, pair) in enumerate(zip(parties, read.pairs, strict=True)):
        A, b = of_party(who, as_rows, *pair, "A", "b")
        more = [_number_per_row(who, name, values[i], len(A)) for name, values in further.items()]
        rows.append(np.column_stack([A, b, *more]))
        if rows[-1].shape[1] != rows[0].shape[1]:
            columns = rows[0].shape[1] - 1 - len(more)
            raise InvalidInput(
                f"parties must hold the same columns; {parties[0]} has {columns}, {who} has {A.shape[1]}."
            )
    return RegressionRows(rows, read.names, read.target)


def _number_per_row(who: str, name: str, given: Any, rows: int) -> Array:
    """Weights and exposures are positive."""
    columns = read_columns(given, f"{who}, {name}")
    values: Array = of_party(who, as_floats, given if columns is None else columns.values, name)
    values = values.reshape(-1) if values.ndim == 2 and values.shape[1] == 1 else values
    if values.shape != (rows,) or not np.isfinite(values).all():
        raise InvalidInput(f"{who}: {name} must be {rows} finite numbers, one per row; got shape {values.shape}.")
    if name != "offset" and not (values > 0).all():
        raise InvalidInput(f"{who}: {name} must be positive numbers. Leave out rows that have others.")
    return values


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
    except InvalidFile as error:
        raise InvalidFile(f"{who}: {error}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{who}: {error}") from None
