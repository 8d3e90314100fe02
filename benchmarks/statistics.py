"""What a private regression with many columns costs: memory, against what the parties agree on."""

from __future__ import annotations

import json

from .measure import Group, Row, fresh

REGRESSION = """
import json, resource
import numba, numpy as np, sottovoce as sv
numba.set_num_threads(1)
def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rng = np.random.default_rng(0)
def shards(n, rows, p):
    return [(rng.normal(size=(rows, p)), rng.normal(size=rows)) for _ in range(n)]
sv.private_least_squares(sv.Network.ring(4), shards(4, 5, 2))  # compiles
network, data = sv.Network.random_geometric({n}, seed=1), shards({n}, {rows}, {p})
before = peak()
fit = sv.private_least_squares(network, data, seed=1)
print(json.dumps({{"before": before, "peak": peak(), "m": network.m, "agreed": fit.problems[2].q.nbytes}}))
"""


def memory(quick: bool) -> Group:
    """Bar 600 MB at n = 100, p = 200; it was 3.1 GB when all columns were averaged at once."""
    rows = []
    for n, p, bar in [(10, 20, None)] if quick else [(100, 200, 600.0), (10, 500, None), (100, 500, None)]:
        told = json.loads(fresh(REGRESSION.format(n=n, p=p, rows=max(20, 3 * p // n))).stdout)
        what = f"private_least_squares, n = {n}, p = {p}"
        how = f"peak resident set of a fresh process, {told['before'] / 1e6:.0f} MB before; {told['m']} edges"
        rows.append(Row(f"peak memory of {what}", told["peak"] / 1e6, bar, "at most", how, "MB"))
        ratio = (told["peak"] - told["before"]) / told["agreed"]
        how = f"what the peak grows by, against all parties' sums of products, {told['agreed'] / 1e6:.0f} MB"
        rows.append(Row(f"memory of {what} / its sums", ratio, None, "at most", how))
    return Group(rows)
