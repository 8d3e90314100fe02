"""The network: nodes, edges, and the constraint ``A_ij x_i + A_ji x_j = b_ij`` on every edge (paper, eq. 1).

An undirected edge is two half-edges ``(i, j)`` and ``(j, i)``. ``z_{i|j}`` belongs to half-edge ``(i, j)``: it is
held by ``i`` and written by ``j``. Half-edges are ordered by ``(i, j)``, so those of one node are contiguous (CSR).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from ..files.html_table import html_table
from . import exchange, names
from .families import Families
from .trees import Trees

if TYPE_CHECKING:  # SciPy's matrices are loaded where they are made: a party, which makes none, starts twice as fast
    from matplotlib.figure import Figure
    from scipy import sparse

    from .edge_constraints import Constraints
    from .memory_layout import Layout

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int32]


class Network(Families, Trees):
    """A connected undirected graph on nodes ``0 .. n-1``, with consensus ``x_i = x_j`` on every edge by default.

    Made by ``from_edges``, ``from_networkx``, ``read_edge_list`` or a generator such as ``random_geometric``;
    ``with_constraints`` replaces consensus by general edge constraints.

    Parameters
    ----------
    edges, labels
        As of ``from_edges``, which checks them; ``n`` and ``positions`` are those below.

    Attributes
    ----------
    n : int
        Number of nodes.
    indptr, indices : ndarray
        The half-edges in CSR form: those of node ``i`` are ``indptr[i] .. indptr[i+1]``, and ``indices`` has the ``j``
        of each ``(i, j)``.
    positions : ndarray or None
        ``(n, 2)``, where the nodes have a place.
    constraints : Constraints or None
        None is consensus.

    Examples
    --------
    >>> network = Network.ring(4)
    >>> network.n, network.m, network.neighbours(0).tolist()
    (4, 4, [1, 3])
    >>> network.edges.tolist()
    [[0, 1], [0, 3], [1, 2], [2, 3]]
    """

    n: int
    indptr: npt.NDArray[np.int64]
    indices: Index
    positions: Array | None
    constraints: Constraints | None

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
        self._labels = exchange.checked_labels(labels, n)
        self.constraints = None

    # Making one

    @classmethod
    def from_edges(
        cls,
        n: int,
        edges: Iterable[tuple[int, int]] | npt.NDArray[np.integer[Any]],
        labels: Sequence[Hashable] | None = None,
    ) -> Self:
        """From a list of edges, between numbers. ``from_named_edges`` takes names.

        Parameters
        ----------
        n : int
            Number of nodes, at least 2.
        edges : iterable of pairs, or (m, 2) array
            ``(i, j)`` with ``0 <= i, j < n``, each undirected edge once.
        labels : sequence, optional
            A name for each node, no two of them equal.

        Returns
        -------
        Network

        Raises
        ------
        InvalidNetwork
            A loop, an edge that comes twice, or a node that cannot be reached; the sentence names the first.

        Examples
        --------
        >>> Network.from_edges(3, [(0, 1), (1, 2)], labels=["ann", "bob", "eve"])
        Network(n=3, m=2)
        """
        return cls(int(n), exchange.checked_edges(n, edges, labels), labels=labels)

    @classmethod
    def from_named_edges(cls, edges: Iterable[tuple[Hashable, Hashable]]) -> Self:
        """From edges between names: the nodes are those named, in the order in which they come up.

        Raises
        ------
        InvalidNetwork
            What is no pair of names, or what ``from_edges`` refuses.

        Examples
        --------
        >>> network = Network.from_named_edges([("Ada", "Bob"), ("Bob", "Eve"), ("Eve", "Ada"), ("Eve", "Joe")])
        >>> network.labels, network.neighbours("Eve").tolist()
        (['Ada', 'Bob', 'Eve', 'Joe'], ['Ada', 'Bob', 'Joe'])
        """
        return cls.from_edges(*exchange.between_names(edges))

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """From an undirected ``networkx.Graph``; names other than ``0 .. n-1`` are kept in ``labels``.

        Raises
        ------
        InvalidNetwork
            A directed graph, a multigraph, or what ``from_edges`` refuses.

        Examples
        --------
        >>> import networkx
        >>> Network.from_networkx(networkx.petersen_graph())
        Network(n=10, m=15)
        """
        return cls.from_edges(*exchange.from_networkx(graph))

    def to_networkx(self) -> Any:
        """As a ``networkx.Graph``, with the user's labels, and positions as the node attribute ``pos``.

        Examples
        --------
        >>> sorted(Network.star(3).to_networkx().edges)
        [(0, 1), (0, 2)]
        """
        return exchange.to_networkx(self)

    @classmethod
    def read_edge_list(cls, path: str | Path) -> Self:
        """From a text file with one edge ``i j`` (or ``i,j``) a line; ``#`` starts a comment.

        Raises
        ------
        InvalidNetwork
            A file that cannot be read, a line that is no edge, or what ``from_edges`` refuses.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "edges.txt"
        ...     Network.ring(5).write_edge_list(path)
        ...     Network.read_edge_list(path)
        Network(n=5, m=5)
        """
        return cls.from_edges(*exchange.read_edge_list(Path(path)))

    def write_edge_list(self, path: str | Path) -> None:
        """To the format that ``read_edge_list`` reads."""
        lines = "".join(f"{i} {j}\n" for i, j in self.edges.tolist())
        Path(path).write_text(f"# {self.n} nodes, {self.m} edges\n{lines}", encoding="utf-8")

    def with_constraints(
        self, A: Mapping[tuple[Any, Any], npt.ArrayLike], b: Mapping[tuple[Any, Any], npt.ArrayLike] | None = None
    ) -> Network:
        """The same graph with ``A[i, j] x_i + A[j, i] x_j = b[i, j]`` on every edge (eq. 1).

        Parameters
        ----------
        A : mapping
            A matrix ``m_ij x n_i`` for each of the ``2m`` half-edges ``(i, j)``, by the names of its nodes where they
            have any. Nodes may have different dimensions.
        b : mapping, optional
            A vector of length ``m_ij`` per edge, under either orientation; 0 where there is none.

        Returns
        -------
        Network

        Raises
        ------
        InvalidNetwork
            A block that is missing, or does not fit the others; the sentence names it.

        Examples
        --------
        Two numbers whose sum is 1:

        >>> pair = Network.from_edges(2, [(0, 1)])
        >>> pair.with_constraints({(0, 1): [[1.0]], (1, 0): [[1.0]]}, b={(0, 1): [1.0]})
        Network(n=2, m=1, constrained)
        >>> named = Network.from_named_edges([("Ada", "Bob")])
        >>> named.with_constraints({("Ada", "Bob"): [[1.0]], ("Bob", "Ada"): [[1.0]]}, b={("Ada", "Bob"): [1.0]})
        Network(n=2, m=1, constrained)
        """
        from .edge_constraints import Constraints

        network = object.__new__(Network)
        for same in ("n", "indptr", "indices", "positions", "_labels"):
            setattr(network, same, getattr(self, same))
        network.constraints = Constraints(network, A, b or {})
        return network

    def with_labels(self, labels: Sequence[Hashable] | None) -> Self:
        """The same graph, its nodes with other names; None takes them away.

        Examples
        --------
        >>> Network.ring(3).with_labels(["ann", "bob", "eve"]).name(2)
        'eve'
        """
        network = copy(self)
        for kept in ("numbers", "numbers_are_names"):  # from the labels before
            network.__dict__.pop(kept, None)
        network._labels = exchange.checked_labels(labels, self.n)
        return network

    # What it is

    @property
    def labels(self) -> list[Any] | None:
        """The user's names of the nodes, where they are not ``0 .. n-1``."""
        return None if self._labels is None else list(self._labels)

    @cached_property
    def numbers(self) -> dict[Any, int] | None:
        """The number of each label."""
        return None if self._labels is None else {label: i for i, label in enumerate(self._labels)}

    @cached_property
    def numbers_are_names(self) -> bool:
        """Whether a label is a number, so that a number means a label and not a place."""
        return any(isinstance(label, Number) for label in self._labels or ())

    def name(self, i: int | np.integer[Any]) -> str:
        """What node number ``i`` is called wherever people read of it: by its label, else by its number.

        >>> Network.ring(3).with_labels(["ann", "bob", "eve"]).name(2)
        'eve'
        """
        return str(self.label(i))

    def label(self, i: int | np.integer[Any]) -> Any:
        """The user's own name of node number ``i``, as it was given; the number where there are no names."""
        i = names.number(self, i)
        return i if self._labels is None else self._labels[i]

    def index(self, node: Hashable) -> int:
        """The number of a node, by its label; a number stays what it is, unless numbers are labels.

        >>> Network.ring(3).with_labels(["ann", "bob", "eve"]).index("eve")
        2
        """
        return names.index(self, node)

    @property
    def m(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    @cached_property
    def degrees(self) -> npt.NDArray[np.int64]:
        """``d_i``, the number of neighbours."""
        return np.diff(self.indptr)

    @property
    def named_edges(self) -> list[tuple[Any, Any]]:
        """``edges``, by the names of their nodes.

        >>> Network.from_named_edges([("Ada", "Bob"), ("Bob", "Eve")]).named_edges
        [('Ada', 'Bob'), ('Bob', 'Eve')]
        """
        return [(self.label(i), self.label(j)) for i, j in self.edges.tolist()]

    @property
    def half_edges(self) -> npt.NDArray[np.int64]:
        """``(2m, 2)`` pairs ``(i, j)`` in the order of ``z``: row ``h`` is for ``z_{i|j}``, held by ``i``.

        >>> Network.star(3).half_edges.tolist()
        [[0, 1], [0, 2], [1, 0], [2, 0]]
        """
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

    def neighbours(self, node: Hashable) -> npt.NDArray[Any]:
        """``N_i``, in the order of the nodes: their numbers, or their names where they have any.

        >>> Network.ring(4).neighbours(0).tolist()
        [1, 3]
        >>> Network.ring(4).with_labels(["Ada", "Bob", "Eve", "Joe"]).neighbours("Ada").tolist()
        ['Bob', 'Joe']
        """
        around = self.around(self.index(node))
        if self._labels is None:
            return around
        named = np.empty(len(around), dtype=object)
        named[:] = [self._labels[j] for j in around]
        return named

    def around(self, i: int | np.integer[Any]) -> Index:
        """``N_i`` by numbers, sorted, of node number ``i``."""
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

    def facts(self) -> dict[str, str]:
        """What notebooks say of it."""
        degrees = f"{self.degrees.min()} to {self.degrees.max()} each"
        found = {"nodes": str(self.n), "edges": str(self.m), "neighbours": degrees}
        if self.labels is not None:
            found["names"] = names.few([self.name(i) for i in range(self.n)])
        found["edges say"] = "x_i = x_j" if self.constraints is None else "general constraints"
        return found

    def plot(self, path: str | Path | None = None, overlay: Network | None = None) -> Figure:
        """Who talks to whom, and over which edges of an overlay, as a Matplotlib figure, which a notebook shows; saved
        where a path is given (``.png``, ``.pdf`` or ``.svg``). It needs the extra ``plot``."""
        from .pictures import plot_network

        return plot_network(path, self, overlay)

    def _repr_html_(self) -> str:
        return html_table(self.facts().items(), caption="Network")
