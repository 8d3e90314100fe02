"""One node's step on the GPU: which families have one, and what it needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...costs import AbsoluteDeviation, Box, Huber, NonNegative
from ...costs.base import Array
from ...costs.quadratic import Quadratic
from ..problem import Problem

QUADRATIC, HUBER, ABSOLUTE, BOX, DENSE = range(5)  # as in kernels.cu


@dataclass(frozen=True, eq=False)
class Steps:
    """What ``step`` of ``kernels.cu`` needs of all nodes, in the user's order.

    ========== ================== =================
    kind       ``p``              ``r``
    ========== ================== =================
    QUADRATIC  ``q``
    HUBER      ``s``              ``delta``
    ABSOLUTE   ``s``
    BOX        ``lower``          ``upper``
    DENSE      ``q``
    ========== ================== =================

    ``curvature`` is ``Q`` of the quadratic ones, to which the penalty is added; for others it is 0.
    """

    kind: int
    p: Array  # (n, d)
    r: Array | None  # (n, d)
    curvature: Array  # (n,), or (n, d, d) of DENSE

    def inverse(self, rho: Array) -> Array:
        """``(Q_i + rho_i)^{-1}`` of DENSE, as on the CPU."""
        return Quadratic.many(self.curvature, self.p).inverse(rho)


def steps_of(problem: Problem) -> Steps | None:
    """The step of a problem's costs; None where there is none on the GPU."""
    form = problem.quadratic
    if form is not None:
        return Steps(QUADRATIC if form.Q.ndim == 1 else DENSE, form.q, None, form.Q)
    if len(problem.groups) > 1:
        return None
    # Exact types only: a subclass may step otherwise.
    cost, flat = problem.groups[0][1], np.zeros(problem.network.n)
    if type(cost) is Huber:
        return Steps(HUBER, cost.s, np.broadcast_to(cost.delta[:, None], cost.s.shape), flat)
    if type(cost) is AbsoluteDeviation:
        return Steps(ABSOLUTE, cost.s, None, flat)
    if isinstance(cost, Box) and type(cost) in (Box, NonNegative):
        return Steps(BOX, cost.lower, cost.upper, flat)
    return None
