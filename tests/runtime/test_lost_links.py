"""Statements on dead links, and the routes that follow from them: what liars can say is bounded, and equal knowledge
gives equal routes."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from runtime.judged import signature, signed

import sottovoce as sv
from sottovoce.errors import PeerError
from sottovoce.runtime.journal import Journal
from sottovoce.runtime.keys import public_keys
from sottovoce.runtime.keys.identity import Identity, public_key
from sottovoce.runtime.protocol import lost_links
from sottovoce.runtime.protocol.agreement import Agreement, Final
from sottovoce.runtime.protocol.frames import Lost
from sottovoce.runtime.protocol.lost_links import LostLinks
from sottovoce.runtime.protocol.rerouting import PLANNED, Rerouting, connected
from sottovoce.runtime.protocol.route import Route

NAMES = ("ann", "bob", "cat")
EDGES = ((0, 1), (1, 2))  # bob is between the others
RUN = b"h" * 32


def links_of(identities: dict[str, Identity], name: str, folder: Path, run: bytes = RUN) -> LostLinks:
    keys = [public_key(identities[other].certificate) for other in NAMES]
    return LostLinks(identities[name], NAMES, keys, run, EDGES, Journal(folder / f"{name}{run[:1].hex()}", b"k" * 32))


def test_a_link_is_dead_once_both_ends_say_so(identities, tmp_path):
    ann, bob, cat = (links_of(identities, name, tmp_path) for name in NAMES)
    assert ann.sign("bob")
    assert not ann.sign("bob")  # once
    (of_ann,) = ann.statements.values()
    assert cat.hear(of_ann)
    assert not cat.hear(of_ann)
    assert (cat.dead, cat.news) == (frozenset(), False)
    assert bob.sign("ann")
    assert cat.hear(bob.statements["bob", "ann"])
    assert (cat.dead, cat.news) == ({(0, 1)}, True)
    cat.journal.close()
    assert links_of(identities, "cat", tmp_path).dead == {(0, 1)}  # after a restart


def test_nobody_says_it_for_others(identities, tmp_path):
    ann, bob, cat = (links_of(identities, name, tmp_path) for name in NAMES)
    bob.sign("ann")
    of_bob = bob.statements["bob", "ann"]
    elsewhere = links_of(identities, "bob", tmp_path, run=b"g" * 32)
    elsewhere.sign("ann")
    for lie in (
        of_bob._replace(other="cat"),  # a link of his, but he has not said so
        of_bob._replace(by="ann", other="bob"),
        of_bob._replace(signature=identities["mallory"].sign(bob.signed_part("bob", "ann"))),
        elsewhere.statements["bob", "ann"],  # of another run
        Lost("ann", "cat", identities["ann"].sign(ann.signed_part("ann", "cat"))),  # no edge, though signed
        Lost("ann", "ann", identities["ann"].sign(ann.signed_part("ann", "ann"))),
        Lost("mallory", "bob", identities["mallory"].sign(ann.signed_part("mallory", "bob"))),
        Lost("bob", "mallory", identities["bob"].sign(ann.signed_part("bob", "mallory"))),
    ):
        with pytest.raises(PeerError, match="passed on"):
            cat.hear(lie)
    assert not cat.statements
    assert not cat.journal.under(lost_links.LOST)


def test_a_flood_costs_little(identities, tmp_path, monkeypatch):
    """What is known is not checked again, whatever its signature; there is room for two statements an edge."""
    ann, cat = (links_of(identities, name, tmp_path) for name in ("ann", "cat"))
    ann.sign("bob")
    cat.hear(ann.statements["ann", "bob"])
    checked = []
    monkeypatch.setattr(lost_links, "signed_by", lambda *of: checked.append(of) or public_keys.signed_by(*of))
    for k in range(100):
        assert not cat.hear(Lost("ann", "bob", b"%d" % k))
    assert not checked
    assert len(cat.journal.under(lost_links.LOST)) == 1


# Routes

HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (3, 4)])


def rerouting(network: sv.Network, run: bytes = RUN) -> Rerouting:
    edges = [(int(i), int(j)) for i, j in network.edges]
    tree = [(int(i), int(j)) for i, j in network.spanning_tree().edges]
    return Rerouting(Route.over(tree, 3.0, 1.0), Route.over(edges, 0.4, 0.8), run)


def test_equal_knowledge_gives_equal_routes():
    routes, tags = rerouting(HOUSE), {}
    for count in range(1, 4):
        for dead in itertools.combinations(routes.whole.edges, count):
            found = {routes.without(order) for order in itertools.permutations(dead)}
            assert len(found) == 1
            ((route, tag),) = found
            left = {end for edge in route.edges for end in edge}
            assert left == set(range(5))
            assert connected(left, route.edges)
            if tag == PLANNED:
                assert route == routes.planned
            else:
                assert tags.setdefault(tag, route) == route
                for edge in set(dead) & set(route.edges):  # what is kept though it is dead, is needed
                    assert not connected(left, set(route.edges) - {edge})
    assert len(tags) == len(set(tags.values())) > 5
    other = rerouting(HOUSE, b"g" * 32)
    dead = routes.planned.edges[:1]
    assert routes.without(dead)[1] != other.without(dead)[1]
    assert routes.without(dead)[1] != routes.without(dead, 4)[1] != routes.without([], 4)[1]


def test_what_was_not_planned_changes_nothing():
    """Links without messages, and links without which there is no network."""
    routes = rerouting(HOUSE)
    spare = set(routes.whole.edges) - set(routes.planned.edges)
    assert routes.without(spare) == (routes.planned, PLANNED)
    path = rerouting(sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3)]))
    assert path.without(path.whole.edges) == (path.planned, PLANNED)


def test_without_one_that_has_left_there_is_no_edge_of_it():
    route, tag = rerouting(HOUSE).without([], 2)
    assert tag != PLANNED
    assert all(2 not in edge for edge in route.edges)


# What was accepted on a route that is given up

OTHER = b"r" * 16


def agreement(tag: bytes) -> Agreement:
    node = sv.nodes_of(sv.averaging(sv.Network.complete(3), [1.0, 2.0, 6.0]), c=0.4, theta=0.8)[0]
    return Agreement(node, 3, partial(signature, 0), tol=1e-6, tag=tag)


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("accepted", [True, False])
def test_an_epoch_of_an_earlier_route_ends_the_stage_once_all_accept(accepted, crash):
    planned = agreement(PLANNED)
    planned.propose()
    assert planned.epoch is not None
    if accepted:
        planned.epoch.heard |= planned.epoch.D
        planned.judge()
    digest = planned.epoch.digest
    later = agreement(OTHER)
    later.restore(planned.state(), 9)
    if crash:
        later.propose()
        state, later = later.state(), agreement(OTHER)
        later.restore(state, 9)
    assert (later.current, later.done) == (1 + crash, False)
    later.verdict_elsewhere(PLANNED, 1, no=False, proofs=signed(1, 1, 2), answer=digest)
    assert not later.done
    if not accepted:
        with pytest.raises(Final, match="has accepted epoch 1, which it does not know"):
            later.verdict_elsewhere(PLANNED, 1, no=False, proofs=signed(1, 0, 1, 2), answer=digest)
        return
    with pytest.raises(Final, match="has accepted epoch 2, which it does not know"):
        later.verdict_elsewhere(PLANNED, 2, no=False, proofs=signed(2, 0), answer=digest)
    with pytest.raises(Final, match="has accepted epoch 1, which it does not know"):
        later.verdict_elsewhere(b"s" * 16, 1, no=False, proofs=signed(1, 0), answer=digest)
    later.verdict_elsewhere(PLANNED, 1, no=False, proofs=signed(1, 0, 1, 2), answer=digest)
    assert (later.done, later.tag) == (True, PLANNED)
    np.testing.assert_array_equal(later.x, planned.epoch.answer.x)
    assert later.residual <= 1
    again = agreement(OTHER)
    again.restore(later.state(), 9)
    assert (again.done, again.tag, again.current) == (True, PLANNED, 1)
