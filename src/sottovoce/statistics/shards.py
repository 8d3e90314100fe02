"""Reading what the parties hold. The first axis is always observations."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs.base import Array, as_floats
from ..costs.quadratic import as_rows
from ..errors import InvalidCost, InvalidInput, PrecisionLost
from ..network import Network
from ..numerics.unquoted import kind_of
from ..pdmm.masks import GaussianMask
from .agreements import resolution


@dataclass(frozen=True, eq=False)
class Sample:
    """What the local parties bring to a statistic of real numbers: rows ``(n_i, d)`` each, the public numbers that
    bring their columns to size 1, and the mask that hides what is made of them."""

    rows: Sequence[Array] = field(repr=False)
    unit: Array
    mask: GaussianMask

    def in_units(self) -> list[Array]:
        """Rows divided by ``unit``; a warning where their squares drown in what the mask leaves of float64."""
        scaled = [part / self.unit for part in self.rows]
        largest = np.max([np.abs(part).max(axis=0, initial=0.0) for part in scaled], axis=0)
        small = math.sqrt(1000 * resolution(self.mask))  # for three digits of their squares
        if (drowned := (largest > 0) & (largest < small)).any():
            k = int(drowned.argmax())
            warnings.warn(
                f"column {k} holds only numbers below {small:.1e} in units of scale: few of their digits survive a "
                f"mask of sigma = {self.mask.sigma:.3g}. Give scale=, public numbers that bring the data to size 1.",
                PrecisionLost,
                stacklevel=4,
            )
        return scaled


def read_rows(network: Network, shards: Sequence[npt.ArrayLike]) -> tuple[list[Array], tuple[int, ...]]:
    """Rows ``(n_i, d)`` per party, and the shape of one observation: ``()`` for one variable, ``(d,)`` for columns."""
    rows: list[Array] = []
    shapes: list[tuple[int, ...]] = []
    for i, shard in enumerate(_one_per_party(network, shards)):
        array = _of_party(i, as_floats, shard, "its shard")
        if array.ndim > 2 or (array.ndim == 2 and array.shape[1] == 0):
            raise InvalidInput(
                f"party {i}: a shard is a number, n_i numbers, or n_i rows of d columns; got shape {array.shape}."
            )
        if not np.isfinite(array).all():
            raise InvalidInput(f"party {i}: its shard has NaN or inf. Remove or impute the missing values first.")
        rows.append(array.reshape(-1, array.shape[1] if array.ndim == 2 else 1))
        shapes.append(array.shape[1:])
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise InvalidInput(
                f"parties must hold the same columns; party 0 has {_columns(shapes[0])}, party {i} {_columns(shape)}."
            )
    return rows, shapes[0]


def read_regression(
    network: Network, shards: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]], weights: Sequence[npt.ArrayLike] | None
) -> tuple[list[Array], list[Array] | None]:
    """Rows ``[A_i, b_i]`` per party, ``(n_i, d + 1)``, and a weight for each row, or None without weights."""
    rows: list[Array] = []
    for i, shard in enumerate(_one_per_party(network, shards)):
        if not isinstance(shard, tuple | list) or len(shard) != 2:
            raise InvalidInput(f"party {i}: its shard must be a pair (A_i, b_i); got {type(shard).__name__}.")
        A, b = _of_party(i, as_rows, *shard, "A", "b")
        rows.append(np.column_stack([A, b]))
        if rows[i].shape[1] != rows[0].shape[1]:
            raise InvalidInput(
                f"parties must hold the same columns; party 0 has {rows[0].shape[1] - 1}, party {i} has {A.shape[1]}."
            )
    if weights is None:
        return rows, None
    read = []
    for i, given in enumerate(_one_per_party(network, weights, "weights")):
        w = _of_party(i, as_floats, given, "its weights")
        if w.shape != (len(rows[i]),) or not (np.isfinite(w) & (w > 0)).all():
            raise InvalidInput(
                f"party {i}: weights must be {len(rows[i])} positive numbers, one per row. Leave out rows of weight 0."
            )
        read.append(w)
    return rows, read


def read_scale(scale: npt.ArrayLike | None, columns: int, of: str) -> Array:
    """Public numbers that columns are divided by; a single number is for all of them."""
    array = np.ones(()) if scale is None else as_floats(scale, "scale")
    if array.shape not in ((), (columns,)) or not (np.isfinite(array) & (array > 0)).all():
        raise InvalidInput(f"scale must be a positive number, or {columns} of them, one per {of}; got {scale!r}.")
    return np.broadcast_to(array, (columns,)).copy()


def _one_per_party(network: Network, shards: Any, name: str = "shards") -> Sequence[Any]:
    if not isinstance(network, Network) or network.constraints is not None:
        raise InvalidInput(f"network must be an sv.Network without edge constraints; got {kind_of(network)}.")
    if not isinstance(shards, Sequence | np.ndarray) or isinstance(shards, str):
        raise InvalidInput(f"{name} must be a list with one entry per party; got {type(shards).__name__}.")
    if len(shards) != network.n:
        raise InvalidInput(f"{name} must have one entry per party, {network.n}; got {len(shards)}.")
    return list(shards)


def _of_party(i: int, read: Callable[..., Any], *arguments: Any) -> Any:
    """A party's data, or a sentence that says whose they are."""
    try:
        return read(*arguments)
    except InvalidCost as error:
        raise InvalidInput(f"party {i}: {error}") from None


def _columns(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} columns" if shape else "one variable"
