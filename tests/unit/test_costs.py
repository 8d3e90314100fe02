"""Closed forms of the costs, what they refuse and with which words, and hard data."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy import special

from sottovoce.costs import (
    AbsoluteDeviation,
    Averaging,
    Ball,
    Box,
    Constrained,
    Cost,
    Custom,
    ElasticNet,
    FromCvxpy,
    Hinge,
    Huber,
    Lasso,
    LeastSquares,
    Logistic,
    NonNegative,
    Quadratic,
    Simplex,
)
from sottovoce.errors import InvalidCost, MissingExtra, Unsupported

Array = Any


def step(f: Cost, g: Any, rho: float = 1.0) -> Array:
    """The step of one node, in the user's shape."""
    return f.step(np.reshape(np.asarray(g, dtype=float), (1, f.dim)), np.array([rho]))[0].reshape(f.shape)


def value(f: Cost, x: Any) -> float:
    return float(f.value(np.reshape(np.asarray(x, dtype=float), (1, f.dim)))[0])


# Closed forms


@pytest.mark.parametrize(
    ("cost", "x", "expected"),
    [
        (ElasticNet([[1.0, 0.0], [0.0, 2.0]], [1.0, 2.0], 3.0, 0.5), [2.0, -1.0], 1 + 16 + 9 + 2.5),
        (Lasso([[1.0, 1.0]], [1.0], 2.0), [1.0, -1.0], 1 + 4),
        (Logistic([[1.0], [2.0]], [1, 0], 0.5), [1.0], np.log1p(np.exp(-1)) + np.log1p(np.exp(2)) + 0.5),
        (Logistic([[1e4]], [0]), [1.0], 1e4),
        (Hinge([[1.0], [2.0]], [1, -1], 0.5), [0.5], 0.5 + 2.0 + 0.125),
        (Huber([0.0, 0.0], 2.0), [1.0, -5.0], 0.5 + 8.0),
        (AbsoluteDeviation([1.0, -1.0]), [0.0, 0.0], 2.0),
        (Box(0.0, 1.0, 2), [0.0, 1.0], 0.0),
        (Box(0.0, 1.0, 2), [0.0, 1.0 + 1e-9], np.inf),
        (NonNegative(), -1e-9, np.inf),
        (Ball(2.0, [1.0, 0.0]), [1.0, 2.0], 0.0),
        (Ball(2.0, [1.0, 0.0]), [1.0, 2.0 + 1e-9], np.inf),
        (Simplex(dim=3), [0.5, 0.25, 0.25], 0.0),
        (Simplex(dim=3), [0.5, 0.25, 0.25 + 1e-9], np.inf),
        (Simplex(dim=3), [0.5, 0.5 + 1e-9, -1e-9], np.inf),
        (Averaging([1.0, 2.0]) + NonNegative(2), [1.0, 0.0], 4.0),
        (Averaging([1.0, 2.0]) + NonNegative(2), [1.0, -1.0], np.inf),
        (Custom(lambda v, t: v, lambda x: 3.0 * x), 2.0, 6.0),
    ],
)
def test_value(cost: Cost, x: Any, expected: float) -> None:
    assert value(cost, x) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("cost", "g", "rho", "expected"),
    [
        (AbsoluteDeviation(5.0), -4.5, 1.0, 5.0),  # a slope of 1/2 holds it at 5
        (AbsoluteDeviation(5.0), -8.0, 1.0, 7.0),
        (AbsoluteDeviation(5.0), 0.0, 1.0, 1.0),
        (Huber(3.0), -5.0, 1.0, 4.0),  # at the bend
        (Huber(3.0), -9.0, 1.0, 8.0),
        (Huber(3.0), -3.0, 1.0, 3.0),
        (Box(-1.0, 2.0), -8.0, 2.0, 2.0),
        (Box(-1.0, 2.0), 1.0, 2.0, -0.5),
        (NonNegative(), 1.0, 1.0, 0.0),
        (Ball(1.0, dim=2), [-3.0, -4.0], 1.0, [0.6, 0.8]),
        (Ball(1.0, [1.0, 1.0]), [-1.0, -1.0], 1.0, [1.0, 1.0]),  # v is the centre
        (Ball(0.0, [1.0, 1.0]), [7.0, 8.0], 1.0, [1.0, 1.0]),
        (Ball(1.0, dim=2), [-3e200, -4e200], 1.0, [0.6, 0.8]),  # whose square overflows
        (Simplex(dim=2), [-1.0, -1.0], 1.0, [0.5, 0.5]),
        (Simplex(3.0, dim=3), [-5.0, 0.0, -4.5], 1.0, [1.75, 0.0, 1.25]),
        (Simplex(2.0), 123.0, 1.0, 2.0),
        (Simplex(dim=2), [1e8, 1e8 - 0.5], 1.0, [0.25, 0.75]),  # shares survive a mask of 1e8
        (Lasso(np.zeros((0, 2)), [], 1.0), [3.0, -0.5], 2.0, [-1.0, 0.0]),
        (ElasticNet([[1.0]], [2.0], 1.0, 1.0), [0.0], 2.0, [0.5]),  # (2 + 2 + 2) x = 4 - 1
        (Hinge([[1.0]], [1]), [0.0], 2.0, [0.5]),  # pays
        (Hinge([[1.0]], [1]), [0.0], 0.5, [1.0]),  # on the margin
        (Hinge([[1.0]], [1]), [-2.0], 0.5, [4.0]),  # beyond it
        (Hinge([[0.0]], [1]), [1.0], 1.0, [-1.0]),  # a row of zeros has a constant loss
        (Logistic([[1.0]], [1]), [0.5], 1.0, [0.0]),
        (Logistic(np.zeros((0, 2)), []), [1.0, 2.0], 2.0, [-0.5, -1.0]),
        (Averaging(2.0) + Box(-1.0, 1.0), 0.0, 2.0, 1.0),  # min (x-2)^2 + x^2 is at 1
        (Quadratic(0.0, [1.0, 1.0]) + Ball(1.0, dim=2), [2.0, 3.0], 1.0, [-0.6, -0.8]),
        (NonNegative() + AbsoluteDeviation(-1.0), 0.0, 1.0, 0.0),  # in either order
    ],
)
def test_step(cost: Cost, g: Any, rho: float, expected: Any) -> None:
    x = step(cost, g, rho)
    assert x.shape == cost.shape == np.shape(expected)
    np.testing.assert_allclose(x, expected, rtol=1e-14, atol=1e-15)


def test_logistic_step_solves_its_scalar_equation() -> None:
    x = float(step(Logistic([[2.0], [-1.0]], [1, 0], 0.25), [0.3], 1.5)[0])
    assert (1.5 + 0.5) * x + 0.3 - 2 * special.expit(-2 * x) - special.expit(-x) == pytest.approx(0, abs=1e-15)


def test_a_step_in_the_set_stays_in_the_set() -> None:
    """The tolerance of ``value`` covers the rounding of the projection, at sizes where that is largest."""
    rng = np.random.default_rng(0)
    for f in (Ball(1e-3, 1e6 * np.ones(2000)), Simplex(1e-6, 2000), Simplex(1e9, 2000), Box(-1e9, 1e9, 2000)):
        x = f.step(1e12 * rng.normal(size=(50, 1, 2000)), np.ones(1))
        assert (f.value(x) == 0).all()
    v = -0.9999 - 1e-7 * rng.random(2000)  # most shares tiny and one almost all: sums of 2000 terms near -1
    v[0] = 0.0
    x = step(Simplex(dim=2000), -v)
    assert np.count_nonzero(x) > 1000
    assert value(Simplex(dim=2000), x) == 0


def test_labels_may_be_zero_one_or_signs() -> None:
    A, g = np.array([[1.0, 2.0], [0.5, -1.0]]), [0.1, 0.2]
    for family in (Logistic, Hinge):
        signs = step(family(A, [1, -1]), g)
        np.testing.assert_array_equal(step(family(A, [1, 0]), g), signs)
        np.testing.assert_array_equal(step(family(A, [True, False]), g), signs)


def test_many_is_one_node_a_row() -> None:
    s, g, rho = np.array([[1.0, 2.0], [3.0, -4.0]]), np.array([[0.5, 3.0], [-1.0, 9.0]]), np.array([1.0, 2.0])
    for many, one in (
        (AbsoluteDeviation.many(s), AbsoluteDeviation),
        (Huber.many(s, [0.5, 2.0]), lambda row: Huber(row, 0.5 if row[0] == 1 else 2.0)),
        (Huber.many(s), Huber),
    ):
        assert (len(many), many.shape) == (2, (2,))
        for k in range(2):
            np.testing.assert_array_equal(many.step(g, rho)[k], step(one(s[k]), g[k], rho[k]))
    assert AbsoluteDeviation.many([1.0, 2.0]).shape == Huber.many([1.0, 2.0]).shape == ()


def test_a_set_can_be_shared_by_many_nodes() -> None:
    f = Averaging.many([-3.0, 3.0]) + Box(-1.0, 2.0)
    np.testing.assert_array_equal(f.step(np.zeros((2, 1)), np.full(2, 1e-9))[:, 0], [-1.0, 2.0])
    assert len(Box(0.0, 1.0) + Averaging.many([1.0, 2.0, 3.0])) == 3


def test_a_scalar_matrix_counts_as_isotropic() -> None:
    f = Quadratic(3.0 * np.eye(2), [1.0, 1.0]) + NonNegative(2)
    np.testing.assert_array_equal(step(f, [-7.0, 1.0]), [1.5, 0.0])
    assert value(f, [1.0, 0.0]) == pytest.approx(2.5)
    assert "Quadratic" in repr(f)
    assert "NonNegative" in repr(f)


def test_row_counts_share_a_batch() -> None:
    rng = np.random.default_rng(0)
    for family in (Logistic, Hinge):
        fs = [family(rng.normal(size=(m, 2)), rng.integers(0, 2, m)) for m in (0, 1, 7)]
        assert len({f.signature for f in fs}) == 1
        joined = family.join(fs)
        assert joined.A.shape == (8, 2)  # no padding
        assert joined.take(slice(0, 2)).A.shape == (1, 2)
        assert np.shares_memory(joined.take(slice(2, 3)).A, joined.A)
    nets = [ElasticNet(rng.normal(size=(m, 2)), rng.normal(size=m), 1.0) for m in (0, 1, 7)]
    assert len({f.signature for f in nets}) == 1


def test_irregularity_of_a_batch_is_that_of_its_worst_node() -> None:
    A, labels = np.eye(2), [0, 1]
    assert Logistic.join([Logistic(A, labels, 0.1), Logistic(A, labels, 0.2)]).irregular is None
    assert "ridge" in str(Logistic.join([Logistic(A, labels, 0.1), Logistic(A, labels)]).irregular)
    assert ElasticNet(A, labels, 0.0).irregular is None  # no l1, full rank: least squares
    assert "strongly convex" in str(ElasticNet(A[:1], [1.0], 0.0).irregular)
    assert "l1" in str(Lasso(A, labels, 0.1).irregular)


# Hard data: the step is verified from outside, by the optimality condition in terms of x alone


def hard_matrix(rng: np.random.Generator, kind: str, m: int, d: int) -> Array:
    A = rng.normal(size=(m, d))
    if kind == "condition 1e8":
        U, s, V = np.linalg.svd(A, full_matrices=False)
        A = (U * np.logspace(0, -8, len(s))) @ V
    if kind == "duplicate columns":
        A[:, -1] = A[:, 0]
    if kind == "duplicate rows":
        A[m // 2 :] = A[: m - m // 2]
    if kind == "ties":
        A = np.rint(A)
    if kind == "columns of all sizes":
        A *= np.logspace(-4, 4, d)
    return A


KINDS = ("plain", "condition 1e8", "duplicate columns", "duplicate rows", "ties", "columns of all sizes")
hard = pytest.mark.parametrize("kind", KINDS)
penalties = pytest.mark.parametrize("rho", [1e-6, 1e-3, 1.0, 1e6])


@hard
@penalties
def test_elastic_net_on_hard_data(kind: str, rho: float) -> None:
    rng = np.random.default_rng(3)
    for m, d, size in ((1, 1, 1.0), (3, 6, 1.0), (30, 6, 1e4), (20, 12, 1e8)):
        A, b, g = hard_matrix(rng, kind, m, d), rng.normal(size=m), size * rng.normal(size=d)
        f = Lasso(A, b, 0.5)
        x = step(f, g, rho)
        H, h = f.Q[0] + rho * np.eye(d), f.q[0] + g
        slope, rounding = H @ x + h, np.abs(H) @ np.abs(x) + np.abs(h) + 0.5
        error = np.where(x != 0, np.abs(slope + 0.5 * np.sign(x)), np.maximum(np.abs(slope) - 0.5, 0))
        assert (error <= 1e-12 * rounding).all()  # 100 * 2 (d + 8) eps is what the kernel may accept


@hard
@penalties
@pytest.mark.parametrize("separable", [False, True])
def test_logistic_on_hard_data(kind: str, rho: float, separable: bool) -> None:
    rng = np.random.default_rng(4)
    for m, d, size in ((1, 1, 1.0), (3, 6, 1.0), (30, 6, 1e4), (40, 12, 1e8)):
        A, g = hard_matrix(rng, kind, m, d), size * rng.normal(size=d)
        y = np.where(A @ rng.normal(size=d) > 0, 1.0, -1.0) if separable else rng.choice([-1.0, 1.0], size=m)
        x = step(Logistic(A, y), g, rho)
        A = y[:, None] * A
        p, q = special.expit(-A @ x), special.expit(A @ x)
        slope = rho * x + g - A.T @ p
        rounding = rho * np.abs(x) + np.abs(g) + np.abs(A).T @ (p + p * q * (np.abs(A) @ np.abs(x)))
        assert (np.abs(slope) <= (m + d + 8) * 1e-15 * rounding).all()


@hard
@penalties
@pytest.mark.parametrize("separable", [False, True])
def test_hinge_on_hard_data(kind: str, rho: float, separable: bool) -> None:
    """``F(x)`` is checked against the dual value of multipliers found from outside, by bounded least squares."""
    from scipy.optimize import lsq_linear

    rng = np.random.default_rng(5)
    for m, d, size in ((1, 1, 1.0), (3, 6, 1.0), (30, 6, 10.0), (40, 12, 1e8)):
        A, g = hard_matrix(rng, kind, m, d), size * rng.normal(size=d)
        y = np.where(A @ rng.normal(size=d) > 0, 1.0, -1.0) if separable else rng.choice([-1.0, 1.0], size=m)
        x = step(Hinge(A, y), g, rho)
        A = y[:, None] * A
        margin, noise = A @ x - 1, 1e-9 * (1 + np.abs(A) @ np.abs(x))
        pays, free = margin < -noise, np.abs(margin) <= noise
        wanted = rho * x + g - A[pays].sum(axis=0)  # = A_free' alpha, alpha in [0, 1]
        scale = np.abs(A).max(axis=0) + np.abs(g) + rho * np.abs(x)
        if free.any():
            alpha = lsq_linear((A[free] / scale).T, wanted / scale, bounds=(0, 1), tol=1e-15).x
            wanted = wanted - A[free].T @ alpha
        assert (np.abs(wanted) <= 1e-8 * scale).all()  # lsq_linear's own accuracy


@pytest.mark.parametrize("family", [Logistic, Hinge])
def test_a_large_mask_does_not_defeat_a_classifier(family: Any) -> None:
    """Margins of 1e9 and more turn the bend of the logistic loss into a kink (the step then follows ``tau``)."""
    rng = np.random.default_rng(6)
    A = rng.normal(size=(100, 20)) * np.logspace(-4, 4, 20)
    f = family(A, rng.integers(0, 2, 100))
    x = f.step(1e4 * rng.normal(size=(20, 1, 20)), np.array([0.1]))
    assert np.isfinite(x).all()


def test_a_step_lost_to_rounding_is_refused() -> None:
    A = 1e6 * np.ones((3, 2))  # Q = 6e12 everywhere: rho = 1e-6 vanishes beside it, and x is not determined
    with pytest.raises(InvalidCost, match=r"Lasso: the step of node 0 of 1 .* rho = 1e-06 .* Scale the columns"):
        step(Lasso(A, np.ones(3), 0.1), [1.0, -1.0], 1e-6)


# What is refused


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Lasso([[1.0]], [1.0], -2.0), "l1 must be a finite number >= 0; got -2.0"),
        (lambda: ElasticNet([[1.0]], [1.0], 1.0, np.inf), "l2 must be a finite number >= 0; got inf"),
        (lambda: ElasticNet([1.0], [1.0], 1.0), r"A must be a matrix .* got shape \(1,\)"),
        (lambda: Lasso([[1.0]], [1.0, 2.0], 1.0), r"b must have one entry per row of A, 1; got \(2,\)"),
        (
            lambda: Logistic([[1.0], [1.0]], [1, 2]),
            r"labels must all be in \{0, 1\} or all in \{-1, 1\}; there",
        ),
        (lambda: Logistic(np.ones((3, 1)), [-1, 0, 1]), "or some of both"),
        (lambda: Hinge(np.ones((6, 1)), np.arange(6) / 4), "there are others"),
        (lambda: Hinge([[np.nan]], [1]), "A and labels must be finite"),
        (lambda: Hinge([[1.0]], [1], -0.5), "ridge must be a finite number >= 0; got -0.5"),
        (lambda: Logistic([["a"]], [1]), "A must hold real numbers; row 0, column 0 is text"),
        (lambda: Huber(np.nan), "s must be finite; got nan"),
        (lambda: Huber([]), "s must not be empty"),
        (lambda: Huber([[1.0]]), r"s must be a number or a vector; got shape \(1, 1\)"),
        (lambda: Huber(1.0, 0.0), r"delta must be a finite number > 0; got 0\.0"),
        (lambda: Huber.many([1.0, 2.0], [1.0, -3.0]), r"delta must be .* or 2 of them.* got list of 2"),
        (lambda: Huber.many(1.0), r"s must have one row per node, .* got shape \(\)"),
        (lambda: AbsoluteDeviation(1j), "s must hold real numbers; it is a complex number"),
        (lambda: AbsoluteDeviation.many([[1.0], [-np.inf]]), "s must be finite; got -inf"),
        (lambda: AbsoluteDeviation.many(np.empty((3, 0))), "s must not be empty"),
        (lambda: Box(2.0, 1.0), "lower must be <= upper, with a number between\\."),
        (lambda: Box([0.0, np.nan], 1.0), "between; entry 1 is not"),
        (lambda: Box(np.inf, np.inf), "with a number between"),
        (lambda: Box([0.0, 0.0], [1.0, 1.0, 1.0]), r"agree on one dimension; got shapes \(2,\), \(3,\) and dim=None"),
        (lambda: Box([0.0, 0.0], 1.0, 3), r"got shapes \(2,\), \(\) and dim=3"),
        (lambda: Box([], 1.0), r"got shapes \(0,\)"),
        (lambda: NonNegative(0), "dim must be None, .* or a whole number >= 1; got 0"),
        (lambda: NonNegative(2.5), "got 2.5"),  # type: ignore[arg-type]
        (lambda: Ball(-1.0), "radius must be a finite number >= 0; got -1.0"),
        (lambda: Ball(1.0, [0.0, np.inf]), "centre must be finite; got inf"),
        (lambda: Ball(1.0, [0.0, 0.0], 3), r"centre must have dim = 3 entries; got shape \(2,\)"),
        (lambda: Simplex(0.0, 3), r"total must be a finite number > 0; got 0\.0"),
        (lambda: Simplex(dim=-1), "got -1"),
        (lambda: Custom(None, abs), "prox must be a function; got None"),  # type: ignore[arg-type]
        (lambda: Custom(max, 3.0), r"value must be a function; got float"),  # type: ignore[arg-type]
        (lambda: Averaging([1.0, 2.0]) + Box(0.0, 1.0), r"one shape; got \(2,\) and \(\)"),
        (
            lambda: Averaging.many([1.0, 2.0]) + Box.join([Box(0.0, 1.0)] * 3),
            r"one for all; got Averaging\(count=2, .* for 3 nodes",
        ),
    ],
)
def test_invalid_arguments(make: Callable[[], Cost], words: str) -> None:
    with pytest.raises(InvalidCost, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box(0.0, 1.0) + Ball(1.0), r"Box \+ Ball has no exact step: projecting onto one set after the other"),
        (lambda: Averaging(1.0) + Averaging(2.0), r"Averaging \+ Averaging has no exact step; only a set"),
        (lambda: Lasso([[1.0]], [1.0], 1.0) + NonNegative(1), r"Lasso \+ NonNegative has no exact step\. A set"),
        (lambda: Huber([1.0, 2.0]) + Ball(1.0, dim=2), r"Huber \+ Ball has no exact step"),
        (lambda: AbsoluteDeviation([1.0, 2.0]) + Simplex(dim=2), r"AbsoluteDeviation \+ Simplex"),
        (lambda: LeastSquares([[1.0, 0.0]], [1.0]) + NonNegative(2), r"LeastSquares \+ a set .* multiple of the id"),
        (lambda: Averaging(1.0) + Box(0.0, 1.0) + Box(0.0, 2.0), r"Constrained \+ Box has no exact step"),
    ],
)
def test_sums_without_an_exact_step(make: Callable[[], Cost], words: str) -> None:
    with pytest.raises(Unsupported, match=words):
        make()


def test_a_sum_with_something_else_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        Averaging(1.0) + 1.0
    assert isinstance(Averaging(1.0) + NonNegative(), Constrained)


# Custom


def test_custom_gets_numbers_or_vectors_of_its_own() -> None:
    seen: list[Any] = []

    def prox(v: Any, t: float) -> Any:
        seen.append((v, t))
        if isinstance(v, np.ndarray):
            v *= 2.0  # may overwrite what it is given
        return v

    g = np.array([[1.0, -2.0]])
    assert step(Custom(prox, lambda x: 0.0), 3.0, 2.0) == -1.5
    np.testing.assert_array_equal(Custom(prox, lambda x: 0.0, 2).step(g, np.array([2.0]))[0], [-1.0, 2.0])
    assert seen[0] == (-1.5, 0.5)
    assert isinstance(seen[0][0], float)
    np.testing.assert_array_equal(g, [[1.0, -2.0]])


def test_custom_as_in_its_docstring() -> None:
    from math import inf, log, sqrt

    f = Custom(lambda v, t: (v + sqrt(v * v + 4 * t)) / 2, lambda x: -log(x) if x > 0 else inf)
    x = float(step(f, 1.0, 2.0))
    assert -1 / x + 1.0 + 2.0 * x == pytest.approx(0, abs=1e-15)
    assert (value(f, 1.0), value(f, -1.0)) == (0.0, inf)


@pytest.mark.parametrize(
    ("prox", "dim", "words"),
    [
        (lambda v, t: [v, v], None, r"must return a number; at t = 0\.5 it returned one of shape \(2,\)"),
        (lambda v, t: v[:1], 2, r"prox must return a vector of length 2; .* one of shape \(1,\)"),
        (lambda v, t: None, 2, "prox must return a vector of length 2; .* one of type object"),
        (lambda v, t: 1j * v, 2, "prox must return a vector of length 2; .* complex128"),
        (lambda v, t: v / 0, 2, "prox must return finite numbers; .* -inf"),
    ],
)
def test_custom_checks_what_comes_back(prox: Any, dim: int | None, words: str) -> None:
    f = Custom(prox, lambda x: 0.0, dim)
    with pytest.raises(InvalidCost, match=words), np.errstate(divide="ignore"):
        step(f, np.full(f.dim, 2.0), 2.0)


# FromCvxpy


def test_from_cvxpy() -> None:
    x, y = cp.Variable(), cp.Variable(2)
    one = FromCvxpy(x, cp.Minimize(cp.square(x - 3)))
    two = FromCvxpy(y, -cp.sum(cp.log(y)), [y <= 2])
    assert (one.shape, two.shape) == ((), (2,))
    assert step(one, 1.0, 2.0) == pytest.approx(1.25, abs=1e-9)
    np.testing.assert_allclose(step(two, [0.0, -9.0], 4.0), [0.5, 2.0], atol=1e-6)
    assert value(one, 1.0) == pytest.approx(4.0)
    assert value(two, [1.0, 2.0]) == pytest.approx(-np.log(2))
    assert value(two, [1.0, 2.1]) == np.inf  # the constraint
    assert value(two, [1.0, -1.0]) == np.inf  # the domain
    assert FromCvxpy(y, 0, [y >= 1]).count == 1  # a set: no objective


def test_from_cvxpy_keeps_the_compiled_problem() -> None:
    x = cp.Variable(2)
    f = FromCvxpy(x, cp.norm1(x))
    step(f, [1.0, 2.0])
    compiled = f._compiled[0].problem._cache.param_prog
    assert compiled is not None
    step(f, [-3.0, 2.0], 5.0)
    assert f._compiled[0].problem._cache.param_prog is compiled


def test_from_cvxpy_never_answers_for_a_solver_that_failed() -> None:
    x = cp.Variable(2)
    f = FromCvxpy(x, cp.sum_squares(x), [x >= 1, x <= 0])
    with pytest.raises(InvalidCost, match=r"Clarabel could not solve a step to 1e-09; it said: infeasible.*rho = 1"):
        step(f, [0.0, 0.0])
    with pytest.raises(InvalidCost, match=r"\|\|g\|\| = 1e\+12"):
        step(FromCvxpy(x, cp.sum(cp.huber(x))), [1e12, 0.0], 1e-6)


def test_from_cvxpy_refuses() -> None:
    x, other = cp.Variable(2), cp.Variable(3)
    p = cp.Parameter(2, nonneg=True)
    for make, error, words in (
        (
            lambda: FromCvxpy(np.ones(2), 0),
            InvalidCost,
            r"variable must be a cvxpy\.Variable.* got ndarray of shape \(2,\)",
        ),
        (lambda: FromCvxpy(cp.Variable((2, 2)), 0), InvalidCost, "variable must be"),
        (lambda: FromCvxpy(cp.Variable(2, nonneg=True), 0), Unsupported, "give nonneg of .* as a constraint"),
        (lambda: FromCvxpy(cp.Variable(2, bounds=[0, 1]), 0), Unsupported, "give bounds of .* as a constraint"),
        (lambda: FromCvxpy(cp.Variable(2, integer=True), 0), Unsupported, "give integer of"),
        (lambda: FromCvxpy(x, cp.Maximize(cp.sum(x))), InvalidCost, "must be minimised; got a cvxpy.Maximize"),
        (lambda: FromCvxpy(x, cp.norm(x), [cp.sum(other) == x[0]]), Unsupported, "auxiliary variables"),
        (lambda: FromCvxpy(x, cp.sqrt(x[0])), InvalidCost, "it must be convex by DCP"),
        (lambda: FromCvxpy(x, cp.quad_form(x, np.eye(2)) * p[0] * p[1]), InvalidCost, "DPP"),
    ):
        with pytest.raises(error, match=words):
            make()


def test_from_cvxpy_without_cvxpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(MissingExtra, match=r"FromCvxpy needs cvxpy.*sottovoce\[cvxpy\]"):
        FromCvxpy(object(), object())


def test_importing_the_costs_imports_neither_numba_nor_cvxpy() -> None:
    check = "import sys, sottovoce.costs; sys.exit('numba' in sys.modules or 'cvxpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
