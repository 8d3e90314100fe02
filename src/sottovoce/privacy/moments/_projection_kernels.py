"""Projections of eight draws at a time, compiled (engine: Projections). Draws are columns of a row, so that a neighbour
is one cache line. The readable twin of ``conjugate_gradients`` is in ``tests/projection_twin.py``."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit

WIDTH = 8  # draws side by side: a known number, so that the loops over them become vector instructions


@njit(cache=True, nogil=True)
def sums(indptr, twin, sign, z, unit, plus, minus, square):
    """``K+'z`` and ``K-'z``, ``(n, 8)``, and ``z'z``, of draws ``z``, ``(B, 2m)``, each in a ``unit`` of its own;
    columns without a draw are left alone."""
    for l in range(len(z)):
        draw, scale, total = z[l], 1 / unit[l], 0.0
        for i in range(len(indptr) - 1):
            own, other = 0.0, 0.0
            for h in range(indptr[i], indptr[i + 1]):
                entry = scale * draw[h]
                own += sign[h] * entry
                other += sign[h] * (scale * draw[twin[h]])
                total += entry * entry
            plus[i, l] = own + other
            minus[i, l] = own - other
        square[l] = total


@njit(cache=True, nogil=True)
def spread(indptr, indices, sign, u, v, unit, out):
    """``K+ u + K- v`` of ``(n, 8)`` into draws ``out``, ``(B, 2m)``, back from their units:
    ``A_ij ((v_i + u_i) + (v_j - u_j))``."""
    for i in range(len(indptr) - 1):
        for h in range(indptr[i], indptr[i + 1]):
            j = indices[h]
            for l in range(len(out)):
                out[l, h] = unit[l] * (sign[h] * ((v[i, l] + u[i, l]) + (v[j, l] - u[j, l])))


@njit(cache=True, nogil=True)
def conjugate_gradients(lower, upper, root, r, goal, steps, x, p, t, w):
    """Solve ``H x = r`` for eight columns; whether all arrived in time: with a squared residual of at most ``goal``.

    ``H`` scaled to a diagonal of ones is ``I + L + L'``, ``root`` the root of its diagonal, and ``lower`` and ``upper``
    are ``L`` and ``L'``, by rows. The preconditioner is ``(I + L)(I + L')``, a sweep down and one up (symmetric
    Gauss-Seidel), which more than halves the iterations. It costs nothing: with ``t = (I + L')^{-1} p`` the product is

        (I + L)^{-1} (I + L + L') t = t + w,      w = (I + L)^{-1} (p - t)                     (Eisenstat 1981)

    All arrays ``(n, 8)`` are written over; ``r`` is ``(I + L)^{-1}`` times the scaled residual.
    """
    n = len(root)
    old, new, left, along = np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH)
    for i in range(n):
        for l in range(WIDTH):
            left[l] += r[i, l] * r[i, l]
            r[i, l] /= root[i]
            x[i, l] = 0.0
    for i in range(n):
        down = without_row(lower, i, r, r[i], False)
        for l in range(WIDTH):
            r[i, l] = down[l]
            p[i, l] = down[l]
            old[l] += down[l] * down[l]
    arrived = left <= goal
    share = left / np.maximum(old, 1e-300)  # of the squared residual, and of that after the sweep
    for _ in range(steps):
        if (arrived | (old * share <= goal)).all():  # likely: look
            left[:] = 0.0
            for i in range(n):
                down = without_row(lower, i, r, r[i], False)
                for l in range(WIDTH):
                    rest = root[i] * (2 * r[i, l] - down[l])  # (I + L) r
                    left[l] += rest * rest
            # Columns that have arrived stay: what is left of them is rounding, with a part in the null space.
            arrived = left <= goal
            share = left / np.maximum(old, 1e-300)
            if arrived.all():
                for i in range(n):
                    for l in range(WIDTH):
                        x[i, l] /= root[i]
                return True
        along[:] = 0.0
        for k in range(n):
            i = n - 1 - k
            up = without_row(upper, i, t, p[i], True)
            for l in range(WIDTH):
                t[i, l] = up[l]
        for i in range(n):
            for l in range(WIDTH):
                w[i, l] = p[i, l] - t[i, l]
            down = without_row(lower, i, w, w[i], False)
            for l in range(WIDTH):
                w[i, l] = down[l]
                along[l] += p[i, l] * (t[i, l] + down[l])
        for l in range(WIDTH):
            along[l] = 0.0 if arrived[l] else old[l] / max(along[l], 1e-300)
        new[:] = 0.0
        for i in range(n):
            for l in range(WIDTH):
                x[i, l] += along[l] * t[i, l]
                rest = r[i, l] - along[l] * (t[i, l] + w[i, l])
                r[i, l] = rest
                new[l] += rest * rest
        for l in range(WIDTH):
            old[l] = new[l] / max(old[l], 1e-300)
        for i in range(n):
            for l in range(WIDTH):
                p[i, l] = r[i, l] + old[l] * p[i, l]
        old[:] = new
    return False


@njit(inline="always")
def without_row(matrix, i, values, start, backwards):
    """``start - matrix_i values``, the nearest rows last: they are the latest to be known. Eight sums, in registers."""
    indptr, indices, data = matrix
    t0, t1, t2, t3, t4, t5, t6, t7 = start[0], start[1], start[2], start[3], start[4], start[5], start[6], start[7]
    first, last = indptr[i], indptr[i + 1]
    for k in range(last - first):
        h = last - 1 - k if backwards else first + k
        entry, row = data[h], values[indices[h]]
        t0 -= entry * row[0]
        t1 -= entry * row[1]
        t2 -= entry * row[2]
        t3 -= entry * row[3]
        t4 -= entry * row[4]
        t5 -= entry * row[5]
        t6 -= entry * row[6]
        t7 -= entry * row[7]
    return (t0, t1, t2, t3, t4, t5, t6, t7)
