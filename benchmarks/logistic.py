"""Costs of rows: logistic steps against NumPy, and what unequal parties take."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

import sottovoce as sv
from sottovoce.pdmm.settings import Settings
from sottovoce.pdmm.solve import make_run

from .measure import Group, Row, fastest, fresh, interleaved, ratio_row

C, THETA, DEGREE, KEY = 0.3, 0.8, 4, 5
ASYNCHRONOUS = sv.Asynchronous()


def problem(n: int, d: int, rows: int) -> sv.Problem:
    rng = np.random.default_rng(1)
    direction = rng.normal(size=d) / np.sqrt(d)
    A = rng.normal(size=(n, rows, d))
    labels = A @ direction + 0.5 * rng.normal(size=(n, rows)) > 0
    return sv.logistic(sv.Network.regular(n, DEGREE, seed=1), list(zip(A, labels, strict=True)))


def newton(A: Any, kappa: Any, g: Any, x: Any, by_rows: bool) -> Any:
    """The step for stacked nodes, from ``x``, with NumPy: rows ``(k, r, d)``, all until each is done."""
    _, r, d = A.shape
    x, left, unknowns = x.copy(), np.arange(len(A)), np.arange(r if by_rows else d)
    for _ in range(60):
        everybody = len(left) == len(x)
        own, at, k, linear = (v if everybody else v[left] for v in (A, x, kappa[:, None], g))
        turned = own.transpose(0, 2, 1)
        p = 1 / (1 + np.exp(np.matmul(own, at[:, :, None])))
        slope = linear + k * at - np.matmul(turned, p)[:, :, 0]
        weight = p * (1 - p)
        if by_rows:
            B = np.sqrt(weight) * own
            M = np.matmul(B, B.transpose(0, 2, 1))
            M[:, unknowns, unknowns] += k
            inner = np.linalg.solve(M, np.matmul(B, slope[:, :, None]))
            change = (slope - np.matmul(B.transpose(0, 2, 1), inner)[:, :, 0]) / k
        else:
            H = np.matmul(turned, weight * own)
            H[:, unknowns, unknowns] += k
            change = np.linalg.solve(H, slope[:, :, None])[:, :, 0]
        x[left] = at - change
        size = 1 + (np.abs(linear) + k * np.abs(at)).max(axis=1)
        # Rounding, at the largest entry; ours asks it of every entry, and steps once more.
        left = left[np.abs(slope).max(axis=1) > 1e-15 * (r + d + 8) * size]
        if not len(left):
            break
    return x


class NumPyLogistic:
    """Synchronous, in node space, as the engine has it; Newton for all nodes at once from their last ``x``."""

    def __init__(self, problem: sv.Problem, by_rows: bool) -> None:
        network, (_, cost) = problem.network, problem.groups[0]
        n, d, self.by_rows = network.n, problem.dim, by_rows
        self.A = cost.A.reshape(n, -1, d).copy()  # type: ignore[attr-defined]
        self.degrees = network.degrees.astype(np.float64)
        self.kappa = C * self.degrees + 2 * cost.ridge  # type: ignore[attr-defined]
        ones = np.ones(len(network.indices))
        self.W = sparse.csr_array((ones, network.indices, network.indptr.astype(np.int32)), shape=(n, n))
        self.a, self.b, self.x = np.zeros((3, n, d))

    def advance(self, count: int) -> None:
        for _ in range(count):
            a, b = self.a, self.b
            g = self.degrees[:, None] * a - self.W @ b
            self.x = newton(self.A, self.kappa, g, self.x, self.by_rows)
            self.b = (1 - THETA) * b + THETA * (a + 2 * C * self.x)
            self.a = (1 - THETA) * a + THETA * b


def newton_of_one(A: Any, kappa: float, g: Any, x: Any, by_rows: bool) -> Any:
    """The same for one node, in vectors and matrices."""
    r, d = A.shape
    unknowns = np.arange(r if by_rows else d)
    for _ in range(60):
        p = 1 / (1 + np.exp(A @ x))
        slope = g + kappa * x - p @ A
        weight = p * (1 - p)
        if by_rows:
            B = np.sqrt(weight)[:, None] * A
            M = B @ B.T
            M[unknowns, unknowns] += kappa
            change = (slope - np.linalg.solve(M, B @ slope) @ B) / kappa
        else:
            H = (weight[:, None] * A).T @ A
            H[unknowns, unknowns] += kappa
            change = np.linalg.solve(H, slope)
        size = 1 + (np.abs(g) + kappa * np.abs(x)).max()
        x = x - change
        if np.abs(slope).max() <= 1e-15 * (r + d + 8) * size:
            break
    return x


class NumPyParties:
    """Asynchronous, a dictionary of vectors; Newton from the node's last ``x``."""

    def __init__(self, problem: sv.Problem, by_rows: bool) -> None:
        network, self.by_rows, d = problem.network, by_rows, problem.dim
        costs: list[Any] = [problem.cost(i) for i in range(network.n)]
        self.network, self.at = network, 0
        self.A = [cost.A for cost in costs]
        self.neighbours = [network.neighbours(i).tolist() for i in range(network.n)]
        self.kappa = [C * len(j) + 2 * float(cost.ridge[0]) for j, cost in zip(self.neighbours, costs, strict=True)]
        self.z = {(i, j): np.zeros(d) for i in range(network.n) for j in self.neighbours[i]}
        self.x = np.zeros((network.n, d))

    def advance(self, count: int) -> None:
        z = self.z
        for i in ASYNCHRONOUS.nodes(self.network, KEY, self.at, count).tolist():
            around = self.neighbours[i]
            g = np.sum([z[i, j] if i > j else -z[i, j] for j in around], axis=0)
            self.x[i] = x = newton_of_one(self.A[i], self.kappa[i], g, self.x[i], self.by_rows)
            for j in around:
                z[j, i] = (1 - THETA) * z[j, i] + THETA * (z[i, j] + 2 * C * (x if i > j else -x))
        self.at += count


def against_numpy(quick: bool) -> list[Row]:
    """Bars: at d = 100 no slower than the faster of two ways to write Newton for all nodes in NumPy; where one node
    wakes at a time, at least 3 times faster than either."""
    rows = []
    synchronous = [(1_000, 10, 20), (100, 100, 20), (1_000, 100, 20), (100, 100, 200)]
    for n, d, r in [(20, 10, 5)] if quick else synchronous:
        made = problem(n, d, r)
        ours = make_run(made, Settings(c=C, theta=THETA, engine="compiled"))
        what, bar = f"synchronous, n = {n:,}, d = {d}, {r} rows", 1.0 if d == 100 else None
        rows.append(raced(what, made, ours, NumPyLogistic, 10, 2, n, quick, bar))
    asynchronous = [(100, 10, 20), (100, 100, 20), (10_000, 10, 20), (10_000, 100, 20)]
    asynchronous += [(100, 10, 200), (100, 100, 200)]
    for n, d, r in [(20, 10, 20)] if quick else asynchronous:
        made = problem(n, d, r)
        ours = make_run(made, Settings(schedule=ASYNCHRONOUS, key=KEY, c=C, theta=THETA))
        first, count = (20, 20) if quick else (1_000, 300)  # of 10,000 nodes most wake for the first time
        what = f"asynchronous, n = {n:,}, d = {d}, {r} rows"
        rows.append(raced(what, made, ours, NumPyParties, first, count, 1, quick, 1 / 3))
    return rows


def raced(
    what: str,
    made: sv.Problem,
    ours: Any,
    opponent: Any,
    first: int,
    count: int,
    steps: int,
    quick: bool,
    bar: float | None,
) -> Row:
    """The row for one problem; steps of one node are told in microseconds."""
    runs = {"engine": ours, "NumPy by columns": opponent(made, False), "NumPy by rows": opponent(made, True)}
    for run in runs.values():
        run.advance(first)
    x = ours.stacked_x().reshape(made.network.n, made.dim)
    for name in ("NumPy by columns", "NumPy by rows"):
        np.testing.assert_allclose(runs[name].x, x, rtol=0, atol=1e-9)
    times = interleaved(2 if quick else 7, {name: lambda run=run: run.advance(count) for name, run in runs.items()})
    each = ", ".join(f"{name} {1e6 * median(taken) / (count * steps):.3g} us" for name, taken in times.items())
    how = f"per step of a node: {each}; from the last x, to rounding; the opponent is the faster of the two"
    return ratio_row(f"logistic / NumPy: {what}", times["engine"], fastest(times, "NumPy"), bar, "at most", how)


UNEQUAL = """
import json, time, tracemalloc
import numpy as np
import sottovoce as sv

rng = np.random.default_rng(0)
shards = [(rng.normal(size=(rows, 4)), rng.integers(0, 2, rows)) for rows in [{long}] + [5] * 999]
network = sv.Network.ring(1000)
started = time.perf_counter()
sv.Problem(network, [sv.{family}(A, y, 0.1) for A, y in shards])
seconds = time.perf_counter() - started
tracemalloc.start()
problem = sv.Problem(network, [sv.{family}(A, y, 0.1) for A, y in shards])
peak = tracemalloc.get_traced_memory()[1]
data = sum(A.nbytes + y.nbytes for A, y in shards)
print(json.dumps({{"seconds": seconds, "peak": peak, "data": data}}))
"""


def unequal(quick: bool) -> list[Row]:
    """Bar: 999 parties of 5 rows and one of 200,000 take less than 100 MB and a second."""
    rows, long = [], 2_000 if quick else 200_000
    for family in ("Logistic", "Hinge"):
        took = json.loads(fresh(UNEQUAL.format(long=long, family=family)).stdout)
        how = (
            f"999 parties of 5 rows and one of {long:,}, d = 4: {took['data'] / 1e6:.3g} MB of data, "
            f"{took['peak'] / took['data']:.3g} times that at the peak of building (tracemalloc)"
        )
        rows.append(Row(f"{family} of unequal parties: memory", took["peak"] / 1e6, 100.0, "at most", how, "MB"))
        rows.append(Row(f"{family} of unequal parties: building", took["seconds"], 1.0, "at most", how, "s"))
    return rows


def logistic(quick: bool) -> Group:
    return Group(unequal(quick) + against_numpy(quick))
