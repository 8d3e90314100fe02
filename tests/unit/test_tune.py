from __future__ import annotations

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce.pdmm.tune import guess_c, second_eigenvalue, tune

# Runs with a poor c are cut short.
pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.NotConvergedWarning")


@pytest.mark.parametrize(
    "network",
    [
        sv.Network.grid(5, 4),  # bipartite: -1 is an eigenvalue that does not count
        sv.Network.ring(9),
        sv.Network.complete(3),
        sv.Network.star(8),
        sv.Network.from_edges(2, [(0, 1)]),
        sv.Network.random_geometric(200, seed=0),
    ],
    ids=repr,
)
def test_second_eigenvalue(network):
    scale = network.degrees**-0.5
    modulus = np.abs(np.linalg.eigvalsh(scale[:, None] * network.adjacency.toarray() * scale))
    below = modulus[modulus < 1 - 1e-9]
    assert second_eigenvalue(network) == pytest.approx(below.max(initial=0.0), abs=2e-2)


def spectral_radius(network, c):
    """Of the synchronous iteration of averaging, without its fixed modes (+-1, which x does not see)."""
    C, P = network.C.toarray(), np.eye(2 * network.m)[network.P]
    x_of_z = -np.diag(1 / (2 + c * network.degrees)) @ C.T
    modulus = np.abs(np.linalg.eigvals(P + 2 * c * P @ C @ x_of_z))
    return modulus[modulus < 1 - 1e-6].max()


@pytest.mark.parametrize("network", [sv.Network.ring(9), sv.Network.regular(12, 3, seed=1)], ids=repr)
def test_the_guess_is_optimal_on_regular_graphs(network, rng):
    c = guess_c(sv.averaging(network, rng.normal(size=network.n)))
    # Double roots make the radius square-root sharp at the optimum, so an eigenvalue to 1e-2 gives it to a percent.
    best = min(spectral_radius(network, c * factor) for factor in np.geomspace(0.3, 3, 200))
    assert spectral_radius(network, c) <= best + 0.02


def iterations(problem, schedule, theta, c, cap=None):
    result = sv.solve(problem, schedule=schedule, theta=theta, c=c, seed=1, max_iter=cap)
    return result.iterations if result.status is sv.Status.CONVERGED else np.inf


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize("kind", ["averaging", "regression", "ill-conditioned", "logistic"])
def test_auto_is_within_half_of_the_best_c(rng, kind, schedule):
    n = 20
    network = sv.Network.random_geometric(n, seed=3)
    data = shards(rng, n, 10, 3)
    problem = {
        "averaging": lambda: sv.averaging(network, rng.normal(size=n)),
        "regression": lambda: sv.least_squares(network, data),
        "ill-conditioned": lambda: sv.least_squares(network, [(A * [1, 0.1, 0.03], b) for A, b in data]),
        "logistic": lambda: sv.logistic(network, [(A, np.sign(b)) for A, b in data]),
    }[kind]()
    theta = 0.5 if kind == "logistic" else 1.0
    c = tune(problem, schedule, theta, 1e-9)
    mine = iterations(problem, schedule, theta, c)
    grid = c * np.geomspace(0.2, 5, 9 if kind == "logistic" else 29)
    assert mine <= 1.5 * min(iterations(problem, schedule, theta, other, mine) for other in grid)


def test_tuning_repeats(network, rng):
    problem = sv.least_squares(network, shards(rng, network.n, 6, 3))
    assert tune(problem, sv.Synchronous(), 1.0, 1e-9) == tune(problem, sv.Synchronous(), 1.0, 1e-9)


def test_large_problems_get_the_guess_without_pilots(network, rng, monkeypatch):
    problem = sv.averaging(network, rng.normal(size=network.n))
    monkeypatch.setattr("sottovoce.pdmm.tune.WORK", 1.0)
    assert tune(problem, sv.Synchronous(), 1.0, 1e-9) == guess_c(problem)
