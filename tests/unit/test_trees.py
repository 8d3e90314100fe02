"""Spanning trees, and networks cut down to some of their edges."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.network import trees


@st.composite
def networks(draw, most=14):
    n = draw(st.integers(2, most))
    tree = [(draw(st.integers(0, i - 1)), i) for i in range(1, n)]
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] < pair[1])
    more = draw(st.lists(pairs, max_size=2 * n))
    return sv.Network.from_edges(n, sorted({*tree, *more}))


def farthest(network: sv.Network) -> list[int]:
    lengths = dict(networkx.all_pairs_shortest_path_length(network.to_networkx()))
    return [max(lengths[i].values()) for i in range(network.n)]


@given(networks())
def test_a_tree_is_breadth_first_from_a_centre(network):
    tree, radii = network.spanning_tree(), farthest(network)
    assert tree.root == int(np.argmin(radii)), "the first of those whose farthest node is nearest"
    assert tree.depth == min(radii)
    lengths = networkx.single_source_shortest_path_length(network.to_networkx(), tree.root)
    for i in range(network.n):
        assert tree.levels[i] == lengths[i]
        nearer = [j for j in network.around(i) if lengths[j] < lengths[i]]
        assert tree.parents[i] == (min(nearer) if nearer else -1)


@given(networks())
def test_its_edges_are_those_of_the_network(network):
    tree = network.spanning_tree()
    assert tree.network.m == len(tree.edges) == network.n - 1
    assert {tuple(edge) for edge in tree.edges} <= {tuple(edge) for edge in network.edges}
    assert networkx.is_tree(tree.network.to_networkx())
    for (i, j), child in zip(tree.edges, tree.children, strict=True):
        assert {child, tree.parents[child]} == {i, j}


@given(networks(), st.data())
def test_matched_penalties_sum_up(network, data):
    """``a_i`` and the penalties of the children are that of the parent; at the root they are the sum of all."""
    positive = st.floats(0.1, 10)
    a = np.array(data.draw(st.lists(positive, min_size=network.n, max_size=network.n)))
    tree = network.spanning_tree()
    c = dict(zip(tree.children.tolist(), tree.matched(a).tolist(), strict=True))
    for i in range(network.n):
        below = a[i] + sum(c[j] for j in range(network.n) if tree.parents[j] == i)
        assert below == pytest.approx(a.sum() if i == tree.root else c[i], rel=1e-13)


def test_a_very_long_path_is_not_searched_for_ever(monkeypatch):
    """After so many levels the best so far is taken; a tree is one from any root."""
    monkeypatch.setattr(trees, "LEVELS", 60)
    tree = sv.Network.grid(1, 101).spanning_tree()
    assert tree.root != 50, "the middle would have taken more"
    assert networkx.is_tree(tree.network.to_networkx())
    monkeypatch.setattr(trees, "LEVELS", 1_000)
    assert sv.Network.grid(1, 101).spanning_tree().root == 50


def test_names_and_places_stay():
    network = sv.Network.random_geometric(8, seed=2)
    named = network.with_labels(list("abcdefgh"))
    tree = named.spanning_tree()
    assert tree.network.labels == list("abcdefgh")
    assert np.array_equal(tree.network.positions, network.positions)
    assert named.restricted_to(tree.network.named_edges).named_edges == tree.network.named_edges


@pytest.mark.parametrize(
    ("edges", "why"),
    [
        ([("a", "b"), ("b", "c"), ("a", "c")], "there is no edge between a and c"),
        ([("a", "b"), ("c", "d")], "without more edges c cannot be reached from a"),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("b", "a")], r"the edge \(b, a\) is given twice"),
        ([("a", "x")], "'x' is no node"),
        ([("a", "b", "c")], "an edge is a pair"),
        ([], "b cannot be reached from a"),
    ],
)
def test_edges_that_are_none(edges, why):
    ring = sv.Network.ring(4).with_labels(list("abcd"))
    with pytest.raises(sv.errors.InvalidNetwork, match=why):
        ring.restricted_to(edges)


def test_numbers_that_are_names():
    ring = sv.Network.ring(4).with_labels([1, 2, 3, 4])
    assert ring.restricted_to([(1, 2), (2, 3), (3, 4)]).named_edges == [(1, 2), (2, 3), (3, 4)]
    with pytest.raises(sv.errors.InvalidNetwork, match="0 is no node"):
        ring.restricted_to([(0, 1), (1, 2), (2, 3)])
