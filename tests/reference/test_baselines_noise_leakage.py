"""What methods with noise give away, against exact posteriors of transcripts that are played here, in Fractions on unit
vectors; and the integral for Laplace noise against other ways to the same number."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import rational
from scipy.special import log_ndtr

import sottovoce as sv
from sottovoce import baselines
from sottovoce.privacy import Coalition, Eavesdropper

PATH = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
KITE = sv.Network.from_edges(5, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4)])
STAR = sv.Network.star(5)
GRAPHS = {"path": PATH, "kite": KITE, "star": STAR, "ring": sv.Network.ring(5)}
LISTENERS = {
    "taps": Eavesdropper(),
    "node 1": Coalition({1}),
    "nodes 0, 3": Coalition({0, 3}),
    "node 1 and taps": Coalition({1}) | Eavesdropper(),
    "nodes 0, 3 and taps": Coalition({0, 3}) | Eavesdropper(),
}
PRIOR, NOISE = Fraction(3, 2), Fraction(2, 5)
# The methods' linear algebra is in floats, of matrices whose condition is below 1e4; shares of variance are exact here.
EXACT = 1e-10

each_graph = pytest.mark.parametrize("network", GRAPHS.values(), ids=GRAPHS)
each_listener = pytest.mark.parametrize("adversary", LISTENERS.values(), ids=LISTENERS)


def unit(k, size):
    return [Fraction(int(k == h)) for h in range(size)]


def told(network, adversary, K, rows):
    """Nats of each node, where ``rows`` are functionals of variables with covariance ``K``, secrets first."""
    left = rational.posterior(K, rows, network.n)
    nats = [rational.nats(1 - left[i][i] / K[i][i]) for i in range(network.n)]
    return [np.nan if i in adversary.corrupt else value for i, value in enumerate(nats)]


def check(outcome, adversary, K, rows):
    leakage = outcome.leakage(adversary, prior=float(PRIOR))
    assert leakage.kind == "exact"
    expected = told(outcome.problem.network, adversary, K, rows)
    np.testing.assert_allclose(leakage.nats, expected, rtol=EXACT, atol=EXACT)


def seen(adversary, i, j):
    return adversary.taps or bool({i, j} & adversary.corrupt)


# Noise once, and a sum over a tree


def tree_messages(network, numbers):
    """``(i, j, row)``: sums up, the total down."""
    tree = network.spanning_tree()
    parents = tree.parents.tolist()
    depth = dict(enumerate(tree.levels.tolist()))
    total, sent = [list(row) for row in numbers], []
    for i in sorted(depth, key=depth.get, reverse=True):
        if i != tree.root:
            sent.append((i, parents[i], list(total[i])))
            total[parents[i]] = rational.combine((1, total[parents[i]]), (1, total[i]))
    return sent + [(parents[i], i, total[tree.root]) for i in depth if i != tree.root]


@each_graph
@each_listener
def test_noise_once_gives_away_what_its_transcript_does(network, adversary):
    n = network.n
    numbers = [rational.combine((1, unit(i, 2 * n)), (1, unit(n + i, 2 * n))) for i in range(n)]
    sent = tree_messages(network, numbers)
    rows = [row for i, j, row in sent if seen(adversary, i, j)]
    rows += [unit(i + k, 2 * n) for i in adversary.corrupt for k in (0, n)]
    outcome = baselines.LocalGaussianNoise(float(NOISE)).run(range(n), network, seed=0)
    assert outcome.traffic.messages == len(sent)
    check(outcome, adversary, rational.diagonal([PRIOR] * n + [NOISE] * n), rows)


def log_density(y, v):
    """Of ``N(0, v)`` and a Laplace number, in closed form."""
    both = log_ndtr(y / v**0.5 - v**0.5) - y, log_ndtr(-y / v**0.5 - v**0.5) + y
    return np.logaddexp(*both) + v / 2 - np.log(2)


def gauss_legendre(v):
    """``h`` of it, without an adaptive rule."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.unique(np.concatenate([np.linspace(0, 10 * v**0.5, 40), np.linspace(0, 12 * (v + 2) ** 0.5 + 50, 200)]))
    y = (np.diff(edges)[:, None] * nodes + (edges[1:] + edges[:-1])[:, None]) / 2
    log = log_density(y, v)
    return float(-(np.diff(edges) @ (np.exp(log) * log) @ weights))


def fourier(v, size):
    """``h`` of ``N(0, v)`` and Laplace numbers, whose density comes from their characteristic function."""
    t, y = np.linspace(0, 9 / v**0.5, 2001), np.linspace(0, 12 * (v + 2 * size) ** 0.5 + 40, 1501)
    weights = np.exp(-v * t**2 / 2) * (1 + t**2) ** -float(size)
    weights[[0, -1]] /= 2
    density = np.maximum(np.cos(np.outer(y, t)) @ weights * t[1] / np.pi, 1e-300)
    surprise = -density * np.log(density)
    surprise[0] /= 2
    return 2 * float(surprise.sum() * y[1])


@pytest.mark.parametrize("prior", [1e-3, 0.25, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_laplace_noise_against_another_quadrature(prior, scale):
    found = baselines.LocalLaplaceNoise(scale).told(prior, 1)
    # The reference cancels e^{v/2} against normal tails: at v = 1e4, 1e-11.
    assert found == pytest.approx(gauss_legendre(prior / scale**2) - 1 - np.log(2), abs=1e-9)


@pytest.mark.parametrize(("prior", "size"), [(0.5, 2), (1.0, 4), (2.0, 9)])
def test_sums_of_laplace_noise_against_their_characteristic_function(prior, size):
    found = baselines.LocalLaplaceNoise(1.0).told(prior, size)
    # Trapezoidal rules on analytic functions that end at 1e-17.
    assert found == pytest.approx(fourier(size * prior, size) - fourier((size - 1) * prior, size), abs=1e-9)


def test_laplace_noise_against_random_numbers(rng):
    prior, count = 0.7, 200_000
    noise = rng.laplace(size=count)
    y = rng.normal(scale=prior**0.5, size=count) + noise
    gained = -np.abs(noise) - np.log(2) - log_density(y, prior)  # ln f(y | s) - ln f(y), whose mean is I
    error = gained.std() / count**0.5
    assert error < 3e-3
    assert abs(gained.mean() - baselines.LocalLaplaceNoise(1.0).told(prior, 1)) < 4 * error


def test_laplace_noise_at_both_ends():
    small, large = (baselines.LocalLaplaceNoise(scale) for scale in (1e-6, 1e6))
    # A wide prior under little noise: h(S) - h(noise). Little prior under wide noise: half the Fisher information.
    assert small.told(1.0, 1) == pytest.approx(0.5 * np.log(2 * np.pi * np.e) - 1 - np.log(2e-6), abs=1e-9)
    assert large.told(1.0, 1) == pytest.approx(5e-13, abs=1e-13)
    assert baselines.LocalLaplaceNoise(30.0).told(1.0, 1) == pytest.approx(0.5 / 30**2, rel=0.05)
    # In a large sum the noise is as good as normal, of variance 2 scale^2.
    gaussian = baselines.LocalGaussianNoise(2.0).told(1.0, 400)
    assert baselines.LocalLaplaceNoise(1.0).told(1.0, 400) == pytest.approx(gaussian, rel=1e-4)


# Noise in every iteration


def noisy_admm(network, c, rounds):
    """The paper's iteration on ``z`` with ``theta = 1/2``, where ``x_i + eta_i`` stands for ``x_i`` in what is sent."""
    n = network.n
    size = n * (1 + rounds)
    pairs = [tuple(pair) for pair in network.half_edges.tolist()]
    around = [[j for h, j in pairs if h == i] for i in range(n)]
    z, sent = {pair: [Fraction(0)] * size for pair in pairs}, []
    for k in range(1, rounds + 2):
        pull = [[(-rational.A(i, j), z[i, j]) for j in around[i]] for i in range(n)]
        x = [
            rational.combine((Fraction(1) / (2 + c * len(around[i])), rational.combine((2, unit(i, size)), *pull[i])))
            for i in range(n)
        ]
        if k > rounds:
            return x, sent
        v = [rational.combine((1, x[i]), (1, unit(k * n + i, size))) for i in range(n)]
        sent += [(i, j, v[i]) for i, j in pairs]
        y = {(j, i): rational.combine((1, z[i, j]), (2 * c * rational.A(i, j), v[i])) for i, j in pairs}
        z = {pair: rational.combine((Fraction(1, 2), z[pair]), (Fraction(1, 2), y[pair])) for pair in pairs}
    raise AssertionError


@each_graph
@each_listener
def test_noisy_admm_gives_away_what_its_transcript_does(network, adversary):
    n, c, rounds, decay = network.n, Fraction(2, 3), 3, Fraction(3, 4)
    x, sent = noisy_admm(network, c, rounds)
    of_noise = [NOISE * decay**k for k in range(rounds) for _ in range(n)]
    rows = [row for i, j, row in sent if seen(adversary, i, j)]
    rows += [unit(i + k * n, n * (1 + rounds)) for i in adversary.corrupt for k in range(rounds + 1)]
    rows += [x[i] for i in adversary.corrupt]  # which tells them no more
    method = baselines.NoisyADMM(float(NOISE), c=float(c), rounds=rounds, decay=float(decay))
    s = np.arange(n) ** 2.0
    outcome = method.run(s, network, seed=0)
    assert outcome.traffic.messages == len(sent)
    check(outcome, adversary, rational.diagonal([PRIOR] * n + of_noise), rows)
    maps = np.array(x, dtype=np.float64)
    error = (maps[:, :n] @ s - s.mean()) ** 2 + maps[:, n:] ** 2 @ np.array(of_noise, dtype=np.float64)
    assert method.expected_error(outcome.problem) == pytest.approx(error.mean(), rel=1e-12)


@pytest.mark.parametrize("rounds", [1, 2, 30])
def test_noisy_admm_is_the_engine_with_theta_one_half(network, rng, rounds):
    s = rng.normal(size=(network.n, 2))
    x = baselines.NoisyADMM(variance=1e-30, c=0.4, rounds=rounds).run(s, network, seed=0).x
    problem = sv.averaging(network, s)
    run = sv.solve(problem, theta=0.5, c=0.4, tol=0, max_iter=rounds + 1, engine="reference")
    np.testing.assert_allclose(x, run.x, atol=1e-13)  # noise of 1e-15, and rounding


@pytest.mark.parametrize("decay", [1, Fraction(1, 5)])
def test_long_runs_are_well_conditioned(decay):
    """Noise that decays by 1e-11, to a node that hears two of four others."""
    network, rounds, c = sv.Network.ring(5), 16, Fraction(1, 2)
    adversary = Coalition({0})
    _, sent = noisy_admm(network, c, rounds)
    rows = [row for i, j, row in sent if seen(adversary, i, j)]
    rows += [unit(5 * k, 5 * (1 + rounds)) for k in range(rounds + 1)]
    K = rational.diagonal([PRIOR] * 5 + [NOISE * decay**k for k in range(rounds) for _ in range(5)])
    method = baselines.NoisyADMM(float(NOISE), c=0.5, rounds=rounds, decay=float(decay))
    expected = told(network, adversary, K, rows)
    np.testing.assert_allclose(
        method.run(range(5), network, seed=0).leakage(adversary, prior=1.5).nats, expected, rtol=1e-9
    )


# Pads and noise


def with_noise_columns(model, row):
    """A functional of ``(S', pads)`` as one of ``(S, pads, noise)``, for ``S' = S + noise``."""
    return [*row, *row[: model.network.n]]


@each_graph
@each_listener
@pytest.mark.parametrize("overlay", ["tree", "all"])
@pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")  # small pads, so that all of them matters
def test_pads_and_noise_give_away_what_their_transcript_does(network, adversary, overlay):
    n, v = network.n, Fraction(7, 3)
    tree = network.spanning_tree()
    model = rational.averaging(network, c=Fraction(1, 2), theta=1, v=v)
    if overlay == "tree":
        c = [Fraction(value) for value in tree.matched([2.0] * n)]
        model = model.on([tuple(edge) for edge in tree.edges.tolist()], c)
    schedule = rational.synchronous(network, 2 * n)
    rows = rational.view(model, schedule, adversary.corrupt, "open" if adversary.taps else "encrypted")
    rows = [with_noise_columns(model, row) for row in rows]
    size = len(model.prior) + n
    rows += [unit(i, size) for i in adversary.corrupt]
    K = rational.diagonal([PRIOR] * n + [v] * len(model.half_edges) + [NOISE] * n)
    c = "auto" if overlay == "tree" else 0.5
    theta = None if overlay == "tree" else 1.0
    method = baselines.PaddedNoise(float(NOISE), variance=float(v), overlay=overlay, c=c, theta=theta)
    check(method.run(np.arange(n), network, seed=0), adversary, K, rows)
