"""Kernels for every cost of the package, any constraints and any schedule (engine: Every cost).

``z`` and ``x`` are stacked as in the reference, a column per draw, and so is the arithmetic: the same operations in the
same order. One node's step is a function pointer (``costs.one_node``); what a kernel does is to sum, step and send:

    g_i      = sum_j A_ij' (z_{i|j} - c b_ij / 2)                              (paper, eq. 2)
    y_{j|i}  = z_{i|j} + c (2 A_ij x_i - b_ij)                                 (eq. 3)
    z_{j|i} <- (1 - theta) z_{j|i} + theta y_{j|i}                             (eq. 5)

A step that cannot be verified ends a kernel before anything of its iteration is written; it returns how many it played.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator,call-arg"

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


class Links(NamedTuple):
    """Who holds which rows of ``z``, and the blocks ``A_ij``."""

    indptr: Any  # (n + 1,): half-edges of each node
    twin: Any  # (2m,)
    rows: Any  # (2m + 1,): rows of ``z`` of each half-edge
    columns: Any  # (n + 1,): rows of ``x`` of each node
    signs: Any  # (2m,) under consensus, where ``A_ij`` is a sign times ``I``; else empty
    blocks: Any  # flat: else ``A_ij``, row by row
    block_at: Any  # (2m,): where in ``blocks`` each begins
    b: Any  # (M,)
    c: Any  # (2m,)
    lean: Any  # (N, B) what steps add to ``g``, or (0, 0)


class Chain(NamedTuple):
    """The steps: node ``i`` does those from ``first[i]`` up to ``first[i + 1]`` in a row."""

    first: Any  # (n + 1,)
    address: Any
    rho: Any
    weight: Any
    at: Any  # where in ``numbers`` those of a step begin
    length: Any
    numbers: Any


class Played(NamedTuple):
    """The state, and memory to work with."""

    z: Any  # (M, B)
    x: Any  # (N, B)
    sums: Any  # (largest dimension, B)
    g: Any  # (largest dimension,)
    x_i: Any  # likewise
    work: Any
    new_x: Any  # (N, B): of nodes that wake together; of one that is alone, its own rows
    new_z: Any  # (M, B)


class UnderWay(NamedTuple):
    """Messages that arrive later. Those sent at iteration ``k`` lie in slot ``k mod slots``, and are listed in the slot
    of the iteration at which they arrive, in the order in which they were sent."""

    values: Any  # (slots, most rows that a node holds, B)
    sent: Any  # (slots,): when
    following: Any  # (slots * most neighbours,): the next message in a list, or -1
    half_edge: Any  # likewise: which one it updates
    at: Any  # likewise: its first row in ``values``
    head: Any  # (slots,)
    tail: Any  # (slots,)
    newest: Any  # (2m,): when the value now in ``z`` was sent


@intrinsic
def call(typingctx, address, rho, weight, numbers, at, length, g, x, d, work):
    """Call the C function at ``address``; ``numbers`` from ``at`` on, other arrays from their beginning."""

    def codegen(context, builder, signature, args):
        number, integer = ir.DoubleType(), ir.IntType(64)
        pointer = number.as_pointer()
        kind = ir.FunctionType(integer, [number, number, pointer, integer, pointer, pointer, integer, pointer])

        def data(position):
            return context.make_array(signature.args[position])(context, builder, args[position]).data

        numbers_of_node = builder.gep(data(3), [args[4]])
        function = builder.inttoptr(args[0], kind.as_pointer())
        return builder.call(function, [args[1], args[2], numbers_of_node, args[5], data(6), data(7), args[8], data(9)])

    flat = types.Array(types.float64, 1, "C")
    return types.int64(
        types.int64, types.float64, types.float64, flat, types.int64, types.int64, flat, flat, types.int64, flat
    ), codegen  # fmt: skip


@njit(cache=True)
def step(i, links, chain, state, new_x):
    """Node ``i``'s argmin for every draw, into ``new_x``; False where it cannot be verified."""
    low, d = links.columns[i], links.columns[i + 1] - links.columns[i]
    z, x, sums, g, x_i, draws = state.z, state.x, state.sums, state.g, state.x_i, state.z.shape[1]
    for a in range(d):
        for draw in range(draws):
            sums[a, draw] = 0.0
    for h in range(links.indptr[i], links.indptr[i + 1]):
        row = links.rows[h]
        if len(links.signs):
            sign = links.signs[h]
            for a in range(d):
                for draw in range(draws):
                    sums[a, draw] += sign * z[row + a, draw]
            continue
        half, entry = links.c[h] / 2, links.block_at[h]
        for r in range(row, links.rows[h + 1]):
            shift = half * links.b[r]
            for a in range(d):
                for draw in range(draws):
                    sums[a, draw] += links.blocks[entry + a] * (z[r, draw] - shift)
            entry += d
    for draw in range(draws):
        for a in range(d):
            g[a], x_i[a] = sums[a, draw], x[low + a, draw]
        if len(links.lean):
            for a in range(d):
                g[a] += links.lean[low + a, draw]
        for s in range(chain.first[i], chain.first[i + 1]):
            of_step = chain.address[s], chain.rho[s], chain.weight[s]
            if not call(*of_step, chain.numbers, chain.at[s], chain.length[s], g, x_i, d, state.work):
                return False
        for a in range(d):
            new_x[low + a, draw] = x_i[a]
    return True


@njit(cache=True)
def message(h, i, links, z, x, y, at):
    """What node ``i`` sends over half-edge ``h``, into the rows of ``y`` from ``at`` on."""
    low, d, c = links.columns[i], links.columns[i + 1] - links.columns[i], links.c[h]
    entry = 0 if len(links.signs) else links.block_at[h]
    for r in range(links.rows[h], links.rows[h + 1]):
        for draw in range(z.shape[1]):
            if len(links.signs):
                y[at, draw] = z[r, draw] + c * (2 * (links.signs[h] * x[low + r - links.rows[h], draw]))
            else:
                total = 0.0
                for a in range(d):
                    total += links.blocks[entry + a] * x[low + a, draw]
                y[at, draw] = z[r, draw] + c * (2 * total - links.b[r])
        entry += d
        at += 1


@njit(cache=True)
def mix(h, theta, links, z, y, at):
    """Update half-edge ``h`` with what arrives, the rows of ``y`` from ``at`` on."""
    for r in range(links.rows[h], links.rows[h + 1]):
        for draw in range(z.shape[1]):
            z[r, draw] = (1 - theta) * z[r, draw] + theta * y[at, draw]
        at += 1


@njit(cache=True)
def in_turn(nodes, theta, links, chain, state):
    """One node after the other wakes, and its messages arrive."""
    for t in range(len(nodes)):
        i = nodes[t]
        if not step(i, links, chain, state, state.new_x):
            return t
        for a in range(links.columns[i], links.columns[i + 1]):
            state.x[a] = state.new_x[a]
        for h in range(links.indptr[i], links.indptr[i + 1]):
            other = links.twin[h]
            message(h, i, links, state.z, state.x, state.new_z, links.rows[other])
            mix(other, theta, links, state.z, state.new_z, links.rows[other])
    return len(nodes)


@njit(cache=True)
def together(active, arrived, active_ends, arrived_ends, senders, theta, links, chain, state):
    """Sets of nodes wake, and sets of half-edges are updated, all from the ``z`` before; the sets lie one after the
    other, and end at ``..._ends``."""
    first_node, first_half_edge = 0, 0
    for t in range(len(active_ends)):
        awake = active[first_node : active_ends[t]]
        updated = arrived[first_half_edge : arrived_ends[t]]
        for i in awake:
            if not step(i, links, chain, state, state.new_x):
                return t
        for i in awake:
            for a in range(links.columns[i], links.columns[i + 1]):
                state.x[a] = state.new_x[a]
        for h in updated:
            message(links.twin[h], senders[h], links, state.z, state.x, state.new_z, links.rows[h])
        for h in updated:
            mix(h, theta, links, state.z, state.new_z, links.rows[h])
        first_node, first_half_edge = active_ends[t], arrived_ends[t]
    return len(active_ends)


@njit(cache=True)
def late(first, nodes, delays, theta, links, chain, state, under_way):
    """One node after the other wakes, from iteration ``first`` on; ``delays`` are those of its messages, in order."""
    slots, most = len(under_way.head), len(under_way.half_edge) // len(under_way.head)
    sent = 0
    for t in range(len(nodes)):
        i, k = nodes[t], first + t
        now = k % slots
        if not step(i, links, chain, state, state.new_x):
            return t
        for a in range(links.columns[i], links.columns[i + 1]):
            state.x[a] = state.new_x[a]
        under_way.sent[now] = k
        low = links.indptr[i]
        for h in range(low, links.indptr[i + 1]):
            name, at = now * most + h - low, links.rows[h] - links.rows[low]
            message(h, i, links, state.z, state.x, under_way.values[now], at)
            under_way.half_edge[name], under_way.at[name], under_way.following[name] = links.twin[h], at, -1
            due = (k + delays[sent]) % slots
            if under_way.head[due] < 0:
                under_way.head[due] = name
            else:
                under_way.following[under_way.tail[due]] = name
            under_way.tail[due] = name
            sent += 1
        name = under_way.head[now]
        while name >= 0:
            slot, h = name // most, under_way.half_edge[name]
            if under_way.sent[slot] > under_way.newest[h]:  # else overtaken by a later message of the same half-edge
                mix(h, theta, links, state.z, under_way.values[slot], under_way.at[name])
                under_way.newest[h] = under_way.sent[slot]
            name = under_way.following[name]
        under_way.head[now] = -1
    return len(nodes)
