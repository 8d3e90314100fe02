"""One point of a curve, in a process of its own: ``python -m benchmarks.growth.point SERIES GRAPH N [--quick]``.

Times are those of the processor, of one thread, so that others who share the machine do not count as the package's
time; they do disturb its caches and its memory."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numba

import sottovoce as sv
from sottovoce.pdmm.solve import make_run

from ..networks import THETA, C, network, problem
from ..opponents import NumPyEdges
from ..speed import FIXED

SCHEDULES = {
    "synchronous": sv.Synchronous(),
    "asynchronous": sv.Asynchronous(),
    "edge-Bernoulli": sv.EdgeBernoulli(0.8),
}
NUMPY = "NumPy"  # synchronous, on half-edges
ENOUGH = 20_000_000  # directed edges a round: a tenth of a second


def peak() -> int:
    """Bytes that this process has had at most. Not by getrusage, whose maximum survives fork and exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def advancing(series: str, graph: str, n: int) -> tuple[Callable[[int], object], int]:
    """What plays iterations of averaging, and how often a node wakes in an iteration."""
    task = problem(graph, n)
    if series == NUMPY:
        q = task.quadratic.q[:, 0]  # type: ignore[union-attr]
        return NumPyEdges(task.network, q, 2 + C * task.network.degrees, C, THETA).advance, 1
    run = make_run(task, replace(FIXED, schedule=SCHEDULES[series]))
    return run.advance, task.network.n if series == "asynchronous" else 1


def measured(series: str, graph: str, n: int, quick: bool) -> dict[str, Any]:
    began = time.process_time()
    made = network(graph, n)
    generation = time.process_time() - began
    advance, wakes = advancing(series, graph, n)
    edges = 2 * made.m
    count = max(1, (ENOUGH // 100 if quick else ENOUGH) // edges)
    advance(wakes)  # compiles, or loads, and touches memory
    advance(count * wakes)
    times = []
    for _ in range(2 if quick else 5):
        began = time.process_time()
        advance(count * wakes)
        times.append(time.process_time() - began)
    return {
        "n": made.n, "edges": edges, "iterations": count, "ns": 1e9 * median(times) / (count * edges),
        "peak": peak(), "generation": generation,
    }  # fmt: skip


if __name__ == "__main__":
    numba.set_num_threads(1)
    print(json.dumps(measured(sys.argv[1], sys.argv[2], int(sys.argv[3]), "--quick" in sys.argv)))
