"""Nothing is called converged that did not converge: any graph, theta, c, schedule, scale and mask."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import NotConvergedWarning

# Masks are small here on purpose: what is compared is arithmetic, and small masks leave it more digits.
pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")


@st.composite
def networks(draw, largest=12):
    """A random tree and some more edges: every connected graph can occur."""
    n = draw(st.integers(2, largest))
    edges = {(draw(st.integers(0, i - 1)), i) for i in range(1, n)}
    pairs = [(i, j) for j in range(n) for i in range(j)]
    edges |= set(draw(st.lists(st.sampled_from(pairs), max_size=2 * n)))
    names = draw(st.permutations(range(n)))
    return sv.Network.from_edges(n, [(names[i], names[j]) for i, j in sorted(edges)])


@st.composite
def schedules(draw, n):
    rates = draw(st.lists(st.floats(0.05, 20), min_size=n, max_size=n))
    return draw(
        st.sampled_from(
            [
                sv.Synchronous(),
                sv.Asynchronous(),
                sv.Asynchronous(rates=rates),
                sv.PoissonClocks(rates),
                sv.EdgeReversal(),
                sv.Permutations(),
                sv.NodeBernoulli(draw(st.floats(0.05, 1))),
                sv.EdgeBernoulli(draw(st.floats(0.05, 1))),
                sv.Delayed(draw(st.integers(0, 30))),
            ]
        )
    )


@st.composite
def penalties(draw, m):
    """One for all, or one per edge."""
    count = draw(st.sampled_from([1, m]))
    c = 10 ** np.array(draw(st.lists(st.floats(-4, 4), min_size=count, max_size=count)))
    return float(c[0]) if count == 1 else c


@st.composite
def runs(draw):
    network = draw(networks())
    return {
        "network": network,
        "schedule": draw(schedules(network.n)),
        "theta": draw(st.floats(0.01, 1)),
        "c": draw(penalties(network.m)),
        "mask": draw(st.sampled_from([None, sv.GaussianMask(1.0), sv.GaussianMask(1e6)])),
        "seed": draw(st.integers(0, 2**32)),
        "tol": 10 ** draw(st.floats(-9, -2)),
        "check_every": draw(st.sampled_from([None, 1, 7])),
        "max_iter": 1500,
    }


def solve(problem, run):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", NotConvergedWarning)
        result = sv.solve(problem, **{key: value for key, value in run.items() if key != "network"})
    assert len(said) == (not result.converged)
    event(result.status.value)
    return result


@settings(max_examples=80, deadline=None, derandomize=True)
@given(run=runs(), scale=st.sampled_from([1e-3, 1.0, 1e3]), data=st.data())
def test_averaging(run, scale, data):
    n, tol = run["network"].n, run["tol"]
    s = scale * np.array(data.draw(st.lists(st.floats(-10, 10), min_size=n, max_size=n)))
    result = solve(sv.averaging(run["network"], s), run)
    assert result.status is not sv.Status.DIVERGED
    if result.status is sv.Status.CONVERGED:
        # kkt_residual <= tol says: all x within tol max(1, |x|) of each other and of what is returned, and
        # |2 (x_i - s_i) + lambda_i| <= tol max(1, |u|) with multipliers that cancel in the sum. Hence the mean of x is
        # within tol max(1, |u|)/2 of the mean of s, and u_i = -2 (x_i - s_i).
        mean = s.mean()
        allowed = tol * (2 * max(1, np.abs(result.x).max()) + 0.5 * max(1, 2 * np.abs(result.x - s).max()))
        assert np.abs(result.x - mean).max() <= 1.01 * allowed + 1e-12 * max(1, np.abs(s).max())


@settings(max_examples=80, deadline=None, derandomize=True)
@given(run=runs(), d=st.integers(1, 3), seed=st.integers(0, 10_000), log_condition=st.floats(0, 3))
def test_least_squares(run, d, seed, log_condition):
    rng = np.random.default_rng(seed)
    scale = np.logspace(0, -log_condition / 2, d)
    data = [(rng.normal(size=(d + 2, d)) * scale, rng.normal(size=d + 2)) for _ in range(run["network"].n)]
    problem = sv.least_squares(run["network"], data)
    result = solve(problem, run)
    assert result.status is not sv.Status.DIVERGED
    if result.status is sv.Status.CONVERGED:
        H = 2 * sum(A.T @ A for A, _ in data)
        x_star = np.linalg.solve(H, 2 * sum(A.T @ b for A, b in data))
        gradients = [2 * A.T @ (A @ x - b) for (A, b), x in zip(data, result.x, strict=True)]
        # The sum of the gradients is off by n tol max(1, |u|) and by curvature times disagreement; divide by the
        # smallest curvature of the sum.
        disagreement = 2 * run["tol"] * max(1, np.abs(result.x).max())
        off = run["tol"] * len(data) * max(1, np.abs(gradients).max()) + np.linalg.norm(H, 2) * disagreement
        allowed = np.sqrt(d) * off / np.linalg.eigvalsh(H)[0] + disagreement
        assert np.abs(result.x - x_star).max() <= 1.1 * allowed + 1e-10


@settings(max_examples=35, deadline=None, derandomize=True)
@given(run=runs(), data=st.data())
def test_median(run, data):
    """Not smooth, not strongly convex: the answer must minimise, to the tolerance, not be unique."""
    run["theta"] = min(run["theta"], 0.9)
    n = run["network"].n
    s = np.array(data.draw(st.lists(st.integers(-20, 20), min_size=n, max_size=n)), dtype=float)
    problem = sv.Problem(run["network"], sv.AbsoluteDeviation.many(s))
    result = solve(problem, run)
    if result.status is sv.Status.CONVERGED:
        best = problem.value(np.full(n, np.median(s)))
        slope = n * (1 + run["tol"])
        reach = 2 * run["tol"] * max(1, np.abs(result.x).max())
        # Subgradients sum to at most n tol, over a distance of at most the spread of the data.
        assert problem.value(result.x) <= best + slope * reach + n * run["tol"] * (np.ptp(s) + 1) + 1e-9


@settings(max_examples=25, deadline=None, derandomize=True)
@given(run=runs(), data=st.data())
def test_general_constraints(run, data):
    """``a x_i + b x_j = e`` on a tree, in any units: the feasible set is a line, and the optimum known."""
    network = sv.Network.from_edges(run["network"].n, spanning_tree(run["network"]))
    run |= {"c": run["c"] if isinstance(run["c"], float) else run["c"][: network.m]}
    exponents, signs = st.floats(-3, 3), st.sampled_from([-1.0, 1.0])
    A, b = {}, {}
    for i, j in network.edges.tolist():
        A[i, j] = [[data.draw(signs) * 10 ** data.draw(exponents)]]
        A[j, i] = [[data.draw(signs) * 10 ** data.draw(st.floats(-1, 1)) * abs(A[i, j][0][0])]]
        b[i, j] = [data.draw(st.floats(-3, 3)) * abs(A[i, j][0][0])]
    s = np.array(data.draw(st.lists(st.floats(-10, 10), min_size=network.n, max_size=network.n)))
    result = solve(sv.Problem(network.with_constraints(A, b), [sv.Averaging([v]) for v in s]), run)
    if result.status is sv.Status.CONVERGED:
        rows = np.zeros((network.m, network.n))
        for row, (i, j) in enumerate(network.edges.tolist()):
            rows[row, i], rows[row, j] = A[i, j][0][0], A[j, i][0][0]
        size = np.abs(rows).max(axis=1, keepdims=True)
        K, e = rows / size, np.array([b[i, j][0] for i, j in network.edges.tolist()]) / size[:, 0]
        inverse = np.linalg.pinv(K)
        x_star = s + inverse @ (e - K @ s)
        # Constraints are off by tol max(1, |x|) each and gradients by tol max(1, |u|): the distance to the optimum is
        # at most that of the feasible sets, and that of the minimisers within one.
        x = np.ravel(result.x)
        primal = 3 * run["tol"] * max(1, np.abs(x).max())
        dual = run["tol"] * max(1, 2 * np.abs(x - s).max())
        allowed = np.sqrt(network.n) * (np.linalg.norm(inverse, 2) * primal * (1 + np.sqrt(network.n)) + dual)
        assert np.abs(x - x_star).max() <= 1.1 * allowed + 1e-9


def spanning_tree(network):
    seen, edges, queue = {0}, [], [0]
    for i in queue:
        for j in network.neighbours(i).tolist():
            if j not in seen:
                seen.add(j)
                queue.append(j)
                edges.append((i, j))
    return edges
