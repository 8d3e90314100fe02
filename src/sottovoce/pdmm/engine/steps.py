"""One node's step, for one draw and for many."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator,call-arg,operator,assignment"

from __future__ import annotations

import numpy as np
from numba import njit

from ...numerics.tile import LANES, ROWS, tile


@njit(inline="always")
def step(i, g, x, q, curvature, inverse, d, room):
    """``x = -(Q_i + rho_i)^{-1} (q + g)`` for every draw in a row; an empty ``inverse`` is ``Q_i = a_i I``.

    ``room`` is of ``room_for``, and is written to where there are several draws of dense costs.
    """
    if len(inverse) == 0:
        for l in range(len(g)):
            x[l] = -(q[l] + g[l]) / curvature[i]
    elif len(g) == d:
        for r in range(d):
            total = 0.0
            for s in range(d):
                total += inverse[i, r, s] * (q[s] + g[s])
            x[r] = -total
    else:
        step_together(inverse[i], q, g, x, room)


@njit(inline="always")
def room_for(inverse, d):
    """A tile, and the linear terms with a column per draw; nothing where no costs are dense."""
    return np.zeros((ROWS + d if len(inverse) else 0, LANES))


@njit
def step_together(inverse, q, g, x, room):
    """Many draws of one node: products of matrices, not as many with a vector (engine: Batches). The draws lie entry by
    entry, ``LANES`` after ``LANES``, and the last ones, which may be fewer, by themselves."""
    d, total, given = len(inverse), room[:ROWS], room[ROWS:]
    for first in range(0, len(g), d * LANES):
        here = min(LANES, (len(g) - first) // d)
        if here == LANES:
            numbers = given.reshape(-1)
            for l in range(d * LANES):
                numbers[l] = q[first + l] + g[first + l]
        else:
            for l in range(here * d):
                given[l // here, l % here] = q[first + l] + g[first + l]
        for r in range(0, d, ROWS):
            tile(inverse, r, given, 0, total)
            for k in range(min(ROWS, d - r)):
                at = first + (r + k) * here
                for l in range(here):
                    x[at + l] = -total[k, l]
