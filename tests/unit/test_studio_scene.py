"""Scenes: whatever they come from, they can be drawn and played, and an address holds all of them."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import InvalidInput, InvalidNetwork
from sottovoce.studio.link import LONGEST, UNPACKED, from_link, to_link
from sottovoce.studio.making import first_scene, generated, numbers_of, places_of, scene_of
from sottovoce.studio.scene import FIELDS, MOST, SCHEDULES, Scene, party_names
from sottovoce.studio.tools import FAMILIES

SQUARE = Scene(
    names=("Ada", "Bo", "Cy", "Dee"),
    places=((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)),
    numbers=(1.0, 2.5, -3.0, 40.0),
    edges=((0, 1), (1, 2), (2, 3), (0, 3)),
)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [4, 9, MOST])
def test_every_family_makes_a_scene_that_a_link_holds(family, n):
    scene = generated(family, n, seed=2)
    assert scene.n == n
    link = to_link(scene)
    assert len(link) < LONGEST / 2
    assert from_link(link) == scene
    if n == 9:
        x, y = np.array(scene.places).T
        apart = np.hypot(x[:, None] - x, y[:, None] - y)[~np.eye(n, dtype=bool)]
        assert apart.min() > 0.05  # no mark on another


@given(
    corrupt=st.frozensets(st.integers(0, 3), max_size=3),
    variance=st.none() | st.floats(1e-2, 1e12),
    theta=st.none() | st.floats(0.05, 1.0),
    schedule=st.sampled_from(SCHEDULES[:3]),
    loss=st.floats(0, 0.9),
    numbers=st.tuples(*[st.floats(-1e12, 1e12)] * 4),
    names=st.lists(
        st.text(st.characters(categories=("L", "N")), min_size=1, max_size=24), min_size=4, max_size=4, unique=True
    ),
)
def test_a_link_holds_every_digit(corrupt, variance, theta, schedule, loss, numbers, names):
    scene = replace(
        SQUARE, corrupt=corrupt, variance=variance, theta=theta, schedule=schedule, loss=loss, numbers=numbers,
        names=tuple(names),
    )  # fmt: skip
    assert from_link(to_link(scene)) == scene


def packed(plain: object) -> str:
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(plain).encode())).decode().rstrip("=")


def plain_of(scene: Scene) -> dict[str, object]:
    text = to_link(scene)
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"names": ["Ada", "Ada", "Cy", "Dee"]}, "two parties are called 'Ada'"),
        ({"names": ["Ada", "Bo", "Cy", "x" * 25]}, "printable characters"),
        ({"names": ["Ada", "Bo", "Cy", "a\nb"]}, "printable characters"),
        ({"names": [1, 2, 3, 4]}, "printable characters"),
        ({"names": "Adam"}, None),
        ({"numbers": [1, 2, 3, 1e13]}, "the number of Dee"),
        ({"numbers": [1, 2, 3]}, "a place and a number"),
        ({"numbers": [1, 2, 3, "x"]}, "damaged"),
        ({"places": [[0, 0], [1, 0], [1, 1], [0, 2]]}, "a place must be"),
        ({"places": 3}, "damaged"),
        ({"edges": [[1], [1], [], []]}, "disconnected"),
        ({"edges": [[1, 2], [1], [9], []]}, "outside 0 .. 3"),
        ({"edges": [[0], [1], [1], []]}, "damaged"),
        ({"edges": [["a"], [1], [1], []]}, "damaged"),
        ({"corrupt": [7]}, "from 0 to 3"),
        ({"corrupt": [0, 1, 2, 3]}, "nobody is left"),
        ({"variance": 1e13}, "variance of the mask"),
        ({"variance": "large"}, "variance of the mask"),
        ({"channels": "closed"}, "channels must be one of"),
        ({"schedule": "never"}, "schedule must be one of"),
        ({"schedule": "edge_reversal", "loss": 0.1}, "waits for ever"),
        ({"theta": 1.5}, "theta must be"),
        ({"c": 0}, "c must be"),
        ({"c": True}, "c must be"),
        ({"seed": -1}, "seed must be"),
        ({"at": 1.5}, "at must be"),
        ({"coalition": 4}, "number of corrupt parties"),
        ({"bound": 0}, "the bound"),
        ({"more": 1}, "damaged"),
    ],
)
def test_links_of_others_are_checked(changed, why):
    if why is None:
        assert from_link(packed(plain_of(SQUARE) | changed)).names == ("A", "d", "a", "m")  # a text is its letters
        return
    with pytest.raises(InvalidInput, match=why):
        from_link(packed(plain_of(SQUARE) | changed))


@pytest.mark.parametrize("text", ["", "abc", "%%%", "é", "A" * 5, packed([]), packed("x"), to_link(SQUARE)[:-4]])
def test_texts_that_are_no_link(text):
    with pytest.raises(InvalidInput, match="damaged"):
        from_link(text)


def test_a_link_is_bounded_before_and_after_it_is_unpacked():
    with pytest.raises(InvalidInput, match="at most 24,000"):
        from_link("A" * (LONGEST + 1))
    bomb = packed({"names": "a" * (UNPACKED * 40)})
    assert len(bomb) <= LONGEST
    with pytest.raises(InvalidInput, match="damaged"):
        from_link(bomb)


@given(st.text(max_size=200))
def test_no_text_breaks_it(text):
    with pytest.raises(InvalidInput):
        from_link(text)


def test_edits():
    assert SQUARE.toggled(1).corrupt == {1}
    assert SQUARE.toggled(1).toggled(1) == SQUARE
    assert SQUARE.moved(2, 5, -1).places[2] == (1.0, 0.0)
    assert SQUARE.joined(2, 0).edges == ((0, 1), (0, 2), (0, 3), (1, 2), (2, 3))
    assert SQUARE.joined(2, 0).cut(0, 2) == SQUARE
    grown = SQUARE.added(0.1, 0.1)
    assert (grown.n, grown.names[-1], grown.numbers[-1]) == (5, "Eli", 0.0)
    assert {(0, 4)} <= set(grown.edges)
    assert grown.without(4) == SQUARE
    assert SQUARE.toggled(2).without(0).corrupt == {1}
    assert SQUARE.renamed(0, " Zed ").names[0] == "Zed"
    assert SQUARE.holding(3, "7.5").numbers[3] == 7.5
    assert SQUARE.holding(3, 8.0).differs(SQUARE) == {"numbers"}
    assert SQUARE.mean == pytest.approx(40.5 / 4)


def test_edits_that_cannot_be():
    path = replace(SQUARE, edges=((0, 1), (1, 2), (2, 3)))
    with pytest.raises(InvalidNetwork, match="without Bo the network falls apart"):
        path.without(1)
    with pytest.raises(InvalidNetwork, match="without the edge Bo - Cy the network falls apart"):
        path.cut(2, 1)
    with pytest.raises(InvalidNetwork, match="neighbours already"):
        SQUARE.joined(0, 1)
    with pytest.raises(InvalidNetwork, match="no neighbours"):
        SQUARE.cut(0, 2)
    with pytest.raises(InvalidNetwork, match="two parties, not one"):
        SQUARE.joined(1, 1)
    for wrong in (-1, 4, 1.0, True, "1", None):
        with pytest.raises(InvalidInput, match="a party must be a whole number from 0 to 3"):
            SQUARE.toggled(wrong)
    with pytest.raises(InvalidInput, match="must be a number; got 'much'"):
        SQUARE.holding(0, "much")
    with pytest.raises(InvalidInput, match="must be a number from"):
        SQUARE.holding(0, "nan")
    with pytest.raises(InvalidInput, match="nobody is left"):
        replace(SQUARE, corrupt=frozenset({0, 1, 2})).toggled(3)


def test_problems_become_scenes():
    network = sv.Network.from_named_edges([("Ada", "Bob"), ("Bob", "Eve"), ("Eve", "Ada")])
    scene = scene_of(sv.averaging(network, [1.0, 2.0, 6.5]))
    assert (scene.names, scene.numbers) == (("Ada", "Bob", "Eve"), (1.0, 2.0, 6.5))
    assert np.array_equal(scene.network.edges, network.edges)
    assert numbers_of(scene.problem) == [1.0, 2.0, 6.5]
    for other in (
        sv.averaging(network, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        sv.Problem(network, sv.Huber.many([1.0, 2.0, 6.5])),
    ):
        with pytest.raises(InvalidInput, match="the mean of one number per party"):
            scene_of(other)
    with pytest.raises(InvalidInput, match="2 to 200 parties; this one has 201"):
        scene_of(sv.averaging(sv.Network.ring(201), np.zeros(201)))


def test_what_a_page_begins_with():
    scene = first_scene()
    assert np.array_equal(scene.network.edges, sv.Network.random_geometric(10, seed=1).edges)  # the paper's
    assert scene.names == party_names(10)
    assert len(set(party_names(MOST))) == MOST
    line = places_of(sv.Network.from_edges(3, [(0, 1), (1, 2)]))
    assert all(0 <= v <= 1 for place in line for v in place)
    assert set(FIELDS) == set(vars(scene)) - {"network", "problem"}
