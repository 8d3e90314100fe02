"""The network in memory: its faults, and that everything happens again in the same order."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from random import Random

import pytest
from runtime.media import InMemory, Speaker, until
from runtime.virtual_time import run

from sottovoce.runtime.protocol.frames import MAX_FRAME
from sottovoce.runtime.transport.in_memory import LATENCY, Hub
from sottovoce.runtime.transport.transport import FIRST_PAUSE, LONGEST_PAUSE


@pytest.fixture
def medium():
    return InMemory()


@pytest.mark.parametrize(
    ("fault", "heard"),
    {
        "drop": (lambda k, frame: [] if k == 1 else [(0, frame)], [b"0", b"2", b"3"]),
        "duplicate": (lambda k, frame: [(0, frame)] * (1 + k % 2), [b"0", b"1", b"1", b"2", b"3", b"3"]),
        "delay": (lambda k, frame: [(2.5, frame)], [b"0", b"1", b"2", b"3"]),
        "reorder": (lambda k, frame: [(0.1 * (k % 2), frame)], [b"0", b"2", b"1", b"3"]),
        "truncate": (lambda k, frame: [(0, frame[:k])], [b"", b"1", b"2", b"3"]),
    }.values(),
    ids=["drop", "duplicate", "delay", "reorder", "truncate"],
)
def test_faults(medium, fault, heard):
    medium.hub.faults = lambda sender, receiver, frame: fault(int(frame), frame) if sender == "ann" else [(0, frame)]

    async def scenario(ann, bob):
        ann.say(b"0", b"1", b"2", b"3")
        began = asyncio.get_running_loop().time()
        await until(lambda: len(bob.heard) == len(heard))
        took = asyncio.get_running_loop().time() - began
        await asyncio.sleep(5)
        assert bob.heard == heard
        assert took >= LATENCY + 2.5 * (fault(0, b"")[:1] == [(2.5, b"")])

    medium.talk(scenario)


def test_a_frame_that_became_too_large_is_refused(medium):
    medium.hub.faults = lambda sender, receiver, frame: [(0, bytes(MAX_FRAME + 1))]

    async def scenario(ann, bob):
        ann.say(b"x")
        await until(lambda: bob.reasons)
        assert bob.reasons == [f"a frame of {MAX_FRAME + 1} bytes; at most {MAX_FRAME} are allowed."]

    medium.talk(scenario)


@pytest.mark.parametrize("victim", ["ann", "bob"])
def test_a_killed_party_hears_nothing_more_and_may_come_back(medium, victim):
    async def scenario(ann, bob):
        dead, alive = (ann, bob) if victim == "ann" else (bob, ann)
        dead.say(b"before")
        await until(lambda: alive.heard)
        events = list(dead.events)
        dead.outbox.append(b"never sent")
        alive.say(b"never heard")
        medium.hub.kill(victim)
        await until(lambda: not alive.up)
        assert alive.reasons == ["the connection was reset"]
        await asyncio.sleep(5)
        assert (dead.events, dead.heard, alive.heard) == (events, [], [b"before"])
        dead.events.clear()
        dead.transport = medium.transport(victim)
        await dead.transport.start(dead)
        await until(lambda: alive.heard == [b"before", b"never sent"])

    medium.talk(scenario)


def test_pauses_double_up_to_the_longest(medium):
    async def scenario(ann, bob):
        attempts = []
        join, clock = medium.hub._join, asyncio.get_running_loop().time
        medium.hub._join = lambda *parties: attempts.append(clock()) or join(*parties)
        medium.cut()
        await asyncio.sleep(20)
        pauses = [after - before for before, after in pairwise(attempts)]
        expected = [min(LONGEST_PAUSE, FIRST_PAUSE * 2**k) for k in range(1, len(attempts))]
        assert len(pauses) > 10
        assert all(0.5 * most <= pause <= most for pause, most in zip(pauses, expected, strict=True))
        assert pauses[-1] != pauses[-2] != pauses[-3]  # jitter
        medium.heal()
        await until(lambda: ann.up)
        await asyncio.sleep(2 * LONGEST_PAUSE)  # a good connection
        attempts.clear()
        medium.cut()
        await asyncio.sleep(FIRST_PAUSE)
        assert attempts  # is dialled soon again

    medium.talk(scenario)


async def crowd(seed: int) -> list[tuple]:
    """Four parties that all talk to each other for ten seconds, over a bad network."""
    dice, names = Random(seed), ["ann", "bob", "cat", "dan"]
    hub = Hub(lambda *_: [(dice.expovariate(10), _[2])] * dice.choice([0, 1, 1, 2]), seed=seed)
    speakers = {name: Speaker() for name in names}
    for name, speaker in speakers.items():
        speaker.transport = hub.transport(name, [other for other in names if other != name])
        await speaker.transport.start(speaker)
    for k in range(100):
        await asyncio.sleep(0.1)
        speakers[dice.choice(names)].say(b"%d" % k)
        if dice.random() < 0.2:
            hub.cut(*(pair := dice.sample(names, 2)))
            asyncio.get_running_loop().call_later(dice.random(), hub.heal, *pair)
    for speaker in speakers.values():
        await speaker.transport.stop()
    return [(s.heard, s.events, s.times) for s in speakers.values()]


def test_the_same_seed_gives_the_same_history():
    first = run(crowd(1))
    assert first == run(crowd(1))
    assert first != run(crowd(2))
    assert all(len(events) > 10 and len(heard) > 5 for heard, events, _ in first)  # a lot has happened


def test_strangers_are_not_answered():
    async def scenario():
        hub, bob, mallory = Hub(), Speaker(), Speaker()
        bob.transport, mallory.transport = hub.transport("bob", ["ann"]), hub.transport("aaa", ["bob"])
        await bob.transport.start(bob)
        await mallory.transport.start(mallory)
        await asyncio.sleep(5)
        assert mallory.transport.state("bob") == "down: bob does not know aaa"
        assert bob.events == mallory.events == []
        await mallory.transport.stop()
        await bob.transport.stop()

    run(scenario())
