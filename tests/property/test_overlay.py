"""Over a tree with matched penalties a run ends after two sweeps: any graph, curvatures, pads, order and losses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from situations import networks

import sottovoce as sv

SIGMA = 1e4
MASK = sv.GaussianMask(SIGMA**2)


@st.composite
def problems(draw, most=12):
    """``(a_i/2) ||x - s_i||^2``, with the optimum."""
    network = draw(networks(most))
    n, d = network.n, draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    a = 10 ** rng.uniform(-1, 1, size=n) if draw(st.booleans()) else np.full(n, 2.0)
    s = rng.normal(size=(n, d))
    matrices = [a_i * np.eye(d) for a_i in a] if draw(st.booleans()) else a
    costs = [sv.Quadratic(Q, -a_i * s_i) for Q, a_i, s_i in zip(matrices, a, s, strict=True)]
    return sv.Problem(network, costs), a @ s / a.sum(), a


def rounding(a):
    """What is left of pads of size sigma: sums of some n of them, divided by a curvature."""
    return 6 * len(a) * np.finfo(float).eps * SIGMA / a.min()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems(), st.integers(0, 2**32))
def test_two_sweeps_find_the_answer(made, seed):
    problem, optimum, a = made
    depth = problem.network.spanning_tree().depth
    result = sv.solve(problem, overlay="tree", mask=MASK, seed=seed, tol=0, max_iter=2 * depth + 1)
    assert np.abs(result.x - optimum).max() <= rounding(a)
    assert result.messages == (2 * depth + 1) * 2 * (problem.network.n - 1)
    seen = sv.solve(problem, overlay="tree", mask=MASK, seed=seed, tol=1e-7)  # well above rounding
    assert seen.converged
    assert seen.iterations <= 2 * depth + 1


def test_one_round_less_is_too_few():
    """On a path the last one hears of the first after all rounds."""
    path = sv.Network.from_edges(9, [(i, i + 1) for i in range(8)])
    problem = sv.averaging(path, np.arange(9.0))
    ends = [
        sv.solve(problem, overlay="tree", mask=MASK, seed=1, tol=0, max_iter=rounds).x for rounds in (2 * 4, 2 * 4 + 1)
    ]
    assert np.abs(ends[0] - 4).max() > 1
    assert np.abs(ends[1] - 4).max() < 1e-9


@settings(max_examples=25, deadline=None, derandomize=True)
@given(problems(most=9), st.integers(0, 2**32), st.data())
def test_losses_and_any_order_only_delay_it(made, seed, data):
    problem, optimum, a = made
    schedule = data.draw(
        st.sampled_from(
            [sv.Asynchronous(), sv.EdgeBernoulli(0.5), sv.NodeBernoulli(0.3), sv.Delayed(10), sv.EdgeBernoulli(0.9)]
        )
    )
    result = sv.solve(problem, overlay="tree", mask=MASK, seed=seed, schedule=schedule, tol=1e-7)
    assert result.converged
    a_round = schedule.round(problem.network)
    later = sv.solve(
        problem, overlay="tree", mask=MASK, seed=seed, schedule=schedule, tol=0,
        max_iter=result.iterations + 30 * a_round,
    )  # fmt: skip
    assert np.abs(later.x - optimum).max() <= rounding(a)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(networks(9), st.data())
def test_in_fractions_two_sweeps_are_exact(network, data):
    """The iteration of theory.md, folded pads included, in exact numbers: no tolerance."""
    number = st.fractions(min_value=-100, max_value=100, max_denominator=7)
    positive = st.fractions(min_value=Fraction(1, 7), max_value=100, max_denominator=7)
    n, tree = network.n, network.spanning_tree()
    a, s = ([data.draw(kind) for _ in range(n)] for kind in (positive, number))
    below = [{i} for i in range(n)]  # the subtree of each
    for i in sorted(range(n), key=lambda i: -tree.levels[i]):
        if i != tree.root:
            below[tree.parents[i]] |= below[i]
    c = {}
    for i, p in enumerate(tree.parents.tolist()):
        if i != tree.root:
            c[i, p] = c[p, i] = sum(a[k] for k in below[i])
    pads = {(i, j): data.draw(number) for i, j in network.half_edges.tolist()}
    sign = {(i, j): 1 if i > j else -1 for i, j in pads}
    w = [-a[i] * s[i] for i in range(n)]
    for (i, j), own in pads.items():  # all of them are folded; what messages use is then e/2
        w[i] += sign[i, j] * (own + pads[j, i]) / 2
    z = {edge: (pads[edge] - pads[edge[::-1]]) / 2 for edge in c}
    x = [Fraction(0)] * n
    for _ in range(2 * tree.depth + 1):
        for i in range(n):
            around = [j for k, j in c if k == i]
            x[i] = -(w[i] + sum(sign[i, j] * z[i, j] for j in around)) / (a[i] + sum(c[i, j] for j in around))
        z = {(j, i): z[i, j] + 2 * c[i, j] * sign[i, j] * x[i] for i, j in c}
    assert set(x) == {sum(a_i * s_i for a_i, s_i in zip(a, s, strict=True)) / sum(a)}
