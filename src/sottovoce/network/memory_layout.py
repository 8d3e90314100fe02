"""How a network lies in memory: nodes in an order that keeps neighbours close, edges as adjacent pairs.

The two values of an edge, ``z_{i|j}`` and ``z_{j|i}``, sit side by side (*slots* ``2e`` and ``2e + 1``), so that a node
that reads one finds the other, which it is about to write, in the same cache line. Users never see any of this:
``half_edges`` keeps their labels.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from ..errors import Unsupported

if TYPE_CHECKING:
    from .network import Network

Unsigned = npt.NDArray[np.uint32]  # unsigned indices: signed ones cost a wraparound check per access in Numba

REORDER_FROM = 20_000  # nodes; smaller networks fit into cache in any order
HALF_EDGES = 1 << 32  # that an unsigned index can tell apart


class Layout:
    """CSR arrays in memory order, and the way back to the user's labels."""

    number: Unsigned  # memory position of the user's node
    indptr: npt.NDArray[np.uint64]
    indices: Unsigned
    user: npt.NDArray[np.int64] | None  # the user's half-edge at each memory position; None where the orders agree

    def __init__(self, network: Network) -> None:
        if 2 * network.m >= HALF_EDGES:
            raise Unsupported(f"the fast engines take less than 2^32 directed edges; got {2 * network.m}.")
        self.network = network
        order = _better_order(network)
        if order is None:
            self.number = np.arange(network.n, dtype=np.uint32)
            self.indptr, self.indices = network.indptr.view(np.uint64), network.indices.view(np.uint32)
            self.user = None
            return
        self.number = np.empty(network.n, dtype=np.uint32)
        self.number[order] = np.arange(network.n, dtype=np.uint32)
        # The half-edges as data of a permuted matrix: afterwards data[h] is the user's half-edge at position h.
        half_edge = np.arange(len(network.indices), dtype=np.int64)
        triple = (half_edge, self.number[network.indices].astype(np.int32), network.indptr)
        matrix: sparse.csr_array[Any] = sparse.csr_array(triple, shape=(network.n, network.n))[order]
        matrix.sort_indices()
        self.indptr, self.indices = matrix.indptr.astype(np.uint64), matrix.indices.astype(np.uint32)
        self.user = matrix.data

    @cached_property
    def slots(self) -> Unsigned:
        """Slot of every half-edge, in memory order; edges are numbered by ``(i, j)``, ``i < j``, in that order."""
        twin: npt.NDArray[Any] = self.network.twin
        if self.user is not None:
            position = np.empty_like(self.user)
            position[self.user] = np.arange(len(self.user))
            twin = position[twin[self.user]]
        holders = np.repeat(np.arange(self.network.n, dtype=np.uint32), np.diff(self.indptr).astype(np.int64))
        lower = holders < self.indices
        slots = (2 * (np.cumsum(lower) - 1)).astype(np.uint32)
        upper = np.flatnonzero(~lower)
        slots[upper] = slots[twin[upper]] + np.uint32(1)
        return slots

    @cached_property
    def slot(self) -> Unsigned:
        """Slot of every half-edge, in the user's order."""
        if self.user is None:
            return self.slots
        slot = np.empty_like(self.slots)
        slot[self.user] = self.slots
        return slot


def _better_order(network: Network) -> npt.NDArray[np.int32] | None:
    """Reverse Cuthill-McKee, where the user's order is scattered and this one brings neighbours much closer."""

    def mean_distance(i: npt.NDArray[Any], j: npt.NDArray[Any]) -> float:
        return float(np.abs(i.astype(np.int64) - j).mean())

    if network.n < REORDER_FROM:
        return None
    now = mean_distance(network.holders, network.indices)
    if now < network.n / 50:
        return None
    order = csgraph.reverse_cuthill_mckee(network.adjacency, symmetric_mode=True)
    number = np.empty_like(order)
    number[order] = np.arange(network.n, dtype=order.dtype)
    return order if mean_distance(number[network.holders], number[network.indices]) < now / 4 else None
