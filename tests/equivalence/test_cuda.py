"""``engine="cuda"`` against the CPU: on a GPU where there is one, else with its kernels compiled by g++.

Sums run in the same order and nothing is contracted, so answers are equal to the bit wherever the CPU's kernels write
the same arithmetic; elsewhere to rounding: 1e-12, relative, is asked for.
"""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from emulated_cuda import EmulatedCupy

import sottovoce as sv
from sottovoce.errors import InvalidInput, MissingExtra, Unsupported
from sottovoce.pdmm.cuda import device as device_module
from sottovoce.pdmm.cuda import runs
from sottovoce.privacy.moments import cuda_projection
from sottovoce.privacy.moments.subspace import Subspace


def real_gpu() -> bool:
    try:
        device_module.device()
    except (MissingExtra, Unsupported):
        return False
    return True


REAL = real_gpu()
if not REAL and shutil.which("g++") is None:
    pytest.skip("no GPU, and no g++ to stand in for one: engine='cuda' was not tested", allow_module_level=True)


@pytest.fixture(autouse=True, scope="module")
def gpu(tmp_path_factory):
    if REAL:
        yield
        return
    device = device_module.Device(EmulatedCupy(tmp_path_factory.mktemp("cuda")))
    with pytest.MonkeyPatch.context() as patch:
        for module in (runs, cuda_projection):
            patch.setattr(module, "device", lambda: device)
        yield


NETWORK = sv.Network.random_geometric(60, seed=4)
RNG = np.random.default_rng(8)
S = RNG.normal(size=60)
V = RNG.normal(size=(60, 3))
FEW, MANY = sv.averaging(NETWORK, S), sv.averaging(NETWORK, V)
DENSE = sv.Problem(NETWORK, [sv.LeastSquares(RNG.normal(size=(5, 3)), RNG.normal(size=5)) for _ in range(60)])
PENALTIES = RNG.uniform(0.3, 0.6, NETWORK.m)


class Halved(sv.Huber):
    """Steps otherwise than its family."""

    def step(self, g, rho):
        return super().step(g, rho) / 2


class Twice(sv.Asynchronous):
    """Plays otherwise than its base."""

    def play(self, stage, network, key, first, count):
        for i in self.checked_nodes(network, key, first, count).tolist():
            stage.wake_one(i)
            stage.wake_one(i)


def equal(problem, bits=False, **arguments):
    """Both engines, held together; the answer of the GPU."""
    arguments = {"theta": 0.8, "c": 0.4, "tol": 0, "max_iter": 250, "seed": 3} | arguments
    fast, slow = (sv.solve(problem, engine=engine, **arguments) for engine in ("cuda", "auto"))
    assert (fast.iterations, fast.activations, fast.messages) == (slow.iterations, slow.activations, slow.messages)
    size = max(np.abs(slow.x).max(), np.abs(slow.z).max())  # x is what is left of the pads: their rounding is its own
    for one, other in ((fast.x, slow.x), (fast.z, slow.z)):
        if bits:
            assert np.array_equal(one, other)
        assert np.abs(one - other).max() <= 1e-12 * size
    return fast


SCHEDULES = {
    "synchronous": sv.Synchronous(),
    "asynchronous": sv.Asynchronous(),
    "rates": sv.PoissonClocks(np.linspace(1, 3, 60)),
    "turns": sv.Permutations(),
    "trace": sv.Trace(RNG.integers(60, size=400)),
    "nodes": sv.NodeBernoulli(0.6),
    "edges": sv.EdgeBernoulli(0.7),
}


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize(
    ("problem", "more"),
    [
        (FEW, {}),
        (FEW, {"c": PENALTIES, "theta": 1.0}),
        (FEW, {"mask": sv.GaussianMask(variance=1e6)}),
        (MANY, {"mask": sv.GaussianMask(variance=1e6), "batch": 4}),
        (DENSE, {"c": PENALTIES}),
        (DENSE, {"mask": sv.GaussianMask(variance=1e6), "batch": 2}),
    ],
    ids=["scalar", "weights", "masked", "batch", "dense", "dense batch"],
)
def test_a_run_is_that_of_the_cpu(problem, more, schedule):
    equal(problem, bits=problem is not DENSE, schedule=schedule, **more)


@pytest.mark.parametrize(
    "costs",
    [sv.Huber.many(3 * V, 0.5), sv.AbsoluteDeviation.many(V), [sv.Box(v - 1, v + 1) for v in 0.1 * V]],
    ids=["Huber", "AbsoluteDeviation", "Box"],
)
@pytest.mark.parametrize("name", ["synchronous", "asynchronous", "nodes", "edges"])
def test_steps_with_kinks(costs, name):
    equal(sv.Problem(NETWORK, costs), schedule=SCHEDULES[name], theta=0.5)


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name != "trace"])
def test_it_stops_where_the_cpu_does(name):
    arguments = {"schedule": SCHEDULES[name], "theta": 0.8, "c": 0.4, "seed": 1, "mask": sv.GaussianMask(variance=1e6)}
    fast, slow = (sv.solve(FEW, engine=engine, **arguments) for engine in ("cuda", "auto"))
    assert fast.converged
    assert fast.iterations == slow.iterations
    assert fast.residual == pytest.approx(slow.residual, rel=1e-2)  # 1e-9 of numbers of size 1e3, whose rounding it has


@pytest.mark.parametrize("problem", [FEW, MANY, DENSE], ids=["scalar", "vector", "dense"])
def test_residuals_agree_on_the_way(problem):
    record = {"record": [sv.Residual()], "record_every": 10}
    fast, slow = (
        sv.solve(problem, engine=engine, theta=0.8, c=0.4, tol=0, max_iter=60, seed=1, **record)
        for engine in ("cuda", "auto")
    )
    assert np.allclose(fast.history["residual"], slow.history["residual"], rtol=1e-9, atol=1e-14)


def test_over_a_tree_with_matched_penalties():
    tree = equal(FEW, overlay="tree", c="auto", theta=None, mask=sv.GaussianMask(variance=1e6), tol=1e-9)
    assert tree.converged
    assert np.allclose(tree.x, S.mean(), atol=1e-9)


def test_pads_of_edges_without_messages():
    """Plain arithmetic over a tree: pads of other edges lean on the steps."""
    more = {"mask": sv.GaussianMask(variance=1e6), "arithmetic": "plain", "overlay": "tree", "c": 0.5}
    for name in ("synchronous", "asynchronous", "edges"):
        equal(FEW, schedule=SCHEDULES[name], **more)


def test_c_is_tuned_by_pilots_on_the_gpu():
    fast, slow = (sv.solve(FEW, engine=engine, seed=1) for engine in ("cuda", "auto"))
    assert fast.converged
    assert (fast.c, fast.theta) == (slow.c, slow.theta)


def test_long_rows_and_small_blocks():
    """A star has one row of thousands, and a ring none above two."""
    star = sv.averaging(sv.Network.star(6000), RNG.normal(size=6000))
    equal(star, c=0.5, max_iter=12)
    ring = sv.averaging(sv.Network.ring(3), [1.0, 2.0, 6.0])
    assert equal(ring, tol=1e-9, max_iter=None).converged


def test_memory_order_of_large_scattered_networks():
    """Above 20,000 nodes a network is renumbered in memory; the user's order comes back."""
    ring = sv.Network.ring(20_001)
    shuffled = RNG.permutation(20_001)
    network = sv.Network.from_edges(20_001, shuffled[ring.edges])
    assert network.layout.user is not None
    problem = sv.averaging(network, RNG.normal(size=20_001))
    for name in ("synchronous", "asynchronous", "edges"):
        more = {"mask": sv.GaussianMask(variance=1e6), "max_iter": 40_000 if name == "asynchronous" else 12}
        equal(problem, schedule=SCHEDULES[name], **more)


@pytest.mark.parametrize(
    "network",
    [NETWORK, sv.Network.regular(500, 4, seed=2), sv.Network.grid(21, 21), sv.Network.ring(401)],
    ids=["small", "expander", "bipartite", "slow"],
)
def test_projections(network, monkeypatch):
    """To what both leave as a residual, times the condition of the systems; a ring of 401 has 4e4."""
    monkeypatch.setattr(cuda_projection, "NUMBERS", 6 * network.m)  # several parts
    z = RNG.normal(size=(4, 2 * network.m))
    fast, slow = Subspace(network, engine="cuda").psi(z), Subspace(network).psi(z)
    assert np.abs(fast - slow).max() <= 1e-12 * np.abs(z).max()


def test_projections_of_any_size_that_float64_has(monkeypatch):
    """Their squares leave its range, in which conjugate gradients look whether they have arrived."""
    network = sv.Network.regular(500, 4, seed=2)
    monkeypatch.setattr(cuda_projection, "NUMBERS", 4 * network.m)  # two draws a part
    one, sizes = RNG.normal(size=2 * network.m), np.array([1e300, 1e153, 1e-155, 1e-165, 1e-300])
    psi = Subspace(network, engine="cuda").psi(one * sizes[:, None], axis=-1)
    assert np.abs(psi / sizes[:, None] - Subspace(network).psi(one)).max() <= 1e-12 * np.abs(one).max()


def test_what_has_no_kernel_is_refused():
    pair = sv.Network.from_edges(2, [(0, 1)])
    constrained = pair.with_constraints({(0, 1): [[1.0]], (1, 0): [[1.0]]}, b={(0, 1): [1.0]})
    for problem, more, words in [
        (sv.Problem(constrained, [sv.Averaging(1.0), sv.Averaging(2.0)]), {}, "general edge constraints"),
        (sv.Problem(pair, [sv.Huber(1.0), sv.Averaging(1.0)]), {}, "Huber, AbsoluteDeviation and Box"),
        (FEW, {"schedule": sv.Delayed(max_delay=2)}, "schedule Delayed"),
        (FEW, {"schedule": Twice()}, "schedule Twice"),
        (sv.Problem(pair, Halved.many(np.ones(2))), {}, "Huber, AbsoluteDeviation and Box"),
    ]:
        with pytest.raises(Unsupported, match=words):
            sv.solve(problem, engine="cuda", c=0.5, theta=0.5, **more)
    with pytest.raises(Unsupported, match="under consensus only"):
        Subspace(constrained, engine="cuda").psi(np.zeros(2))
    with pytest.raises(InvalidInput, match="engine must be 'auto' or 'cuda'; got 'gpu'"):
        Subspace(pair, engine="gpu")
    with pytest.raises(InvalidInput, match="engine must be 'auto' or 'cuda'; got array"):
        Subspace(pair, engine=np.array(["cuda", "auto"]))
    with pytest.raises(InvalidInput, match="network must be a Network; got int"):
        Subspace(5)


def test_memory_that_runs_out_is_a_sentence():
    device = runs.device()
    with pytest.raises(Unsupported, match="does not fit"), device.memory():
        raise device.xp.cuda.memory.OutOfMemoryError(1, 1)


@pytest.mark.skipif(REAL, reason="there is a GPU")
def test_without_a_gpu_it_says_so():
    """Where CuPy is missing, and where it finds no GPU."""
    with pytest.raises((MissingExtra, Unsupported), match="cuda"):
        device_module.device()
