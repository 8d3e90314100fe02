"""Methods without privacy against CVXPY, their published rates, and what they show against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import rational
from helpers import shards

import sottovoce as sv
from sottovoce import baselines
from sottovoce.baselines.gossip import averaging_matrix, exchanges
from sottovoce.baselines.metropolis import extremes, metropolis
from sottovoce.baselines.optimum import optimum
from sottovoce.pdmm.schedules import key_of
from sottovoce.privacy import Coalition

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")

N, D = 8, 3


@pytest.fixture
def network():
    return sv.Network.random_geometric(N, seed=2)


# Answers


def smooth_costs(rng):
    """Name -> (costs, the same sum in CVXPY)."""
    rows = shards(rng, N, 6, D)
    labels = [np.where(b > 0, 1.0, -1.0) for _, b in rows]
    s, x = rng.normal(size=(N, D)), cp.Variable(D)
    margins = [cp.multiply(y, A @ x) for (A, _), y in zip(rows, labels, strict=True)]

    def pseudo_huber(s_i):
        return sv.FromGradient(
            lambda x: np.sum(np.sqrt(1 + (x - s_i) ** 2)), lambda x: (x - s_i) / np.sqrt(1 + (x - s_i) ** 2), dim=D
        )

    return x, {
        "Quadratic": (
            [sv.Quadratic(0.5 + i, s_i) for i, s_i in enumerate(s)],
            sum((0.5 + i) / 2 * cp.sum_squares(x) + s_i @ x for i, s_i in enumerate(s)),
        ),
        "LeastSquares": ([sv.LeastSquares(A, b) for A, b in rows], sum(cp.sum_squares(A @ x - b) for A, b in rows)),
        "Logistic": (
            [sv.Logistic(A, y, 0.1) for (A, _), y in zip(rows, labels, strict=True)],
            sum(cp.sum(cp.logistic(-margin)) for margin in margins) + 0.1 * N * cp.sum_squares(x),
        ),
        "Huber": ([sv.Huber(s_i, 1.5) for s_i in s], sum(cp.sum(cp.huber(x - s_i, 1.5)) / 2 for s_i in s)),
        "FromGradient": (
            [pseudo_huber(s_i) for s_i in s],
            sum(cp.norm(cp.hstack([x[a] - s_i[a], 1.0])) for s_i in s for a in range(D)),
        ),
    }


def by_cvxpy(x, objective):
    """To the last digits that Clarabel finds, though it may then say that it aimed at more."""
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return x.value


SMOOTH = list(smooth_costs(np.random.default_rng(0))[1])


@pytest.mark.parametrize("name", SMOOTH[:-1])  # the last takes a second: it is the answer of the runs below
def test_the_exact_answer_agrees_with_cvxpy(network, rng, name):
    x, table = smooth_costs(rng)
    costs, objective = table[name]
    # An interior-point method has half the digits of its gap in x.
    np.testing.assert_allclose(optimum(sv.Problem(network, costs)), by_cvxpy(x, objective), atol=1e-6)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("method", [baselines.ADMM(), baselines.EXTRA(), baselines.DIGing()], ids=lambda m: m.name)
def test_answers_agree_with_cvxpy(network, rng, name, method):
    x, table = smooth_costs(rng)
    costs, objective = table[name]
    if name == "FromGradient" and method.name == "ADMM":
        pytest.skip("a step takes a millisecond: tests/reference/test_cvxpy.py has it")
    outcome = method.run(sv.Problem(network, costs))
    assert outcome.converged
    np.testing.assert_allclose(outcome.x, np.tile(by_cvxpy(x, objective), (N, 1)), atol=1e-6)


# Rates


def test_metropolis_weights(network):
    W, degrees = metropolis(network).toarray(), network.degrees
    expected = np.zeros((N, N))
    for i, j in network.edges.tolist():
        expected[i, j] = expected[j, i] = 1 / (1 + max(degrees[i], degrees[j]))
    np.testing.assert_allclose(W, expected + np.diag(1 - expected.sum(axis=1)), atol=1e-15)
    eigenvalues = np.linalg.eigvalsh(W)
    np.testing.assert_allclose(extremes(network), (eigenvalues[0], eigenvalues[-2]), atol=1e-14)


def test_extremes_of_large_networks(monkeypatch):
    network = sv.Network.random_geometric(60, seed=1)
    dense = extremes(network)
    monkeypatch.setattr("sottovoce.baselines.metropolis.DENSE", 10)
    np.testing.assert_allclose(extremes(network), dense, atol=1e-10)  # Lanczos to its own tolerance


def rate(network, method, step):
    """The spectral radius, on ``x - mean``, of an averaging iteration with ``L = 2``; on ``(x(k), x(k-1))`` or
    ``(x, y)``."""
    I, n = np.eye(network.n), network.n
    W, O = metropolis(network).toarray(), np.zeros((n, n))
    if method == "EXTRA":
        move = np.block([[I + W - 2 * step * I, -(I + W) / 2 + 2 * step * I], [I, O]])
    else:
        move = np.block([[W, -step * I], [2 * (W - I), W - 2 * step * I]])
    mean = np.ones((n, n)) / n
    around = np.block([[I - mean, O], [O, I - mean]])
    return np.abs(np.linalg.eigvals(around @ move @ around)).max()


def test_diging_converges_up_to_its_limit(network):
    limit = (1 + np.linalg.eigvalsh(metropolis(network).toarray())[0]) ** 2 / (2 * 2)
    assert rate(network, "DIGing", 0.999 * limit) < 1 < rate(network, "DIGing", 1.001 * limit)


def test_extra_converges_up_to_its_bound(network):
    bound = 2 * np.linalg.eigvalsh((np.eye(N) + metropolis(network).toarray()) / 2)[0] / 2
    assert all(rate(network, "EXTRA", part * bound) < 1 for part in (0.01, 0.5, 1.0))


@pytest.mark.parametrize("method", [baselines.EXTRA(), baselines.DIGing()], ids=lambda m: m.name)
def test_the_suggested_step_is_the_best_for_means_of_slow_networks(method):
    network = sv.Network.ring(20)
    suggested = method.suggested(sv.averaging(network, np.zeros(20)))
    found = {
        part: max(rate(network, method.name, part * suggested), 1 - 2 * part * suggested) for part in (0.9, 1, 1.1)
    }
    assert min(found, key=found.get) == 1


@pytest.mark.parametrize("method", [baselines.EXTRA(), baselines.DIGing()], ids=lambda m: m.name)
def test_gradient_methods_shrink_at_the_rate_of_their_matrix(rng, method):
    network = sv.Network.ring(12)
    s = rng.normal(size=12)
    step = method.suggested(sv.averaging(network, s))
    rounds = [type(method)(step=step, tol=tol).run(s, network).traffic.rounds for tol in (1e-4, 1e-11)]
    slowest = max(rate(network, method.name, step), abs(1 - 2 * step))  # of disagreement, and of the mean
    expected = np.log(1e-7) / np.log(slowest)
    # The first digits have transients, and a complex pair of eigenvalues turns on its way.
    assert rounds[1] - rounds[0] == pytest.approx(expected, rel=0.1)


def test_chebyshev_is_its_polynomial(network, rng):
    s, rounds = rng.normal(size=N), 7
    outcome = baselines.Chebyshev(tol=1e-300, max_rounds=rounds).run(s, network)
    values, vectors = np.linalg.eigh(metropolis(network).toarray())
    least, second = values[0], values[-2]
    polynomial = np.polynomial.Chebyshev.basis(rounds, domain=[least, second])
    expected = vectors @ (polynomial(values) / polynomial(1.0) * (vectors.T @ s))
    np.testing.assert_allclose(outcome.x[:, 0], expected, atol=1e-13)
    assert np.linalg.norm(outcome.x[:, 0] - s.mean()) <= np.linalg.norm(s - s.mean()) / polynomial(1.0)


def test_chebyshev_on_a_complete_graph_takes_a_round():
    outcome = baselines.Chebyshev().run([3.0, 1.0, 4.0, 1.0, 5.0], sv.Network.complete(5))
    assert (outcome.converged, outcome.traffic.rounds) == (True, 1)


def pair_matrices(network):
    """Every exchange with its chance: ``i`` is one of ``n``, ``j`` one of its neighbours."""
    for i in range(network.n):
        for j in network.neighbours(i).tolist():
            W = np.eye(network.n)
            W[np.ix_([i, j], [i, j])] = 0.5
            yield 1 / (network.n * network.degrees[i]), W


@pytest.mark.parametrize("network", [sv.Network.star(5), sv.Network.ring(6)], ids=["star", "ring"])
def test_gossip_shrinks_as_published(network):
    """In mean square, by ``lambda_2(E W)`` an exchange at least; and by exactly what its second moments say."""
    n, rounds, runs = network.n, 2, 3_000
    mean = sum(chance * W for chance, W in pair_matrices(network))
    np.testing.assert_allclose(averaging_matrix(network), mean, atol=1e-15)
    values, vectors = np.linalg.eigh(mean)
    s = vectors[:, -2]  # the slowest, of length 1 and mean 0
    moment, lengths = np.outer(s, s), []
    for _ in range(rounds * n):
        moment = sum(chance * W @ moment @ W for chance, W in pair_matrices(network))
        lengths.append(np.trace(moment))
    assert lengths[0] == pytest.approx(values[-2], rel=1e-12)  # the bound is met by the first exchange
    assert (np.array(lengths) <= values[-2] ** np.arange(1, rounds * n + 1) * (1 + 1e-12)).all()
    problem, gossip = sv.averaging(network, s), baselines.Gossip(tol=1e-300, max_rounds=rounds)
    measured = np.array([(gossip.run(problem, seed=seed).x ** 2).sum() for seed in range(runs)])
    error = measured.std() / np.sqrt(runs)
    assert abs(measured.mean() - lengths[-1]) < 4 * error
    assert error < 0.05 * lengths[-1]  # else the line above says nothing


# What is shown, in exact fractions: every method played on maps of the secrets, a row of Fractions per number


def weights(network):
    degrees = [int(d) for d in network.degrees]
    W = [[Fraction(0)] * network.n for _ in range(network.n)]
    for i, j in network.edges.tolist():
        W[i][j] = W[j][i] = Fraction(1, 1 + max(degrees[i], degrees[j]))
    for i in range(network.n):
        W[i][i] = 1 - sum(W[i])
    return W


def mixed(W, x):
    return [rational.combine(*((w, row) for w, row in zip(line, x, strict=True))) for line in W]


def plus(*terms):
    return [rational.combine(*((a, x[i]) for a, x in terms)) for i in range(len(terms[0][1]))]


def units(n):
    return rational.diagonal([Fraction(1)] * n)


def extra_sends(network, rounds, step):
    W, s = weights(network), units(network.n)
    before, x = plus((0, s)), plus((2 * step, s))
    for _ in range(rounds):
        yield [x]
        slopes = plus((2, x), (-2, before))
        both, both_before = plus((1, x), (1, mixed(W, x))), plus((1, before), (1, mixed(W, before)))
        before, x = x, plus((1, both), (Fraction(-1, 2), both_before), (-step, slopes))


def diging_sends(network, rounds, step):
    W, s = weights(network), units(network.n)
    x, y = plus((0, s)), plus((-2, s))
    for _ in range(rounds):
        yield [x, y]
        before, x = x, plus((1, mixed(W, x)), (-step, y))
        y = plus((1, mixed(W, y)), (2, x), (-2, before))


def chebyshev_sends(network, rounds, step):
    """By the three-term recursion of the polynomials, without their ratios: scale does not matter to a span."""
    W, before, x = weights(network), units(network.n), units(network.n)
    least, second = map(Fraction, extremes(network))
    for k in range(rounds):
        yield [x]
        scaled = plus((2, mixed(W, x)), (-(least + second), x))
        width = second - least
        before, x = x, plus((1, scaled)) if k == 0 else plus((2, scaled), (-(width**2), before))


def admm_sends(network, rounds, c):
    model = rational.averaging(network, c=c, theta=Fraction(1, 2), v=1)
    sent = rational.transcript(model, rational.synchronous(network, rounds))
    yield [{(i, j, k): r[: network.n] for k, (i, j, r) in enumerate(sent)}]  # z(0) = 0: pads count for nothing


def explained(network, told, corrupt):
    """The share of each honest secret that is known from rows of Fractions."""
    n = network.n
    left = rational.posterior(units(n), [*told, *(units(n)[i] for i in corrupt)], n)
    return {i: 1 - left[i][i] for i in range(n) if i not in corrupt}


def compare(leakage, shares):
    assert leakage.kind == "exact"
    for i, share in shares.items():
        # 1 - R2 to rounding: nats lose digits as R2 comes near 1, and the fractions say when it is 1.
        assert leakage.nats[i] == pytest.approx(rational.nats(share), rel=1e-8, abs=1e-12)


GRAPHS = {
    "path": sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)]),
    "star": sv.Network.star(5),
    "ring": sv.Network.ring(6),
    "geometric": sv.Network.random_geometric(6, seed=3),
    "tree": sv.Network.from_edges(7, [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5), (5, 6)]),
}
METHODS = {
    "EXTRA": (baselines.EXTRA, "step", Fraction(1, 8), extra_sends),
    "DIGing": (baselines.DIGing, "step", Fraction(1, 16), diging_sends),
    "Chebyshev": (baselines.Chebyshev, None, None, chebyshev_sends),
    "ADMM": (baselines.ADMM, "c", Fraction(3, 8), admm_sends),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_coalition_learns_what_the_fractions_say(graph, name):
    network = GRAPHS[graph]
    make, parameter, value, sends = METHODS[name]
    given = {} if parameter is None else {parameter: float(value)}
    for corrupt in ({0}, {1}, {2, 4}):
        for rounds in (1, 2, 7):
            outcome = make(**given, tol=1e-300, max_rounds=rounds).run(np.arange(network.n), network)
            told = []
            for vectors in sends(network, rounds, value):
                for x in vectors:
                    if isinstance(x, dict):
                        told += [row for (i, j, _), row in x.items() if j in corrupt]
                    else:
                        told += [x[j] for i in corrupt for j in network.neighbours(i).tolist()]
            compare(outcome.leakage(Coalition(corrupt)), explained(network, told, corrupt))


@pytest.mark.parametrize("graph", GRAPHS)
def test_gossip_tells_what_the_fractions_say(graph):
    network = GRAPHS[graph]
    n, secrets = network.n, np.arange(network.n, dtype=float)
    for seed, corrupt in enumerate(({0}, {1}, {2, 4}, {3})):
        for rounds in (1, 3, 12):
            outcome = baselines.Gossip(tol=1e-300, max_rounds=rounds).run(secrets, network, seed=seed)
            x, told = units(n), []
            for i, j in zip(*exchanges(network, key_of(seed), 0, rounds * n), strict=True):
                assert j in network.neighbours(int(i))
                told += [x[a] for a, b in ((i, j), (j, i)) if b in corrupt]
                x[i] = x[j] = rational.combine((Fraction(1, 2), x[i]), (Fraction(1, 2), x[j]))
            answers = [float(rational.dot(row, [Fraction(v) for v in secrets])) for row in x]
            np.testing.assert_allclose(outcome.x[:, 0], answers, rtol=1e-14)  # means of means: a rounding each
            compare(outcome.leakage(Coalition(corrupt)), explained(network, told, corrupt))
