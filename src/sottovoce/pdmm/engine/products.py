"""Products with the matrices of the network: for the residual, and for costs whose step is not compiled."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator,call-arg,operator,assignment"

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .primitives import both, weight

_1 = np.uint64(1)


def adjacency_scalars(chunks, order, indptr, indices, weights, v, out):
    """``out = W v`` for one column, from node to node in ``order``, which is of ``by_degree``."""
    n = len(out)
    for chunk in prange(chunks):
        for t in range(np.uint64(n * chunk // chunks), np.uint64(n * (chunk + 1) // chunks)):
            i = np.uint64(order[t]) if len(order) else t
            total = 0.0
            for h in range(indptr[i], indptr[i + _1]):
                total -= weight(weights, h) * v[indices[h]]
            out[i] = -total


adjacency_scalar, adjacency_scalar_parallel = both(adjacency_scalars)


@njit(cache=True)
def adjacency(indptr, indices, weights, v, out):
    """``out = W v``, row by row."""
    for i in range(len(indptr) - 1):
        for l in range(v.shape[1]):
            out[i, l] = 0.0
        for h in range(indptr[i], indptr[i + 1]):
            j, w = indices[h], weight(weights, h)
            for l in range(v.shape[1]):
                out[i, l] += w * v[j, l]


@njit(cache=True)
def row_sums(indptr, slots, other, pairs, out):
    """``out = C'z``, row by row; of ``Pz`` where ``other`` is 1 (in the gauge ``-sum_j w_{j|i}``)."""
    sign = -1.0 if other else 1.0
    if pairs.shape[1] == 1:
        for i in range(len(indptr) - 1):
            total = 0.0
            for h in range(indptr[i], indptr[i + 1]):
                total += pairs[slots[h] ^ other, 0]
            out[i, 0] = sign * total
        return
    for i in range(len(indptr) - 1):
        for l in range(pairs.shape[1]):
            out[i, l] = 0.0
        for h in range(indptr[i], indptr[i + 1]):
            for l in range(pairs.shape[1]):
                out[i, l] += sign * pairs[slots[h] ^ other, l]
