"""How long the auditor takes, against the linear algebra that it cannot do without."""

from __future__ import annotations

import sys
from unittest import mock

import numpy as np

import sottovoce as sv
from sottovoce import privacy
from sottovoce.privacy.encrypted import own_edges
from sottovoce.privacy.methods.closed_form import OpenView, _dense
from sottovoce.privacy.methods.many_coalitions import all_nodes, solved, whole_transcripts
from sottovoce.privacy.methods.secrets_and_prior import secrets_of

from .measure import ROOT, Group, Row, interleaved, ratio_row, seconds

MASK = sv.GaussianMask(1e4)


def audits(quick: bool) -> Group:
    """All nodes by the closed form, the worst coalition, large networks by sparse solves, and the elimination."""
    worst = [*_worst(quick), *_updated(quick), *_tried(quick)]
    nodes = [*_closed_form(quick), *_levels(quick), *_all_nodes(quick), *_sparse(quick)]
    return Group([*nodes, *worst, *_elimination(quick)])


def _problem(n: int, degree: float) -> sv.Problem:
    radius = float(np.sqrt(degree / (np.pi * n)))
    network = sv.Network.random_geometric(n, radius, seed=1, largest_component=True)
    return sv.averaging(network, np.zeros(network.n))


def _closed_form(quick: bool) -> list[Row]:
    problem = _problem(200 if quick else 1_000, 20)
    n = problem.network.n
    matrix = np.eye(n) + problem.network.adjacency.toarray() / n
    tasks = {
        "audit": lambda: privacy.audit(problem, mask=MASK, corrupt={0, 1}),
        "inverse": lambda: np.linalg.inv(matrix),
    }
    times = interleaved(2 if quick else 5, tasks)
    title = f"audit of all nodes / one dense inverse: n = {n:,}"
    how = f"closed form, two corrupt nodes; {np.median(times['audit']):.2g} s"
    return [ratio_row(title, times["audit"], times["inverse"], 40, "at most", how)]


def _worst(quick: bool) -> list[Row]:
    problem = _problem(12 if quick else 50, 20)
    n, secrets = problem.network.n, secrets_of(problem)
    everybody = np.ones(n, dtype=bool)
    tasks = {
        "one by one": lambda: [_dense(OpenView(secrets, frozenset({i}), everybody, 0.4), 1e4) for i in range(n)],
        "stacked": lambda: privacy.audit(problem, mask=MASK, against=privacy.Worst(1), c=0.4),
    }
    times = interleaved(2 if quick else 5, tasks)
    title = f"coalitions one by one, readably / all stacked, and the report: n = {n}, {n + 1} coalitions"
    how = f"worst coalition of at most one; {np.median(times['stacked']):.2g} s stacked"
    return [ratio_row(title, times["one by one"], times["stacked"], None, "at least", how)]


def _updated(quick: bool) -> list[Row]:
    problem = _problem(120 if quick else 200, 10)
    n, secrets = problem.network.n, secrets_of(problem)
    coalitions = [frozenset({i}) for i in range(n)]
    tasks = {
        "solves": lambda: list(solved(secrets, coalitions, 1e4, 1.0)),
        "updates": lambda: list(whole_transcripts(secrets, coalitions, 1e4, 1.0)),
    }
    times = interleaved(2 if quick else 5, tasks)
    title = f"a solve for every coalition / updates of one matrix: n = {n}, {n} coalitions"
    how = f"what each learns of every node; {np.median(times['updates']):.2g} s by updates"
    return [ratio_row(title, times["solves"], times["updates"], 2, "at least", how)]


def _tried(quick: bool) -> list[Row]:
    """Seconds, with how they grow: one run each."""
    rows = []
    for n, t in ((110, 1),) if quick else ((200, 1), (500, 1), (1_000, 1), (50, 2), (100, 2)):
        problem, against = sv.averaging(sv.Network.regular(n, 10, seed=1), np.zeros(n)), privacy.Worst(t)
        audit = seconds(lambda p=problem, a=against: privacy.audit(p, mask=MASK, against=a, c=0.4, progress=False))
        mask = seconds(lambda p=problem, a=against: privacy.calibrate(p, delta=1e-3, against=a, c=0.4, progress=False))
        named, how = f"n = {n:,}, at most {t} corrupt, 10-regular", "all coalitions, exactly"
        rows += [
            Row(f"worst coalition: {named}", audit, 60, "at most", how, "s"),
            Row(f"calibrate: {named}", mask, 60, "at most", how, "s"),
        ]
    return rows


def _levels(quick: bool) -> list[Row]:
    side = 12 if quick else 40
    network = sv.Network.grid(side, side)
    problem, corrupt = sv.averaging(network, np.zeros(side**2)), frozenset({0})
    secrets, nodes = secrets_of(problem), np.arange(1, side**2)
    view = OpenView(secrets, corrupt, np.ones(side**2, dtype=bool), 1.0)
    tasks = {
        "dense": lambda: list(solved(secrets, [corrupt], 1e4, 1.0)),
        "sparse": lambda: view.leaks(1e4, nodes),
        "levels": lambda: all_nodes(secrets, corrupt, 1e4, 1.0),
    }
    times = interleaved(2 if quick else 5, tasks)
    named = f"the diagonal of an inverse, level by level: all of a grid of {side**2:,}"
    how = f"one corrupt corner; {np.median(times['levels']):.2g} s level by level"
    return [
        ratio_row(f"dense solves / {named}", times["dense"], times["levels"], None, "at least", how),
        ratio_row(f"one sparse factorisation / {named}", times["sparse"], times["levels"], None, "at least", how),
    ]


def _all_nodes(quick: bool) -> list[Row]:
    """Seconds for all nodes of a large network, by family: one run each."""
    n = 500 if quick else 10_000
    families = {
        "geometric, 10 neighbours": lambda: _problem(n, 10).network,
        "geometric, 2 ln n": lambda: sv.Network.random_geometric(n, seed=1),
        "small world of 10": lambda: sv.Network.watts_strogatz(n, 10, 0.1, seed=1),
        "10-regular": lambda: sv.Network.regular(n, 10, seed=1),
    }
    rows = []
    for name, network in families.items():
        graph = network()
        problem = sv.averaging(graph, np.zeros(graph.n))
        taken = seconds(lambda p=problem: privacy.audit(p, mask=MASK, corrupt={0, 1}))
        how = "two corrupt nodes; level by level, or one dense block"
        rows.append(Row(f"all nodes of {n:,}: {name}", taken, 60, "at most", how, "s"))
    return rows


def _sparse(quick: bool) -> list[Row]:
    problem = _problem(500 if quick else 100_000, 20)
    network = problem.network
    chosen = [network.n // 2]
    tasks = {
        "audit": lambda: privacy.audit(problem, mask=MASK, corrupt={0, 1}, nodes=chosen),
        "run": lambda: sv.solve(problem, c=0.4, theta=1.0, tol=0, max_iter=1_000),
    }
    times = interleaved(2 if quick else 3, tasks)
    title = f"audit of one node / 1,000 synchronous iterations: n = {network.n:,}"
    how = f"one sparse solve and its preparation; {np.median(times['audit']):.2g} s"
    return [ratio_row(title, times["audit"], times["run"], None, "at most", how)]


def _elimination(quick: bool) -> list[Row]:
    problem = _problem(12 if quick else 40, 8)
    n, unknowns = problem.network.n, problem.network.n + 2 * problem.network.m
    matrix = np.random.default_rng(0).normal(size=(unknowns, unknowns))
    run = {"mask": MASK, "corrupt": {0}, "channels": "encrypted", "schedule": sv.Asynchronous(), "c": 0.4, "seed": 1}
    tasks = {"audit": lambda: privacy.audit(problem, **run), "svd": lambda: np.linalg.svd(matrix)}
    times = interleaved(2 if quick else 5, tasks)
    title = f"endless encrypted audit / one SVD of its unknowns: n = {n}, {unknowns} unknowns"
    how = f"elimination and the subspace never seen; {np.median(times['audit']):.2g} s"
    return [ratio_row(title, times["audit"], times["svd"], None, "at most", how)]


def encrypted(quick: bool) -> Group:
    """Endless encrypted transcripts of 160 parties, and of 40 against the run in NumPy."""
    rows = []
    run = {"mask": MASK, "corrupt": {0}, "channels": "encrypted", "c": 0.4, "seed": 1}
    n = 20 if quick else 160
    near = sv.Network.random_geometric(n, seed=1)
    for problem in (_problem(n, 8), sv.averaging(near, np.zeros(near.n))):
        for schedule, theta in ((sv.Asynchronous(), 1.0), (sv.Asynchronous(), 0.8), (sv.Synchronous(), 0.8)):
            how = {**run, "schedule": schedule, "theta": theta}
            found: list[privacy.Report] = []
            taken = seconds(lambda p=problem, how=how, found=found: found.append(privacy.audit(p, **how)))
            size = f"n = {problem.network.n}, {problem.network.m:,} edges, theta {theta:g}"
            title = f"endless encrypted audit, {type(schedule).__name__.lower()}: {size}"
            rows.append(Row(title, taken, 30.0, "at most", f"{found[0].guarantee}: {found[0].method}", "s"))
    return Group([*rows, *_against_numpy(quick, run)])


def _against_numpy(quick: bool, run: dict[str, object]) -> list[Row]:
    sys.path.insert(0, str(ROOT.parent / "tests"))
    import field_twin

    problem, rows = _problem(12 if quick else 40, 8), []

    def in_numpy(how: dict[str, object]) -> None:
        with mock.patch.object(own_edges, "FieldRun", field_twin.FieldRun):
            privacy.audit(problem, **how)

    for schedule, theta in ((sv.Asynchronous(), 1.0), (sv.Asynchronous(), 0.8), (sv.Synchronous(), 0.8)):
        how = {**run, "schedule": schedule, "theta": theta}
        tasks = {
            "numpy": lambda how=how: in_numpy(how),
            "compiled": lambda how=how: privacy.audit(problem, **how),
        }
        times = interleaved(2 if quick else 5, tasks)
        title = f"encrypted audit by NumPy / compiled, {type(schedule).__name__.lower()}, theta {theta:g}"
        told = f"the whole audit; {np.median(times['compiled']):.2g} s compiled"
        rows.append(
            ratio_row(f"{title}: n = {problem.network.n}", times["numpy"], times["compiled"], None, "at least", told)
        )
    return rows
