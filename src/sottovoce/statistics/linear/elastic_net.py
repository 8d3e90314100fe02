"""``argmin b'Sb/2 - r'b + sum_j l1_j |b_j| + sum_j l2_j b_j^2/2``, exact, for one penalty after the other.

Coordinate descent (Friedman, Hastie and Tibshirani, J. Stat. Software 33, 2010) finds the signs, starting where the
last penalty ended; a solve on the support then gives the optimum to all digits, if the conditions of Karush, Kuhn and
Tucker hold there. Where columns are nearly dependent descent takes very many sweeps, and the signs are searched for one
by one (H. Lee, A. Battle, R. Raina and A. Y. Ng, Advances in Neural Information Processing Systems 19, 2007). All of it
is in a fixed order, so that all parties have the same columns in, to the last bit.
"""

from __future__ import annotations

import numpy as np

from ...costs.base import Array
from ...errors import Unsupported
from ...numerics.fixed_order import cholesky, product, solve

SWEEPS = 20_000
PATIENCE = 200  # sweeps, after which signs are searched for one by one
CHANGES = 50  # of signs there, for each column
SETTLED = 1e-15  # of the largest coefficient, a change that is none
SLACK = 1e-12  # of a bound


def elastic_net_path(S: Array, r: Array, l1: Array, l2: Array) -> Array:
    """``(P, d)`` for penalties ``l1, l2 (P, d)``."""
    path = np.zeros_like(l1)
    b = np.zeros(len(r))
    for place, (own, ridge) in enumerate(zip(l1, l2, strict=True)):
        path[place] = b = _optimum(S + np.diag(ridge), r, own, b)
    return path


def _optimum(H: Array, r: Array, l1: Array, b: Array) -> Array:
    if (exact := _on_support(H, r, l1, np.sign(b))) is not None:
        return exact
    b = b.copy()
    signs = np.sign(b)
    for sweep in range(SWEEPS):
        before, rest = b.copy(), r - product(H, b)
        for j in range(len(b)):
            own = rest[j] + H[j, j] * b[j]
            b_j = np.sign(own) * max(abs(own) - l1[j], 0.0) / H[j, j]
            rest -= H[j] * (b_j - b[j])
            b[j] = b_j
        unchanged, signs = bool((np.sign(b) == signs).all()), np.sign(b)
        if (unchanged or sweep % 10 == 9) and (exact := _on_support(H, r, l1, signs)) is not None:
            return exact
        if np.abs(b - before).max(initial=0.0) <= SETTLED * np.abs(b).max(initial=0.0):
            return b  # columns of the support that are dependent: one optimum of several
        if sweep == PATIENCE and (exact := _by_signs(H, r, l1, b)) is not None:
            return exact
    raise Unsupported(
        "coordinate descent does not settle at the smallest penalties: columns are nearly dependent. Leave out the "
        "smallest penalties, or use l1_ratio below 1."
    )


def _on_support(H: Array, r: Array, l1: Array, signs: Array) -> Array | None:
    """The optimum if it has these signs, else None."""
    on = signs != 0
    b = np.zeros(len(r))
    L, dependent = cholesky(H[np.ix_(on, on)])
    if dependent is not None:
        return None
    b[on] = solve(L, r[on] - l1[on] * signs[on])
    slope = np.abs(r - product(H, b))
    bound = l1 + SLACK * np.abs(r).max(initial=0.0)
    return b if (np.sign(b) == signs).all() and (slope[~on] <= bound[~on]).all() else None


def _by_signs(H: Array, r: Array, l1: Array, b: Array) -> Array | None:
    """The optimum by way of supports: from one to the optimum on it, up to where the first coefficient comes to 0,
    which is then left out; at an optimum the column that misses its bound by most is taken in. None where columns of a
    support are dependent, or rounding leads in circles."""
    b, signs = b.copy(), np.sign(b)
    for _ in range(CHANGES * len(b)):
        on = signs != 0
        L, dependent = cholesky(H[np.ix_(on, on)])
        if dependent is not None:
            return None
        there = np.zeros(len(b))
        there[on] = solve(L, r[on] - l1[on] * signs[on])
        turned = np.flatnonzero(on & (np.sign(there) != signs))
        if len(turned):
            ways = b[turned] / (b[turned] - there[turned])
            first = int(ways.argmin())
            b = b + ways[first] * (there - b)
            signs[turned[first]] = b[turned[first]] = 0.0
            continue
        b = there
        if (exact := _on_support(H, r, l1, signs)) is not None:
            return exact
        slope = r - product(H, b)
        beyond = np.where(on, -np.inf, np.abs(slope) - l1)
        signs[beyond.argmax()] = np.sign(slope[beyond.argmax()])
    return None
