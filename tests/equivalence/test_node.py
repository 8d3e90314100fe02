"""Nodes that pass messages in memory, against the reference and the engine, on one recorded trace."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational

import numpy as np
import pytest
from helpers import by_edge, shards

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.numerics.grid import lattice, nearest, on_grid
from sottovoce.pdmm.node import Link

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


def one(network):
    return 0.4


@pytest.mark.parametrize(("penalty", "theta"), [(one, 1.0), (one, 0.7), (by_edge, 0.7)])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", ["averaging", "vectors", "least_squares", "median", "huber", "logistic", "general"])
@pytest.mark.filterwarnings("ignore::sottovoce.errors.NotGuaranteed")
def test_nodes_reference_and_engine_agree_on_one_trace(network, rng, name, masked, penalty, theta):
    problem = problems(network, rng)[name]
    sequence = sv.Asynchronous().nodes(network, 7, 0, 400)
    z0 = 100 * rng.normal(size=int(problem.rows[-1])) if masked else None
    c = penalty(network)
    x = play(sv.nodes_of(problem, c=c, theta=theta, z0=z0), sequence)
    for engine in ("reference", "auto"):
        run = sv.solve(
            problem, schedule=sv.Trace(sequence), theta=theta, c=c, z0=z0, tol=0, max_iter=400, engine=engine
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
    from sottovoce.pdmm.schedules import key_of

    nodes = sv.nodes_of(problem, c=0.4, theta=theta)
    lossy_rounds(nodes, problem, lambda k: schedule.sets(network, key_of(5), k)[1], 150, rng)
    np.testing.assert_array_equal(np.concatenate([node.x for node in nodes]), run.x)


def test_optimum_to_1e_12_at_thirty_percent_loss(network, rng):
    s = rng.normal(size=N)
    problem = sv.averaging(network, s)
    z0 = 10 * rng.normal(size=2 * network.m)
    nodes = sv.nodes_of(problem, c=0.4, theta=1.0, z0=z0)
    lossy_rounds(nodes, problem, lambda k: sv.EdgeBernoulli(0.7).sets(network, 1, k)[1], 400, rng)
    assert max(abs(float(node.x[0]) - s.mean()) for node in nodes) < 1e-12


def numbers_within(thing, seen=None):
    """Every number that can be reached from an object: attributes, containers, closures, and what views are made of."""
    seen = {} if seen is None else seen
    if id(thing) in seen or isinstance(thing, type):
        return np.empty(0)
    seen[id(thing)] = thing  # keeps it alive, so that its id is not given away
    if isinstance(thing, np.ndarray):
        parts, numbers = [thing.base], np.ravel(thing) if thing.dtype.kind == "f" else []
    elif isinstance(thing, Rational | float):
        parts, numbers = [], [float(thing)]
    elif isinstance(thing, dict):
        parts, numbers = thing.values(), []
    elif isinstance(thing, list | tuple | set):
        parts, numbers = thing, []
    else:
        cells = [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
        bound = [getattr(thing, name, None) for name in ("__self__", "__func__", "__dict__", "__defaults__")]
        parts, numbers = [*cells, *bound], []
    return np.concatenate([numbers, *(numbers_within(part, seen) for part in parts)])


@pytest.mark.parametrize("name", ["averaging", "vectors", "least_squares", "general"])
def test_secrets_and_pads_are_forgotten(network, rng, name):
    problem = problems(network, rng)[name]
    z0 = rng.normal(size=int(problem.rows[-1]))
    secrets = np.abs(np.concatenate([z0, problem.q, problem.q / 2, problem.cost(0).r, problem.groups[0][1].r]))
    nodes = sv.nodes_of(problem, c=0.4, theta=1.0, z0=z0)
    play(nodes, range(N))
    for node in nodes:
        kept = np.abs(numbers_within(node))
        assert len(kept) > 10
        assert not np.isin(secrets[secrets > 0], kept).any()


def test_whoever_looks_for_secrets_finds_them(network, rng):
    # The control: a cost that is not quadratic needs its data, and a collapsed one is where it should be.
    s, z0 = rng.normal(size=N), rng.normal(size=2 * network.m)
    node = sv.nodes_of(sv.Problem(network, sv.Huber.many(s)), c=0.4, theta=0.5, z0=z0)[0]
    assert s[0] in numbers_within(node)
    problem = sv.averaging(network, s)
    w = -2 * s + network.C.T @ z0
    for i, node in enumerate(sv.nodes_of(problem, c=0.4, theta=1.0, z0=z0)):
        # Summed in another order: rounded at each of at most 11 neighbours.
        assert np.abs(numbers_within(node) - w[i]).min() < 12 * EPS * 10


@pytest.mark.parametrize("name", ["averaging", "vectors", "least_squares", "general"])
@pytest.mark.parametrize("grid", [0.0, 2.0**-40])
def test_the_collapsed_sum_is_exact(network, rng, name, grid):
    problem = problems(network, rng)[name]
    z0 = on_grid(1e3 * rng.normal(size=int(problem.rows[-1])), grid)
    C = problem.C.toarray()
    z = [Fraction(v) for v in z0]
    columns = problem.columns
    for i, node in enumerate(sv.nodes_of(problem, c=0.4, theta=1.0, z0=z0, grid=grid)):
        x = node.step(np.zeros((1, problem.dims[i])), node.x[None])[0]  # -(Q + rho)^{-1} w
        w = []
        for t in range(columns[i], columns[i + 1]):
            steps = lattice(grid, np.abs(C[:, t]).max())
            own = Fraction(float(on_grid(problem.q[t : t + 1], steps)[0]))
            w.append(nearest(own + sum(Fraction(a) * v for a, v in zip(C[:, t], z, strict=True)), float(steps)))
        exact = sv.Quadratic.many(problem.cost(i).quadratic.Q, np.array([w])).bind(problem.penalty(0.4, i))
        np.testing.assert_array_equal(x, exact(np.zeros((1, problem.dims[i])))[0])


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


def test_long_vectors_are_summed_exactly_without_a_matrix(rng):
    """A million numbers in all their pads: a matrix of the blocks would not fit into any memory."""
    d, mask = 200_000, sv.GaussianMask(1e8)
    q = rng.normal(size=d)
    held, written = mask.draw((2, d), 1), mask.draw((2, d), 2)
    edges = {j: Link(sign, np.zeros(d), held[k], written[k]) for k, (j, sign) in enumerate(((0, 1.0), (2, -1.0)))}
    node = sv.Node(1, sv.Averaging(q), edges, c=0.4, theta=0.8, grid=mask.grid)
    node.wake()
    for t in (0, 1, d // 2, d - 1):
        own = Fraction(round(Fraction(-2 * q[t]) / Fraction(mask.grid))) * Fraction(mask.grid)
        w = own + Fraction(held[0, t]) - Fraction(held[1, t])
        assert node.x[t] == -float(w) / (2 + 0.4 * 2)
