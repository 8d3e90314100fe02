from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidNetwork
from sottovoce.network.memory_layout import Layout

GENERATED = {
    "random_geometric": lambda: sv.Network.random_geometric(30, seed=1),
    "largest_component": lambda: sv.Network.random_geometric(300, radius=0.06, seed=1, largest_component=True),
    "ring": lambda: sv.Network.ring(7),
    "grid": lambda: sv.Network.grid(3, 4),
    "complete": lambda: sv.Network.complete(6),
    "star": lambda: sv.Network.star(6),
    "erdos_renyi": lambda: sv.Network.erdos_renyi(40, 0.2, seed=2),
    "regular": lambda: sv.Network.regular(20, 3, seed=3),
    "watts_strogatz": lambda: sv.Network.watts_strogatz(20, 4, 0.3, seed=4),
}


@pytest.mark.parametrize("make", GENERATED.values(), ids=GENERATED.keys())
def test_generators_give_connected_simple_graphs_with_consistent_half_edges(make):
    network = make()
    graph = network.to_networkx()
    assert nx.is_connected(graph)
    assert graph.number_of_nodes() == network.n
    assert graph.number_of_edges() == network.m == len({tuple(edge) for edge in network.edges.tolist()})
    assert nx.number_of_selfloops(graph) == 0
    half = network.half_edges
    assert half.tolist() == sorted(half.tolist())
    np.testing.assert_array_equal(half[network.twin], half[:, ::-1])
    assert [network.neighbours(i).tolist() for i in range(network.n)] == [sorted(graph[i]) for i in range(network.n)]


def test_generators_are_what_they_say():
    assert set(sv.Network.regular(20, 3, seed=3).degrees) == {3}
    assert sv.Network.grid(3, 4).m == 17
    assert sv.Network.complete(6).m == 15
    assert sv.Network.star(6).degrees.tolist() == [5, 1, 1, 1, 1, 1]
    assert sv.Network.watts_strogatz(20, 4, 0.0, seed=0).degrees.tolist() == [4] * 20


def test_random_geometric_joins_exactly_the_points_within_the_radius():
    network = sv.Network.random_geometric(40, radius=0.4, seed=5)
    distance = np.linalg.norm(network.positions[:, None] - network.positions, axis=2)
    i, j = np.triu_indices(40, 1)
    expected = {(int(a), int(b)) for a, b in zip(i, j, strict=True) if distance[a, b] <= 0.4}
    assert {tuple(edge) for edge in network.edges.tolist()} == expected


def test_default_radius_and_seed():
    first, again = (sv.Network.random_geometric(50, seed=9) for _ in range(2))
    np.testing.assert_array_equal(first.edges, again.edges)
    longest = np.linalg.norm(np.diff(first.positions[first.edges], axis=1), axis=2).max()
    assert longest <= np.sqrt(2 * np.log(50) / 50)


def test_erdos_renyi_has_the_right_density():
    # Number of edges is binomial: 5 standard deviations.
    network = sv.Network.erdos_renyi(300, 0.1, seed=0)
    pairs = 300 * 299 / 2
    assert abs(network.m - 0.1 * pairs) < 5 * np.sqrt(pairs * 0.1 * 0.9)


BAD = {
    "self-loop": (lambda: sv.Network.from_edges(3, [(0, 1), (2, 2)]), r"\(2, 2\), is a self-loop"),
    "duplicate": (lambda: sv.Network.from_edges(3, [(0, 1), (1, 2), (1, 0)]), r"number 2, \(1, 0\), is a duplicate"),
    "outside": (lambda: sv.Network.from_edges(3, [(0, 1), (1, 3)]), r"outside 0 .. 2"),
    "negative": (lambda: sv.Network.from_edges(3, [(0, 1), (1, -1)]), r"outside 0 .. 2"),
    "disconnected": (lambda: sv.Network.from_edges(4, [(0, 1), (0, 2), (1, 2)]), r"2 components, and node 3"),
    "too few edges": (lambda: sv.Network.from_edges(3_000_000_000, [(0, 1)]), r"need at least 2999999999 edges; got 1"),
    "ragged": (lambda: sv.Network.from_edges(3, [(0, 1), (1,)]), r"pairs"),
    "no list": (lambda: sv.Network.from_edges(3, 5), r"pairs"),
    "grid of floats": (lambda: sv.Network.grid(2.0, 3), r"2.0 x 3"),
    "p of text": (lambda: sv.Network.erdos_renyi(5, "a"), r"got a"),
    "seed": (lambda: sv.Network.erdos_renyi(5, 0.5, seed=-1), r"seed .* -1"),
    "tiny radius": (lambda: sv.Network.random_geometric(5, 1e-320), r"radius"),
    "isolated": (lambda: sv.Network.from_edges(3, [(0, 1)]), r"disconnected"),
    "empty": (lambda: sv.Network.from_edges(3, []), r"at least 2 edges"),
    "shape": (lambda: sv.Network.from_edges(3, [(0, 1, 2)]), r"pairs"),
    "floats": (lambda: sv.Network.from_edges(3, [(0, 1.5), (1, 2)]), r"integers"),
    "n": (lambda: sv.Network.from_edges(1, [(0, 1)]), r"got 1"),
    "radius": (lambda: sv.Network.random_geometric(10, radius=-1.0), r"got -1"),
    "hopeless radius": (
        lambda: sv.Network.random_geometric(10, radius=1e-3, seed=0),
        r"no connected graph in 100 draws",
    ),
    "hopeless component": (
        lambda: sv.Network.random_geometric(10, radius=1e-4, seed=0, largest_component=True),
        r"Raise radius",
    ),
    "p": (lambda: sv.Network.erdos_renyi(10, 1.5), r"got 1.5"),
    "degree": (lambda: sv.Network.regular(5, 3), r"degree=3 for n=5"),
    "odd k": (lambda: sv.Network.watts_strogatz(10, 3, 0.1), r"k=3"),
    "rewire": (lambda: sv.Network.watts_strogatz(10, 4, -0.1), r"-0.1"),
    "ring": (lambda: sv.Network.ring(2), r">= 3"),
    "grid": (lambda: sv.Network.grid(1, 1), r"1 x 1"),
    "too few labels": (lambda: sv.Network.from_edges(2, [(0, 1)], labels=["a"]), r"2 names, .* got \['a'\]"),
    "equal labels": (lambda: sv.Network.ring(3).with_labels("aba"), r"3 names, .* got 'aba'"),
    "labels that cannot be told apart": (lambda: sv.Network.ring(3).with_labels([[], [], []]), r"3 names"),
    "directed": (lambda: sv.Network.from_networkx(nx.DiGraph([(0, 1)])), r"DiGraph"),
}


@pytest.mark.parametrize(("make", "sentence"), BAD.values(), ids=BAD.keys())
def test_what_is_no_network_is_refused_with_a_sentence(make, sentence):
    with pytest.raises(InvalidNetwork, match=sentence):
        make()


def test_networkx_round_trip_keeps_names():
    graph = nx.Graph([("ann", "bob"), ("bob", "eve"), ("eve", "ann"), ("eve", "joe")])
    network = sv.Network.from_networkx(graph)
    assert network.labels == ["ann", "bob", "eve", "joe"]
    assert nx.utils.graphs_equal(network.to_networkx(), graph)
    plain = sv.Network.from_networkx(nx.path_graph(4))
    assert plain.labels is None
    assert nx.utils.graphs_equal(plain.to_networkx(), nx.path_graph(4))


def test_names_of_nodes():
    plain = sv.Network.grid(1, 3)
    named = plain.with_labels(["ann", ("bob", 1), "eve"])
    assert [plain.name(i) for i in range(3)] == ["0", "1", "2"]
    assert [named.name(i) for i in range(3)] == ["ann", "('bob', 1)", "eve"]
    assert plain.labels is None  # another network
    assert named.with_labels(None).labels is None
    assert np.array_equal(named.edges, plain.edges)
    assert np.array_equal(named.positions, plain.positions)
    constrained = named.with_constraints({(i, j): [[1 - 2 * (i < j)]] for i, j in named.half_edges.tolist()})
    assert constrained.labels == constrained.with_labels(named.labels).labels == named.labels
    with pytest.raises(AttributeError):
        named.labels = ["x", "y", "z"]


def test_edge_list_round_trip(tmp_path):
    network = sv.Network.random_geometric(20, seed=3)
    network.write_edge_list(tmp_path / "edges.txt")
    again = sv.Network.read_edge_list(tmp_path / "edges.txt")
    np.testing.assert_array_equal(network.edges, again.edges)
    (tmp_path / "commas.csv").write_text("0,1\n# a comment\n1, 2  # another\n\n")
    assert sv.Network.read_edge_list(tmp_path / "commas.csv").edges.tolist() == [[0, 1], [1, 2]]
    (tmp_path / "bad.txt").write_text("0 1\n1 two\n")
    with pytest.raises(InvalidNetwork, match="line 2: expected two node numbers"):
        sv.Network.read_edge_list(tmp_path / "bad.txt")
    (tmp_path / "empty.txt").write_text("# nothing\n")
    with pytest.raises(InvalidNetwork, match="no edges"):
        sv.Network.read_edge_list(tmp_path / "empty.txt")


def test_constraint_matrix_is_the_papers(network):
    C, P = network.C.toarray(), network.P
    for row, (i, j) in enumerate(network.half_edges):
        expected = np.zeros(network.n)
        expected[i] = 1.0 if i > j else -1.0
        np.testing.assert_array_equal(C[row], expected)
    # (I + P) C x = 0 exactly for consensus vectors.
    assert np.abs((C + C[P]) @ np.ones(network.n)).max() == 0


def path_with(A, b=None):
    return sv.Network.from_edges(3, [(0, 1), (1, 2)]).with_constraints(A, b)


BLOCKS = {(0, 1): np.ones((2, 3)), (1, 0): np.ones((2, 1)), (1, 2): np.ones((1, 1)), (2, 1): np.ones((1, 2))}


def test_general_constraints_have_rows_and_columns_of_their_own():
    network = path_with(BLOCKS, {(1, 0): [5.0, 6.0]})
    constraints = network.constraints
    assert constraints.dims.tolist() == [3, 1, 2]
    assert network.C.shape == (6, 6)
    assert constraints.b.tolist() == [5, 6, 5, 6, 0, 0]
    assert network.P.tolist() == [2, 3, 0, 1, 5, 4]


@pytest.mark.parametrize(
    ("change", "b", "sentence"),
    [
        ({(1, 2): None}, {}, r"A\[1, 2\] is missing"),
        ({(0, 2): np.ones((1, 1))}, {}, r"\(0, 2\) is no edge"),
        ({(1, 0): np.ones((3, 1))}, {}, r"has 2 rows and A\[1, 0\] has 3"),
        ({(1, 2): np.ones((1, 2))}, {}, r"columns"),
        ({(1, 2): np.array([[np.nan]])}, {}, r"finite"),
        ({(1, 2): np.ones(3)}, {}, r"matrix"),
        ({}, {(0, 1): [1.0]}, r"2 finite numbers"),
        ({}, {(0, 1): [1.0, 2.0], (1, 0): [1.0, 2.0]}, r"one b"),
        ({}, {(0, 2): [1.0]}, r"no edge"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(change, b, sentence):
    A = {key: value for key, value in {**BLOCKS, **change}.items() if value is not None}
    with pytest.raises(InvalidNetwork, match=sentence):
        path_with(A, b)


def test_layout_pairs_the_two_ends_of_an_edge(network):
    slot = network.layout.slot.astype(int)
    np.testing.assert_array_equal(slot[network.twin], slot ^ 1)
    assert sorted(slot) == list(range(2 * network.m))


def test_layout_restores_locality_of_shuffled_labels_and_keeps_the_users(monkeypatch, rng):
    monkeypatch.setattr("sottovoce.network.memory_layout.REORDER_FROM", 10)
    local = sv.Network.random_geometric(2000, radius=0.04, seed=1, largest_component=True)
    shuffled = sv.Network.from_edges(local.n, rng.permutation(local.n)[local.edges])
    layout = Layout(shuffled)
    assert layout.user is not None
    number, half = layout.number.astype(int), shuffled.half_edges
    np.testing.assert_array_equal(number[half[layout.user, 1]], layout.indices)
    distance = np.abs(np.diff(number[half], axis=1)).mean()
    assert distance < np.abs(np.diff(half, axis=1)).mean() / 4
    slot = layout.slot.astype(int)
    np.testing.assert_array_equal(slot[shuffled.twin], slot ^ 1)
