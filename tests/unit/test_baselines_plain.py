"""Methods without privacy: answers, traffic, what they refuse, and what they give away."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce import baselines
from sottovoce.baselines._gossip_kernel import average
from sottovoce.baselines.gossip import exchanges
from sottovoce.baselines.without_noise import PRIMES, FloatSpace, Space, krylov
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.privacy import Coalition, Eavesdropper

pytestmark = pytest.mark.filterwarnings("error")  # a run that diverges says so, and warns of nothing

N = 9
METHODS = [baselines.ADMM(c=0.4), baselines.Gossip(), baselines.EXTRA(), baselines.DIGing(), baselines.Chebyshev()]
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
gradient_method = pytest.mark.parametrize("method", METHODS[2:4], ids=lambda method: method.name)


@pytest.fixture
def network():
    return sv.Network.random_geometric(N, seed=2)


@each_method
@pytest.mark.parametrize("shape", [(N,), (N, 3)], ids=["numbers", "vectors"])
def test_means(network, rng, method, shape):
    s = 5 + rng.normal(size=shape)
    outcome = method.run(s, network, seed=1)
    assert outcome.converged
    assert outcome.notes == ()
    assert outcome.seconds == 0
    exact = s.reshape(N, -1).mean(axis=0)
    np.testing.assert_allclose(outcome.exact, exact, rtol=1e-14)
    assert np.abs(outcome.x - exact).max() <= method.tol * max(1, np.abs(exact).max()) * (1 + 1e-6)
    assert outcome.error <= np.abs(outcome.x - exact).max() ** 2 * (1 + 1e-6)


@each_method
def test_traffic(network, rng, method):
    s = rng.normal(size=(N, 2))
    sent = method.run(s, network, seed=1).traffic
    a_round = 2 * N if method.name == "gossip" else 2 * network.m
    assert sent.messages == a_round * sent.rounds
    assert sent.bytes == sent.messages * 2 * 8 * (2 if method.name == "DIGing" else 1)
    assert method.traffic(network) is None  # it depends on the data


@each_method
def test_the_last_round(network, rng, method):
    short = type(method)(max_rounds=3)
    outcome = short.run(rng.normal(size=N), network, seed=1)
    assert (outcome.converged, outcome.traffic.rounds, outcome.notes) == (False, 3, ())
    assert 0 < outcome.error < 10


@each_method
@pytest.mark.parametrize("parameter", ["tol", "max_rounds", "step", "c"])
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "much", None, True])
def test_parameters_are_positive(method, parameter, value):
    if hasattr(method, parameter):
        with pytest.raises(InvalidInput, match=parameter):
            type(method)(**{parameter: value})


@each_method
def test_other_edge_constraints_are_refused(method):
    network = sv.Network.ring(3)
    other = network.with_constraints({tuple(pair): [[1.0]] for pair in network.half_edges.tolist()})
    with pytest.raises(Unsupported):
        method.run(sv.Problem(other, sv.Averaging.many([1.0, 2.0, 3.0])))


@pytest.mark.parametrize("method", [baselines.Gossip(), baselines.Chebyshev()], ids=lambda method: method.name)
def test_methods_for_means_refuse_others(network, rng, method):
    with pytest.raises(Unsupported, match="is for means"):
        method.run(sv.least_squares(network, shards(rng, N, 4, 2)))


@gradient_method
def test_costs_without_gradients_are_refused(network, rng, method):
    s = rng.normal(size=N)
    for costs in (
        sv.AbsoluteDeviation.many(s),
        [sv.Averaging(v) + sv.Box(0, 1) for v in s],
        [sv.Custom(lambda v, t: v, lambda x: 0.0) for _ in s],
    ):
        with pytest.raises(Unsupported, match=r"needs gradients, and .* has none"):
            method.run(sv.Problem(network, costs))


@gradient_method
def test_costs_without_curvature_need_a_step(method):
    straight = sv.Problem(sv.Network.complete(2), [sv.Quadratic(0.0, 1.0), sv.Quadratic(0.0, -1.0)])
    with pytest.raises(Unsupported, match="Give step"):
        method.suggested(straight)


@gradient_method
def test_divergence_is_noticed(network, rng, method):
    outcome = type(method)(step=10.0).run(rng.normal(size=N), network)
    assert not outcome.converged
    assert outcome.notes == ("diverged: the step is too long",)
    assert np.isfinite(outcome.x).all()
    assert 0 < outcome.traffic.rounds < 100
    assert np.isfinite(outcome.error)


@gradient_method
def test_a_step_out_of_the_domain_is_noticed(method):
    """``x - log x`` has no gradient at 0, where the run starts."""
    costs = [sv.FromGradient(lambda x: x - np.log(x), lambda x: 1 - 1 / x, start=1.0) for _ in range(3)]
    outcome = type(method)(step=0.1).run(sv.Problem(sv.Network.ring(3), costs))
    assert not outcome.converged
    assert outcome.notes != ()
    assert np.isfinite(outcome.x).all()


@gradient_method
def test_steps_to_choose_from(network, rng, method):
    problem = sv.least_squares(network, shards(rng, N, 4, 2))
    steps = sorted(candidate.step for candidate in method.candidates(problem))
    suggested = method.suggested(problem)
    assert min(steps) < suggested / 10
    assert max(steps) > 5 * suggested
    assert suggested in steps
    np.testing.assert_allclose(np.diff(np.log(steps)), np.log(2) / 2)
    assert method.candidates(problem)[0].step == suggested
    fixed = type(method)(step=0.1)
    assert fixed.candidates(problem) == (fixed,)
    assert method.run(problem).traffic == type(method)(step=suggested).run(problem).traffic


def test_penalties_to_choose_from(network):
    problem = sv.averaging(network, np.arange(N))
    found = baselines.ADMM(tol=1e-6).candidates(problem)
    assert len(found) >= 5
    assert all(one.tol == 1e-6 and one.c != "auto" for one in found)
    assert baselines.Gossip().candidates(problem) == (baselines.Gossip(),)


def test_gossip_is_a_function_of_its_seed(network, rng):
    s, gossip = rng.normal(size=N), baselines.Gossip(max_rounds=2)
    one, same, other = (gossip.run(s, network, seed=seed).x for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not np.array_equal(gossip.run(s, network).x, gossip.run(s, network).x)  # without one: the system's


def test_the_gossip_kernel_is_its_python(network, rng):
    i, j = exchanges(network, 7, 0, 500)
    compiled, plain = (np.array(rows) for rows in [rng.normal(size=(N, 3))] * 2)
    average(compiled, i, j)
    average.py_func(plain, i, j)
    np.testing.assert_array_equal(compiled, plain)
    assert np.ptp(plain) > 0


def test_exchanges_are_between_neighbours_and_fair(network):
    i, j = exchanges(network, 3, 0, 40_000)
    for node in range(N):
        asked = np.bincount(j[i == node], minlength=N) / len(i) * N
        expected = np.zeros(N)
        expected[network.neighbours(node)] = 1 / network.degrees[node]
        assert np.abs(asked - expected).max() < 5 * np.sqrt(N / len(i))  # five deviations
    first, second = exchanges(network, 3, 0, 30), exchanges(network, 3, 30, 30)
    np.testing.assert_array_equal(np.hstack([first, second]), exchanges(network, 3, 0, 60))


# What is given away


@each_method
def test_taps_read_everything(network, rng, method):
    outcome = method.run(rng.normal(size=N), network, seed=1)
    for adversary in (Eavesdropper(), Coalition({4}) | Eavesdropper()):
        leakage = outcome.leakage(adversary)
        assert leakage.kind == "exact"
        assert leakage.worst == np.inf
        expected = np.full(N, np.inf)
        expected[list(adversary.corrupt)] = np.nan
        np.testing.assert_array_equal(leakage.nats, expected)


@each_method
def test_nothing_is_sent_and_nothing_seen(network, method):
    outcome = type(method)().run(np.zeros(N), network, seed=1)
    assert outcome.traffic.messages == 0
    for adversary in (Eavesdropper(), Coalition({4})):
        assert outcome.leakage(adversary).worst == 0


@each_method
def test_leaves_of_a_star_are_told_apart_by_the_hub_alone(method):
    network = sv.Network.star(6)
    outcome = type(method)().run(np.arange(6.0), network, seed=3)
    assert method.name == "gossip" or (outcome.leakage(Coalition({0})).nats[1:] == np.inf).all()
    leaf = outcome.leakage(Coalition({5})).nats
    if method.name != "gossip":  # the other four enter by their sum: R2 = 1/4
        np.testing.assert_allclose(leaf, [np.inf, *[-0.5 * np.log(0.75)] * 4, np.nan], rtol=1e-12)
    vectors = type(method)().run(np.tile(np.arange(6.0), (3, 1)).T, network, seed=3)
    np.testing.assert_allclose(vectors.leakage(Coalition({5})).nats, 3 * leaf)  # entry by entry the same


def test_two_that_meet_first_keep_their_difference():
    """Both then hold the mean, and only their sum is ever told."""
    network = sv.Network.ring(6)
    outcome = baselines.Gossip().run(np.arange(6.0), network, seed=0)
    i, j = (int(part[0]) for part in exchanges(network, sv.pdmm.schedules.key_of(0), 0, 1))
    nobody = next(node for node in range(6) if node not in (i, j))
    nats = outcome.leakage(Coalition({nobody})).nats
    assert nats[i] == pytest.approx(nats[j], rel=1e-12)
    assert nats[i] <= -0.5 * np.log(0.5) * (1 + 1e-12)


@pytest.mark.parametrize("method", [METHODS[0], *METHODS[2:4]], ids=lambda method: method.name)
def test_first_messages_of_other_costs(network, rng, method):
    outcome = type(method)(max_rounds=3).run(sv.least_squares(network, shards(rng, N, 4, 2)))
    corrupt, nats = 4, np.zeros(N)
    nats[network.neighbours(corrupt)], nats[corrupt] = np.inf, np.nan
    own = outcome.leakage(Coalition({corrupt}))
    np.testing.assert_array_equal(own.nats, nats)
    assert own.kind == "attack"
    assert "no guarantee" in own.told
    tapped = outcome.leakage(Eavesdropper())
    assert tapped.kind == "attack"
    assert (tapped.nats == np.inf).all()


@pytest.mark.parametrize("method", [METHODS[0], *METHODS[2:4]], ids=lambda method: method.name)
def test_the_first_message_is_what_is_said_of_it(network, rng, method):
    """The attack, played: from the first message of a neighbour to a function of its data."""
    problem, c = sv.least_squares(network, shards(rng, N, 4, 2)), 0.4
    Q, q = problem.quadratic
    if method.name == "ADMM":
        x = sv.solve(problem, theta=0.5, c=c, tol=0, max_iter=1).x
        rho = c * network.degrees
        np.testing.assert_allclose(np.einsum("kij,kj->ki", Q, x) + rho[:, None] * x, -q, rtol=1e-9)
    elif method.name == "EXTRA":
        first = next(method.iterates(*start(problem, method)))
        np.testing.assert_allclose(-first / 0.01, q, rtol=1e-12)
    else:
        states = method.iterates(*start(problem, method))
        next(states)
        np.testing.assert_allclose(-next(states) / 0.01, q, rtol=1e-12)  # x(1) = -al y(0), and y(0) is sent


def start(problem, method):
    from sottovoce.baselines.gradient_method import gradients
    from sottovoce.baselines.metropolis import metropolis

    return metropolis(problem.network), gradients(problem, method), np.zeros((N, problem.dim)), 0.01


def test_floats_agree_with_primes_where_nothing_is_faint():
    network = sv.Network.ring(8)
    honest, beside = np.arange(1, 8), np.array([0, 6])
    spaces = [Space(7, PRIMES[0]), FloatSpace(7)]
    for space in spaces:
        krylov(space, network, honest, beside, 3)
    assert [space.rank for space in spaces] == [6, 6]
    projector = spaces[1].basis.T @ spaces[1].basis
    np.testing.assert_allclose(np.diag(projector), [1, 1, 1, 0, 1, 1, 1], atol=1e-12)


def test_what_is_faint_is_a_lower_bound(monkeypatch, rng):
    """Where floats lose some of the view, it is said; and disclosed numbers are still found modulo primes."""
    network = sv.Network.random_geometric(12, seed=1)
    outcome = baselines.Gossip().run(rng.normal(size=12), network, seed=2)
    exact = outcome.leakage(Coalition({0}))
    monkeypatch.setattr("sottovoce.baselines.without_noise.kernel", lambda *spans: None)
    floats = outcome.leakage(Coalition({0}))
    assert floats.kind == "exact"
    np.testing.assert_allclose(floats.nats, exact.nats, rtol=1e-6)  # eps over what counts as faint
    monkeypatch.setattr("sottovoce.baselines.without_noise.FAINT", 0.3)
    least = outcome.leakage(Coalition({0}))
    assert least.kind == "attack"
    assert "at least" in least.told
    assert exact.kind == "exact"
    assert (least.nats[1:] <= exact.nats[1:] + 1e-9).all()
    np.testing.assert_array_equal(np.isinf(least.nats), np.isinf(exact.nats))
