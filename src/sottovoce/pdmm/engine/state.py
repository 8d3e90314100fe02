"""What the kernels take: graph, costs and state, each as one named tuple, which Numba takes apart for free."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

# What a node has to itself where it wakes alone, its row of half-edges with it: half a cache line.
NODE = np.dtype([("q", "f8"), ("curvature", "f8"), ("x", "f8"), ("low", "u4"), ("high", "u4")])
CACHE_LINE = 64  # bytes


def records(count: int) -> npt.NDArray[np.void]:
    """So many of ``NODE``, zero, none of which lies in two cache lines: NumPy itself begins anywhere."""
    size = count * NODE.itemsize
    memory = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(NODE)


class Graph(NamedTuple):
    """Who is beside whom, see ``memory_layout``."""

    indptr: Any
    indices: Any
    slots: Any


class Costs(NamedTuple):
    """What a step needs (``steps.step``), and the parameters of the iteration. One column: ``q`` is flat.

    A penalty is ``c`` times a weight. One for all: ``weights`` is the number 1. One per edge: ``c`` is 1, and
    ``weights`` are by half-edge, in memory order. ``D`` are their sums at the nodes.
    """

    q: Any
    curvature: Any
    inverse: Any
    d: int
    c: float
    theta: float
    weights: Any
    D: Any


class NodeSpace(NamedTuple):
    """``z(k) = p z(0) + r P z(0) + K C a + P K C b`` and ``x``, with ``g0 = C'z(0)`` and ``h0 = C'P z(0)``."""

    p: float
    r: float
    g0: Any
    h0: Any
    a: Any
    b: Any
    new_b: Any
    x: Any


class EdgeSpace(NamedTuple):
    """The values of the half-edges by slot, their sums ``C'z`` by node, ``x``, and who is awake, as masks."""

    pairs: Any
    g: Any
    x: Any
    active: Any
