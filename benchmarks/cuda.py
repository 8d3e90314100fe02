"""The GPU: against its own copy bandwidth, and against two cores of the CPU beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.errors import MissingExtra, Unsupported
from sottovoce.pdmm.cuda.device import Device, device
from sottovoce.pdmm.settings import Settings
from sottovoce.pdmm.solve import make_run

from .measure import Group, Row, on_threads
from .networks import KEY, THETA, C, forget, network, problem

ROUNDS = 7


def on_gpu(quick: bool) -> Group:
    """Without a GPU a row that says so."""
    try:
        gpu = device()
    except (MissingExtra, Unsupported) as reason:
        return Group([Row("the GPU", None, None, "at least", str(reason))])
    rows = [*synchronous(gpu, quick), *others(gpu, quick), *projections(gpu, quick)]
    forget()
    if not quick:
        rows += [billion(gpu)]
    return Group(rows)


def seconds(gpu: Device, task: Callable[[], object], rounds: int = ROUNDS) -> float:
    """On the GPU, the median of some rounds after a first one that compiles and warms up."""
    start, end = gpu.xp.cuda.Event(), gpu.xp.cuda.Event()
    taken = []
    for number in range(-1, rounds):
        start.record()
        task()
        end.record()
        end.synchronize()
        if number >= 0:
            taken.append(gpu.xp.cuda.get_elapsed_time(start, end) / 1e3)
    return median(taken)


def on_two_cores(task: Callable[[], object]) -> float:
    """The same on the CPU: the best of two rounds after the first, with two threads."""
    taken = []
    with on_threads(2):
        for number in range(3):
            started = time.perf_counter()
            task()
            if number:
                taken.append(time.perf_counter() - started)
    return min(taken)


def bandwidth(gpu: Device, quick: bool) -> float:
    """Bytes a second of a copy, counting those read and those written."""
    source = gpu.xp.ones(1 << 22 if quick else 1 << 29)
    target = gpu.xp.empty_like(source)
    return 2 * source.nbytes / seconds(gpu, lambda: gpu.xp.copyto(target, source))


def least_bytes(run: Any) -> int:
    """Of an iteration in node space: every array once for every time it must be read or written. Neighbours are counted
    by their indices: what ``b`` holds is read once, however often it is asked for."""
    once = [run.indptr, run.indices, run.costs[2], run.costs[4], run.b, run.spare, run.a, run.a]
    return sum(array.nbytes for array in once + [g for g in (run.g0, run.h0) if g is not None])


def runs(p: sv.Problem, **more: Any) -> tuple[Any, Any]:
    """On the GPU and on the CPU."""
    asked = {"key": KEY, "c": C, "theta": THETA} | more
    return tuple(make_run(p, Settings(engine=engine, **asked)) for engine in ("cuda", "compiled"))  # type: ignore[return-value]


def compared(name: str, gpu: Device, fast: Any, slow: Any, count: int, few: int, unit: int, what: str) -> Row:
    """How many times faster than two cores; ``count`` and ``few`` are iterations, ``unit`` what one of them plays."""
    fast.advance(few)
    slow.advance(few)
    x, other = fast.stacked_x(), slow.stacked_x()
    apart = float(np.abs(x - other).max() / np.abs(other).max())
    on_gpu_seconds = seconds(gpu, lambda: fast.advance(count)) / count
    cores = on_two_cores(lambda: slow.advance(few)) / few
    times = f"{on_gpu_seconds / unit * 1e12:.3g} ps and {cores / unit * 1e12:.4g} ps a {what}"
    how = f"{times}; x apart by {apart:.1e}, relative"
    return Row(f"two cores / GPU: {name}", cores / on_gpu_seconds, None, "at least", how)


def synchronous(gpu: Device, quick: bool) -> list[Row]:
    """Node space, on a local graph of 1e8 directed edges."""
    n = 10_000 if quick else 10_000_000
    p, copy = problem("geometric", n), bandwidth(gpu, quick)
    edges, rows = 2 * p.network.m, []
    z0 = np.random.default_rng(3).standard_normal((edges, 1))
    for name, pads in (("", {}), (", with pads", {"z0": z0})):
        fast = make_run(p, Settings(key=KEY, c=C, theta=THETA, engine="cuda", **pads))
        taken = seconds(gpu, lambda fast=fast: fast.advance(50)) / 50
        reached = least_bytes(fast) / taken / copy
        how = (
            f"{gpu.name}, {edges:.3g} directed edges: {taken / edges * 1e12:.3g} ps each, "
            f"{least_bytes(fast) / edges:.3g} bytes at least; a copy moves {copy / 1e12:.3g} TB/s"
        )
        bar = None if quick else 0.60
        rows.append(Row(f"node space / copy bandwidth, local graph{name}", reached, bar, "at least", how))
    del fast, z0
    fast, slow = runs(p)
    rows.append(compared("synchronous, local graph", gpu, fast, slow, 50, 3, edges, "directed edge"))
    return rows


def others(gpu: Device, quick: bool) -> list[Row]:
    """Other schedules and graphs, batches, vectors."""
    n, batch = (1_000, 4) if quick else (1_000_000, 100)
    rows = []
    for kind in ("geometric", "random"):
        p = problem(kind, n)
        edges = 2 * p.network.m
        name = "local" if kind == "geometric" else "random"
        if kind == "random":
            rows.append(compared(f"synchronous, {name} graph", gpu, *runs(p), 50, 3, edges, "directed edge"))
        lossy = runs(p, schedule=sv.EdgeBernoulli(0.8))
        rows.append(compared(f"edge-Bernoulli, {name} graph", gpu, *lossy, 20, 2, edges, "directed edge"))
        one = runs(p, schedule=sv.Asynchronous())
        rows.append(compared(f"asynchronous, {name} graph", gpu, *one, 8 * n, n, 1, "activation"))
    p = problem("geometric", n // 10)
    draws = {"batch": batch, "z0": np.random.default_rng(3).standard_normal((2 * p.network.m, batch))}
    edges = 2 * p.network.m * batch
    rows.append(compared("synchronous batch", gpu, *runs(p, **draws), 20, 2, edges, "directed edge and draw"))
    alone = runs(p, schedule=sv.Asynchronous(), **draws)
    rows.append(compared("asynchronous batch", gpu, *alone, n, n // 100, batch, "activation and draw"))
    p = problem("geometric", n // 100)
    graph, d, rng = p.network, 50, np.random.default_rng(4)
    A = rng.standard_normal((graph.n, d, d))
    Q = A @ A.transpose(0, 2, 1) / d + np.eye(d)
    dense = sv.Problem(graph, sv.Quadratic.many(Q, rng.standard_normal((graph.n, d))))
    rows.append(compared(f"dense quadratic costs, d = {d}", gpu, *runs(dense), 20, 2, graph.n, "node"))
    return rows


def projections(gpu: Device, quick: bool) -> list[Row]:
    """Onto Psi: 1e6 directed edges, 100 draws."""
    from sottovoce.privacy.moments.subspace import Subspace

    rows = []
    for kind in ("random", "geometric"):
        graph = network(kind, 1_000 if quick else 100_000)
        z = np.random.default_rng(5).standard_normal((4 if quick else 100, 2 * graph.m))
        fast, slow = Subspace(graph, engine="cuda"), Subspace(graph)
        found = fast.psi(z)
        times, few = [], z[:2] if quick else z[:8]
        for subspace, some in ((fast, z), (slow, few)):
            subspace.psi(some[:1])
            started = time.perf_counter()
            answer = subspace.psi(some)
            times.append((time.perf_counter() - started) / len(some))
        apart = float(np.abs(found[: len(few)] - answer).max() / np.abs(z).max())
        how = f"{times[0] * 1e3:.3g} and {times[1] * 1e3:.4g} ms a draw, from and to the host; apart by {apart:.1e}"
        name = "local" if kind == "geometric" else "random"
        rows.append(Row(f"CPU / GPU: projections, {name} graph", times[1] / times[0], None, "at least", how))
    return rows


def billion(gpu: Device) -> Row:
    """1e9 directed edges: a grid of 15,812 x 15,812."""
    started = time.perf_counter()
    graph = sv.Network.grid(15_812, 15_812)
    p = sv.averaging(graph, np.random.default_rng(2).standard_normal(graph.n))
    made = time.perf_counter() - started
    run = make_run(p, Settings(key=KEY, c=C, theta=THETA, engine="cuda"))
    before = float(np.ptp(p.groups[0][1].quadratic.q)) / 2  # type: ignore[union-attr]
    taken = seconds(gpu, lambda: run.advance(20), 3) / 20
    held = gpu.xp.get_default_memory_pool().used_bytes()
    edges, left = 2 * graph.m, float(np.ptp(run.stacked_x()))
    how = (
        f"{edges:,} directed edges, {taken / edges * 1e12:.3g} ps each, {held / 2**30:.3g} GiB on {gpu.name}; made in "
        f"{made:.0f} s; answers lay {before:.2g} apart and lie {left:.2g} apart after {run.iteration} iterations"
    )
    return Row("an iteration of 1e9 directed edges", taken * 1e3, None, "at most", how, "ms")
