"""Nodes that pass messages in memory, against the reference and the engine, on one recorded trace."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.node import Link

N, EPS = 12, np.finfo(float).eps


def problems(network, rng):
    pairs = network.half_edges.tolist()
    A = {(i, j): rng.normal(size=(2, 3)) for i, j in pairs}
    b = {(i, j): rng.normal(size=2) for i, j in network.edges.tolist()}
    return {
        "averaging": sv.averaging(network, rng.normal(size=N)),
        "vectors": sv.averaging(network, rng.normal(size=(N, 3))),
        "least_squares": sv.least_squares(network, shards(rng, N, 6, 3)),
        "median": sv.Problem(network, sv.AbsoluteDeviation.many(rng.normal(size=N))),
        "huber": sv.Problem(network, sv.Huber.many(rng.normal(size=N))),
        "logistic": sv.logistic(network, [(M, np.sign(v)) for M, v in shards(rng, N, 8, 2)]),
        "general": sv.Problem(
            network.with_constraints(A, b), [sv.Quadratic(np.eye(3), q) for q in rng.normal(size=(N, 3))]
        ),
    }


def play(nodes, sequence):
    for i in sequence:
        for message in nodes[i].wake():
            assert nodes[message.receiver].receive(message)
    return np.concatenate([node.x for node in nodes])


@pytest.mark.parametrize("theta", [1.0, 0.7])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", ["averaging", "vectors", "least_squares", "median", "huber", "logistic", "general"])
@pytest.mark.filterwarnings("ignore::sottovoce.errors.NotGuaranteed")
def test_nodes_reference_and_engine_agree_on_one_trace(network, rng, name, masked, theta):
    problem = problems(network, rng)[name]
    sequence = sv.Asynchronous().nodes(network, 7, 0, 400)
    z0 = 100 * rng.normal(size=int(problem.rows[-1])) if masked else None
    x = play(sv.nodes_of(problem, c=0.4, theta=theta, z0=z0), sequence)
    for engine in ("reference", "auto"):
        run = sv.solve(
            problem, schedule=sv.Trace(sequence), theta=theta, c=0.4, z0=z0, tol=0, max_iter=400, engine=engine
        )
        # Without pads nu = e = 0 and D = z: the same arithmetic, hence the same bits. Matrix products (least squares
        # on the engine, general blocks) sum in another order. With pads z = z(0) + D is rounded at the size of z(0),
        # once per activation of a neighbourhood.
        same = not masked and (
            name not in ("least_squares", "general") or (engine, name) == ("reference", "least_squares")
        )
        bound = 0 if same else 400 * EPS * (100 if masked else 10)
        assert np.abs(np.ravel(run.x) - x).max() <= bound


def lossy_rounds(nodes, problem, arrived, rounds, rng):
    """Synchronous rounds in which each message arrives or not, twice or once, and late ones arrive out of order."""
    network = problem.network
    half_edge = {pair: h for h, pair in enumerate(map(tuple, network.half_edges.tolist()))}
    late = []
    for k in range(rounds):
        messages = [message for node in nodes for message in node.wake()]
        mask = arrived(k)
        for at in rng.permutation(len(messages)):
            message = messages[at]
            if mask[half_edge[message.receiver, message.sender]]:
                assert nodes[message.receiver].receive(message)
                assert not nodes[message.receiver].receive(message), "a duplicate must change nothing"
            else:
                late.append(message)
        # What was lost turns up much later, when the same half-edge has carried something newer: old news.
        overtaken = [m for m in late if nodes[m.receiver].newest[m.sender] > m.counter]
        for message in overtaken:
            assert not nodes[message.receiver].receive(message)
        late = [m for m in late if nodes[m.receiver].newest[m.sender] <= m.counter]


@pytest.mark.parametrize("theta", [1.0, 0.6])
def test_lost_duplicated_and_reordered_messages_are_edge_bernoulli(network, rng, theta):
    problem = sv.averaging(network, rng.normal(size=N))
    schedule = sv.EdgeBernoulli(0.7)
    run = sv.solve(problem, schedule=schedule, theta=theta, c=0.4, seed=5, tol=0, max_iter=150)
    from sottovoce.schedules import key_of

    nodes = sv.nodes_of(problem, c=0.4, theta=theta)
    lossy_rounds(nodes, problem, lambda k: schedule.masks(network, key_of(5), k)[1], 150, rng)
    np.testing.assert_array_equal(np.concatenate([node.x for node in nodes]), run.x)


def test_optimum_to_1e_12_at_thirty_percent_loss(network, rng):
    s = rng.normal(size=N)
    problem = sv.averaging(network, s)
    z0 = 10 * rng.normal(size=2 * network.m)
    nodes = sv.nodes_of(problem, c=0.4, theta=1.0, z0=z0)
    lossy_rounds(nodes, problem, lambda k: sv.EdgeBernoulli(0.7).masks(network, 1, k)[1], 400, rng)
    assert max(abs(float(node.x[0]) - s.mean()) for node in nodes) < 1e-12


def test_the_pads_are_forgotten(network, rng):
    z0 = rng.normal(size=2 * network.m)
    node = sv.nodes_of(sv.averaging(network, rng.normal(size=N)), c=0.4, theta=1.0, z0=z0)[0]
    kept = np.concatenate([node.nu, *node.e.values(), *node.D.values(), node.x])
    assert len(network.neighbours(0)) > 1
    assert not np.isin(kept, z0).any()


def test_messages_are_checked_before_use(network):
    nodes = sv.nodes_of(sv.averaging(network, np.zeros(N)), c=0.4, theta=1.0)
    j = int(network.neighbours(0)[0])
    stranger = next(k for k in range(N) if k not in network.neighbours(0) and k)
    for message, sentence in [
        (sv.Message(stranger, 0, 1, np.zeros(1)), "not its edge"),
        (sv.Message(j, 1 if j != 1 else 2, 1, np.zeros(1)), "not its edge"),
        (sv.Message(j, 0, 1, np.array([np.nan])), "1 finite"),
        (sv.Message(j, 0, 1, np.zeros(2)), "1 finite"),
    ]:
        with pytest.raises(InvalidInput, match=sentence):
            nodes[0].receive(message)
    assert all((D == 0).all() for D in nodes[0].D.values())
    with pytest.raises(InvalidInput, match="no neighbours"):
        sv.Node(0, sv.Averaging(1.0), dict[int, Link](), c=1.0, theta=1.0)
