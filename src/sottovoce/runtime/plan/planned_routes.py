"""What a plan makes of ``overlay``, ``c``, ``theta`` and ``fallback``: over which edges messages go, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...files.toml_table import Table, shown
from ...network import Network
from ...pdmm.common_problems import averaging
from ...pdmm.schedules import Asynchronous
from ...pdmm.tune import tune
from ..protocol.route import Route
from .in_common import THETA
from .question import Question
from .routes import AFTER, Routes, check_count, check_overlay, read_edges

CURVATURE = 2.0  # of ||x - s||^2: all agreements of a statistic are averages
IRREGULAR = 0.5  # theta that converges for every cost


def plan_routes(run: Table, question: Question, network: Network, settings: dict[str, Any]) -> Routes:
    """Statistics end after two sweeps of a tree, with a ``c`` that is matched to it; costs take one that is tuned."""
    edges = _pairs(network.edges)
    overlay = run.get("overlay", "tree")
    tree = network.spanning_tree() if overlay == "tree" else None
    if tree is not None:
        pairs, used = _pairs(tree.edges), tree.network
    elif overlay == "all":
        pairs, used = edges, network
    elif isinstance(overlay, list):
        names = [network.name(i) for i in range(network.n)]
        pairs = read_edges(run, "overlay", names)
        check_overlay(run, pairs, edges, names)
        used = network.restricted_to(overlay)
    else:
        raise run.refuse("overlay", f'must be "tree", "all" or a list of pairs of names; got {shown(overlay)}.')
    after = float(run.number("fallback", AFTER))
    if after <= 0:
        raise run.refuse("fallback", f"must be a positive number of seconds; got {after:g}.")
    irregular = question.cost is not None and question.party_cost().cost.irregular
    theta = settings["theta"] if "theta" in run else IRREGULAR if irregular else THETA
    c = None if settings["c"] is None else check_count(run, settings["c"], pairs)
    if c is None and tree is not None and question.statistic is not None:
        matched = tree.matched(np.full(network.n, CURVATURE)).tolist()
        route = Route.over(pairs, matched, settings["theta"] if "theta" in run else 1.0)
    else:
        route = Route.over(pairs, _tuned(used, theta, settings["tol"]) if c is None else c, theta)
    if used.m == network.m:
        return Routes(route.edges, route)
    whole = c if isinstance(c, float) else _tuned(network, theta, settings["tol"])
    fallback = Route.over(edges, whole, theta)
    return Routes(fallback.edges, route, fallback, after)


def _tuned(network: Network, theta: float, tol: float) -> float:
    """Data of nobody: the best c for averaging depends on the network, and hardly on the data."""
    model = averaging(network, np.random.default_rng(0).normal(size=network.n))
    return float(f"{tune(model, Asynchronous(), theta, tol):.3g}")


def _pairs(edges: Any) -> Sequence[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in edges]
