"""Gaussian posteriors, computed so that neither a tiny leak nor a near disclosure drowns in rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ...costs.base import Array
from ...errors import Unsupported

DISCLOSED = 1e-20  # of the prior variance: what is left of a variance that is exactly 0


@dataclass(frozen=True, eq=False)
class Posterior:
    """The covariance of each node's secret before and after a view; blocks ``(..., nodes, width, width)``.

    ``gained`` is ``before - after`` computed by itself: where it is small, the subtraction would lose it.
    """

    before: Array
    after: Array
    gained: Array

    def nats(self) -> Array:
        """``I(S_i; view) = 1/2 ln det before - 1/2 ln det after``; ``inf`` where a direction is disclosed."""
        known = np.asarray(~(self.before > 0).any(axis=(-2, -1)))  # up to rounding
        before = np.where(known[..., None, None], np.eye(self.before.shape[-1]), self.before)
        # In directions scaled to unit variance before the view, in ascending order.
        share, left = _shares(before, self.gained), _shares(before, self.after)
        small, disclosed = share[..., -1] < 0.5, known | (left[..., 0] <= DISCLOSED)
        by_gain = np.log1p(-np.where(small[..., None], share, 0.0)).sum(axis=-1)
        by_rest = np.log(np.where((small | disclosed)[..., None], 1.0, left)).sum(axis=-1)
        nats = np.maximum(0.0, -0.5 * np.where(small, by_gain, by_rest)) + 0.0  # never -0
        return np.where(known | (disclosed & ~small), np.inf, nats)


def _shares(whole: Array, part: Array) -> Array:
    """The eigenvalues of ``part`` relative to ``whole``, ascending."""
    if whole.shape[-1] == 1:
        return (part / whole)[..., 0]
    root = np.linalg.cholesky(whole)
    half = np.linalg.solve(root, part)
    return np.asarray(np.linalg.eigvalsh(np.linalg.solve(root, np.swapaxes(half, -2, -1))))


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
        raise too_far_apart() from None
    error = np.eye(len(K))[:, wanted] - A.T @ gain
    # Joseph's form, a sum of squares: exact in the limit where (before - gained) would cancel.
    after = _blocks(error, K @ error, width) + _blocks(gain, N @ gain, width)
    return Posterior(diagonal_blocks(K, width)[_nodes(wanted, width)], after, _blocks(AK[:, wanted], gain, width))


def too_far_apart() -> Unsupported:
    """A matrix that is not positive definite, for float64."""
    return Unsupported(
        "pads, secrets and c are of sizes too far apart for float64: bring secrets to size 1, and c to curvature."
    )


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
