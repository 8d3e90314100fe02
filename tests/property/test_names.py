"""What is asked by name is what is asked by number, and names are all that matters: the order of nodes does not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.privacy import Transcript, Worst, audit, exposure

MASK = sv.GaussianMask(30.0)


@st.composite
def named_networks(draw):
    """A connected graph with some names: words, numbers in any order, or pairs."""
    n = draw(st.integers(3, 7))
    tree = [(draw(st.integers(0, i - 1)), i) for i in range(1, n)]
    others = [(i, j) for j in range(n) for i in range(j) if (i, j) not in tree]
    more = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    names = st.text(min_size=1, max_size=3) | st.integers(-3, 9) | st.tuples(st.integers(0, 3), st.integers(0, 3))
    labels = draw(st.lists(names, min_size=n, max_size=n, unique=True))
    return sv.Network.from_edges(n, tree + more, labels=labels)


def same(a, b):
    for name in ("leakage", "floor", "excess", "prior_std", "posterior_std", "mu"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@settings(max_examples=40, deadline=None)
@given(st.data(), named_networks())
def test_an_audit_by_name_is_the_one_by_number(data, named):
    plain, n = named.with_labels(None), named.n
    s = data.draw(st.lists(st.floats(-5, 5), min_size=n, max_size=n), label="s")
    who = data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=n - 1), label="corrupt")
    woke = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2 * n), label="trace")
    channels = data.draw(st.sampled_from(["open", "encrypted"]))
    arguments = {"channels": channels, "c": 0.4, "theta": 0.8, "prior": 2.0, "seen": Transcript(len(woke))}
    by_name = audit(
        sv.averaging(named, s), MASK, corrupt={named.label(i) for i in who},
        schedule=sv.Trace([named.label(i) for i in woke]), **arguments,
    )  # fmt: skip
    by_number = audit(sv.averaging(plain, s), MASK, corrupt=who, schedule=sv.Trace(woke), **arguments)
    same(by_name, by_number)
    assert by_name.exposed == tuple(named.label(i) for i in by_number.exposed)
    for i in range(n):
        np.testing.assert_equal(by_name.loc(named.label(i)), by_number.loc(i))


@settings(max_examples=40, deadline=None)
@given(st.data(), named_networks())
def test_a_run_by_name_is_the_one_by_number(data, named):
    """Constraints, costs, pads, and messages of which some arrive."""
    plain, n, h = named.with_labels(None), named.n, named.half_edges.tolist()
    numbers = st.floats(0.5, 2) | st.floats(-2, -0.5)
    blocks = [data.draw(numbers) for _ in h]
    b = {(i, j): data.draw(numbers) for i, j in plain.edges.tolist()}
    pads = [data.draw(numbers) for _ in h]
    s = [data.draw(numbers) for _ in range(n)]
    arrived = [data.draw(st.lists(st.integers(0, len(h) - 1), unique=True)) for _ in range(4)]
    pairs = [(named.label(i), named.label(j)) for i, j in h]

    constrained = named.with_constraints(
        dict(zip(pairs, blocks, strict=True)), {(named.label(i), named.label(j)): value for (i, j), value in b.items()}
    )
    by_name = sv.solve(
        sv.Problem(constrained, {named.label(i): sv.Averaging(s[i]) for i in reversed(range(n))}),
        z0=dict(zip(pairs, pads, strict=True)),
        schedule=sv.Trace(half_edges=[[pairs[k] for k in step] for step in arrived]), c=0.4, tol=0,
    )  # fmt: skip
    other = plain.with_constraints({(i, j): block for (i, j), block in zip(h, blocks, strict=True)}, b)
    by_number = sv.solve(
        sv.Problem(other, [sv.Averaging(value) for value in s]), z0=np.array(pads),
        schedule=sv.Trace(half_edges=arrived), c=0.4, tol=0,
    )  # fmt: skip
    np.testing.assert_array_equal(by_name.z, by_number.z)
    np.testing.assert_array_equal(by_name.x, by_number.x)


@settings(max_examples=30, deadline=None)
@given(st.data(), named_networks())
def test_the_order_of_the_nodes_does_not_matter(data, named):
    """The same graph with its nodes in another order: the same figures under the same names, to rounding."""
    n = named.n
    order = data.draw(st.permutations(range(n)), label="order")
    place = np.argsort(order)
    other = sv.Network.from_edges(n, place[named.edges], labels=[named.label(i) for i in order])
    s = data.draw(st.lists(st.floats(1, 5), min_size=n, max_size=n), label="s")
    prior = data.draw(st.lists(st.floats(0.5, 4), min_size=n, max_size=n), label="prior")
    who = data.draw(st.sets(st.integers(0, n - 1), max_size=n - 1), label="corrupt")
    corrupt = {named.label(i) for i in who}
    for against in ({"corrupt": corrupt}, {"against": Worst(1)}):
        here, there = (
            audit(
                sv.averaging(network, [s[named.index(label)] for label in network.labels]), MASK, c=0.4,
                prior=dict(zip(named.labels, prior, strict=True)), **against,
            )
            for network in (named, other)
        )  # fmt: skip
        assert set(here.exposed) == set(there.exposed)
        assert {frozenset(group) for group in here.groups} == {frozenset(group) for group in there.groups}
        for label in named.labels:
            row, again = here.loc(label), there.loc(label)
            for name in ("leakage", "floor", "excess", "mu"):
                np.testing.assert_allclose(row[name], again[name], rtol=1e-9, atol=1e-9)
    found, again = exposure(named, Worst(1)), exposure(other, Worst(1))
    assert set(found.exposed) == set(again.exposed)
    assert set(found.articulation) == set(again.articulation)
    assert found.connectivity == again.connectivity
