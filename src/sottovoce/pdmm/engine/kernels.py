"""The compiled kernels (Numba); ``bernoulli`` has those for chance. Plain loops in the *gauge*
``w_{i|j} = A_ij z_{i|j}``, in which all signs vanish:

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

from .primitives import around, both, hash_of, prefetch, uniform, weight
from .state import Costs, Graph, NodeSpace
from .steps import room_for, step

# Typed constants: mixing signed and unsigned integers would silently give floating point.
_ONE, _0, _1, _2, _7 = np.uint32(1), np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(7)

AHEAD_NODES, AHEAD_ROWS, AHEAD_VALUES = np.uint64(48), np.uint64(24), np.uint64(12)  # activations, when prefetching
TOGETHER = np.uint64(16)  # values that are prefetched without asking whether there are so many
AHEAD_SORTED = np.uint64(192)  # nodes, when prefetching in a synchronous iteration
PREFETCH_FROM = 1 << 17  # values in ``pairs``, a megabyte: fewer lie in cache anyway
RECENTRE = 10  # iterations
MIDDLE = 256  # nodes whose mean is taken out then, about; as in ``cuda``
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
def node_space_rows(low, high, begin, end, last, graph, costs, state):
    """One iteration of the columns ``begin .. end`` of nodes ``low .. high``: ``b`` is read, ``a`` and ``new_b`` are
    written, and in the ``last`` iteration ``x``, which no other one reads."""
    indptr, indices = graph.indptr, graph.indices
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights, D = costs.d, costs.c, costs.theta, costs.weights, costs.D
    p, r, g0, h0 = state.p, state.r, state.g0, state.h0
    a, b, new_b, x = state.a, state.b, state.new_b, state.x
    width = end - begin
    g, x_i, room = np.empty(width), np.empty(width), room_for(inverse, d)
    for i in range(low, high):
        h, row_end = indptr[i], indptr[i + 1]
        near = around(weights, D, i, row_end - h)
        for l in range(width):
            g[l] = 0.0
        while h + _1 < row_end:  # by two: half as often are the sums read and written
            one, other = b[indices[h], begin:end], b[indices[h + _1], begin:end]
            w, other_w = weight(weights, h), weight(weights, h + _1)
            for l in range(width):
                g[l] = (g[l] - w * one[l]) - other_w * other[l]
            h += _2
        if h < row_end:
            one, w = b[indices[h], begin:end], weight(weights, h)
            for l in range(width):
                g[l] -= w * one[l]
        if len(g0):
            g0_i, h0_i = g0[i, begin:end], h0[i, begin:end]
            for l in range(width):
                g[l] += p * g0_i[l] + r * h0_i[l]
        a_i, b_i, new_b_i = a[i, begin:end], b[i, begin:end], new_b[i, begin:end]
        for l in range(width):
            g[l] += near * a_i[l]
        step(i, g, x_i, q[i, begin:end], curvature, inverse, d, room)
        if last:
            x[i, begin:end] = x_i
        for l in range(width):
            new_b_i[l] = (1 - theta) * b_i[l] + theta * (a_i[l] + 2 * c * x_i[l])
            a_i[l] = (1 - theta) * a_i[l] + theta * b_i[l]


@njit(inline="always")
def recentre(begin, end, a, b):
    """``a`` and ``b`` drift along the ones vector, which ``K C a + P K C b`` does not see: take it out. The mean of
    some nodes does as well as that of all, and every engine can add it up in one order, which gives the same bits."""
    apart, count = max(1, len(a) // MIDDLE), 0
    middle = np.zeros(end - begin)
    for i in range(0, len(a), apart):
        a_i, b_i = a[i, begin:end], b[i, begin:end]
        for l in range(len(middle)):
            middle[l] += a_i[l] + b_i[l]
        count += 1
    for l in range(len(middle)):
        middle[l] /= 2 * count
    for i in range(len(a)):
        a_i, b_i = a[i, begin:end], b[i, begin:end]
        for l in range(len(middle)):
            a_i[l] -= middle[l]
            b_i[l] -= middle[l]


def node_space_iterations(bounds, chunks, count, first, graph, costs, state):
    """``count`` synchronous iterations of one part of the columns after the other, which ``bounds`` cuts; nodes in
    ``chunks``. Returns ``p``, ``r``; the newest ``b`` is in ``b`` or, if odd, in ``new_b``."""
    indptr, indices, slots = graph.indptr, graph.indices, graph.slots
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights, D = costs.d, costs.c, costs.theta, costs.weights, costs.D
    g0, h0, a, x = state.g0, state.h0, state.a, state.x
    n, p, r = len(indptr) - 1, state.p, state.r
    for part in range(len(bounds) - 1):
        begin, end = bounds[part], bounds[part + 1]
        p, r, b, new_b = state.p, state.r, state.b, state.new_b
        for k in range(first, first + count):
            last = k == first + count - 1
            for chunk in prange(chunks):  # threads take arrays, no tuples of them
                own, step_of = Graph(indptr, indices, slots), Costs(q, curvature, inverse, d, c, theta, weights, D)
                now, low, high = NodeSpace(p, r, g0, h0, a, b, new_b, x), n * chunk // chunks, n * (chunk + 1) // chunks
                node_space_rows(low, high, begin, end, last, own, step_of, now)
            b, new_b = new_b, b
            p, r = (1 - theta) * p + theta * r, (1 - theta) * r + theta * p
            if (k + 1) % RECENTRE == 0:
                recentre(begin, end, a, b)
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


@njit(inline="always")
def recentre_scalars(a, b):
    """``recentre`` for one column."""
    apart, count, total = max(1, len(a) // MIDDLE), 0, 0.0
    for i in range(0, len(a), apart):
        total += a[i] + b[i]
        count += 1
    middle = total / (2 * count)
    for i in range(len(a)):
        a[i] -= middle
        b[i] -= middle


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
            recentre_scalars(a, b)
    return p, r


node_space_scalar, node_space_scalar_parallel = both(node_space_scalar_iterations)


# Asynchronous: one node at a time, in place


@njit(inline="always")
def ask_for(t, sequence, nodes, slots, weights, pairs):
    """What the activations after ``t`` need, before they need it: the sequence is known. First what a node has to
    itself, then its slots (both ends: a row often lies in two cache lines), then the values."""
    last = np.uint64(len(sequence)) - _1
    prefetch(nodes, np.uint64(sequence[min(t + AHEAD_NODES, last)]))
    node = nodes[sequence[min(t + AHEAD_ROWS, last)]]
    prefetch(slots, np.uint64(node.low))
    prefetch(slots, np.uint64(node.high) - _1)
    prefetch(weights, np.uint64(node.low))
    prefetch(weights, np.uint64(node.high) - _1)
    node = nodes[sequence[min(t + AHEAD_VALUES, last)]]
    h, end = np.uint64(node.low), np.uint64(node.high)
    while h < end:  # once, almost always: degrees cannot be predicted, and asking twice for a value costs less
        for more in range(TOGETHER):
            prefetch(pairs, slots[min(h + more, end - _1)])
        h += TOGETHER


@njit(cache=True, error_model="numpy")
def asynchronous_scalar(sequence, nodes, slots, costs, pairs):
    """Nodes wake one after the other; one column, ``Q_i = a_i I``; ``nodes`` has records (``state.NODE``), with ``x``.

    Returns the messages.
    """
    c, theta, weights = costs.c, costs.theta, costs.weights
    large = len(pairs) >= PREFETCH_FROM
    messages = _0
    for t in range(_0, np.uint64(len(sequence))):
        if large:
            ask_for(t, sequence, nodes, slots, weights, pairs)
        node = nodes[sequence[t]]
        low, high = np.uint64(node.low), np.uint64(node.high)
        g = 0.0
        for h in range(low, high):
            g += pairs[slots[h]]
        x_i = -(node.q + g) / node.curvature
        node.x = x_i
        for h in range(low, high):
            s, push = slots[h], 2 * c * weight(weights, h) * x_i
            pairs[s ^ _ONE] = (1 - theta) * pairs[s ^ _ONE] - theta * (pairs[s] + push)
        messages += high - low
    return messages


@njit(inline="always")
def asynchronous_rows(low, high, nodes, graph, costs, pairs, x):
    """The columns ``low .. high`` of the whole sequence; columns of different draws never meet."""
    indptr, slots = graph.indptr, graph.slots
    q, curvature, inverse = costs.q, costs.curvature, costs.inverse
    d, c, theta, weights = costs.d, costs.c, costs.theta, costs.weights
    width = high - low
    g, x_i, room = np.empty(width), np.empty(width), room_for(inverse, d)
    for t in range(len(nodes)):
        i = np.uint64(nodes[t])
        h, last = indptr[i], indptr[i + _1]
        for l in range(width):
            g[l] = 0.0
        while h + _1 < last:  # by two: half as often are the sums read and written
            held, next_held = pairs[slots[h], low:high], pairs[slots[h + _1], low:high]
            for l in range(width):
                g[l] = (g[l] + held[l]) + next_held[l]
            h += _2
        if h < last:
            held = pairs[slots[h], low:high]
            for l in range(width):
                g[l] += held[l]
        step(i, g, x_i, q[i, low:high], curvature, inverse, d, room)
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
