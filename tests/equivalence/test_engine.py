"""The compiled engine against the readable reference, on the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import by_edge, shards

import sottovoce as sv
from sottovoce.errors import Unsupported
from sottovoce.numerics.tile import LANES

# Masks are small here on purpose: what is compared is arithmetic, and small masks leave it more digits.
pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")

N, EPS = 12, np.finfo(float).eps


def problems(network, rng):
    return {
        "averaging": sv.averaging(network, rng.normal(size=N)),
        "vectors": sv.averaging(network, rng.normal(size=(N, 3))),
        "dense": sv.least_squares(network, shards(rng, N, 6, 3)),
        "mixed": sv.Problem(
            network, [sv.Averaging(np.ones(2)) if i % 2 else sv.LeastSquares(np.eye(2), [1, i]) for i in range(N)]
        ),
    }


SCHEDULES = {
    "synchronous": sv.Synchronous(),
    "asynchronous": sv.Asynchronous(),
    "rates": sv.Asynchronous(rates=np.arange(1.0, N + 1)),
    "poisson": sv.PoissonClocks(np.arange(1.0, N + 1)),
    "trace": sv.Trace(list(range(N)) * 20),
    "edge_reversal": sv.EdgeReversal(),
    "permutations": sv.Permutations(),
    "node_bernoulli": sv.NodeBernoulli(0.4),
    "edge_bernoulli": sv.EdgeBernoulli(0.7),
}


def one(network):
    return 0.4


every_penalty = pytest.mark.parametrize("penalty", [one, by_edge])


@pytest.mark.parametrize("batch", [None, 1, 3, 40])
@pytest.mark.parametrize(("penalty", "theta"), [(one, 1.0), (one, 0.8), (by_edge, 0.8)])
@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())
@pytest.mark.parametrize("name", ["averaging", "vectors", "dense", "mixed"])
def test_engine_gives_what_the_reference_gives(network, rng, name, schedule, theta, batch, penalty):
    problem = problems(network, rng)[name]
    arguments = {
        "schedule": schedule, "theta": theta, "c": penalty(network), "mask": sv.GaussianMask(100.0), "seed": 3,
        "batch": batch, "tol": 0, "max_iter": 157, "record": [sv.Residual()], "record_every": 50,
    }  # fmt: skip
    fast = sv.solve(problem, engine="compiled", **arguments)
    slow = sv.solve(problem, engine="reference", **arguments)
    assert (fast.iterations, fast.activations, fast.messages) == (slow.iterations, slow.activations, slow.messages)
    assert fast.x.shape == slow.x.shape
    assert fast.z.shape == slow.z.shape
    assert fast.x.shape[:-1] == slow.x.shape[:-1]
    # Same arithmetic in the same order gives the same bits; node space and matrix products sum in another order,
    # and rounding errors of size eps * |z| add up over 157 non-expansive iterations.
    exact = name in ("averaging", "vectors") and not isinstance(schedule, sv.Synchronous)
    bound = 0 if exact else 157 * EPS * np.abs(slow.z).max()
    assert np.abs(fast.x - slow.x).max() <= bound
    assert np.abs(fast.z - slow.z).max() <= bound
    np.testing.assert_allclose(fast.history["residual"], slow.history["residual"], rtol=1e-9, atol=1e-12)


@pytest.fixture
def on_every_thread(monkeypatch):
    """Kernels that share nodes or columns out to threads, which otherwise play large networks only; in parts of a few
    columns, so that there are several."""
    monkeypatch.setattr("sottovoce.pdmm.engine.runs.PARALLEL_FROM", 0)
    monkeypatch.setattr("sottovoce.pdmm.engine.runs.NARROW", 4)
    monkeypatch.setattr("sottovoce.pdmm.engine.runs.WIDE", 4)


@pytest.mark.usefixtures("on_every_thread")
@pytest.mark.parametrize("batch", [None, 5])
@pytest.mark.parametrize("schedule", ["synchronous", "asynchronous", "node_bernoulli", "edge_bernoulli"])
@pytest.mark.parametrize("kind", ["averaging", "vectors", "dense"])
@every_penalty
def test_threads_give_what_the_reference_gives(rng, kind, schedule, batch, penalty):
    """Every node of every chunk is stepped, once: chunks have two nodes, and one of them three."""
    from sottovoce.pdmm.engine.kernels import CHUNKS

    n = 2 * CHUNKS + 1
    network = sv.Network.random_geometric(n, seed=4)
    if kind == "dense":
        problem = sv.least_squares(network, shards(rng, n, 6, 3))
    else:
        problem = sv.averaging(network, rng.normal(size=n if kind == "averaging" else (n, 3)))
    iterations = 4 * n if schedule == "asynchronous" else 25
    arguments = {
        "schedule": SCHEDULES[schedule], "theta": 0.8, "c": penalty(network), "mask": sv.GaussianMask(100.0), "seed": 3,
        "batch": batch, "tol": 0, "max_iter": iterations, "record": [sv.Residual()], "record_every": 10,
    }  # fmt: skip
    fast = sv.solve(problem, engine="compiled", **arguments)
    slow = sv.solve(problem, engine="reference", **arguments)
    assert (fast.iterations, fast.activations, fast.messages) == (slow.iterations, slow.activations, slow.messages)
    # As above: another order of sums, whose rounding errors of eps * |z| add up over non-expansive iterations.
    bound = iterations * EPS * np.abs(slow.z).max()
    assert np.abs(fast.x - slow.x).max() <= bound
    assert np.abs(fast.z - slow.z).max() <= bound
    np.testing.assert_allclose(fast.history["residual"], slow.history["residual"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())
@pytest.mark.parametrize("name", ["averaging", "vectors", "dense"])
def test_equal_penalties_are_one_penalty(network, rng, name, schedule, engine):
    arguments = {
        "schedule": schedule, "theta": 0.8, "mask": sv.GaussianMask(100.0), "seed": 3, "tol": 0, "max_iter": 157,
        "engine": engine,
    }  # fmt: skip
    problem = problems(network, rng)[name]
    each = sv.solve(problem, c=np.full(network.m, 0.4), **arguments)
    both = sv.solve(problem, c=0.4, **arguments)
    # 0.4 d_i against the sum of d_i times 0.4: rounding only.
    bound = 157 * EPS * np.abs(both.z).max()
    assert np.abs(each.x - both.x).max() <= bound
    assert np.abs(each.z - both.z).max() <= bound


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("schedule", [SCHEDULES[name] for name in ("synchronous", "asynchronous", "edge_bernoulli")])
@pytest.mark.parametrize("few", ["tree", "edges"])
@pytest.mark.parametrize("name", ["averaging", "vectors", "dense"])
def test_overlays_too(network, rng, name, few, schedule, batch):
    problem, tree = problems(network, rng)[name], network.spanning_tree()
    overlay = "tree" if few == "tree" else np.unique([*tree.edges.tolist(), *network.edges[::3].tolist()], axis=0)
    arguments = {
        "schedule": schedule, "theta": 0.8, "c": by_edge(network), "overlay": overlay, "mask": sv.GaussianMask(100.0),
        "seed": 3, "batch": batch, "tol": 0, "max_iter": 157, "record": [sv.Residual()], "record_every": 50,
    }  # fmt: skip
    fast = sv.solve(problem, engine="compiled", **arguments)
    slow = sv.solve(problem, engine="reference", **arguments)
    assert fast.messages == slow.messages
    assert len(fast.c) == len(tree.edges if few == "tree" else overlay) < network.m
    bound = 157 * EPS * np.abs(slow.z).max()
    assert np.abs(fast.x - slow.x).max() <= bound
    assert np.abs(fast.z - slow.z).max() <= bound
    np.testing.assert_allclose(fast.history["residual"], slow.history["residual"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "schedule", [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.7), sv.NodeBernoulli(0.5)]
)
@pytest.mark.parametrize("dense", [False, True])
@every_penalty
def test_memory_order_is_invisible(monkeypatch, rng, schedule, dense, penalty):
    monkeypatch.setattr("sottovoce.network.memory_layout.REORDER_FROM", 10)
    local = sv.Network.random_geometric(400, radius=0.09, seed=1, largest_component=True)
    network = sv.Network.from_edges(local.n, rng.permutation(local.n)[local.edges])
    assert network.layout.user is not None
    n = network.n
    problem = sv.least_squares(network, shards(rng, n, 4, 2)) if dense else sv.averaging(network, rng.normal(size=n))
    arguments = {"schedule": schedule, "mask": sv.GaussianMask(1.0), "seed": 1, "tol": 0, "max_iter": 300}
    arguments["c"] = penalty(network)
    fast = sv.solve(problem, engine="compiled", **arguments)
    slow = sv.solve(problem, engine="reference", **arguments)
    # Neighbours are summed in another order: rounding only.
    np.testing.assert_allclose(fast.x, slow.x, atol=300 * EPS * np.abs(slow.z).max())
    np.testing.assert_allclose(fast.z, slow.z, atol=300 * EPS * np.abs(slow.z).max())
    assert fast.residual == pytest.approx(slow.residual, rel=1e-9)


def test_what_is_asked_for_ahead_changes_no_bit(rng):
    """A network so large that memory is prefetched; two nodes have more neighbours than are prefetched at once."""
    from sottovoce.pdmm.engine.kernels import PREFETCH_FROM, TOGETHER

    n, hubs = 66_000, (7, 40_000)
    ring = [(i, (i + 1) % n) for i in range(n)]
    network = sv.Network.from_edges(n, ring + [(hub, hub + 100 * k) for hub in hubs for k in range(1, 41)])
    assert 2 * network.m >= PREFETCH_FROM
    assert network.degrees[list(hubs)].min() > 2 * TOGETHER
    # Nodes between whom messages go to and fro; a run ends before all that it asks for ahead is there.
    trace = [*rng.integers(0, 12, size=150), *(hub + 100 * k for hub in hubs for k in range(41)), *range(7, 13)]
    problem = sv.averaging(network, rng.normal(size=n))
    arguments = {
        "schedule": sv.Trace([int(i) for i in trace]),
        "theta": 0.8,
        "c": 0.4,
        "tol": 0,
        "max_iter": len(trace),
    }
    fast = sv.solve(problem, engine="compiled", **arguments)
    slow = sv.solve(problem, engine="reference", **arguments)
    np.testing.assert_array_equal(fast.x, slow.x)
    np.testing.assert_array_equal(fast.z, slow.z)
    assert fast.messages == slow.messages == network.degrees[trace].sum()


def test_no_record_of_a_node_lies_in_two_cache_lines():
    from sottovoce.pdmm.engine.state import CACHE_LINE, NODE, records

    assert CACHE_LINE % NODE.itemsize == 0
    for count in (1, 3, 1000, 200_000):
        nodes = records(count)
        assert nodes.shape == (count,)
        assert nodes.ctypes.data % CACHE_LINE == 0
        assert not nodes["x"].any()


@pytest.mark.parametrize("schedule", [sv.EdgeBernoulli(0.7), sv.NodeBernoulli(0.5)])
def test_a_row_that_is_longer_than_a_block_of_chances(rng, schedule):
    from sottovoce.pdmm.engine.bernoulli import BLOCK

    network = sv.Network.star(1500)
    assert 2 * network.m > 2 * BLOCK
    problem = sv.averaging(network, rng.normal(size=1500))
    arguments = {"schedule": schedule, "theta": 0.8, "c": 0.4, "seed": 1, "tol": 0, "max_iter": 9}
    fast = sv.solve(problem, engine="compiled", **arguments)
    slow = sv.solve(problem, engine="reference", **arguments)
    np.testing.assert_array_equal(fast.z, slow.z)
    assert (fast.activations, fast.messages) == (slow.activations, slow.messages)


@every_penalty
def test_synchronous_runs_of_other_costs_use_node_space(network, rng, penalty):
    problem = sv.Problem(network, [sv.Huber(float(v)) for v in rng.normal(size=N)])
    arguments = {
        "theta": 0.5,
        "c": penalty(network),
        "mask": sv.GaussianMask(100.0),
        "seed": 3,
        "tol": 0,
        "max_iter": 120,
        "batch": 2,
        "record": [sv.Residual()],
        "record_every": 50,
    }
    fast = sv.solve(problem, engine="compiled", **arguments)
    slow = sv.solve(problem, engine="reference", **arguments)
    np.testing.assert_allclose(fast.x, slow.x, atol=120 * EPS * np.abs(slow.z).max())
    np.testing.assert_allclose(fast.z, slow.z, atol=120 * EPS * np.abs(slow.z).max())
    np.testing.assert_allclose(fast.history["residual"], slow.history["residual"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "schedule", [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.7), sv.NodeBernoulli(0.7)]
)
@pytest.mark.parametrize("batch", [None, 64])
@every_penalty
def test_same_bits_on_any_number_of_threads(monkeypatch, rng, schedule, batch, penalty):
    import numba

    monkeypatch.setattr("sottovoce.pdmm.engine.runs.WIDE", 16)  # columns: several parts
    network = sv.Network.random_geometric(3000, radius=0.05, seed=1, largest_component=True)
    problem = sv.averaging(network, rng.normal(size=network.n))
    arguments = {"schedule": schedule, "mask": sv.GaussianMask(1.0), "seed": 1, "tol": 0, "max_iter": 60}
    arguments["c"] = penalty(network)
    threads = numba.get_num_threads()
    if threads == 1:
        pytest.skip("one thread: there is nothing to compare it with")
    results = []
    try:
        for count in (1, threads):
            numba.set_num_threads(count)
            results.append(sv.solve(problem, engine="compiled", batch=batch, **arguments))
    finally:
        numba.set_num_threads(threads)
    assert all(np.array_equal(results[0].z, other.z) for other in results)


@every_penalty
def test_node_space_does_not_drift(network, rng, penalty):
    # Without recentring, a and b would grow by c mean(x) per iteration, and 1e5 iterations would cost five digits.
    s = 1000 + rng.normal(size=N)
    run = sv.solve(sv.averaging(network, s), c=penalty(network), tol=0, max_iter=100_000)
    assert np.abs(run.x - s.mean()).max() < 1e-10 * s.mean()


@pytest.mark.parametrize("kind", ["averaging", "dense", "Huber"])
@every_penalty
def test_draws_of_a_batch_are_single_runs(monkeypatch, network, rng, penalty, kind):
    """To the bit: draws are stepped together, and each is summed as it would be alone."""
    monkeypatch.setattr("sottovoce.pdmm.engine.runs.WIDE", 4)  # columns: several parts
    flat = sv.Problem(network, sv.Huber.many(rng.normal(size=N)))
    problem = flat if kind == "Huber" else problems(network, rng)[kind]
    draws, dense = LANES + 3, kind == "dense"  # of dense costs, some together and some left
    z0 = rng.normal(size=(draws, 2 * network.m * problem.dim)).reshape(draws, 2 * network.m, *([3] if dense else []))
    for schedule in SCHEDULES.values():
        arguments = {"schedule": schedule, "c": penalty(network), "theta": 0.8, "seed": 3, "tol": 0, "max_iter": 100}
        together = sv.solve(problem, z0=z0, batch=draws, **arguments)
        for r in (0, 1, LANES - 1, LANES, draws - 1):
            alone = sv.solve(problem, z0=z0[r], **arguments)
            np.testing.assert_array_equal(together.z[r], alone.z)
            np.testing.assert_array_equal(together.x[r], alone.x)
            assert (together.activations, together.messages) == (alone.activations, alone.messages)


def test_no_compiled_engine_is_said(network):
    problem = sv.Problem(network, [sv.Custom(lambda v, t: v / (1 + t), lambda x: x * x / 2) for _ in range(N)])
    with pytest.raises(Unsupported, match="no compiled engine"):
        sv.solve(problem, schedule=sv.Asynchronous(), c=1.0, theta=0.5, engine="compiled")


@pytest.mark.parametrize("every", [1, 7])
def test_looking_at_a_run_changes_no_bit(network, rng, every):
    """Recentring comes every ten iterations, however many are played at a time."""
    problem = sv.Problem(network, sv.Huber.many(rng.normal(size=N)))
    arguments = {"theta": 0.8, "c": 0.4, "tol": 0, "max_iter": 65}
    watched = sv.solve(problem, record=[sv.Residual()], record_every=every, **arguments)
    np.testing.assert_array_equal(watched.x, sv.solve(problem, **arguments).x)
