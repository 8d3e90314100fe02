"""Nodes by the user's own names, wherever a node or an edge is given or told."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput, InvalidNetwork
from sottovoce.network import names

PATH = sv.Network.from_named_edges([("Ada", "Bob"), ("Bob", "Eve"), ("Eve", "Joe")])
SHIFTED = sv.Network.from_networkx(nx.relabel_nodes(nx.karate_club_graph(), lambda i: i + 1))
MISERABLES = sv.Network.from_networkx(nx.les_miserables_graph())


# Networks


def test_edges_between_names():
    assert PATH.labels == ["Ada", "Bob", "Eve", "Joe"]
    assert PATH.named_edges == [("Ada", "Bob"), ("Bob", "Eve"), ("Eve", "Joe")]
    assert PATH.with_labels(None).named_edges == [(0, 1), (1, 2), (2, 3)]
    # However they are turned: nodes are numbered as they come up.
    turned = sv.Network.from_named_edges([("Bob", "Ada"), ("Eve", "Bob")])
    assert (turned.labels, turned.edges.tolist()) == (["Bob", "Ada", "Eve"], [[0, 1], [0, 2]])


@pytest.mark.parametrize(
    "graph", [nx.les_miserables_graph(), nx.relabel_nodes(nx.karate_club_graph(), lambda i: i + 1)]
)
def test_neighbours_of_a_networkx_graph_are_its_own(graph):
    network = sv.Network.from_networkx(graph)
    for node in graph:
        assert set(network.neighbours(node).tolist()) == set(graph[node])
        assert network.label(network.index(node)) == node
    assert nx.utils.edges_equal(network.named_edges, graph.edges)


def test_names_that_are_pairs():
    grid = sv.Network.from_networkx(nx.grid_2d_graph(2, 2))
    assert grid.neighbours((0, 0)).tolist() == [(0, 1), (1, 0)]
    assert names.half_edge(grid, ((0, 0), (0, 1))) == grid.half_edges.tolist().index([0, 1])


def test_labels_win_over_numbers():
    assert [SHIFTED.index(1), SHIFTED.index(34)] == [0, 33]
    with pytest.raises(InvalidInput, match="0 is no node of this network; they are 1, 2, 3"):
        SHIFTED.index(0)
    swapped = sv.Network.ring(3).with_labels([2, 0, 1])
    assert [swapped.index(i) for i in (2, 0, 1)] == [0, 1, 2]
    assert swapped.with_labels(["a", "b", "c"]).index(1) == 1  # what was kept of the labels before is forgotten
    halves = sv.Network.ring(3).with_labels([0.5, 1.0, 2.0])
    assert halves.index(1) == 1
    with pytest.raises(InvalidInput, match="0 is no node"):
        halves.index(0)


def test_a_truth_value_is_no_node():
    for network in (SHIFTED, PATH, sv.Network.ring(3)):
        for node in (True, np.True_):
            with pytest.raises(InvalidInput, match=r"True_? is no node"):
                network.index(node)
    assert sv.Network.ring(3).with_labels([True, False, "?"]).index(False) == 1


@pytest.mark.parametrize("i", [4, -1, 7, "Ada", None])
@pytest.mark.parametrize("network", [PATH, PATH.with_labels(None)], ids=["named", "plain"])
def test_a_number_that_no_node_has(network, i):
    with pytest.raises(InvalidInput, match=rf"there is no node number {i!r}; numbers are 0 to 3\."):
        network.name(i)


def test_who_there_is():
    with pytest.raises(InvalidInput, match=r"'Max' is no node of this network; they are Ada, Bob, Eve, Joe\."):
        PATH.index("Max")
    with pytest.raises(InvalidInput, match=r"\['Ada'\] is no node"):
        PATH.neighbours(["Ada"])
    with pytest.raises(InvalidInput, match="and 69 more"):
        MISERABLES.neighbours("Voltaire")


BAD = {
    "no pairs": (lambda: sv.Network.from_named_edges(["Ada", "Bob"]), r"pairs of names, such as \('Ada', 'Bob'\)"),
    "no list": (lambda: sv.Network.from_named_edges(5), r"pairs of names"),
    "lists": (lambda: sv.Network.from_named_edges([(["Ada"], "Bob")]), r"pairs of names"),
    "loop": (lambda: sv.Network.from_named_edges([("Ada", "Bob"), ("Bob", "Bob")]), r"\(Bob, Bob\), is a self-loop"),
    "twice": (lambda: sv.Network.from_named_edges([("Ada", "Bob"), ("Bob", "Ada")]), r"\(Bob, Ada\), is a duplicate"),
    "parts": (
        lambda: sv.Network.from_networkx(nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("d", "e")])),
        r"node d cannot be reached from node a",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), BAD.values(), ids=BAD.keys())
def test_sentences_about_graphs_have_names(make, sentence):
    with pytest.raises(InvalidNetwork, match=sentence):
        make()


# Edge constraints

BLOCKS = {("Ada", "Bob"): np.ones((2, 3)), ("Bob", "Ada"): np.ones((2, 1)), ("Bob", "Eve"): 1, ("Eve", "Bob"): [[1, 1]]}
THREE = sv.Network.from_named_edges([("Ada", "Bob"), ("Bob", "Eve")])


def test_constraints_by_name_are_those_by_number():
    named = THREE.with_constraints(BLOCKS, {("Bob", "Ada"): [5.0, 6.0]})
    numbers = {tuple(map(THREE.index, pair)): block for pair, block in BLOCKS.items()}
    plain = THREE.with_labels(None).with_constraints(numbers, {(1, 0): [5.0, 6.0]})
    np.testing.assert_array_equal(named.C.toarray(), plain.C.toarray())
    np.testing.assert_array_equal(named.constraints.b, plain.constraints.b)
    np.testing.assert_array_equal(named.P, plain.P)


@pytest.mark.parametrize(
    ("change", "b", "sentence"),
    [
        ({("Bob", "Eve"): None}, {}, r"A\[Bob, Eve\] is missing"),
        ({("Ada", "Eve"): 1}, {}, r"\('Ada', 'Eve'\) is no edge .* there is no edge between Ada and Eve"),
        ({("Ada", "Max"): 1}, {}, r"'Max' is no node of this network; they are Ada, Bob, Eve"),
        ({"Ada": 1}, {}, r"an edge is a pair of nodes, such as \('Ada', 'Bob'\); got 'Ada'"),
        ({("Bob", "Ada"): np.ones((3, 1))}, {}, r"A\[Ada, Bob\] has 2 rows and A\[Bob, Ada\] has 3"),
        ({("Bob", "Eve"): [[1, 1]]}, {}, r"A\[Bob, Eve\] has 2 columns, but another block of node Bob has 1"),
        ({("Bob", "Eve"): np.nan}, {}, r"A\[Bob, Eve\] must be finite"),
        ({(1, 2): 1}, {}, r"given twice, by name and by number"),
        ({}, {("Ada", "Bob"): [1.0]}, r"b\[Ada, Bob\] must be 2 finite numbers"),
        ({}, {("Ada", "Bob"): [1.0, 2.0], ("Bob", "Ada"): [1.0, 2.0]}, r"both \(Ada, Bob\) and \(Bob, Ada\)"),
    ],
)
def test_sentences_about_blocks_have_names(change, b, sentence):
    A = {key: value for key, value in {**BLOCKS, **change}.items() if value is not None}
    with pytest.raises(InvalidNetwork, match=sentence):
        THREE.with_constraints(A, b)
