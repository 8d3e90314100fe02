"""Gaussian posteriors, computed so that neither a tiny leak nor a near disclosure drowns in rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..costs.base import Array
from ..errors import Unsupported

DISCLOSED = 1e-20  # of the prior variance: what is left of a variance that is exactly 0


@dataclass(frozen=True, eq=False)
class Posterior:
    """The covariance of each node's secret before and after a view; blocks ``(nodes, width, width)``.

    ``gained`` is ``before - after`` computed by itself: where it is small, the subtraction would lose it.
    """

    before: Array
    after: Array
    gained: Array

    def nats(self) -> Array:
        """``I(S_i; view) = 1/2 ln det before - 1/2 ln det after``; ``inf`` where a direction is disclosed."""
        return np.array([_nats(*blocks) for blocks in zip(self.before, self.after, self.gained, strict=True)])


def _nats(before: Array, after: Array, gained: Array) -> float:
    if not before.any():
        return np.inf
    # In directions scaled to unit variance before the view.
    root = linalg.cholesky(before, lower=True)
    share = linalg.eigvalsh(_whitened(root, gained))
    if share[-1] < 0.5:
        return max(0.0, -0.5 * float(np.log1p(-share).sum()))
    left = linalg.eigvalsh(_whitened(root, after))
    if left[0] <= DISCLOSED:
        return np.inf
    return max(0.0, -0.5 * float(np.log(left).sum()))


def _whitened(root: Array, matrix: Array) -> Array:
    half = linalg.solve_triangular(root, matrix, lower=True)
    return np.asarray(linalg.solve_triangular(root, half.T, lower=True))


def observe(
    K: Array, A: Array, N: Array, width: int, regular: Array | None = None, wanted: slice = slice(None)
) -> Posterior:
    """The posterior of ``S ~ N(., K)`` given ``Y = A S + N(0, N)``, for every block of ``width`` of the wanted entries.

    ``regular`` makes ``M = A K A' + N`` regular where it must be; it may only act on directions of ``Y`` that are
    constant, where it changes nothing.
    """
    AK = A @ K
    M = AK @ A.T + N
    # The best estimator of S is gain'Y.
    try:
        gain = linalg.solve(M if regular is None else M + regular, AK[:, wanted], assume_a="pos")
    except np.linalg.LinAlgError:
        raise Unsupported(
            "pads, secrets and c are of sizes too far apart for float64: bring secrets to size 1, and c to curvature."
        ) from None
    error = np.eye(len(K))[:, wanted] - A.T @ gain
    # Joseph's form, a sum of squares: exact in the limit where (before - gained) would cancel.
    after = _blocks(error, K @ error, width) + _blocks(gain, N @ gain, width)
    return Posterior(diagonal_blocks(K, width)[_nodes(wanted, width)], after, _blocks(AK[:, wanted], gain, width))


def _nodes(wanted: slice, width: int) -> slice:
    return wanted if wanted == slice(None) else slice(wanted.start // width, wanted.stop // width)


def _blocks(left: Array, right: Array, width: int) -> Array:
    """The diagonal blocks of ``left' right``, symmetric."""
    count = left.shape[1] // width
    cut = (len(left), count, width)
    product = np.einsum("kia,kib->iab", left.reshape(cut), right.reshape(cut), optimize=True)
    return np.asarray((product + product.transpose(0, 2, 1)) / 2)


def diagonal_blocks(K: Array, width: int) -> Array:
    """The ``(width, width)`` blocks on the diagonal."""
    at = np.arange(len(K)).reshape(-1, width)
    return np.asarray(K[at[:, :, None], at[:, None, :]])


def condition(K: Array, B: Array) -> Array:
    """The covariance of ``S`` given ``B S`` exactly, for ``B`` of full row rank."""
    if not len(B):
        return K
    BK = B @ K
    left = K - BK.T @ linalg.solve(BK @ B.T, BK, assume_a="pos")
    return np.asarray((left + left.T) / 2)
