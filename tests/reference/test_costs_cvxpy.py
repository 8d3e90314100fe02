"""The step of every family against CVXPY, an independent statement and an independent solver of the same problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy import special

from sottovoce import costs as package
from sottovoce.costs import (
    AbsoluteDeviation,
    Averaging,
    Ball,
    Box,
    Cost,
    Custom,
    ElasticNet,
    FromCvxpy,
    FromGradient,
    Hinge,
    Huber,
    Lasso,
    LeastSquares,
    Logistic,
    NonNegative,
    Quadratic,
    Simplex,
)

D, ROWS = 5, 12

Stated = tuple[Cost, Any, list[Any]]  # our cost, CVXPY's objective and constraints


def data(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    A = rng.normal(size=(ROWS, D))
    return A, rng.normal(size=ROWS), np.where(A @ rng.normal(size=D) + rng.normal(size=ROWS) > 0, 1, -1)


def quadratic(rng: np.random.Generator, x: Any) -> Stated:
    root, q = rng.normal(size=(D, D)), rng.normal(size=D)
    return Quadratic(root @ root.T, q), 0.5 * cp.sum_squares(root.T @ x) + q @ x, []


def least_squares(rng: np.random.Generator, x: Any) -> Stated:
    A, b, _ = data(rng)
    return LeastSquares(A, b, 0.3), cp.sum_squares(A @ x - b) + 0.3 * cp.sum_squares(x), []


def elastic_net(rng: np.random.Generator, x: Any) -> Stated:
    A, b, _ = data(rng)
    return (
        ElasticNet(A, b, 3.0, 0.4),
        cp.sum_squares(A @ x - b) + 3.0 * cp.norm1(x) + 0.4 * cp.sum_squares(x),
        [],
    )


def lasso(rng: np.random.Generator, x: Any) -> Stated:
    A, b, _ = data(rng)
    return Lasso(A, b, 5.0), cp.sum_squares(A @ x - b) + 5.0 * cp.norm1(x), []


def logistic(ridge: float) -> Callable[[np.random.Generator, Any], Stated]:
    def state(rng: np.random.Generator, x: Any) -> Stated:
        A, _, labels = data(rng)
        losses = cp.logistic(-cp.multiply(labels, A @ x))
        return Logistic(A, labels, ridge), cp.sum(losses) + ridge * cp.sum_squares(x), []

    return state


def hinge(ridge: float) -> Callable[[np.random.Generator, Any], Stated]:
    def state(rng: np.random.Generator, x: Any) -> Stated:
        A, _, labels = data(rng)
        losses = cp.pos(1 - cp.multiply(labels, A @ x))
        return Hinge(A, (labels + 1) // 2, ridge), cp.sum(losses) + ridge * cp.sum_squares(x), []

    return state


def huber(rng: np.random.Generator, x: Any) -> Stated:
    s = rng.normal(size=D)
    return Huber(s, 0.7), 0.5 * cp.sum(cp.huber(x - s, 0.7)), []  # CVXPY's is twice ours


def soft_threshold(v: Any, t: float) -> Any:
    return np.sign(v) * np.maximum(np.abs(v) - t, 0)


def averaging(rng: np.random.Generator, x: Any) -> Stated:
    s = rng.normal(size=D)
    return Averaging(s), cp.sum_squares(x - s), []


def absolute_deviation(rng: np.random.Generator, x: Any) -> Stated:
    s = rng.normal(size=D)
    return AbsoluteDeviation(s), cp.norm1(x - s), []


def box(rng: np.random.Generator, x: Any) -> Stated:
    low = rng.normal(size=D)
    return Box(low, low + 0.5), 0, [low <= x, x <= low + 0.5]


def ball(rng: np.random.Generator, x: Any) -> Stated:
    centre = rng.normal(size=D)
    return Ball(0.8, centre), 0, [cp.norm(x - centre) <= 0.8]


def averaging_on_simplex(rng: np.random.Generator, x: Any) -> Stated:
    cost, objective, _ = averaging(rng, x)
    return cost + Simplex(2.0, D), objective, [x >= 0, cp.sum(x) == 2]


def absolute_deviation_in_box(rng: np.random.Generator, x: Any) -> Stated:
    cost, objective, _ = absolute_deviation(rng, x)
    return cost + Box(-0.3, 0.4, D), objective, [x >= -0.3, x <= 0.4]


def from_cvxpy(rng: np.random.Generator, x: Any) -> Stated:
    A, b, _ = data(rng)
    y = cp.Variable(D)
    return FromCvxpy(y, cp.norm1(A @ y - b), [cp.sum(y) <= 0]), cp.norm1(A @ x - b), [cp.sum(x) <= 0]


def from_gradient(with_hessian: bool) -> Callable[[np.random.Generator, Any], Stated]:
    """``log(1 + sum exp(Ax - b))``, by what its gradient is: ``A'p`` with probabilities ``p``."""

    def state(rng: np.random.Generator, x: Any) -> Stated:
        A, b, _ = data(rng)

        def p(y: Any) -> Any:
            return special.softmax(np.append(A @ y - b, 0.0))[:-1]

        def hessian(y: Any) -> Any:
            return A.T @ (np.diag(p(y)) - np.outer(p(y), p(y))) @ A

        cost = FromGradient(
            lambda y: special.logsumexp(np.append(A @ y - b, 0.0)),
            lambda y: A.T @ p(y),
            D,
            hessian if with_hessian else None,
        )
        return cost, cp.log_sum_exp(cp.hstack([A @ x - b, 0.0])), []

    return state


STATEMENTS: dict[str, Callable[[np.random.Generator, Any], Stated]] = {
    "Quadratic": quadratic,
    "Averaging": averaging,
    "LeastSquares": least_squares,
    "ElasticNet": elastic_net,
    "Lasso": lasso,
    "Logistic": logistic(0.0),
    "Logistic, ridge": logistic(0.2),
    "Hinge": hinge(0.0),
    "Hinge, ridge": hinge(0.2),
    "Huber": huber,
    "AbsoluteDeviation": absolute_deviation,
    "Box": box,
    "NonNegative": lambda rng, x: (NonNegative(D), 0, [x >= 0]),
    "Ball": ball,
    "Simplex": lambda rng, x: (Simplex(1.5, D), 0, [x >= 0, cp.sum(x) == 1.5]),
    "Averaging + Simplex": averaging_on_simplex,
    "AbsoluteDeviation + Box": absolute_deviation_in_box,
    "Custom": lambda rng, x: (Custom(soft_threshold, lambda y: np.abs(y).sum(), D), cp.norm1(x), []),
    "FromCvxpy": from_cvxpy,
    "FromGradient": from_gradient(False),
    "FromGradient, hessian": from_gradient(True),
}


def test_every_family_is_stated() -> None:
    stated = {type(state(np.random.default_rng(0), cp.Variable(D))[0]).__name__ for state in STATEMENTS.values()}
    assert stated == set(package.__all__) - {"Cost", "QuadraticForm"}


@pytest.mark.parametrize("rho", [0.1, 2.0, 50.0])
@pytest.mark.parametrize("name", STATEMENTS)
def test_step_and_value_agree_with_cvxpy(name: str, rho: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        x = cp.Variable(D)
        cost, objective, constraints = STATEMENTS[name](rng, x)
        g = 3.0 * rng.normal(size=D)
        ours = cost.step(g[None], np.array([rho]))[0]
        tilt = g @ x + 0.5 * rho * cp.sum_squares(x)
        problem = cp.Problem(cp.Minimize(objective + tilt), constraints)
        # CVXPY bounds the error of the value: 1e-12 there is 1e-6 in x. A second-order cone stalls before that.
        tight = 1e-9 if constraints else 1e-12
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=tight, tol_gap_rel=tight, tol_feas=tight, max_step_fraction=0.95)
        assert problem.status == "optimal"
        np.testing.assert_allclose(ours, x.value, atol=1e-6)
        value = cost.value(ours[None])[0] + g @ ours + 0.5 * rho * ours @ ours
        assert value == pytest.approx(problem.value, abs=1e-7)
