"""Messages per node: over a tree with matched penalties, against all edges with the best ``c`` and ``theta`` of a grid.

Averages of fresh secrets under fresh pads of variance 1e8, to an error of 1e-9. The pairs of the grid are chosen on
other draws than those that are reported; the tree has nothing to choose.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.network import Network
from sottovoce.numerics.counter_random import uniform
from sottovoce.pdmm.engine.runs import CompiledRun
from sottovoce.pdmm.reference import Reference, Run
from sottovoce.pdmm.settings import settle
from sottovoce.pdmm.solve import start
from sottovoce.pdmm.tune import THETAS

from .measure import Group, Row, interleaved, ratio_row
from .networks import problem as averages_on
from .pairs import problem as costs_on
from .tuning import graph

ERROR, MASK = 1e-9, sv.GaussianMask(1e8)
LOST = 0.2
DRAWS, CHOSEN_ON = range(10), (1000, 1001)
STEPS = 8  # of 2^(1/4) around the c that "auto" finds, up and down
LIMIT = 3000  # rounds
NEVER = 1 << 60  # activations

ALL = {
    "all at once": sv.Synchronous(),
    "random wakes": sv.Asynchronous(),
    "permutations": sv.Permutations(),
    "edge reversal": sv.EdgeReversal(),
}
GRAPHS = ("geometric 10", "geometric 100", "geometric 1000", "ring 100", "regular 100")
LOSSY = "random wakes, 20 % lost"
BARS = {"geometric": (50, 12), "ring": (4, 3), "regular": (8, 4)}  # fewer: all at once; random wakes and losses


class Lossy(sv.Delayed):
    """One node wakes, at random, and each of its messages is lost with probability ``LOST``: it is late for ever."""

    def delays(self, network: Network, key: int, k: int, half_edges: Any) -> Any:
        return np.where(uniform(key + 1, np.uint64(k), half_edges.astype(np.uint64)) < LOST, NEVER, 0)


def draw(network: Network, number: int) -> sv.Problem:
    return sv.averaging(network, np.random.default_rng(number).standard_normal(network.n))


def needed(network: Network, number: int, schedule: sv.Schedule, record: float = math.inf, **run: Any) -> float:
    """Messages per node until every node has been told enough: what it would compute now is right to ``ERROR``.
    ``inf`` once ``record`` is not beaten."""
    problem, mean, a_round = draw(network, number), problem_mean(network, number), schedule.round(network)
    played = start(problem, settle(problem, schedule=schedule, mask=MASK, seed=number, **run))
    fine = max(1, a_round // 10)
    while played.iteration < LIMIT * a_round:
        played.advance(max(fine, played.iteration // 100))
        sent = played.messages / network.n
        if sent >= record:
            return math.inf
        if np.abs(fresh(played) - mean).max() <= ERROR:
            return sent
    return math.inf


def fresh(run: Run) -> Any:
    """What the nodes would compute now, in some order."""
    if isinstance(run, Reference):
        return run.stepped()
    assert isinstance(run, CompiledRun)
    return run.fresh(run.own_sums())


@cache
def problem_mean(network: Network, number: int) -> float:
    return math.fsum(np.random.default_rng(number).standard_normal(network.n)) / network.n


def best_pair(network: Network, schedule: sv.Schedule, steps: int) -> dict[str, Any]:
    """Of a grid around what ``c="auto"`` finds, on draws that are not reported."""
    tuned = sv.solve(draw(network, CHOSEN_ON[0]), schedule=schedule, tol=0, max_iter=1, seed=0)
    best, fewest = {"c": tuned.c, "theta": tuned.theta}, math.inf
    for at in sorted(range(-steps, steps + 1), key=abs):
        for theta in sorted(THETAS, key=lambda t: abs(t - tuned.theta)):
            pair = {"c": tuned.c * 2 ** (at / 4), "theta": theta}
            sent = 0.0
            for number in CHOSEN_ON:
                sent += needed(network, number, schedule, fewest - sent, **pair)
                if sent >= fewest:
                    break
            else:
                best, fewest = pair, sent
    return best


def stopped(network: Network, number: int, **run: Any) -> float:
    """Messages per node until the solver's own residual stops it; not a number where its answer is not right."""
    result = sv.solve(draw(network, number), mask=MASK, seed=number, tol=ERROR, **run)
    right = result.converged and np.abs(result.x - problem_mean(network, number)).max() <= 10 * ERROR
    return result.messages / network.n if right else math.nan


def measured(name: str, quick: bool) -> tuple[list[Row], list[dict[str, Any]]]:
    """Of one graph."""
    network, draws = graph(name), DRAWS[:2] if quick else DRAWS
    kind, n = name.split()[0], network.n
    steps = {what: 0 if quick else STEPS if s.synchronous else STEPS // 4 for what, s in ALL.items()}
    pairs = {what: best_pair(network, s, steps[what]) for what, s in ALL.items()}
    sent = {what: [needed(network, i, s, **pairs[what]) for i in draws] for what, s in ALL.items()}
    over = ALL | {LOSSY: Lossy(0)}
    tree = {what: [needed(network, i, s, overlay="tree") for i in draws] for what, s in over.items()}
    own = [stopped(network, i, check_every=1, **pairs["all at once"]) for i in draws]
    own_tree = [stopped(network, i, overlay="tree") for i in draws]
    base, lossy = sent["all at once"], tree[LOSSY]
    alike = [needed(network, i, Lossy(0), **pairs["random wakes"]) for i in (draws if n < 1000 else draws[:2])]
    pair = pairs["all at once"]
    depth = network.spanning_tree().depth
    how = f"messages per node to 1e-9, {len(draws)} draws; all: c {pair['c']:.3g}, theta {pair['theta']:g}; "
    rows = [
        ratio_row(
            f"all / tree, {name}", base, tree["all at once"], BARS[kind][0], "at least",
            f"{how}{np.median(base):.4g} and {np.median(tree['all at once']):.3g} (depth {depth})",
        ),
        ratio_row(
            f"the same by the solver's own stop, {name}", own, own_tree, BARS[kind][0], "at least",
            f"tol 1e-9: {np.median(own):.4g} and {np.median(own_tree):.3g} messages per node",
        ),
        ratio_row(
            f"all / tree with random wakes and 20 % loss, {name}", base, lossy, BARS[kind][1], "at least",
            f"{np.median(base):.4g} and {np.median(lossy):.3g} messages per node; the floor is {2 * (n - 1) / n:.3g}",
        ),
        ratio_row(
            f"the same, all edges lossy too, {name}", alike, lossy[: len(alike)], BARS[kind][1], "at least",
            f"{np.median(alike):.4g} messages per node, {len(alike)} draws, the pair of random wakes",
        ),
    ]  # fmt: skip
    return rows, [
        {"graph": name, "over": edges, **{what: float(np.median(counts[what])) for what in counts}}
        for edges, counts in (("all edges", sent | {LOSSY: alike}), ("the tree", tree))
    ]


def numbered(quick: bool) -> Row:
    """Edge reversal on a ring whose numbers go along it, where one after the other wakes, against any numbers."""
    n = 20 if quick else 100
    along, number = sv.Network.ring(n), np.random.default_rng(7).permutation(n)
    anyhow = sv.Network.from_edges(n, number[along.edges])
    schedule, draws, sent = sv.EdgeReversal(), DRAWS[:2] if quick else DRAWS, []
    for ring in (along, anyhow):
        pair = best_pair(ring, schedule, 0 if quick else STEPS // 4)
        sent.append([needed(ring, i, schedule, **pair) for i in draws])
    how = f"{np.median(sent[0]):.4g} and {np.median(sent[1]):.4g} messages per node, n = {n}"
    return ratio_row("edge reversal, a ring numbered along / at random", *sent, None, "at most", how)


COSTS = {
    "least squares": "rows 3",
    "logistic": "logistic",
    "lasso": "lasso 8 3",
    "elastic net": "net 10 3",
    "Huber": "huber 5",
    "hinge": "hinge 4",
}


def other_costs(quick: bool) -> list[Row]:
    """Costs that are not averages: a tree with one tuned ``c``, against all edges with theirs, to the same residual."""
    rows = []
    for what, cost in COSTS.items():
        if quick and what not in ("least squares", "Huber"):
            continue
        for name in ("geometric 10",) if quick else ("geometric 30", "watts-strogatz 30"):
            problem = costs_on(name, cost)
            every, tree = (sv.solve(problem, overlay=o, check_every=1, tol=ERROR) for o in ("all", "tree"))
            n, said = problem.network.n, every.messages / tree.messages
            apart = float(np.abs(np.mean(every.x, axis=0) - np.mean(tree.x, axis=0)).max())
            right = every.converged and tree.converged
            how = (
                f"to a residual of 1e-9: {every.messages / n:.4g} (c {every.c:.3g}, theta {every.theta:g}, "
                f"{every.iterations} iterations) and {tree.messages / n:.4g} (c {tree.c:.3g}, theta {tree.theta:g}, "
                f"{tree.iterations} iterations) messages per node; answers {apart:.0e} apart"
            )
            rows.append(Row(f"all / tree, {what}, {name}", said if right else None, None, "at least", how))
    return rows


def making(quick: bool) -> Row:
    """The orders of permutations against playing them."""
    problem = averages_on("geometric", 1000 if quick else 100_000)
    network, schedule = problem.network, sv.Permutations()
    count = 10 * network.n
    tasks = {
        "make": lambda: schedule.nodes(network, 1, 0, count),
        "run": lambda: sv.solve(problem, schedule=schedule, c=0.3, theta=1.0, tol=0, max_iter=count, seed=1),
    }
    times = interleaved(2 if quick else 5, tasks)
    how = f"time of making the orders over that of the run, n = {network.n}, {network.m} edges"
    return ratio_row("orders of permutations / their run", times["make"], times["run"], None, "at most", how)


def fewer(quick: bool) -> Group:
    graphs = ("geometric 10",) if quick else GRAPHS
    found = [measured(name, quick) for name in graphs]
    rows = [row for some, _ in found for row in some]
    rows += [*other_costs(quick), numbered(quick), making(quick)]
    return Group(rows, [row for _, some in found for row in some], "messages per node to 1e-9, medians")
