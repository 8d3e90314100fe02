"""A penalty per edge against one for all, on the same kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.pdmm.settings import Settings
from sottovoce.pdmm.solve import make_run

from .measure import Group, interleaved, nanoseconds, ratio_row
from .networks import KEY, THETA, C, forget, problem

SCHEDULES = {
    "node space": sv.Synchronous(),
    "asynchronous": sv.Asynchronous(),
    "edge-Bernoulli": sv.EdgeBernoulli(0.8),
}


def by_edge(quick: bool) -> Group:
    """What weights cost: one more number is read for each directed edge, eight bytes."""
    rows = []
    for n in (1_000,) if quick else (1_000, 100_000):
        averaging = problem("geometric", n)
        network = averaging.network
        count = max(2, (200_000 if quick else 20_000_000) // (2 * network.m))
        z0 = np.random.default_rng(3).standard_normal((2 * network.m, 1))
        for name, schedule in SCHEDULES.items():
            iterations = count * (network.n if name == "asynchronous" else 1)

            def advanced(c: Any, schedule: sv.Schedule = schedule, iterations: int = iterations) -> Any:
                run = make_run(averaging, Settings(c=c, theta=THETA, key=KEY, schedule=schedule, z0=z0))  # noqa: B023
                return run, lambda: run.advance(iterations)

            (one, play_one), (each, play_each) = advanced(C), advanced(np.full(network.m, C))
            one.advance(3)
            each.advance(3)
            np.testing.assert_allclose(each.stacked_x(), one.stacked_x(), rtol=1e-12, atol=1e-12)
            times = interleaved(2 if quick else 9, {"one": play_one, "each": play_each})
            work = count * 2 * network.m
            how = (
                f"{nanoseconds(times['each'], work)} per directed edge against {nanoseconds(times['one'], work)}; "
                "run.advance, equal penalties, answers compared first"
            )
            title = f"c by edge / one c: {name}, n = {n:,}"
            rows.append(ratio_row(title, times["each"], times["one"], None, "at most", how))
    forget()
    return Group(rows)
