"""What a coalition sees of an exact sum is uniform given the totals of honest components, by enumeration of all worlds.

A world is the secrets of the honest parties and all pads that the coalition does not know, integers modulo a small
number. The package's own ring and parties play all worlds at once, as entries of one vector. The protocol is written
down once more here (``transcribed``), in plain integers, and both must say the same in every world.

For every connected graph of up to five nodes and every coalition: secrets with equal totals of honest components show
each view in equally many worlds, all views that are seen at all in equally many, and secrets with other totals show
none of them. All that is ever said, over any tree, is made of own words and of pads that lie on the way: so the view
``own words`` covers a tree that takes the place of another.
"""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.network.graphs import components
from sottovoce.sums import Party, Ring
from sottovoce.sums.party import EdgePads

Integers = np.ndarray[Any, np.dtype[np.int64]]


def connected_graphs(n, *, shapes=False):
    """The edges of every connected graph on the nodes ``0 .. n-1``; or one of each shape."""
    pairs, found, known = list(combinations(range(n), 2)), [], set()
    for size in range(n - 1, len(pairs) + 1):
        for edges in combinations(pairs, size):
            if components(n, np.array(edges))[0] > 1:
                continue
            moves = permutations(range(n)) if shapes else [range(n)]
            shape = min(tuple(sorted(tuple(sorted((to[i], to[j]))) for i, j in edges)) for to in moves)
            if shape not in known:
                known.add(shape)
                found.append(edges)
    return found


class Graphs(NamedTuple):
    """``most``: worlds of one graph and coalition, at most; but for modulus 2."""

    n: int
    edges: list[tuple[tuple[int, int], ...]]
    most: int


GRAPHS = {
    "two nodes": Graphs(2, connected_graphs(2), 2**18),
    "three nodes": Graphs(3, connected_graphs(3), 2**18),
    "four nodes": Graphs(4, connected_graphs(4), 2**12),
    "four nodes, shapes": Graphs(4, connected_graphs(4, shapes=True), 2**18),
    "five nodes, shapes": Graphs(5, connected_graphs(5, shapes=True), 2**12),
}
VIEWS = ("own words", "members", "taps")


def test_all_graphs_are_there():
    """As the On-Line Encyclopedia of Integer Sequences counts them, A001187 with names and A001349 without."""
    assert [len(graphs.edges) for graphs in GRAPHS.values()] == [1, 4, 38, 6, 21]


class Worlds(NamedTuple):
    """All of them, by the secrets of honest parties first: secrets, pads of edges, pads of directions of the tree."""

    modulus: int
    honest: list[int]
    s: dict[int, Integers]
    p: dict[tuple[int, int], Integers]
    t: dict[tuple[int, int], Integers]

    @property
    def bits(self) -> int:
        return self.modulus.bit_length() - 1


def worlds(n, edges, tree, corrupt, second, most, seed=0):
    """With the largest modulus of 8 and 4 that has at most so many worlds, else with 2. What the coalition knows is one
    number in all of them, and so are the pads of directions where they are not looked at."""
    honest = [i for i in range(n) if i not in corrupt]
    inner = [edge for edge in edges if not corrupt & set(edge)]
    directions = [(i, j) for edge in tree for i, j in (edge, edge[::-1])]
    hidden = [pair for pair in directions if second and not corrupt & set(pair)]
    unknown = len(honest) + len(inner) + len(hidden)
    modulus = next((modulus for modulus in (8, 4) if modulus**unknown <= most), 2)
    index, rng = np.arange(modulus**unknown), np.random.default_rng(seed)
    digits = iter([index // modulus**place % modulus for place in reversed(range(unknown))])

    def number(free):
        return next(digits) if free else np.full(len(index), rng.integers(modulus))

    s = {i: number(True) for i in honest}
    s |= {i: number(False) for i in sorted(corrupt)}
    p = {edge: number(edge in inner) for edge in edges}
    return Worlds(modulus, honest, s, p, {pair: number(pair in hidden) for pair in directions})


def transcribed(edges, tree, world):
    """The protocol: own words, and what everybody says on the tree. The smaller end adds a pad, the larger subtracts
    it; what is said is the own word and what all others have said, under a pad of its own."""
    own = dict(world.s)
    for i, j in edges:
        own[i] = own[i] + world.p[i, j]
        own[j] = own[j] - world.p[i, j]

    def beyond(i, j):
        """The sum of own words on the side of ``i`` of a tree edge."""
        others = [k for edge in tree for k in edge if i in edge and k not in (i, j)]
        return own[i] + sum(beyond(k, i) for k in others)

    said = {(i, j): beyond(i, j) + world.t[i, j] for edge in tree for i, j in (edge, edge[::-1])}
    return [{key: words % world.modulus for key, words in part.items()} for part in (own, said)]


def played(network, tree, world):
    """The same by the package: the ring covers, parties speak as soon as they can."""
    ring, edges = Ring(world.bits), [tuple(edge) for edge in network.edges.tolist()]
    s, p, t = ({key: words.astype(np.uint64)[:, None] for key, words in part.items()} for part in world[2:])
    own = ring.cover_all(network, np.stack([s[i] for i in range(network.n)]), np.stack([p[edge] for edge in edges]))
    parties = []
    for i in range(network.n):
        beside = [j for edge in tree for j in edge if i in edge and j != i]
        parties.append(Party(ring, own[i], {j: EdgePads(t[i, j], t[j, i]) for j in beside}))
    said: dict[tuple[int, int], Integers] = {}
    while len(said) < 2 * len(tree):
        for i, party in enumerate(parties):
            for j in party.edges:
                if (i, j) not in said and party.is_ready(j):
                    words = party.outgoing(j)
                    parties[j].receive(i, words)
                    said[i, j] = words[:, 0].astype(np.int64)
    total = sum(world.s.values()) % world.modulus
    assert all(np.array_equal(party.total[:, 0], total) for party in parties)
    return {i: words[:, 0].astype(np.int64) for i, words in enumerate(own)}, said


def seen(view, corrupt, world, own, said):
    """The words of a view. ``own words``: all that there is to see, were there no pads of directions. ``members``: what
    those of the coalition are told. ``taps``: besides, what travels anywhere."""
    if view == "own words":
        return [own[i] for i in world.honest]
    heard = [(said[i, j] - world.t[i, j]) % world.modulus for i, j in said if j in corrupt]
    tapped = [words for (i, j), words in said.items() if not corrupt & {i, j}]
    return heard + (tapped if view == "taps" else [])


def distributions(words, world):
    """A row for each value of the honest secrets: the views of all its worlds, in order."""
    codes = np.zeros(len(next(iter(world.s.values()))), np.int64)
    for word in words:
        codes = codes * world.modulus + word
    return np.sort(codes.reshape(world.modulus ** len(world.honest), -1), axis=1)


def honest_totals(n, edges, world):
    """The totals of honest components for each value of the honest secrets, as one number, and how many there are."""
    inner = np.array([edge for edge in edges if set(edge) <= set(world.honest)], dtype=np.int64).reshape(-1, 2)
    part = components(n, inner)[1]
    groups = sorted({int(part[i]) for i in world.honest})
    code = np.zeros_like(next(iter(world.s.values())))
    for group in groups:
        code = code * world.modulus + sum(world.s[i] for i in world.honest if part[i] == group) % world.modulus
    return code.reshape(world.modulus ** len(world.honest), -1)[:, 0], len(groups)


def views_given_totals(rows, totals):
    """How many views secrets with given totals show, each in equally many worlds, and those of other totals none of
    them; None where that is not so."""
    first = {int(total): rows[np.flatnonzero(totals == total)[0]] for total in np.unique(totals)}
    if not all(np.array_equal(row, first[total]) for row, total in zip(rows, totals.tolist(), strict=True)):
        return None
    sizes, every = set(), np.unique(np.stack(list(first.values())))
    for row in first.values():
        views, counts = np.unique(row, return_counts=True)
        if counts.min() < counts.max():
            return None
        sizes.add(len(views))
    return sizes.pop() if len(every) == sum(sizes) * len(first) else None


def coalitions(n, least=0):
    return [frozenset(corrupt) for size in range(least, n) for corrupt in combinations(range(n), size)]


def tree_of(network):
    return [tuple(edge) for edge in network.spanning_tree().network.edges.tolist()]


@pytest.mark.parametrize("graphs", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize("view", VIEWS)
def test_a_coalition_learns_the_totals_of_honest_components_and_nothing_else(graphs, view):
    n, moduli = graphs.n, set()
    for edges in graphs.edges:
        network = sv.Network.from_edges(n, edges)
        tree = tree_of(network)
        for corrupt in coalitions(n, least=0 if view == "own words" else 1):
            world = worlds(n, edges, tree, corrupt, view == "taps", graphs.most * (4 if not corrupt else 1))
            own, said = played(network, tree, world)
            totals, groups = honest_totals(n, edges, world)
            size = views_given_totals(distributions(seen(view, corrupt, world, own, said), world), totals)
            assert size, f"{edges}, corrupt {sorted(corrupt)}, modulo {world.modulus}"
            if view == "own words":  # all words with these totals
                assert size == world.modulus ** (len(world.honest) - groups)
            moduli.add(world.modulus)
    assert 8 in moduli
    assert view == "taps" or graphs.most < 2**18 or min(moduli) >= 4


@pytest.mark.parametrize("graphs", list(GRAPHS.values())[:4], ids=list(GRAPHS)[:4])
def test_taps_alone_learn_nothing_not_even_the_total(graphs):
    """Pads of directions: what travels is uniform on all words there are, whatever the secrets."""
    for edges in graphs.edges:
        network = sv.Network.from_edges(graphs.n, edges)
        tree = tree_of(network)
        world = worlds(graphs.n, edges, tree, frozenset(), True, 2**18)
        own, said = played(network, tree, world)
        rows = distributions(seen("taps", frozenset(), world, own, said), world)
        assert (rows == rows[0]).all()
        count = np.unique(rows[0], return_counts=True)[1]
        assert len(count) == world.modulus ** len(said)
        assert count.min() == count.max()


@pytest.mark.parametrize("graphs", GRAPHS.values(), ids=GRAPHS.keys())
def test_the_package_keeps_to_the_protocol_as_it_is_written(graphs):
    for edges in graphs.edges:
        network = sv.Network.from_edges(graphs.n, edges)
        tree = tree_of(network)
        world = worlds(graphs.n, edges, tree, frozenset(range(2, graphs.n)), True, 2**12)
        for one, other in zip(played(network, tree, world), transcribed(edges, tree, world), strict=True):
            assert one.keys() == other.keys()
            assert all(np.array_equal(one[key], other[key]) for key in one)


# What the proof hangs on: without it the enumeration notices

TRIANGLE = ((0, 1), (0, 2), (1, 2))
COMPLETE = tuple(combinations(range(4), 2))


def leaks(edges, corrupt, view, spoil, most=2**18):
    """Whether a coalition learns more than totals, where ``spoil`` has changed the pads of all worlds."""
    n = 1 + max(j for _, j in edges)
    network = sv.Network.from_edges(n, edges)
    tree = tree_of(network)
    world = worlds(n, edges, tree, frozenset(corrupt), view == "taps", most)
    spoil(world, tree)
    own, said = transcribed(edges, tree, world)
    rows = distributions(seen(view, frozenset(corrupt), world, own, said), world)
    return views_given_totals(rows, honest_totals(n, edges, world)[0]) is None


def no_spoil(world, tree):
    """Everything as it should be."""


def without_one(world, tree):
    world.p[0, 1] *= 0


def biased(world, tree):
    world.p[0, 1][world.p[0, 1] == 3] = 0


def on_the_tree_alone(world, tree):
    for edge, pad in world.p.items():
        pad *= edge in tree


def one_for_all(world, tree):
    for pad in world.p.values():
        pad[:] = world.p[0, 1]


@pytest.mark.parametrize(
    ("edges", "corrupt", "spoil"),
    [
        (TRIANGLE, {2}, without_one),
        (TRIANGLE, {2}, biased),
        (COMPLETE, {0}, on_the_tree_alone),  # node 0 is the centre of a star: the others have no pad between them
        (((0, 1), (1, 2)), {}, one_for_all),
    ],
)
def test_pads_that_are_missing_biased_or_used_twice_are_noticed(edges, corrupt, spoil):
    assert leaks(edges, corrupt, "own words", spoil)
    assert not leaks(edges, corrupt, "own words", no_spoil)


def test_pads_of_edges_that_serve_two_agreements_are_noticed():
    """The difference of two own words is that of two secrets: here of one honest party, whose second secret is known to
    be larger by ``s_1``."""
    world = worlds(3, TRIANGLE, [(0, 1), (0, 2)], frozenset({2}), False, 2**18)
    again = world._replace(s=world.s | {0: world.s[0] + world.s[1], 1: world.s[1] * 0})  # with the total that it had
    first, second = (transcribed(TRIANGLE, [(0, 1), (0, 2)], w)[0] for w in (world, again))
    rows = distributions([words[i] for words in (first, second) for i in (0, 1)], world)
    assert views_given_totals(rows, honest_totals(3, TRIANGLE, world)[0]) is None


@pytest.mark.parametrize("shared", [False, True])
def test_taps_learn_of_the_total_where_directions_have_no_pads_of_their_own(shared):
    network = sv.Network.from_edges(3, TRIANGLE)
    tree = tree_of(network)
    world = worlds(3, TRIANGLE, tree, frozenset(), shared, 2**18)
    for i, j in tree:
        world.t[i, j][:] = world.t[j, i] if shared else 0
        world.t[j, i][:] = world.t[i, j]
    own, said = transcribed(TRIANGLE, tree, world)
    rows = distributions(seen("taps", frozenset(), world, own, said), world)
    assert not (rows == rows[0]).all()
