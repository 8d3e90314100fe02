"""Nodes by the user's own names: what is said of "Ada" is kept under her number."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput

if TYPE_CHECKING:
    from .network import Network

MANY = 8  # names that a sentence lists, at most


def index(network: Network, node: Hashable) -> int:
    """The number of a node that is named by its label, or by its number where no label is a number."""
    if network.numbers is not None and isinstance(node, Hashable) and node in network.numbers:
        found = network.numbers[node]
        if _is_truth(node) == _is_truth(network.label(found)):  # True == 1, but a mask names nobody
            return found
    elif isinstance(node, (int, np.integer)) and not isinstance(node, bool) and not network.numbers_are_names:
        if 0 <= node < network.n:
            return int(node)
        raise InvalidInput(f"there is no node {node}; {listed(network)}.")
    told = node.item() if isinstance(node, np.generic) else node
    raise InvalidInput(f"{told!r:.80} is no node of this network; {listed(network)}.")


def _is_truth(node: object) -> bool:
    return isinstance(node, (bool, np.bool_))


def indices(network: Network, nodes: Hashable | Iterable[Hashable]) -> list[int]:
    """The numbers of some nodes, in the order given; one name alone is one node."""
    if isinstance(nodes, (str, bytes)) or not isinstance(nodes, Iterable):
        return [index(network, nodes)]
    return [index(network, node) for node in nodes]


def number(network: Network, i: int | np.integer[Any]) -> int:
    """A number that a node has, or a sentence."""
    if not isinstance(i, int | np.integer) or not 0 <= i < network.n:
        raise InvalidInput(f"there is no node number {i!r}; numbers are 0 to {network.n - 1}.")
    return int(i)


def labels(network: Network, numbers: Iterable[int]) -> tuple[Any, ...]:
    """The user's own names of nodes that are told by number, in the same order."""
    return tuple(network.label(i) for i in numbers)


def pair(network: Network, nodes: Any) -> tuple[int, int]:
    """The numbers of the two ends of an edge."""
    if isinstance(nodes, (str, bytes)) or not isinstance(nodes, Sequence | np.ndarray) or len(nodes) != 2:
        such = labels(network, range(2))
        raise InvalidInput(f"an edge is a pair of nodes, such as {such}; got {nodes!r:.80}.")
    return index(network, nodes[0]), index(network, nodes[1])


def half_edge(network: Network, nodes: Any) -> int:
    """Where in ``network.half_edges`` the pair lies."""
    i, j = pair(network, nodes)
    start, stop = int(network.indptr[i]), int(network.indptr[i + 1])
    at = start + int(np.searchsorted(network.indices[start:stop], j))
    if at == stop or network.indices[at] != j:
        raise InvalidInput(f"there is no edge between {network.name(i)} and {network.name(j)}.")
    return at


def in_order(network: Network, values: Mapping[Any, Any], what: str) -> list[Any]:
    """Values by name as a list by number. ``what`` they are, for the sentence that names who is missing."""
    found = {index(network, node): value for node, value in values.items()}
    if len(found) < len(values):
        raise InvalidInput(f"{what}: a node is named twice, by its name and by its number.")
    missing = [network.name(i) for i in range(network.n) if i not in found]
    if missing:
        raise InvalidInput(f"{what}: nothing for {few(missing)}; every node needs an entry.")
    return [found[i] for i in range(network.n)]


def by_half_edge(network: Network, values: Mapping[Any, Any], what: str) -> list[Any]:
    """Values by pairs of names as a list in the order of ``network.half_edges``."""
    found = {half_edge(network, nodes): value for nodes, value in values.items()}
    if len(found) < len(values):
        raise InvalidInput(f"{what}: a half-edge is given twice, by names and by numbers.")
    for h, (i, j) in enumerate(network.half_edges):
        if h not in found:
            raise InvalidInput(f"{what}: nothing for ({network.name(i)}, {network.name(j)}); every half-edge needs it.")
    return [found[h] for h in range(len(found))]


def listed(network: Network) -> str:
    """Which nodes there are, for a sentence."""
    if network.labels is None:
        return f"nodes are 0 to {network.n - 1}"
    return f"they are {few([network.name(i) for i in range(network.n)])}"


def few(names: list[str]) -> str:
    """Some names for a sentence, and how many more there are."""
    shown = ", ".join(names[:MANY])
    return shown if len(names) <= MANY else f"{shown} and {len(names) - MANY} more"
