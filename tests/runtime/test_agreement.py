"""Stopping without a coordinator: whatever an adversary does to times, nobody is done before the frozen numbers are
right, and everybody is in the end."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runtime.judged import STEP, Adversary, C, Mail, Run, TooEarly, said, state_of

import sottovoce as sv
from sottovoce.runtime.protocol.agreement import EPS, ROUNDING, Agreement, Contradiction
from sottovoce.runtime.protocol.answers import UNSALTED, Rounded

RING = sv.Network.ring(5)
THETAS = [1.0, 0.8, 0.5]


def slow(*, when: Callable[[Mail], bool], seconds: float) -> Callable[[Mail, float], list[float]]:
    return lambda mail, now: [seconds if when(mail) else STEP]


def late_and_again(mail: Mail, now: float) -> list[float]:
    """Every third mail of an edge comes much later, when it is long out of date, and some come twice."""
    return [STEP, 2.5] if mail.number % 3 == 0 else [0.7] if mail.number % 3 == 1 else [STEP]


ADVERSARIES = {
    "none": Adversary(0.0),
    "holds snapshots of one edge back": Adversary(
        6.0, delays=slow(when=lambda m: m.kind == "snapshot" and {m.sender, m.receiver} == {0, 1}, seconds=2.0)
    ),
    "holds values of one party back": Adversary(
        6.0, delays=slow(when=lambda m: m.kind == "value" and m.sender == 3, seconds=1.5)
    ),
    "delivers old things later": Adversary(6.0, delays=late_and_again),
    "delays verdicts": Adversary(6.0, delays=slow(when=lambda m: m.kind == "verdict", seconds=1.7)),
    "lets only yes through": Adversary(
        6.0, delays=slow(when=lambda m: m.kind == "verdict" and m.content[0], seconds=5.0)
    ),
    "starves one party": Adversary(6.0, pause=lambda i, now: 2.0 if i == 2 else STEP),
    "starves it and holds its values": Adversary(
        6.0, pause=lambda i, now: 2.0 if i == 2 else STEP,
        delays=slow(when=lambda m: m.kind == "value" and 2 in (m.sender, m.receiver), seconds=3.0),
    ),
    "wakes one party far more often": Adversary(0.8, pause=lambda i, now: STEP / 30 if i == 0 else STEP),
    "cuts the ring in two": Adversary(
        4.0, delays=lambda m, now: [] if (m.sender < 2) != (m.receiver < 2) else [STEP]
    ),
    "loses half": Adversary(6.0, delays=lambda m, now: [] if (m.number + m.sender) % 2 else [STEP]),
}  # fmt: skip


# Every adversary once; with theta = 1 and 1/2, those that make what is heard older than what is said.
BY_STEP = [(name, 0.8) for name in ADVERSARIES]
BY_STEP += [(name, theta) for name in ("none", "delivers old things later", "loses half") for theta in (1.0, 0.5)]


@pytest.mark.parametrize(("name", "theta"), BY_STEP)
def test_nobody_is_done_too_early_and_everybody_in_the_end(name, theta):
    run = Run(RING, ADVERSARIES[name], theta=theta).play()
    assert run.finished == RING.n
    assert len({party.epoch.number for party in run.parties}) == 1
    for party in run.parties:
        assert party.x.tobytes() == run.parties[0].x.tobytes()
        assert party.epoch.answer.off(party.epoch.x) <= 1
        assert party.residual <= 1


# Over a tree

TREE = sv.Network.grid(3, 3).spanning_tree().network


OVER_TREE = [(name, True) for name in ADVERSARIES] + [("none", False), ("delivers old things later", False)]


@pytest.mark.parametrize(("name", "matched"), OVER_TREE)
def test_over_a_tree_too(name, matched):
    run = Run(TREE, ADVERSARIES[name], theta=1.0 if matched else 0.8, matched=matched).play()
    assert run.finished == TREE.n
    assert run.epoch == 1 or not matched or name != "none"


@pytest.mark.parametrize("seed", range(5))
def test_matched_penalties_say_everything_once(seed):
    """The floor: a value in each direction of every edge, whatever wakes when; and one epoch."""
    network = sv.Network.random_geometric(12, seed=seed).spanning_tree().network
    adversary = Adversary(100.0, pause=lambda i, now: STEP * (1 + (7 * i + seed) % 5))
    run = Run(network, adversary, theta=1.0, matched=True, sigma=1e4, seed=seed).play()
    assert run.posted["value"] == 2 * (network.n - 1)
    assert run.epoch == 1


@pytest.mark.parametrize("sigma", [1.0, 1e4, 1e8])
def test_the_mask_leaves_what_rounding_leaves(sigma):
    """``tol`` below what floats of the mask's size resolve: it ends all the same."""
    run = Run(RING, Adversary(0.0), tol=1e-15, sigma=sigma).play()
    error = np.abs([party.epoch.x for party in run.parties] - run.s.mean(axis=0)).max()
    # A message is about 3 sigma, an epoch is accepted at ROUNDING roundings of it, and x is off by that over c.
    assert error <= (rounding := ROUNDING * EPS * 3 * max(sigma, 1.0) / C)
    # The answer is rounded to twice that for each of the two edges to the farthest party.
    first = run.parties[0]
    assert first.epoch.answer.step <= 2 * 2 * rounding
    assert first.epoch.answer.off(first.epoch.x) <= 0.5


# Rules that are wrong, to see that the judge sees it


class Believing(Agreement):
    """The answer that others tell is not compared with the own one, which would find much of what follows."""

    def _agreed(self) -> Rounded | None:
        return Rounded.of(self.epoch.x, 1e-6, UNSALTED) if self.node.i == self.first else self.told


class Hasty(Believing):
    """Ok where the neighbours' last messages hardly moved, whatever was frozen."""

    def _compare(self) -> None:
        epoch = self.epoch
        if len(epoch.heard) == len(self.node.neighbours) and np.isfinite(self.moves):
            epoch.residual = self.moves
            if epoch.residual > 1:
                self.unite(no=True)


class Live(Believing):
    """The neighbours' frozen messages against this party's newest numbers."""

    def _compare(self) -> None:
        epoch, frozen = self.epoch, self.epoch.D
        epoch.D = self.node.D
        super()._compare()
        epoch.D = frozen


@pytest.mark.parametrize(("rule", "name"), [(Hasty, "delivers old things later"), (Live, "none")])
def test_a_rule_that_fires_early_is_caught(rule, name):
    with pytest.raises(TooEarly):
        Run(RING, ADVERSARIES[name], rule=rule, theta=0.8).play()


# In lockstep


@dataclass
class Lockstep:
    """All wake at once, all hear at once: the synchronous iteration."""

    run: Run

    def play(self, rounds: int) -> int:
        """How many rounds until everybody is done."""
        parties = self.run.parties
        for k in range(rounds):
            if all(party.done for party in parties):
                return k
            for party in parties:
                if not party.calm:
                    party.wake()
                if party.calm:
                    party.propose()
            told = [
                (party.node.i, j, *what) for party in parties for j in party.node.neighbours for what in said(party, j)
            ]
            for i, j, kind, number, content in told:
                self.run.deliver(Mail(kind, i, j, number, content))
        return rounds


@pytest.mark.parametrize("theta", [0.9, 0.5])
def test_lockstep_ends_below_theta_1(theta):
    assert Lockstep(Run(sv.Network.ring(4), Adversary(0.0), theta=theta)).play(1000) < 300


def test_lockstep_at_theta_1_has_the_answer_and_no_proof():
    """theory: Subspaces. At theta = 1 the synchronous iteration keeps ``(I - P)`` of ``Psi_perp`` for ever, so
    ``y - z`` stays as large as the mask although ``x`` is right. Parties whose messages take equally long must not use
    theta = 1."""
    run = Run(sv.Network.ring(4), Adversary(0.0), theta=1.0)
    assert Lockstep(run).play(1000) == 1000
    assert np.abs([party.node.x for party in run.parties] - run.s.mean(axis=0)).max() < 1e-12
    assert min(party.change for party in run.parties) > 1


@dataclass
class Chance:
    """Random times, each a function of the seed and of what it is for."""

    seed: int
    longest: float
    lost: float
    uneven: float
    kinds: tuple[float, float, float]

    def delays(self, mail: Mail, now: float) -> list[float]:
        draw = random.Random(f"{self.seed} {mail[:4]} {now}")
        share = self.kinds[{"value": 0, "snapshot": 1, "answer": 1, "verdict": 2}[mail.kind]]
        copies = 0 if draw.random() < self.lost else 2 if draw.random() < 0.1 else 1
        return [STEP + draw.random() ** 4 * self.longest * share for _ in range(copies)]

    def pause(self, i: int, now: float) -> float:
        draw = random.Random(f"{self.seed} {i} {now}")
        return STEP * (1 + draw.expovariate(1.0)) * (1 + self.uneven * (i % 3))


chances = st.builds(
    Chance, st.integers(0, 2**32), st.floats(0.1, 20.0), st.floats(0, 0.5), st.floats(0, 20),
    st.tuples(*[st.floats(0, 1)] * 3),
)  # fmt: skip
networks = st.sampled_from([sv.Network.from_edges(2, [(0, 1)]), RING, sv.Network.complete(4), sv.Network.grid(2, 3)])


@settings(max_examples=15, deadline=None)
@given(chances, networks, st.sampled_from(THETAS), st.floats(1.0, 12.0))
def test_random_times(chance, network, theta, ends):
    adversary = Adversary(ends, chance.pause, chance.delays)
    assert Run(network, adversary, theta=theta, dim=1, seed=chance.seed % 100).play().finished == network.n


# Crashes


@settings(max_examples=12, deadline=None)
@given(chances, st.lists(st.tuples(st.floats(0, 10), st.integers(0, 3)), max_size=12), st.sampled_from(THETAS))
def test_crashes_at_any_time(chance, crashes, theta):
    adversary = Adversary(10.0, chance.pause, chance.delays, crashes)
    Run(sv.Network.ring(4), adversary, theta=theta, dim=1, seed=chance.seed % 100).play()


@settings(max_examples=8, deadline=None)
@given(chances, st.lists(st.tuples(st.floats(0, 3), st.integers(0, 8)), max_size=12))
def test_crashes_on_a_tree(chance, crashes):
    adversary = Adversary(3.0, chance.pause, chance.delays, crashes)
    Run(TREE, adversary, theta=1.0, dim=1, seed=chance.seed % 100, matched=True).play()


MOMENTS = {
    "frozen": lambda party: party.epoch.residual is None,
    "said ok": lambda party: party.epoch.ok >> party.node.i & 1,
    "heard of others": lambda party: party.epoch.ok not in (0, 1 << party.node.i),
    "said no": lambda party: party.epoch.no,
}


class Unlucky(Run):
    """Parties crash at a chosen moment of an epoch, each of them whenever it comes."""

    def __init__(self, *args: Any, moment: str, **options: Any) -> None:
        self.moment, self.hit = MOMENTS[moment], set[tuple[int, int]]()
        super().__init__(*args, **options)

    def deliver(self, mail: Mail) -> None:
        super().deliver(mail)
        i, party = mail.receiver, self.parties[mail.receiver]
        if party.epoch is None or party.done or (i, party.epoch.number) in self.hit or not self.moment(party):
            return
        self.hit.add((i, party.epoch.number))
        self.crash(i)
        if self.saves:
            again = self.parties[i]
            assert state_of(again) == state_of(party)
            assert (again.epoch.residual, again.node.sent) == (party.epoch.residual, party.node.sent)
            for name in ("x", "D", "sent"):
                np.testing.assert_equal(getattr(again.epoch, name), getattr(party.epoch, name))


UNEVEN = Adversary(6.0, pause=lambda i, now: STEP * (1 + i), delays=lambda m, now: [STEP * (1 + m.sender)])


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_crash_between_freezing_and_the_end(moment):
    """The frozen state comes back to the bit, and everybody ends."""
    run = Unlucky(RING, UNEVEN, moment=moment).play()
    assert {i for i, _ in run.hit} == set(range(RING.n))


def test_a_party_that_forgets_what_it_froze_is_caught():
    """The reason to save before anybody hears of it: else a party freezes other numbers under the same name, and its
    neighbours, who know better, go no further."""
    scene: dict[str, Any] = {"moment": "said ok", "theta": 0.8}
    Unlucky(RING, ADVERSARIES["lets only yes through"], **scene).play()
    with pytest.raises(Contradiction, match="has frozen two different states for epoch"):
        Unlucky(RING, ADVERSARIES["lets only yes through"], **scene, saves=False).play()


def test_a_restored_state_is_the_state(rng):
    """Through the journal's form, named arrays, at every stage of an epoch."""
    run = Run(RING, Adversary(0.0), theta=0.8)
    while not all(party.done for party in run.parties):
        run.now, _, event = heapq.heappop(run.events)
        event()
        if rng.random() < 0.8:
            continue
        i = int(rng.integers(RING.n))
        party, again = run.parties[i], run.party(i)
        again.restore(party.state(), spent=0)
        assert again.done == party.done
        assert again.node.sent == party.node.sent
        np.testing.assert_equal(again.state(), party.state())
        np.testing.assert_equal(again.x, party.x)


def test_counters_go_on_above_those_that_were_set_aside():
    run = Run(RING, Adversary(0.0))
    party, again = run.parties[0], run.party(0)
    party.wake()
    again.restore(party.state(), spent=1000)
    again.wake()
    assert again.node.sent == 1001
