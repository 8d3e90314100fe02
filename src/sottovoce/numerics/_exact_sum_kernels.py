"""The compiled part of ``exact_sum``: blocks of terms, cut into whole multiples of the chunks' units."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from .exact_sum import BITS, CHUNKS, Array, Chunks

TILE = 1024  # terms at a time: they stay in the first-level cache, and 2^10 pieces of 2^48 fit into an int64
STRIDE = TILE + 8  # between columns; at a power of two all of them would want the same lines of the cache
HALF = 1 << (BITS - 1)
MAGNITUDE = 0x7FFFFFFFFFFFFFFF  # of a float's bits: all but the sign
NOT_FINITE = 0x7FF  # the exponent of infinities and NaN

# A float next to 1.5 * 2^52 units is a whole number of units, and its bits are so many more than those of that anchor.
# From chunk HIGH on the anchor, or a term that is rounded up, would be infinite: there terms are halved 64 times.
HIGH, TOP = 41, (2046 + 51) // BITS
HALVED = math.ldexp(1.0, -64)
ANCHOR = np.array([math.ldexp(1.5, BITS * c - 1022 - (64 if c >= HIGH else 0)) for c in range(TOP + 1)])


@njit(cache=True, nogil=True)
def add(terms: Array, chunks: Chunks) -> int:
    """Add every column of ``terms`` to its sum; the number of the first with a term that is not finite, or -1."""
    rows, k = terms.shape
    tile = np.empty((k, STRIDE))
    for start in range(0, rows, TILE):
        count = min(TILE, rows - start)
        turn(terms, start, count, tile)
        for j in range(k):
            top = 0
            for r in range(count):
                top = max(top, bits(tile[j, r]) & MAGNITUDE)
            if not spread(tile[j], count, top, chunks[j]):
                return int(j)
    return -1


@njit(cache=True, nogil=True)
def add_products(left: Array, right: Array, triangle: bool, chunks: Chunks) -> int:
    """Add ``left_i right_j`` of every row, for all pairs or those with ``i <= j``; else like ``add``."""
    rows, p = left.shape
    q = right.shape[1]
    lefts = np.empty((p, STRIDE))
    rights = lefts if triangle else np.empty((q, STRIDE))
    products = np.empty(TILE)
    for start in range(0, rows, TILE):
        count = min(TILE, rows - start)
        turn(left, start, count, lefts)
        if not triangle:
            turn(right, start, count, rights)
        at = 0
        for i in range(p):
            a = lefts[i]
            for j in range(i if triangle else 0, q):
                b = rights[j]
                top = 0
                for r in range(count):
                    products[r] = a[r] * b[r]
                    top = max(top, bits(products[r]) & MAGNITUDE)
                if not spread(products, count, top, chunks[at]):
                    return int(at)
                at += 1
    return -1


@njit(cache=True, nogil=True)
def turn(rows: Array, start: int, count: int, columns: Array) -> None:
    """Some rows, by column."""
    for r in range(count):
        for j in range(rows.shape[1]):
            columns[j, r] = rows[start + r, j]


@njit(cache=True, nogil=True)
def spread(rest: Array, count: int, top: int, chunks: npt.NDArray[np.int64]) -> bool:
    """Add ``count`` terms to one sum, from the largest chunk down until nothing is left; False if one is not finite.

    ``top`` are the bits of the largest magnitude.
    """
    if top >> 52 == NOT_FINITE:
        return False
    c = CHUNKS
    while top != 0 and c > 0:
        # What is left is below one unit of chunk c + 1, as its exponent says; that of a subnormal term says too much.
        c = min((max(top >> 52, 1) + 51) // BITS, c - 1)
        total, top = cut_high(rest, count, ANCHOR[c]) if c >= HIGH else cut_low(rest, count, ANCHOR[c])
        carry(chunks, c, total - count * bits(ANCHOR[c]))
    return top == 0  # always, but where a processor is told to take subnormal numbers for 0


@njit(cache=True, nogil=True)
def cut_low(rest: Array, count: int, anchor: float) -> tuple[int, int]:
    """Take from every term its multiple of the anchor's unit; the bits of terms and anchor, summed, and the new top.

    Every subtraction is exact: what is taken is the term to the nearest unit, and what remains has no more digits than
    the term had. The sum of bits may go beyond 2^63: it comes back with the anchors taken off.
    """
    total, top = 0, 0
    for r in range(count):
        moved = rest[r] + anchor
        left = rest[r] - (moved - anchor)
        rest[r] = left
        total += bits(moved)
        top = max(top, bits(left) & MAGNITUDE)
    return total, top


@njit(cache=True, nogil=True)
def cut_high(rest: Array, count: int, anchor: float) -> tuple[int, int]:
    """The same where 2^1024 is near: a term that halving makes inexact is far below a unit, and stays as it is."""
    total, top = 0, 0
    for r in range(count):
        moved = rest[r] * HALVED + anchor
        half = (moved - anchor) * (0.5 / HALVED)  # of what is taken, which may be 2^1024
        left = rest[r] - half - half
        rest[r] = left
        total += bits(moved)
        top = max(top, bits(left) & MAGNITUDE)
    return total, top


@njit(cache=True, nogil=True)
def bits(v: float) -> int:
    """Of a float, as an integer."""
    return int(np.float64(v).view(np.int64))


@njit(cache=True, nogil=True)
def carry(chunks: npt.NDArray[np.int64], c: int, units: int) -> None:
    """Add to chunk ``c``, and bring it and those above back into ``-2^47 .. 2^47 - 1``."""
    while units != 0:
        here = chunks[c] + units
        units = (here + HALF) >> BITS
        chunks[c] = here - (units << BITS)
        c += 1
