from __future__ import annotations

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce.pdmm.guess import guess_c, second_eigenvalue
from sottovoce.pdmm.pilots import LOOK
from sottovoce.pdmm.tune import THETAS, UNTRIED, tune, tune_both
from sottovoce.privacy.methods.case import setting_of

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


@pytest.mark.parametrize(("a", "b"), [(1, 4), (1, 6), (2, 8), (7, 8), (8, 8), (8, 10)])
def test_of_complete_bipartite_networks_nothing_is_left(a, b):
    """Apart from 1 and -1 all eigenvalues are 0: what is left is rounding, or not even that, in any order of nodes."""
    for last in range(a + b):
        places = [*range(last), *range(last + 1, a + b), last]
        network = sv.Network.from_edges(a + b, [(places[i], places[a + j]) for i in range(a) for j in range(b)])
        assert second_eigenvalue(network) == 0.0
    problem = sv.averaging(network, np.arange(a + b))
    for schedule in (sv.Synchronous(), sv.Asynchronous()):
        assert sv.solve(problem, schedule=schedule, seed=1).converged


@pytest.mark.parametrize("size", [1e-85, 1e85])
def test_data_whose_curvatures_multiply_beyond_float64(size):
    problem = sv.Problem(sv.Network.ring(3), [sv.Hinge(size * np.array([[1.0, 0.5], [0.3, 1.0]]), [1, -1])] * 3)
    assert guess_c(problem) == pytest.approx(
        size**2 * guess_c(sv.Problem(problem.network, [sv.Hinge(np.array([[1.0, 0.5], [0.3, 1.0]]), [1, -1])] * 3)),
        rel=1e-9,
    )


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
    assert tune_both(problem, sv.Synchronous(), 1e-9) == (guess_c(problem), UNTRIED)


def unequal(network, rng, decades):
    curvature = 10 ** rng.uniform(-decades / 2, decades / 2, network.n)
    return sv.Problem(network, sv.Quadratic.many(curvature, rng.normal(size=(network.n, 1)) * curvature[:, None]))


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()], ids=["synchronous", "asynchronous"])
def test_theta_is_tuned_where_parties_differ(rng, schedule):
    problem = unequal(sv.Network.star(10), rng, 4)
    tuned, pdmm = (sv.solve(problem, schedule=schedule, theta=theta, seed=1) for theta in (None, 1.0))
    assert tuned.theta < 1
    assert 1.5 * tuned.iterations < pdmm.iterations


def test_regular_graphs_keep_theta_near_one(rng):
    for network in (sv.Network.ring(12), sv.Network.complete(8), sv.Network.regular(20, 4, seed=1)):
        assert sv.solve(sv.averaging(network, rng.normal(size=network.n))).theta >= 0.95


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize("decades", [0, 1, 3])
def test_both_are_within_half_of_the_best_pair(rng, decades, schedule):
    problem = unequal(sv.Network.random_geometric(20, seed=3), rng, decades)
    c, theta = tune_both(problem, schedule, 1e-9)
    mine = iterations(problem, schedule, theta, c)
    pairs = [(t, c * 2 ** (at / 2)) for t in THETAS for at in range(-6, 7)]
    assert mine <= 1.5 * min(iterations(problem, schedule, t, other, mine) for t, other in pairs)


def test_waking_at_random_has_pilots_of_its_own():
    """On a star the hub wakes as rarely as the others: what suits the synchronous run takes much longer there."""
    rng = np.random.default_rng(5)  # the benchmark's "star 10, rows 2"
    lengths = (4 * 2 ** rng.uniform(0, 2, 10)).astype(int)
    truth, features = rng.standard_normal(3), [rng.standard_normal((rows, 3)) for rows in lengths]
    data = [(A, A @ truth + 0.3 * rng.standard_normal(len(A))) for A in features]
    problem = sv.least_squares(sv.Network.star(10), data)
    at_random = sv.Asynchronous()
    c, theta = tune_both(problem, sv.Synchronous(), 1e-9)
    pairs = tune_both(problem, at_random, 1e-9), (c, THETAS[THETAS.index(theta) + 1])
    own, borrowed = (
        sum(sv.solve(problem, schedule=at_random, c=c, theta=theta, seed=seed).iterations for seed in range(5))
        for c, theta in pairs
    )
    assert 1.2 * own < borrowed


def test_what_is_given_is_not_tuned(network, rng):
    problem = unequal(network, rng, 2)
    assert sv.solve(problem, c=0.5).theta == 1
    given = sv.solve(problem, theta=0.7)
    assert (given.c, given.theta) == (tune(problem, sv.Synchronous(), 0.7, 1e-9), 0.7)


def test_theta_is_below_one_where_one_may_not_converge(network, rng):
    data = [(rng.normal(size=(1, 2)), rng.normal(size=1)) for _ in range(network.n)]  # one row: not strongly convex
    result = sv.solve(sv.least_squares(network, data))
    assert result.status is sv.Status.CONVERGED
    assert result.theta < 1


def test_an_audit_is_of_the_run_that_solve_plays(network, rng):
    problem = unequal(network, rng, 2)
    run = sv.solve(problem, schedule=sv.Asynchronous(), seed=1)
    setting = setting_of(problem, sv.Asynchronous(), None, "auto", 1, sv.privacy.Transcript())
    assert (setting.c, setting.theta) == (run.c, run.theta)


KINKED = {
    "lasso": lambda A, b: sv.Lasso(A, b, 3.0),
    "elastic net": lambda A, b: sv.ElasticNet(A, b, 3.0, 1.0),
    "huber": lambda A, b: sv.Huber(A[0]),
    "hinge": lambda A, b: sv.Hinge(A, np.sign(b), ridge=1.0),
}


def kinked(network, rng, kind):
    data = [(A, A @ [2, -1, 0] + 0.3 * noise) for A, noise in shards(rng, network.n, 10, 3)]
    return sv.Problem(network, [KINKED[kind](A, b) for A, b in data])


@pytest.mark.parametrize("kind", KINKED)
@pytest.mark.parametrize("network", [sv.Network.random_geometric(12, seed=3), sv.Network.ring(10)], ids=repr)
def test_costs_with_kinks_are_near_the_best_pair(rng, kind, network):
    problem = kinked(network, rng, kind)
    c, theta = tune_both(problem, sv.Synchronous(), 1e-9)
    mine = iterations(problem, sv.Synchronous(), theta, c)
    pairs = [(t, c * 2.0 ** (at / 2)) for t in THETAS[:-1] for at in range(-6, 7)]
    # Hinges have kinks so close together that no piece serves: they take a guess from curvature.
    bar = 2.5 if kind == "hinge" else 1.5
    assert mine <= bar * min(iterations(problem, sv.Synchronous(), t, other, mine) for t, other in pairs)


def test_of_a_cost_with_kinks_a_few_iterations_are_played(rng, monkeypatch):
    """Its own steps are slow: all pilots but one play a quadratic model."""
    problem, played = kinked(sv.Network.random_geometric(12, seed=3), rng, "lasso"), []
    step = sv.Lasso.step
    monkeypatch.setattr(sv.Lasso, "step", lambda self, g, rho: played.append(1) or step(self, g, rho))
    sv.solve(problem, c=1.0, max_iter=10)
    assert len(played) >= 10  # a run steps through here
    played.clear()
    tune_both(problem, sv.Asynchronous(), 1e-9)
    assert 0 < len(played) <= LOOK


def test_a_piece_is_the_parabola_that_a_cost_is(rng):
    """``f`` moves by slope and piece alone, along what is free; off what is held it bends sharply."""
    x = np.array([[0.4, 0.0, -0.7], [2.5, 0.3, 0.0]])
    lasso = sv.Lasso.join([sv.Lasso(rng.normal(size=(5, 3)), rng.normal(size=5), 2.0) for _ in x])
    huber = sv.Huber.many(np.zeros((2, 3)))
    assert lasso.piece(x)[1].tolist() == [[True, False, True], [True, True, False]]
    for cost in (lasso, huber):
        Q, free = cost.piece(x)
        step = 0.01 * rng.normal(size=x.shape) * free
        bend = cost.value(x + step) - 2 * cost.value(x) + cost.value(x - step)
        np.testing.assert_allclose(bend, np.einsum("ni,nij,nj->n", step, Q, step), atol=1e-12)
        held = 0.01 * ~free
        assert ((cost.value(x + held) + cost.value(x - held) - 2 * cost.value(x))[(~free).any(axis=1)] > 0.03).all()


def test_an_elastic_net_without_l1_is_tuned_like_its_quadratic_twin(network, rng):
    data = shards(rng, network.n, 6, 3)
    nets = sv.Problem(network, [sv.ElasticNet(A, b, 0.0, 1.0) for A, b in data])
    twins = sv.Problem(network, [sv.Quadratic(2 * (A.T @ A + np.eye(3)), -2 * A.T @ b) for A, b in data])
    assert guess_c(twins) / 2 < sv.solve(nets).c < 4 * guess_c(twins)
    assert abs(sv.solve(nets).x - sv.solve(twins).x).max() < 1e-8
