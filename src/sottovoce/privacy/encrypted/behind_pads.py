"""What is left to guess behind independent pads, of which the two of an edge may always move together, unseen.

Moving both pads of an edge between honest nodes by ``a``, and ``q`` of its ends against it, changes no message. There
are as many such directions as edges, each of four entries, and what they do is known:

    q = -M a + U b,      a ~ N(0, sigma^2/2),      M = C' of one pad + C' of the other      (M M' is the Laplacian)

with ``b`` along the other directions, in which the pads of an edge move against each other, by ``S b``. With
``K = R R'`` the covariance of ``q`` and ``T = I + (sigma^2/2) R^{-1} M M' R^{-T}``, the precision of ``b`` is
``U' R^{-T} T^{-1} R^{-1} U + S'S/sigma^2``, and given ``b`` the mean of ``q`` is ``R T^{-1} R^{-1} U b``, the
covariance ``R (I - T^{-1}) R'``. So ``b`` alone is left to linear algebra, and where nearly all is seen there is little
of it (theory: Encrypted channels). ``Unseen`` with all directions is the twin in the tests, and takes its place where
variances are not even: the eigenvalues of ``T`` are right to a share of the largest, and those of the parties whose
numbers vary most are the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ...costs.base import Array
from ..adversary import honest_components
from ..methods.secrets_and_prior import Secrets
from ..methods.unseen_directions import RANK, Unseen

EVEN = 1e6  # times the least variance of ``q``, along any direction: up to there the nats are right to 1e-10


def is_even(secrets: Secrets) -> bool:
    """Whether no variance of ``q`` is so far from another that an eigenvalue would lose its digits."""
    Q = secrets.hessian(np.arange(secrets.n)).toarray()
    sizes = np.linalg.eigvalsh(Q @ secrets.covariance() @ Q)
    return bool(sizes[-1] <= EVEN * sizes[0])


@dataclass(frozen=True, eq=False)
class BehindPads(Unseen):
    """``W`` is an orthonormal basis of the columns ``[U; S]``; ``edges`` is ``M``."""

    edges: sparse.csr_array[Any] | None = None

    def posterior(self, K: Array, sigma: float) -> Array:
        """Covariance of every node's secret given what was learned, ``(n, width, width)``; 0 where it is disclosed."""
        assert self.edges is not None
        N, w = len(K), self.secrets.width
        U, S = self.W[:N], self.W[N:]
        Q = self.secrets.hessian(np.arange(N // w)).toarray()
        K = Q @ K @ Q
        R = linalg.cholesky(K, lower=True)
        Y = linalg.solve_triangular(R, self.edges.toarray(), lower=True)
        sizes, V = np.linalg.eigh(Y @ Y.T)
        groups = honest_components(self.secrets.problem.network, self.corrupt)
        moves = w * sum(len(group) - 1 for group in groups)  # the rank of M: other eigenvalues are rounding
        sizes[: N - moves] = 0.0
        sizes *= sigma**2 / 2
        RV = R @ V
        left = [RV * np.sqrt(sizes / (1 + sizes))]
        if U.shape[1]:
            X = V.T @ linalg.solve_triangular(R, U, lower=True) / np.sqrt(1 + sizes)[:, None]
            # Rows from large to small, columns pivoted: the elimination then keeps the small rows as they are.
            scaled = [X, S / sigma if sigma else S]
            stacked = np.vstack(scaled if sigma > np.sqrt(K.max()) else scaled[::-1])
            factor, pivots = linalg.qr(stacked, mode="r", pivoting=True)
            in_q = RV @ (X / np.sqrt(1 + sizes)[:, None])
            left.append(linalg.solve_triangular(factor[: U.shape[1]], in_q[:, pivots].T, trans=1).T)
        roots = np.linalg.solve(Q, np.hstack(left)).reshape(N // w, w, -1)
        covariance = roots @ roots.transpose(0, 2, 1)
        covariance[self._disclosed(groups)] = 0.0
        return np.asarray(covariance)

    def _disclosed(self, groups: list[Any]) -> list[int]:
        """The corrupt, and those without an honest neighbour whose ``q`` does not move."""
        w = self.secrets.width
        alone = [int(group[0]) for group in groups if len(group) == 1]
        blocks = [self.W[i * w : (i + 1) * w] for i in alone]
        moves = [block.shape[1] >= w and np.linalg.svd(block, compute_uv=False)[-1] >= RANK for block in blocks]
        return [*self.corrupt, *(i for i, moving in zip(alone, moves, strict=True) if not moving)]
