"""Exposure on graphs whose answer is known, at sizes where brute force does not end, and every bad argument."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

import sottovoce as sv
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.privacy import Worst, exposure, suggest_edges
from sottovoce.privacy.vertex_cuts import separator


def path(n):
    return sv.Network.from_edges(n, [(i, i + 1) for i in range(n - 1)])


def cliques(*sizes, links):
    """Complete graphs of the given sizes, and the ``links`` between them."""
    starts = np.cumsum([0, *sizes]).tolist()
    inside = [(a + i, a + j) for a, size in zip(starts, sizes, strict=False) for j in range(size) for i in range(j)]
    return sv.Network.from_edges(starts[-1], inside + links)


HUBS = [5, 6, 7, 13, 14, 15]


# Groups


def test_a_node_is_disclosed_by_all_its_neighbours(network):
    degrees = network.degrees
    for t in (0, 3, int(degrees.max())):
        found = exposure(network, Worst(t))
        assert found.isolated_by.tolist() == degrees.tolist()
        assert found.exposed == tuple(np.flatnonzero(degrees <= t))
        for i in found.exposed:
            assert found.coalition[i] == set(network.neighbours(i).tolist())


def test_path_by_hand():
    """On ``0 - 1 - 2 - 3 - 4`` one corrupt neighbour leaves a node the way to the other end."""
    found = exposure(path(5), Worst(1))
    assert found.group == (1, 2, 3, 2, 1)
    assert found.coalition == ({1}, {2}, {1}, {2}, {3})
    assert (found.connectivity, found.articulation) == (1, (1, 2, 3))
    assert exposure(path(5), Worst(2)).group == (1, 1, 1, 1, 1)


def test_coalitions_are_the_fewest_then_the_first():
    """A ring with a tail: one node isolates the end of it. The middle of a ladder loses a side: two ways each."""
    tail = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (1, 4)])
    assert exposure(tail, Worst(2)).coalition[0] == {1}
    ladder = sv.Network.from_edges(6, [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)])
    found = exposure(ladder, Worst(2))
    assert found.group == (1, 3, 1, 1, 3, 1)
    assert found.coalition[1] == {0, 4}  # not {2, 4}
    assert found.coalition[4] == {1, 3}  # not {1, 5}


def test_nobody_corrupt_leaves_everybody_together(network):
    found = exposure(network, Worst(0), largest=network.n)
    assert set(found.group) == {network.n}
    assert set(found.coalition) == {frozenset()}


def test_what_is_larger_than_asked_is_not_a_number(network):
    found = exposure(network, Worst(0), largest=network.n - 1)
    assert found.group == (None,) * network.n == found.coalition


def test_complete_graph_has_no_cut():
    found = exposure(sv.Network.complete(6), Worst(3))
    assert (found.group, found.connectivity, found.cut, found.articulation) == ((3,) * 6, 5, None, ())
    assert found.coalition[0] == {1, 2, 3}
    assert exposure(sv.Network.complete(6), Worst(5)).exposed == tuple(range(6))
    assert exposure(sv.Network.complete(2), Worst(1)).connectivity == 1


def test_a_clique_behind_two_nodes_is_a_group():
    """Six nodes that two others tie to the rest: nobody in there has fewer than five neighbours."""
    network = cliques(6, 9, links=[(0, 6), (1, 7)])
    found = exposure(network, Worst(2))
    # Corrupt 0 and 1 are neighbours of the other four; corrupt 6 and 7 would leave all six.
    assert found.group == (5, 5, 4, 4, 4, 4, *(8, 8, 7, 7, 7, 7, 7, 7, 7))
    assert found.coalition[2] == {0, 1}
    assert found.coalition[0] == {1, 6}


def test_the_disclosed_share_is_one_over_the_group(network):
    """theory: The floor. As the mask grows the view keeps the kernel of ``L_h``, of which ``1/n_k`` is about
    ``S_i``."""
    found = exposure(network, Worst(4), largest=network.n)
    W = network.adjacency.toarray()
    for i, (size, corrupt) in enumerate(zip(found.group, found.coalition, strict=True)):
        honest = [j for j in range(network.n) if j not in corrupt]
        L = np.diag(W[np.ix_(honest, honest)].sum(axis=1)) - W[np.ix_(honest, honest)]
        kernel = np.eye(len(honest)) - np.linalg.pinv(L) @ L
        at = honest.index(i)
        # A projection of condition number below 1e3 on 12 nodes, in doubles.
        assert kernel[at, at] == pytest.approx(1 / size, abs=1e-11)


# Cuts


@pytest.mark.parametrize(
    ("network", "connectivity"),
    [
        (sv.Network.ring(9), 2),
        (sv.Network.star(7), 1),
        (sv.Network.grid(4, 5), 2),
        (sv.Network.from_networkx(nx.hypercube_graph(4)), 4),
        (sv.Network.from_networkx(nx.petersen_graph()), 3),
        (sv.Network.from_networkx(nx.complete_bipartite_graph(4, 7)), 4),
        (sv.Network.from_networkx(nx.circulant_graph(30, [1, 2, 3])), 6),
        (cliques(20, 20, links=[(i, 20 + i) for i in range(7)]), 7),
        (cliques(4, 4, links=[(0, 4), (1, 5)]), 2),
        (cliques(9, 9, links=[(i, 9 + j) for i in range(3) for j in range(9)]), 3),
        # Node 0 has the fewest neighbours, five, and is in the only minimum cut, with 1 and 2.
        (cliques(1, 2, 8, 8, links=[(0, i) for i in (1, 3, 4, 11, 12)] + [(i, j) for i in (1, 2) for j in HUBS]), 3),
    ],
)
def test_known_connectivities(network, connectivity):
    found = exposure(network, Worst(1))
    assert found.connectivity == connectivity == len(found.cut)
    graph = nx.Graph(network.named_edges)
    graph.remove_nodes_from(found.cut)
    assert not nx.is_connected(graph)


def disjoint_paths(network, sources, targets):
    """Paths from ``sources`` to ``targets`` without a common node: maximum flow where ``i`` is an edge ``i -> i+n``."""
    n = network.n
    flows = sparse.lil_array((2 * n + 2, 2 * n + 2), dtype=np.int32)
    for i, j in network.half_edges.tolist():
        flows[i + n, j] = 1
    flows[range(n), range(n, 2 * n)] = 1
    flows[[2 * n], sources] = 1
    flows[[i + n for i in targets], [2 * n + 1]] = 1
    return csgraph.maximum_flow(flows.tocsr(), 2 * n, 2 * n + 1).flow_value


def test_paths_that_have_to_give_way(rng):
    """On sparse graphs a new path often pushes others back, by more than one node (in a tenth of these)."""
    n, hub, ways = 60, 60, 12
    for seed in range(400):
        network = sv.Network.regular(n, 3, seed=seed)
        nodes = rng.permutation(n).tolist()
        sources, targets = nodes[:ways], nodes[ways : 2 * ways]
        neighbours = [set(network.neighbours(i).tolist()) for i in range(n)] + [set(sources)]
        paths = disjoint_paths(network, sources, targets)
        cut = separator(neighbours, hub, set(targets), ways)
        assert (ways if cut is None else len(cut)) == paths


@pytest.mark.parametrize("radius", [0.12, 0.16, 0.22])
def test_connectivity_against_networkx_on_geometric_graphs(radius):
    network = sv.Network.random_geometric(150, radius, seed=5, largest_component=True)
    graph = network.to_networkx()
    found = exposure(network, Worst(2))
    assert found.connectivity == nx.node_connectivity(graph) == len(found.cut)
    assert set(found.articulation) == set(nx.articulation_points(graph))


def test_long_paths_need_no_recursion():
    n = 20_000
    found = exposure(path(n), Worst(1), largest=3)
    assert found.articulation == tuple(range(1, n - 1))
    assert (found.group[:4], found.connectivity) == ((1, 2, 3, None), 1)
    assert exposure(sv.Network.ring(n), Worst(1), largest=3).connectivity == 2


# What it says


def test_summary_speaks_in_labels():
    names = ["ann", "bob", "cem", "dot", "eve"]
    network = path(5).with_labels(names)
    text = exposure(network, Worst(1)).summary()
    assert "At most 1 of 5 nodes are corrupt." in text
    assert "Disclosed exactly, if all their neighbours are: 2 (ann, eve)." in text
    assert "Confined to groups of 2 to 8, whose sums are disclosed: 3 (bob, cem, dot)." in text
    assert "The fewest that cut the graph: 1 (bob)." in text
    assert "Those that cut it alone: 3 (bob, cem, dot)." in text


def test_summary_stays_short():
    text = exposure(sv.Network.star(500), Worst(1)).summary()
    assert "499 (1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 489 more)" in text
    assert "Nobody cuts a complete graph; 3 isolate a node." in exposure(sv.Network.complete(4), Worst(1)).summary()


def test_to_dict_is_json():
    network = path(4).with_labels(["a", "b", "c", ("d", 1)])
    assert json.loads(json.dumps(exposure(network, Worst(1), largest=1).to_dict())) == {
        "t": 1,
        "largest": 1,
        "labels": ["a", "b", "c", "('d', 1)"],
        "isolated_by": [1, 2, 2, 1],
        "group": [1, None, None, 1],
        "coalition": [[1], None, None, [2]],
        "exposed": [0, 3],
        "connectivity": 1,
        "cut": [1],
        "articulation": [1, 2],
    }
    complete = exposure(sv.Network.complete(3), Worst(np.int64(1))).to_dict()
    assert (complete["cut"], complete["labels"]) == (None, None)
    assert json.dumps(complete)


@pytest.mark.parametrize("t", [-1, 5, True, 1.0, "2", None, np.bool_(True)])
def test_t_is_a_number_of_corrupt_nodes(t):
    with pytest.raises(InvalidInput, match=r"t must be an integer in 0 \.\. 4.*got"):
        exposure(path(5), Worst(t))


@pytest.mark.parametrize("value", [0, -3, True, 2.0])
def test_sizes_are_positive_integers(value):
    with pytest.raises(InvalidInput, match=r"largest must be an integer >= 1; got"):
        exposure(path(5), Worst(1), largest=value)
    with pytest.raises(InvalidInput, match=r"most must be an integer >= 1; got"):
        suggest_edges(path(5), most=value)


def test_only_consensus_on_a_network():
    A = {(i, j): [[2.0]] for i, j in path(3).half_edges.tolist()}
    for wrong in (path(3).with_constraints(A), nx.path_graph(3)):
        with pytest.raises(Unsupported, match="consensus"):
            exposure(wrong, Worst(1))
        with pytest.raises(Unsupported, match="consensus"):
            suggest_edges(wrong)


# Suggestions


def test_one_edge_closes_a_path():
    found = suggest_edges(path(30))
    assert (found.edges, found.before, found.after, found.reason) == (((0, 29),), 1, 2, None)


@pytest.mark.parametrize(
    ("network", "needed"),
    [
        (cliques(20, 20, 20, links=[(i, 20 + i + 3) for i in range(3)] + [(20 + i, 40 + i) for i in range(3)]), 1),
        (sv.Network.grid(5, 7), 2),
        (sv.Network.star(6), 4),
        (sv.Network.from_edges(15, [((i - 1) // 2, i) for i in range(1, 15)]), 4),
        (sv.Network.from_edges(5, [(0, 1), (0, 3), (1, 2), (1, 3), (1, 4), (2, 4), (3, 4)]), 1),
        (sv.Network.from_edges(7, [(0, 1), (0, 2), (1, 2), (2, 3), (2, 6), (3, 4), (3, 5)]), 2),
    ],
    ids=["chain of cliques", "grid", "star", "binary tree", "end in a cut", "spare edge"],
)
def test_as_few_edges_as_are_needed(network, needed):
    """A chain has two ends; a grid four corners, a tree eight leaves, two an edge; a star five parts to be joined.

    In the last two a first choice is wrong: an end that is in another minimum cut; an edge that others make needless.
    """
    found = suggest_edges(network)
    assert len(found.edges) == needed
    assert found.after == found.before + 1 == nx.node_connectivity(found.network.to_networkx())
    assert found.network.edges.tolist() == sorted(network.edges.tolist() + [list(edge) for edge in found.edges])


def test_labels_and_positions_stay():
    network = sv.Network.grid(3, 4).with_labels([f"meter {i}" for i in range(12)])
    found = suggest_edges(network)
    assert found.network.labels == network.labels
    assert np.array_equal(found.network.positions, network.positions)


def test_where_there_is_nothing_to_suggest():
    complete = sv.Network.complete(5)
    found = suggest_edges(complete)
    assert (found.edges, found.before, found.after, found.network) == ((), 4, 4, complete)
    assert "complete" in found.reason
    ring = suggest_edges(sv.Network.ring(40))
    assert (ring.edges, ring.before, ring.after) == ((), 2, 2)
    assert "at least 20 are needed: each of 40 nodes with 2 neighbours needs another" in ring.reason
    star = suggest_edges(sv.Network.star(8))
    assert "at least 6 are needed: a cut of 1 leaves 7 parts" in star.reason
    # Three cliques around one node: neither end is a weak node, and one edge leaves the third hanging.
    around = cliques(1, 4, 4, 4, links=[(0, i) for i in (1, 2, 5, 6, 9, 10)])
    assert "at least 2 are needed" in suggest_edges(around, most=1).reason
    assert len(suggest_edges(around).edges) == 2
