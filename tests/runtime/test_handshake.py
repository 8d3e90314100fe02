"""How a connection begins, without I/O: who is believed, and what a hello of another connection is worth: nothing."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from runtime.edges import RUN, greet, link, met, shake

from sottovoce.errors import PeerError
from sottovoce.runtime.keys import hybrid
from sottovoce.runtime.keys.edge_secrets import EdgeSecrets
from sottovoce.runtime.protocol.agreement import Contradiction, Final
from sottovoce.runtime.protocol.frames import Goodbye, Hello, Opening, Progress, decode, encode
from sottovoce.runtime.protocol.handshake import VERSION, Disagreement, Handshake, LostJournal, signed_part
from sottovoce.runtime.protocol.link import canonical, digest


@pytest.fixture
def ends(identities) -> tuple[Handshake, Handshake]:
    """Ann dials, bob is dialled; both have said their openings."""
    ann, bob = Handshake(link(identities, "ann", "bob")), Handshake(link(identities, "bob", "ann"))
    opened(ann, bob)
    return ann, bob


def opened(ann: Handshake, bob: Handshake) -> None:
    bob.receive(ann.next_frame())
    ann.receive(bob.next_frame())


def changed(end: Handshake, **changes: Any) -> bytes:
    """A hello with other contents, signed by its sender all the same."""
    hello = end.hello()._replace(**changes)
    if "parameters" in changes and "parameters_hash" not in changes:
        hello = hello._replace(parameters_hash=digest(hello.parameters))
    if "signature" not in changes:
        hello = hello._replace(signature=end.link.me.sign(signed_part(hello, end.own, end.theirs)))
    return encode(hello)


def test_the_smaller_name_says_hello_first(identities):
    ann, bob = Handshake(link(identities, "ann", "bob")), Handshake(link(identities, "bob", "ann"))
    openings = [end.next_frame() for end in (ann, bob)]
    assert [type(decode(frame)) for frame in openings] == [Opening, Opening]
    assert [end.next_frame() for end in (ann, bob)] == [None, None]  # nothing to sign yet
    bob.receive(openings[0])
    assert bob.next_frame() is None
    ann.receive(openings[1])
    hello = ann.next_frame()
    assert isinstance(decode(hello), Hello)
    assert not bob.link.secrets.met
    bob.receive(hello)
    assert bob.link.secrets.met
    assert not bob.done
    answer = bob.next_frame()
    assert bob.done
    assert not ann.done
    ann.receive(answer)
    assert ann.done
    assert ann.nonces == bob.nonces == decode(openings[0]).nonce + decode(openings[1]).nonce


def test_every_connection_has_its_own_mac_key(identities):
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    keys = set()
    for _ in range(3):
        greet(ann, bob)
        assert ann.mac_key == bob.mac_key
        keys.add(ann.mac_key)
    assert len(keys) == 3


def test_the_offer_is_written_down_before_the_answer_leaves(identities):
    kept: list[tuple[bool, bytes]] = []
    ann = Handshake(link(identities, "ann", "bob"))
    bob = Handshake(link(identities, "bob", "ann"), keep=lambda: kept.append((bob.greeted, bob.link.secrets._theirs)))
    opened(ann, bob)
    bob.receive(ann.next_frame())
    assert kept == [(False, sha256(ann.link.secrets.offer).digest())]
    assert not bob.greeted


# Recorded


def test_what_was_said_on_an_earlier_connection_is_refused(identities):
    """By whoever has listened, to either end: nothing comes of it, and both ends meet as before."""
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    recorded: dict[str, list[bytes]] = {"ann": [], "bob": []}

    class Heard(Handshake):
        def next_frame(self) -> bytes | None:
            frame = super().next_frame()
            recorded[self.link.me.name] += [] if frame is None else [frame]
            return frame

    shake(Heard(ann), Heard(bob))
    for end, name in ((ann, "bob"), (bob, "ann")):
        victim = Handshake(end)
        victim.next_frame()
        opening, hello = recorded[name]
        victim.receive(opening)
        with pytest.raises(PeerError, match=f"the hello of {name} is not signed by its certificate, for this"):
            victim.receive(hello)
        assert not victim.authentic
        assert not victim.agreed
    greet(ann, bob)


def test_a_hello_of_an_earlier_run_is_no_dispute(identities):
    """And does not pin the key that the neighbour had then."""
    old = [link(identities, a, b, run=RUN | {"id": "0"}) for a, b in (("ann", "bob"), ("bob", "ann"))]
    before = Handshake(old[0])
    shake(before, Handshake(old[1]))
    bob = Handshake(link(identities, "bob", "ann"))
    bob.next_frame()
    bob.receive(encode(Opening(before.own)))
    with pytest.raises(PeerError, match="is not signed") as caught:
        bob.receive(encode(before.hello()))
    assert not isinstance(caught.value, Disagreement)
    assert not bob.link.secrets.met


def test_a_reflected_hello_is_refused(ends):
    ann, bob = ends
    with pytest.raises(PeerError, match="a hello from 'ann' to 'bob' on the edge bob - ann"):
        ann.receive(ann.next_frame())
    assert not bob.agreed


@pytest.mark.parametrize("frame", [encode(Opening(bytes(32))), encode(Goodbye("finished"))], ids=["opening", "goodbye"])
def test_nothing_else_comes_before_the_hello(ends, frame):
    with pytest.raises(PeerError, match="begins with an opening and then a hello"):
        ends[1].receive(frame)


def test_no_hello_before_the_opening(identities, ends):
    ann, _ = ends
    with pytest.raises(PeerError, match="begins with an opening and then a hello"):
        Handshake(link(identities, "bob", "ann")).receive(ann.next_frame())


# Who means something else


def test_another_version_is_named_with_both(ends):
    ann, bob = ends
    with pytest.raises(Disagreement, match=f"ann speaks version 7 of the protocol, this party {VERSION}"):
        bob.receive(changed(ann, version=7))
    assert not bob.agreed


def test_other_parameters_are_named_with_both_values_at_both_ends(identities):
    other = RUN | {"c": 0.5, "statistic": {"type": "mean", "columns": ["a"]}, "theta": 1.0}
    ann, bob = Handshake(link(identities, "ann", "bob", run=other)), Handshake(link(identities, "bob", "ann"))
    opened(ann, bob)
    with pytest.raises(Disagreement) as caught:
        bob.receive(ann.next_frame())
    for words in ("c is 0.4 here and 0.5 there", "theta is None here and 1.0 there", "['a', 'b'] here and ['a'] there"):
        assert words in str(caught.value)
    # Bob says hello all the same, or ann would not know.
    with pytest.raises(Disagreement, match=r"c is 0\.5 here and 0\.4 there"):
        ann.receive(bob.next_frame())
    assert not ann.link.secrets.met
    assert not bob.link.secrets.met


@pytest.mark.parametrize(
    "parameters", ["", "[]", "7", "{", json.dumps({"a" * 60_000: 1}), '{"a": ' + "[" * 900 + "]" * 900 + "}",
                   '{"a":1e999}', json.dumps({"a\nERROR forged=line": 1})],
    ids=["nothing", "list", "number", "half", "long key", "deep", "infinite", "two lines"],
)  # fmt: skip
def test_strange_parameters_make_one_short_line(ends, parameters):
    """They go into logs and into the status."""
    ann, bob = ends
    with pytest.raises(Disagreement) as caught:
        bob.receive(changed(ann, parameters=parameters))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def test_impostors_and_confused_neighbours(identities, ends):
    ann, bob = ends
    cat = Handshake(link(identities, "cat", "bob"))
    cat.own, cat.theirs = ann.own, ann.theirs
    wrong = {
        "is not signed by its certificate": changed(ann, signature=identities["mallory"].sign(b"x")),
        "a hello from 'cat' to 'bob' on the edge ann - bob": encode(cat.hello()),
        "do not have the hash that it gave": changed(
            ann, parameters=canonical(RUN | {"c": 1.0}), parameters_hash=bytes(32)
        ),
        "no X25519 public key": changed(ann, offer=bytes(1216)),
    }
    for sentence, frame in wrong.items():
        bob.authentic = False
        with pytest.raises(PeerError, match=sentence):
            bob.receive(frame)
        assert not bob.agreed
        assert not bob.link.secrets.met


def test_a_stranger_cannot_start_a_dispute(identities, ends):
    """Over open channels anybody can send a hello. A party that believed it might stop for a dispute that is none."""
    ann, bob = ends
    for changes in ({"version": 7}, {"parameters": canonical(RUN | {"c": 1.0})}, {"said_stage": 7}):
        with pytest.raises(PeerError, match="not signed") as caught:
            bob.receive(changed(ann, **changes, signature=identities["mallory"].sign(b"x")))
        assert not isinstance(caught.value, Disagreement | Contradiction)


@pytest.mark.parametrize("lost", ["ann", "bob"])
def test_a_key_does_not_change_during_a_run(identities, lost):
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    greet(ann, bob)
    loser = ann if lost == "ann" else bob
    private = hybrid.draw(first=lost == "ann")
    loser.secrets = EdgeSecrets(loser.secrets.parameters_hash, lost, loser.name, private)
    with pytest.raises(LostJournal, match=f"{lost} has another key for this run than before: it has lost its journal"):
        greet(ann, bob)


@pytest.mark.parametrize("lost", ["ann", "bob"])
def test_who_has_lost_its_journal_is_told_before_anything_was_heard_of_it(identities, lost):
    """By what the other one knows of its key, and not by a refusal, which anybody can feign over open channels."""
    other = "bob" if lost == "ann" else "ann"
    knows, forgot = link(identities, other, lost), link(identities, lost, other)
    knows.secrets = met(other, lost)
    private = hybrid.draw(first=lost == "ann")
    forgot.secrets = EdgeSecrets(forgot.secrets.parameters_hash, lost, other, private)
    ann, bob = (Handshake(end) for end in sorted((knows, forgot), key=lambda end: end.me.name))
    opened(ann, bob)
    wrong = {}
    for end, far in ((bob, ann), (ann, bob)):
        with pytest.raises(PeerError) as caught:
            end.receive(far.next_frame())
        wrong[end.link.me.name] = caught.value
    assert isinstance(wrong[lost], Final)
    assert f"{other} knows another key of this party for this run" in str(wrong[lost])
    assert isinstance(wrong[other], LostJournal)
    assert not forgot.secrets.met


def test_an_offer_that_could_not_be_written_down_is_not_said(identities):
    """After a restart there would be another one, and the neighbour would call the journal lost."""

    def full() -> None:
        raise PeerError("this party cannot write the key down; its log says why.")

    ann, bob = Handshake(link(identities, "ann", "bob")), Handshake(link(identities, "bob", "ann"), keep=full)
    opened(ann, bob)
    with pytest.raises(PeerError, match="cannot write the key down"):
        bob.receive(ann.next_frame())
    assert decode(bob.next_frame()).offer == b""
    again = Handshake(bob.link, keep=full)
    opened(Handshake(ann.link), again)
    assert again.hello().offer == b""


# Who has forgotten

FAR, LESS = Progress(1, 1000, 2), Progress(1, 1000, 1)


@pytest.mark.parametrize("heard", [Progress(1, 1001, 2), Progress(1, 1, 3), Progress(2, 0, 0)])
@pytest.mark.parametrize("rolled_back", ["ann", "bob"])
def test_a_journal_from_an_older_copy_is_recognised_at_both_ends(identities, rolled_back, heard):
    other = "bob" if rolled_back == "ann" else "ann"
    forgot = Handshake(link(identities, rolled_back, other), said=lambda: FAR)
    knows = Handshake(link(identities, other, rolled_back), heard=lambda: heard)
    ann, bob = (forgot, knows) if rolled_back == "ann" else (knows, forgot)
    opened(ann, bob)
    sentences = {
        forgot: rf"{other} has heard more of this party \(stage {heard.stage}, message {heard.counter}, epoch "
        rf"{heard.epoch}\) than .*\(stage 1, message 1000, epoch 2\)\. Either that is a lie, or the journal here was",
        knows: f"{rolled_back} has forgotten what it has said.*The journal of {rolled_back} was restored from an older",
    }
    with pytest.raises(Final, match=sentences[bob]):
        bob.receive(ann.next_frame())
    with pytest.raises(Final, match=sentences[ann]):
        ann.receive(bob.next_frame())


@pytest.mark.parametrize("heard", [Progress(), Progress(0, 2**50, 2**50), Progress(1, 1000, 2), Progress(1, 7, 1)])
def test_who_has_heard_no_more_than_was_said_accuses_nobody(identities, heard):
    shake(
        Handshake(link(identities, "ann", "bob"), said=lambda: FAR, heard=lambda: heard),
        Handshake(link(identities, "bob", "ann"), said=lambda: FAR, heard=lambda: heard),
    )


def test_who_only_says_goodbye_does_not_compare(identities):
    shake(
        Handshake(link(identities, "ann", "bob"), said=lambda: LESS, remember=False),
        Handshake(link(identities, "bob", "ann"), heard=lambda: FAR, remember=False),
    )
