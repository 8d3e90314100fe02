"""Collapsed arithmetic: secrets and pads become one number before the first rounding (theory: Collapsed arithmetic).

In real numbers a recorded transcript is a function of ``q + C'u`` and ``e``, where

    z(0) = u + e/2,        u = (z(0) + P z(0))/2,        e = z(0) - P z(0).

In floating point it is not: the rounding of ``q_i + sum_j A_ij' z_{i|j}`` and of ``z`` itself depends on ``q`` and on
the pads apart, and whoever replays the arithmetic for every candidate sees which of them give the recorded bits.

Since ``P u = u``, the difference ``z - u`` obeys the very same iteration, with the costs ``f_i(x) + (C'u)_i'x``, from
``e/2``. So a run is started there, with ``q + C'u`` summed exactly: every float that follows is a function of what an
adversary with tapped channels and a corrupt node knows in real numbers, and no rounding can tell it more. (One with
less, such as an eavesdropper alone, may learn from the bits up to what that one knows.)

The pads lie on a grid ``g``, and so must ``q``: otherwise ``q mod g`` shows. Its rounding, at most ``g/2``, that is
``2^-49 sigma`` a node, counts as an error in the KKT residual. Under consensus nothing more shows than the sum of what
was rounded. That is more than the sum of decimals, which do not lie on ``g``; a public unit mends it (``unit``). Under
general blocks the last bit may show: ``A u`` lies on no grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from ..costs import Quadratic
from ..errors import InvalidInput, Unsupported, is_word
from ..numerics.grid import Array, grid, lattice, nearest, on_grid
from .problem import Problem
from .unit import Unit

Arithmetic = Literal["collapsed", "plain"]

HALF = 2.0**26  # integers below 2^53 are cut into two halves, of which sums are exact up to 2^24 neighbours
FAR = 2.0**78  # times g: linear terms beyond it do not fit into two halves


def choose_arithmetic(
    problem: Problem, arithmetic: Arithmetic | None, masked: bool, z0: Any, batch: int | None
) -> Arithmetic:
    """What was asked for, if it applies; by default ``"collapsed"`` for masked runs where it does."""
    if arithmetic is not None and not is_word(arithmetic, get_args(Arithmetic)):
        raise InvalidInput(f"arithmetic must be 'collapsed', 'plain' or None; got {arithmetic!r:.80}.")
    obstacle = None
    if not masked and z0 is None:
        obstacle = "there are no pads; give mask= or z0="
    elif problem.q is None:
        obstacle = "a cost is not quadratic, and its step needs the data themselves; use arithmetic='plain'"
    elif batch is not None:
        obstacle = "the draws of a batch share one q; use batch=None or arithmetic='plain'"
    if arithmetic == "collapsed" and obstacle:
        raise Unsupported(f"arithmetic='collapsed' does not apply: {obstacle}.")
    return arithmetic or ("collapsed" if masked and not obstacle else "plain")


class Tilted(Problem):
    """A quadratic problem with other linear terms, ``q (N,)``, of which ``lost`` is rounding.

    Values and residuals are those of the given problem: relative to its gradients and the size of its data, and with
    ``lost`` counted as an error.
    """

    def __init__(self, given: Problem, q: Array, lost: Array) -> None:
        assert given.q is not None
        self.given = given
        self.network, self.shape, self.dims, self.floors = given.network, given.shape, given.dims, given.floors
        self.tilt, self.lost = (q - given.q)[:, None], lost[:, None]
        self.groups = []
        for nodes, cost in given.groups:
            assert cost.quadratic is not None
            own = q[self._positions(nodes, cost.dim)]
            self.groups.append((nodes, Quadratic.trusted(cost.shape, cost.quadratic.Q, own)))

    def value(self, x: npt.ArrayLike | Sequence[npt.ArrayLike]) -> float:
        return self.given.value(x)


def collapse(problem: Problem, z0: Array, sigma: float) -> tuple[Problem, Array, Array]:
    """The tilted problem, its start ``e/2``, and ``u``; for stacked pads ``z0 (M, 1)`` of size ``sigma``.

    Pads that are not on the grid of ``sigma`` are rounded to it. Where the problem has a unit everything is added in
    its steps, in which secrets are integers times a power of two, and sums are rounded once on the way out of them.
    """
    counted, g, step = problem, grid(sigma), 1.0
    if problem.unit is not None:
        problem.unit.check(sigma)
        counted, g, step = in_steps(problem, problem.unit), problem.unit.grid(sigma), problem.unit.step
    assert counted.q is not None
    z0 = on_grid(z0 / step, g)
    swapped = z0[problem.P]
    if problem.consensus and np.abs(counted.q).max() < FAR * g:
        q, lost = consensus_sums(counted, z0, g)
    else:
        q, lost = general_sums(counted, z0, g)
    return Tilted(problem, step * q, step * lost), step * ((z0 - swapped) / 2), step * ((z0 + swapped) / 2)


def in_steps(problem: Problem, unit: Unit) -> Problem:
    """The problem with its linear terms in steps of its unit."""
    assert problem.q is not None
    counted = copy(problem)
    counted.__dict__["q"] = unit.in_steps(problem.q)
    return counted


def consensus_sums(problem: Problem, z0: Array, g: float) -> tuple[Array, Array]:
    """``q + C'u``, and what of it is rounding. In units of ``g/2`` all terms are integers."""
    assert problem.q is not None
    network = problem.network
    q = on_grid(problem.q, g)

    def halves(integers: Array) -> tuple[Array, Array]:
        high = np.rint(integers / HALF)
        return high, integers - HALF * high

    own = halves(2 * q / g)
    pads = (part + part[network.twin] for part in halves((z0 / g).reshape(len(network.twin), -1)))
    high, low = (a + (network.C.T @ b).ravel() for a, b in zip(own, pads, strict=True))
    # Both sums are exact, so this one is rounded at most once.
    return (HALF * high + low) * (g / 2), q - problem.q


def general_sums(problem: Problem, z0: Array, g: float) -> tuple[Array, Array]:
    """``q + C'u``, and what of it is rounding, in rational arithmetic."""
    assert problem.q is not None
    C = problem.C.tocsc()
    grids = lattice(g, abs(C).max(axis=0).toarray().ravel())
    u = [(Fraction(a) + Fraction(b)) / 2 for a, b in zip(z0[:, 0], z0[problem.P, 0], strict=True)]
    q, lost = np.empty(len(grids)), np.empty(len(grids))
    for t, (own, rounded) in enumerate(zip(problem.q, on_grid(problem.q, grids), strict=True)):
        column = slice(C.indptr[t], C.indptr[t + 1])
        tilt = sum((Fraction(a) * u[h] for a, h in zip(C.data[column], C.indices[column], strict=True)), Fraction())
        q[t] = nearest(Fraction(rounded) + tilt, grids[t])
        lost[t] = float(Fraction(q[t]) - Fraction(own) - tilt)
    return q, lost
