"""``c="auto"`` without a ``theta``, against the best pair of a grid; and what tuning costs where costs have kinks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.pdmm.tune import THETAS, tune_both

from . import tuning
from .measure import Group, Row, interleaved, ratio_row
from .networks import KEY
from .tuning import TOL, graph, rounds_to_tol

STEPS = 8  # of sqrt 2, up and down from the automatic c


@cache
def problem(graph_name: str, cost: str) -> sv.Problem:
    """As in ``tuning``, and ``unequal 2`` (curvatures over two decades), ``rows 3`` (regression, parties of 4 to
    4 x 3^2 rows), ``lasso 10 5`` (10 columns, l1 = 5), ``net 10 3`` (the same with l2 = 1, and 8 rows), ``huber 5``
    (numbers of this size, where the parabola ends at 1), ``hinge 4`` (columns)."""
    kind, *numbers = cost.split()
    network, rng = graph(graph_name), np.random.default_rng(5)
    n = network.n
    if kind == "unequal":
        curvature = 10 ** rng.uniform(-float(numbers[0]) / 2, float(numbers[0]) / 2, n)
        return sv.Problem(network, sv.Quadratic.many(curvature, curvature[:, None] * rng.standard_normal((n, 1))))
    if kind == "rows":
        lengths = (4 * float(numbers[0]) ** rng.uniform(0, 2, n)).astype(int)
        truth, features = rng.standard_normal(3), [rng.standard_normal((length, 3)) for length in lengths]
        return sv.least_squares(network, [(A, A @ truth + 0.3 * rng.standard_normal(len(A))) for A in features])
    if kind == "lasso":
        d, l1 = int(numbers[0]), float(numbers[1])
        truth = np.where(np.arange(d) < max(2, d // 5), 2 * rng.standard_normal(d), 0.0)
        features = [rng.standard_normal((20, d)) for _ in range(n)]
        return sv.Problem(network, [sv.Lasso(A, A @ truth + 0.3 * rng.standard_normal(20), l1) for A in features])
    if kind == "net":
        d, l1 = int(numbers[0]), float(numbers[1])
        features = [rng.standard_normal((8, d)) for _ in range(n)]
        noise = 0.3 * rng.standard_normal((n, 8))
        return sv.Problem(
            network,
            [sv.ElasticNet(A, 2 * A[:, 0] - A[:, 1] + e, l1, 1.0) for A, e in zip(features, noise, strict=True)],
        )
    if kind == "huber":
        return sv.Problem(network, sv.Huber.many(float(numbers[0]) * rng.standard_normal((n, 2))))
    if kind == "hinge":
        truth, features = (
            rng.standard_normal(int(numbers[0])),
            [rng.standard_normal((20, int(numbers[0]))) for _ in range(n)],
        )
        return sv.Problem(
            network, [sv.Hinge(A, np.sign(A @ truth + 0.5 * rng.standard_normal(20)), 1.0) for A in features]
        )
    return tuning.problem(graph_name, cost)


def cases(quick: bool) -> Iterator[tuple[str, str, sv.Schedule]]:
    """Those of ``tuning``, once whatever the theta, and others in which parties differ."""
    yield from dict.fromkeys((name, cost, schedule) for name, cost, schedule, _ in tuning.cases(quick))
    if quick:
        yield "star 10", "unequal 2", sv.Synchronous()
        return
    ten = ("geometric 10", "ring 10", "star 10", "complete 10")
    more = [(name, f"unequal {decades}") for decades in (1, 2, 4) for name in (*ten, "geometric 100", "grid 49")]
    more += [(name, f"rows {ratio}") for ratio in (2, 5) for name in (*ten, "watts-strogatz 100")]
    more += [(name, "lasso 10 5") for name in (*ten, "geometric 20")] + [("ring 10", "lasso 5 2")]
    more += [("star 10", "logistic"), ("complete 10", "logistic")]
    # What the search was not made on.
    fresh = ("watts-strogatz 12", "grid 16", "geometric 30")
    more += [(name, cost) for cost in ("lasso 8 3", "net 10 3", "huber 2", "huber 5", "hinge 4") for name in fresh]
    more += [("grid 16", "logistic"), ("watts-strogatz 12", "logistic")]
    yield from ((name, cost, schedule) for name, cost in more for schedule in (sv.Synchronous(), sv.Asynchronous()))


def mean_rounds(p: sv.Problem, schedule: sv.Schedule, theta: float, c: float, record: float) -> float:
    """The mean over activation sequences; ``inf`` once ``record`` is not beaten."""
    slow = p.quadratic is None  # in Python
    count = 1 if schedule.synchronous else 2 if slow else max(1, 30 // p.network.n)
    total = 0.0
    for number in range(count):
        total += rounds_to_tol(p, schedule, theta, c, KEY + number, record * count - total)
        if total >= record * count:
            return math.inf
    return total / count


def compared(name: str, cost: str, schedule: sv.Schedule) -> dict[str, Any]:
    """A row of the table: the automatic pair, and the best one of the grid around it."""
    p = problem(name, cost)
    c, theta = tune_both(p, schedule, TOL)
    rounds = mean_rounds(p, schedule, theta, c, math.inf)
    best, fewest = (c, theta), rounds
    for other in sorted(THETAS, key=lambda t: abs(t - theta)):
        if other == 1 and p.irregular:
            continue  # may not converge
        for at in sorted(range(-STEPS, STEPS + 1), key=abs):
            pair = c * 2 ** (at / 2), other
            needed = mean_rounds(p, schedule, pair[1], pair[0], fewest)
            if needed < fewest:
                best, fewest = pair, needed
    return {
        "graph": name, "cost": cost, "schedule": type(schedule).__name__.lower(), "c": c, "theta": theta,
        "rounds": rounds, "best c": best[0], "best theta": best[1], "its rounds": fewest,
        "ratio": rounds / fewest if math.isfinite(rounds) else math.inf,
    }  # fmt: skip


def both(quick: bool) -> Group:
    """Every case in a table, and rows for the worst of them and the median."""
    return judged([compared(*case) for case in cases(quick)])


def judged(table: list[dict[str, Any]]) -> Group:
    ratios = [row["ratio"] for row in table]
    worst = table[int(np.argmax(ratios))]
    how = (
        f"rounds to a residual of {TOL:g} over the best of {len(THETAS)} thetas and {2 * STEPS + 1} c in steps "
        f"of sqrt 2; {len(table)} cases, {sum(ratio > 1.5 for ratio in ratios)} above 1.5, "
        f"worst: {worst['graph']}, {worst['cost']}, {worst['schedule']}"
    )
    return Group(
        [
            Row("c and theta tuned / best pair: the worst case", max(ratios), 1.5, "at most", how),
            Row("c and theta tuned / best pair: the median", float(np.median(ratios)), 1.1, "at most", "of the same"),
        ],
        table,
    )


def kinked(quick: bool) -> Group:
    """Tuning against the run that it is for, where a step is dear."""
    p = problem("geometric 10", "lasso 5 2") if quick else problem("geometric 20", "lasso 50 5")
    c, theta = tune_both(p, sv.Synchronous(), TOL)
    tasks = {"tune": lambda: tune_both(p, sv.Synchronous(), TOL), "run": lambda: sv.solve(p, c=c, theta=theta)}
    times = interleaved(1 if quick else 5, tasks)
    how = f"{p.network.n} nodes, {p.dim} columns: time of c='auto' over that of the run"
    return Group([ratio_row("tuning a lasso / its run", times["tune"], times["run"], 1.0, "at most", how)])
