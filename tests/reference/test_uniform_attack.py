"""Uniform pads: what a coalition knows of them, the entropies, and how much more they leak than Gaussian ones."""

from __future__ import annotations

from itertools import product
from math import factorial

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import entr, ndtr

import sottovoce as sv
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.pdmm.masks import UniformMask
from sottovoce.privacy.attacks.recorded_transcript import record_transcript
from sottovoce.privacy.attacks.uniform_attack import (
    _entropy,
    behind_many,
    behind_one,
    drawn_widths,
    integrated_widths,
    uniform_attack,
)

EPS = np.finfo(float).eps


def leak(sigma, honest, **changes):
    """Node 0 among ``honest`` honest neighbours and one corrupt one, who all know each other."""
    problem = sv.averaging(sv.Network.complete(honest + 2), np.zeros(honest + 2))
    return uniform_attack(problem, **{"variance": sigma**2, "corrupt": {1}, "node": 0, "seed": 3, **changes})


# The mask


def test_pads_are_uniform_with_the_asked_variance():
    mask = UniformMask(variance=4.0)
    b = np.sqrt(12.0)
    for pads in (mask.draw((100_000,)), mask.draw((100_000,), seed=1)):
        # The secret sample differs from run to run: a threshold that chance passes once in 1e9 runs.
        assert stats.kstest(pads, "uniform", args=(-b, 2 * b)).pvalue > 1e-9
        assert np.abs(pads).max() <= b
        assert (pads / mask.grid == np.rint(pads / mask.grid)).all()
    np.testing.assert_array_equal(mask.draw((5, 2), seed=3), mask.draw((5, 2), seed=3))
    assert not np.array_equal(mask.draw((5, 2)), mask.draw((5, 2)))
    with pytest.raises(InvalidInput, match="variance must be a positive number; got -1"):
        UniformMask(-1)


def test_solve_takes_it():
    s = np.arange(6.0)
    result = sv.solve(sv.averaging(sv.Network.ring(6), s), mask=UniformMask(4e6), seed=1)
    assert result.status is sv.Status.CONVERGED
    np.testing.assert_allclose(result.x, s.mean(), atol=1e-9)


def test_given_the_difference_the_half_sum_is_uniform_on_what_is_left():
    one, other = UniformMask(3.0).draw((2, 100_000), seed=2)
    e, u = one - other, (one + other) / 2
    share = u / (3.0 - np.abs(e) / 2)
    for part in (share, share[np.abs(e) < 1], share[np.abs(e) > 4]):
        assert stats.kstest(part, "uniform", args=(-1, 2)).pvalue > 1e-3  # fixed seed


def test_a_coalition_knows_y_and_every_difference(network, rng):
    """From first messages, where ``D = 0``, and the ``x`` of one corrupt node: ``r_{j|i} = e_ij + 2c A_ij x_i`` and
    ``e_ij = -e_ji`` give ``x_i - x_j`` along edges, then ``e``, then ``Y_i = q_i + sum_j A_ij u_ij`` from eq. 2."""
    n, c, sigma = network.n, 0.4, 100.0
    s, z0 = rng.normal(size=n), UniformMask(sigma**2).draw((2 * network.m,), seed=4)
    problem = sv.averaging(network, s)
    (wakes,) = record_transcript(problem, z0=z0, c=c, iterations=1).iterations
    r = {(wake.node, j): float(r_j[0]) for wake in wakes for j, r_j in wake.r.items()}
    sign = {(i, j): 1.0 if i > j else -1.0 for i, j in r}
    x = {0: float(sv.solve(problem, z0=z0, c=c, tol=0, max_iter=1).x[0])}  # node 0 is corrupt
    while len(x) < n:
        for i, j in r:
            if i in x and j not in x:
                x[j] = x[i] - sign[i, j] * (r[i, j] + r[j, i]) / (2 * c)
    half = {tuple(pair): h for h, pair in enumerate(network.half_edges.tolist())}
    for i in range(n):
        around = network.neighbours(i).tolist()
        e = {j: r[i, j] - 2 * c * sign[i, j] * x[i] for j in around}
        assert all(abs(e[j] - (z0[half[i, j]] - z0[half[j, i]])) < 1e3 * EPS * sigma for j in around)
        Y = -(2 + c * len(around)) * x[i] - sum(sign[i, j] * e[j] / 2 for j in around)
        true = -2 * s[i] + sum(sign[i, j] * (z0[half[i, j]] + z0[half[j, i]]) / 2 for j in around)
        assert abs(Y - true) < 1e3 * EPS * sigma  # rounding of messages, along a few edges


# Entropies


@pytest.mark.parametrize("w", [0.01, 0.5, 3.0, 40.0, 1000.0])
def test_one_neighbour_by_edges_on_a_grid_and_by_quadrature(w):
    def density(y):
        return (ndtr(y + w) - ndtr(y - w)) / (2 * w)

    near = [edge + t for edge in (-w, w) for t in (-8, 0, 8)]
    whole = integrate.quad(lambda y: entr(density(y)), -w - 12, w + 12, points=near, limit=500, epsabs=1e-13)[0]
    exact = whole - np.log(2 * w)
    assert behind_one(np.array([w]))[0] == pytest.approx(exact, abs=1e-11)
    assert _entropy(np.array([w]), 1.0) - np.log(2 * w) == pytest.approx(exact, abs=1e-11)


def test_two_and_three_neighbours_by_hand():
    """Two: against a grid for the trapezium too. Three equal ones: the density is ``(3 - y^2)/8`` up to 1 and
    ``(3 - y)^2/16`` up to 3."""
    w = np.array([2.0, 5.0])
    step = 2 * (w.sum() + 10) / 2**13
    assert behind_many(w) == pytest.approx(_entropy(w, 1.0) - _entropy(w, 0.0), abs=(step / 2) ** 2)  # the kinks
    inner = integrate.quad(lambda y: entr((3 - y * y) / 8), 0, 1, epsabs=1e-13)[0]
    outer = integrate.quad(lambda y: entr((3 - y) ** 2 / 16), 1, 3, epsabs=1e-13)[0]
    step = 2 * (3 + 10) / 2**13
    assert _entropy(np.ones(3), 0.0) == pytest.approx(2 * (inner + outer), abs=step**3)  # a kink of the derivative
    # A uniform sum is hidden behind at least as well as behind each of its parts alone.
    assert behind_many(np.ones(3)) < behind_many(np.ones(2)) < behind_one(np.ones(1))[0]


def exact_entropy(w):
    """Of a sum of uniforms: its density is a sum of truncated powers, smooth between their knots."""
    signs = np.array(list(product((1.0, -1.0), repeat=len(w))))
    knots = -signs @ w
    ends = np.unique([*knots[knots < 0], 0.0])
    t, weight = np.polynomial.legendre.leggauss(40)
    y = (ends[:-1, None] + ends[1:, None] + np.diff(ends)[:, None] * t) / 2
    powers = np.maximum(y[..., None] - knots, 0.0) ** (len(w) - 1)
    density = powers @ signs.prod(axis=1) / (np.prod(2 * w) * factorial(len(w) - 1))
    return np.sum(np.diff(ends)[:, None] * weight * entr(np.maximum(density, 0.0)))  # twice the half


@pytest.mark.parametrize("b", [3.0, 30.0, 1000.0])
@pytest.mark.parametrize("honest", [3, 4])
def test_more_neighbours_against_truncated_powers(rng, honest, b):
    errors = []
    for w in b * np.sqrt(rng.uniform(size=(20, honest))):
        exact = _entropy(w, 1.0) - exact_entropy(w)
        errors.append(abs(behind_many(w) - exact) / exact)
    assert np.mean(errors) < 1e-3  # far below the spread over draws, some 3 % of the mean for 400 of them
    assert max(errors) < 0.02  # as the docstring says


def test_narrow_and_wide_widths_together():
    """A part that is far narrower than the rest hardly matters, at either end of the grid."""
    for rest in (np.array([3.0, 4.0]), np.array([300.0, 400.0])):
        assert behind_many(np.array([1e-6, *rest])) == pytest.approx(behind_many(rest), rel=0.02)  # the kinks


# Leakage


@pytest.mark.parametrize("honest", [1, 2, 3, 5])
@pytest.mark.parametrize("sigma", [1.0, 100.0, 1e6])
def test_uniform_pads_leak_more_than_gaussian_ones(sigma, honest):
    found = leak(sigma, honest)
    assert found.honest_neighbours == honest
    assert found.gaussian == pytest.approx(0.5 * np.log1p(4 / (honest * sigma**2 / 2)), rel=1e-12)
    assert (found.stderr == 0) == (honest <= 2)
    # Fixed seed. Integrals, of which stderr is 0, are right to 4e-4.
    assert found.nats - found.gaussian > max(3 * found.stderr, 1e-3 * found.gaussian)
    # A lower bound, of the whole view (theory: Open channels): [(I + rho L)^{-1}]_ii of the complete graph on the
    # honest nodes.
    n, rho = honest + 1, sigma**2 / 8
    assert found.gaussian <= -0.5 * np.log(1 - (1 / n + (1 - 1 / n) / (1 + rho * n)))


def test_with_one_honest_neighbour_the_leak_falls_as_one_over_sigma():
    """For ``w >> tau`` only the edges count: ``kappa tau/w``, ``kappa`` the integral of ``-Phi ln Phi``; ``w`` is ``b``
    times the root of a uniform number, hence ``E[1/w] = 2/b``, and ``2 kappa tau/b`` in all."""
    kappa = integrate.quad(lambda t: entr(ndtr(t)), -12, 12)[0]
    for sigma in (1e2, 1e3, 1e4, 1e6):
        found, b = leak(sigma, 1), np.sqrt(3) * sigma / 2  # in units of tau = 2

        def weighted(w, b=b):
            return 2 * w / b**2 * behind_one(np.array([w]))[0]

        exact = sum(integrate.quad(weighted, *part, limit=400, epsabs=0)[0] for part in ((0, 1), (1, 50), (50, b)))
        assert found.nats == pytest.approx(exact, rel=1e-6)
        # Widths below tau leak less than their edges would: a share of about tau/b of the whole.
        assert found.nats == pytest.approx(2 * kappa / b, rel=1 / b)
        assert found.gaussian == pytest.approx((2 / sigma) ** 2, rel=1e-3)


@pytest.mark.parametrize("honest", [1, 2])
@pytest.mark.parametrize("b", [0.1, 5.0, 500.0])
def test_integrals_over_the_differences_of_pads(honest, b):
    """Moments of ``w`` in closed form, ``E[w^p] = 2 b^p/(2 + p)`` each; and the mean over real pads, which is noisy."""
    w, share = integrated_widths(b, honest)
    for power in (0, 1, 2, -1):
        moment = share @ np.prod(w**power, axis=1)
        left_out = 1e-4 * min(1.0, 1 / b)  # of E[1/w], whose integrand does not vanish at 0
        assert moment == pytest.approx((2 * b**power / (2 + power)) ** honest, rel=1e-7 if power >= 0 else 3 * left_out)
    mask = UniformMask(b**2 / 3)
    drawn, equal = drawn_widths(mask, honest, 100_000, 1, 1.0)
    share_below = equal @ (drawn.min(axis=1) < b / 2)
    assert share_below == pytest.approx(1 - 0.75**honest, abs=4 * 0.5 / np.sqrt(100_000))


@pytest.mark.parametrize("honest", [2, 3])
def test_the_bound_for_large_variances_is_below_the_grid(honest):
    """The same widths: noise that is Gaussian given ``e`` hides best."""
    mask = UniformMask(100.0)
    one, other = mask.draw((2, 50, honest), seed=1)
    w = (np.sqrt(300.0) - np.abs(one - other) / 2) / 2
    grid = np.array([behind_many(widths) for widths in w])
    assert (0.5 * np.log1p(3 / np.sum(w**2, axis=1)) < grid).all()
    assert leak(1e6, honest).method.startswith("as if Gaussian")
    assert leak(10.0, honest).method == "entropies on a grid"


def test_the_secret_counts_by_its_curvature_and_its_prior():
    """Only ``a^2 prior / variance`` matters: the same pads, scaled."""
    network = sv.Network.complete(4)
    costs = [sv.Quadratic(0.5, 0.0), *[sv.Quadratic(7.0, 0.0)] * 3]
    settings = {"corrupt": [1], "node": 0, "seed": 3}
    found = uniform_attack(sv.Problem(network, costs), variance=1.0, prior_variance=4.0, **settings)
    other = leak(2.0, 2)
    assert found.nats == pytest.approx(other.nats, rel=1e-9)
    assert found.gaussian == pytest.approx(other.gaussian, rel=1e-12)


def test_in_words_and_refusals():
    assert str(leak(1e4, 1)).startswith("Uniform pads leak at least 0.000209 nats about node 0 to a coalition [1]")
    exposed = leak(10.0, 1, corrupt={1, 2})
    assert (exposed.nats, exposed.gaussian, exposed.honest_neighbours) == (np.inf, np.inf, 0)
    with pytest.raises(Unsupported, match="Name at least one"):
        leak(1.0, 1, corrupt=())
    with pytest.raises(InvalidInput, match="node 0 is corrupt itself"):
        leak(1.0, 1, corrupt={0})
    for bad in ({"node": 3}, {"corrupt": {-1}}, {"node": True}):
        with pytest.raises(InvalidInput, match=r"no node .*; nodes are 0 to 2"):
            leak(1.0, 1, **bad)
    with pytest.raises(InvalidInput, match="prior_variance must be a positive number; got 0"):
        leak(1.0, 1, prior_variance=0)
    with pytest.raises(InvalidInput, match="draws must be at least 2"):
        leak(1.0, 1, draws=1)
    for problem in (
        sv.averaging(sv.Network.ring(3), np.zeros((3, 2))),
        sv.Problem(sv.Network.ring(3), [sv.Huber(0.0)] * 3),
    ):
        with pytest.raises(Unsupported, match="averaging of numbers"):
            uniform_attack(problem, variance=1.0, corrupt={1}, node=0)
