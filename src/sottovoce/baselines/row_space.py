"""What a linear view of Gaussian numbers gives away, whatever the protocol that made it.

Let ``Y = A S + B E`` be all that an adversary sees, ``S ~ N(0, prior I)`` the secrets of honest nodes and
``E ~ N(0, I)`` the noise that it did not draw itself. With ``G = [sqrt(prior) A, B]`` this is ``Y = G xi`` for standard
normal ``xi``, and the best estimate of ``xi`` is its projection on the row space of ``G``. So the share of the variance
of ``S_i`` that is known is ``R2_i = Pi_ii``, the projector's diagonal, and ``I(S_i; Y) = -1/2 ln(1 - R2_i)``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..costs.base import Array

RANK = 1e-11  # relative to the largest singular value of rows of unit length
DISCLOSED = 1e-10  # what is left of the variance of a number that is known


def information(A: Array, B: Array, prior: float, honest: npt.NDArray[np.int64], n: int) -> Array:
    """``I(S_i; Y)`` of every node ``(n,)``, ``nan`` at those that are not honest.

    ``A`` has a column per node and ``B`` one per source of noise: those of corrupt nodes are to be left out by the
    caller (``A`` is cut here), who knows them and takes them away from ``Y``.
    """
    nats = np.full(n, np.nan)
    nats[honest] = 0.0
    G = np.hstack([np.sqrt(prior) * A[:, honest], B])
    length = np.linalg.norm(G, axis=1)
    G = G[length > 0] / length[length > 0, None]
    if not len(G):
        return nats
    _, sizes, V = np.linalg.svd(G, full_matrices=False)
    known = (V[sizes > RANK * sizes[0], : len(honest)] ** 2).sum(axis=0)
    left = 1 - known
    nats[honest] = np.where(left > DISCLOSED, -0.5 * np.log(np.maximum(left, DISCLOSED)), np.inf)
    return nats
