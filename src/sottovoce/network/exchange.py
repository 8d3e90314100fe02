"""Networks from what users have: pairs, networkx graphs, text files; and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidNetwork, MissingExtra
from . import graphs

if TYPE_CHECKING:
    from .network import Network

Pairs = npt.NDArray[np.integer[Any]]


def checked_edges(n: int, edges: Iterable[tuple[int, int]] | Pairs, labels: Sequence[Hashable] | None = None) -> Pairs:
    """``(m, 2)`` pairs of a connected graph without loops, each edge once; or a sentence, by ``labels``."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 2:
        raise InvalidNetwork(f"n must be an integer >= 2, the number of nodes; got {n!r}.")
    try:
        pairs = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))
    except (TypeError, ValueError):
        raise InvalidNetwork(f"edges must be pairs (i, j) of integers; got {edges!r:.80}.") from None
    if pairs.size == 0:
        raise InvalidNetwork(f"edges is empty; a connected network on {n} nodes needs at least {n - 1} edges.")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidNetwork(f"edges must be pairs (i, j); got an array of shape {pairs.shape}.")
    if not np.issubdtype(pairs.dtype, np.integer):
        raise InvalidNetwork(f"edges must hold integers 0 .. {n - 1}; got dtype {pairs.dtype}.")
    _refuse_first(pairs, np.asarray(((pairs < 0) | (pairs >= n)).any(axis=1)), f"uses a node outside 0 .. {n - 1}")
    name = checked_labels(labels, n) or range(n)
    _refuse_first(pairs, pairs[:, 0] == pairs[:, 1], "is a self-loop; a node cannot talk to itself. Remove it", name)
    key = pairs.min(axis=1).astype(np.int64) * n + pairs.max(axis=1)
    first = np.unique(key, return_index=True)[1]
    if len(first) < len(key):
        repeated = np.ones(len(key), dtype=bool)
        repeated[first] = False
        _refuse_first(pairs, repeated, "is a duplicate (edges are undirected). List it once", name)
    if len(pairs) < n - 1:
        raise InvalidNetwork(f"the network is disconnected: {n} nodes need at least {n - 1} edges; got {len(pairs)}.")
    parts, part = graphs.components(int(n), pairs)
    if parts > 1:
        outside = int(np.flatnonzero(part != part[0])[0])
        raise InvalidNetwork(
            f"the network is disconnected: it has {parts} components, and node {name[outside]} cannot be reached from "
            f"node {name[0]}. Add edges, or solve each component by itself."
        )
    return pairs


def _refuse_first(
    pairs: npt.NDArray[Any], bad: npt.NDArray[Any], why: str, name: Sequence[Hashable] | None = None
) -> None:
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        i, j = pairs[at] if name is None else (name[end] for end in pairs[at])
        raise InvalidNetwork(f"edge number {at}, ({i}, {j}), {why}.")


def between_names(
    edges: Iterable[tuple[Hashable, Hashable]],
) -> tuple[int, list[tuple[int, int]], list[Hashable]]:
    """The arguments of ``Network.from_edges``."""
    number: dict[Hashable, int] = {}
    pairs = []
    try:
        for a, b in edges:
            pairs.append((number.setdefault(a, len(number)), number.setdefault(b, len(number))))
    except (TypeError, ValueError):
        raise InvalidNetwork(f"edges must be pairs of names, such as ('Ada', 'Bob'); got {edges!r:.80}.") from None
    return len(number), pairs, list(number)


def checked_labels(labels: Sequence[Hashable] | None, n: int) -> tuple[Hashable, ...] | None:
    """Names that tell the nodes apart; or a sentence."""
    if labels is None:
        return None
    try:
        names = tuple(labels)
        fit = len(set(names)) == len(names) == n and not isinstance(labels, str)
    except TypeError:  # they are not a sequence, or cannot be told apart
        fit = False
    if not fit:
        raise InvalidNetwork(f"labels must be {n} names, one for each node, no two of them equal; got {labels!r:.80}.")
    return names


def from_networkx(graph: Any) -> tuple[int, list[tuple[int, int]], list[Hashable] | None]:
    """The arguments of ``Network.from_edges``."""
    if graph.is_directed() or graph.is_multigraph():
        raise InvalidNetwork(f"the graph must be an undirected networkx.Graph; got {type(graph).__name__}.")
    names = list(graph.nodes)
    plain = set(names) == set(range(len(names)))
    index = {name: name if plain else k for k, name in enumerate(names)}
    edges = [(index[a], index[b]) for a, b in graph.edges]
    return len(names), edges, None if plain else names


def to_networkx(network: Network) -> Any:
    """As a ``networkx.Graph``."""
    try:
        import networkx
    except ImportError:
        raise MissingExtra("to_networkx", "networkx", "networkx") from None
    name = network.labels or range(network.n)
    graph = networkx.Graph()
    for i in range(network.n):
        attributes = {} if network.positions is None else {"pos": tuple(network.positions[i].tolist())}
        graph.add_node(name[i], **attributes)
    graph.add_edges_from((name[i], name[j]) for i, j in network.edges.tolist())
    return graph


def read_edge_list(path: Path) -> tuple[int, list[tuple[int, int]]]:
    """The arguments of ``Network.from_edges``."""
    text, reason = None, "it is not UTF-8 text"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or reason
    except UnicodeDecodeError:  # which has the whole file in it, and must not be the context of another error
        pass
    if text is None:
        raise InvalidNetwork(f"{path} cannot be read: {reason}.")
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].replace(",", " ").split()
        if not words:
            continue
        if len(words) != 2 or not all(word.isdecimal() for word in words):
            raise InvalidNetwork(f"{path}, line {number}: expected two node numbers 'i j' and nothing else.")
        pairs.append((int(words[0]), int(words[1])))
    if not pairs:
        raise InvalidNetwork(f"{path} holds no edges. Write one 'i j' a line.")
    return max(max(pair) for pair in pairs) + 1, pairs
