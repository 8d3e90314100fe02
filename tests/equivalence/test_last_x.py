"""Logistic steps begin at the node's last ``x``: the same history gives the same bits, any start the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import sottovoce as sv
from sottovoce.pdmm.settings import Settings
from sottovoce.pdmm.solve import make_run

pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")

ROWS, D, EPS = (1, 2, 3, 5, 8, 13, 0, 40, 4, 7, 300, 6), 8, np.finfo(float).eps  # fewer than columns, and more


def logistic(network, rng, d=D):
    shards = [(rng.normal(size=(rows, d)), rng.integers(0, 2, rows)) for rows in ROWS]
    return sv.logistic(network, shards)


@pytest.mark.parametrize("start", [0.0, 1e-9, 1.0, 1e6, np.inf, np.nan])
@pytest.mark.parametrize("c", [1e-3, 1.0, 1e3])
def test_a_step_is_the_minimum_wherever_it_begins(network, rng, start, c):
    f, rho = logistic(network, rng).groups[0][1], c * network.degrees.astype(float)
    g = 3 * rng.normal(size=(len(ROWS), D))
    cold = f.step(g, rho)
    x = f.bind_from(rho)(g, cold + start * rng.normal(size=cold.shape) if np.isfinite(start) else cold * start)
    for i in range(len(ROWS)):
        one = f.take(slice(i, i + 1))
        kappa, A, m = rho[i] + 2 * one.ridge[0], one.A, len(one.A)
        p, q = special.expit(-A @ x[i]), special.expit(A @ x[i])
        slope = kappa * x[i] + g[i] - A.T @ p
        rounding = kappa * np.abs(x[i]) + np.abs(g[i]) + np.abs(A).T @ (p + p * q * (np.abs(A) @ np.abs(x[i])))
        assert (np.abs(slope) <= 5 * (m + D + 8) * EPS * rounding).all()  # the kernel's bound, and this sum's own


@pytest.mark.parametrize("theta", [1.0, 0.7])
def test_nodes_and_reference_have_the_same_bits(network, rng, theta):
    problem = logistic(network, rng)
    sequence = sv.Asynchronous().nodes(network, 7, 0, 300)
    nodes = sv.nodes_of(problem, c=0.4, theta=theta)
    for i in sequence:
        for message in nodes[i].wake():
            assert nodes[message.receiver].receive(message)
    run = sv.solve(problem, schedule=sv.Trace(sequence), theta=theta, c=0.4, tol=0, max_iter=300)
    np.testing.assert_array_equal([node.x for node in nodes], run.x)


def test_engine_and_reference_agree(network, rng):
    problem = logistic(network, rng)
    fast, slow = (make_run(problem, Settings(c=0.4, theta=0.8, engine=engine)) for engine in ("compiled", "reference"))
    for run in (fast, slow):
        run.advance(200)
    # Neighbours are summed in another order, over 200 non-expansive iterations.
    np.testing.assert_allclose(fast.x, slow.x, rtol=0, atol=200 * EPS * np.abs(slow.z).max())


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous(), sv.NodeBernoulli(0.5)])
def test_looking_changes_nothing_and_draws_are_single_runs(network, rng, schedule):
    problem, z0 = logistic(network, rng), rng.normal(size=(3, 2 * network.m, D))
    arguments = {"schedule": schedule, "c": 0.4, "theta": 0.8, "seed": 3, "tol": 0, "max_iter": 60}
    together = sv.solve(problem, batch=3, z0=z0, **arguments)
    for draw in range(3):
        watched = sv.solve(problem, z0=z0[draw], record=[sv.Residual()], record_every=1, **arguments)
        alone = sv.solve(problem, z0=z0[draw], **arguments)
        np.testing.assert_array_equal(watched.x, alone.x)
        np.testing.assert_array_equal(together.x[draw], alone.x)
