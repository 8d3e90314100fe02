"""What the engine is measured against: other ways to run the same iteration, each as good as we can make it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)


@njit(cache=True)
def edge_major(count, indptr, upper, indices, pairs, g, x, q, curvature, c, theta):  # type: ignore[no-untyped-def]
    """Synchronous, edge-major: both values of an edge updated in place, the next row sums fused into the same pass."""
    n = np.uint64(len(upper))
    for _ in range(count):
        for i in range(_0, n):
            x[i] = -(q[i] + g[i]) / curvature[i]
            g[i] = 0.0
        e = _0
        for i in range(_0, n):
            g_i = g[i]
            push_i = 2 * c * x[i]
            for h in range(upper[i], indptr[i + _1]):
                j = indices[h]
                w_ij, w_ji = pairs[e], pairs[e + _1]
                pairs[e] = (1 - theta) * w_ij - theta * (w_ji + 2 * c * x[j])
                pairs[e + _1] = (1 - theta) * w_ji - theta * (w_ij + push_i)
                g_i += pairs[e]
                g[j] += pairs[e + _1]
                e += _2
            g[i] = g_i


class NumPyEdges:
    """The iteration as in the paper, on half-edges, with NumPy calls only: sums by ``reduceat``, no temporaries."""

    def __init__(self, network: Any, q: Any, curvature: Any, c: float, theta: float) -> None:
        self.starts, self.holders = network.indptr[:-1], network.holders.astype(np.intp)
        self.twin = network.twin.astype(np.intp)
        self.q, self.curvature, self.c, self.theta = q, curvature, c, theta
        self.w, self.y, self.spare = np.zeros((3, len(self.twin)))
        self.x = np.zeros(network.n)

    def advance(self, count: int) -> None:
        for _ in range(count):
            x, w, y = self.x, self.w, self.y
            np.add.reduceat(w, self.starts, out=x)
            x += self.q
            x /= self.curvature
            np.multiply(x, 2 * self.c, out=self.spare[: len(x)])  # -2 c x_i
            np.take(self.spare[: len(x)], self.holders, out=y, mode="clip")
            np.subtract(y, w, out=y)  # -(w_{i|j} + 2 c x_i)
            np.negative(x, out=x)
            if self.theta == 1:
                np.take(y, self.twin, out=w, mode="clip")
            else:
                np.take(y, self.twin, out=self.spare, mode="clip")
                w *= 1 - self.theta
                self.spare *= self.theta
                w += self.spare


class NodeSpaceSciPy:
    """The engine's own algorithm (node space) written with NumPy and one product of ``scipy.sparse`` an iteration."""

    def __init__(self, network: Any, q: Any, curvature: Any, c: float, theta: float) -> None:
        ones = np.ones(len(network.indices))
        self.W = sparse.csr_array((ones, network.indices, network.indptr.astype(np.int32)), shape=(network.n,) * 2)
        self.degrees = network.degrees.astype(np.float64)
        self.q, self.curvature, self.c, self.theta = q, curvature, c, theta
        self.a, self.b, self.x = np.zeros((3, network.n))

    def advance(self, count: int) -> None:
        for _ in range(count):
            a, b, theta = self.a, self.b, self.theta
            self.x = -(self.q + (self.degrees * a - self.W @ b)) / self.curvature
            self.b = (1 - theta) * b + theta * (a + 2 * self.c * self.x)
            self.a = (1 - theta) * a + theta * b


class PurePython:
    """Asynchronous, as a plain loop over lists."""

    def __init__(self, indptr: Any, slots: Any, q: Any, curvature: Any, c: float, theta: float) -> None:
        flat, bounds = slots.tolist(), indptr.tolist()
        self.rows = [flat[low:high] for low, high in pairwise(bounds)]
        self.q, self.curvature, self.c, self.theta = q.tolist(), curvature.tolist(), c, theta
        self.w, self.x = [0.0] * len(flat), [0.0] * len(self.q)

    def play(self, nodes: list[int]) -> None:
        w, x, q, curvature, rows = self.w, self.x, self.q, self.curvature, self.rows
        c, theta, keep = self.c, self.theta, 1 - self.theta
        for i in nodes:
            row = rows[i]
            g = 0.0
            for s in row:
                g += w[s]
            x[i] = x_i = -(q[i] + g) / curvature[i]
            push = 2 * c * x_i
            for s in row:
                w[s ^ 1] = keep * w[s ^ 1] - theta * (w[s] + push)
