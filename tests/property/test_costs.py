"""What every cost must satisfy, family by family. A new family adds one row to ``FAMILIES``; all tests below follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

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
from sottovoce.errors import Unsupported

Array = Any
Rng = np.random.Generator


# Slow references: each says the step in the plainest way there is.


def by_linear_solve(f: Any, g: Array, rho: float) -> Array:
    Q = f.Q[0] * np.eye(f.dim) if f.Q.ndim == 1 else f.Q[0]
    return -np.linalg.solve(Q + rho * np.eye(f.dim), f.q[0] + g)


def by_sign_patterns(f: Any, g: Array, rho: float) -> Array:
    """Every pattern of signs gives one linear system; the best of the answers is the minimum."""
    H, h, candidates = f.Q[0] + rho * np.eye(f.dim), f.q[0] + g, []
    for signs in product((-1, 0, 1), repeat=f.dim):
        support, x = np.flatnonzero(signs), np.zeros(f.dim)
        x[support] = -np.linalg.solve(H[np.ix_(support, support)], (h + f.l1[0] * np.array(signs))[support])
        candidates.append(x)
    return best(f, g, rho, candidates)


def by_row_patterns(f: Any, g: Array, rho: float) -> Array:
    """Every row pays, does not pay, or lies on the margin: one linear system each; the best answer is the minimum."""
    A, kappa, candidates = f.A, rho + 2 * f.ridge[0], []
    for pattern in product(("free", "pays", "margin"), repeat=len(A)):
        pays, margin = (A[[which == what for which in pattern]] for what in ("pays", "margin"))
        kkt = np.block([[kappa * np.eye(f.dim), -margin.T], [margin, np.zeros((len(margin), len(margin)))]])
        candidates.append(
            np.linalg.lstsq(kkt, np.concatenate([pays.sum(axis=0) - g, np.ones(len(margin))]))[0][: f.dim]
        )
    return best(f, g, rho, candidates)


def best(f: Cost, g: Array, rho: float, candidates: list[Array]) -> Array:
    return min(candidates, key=lambda x: tilted(f, x, g, rho))


def tilted(f: Cost, x: Array, g: Array, rho: float) -> float:
    return float(f.value(x[None])[0] + g @ x + 0.5 * rho * x @ x)


def by_trust_region(f: Any, g: Array, rho: float) -> Array:
    A, kappa = f.A, rho + 2 * f.ridge[0]

    def slope(x: Array) -> Array:
        return g + kappa * x - A.T @ special.expit(-A @ x)

    def curvature(x: Array) -> Array:
        p = special.expit(-A @ x)
        return kappa * np.eye(f.dim) + A.T @ ((p * (1 - p))[:, None] * A)

    start = optimize.minimize(
        lambda x: tilted(f, x, g, rho), np.zeros(f.dim), jac=slope, hess=curvature, method="trust-exact"
    )
    return optimize.root(slope, start.x, jac=curvature, tol=1e-14).x


def by_bisection(
    slope: Callable[[Any, Array], Array], bounds: Callable[[Any], tuple[Array, Array]] | None = None
) -> Any:
    """In each coordinate, the point where ``slope(f, x) + g + rho x`` changes sign, within the bounds."""

    def reference(f: Any, g: Array, rho: float) -> Array:
        far = (np.abs(g) + 100.0) * (1.0 + 1.0 / rho)
        low, high = bounds(f) if bounds else (-far, far)
        low, high = np.maximum(low, -far), np.minimum(high, far)
        for _ in range(200):
            middle = 0.5 * (low + high)
            rising = slope(f, middle) + g + rho * middle > 0
            low, high = np.where(rising, low, middle), np.where(rising, middle, high)
        return 0.5 * (low + high)

    return reference


def onto_ball(f: Any, v: Array) -> Array:
    """``v`` drawn to the centre by the multiplier that puts it on the sphere, by bisection."""
    offset, low, high = v - f.centre[0], 0.0, 1.0
    if np.linalg.norm(offset) <= f.radius[0]:
        return v
    for _ in range(200):
        middle = 0.5 * (low + high)
        outside = np.linalg.norm(middle * offset) > f.radius[0]
        low, high = (low, middle) if outside else (middle, high)
    return f.centre[0] + low * offset


def onto_simplex(f: Any, v: Array) -> Array:
    """``max(v - tau, 0)`` with ``tau`` by bisection on the sum."""
    low, high = v.min() - f.total[0], v.max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.maximum(v - middle, 0).sum() > f.total[0] else (low, middle)
    return np.maximum(v - high, 0)


def by_projection(onto: Callable[[Any, Array], Array]) -> Any:
    return lambda f, g, rho: onto(f, -g / rho)


def averaged_onto(onto: Callable[[Any, Array], Array]) -> Any:
    return lambda f, g, rho: onto(f.indicator, by_linear_solve(f.cost, g, rho))


# The table: how to draw one random node of dimension d, and the slow reference of its step.


@dataclass(frozen=True)
class Family:
    make: Callable[[Rng, int], Cost]
    reference: Callable[[Any, Array, float], Array]
    regular: bool = False  # strongly convex and differentiable
    smooth: bool = False  # differentiable
    accuracy: float = 1e-9  # of the step against the reference, which is rarely better itself


def rows(rng: Rng, d: int) -> Array:
    """Up to four observations, sometimes none, sometimes integers or repeated, where ties and degeneracy happen."""
    A = rng.normal(size=(rng.integers(0, 5), d))
    if rng.random() < 0.3:
        A = np.rint(2 * A)
    if rng.random() < 0.3 and len(A) > 1:
        A[-1] = A[0]
    return A


def labelled(family: Any, ridge: Callable[[Rng], float]) -> Callable[[Rng, int], Cost]:
    def make(rng: Rng, d: int) -> Cost:
        A = rows(rng, d)
        return family(A, rng.integers(0, 2, size=len(A)), ridge(rng))

    return make


def regression(family: Any) -> Callable[[Rng, int], Cost]:
    def make(rng: Rng, d: int) -> Cost:
        A = rows(rng, d)
        return family(A, rng.normal(size=len(A)), rng.exponential())

    return make


def in_cvxpy(rng: Rng, d: int) -> Cost:
    x, s = cp.Variable(d), rng.normal(size=d)
    cost = FromCvxpy(x, cp.sum_squares(x - s) + cp.norm1(x), [x <= 1])
    cost.s = s[None]  # for the reference
    return cost


def log_cosh(rng: Rng, d: int) -> Cost:
    s = rng.normal(size=d)
    cost = FromGradient(
        lambda x: np.sum(np.logaddexp(x - s, s - x) - np.log(2)),
        lambda x: np.tanh(x - s),
        d,
        rng.choice([None, lambda x: np.diag(1 / np.cosh(np.clip(x - s, -300, 300)) ** 2)]),
    )
    cost.s = s[None]  # for the reference
    return cost


def soft_threshold(v: Array, t: float) -> Array:
    return np.sign(v) * np.maximum(np.abs(v) - t, 0)


def random_box(rng: Rng, d: int) -> Box:
    ends = np.sort(rng.normal(size=(2, d)), axis=0)
    return Box(*ends) if rng.random() < 0.7 else Box(ends[0], np.inf)


def random_quadratic(rng: Rng, d: int) -> Quadratic:
    root = rng.normal(size=(d, d))
    return Quadratic(root @ root.T + 0.1 * np.eye(d), rng.normal(size=d))


def flat(f: Any, x: Array) -> Array:
    return np.zeros_like(x)


def box_bounds(f: Any) -> tuple[Array, Array]:
    return f.lower[0], f.upper[0]


FAMILIES = {
    "Quadratic": Family(random_quadratic, by_linear_solve, regular=True, smooth=True),
    "Averaging": Family(lambda rng, d: Averaging(rng.normal(size=d)), by_linear_solve, regular=True, smooth=True),
    "LeastSquares": Family(regression(LeastSquares), by_linear_solve, regular=True, smooth=True),
    "ElasticNet": Family(regression(lambda A, b, l1: ElasticNet(A, b, l1, 0.5 * l1)), by_sign_patterns),
    "Lasso": Family(regression(Lasso), by_sign_patterns),
    "Logistic": Family(labelled(Logistic, lambda rng: 0.0), by_trust_region, smooth=True),
    "Logistic, ridge": Family(labelled(Logistic, Rng.exponential), by_trust_region, regular=True, smooth=True),
    "Hinge": Family(labelled(Hinge, lambda rng: rng.exponential() * rng.integers(0, 2)), by_row_patterns),
    "Huber": Family(
        lambda rng, d: Huber(rng.normal(size=d), rng.exponential()),
        by_bisection(lambda f, x: np.clip(x - f.s[0], -f.delta[0], f.delta[0])),
        smooth=True,
    ),
    "AbsoluteDeviation": Family(
        lambda rng, d: AbsoluteDeviation(rng.normal(size=d)), by_bisection(lambda f, x: np.sign(x - f.s[0]))
    ),
    "Box": Family(random_box, by_bisection(flat, box_bounds)),
    "NonNegative": Family(lambda rng, d: NonNegative(d), by_bisection(flat, box_bounds)),
    "Ball": Family(lambda rng, d: Ball(rng.exponential(), rng.normal(size=d)), by_projection(onto_ball)),
    "Simplex": Family(lambda rng, d: Simplex(rng.exponential(), d), by_projection(onto_simplex)),
    "Averaging + Ball": Family(
        lambda rng, d: Averaging(rng.normal(size=d)) + Ball(rng.exponential(), dim=d), averaged_onto(onto_ball)
    ),
    "Averaging + Simplex": Family(
        lambda rng, d: Averaging(rng.normal(size=d)) + Simplex(dim=d), averaged_onto(onto_simplex)
    ),
    "Quadratic + Box": Family(
        lambda rng, d: Quadratic(rng.exponential(), rng.normal(size=d)) + random_box(rng, d),
        by_bisection(lambda f, x: f.cost.Q[0] * x + f.cost.q[0], lambda f: box_bounds(f.indicator)),
    ),
    "Huber + Box": Family(
        lambda rng, d: Huber(rng.normal(size=d)) + random_box(rng, d),
        by_bisection(lambda f, x: np.clip(x - f.cost.s[0], -1, 1), lambda f: box_bounds(f.indicator)),
    ),
    "AbsoluteDeviation + NonNegative": Family(
        lambda rng, d: AbsoluteDeviation(rng.normal(size=d)) + NonNegative(d),
        by_bisection(lambda f, x: np.sign(x - f.cost.s[0]), lambda f: box_bounds(f.indicator)),
    ),
    "Custom": Family(
        lambda rng, d: Custom(soft_threshold, lambda x: np.abs(x).sum(), d), by_bisection(lambda f, x: np.sign(x))
    ),
    "FromCvxpy": Family(
        in_cvxpy,
        by_bisection(lambda f, x: 2 * (x - f.s[0]) + np.sign(x), lambda f: (np.full(f.dim, -np.inf), np.ones(f.dim))),
        accuracy=1e-6,  # of an interior-point method
    ),
    "FromGradient": Family(log_cosh, by_bisection(lambda f, x: np.tanh(x - f.s[0])), smooth=True),
}

each_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


@dataclass
class Draw:
    """One random node of a family, and what its step is asked."""

    rng: Rng
    d: int
    rho: float
    scale: float  # of g

    def g(self, *shape: int) -> Array:
        return self.scale * self.rng.normal(size=(*shape, self.d))


draws = st.builds(
    lambda seed, d, rho, scale: Draw(np.random.default_rng(seed), d, rho, scale),
    st.integers(0, 2**32 - 1),
    st.integers(1, 3),
    st.sampled_from((1e-3, 0.1, 1.0, 7.0, 1e3)),
    st.sampled_from((0.0, 0.1, 1.0, 30.0)),
)


def over_draws(max_examples: int) -> Any:
    profile = settings(max_examples=max_examples, derandomize=True, deadline=None, database=None)
    return lambda test: profile(given(draw=draws)(test))


def nodes(family: Family, draw: Draw, count: int) -> tuple[Cost, Array]:
    """A batch of random nodes, and a ``rho`` for each."""
    singles = [family.make(draw.rng, draw.d) for _ in range(count)]
    if len({f.signature for f in singles}) > 1:  # Box bounds all agree in shape; so does every family here
        raise AssertionError("nodes of one family and dimension must have one signature")
    return type(singles[0]).join(singles), draw.rho * draw.rng.uniform(0.5, 2.0, size=count)


def test_every_family_has_a_row() -> None:
    made = {type(family.make(np.random.default_rng(0), 2)).__name__ for family in FAMILIES.values()}
    assert made == set(package.__all__) - {"Cost", "QuadraticForm"}


@each_family
@over_draws(25)
def test_step_agrees_with_the_slow_reference(family: Family, draw: Draw) -> None:
    f, g = family.make(draw.rng, draw.d), draw.g()
    x = f.step(g[None], np.array([draw.rho]))[0]
    expected = family.reference(f, g, draw.rho)
    # What a rounding error of g does to the answer of an ill-conditioned step counts too: eps |g| / rho.
    assert np.linalg.norm(x - expected) <= family.accuracy * (1 + np.linalg.norm(x)) + 1e-13 * draw.scale / draw.rho


@each_family
@over_draws(25)
def test_step_is_the_minimum(family: Family, draw: Draw) -> None:
    """``F(y) >= F(x) + (rho/2)||y - x||^2`` for every ``y``, as ``F`` is strongly convex and ``x`` its minimum."""
    f, g, rho = family.make(draw.rng, draw.d), draw.g(), draw.rho
    x = f.step(g[None], np.array([rho]))[0]
    others = [f.step(draw.g(1), np.array([rho]))[0] for _ in range(3)]  # in the domain, and far away
    others += [x + size * draw.rng.normal(size=draw.d) for size in (1e-6, 1e-3, 1.0)]
    for y in others:
        size = 1 + abs(g) @ (abs(x) + abs(y)) + rho * (x @ x + y @ y) + abs(f.value(x[None])[0])
        gap = tilted(f, y, g, rho) - tilted(f, x, g, rho) - 0.5 * rho * (y - x) @ (y - x)
        # An error e in the step costs about the slope times e, and constraints hold up to FEASIBLE.
        assert gap >= -max(1e-11, family.accuracy * 1e-2) * size


@each_family
@over_draws(25)
def test_prox_is_firmly_nonexpansive(family: Family, draw: Draw) -> None:
    """``||p - q||^2 <= (p - q)'(v - w)`` for ``p = prox(v)``, ``q = prox(w)``."""
    f, rho = family.make(draw.rng, draw.d), np.array([draw.rho])
    v, w = draw.g(), draw.g()
    p, q = (f.step(-draw.rho * u[None], rho)[0] for u in (v, w))
    size = 1 + p @ p + q @ q + v @ v + w @ w
    assert (p - q) @ (v - w) - (p - q) @ (p - q) >= -max(1e-12, family.accuracy * 1e-1) * size


@each_family
@over_draws(10)
def test_batch_and_single_nodes_give_the_same_bits(family: Family, draw: Draw) -> None:
    draw.d *= 6  # long enough for sums whose order could depend on the memory layout
    f, rho = nodes(family, draw, 3)
    g = draw.g(2, 2, 3)
    g = np.transpose(np.transpose(g, (2, 3, 0, 1)).copy(), (2, 3, 0, 1))  # leading axes last in memory, as in Problem
    x = f.step(g, rho)
    assert x.shape == g.shape
    for k in range(3):
        one = f.take(slice(k, k + 1))
        for at in np.ndindex(2, 2):
            np.testing.assert_array_equal(x[at][k], one.step(np.array(g[at][k : k + 1]), rho[k : k + 1])[0])
    np.testing.assert_array_equal(f.bind(rho)(g), x)


@each_family
@over_draws(10)
def test_value_of_a_batch_is_that_of_its_nodes(family: Family, draw: Draw) -> None:
    f, rho = nodes(family, draw, 3)
    x = f.step(draw.g(2, 3), rho)
    x[1] += 0.1  # outside the domain, for some
    value = f.value(x)
    singles = np.stack([f.take(np.array([k])).value(x[:, k : k + 1])[:, 0] for k in range(3)], axis=1)
    np.testing.assert_allclose(value, singles, rtol=1e-13)  # sums of d terms, and padded rows
    assert np.isfinite(value[0]).all()


@each_family
@over_draws(10)
def test_take_and_join_are_inverse(family: Family, draw: Draw) -> None:
    f, rho = nodes(family, draw, 4)
    order = draw.rng.permutation(4)
    shuffled = type(f).join([f.take(order[:1]), f.take(order[1:])])
    back = shuffled.take(np.argsort(order))
    assert (len(shuffled), back.signature, back.shape) == (4, f.signature, f.shape)
    g = draw.g(4)
    np.testing.assert_array_equal(back.step(g, rho), f.step(g, rho))
    np.testing.assert_array_equal(shuffled.step(g[order], rho[order]), f.step(g, rho)[order])


@each_family
@over_draws(5)
def test_history_does_not_matter(family: Family, draw: Draw) -> None:
    f, rho = nodes(family, draw, 2)
    g = draw.g(2)
    first = f.step(g, rho)
    f.step(100 * draw.g(2), 2 * rho)
    np.testing.assert_array_equal(f.step(g, rho), first)


@each_family
@over_draws(5)
def test_a_diverged_node_steps_to_nan_alone(family: Family, draw: Draw) -> None:
    f, rho = nodes(family, draw, 2)
    g = draw.g(2)
    x = f.step(g, rho)
    g[0] = np.nan
    with np.errstate(invalid="ignore"):
        after = f.step(g, rho)
    assert np.isnan(after[0]).all()
    np.testing.assert_array_equal(after[1], x[1])


@each_family
def test_regularity_is_stated(family: Family) -> None:
    f = family.make(np.random.default_rng(1), 2)
    assert (f.irregular is None) == family.regular


@each_family
@over_draws(10)
def test_hessian_is_the_slope_of_the_gradient(family: Family, draw: Draw) -> None:
    """At the step the gradient is ``-(g + rho x)``, so two steps differentiate it."""
    f, g, change = family.make(draw.rng, draw.d), draw.g(1), 1e-5 * draw.rng.normal(size=(1, draw.d))
    x, y = f.step(g, np.ones(1)), f.step(g + change, np.ones(1))
    hessian = f.hessian(x)
    if hessian is not None:
        np.testing.assert_allclose(hessian[0] @ (y - x)[0], -(change + y - x)[0], atol=1e-8)


@each_family
def test_whether_there_is_a_gradient_is_stated(family: Family) -> None:
    f = family.make(np.random.default_rng(1), 2)
    assert (f.gradient(np.zeros((1, 2))) is not None) == family.smooth


@each_family
@over_draws(10)
def test_gradient_is_the_slope_of_the_value(family: Family, draw: Draw) -> None:
    """By central differences along a line; and at a step it is ``-(g + rho x)``, of every node of a batch."""
    f, rho = nodes(family, draw, 3)
    if not family.smooth:
        return
    g = draw.g(3)
    x = f.step(g, rho)
    slope = f.gradient(x)
    # A step is exact to its own accuracy, and the gradient of what cancels only to rounding of its parts.
    np.testing.assert_allclose(slope, -(g + rho[:, None] * x), atol=1e-9 * (1 + draw.scale + np.abs(slope).max()))
    way, h = draw.rng.normal(size=x.shape), 1e-4
    rise = (f.value(x + h * way) - f.value(x - h * way)) / (2 * h)
    # The cut is h^2 times a third derivative, or h times a jump where the slope has a kink.
    np.testing.assert_allclose((slope * way).sum(axis=1), rise, atol=1e-3, rtol=1e-6)


def test_a_gradient_outside_the_domain_is_nan() -> None:
    f = FromGradient(lambda x: -np.log(x), lambda x: -1 / x, start=1.0)
    np.testing.assert_array_equal(f.gradient(np.array([[-1.0]])), [[np.nan]])
    np.testing.assert_array_equal(f.gradient(np.array([[2.0]])), [[-0.5]])


def test_an_elastic_net_without_l1_is_smooth() -> None:
    f = ElasticNet([[1.0, 2.0]], [3.0], 0.0, 0.5)
    np.testing.assert_allclose(f.gradient(np.array([[1.0, -1.0]])), [[-8 + 1, -16 - 1]])  # 2 A'(Ax - b) + 2 l2 x


@each_family
def test_matrix_penalties_need_a_quadratic_cost(family: Family) -> None:
    f = family.make(np.random.default_rng(1), 2)
    rho = np.array([[[2.0, 1.0], [1.0, 2.0]]])
    if f.quadratic is None:
        with pytest.raises(Unsupported, match=type(f).__name__):
            f.bind(rho)
    else:
        x = f.bind(rho)(np.ones((1, 2)))[0]
        Q = f.quadratic.Q[0] * np.eye(2) if f.quadratic.Q.ndim == 1 else f.quadratic.Q[0]
        np.testing.assert_allclose((Q + rho[0]) @ x, -(f.quadratic.q[0] + 1), atol=1e-12)


# Moreau: -(g + rho x) is the step of the conjugate, for f and its conjugate as two costs of this package.


def ball_norm(radius: float, d: int) -> Cost:
    def shrink(v: Array, t: float) -> Array:
        return v * max(0.0, 1 - t * radius / max(float(np.linalg.norm(v)), 1e-300))

    return Custom(shrink, lambda x: radius * float(np.linalg.norm(x)), d)


CONJUGATES = {
    "absolute value and interval": lambda rng, d: (AbsoluteDeviation(np.zeros(d)), Box(-1.0, 1.0, d)),
    "l1 norm and box": lambda rng, d: (Lasso(np.zeros((0, d)), [], 0.7), Box(-0.7, 0.7, d)),
    "norm and ball": lambda rng, d: (ball_norm(0.6, d), Ball(0.6, dim=d)),
    "cone and polar cone": lambda rng, d: (NonNegative(d), Box(-np.inf, 0.0, d)),
    "Huber and parabola on an interval": lambda rng, d: (
        Huber(np.zeros(d), 0.8),
        Quadratic(1.0, np.zeros(d)) + Box(-0.8, 0.8, d),
    ),
    "parabola and parabola": lambda rng, d: (Averaging(np.ones(d)), Quadratic(0.5, np.ones(d))),
    "hinge and line on an interval": lambda rng, d: (Hinge([[1.0]], [1]), Quadratic(0.0, [1.0]) + Box(-1.0, 0.0, 1)),
    "point and line": lambda rng, d: (Ball(0.0, np.full(d, 2.0)), Quadratic(0.0, np.full(d, 2.0))),
}


@pytest.mark.parametrize("pair", CONJUGATES.values(), ids=CONJUGATES.keys())
@over_draws(25)
def test_moreau_decomposition(pair: Any, draw: Draw) -> None:
    f, conjugate = pair(draw.rng, draw.d)
    g = draw.scale * draw.rng.normal(size=(1, f.dim))
    x = f.step(g, np.array([draw.rho]))
    u = conjugate.step(g / draw.rho, np.array([1 / draw.rho]))
    assert np.abs(draw.rho * x + u + g).max() <= 1e-14 * (1 + np.abs(g).max() + draw.rho * (1 + np.abs(x).max()))
