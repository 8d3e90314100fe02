"""Zero excess, by enumeration: all pads, all secrets, all coalitions of small graphs, modulo 4."""

from __future__ import annotations

from itertools import chain, combinations, product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.network.graphs import components

BITS, Q = 2, 4
GRAPHS = {
    "pair": (2, [(0, 1)]),
    "path": (4, [(0, 1), (1, 2), (2, 3)]),
    "triangle": (3, [(0, 1), (0, 2), (1, 2)]),
    "ring": (4, [(0, 1), (1, 2), (2, 3), (0, 3)]),
    "star": (4, [(0, 1), (0, 2), (0, 3)]),
    "kite": (4, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]),
}


def coalitions(n):
    return chain.from_iterable(combinations(range(n), size) for size in range(n))


def component_sums(n, edges, honest, s):
    """The sum of ``s`` modulo ``Q`` over each component of the honest subgraph."""
    kept = np.array([(i, j) for i, j in edges if i in honest and j in honest], dtype=np.int64).reshape(-1, 2)
    part = components(n, kept)[1]
    return tuple(sum(s[i] for i in honest if part[i] == k) % Q for k in sorted({part[i] for i in honest}))


def view_distribution(network, s, pads, corrupt):
    """How often each view (all ``m_i``, and the pads of corrupt parties' edges) occurs over all values of the pads."""
    secrets = np.repeat(np.array(s, dtype=np.int64)[:, None], pads.shape[1], axis=1)
    hidden = sv.ModularMask(BITS).hide(network, secrets, pads)
    known = pads[[bool(set(edge) & set(corrupt)) for edge in network.edges.tolist()]]
    view = np.concatenate([hidden, known]).astype(np.int64)
    return np.bincount(Q ** np.arange(len(view)) @ view, minlength=Q ** len(view))


@pytest.mark.parametrize("name", GRAPHS)
def test_the_view_depends_on_component_sums_only(name):
    n, edges = GRAPHS[name]
    network = sv.Network.from_edges(n, edges)
    pads = np.array(list(product(range(Q), repeat=network.m)), dtype=np.uint64).T
    for corrupt in coalitions(n):
        honest = [i for i in range(n) if i not in corrupt]
        seen: dict[tuple[int, ...], np.ndarray] = {}
        for values in product(range(Q), repeat=len(honest)):
            s = np.full(n, 3)  # a corrupt party knows its own secret: any value will do
            s[honest] = values
            distribution = view_distribution(network, s, pads, corrupt)
            sums = component_sums(n, edges, honest, s)
            np.testing.assert_array_equal(distribution, seen.setdefault(sums, distribution))
        for one, other in combinations(seen.values(), 2):
            assert not (one * other).any()  # no view occurs under two different sums: the sum itself is revealed


def test_each_hidden_word_is_uniform():
    n, edges = GRAPHS["kite"]
    network = sv.Network.from_edges(n, edges)
    pads = np.array(list(product(range(Q), repeat=network.m)), dtype=np.uint64).T
    s = np.repeat(np.array([[3], [0], [-2], [1]]), pads.shape[1], axis=1)
    for words in sv.ModularMask(BITS).hide(network, s, pads):
        assert np.bincount(words.astype(np.int64), minlength=Q).tolist() == [len(words) // Q] * Q


def test_the_enumeration_notices_a_pad_that_is_not_uniform():
    """Pads that miss a value: the same component sum, another distribution."""
    network = sv.Network.from_edges(*GRAPHS["path"])
    pads = np.array(list(product(range(Q - 1), repeat=network.m)), dtype=np.uint64).T
    one, other = (view_distribution(network, s, pads, (0,)) for s in ([0, 1, 0, 0], [0, 0, 1, 0]))
    assert not np.array_equal(one, other)
