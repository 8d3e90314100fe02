"""Without a prior: how well can an adversary tell two sets of data apart that have the same answer?

Given the sums, a transcript over open channels is ``Y = Q S + N(0, (sigma^2/2) L_h)`` (``closed_form``). Let the data
of node ``i`` differ by ``Delta``, and those of another honest node ``j`` of its component the other way, by
``Q_j^{-1} Q_i Delta``, so that the sum stays. The two transcripts are Gaussians of one covariance, with means that are
``(e_i - e_j) Q_i Delta`` apart, so the best test between them has

    mu = |Q_i Delta| sqrt(2 R_ij) / sigma,

``R_ij`` the effective resistance between ``i`` and ``j`` in the honest graph; for averaging, ``Q = 2``, this is
``Delta sqrt(8 R_ij) / sigma``. That is Gaussian differential privacy (Dong, Roth, Su 2022) given the sums. ``R`` runs
multiply it by ``sqrt(R)``. It is exact for whole transcripts over open channels, also to an eavesdropper: the shift of
all ``x`` that it does not know, ``Q t_K``, is no help, since ``L y = (e_i - e_j) Q_i Delta`` has a solution that is
orthogonal to ``Q``. Every other view shows less, and there it is an upper bound.

With local noise of variance ``t`` no sum is exact, and the data of ``i`` may differ alone, by ``Delta``. In units of
the secrets the view is ``S + N(0, C)``, ``C = t I + (sigma^2/2) Q^{-1} L_h Q^{-1}``, so that

    mu = Delta sqrt([C^{-1}]_ii)

without any condition (theory: Below the floor): differential privacy as it is usually meant. To an eavesdropper the
shift adds ``sigma^2/(2 sum c^2) 1 1'`` to ``C``.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from ...costs.base import Array
from ...errors import InvalidInput, is_number
from ...network import Network
from ...pdmm.masks import GaussianMask
from ...pdmm.modular_mask import ModularMask
from ..adversary import Adversary, Coalition, Eavesdropper, Nodes, honest_components

if TYPE_CHECKING:
    from ..methods.case import Case

DENSE = 2_000  # nodes up to which the resistances are computed
WORK = 1e9  # multiplications that a worst case may take: seconds


def told_apart(case: Case, adversary: Adversary) -> Array | None:
    """``mu`` of every node, against the honest node for which it is largest, where each number of a secret moves by one
    standard deviation of its prior; ``nan`` for corrupt nodes, ``inf`` for those that are alone. None where it is not
    known: snapshots, correlated or reused pads, networks too large. With local noise nobody else's data move."""
    secrets = case.secrets
    network = secrets.problem.network
    if case.setting.one_moment or case.pads == "reused" or network.n > DENSE:
        return None
    honest = np.setdiff1d(np.arange(network.n), list(adversary.corrupt))
    mu = np.full(network.n, np.nan)
    if case.noise is not None:
        precision = precisions(case, adversary, honest)
        if precision is None:
            return None
        mu[honest] = np.sqrt(np.linalg.eigvalsh(precision)[:, -1]) * _deviations(case)[honest]
        return mu
    if not adversary.corrupt and not adversary.sees_all(case.channels):
        mu[honest] = 0.0
        return mu
    if case.mask is None:
        mu[honest] = np.inf
        return mu
    if isinstance(case.mask, ModularMask):  # given the sums, the view is uniform
        alone = [int(part[0]) for part in honest_components(network, adversary.corrupt) if len(part) == 1]
        mu[honest] = np.where(np.isin(honest, alone), np.inf, 0.0)
        return mu
    if not isinstance(case.mask, GaussianMask):
        return None
    resistance = largest_resistances(network, adversary.corrupt)
    curvature = secrets.Q if secrets.Q.ndim == 1 else np.linalg.norm(secrets.Q, 2, axis=(1, 2))
    return np.asarray(curvature * _deviations(case) * np.sqrt(2 * resistance / case.variance))


def _deviations(case: Case) -> Array:
    """How far the data of each node move: every number by one standard deviation of its prior."""
    secrets = case.secrets
    return np.asarray(np.sqrt(secrets.copies * secrets.variances.reshape(secrets.n, -1).sum(axis=1)))


def precisions(case: Case, adversary: Adversary, honest: Nodes) -> Array | None:
    """The blocks ``[C^{-1}]_ii`` of the honest nodes behind local noise, ``(honest, width, width)``; None for pads that
    are not independent, and for too many numbers."""
    secrets, t, w = case.secrets, case.noise_variance, case.secrets.width
    if len(honest) * w > DENSE:
        return None
    network, told = secrets.problem.network, bool(adversary.corrupt) or case.published
    Q = secrets.Q.reshape(secrets.n, w, w)[honest]
    if not adversary.corrupt and not adversary.sees_all(case.channels):  # nothing but the answer, if anything
        total = t * (Q @ Q).sum(axis=0)
        return np.asarray(Q @ np.linalg.solve(total, Q)) if told else np.zeros_like(Q)
    if case.mask is not None and not isinstance(case.mask, GaussianMask):
        return None
    W = network.adjacency.toarray().astype(np.float64)[np.ix_(honest, honest)]
    L = np.kron(np.diag(W.sum(axis=1)) - W, np.eye(w)).reshape(len(honest), w, -1)
    half = np.linalg.solve(Q, L).reshape(len(honest) * w, -1)
    N = np.linalg.solve(Q, half.T.reshape(len(honest), w, -1)).reshape(half.shape)
    if not told and case.variance:
        N += np.kron(np.ones_like(W), np.eye(w)) / case.setting.strength
    sizes, directions = np.linalg.eigh((N + N.T) / 2)
    if told:  # along the sums there is no noise but t: rounding must not add to it
        sizes[: w * len(honest_components(network, adversary.corrupt))] = 0.0
    blocks = directions.reshape(len(honest), w, -1)
    return np.asarray(blocks / (t + case.variance / 2 * np.maximum(sizes, 0.0)) @ blocks.transpose(0, 2, 1))


def worst_told_apart(case: Case, t: int) -> Array | None:
    """The largest over all coalitions of at most ``t``; None where they are too many."""
    n = case.secrets.n
    if sum(comb(n, size) for size in range(t + 1)) * float(n) ** 3 > WORK:
        return None
    worst = np.full(n, np.nan)
    for size in range(t + 1):
        for nodes in combinations(range(n), size):
            mu = told_apart(case, Coalition(nodes) | Eavesdropper())
            if mu is None:
                return None
            worst = np.fmax(worst, mu)
    return worst


def largest_resistances(network: Network, corrupt: frozenset[int]) -> Array:
    """For every honest node the largest effective resistance to another of its component; ``inf`` for one alone."""
    found = np.full(network.n, np.nan)
    W = network.adjacency.toarray().astype(np.float64)
    for part in honest_components(network, corrupt):
        if len(part) == 1:
            found[part] = np.inf
            continue
        inside = W[np.ix_(part, part)]
        # L + J/n is regular, and its inverse differs from that of L by a multiple of J, which R_ij does not feel.
        P = np.linalg.inv(np.diag(inside.sum(axis=1)) - inside + 1 / len(part))
        own = np.diag(P)
        found[part] = (own[:, None] + own[None] - 2 * P).max(axis=1)
    return found


def best_guess(mu: Array | float) -> Array:
    """How often the best guess between two such sets of data, of which each is as likely, is right: ``Phi(mu/2)``."""
    return np.asarray(ndtr(np.asarray(mu) / 2))


def delta(mu: float, epsilon: float) -> float:
    """The smallest ``delta`` at this ``epsilon``, exactly: ``Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)``."""
    if not (is_number(epsilon) and 0 <= epsilon < np.inf):
        raise InvalidInput(f"epsilon of differential privacy must be a number >= 0; got {epsilon!r}.")
    if not 0 < mu < np.inf:  # nothing, everything, or not known
        return float(mu) if np.isnan(mu) else float(mu > 0)
    return _delta(mu, epsilon)


def _delta(mu: float, eps: float) -> float:
    return float(ndtr(-eps / mu + mu / 2) - np.exp(eps + log_ndtr(-eps / mu - mu / 2)))


def epsilon(mu: float, delta: float) -> float:
    """The smallest ``epsilon`` at this ``delta``, exactly (Balle and Wang 2018; theory: Without a prior): where
    ``Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)`` is ``delta``."""
    if not (is_number(delta) and 0 < delta < 1):
        raise InvalidInput(f"delta of differential privacy must lie between 0 and 1; got {delta!r}.")
    if not np.isfinite(mu):
        return float(mu)

    def above(eps: float) -> float:
        return _delta(mu, eps) - delta

    if mu == 0 or above(0.0) <= 0:
        return 0.0
    high = mu
    while above(high) > 0:
        high *= 2
    return float(brentq(above, 0.0, high, xtol=1e-300, rtol=1e-12))
