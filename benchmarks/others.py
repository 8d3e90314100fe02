"""Rounds that other methods take to an error of 1e-9, each with its best steps, found on another draw; and the time of
a whole comparison, against that of the own method. PDMM starts from pads of variance 1e8, the others from 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce import baselines
from sottovoce.baselines.equal_leakage import tuned

from .measure import Group, Row, interleaved, ratio_row
from .tuning import graph

GRAPHS = ("geometric 10", "geometric 100", "ring 100", "regular 100")
PDMM = "PDMM, theta = 1"
METHODS: dict[str, baselines.Method] = {
    PDMM: baselines.SubspacePerturbation(theta=1.0),
    "PDMM, theta tuned": baselines.SubspacePerturbation(),
    "ADMM": baselines.ADMM(),
    "EXTRA": baselines.EXTRA(),
    "DIGing": baselines.DIGing(max_rounds=3_000),
    "gossip": baselines.Gossip(),
    "Chebyshev": baselines.Chebyshev(),
}
MEANS_ONLY = ("gossip", "Chebyshev")


def averages(network: sv.Network, number: int) -> sv.Problem:
    return sv.averaging(network, np.random.default_rng(number).standard_normal(network.n))


def regressions(network: sv.Network, number: int) -> sv.Problem:
    """Three columns, six rows a party: Hessians differ a lot."""
    rng = np.random.default_rng(number)
    rows = [rng.standard_normal((6, 3)) for _ in range(network.n)]
    return sv.least_squares(network, [(A, A @ [1.0, -2.0, 0.5] + 0.3 * rng.standard_normal(6)) for A in rows])


def rounds(method: baselines.Method, make: Any, network: sv.Network) -> float:
    """Steps chosen on draw 1000, rounds counted on draw 0."""
    outcome = tuned(method, [make(network, 1000)]).run(make(network, 0), seed=0)
    return outcome.traffic.rounds if outcome.converged else math.inf


def others(quick: bool) -> Group:
    """Averaging and regression on four graphs; ``table`` has all figures."""
    table, ratios = [], []
    for name in GRAPHS[:1] if quick else GRAPHS:
        for cost, make in (("averaging", averages), ("least squares", regressions))[: 1 if quick else 2]:
            found = {
                label: rounds(method, make, graph(name))
                for label, method in METHODS.items()
                if cost == "averaging" or label not in MEANS_ONLY
            }
            table.append({"graph": name, "cost": cost, **found})
            ratios.append(Row(f"rounds, ADMM / {PDMM}: {name}, {cost}", found["ADMM"] / found[PDMM], None, "at most",
                              "best c of a grid, chosen on another draw"))  # fmt: skip
    network = graph("geometric 10")
    few = {"sizes": (), "draws": 2 if quick else 5, "progress": False}
    times = interleaved(1 if quick else 5, {
        "all": lambda: sv.compare(network, methods=["subspace perturbation", "gossip"] if quick else None, **few),
        "own": lambda: sv.compare(network, methods=["subspace perturbation"], **few),
    })  # fmt: skip
    how = f"sv.compare of ten parties, {few['draws']} draws, no other sizes"
    ratios.append(
        ratio_row("comparing all / the package's own method", times["all"], times["own"], None, "at most", how)
    )
    return Group(ratios, table, "rounds to 1e-9; steps chosen on another draw")
