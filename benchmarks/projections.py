"""Projections of many draws onto ``Psi``: time and memory in a fresh process, and against the iteration in NumPy."""

from __future__ import annotations

import sys

import numpy as np

import sottovoce as sv
from sottovoce.privacy.research import Subspace

from .measure import ROOT, Group, Row, fresh, interleaved, ratio_row

NETWORKS = {
    "random regular": "sv.Network.regular({n}, 10, seed=1)",
    "small world": "sv.Network.watts_strogatz({n}, 10, 0.1, seed=1)",
    "geometric": "sv.Network.random_geometric({n}, (10 / (np.pi * {n})) ** 0.5, seed=1, largest_component=True)",
}
CODE = """
import resource, time
import numpy as np, sottovoce as sv
from sottovoce.privacy.research import Subspace
network = {network}
z = np.random.default_rng(0).normal(size=({draws}, 2 * network.m))
subspace = Subspace(network)
subspace.psi(z[0])  # what is made once, and kernels
started, before = time.perf_counter(), time.process_time()
subspace.psi(z)
taken, cpu = time.perf_counter() - started, time.process_time() - before
print(taken, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def projections(quick: bool) -> Group:
    """100 draws over a million directed edges; the ratio at a tenth of it."""
    rows = []
    n, draws = (1_000, 10) if quick else (100_000, 100)
    for name, network in NETWORKS.items():
        code = CODE.format(network=network.format(n=n), draws=draws)
        taken, cpu, memory = map(float, fresh(code).stdout.split())
        barred = name != "geometric"
        title = f"projections: {name}, {10 * n:,} directed edges, {draws} draws"
        how = f"all threads, in a fresh process; {cpu:.2g} s of CPU"
        rows.append(Row(title, taken, 10.0 if barred else None, "at most", how, "s"))
        how = "peak, with the draws and their projections (0.8 GB each)"
        rows.append(Row(f"{title}, memory", memory, 3.0, "at most", how, "GB"))
    return Group([*rows, *_against_numpy(quick)])


def _against_numpy(quick: bool) -> list[Row]:
    sys.path.insert(0, str(ROOT.parent / "tests"))
    import projection_twin

    n, rows = 1_000 if quick else 10_000, []
    for name in ("random regular", "small world"):
        subspace = Subspace(eval(NETWORKS[name].format(n=n), {"sv": sv}))
        z = np.random.default_rng(0).normal(size=(16, 10 * n))
        tasks = {
            "numpy": lambda s=subspace, z=z: projection_twin.psi(s, z),
            "compiled": lambda s=subspace, z=z: s.psi(z),
        }
        times = interleaved(2 if quick else 5, tasks)
        title = f"projections by NumPy / compiled: {name}, {10 * n:,} directed edges, 16 draws"
        how = "to the same residual, one thread; NumPy has a diagonal preconditioner"
        rows.append(ratio_row(title, times["numpy"], times["compiled"], None, "at least", how))
    return rows
