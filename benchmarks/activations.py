"""What an activation takes where nodes wake by themselves: every cost, general constraints, late and lost messages."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.pdmm.schedules import Schedule
from sottovoce.pdmm.settings import Settings
from sottovoce.pdmm.solve import make_run

from .measure import Group, Row, fastest, interleaved, ratio_row

C, THETA, DEGREE, KEY = 0.3, 0.8, 4, 5
ASYNCHRONOUS = sv.Asynchronous()
D = 10


def closed_forms(n: int, rng: np.random.Generator) -> dict[str, sv.Problem]:
    """Sets are added to averages: by themselves they come to rest at once."""
    network, s = sv.Network.regular(n, DEGREE, seed=1), rng.normal(size=(n, D))
    sets = {"Box": sv.Box(-0.5, 0.2, D), "Ball": sv.Ball(0.5, dim=D), "Simplex": sv.Simplex(dim=D)}
    blocks = {(i, j): rng.normal(size=(D, D)) for i, j in network.half_edges.tolist()}
    general = network.with_constraints(blocks, {(i, j): rng.normal(size=D) for i, j in network.edges.tolist()})
    return {
        "Huber": sv.Problem(network, sv.Huber.many(s)),
        "AbsoluteDeviation": sv.Problem(network, sv.AbsoluteDeviation.many(s)),
        **{name: sv.Problem(network, sv.Averaging.many(s) + one) for name, one in sets.items()},
        "Averaging, dense 10 x 10 blocks": sv.Problem(general, sv.Averaging.many(s)),
    }


def other_schedules(network: sv.Network, steps: int, rng: np.random.Generator) -> dict[str, Schedule]:
    woke = [rng.integers(0, network.n, 1) for _ in range(steps)]
    told = [np.flatnonzero(np.isin(network.indices, w) & (rng.random(2 * network.m) < 0.8)) for w in woke]
    return {
        "Poisson clocks": sv.PoissonClocks(rng.uniform(0.5, 2.0, network.n)),
        "node-Bernoulli": sv.NodeBernoulli(0.4),
        "edge-Bernoulli": sv.EdgeBernoulli(0.7),
        "a trace of nodes": sv.Trace(rng.integers(0, network.n, steps)),
        "a trace with losses": sv.Trace(node_sets=woke, half_edges=told).on(network),
        "Delayed": sv.Delayed(20),
    }


def microseconds(what: str, made: sv.Problem, schedule: Schedule, rounds: int, count: int) -> Row:
    """Bar: 10 us an activation."""
    run = make_run(made, Settings(schedule=schedule, key=KEY, c=C, theta=0.5, engine="compiled"))
    before = run.activations
    times = interleaved(rounds, {"run": lambda: run.advance(count)})["run"]
    each = (run.activations - before) / (rounds + 1)
    taken = [1e6 * t / each for t in times]
    low, high = np.quantile(taken, [0.25, 0.75])
    how = f"n = {made.network.n}, degree {DEGREE}, {each:,.0f} activations in each of {rounds} rounds"
    name = f"an activation, d = {made.dim}: {what}"
    return Row(name, median(taken), 10.0, "at most", how, "us", (float(low), float(high)))


def each_activation(quick: bool) -> list[Row]:
    rng = np.random.default_rng(1)
    n, rounds, count = (12, 2, 40) if quick else (100, 9, 2_000)
    problems = closed_forms(n, rng)
    rows = [microseconds(f"{name}, asynchronous", made, ASYNCHRONOUS, rounds, count) for name, made in problems.items()]
    huber = problems["Huber"]
    for name, schedule in other_schedules(huber.network, (rounds + 1) * count, rng).items():
        few = isinstance(schedule, sv.NodeBernoulli | sv.EdgeBernoulli)  # iterations, as many nodes wake in each
        rows.append(microseconds(f"Huber, {name}", huber, schedule, rounds, count // 10 if few else count))
    return rows


class NumPyLoop:
    """Asynchronous, a dictionary of vectors; ``step(i, g, x)`` is a function in NumPy."""

    def __init__(self, network: sv.Network, d: int, step: Callable[[int, Any, Any], Any]) -> None:
        self.network, self.step, self.at = network, step, 0
        self.neighbours = [network.neighbours(i).tolist() for i in range(network.n)]
        self.z: dict[tuple[int, int], Any] = {
            (i, j): np.zeros(d) if d else 0.0 for i in range(network.n) for j in self.neighbours[i]
        }
        self.x: list[Any] = [np.zeros(d) if d else 0.0] * network.n

    def advance(self, count: int) -> None:
        z = self.z
        for i in ASYNCHRONOUS.nodes(self.network, KEY, self.at, count).tolist():
            g: Any = 0.0
            for j in self.neighbours[i]:
                g = g + z[i, j] if i > j else g - z[i, j]
            self.x[i] = x = self.step(i, g, self.x[i])
            for j in self.neighbours[i]:
                z[j, i] = (1 - THETA) * z[j, i] + THETA * (z[i, j] + 2 * C * (x if i > j else -x))
        self.at += count


# The step of a lasso, argmin x'Hx/2 + h'x + l1 ||x||_1, in three ways, each from the last x


def by_coordinates(H: Any, h: Any, l1: float, x: Any) -> Any:
    x = x.copy()
    for _ in range(10_000):
        largest = 0.0
        for a in range(len(x)):
            rest = h[a] + H[a] @ x - H[a, a] * x[a]
            new = -np.sign(rest) * max(abs(rest) - l1, 0.0) / H[a, a]
            largest, x[a] = max(largest, abs(new - x[a])), new
        if largest < 1e-10:
            break
    return x


def by_proximal_gradients(H: Any, h: Any, l1: float, x: Any, L: float) -> Any:
    """Accelerated (FISTA), with the largest eigenvalue known."""
    y, t = x, 1.0
    for _ in range(20_000):
        v = y - (H @ y + h) / L
        new = np.sign(v) * np.maximum(np.abs(v) - l1 / L, 0.0)
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        y, moved = new + (t - 1) / following * (new - x), np.abs(new - x).max()
        x, t = new, following
        if moved < 1e-10:
            break
    return x


def by_active_sets(H: Any, h: Any, l1: float, x: Any) -> Any:
    """LAPACK on the last support, which mostly is the next one; no plain loop."""
    signs = np.sign(x)
    for _ in range(50):
        S, new = np.flatnonzero(signs), np.zeros(len(h))
        new[S] = np.linalg.solve(H[np.ix_(S, S)], -(h[S] + l1 * signs[S]))
        if (new * signs < 0).any():
            signs = np.where(new * signs < 0, 0.0, signs)
            continue
        slope = H @ new + h
        outside = np.where(signs == 0, np.abs(slope), 0.0)
        if outside.max() <= l1 * (1 + 1e-12):
            return new
        enters = int(outside.argmax())
        signs[enters] = -np.sign(slope[enters])
    return by_coordinates(H, h, l1, x)


def lasso(n: int, d: int, l1: float) -> sv.Problem:
    rng = np.random.default_rng(1)
    true = np.where(rng.random(d) < 0.3, rng.normal(size=d), 0.0)
    A = rng.normal(size=(n, 2 * d, d))
    b = A @ true + 0.5 * rng.normal(size=(n, 2 * d))
    return sv.Problem(sv.Network.regular(n, DEGREE, seed=1), [sv.Lasso(A[i], b[i], l1) for i in range(n)])


def lassos(quick: bool) -> list[Row]:
    """Bar: 3 times faster than plain loops in NumPy, the faster of two."""
    rows = []
    for n, d, l1 in [(12, 10, 5.0)] if quick else [(100, 10, 5.0), (100, 100, 20.0)]:
        made = lasso(n, d, l1)
        network, cost = made.network, made.groups[0][1]
        H = cost.Q + C * DEGREE * np.eye(d)  # type: ignore[attr-defined]
        q, L = cost.q, np.linalg.eigvalsh(H)[:, -1]  # type: ignore[attr-defined]
        steps = {
            "NumPy by coordinates": lambda i, g, x, H=H, q=q, l1=l1: by_coordinates(H[i], q[i] + g, l1, x),
            "NumPy by gradients": lambda i, g, x, H=H, q=q, l1=l1, L=L: by_proximal_gradients(
                H[i], q[i] + g, l1, x, L[i]
            ),
            "active sets": lambda i, g, x, H=H, q=q, l1=l1: by_active_sets(H[i], q[i] + g, l1, x),
        }
        runs: dict[str, Any] = {"engine": compiled(made)}
        runs.update({name: NumPyLoop(network, d, step) for name, step in steps.items()})
        first, count, rounds = (20, 20, 2) if quick else (300, 50, 5)
        for run in runs.values():
            run.advance(first)
        x = runs["engine"].stacked_x().reshape(n, d)
        for name in steps:
            np.testing.assert_allclose(np.stack(runs[name].x), x, rtol=0, atol=1e-6)  # FISTA ends early
        times = interleaved(
            rounds, {name: lambda run=run, count=count: run.advance(count) for name, run in runs.items()}
        )
        each = ", ".join(f"{name} {1e6 * median(taken) / count:.3g} us" for name, taken in times.items())
        how = f"n = {n}, {2 * d} rows, support {np.mean(x != 0):.0%}; per activation: {each}"
        plain = fastest(times, "NumPy")
        rows.append(ratio_row(f"NumPy / lasso, asynchronous, d = {d}", plain, times["engine"], 3.0, "at least", how))
        rows.append(
            ratio_row(
                f"active sets in NumPy / lasso, d = {d}", times["active sets"], times["engine"], None, "at least", how
            )
        )
    return rows


def compiled(made: sv.Problem) -> Any:
    return make_run(made, Settings(schedule=ASYNCHRONOUS, key=KEY, c=C, theta=THETA, engine="compiled"))


def prox_of(s: Any) -> Callable[[Any, float], Any]:
    return lambda v, t: (v + 2 * t * s) / (1 + 2 * t)


def functions_of_python(quick: bool) -> list[Row]:
    """Bar: the reference takes at most 1.5 times what a loop takes that calls the same prox and checks nothing."""
    rows, n = [], 12 if quick else 100
    network, t = sv.Network.regular(n, DEGREE, seed=1), 1 / (C * DEGREE)
    for d in (10, 100, None):
        s = np.random.default_rng(1).normal(size=(n, d or 1))
        proxes = [prox_of(row if d else float(row[0])) for row in s]
        made = sv.Problem(network, [sv.Custom(prox, lambda x: 0.0, d) for prox in proxes])
        ours: Any = make_run(made, Settings(schedule=ASYNCHRONOUS, key=KEY, c=C, theta=THETA))
        loop = NumPyLoop(network, d or 0, lambda i, g, x, proxes=proxes: proxes[i](-g * t, t))
        count, rounds = (50, 2) if quick else (1_000, 9)
        runs = {"ours": ours, "loop": loop}
        times = interleaved(
            rounds, {name: lambda run=run, count=count: run.advance(count) for name, run in runs.items()}
        )
        np.testing.assert_allclose(np.reshape(loop.x, (n, -1)), ours.stacked_x().reshape(n, -1), atol=1e-9)
        how = ", ".join(f"{name} {1e6 * median(taken) / count:.3g} us" for name, taken in times.items())
        name = f"Custom / naive loop, d = {d}" if d else "Custom of a number / loop over Python's numbers"
        rows.append(ratio_row(name, times["ours"], times["loop"], 1.5 if d else None, "at most", how))
    return rows


def activations(quick: bool) -> Group:
    return Group(each_activation(quick) + lassos(quick) + functions_of_python(quick))
