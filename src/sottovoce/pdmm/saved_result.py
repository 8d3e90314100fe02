"""A ``Result`` in a file, and back bit for bit. Its problem stays behind: it holds the data."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidFile
from ..files.named_arrays import DAMAGE, damaged, read_arrays, write_arrays
from ..network import Network
from ..network.trees import spanning_tree, within
from .local_noise import LocalNoise
from .overlay import Overlay
from .result import Result, Status
from .transcript import MessageTable

WHAT, VERSION = "sottovoce result", 1
PLAIN = (
    "iterations", "activations", "messages", "residual", "wall_time", "c", "theta", "seed", "secret", "arithmetic",
    "hidden", "tol", "batch", "variables",
)  # fmt: skip
FLOATS = ("residual", "wall_time", "c", "theta", "tol")


def save(result: Result, path: Path) -> None:
    """Write it whole or not at all."""
    header = {name: getattr(result, name) for name in PLAIN}
    header["status"] = result.status.value
    header["network"], arrays = (None, {}) if result.network is None else _network_parts(result.network)
    if isinstance(result.c, np.ndarray):
        header["c"], arrays["c"] = None, result.c
    if result.noise is not None:
        header["noise"] = result.noise.variance
    if result.overlay is not None:
        header["root"] = None if result.overlay.tree is None else result.overlay.tree.root
        arrays["overlay"] = result.overlay.network.edges
    for name in ("x", "z"):
        value = getattr(result, name)
        if isinstance(value, list):  # nodes of different dimension: side by side, and how wide each is
            arrays[f"{name} sizes"] = np.array([part.shape[-1] for part in value])
            value = np.concatenate(value, axis=-1)
        if value is not None:
            arrays[name] = value
    tables = [name for name, kept in result.history.items() if isinstance(kept, MessageTable)]
    header["history"], header["tables"] = list(result.history), tables
    for name, kept in result.history.items():
        parts = {field.name: getattr(kept, field.name) for field in fields(kept)} if name in tables else {"": kept}
        arrays |= {f"history {name} {part}": column for part, column in parts.items()}
    write_arrays(path, WHAT, VERSION, header, arrays)


def load(path: Path) -> dict[str, Any]:
    """The arguments of the ``Result`` that was saved."""
    header, arrays = read_arrays(path, WHAT, VERSION)
    try:
        return _arguments(header, arrays)
    except InvalidFile:
        raise
    except DAMAGE:
        raise damaged(path, WHAT) from None


def _arguments(header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    found = {name: header[name] for name in PLAIN}
    found |= {name: None if header[name] is None else float(header[name]) for name in FLOATS}
    found["c"] = arrays["c"] if found["c"] is None else found["c"]
    found["variables"] = None if header["variables"] is None else tuple(header["variables"])
    found["status"] = Status(header["status"])
    found["network"] = None if header["network"] is None else _network(header["network"], arrays)
    if "noise" in header:
        found["noise"] = LocalNoise(header["noise"])
    if "overlay" in arrays:
        few = within(found["network"], arrays["overlay"])
        tree = None if header["root"] is None else spanning_tree(few, header["root"])
        found["overlay"] = Overlay(found["network"], few, tree)
    for name in ("x", "z"):
        value: Any = arrays.get(name)
        if f"{name} sizes" in arrays:
            ends = np.cumsum(arrays[f"{name} sizes"])[:-1]
            value = [part.copy() for part in np.split(value, ends, axis=-1)]
        found[name] = value
    columns = [field.name for field in fields(MessageTable)]
    found["history"] = {
        name: MessageTable(*(arrays[f"history {name} {column}"] for column in columns))
        if name in header["tables"]
        else arrays[f"history {name} "]
        for name in header["history"]
    }
    return found


def _network_parts(network: Network) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    labels = network.labels
    arrays: dict[str, npt.NDArray[Any]] = {"edges": network.edges}
    if network.positions is not None:
        arrays["positions"] = network.positions
    if network.constraints is not None:
        arrays["A"] = np.concatenate([block.ravel() for block in network.constraints.A])
        arrays["A shapes"] = np.array([block.shape for block in network.constraints.A])
        arrays["b"] = network.constraints.b
    return {"n": network.n, "labels": None if labels is None else [_label(label) for label in labels]}, arrays


def _network(header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Network:
    network = Network.from_edges(header["n"], arrays["edges"])
    network.positions = arrays.get("positions")
    if "A" in arrays:
        pairs, shapes = [(i, j) for i, j in network.half_edges.tolist()], arrays["A shapes"]
        blocks = np.split(arrays["A"], np.cumsum(shapes.prod(axis=1))[:-1])
        b = dict(zip(pairs, np.split(arrays["b"], np.cumsum(shapes[:, 0])[:-1]), strict=True))
        A = {pair: block.reshape(shape) for pair, block, shape in zip(pairs, blocks, shapes, strict=True)}
        network = network.with_constraints(A, {(i, j): right for (i, j), right in b.items() if i < j})
    labels = header["labels"]
    return network if labels is None else network.with_labels([_hashable(label) for label in labels])


def _label(label: Hashable) -> Any:
    """As JSON has it: a tuple is a list there, and what JSON has not is kept by its name."""
    if isinstance(label, tuple):
        return [_label(part) for part in label]
    if isinstance(label, np.generic):
        return label.item()
    return label if isinstance(label, str | int | float | bool | None) else str(label)


def _hashable(label: Any) -> Hashable:
    return tuple(_hashable(part) for part in label) if isinstance(label, list) else label
