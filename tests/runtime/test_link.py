"""One edge, without I/O: what is said when, and what becomes of broken, old and replayed frames."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from runtime.edges import RUN, greet, link

from sottovoce.errors import PeerError
from sottovoce.runtime.protocol import frames
from sottovoce.runtime.protocol.frames import Goodbye, Opening, Pads, Snapshot, Value, Verdict, encode
from sottovoce.runtime.protocol.link import Link, News
from sottovoce.runtime.protocol.party import FINISHED

TAG = Pads(0, b"a tag of 16 byte")


@pytest.fixture(params=[True, False], ids=["open", "encrypted"])
def pair(request, identities) -> tuple[Link, Link]:
    ann, bob = (link(identities, a, b, mac=request.param) for a, b in (("ann", "bob"), ("bob", "ann")))
    greet(ann, bob)
    return ann, bob


def news(counter: int, r: np.ndarray | None = None) -> News:
    return News(TAG, value=(0, counter, np.array([1.0, 2.0]) if r is None else r))


# One edge


@pytest.mark.parametrize("body", [Value(0, 1, 0, 1, np.ones(2)), Verdict(0, 1, False, {}), Goodbye(FINISHED)])
def test_nothing_is_taken_before_the_hello(identities, body):
    with pytest.raises(PeerError, match="before the hello"):
        link(identities, "ann", "bob").receive(encode(body))


def test_nothing_is_said_before_the_hello(identities):
    assert link(identities, "ann", "bob").next_frame(news(1)) is None


def test_what_is_new_is_said_once(pair):
    ann, bob = pair
    assert bob.receive(ann.next_frame(news(1))) == TAG
    said = bob.receive(ann.next_frame(news(1)))
    assert (said.kind, said.stage, said.number, said.data.tolist()) == ("value", 0, 1, [1.0, 2.0])
    assert ann.next_frame(news(1)) is None


def test_a_handshake_does_not_come_again(identities):
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    mine, _ = greet(ann, bob)
    for body, name in ((mine.hello(), "hello"), (Opening(mine.own), "opening")):
        with pytest.raises(PeerError, match=f"the {name} came again"):
            bob.receive(encode(body))


@pytest.mark.parametrize("body", [Value(1, 1, 0, 1, np.ones(2)), Snapshot(1, 1, 0, 1, np.ones(2))])
def test_numbers_of_a_stage_come_after_the_tag_of_its_pads(pair, body):
    ann, bob = pair
    with pytest.raises(PeerError, match=f"a {type(body).__name__.lower()} of stage 1 before the tag of its pads"):
        bob.receive(ann._sealed(body))
    bob.receive(ann._sealed(Pads(0, bytes(16))))
    with pytest.raises(PeerError, match="of stage 1 before the tag"):
        bob.receive(ann._sealed(body))
    bob.receive(ann._sealed(Pads(1, bytes(16))))
    assert bob.receive(ann._sealed(body)).stage == 1
    greet(ann, bob)  # it is said again, as everything is
    with pytest.raises(PeerError, match="of stage 1 before the tag"):
        bob.receive(ann._sealed(body))


def test_macs(identities):
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    greet(ann, bob)
    bob.receive(ann.next_frame(news(1)))
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
    greet(ann, bob)
    with pytest.raises(PeerError, match="did not send"):
        bob.receive(frame)  # of another connection


def test_without_tls_there_must_be_macs_and_with_it_none(identities):
    ann, bob = link(identities, "ann", "bob", mac=True), link(identities, "bob", "ann", mac=False)
    greet(ann, bob)
    with pytest.raises(PeerError, match="and 16 bytes that do not belong to it"):
        bob.receive(ann.next_frame(news(1)))
    with pytest.raises(PeerError, match="did not send to"):
        ann.receive(bob.next_frame(news(1)))


def everything(end: Link, what: News) -> Iterator[bytes]:
    while (frame := end.next_frame(what)) is not None:
        yield frame


def test_long_vectors_travel_in_chunks_and_the_newest_wins(pair, monkeypatch):
    monkeypatch.setattr(frames, "CHUNK", 8)
    ann, bob = pair
    r = np.arange(20.0)
    bob.receive(ann.next_frame(News(TAG)))
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
    for _ in ("the tag", "a chunk"):
        bob.receive(ann.next_frame(news(1, np.arange(20.0))))
    greet(ann, bob)
    said = [bob.receive(frame) for frame in everything(ann, news(1, np.arange(20.0)))]
    assert len(said) == 1 + 3
    assert (said[-1].data == np.arange(20.0)).all()


def test_everything_is_told_again_to_a_new_connection(pair):
    ann, bob = pair
    told = News(TAG, [Verdict(0, 3, False, {0: b"signed"})], (0, 3, np.ones(2)), (0, 9, np.ones(2)))
    first = [bob.receive(frame) for frame in everything(ann, told)]
    assert len(first) == 4
    assert not list(everything(ann, told))
    greet(ann, bob)
    tag, *again = [bob.receive(frame) for frame in everything(ann, told)]
    assert tag == TAG
    assert [(s.stage, getattr(s, "epoch", None) or s.number) for s in again] == [(0, 9), (0, 3), (0, 3)]


def test_replayed_frames_are_old_news(pair):
    """On the same connection the assembly knows; on a new one the counter does (test_party), or the MAC."""
    ann, bob = pair
    bob.receive(ann.next_frame(News(TAG)))
    recorded = [next(everything(ann, news(k))) for k in (1, 2, 3)]
    assert [bob.receive(frame).number for frame in recorded] == [1, 2, 3]
    assert [bob.receive(frame) for frame in recorded] == [None] * 3


def test_vectors_that_are_too_long_are_refused_before_they_are_there(pair):
    ann, bob = pair
    bob.expected = {0: 2}
    bob.receive(ann._sealed(TAG))
    with pytest.raises(PeerError, match="not from a vector of 2"):
        bob.receive(ann._sealed(Value(0, 1, 0, 900, np.zeros(frames.CHUNK))))
    bob.receive(ann._sealed(Pads(1, bytes(16))))
    with pytest.raises(PeerError, match="900 chunks for a stage that has not begun"):
        bob.receive(ann._sealed(Value(1, 1, 0, 900, np.zeros(frames.CHUNK))))
