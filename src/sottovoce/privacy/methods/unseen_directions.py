"""What is left to guess: the directions in which ``(q, z(0))`` can move without changing anything that was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ...costs.base import Array
from .leaks import Answer, Leaks, leaks
from .posterior import Posterior, diagonal_blocks
from .secrets_and_prior import Secrets, entries

RANK = 1e-10  # functionals of unit unknowns that are smaller than this are taken for rounding


@dataclass(frozen=True, eq=False)
class Unseen:
    """``W``: an orthonormal basis of those directions, a row per unknown, first ``q``, then ``z(0)``.

    Under a Gaussian prior with covariance ``K`` the posterior is the prior restricted to them:

        Cov(q, z(0) | view) = W (W' K^{-1} W)^{-1} W',      and q_i = -Q_i s_i.
    """

    secrets: Secrets
    corrupt: frozenset[int]
    W: Array
    woken: npt.NDArray[np.bool_]
    factor: Array | None = None  # F where z(0) = sigma F zeta, zeta ~ N(0, I), for regular F; None is F = I

    def posterior(self, K: Array, sigma: float) -> Array:
        """Covariance of every node's secret given what was learned, ``(n, width, width)``; 0 where it is disclosed."""
        N, w = len(K), self.secrets.width
        of_secrets = self.W[:N]
        if not of_secrets.size:
            return np.zeros((N // w, w, w))  # nothing is left to guess
        Q = self.secrets.hessian(np.arange(N // w)).toarray()
        K = Q @ K @ Q
        root = linalg.cholesky(K, lower=True)
        pads = self.W[N:] if self.factor is None else np.linalg.solve(self.factor, self.W[N:])
        scaled = np.vstack([linalg.solve_triangular(root, of_secrets, lower=True), pads / sigma if sigma else pads])
        # Rows from large to small, columns pivoted: the elimination then keeps the small rows as they are.
        R, pivots = linalg.qr(scaled[np.argsort(-np.abs(scaled).max(axis=1))], mode="r", pivoting=True)
        R = R[: R.shape[1]]
        in_q = linalg.solve_triangular(R, of_secrets[:, pivots].T, trans=1).T
        left = np.linalg.solve(Q, in_q).reshape(-1, w, R.shape[1])
        covariance = left @ left.transpose(0, 2, 1)
        blocks = of_secrets.reshape(-1, w, of_secrets.shape[1])
        visible = np.linalg.svd(blocks, compute_uv=False)[:, -1] if of_secrets.shape[1] >= w else np.zeros(len(blocks))
        covariance[visible < RANK] = 0.0
        return np.asarray(covariance)

    def mean(self, point: Array, K: Array, sigma: float) -> Array:
        """The posterior mean of every secret, given a point ``(q, z(0))`` (a column each) that fits what was learned.

        Of all that fit, it is the one that the prior, with mean 0, finds most likely.
        """
        N = len(K)
        Q = self.secrets.hessian(np.arange(self.secrets.n)).toarray()
        root = linalg.cholesky(Q @ K @ Q, lower=True)
        free, fixed = (
            np.vstack([linalg.solve_triangular(root, matrix[:N], lower=True), matrix[N:] / sigma])
            for matrix in (self.W, point)
        )
        q = point[:N] - self.W[:N] @ linalg.lstsq(free, fixed)[0]
        return np.asarray(-np.linalg.solve(Q, q))

    def given(self, functionals: Array) -> Unseen:
        """What is left once these functionals of the unknowns (rows) are known too."""
        _, sizes, right = np.linalg.svd(functionals @ self.W, full_matrices=False)
        known = right[: int((sizes > RANK).sum())].T
        if not known.size:
            return self
        (mirrors, scales), _ = linalg.qr(known, mode="raw")  # reflections that turn what is known into first columns
        room = int(linalg.lapack.dormqr("R", "N", mirrors, scales, self.W, -1)[1][0])
        turned, _, info = linalg.lapack.dormqr("R", "N", mirrors, scales, self.W, room)
        assert info == 0
        return replace(self, W=np.ascontiguousarray(turned[:, known.shape[1] :]))

    def leaks(self, variance: float) -> Leaks:
        """What the view gives away, for pads of this variance (divided by the number of runs)."""
        answer, w, sigma = Answer(self.secrets, self.corrupt), self.secrets.width, float(np.sqrt(variance))
        prior = self.secrets.covariance()
        sums = np.zeros((len(answer.groups), w, len(self.W)))
        for total, group in zip(sums, answer.groups, strict=True):
            total[:, entries(group, w)] = np.tile(np.eye(w), len(group))
        both = self.given(sums.reshape(-1, len(self.W)))
        before, given = diagonal_blocks(answer.K, w), answer.given
        after, left = (view.posterior(prior, sigma)[answer.honest] for view in (self, both))
        seen = Posterior(before, after, before - after)
        return leaks(
            answer, answer.honest, seen, Posterior(given, left, given - left), complete=False, heard=self.woken
        )
