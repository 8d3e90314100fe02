"""Exact moments against direct runs, dense products written out (theory: The iteration), enumeration, and sampling."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from helpers import shards
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.pdmm.schedules import key_of
from sottovoce.privacy.moments.exact_moments import (
    LinearRun,
    covariance,
    monte_carlo,
    psi_basis,
    sequence_variances,
)
from sottovoce.privacy.moments.perp_formulas import perp_covariance, perp_variance
from sottovoce.privacy.moments.random_moments import RandomMoments, random_variances

EPS = np.finfo(float).eps
THETAS = [1.0, 0.8, 0.5, 0.3]


# Problems of every kind, and the iteration in dense matrices


def constrained(network, rng, d=2, rows=2):
    """General blocks, ``b != 0`` and dense ``Q``, every node of dimension ``d``, ``rows`` equations an edge."""
    A = {(i, j): rng.normal(size=(rows, d)) for i, j in network.half_edges.tolist()}
    b = {(i, j): rng.normal(size=rows) for i, j in network.edges.tolist()}
    roots = rng.normal(size=(network.n, d, d))
    costs = [sv.Quadratic(root @ root.T + np.eye(d), rng.normal(size=d)) for root in roots]
    return sv.Problem(network.with_constraints(A, b), costs)


def problems(network, rng):
    n = network.n
    return {
        "averaging": sv.averaging(network, rng.normal(size=n)),
        "vectors": sv.averaging(network, rng.normal(size=(n, 3))),
        "dense": sv.least_squares(network, shards(rng, n, 4, 2)),
        "mixed": sv.Problem(network, [sv.Quadratic(0.5 + i, [1.0 * i]) for i in range(n)]),
        "constrained": constrained(network, rng),
        "one row": constrained(network, rng, d=2, rows=1),
    }


NAMES = ["averaging", "vectors", "dense", "mixed", "constrained", "one row"]


class Dense:
    """theory: The iteration, node by node, as matrices: ``x = X z + Xq q + x0`` and ``y = Y z + Yq q + y0``."""

    def __init__(self, problem, c):
        network, rows, columns = problem.network, problem.rows, problem.columns
        M, N, form = rows[-1], columns[-1], problem.quadratic
        pairs = [tuple(pair) for pair in network.half_edges.tolist()]
        place = {pair: slice(rows[h], rows[h + 1]) for h, pair in enumerate(pairs)}
        self.X, self.Xq, self.x0 = np.zeros((N, M)), np.zeros((N, N)), np.zeros(N)
        self.Y, self.Yq, self.y0 = np.zeros((M, M)), np.zeros((M, N)), np.zeros(M)
        self.writer = np.empty(M, dtype=int)
        self.message = np.repeat(np.arange(len(pairs)), np.diff(rows))
        self.own = [slice(columns[i], columns[i + 1]) for i in range(network.n)]
        d = problem.dim
        for i in range(network.n):
            own, around = self.own[i], network.neighbours(i).tolist()
            A, b = {}, {}
            for j in around:
                if network.constraints is None:
                    A[j], b[j] = (1 if i > j else -1) * np.eye(d), np.zeros(d)
                else:
                    A[j], b[j] = network.constraints.A[pairs.index((i, j))], network.constraints.b[place[i, j]]
            Q = form.Q[i] if form.Q.ndim == 3 else form.Q[i] * np.eye(d)
            inverse = np.linalg.inv(Q + c * sum(A[j].T @ A[j] for j in around))
            self.Xq[own, own] = -inverse
            for j in around:
                self.X[own, place[i, j]] = -inverse @ A[j].T
                self.x0[own] += inverse @ A[j].T @ b[j] * c / 2
            for j in around:
                sent = place[j, i]
                self.writer[sent] = i
                self.Y[sent] = 2 * c * A[j] @ self.X[own]
                self.Y[sent, place[i, j]] += np.eye(len(b[j]))
                self.Yq[sent] = 2 * c * A[j] @ self.Xq[own]
                self.y0[sent] = c * (2 * A[j] @ self.x0[own] - b[j])

    def T(self, U, theta):
        """``dz(k+1)/dz(k)`` where the entries with ``U = 1`` are updated."""
        U = np.diag(np.asarray(U, dtype=float))
        return np.eye(len(U)) + theta * U @ (self.Y - np.eye(len(U)))

    def by_nodes(self, nodes):
        return np.isin(self.writer, list(nodes))


def projector(problem):
    C = problem.C.toarray()
    B = np.concatenate([C, C[problem.P]], axis=1)
    return B @ np.linalg.pinv(B)


def means(Sigma, Pi):
    """What ``Variances`` holds, from a covariance."""
    perp = np.eye(len(Pi)) - Pi
    return [np.trace(S) / len(Pi) for S in (Sigma, Pi @ Sigma @ Pi, perp @ Sigma @ perp)]


TRIANGLE = sv.Network.complete(3)
RING = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)])  # a ring with a chord
SEQUENCE = np.random.default_rng(3).integers(0, 5, 40).tolist()
NODE_SETS = [[0, 2], [1], [], [3, 4, 0], [1, 2, 3]] * 8
HALF_EDGES = [np.flatnonzero(np.random.default_rng(k).random(12) < 0.4) for k in range(40)]
SCHEDULES = {
    "synchronous": sv.Synchronous(),
    "asynchronous": sv.Asynchronous(),
    "rates": sv.Asynchronous(rates=[1, 2, 3, 4, 5]),
    "poisson": sv.PoissonClocks([5, 4, 3, 2, 1]),
    "nodes": sv.Trace(SEQUENCE),
    "node sets": sv.Trace(node_sets=NODE_SETS),
    "half-edges": sv.Trace(half_edges=HALF_EDGES),
    "node Bernoulli": sv.NodeBernoulli(0.6),
    "edge Bernoulli": sv.EdgeBernoulli(0.7),
    "delayed": sv.Delayed(4),
}


# One activation sequence


@pytest.mark.parametrize("theta", [1.0, 0.7])
@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())
@pytest.mark.parametrize("name", NAMES)
def test_the_map_gives_what_a_run_gives(rng, name, schedule, theta):
    """``z(k) = M z(0) + L q + t``, and the same for ``x``: against ``solve`` on random ``z(0)``."""
    problem = problems(RING, rng)[name]
    run = LinearRun(problem, schedule, theta=theta, c=0.4, seed=7)
    q = problem.quadratic.q.ravel()
    for k in (1, 12, 40):
        run.advance(k - run.iteration)
        z0 = 10 * rng.normal(size=(3, run.rows))
        batch = z0.reshape((3, len(problem.rows) - 1, -1)) if problem.shape != () else z0
        result = sv.solve(problem, schedule=schedule, theta=theta, c=0.4, z0=batch, batch=3, seed=7, tol=0, max_iter=k)
        t = run.stacked_z()[:, -1]
        # 40 non-expansive iterations round at eps |z|, on both sides.
        bound = 100 * 40 * EPS * max(np.abs(z0).max(), np.abs(q).max())
        assert np.abs(z0 @ run.M.T + run.L @ q + t - result.z.reshape(3, -1)).max() < bound
        x = run.stacked_x() @ np.concatenate([z0.T, np.tile(q[:, None], 3), np.ones((1, 3))])
        assert np.abs(x.T - result.x.reshape(3, -1)).max() < bound
    assert (np.abs(t).max() > 0.1) == (not problem.consensus)  # b is in play


@pytest.mark.parametrize("name", NAMES)
def test_fresh_is_the_next_argmin(rng, name):
    """``fresh`` is what a node would compute now: what a synchronous run computes next."""
    problem = problems(RING, rng)[name]
    run = LinearRun(problem, sv.Synchronous(), theta=0.8, c=0.4)
    run.advance(3)
    fresh = run.fresh()
    run.advance(1)
    np.testing.assert_array_equal(fresh, run.stacked_x())


def test_the_map_by_differences(rng):
    """``M`` column by column: what a unit of one entry of ``z(0)`` changes."""
    problem = sv.averaging(RING, rng.normal(size=5))
    arguments = {"schedule": sv.Asynchronous(), "theta": 0.8, "c": 0.4, "seed": 2, "tol": 0, "max_iter": 30}
    run = LinearRun(problem, sv.Asynchronous(), theta=0.8, c=0.4, seed=2)
    run.advance(30)
    at_zero = sv.solve(problem, **arguments).z
    units = sv.solve(problem, z0=np.eye(12), batch=12, **arguments).z
    np.testing.assert_allclose(run.M, (units - at_zero).T, atol=30 * 10 * EPS)


def updates(name, dense, network, k):
    """``U`` at iteration ``k`` of the schedules whose sequence is known."""
    if name == "synchronous":
        return np.ones(len(dense.writer))
    if name == "nodes":
        return dense.by_nodes([SEQUENCE[k]])
    if name == "node sets":
        return dense.by_nodes(NODE_SETS[k])
    if name == "half-edges":
        return np.isin(dense.message, HALF_EDGES[k])
    if name == "asynchronous":
        return dense.by_nodes(SCHEDULES[name].nodes(network, key_of(7), k, 1))
    return SCHEDULES[name].sets(network, key_of(7), k)[1][dense.message]


@pytest.mark.parametrize("theta", [1.0, 0.6])
@pytest.mark.parametrize("schedule", [name for name in SCHEDULES if name not in ("rates", "poisson", "delayed")])
@pytest.mark.parametrize("name", NAMES)
def test_covariances_are_products_of_dense_matrices(rng, name, schedule, theta):
    problem = problems(RING, rng)[name]
    dense, Pi = Dense(problem, c=0.4), projector(problem)
    arguments = {"theta": theta, "c": 0.4, "seed": 7}
    variances = sequence_variances(problem, SCHEDULES[schedule], variance=2.5, iterations=20, every=4, **arguments)
    assert variances.iterations.tolist() == [0, 4, 8, 12, 16, 20]
    run = LinearRun(problem, SCHEDULES[schedule], **arguments)
    M = np.eye(len(Pi))
    for k in range(21):
        # 20 products of matrices with norm at most about 1, and |z| up to the condition of general blocks.
        np.testing.assert_allclose(covariance(run, 2.5), 2.5 * M @ M.T, atol=1e-12)
        if k % 4 == 0:
            found = [variances.z[k // 4], variances.z_psi[k // 4], variances.z_perp[k // 4]]
            np.testing.assert_allclose(found, means(2.5 * M @ M.T, Pi), atol=1e-12)
        M = dense.T(updates(schedule, dense, RING, k), theta) @ M
        run.advance(1)


def test_a_tree_has_nothing_outside_psi(rng):
    for network in (sv.Network.star(5), sv.Network.grid(1, 6)):
        problem = sv.averaging(network, rng.normal(size=network.n))
        arguments = {"theta": 0.8, "c": 0.4, "variance": 3.0, "iterations": 9}
        for variances in (
            sequence_variances(problem, sv.Asynchronous(), seed=1, **arguments),
            random_variances(problem, sv.Asynchronous(), **arguments),
        ):
            assert (variances.z_perp == 0).all()
            np.testing.assert_allclose(variances.z_psi, variances.z, rtol=1e-14)


class Rational:
    """``M_k`` of averaging on a triangle, in fractions."""

    pairs = tuple(tuple(pair) for pair in TRIANGLE.half_edges.tolist())

    def __init__(self, theta, c):
        self.theta, self.c = Fraction(theta), Fraction(c)
        # Psi_perp is one circulation: sum_j A_ij v_ij = 0 at every node and v_ij = v_ji.
        self.circulation = dict(zip(self.pairs, (1, -1, 1, 1, -1, 1), strict=True))
        self.columns = [{pair: Fraction(pair == unit) for pair in self.pairs} for unit in self.pairs]

    def advance(self):
        self.columns = [self.step(column) for column in self.columns]

    def step(self, z):
        sign = {(i, j): 1 if i > j else -1 for i, j in self.pairs}
        x = [-sum(sign[i, j] * z[i, j] for j in range(3) if j != i) / (2 + 2 * self.c) for i in range(3)]
        y = {(j, i): z[i, j] + 2 * self.c * sign[i, j] * x[i] for i, j in self.pairs}
        return {pair: (1 - self.theta) * z[pair] + self.theta * y[pair] for pair in self.pairs}

    @property
    def M(self):
        """In extended precision."""
        with localcontext() as context:
            context.prec = 40
            rows = [[column[row] for column in self.columns] for row in self.pairs]
            return np.array([[np.longdouble(str(Decimal(v.numerator) / v.denominator)) for v in row] for row in rows])

    @property
    def variances(self):
        """Of ``Z_Psi`` and of ``Z_perp``, for a unit variance."""
        total = sum(value**2 for column in self.columns for value in column.values())
        outside = sum(sum(self.circulation[pair] * column[pair] for pair in self.pairs) ** 2 for column in self.columns)
        return float((total - outside / 6) / 6), float(outside / 36)


WIDE = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="longdouble is no wider than float64 here")


@WIDE
def test_extended_precision_of_what_has_decayed():
    """The variance of ``Z_Psi`` after it has fallen by 30 orders of magnitude, against fractions."""
    exact, rows = Rational(0.75, 0.5), []
    for _ in range(101):
        rows.append(exact.variances)
        exact.advance()
    psi, perp = np.array(rows).T
    problem = sv.averaging(TRIANGLE, np.zeros(3))
    arguments = {"theta": 0.75, "c": 0.5, "variance": 1.0, "iterations": 100}
    wide = sequence_variances(problem, sv.Synchronous(), dtype=np.longdouble, **arguments)
    narrow = sequence_variances(problem, sv.Synchronous(), **arguments)
    some = psi > 1e-32
    assert psi[some].min() < 1e-31
    # M is known to a few eps of its type, 1e-18 against the sqrt(1e-32) = 1e-16 that is squared.
    np.testing.assert_allclose(wide.z_psi[some], psi[some], rtol=0.05)
    np.testing.assert_allclose(wide.z_psi[psi > 1e-24], psi[psi > 1e-24], rtol=1e-5)
    np.testing.assert_allclose(narrow.z_psi[psi > 1e-18], psi[psi > 1e-18], rtol=1e-5)
    np.testing.assert_allclose(wide.z_perp, perp, rtol=1e-15)


@WIDE
def test_extended_precision_of_the_map():
    """Every product in the wider type: ``1 - theta``, ``c d_i`` and the inverse, too."""
    exact = Rational(0.3, 0.4)
    run = LinearRun(sv.averaging(TRIANGLE, np.zeros(3)), sv.Synchronous(), theta=0.3, c=0.4, dtype=np.longdouble)
    for k in range(1, 31):
        exact.advance()
        run.advance(1)
        # A few roundings an iteration of numbers below 1.
        assert np.abs(run.M - exact.M).max() < 2 * (k + 2) * np.finfo(np.longdouble).eps


# Random schedules


def averages(dense, schedule, network):
    """Every ``U`` of the schedule with its probability."""
    n, messages = network.n, dense.message[-1] + 1
    if isinstance(schedule, sv.Asynchronous):
        rates = np.ones(n) if schedule.rates is None else np.asarray(schedule.rates)
        return [(rate / rates.sum(), dense.by_nodes([i])) for i, rate in enumerate(rates)]
    of_nodes = isinstance(schedule, sv.NodeBernoulli)
    return [
        (
            schedule.p ** sum(bits) * (1 - schedule.p) ** (len(bits) - sum(bits)),
            np.array(bits)[dense.writer if of_nodes else dense.message],
        )
        for bits in product([0, 1], repeat=n if of_nodes else messages)
    ]


SQUARE = sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])  # with a diagonal
RANDOM = {
    "asynchronous": (SQUARE, sv.Asynchronous()),
    "rates": (SQUARE, sv.Asynchronous(rates=[1, 2, 3, 5])),
    "poisson": (SQUARE, sv.PoissonClocks([4, 1, 1, 2])),
    "node Bernoulli": (SQUARE, sv.NodeBernoulli(0.3)),
    "edge Bernoulli": (TRIANGLE, sv.EdgeBernoulli(0.7)),
    "edge Bernoulli on a path": (sv.Network.grid(1, 4), sv.EdgeBernoulli(0.2)),
}


@pytest.mark.parametrize(("theta", "c"), [(1.0, 0.4), (1.0, 3.0), (0.8, 0.4), (0.3, 0.1)])
@pytest.mark.parametrize(("network", "schedule"), RANDOM.values(), ids=RANDOM.keys())
@pytest.mark.parametrize("name", ["averaging", "dense", "mixed", "constrained", "one row"])
def test_second_moments_by_enumeration(rng, name, network, schedule, theta, c):
    """``Sigma <- sum_U Pr(U) T_U Sigma T_U'`` over all ``n`` nodes, ``2^n`` sets of nodes or ``2^{2m}`` of messages."""
    problem = problems(network, rng)[name]
    dense, Pi = Dense(problem, c), projector(problem)
    maps = [(p, dense.T(U, theta)) for p, U in averages(dense, schedule, network)]
    assert sum(p for p, _ in maps) == pytest.approx(1, abs=1e-14)
    moments = RandomMoments(problem, schedule, theta=theta, c=c, variance=2.5)
    variances = random_variances(problem, schedule, theta=theta, c=c, variance=2.5, iterations=6, every=2)
    Sigma = 2.5 * np.eye(len(Pi))
    weights, stack = np.array([p for p, _ in maps]), np.array([T for _, T in maps])
    for k in range(7):
        # A few thousand sums of products of order 1.
        np.testing.assert_allclose(moments.Sigma, Sigma, atol=1e-12)
        if k % 2 == 0:
            found = [variances.z[k // 2], variances.z_psi[k // 2], variances.z_perp[k // 2]]
            np.testing.assert_allclose(found, means(Sigma, Pi), atol=1e-12)
        Sigma = np.einsum("u,uij,jk,ulk->il", weights, stack, Sigma, stack, optimize=True)
        moments.advance(1)
    assert moments.iteration == 7


def test_second_moments_are_the_mean_over_sequences(rng):
    """The expectation over the schedule, against the exact covariances of sequences drawn by seed."""
    problem = sv.averaging(RING, rng.normal(size=5))
    arguments = {"theta": 0.8, "c": 0.4, "variance": 1.0, "iterations": 24, "every": 8}
    for schedule in (sv.Asynchronous(), sv.Asynchronous(rates=[1, 1, 2, 2, 6]), sv.NodeBernoulli(0.5)):
        expected = random_variances(problem, schedule, **arguments)
        drawn = [sequence_variances(problem, schedule, seed=seed, **arguments) for seed in range(100)]
        for name in ("z", "z_psi", "z_perp"):
            sample = np.array([getattr(one, name) for one in drawn])
            stderr = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
            assert (np.abs(sample.mean(axis=0) - getattr(expected, name)) <= 4 * stderr + 1e-12).all()


@pytest.mark.parametrize("rates", [None, np.arange(1.0, 13)], ids=["uniform", "rates"])
@pytest.mark.parametrize("theta", [1.0, 0.6])
def test_the_kernel_is_the_formula(network, theta, rates):
    """Compiled for scalars and one node at a time, in tiles; more than one of them, and the last one not full."""
    problem = sv.Problem(network, [sv.Quadratic(0.5 + i, 0.0) for i in range(12)])
    fast, slow = (
        RandomMoments(problem, sv.Asynchronous(rates), theta=theta, c=0.3, variance=2.0) for _ in range(2)
    )  # fmt: skip
    assert len(fast.Sigma) > 64
    assert len(fast.Sigma) % 32
    for _ in range(4):
        fast.advance(30)
        slow.advance_readable(30)
        # 120 non-expansive iterations, each summing some dozen terms of order 2.
        assert np.abs(fast.Sigma - slow.Sigma).max() < 1e-12
        assert np.array_equal(fast.Sigma, fast.Sigma.T)
        assert np.array_equal(slow.Sigma, slow.Sigma.T)
    assert np.abs(fast.Sigma - 2 * np.eye(len(fast.Sigma))).max() > 0.1


def test_synchronous_moments_are_those_of_the_sequence(network, rng):
    problem = sv.averaging(network, rng.normal(size=12))
    arguments = {"theta": 0.8, "c": 0.4, "variance": 1.0, "iterations": 30}
    one, other = (f(problem, sv.Synchronous(), **arguments) for f in (sequence_variances, random_variances))
    for name in ("iterations", "z", "z_psi", "z_perp"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-13)


@pytest.mark.parametrize("theta", THETAS)
def test_nothing_drifts_in_two_thousand_steps(theta, rng):
    """``F'`` stands for ``Sigma B'``: an error of rounding that breaks the symmetry must not grow."""
    problem = sv.averaging(RING, rng.normal(size=5))
    perp = np.eye(12) - projector(problem)
    closed = perp_covariance(problem, theta=theta, mu=1.0, variance=1.0, k=2000)
    moments = RandomMoments(problem, sv.Synchronous(), theta=theta, c=0.4, variance=1.0)
    run = LinearRun(problem, sv.Synchronous(), theta=theta, c=0.4)
    moments.advance(2000)
    run.advance(2000)
    for Sigma in (moments.Sigma, covariance(run, 1.0)):
        # Psi has converged by then, so all of z is left in Psi_perp.
        assert np.abs(Sigma - closed).max() < 1e-12
        assert np.abs(perp @ Sigma @ perp - closed).max() < 1e-12
    stochastic = RandomMoments(problem, sv.Asynchronous(), theta=theta, c=0.4, variance=1.0)
    stochastic.advance(1500)
    before = stochastic.Sigma.copy()
    stochastic.advance(200)
    assert np.abs(stochastic.Sigma - before).max() < 1e-12
    assert np.array_equal(stochastic.Sigma, stochastic.Sigma.T)
    assert np.linalg.eigvalsh(before)[0] > -1e-13
    assert np.abs(before - perp @ before @ perp).max() < 1e-12


# The paper's formulas


GRAPHS = {
    "odd ring": sv.Network.ring(5),
    "even ring": sv.Network.ring(6),
    "complete": sv.Network.complete(5),
    "grid": sv.Network.grid(3, 3),
    "tree": sv.Network.star(5),
    "geometric": sv.Network.random_geometric(10, seed=1),
}


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("network", GRAPHS.values(), ids=GRAPHS.keys())
def test_the_synchronous_equality(network, theta, rng):
    """Section 4: the covariance of ``Z_perp(k)`` is ``Pi_perp (sigma^2/2) ((I+P) + (1-2 theta)^{2k} (I-P))``."""
    for name, problem in problems(network, rng).items():
        if network.n > 6 and name not in ("averaging", "mixed"):
            continue  # as on the smaller graphs
        perp = np.eye(problem.rows[-1]) - projector(problem)
        P = np.eye(len(perp))[problem.P]
        dense, M = Dense(problem, c=0.7), np.eye(len(perp))
        T = dense.T(np.ones(len(perp)), theta)
        for k in range(12):
            got = perp_covariance(problem, theta=theta, mu=1.0, variance=2.0, k=k)
            by_hand = perp @ ((np.eye(len(perp)) + P) + (1 - 2 * theta) ** (2 * k) * (np.eye(len(perp)) - P))
            np.testing.assert_allclose(got, by_hand, atol=1e-12)
            # M has norm up to the condition number of the blocks, and is projected.
            np.testing.assert_allclose(got, 2.0 * perp @ M @ M.T @ perp, atol=1e-11)
            diagonal = perp_variance(problem, theta=theta, mu=1.0, variance=2.0, k=k)
            assert float(diagonal) == pytest.approx(np.diag(got).mean(), abs=1e-13)
            M = T @ M


def test_perp_variance_of_many_k_at_once(rng):
    for problem in problems(RING, rng).values():
        k = np.arange(9)
        at_once = perp_variance(problem, theta=0.8, mu=0.2, variance=3.0, k=k)
        one_by_one = [np.diag(perp_covariance(problem, theta=0.8, mu=0.2, variance=3.0, k=j)).mean() for j in k]
        np.testing.assert_allclose(at_once, one_by_one, atol=1e-14)


@st.composite
def networks(draw, largest=7):
    n = draw(st.integers(2, largest))
    edges = {(draw(st.integers(0, i - 1)), i) for i in range(1, n)}
    pairs = [(i, j) for j in range(n) for i in range(j)]
    return sv.Network.from_edges(n, sorted(edges | set(draw(st.lists(st.sampled_from(pairs), max_size=2 * n)))))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    network=networks(),
    kind=st.sampled_from([sv.Asynchronous, sv.NodeBernoulli, sv.EdgeBernoulli]),
    p=st.floats(0.02, 1),
    theta=st.floats(0.05, 1),
    log_c=st.floats(-2, 2),
    curvatures=st.lists(st.floats(0.1, 10), min_size=7, max_size=7),
)
def test_the_stochastic_lower_bound(network, kind, p, theta, log_c, curvatures):
    """Section 5, entry by entry and at every ``k``: the variance is never below ``theta mu``-averaged PDMM's."""
    schedule = kind() if kind is sv.Asynchronous else kind(p)
    problem = sv.Problem(network, [sv.Quadratic(a, 0.0) for a in curvatures[: network.n]])
    moments = RandomMoments(problem, schedule, theta=theta, c=10**log_c, variance=1.0)
    mu = schedule.mu(network)
    perp = np.eye(2 * network.m) - projector(problem)
    own, swapped = np.diag(perp), np.diag(perp[:, problem.P])
    for k in range(25):
        bound = ((own + swapped) + (1 - 2 * theta * mu) ** (2 * k) * (own - swapped)) / 2
        actual = np.diag(perp @ moments.Sigma @ perp)
        assert (actual >= bound - 1e-12).all()
        if k in (0, 24):
            got = perp_covariance(problem, theta=theta, mu=mu, variance=1.0, k=k)
            np.testing.assert_allclose(np.diag(got), bound, atol=1e-12)
        moments.advance(1)


def test_the_bound_is_an_equality_only_where_nothing_is_random(rng):
    """With ``p = 1`` it is the synchronous formula; with less it is strict as soon as something has been random."""
    problem = sv.averaging(RING, rng.normal(size=5))
    arguments = {"theta": 0.8, "c": 0.4, "variance": 1.0}
    k = np.arange(11)
    for kind in (sv.NodeBernoulli, sv.EdgeBernoulli):
        certain = random_variances(problem, kind(1.0), iterations=10, **arguments)
        np.testing.assert_allclose(
            certain.z_perp, perp_variance(problem, theta=0.8, mu=1.0, variance=1.0, k=k), atol=1e-13
        )
        half = random_variances(problem, kind(0.5), iterations=10, **arguments)
        assert (half.z_perp[1:] > perp_variance(problem, theta=0.8, mu=0.5, variance=1.0, k=k[1:]) + 0.01).all()


@pytest.mark.parametrize("network", GRAPHS.values(), ids=GRAPHS.keys())
def test_how_loose_the_bound_is_at_theta_one(network):
    """Erratum 6 of the paper: synchronous PDMM keeps all of ``Psi_perp``, the bound only its symmetric part, about half
    of it."""
    n, m = network.n, network.m
    problem = sv.averaging(network, np.zeros(n))
    bipartite = network.two_colouring is not None
    symmetric, antisymmetric = m - n + 1, m - n + bipartite
    synchronous = perp_variance(problem, theta=1.0, mu=1.0, variance=1.0, k=np.array([0, 1, 10**6]))
    bound = perp_variance(problem, theta=1.0, mu=1 / n, variance=1.0, k=10**6)
    np.testing.assert_allclose(synchronous, (symmetric + antisymmetric) / (2 * m), rtol=1e-14)
    assert float(bound) == pytest.approx(symmetric / (2 * m), abs=1e-15)
    if symmetric == 0:
        return  # a tree: nothing to keep
    # One half on a bipartite graph; one, with nothing lost, on an odd ring; else in between, and nearer to one half the
    # more edges there are.
    ratio = float(bound / synchronous[-1])
    assert ratio == pytest.approx(symmetric / (symmetric + antisymmetric))
    assert ratio == pytest.approx(1.0 if antisymmetric == 0 else 0.5, abs=0.05)
    # What asynchronous runs keep is above both.
    actual = random_variances(problem, sv.Asynchronous(), theta=1.0, c=0.4, variance=1.0, iterations=600, every=300)
    assert actual.z_psi[-1] < 1e-4
    assert actual.z_perp[-1] > float(synchronous[-1]) + 0.015


def enumerated(problem, schedule, *, theta, c, iterations):
    """What is kept of ``sigma^2`` in ``Z_perp``, by dense congruences over every ``U``."""
    dense, Pi = Dense(problem, c), projector(problem)
    maps = [(p, dense.T(U, theta)) for p, U in averages(dense, schedule, problem.network)]
    weights, stack, Sigma = np.array([p for p, _ in maps]), np.array([T for _, T in maps]), np.eye(len(Pi))
    for _ in range(iterations):
        Sigma = np.tensordot(weights, stack @ Sigma @ stack.transpose(0, 2, 1), 1)
    return means(Sigma, Pi)[2]


def test_the_numbers_on_a_graph_of_the_papers_kind():
    """``n = 10``, ``m = 37``, ``theta = 1``, ``c = 0.4``: what each scheme keeps of ``sigma^2`` in ``Z_perp``."""
    network = sv.Network.random_geometric(10, seed=1)
    assert (network.n, network.m) == (10, 37)
    problem = sv.averaging(network, np.zeros(10))
    arguments = {"theta": 1.0, "c": 0.4, "iterations": 100}
    assert float(perp_variance(problem, theta=1.0, mu=1.0, variance=1.0, k=10**6)) == pytest.approx(55 / 74)
    assert float(perp_variance(problem, theta=1.0, mu=0.1, variance=1.0, k=10**6)) == pytest.approx(28 / 74)
    keeps = random_variances(problem, sv.Asynchronous(), variance=1.0, every=100, **arguments).z_perp[-1]
    assert keeps == pytest.approx(0.81963, abs=1e-5)
    assert keeps == pytest.approx(enumerated(problem, sv.Asynchronous(), **arguments), abs=1e-12)


@pytest.mark.parametrize(
    ("schedule", "ratio"),
    [(sv.Asynchronous(), 1.4000), (sv.NodeBernoulli(0.9), 0.7888), (sv.EdgeBernoulli(0.9), 0.6701)],
    ids=["asynchronous", "node Bernoulli", "edge Bernoulli"],
)
def test_stochastic_is_not_always_better(schedule, ratio):
    """The paper's "higher than the original" fails at ``theta = 1`` where several nodes act at once: on a ring of four
    a packet loss of 10 % keeps two thirds of what no loss keeps. The bound, one half, holds."""
    problem = sv.averaging(sv.Network.ring(4), np.zeros(4))
    synchronous = float(perp_variance(problem, theta=1.0, mu=1.0, variance=1.0, k=100))
    arguments = {"theta": 1.0, "c": 2.0, "iterations": 100}
    keeps = random_variances(problem, schedule, variance=1.0, every=100, **arguments).z_perp[-1]
    assert keeps / synchronous == pytest.approx(ratio, abs=1e-4)
    assert keeps == pytest.approx(enumerated(problem, schedule, **arguments), abs=1e-12)
    bound = float(perp_variance(problem, theta=1.0, mu=schedule.mu(problem.network), variance=1.0, k=100))
    assert bound / synchronous == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(("theta", "n"), [(1.0, 10), (0.95, 10), (0.9, 10), (0.8, 4), (0.8, 3), (0.6, 3), (0.5, 2)])
def test_where_the_bound_implies_better_than_synchronous(theta, n):
    """Erratum 6 of the paper: for every ``k`` if and only if ``theta (1 + mu) <= 1``."""
    problem = sv.averaging(sv.Network.complete(6), np.zeros(6))
    k = np.arange(40)
    bound, synchronous = (perp_variance(problem, theta=theta, mu=mu, variance=1.0, k=k) for mu in (1 / n, 1.0))
    assert bool((bound >= synchronous - 1e-15).all()) == (theta * (1 + 1 / n) <= 1 + 1e-12)


# Sampling


@pytest.mark.parametrize("name", NAMES)
def test_monte_carlo_agrees_within_standard_errors(rng, name):
    problem = problems(RING, rng)[name]
    for schedule in (sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.6), sv.Delayed(2)):
        arguments = {"theta": 0.8, "c": 0.4, "variance": 4.0, "iterations": 30, "every": 6, "seed": 11}
        exact = sequence_variances(problem, schedule, **arguments)
        sampled = monte_carlo(problem, schedule, draws=3000, **arguments)
        np.testing.assert_array_equal(sampled.iterations, exact.iterations)
        for part in ("z", "z_psi", "z_perp"):
            off = np.abs(getattr(sampled, part) - getattr(exact, part))
            assert (off <= 4 * getattr(sampled, f"{part}_stderr") + 1e-12).all(), part


def test_standard_errors_are_the_right_size(rng):
    """For Gaussian draws the estimate has variance ``2 tr(Sigma^2) / ((B - 1) E^2)`` exactly."""
    problem = sv.averaging(RING, rng.normal(size=(5, 2)))
    draws, arguments = 4000, {"theta": 0.8, "c": 0.4, "seed": 11}
    sampled = monte_carlo(problem, sv.Synchronous(), variance=4.0, draws=draws, iterations=8, every=8, **arguments)
    run = LinearRun(problem, sv.Synchronous(), **arguments)
    run.advance(8)
    Sigma, Pi = covariance(run, 4.0), projector(problem)
    perp = np.eye(len(Pi)) - Pi
    for part, projection in (("z", np.eye(len(Pi))), ("z_psi", Pi), ("z_perp", perp)):
        S = projection @ Sigma @ projection
        expected = np.sqrt(2 * np.sum(S * S) / (draws - 1)) / len(Pi)
        # A standard deviation from B draws is known to sqrt((kurtosis - 1) / 4B), and no sum of squares of Gaussians
        # has a kurtosis above 15: 3 %.
        assert getattr(sampled, f"{part}_stderr")[-1] == pytest.approx(expected, rel=4 * 0.03)


def test_monte_carlo_for_other_costs(rng):
    """Huber: not quadratic, so ``Z_Psi`` is not affine in ``z(0)``; against variances of ``solve``'s own draws."""
    problem = sv.Problem(RING, [sv.Huber(float(v)) for v in rng.normal(size=5)])
    arguments = {"theta": 0.8, "c": 0.4, "seed": 5}
    draws = 400
    sampled = monte_carlo(problem, sv.Asynchronous(), variance=9.0, draws=draws, iterations=20, every=10, **arguments)
    Pi = projector(problem)
    for at, k in enumerate((10, 20), start=1):
        run = sv.solve(
            problem, schedule=sv.Asynchronous(), mask=sv.GaussianMask(9.0), batch=draws, tol=0, max_iter=k, **arguments
        )
        for part, z in (("z", run.z), ("z_psi", run.z @ Pi), ("z_perp", run.z - run.z @ Pi)):
            assert getattr(sampled, part)[at] == pytest.approx(z.var(axis=0, ddof=1).mean(), rel=1e-10)
            shares = ((z - z.mean(axis=0)) ** 2).mean(axis=1)
            stderr = shares.std(ddof=1) / np.sqrt(draws) * draws / (draws - 1)
            assert getattr(sampled, f"{part}_stderr")[at] == pytest.approx(stderr, rel=1e-10)
    # Psi_perp does not know the cost: every synchronous run has the paper's variance.
    synchronous = monte_carlo(problem, sv.Synchronous(), variance=9.0, draws=3000, iterations=9, **arguments)
    expected = perp_variance(problem, theta=0.8, mu=1.0, variance=9.0, k=np.arange(10))
    assert (np.abs(synchronous.z_perp - expected) <= 4 * synchronous.z_perp_stderr).all()


def test_monte_carlo_for_nodes_of_unequal_dimension(rng):
    dims = [1, 2, 3, 1, 2]
    A = {(i, j): rng.normal(size=(1 + (i + j) % 2, dims[i])) for i, j in RING.half_edges.tolist()}
    problem = sv.Problem(RING.with_constraints(A), [sv.Quadratic(2.0, np.ones(d)) for d in dims])
    sampled = monte_carlo(problem, sv.Synchronous(), theta=0.6, c=0.4, variance=1.0, draws=3000, iterations=5, seed=1)
    expected = perp_variance(problem, theta=0.6, mu=1.0, variance=1.0, k=np.arange(6))
    assert (np.abs(sampled.z_perp - expected) <= 4 * sampled.z_perp_stderr).all()
    np.testing.assert_allclose(sampled.z, sampled.z_psi + sampled.z_perp, rtol=1e-12)


def test_psi_basis_spans_psi(rng):
    for problem in problems(RING, rng).values():
        basis = psi_basis(problem)
        np.testing.assert_allclose(basis @ basis.T, projector(problem), atol=1e-12)


# Refusals


def test_costs_that_are_not_quadratic_are_refused():
    problem = sv.Problem(RING, [sv.Huber(1.0)] * 5)
    arguments = {"theta": 0.8, "c": 0.4}
    with pytest.raises(Unsupported, match=r"exact moments need quadratic costs.*Use Monte Carlo"):
        LinearRun(problem, sv.Synchronous(), **arguments)
    with pytest.raises(Unsupported, match="quadratic"):
        RandomMoments(problem, sv.Asynchronous(), variance=1.0, **arguments)


def test_schedules_without_a_law_are_refused():
    problem = sv.averaging(RING, np.zeros(5))
    for schedule, name in ((sv.Trace([0, 1]), "NodeTrace"), (sv.Trace(node_sets=[[0]]), "SetTrace")):
        with pytest.raises(Unsupported, match=f"no exact moments for {name}; a trace has sequence_variances"):
            RandomMoments(problem, schedule, theta=1.0, c=0.4, variance=1.0)
    with pytest.raises(Unsupported, match="Delayed"):
        random_variances(problem, sv.Delayed(2), theta=1.0, c=0.4, variance=1.0, iterations=3)
    with pytest.raises(InvalidInput, match="rates must have one entry per node, 5; got 2"):
        RandomMoments(problem, sv.Asynchronous(rates=[1, 2]), theta=1.0, c=0.4, variance=1.0)
    with pytest.raises(InvalidInput, match="node 9"):
        LinearRun(problem, sv.Trace([9]), theta=1.0, c=0.4)


@pytest.mark.parametrize("trace", [sv.Trace([0, 1, 2]), sv.Trace(node_sets=[[0], [1], [2]])])
def test_no_more_than_the_trace_holds(trace):
    problem = sv.averaging(RING, np.zeros(5))
    arguments = {"theta": 1.0, "c": 0.4, "variance": 1.0}
    assert len(sequence_variances(problem, trace, iterations=3, **arguments).z) == 4
    with pytest.raises(InvalidInput, match="the trace has 3 iterations; got iterations=4"):
        sequence_variances(problem, trace, iterations=4, **arguments)
    with pytest.raises(InvalidInput, match="the trace has 3 iterations"):
        monte_carlo(problem, trace, iterations=9, draws=5, seed=1, **arguments)


def test_bad_numbers_are_refused():
    problem = sv.averaging(RING, np.zeros(5))
    good = {"theta": 0.5, "mu": 0.2, "variance": 1.0, "k": 1}
    for f in (perp_covariance, perp_variance):
        for mu in (0, -0.1, 1.1, np.nan):
            with pytest.raises(InvalidInput, match=r"mu must be in \(0, 1\], the probability"):
                f(problem, **{**good, "mu": mu})
        with pytest.raises(InvalidInput, match=r"theta must be in \(0, 1\]; got 1.5"):
            f(problem, **{**good, "theta": 1.5})
        with pytest.raises(InvalidInput, match="variance must be a positive number"):
            f(problem, **{**good, "variance": 0.0})
    run = {"theta": 0.5, "c": 0.4, "variance": 1.0, "iterations": 3}
    for f in (sequence_variances, random_variances):
        for name, value in (("theta", 0.0), ("theta", 1.01), ("c", -1.0), ("c", np.inf), ("variance", -1.0)):
            with pytest.raises(InvalidInput, match=f"{name} must be"):
                f(problem, sv.Synchronous(), **{**run, name: value})
        with pytest.raises(InvalidInput, match="every must be an integer >= 1; got 0"):
            f(problem, sv.Synchronous(), every=0, **run)
    with pytest.raises(InvalidInput, match="draws must be at least 2"):
        monte_carlo(problem, sv.Synchronous(), draws=1, **run)
