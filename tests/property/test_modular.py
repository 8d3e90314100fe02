"""ModularMask is exact: on any graph, under any schedule, for any integers that fit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv


@st.composite
def cases(draw):
    n = draw(st.integers(2, 9))
    edges = {(draw(st.integers(0, i - 1)), i) for i in range(1, n)}
    pairs = [(i, j) for j in range(n) for i in range(j)]
    edges |= set(draw(st.lists(st.sampled_from(pairs), max_size=n)))
    bits = draw(st.integers(8, 52))
    largest = (2 ** (bits - 1) - 1) // n
    rows = st.lists(st.integers(-largest, largest), min_size=n, max_size=n)
    s = draw(st.lists(rows, min_size=1, max_size=3))  # Python integers, a list per entry
    return sv.Network.from_edges(n, sorted(edges)), bits, s


SCHEDULES = [sv.Synchronous(), sv.Asynchronous(), sv.NodeBernoulli(0.5), sv.EdgeBernoulli(0.7), sv.Delayed(5)]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(case=cases(), schedule=st.sampled_from(SCHEDULES), theta=st.sampled_from([1.0, 0.5]), seed=st.integers(0, 2**40))
def test_every_party_holds_the_exact_sum(case, schedule, theta, seed):
    network, bits, s = case
    problem = sv.averaging(network, np.array(s).T)
    result = sv.solve(problem, schedule=schedule, theta=theta, mask=sv.ModularMask(bits), seed=seed)
    assert result.status is sv.Status.CONVERGED
    totals = [sum(column) for column in s]
    for x in result.x.tolist():
        assert [round(network.n * v) for v in x] == totals
        assert x == [total / network.n for total in totals]  # Python divides integers with one rounding
