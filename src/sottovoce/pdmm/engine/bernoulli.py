"""The kernels where chance is on nodes or edges: everybody computes from ``z(k)``, then a random part is updated.

As in ``kernels``: the gauge, rows of ``L`` columns, no fast math. Who is awake and what arrives are *masks*, all bits
of a number or none, as ``primitives.choose`` takes them (engine: Chance).
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator,call-arg,operator,assignment"

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .primitives import both, choose, chosen, first_upper, hash_of, masks_of, weight
from .state import Costs, EdgeSpace, Graph
from .steps import room_for, step

# Typed constants: mixing signed and unsigned integers would silently give floating point.
_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
AWAKE = np.uint64(2**64 - 1)  # as a mask
BLOCK = np.uint64(1024)  # slots whose chances are hashed together


@njit(inline="always")
def edges(by_node, key_k, threshold, arrives, upper, graph, costs, state):
    """Half-edges whose message arrives are updated; ``g`` becomes the new row sums."""
    indptr, indices = graph.indptr, graph.indices
    c, theta, weights = costs.c, costs.theta, costs.weights
    pairs, g, x, active = state.pairs, state.g, state.x, state.active
    e, at = _0, BLOCK  # slot, and its place in a block of chances; this one is used up
    for i in range(_0, np.uint64(len(upper))):
        g_i, x_i, h, row_end = g[i], x[i], upper[i], indptr[i + _1]
        while h < row_end:
            end = row_end
            if not by_node:
                if at == BLOCK:
                    masks_of(key_k, e, threshold, arrives)
                    at = _0
                end = min(row_end, h + (BLOCK - at) // _2)
            while h < end:  # nothing but edges in here: a look for the next block at each would cost as much as they do
                j, twice = indices[h], 2 * c * weight(weights, h)
                w_ij, w_ji = pairs[e], pairs[e + _1]
                new_ij = (1 - theta) * w_ij - theta * (w_ji + twice * x[j])
                new_ji = (1 - theta) * w_ji - theta * (w_ij + twice * x_i)
                to_i = active[j] if by_node else arrives[at]
                to_j = active[i] if by_node else arrives[at + _1]
                w_ij, w_ji = choose(to_i, to_j, new_ij, new_ji, w_ij, w_ji)
                pairs[e], pairs[e + _1] = w_ij, w_ji
                g_i += w_ij
                g[j] += w_ji
                h, e, at = h + _1, e + _2, at + _2
        g[i] = g_i


@njit(cache=True, error_model="numpy")
def bernoulli_scalar(count, key, first, threshold, by_node, graph, costs, state):
    """``count`` iterations for one column and ``Q_i = a_i I``; ``g`` holds the row sums. Returns wakes and messages."""
    indptr, indices = graph.indptr, graph.indices
    q, curvature = costs.q, costs.curvature
    g, x, active = state.g, state.x, state.active
    n = len(active)
    upper, arrives = first_upper(indptr, indices), np.empty(BLOCK, np.uint64)
    activations, messages = 0, 0
    for k in range(first, first + count):
        key_k = hash_of(key, k)
        if by_node:
            masks_of(key_k, _0, threshold, active)
            for i in range(n):
                if active[i]:
                    x[i] = -(q[i] + g[i]) / curvature[i]
                    activations += 1
                    messages += indptr[i + 1] - indptr[i]
                g[i] = 0.0
            edges(True, key_k, threshold, arrives, upper, graph, costs, state)
        else:
            for i in range(n):
                x[i] = -(q[i] + g[i]) / curvature[i]
                g[i] = 0.0
            activations += n
            messages += len(indices)
            edges(False, key_k, threshold, arrives, upper, graph, costs, state)
    return activations, messages


@njit(inline="always")
def exchange(to_i, to_j, theta, twice, w_ij, w_ji, x_i, x_j):
    """What arrives at the ends of an edge, in rows; LLVM vectorises each of the loops, but none that does it all."""
    if to_i and to_j:
        for l in range(len(w_ij)):
            old = w_ij[l]
            w_ij[l] = (1 - theta) * old - theta * (w_ji[l] + twice * x_j[l])
            w_ji[l] = (1 - theta) * w_ji[l] - theta * (old + twice * x_i[l])
    elif to_i:
        for l in range(len(w_ij)):
            w_ij[l] = (1 - theta) * w_ij[l] - theta * (w_ji[l] + twice * x_j[l])
    elif to_j:
        for l in range(len(w_ij)):
            w_ji[l] = (1 - theta) * w_ji[l] - theta * (w_ij[l] + twice * x_i[l])


@njit(inline="always")
def add(total, row):
    for l in range(len(row)):
        total[l] += row[l]


@njit(inline="always")
def bernoulli_rows(begin, end, count, key, first, threshold, by_node, graph, costs, state):
    """The columns ``begin .. end`` of ``count`` iterations; columns of different draws never meet."""
    indptr, indices = graph.indptr, graph.indices
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights = costs.d, costs.c, costs.theta, costs.weights
    pairs, g, x, active = state.pairs, state.g, state.x, state.active
    n, room = len(active), room_for(inverse, d)
    activations, messages = 0, 0
    for k in range(first, first + count):
        key_k = hash_of(key, k)
        if by_node:
            masks_of(key_k, _0, threshold, active)
        for i in range(n):
            if active[i]:
                activations += 1
                step(i, g[i, begin:end], x[i, begin:end], q[i, begin:end], curvature, inverse, d, room)
                messages += indptr[i + 1] - indptr[i]
            for l in range(begin, end):
                g[i, l] = 0.0
        e = _0
        for i in range(n):
            for h in range(indptr[i], indptr[i + 1]):
                j = indices[h]
                if j > i:
                    to_i = active[j] if by_node else np.uint64(chosen(key_k, e, threshold))
                    to_j = active[i] if by_node else np.uint64(chosen(key_k, e + _1, threshold))
                    w_ij, w_ji = pairs[e, begin:end], pairs[e + _1, begin:end]
                    x_i, x_j = x[i, begin:end], x[j, begin:end]
                    exchange(to_i, to_j, theta, 2 * c * weight(weights, h), w_ij, w_ji, x_i, x_j)
                    add(g[i, begin:end], w_ij)
                    add(g[j, begin:end], w_ji)
                    e += _2
    return activations, messages


def bernoulli_parts(bounds, count, key, first, threshold, by_node, graph, costs, state):
    """``bernoulli_scalar`` for rows of several columns, which ``bounds`` cuts into parts that fit into cache: all draws
    share the choices."""
    indptr, indices, slots = graph.indptr, graph.indices, graph.slots
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights, D = costs.d, costs.c, costs.theta, costs.weights, costs.D
    pairs, g, x, active = state.pairs, state.g, state.x, state.active
    done = np.zeros((len(bounds) - 1, 2), np.int64)  # the same for every part
    for part in prange(len(bounds) - 1):  # threads take arrays, no tuples of them
        own, step_of = Graph(indptr, indices, slots), Costs(q, curvature, inverse, d, c, theta, weights, D)
        now, begin, end = EdgeSpace(pairs, g, x, active.copy()), bounds[part], bounds[part + 1]
        wakes, messages = bernoulli_rows(begin, end, count, key, first, threshold, by_node, own, step_of, now)
        done[part, 0], done[part, 1] = wakes, messages
    return done[0, 0], done[0, 1]


bernoulli, bernoulli_parallel = both(bernoulli_parts)
