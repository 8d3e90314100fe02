"""What an agreement does not believe, without I/O: a liar among honest parties may stop them, and may lie about its own
data, but who ends does so with all others, and both sides of every edge between honest parties are right."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from runtime.judged import Adversary, C, Mail, Run, signature, signed

import sottovoce as sv
from sottovoce.runtime.protocol.agreement import JUMP, Agreement, Contradiction, Epoch, Final

TRIANGLE = sv.Network.complete(3)


def settled(network: sv.Network = TRIANGLE, party: int = 0) -> Agreement:
    """A party whose neighbours hardly move; it has proposed epoch 1."""
    own = Run(network, Adversary(0.0), theta=0.8).parties[party]
    for counter in range(1, 60):
        for j in own.node.neighbours:
            own.receive(j, counter, np.array([1.0, 2.0]))
        own.wake()
    own.propose()
    return own


def accepted(network: sv.Network = TRIANGLE) -> Agreement:
    own = settled(network)
    for j in own.node.neighbours:
        own.hear(j, 1, np.array([1.0, 2.0]))
    assert own.epoch.ok == 1
    return own


def test_what_this_party_has_signed_and_does_not_know_was_rolled_back():
    own = settled()
    for epoch in (1, 2):
        before = own.state()
        with pytest.raises(Final, match=f"this party has accepted epoch {epoch}, which it does not know: the journal"):
            own.verdict(
                epoch, no=False, proofs=signed(epoch, 0, 1, 2, answer=own.epoch.digest), answer=own.epoch.digest
            )
        np.testing.assert_equal(own.state(), before)
    own = accepted()
    own.verdict(1, no=False, proofs=signed(1, 0, 1, answer=own.epoch.digest), answer=own.epoch.digest)
    assert own.not_agreed == [2]
    own.verdict(1, no=False, proofs=signed(1, 0, 1, 2, answer=own.epoch.digest), answer=own.epoch.digest)
    assert own.done
    assert own.not_agreed == []


def test_whoever_passes_it_on():
    own = accepted(sv.Network.ring(4))  # 0 has neighbours 1 and 3
    own.verdict(1, no=False, proofs=signed(1, 1, 2, 3, answer=own.epoch.digest), answer=own.epoch.digest)
    assert own.done


def test_a_proof_is_kept_as_it_came_first():
    own = accepted()
    own.verdict(1, no=False, proofs=signed(1, 1, answer=own.epoch.digest), answer=own.epoch.digest)
    own.verdict(1, no=False, proofs={0: b"another", 1: b"another"}, answer=own.epoch.digest)
    assert own.epoch.proofs == signed(1, 0, 1, answer=own.epoch.digest)


def test_what_was_refused_was_not_accepted_by_all():
    """One that says ok to some and no to others: who has ended and who has not would wait for each other for ever."""
    own = accepted()
    own.verdict(1, no=True, proofs={}, answer=b"")
    own.propose()
    own.verdict(1, no=False, proofs=signed(1, 0, 1, answer=own.epoch.digest), answer=own.epoch.digest)  # old news
    with pytest.raises(Contradiction, match="everybody has accepted epoch 1, and this party knows that it was refused"):
        own.verdict(1, no=False, proofs=signed(1, 0, 1, 2, answer=own.epoch.digest), answer=own.epoch.digest)


def test_no_state_is_frozen_twice():
    own = settled()
    own.hear(1, 1, np.array([1.0, 2.0]))
    own.hear(1, 1, np.array([1.0, 2.0]))  # after another connect
    with pytest.raises(Contradiction, match="has frozen two different states for epoch 1"):
        own.hear(1, 1, np.array([1.0, 2.0000001]))


@pytest.mark.parametrize("epoch", [0, 1 + JUMP + 1, 2**53 - 1])
def test_no_run_gets_there(epoch):
    own = settled()
    before = own.state()
    with pytest.raises(Contradiction, match=f"is in epoch {epoch}, this party in 1: no run gets there"):
        own.verdict(epoch, no=True, proofs={}, answer=b"")
    with pytest.raises(Contradiction, match=f"is in epoch {epoch}, this party in 1: no run gets there"):
        own.hear(1, epoch, np.zeros(2))
    np.testing.assert_equal(own.state(), before)


class AmongLiars(Run):
    """Party 0 lies in all that it says of epochs: acceptances of others, other frozen numbers for each neighbour, old
    things again, epochs of its own; it signs whatever it likes. What is refused is refused."""

    def __init__(self, *args: Any, seed: int, **options: Any) -> None:
        self.dice, self.old, self.accepted = random.Random(seed), list[Mail](), dict[tuple[int, int], Any]()
        self.refused = self.ends = 0
        super().__init__(*args, seed=seed, **options)

    def lie(self, mail: Mail) -> Mail:
        self.old.append(mail)
        others = range(1, self.network.n)
        theirs = self.parties[mail.receiver].epoch
        match self.dice.randrange(6 if mail.kind == "verdict" else 4):
            case 0:
                return mail
            case 1:
                return self.dice.choice(self.old)._replace(receiver=mail.receiver)
            case 2 if mail.kind == "snapshot" and theirs is not None:  # what makes this edge look right
                return mail._replace(number=theirs.number, content=theirs.D[0])
            case 2 if mail.kind == "answer":
                return mail._replace(content=mail.content + 1.0)
            case 3 if self.dice.random() < 0.1:
                return mail._replace(number=mail.number + 1)
            case 4 if theirs is not None:  # it accepts, and hides what others refuse
                return mail._replace(number=theirs.number, content=self.what_fits(theirs))
            case 5:  # so do others, as it says
                forged = {i: b"forged" for i in others if self.dice.random() < 0.5}
                return mail._replace(content=(self.dice.random() < 0.1, mail.content[1] | forged, mail.content[2]))
        return mail

    @staticmethod
    def what_fits(theirs: Epoch) -> tuple[bool, dict[int, bytes], bytes]:
        """It accepts whatever they have."""
        return False, theirs.proofs | signed(theirs.number, 0, answer=theirs.digest), theirs.digest

    def wake(self, i: int) -> None:
        """It also proposes, long before anything has settled."""
        if i == 0 and not self.parties[0].done and self.dice.random() < 0.1:
            with self.change(0):
                self.parties[0].propose()
        super().wake(i)

    def deliver(self, mail: Mail) -> None:
        if mail.sender == 0 and mail.kind != "value":
            mail = self.lie(mail)
        if mail.kind == "verdict":  # as a party does before the agreement hears of it
            _, proofs, answer = mail.content
            if any(proof != signature(i, mail.number, answer) for i, proof in proofs.items()):
                self.refused += 1
                return
        try:
            super().deliver(mail)
        except Contradiction:
            self.refused += 1
        self.note(mail.receiver)

    def note(self, i: int) -> None:
        """What a party has accepted: it may be lured into the next epoch before it hears that this one is over."""
        party, epoch = self.parties[i], self.parties[i].epoch
        if epoch is not None and epoch.ok >> i & 1 and epoch.heard:
            self.accepted[i, epoch.number] = epoch.x, party.tau(epoch.x, (*epoch.sent.values(), *epoch.heard.values()))

    def certify(self) -> None:
        """Where anybody is done, all honest parties have accepted, and agree along their edges."""
        for i in range(self.network.n):
            self.note(i)
        for epoch in {party.epoch.number for party in self.parties[1:] if party.done}:
            for i, j in self.network.edges.tolist():
                if 0 not in (i, j):
                    (x, tau), (theirs, other) = (self.accepted[k, epoch] for k in (i, j))
                    assert np.abs(x - theirs).max() <= (tau + other) / (2 * C)
                    self.ends += 1


@pytest.mark.parametrize("network", [TRIANGLE, sv.Network.complete(4), sv.Network.ring(5)], ids=["3", "4", "ring"])
def test_whatever_a_liar_says_who_ends_agrees_with_all_others(network):
    """Some runs never end, or not everywhere: that a liar can always do."""
    ends = refused = 0
    for seed in range(12):
        run = AmongLiars(network, Adversary(0.0), theta=0.8, seed=seed, dim=1)
        for _ in range(700 * network.n):
            run.step()
        ends, refused = ends + run.ends, refused + run.refused
    assert ends > 0
    assert refused > 0
