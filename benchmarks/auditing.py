"""How long the auditor takes, against the linear algebra that it cannot do without."""

from __future__ import annotations

import numpy as np

import sottovoce as sv
from sottovoce import privacy
from sottovoce.privacy.methods.closed_form import OpenView, _dense
from sottovoce.privacy.methods.secrets_and_prior import secrets_of

from .measure import Group, Row, interleaved, ratio_row

MASK = sv.GaussianMask(1e4)


def audits(quick: bool) -> Group:
    """All nodes by the closed form, the worst coalition, large networks by sparse solves, and the elimination."""
    return Group([*_closed_form(quick), *_worst(quick), *_factorised(quick), *_sparse(quick), *_elimination(quick)])


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


def _factorised(quick: bool) -> list[Row]:
    side = 12 if quick else 40
    problem = sv.averaging(sv.Network.grid(side, side), np.zeros(side**2))
    nodes = list(range(1, side**2))
    tasks = {
        "dense": lambda: privacy.audit(problem, mask=MASK, corrupt={0}),
        "sparse": lambda: privacy.audit(problem, mask=MASK, corrupt={0}, nodes=nodes),
    }
    times = interleaved(2 if quick else 5, tasks)
    title = f"dense / one sparse factorisation, all nodes: grid of {side**2:,}"
    how = f"one corrupt corner; {np.median(times['sparse']):.2g} s sparse"
    return [ratio_row(title, times["dense"], times["sparse"], None, "at least", how)]


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
