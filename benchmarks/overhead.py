"""What ``solve`` adds to its kernel, what an import costs, and a million nodes in a fresh process."""

from __future__ import annotations

import json
import re
from statistics import median
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.pdmm.engine import kernels
from sottovoce.pdmm.engine.runs import PARALLEL_FROM

from .measure import Group, Row, fresh, interleaved, nanoseconds, ratio_row, seconds
from .networks import THETA, Arrays, C, forget, radius
from .speed import play, sweep

UNREACHABLE = 1e-300  # as tol: residuals are looked at, and never good enough


def solve_overhead(quick: bool) -> Group:
    """Bar 5: ``solve`` against the kernel alone, and the price of an activation in a tiny network."""
    n, rounds = (2_000, 100) if quick else (100_000, 200)
    a = Arrays("geometric", n)
    rows = []
    for name, schedule, count in (
        ("synchronous", sv.Synchronous(), 5 * rounds), ("asynchronous", sv.Asynchronous(), rounds * a.n),
    ):  # fmt: skip
        same = kernels.node_space_scalar_parallel if 2 * a.network.m >= PARALLEL_FROM else kernels.node_space_scalar
        kernel = sweep(a, count, False, same) if name == "synchronous" else play(a, a.wakes(count))
        arguments: dict[str, Any] = {"schedule": schedule, "c": C, "theta": THETA, "seed": 1, "max_iter": count}
        tasks = {
            "kernel": kernel,
            "solve": lambda arguments=arguments: sv.solve(a.problem, tol=UNREACHABLE, **arguments),
            "unchecked": lambda arguments=arguments: sv.solve(a.problem, tol=0, **arguments),
        }
        times = interleaved(2 if quick else 7, tasks)
        part = [u / k for u, k in zip(times["unchecked"], times["kernel"], strict=True)]
        how = (
            f"{count:,} iterations with the residual looked at as by default (tol={UNREACHABLE:g}), the result copied "
            f"out; without looking {median(part):.3g}. The kernel alone: one call"
            + (" on a ready-made sequence" if name == "asynchronous" else "")
        )
        title = f"solve / kernel: {name}, n = {n:,}"
        rows.append(ratio_row(title, times["solve"], times["kernel"], 1.2, "at most", how))
    forget()

    tiny = sv.averaging(sv.Network.random_geometric(10, seed=1), list(range(10)))
    count = 100_000 if quick else 5_000_000
    for tol in (0.0, UNREACHABLE):

        def run(tol: float = tol) -> None:
            sv.solve(tiny, schedule=sv.Asynchronous(), c=C, theta=THETA, seed=1, tol=tol, max_iter=count)

        times = interleaved(2 if quick else 7, {"solve": run})["solve"]
        how = f"solve of {count:,} activations, all of it: {nanoseconds(times, count)} each (mean degree "
        how += f"{tiny.network.degrees.mean():.3g})"
        micro = [1e6 * taken / count for taken in times]
        title = f"an activation through solve: n = 10, tol={tol:g}"
        rows.append(ratio_row(title, micro, [1.0] * len(micro), 0.5, "at most", how, "us"))
    return Group(rows)


def states(quick: bool) -> Group:
    """``iterate(every=k)`` against ``solve`` of as many activations, and against a state for each of them."""
    n = 400 if quick else 10_000
    problem = sv.averaging(sv.Network.grid(round(n**0.5), round(n**0.5)), np.arange(float(n)))
    arguments: dict[str, Any] = {"schedule": sv.Asynchronous(), "c": C, "theta": THETA, "seed": 1}

    def play(every: int) -> None:
        for state in sv.iterate(problem, every=every, **arguments):
            if state.iteration >= n:
                break

    tasks = {
        "solve": lambda: sv.solve(problem, tol=0, max_iter=n, **arguments),
        "last": lambda: play(n),
        "hundred": lambda: play(n // 100),
    }
    times = interleaved(3 if quick else 21, tasks)
    each = seconds(lambda: play(1)) / median(times["last"])
    how = (
        f"{n:,} activations: the states at their beginning and end against solve, which keeps one. A hundred states: "
        f"{median(times['hundred']) / median(times['last']):.3g} times that; one for each activation: {each:.3g} times"
    )
    title = f"iterate(every={n:,}) / solve: n = {n:,}"
    return Group([ratio_row(title, times["last"], times["solve"], 3, "at most", how)])


MILLION = """
import json, time
import numpy as np
import sottovoce as sv

started = time.perf_counter()
network = sv.Network.random_geometric({n}, {radius}, seed=1, largest_component=True)
generated = time.perf_counter()
problem = sv.averaging(network, np.random.default_rng(0).standard_normal(network.n))
result = sv.solve(problem, c=0.3, mask=sv.GaussianMask(variance=1e4), seed=1, tol=0, max_iter=100)
solved = time.perf_counter()
# Not getrusage: its maximum survives fork and exec, and would be that of the parent.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({{"peak": int(peak.split()[1]) * 1024, "generation": generated - started, "solve": solved - generated,
                  "n": network.n, "edges": 2 * network.m, "iterations": result.iterations}}))
"""


def million(quick: bool) -> Group:
    """Bar 6: memory, and the time to make the network."""
    n = 20_000 if quick else 1_000_000
    runs = [json.loads(fresh(MILLION.format(n=n, radius=radius(n))).stdout) for _ in range(1 if quick else 3)]
    one = runs[0]
    peak = median(run["peak"] for run in runs) / 1e9
    what = f"{one['n']:,} nodes, {one['edges']:,} directed edges"
    took = median(run["solve"] for run in runs)
    how = (
        "peak resident set (VmHWM) of a fresh process: random_geometric, then solve, 100 synchronous iterations with a "
        f"mask, {took:.3g} s; {what}"
    )
    generation = median(run["generation"] for run in runs)
    aim = "for information: about 2 s are aimed at"
    return Group(
        [
            Row(f"peak memory: n = {n:,}", peak, 1.5, "at most", how, "GB"),
            Row("time to generate that network", generation, None, "at most", aim, "s"),
        ]
    )


IMPORT = """
import sys, time
started = time.perf_counter()
import sottovoce
print(time.perf_counter() - started, "numba" in sys.modules)
"""


def importing(quick: bool) -> Group:
    """Bar 7: the import of the package, in fresh interpreters."""
    seen = [fresh(IMPORT).stdout.split() for _ in range(3 if quick else 11)]
    times = [float(taken) for taken, _ in seen]
    compiled = sum(numba == "True" for _, numba in seen)
    whole = seconds(lambda: fresh("pass"))
    how = f"median of {len(times)} fresh interpreters (starting one takes {whole:.2f} s more); most of it: {heaviest()}"
    return Group(
        [
            ratio_row("import sottovoce", times, [1.0] * len(times), 0.4, "at most", how, "s"),
            Row("Numba loaded at import", float(compiled), 0.0, "at most", "interpreters with it in sys.modules", ""),
        ]
    )


def heaviest() -> str:
    """The packages that dominate the import, by the time spent in their own modules."""
    own: dict[str, int] = {}
    for line in fresh("import sottovoce", "-X", "importtime").stderr.splitlines():
        found = re.match(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", line)
        if found:
            package = found[2].split(".")[0]
            own[package] = own.get(package, 0) + int(found[1])
    largest = sorted(own.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{package} {micro / 1e6:.2f} s" for package, micro in largest)
