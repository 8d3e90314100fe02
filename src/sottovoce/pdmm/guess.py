"""A first ``c``, from curvature and graph alone.

The guess is exact for averaging on a regular graph. There a mode of the normalised adjacency matrix with eigenvalue
``l`` has the rates ``t^2 - g l t - (1 - g) = 0``, ``g = 2 c d / (a + c d)``, for the curvature ``a`` of the costs, and
the slowest mode is fastest where its roots meet: ``c = a / (d sqrt(1 - l^2))``. With several curvatures the two
extremes are balanced by their geometric mean.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..costs.base import Array
from ..network import Network
from .problem import Problem


def guess_c(problem: Problem) -> float:
    """``sqrt(a_min a_max) / (d sqrt(1 - l^2))``, with the extreme curvatures of the mean cost and the mean degree."""
    network = problem.network
    if problem.consensus:
        gap = max(1 - second_eigenvalue(network) ** 2, network.n**-2.0)  # no connected graph has less
        return curvature(problem) / (float(network.degrees.mean()) * math.sqrt(gap))
    return curvature(problem) / general_scale(problem)


def general_scale(problem: Problem) -> float:
    """``d sqrt(1 - l^2)`` for general blocks: under consensus it is ``sqrt(s (2d - s))``, with ``2s`` the smallest
    positive eigenvalue of ``K'K``, ``K = (I + P) C``, and ``d`` the mean of ``C'C``."""
    K = problem.C + problem.C[problem.P]
    d = float(problem.C.power(2).sum()) / problem.C.shape[1]
    if K.shape[1] > 2000:
        return d  # the eigenvalue would cost more than the pilots
    eigenvalues = np.linalg.eigvalsh((K.T @ K).toarray()) / 2
    s = float(eigenvalues[eigenvalues > 1e-9 * eigenvalues[-1]][0])
    return math.sqrt(s * max(2 * d - s, s))


def curvature(problem: Problem) -> float:
    """Geometric mean of the smallest and the largest positive curvature of the mean cost."""
    if problem.quadratic is not None:
        mean = problem.quadratic.Q.mean(axis=0)
        eigenvalues = np.linalg.eigvalsh(mean) if mean.ndim else np.array([mean])
    elif (mean := mean_curvature(problem)) is not None:
        eigenvalues = np.linalg.eigvalsh(mean)
    else:  # nodes of different dimension have no mean: all their curvatures
        forms = [cost.quadratic for _, cost in problem.groups]
        dense = [form.Q if form.Q.ndim == 1 else np.linalg.eigvalsh(form.Q).ravel() for form in forms if form]
        eigenvalues = np.sort(np.concatenate(dense)) if dense else np.ones(1)
    eigenvalues = eigenvalues[eigenvalues > 1e-10 * max(eigenvalues[-1], 1e-300)]
    if not len(eigenvalues):
        return 1.0
    product = eigenvalues[0] * eigenvalues[-1]
    if not 0 < product < np.inf:  # beyond float64
        return float(np.sqrt(eigenvalues[0]) * np.sqrt(eigenvalues[-1]))
    return float(np.sqrt(product))


def second_eigenvalue(network: Network) -> float:
    """The largest modulus in ``D^{-1/2} W D^{-1/2}`` apart from 1, and from -1 of a bipartite graph: the iteration does
    not feel those. A coarse value is enough."""
    root = np.sqrt(network.degrees.astype(np.float64))
    W = network.adjacency
    trivial = [(root / np.linalg.norm(root), 1.0)]
    if network.two_colouring is not None:
        trivial.append((network.two_colouring * trivial[0][0], -1.0))

    def deflated(v: Any) -> Array:
        v = np.asarray(v, dtype=np.float64).reshape(-1)
        return np.asarray((W @ (v / root)) / root - sum(value * (mode @ v) * mode for mode, value in trivial))

    if network.n < 5:  # ARPACK wants more
        return float(np.abs(np.linalg.eigvals(np.array([deflated(e) for e in np.eye(network.n)]))).max())
    start = np.cos(np.arange(network.n)) * root  # any fixed vector: the same network gets the same c
    if np.linalg.norm(deflated(start)) < 1e-12 * np.linalg.norm(start):
        return 0.0  # complete bipartite: nothing but rounding is left
    operator = LinearOperator((network.n, network.n), matvec=deflated, dtype=np.float64)
    try:
        largest = eigsh(operator, k=1, which="LM", tol=1e-2, v0=start, maxiter=50, return_eigenvectors=False)
    except ArpackNoConvergence as unfinished:
        largest = np.abs(unfinished.eigenvalues)
    return float(np.abs(largest).max()) if len(largest) else 1.0


def mean_curvature(problem: Problem) -> Array | None:
    """About the mean of the nodes' second derivatives, where every cost tells it."""
    if not problem.consensus:
        return None
    told = [(len(nodes), cost.mean_curvature) for nodes, cost in problem.groups]
    known = [count * mean for count, mean in told if mean is not None]
    return np.asarray(sum(known) / problem.network.n) if len(known) == len(told) else None


def is_kinked(problem: Problem) -> bool:
    """Whether costs have kinks, and all tell their curvature: pilots of their own would be slow."""
    if problem.quadratic is not None or mean_curvature(problem) is None:
        return False
    rest = [cost for _, cost in problem.groups if cost.quadratic is None]
    return any(cost.hessian(np.zeros((cost.count, cost.dim))) is None for cost in rest)
