"""One edge, without I/O: who is believed, what is said when, and what becomes of broken, old and replayed frames."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from runtime.edges import RUN, greet, link

from sottovoce.errors import PeerError
from sottovoce.runtime import frames, hybrid
from sottovoce.runtime.frames import Goodbye, Hello, Value, Verdict, decode, encode
from sottovoce.runtime.link import VERSION, Disagreement, Link, News, canonical, digest, signed_part
from sottovoce.runtime.party import FINISHED
from sottovoce.runtime.secrets import EdgeSecrets


@pytest.fixture(params=[True, False], ids=["open", "encrypted"])
def pair(request, identities) -> tuple[Link, Link]:
    ann, bob = (link(identities, a, b, mac=request.param) for a, b in (("ann", "bob"), ("bob", "ann")))
    greet(ann, bob)
    return ann, bob


def news(counter: int, r: np.ndarray | None = None) -> News:
    return News(value=(0, counter, np.array([1.0, 2.0]) if r is None else r))


# One edge


def test_hello_comes_first_and_opens_the_mouth(identities):
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    hello = ann.next_frame(news(1))
    assert isinstance(decode(hello), Hello)
    assert ann.next_frame(news(1)) is None  # nothing before the other one has said who it is
    assert bob.receive(hello) is None
    ann.receive(bob.next_frame(News()))
    said = bob.receive(ann.next_frame(news(1)))
    assert (said.kind, said.stage, said.number, said.data.tolist()) == ("value", 0, 1, [1.0, 2.0])
    assert ann.next_frame(news(1)) is None  # once


@pytest.mark.parametrize("body", [Value(0, 1, 0, 1, np.ones(2)), Verdict(0, 1, False, b"\x07"), Goodbye(FINISHED)])
def test_nothing_is_taken_before_the_hello(identities, body):
    with pytest.raises(PeerError, match="before the hello"):
        link(identities, "ann", "bob").receive(encode(body))


def hello_of(end: Link, **changes: Any) -> bytes:
    """A hello with other contents, signed by its sender all the same."""
    hello = decode(encode(end.hello()))._replace(**changes)
    if "parameters" in changes and "parameters_hash" not in changes:
        hello = hello._replace(parameters_hash=digest(hello.parameters))
    return encode(hello if "signature" in changes else hello._replace(signature=end.me.sign(signed_part(hello))))


def test_another_version_is_named_with_both(identities):
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    with pytest.raises(Disagreement, match=f"bob speaks version 7 of the protocol, this party {VERSION}"):
        ann.receive(hello_of(bob, version=7))
    assert not ann.ready


def test_other_parameters_are_named_with_both_values(identities):
    ann = link(identities, "ann", "bob")
    other = RUN | {"c": 0.5, "statistic": {"type": "mean", "columns": ["a"]}, "theta": 1.0}
    bob = link(identities, "bob", "ann", run=other)
    with pytest.raises(Disagreement) as caught:
        ann.receive(bob.next_frame(News()))
    for words in ("c is 0.4 here and 0.5 there", "theta is None here and 1.0 there", "['a', 'b'] here and ['a'] there"):
        assert words in str(caught.value)
    assert not ann.ready


@pytest.mark.parametrize(
    "parameters", ["", "[]", "7", "{", json.dumps({"a" * 60_000: 1}), '{"a": ' + "[" * 900 + "]" * 900 + "}",
                   '{"a":1e999}', json.dumps({"a\nERROR forged=line": 1})],
    ids=["nothing", "list", "number", "half", "long key", "deep", "infinite", "two lines"],
)  # fmt: skip
def test_strange_parameters_make_one_short_line(identities, parameters):
    """They go into logs and into the status."""
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    with pytest.raises(Disagreement) as caught:
        ann.receive(hello_of(bob, parameters=parameters))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def test_impostors_and_confused_neighbours(identities):
    ann, bob, cat = (link(identities, a, b) for a, b in (("ann", "bob"), ("bob", "ann"), ("cat", "ann")))
    forged = decode(encode(bob.hello()))
    forged = forged._replace(ephemeral=cat.secrets.offer)
    wrong = {
        "is not signed by its certificate": encode(forged._replace(signature=identities["mallory"].sign(b"x"))),
        "a hello from 'cat' to 'ann' on the edge bob - ann": cat.next_frame(News()),
        "a hello from 'ann' to 'bob' on the edge bob - ann": ann.next_frame(News()),  # reflected
        "do not have the hash that it gave": hello_of(
            bob, parameters=canonical(RUN | {"c": 1.0}), parameters_hash=bytes(32)
        ),
        "no X25519 public key": hello_of(bob, ephemeral=bytes(1120)),
    }
    for sentence, frame in wrong.items():
        with pytest.raises(PeerError, match=sentence):
            ann.receive(frame)
        assert not ann.ready


def test_a_stranger_cannot_start_a_dispute(identities):
    """Over open channels anybody can send a hello. A party that believed it might stop for a dispute that is none."""
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    for changes in ({"version": 7}, {"parameters": canonical(RUN | {"c": 1.0})}):
        with pytest.raises(PeerError, match="not signed") as caught:
            ann.receive(hello_of(bob, **changes, signature=identities["mallory"].sign(b"x")))
        assert not isinstance(caught.value, Disagreement)


def test_a_key_does_not_change_during_a_run(identities, pair):
    ann, bob = pair
    bob.secrets = EdgeSecrets(bob.secrets.parameters_hash, "bob", "ann", hybrid.draw(first=False))
    bob.secrets.meet(ann.secrets.offer)
    bob.forget()
    with pytest.raises(PeerError, match="bob has another key for this run than before: it has lost its journal"):
        ann.receive(bob.next_frame(News()))


def test_macs(identities):
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    greet(ann, bob)
    frame = ann.next_frame(news(1))
    assert bob.receive(frame).number == 1
    bad = bytearray(frame)
    bad[-20] ^= 1
    for wrong in (bytes(bad), frame[:-18], encode(Value(0, 9, 0, 1, np.ones(2)), bytes(32), "ann", "bob")):
        with pytest.raises(PeerError):
            bob.receive(wrong)
    with pytest.raises(PeerError, match="did not send"):
        ann.receive(frame)  # reflected to its sender
    other = [link(identities, a, b, run=RUN | {"name": "b run"}) for a, b in (("ann", "bob"), ("bob", "ann"))]
    greet(*other)
    with pytest.raises(PeerError, match="did not send"):
        other[1].receive(frame)  # of another run between the same parties


def test_without_tls_there_must_be_macs_and_with_it_none(identities):
    ann, bob = link(identities, "ann", "bob", mac=True), link(identities, "bob", "ann", mac=False)
    greet(ann, bob)
    with pytest.raises(PeerError, match="with a MAC where none belongs"):
        bob.receive(ann.next_frame(news(1)))
    with pytest.raises(PeerError, match="without a MAC"):
        ann.receive(bob.next_frame(news(1)))


def everything(end: Link, what: News) -> Iterator[bytes]:
    while (frame := end.next_frame(what)) is not None:
        yield frame


def test_long_vectors_travel_in_chunks_and_the_newest_wins(pair, monkeypatch):
    monkeypatch.setattr(frames, "CHUNK", 8)
    ann, bob = pair
    r = np.arange(20.0)
    *early, last = everything(ann, news(1, r))
    assert [bob.receive(frame) for frame in early] == [None, None]
    assert (bob.receive(last).data == r).all()
    first = ann.next_frame(news(2, r))
    # What has begun is finished, so that a fast party is heard at all; then comes the newest, not what lay between.
    rest = list(everything(ann, news(5, 2 * r)))
    said = [bob.receive(frame) for frame in (first, *rest)]
    assert [whole.number for whole in said if whole] == [2, 5]


def test_after_a_broken_connection_half_a_vector_is_forgotten(pair, monkeypatch):
    monkeypatch.setattr(frames, "CHUNK", 8)
    ann, bob = pair
    bob.receive(ann.next_frame(news(1, np.arange(20.0))))
    greet(ann, bob)
    said = [bob.receive(frame) for frame in everything(ann, news(1, np.arange(20.0)))]
    assert len(said) == 3
    assert (said[-1].data == np.arange(20.0)).all()


def test_everything_is_told_again_to_a_new_connection(pair):
    ann, bob = pair
    told = News([Verdict(0, 3, False, b"\x01")], (0, 3, np.ones(2)), (0, 9, np.ones(2)))
    first = [bob.receive(frame) for frame in everything(ann, told)]
    assert len(first) == 3
    assert not list(everything(ann, told))
    greet(ann, bob)
    again = [bob.receive(frame) for frame in everything(ann, told)]
    assert [(s.stage, getattr(s, "epoch", None) or s.number) for s in again] == [(0, 3), (0, 3), (0, 9)]


def test_replayed_frames_are_old_news(pair):
    """On the same connection the assembly knows; on a new one the counter does (see below, in a party)."""
    ann, bob = pair
    recorded = [next(everything(ann, news(k))) for k in (1, 2, 3)]
    assert [bob.receive(frame).number for frame in recorded] == [1, 2, 3]
    assert [bob.receive(frame) for frame in recorded] == [None] * 3


def test_vectors_that_are_too_long_are_refused_before_they_are_there(pair):
    ann, bob = pair
    bob.expected = {0: 2}
    with pytest.raises(PeerError, match="not from a vector of 2"):
        bob.receive(ann._sealed(Value(0, 1, 0, 900, np.zeros(frames.CHUNK))))
    with pytest.raises(PeerError, match="900 chunks for a stage that has not begun"):
        bob.receive(ann._sealed(Value(1, 1, 0, 900, np.zeros(frames.CHUNK))))
