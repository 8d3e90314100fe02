"""What every node brings, by its number or its name: numbers, or rows with a target; as arrays or frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidInput
from ..files.frames import PLAIN, Columns, by_name, in_order, read_columns
from ..network import Network
from ..network import names as by_node


class Pairs(NamedTuple):
    """``(A_i, b_i)`` of every node, their columns in one order; names where they come from frames."""

    pairs: list[tuple[Any, Any]]
    names: tuple[str, ...] | None  # of the columns of A
    target: str | None


def entries(network: Network, given: Mapping[Any, Any] | Iterable[Any], what: str) -> list[Any]:
    """One entry per node in the order of the nodes, from a list in that order or a mapping by name."""
    return by_node.in_order(network, given, what) if isinstance(given, Mapping) else list(given)


def whose(network: Network, kind: str) -> list[str]:
    """Who holds an entry, for sentences: ``party Ada``."""
    return [f"{kind} {network.name(i)}" for i in range(network.n)]


def read_numbers(network: Network, s: Any) -> tuple[Any, tuple[str, ...] | None]:
    """A number or a vector per node, as ``sv.averaging`` takes them, and the names of the vector's entries."""
    table = read_columns(s, "s")  # a row a node
    if table is not None:
        return table.values, table.names
    if not isinstance(s, Mapping | list | tuple):
        return s, None
    numbers = entries(network, s, "s")
    if all(isinstance(entry, PLAIN) for entry in numbers):
        return numbers, None
    holders = _for(numbers, network, "node")
    found = [read_columns(entry, who) for entry, who in zip(numbers, holders, strict=True)]
    for columns, who in zip(found, holders, strict=True):
        if columns is not None and (columns.values.ndim == 1 or len(columns.values) != 1):
            raise InvalidInput(f"{who}: its numbers by name must be a frame with a single row, such as df.iloc[[0]].")
    names = by_name(found, holders)
    return (numbers, None) if names is None else (np.concatenate(list(in_order(found, names))), names)


def read_pairs(network: Network, given: Any, target: str | None, kind: str = "node") -> Pairs:
    """Rows and their target: pairs ``(A_i, b_i)``, or with ``target`` frames that have a column of that name."""
    shards = entries(network, given, "shards")
    holders = _for(shards, network, kind)
    if target is not None:
        return _split(shards, holders, target)
    for shard, who in zip(shards, holders, strict=True):
        if not isinstance(shard, tuple | list) or len(shard) != 2:
            hint = " Say which of its columns is to be explained: target=." if hasattr(shard, "columns") else ""
            raise InvalidInput(f"{who}: its shard must be a pair (A_i, b_i); got {type(shard).__name__}.{hint}")
    left = [read_columns(A, who) for (A, _), who in zip(shards, holders, strict=True)]
    right = [read_columns(b, f"{who}, target") for (_, b), who in zip(shards, holders, strict=True)]
    names, of_target = by_name(left, holders), by_name(right, [f"{who}, target" for who in holders])
    if of_target is not None and len(of_target) > 1:
        raise InvalidInput(f"{holders[0]}: its target must be one column; got {len(of_target)}.")
    if names is not None and of_target is not None and of_target[0] in names:
        raise InvalidInput(f"the target {of_target[0]!r} is among the columns that explain it. Drop it there.")
    As = [A for A, _ in shards] if names is None else [A.reshape(len(A), len(names)) for A in in_order(left, names)]
    bs = [b for _, b in shards] if of_target is None else [b.ravel() for b in in_order(right, of_target)]
    return Pairs(list(zip(As, bs, strict=True)), names, None if of_target is None else of_target[0])


def _split(shards: Sequence[Any], holders: Sequence[str], target: str) -> Pairs:
    """Frames, each with the target among its columns."""
    found: list[Columns | None] = []
    for shard, who in zip(shards, holders, strict=True):
        columns = read_columns(shard, who)
        if columns is None or columns.values.ndim == 1:
            raise InvalidInput(f"{who}: target={target!r} names a column of a frame; got {type(shard).__name__}.")
        if target not in columns.names:
            raise InvalidInput(f"{who}: has no column {target!r}, the target.")
        found.append(columns)
    names = by_name(found, holders)
    assert names is not None
    features = tuple(name for name in names if name != target)
    if not features:
        raise InvalidInput(f"there is no column but the target {target!r}.")
    tables = in_order(found, (*features, target))
    return Pairs([(np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy()) for rows in tables], features, target)


def _for(shards: Sequence[Any], network: Network, kind: str) -> list[str]:
    if len(shards) != network.n:
        raise InvalidInput(f"shards must have one entry per {kind}, {network.n}; got {len(shards)}.")
    return whose(network, kind)
