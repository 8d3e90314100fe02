"""``record=[sv.Transcript()]``: every message as a table, held against ``Node``s that talk."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from helpers import by_edge, shards

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.pdmm.schedules import key_of

N, K, SEED = 6, 40, 3
NETWORK = sv.Network.random_geometric(N, seed=2)
SCHEDULES = [
    sv.Synchronous(),
    sv.Asynchronous(),
    sv.PoissonClocks(np.arange(1.0, N + 1)),
    sv.Permutations(),
    sv.NodeBernoulli(0.5),
    sv.EdgeBernoulli(0.6),
    sv.Trace([0, 3, 3, 5, 1] * 8),
    sv.Trace(node_sets=[[0, 2], [1, 3, 4, 5]] * 20),
    sv.Trace(half_edges=[[0, 3], [1], [2, 4, 5]] * 14),
    sv.Trace(node_sets=[[0, 2], [1, 3]] * 20, half_edges=[[], []] * 20),
    sv.Delayed(0),
    sv.Delayed(7),
]


def general(rng):
    """Blocks of different sizes: edges of one row and of two."""
    path = sv.Network.from_edges(3, [(0, 1), (1, 2)])
    A = {(0, 1): rng.normal(size=(2, 2)), (1, 0): -np.eye(2), (1, 2): [[1.0, 0.5]], (2, 1): [[-2.0]]}
    costs = [sv.Averaging([1.0, 2.0]), sv.Averaging([0.0, 5.0]), sv.Averaging([3.0])]
    return sv.Problem(path.with_constraints(A, b={(0, 1): [0.5, 0.0]}), costs)


def talk(problem, schedule, c, theta, iterations, z0=None, grid=0.0):
    """What ``Node``s send under the schedule, and whether it was taken in: rows as in the table."""
    nodes = sv.nodes_of(problem, c=c, theta=theta, z0=z0, grid=grid)
    network, key = problem.network, key_of(SEED)
    rows, pending = [], defaultdict(list)
    for k in range(iterations):
        if isinstance(schedule, sv.Delayed):
            i = int(schedule.wakes.nodes(network, key, k, 1)[0])
            inwards = network.twin[network.indptr[i] : network.indptr[i + 1]]
            for message, delay in zip(nodes[i].wake(), schedule.delays(network, key, k, inwards), strict=True):
                rows.append([k, message.sender, message.receiver, message.counter, message.r, False])
                pending[k + int(delay)].append((message, rows[-1]))
        else:
            active, arrived = schedule.sets(network, key, k)
            spoken = [nodes[i].wake() for i in range(network.n) if active is None or active[i]]
            for messages in spoken:
                for message in messages:
                    h = int(np.flatnonzero((network.half_edges == [message.receiver, message.sender]).all(axis=1))[0])
                    rows.append([k, message.sender, message.receiver, message.counter, message.r, False])
                    if arrived is None or arrived[h]:
                        pending[k].append((message, rows[-1]))
        for message, row in pending.pop(k, []):
            row[-1] = nodes[message.receiver].receive(message)
    return rows


def compare(table, rows, atol):
    assert len(table) == len(rows)
    iteration, sender, receiver, counter, values, arrived = zip(*rows, strict=True)
    for column, expected in (
        (table.iteration, iteration), (table.sender, sender), (table.receiver, receiver), (table.counter, counter),
        (table.arrived, arrived),
    ):  # fmt: skip
        assert column.tolist() == list(expected)
    width = 1 if table.value.ndim == 1 else table.value.shape[1]
    expected = np.full((len(rows), width), np.nan)
    for row, value in zip(expected, values, strict=True):
        row[: len(value)] = value
    np.testing.assert_allclose(table.value.reshape(len(rows), -1), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: type(schedule).__name__)
@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize(("c", "theta"), [(0.4, 1.0), (0.4, 0.7), (by_edge(NETWORK), 0.7)])
def test_a_transcript_is_what_nodes_send(rng, schedule, engine, c, theta):
    problem = sv.averaging(NETWORK, rng.normal(size=(N, 2)))
    arguments = {"schedule": schedule, "c": c, "theta": theta, "seed": SEED, "engine": engine}
    result = sv.solve(problem, tol=0, max_iter=K, record=[sv.Transcript()], **arguments)
    table = result.history["transcript"]
    assert len(table) == result.messages
    compare(table, talk(problem, schedule, c, theta, K), atol=1e-13)  # numbers of size 1: some roundings


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.6), sv.Delayed(5)])
def test_a_masked_run_sends_what_nodes_with_the_same_pads_send(rng, schedule):
    problem, mask = sv.averaging(NETWORK, rng.normal(size=N)), sv.GaussianMask(1e6)
    result = sv.solve(
        problem, schedule=schedule, c=0.4, theta=0.8, mask=mask, seed=SEED, tol=0, max_iter=K, record=[sv.Transcript()]
    )
    assert result.arithmetic == "collapsed"
    pads = mask.draw((2 * NETWORK.m, 1), SEED)[:, 0]
    rows = talk(problem, schedule, 0.4, 0.8, K, z0=pads, grid=mask.grid)
    compare(result.history["transcript"], rows, atol=1e-10)  # 2e-16 of 1e3, some times over
    assert np.abs(result.history["transcript"].value).max() > 100


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.6), sv.Delayed(3)])
@pytest.mark.parametrize("c", [0.4, [0.4, 0.1]])
def test_edges_of_different_sizes(rng, schedule, c):
    problem = general(rng)
    result = sv.solve(
        problem, schedule=schedule, c=c, theta=0.5, seed=SEED, tol=0, max_iter=K, record=[sv.Transcript()]
    )
    table = result.history["transcript"]
    assert table.value.shape == (result.messages, 2)
    assert list(table.columns()) == ["iteration", "sender", "receiver", "counter", "value0", "value1", "arrived"]
    compare(table, talk(problem, schedule, c, 0.5, K), atol=1e-12)


def test_costs_that_are_not_quadratic(rng):
    problem = sv.logistic(NETWORK, [(A, b > 0) for A, b in shards(rng, N, 8, 2)])
    result = sv.solve(problem, c=0.4, theta=0.5, tol=0, max_iter=10, record=[sv.Transcript()])
    compare(result.history["transcript"], talk(problem, sv.Synchronous(), 0.4, 0.5, 10), atol=1e-9)  # steps to 1e-12


def test_it_looks_and_does_not_touch(rng):
    problem = sv.averaging(NETWORK, rng.normal(size=N))
    for schedule in (sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.5), sv.Delayed(3)):
        arguments = {"schedule": schedule, "c": 0.4, "seed": 1, "tol": 0, "max_iter": 30}
        heard = sv.solve(problem, record=[sv.Transcript(), sv.Residual()], record_every=10, **arguments)
        np.testing.assert_array_equal(heard.z, sv.solve(problem, **arguments).z)
        assert heard.history["iteration"].tolist() == [0, 10, 20, 30]
        assert len(heard.history["transcript"]) == heard.messages


def test_names_frames_and_notebooks(rng):
    names = ["Ada", "Bob", "Cid", "Dee", "Eve", "<b>"]
    problem = sv.averaging(NETWORK.with_labels(names), rng.normal(size=N))
    result = sv.solve(problem, c=0.4, tol=0, max_iter=2, record=[sv.Transcript("said")])
    table = result.history["said"]
    i, j = NETWORK.half_edges[0]
    assert (table.sender[0], table.receiver[0]) == (names[i], names[j])
    frame = table.to_frame()
    assert list(frame.columns) == ["iteration", "sender", "receiver", "counter", "value", "arrived"]
    assert frame["value"].tolist() == table.value.tolist()
    html = table._repr_html_()
    assert html.count("<tr>") == 11
    assert "<b>" not in html
    assert repr(table) == f"MessageTable({4 * NETWORK.m} messages)"
    assert result.to_dict()["history"]["said"]["counter"] == table.counter.tolist()
    assert "said" not in result.history_frame()


def test_a_batch_has_no_messages_and_no_iteration_no_rows(rng):
    problem = sv.averaging(NETWORK, rng.normal(size=N))
    with pytest.raises(InvalidInput, match=r"a Transcript is of one run, .* got batch=3"):
        sv.solve(problem, c=0.4, mask=sv.GaussianMask(1.0), batch=3, record=[sv.Transcript()])
    result = sv.solve(problem, c=0.4, schedule=sv.Trace([]), tol=0, record=[sv.Transcript()])
    assert len(result.history["transcript"]) == 0
    with pytest.raises(InvalidInput, match="a recorder is a callable with a name"):  # of the auditor, another thing
        sv.solve(problem, c=0.4, record=[sv.privacy.Transcript()])
