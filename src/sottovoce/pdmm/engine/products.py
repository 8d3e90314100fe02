"""Products with the matrices of the network: for the residual, and for costs whose step is not compiled."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator,call-arg,operator,assignment"

from __future__ import annotations

import numpy as np
from numba import njit

from .primitives import weight

_ONE = np.uint32(1)  # typed: mixing signed and unsigned integers would silently give floating point


@njit(cache=True)
def adjacency(indptr, indices, weights, v, out):
    """``out = W v``, row by row."""
    if v.shape[1] == 1:
        for i in range(len(indptr) - 1):
            total = 0.0
            for h in range(indptr[i], indptr[i + 1]):
                total += weight(weights, h) * v[indices[h], 0]
            out[i, 0] = total
        return
    for i in range(len(indptr) - 1):
        for l in range(v.shape[1]):
            out[i, l] = 0.0
        for h in range(indptr[i], indptr[i + 1]):
            j, w = indices[h], weight(weights, h)
            for l in range(v.shape[1]):
                out[i, l] += w * v[j, l]


@njit(cache=True)
def row_sums(indptr, slots, pairs, own, other):
    """``own = C'z`` and ``other = C'Pz`` (in the gauge ``-sum_j w_{j|i}``), for the residual."""
    if pairs.shape[1] == 1:
        for i in range(len(indptr) - 1):
            total, total_other = 0.0, 0.0
            for h in range(indptr[i], indptr[i + 1]):
                total += pairs[slots[h], 0]
                total_other -= pairs[slots[h] ^ _ONE, 0]
            own[i, 0], other[i, 0] = total, total_other
        return
    for i in range(len(indptr) - 1):
        for l in range(pairs.shape[1]):
            own[i, l] = 0.0
            other[i, l] = 0.0
        for h in range(indptr[i], indptr[i + 1]):
            for l in range(pairs.shape[1]):
                own[i, l] += pairs[slots[h], l]
                other[i, l] -= pairs[slots[h] ^ _ONE, l]
