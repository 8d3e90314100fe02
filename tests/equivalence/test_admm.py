"""``theta = 1/2`` is ADMM: against ADMM written from its textbook form, which knows neither ``z`` nor ``P``."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv

N = 12


def admm(network, Q, q, c, z0, iterations):
    """Minimise ``sum x_i'Q_i x_i/2 + q_i'x_i`` with a copy ``w_ij`` of each end of each edge, ``w_ij = w_ji = w_e``:

    x-step, w-step (a mean over the two ends), and the multipliers' gradient step, with penalty ``c``.
    """
    d = q.shape[1]
    pairs = [tuple(pair) for pair in network.half_edges.tolist()]
    sign = {(i, j): 1.0 if i > j else -1.0 for i, j in pairs}
    z = dict(zip(pairs, z0, strict=True))
    # A multiplier p_ij for x_i = w_e; z(0) = A_ij (p_ij - c w_e) splits into them.
    w = {(i, j): -(sign[i, j] * z[i, j] + sign[j, i] * z[j, i]) / (2 * c) for i, j in pairs}
    p = {(i, j): sign[i, j] * z[i, j] + c * w[i, j] for i, j in pairs}
    x = np.zeros((N, d))
    for _ in range(iterations):
        for i in range(N):
            neighbours = [j for j in network.neighbours(i).tolist()]
            rhs = -q[i] - sum(p[i, j] - c * w[i, j] for j in neighbours)
            x[i] = np.linalg.solve(Q[i] + c * len(neighbours) * np.eye(d), rhs)
        w = {(i, j): (x[i] + p[i, j] / c + x[j] + p[j, i] / c) / 2 for i, j in pairs}
        p = {(i, j): p[i, j] + c * (x[i] - w[i, j]) for i, j in pairs}
    return x


@pytest.mark.parametrize("iterations", [1, 2, 7, 60])
@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_theta_one_half_is_admm(network, rng, iterations, engine):
    problem = sv.least_squares(network, shards(rng, N, 6, 3))
    Q, q = problem.quadratic
    z0 = rng.normal(size=(2 * network.m, 3))
    expected = admm(network, Q, q, 0.7, z0, iterations)
    run = sv.solve(problem, theta=0.5, c=0.7, z0=z0, tol=0, max_iter=iterations, engine=engine)
    np.testing.assert_allclose(run.x, expected, atol=1e-12)
