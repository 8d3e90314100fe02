"""``RandomMoments.advance`` for scalar consensus and one node at a time, compiled: the twin of the NumPy code there."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit

TILE = 32


@njit(cache=True)
def advance(count, Sigma, indptr, writer, twin, sign, gain, mu, c, theta):
    """``Sigma <- Sigma + F~ + F~' + blocks``, ``F = B Sigma``, ``F~ = diag(mu) F``; ``gain_i = 1/(a_i + c d_i)``.

    Row ``h = (j|i)`` is held by ``j`` and written by ``i = writer[h]`` from ``twin[h] = (i|j)``.
    """
    size, n = len(Sigma), len(indptr) - 1
    Y, F = np.empty((n, size)), np.empty((size, size))
    for _ in range(count):
        for i in range(n):  # Y = 2 c X Sigma
            Y[i] = 0.0
            for h in range(indptr[i], indptr[i + 1]):
                for l in range(size):
                    Y[i, l] += sign[h] * Sigma[h, l]
            for l in range(size):
                Y[i, l] *= -2 * c * gain[i]
        for h in range(size):
            t, i = twin[h], writer[h]
            for l in range(size):
                F[h, l] = theta * (Sigma[t, l] + sign[t] * Y[i, l] - Sigma[h, l])
        for top in range(0, size, TILE):  # in tiles: F is read along rows and along columns
            for left in range(0, top + 1, TILE):
                for h in range(top, min(top + TILE, size)):
                    for l in range(left, min(left + TILE, h + 1)):
                        new = Sigma[h, l] + (mu[h] * F[h, l] + mu[l] * F[l, h])
                        # E[U U'] is mu_i where both rows are written by i, else 0: only there is F B' needed.
                        if writer[h] == writer[l]:
                            below = image(F[h], l, indptr, writer, twin, sign, gain, c, theta)
                            above = image(F[l], h, indptr, writer, twin, sign, gain, c, theta)
                            new += mu[h] * (below + above) / 2
                        Sigma[h, l] = new
                        Sigma[l, h] = new


@njit(inline="always")
def image(row, l, indptr, writer, twin, sign, gain, c, theta):
    """``(F B')_{hl}`` for the row ``F[h]``: what ``l``'s writer makes of what it holds."""
    t, i = twin[l], writer[l]
    total = 0.0
    for h in range(indptr[i], indptr[i + 1]):
        total += sign[h] * row[h]
    return theta * (row[t] - 2 * c * gain[i] * sign[t] * total - row[l])
