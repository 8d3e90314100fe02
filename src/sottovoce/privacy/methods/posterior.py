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


def observe(root: Array, A: Array, N: Array, width: int, wanted: slice = slice(None)) -> Posterior:
    """The posterior of ``S ~ N(., root root')`` given ``Y = A S + N(0, N)``, for every block of ``width`` of the wanted
    entries. No entry of ``Y`` may be a function of the others."""
    from_root, own = A @ root, root[wanted].T
    M = from_root @ from_root.T + N
    sizes = np.sqrt(np.diag(M))  # entries of Y may differ by decades
    # The best estimator of S is gain'Y.
    try:
        scaled = linalg.solve(M / np.multiply.outer(sizes, sizes), from_root @ own / sizes[:, None], assume_a="pos")
    except np.linalg.LinAlgError:
        raise too_far_apart() from None
    gain = scaled / sizes[:, None]
    error = own - from_root.T @ gain
    # Joseph's form, a sum of squares: exact in the limit where (before - gained) would cancel.
    after = _blocks(error, error, width) + _blocks(gain, N @ gain, width)
    return Posterior(blocks(root[wanted], width), after, _blocks(from_root @ own, gain, width))


def too_far_apart() -> Unsupported:
    """A matrix that is not positive definite, for float64."""
    return Unsupported(
        "pads, secrets and c are of sizes too far apart for float64: bring secrets to size 1, and c to curvature."
    )


def blocks(root: Array, width: int) -> Array:
    """The ``(width, width)`` blocks on the diagonal of ``root root'``."""
    return _blocks(root.T, root.T, width)


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


def conditioned(root: Array, functionals: Array) -> tuple[Array, Array]:
    """A root of the covariance of ``S ~ N(., root root')`` given ``functionals @ S``, which are independent, and the
    columns ``a`` by whose ``a a'`` the covariance falls.

    Every functional is turned into the column that it measures most, and that column goes. So what is left of an entry
    that nearly is the functional keeps its digits, and where columns do not meet, none is touched.
    """
    root, explained = root.copy(), np.zeros((len(root), len(functionals)))
    for functional, column in zip(functionals, explained.T, strict=True):
        rows = np.flatnonzero(functional)
        y = functional[rows] @ root[rows]
        at = np.flatnonzero(y)
        mirror = y[at] / np.linalg.norm(y[at])
        first = int(np.argmax(np.abs(mirror)))
        column[:] = root[:, at] @ mirror
        mirror[first] += np.copysign(1.0, mirror[first])
        root[:, at] -= np.multiply.outer(root[:, at] @ (mirror / abs(mirror[first])), mirror)
        root[:, at[first]] = 0.0
    return root, explained
