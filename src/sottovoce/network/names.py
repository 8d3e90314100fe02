"""Nodes by the user's own names: what is said of "Ada" is kept under her number."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput

if TYPE_CHECKING:
    from .network import Network

MANY = 8  # names that a sentence lists, at most


def index(network: Network, node: Hashable) -> int:
    """The number of a node that is named by its label, or by its number where no label is a number."""
    labels = network.numbers
    if labels is not None and node in labels:
        return labels[node]
    numbers_are_names = labels is not None and any(isinstance(label, (int, np.integer)) for label in labels)
    if isinstance(node, (int, np.integer)) and not isinstance(node, bool) and not numbers_are_names:
        if 0 <= node < network.n:
            return int(node)
        raise InvalidInput(f"there is no node {node}; nodes are 0 to {network.n - 1}.")
    raise InvalidInput(f"{node!r} is no node of this network; {listed(network)}.")


def indices(network: Network, nodes: Hashable | Iterable[Hashable]) -> list[int]:
    """The numbers of some nodes, in the order given; one name alone is one node."""
    if isinstance(nodes, (str, bytes)) or not isinstance(nodes, Iterable):
        return [index(network, nodes)]
    return [index(network, node) for node in nodes]


def in_order(network: Network, values: Mapping[Any, Any], what: str) -> list[Any]:
    """Values by name as a list by number. ``what`` they are, for the sentence that names who is missing."""
    found = {index(network, node): value for node, value in values.items()}
    if len(found) < len(values):
        raise InvalidInput(f"{what}: a node is named twice, by its name and by its number.")
    missing = [network.name(i) for i in range(network.n) if i not in found]
    if missing:
        raise InvalidInput(f"{what}: nothing for {few(missing)}; every node needs an entry.")
    return [found[i] for i in range(network.n)]


def listed(network: Network) -> str:
    """Which nodes there are, for a sentence."""
    if network.labels is None:
        return f"nodes are 0 to {network.n - 1}"
    return f"they are {few([network.name(i) for i in range(network.n)])}"


def few(names: list[str]) -> str:
    """Some names for a sentence, and how many more there are."""
    shown = ", ".join(names[:MANY])
    return shown if len(names) <= MANY else f"{shown} and {len(names) - MANY} more"
