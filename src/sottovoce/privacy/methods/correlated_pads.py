"""Pads that are not independent, for the auditor: what if ``z(0)`` were drawn otherwise?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...costs.base import Array
from ...errors import InvalidInput
from ...pdmm.problem import Problem


@dataclass(frozen=True, eq=False)
class CorrelatedPads:
    """``z(0) ~ N(0, covariance)`` over ``network.half_edges``, the same for every entry of ``x``; for ``audit`` only.

    ``CorrelatedPads(v * Pi_perp)`` is noise projected on ``Psi_perp``, which hides nothing (theory: Bad pads).

    Parameters
    ----------
    covariance
        ``(2m, 2m)``, symmetric and positive semidefinite.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> pads = sv.privacy.research.CorrelatedPads(100 * np.eye(8))
    >>> sv.privacy.audit(problem, pads, corrupt={0}, c=0.5).method
    'linear-Gaussian elimination'
    """

    covariance: Array

    def __post_init__(self) -> None:
        matrix = np.asarray(self.covariance, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            raise InvalidInput(f"covariance must be a square matrix of finite numbers; got shape {matrix.shape}.")
        values = np.linalg.eigvalsh(matrix)
        if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-9 * np.abs(matrix).max() or values[0] < -1e-9 * values[-1]:
            raise InvalidInput("covariance must be symmetric and positive semidefinite.")
        if not values[-1] > 0:
            raise InvalidInput("covariance is zero; leave the mask out for a run without privacy.")
        object.__setattr__(self, "covariance", (matrix + matrix.T) / 2)

    @property
    def variance(self) -> float:
        """Mean variance of a pad."""
        return float(np.trace(self.covariance)) / len(self.covariance)

    def factor(self, problem: Problem) -> Array:
        """``F`` with ``covariance = variance F F'``, over the stacked ``z`` of the problem."""
        rows = 2 * problem.network.m
        if self.covariance.shape != (rows, rows):
            raise InvalidInput(
                f"covariance must be over the {rows} half-edges of the network; got {self.covariance.shape}."
            )
        values, vectors = np.linalg.eigh(self.covariance / self.variance)
        kept = values > 1e-12 * values[-1]
        return np.asarray(np.kron(vectors[:, kept] * np.sqrt(values[kept]), np.eye(problem.dim)))

    def hides_nothing(self, problem: Problem) -> bool:
        """Whether ``C'z(0) = 0`` always, and ``C'Pz(0) = 0``: then no node's step ever feels the pads."""
        C, F = problem.C, self.factor(problem)
        return bool(max(np.abs(C.T @ F).max(), np.abs(C.T @ F[problem.P]).max()) < 1e-9)
