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


@pytest.mark.parametrize("pair", [("Ada", "Joe"), ("Joe", "Ada"), ("Joe", "Joe"), ("Bob", "Bob"), ("Bob", "Joe")])
def test_what_is_no_edge(pair):
    with pytest.raises(InvalidInput, match=f"there is no edge between {pair[0]} and {pair[1]}"):
        names.half_edge(PATH, pair)


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
            with pytest.raises(InvalidInput, match="True is no node"):
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


# Problems and pads

COSTS = {"Eve": sv.Averaging(4.0), "Ada": sv.Averaging(1.0), "Joe": sv.Averaging(6.0), "Bob": sv.Box(-5, 5)}
IN_ORDER = [COSTS[name] for name in ("Ada", "Bob", "Eve", "Joe")]


def test_costs_by_name():
    by_name, by_number = (sv.solve(sv.Problem(PATH, costs), c=0.5) for costs in (COSTS, IN_ORDER))
    np.testing.assert_array_equal(by_name.x, by_number.x)
    with pytest.raises(InvalidInput, match=r"costs: nothing for Bob, Joe; every node needs an entry"):
        sv.Problem(PATH, {"Ada": sv.Averaging(1.0), "Eve": sv.Averaging(1.0)})
    with pytest.raises(InvalidInput, match=r"'Max' is no node of this network; they are Ada"):
        sv.Problem(PATH, COSTS | {"Max": sv.Averaging(1.0)})
    with pytest.raises(InvalidInput, match=r"costs: a node is named twice"):
        sv.Problem(PATH, COSTS | {2: sv.Averaging(1.0)})
    with pytest.raises(
        InvalidInput, match=r"costs\['Ada'\] must be the Cost of one node, such as sv.Averaging\(1.0\)\."
    ):
        sv.Problem(PATH, COSTS | {"Ada": 31.25})
    with pytest.raises(InvalidInput, match=r"node Ada has 1, node Joe has 2"):
        sv.Problem(PATH, COSTS | {"Joe": sv.Averaging([1.0, 2.0])})
    with pytest.raises(InvalidInput, match=r"node Bob: its cost has dimension 2, its blocks have 1 columns"):
        sv.Problem(PATH.with_constraints(dict.fromkeys(both_ways(PATH), 1.0)), COSTS | {"Bob": sv.Box(-5, 5, dim=2)})


def both_ways(network):
    return [pair for a, b in network.named_edges for pair in ((a, b), (b, a))]


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("shape", [(), (2,)], ids=["numbers", "vectors"])
def test_pads_by_name(rng, batch, shape):
    problem = sv.averaging(PATH, np.arange(4.0) if not shape else np.ones((4, 2)))
    pads = {pair: rng.normal(size=(*(() if batch is None else (batch,)), *shape)) for pair in both_ways(PATH)}
    by_number = [pads[PATH.label(i), PATH.label(j)] for i, j in PATH.half_edges]
    z0 = np.stack(by_number, axis=0 if batch is None else 1)
    arguments = {"c": 0.5, "tol": 0, "max_iter": 5, "batch": batch}
    by_name, expected = (sv.solve(problem, z0=given, **arguments) for given in (pads, z0))
    np.testing.assert_array_equal(by_name.z, expected.z)


def test_pads_by_name_of_edges_with_constraints(rng):
    blocks = {(a, b): rng.normal(size=(1 if "Ada" in (a, b) else 2, 1)) for a, b in both_ways(PATH)}
    problem = sv.Problem(PATH.with_constraints(blocks), [sv.Averaging(1.0)] * 4)
    pads = {pair: rng.normal(size=len(block)) for pair, block in blocks.items()}
    z0 = np.concatenate([pads[PATH.label(i), PATH.label(j)] for i, j in PATH.half_edges])
    by_name, expected = (sv.solve(problem, z0=given, c=0.5, tol=0, max_iter=5) for given in (pads, z0))
    np.testing.assert_array_equal(np.concatenate(by_name.z), np.concatenate(expected.z))


def test_pads_that_are_not_all_there():
    problem = sv.averaging(PATH, np.arange(4.0))
    pads = dict.fromkeys(both_ways(PATH), 1.0)
    del pads["Eve", "Bob"]
    with pytest.raises(InvalidInput, match=r"z0: nothing for \(Eve, Bob\); every half-edge needs it"):
        sv.solve(problem, z0=pads)
    with pytest.raises(InvalidInput, match="there is no edge between Ada and Joe"):
        sv.solve(problem, z0=pads | {("Ada", "Joe"): 1.0})


def test_modular_pads_name_who_does_not_fit():
    for s, sentence in (([1, 2, 0.5, 3], "number 0 of node Eve is none"), ([1, 2, 3, 1e12], "node Joe holds more")):
        with pytest.raises(InvalidInput, match=sentence):
            sv.solve(sv.averaging(PATH, s), mask=sv.ModularMask(bits=32))


# Schedules

PLAIN = PATH.with_labels(None)
STEPS = ["Ada", "Eve", "Eve", "Bob", "Joe"]
BY_NAME = {
    "nodes": (sv.Trace(STEPS), sv.Trace(map(PATH.index, STEPS))),
    "sets": (sv.Trace(node_sets=[{"Ada", "Eve"}, [], ("Joe",)]), sv.Trace(node_sets=[[0, 2], [], [3]])),
    "edges": (
        sv.Trace(half_edges=[[("Ada", "Bob"), ("Joe", "Eve")], [], [["Bob", "Eve"]]]),
        sv.Trace(half_edges=[[0, 5], [], [2]]),
    ),
    "losses": (
        sv.Trace(node_sets=[["Ada", "Bob"]] * 2, half_edges=[[("Ada", "Bob")], []]),
        sv.Trace(node_sets=[[0, 1]] * 2, half_edges=[[0], []]),
    ),
    "rates": (
        sv.Asynchronous(rates={"Joe": 4.0, "Ada": 1.0, "Eve": 3.0, "Bob": 2.0}),
        sv.Asynchronous(rates=[1.0, 2.0, 3.0, 4.0]),
    ),
    "clocks": (
        sv.PoissonClocks({"Joe": 4.0, "Ada": 1.0, "Eve": 3.0, "Bob": 2.0}),
        sv.PoissonClocks([1.0, 2.0, 3.0, 4.0]),
    ),
    "late": (
        sv.Delayed(3, sv.PoissonClocks({"Joe": 4.0, "Ada": 1.0, "Eve": 3.0, "Bob": 2.0})),
        sv.Delayed(3, sv.PoissonClocks([1.0, 2.0, 3.0, 4.0])),
    ),
}


@pytest.mark.parametrize(("named", "numbered"), BY_NAME.values(), ids=BY_NAME.keys())
def test_schedules_by_name_are_those_by_number(named, numbered):
    arguments = {"c": 0.5, "seed": 3, "tol": 0, "max_iter": 5, "z0": np.arange(6.0)}
    by_name = sv.solve(sv.averaging(PATH, np.arange(4.0)), schedule=named, **arguments)
    by_number = sv.solve(sv.averaging(PLAIN, np.arange(4.0)), schedule=numbered, **arguments)
    np.testing.assert_array_equal(by_name.z, by_number.z)
    assert named.mu(PATH) == numbered.mu(PLAIN)
    # A number stays a number where names are words, and what is settled stays so.
    again = numbered.on(PATH)
    np.testing.assert_array_equal(
        sv.solve(sv.averaging(PATH, np.arange(4.0)), schedule=again.on(PATH), **arguments).z, by_number.z
    )


def test_clocks_by_name_keep_time():
    named, numbered = BY_NAME["clocks"]
    np.testing.assert_array_equal(named.times(1, 5), numbered.times(1, 5))


def test_a_trace_of_edges_of_a_network_without_names():
    pairs = sv.Trace(half_edges=[[(0, 1), (3, 2)], np.array([[1, 2]])])
    arguments = {"c": 0.5, "tol": 0, "z0": np.arange(6.0)}
    found, expected = (
        sv.solve(sv.averaging(PLAIN, np.arange(4.0)), schedule=trace, **arguments)
        for trace in (pairs, sv.Trace(half_edges=[[0, 5], [2]]))
    )
    np.testing.assert_array_equal(found.z, expected.z)


def test_a_trace_where_names_are_numbers():
    """Of nodes 1 to 34: its 1 is the first. What a run has settled is not looked up twice."""
    trace, plain = sv.Trace([1, 34, 2]), sv.Trace([0, 33, 1])
    problem = sv.averaging(SHIFTED, np.arange(34.0))
    by_name = sv.solve(problem, schedule=trace, c=0.5, tol=0)
    by_number = sv.solve(sv.averaging(SHIFTED.with_labels(None), np.arange(34.0)), schedule=plain, c=0.5, tol=0)
    np.testing.assert_array_equal(by_name.z, by_number.z)
    settled = trace.on(SHIFTED)
    assert settled.on(SHIFTED) is settled
    assert settled.nodes(SHIFTED, 0, 0, 3).tolist() == trace.nodes(SHIFTED, 0, 0, 3).tolist() == [0, 33, 1]
    sets = sv.Trace(node_sets=[[1, 34]]).on(SHIFTED)
    assert np.flatnonzero(sets.on(SHIFTED).sets(SHIFTED, 0, 0)[0]).tolist() == [0, 33]
    with pytest.raises(InvalidInput, match="0 is no node of this network"):
        sv.solve(problem, schedule=plain, c=0.5)


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        (sv.Trace(["Ada", "Max"]), "'Max' is no node of this network; they are Ada, Bob, Eve, Joe"),
        (sv.Trace(node_sets=[["Max"]]), "'Max' is no node"),
        (sv.Trace(half_edges=[[("Ada", "Joe")]]), "there is no edge between Ada and Joe"),
        (sv.Trace(half_edges=[["Ada"]]), r"an edge is a pair of nodes, such as \('Ada', 'Bob'\)"),
        (
            sv.Trace(node_sets=[["Ada"]], half_edges=[[("Eve", "Bob")]]),
            r"step 0 of the trace: half-edge \(Eve, Bob\) was updated by node Bob, which did not wake",
        ),
        (sv.Asynchronous(rates={"Ada": 1.0}), "rates: nothing for Bob, Eve, Joe"),
    ],
)
def test_sentences_about_schedules_have_names(schedule, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        sv.solve(sv.averaging(PATH, np.arange(4.0)), schedule=schedule)


def test_rates_by_name_have_a_law_on_a_network():
    rates = sv.Asynchronous(rates={"Ada": 1.0, "Bob": 1.0, "Eve": 1.0, "Joe": 2.0})
    assert rates.on(PATH).law.rates.tolist() == [1, 1, 1, 2]
    with pytest.raises(InvalidInput, match="rates: nothing for Eve, Joe"):
        sv.Asynchronous(rates={"Ada": 1.0, "Bob": 1.0}).check(PATH)
    with pytest.raises(InvalidInput, match="belong to a network"):
        _ = rates.law
    with pytest.raises(InvalidInput, match="positive"):
        sv.Asynchronous(rates={"Ada": -1.0})
