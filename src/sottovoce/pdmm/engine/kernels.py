"""The compiled kernels (Numba). Plain loops in the *gauge* ``w_{i|j} = A_ij z_{i|j}``, in which all signs vanish:

    g_i      = sum_j w_{i|j}
    x_i      = -(Q_i + c d_i)^{-1} (q_i + g_i)
    w_{j|i} <- (1 - theta) w_{j|i} - theta (w_{i|j} + 2 c x_i)

With a penalty per edge ``c`` is 1 and the edge has a ``weight``. Multiplying by +-1 is exact, so the gauge changes no
bit. Rows have ``L`` columns: one per draw and entry of ``x``. ``pairs[2e], pairs[2e+1]`` are the values of edge ``e``
(``memory_layout``). No kernel uses fast math: sums are taken in the order of the neighbours, as in the reference.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator,call-arg,operator,assignment"

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .primitives import around, both, chosen, first_upper, hash_of, prefetch, step, uniform, weight
from .state import Costs, Graph, NodeSpace

# Typed constants: mixing signed and unsigned integers would silently give floating point.
_ONE, _0, _1, _2, _7 = np.uint32(1), np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(7)

AHEAD_NODES, AHEAD_ROWS, AHEAD_VALUES = np.uint64(32), np.uint64(16), np.uint64(8)  # activations, when prefetching
AHEAD_SORTED = np.uint64(192)  # nodes, when prefetching in a synchronous iteration
PREFETCH_FROM = 1 << 17  # values in ``pairs``, a megabyte: fewer lie in cache anyway
BLOCK = 1024  # slots whose chances are hashed together
RECENTRE = 10  # iterations
CHUNKS = 64  # of nodes; a fixed number, so that results do not depend on the number of threads


@njit(cache=True)
def wakes(key, first, n, cumulative, number, nodes):
    """The memory positions of the nodes that wake at ``first, first + 1, ...``; an empty ``cumulative`` is uniform."""
    if len(cumulative):
        for t in range(len(nodes)):
            u = uniform(hash_of(key, first + t), 0)
            nodes[t] = number[min(np.searchsorted(cumulative, u, side="right"), n - 1)]
        return
    for t in range(len(nodes)):  # without the look-up, so that LLVM vectorises the hashes
        nodes[t] = np.uint32(uniform(hash_of(key, first + t), 0) * n)
    for t in range(len(nodes)):
        nodes[t] = number[nodes[t]]


# Synchronous, in node space: z(k) = p z(0) + q P z(0) + K C a + P K C b, K the weights


@njit(inline="always")
def node_space_rows(low, high, graph, costs, state):
    """One iteration of nodes ``low .. high``: ``b`` is read, ``a``, ``x`` and ``new_b`` are written."""
    indptr, indices = graph.indptr, graph.indices
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights, D = costs.d, costs.c, costs.theta, costs.weights, costs.D
    p, r, x = state.p, state.r, state.x
    g0, h0 = state.g0, state.h0
    a, b, new_b = state.a, state.b, state.new_b
    L = a.shape[1]
    g = np.empty(L)
    for i in range(low, high):
        near = around(weights, D, i, indptr[i + 1] - indptr[i])
        for l in range(L):
            g[l] = 0.0
        for h in range(indptr[i], indptr[i + 1]):
            j, w = indices[h], weight(weights, h)
            for l in range(L):
                g[l] -= w * b[j, l]
        if len(g0):
            for l in range(L):
                g[l] += p * g0[i, l] + r * h0[i, l]
        for l in range(L):
            g[l] += near * a[i, l]
        step(i, g, x[i], q, curvature, inverse, d)
        for l in range(L):
            new_b[i, l] = (1 - theta) * b[i, l] + theta * (a[i, l] + 2 * c * x[i, l])
            a[i, l] = (1 - theta) * a[i, l] + theta * b[i, l]


@njit(inline="always")
def recentre(a, b):
    """``a`` and ``b`` drift along the ones vector, which ``K C a + P K C b`` does not see: take it out."""
    for l in range(a.shape[1]):
        total = 0.0
        for i in range(a.shape[0]):
            total += a[i, l] + b[i, l]
        middle = total / (2 * a.shape[0])
        for i in range(a.shape[0]):
            a[i, l] -= middle
            b[i, l] -= middle


def node_space_iterations(chunks, count, first, graph, costs, state):
    """``count`` synchronous iterations, nodes in ``chunks``. Returns ``p``, ``r``; the newest ``b`` is in ``b`` or, if
    odd, in ``new_b``."""
    indptr, indices, slots = graph.indptr, graph.indices, graph.slots
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights, D = costs.d, costs.c, costs.theta, costs.weights, costs.D
    p, r, x = state.p, state.r, state.x
    g0, h0 = state.g0, state.h0
    a, b, new_b = state.a, state.b, state.new_b
    n = len(indptr) - 1
    for k in range(first, first + count):
        for chunk in prange(chunks):  # threads take arrays, no tuples of them
            own, step_of = Graph(indptr, indices, slots), Costs(q, curvature, inverse, d, c, theta, weights, D)
            now = NodeSpace(p, r, g0, h0, a, b, new_b, x)
            node_space_rows(n * chunk // chunks, n * (chunk + 1) // chunks, own, step_of, now)
        b, new_b = new_b, b
        p, r = (1 - theta) * p + theta * r, (1 - theta) * r + theta * p
        if (k + 1) % RECENTRE == 0:
            recentre(a, b)
    return p, r


node_space, node_space_parallel = both(node_space_iterations)


@njit(inline="always")
def node_space_scalars(low, high, order, last, graph, costs, state):
    """``node_space_rows`` for one column and ``Q_i = a_i I``, without row buffers: the nodes ``order[low] ..``, by two.

    ``x`` is written in the ``last`` iteration only: no other one reads it.
    """
    indptr, indices = graph.indptr, graph.indices
    q, curvature = costs.q, costs.curvature
    c, theta, weights, D = costs.c, costs.theta, costs.weights, costs.D
    p, r, x = state.p, state.r, state.x
    g0, h0 = state.g0, state.h0
    a, b, new_b = state.a, state.b, state.new_b
    is_sorted, is_masked, n, high = len(order) > 0, len(g0) > 0, np.uint64(len(a)), np.uint64(high)
    for t in range(np.uint64(low), high, _2):
        i, j = t, min(t + _1, high - _1)  # at an odd end twice the same, which does no harm
        if is_sorted:
            # Out of order, the processor no longer sees that memory is read from one end to the other.
            i, j, later = np.uint64(order[i]), np.uint64(order[j]), t + AHEAD_SORTED
            if later + _1 < n:
                prefetch(indices, indptr[later])
                prefetch(indices, indptr[later + _1])
                prefetch(weights, indptr[later])
                prefetch(weights, indptr[later + _1])
                if later & _7 < _2:
                    prefetch(a, later)
                    prefetch(new_b, later)
                    prefetch(q, later)
                    prefetch(curvature, later)
                    if is_masked:
                        prefetch(g0, later)
                        prefetch(h0, later)
        g_i, g_j = 0.0, 0.0
        row_i, row_j = indptr[i], indptr[j]
        degree_i, degree_j = indptr[i + _1] - row_i, indptr[j + _1] - row_j
        if degree_i == degree_j:
            for h in range(degree_i):
                g_i -= weight(weights, row_i + h) * b[indices[row_i + h]]
                g_j -= weight(weights, row_j + h) * b[indices[row_j + h]]
        else:
            for h in range(degree_i):
                g_i -= weight(weights, row_i + h) * b[indices[row_i + h]]
            for h in range(degree_j):
                g_j -= weight(weights, row_j + h) * b[indices[row_j + h]]
        if is_masked:
            g_i += p * g0[i] + r * h0[i]
            g_j += p * g0[j] + r * h0[j]
        a_i, a_j, b_i, b_j = a[i], a[j], b[i], b[j]
        x_i = -(q[i] + (g_i + around(weights, D, i, degree_i) * a_i)) / curvature[i]
        x_j = -(q[j] + (g_j + around(weights, D, j, degree_j) * a_j)) / curvature[j]
        if last:
            x[i], x[j] = x_i, x_j
        new_b[i], a[i] = (1 - theta) * b_i + theta * (a_i + 2 * c * x_i), (1 - theta) * a_i + theta * b_i
        new_b[j], a[j] = (1 - theta) * b_j + theta * (a_j + 2 * c * x_j), (1 - theta) * a_j + theta * b_j


def node_space_scalar_iterations(chunks, count, first, order, graph, costs, state):
    indptr, indices, slots = graph.indptr, graph.indices, graph.slots
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights, D = costs.d, costs.c, costs.theta, costs.weights, costs.D
    p, r, x = state.p, state.r, state.x
    g0, h0 = state.g0, state.h0
    a, b, new_b = state.a, state.b, state.new_b
    n = len(a)
    for k in range(first, first + count):
        last = k == first + count - 1
        for chunk in prange(chunks):
            own, step_of = Graph(indptr, indices, slots), Costs(q, curvature, inverse, d, c, theta, weights, D)
            now = NodeSpace(p, r, g0, h0, a, b, new_b, x)
            node_space_scalars(n * chunk // chunks, n * (chunk + 1) // chunks, order, last, own, step_of, now)
        b, new_b = new_b, b
        p, r = (1 - theta) * p + theta * r, (1 - theta) * r + theta * p
        if (k + 1) % RECENTRE == 0:
            recentre(a.reshape(-1, 1), b.reshape(-1, 1))
    return p, r


node_space_scalar, node_space_scalar_parallel = both(node_space_scalar_iterations)


# Asynchronous: one node at a time, in place


@njit(cache=True)
def asynchronous_scalar(nodes, graph, costs, pairs, x):
    """The nodes wake one after the other; one column, ``Q_i = a_i I``."""
    indptr, slots = graph.indptr, graph.slots
    q, curvature, c, theta, weights = costs.q, costs.curvature, costs.c, costs.theta, costs.weights
    count = np.uint64(len(nodes))
    large = len(pairs) >= PREFETCH_FROM
    for t in range(_0, count):
        if large:
            # The sequence is known, so memory can be asked for before it is needed: first what a node has to itself,
            # then its slots (both ends: a row often lies in two cache lines), then the values.
            if t + AHEAD_NODES < count:
                later = np.uint64(nodes[t + AHEAD_NODES])
                prefetch(indptr, later)
                prefetch(x, later)
                prefetch(q, later)
                prefetch(curvature, later)
            if t + AHEAD_ROWS < count:
                later = np.uint64(nodes[t + AHEAD_ROWS])
                prefetch(slots, indptr[later])
                prefetch(slots, indptr[later + _1] - _1)
                prefetch(weights, indptr[later])
                prefetch(weights, indptr[later + _1] - _1)
            if t + AHEAD_VALUES < count:
                later = np.uint64(nodes[t + AHEAD_VALUES])
                for h in range(indptr[later], indptr[later + _1]):
                    prefetch(pairs, slots[h])
        i = np.uint64(nodes[t])
        low, high = indptr[i], indptr[i + _1]
        g = 0.0
        for h in range(low, high):
            g += pairs[slots[h]]
        x_i = -(q[i] + g) / curvature[i]
        x[i] = x_i
        for h in range(low, high):
            s, push = slots[h], 2 * c * weight(weights, h) * x_i
            pairs[s ^ _ONE] = (1 - theta) * pairs[s ^ _ONE] - theta * (pairs[s] + push)


@njit(inline="always")
def asynchronous_rows(low, high, nodes, graph, costs, pairs, x):
    """The columns ``low .. high`` of the whole sequence; columns of different draws never meet."""
    indptr, slots = graph.indptr, graph.slots
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights = costs.d, costs.c, costs.theta, costs.weights
    width = high - low
    g, x_i = np.empty(width), np.empty(width)
    for t in range(len(nodes)):
        i = nodes[t]
        for l in range(width):
            g[l] = 0.0
        for h in range(indptr[i], indptr[i + 1]):
            held = pairs[slots[h], low:high]
            for l in range(width):
                g[l] += held[l]
        step(i, g, x_i, q[:, low:high], curvature, inverse, d)
        for l in range(width):
            x[i, low + l] = x_i[l]
        for h in range(indptr[i], indptr[i + 1]):
            held, written = pairs[slots[h], low:high], pairs[slots[h] ^ _ONE, low:high]
            twice = 2 * c * weight(weights, h)
            for l in range(width):
                written[l] = (1 - theta) * written[l] - theta * (held[l] + twice * x_i[l])


def asynchronous_parts(bounds, nodes, graph, costs, pairs, x):
    """Rows of several columns; ``bounds`` cuts them into parts that fit into cache."""
    indptr, indices, slots = graph.indptr, graph.indices, graph.slots
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights, D = costs.d, costs.c, costs.theta, costs.weights, costs.D
    for part in prange(len(bounds) - 1):
        own, step_of = Graph(indptr, indices, slots), Costs(q, curvature, inverse, d, c, theta, weights, D)
        asynchronous_rows(bounds[part], bounds[part + 1], nodes, own, step_of, pairs, x)


asynchronous, asynchronous_parallel = both(asynchronous_parts)


# Bernoulli: everybody computes from z(k), then a random part is updated


@njit(inline="always")
def wake_up(key_k, threshold, by_node, active):
    """Which nodes wake; all of them where chance is on the edges. Returns how many."""
    if not by_node:
        return len(active)
    awake = 0
    for i in range(len(active)):
        active[i] = chosen(key_k, i, threshold)
        awake += active[i]
    return awake


@njit(inline="always")
def bernoulli_edges(by_node, key_k, threshold, arrives, upper, graph, costs, state):
    """Half-edges whose message arrives are updated; ``g`` becomes the new row sums."""
    indptr, indices = graph.indptr, graph.indices
    c, theta, weights = costs.c, costs.theta, costs.weights
    pairs, g, x, active = state.pairs, state.g, state.x, state.active
    e = _0
    for i in range(_0, np.uint64(len(upper))):
        g_i, x_i = g[i], x[i]
        for h in range(upper[i], indptr[i + _1]):
            j, twice = indices[h], 2 * c * weight(weights, h)
            at = e & np.uint64(BLOCK - 1)
            if not by_node and at == _0:  # the chances of the next slots, all at once: LLVM vectorises the hashes
                for s in range(_0, np.uint64(BLOCK)):
                    arrives[s] = chosen(key_k, e + s, threshold)
            # Both outcomes are computed and one is selected: a branch on chance would be mispredicted.
            w_ij, w_ji = pairs[e], pairs[e + _1]
            new_ij = (1 - theta) * w_ij - theta * (w_ji + twice * x[j])
            new_ji = (1 - theta) * w_ji - theta * (w_ij + twice * x_i)
            to_i = active[j] if by_node else arrives[at]
            to_j = active[i] if by_node else arrives[at + _1]
            w_ij = new_ij if to_i else w_ij
            w_ji = new_ji if to_j else w_ji
            pairs[e], pairs[e + _1] = w_ij, w_ji
            g_i += w_ij
            g[j] += w_ji
            e += _2
        g[i] = g_i


@njit(cache=True)
def bernoulli_scalar(count, key, first, threshold, by_node, graph, costs, state):
    """``count`` iterations for one column and ``Q_i = a_i I``; ``g`` holds the row sums. Returns wakes and messages."""
    indptr, indices = graph.indptr, graph.indices
    q, curvature = costs.q, costs.curvature
    g, x, active = state.g, state.x, state.active
    n = len(indptr) - 1
    upper, arrives = first_upper(indptr, indices), np.empty(BLOCK, np.bool_)
    activations, messages = 0, 0
    for k in range(first, first + count):
        key_k = hash_of(key, k)
        activations += wake_up(key_k, threshold, by_node, active)
        for i in range(n):
            if active[i]:
                x[i] = -(q[i] + g[i]) / curvature[i]
                messages += indptr[i + 1] - indptr[i]
            g[i] = 0.0
        if by_node:
            bernoulli_edges(True, key_k, threshold, arrives, upper, graph, costs, state)
        else:
            bernoulli_edges(False, key_k, threshold, arrives, upper, graph, costs, state)
    return activations, messages


@njit(cache=True)
def bernoulli(count, key, first, threshold, by_node, graph, costs, state):
    """``bernoulli_scalar`` for rows of several columns: all draws share the choices."""
    indptr, indices = graph.indptr, graph.indices
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights = costs.d, costs.c, costs.theta, costs.weights
    pairs, g, x, active = state.pairs, state.g, state.x, state.active
    n = len(indptr) - 1
    L = x.shape[1]
    activations, messages = 0, 0
    for k in range(first, first + count):
        key_k = hash_of(key, k)
        activations += wake_up(key_k, threshold, by_node, active)
        for i in range(n):
            if active[i]:
                step(i, g[i], x[i], q, curvature, inverse, d)
                messages += indptr[i + 1] - indptr[i]
            for l in range(L):
                g[i, l] = 0.0
        e = np.uint64(0)
        for i in range(n):
            for h in range(indptr[i], indptr[i + 1]):
                j = indices[h]
                if j > i:
                    twice = 2 * c * weight(weights, h)
                    to_i = active[j] if by_node else chosen(key_k, e, threshold)
                    to_j = active[i] if by_node else chosen(key_k, e + _1, threshold)
                    for l in range(L):
                        w_ij, w_ji = pairs[e, l], pairs[e + _1, l]
                        if to_i:
                            pairs[e, l] = (1 - theta) * w_ij - theta * (w_ji + twice * x[j, l])
                        if to_j:
                            pairs[e + _1, l] = (1 - theta) * w_ji - theta * (w_ij + twice * x[i, l])
                        g[i, l] += pairs[e, l]
                        g[j, l] += pairs[e + _1, l]
                    e += _2
    return activations, messages
