"""The kernels against C++, against memory, against other algorithms, against NumPy and Python; batches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.pdmm.engine import bernoulli, kernels, primitives
from sottovoce.pdmm.engine.state import EdgeSpace, NodeSpace
from sottovoce.pdmm.settings import Settings
from sottovoce.pdmm.solve import make_run

from . import native, opponents
from .measure import Group, Row, fastest, interleaved, nanoseconds, on_threads, ratio_row
from .networks import DEGREE, KEY, THETA, Arrays, C, forget, problem

AHEAD = (int(kernels.AHEAD_NODES), int(kernels.AHEAD_ROWS), int(kernels.AHEAD_VALUES))
SORTING = (
    int(kernels.RECENTRE),
    int(kernels.MIDDLE),
    primitives.SORT_FROM,
    primitives.SORT_TOGETHER,
    int(kernels.AHEAD_SORTED),
)
FIXED = Settings(key=KEY, c=C, theta=THETA, engine="compiled")
ARRIVE = np.uint64(math.ceil(0.8 * 2.0**53))  # EdgeBernoulli(p=0.8)

Task = Callable[[], object]


def play(arrays: Arrays, nodes: np.ndarray) -> Task:
    """The asynchronous kernel on a sequence."""
    a = arrays
    return lambda: kernels.asynchronous_scalar(nodes, a.nodes, a.slots, a.costs, a.pairs)


def sweep(arrays: Arrays, count: int, masked: bool = True, kernel: Any = kernels.node_space_scalar) -> Task:
    """The node-space kernel."""
    a = arrays
    z0 = (a.g0, a.h0) if masked else (np.empty(0), np.empty(0))
    state = NodeSpace(1.0, 0.0, *z0, a.a, a.b, a.spare, a.x)
    chunks = 1 if kernel is kernels.node_space_scalar else kernels.CHUNKS
    return lambda: kernel(chunks, count, 0, primitives.by_degree(a.indptr), a.graph, a.costs, state)  # C++ sorts too


def against_native(quick: bool) -> Group:
    """Bar 1: Numba against the same loop in C++."""
    rows = []
    sizes = (1_000, 10_000) if quick else (1_000, 100_000, 1_000_000)
    for n in sizes:
        a = Arrays("geometric", n)
        count = max(2, (200_000 if quick else 20_000_000) // a.edges)
        nodes = a.wakes(count * a.n)
        large = int(a.edges >= kernels.PREFETCH_FROM)

        def own(name: str, a: Arrays = a, count: int = count, nodes: np.ndarray = nodes) -> Task:
            if name == "node space":
                return sweep(a, count)
            if name == "asynchronous":
                return play(a, nodes)
            state = EdgeSpace(a.pairs, a.g, a.x, a.active)
            return lambda: bernoulli.bernoulli_scalar(count, np.uint64(KEY), 0, ARRIVE, False, a.graph, a.costs, state)

        def twin(name: str, a: Arrays = a, count: int = count, nodes: np.ndarray = nodes, large: int = large) -> Task:
            if name == "node space":
                state = (a.g0, a.h0, a.a, a.b, a.spare, a.x, a.q, a.curvature, C, THETA, *SORTING)
                return lambda: native.call("node_space", count, 0, a.n, a.indptr, a.indices, 1.0, 0.0, *state)
            if name == "asynchronous":
                state = (a.pairs, C, THETA, large, *AHEAD)
                return lambda: native.call("asynchronous", nodes, len(nodes), a.nodes, a.slots, *state)
            state = (a.pairs, a.g, a.x, a.q, a.curvature, C, THETA)
            graph = (a.n, a.indptr, a.indices)
            return lambda: native.call("edge_bernoulli", count, np.uint64(KEY), 0, ARRIVE, *graph, *state)

        for name in ("node space", "asynchronous", "edge-Bernoulli"):
            title = f"Numba / C++: {name}, n = {n:,}"
            try:
                same_answer(a, own(name), twin(name))
            except native.NoCompiler as reason:
                rows.append(Row(title, None, 1.25, "at most", str(reason)))
                continue
            times = interleaved(2 if quick else 9, {"numba": own(name), "c++": twin(name)})
            work = count * a.edges if name != "asynchronous" else float(np.diff(a.indptr)[nodes].sum())
            how = (
                f"kernel time, {nanoseconds(times['numba'], work)} per directed edge against "
                f"{nanoseconds(times['c++'], work)} (c++ -O3 -march={native.CPU}, same arrays; answers compared first)"
            )
            rows.append(ratio_row(title, times["numba"], times["c++"], 1.25, "at most", how))
    forget()
    return Group(rows)


def same_answer(a: Arrays, own: Task, twin: Task) -> None:
    """Both loops from the same state; C++ may fuse multiplications and additions, hence a tolerance."""
    answers = []
    for task in (twin, own):
        for array in (a.pairs, a.g, a.x, a.a, a.b, a.spare):
            array[:] = 0.0
        a.nodes["x"] = 0.0
        task()
        answers.append([a.x.copy(), a.nodes["x"].copy(), a.pairs.copy(), a.a.copy()])
    for other, ours in zip(*answers, strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-9, atol=1e-9)


def against_memory(quick: bool) -> Group:
    """Bar 2: the asynchronous kernel against the random read-modify-write roof."""
    rows = []
    n = 50_000 if quick else 1_000_000
    for kind in ("geometric", "random"):
        title = f"asynchronous / roof: {kind} graph, n = {n:,}"
        a = Arrays(kind, n)
        nodes = a.wakes(3 * a.n)  # enough for the caches to hold what they hold in a long run
        own_edges = a.their_edges(nodes)
        anywhere = np.random.default_rng(4).integers(a.edges // 2, size=len(own_edges)).astype(np.uint32)
        tasks: dict[str, Task] = {"kernel": play(a, nodes)}
        for level, ahead in ((1, 32), (2, 64), (2, 128), (2, 256)):
            for name, edges in (("roof", anywhere), ("own", own_edges))[: 1 if ahead < 128 else 2]:

                def exchange(edges: np.ndarray = edges, ahead: int = ahead, level: int = level, a: Arrays = a) -> None:
                    native.call("read_modify_write", edges, len(edges), a.pairs, ahead, level)

                tasks[f"{name} {level} {ahead}"] = exchange
        try:
            native.library()
        except native.NoCompiler as reason:
            rows.append(Row(title, None, 0.60, "at least", str(reason)))
            continue
        times = interleaved(2 if quick else 7, tasks)
        work = len(own_edges)
        how = (
            f"{nanoseconds(times['kernel'], work)} per directed edge; roof {nanoseconds(fastest(times, 'roof'), work)}:"
            " as many independent read-modify-writes of a 16-byte pair at uniformly random places of the same array, "
            "list of places streamed, nothing else touched, no arithmetic (C++, the best of 4 ways to prefetch)"
        )
        rows.append(ratio_row(title, fastest(times, "roof"), times["kernel"], 0.60, "at least", how))
        holders = np.repeat(np.arange(a.n), np.diff(a.indptr).astype(np.int64))
        lines = len(np.unique(holders << 28 | a.slots >> np.uint32(3))) / a.n
        how = (
            f"for information: the very pairs that the kernel touches ({lines:.1f} cache lines an activation; "
            "the kernel needs about 3 more, for slots and the node's record), listed beforehand"
        )
        title = f"asynchronous / its own pairs alone: {kind} graph"
        rows.append(ratio_row(title, fastest(times, "own"), times["kernel"], None, "at least", how))
        del a, tasks, own_edges, anywhere
        forget()
    return Group(rows)


def against_edge_major(quick: bool) -> Group:
    """Bar 3: node space against the best edge-major synchronous kernel."""
    rows = []
    n = 20_000 if quick else 1_000_000
    for kind in ("geometric", "random"):
        a = Arrays(kind, n)
        upper = primitives.first_upper(a.indptr, a.indices)

        def edge_major(a: Arrays = a, upper: Any = upper) -> None:
            opponents.edge_major(10, a.indptr, upper, a.indices, a.pairs, a.g, a.x, a.q, a.curvature, C, THETA)

        times = interleaved(2 if quick else 9, {"edges": edge_major, "nodes": sweep(a, 10)})
        how = (
            f"one thread, {nanoseconds(times['nodes'], 10 * a.edges)} per directed edge against "
            f"{nanoseconds(times['edges'], 10 * a.edges)} (Numba, in place, row sums fused); 10 iterations a call"
        )
        title = f"edge-major / node space: {kind} graph, n = {n:,}"
        rows.append(ratio_row(title, times["edges"], times["nodes"], 1.3, "at least", how))
        del a
        forget()
    return Group(rows)


def against_numpy(quick: bool) -> Group:
    """Bar 4: the engine against vectorised NumPy, and against a loop in Python."""
    n = 5_000 if quick else 100_000
    count = 4 if quick else 20
    a = Arrays("geometric", n)
    graph = a.network
    q, curvature = problem("geometric", n).quadratic.q[:, 0], 2 + C * graph.degrees  # type: ignore[union-attr]
    runs: dict[str, Any] = {
        "engine": make_run(a.problem, FIXED),
        "vectorised, scipy.sparse": make_run(a.problem, replace(FIXED, engine="reference")),
        "vectorised, NumPy": opponents.NumPyEdges(graph, q, curvature, C, THETA),
        "node space, scipy.sparse": opponents.NodeSpaceSciPy(graph, q, curvature, C, THETA),
    }
    for run in runs.values():
        run.advance(5)
        x = run.stacked_x()[:, 0] if hasattr(run, "stacked_x") else run.x
        np.testing.assert_allclose(x, runs["engine"].stacked_x()[:, 0], rtol=1e-9, atol=1e-9)
    times = interleaved(2 if quick else 9, {name: lambda run=run: run.advance(count) for name, run in runs.items()})
    work = count * a.edges
    each = ", ".join(f"{name} {nanoseconds(times[name], work)}" for name in runs)
    rows = [
        ratio_row(
            f"NumPy / engine: synchronous, n = {n:,}", fastest(times, "vectorised"), times["engine"], 4.0, "at least",
            f"per directed edge: {each}; the opponent is the faster of the two vectorised forms of the iteration",
        ),
        ratio_row(
            f"our algorithm in SciPy / engine: synchronous, n = {n:,}",
            times["node space, scipy.sparse"], times["engine"], None, "at least",
            "for information: node space written with NumPy and one scipy.sparse product an iteration",
        ),
    ]  # fmt: skip

    activations = a.n // 20 if quick else a.n // 2
    python = opponents.PurePython(a.indptr, a.slots, a.q, a.curvature, C, THETA)
    engine = make_run(a.problem, replace(FIXED, schedule=sv.Asynchronous()))
    nodes = a.wakes(activations)
    python.play(nodes.tolist())
    engine.advance(activations)
    np.testing.assert_allclose(engine.stacked_x()[a.network.layout.number, 0], python.x, rtol=1e-12, atol=1e-12)
    sequence, times_more = nodes.tolist(), 20  # the engine runs longer, or reloading its caches would be most of it
    tasks = {"python": lambda: python.play(sequence), "engine": lambda: engine.advance(times_more * activations)}
    times = interleaved(2 if quick else 7, tasks)
    times["engine"] = [taken / times_more for taken in times["engine"]]
    work = float(np.diff(a.indptr)[nodes].sum())
    how = (
        f"{nanoseconds(times['python'], work)} per directed edge ({activations:,} activations, ready-made) against "
        f"{nanoseconds(times['engine'], work)} ({times_more} times as many; run.advance, which draws them)"
    )
    title = f"Python loop / engine: asynchronous, n = {n:,}"
    rows.append(ratio_row(title, times["python"], times["engine"], 50.0, "at least", how))
    forget()
    return Group(rows)


def batches(quick: bool) -> Group:
    """Bar 9: Monte Carlo batches against as many separate runs."""
    rows = []
    n, draws = (200, 20) if quick else (1_000, 100)
    graph = problem("geometric", n)
    mask = sv.GaussianMask(variance=100.0)
    half_edges = 2 * graph.network.m
    for name, schedule, rounds in (
        ("synchronous", sv.Synchronous(), 200),
        ("asynchronous", sv.Asynchronous(), 50),
        ("edge-Bernoulli", sv.EdgeBernoulli(0.8), 50),
    ):
        rounds = rounds // 10 if quick else rounds
        count = rounds * (graph.network.n if name == "asynchronous" else 1)
        z0 = mask.draw((half_edges, draws), seed=0)
        settings = replace(FIXED, schedule=schedule)
        batch = make_run(graph, replace(settings, batch=draws, z0=z0))
        alone = [make_run(graph, replace(settings, z0=z0[:, [r]])) for r in range(draws)]

        def separate(alone: list[Any] = alone, count: int = count) -> None:
            for run in alone:
                run.advance(count)

        tasks = {"batch": lambda batch=batch, count=count: batch.advance(count), "separate": separate}
        times = interleaved(2 if quick else 5, tasks)
        work = rounds * half_edges * draws
        how = (
            f"{nanoseconds(times['batch'], work)} per directed edge and sample against "
            f"{nanoseconds(times['separate'], work)}; one thread, degree {DEGREE}, run.advance"
        )
        title = f"{draws} runs / batch={draws}: {name}, n = {n:,}"
        rows.append(ratio_row(title, times["separate"], times["batch"], None, "at least", how))
    forget()
    for n in (10,) if quick else (20, 100):
        rows += dense_batches(n, 10 if quick else 100, quick)
    return Group(rows)


def dense_batches(n: int, draws: int, quick: bool) -> list[Row]:
    """A batch of dense costs against one draw of it."""
    rng, d = np.random.default_rng(5), 50
    graph = sv.Network.regular(n, min(DEGREE, n - 2), seed=1)
    data = [(rng.standard_normal((60, d)), rng.standard_normal(60)) for _ in range(n)]
    dense = sv.least_squares(graph, data)
    z0 = sv.GaussianMask(variance=100.0).draw((2 * graph.m * d, draws), seed=0)
    rows = []
    for name, schedule in (
        ("synchronous", sv.Synchronous()), ("asynchronous", sv.Asynchronous()),
        ("edge-Bernoulli", sv.EdgeBernoulli(0.8)),
    ):  # fmt: skip
        count, settings = 10 * (n if name == "asynchronous" else 1), replace(FIXED, schedule=schedule)
        batch = make_run(dense, replace(settings, batch=draws, z0=z0))
        alone = make_run(dense, replace(settings, z0=z0[:, [0]]))
        for run in (batch, alone):
            run.advance(count)
        np.testing.assert_array_equal(batch.stacked_x()[:, 0], alone.stacked_x()[:, 0])  # the same bits
        more = 25  # rounds alone, so that both tasks take as long, and whatever else the machine does meets both
        title = f"batch={draws} / one draw: {name}, dense, d = {d}, n = {n}"
        tasks = {
            "batch": lambda run=batch, count=count: run.advance(count),
            "alone": lambda run=alone, count=count * more: run.advance(count),
        }
        for threads in (1,) if quick else (1, 2):
            with on_threads(threads):
                times = interleaved(2 if quick else 41, tasks)
            times["alone"] = [taken / more for taken in times["alone"]]
            micro = {task: 1e6 * median(taken) / (10 * n) for task, taken in times.items()}
            how = (
                f"{micro['batch']:.3g} us a node and round against {micro['alone']:.3g} us; run.advance, degree "
                f"{graph.degrees[0]}; {16e-6 * graph.m * d:.2g} MB of half-edges for each draw"
            )
            told = f"{title}, {threads} thread{'s' * (threads > 1)}"
            rows.append(ratio_row(told, times["batch"], times["alone"], 25.0, "at most", how))
    return rows
