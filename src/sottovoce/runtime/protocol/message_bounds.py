"""How large the messages of honest parties are: two bounds from public numbers and from what a party has of its own.

One number at a time, for averaging. ``z`` is iterated by an operator that is nonexpansive in the Euclidean norm, and so
is ``y`` from ``z``: with ``rho = |z(0) - z*|`` for a fixed point ``z*``,

    |r| = |y - z(0)| <= |y - z*| + |z* - z(0)| <= 2 rho,            rho <= |z(0)| + |z*|.

*Pads.* There are at most ``n^2`` half-edges, and no pad exceeds ``10 sigma`` (``GaussianMask.shaped``: the smallest
tail is ``2^-65``, at 9.2). So ``|z(0)| <= 10 sigma n``.

*Duals.* ``z* = lambda + c A x*``, where ``lambda`` carries the gradients ``2 (s_i - x*)`` through the network. With
contributions up to ``S``, and ``4 / n^2`` below the smallest positive eigenvalue of any connected graph's Laplacian,
``|z*| <= S (sqrt(2) n^1.5 + c n)``. Together

    |r| <= 2 n^2 (1 + c) (10 sigma + S).

That holds while all wake at once and nothing is late. With losses and delays the norm shrinks in the mean only, and
costs that are not averaging have other duals: a factor of 8 is left for them (the largest seen in tests is below 1,
since the norm of all pads is much larger than any of them).

``S`` is not public: data are meant to have size 1 in units of ``scale``, but nothing checks that. ``GENEROUS`` times
what is public, ``10 sigma`` and the ``size`` of the stage, is far more than could be hidden, or computed with. A party
that is beyond it itself stops with a sentence; from another one such a number is no message.

*At the end* less is possible. What ``D`` comes to is a projection of the pads, so each number of it is Gaussian, with
``sigma`` at most, and below ``10 sigma``; the duals add ``2 n S``, the flow through an edge. ``FEW`` times that is
left. Edges without messages add their pads to what travels: those of a subtree to the rest, ``sigma`` times the root of
how many there are, at most. Whoever sees larger numbers then has no use for them: they were rounded to what they are,
and ``x`` with them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

TAIL = 10.0  # pads are no larger, in units of sigma
GENEROUS = 2.0**60
FEW = 4.0


@dataclass(frozen=True)
class Sizes:
    """``sigma`` of the pads, or 0; ``size`` of what is agreed on, a public number: 1, or that of limbs of counts."""

    n: int
    c: float
    sigma: float = 0.0
    size: float = 1.0
    folded: int = 0  # edges of the network without messages

    @property
    def largest(self) -> float:
        """What no number of an honest party's message exceeds, ever."""
        return 16 * self.n**2 * (1 + self.c) * GENEROUS * (TAIL * self.sigma + self.size)

    @property
    def typical(self) -> float:
        """What numbers of honest messages come to, however small the pads of one party happen to be."""
        return 2 * self.sigma * math.sqrt(1 + self.folded)

    def settled(self, x: float, w: float, degree: int) -> float:
        """What no number exceeds once the iteration has settled, as far as a party can tell that has the answer ``x``
        and the collapsed ``w``, in their largest entries. Pads alone make ``w`` no larger than ``10 sigma sqrt(d)``."""
        own = max(0.0, w - TAIL * self.sigma * math.sqrt(degree + self.folded))
        contribution = max(self.size, x, own)
        return FEW * (TAIL * self.sigma * math.sqrt(1 + self.folded) + 2 * self.n * (1 + self.c) * contribution)
