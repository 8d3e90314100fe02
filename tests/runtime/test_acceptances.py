"""Acceptances are signed: nobody can claim that somebody else, however far away, has accepted an epoch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtime.among_liars import LONG, Company, company, leave, run
from runtime.edges import INDEX, RUN, acceptances, greet, link
from runtime.test_party import Triangle
from runtime.trial import ACCURACY, prepare

import sottovoce as sv
from sottovoce.runtime.protocol.acceptances import as_array, from_array
from sottovoce.runtime.protocol.agreement import Contradiction, Final
from sottovoce.runtime.protocol.frames import (
    MAX_ACCEPTANCES,
    MAX_FRAME,
    MAX_PARTIES,
    Body,
    Snapshot,
    Value,
    Verdict,
    decode,
)
from sottovoce.runtime.protocol.link import News

RING = sv.Network.ring(5)
THIS = b"a" * 32  # the digest of an answer

# Signatures


def test_an_acceptance_is_of_one_party_one_answer_one_epoch_one_stage_and_one_run(identities):
    ann, bob = (acceptances(identities, name) for name in ("ann", "bob"))
    other = acceptances(identities, "ann", RUN | {"c": 0.5})
    signature = ann.sign(1, 7, THIS)
    said = Verdict(1, 7, False, dict.fromkeys((0, 1), signature), b"", THIS)
    assert bob.genuine(0, said)
    assert not bob.genuine(1, said)
    for change in ({"stage": 0}, {"epoch": 8}, {"stage": 17}, {"answer": b"o" * 32}, {"answer": b""}, {"route": THIS}):
        assert not bob.genuine(0, said._replace(**change))
    assert not other.genuine(0, said)
    for wrong in (b"", b"forged", signature[:-1], signature + b"\0", bob.sign(1, 7, THIS)):
        assert not bob.genuine(0, said._replace(acceptances={0: wrong}))


@given(st.dictionaries(st.integers(0, MAX_PARTIES - 1), st.binary(min_size=1, max_size=72), max_size=9))
def test_the_journal_keeps_them(proofs):
    rows = as_array(proofs)
    assert np.isfinite(rows).all()
    assert from_array(rows) == proofs


# What is said


def verdicts(end: Any, news: News) -> list[bytes]:
    found = []
    while (frame := end.next_frame(news)) is not None:
        found.append(frame)
        assert len(found) < 99
    return found


def test_each_is_told_once_on_a_connection(identities):
    ann, bob = link(identities, "ann", "bob", mac=False), link(identities, "bob", "ann", mac=False)

    def told(number: int, no: bool, *accepting: int) -> list[Any]:
        news = News(verdicts=[Verdict(0, number, no, dict.fromkeys(accepting, b"signed"))])
        return [[body.epoch, body.no, *body.acceptances] for body in map(decode, verdicts(ann, news))]

    greet(ann, bob)
    assert told(3, False) == [[3, False]]
    assert told(3, False, 1) == [[3, False, 1]]
    assert told(3, False, 1, 0, 2) == [[3, False, 0, 2]]
    assert told(3, False, 1, 0, 2) == []
    assert told(3, True, 1, 0, 2) == [[3, True]]
    assert told(4, False) == [[4, False]]
    assert told(4, False, 2) == [[4, False, 2]]
    greet(ann, bob)
    assert told(4, False, 2, 1) == [[4, False, 1, 2]]  # by their places


def test_those_of_very_many_parties_take_several_frames(identities):
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    greet(ann, bob)
    everybody = Verdict(2**32 - 1, 2**53 - 1, True, dict.fromkeys(range(MAX_PARTIES), bytes(72)), bytes(16), THIS)
    frames = verdicts(ann, News(verdicts=[everybody]))
    assert len(frames) == -(-MAX_PARTIES // MAX_ACCEPTANCES)
    assert max(map(len, frames)) <= MAX_FRAME
    shown = None
    for frame in frames:
        shown = bob.receive(frame).after(shown)
    assert shown == everybody


# What is heard


@pytest.fixture
def triangle(identities) -> Triangle:
    """Ann and Bob are in stage 0, and settled enough to be asked; Cat has not begun."""
    triangle = Triangle(identities)
    for name in ("ann", "bob"):
        triangle.enter(name, 0)
    return triangle


def say(triangle: Triangle, verdict: Verdict) -> bool:
    """Bob says it to Ann."""
    return triangle.parties["ann"].received("bob", triangle.parties["bob"].links["ann"]._sealed(verdict))


@pytest.mark.parametrize("stage", [0, 1], ids=["now", "the next stage"])
@pytest.mark.parametrize("who", INDEX)
def test_what_was_not_signed_is_refused(triangle, identities, who, stage):
    """Whose acceptance it is does not matter; Bob is named, and nothing has changed."""
    ann, index = triangle.parties["ann"], INDEX[who]
    signers = {name: acceptances(identities, name) for name in INDEX}
    another = next(name for name in INDEX if name != who)
    lies = [
        b"forged",
        signers[another].sign(stage, 1, THIS),
        signers[who].sign(stage, 2, THIS),
        signers[who].sign(1 - stage, 1, THIS),
    ]
    lies.append(acceptances(identities, who, RUN | {"c": 0.5}).sign(stage, 1, THIS))
    for lie in lies:
        sentence = f"bob says that {who} has accepted epoch 1, and {who} has not signed that"
        with pytest.raises(Contradiction, match=sentence) as caught:
            say(triangle, Verdict(stage, 1, False, {index: lie}, b"", THIS))
        assert not isinstance(caught.value, Final)
        assert ann.agreement.epoch is None
        assert "bob" not in ann.held or ann.held["bob"].verdict is None


@pytest.mark.parametrize("stage", [0, 1], ids=["now", "the next stage"])
def test_what_this_party_has_signed_and_forgotten_is_the_end(triangle, identities, stage):
    """Somebody who has its key, or its journal of later."""
    own = {0: acceptances(identities, "ann").sign(stage, 1, THIS)}
    with pytest.raises(Final, match=r"bob shows that this party has accepted epoch 1, .* the journal here was"):
        say(triangle, Verdict(stage, 1, False, own, b"", THIS))


def test_so_it_is_where_it_was_told_before_the_stage_began(identities):
    triangle = Triangle(identities)
    triangle.enter("bob", 0)
    say(triangle, Verdict(0, 1, False, {0: acceptances(identities, "ann").sign(0, 1, THIS)}, b"", THIS))
    triangle.enter("ann", 0)
    with pytest.raises(Final, match="bob shows that this party has accepted epoch 1"):
        raise triangle.parties["ann"].agreement.hopeless


def test_what_is_held_adds_up(triangle, identities):
    """Bob and Cat have accepted epoch 2 of the next stage. Bob says so piece by piece, and over again."""
    ann = triangle.parties["ann"]
    signed = {INDEX[name]: acceptances(identities, name).sign(1, 2, THIS) for name in ("bob", "cat")}
    say(triangle, Verdict(1, 1, True, {}))
    for index, signature in signed.items():
        say(triangle, Verdict(1, 2, False, {index: signature}, b"", THIS))
    triangle.connect("ann", "bob")
    say(triangle, Verdict(1, 2, False, {1: signed[1]}, b"", THIS))
    assert ann.held["bob"].verdict == Verdict(1, 2, False, signed, b"", THIS)


def test_what_is_known_is_not_checked_again(triangle, identities, monkeypatch):
    ann, checked = triangle.parties["ann"], []
    ann.agreement.telling.heard |= {INDEX["bob"], INDEX["cat"]}  # or it would only keep what others accept
    genuine = ann.acceptances.genuine

    def counted(*about: Any) -> bool:
        checked.append(about[0])
        return genuine(*about)

    monkeypatch.setattr(ann.acceptances, "genuine", counted)
    signed = {INDEX[name]: acceptances(identities, name).sign(0, 1, THIS) for name in ("bob", "cat")}
    say(triangle, Verdict(0, 1, False, signed, b"", THIS))
    assert not say(triangle, Verdict(0, 1, False, signed, b"", THIS))
    for end in (ann.links["bob"], triangle.parties["bob"].links["ann"]):  # they meet again
        end.begin(bytes(64))
    assert not say(triangle, Verdict(0, 1, False, signed, b"", THIS))
    assert checked == [1, 2]
    with pytest.raises(Contradiction, match="cat has not signed that"):
        say(triangle, Verdict(0, 1, False, {2: b"forged"}, b"", THIS))


# Whole parties


def in_stage_1(agents: dict[str, Any], name: str) -> bool:
    party = None if name not in agents else agents[name].party
    return party is not None and party.stage == 1 and party.agreement is not None and party.agreement.wakes >= 40


class FarLie:
    """p0 says to p1, of an epoch that p1 is in, that p3 and p4 accept; ``signature`` makes what it shows for it of an
    acceptance that somebody has signed."""

    def __init__(self, signature: Callable[[Verdict], bytes], *, once: bool) -> None:
        self.signature, self.once, self.told = signature, once, 0
        self.signed: Verdict | None = None
        self.epoch = 0

    def __call__(self, sender: str, receiver: str, body: Body) -> list[Body]:
        if isinstance(body, Verdict) and body.acceptances:
            self.signed = body
        if sender == "p1" and isinstance(body, Snapshot) and body.stage == 1:
            self.epoch = body.epoch
        lies = (sender, receiver) == ("p0", "p1") and self.epoch and not (self.once and self.told)
        if not lies or self.signed is None or not isinstance(body, Value | Snapshot):
            return [body]
        self.told += 1
        forged = dict.fromkeys((3, 4), self.signature(self.signed))
        return [body, Verdict(1, self.epoch, False, forged, b"", THIS)]


async def without_p4(made: Company, *, comes_back: bool) -> dict[str, Any]:
    """p4 crashes when the numbers are nearly right. The others settle around what it said last, and p1 and p2 accept:
    its neighbours, p3 and p0, wait for it."""
    made.start()
    try:
        async with asyncio.timeout(LONG):
            while not in_stage_1(made.agents, "p4"):
                await asyncio.sleep(0.003)
        await made.crash("p4")
        while made.agents["p2"].party.agreement.epoch is None and not made.tasks["p1"].done():
            await asyncio.sleep(1.0)
        await asyncio.sleep(5.0)
        if comes_back:
            made.start("p4")
            return await made.ends()
        return await made.ends("p1", "p2", "p3")
    finally:
        await leave(made)


SIGNATURES = {
    "made up": lambda _: b"forged",
    "of another party": lambda body: next(iter(body.acceptances.values()), b"forged"),
}


@pytest.mark.parametrize("signature", SIGNATURES)
def test_who_claims_that_far_parties_accept_is_not_believed(tmp_path, signature):
    """Before acceptances were signed, p1 ended here with status 0 and a wrong answer."""
    lie = FarLie(SIGNATURES[signature], once=False)
    with company(prepare(tmp_path, RING), lie) as made:
        ends = run(without_p4(made, comes_back=False))
    assert lie.told > 0
    assert made.errors() == {}
    with pytest.raises(Contradiction, match=r"p0 says that p3 has accepted epoch \d+, and p3 has not signed that"):
        raise ends["p1"]


def test_one_such_lie_changes_nothing(tmp_path):
    lie = FarLie(SIGNATURES["made up"], once=True)
    with company(prepare(tmp_path, RING), lie) as made:
        ends = run(without_p4(made, comes_back=True))
    assert lie.told == 1
    assert ends == dict.fromkeys(ends, 0)
    assert len(made.errors()) == RING.n
    assert max(made.errors().values()) <= ACCURACY
