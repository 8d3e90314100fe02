"""The curves of a GPU, which few machines have: ``python -m benchmarks.growth.on_gpu`` writes growth_cuda.json, which
the picture takes in. Times are by the GPU's clock; memory is the GPU's own."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import sottovoce as sv
from sottovoce.pdmm.cuda.device import Device, device
from sottovoce.pdmm.settings import Settings
from sottovoce.pdmm.solve import make_run

from ..cuda import seconds
from ..measure import ROOT, machine
from ..networks import KEY, THETA, C, forget, problem

CUDA = ROOT / "growth_cuda.json"
SCHEDULES = {"synchronous": sv.Synchronous(), "asynchronous": sv.Asynchronous()}
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
ASKED = Settings(key=KEY, c=C, theta=THETA, engine="cuda")


def point(gpu: Device, series: str, graph: str, n: int) -> dict[str, Any]:
    """One run, whose iteration is everybody's turn once."""
    task, pool = problem(graph, n), gpu.xp.get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.used_bytes()
    run = make_run(task, replace(ASKED, schedule=SCHEDULES[series]))
    a_round = task.network.n if series == "asynchronous" else 1
    rounds = 4 if series == "asynchronous" else 50
    taken = seconds(gpu, lambda: run.advance(rounds * a_round), 5) / rounds
    edges, held = 2 * task.network.m, pool.used_bytes() - before
    return {"n": task.network.n, "edges": edges, "ns": 1e9 * taken / edges, "peak": held, "bytes": held / edges}


def main() -> int:
    gpu = device()
    curves = []
    for graph in ("geometric", "random"):
        found: dict[str, list[dict[str, Any]]] = {series: [] for series in SCHEDULES}
        for n in SIZES:
            for series, points in found.items():
                points.append(point(gpu, series, graph, n))
                print(graph, series, points[-1], flush=True)
            forget()
        curves += [
            {"series": f"{gpu.name.removeprefix('NVIDIA ')}, {series}", "graph": graph, "points": points, "stopped": ""}
            for series, points in found.items()
        ]
    CUDA.write_text(json.dumps({"gpu": gpu.name, "machine": machine(), "curves": curves}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
