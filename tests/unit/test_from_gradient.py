"""``FromGradient``: its step against closed forms, what it refuses, and whole runs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import special

import sottovoce as sv
from sottovoce.errors import InvalidCost, NotGuaranteed

Array = Any
RHO = (1e-3, 1.0, 1e3)
G = (0.0, 1.0, -30.0, 1e4, -1e6)  # as of a small mask and of a large one


def step(f: sv.Cost, g: Array, rho: float) -> Array:
    return f.step(np.atleast_2d(np.asarray(g, dtype=float)), np.array([rho]))[0]


def logistic(A: Array, hessian: bool) -> sv.FromGradient:
    def second(x: Array) -> Array:
        return A.T @ ((special.expit(A @ x) * special.expit(-A @ x))[:, None] * A)

    return sv.FromGradient(
        lambda x: np.logaddexp(0.0, -A @ x).sum(),
        lambda x: -A.T @ special.expit(-A @ x),
        A.shape[1],
        second if hessian else None,
    )


@pytest.mark.parametrize("rho", RHO)
@pytest.mark.parametrize("g", G)
@pytest.mark.parametrize("hessian", [None, lambda x: 1 / x**2])
def test_minus_log_has_its_positive_root(g: float, rho: float, hessian: Any) -> None:
    """``-1/x + g + rho x = 0``; a domain whose boundary Newton's method must not cross."""
    f = sv.FromGradient(lambda x: -np.log(x), lambda x: -1 / x, hessian=hessian, start=1.0)
    root = np.hypot(g, 2 * np.sqrt(rho))
    expected = 2 / (g + root) if g > 0 else (root - g) / (2 * rho)
    assert step(f, g, rho)[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("d", [1, 4, 30])
@pytest.mark.parametrize("hessian", [False, True])
def test_a_quadratic_is_solved(rng: np.random.Generator, d: int, hessian: bool) -> None:
    root, q = rng.normal(size=(d, d)), rng.normal(size=d)
    Q = root @ root.T
    f = sv.FromGradient(lambda x: 0.5 * x @ Q @ x + q @ x, lambda x: Q @ x + q, d, (lambda x: Q) if hessian else None)
    for rho in RHO:
        g = 100 * rng.normal(size=d)
        H = Q + rho * np.eye(d)
        error = np.abs(step(f, g, rho) - np.linalg.solve(H, -(q + g))).max()
        assert error <= 1e-14 * np.linalg.cond(H) * np.abs(q + g).max() / np.linalg.eigvalsh(H)[0] / 10 + 1e-13


@pytest.mark.parametrize("hessian", [False, True])
@pytest.mark.parametrize(("size", "d"), [(1.0, 3), (30.0, 3), (30.0, 10)])
def test_logistic_agrees_with_the_family(rng: np.random.Generator, hessian: bool, size: float, d: int) -> None:
    """Margins of size 30 and masks of size 1,000: next to them the bend of the loss is a kink."""
    for rho in RHO:
        A, g = size * rng.normal(size=(20, d)), 1e3 * rng.normal(size=d)
        expected = step(sv.Logistic(A, np.ones(20)), g, rho)
        np.testing.assert_allclose(
            step(logistic(A, hessian), g, rho), expected, rtol=0, atol=1e-12 * abs(expected).max()
        )


def test_many_dimensions_go_by_conjugate_gradients(rng: np.random.Generator) -> None:
    d = 250  # more than are differenced one by one
    s, g = rng.normal(size=d), 10 * rng.normal(size=d)
    f = sv.FromGradient(lambda x: np.sum(np.hypot(1.0, x - s)), lambda x: (x - s) / np.hypot(1.0, x - s), d)
    x = step(f, g, 2.0)
    assert f.hessian(x[None]) is None
    # The condition of optimality, whose terms are of size 40.
    assert np.abs((x - s) / np.hypot(1.0, x - s) + g + 2.0 * x).max() < 1e-12


def test_the_optimality_condition_holds_to_rounding(rng: np.random.Generator) -> None:
    A = rng.normal(size=(40, 5))
    f = logistic(A, hessian=False)
    for rho in RHO:
        g = 30 * rng.normal(size=5)
        x = step(f, g, rho)
        terms = np.abs(A).sum(axis=0) + np.abs(g) + rho * np.abs(x)
        assert (np.abs(-A.T @ special.expit(-A @ x) + g + rho * x) <= 1e-14 * terms).all()


def test_the_start_does_not_matter() -> None:
    def cosh(start: float) -> sv.FromGradient:
        return sv.FromGradient(np.cosh, np.sinh, start=start)

    for g in G[:-1]:
        assert step(cosh(0.0), g, 1.0) == pytest.approx(step(cosh(5.0), g, 1.0), rel=1e-15, abs=1e-15)


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_a_wrong_hessian_gives_no_wrong_answer(rng: np.random.Generator, factor: float) -> None:
    """It only costs steps: what is accepted is decided by the gradient."""
    A, g = rng.normal(size=(20, 3)), 10 * rng.normal(size=3)
    right = logistic(A, hessian=True)
    wrong = sv.FromGradient(
        lambda x: np.logaddexp(0.0, -A @ x).sum(),
        lambda x: -A.T @ special.expit(-A @ x),
        3,
        lambda x: factor * right.hessian(x[None])[0],  # type: ignore[index]
    )
    np.testing.assert_allclose(step(wrong, g, 1.0), step(right, g, 1.0), rtol=1e-12)


def softened(s: float) -> sv.FromGradient:
    return sv.FromGradient(lambda x: np.hypot(1.0, x - s), lambda x: (x - s) / np.hypot(1.0, x - s))


def optimum(s: Array) -> float:
    low, high = s.min(), s.max()
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if np.sum((middle - s) / np.hypot(1.0, middle - s)) > 0 else (middle, high)
    return float(low)


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()], ids=["synchronous", "asynchronous"])
def test_a_masked_run_agrees(rng: np.random.Generator, schedule: Any) -> None:
    network, s = sv.Network.complete(4), rng.normal(size=4)
    problem = sv.Problem(network, [softened(value) for value in s])
    result = sv.solve(problem, schedule=schedule, c=0.3, mask=sv.GaussianMask(1e4), seed=1, tol=1e-8)
    assert result.status is sv.Status.CONVERGED
    assert np.abs(result.x - optimum(s)).max() < 1e-6  # tol 1e-8, and curvature of at least 0.1


def test_a_party_steps_it(rng: np.random.Generator) -> None:
    network, s = sv.Network.complete(4), rng.normal(size=4)
    problem = sv.Problem(network, [softened(value) for value in s])
    pads = sv.GaussianMask(1e4).draw((2 * network.m,), seed=2)
    nodes = sv.nodes_of(problem, c=0.3, theta=0.5, z0=pads)
    for _ in range(150):
        for message in [message for node in nodes for message in node.wake()]:
            nodes[message.receiver].receive(message)
    assert max(abs(node.x[0] - optimum(s)) for node in nodes) < 1e-8


def test_theta_1_is_not_promised(network: sv.Network) -> None:
    problem = sv.Problem(network, [softened(0.0)] * network.n)
    with pytest.warns(NotGuaranteed, match="does not say whether it is strongly convex"):
        sv.solve(problem, theta=1.0, c=0.3, max_iter=1)


def kink(x: float) -> float:
    return abs(x - 0.3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sv.FromGradient(None, abs), "value must be a function; got None"),
        (lambda: sv.FromGradient(abs, 2.0), "gradient must be a function; got float"),
        (lambda: sv.FromGradient(abs, abs, hessian=3), "hessian must be a function; got int"),
        (lambda: sv.FromGradient(np.cosh, np.sinh, dim=0), "dim must be None"),
        (lambda: sv.FromGradient(np.cosh, np.sinh, start=[1.0, 2.0]), "start must be a number, or a vector of dim"),
        (lambda: sv.FromGradient(np.cosh, np.sinh, start=np.nan), "start must be finite"),
        (lambda: sv.FromGradient(lambda x: x, lambda x: x, dim=2), "value must return a number; it returned"),
        (lambda: sv.FromGradient(lambda x: x @ x, lambda x: 1.0, dim=2), r"gradient must return an array of shape \(2"),
        (lambda: sv.FromGradient(lambda x: x * x, lambda x: 2j * x), "gradient must return a number; .* type complex"),
        (lambda: sv.FromGradient(lambda x: x * x, lambda x: x, dim=None), "do not belong to one convex function"),
        (lambda: sv.FromGradient(lambda x: x * x, lambda x: 4 * x), "do not belong to one convex function"),
        (lambda: sv.FromGradient(lambda x: -x * x, lambda x: -2 * x), "do not belong to one convex function"),
        (lambda: sv.FromGradient(lambda x: -np.log(x), lambda x: -1 / x), "finite at start; they are not. Give start="),
        (lambda: sv.FromGradient(lambda x: -np.inf, lambda x: 0.0), "value returned -inf"),
        (
            lambda: sv.FromGradient(lambda x: x @ x, lambda x: 2 * x, 2, lambda x: np.array([[2.0, 1.0], [0.0, 2.0]])),
            "hessian must return finite numbers, symmetric",
        ),
        (lambda: step(sv.FromGradient(kink, lambda x: np.sign(x - 0.3)), -0.1, 0.5), "did not reach its optimality"),
    ],
)  # fmt: skip
def test_what_it_refuses(make: Any, sentence: str) -> None:
    with pytest.raises(InvalidCost, match=sentence):
        make()


def test_a_cost_that_is_not_convex_far_out_is_found_at_the_step() -> None:
    """Convex around zero, where it was looked at; a step that leads out of there is refused, not returned."""

    def slope(x: float) -> float:
        return x if abs(x) < 20 else 40 * np.sign(x) - x

    def value(x: float) -> float:
        return x * x / 2 if abs(x) < 20 else 40 * abs(x) - x * x / 2 - 400

    f = sv.FromGradient(value, slope)
    assert step(f, 5.0, 4.0)[0] == -1.0
    with pytest.raises(InvalidCost, match="do not belong to one convex function"):
        step(f, 2000.0, 4.0)


def test_sentences_quote_no_data() -> None:
    s = 0.123456789
    with pytest.raises(InvalidCost) as caught:
        step(sv.FromGradient(lambda x: abs(x - s), lambda x: np.sign(x - s)), -0.1, 0.5)
    assert not re.search(r"0\.1234", str(caught.value))
