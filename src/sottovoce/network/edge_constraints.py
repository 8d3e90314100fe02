"""General edge constraints: ``A_ij x_i + A_ji x_j = b_ij`` with blocks of any shape (paper, eq. 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, InvalidNetwork
from . import names

if TYPE_CHECKING:
    from scipy import sparse

    from .network import Network

Array = npt.NDArray[np.float64]
Key = tuple[int, int]


class Constraints:
    """The blocks of a network, and what the iteration needs of them. ``Network.with_constraints`` makes one.

    Attributes
    ----------
    A : list of ndarray
        ``A_ij``, by half-edge.
    b : ndarray
        ``b_ij`` over the rows of ``z``, the same for ``(i, j)`` and ``(j, i)``.
    C : sparse array
        Block ``A_ij`` in row ``(i|j)``, column ``i``.
    P : ndarray
        The permutation as an index: ``P z = z[P]``.
    dims : ndarray
        ``n_i``, the dimension of ``x_i``.
    rows, columns : ndarray
        ``z`` of half-edge ``h`` lies in ``rows[h] .. rows[h+1]``, ``x_i`` in ``columns[i] .. columns[i+1]``.
    row_sizes : ndarray
        The largest entry of ``A_ij`` and ``A_ji`` in each row of ``z``: turns a violation into units of ``x``.

    Examples
    --------
    >>> from sottovoce import Network
    >>> blocks = {(0, 1): [[1.0, 1.0]], (1, 0): [[-1.0]]}
    >>> constraints = Network.from_edges(2, [(0, 1)]).with_constraints(blocks).constraints
    >>> constraints.dims.tolist(), constraints.C.toarray().tolist()
    ([2, 1], [[1.0, 1.0, 0.0], [0.0, 0.0, -1.0]])
    """

    dims: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    A: list[Array]
    b: Array
    row_sizes: Array
    C: sparse.csr_array[Any]
    P: npt.NDArray[np.int64]

    def __init__(self, network: Network, A: Mapping[Any, npt.ArrayLike], b: Mapping[Any, npt.ArrayLike]) -> None:
        pairs = [(int(i), int(j)) for i, j in network.half_edges]
        name = network.name
        known = set() if network.numbers_are_names else set(pairs)
        A, b = _by_number(network, A, "A", known), _by_number(network, b, "b", known)
        _refuse_keys(A, b, pairs, network)
        self.A = [_block(A[i, j], f"A[{name(i)}, {name(j)}]") for i, j in pairs]
        self.dims = np.zeros(network.n, dtype=np.int64)
        for (i, j), block in zip(pairs, self.A, strict=True):
            if self.dims[i] not in (0, block.shape[1]):
                raise InvalidNetwork(
                    f"A[{name(i)}, {name(j)}] has {block.shape[1]} columns, but another block of node {name(i)} has "
                    f"{self.dims[i]}: all of them must have n_{name(i)} columns, the dimension of x_{name(i)}."
                )
            self.dims[i] = block.shape[1]
        for h, (i, j) in enumerate(pairs):
            other = self.A[network.twin[h]]
            if len(self.A[h]) != len(other):
                raise InvalidNetwork(
                    f"A[{name(i)}, {name(j)}] has {len(self.A[h])} rows and A[{name(j)}, {name(i)}] has "
                    f"{len(other)}; make them equal."
                )
        self.rows = np.concatenate([[0], np.cumsum([len(block) for block in self.A])])
        self.columns = np.concatenate([[0], np.cumsum(self.dims)])
        self.b = np.concatenate([_right_hand_side(b, *pair, len(self.A[h]), name) for h, pair in enumerate(pairs)])
        self.P = np.concatenate([np.arange(self.rows[t], self.rows[t + 1]) for t in network.twin])
        self.C = self._matrix(pairs)
        largest = np.concatenate([np.abs(block).max(axis=1) for block in self.A])
        self.row_sizes = np.maximum(largest, largest[self.P])

    def _matrix(self, pairs: list[Key]) -> sparse.csr_array[Any]:
        from scipy import sparse

        data = np.concatenate([block.ravel() for block in self.A])
        own = [np.arange(self.columns[i], self.columns[i + 1]) for i, _ in pairs]
        column = [np.tile(columns, len(block)) for columns, block in zip(own, self.A, strict=True)]
        width = np.concatenate([np.full(len(block), block.shape[1]) for block in self.A])
        indptr = np.concatenate([[0], np.cumsum(width)])
        return sparse.csr_array((data, np.concatenate(column), indptr), shape=(self.rows[-1], self.columns[-1]))


def penalty(c: float | Iterable[float], blocks: Iterable[Array | float]) -> Array:
    """``sum_j c_ij A_ij'A_ij``, the Hessian of the penalty in a node's step: ``(1,)`` where it is a multiple of ``I``,
    else ``(1, n_i, n_i)``. A block that is a number stands for that number times ``I``; one ``c`` is for all."""
    grams = (block * block if isinstance(block, float) else block.T @ block for block in blocks)
    if isinstance(c, Iterable):
        grams = (of_edge * gram for of_edge, gram in zip(c, grams, strict=True))
        c = 1.0
    gram = sum(grams)
    if isinstance(gram, np.ndarray):
        rounding = 1e-13 * float(np.abs(gram).max())  # rotations are orthogonal to rounding only
        if np.abs(gram - gram[0, 0] * np.eye(len(gram))).max() > rounding:
            return c * gram[None]
    return c * np.ravel(gram)[:1]


def _by_number(
    network: Network, mapping: Mapping[Any, npt.ArrayLike], what: str, known: set[Key]
) -> dict[Key, npt.ArrayLike]:
    """What is given by pairs of names, by pairs of numbers; ``known`` are pairs of numbers already."""
    found: dict[Key, npt.ArrayLike] = {}
    for key, value in mapping.items():
        pair = key
        if key not in known:
            try:
                names.half_edge(network, key)
            except InvalidInput as error:
                raise InvalidNetwork(f"{what}[{key}] is given, but {key} is no edge of the network: {error}") from None
            pair = names.pair(network, key)
        if pair in found:
            raise InvalidNetwork(f"{what}[{key}] is given twice, by name and by number. Give it once.")
        found[pair] = value
    return found


def _refuse_keys(A: Mapping[Key, object], b: Mapping[Key, object], pairs: list[Key], network: Network) -> None:
    for i, j in pairs:
        if (i, j) not in A:
            raise InvalidNetwork(
                f"A[{network.name(i)}, {network.name(j)}] is missing: every half-edge needs its block."
            )
    for i, j in b:
        if (j, i) in b:
            a, c = network.name(i), network.name(j)
            raise InvalidNetwork(f"b is given for both ({a}, {c}) and ({c}, {a}); an edge has one b. Give it once.")


def _block(value: npt.ArrayLike, what: str) -> Array:
    try:
        block = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidNetwork(f"{what} must hold real numbers; got {value!r}.") from None
    block = block.reshape(1, 1) if block.ndim == 0 else block
    if block.ndim != 2 or 0 in block.shape:
        raise InvalidNetwork(f"{what} must be a matrix; got shape {block.shape}.")
    if not np.isfinite(block).all():
        raise InvalidNetwork(f"{what} must be finite.")
    if not block.any(axis=1).all():
        raise InvalidNetwork(f"{what} has a row of zeros. Drop that row, or that edge.")
    return block


def _right_hand_side(b: Mapping[Key, npt.ArrayLike], i: int, j: int, rows: int, name: Callable[[int], str]) -> Array:
    value = b.get((i, j), b.get((j, i)))
    if value is None:
        return np.zeros(rows)
    try:
        vector = np.array(value, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (rows,) or not np.isfinite(vector).all():
        edge = f"[{name(i)}, {name(j)}]"
        raise InvalidNetwork(f"b{edge} must be {rows} finite numbers, like the rows of A{edge}; got {value!r}.")
    return vector
