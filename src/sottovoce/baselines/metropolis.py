"""Metropolis weights: the averaging matrix that needs nothing but the degrees of neighbours.

``W_ij = 1/(1 + max(d_i, d_j))`` on edges and ``W_ii = 1 - sum_j W_ij`` (Xiao, Boyd, Lall 2005): symmetric, its rows sum
to 1, and all eigenvalues but that of the mean lie strictly between -1 and 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..costs.base import Array
from ..network import Network

if TYPE_CHECKING:
    from scipy import sparse

DENSE = 1_500  # nodes up to which all eigenvalues are computed


def metropolis(network: Network) -> sparse.csr_array[Any]:
    """``W``, sparse."""
    from scipy import sparse

    i, j = network.edges.T
    weight = 1.0 / shares(network)
    both = (np.concatenate([i, j]), np.concatenate([j, i]))
    off = sparse.coo_array((np.concatenate([weight, weight]), both), shape=(network.n, network.n)).tocsr()
    return sparse.csr_array(off + sparse.diags_array(1.0 - off.sum(axis=1)))


def shares(network: Network) -> Any:
    """``1 + max(d_i, d_j)`` of every edge, ``(m,)``: whole numbers, so that ``W`` can also be had modulo a prime."""
    return 1 + network.degrees[network.edges].max(axis=1)


def extremes(network: Network) -> tuple[float, float]:
    """The smallest and the second largest eigenvalue of ``W``."""
    W = metropolis(network)
    if network.n <= DENSE:
        found: Array = np.linalg.eigvalsh(W.toarray())
        return float(found[0]), float(found[-2])
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).normal(size=network.n)  # the same digits in every run
    least = eigsh(W, 1, which="SA", return_eigenvectors=False, v0=start)
    largest = eigsh(W, 2, which="LA", return_eigenvectors=False, v0=start)
    return float(least[0]), float(largest.min())
