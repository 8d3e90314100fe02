"""Eq. 8's information against closed forms, a dense computation and samples; the estimator against known values."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce.errors import InvalidInput, MissingExtra, Unsupported
from sottovoce.pdmm.schedules import key_of
from sottovoce.privacy.moments.information import (
    Information,
    estimated_information,
    gaussian_information,
    snapshot_information,
)

RING = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)])  # a ring with a chord
EPS = np.finfo(float).eps
NODE, AROUND = 0, [1, 2, 4]
SEQUENCE = np.random.default_rng(3).integers(0, 5, 40).tolist()
HONEST = [[], [1], [2, 4], AROUND]


def averaging(network=RING, d=None):
    return sv.averaging(network, np.zeros(network.n if d is None else (network.n, d)))


def nats(problem, schedule=None, **changes):
    settings = {"node": NODE, "honest": [1], "theta": 0.8, "c": 0.4, "variance": 0.5, "iterations": 0, **changes}
    return snapshot_information(problem, sv.Synchronous() if schedule is None else schedule, **settings).nats


def channel(signal_to_noise):
    """``I`` of a Gaussian channel."""
    return 0.5 * np.log1p(signal_to_noise)


# By hand


@pytest.mark.parametrize("honest", HONEST, ids=str)
@pytest.mark.parametrize(
    ("c", "variance", "secret"), [(0.4, 0.5, 1.0), (3.0, 2.0, 0.1), (0.01, 1e8, 1.0), (1, 1e-9, 5)]
)
def test_the_first_iteration_by_hand(honest, c, variance, secret):
    """``x = -(q + G)/(2 + c d)`` with ``G = sum_j A_ij z_{i|j}`` and ``q = -2s``, so that with ``g = c d/(2 + c d)``

        Y = 2 x + q + G_h = g (q + G_h) - (1 - g) G_c,

    the pads of honest neighbours in ``G_h``, those of corrupt ones in ``G_c``.
    """
    d, h = len(AROUND), len(honest)
    g = c * d / (2 + c * d)
    noise = variance * (g**2 * h + (1 - g) ** 2 * (d - h))
    got = nats(averaging(), honest=honest, c=c, variance=variance, secret_variance=secret)
    assert got == pytest.approx(channel(4 * g**2 * secret / noise), rel=1e-12)


def test_all_honest_and_none_honest_at_first():
    """All: ``Y = -c d x``, the mask is the sum of ``d`` pads, whatever ``c``. None: ``Y`` is the gradient; its noise is
    the pads in ``x``, which a small ``c`` magnifies. (Whoever knows ``x`` besides, as eq. 8 assumes, knows ``s``.)"""
    for c in (0.1, 0.4, 5.0):
        assert nats(averaging(), honest=AROUND, c=c) == pytest.approx(channel(4 / (0.5 * 3)), rel=1e-12)
        assert nats(averaging(), honest=[], c=c) == pytest.approx(channel((3 * c) ** 2 / (0.5 * 3)), rel=1e-12)


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()])
def test_all_honest_and_none_honest_at_last(schedule):
    """Once ``x`` is the mean of the secrets. All: ``Y = -c d x`` reveals the mean, ``-ln(1 - 1/n)/2``, the floor that
    no mask touches. None: ``Y = 2 (mean - s)``, whose correlation with ``s`` is ``-sqrt(1 - 1/n)``: ``ln(n)/2``."""
    n = RING.n
    # 800 iterations leave less than 1e-16 of the pads in Psi (see test_moments).
    run = {"schedule": schedule, "iterations": 800, "every": 800, "seed": 1, "variance": 100.0}
    assert nats(averaging(), honest=AROUND, **run)[-1] == pytest.approx(-0.5 * np.log(1 - 1 / n), abs=1e-10)
    assert nats(averaging(), honest=[], **run)[-1] == pytest.approx(0.5 * np.log(n), abs=1e-10)


@pytest.mark.parametrize("honest", [[1], [2, 4]], ids=str)
def test_some_honest_neighbours_keep_the_mask(honest):
    """Pads stay in ``Psi_perp`` for good: late information still falls in proportion to their variance."""
    run = {"honest": honest, "iterations": 800, "every": 800}
    late = [nats(averaging(), variance=variance, **run)[-1] for variance in (1e4, 1e6, 1e8)]
    # ln(1 + r)/2 = r/2 - r^2/4 with r below 4/(0.01 variance).
    assert late[0] / late[1] == pytest.approx(100, rel=0.04)
    assert late[1] / late[2] == pytest.approx(100, rel=4e-4)
    assert late[0] < 0.01


@pytest.mark.parametrize("honest", HONEST[1:], ids=str)
def test_more_noise_less_information(honest):
    curves = [
        nats(averaging(), sv.Asynchronous(), honest=honest, variance=v, iterations=60, seed=2) for v in (0.5, 1, 8)
    ]
    assert (curves[0] > curves[1] + 1e-6).all()
    assert (curves[1] > curves[2] + 1e-6).all()
    # Only the ratio of the two variances counts.
    scaled = nats(averaging(), sv.Asynchronous(), honest=honest, variance=80, secret_variance=10, iterations=60, seed=2)
    np.testing.assert_allclose(scaled, curves[2], rtol=1e-11)


def test_entries_of_a_vector_are_independent_secrets():
    one, three = (nats(averaging(d=d), sv.Asynchronous(), iterations=30, seed=2) for d in (None, 3))
    np.testing.assert_allclose(three, 3 * one, rtol=1e-12)


def test_the_recorded_iterations():
    whole = snapshot_information(
        averaging(), sv.Trace(SEQUENCE), node=0, honest=[1], theta=0.8, c=0.4, variance=0.5, iterations=40
    )
    some = snapshot_information(
        averaging(), sv.Trace(SEQUENCE), node=0, honest=[1], theta=0.8, c=0.4, variance=0.5, iterations=40, every=8
    )
    assert whole.iterations.tolist() == list(range(41))
    assert some.iterations.tolist() == [0, 8, 16, 24, 32, 40]
    np.testing.assert_array_equal(some.nats, whole.nats[::8])
    assert (whole.stderr == 0).all()
    assert whole.method == "exact, linear-Gaussian"


def test_normalised_is_the_share_that_is_explained():
    rho2 = np.array([0.0, 1e-12, 0.3, 0.99])
    information = Information(np.arange(4), -0.5 * np.log1p(-rho2), np.zeros(4), "")
    np.testing.assert_allclose(information.normalised, rho2, rtol=1e-12)
    assert Information(np.arange(1), np.array([np.inf]), np.zeros(1), "").normalised == 1


# A dense computation of its own


def constrained(rng, d=2, rows=2):
    A = {(i, j): rng.normal(size=(rows, d)) for i, j in RING.half_edges.tolist()}
    b = {(i, j): rng.normal(size=rows) for i, j in RING.edges.tolist()}
    roots = rng.normal(size=(5, d, d))
    costs = [sv.Quadratic(root @ root.T + np.eye(d), rng.normal(size=d)) for root in roots]
    return sv.Problem(RING.with_constraints(A, b), costs)


def dense_information(problem, sequence, *, node, honest, theta, c, variance, secret_variance):
    """``-1/2 ln(1 - rho^2)``, or its matrix form, from the joint covariance of ``(s, z(0))`` pushed through the
    iteration.

    Each node wakes alone; ``None`` in the sequence is everybody at once. The columns are ``(z(0), s)``.
    """
    network, d, form = problem.network, problem.dim, problem.quadratic
    pairs = [tuple(pair) for pair in network.half_edges.tolist()]
    sizes = np.diff(problem.rows)
    M, N = int(sizes.sum()), network.n * d
    general = network.constraints
    A = {p: (1 if p[0] > p[1] else -1) * np.eye(d) if general is None else general.A[h] for h, p in enumerate(pairs)}
    start = np.eye(M, M + N)
    z = {pair: start[problem.rows[h] : problem.rows[h + 1]] for h, pair in enumerate(pairs)}
    s = [np.eye(N, M + N, M)[i * d : (i + 1) * d] for i in range(network.n)]
    Q = [form.Q[i] if form.Q.ndim == 3 else form.Q[i] * np.eye(d) for i in range(network.n)]

    def argmin(i):
        around = network.neighbours(i).tolist()
        H = Q[i] + c * sum(A[i, j].T @ A[i, j] for j in around)
        return np.linalg.solve(H, Q[i] @ s[i] - sum(A[i, j].T @ z[i, j] for j in around))

    prior = np.diag(np.r_[np.full(M, variance), np.full(N, secret_variance)])
    found = []
    for wakes in [*sequence, ()]:
        Y = Q[node] @ (argmin(node) - s[node]) + sum((A[node, j].T @ z[node, j] for j in honest), np.zeros((d, M + N)))
        joint = np.concatenate([s[node], Y])
        joint = joint @ prior @ joint.T
        correlation = joint / np.sqrt(np.outer(np.diag(joint), np.diag(joint)))
        log_dets = [np.linalg.slogdet(part)[1] for part in (correlation[:d, :d], correlation[d:, d:], correlation)]
        found.append(0.5 * (log_dets[0] + log_dets[1] - log_dets[2]))
        awake = range(network.n) if wakes is None else [wakes] if wakes != () else []
        sent = {}
        for i in awake:
            x = argmin(i)
            for j in network.neighbours(i).tolist():
                sent[j, i] = (1 - theta) * z[j, i] + theta * (z[i, j] + 2 * c * A[i, j] @ x)
        z.update(sent)
    return np.array(found)


@pytest.mark.parametrize("honest", HONEST, ids=str)
@pytest.mark.parametrize(("theta", "c", "variance"), [(1.0, 0.4, 0.5), (0.5, 2.0, 30.0)])
@pytest.mark.parametrize("name", ["averaging", "curvatures", "dense", "constrained", "one row"])
def test_against_a_dense_computation(rng, name, theta, c, variance, honest):
    problem = {
        "averaging": averaging(),
        "curvatures": sv.Problem(RING, [sv.Quadratic(0.5 + i, 0.0) for i in range(5)]),
        "dense": sv.least_squares(RING, shards(rng, 5, 4, 2)),
        "constrained": constrained(rng),
        "one row": constrained(rng, rows=1),
    }[name]
    settings = {"honest": honest, "theta": theta, "c": c, "variance": variance, "secret_variance": 1.5}
    for schedule, sequence in ((sv.Synchronous(), [None] * 15), (sv.Trace(SEQUENCE), SEQUENCE)):
        got = nats(problem, schedule, iterations=len(sequence), **settings)
        want = dense_information(problem, sequence, node=NODE, **settings)
        # What is left of S is 1 - rho^2 = exp(-2 I), and the joint determinant knows it to some eps. I is below 3 nats,
        # but for general constraints that determine x by themselves: then the gradient alone gives s away in the end.
        assert (np.abs(got - want) <= np.maximum(1e-10, 100 * EPS * np.exp(2 * want))).all()
        assert want.max() < (9 if name == "constrained" and not honest else 3) * problem.dim


def test_by_seed_and_by_its_trace():
    problem = averaging()
    for schedule in (sv.Asynchronous(), sv.Asynchronous(rates=[1, 2, 3, 4, 5])):
        trace = schedule.nodes(RING, key_of(9), 0, 30)
        by_seed = nats(problem, schedule, iterations=30, seed=9)
        np.testing.assert_array_equal(by_seed, nats(problem, sv.Trace(trace), iterations=30))


# Samples


def sampled(k, nodes, *, theta, c, variance, draws, rng):
    """``(S_i, Y_i(k))`` from ``solve``: every entry of the vectors is a draw of secrets and of pads."""
    s = rng.normal(size=(RING.n, draws))
    z0 = np.sqrt(variance) * rng.normal(size=(2 * RING.m, draws))
    problem = sv.averaging(RING, s)
    schedules = [sv.Synchronous()] * 2 if nodes is None else [sv.Trace(nodes[:k]), sv.Trace([*nodes[:k], NODE])]
    settings = {"theta": theta, "c": c, "tol": 0}
    z = z0 if k == 0 else sv.solve(problem, schedule=schedules[0], z0=z0, max_iter=k, **settings).z
    x = sv.solve(problem, schedule=schedules[1], z0=z0, max_iter=k + 1, **settings).x[NODE]
    half = {tuple(pair): h for h, pair in enumerate(RING.half_edges.tolist())}
    signs = {j: 1 if j < NODE else -1 for j in AROUND}
    return s[NODE], lambda honest: 2 * (x - s[NODE]) + sum(signs[j] * z[half[NODE, j]] for j in honest)


@pytest.mark.parametrize("nodes", [None, SEQUENCE], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize("k", [0, 1, 4, 17, 39])
def test_against_samples(rng, k, nodes):
    """The correlation of ``S_i`` and ``Y_i`` in 20,000 runs, within 4 standard errors on Fisher's scale."""
    draws, run = 20_000, {"theta": 0.8, "c": 0.4, "variance": 0.5}
    S, observe = sampled(k, nodes, draws=draws, rng=rng, **run)
    for honest in HONEST:
        Y = observe(honest)
        exact = nats(
            averaging(), sv.Synchronous() if nodes is None else sv.Trace(nodes), honest=honest, iterations=k, **run
        )[-1]
        found = np.abs(np.arctanh(np.corrcoef(S, Y)[0, 1]))
        assert abs(found - np.arctanh(np.sqrt(-np.expm1(-2 * exact)))) < 4 / np.sqrt(draws - 3)


def test_the_estimator_on_snapshots(rng):
    S, observe = sampled(4, SEQUENCE, theta=0.8, c=0.4, variance=0.5, draws=5000, rng=rng)
    exact = nats(averaging(), sv.Trace(SEQUENCE), iterations=4)[-1]
    estimate, stderr = estimated_information(S, observe([1]))
    assert abs(estimate - exact) < 4 * stderr + 0.02  # the bias for Gaussian pairs, see below
    assert exact > 10 * stderr


# The Gaussian formula


def test_little_noise_is_no_reason_for_infinity():
    """``ln det`` of what is left, not of a difference: right to rounding however little is left, in any dimension."""
    for variance in (1e-4, 1e-8, 1e-16, 1e-30):
        for d in (1, 2, 5):
            got = nats(averaging(d=d), honest=AROUND, variance=variance)
            assert got == pytest.approx(d * channel(4 / (3 * variance)), rel=1e-12)


def test_gaussian_information_by_hand(rng):
    assert gaussian_information(np.array([[3.0]]), np.array([[2.0]])) == pytest.approx(0.5 * np.log(2.5), rel=1e-14)
    signal, noise = (root @ root.T for root in rng.normal(size=(2, 3, 3)))
    expected = 0.5 * np.log(np.linalg.det(np.eye(3) + np.linalg.solve(noise, signal)))
    assert gaussian_information(signal, noise) == pytest.approx(expected, rel=1e-10)
    mixed = rng.normal(size=(3, 3))  # an invertible view is the same view
    assert gaussian_information(mixed @ signal @ mixed.T, mixed @ noise @ mixed.T) == pytest.approx(expected, rel=1e-9)
    assert gaussian_information(np.zeros((2, 2)), np.eye(2)) == 0
    # No noise at all, or none in one direction: S is given away. Nothing seen in a direction: nothing learnt from it.
    assert gaussian_information(np.eye(2), np.zeros((2, 2))) == np.inf
    assert gaussian_information(np.eye(2), np.diag([1.0, 0.0])) == np.inf
    assert gaussian_information(np.diag([3.0, 0.0]), np.diag([1.0, 0.0])) == pytest.approx(channel(3.0), rel=1e-14)


# The estimator


@pytest.mark.parametrize("rho", [0.0, 0.3, -0.6, 0.9, 0.99])
def test_the_estimator_on_gaussian_pairs(rng, rho):
    s, e = rng.normal(size=(2, 10_000))
    estimate, stderr = estimated_information(s, rho * s + np.sqrt(1 - rho**2) * e)
    # 0.02 is the bias, the mean over eight samples of this size: 0.001 up to rho = 0.9, 0.014 at 0.99, and 0.005 at 0,
    # where negative estimates are cut off.
    assert abs(estimate + 0.5 * np.log(1 - rho**2)) < 3 * stderr + 0.02
    assert 0 < stderr < 0.02
    assert estimate >= 0


@pytest.mark.parametrize("a", [1.0, 0.3])
def test_the_estimator_on_uniform_noise(rng, a):
    """``Y = S + a U``, both uniform: ``Y`` is a trapezium, ``h(Y) = a/2``, and ``h(Y|S) = ln a``: ``a/2 - ln a``."""
    s, u = rng.uniform(size=(2, 10_000))
    estimate, stderr = estimated_information(s, s + a * u)
    # The bias at the edges of the density, mean over eight samples: -0.013 for both.
    assert abs(estimate - (a / 2 - np.log(a))) < 3 * stderr + 0.03


def test_the_estimator_does_not_care_about_units(rng):
    s, e = rng.normal(size=(2, 4000))
    one, _ = estimated_information(s, 0.6 * s + 0.8 * e)
    other, _ = estimated_information(1e-3 * s, 1e8 * (0.6 * s + 0.8 * e) + 5e8)
    assert one == pytest.approx(
        other, abs=0.01
    )  # ties are broken by noise of 1e-10, and sums of logarithms move a little


def test_the_standard_error_is_the_spread_over_samples():
    """Of 24 samples: a standard deviation from 24 values is known to 1/sqrt(48) = 14 %, each stderr to 1/sqrt(18)."""
    found = []
    for seed in range(24):
        s, e = np.random.default_rng(seed).normal(size=(2, 1000))
        found.append(estimated_information(s, 0.6 * s + 0.8 * e))
    estimates, stderrs = np.array(found).T
    assert estimates.std(ddof=1) / np.sqrt(np.mean(stderrs**2)) == pytest.approx(1, abs=4 * 0.15)
    # Not the mean of small parts, which is biased: on 100 samples a correlation of 0.9999 looks like half of it.
    s, e = np.random.default_rng(0).normal(size=(2, 2000))
    rho = 0.9999
    estimate, stderr = estimated_information(s, rho * s + np.sqrt(1 - rho**2) * e)
    assert abs(estimate + 0.5 * np.log(1 - rho**2)) < 3 * stderr + 0.1


# Refusals


def test_who_and_with_whom_is_checked():
    for node in (-1, 5):
        with pytest.raises(InvalidInput, match=rf"there is no node {node}; nodes are 0 to 4"):
            nats(averaging(), node=node)
    with pytest.raises(InvalidInput, match="3 is not a neighbour of node 0; those are 1, 2, 4"):
        nats(averaging(), honest=[1, 3])
    with pytest.raises(InvalidInput, match="0 is not a neighbour of node 0"):
        nats(averaging(), honest=[0])


@pytest.mark.parametrize("name", ["variance", "secret_variance"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_variances_must_be_positive(name, value):
    with pytest.raises(InvalidInput, match=f"{name} must be positive; got {value}"):
        nats(averaging(), **{name: value})


def test_costs_that_hold_no_secret_are_refused():
    with pytest.raises(Unsupported, match="quadratic"):
        nats(sv.Problem(RING, [sv.Huber(1.0)] * 5))
    singular = sv.Problem(RING, [sv.Quadratic(np.diag([1.0, 0.0]), [0.0, 0.0])] * 5)
    with pytest.raises(Unsupported, match="node 0: Q is singular"):
        nats(singular)


def test_the_estimator_refuses_what_it_cannot_use(rng, monkeypatch):
    with pytest.raises(InvalidInput, match="at least 200; got 100 and 100"):
        estimated_information(np.zeros(100), np.zeros(100))
    with pytest.raises(InvalidInput, match="as many secrets as observations, at least 200; got 300 and 299"):
        estimated_information(np.zeros(300), np.zeros(299))
    with pytest.raises(InvalidInput, match="folds must be at least 2"):
        estimated_information(np.zeros(300), np.zeros(300), folds=1)
    monkeypatch.setitem(sys.modules, "sklearn.feature_selection", None)
    with pytest.raises(MissingExtra, match=r"estimating information needs scikit-learn.*sottovoce\[information\]"):
        estimated_information(rng.normal(size=300), rng.normal(size=300))
