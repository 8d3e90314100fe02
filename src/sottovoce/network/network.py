"""The network: nodes, edges, and the constraint ``A_ij x_i + A_ji x_j = b_ij`` on every edge (paper, eq. 1).

An undirected edge is two half-edges ``(i, j)`` and ``(j, i)``. ``z_{i|j}`` belongs to half-edge ``(i, j)``: it is
held by ``i`` and written by ``j``. Half-edges are ordered by ``(i, j)``, so those of one node are contiguous (CSR).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from ..errors import InvalidNetwork, MissingExtra
from . import graphs

if TYPE_CHECKING:  # SciPy's matrices are loaded where they are made: a party, which makes none, starts twice as fast
    from scipy import sparse

    from .edge_constraints import Constraints
    from .memory_layout import Layout

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int32]


class Network:
    """A connected undirected graph on nodes ``0 .. n-1``, with consensus ``x_i = x_j`` on every edge by default.

    Made by ``Network.from_edges``, ``from_networkx``, ``read_edge_list`` or a generator such as ``random_geometric``;
    ``with_constraints`` replaces consensus by general edge constraints.
    """

    n: int
    indptr: npt.NDArray[np.int64]  # half-edges of node i: indptr[i] .. indptr[i+1]
    indices: Index  # the neighbour j of half-edge (i, j)
    positions: Array | None  # (n, 2), where the nodes have a place
    constraints: Constraints | None  # None is consensus

    def __init__(
        self,
        n: int,
        edges: npt.NDArray[np.integer[Any]],
        positions: Array | None = None,
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        """Trusts its arguments: ``edges`` are ``(m, 2)``, distinct, no loops, connected. Users call ``from_edges``."""
        from scipy import sparse

        i, j = edges[:, 0].astype(np.int32), edges[:, 1].astype(np.int32)
        ones = np.ones(2 * len(edges), dtype=np.int8)
        both = (np.concatenate([i, j]), np.concatenate([j, i]))
        adjacency = sparse.coo_array((ones, both), shape=(n, n)).tocsr()
        adjacency.sort_indices()
        self.n = n
        self.indptr = adjacency.indptr.astype(np.int64)
        self.indices = adjacency.indices.astype(np.int32)
        self.positions = positions
        self._labels = _read_labels(labels, n)
        self.constraints = None

    # Making one

    @classmethod
    def from_edges(
        cls,
        n: int,
        edges: Iterable[tuple[int, int]] | npt.NDArray[np.integer[Any]],
        labels: Sequence[Hashable] | None = None,
    ) -> Self:
        """From ``n`` and pairs ``(i, j)``, each undirected edge once; ``labels`` are names of the nodes.

        >>> Network.from_edges(3, [(0, 1), (1, 2)])
        Network(n=3, m=2)
        """
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
        _refuse_first(pairs, pairs[:, 0] == pairs[:, 1], "is a self-loop; a node cannot talk to itself. Remove it")
        key = pairs.min(axis=1).astype(np.int64) * n + pairs.max(axis=1)
        first = np.unique(key, return_index=True)[1]
        if len(first) < len(key):
            repeated = np.ones(len(key), dtype=bool)
            repeated[first] = False
            _refuse_first(pairs, repeated, "is a duplicate (edges are undirected). List it once")
        if len(pairs) < n - 1:
            raise InvalidNetwork(
                f"the network is disconnected: {n} nodes need at least {n - 1} edges; got {len(pairs)}."
            )
        parts, part = graphs.components(int(n), pairs)
        if parts > 1:
            outside = int(np.flatnonzero(part != part[0])[0])
            raise InvalidNetwork(
                f"the network is disconnected: it has {parts} components, and node {outside} cannot be reached from "
                "node 0. Add edges, or solve each component by itself."
            )
        return cls(int(n), pairs, labels=labels)

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """From an undirected ``networkx.Graph``; names other than ``0 .. n-1`` are kept in ``labels``."""
        if graph.is_directed() or graph.is_multigraph():
            raise InvalidNetwork(f"the graph must be an undirected networkx.Graph; got {type(graph).__name__}.")
        names = list(graph.nodes)
        plain = set(names) == set(range(len(names)))
        index = {name: name if plain else k for k, name in enumerate(names)}
        edges = [(index[a], index[b]) for a, b in graph.edges]
        return cls.from_edges(len(names), edges, labels=None if plain else names)

    def to_networkx(self) -> Any:
        """As a ``networkx.Graph``, with the user's labels, and positions as the node attribute ``pos``."""
        try:
            import networkx
        except ImportError:
            raise MissingExtra("to_networkx", "networkx", "networkx") from None
        name = self._labels or range(self.n)
        graph = networkx.Graph()
        for i in range(self.n):
            attributes = {} if self.positions is None else {"pos": tuple(self.positions[i].tolist())}
            graph.add_node(name[i], **attributes)
        graph.add_edges_from((name[i], name[j]) for i, j in self.edges.tolist())
        return graph

    @classmethod
    def read_edge_list(cls, path: str | Path) -> Self:
        """From a text file with one edge ``i j`` (or ``i,j``) a line; ``#`` starts a comment."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise InvalidNetwork(f"{path} cannot be read: {reason}.") from None
        pairs = []
        for number, line in enumerate(text.splitlines(), start=1):
            words = line.split("#")[0].replace(",", " ").split()
            if not words:
                continue
            if len(words) != 2 or not all(word.isdecimal() for word in words):
                raise InvalidNetwork(f"{path}, line {number}: expected two node numbers 'i j'; got {line.strip()!r}.")
            pairs.append((int(words[0]), int(words[1])))
        if not pairs:
            raise InvalidNetwork(f"{path} holds no edges. Write one 'i j' a line.")
        return cls.from_edges(max(max(pair) for pair in pairs) + 1, pairs)

    def write_edge_list(self, path: str | Path) -> None:
        """To the format that ``read_edge_list`` reads."""
        lines = "".join(f"{i} {j}\n" for i, j in self.edges.tolist())
        Path(path).write_text(f"# {self.n} nodes, {self.m} edges\n{lines}", encoding="utf-8")

    @classmethod
    def random_geometric(
        cls, n: int, radius: float | None = None, *, seed: int | None = None, largest_component: bool = False
    ) -> Self:
        """``n`` uniform points in the unit square, joined when closer than ``radius`` (default ``sqrt(2 ln n / n)``).

        Redrawn until connected, or cut to its largest component on request. Nodes are numbered by place.
        """
        size, edges, positions = graphs.random_geometric(n, radius, seed, largest_component)
        return cls(size, edges, positions)

    @classmethod
    def ring(cls, n: int) -> Self:
        """A cycle of ``n >= 3`` nodes."""
        return cls(n, graphs.ring(n))

    @classmethod
    def grid(cls, rows: int, columns: int) -> Self:
        """A ``rows x columns`` lattice; node ``r * columns + c``."""
        edges, positions = graphs.grid(rows, columns)
        return cls(rows * columns, edges, positions)

    @classmethod
    def complete(cls, n: int) -> Self:
        """Everybody talks to everybody."""
        return cls(n, graphs.complete(n))

    @classmethod
    def star(cls, n: int) -> Self:
        """Node 0 in the middle. For comparison: whoever sits there sees everything."""
        return cls(n, graphs.star(n))

    @classmethod
    def erdos_renyi(cls, n: int, p: float, *, seed: int | None = None) -> Self:
        """Each of the ``n(n-1)/2`` edges with probability ``p``, redrawn until connected."""
        return cls(n, graphs.erdos_renyi(n, p, seed))

    @classmethod
    def regular(cls, n: int, degree: int, *, seed: int | None = None) -> Self:
        """A random graph in which every node has ``degree`` neighbours, redrawn until connected."""
        return cls(n, graphs.regular(n, degree, seed))

    @classmethod
    def watts_strogatz(cls, n: int, k: int, p: float, *, seed: int | None = None) -> Self:
        """A ring in which each node knows its ``k`` nearest, each edge rewired with probability ``p``."""
        return cls(n, graphs.watts_strogatz(n, k, p, seed))

    def with_constraints(
        self, A: Mapping[tuple[int, int], npt.ArrayLike], b: Mapping[tuple[int, int], npt.ArrayLike] | None = None
    ) -> Network:
        """The same graph with ``A[i, j] x_i + A[j, i] x_j = b[i, j]`` on every edge (eq. 1).

        ``A`` has a matrix for each of the ``2m`` half-edges, ``b`` a vector per edge (either orientation; default 0).
        Nodes may have different dimensions: ``A[i, j]`` is ``m_ij x n_i``.
        """
        from .edge_constraints import Constraints

        network = object.__new__(Network)
        network.n, network.indptr, network.indices = self.n, self.indptr, self.indices
        network.positions, network._labels = self.positions, self._labels
        network.constraints = Constraints(network, A, b or {})
        return network

    def with_labels(self, labels: Sequence[Hashable] | None) -> Self:
        """The same graph, its nodes with other names; None takes them away.

        >>> Network.ring(3).with_labels(["ann", "bob", "eve"]).name(2)
        'eve'
        """
        network = copy(self)
        network._labels = _read_labels(labels, self.n)
        return network

    # What it is

    @property
    def labels(self) -> list[Any] | None:
        """The user's names of the nodes, where they are not ``0 .. n-1``."""
        return None if self._labels is None else list(self._labels)

    def name(self, i: int | np.integer[Any]) -> str:
        """What a node is called wherever people read of it: by its label, else by its number."""
        return str(i if self._labels is None else self._labels[i])

    @property
    def m(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    @cached_property
    def degrees(self) -> npt.NDArray[np.int64]:
        """``d_i``, the number of neighbours."""
        return np.diff(self.indptr)

    @property
    def half_edges(self) -> npt.NDArray[np.int64]:
        """``(2m, 2)`` pairs ``(i, j)`` in the order of ``z``: row ``h`` is for ``z_{i|j}``, held by ``i``."""
        return np.column_stack([self.holders, self.indices]).astype(np.int64)

    @property
    def holders(self) -> Index:
        """``i`` of every half-edge ``(i, j)``."""
        return np.repeat(np.arange(self.n, dtype=np.int32), self.degrees)

    @property
    def edges(self) -> npt.NDArray[np.int64]:
        """``(m, 2)`` edges ``(i, j)`` with ``i < j``, sorted."""
        half = self.half_edges
        return half[half[:, 0] < half[:, 1]]

    @cached_property
    def twin(self) -> Index:
        """Position of ``(j, i)`` for every half-edge ``(i, j)``: ``P z = z[twin]``."""
        from scipy import sparse

        # Transposing a CSR matrix that holds 0 .. 2m-1 sorts by (j, i) in linear time.
        position = np.arange(len(self.indices), dtype=np.int32)
        return sparse.csr_array((position, self.indices, self.indptr), shape=(self.n, self.n)).tocsc().data

    @cached_property
    def layout(self) -> Layout:
        """How the network lies in memory; the engine's business."""
        from .memory_layout import Layout

        return Layout(self)

    def neighbours(self, i: int) -> Index:
        """``N_i``, sorted."""
        return self.indices[self.indptr[i] : self.indptr[i + 1]].copy()

    @property
    def adjacency(self) -> sparse.csr_array[Any]:
        """``W``, with entries 0 and 1."""
        from scipy import sparse

        return sparse.csr_array((np.ones(len(self.indices)), self.indices, self.indptr), shape=(self.n, self.n))

    @cached_property
    def two_colouring(self) -> Array | None:
        """``+-1`` with opposite signs at the two ends of every edge, where the graph is bipartite."""
        from scipy.sparse import csgraph

        depth = csgraph.shortest_path(self.adjacency, unweighted=True, indices=0)
        side = np.where(depth % 2, -1.0, 1.0)
        return side if np.array_equal(side[self.holders], -side[self.indices]) else None

    @cached_property
    def C(self) -> sparse.csr_array[Any]:
        """The constraint matrix: block ``A_ij`` in row ``(i|j)``, column ``i`` (paper, after eq. 3)."""
        if self.constraints is not None:
            return self.constraints.C
        from scipy import sparse

        sign = np.where(self.holders > self.indices, 1.0, -1.0)
        rows = np.arange(len(sign) + 1)
        return sparse.csr_array((sign, self.holders, rows), shape=(len(sign), self.n))

    @property
    def P(self) -> npt.NDArray[np.integer[Any]]:
        """The permutation ``P`` as an index: ``P z = z[network.P]``."""
        return self.twin if self.constraints is None else self.constraints.P

    def __repr__(self) -> str:
        return f"Network(n={self.n}, m={self.m}{'' if self.constraints is None else ', constrained'})"


def _read_labels(labels: Sequence[Hashable] | None, n: int) -> tuple[Hashable, ...] | None:
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


def _refuse_first(pairs: npt.NDArray[Any], bad: npt.NDArray[Any], why: str) -> None:
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise InvalidNetwork(f"edge number {at}, ({pairs[at, 0]}, {pairs[at, 1]}), {why}.")
