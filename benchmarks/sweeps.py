"""What a sweep costs beside its runs, and what a second process gains."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

import sottovoce as sv

from .measure import Group, Row, interleaved, ratio_row


def sweeps(quick: bool) -> Group:
    """Without bars: what a run takes is the user's, and what a second core gives the machine's."""
    return Group([*per_point(quick), *two_processes(quick)])


def per_point(quick: bool) -> list[Row]:
    """Short runs in this process, so that what is added shows: against a bare loop of ``solve``."""
    seeds, rounds = (20, 2) if quick else (500, 9)
    network = sv.Network.random_geometric(10, seed=1)
    problem = sv.averaging(network, np.random.default_rng(0).normal(size=10))
    with TemporaryDirectory() as folder:
        out = Path(folder) / "sweep.parquet"

        def kept() -> None:
            sv.sweep(problem, {"c": [0.4]}, seeds, jobs=1, schedule=sv.Asynchronous(), out=out)
            out.unlink()

        times = interleaved(
            rounds,
            {
                "loop": lambda: [sv.solve(problem, c=0.4, schedule=sv.Asynchronous(), seed=k) for k in range(seeds)],
                "sweep": lambda: sv.sweep(problem, {"c": [0.4]}, seeds, jobs=1, schedule=sv.Asynchronous()),
                "kept": kept,
            },
        )
    each = {name: 1e6 * median(taken) / seeds for name, taken in times.items()}
    how = f"{seeds} runs of 10 nodes, {each['loop']:.0f} us each in a loop; "
    added = {name: each[name] - each["loop"] for name in ("sweep", "kept")}
    return [
        ratio_row(
            "sweep / bare loop of solve", times["sweep"], times["loop"], None, "at most",
            how + f"a sweep adds {added['sweep']:.0f} us a point",
        ),
        ratio_row(
            "the same, kept as Parquet", times["kept"], times["loop"], None, "at most",
            how + f"adds {added['kept']:.0f} us a point",
        ),
    ]  # fmt: skip


def two_processes(quick: bool) -> list[Row]:
    """Longer runs: one process here against two of joblib, which are there already."""
    seeds, rounds, n = (4, 1, 100) if quick else (40, 5, 10_000)
    network = sv.Network.random_geometric(n, seed=1)
    problem = sv.averaging(network, np.random.default_rng(0).normal(size=n))
    options = {"c": 0.4, "schedule": sv.Asynchronous(), "tol": 0, "max_iter": 100 * n}
    tasks = {f"{jobs}": lambda jobs=jobs: sv.sweep(problem, None, seeds, jobs=jobs, **options) for jobs in (1, 2)}
    times = interleaved(rounds, tasks)
    how = f"{seeds} runs of {n:,} nodes, {1e3 * median(times['1']) / seeds:.0f} ms each on one; warm processes"
    return [ratio_row("one process / two processes", times["1"], times["2"], None, "at least", how)]
