"""Many coalitions at once: whole transcripts over open channels, of independent secrets with one entry each.

In ``q = Q s``, with ``D = Cov q`` diagonal, a coalition sees ``q + N(0, (sigma^2/2) L_h)`` on the honest nodes, and the
answer is ``1'q`` over each of their components (theory: Open channels). Here corrupt nodes keep their place as nodes
without edges, so that all coalitions have one shape, and all but the solves is done for a stack of them.
``closed_form._dense`` says the same for one coalition, and for everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from ...costs.base import Array
from ...network import Network
from ...network.graphs import components
from .leaks import Leaks, informations
from .posterior import Posterior, too_far_apart
from .secrets_and_prior import Secrets

STACK = 300_000  # entries of the matrices that are held at once


def whole_transcripts(
    secrets: Secrets, coalitions: Sequence[frozenset[int]], variance: float, strength: float
) -> Iterator[Leaks]:
    """What each coalition learns once all have woken, taps included; of ``strength``, the sum of ``c^2`` over the edges
    with messages, only the empty one takes notice."""
    each = max(1, STACK // secrets.n**2)
    for start in range(0, len(coalitions), each):
        found = _stacked(secrets, coalitions[start : start + each], variance, strength)
        for leakage, floor, excess, std in zip(found.leakage, found.floor, found.excess, found.std, strict=True):
            yield Leaks(leakage, floor, excess, std)


def _stacked(secrets: Secrets, coalitions: Sequence[frozenset[int]], variance: float, strength: float) -> Leaks:
    network, n, D = secrets.problem.network, secrets.n, secrets.Q**2 * secrets.K
    diagonal = np.arange(n)
    honest = np.ones((len(coalitions), n), dtype=bool)
    for member, corrupt in zip(honest, coalitions, strict=True):
        member[list(corrupt)] = False
    told = np.array([[bool(corrupt)] for corrupt in coalitions])  # an eavesdropper is not told the answer
    group = _groups(network, honest)
    same = group[:, :, None] == group[:, None, :]
    size, total = (np.bincount(group.ravel(), np.tile(of, len(group)))[group] for of in (np.ones(n), D))
    per_total = np.where(told, 1 / total, 0.0)

    # Cov q given the answer; its diagonal without a difference.
    given = np.where(same, D[:, None] * D, 0.0) * -per_total[:, :, None]
    same[:, diagonal, diagonal] = False
    given[:, diagonal, diagonal] = np.where(told, D * (same @ D) * per_total, D)
    same[:, diagonal, diagonal] = True
    edges = network.adjacency.toarray() * (honest[:, :, None] & honest[:, None, :])
    N = (variance / 2) * -edges.astype(np.float64)
    N[:, diagonal, diagonal] = (variance / 2) * edges.sum(axis=2)
    N[~told[:, 0]] += variance / (2 * strength) * np.outer(secrets.Q, secrets.Q)  # the shift of all x
    # Given the answer 1'Y is constant over each group, so that a matrix that acts on it alone changes nothing.
    level = (np.where(honest, D, 0.0).sum(axis=1) + np.trace(N, axis1=1, axis2=2)) / honest.sum(axis=1)
    regular = same * np.where(told, level[:, None], 0.0)[:, :, None]
    prior, before = np.broadcast_to(D, honest.shape), given[:, diagonal, diagonal]
    after, gained = _observed(given, N, regular, D, per_total[:, :, None] * same)
    left = Posterior(*_blocks(before, after, gained))
    if variance > D.max():
        # A coalition's view holds the answer, so both leave the same; see ``_dense``.
        seen = Posterior(*_blocks(prior, after, np.where(told, prior - after, gained)))
    else:
        alone = np.where(np.eye(n, dtype=bool), D, np.zeros_like(N))
        seen = Posterior(*_blocks(prior, *_observed(alone, N, 0.0, D, 0.0)))
    lone = (size == 1) & told
    (K,) = _blocks(prior)
    noise = None if secrets.noise is None else secrets.noise.scaled(secrets.Q)
    found = informations(K, seen, left, lone, np.ones_like(lone), told, secrets.copies, noise=noise)
    found.std[:] /= np.abs(secrets.Q)[:, None]
    for values in (found.leakage, found.floor, found.excess, found.std):
        values[~honest] = np.nan
    return found


def _observed(given: Array, N: Array, regular: Array | float, D: Array, mean: Array | float) -> tuple[Array, Array]:
    """``posterior.observe`` for ``A = I``, by rows: what is left of each variance, and what was gained.

    Given the answer, ``x' given x`` is the sum over ``D`` of the squares of ``x`` about its mean.
    """
    gain = _solved(given + N + regular, given)
    gained = np.einsum("kij,kij->ki", gain, given)
    before = np.diagonal(given, axis1=1, axis2=2)
    if (2 * gained <= before).all():  # the difference loses nothing
        return before - gained, gained
    error = np.eye(len(D)) - gain
    error -= (error @ D)[:, :, None] * mean
    return (error**2) @ D + np.einsum("kij,kij->ki", gain, gain @ N), gained


def _blocks(*values: Array) -> Iterator[Array]:
    """Numbers as covariances of one entry."""
    return (value[..., None, None] for value in values)


def _groups(network: Network, honest: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """A number for each component of each coalition's honest nodes; corrupt ones are components of their own."""
    count, n = honest.shape
    kept = honest[:, network.edges].all(axis=2)
    at, edge = np.nonzero(kept)
    _, group = components(count * n, network.edges[edge] + n * at[:, None])
    return group.astype(np.int64).reshape(count, n)


def _solved(M: Array, given: Array) -> Array:
    """The rows ``(M^{-1} given)'``, for symmetric matrices; ``M`` is used up."""
    gain = given.copy()
    for matrix, columns in zip(M, gain, strict=True):
        # Rows in C are columns in Fortran: LAPACK works in place.
        *_, failed = lapack.dposv(matrix.T, columns.T, overwrite_a=True, overwrite_b=True)
        if failed:
            raise too_far_apart()
    return gain
