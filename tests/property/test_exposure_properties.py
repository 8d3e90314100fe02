"""Exposure against all coalitions, one by one, on every kind of small graph."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import networkx as nx
from hypothesis import event, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.privacy import Worst, exposure, suggest_edges
from sottovoce.privacy.vertex_cuts import separator


@st.composite
def networks(draw, largest=8):
    """A random tree and some more edges, up to all: every connected graph can occur."""
    n = draw(st.integers(2, largest))
    edges = {(draw(st.integers(0, i - 1)), i) for i in range(1, n)}
    pairs = [(i, j) for j in range(n) for i in range(j)]
    edges |= set(draw(st.lists(st.sampled_from(pairs), max_size=len(pairs))))
    names = draw(st.permutations(range(n)))
    return sv.Network.from_edges(n, [(names[i], names[j]) for i, j in sorted(edges)])


def components(network, corrupt):
    graph = nx.Graph(network.edges.tolist())
    graph.remove_nodes_from(corrupt)
    return list(nx.connected_components(graph))


def closest(network, t):
    """For every node the first of ``(component size, coalition size, coalition)`` over all coalitions up to ``t``."""
    best = {}
    for size in range(t + 1):
        for corrupt in combinations(range(network.n), size):
            for part in components(network, corrupt):
                for i in part:
                    found = (len(part), size, corrupt)
                    best[i] = min(best.get(i, found), found)
    return [best[i] for i in range(network.n)]


@given(networks(), st.data())
@settings(max_examples=150, deadline=None)
def test_groups_and_coalitions_against_all_coalitions(network, data):
    t = data.draw(st.integers(0, network.n - 1))
    largest = data.draw(st.integers(1, network.n + 1))
    found = exposure(network, Worst(t), largest=largest)
    for i, (size, _, corrupt) in enumerate(closest(network, t)):
        within = size <= largest
        event(f"group of {min(size, 4)}{'' if within else ', not searched'}")
        assert found.group[i] == (size if within else None)
        assert found.coalition[i] == (frozenset(corrupt) if within else None)
        # To isolate a node takes as many as it has neighbours.
        assert (size == 1) == (found.isolated_by[i] <= t)
    assert found.exposed == tuple(i for i in range(network.n) if found.group[i] == 1)


@given(networks())
@settings(max_examples=150, deadline=None)
def test_cuts_against_all_sets_of_nodes(network):
    n = network.n
    found = exposure(network, Worst(0))
    cuts = [set(C) for size in range(n - 1) for C in combinations(range(n), size) if len(components(network, C)) > 1]
    event(f"connectivity {found.connectivity}{', complete' if not cuts else ''}")
    assert found.connectivity == (len(cuts[0]) if cuts else n - 1)
    assert found.cut in cuts if cuts else found.cut is None
    assert found.cut is None or len(found.cut) == found.connectivity
    assert [{i} for i in found.articulation] == [cut for cut in cuts if len(cut) == 1]


@given(networks(largest=14), st.data())
@settings(max_examples=200, deadline=None)
def test_disjoint_paths_against_maximum_flow(network, data):
    """Menger: as many paths from ``v`` to different targets as it takes nodes to separate them."""
    graph = nx.Graph(network.edges.tolist())
    v, *targets = data.draw(st.lists(st.sampled_from(range(network.n)), min_size=2, unique=True))
    graph.add_edges_from((target, "sink") for target in targets)
    paths = nx.node_connectivity(graph, v, "sink")
    k = data.draw(st.integers(1, network.n))
    neighbours = [set(network.neighbours(i).tolist()) for i in range(network.n)]
    cut = separator(neighbours, v, set(targets), k)
    event(f"{min(paths, 5)} paths, {'enough' if cut is None else 'too few'}")
    assert (cut is None) == (paths >= k)
    if cut is not None:
        assert len(cut) == paths
        graph.remove_nodes_from(cut)
        assert "sink" not in graph or not nx.has_path(graph, v, "sink")


@given(networks())
@settings(max_examples=60, deadline=None)
def test_fewer_corrupt_than_the_connectivity_split_nobody_off(network):
    """Up to there the smallest group is all honest nodes; from there on somebody is in a smaller one."""
    groups = [exposure(network, Worst(t), largest=network.n).group for t in range(network.n)]
    connectivity = exposure(network, Worst(0)).connectivity
    for t, group in enumerate(groups):
        assert (min(group) < network.n - t) == (connectivity <= t < network.n - 1)
    assert all(b <= a for before, after in pairwise(groups) for a, b in zip(before, after, strict=True))


@given(networks(largest=6), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_suggested_edges_against_all_sets_of_edges(network, most):
    found = suggest_edges(network, most=most)
    graph = network.to_networkx()
    absent = [pair for pair in combinations(range(network.n), 2) if not graph.has_edge(*pair)]

    def enough(edges):
        return nx.node_connectivity(nx.Graph([*graph.edges, *edges])) > found.before

    assert found.before == nx.node_connectivity(graph)
    if found.edges:
        event("found")
        assert set(found.edges) <= set(absent)
        assert len(found.edges) <= most
        assert found.reason is None
        assert found.after == found.before + 1 == nx.node_connectivity(found.network.to_networkx())
        assert not any(enough(edges) for edges in combinations(found.edges, len(found.edges) - 1))
        assert len(found.edges) == 1 or not any(enough([edge]) for edge in absent)
    else:
        event("complete" if not absent else "not found")
        assert (found.after, found.network) == (found.before, network)
        assert found.reason
        if absent:
            least = int(re.search(r"at least (\d+) are needed", found.reason)[1])
            assert least > 1
            assert not any(enough(edges) for edges in combinations(absent, least - 1))
