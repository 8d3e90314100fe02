"""The paper's formulas for ``Z_perp(k)``, the part of the pads that never decays (sections 4 and 5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...pdmm.problem import Problem
from .exact_moments import check_run, psi_basis
from .subspace import Subspace


def perp_covariance(problem: Problem, *, theta: float, mu: float, variance: float, k: int) -> Array:
    """``Pi_perp (sigma^2/2) ((I + P) + |1 - 2 theta mu|^{2k} (I - P))``.

    For ``mu = 1`` this is the covariance of ``Z_perp(k)`` of a synchronous run (paper, section 4); for a random
    schedule with uniform ``mu`` its diagonal bounds that of the second moment from below (section 5).

    Parameters
    ----------
    problem
        Its network alone matters.
    theta, mu, variance, k
        As in the paper.

    Returns
    -------
    Array
        Over the stacked ``z``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> sv.privacy.research.perp_covariance(problem, theta=1.0, mu=1.0, variance=1.0, k=3).shape
    (8, 8)
    """
    check_run(theta=theta, mu=mu, variance=variance)
    size = int(problem.rows[-1])
    basis = psi_basis(problem)
    perp = np.eye(size) - basis @ basis.T
    swapped = perp[:, problem.P]
    return np.asarray((variance / 2) * ((perp + swapped) + abs(1 - 2 * theta * mu) ** (2 * k) * (perp - swapped)))


def perp_variance(
    problem: Problem, *, theta: float, mu: float, variance: float, k: npt.NDArray[np.integer] | int
) -> Array:
    """Mean of the diagonal of ``perp_covariance`` at every ``k``; needs the two ranks only, no matrix.

    Parameters
    ----------
    problem
        Its network alone matters.
    theta, mu, variance, k
        As in the paper; ``k`` may be an array.

    Returns
    -------
    Array
        One entry for each ``k``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> sv.privacy.research.perp_variance(problem, theta=1.0, mu=1.0, variance=1.0, k=3)
    array(0.25)
    """
    check_run(theta=theta, mu=mu, variance=variance)
    subspace = Subspace(problem.network)
    rows = subspace.C.shape[0]
    symmetric, antisymmetric = rows / 2 - subspace.rank_plus, rows / 2 - subspace.rank_minus
    decay = np.abs(1 - 2 * theta * mu) ** (2.0 * np.asarray(k))
    return np.asarray(variance * (symmetric + decay * antisymmetric) / rows)
