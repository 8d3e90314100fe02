"""Arithmetic modulo a prime ``p = 2^31 - d``, ``d < 64``, compiled; the twins in NumPy are in ``tests/field_twin.py``.

Residues are ``uint32``. A product of two has 62 bits, so three of them, and a number of 40 bits, add up in 64.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit

# Typed constants: mixing signed and unsigned integers would silently give floating point.
_31, _32, _BIT = np.uint64(31), np.uint64(32), np.uint64(1 << 31)
_LOW31, _LOW32 = np.uint64((1 << 31) - 1), np.uint64((1 << 32) - 1)
_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)


@njit(inline="always")
def folded(v, d):
    """Below ``2^39``, with the same residue: ``2^32 = 2 d`` modulo ``p``, and ``d < 64``."""
    return (v & _LOW32) + (v >> _32) * (_2 * d)


@njit(inline="always")
def reduced(v, d):
    """The residue of any number of 64 bits."""
    v = folded(v, d)
    v = (v & _LOW31) + (v >> _31) * d  # below 2 p
    p = _BIT - d
    return v - p if v >= p else v


@njit(cache=True, nogil=True)
def subtract_product(rest, factors, rows, d):
    """``rest <- rest - factors @ rows``; what is 0 of the factors costs nothing."""
    p, width = _BIT - d, rest.shape[1]
    total = np.empty(width, np.uint64)
    which, weight = np.zeros(len(rows) + 2, np.int64), np.zeros(len(rows) + 2, np.uint64)
    for i in range(len(rest)):
        count = 0
        for t in range(len(rows)):
            if factors[i, t] != 0:
                which[count], weight[count] = t, p - np.uint64(factors[i, t])
                count += 1
        if count == 0:
            continue
        weight[count : count + 2] = _0  # the last three may be one or two
        out = rest[i]
        for j in range(width):
            total[j] = np.uint64(out[j])
        for t in range(0, count, 3):
            a, b, c = weight[t], weight[t + 1], weight[t + 2]
            one, two, three = rows[which[t]], rows[which[t + 1]], rows[which[t + 2]]
            for j in range(width):
                more = a * np.uint64(one[j]) + b * np.uint64(two[j]) + c * np.uint64(three[j])
                total[j] = folded(total[j] + more, d)
        for j in range(width):
            out[j] = np.uint32(reduced(total[j], d))


@njit(cache=True, nogil=True)
def echelon(rows, d):
    """Gauss-Jordan, in place: the reduced rows that are new come first, in their order; returns their pivots."""
    p, width = _BIT - d, rows.shape[1]
    pivots = np.empty(len(rows), np.int64)
    found = 0
    for k in range(len(rows)):
        at = 0
        while at < width and rows[k, at] == 0:
            at += 1
        if at == width:
            continue
        scale = inverse_of(np.uint64(rows[k, at]), d)
        for j in range(width):
            new = reduced(scale * np.uint64(rows[k, j]), d)
            rows[k, j] = rows[found, j] if k != found else np.uint32(new)
            rows[found, j] = np.uint32(new)
        for i in range(len(rows)):
            if i != found and rows[i, at] != 0:
                factor, out, row = p - np.uint64(rows[i, at]), rows[i], rows[found]
                for j in range(width):
                    out[j] = np.uint32(reduced(np.uint64(out[j]) + factor * np.uint64(row[j]), d))
        pivots[found] = at
        found += 1
    return pivots[:found]


@njit(cache=True, nogil=True)
def inverse_of(a, d):
    """``a^(p - 2)``, Fermat's."""
    power, result = _BIT - d - _2, _1
    while power:
        if power & _1:
            result = reduced(result * a, d)
        a, power = reduced(a * a, d), power >> _1
    return result


@njit(cache=True, nogil=True)
def speak(z, q, nodes, indptr, signs, steps, inverses, d, y):
    """``y = z_{i|j} + 2 c A_ij x_i`` of all that these nodes hold, row after row; ``x_i = inverses_i (q_i + sum A z)``.

    ``steps`` is ``2 c A_ij``, and ``inverses`` is ``-(Q_i + c d_i)^{-1}``.
    """
    p, w, width = _BIT - d, inverses.shape[1], z.shape[1]
    g, x = np.empty((w, width), np.uint64), np.empty((w, width), np.uint64)
    at = 0
    for i in nodes:
        first, last = indptr[i] * w, indptr[i + 1] * w
        for k in range(w):
            total = g[k]
            for j in range(width):
                total[j] = np.uint64(q[i * w + k, j])
            for h in range(first + k, last, w):
                row = z[h]
                if signs[h] > 0:
                    for j in range(width):
                        total[j] += np.uint64(row[j])
                else:
                    for j in range(width):
                        total[j] += p - np.uint64(row[j])
            for j in range(width):
                total[j] = reduced(total[j], d)
        for k in range(w):
            new = x[k]
            new[:] = _0
            for l in range(w):
                factor, total = np.uint64(inverses[i, k, l]), g[l]
                for j in range(width):
                    new[j] = reduced(new[j] + factor * total[j], d)
        for h in range(first, last):
            step, new, row, out = np.uint64(steps[h]), x[(h - first) % w], z[h], y[at]
            for j in range(width):
                out[j] = np.uint32(reduced(np.uint64(row[j]) + step * new[j], d))
            at += 1


@njit(cache=True, nogil=True)
def mix(z, rows, y, keep, weight, d):
    """``z[rows] <- keep z[rows] + weight y``."""
    for at in range(len(rows)):
        out, new = z[rows[at]], y[at]
        for j in range(z.shape[1]):
            out[j] = np.uint32(reduced(keep * np.uint64(out[j]) + weight * np.uint64(new[j]), d))
