"""One party between edges and stages, without I/O: what is kept for later, who is told what, what a crash leaves."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
from runtime.edges import INDEX, acceptances, link, met, shake

import sottovoce as sv
from sottovoce.errors import PeerError
from sottovoce.pdmm.node import nodes_of
from sottovoce.runtime.keys.identity import Identity
from sottovoce.runtime.protocol.agreement import Agreement, Final
from sottovoce.runtime.protocol.answers import Rounded
from sottovoce.runtime.protocol.frames import Goodbye, Opening, Pads, Progress, Snapshot, Value, Verdict, encode
from sottovoce.runtime.protocol.handshake import Handshake
from sottovoce.runtime.protocol.party import FINISHED, Party

DIM = 2
SPENT = 10_000  # counters set aside before a crash


@dataclass
class Triangle:
    """Three parties that speak through frames, in turns; ``saved`` is the disk of each."""

    identities: dict[str, Identity]
    saved: dict[tuple[str, int], Any] = field(default_factory=dict)
    answers: dict[tuple[str, int], Any] = field(default_factory=dict)
    parties: dict[str, Party] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(1)
        network = sv.Network.complete(3)
        self.s = rng.normal(size=(2, 3, DIM))
        self.problems = [sv.averaging(network, s) for s in self.s]
        self.z0 = 100 * rng.normal(size=(2, 6, DIM))
        for name in INDEX:
            self.start(name)

    def start(self, name: str) -> Party:
        """A new process of this party: its links know the keys, the rest comes from the disk."""
        links = {other: link(self.identities, name, other) for other in INDEX if other != name}
        for other, end in links.items():
            end.secrets = met(name, other)
        party = Party(INDEX[name], 3, links, acceptances(self.identities, name), lambda: self.save(name))
        self.parties[name] = party
        stage = sum(of == name for of, _ in self.answers)
        if (state := self.saved.get((name, stage))) is not None:
            party.before = Progress(stage, SPENT, int(state["epoch"][0]) if "epoch" in state else 0)
        for over in range(stage):
            party.skip(self.answers[name, over][0])
        for other in links:
            self.connect(name, other)
        return party

    def connect(self, a: str, b: str) -> None:
        if a in self.parties and b in self.parties:
            ends = [self.handshake(a, b), self.handshake(b, a)]
            shake(*ends)
            for name, end in zip((a, b), ends, strict=True):
                self.parties[name].connected(end.link.name, end.nonces)

    def handshake(self, a: str, b: str) -> Handshake:
        """As the agent makes it: nobody here may be accused of having forgotten anything."""
        party = self.parties[a]
        return Handshake(party.links[b], said=lambda: party.said, heard=lambda: party.heard_of(b))

    def save(self, name: str) -> None:
        party = self.parties[name]
        self.saved[name, party.stage] = party.agreement.state()

    def agreement(self, name: str, stage: int) -> Agreement:
        node = nodes_of(self.problems[stage], c=0.4, theta=0.8, z0=self.z0[stage])[INDEX[name]]
        sign = partial(self.parties[name].acceptances.sign, stage)
        agreement = Agreement(node, 3, sign, tol=1e-9, sigma=100.0)
        if (name, stage) in self.saved:
            agreement.restore(self.saved[name, stage], spent=SPENT)
        return agreement

    def enter(self, name: str, stage: int) -> None:
        """As the agent does: a stage with a known answer is skipped."""
        if (name, stage) in self.answers:
            self.parties[name].skip(self.answers[name, stage][0])
        else:
            self.parties[name].begin(stage, self.agreement(name, stage))

    def wake(self, name: str) -> None:
        party = self.parties[name]
        agreement = party.agreement
        if agreement is None or agreement.done:
            return
        if agreement.calm:
            agreement.propose()
            self.save(name)
        else:
            agreement.wake()

    def talk(self, *names: str) -> None:
        """Everything that these have to say to each other, now."""
        names = names or tuple(INDEX)
        for a in names:
            for b in set(names) - {a}:
                while (frame := self.parties[a].next_frame(b)) is not None:
                    self.parties[b].received(a, frame)

    def round(self, *names: str) -> None:
        for name in names or INDEX:
            self.wake(name)
        self.talk(*names)

    def finish(self, name: str) -> None:
        party = self.parties[name]
        assert party.agreement.done
        party.finish()
        self.answers[name, party.stage] = (party.ended[party.stage], party.agreement.x)

    def play(self, *names: str, rounds: int = 400) -> None:
        """Until these are done with their stage."""
        for _ in range(rounds):
            if all(self.parties[name].agreement.done for name in names or INDEX):
                return
            self.round()
        raise TimeoutError("they never end")

    def check(self, stage: int) -> None:
        for name in INDEX:
            np.testing.assert_allclose(self.answers[name, stage][1], self.s[stage].mean(axis=0), atol=1e-7)


@pytest.fixture
def triangle(identities) -> Triangle:
    return Triangle(identities)


def test_two_stages_in_step(triangle):
    for stage in (0, 1):
        for name in INDEX:
            triangle.enter(name, stage)
        triangle.play()
        for name in INDEX:
            triangle.finish(name)
        triangle.check(stage)
    triangle.talk()
    assert all(party.waited_for == set() for party in triangle.parties.values())
    assert sum(party.counts.refused for party in triangle.parties.values()) == 0


def test_what_is_counted(triangle):
    """Over a channel that loses nothing: what one has sent the other has received, in frames and in bytes."""
    sent = []
    for name in ("ann", "bob"):
        assert not any(vars(triangle.parties[name].counts).values())
        triangle.enter(name, 0)
    ann, bob = triangle.parties["ann"], triangle.parties["bob"]
    for _ in range(3):  # three values, after a tag: with theta = 0.8 bob takes a part of the way with each
        triangle.wake("ann")
        while (frame := ann.next_frame("bob")) is not None:
            bob.received("ann", frame)
            sent.append(frame)
    assert len(sent) == 4
    assert (ann.counts.sent, ann.counts.bytes_sent) == (4, sum(map(len, sent)))
    assert (bob.counts.received, bob.counts.bytes_received) == (4, sum(map(len, sent)))
    assert (bob.counts.old, bob.counts.refused, ann.counts.received, bob.counts.sent) == (0, 0, 0, 0)
    assert (ann.counts.sent_to, bob.counts.received_from) == ({"bob": 4}, {"ann": 4})
    assert (ann.counts.received_from, bob.counts.sent_to) == ({}, {})


def through_stage_0(triangle: Triangle) -> None:
    for name in INDEX:
        triangle.enter(name, 0)
    triangle.play("ann", "bob")
    for name in ("ann", "bob"):
        triangle.finish(name)


def test_a_party_that_lags_behind_is_told_how_its_stage_ended(triangle):
    """Ann and bob are done and go on; cat was away, and did not hear the end."""
    for name in INDEX:
        triangle.enter(name, 0)
    cat = triangle.parties["cat"]
    while not triangle.parties["ann"].agreement.done or not triangle.parties["bob"].agreement.done:
        for name in INDEX:
            triangle.wake(name)
        frame = cat.next_frame("ann")
        while frame is not None:
            triangle.parties["ann"].received("cat", frame)
            frame = cat.next_frame("ann")
        triangle.talk("ann", "bob")
        done = [triangle.parties[name].agreement.done for name in ("ann", "bob")]
        if not any(done):
            triangle.talk()
    assert not cat.agreement.done
    for name in ("ann", "bob"):
        triangle.finish(name)
        triangle.enter(name, 1)
    for name in ("ann", "bob"):
        triangle.connect(name, "cat")
        assert "cat" in triangle.parties[name].waited_for
    triangle.round()  # cat says where it is, and is told; what the others say of stage 1 is held
    triangle.talk()
    assert cat.agreement.done
    assert set(cat.held) == {"ann", "bob"}
    triangle.finish("cat")
    triangle.check(0)
    triangle.enter("cat", 1)
    assert not cat.held
    triangle.play()
    for name in INDEX:
        triangle.finish(name)
    triangle.check(1)


def test_of_the_next_stage_the_newest_is_held(triangle):
    through_stage_0(triangle)
    triangle.enter("ann", 1)
    for _ in range(5):
        triangle.parties["ann"].agreement.node.D[2] += 1.0  # as if cat had spoken
        triangle.wake("ann")
        triangle.talk("ann", "bob")
    bob = triangle.parties["bob"]
    assert bob.held["ann"].value.number == 5
    triangle.enter("bob", 1)
    assert bob.agreement.node.newest[0] == 5


@pytest.mark.parametrize("moment", ["at once", "after the first stage is known again"])
def test_a_party_that_restarts_does_not_take_an_old_stage_for_the_next(triangle, moment):
    """Ann has the answer of stage 0 on its disk, and crashes. What bob says of stage 0 may reach the new process before
    it has read its disk, and must not count for stage 1: there bob's verdict would end it with any numbers."""
    through_stage_0(triangle)
    for name in ("bob", "cat"):
        assert triangle.parties[name].stage == 0
    ann = triangle.start("ann")
    if moment == "at once":
        triangle.talk("ann", "bob")
        triangle.enter("ann", 0)
    else:
        triangle.enter("ann", 0)
        triangle.talk("ann", "bob")
    triangle.enter("ann", 1)
    assert not ann.agreement.done
    assert ann.agreement.epoch is None
    assert ann.agreement.node.newest == {1: 0, 2: 0}
    triangle.play("cat")
    triangle.finish("cat")
    for name in ("bob", "cat"):
        triangle.enter(name, 1)
    triangle.play()
    for name in INDEX:
        triangle.finish(name)
    triangle.check(0)
    triangle.check(1)


@pytest.mark.parametrize("stage", [0, 1])
@pytest.mark.parametrize("after", [0, 3, 20, 45])
def test_a_crash_of_each_in_each_stage(triangle, stage, after):
    """After so many rounds; the new process goes through the stages that are over, and goes on."""
    for k in (0, 1):
        for name in INDEX:
            triangle.enter(name, k)
        if k == stage:
            for name in INDEX:
                for _ in range(after // 3):
                    triangle.round()
                triangle.start(name)
                for earlier in range(k + 1):
                    triangle.enter(name, earlier)
        triangle.play()
        for name in INDEX:
            triangle.finish(name)
        triangle.check(k)


def test_stages_cannot_be_skipped_or_made_up(triangle):
    ann, bob = triangle.parties["ann"], triangle.parties["bob"]
    triangle.enter("ann", 0)
    ann.received("bob", bob.links["ann"]._sealed(Pads(5, bytes(16))))
    with pytest.raises(PeerError, match="bob is in stage 5, this party in 0: stages cannot be skipped"):
        ann.received("bob", bob.links["ann"]._sealed(Value(5, 1, 0, 1, np.ones(DIM))))
    with pytest.raises(PeerError, match="stage 5"):
        ann.received("bob", bob.links["ann"]._sealed(Verdict(5, 1, False, {})))
    triangle.connect("ann", "bob")
    ann.stage = 3
    ann.received("bob", bob.links["ann"]._sealed(Pads(1, bytes(16))))
    with pytest.raises(PeerError, match="bob is in stage 1, which was never here"):
        ann.received("bob", bob.links["ann"]._sealed(Value(1, 1, 0, 1, np.ones(DIM))))


@pytest.mark.parametrize("early", [True, False], ids=["before the stage begins", "after"])
@pytest.mark.parametrize(
    "body",
    [Value(0, 1, 0, 1, np.ones(DIM + 1)), Value(0, 1, 0, 1, np.ones(1)), Snapshot(0, 1, 0, 1, np.ones(DIM + 1)),
     Snapshot(0, 1, 0, 1, np.ones(1)), Verdict(0, 1, False, {3: b"signed"})],
    ids=["long value", "short value", "long snapshot", "short snapshot", "too many parties"],
)  # fmt: skip
def test_what_does_not_fit_the_stage_harms_nobody(triangle, body, early):
    """It is refused, or left aside; the party goes on, and with an honest bob in its place the answer is right."""
    ann, bob = triangle.parties["ann"], triangle.parties["bob"].links["ann"]
    frame = bob._sealed(body)
    ann.received("bob", bob._sealed(Pads(0, ann.links["bob"].secrets.check(0, b""))))
    if early:
        with contextlib.suppress(PeerError):  # a verdict is refused even now, as n is known
            ann.received("bob", frame)
        triangle.enter("ann", 0)
    else:
        triangle.enter("ann", 0)
        with pytest.raises(PeerError):
            ann.received("bob", frame)
        assert ann.counts.refused == 1
    assert ann.agreement.epoch is None
    assert ann.agreement.node.newest == {1: 0, 2: 0}
    triangle.connect("ann", "bob")
    for name in ("bob", "cat"):
        triangle.enter(name, 0)
    triangle.play()
    for name in INDEX:
        triangle.finish(name)
    triangle.check(0)


def test_recorded_frames_on_a_new_connection_change_nothing(triangle):
    """Open channels: whoever has heard it all can say it again, but not what belongs to this connection."""
    bob, recorded = triangle.parties["bob"], []
    for name in INDEX:
        triangle.enter(name, 0)
    for _ in range(30):
        for name in INDEX:
            triangle.wake(name)
        while (frame := triangle.parties["ann"].next_frame("bob")) is not None:
            recorded.append(frame)
            bob.received("ann", frame)
        triangle.talk()
    before = bob.agreement.state()
    old = triangle.handshake("ann", "bob")
    shake(old, triangle.handshake("bob", "ann"))
    new = triangle.handshake("bob", "ann")
    new.next_frame()
    new.receive(encode(Opening(old.own)))
    with pytest.raises(PeerError, match="is not signed"):
        new.receive(encode(old.hello()))
    triangle.connect("ann", "bob")
    for frame in recorded:
        with pytest.raises(PeerError, match="did not send"):
            bob.received("ann", frame)
    np.testing.assert_equal(bob.agreement.state(), before)
    triangle.play()
    for name in INDEX:
        triangle.finish(name)
    triangle.check(0)


def test_a_neighbour_that_has_its_answer_and_goes_is_not_waited_for(triangle):
    through_stage_0(triangle)
    ann = triangle.parties["ann"]
    assert ann.waited_for <= {"bob", "cat"}
    ann.over.clear()
    assert ann.waited_for == {"bob", "cat"}
    bob = triangle.parties["bob"].links["ann"]
    ann.received("bob", bob._sealed(Goodbye("stopped before the end")))
    assert ann.waited_for == {"bob", "cat"}
    ann.received("bob", bob._sealed(Goodbye(FINISHED)))
    assert ann.waited_for == {"cat"}


# Pads that differ


@pytest.mark.parametrize("moment", ["before the stage begins", "after"])
def test_pads_that_differ_are_the_end(triangle, moment):
    """Both see it, whoever is the first, and nothing of the stage is said any more."""
    parties = [triangle.parties[name] for name in ("ann", "bob")]
    for party, other, pads in zip(parties, ("bob", "ann"), (b"some pads", b"some other"), strict=True):
        party.links[other].pad(0, pads)
    triangle.enter("ann", 0)
    if moment == "before the stage begins":
        while (frame := triangle.parties["ann"].next_frame("bob")) is not None:
            parties[1].received("ann", frame)
        triangle.enter("bob", 0)
        assert isinstance(parties[1].agreement.hopeless, Final)
        assert isinstance(parties[1].next_frame("ann"), bytes)  # the tag, and no more
        assert parties[1].next_frame("ann") is None
        triangle.connect("ann", "bob")
    else:
        triangle.enter("bob", 0)
    with pytest.raises(Final, match="the pads of stage 0 differ between this party and bob"):
        parties[0].received("bob", parties[1].next_frame("ann"))
    if moment == "after":
        with pytest.raises(Final, match="the pads of stage 0 differ between this party and ann"):
            parties[1].received("ann", parties[0].next_frame("bob"))
    assert all(isinstance(party.agreement.hopeless, Final) for party in parties)


def test_the_tag_of_the_next_stage_is_not_said_before_it_begins(triangle):
    """When pads are ready tells how long a party took to compute."""
    triangle.enter("ann", 0)
    ann = triangle.parties["ann"]
    assert ann.next_frame("bob") is not None
    ann.links["bob"].pad(1, b"pads")
    assert ann.next_frame("bob") is None


# What one has said, and the other heard


def test_what_was_said_and_heard_is_known(triangle):
    ann, bob = triangle.parties["ann"], triangle.parties["bob"]
    assert ann.said == bob.heard_of("ann") == Progress(0, 0, 0)
    for name in INDEX:
        triangle.enter(name, 0)
    for _ in range(5):
        triangle.round()
    assert ann.said == bob.heard_of("ann") == Progress(0, 5, 0)
    triangle.play()
    epoch = ann.agreement.epoch.number
    assert bob.heard_of("ann").epoch == ann.said.epoch == epoch
    for name in INDEX:
        triangle.finish(name)
    assert ann.said == Progress(1, 0, 0)
    assert bob.heard_of("ann") == Progress(0, bob.heard["ann"].counter, epoch)
    # After a restart less is known of the others, but that they have accepted what is over.
    assert triangle.start("bob").heard_of("ann") == Progress(0, 0, epoch)


def test_a_party_that_was_rolled_back_is_recognised_when_it_says_hello(triangle):
    saved, answers = dict(triangle.saved), dict(triangle.answers)
    through_stage_0(triangle)
    triangle.saved, triangle.answers = saved, answers
    with pytest.raises(Final, match=r"\w+ has forgotten what it has said|has heard more of this party"):
        triangle.start("ann")


def test_the_disk_holds_what_this_party_signed_and_not_what_others_did(triangle, monkeypatch):
    """Each wait for the disk is one for everybody. What others accept they say again after a crash."""
    through_stage_0(triangle)
    ann, saves = triangle.parties["ann"], []
    triangle.enter("ann", 1)
    ann.agreement.telling.heard |= {INDEX["bob"], INDEX["cat"]}
    ann.agreement.enter(1)
    monkeypatch.setattr(ann, "save", lambda: saves.append(ann._epoch()))

    def says(stage: int, epoch: int, no: bool, *who: str) -> bool:
        digest = ann.agreement.epoch.digest or b"d" * 32
        signed = {INDEX[name]: acceptances(triangle.identities, name).sign(stage, epoch, digest) for name in who}
        link = triangle.parties["bob"].links["ann"]
        return ann.received("bob", link._sealed(Verdict(stage, epoch, no, signed, b"", digest)))

    assert not says(1, 1, False, "cat")  # which this party cannot compare yet
    assert not saves
    assert says(1, 2, False, "cat")  # a new epoch, in which this party freezes a state
    assert [number for number, *_ in saves] == [2]
    ann.agreement.epoch.claims.clear()
    ann.agreement._accept(Rounded.of(ann.agreement.epoch.x, 1e-6, bytes(32)))
    assert says(1, 2, False, "cat")
    assert len(saves) == 1  # what others say they say again
    assert says(1, 2, False, "bob")  # which was the last
    assert ann.agreement.done
    assert [count for *_, count, _, _ in saves] == [0, 3]


def test_who_accepts_an_epoch_that_was_refused_is_not_passed_on(triangle):
    through_stage_0(triangle)
    ann = triangle.parties["ann"]
    triangle.enter("ann", 1)
    ann.agreement.enter(1)
    ann.agreement.epoch.answer = answer = Rounded.of(ann.agreement.epoch.x, 1e-6, bytes(32))
    proofs = {INDEX["cat"]: acceptances(triangle.identities, "cat").sign(1, 1, answer.digest)}
    assert ann.agreement.unite(no=False, proofs=proofs)
    assert ann.news_for(ann.links["bob"]).verdicts[-1] == Verdict(1, 1, False, proofs, b"", answer.digest)
    assert ann.agreement.unite(no=True)
    assert not ann.agreement.unite(no=False, proofs={INDEX["bob"]: b"whoever"})
    assert ann.news_for(ann.links["bob"]).verdicts[-1] == Verdict(1, 1, True, {})
    said = [ann.next_frame("bob") for _ in range(9)]
    assert said[-1] is None  # and once is enough
