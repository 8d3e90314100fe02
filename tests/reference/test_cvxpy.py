"""Whole problems against CVXPY: every cost family, general edge constraints, different solvers' answers to 1e-6."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from helpers import shards

import sottovoce as sv

# Masks are small here on purpose: what is compared is arithmetic, and small masks leave it more digits.
pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")

N, D = 8, 3


@pytest.fixture
def network():
    return sv.Network.random_geometric(N, seed=2)


def optimum(objective, constraints=()):
    problem = cp.Problem(cp.Minimize(objective), list(constraints))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status == cp.OPTIMAL
    return problem.value


def families(rng):
    """Name -> (costs, the same sum in CVXPY). A contributor adds one row."""
    data = shards(rng, N, 6, D)
    labels = [np.where(rng.random(6) < 0.5, 1.0, -1.0) for _ in range(N)]
    s = rng.normal(size=(N, D))
    Q = [np.cov(rng.normal(size=(D, 9))) for _ in range(N)]
    x = cp.Variable(D)
    squares = sum(cp.sum_squares(A @ x - b) for A, b in data)
    margins = [cp.multiply(y, A @ x) for (A, _), y in zip(data, labels, strict=True)]
    deviations = sum(cp.sum_squares(x - s_i) for s_i in s)
    centre = np.full(D, 0.1)
    return x, {
        "Averaging": ([sv.Averaging(s_i) for s_i in s], deviations, []),
        "Quadratic": (
            [sv.Quadratic(Q_i, s_i) for Q_i, s_i in zip(Q, s, strict=True)],
            sum(cp.quad_form(x, Q_i) / 2 + s_i @ x for Q_i, s_i in zip(Q, s, strict=True)),
            [],
        ),
        "LeastSquares": ([sv.LeastSquares(A, b, 0.2) for A, b in data], squares + 0.2 * N * cp.sum_squares(x), []),
        "Lasso": ([sv.Lasso(A, b, 2.0) for A, b in data], squares + 2.0 * N * cp.norm1(x), []),
        "ElasticNet": (
            [sv.ElasticNet(A, b, 2.0, 0.3) for A, b in data],
            squares + N * (2.0 * cp.norm1(x) + 0.3 * cp.sum_squares(x)),
            [],
        ),
        "Logistic": (
            [sv.Logistic(A, y, 0.1) for (A, _), y in zip(data, labels, strict=True)],
            sum(cp.sum(cp.logistic(-margin)) for margin in margins) + 0.1 * N * cp.sum_squares(x),
            [],
        ),
        "Hinge": (
            [sv.Hinge(A, y, 0.1) for (A, _), y in zip(data, labels, strict=True)],
            sum(cp.sum(cp.pos(1 - margin)) for margin in margins) + 0.1 * N * cp.sum_squares(x),
            [],
        ),
        "Huber": ([sv.Huber(s_i, 0.3) for s_i in s], sum(cp.sum(cp.huber(x - s_i, 0.3)) / 2 for s_i in s), []),
        "AbsoluteDeviation": ([sv.AbsoluteDeviation(s_i) for s_i in s], sum(cp.norm1(x - s_i) for s_i in s), []),
        "Box": (
            [sv.Averaging(s_i) if i else sv.Box(0.2, 0.5, dim=D) for i, s_i in enumerate(s)],
            sum(cp.sum_squares(x - s_i) for s_i in s[1:]),
            [x >= 0.2, x <= 0.5],
        ),
        "NonNegative": (
            [sv.Averaging(s_i) if i else sv.NonNegative(dim=D) for i, s_i in enumerate(s)],
            sum(cp.sum_squares(x - s_i) for s_i in s[1:]),
            [x >= 0],
        ),
        "Ball": (
            [sv.Averaging(s_i) if i else sv.Ball(0.1, centre) for i, s_i in enumerate(s)],
            sum(cp.sum_squares(x - s_i) for s_i in s[1:]),
            [cp.norm(x - centre) <= 0.1],
        ),
        "Simplex": (
            [sv.Averaging(s_i) if i else sv.Simplex(1.0, dim=D) for i, s_i in enumerate(s)],
            sum(cp.sum_squares(x - s_i) for s_i in s[1:]),
            [x >= 0, cp.sum(x) == 1],
        ),
        "Averaging + Box": (
            [sv.Averaging(s_i) + sv.Box(0.2, 0.5, dim=D) for s_i in s],
            deviations,
            [x >= 0.2, x <= 0.5],
        ),
        "Custom": (
            [sv.Custom(lambda v, t, s_i=s_i: (v + 2 * t * s_i) / (1 + 2 * t), lambda x: 0.0, dim=D) for s_i in s],
            deviations,
            [],
        ),
        "FromCvxpy": ([from_cvxpy(s_i) for s_i in s], sum(cp.norm(x - s_i) + cp.sum_squares(x) for s_i in s), []),
        "FromGradient": (
            [from_gradient(A, b) for A, b in data],
            sum(cp.log_sum_exp(cp.hstack([A @ x - b, 0.0])) for A, b in data) + 0.5 * N * cp.sum_squares(x),
            [],
        ),
    }


def from_cvxpy(s_i):
    x = cp.Variable(D)
    return sv.FromCvxpy(x, cp.norm(x - s_i) + cp.sum_squares(x))


def from_gradient(A, b):
    """``log(1 + sum exp(Ax - b)) + ||x||^2 / 2``."""

    def slope(x):
        t = np.append(A @ x - b, 0.0)
        p = np.exp(t - np.logaddexp.reduce(t))
        return A.T @ p[:-1] + x

    return sv.FromGradient(lambda x: np.logaddexp.reduce(np.append(A @ x - b, 0.0)) + 0.5 * x @ x, slope, dim=D)


SLOW = {"FromCvxpy": 2.0, "FromGradient": 0.4}  # c of those whose steps take a millisecond: pilot runs would be long

NAMES = list(families(np.random.default_rng(0))[1])


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize("name", NAMES)
def test_every_cost_agrees_with_cvxpy(network, rng, name, schedule):
    x, table = families(rng)
    costs, objective, constraints = table[name]
    slow = name == "FromCvxpy"  # its own steps are only as good as the conic solver's 1e-9 .. 1e-12
    best = optimum(objective, constraints)
    expected = x.value
    result = sv.solve(
        sv.Problem(network, costs), schedule=schedule, mask=sv.GaussianMask(4.0), seed=1,
        c=SLOW.get(name, "auto"), tol=1e-6 if slow else 1e-9,
    )  # fmt: skip
    assert result.status is sv.Status.CONVERGED
    mean = result.x.mean(axis=0)
    assert np.abs(result.x - mean).max() < (1e-5 if slow else 1e-8)
    x.value = mean
    # The objective to 1e-6 (medians are not unique), and x itself where it is.
    assert objective.value <= best + 1e-6 * max(1, abs(best))
    if name != "AbsoluteDeviation":
        np.testing.assert_allclose(mean, expected, atol=1e-5 if slow else 1e-6)


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize("name", ["Averaging", "LeastSquares", "Lasso", "Huber", "Box"])
def test_any_penalties_have_the_optimum_of_cvxpy(network, rng, name, schedule):
    x, table = families(rng)
    costs, objective, constraints = table[name]
    optimum(objective, constraints)
    c = np.exp(rng.uniform(-1.5, 1.5, network.m))
    result = sv.solve(sv.Problem(network, costs), schedule=schedule, theta=0.8, c=c, mask=sv.GaussianMask(4.0), seed=1)
    assert result.status is sv.Status.CONVERGED
    np.testing.assert_allclose(result.x, np.tile(x.value, (N, 1)), atol=1e-6)


def test_every_exported_family_is_here():
    families_here = {name.split(" ")[0] for name in NAMES}
    exported = {
        name for name in sv.__all__ if isinstance(getattr(sv, name), type) and issubclass(getattr(sv, name), sv.Cost)
    }
    assert exported - {"Cost"} == families_here


@pytest.mark.parametrize(
    ("schedule", "seed"),
    [
        *((schedule, 0) for schedule in (sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.6), sv.Delayed(5))),
        (sv.Synchronous(), 1), (sv.Asynchronous(), 1),  # with one c, which is found
    ],
)  # fmt: skip
def test_general_constraints_with_unequal_dimensions_agree_with_cvxpy(network, schedule, seed):
    rng = np.random.default_rng(seed)
    dims = rng.integers(2, 5, size=N)
    feasible = [rng.normal(size=d) for d in dims]
    A, b = {}, {}
    for i, j in network.edges.tolist():
        rows = 1
        A[i, j], A[j, i] = rng.normal(size=(rows, dims[i])), rng.normal(size=(rows, dims[j]))
        b[i, j] = A[i, j] @ feasible[i] + A[j, i] @ feasible[j]
    data = [(rng.normal(size=(d + 1, d)), rng.normal(size=d + 1)) for d in dims]
    problem = sv.Problem(network.with_constraints(A, b), [sv.LeastSquares(M, v, 0.1) for M, v in data])

    x = [cp.Variable(d) for d in dims]
    objective = sum(
        cp.sum_squares(M @ x_i - v) + 0.1 * cp.sum_squares(x_i) for (M, v), x_i in zip(data, x, strict=True)
    )
    constraints = [A[i, j] @ x[i] + A[j, i] @ x[j] == b[i, j] for i, j in network.edges.tolist()]
    optimum(objective, constraints)
    theta = 0.5 if isinstance(schedule, sv.Delayed) else 0.9
    arguments = {"schedule": schedule, "theta": theta, "mask": sv.GaussianMask(1.0), "seed": 1, "max_iter": 200_000}
    result = sv.solve(problem, c="auto" if seed else rng.uniform(5.0, 20.0, network.m), **arguments)
    assert result.status is sv.Status.CONVERGED
    for mine, reference in zip(result.x, x, strict=True):
        np.testing.assert_allclose(mine, reference.value, atol=1e-6)


def test_orthogonal_blocks_work_with_any_cost(rng):
    """A rotation on an edge keeps ``A'A = I``: costs that only know a scalar step still work."""
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    network = sv.Network.from_edges(3, [(0, 1), (1, 2)]).with_constraints(
        {(0, 1): turn, (1, 0): -np.eye(2), (1, 2): np.eye(2), (2, 1): -np.eye(2)}, {(0, 1): [0.5, -0.5]}
    )
    s = rng.normal(size=(3, 2))
    result = sv.solve(sv.Problem(network, [sv.Huber(s_i, 0.4) for s_i in s]))
    x = [cp.Variable(2) for _ in range(3)]
    objective = sum(cp.sum(cp.huber(x_i - s_i, 0.4)) / 2 for x_i, s_i in zip(x, s, strict=True))
    best = optimum(objective, [turn @ x[0] - x[1] == np.array([0.5, -0.5]), x[1] == x[2]])
    assert result.status is sv.Status.CONVERGED
    for x_i, mine in zip(x, result.x, strict=True):
        x_i.value = mine
    assert objective.value == pytest.approx(best, abs=1e-6)
