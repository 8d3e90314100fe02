"""What every transport must do, over each of them."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from runtime.media import Speaker, until

from sottovoce.errors import PeerError
from sottovoce.runtime.protocol.frames import MAX_FRAME
from sottovoce.runtime.transport.transport import CLOSED, FIRST_PAUSE, FLUSH, STOPPED


def test_frames_arrive_intact_and_in_order(medium, rng):
    frames = [rng.bytes(size) for size in rng.integers(1, 5000, size=300)]

    async def scenario(ann, bob):
        ann.say(*frames)
        bob.say(*reversed(frames))
        await until(lambda: len(ann.heard) == len(bob.heard) == len(frames))
        assert bob.heard == frames
        assert ann.heard == frames[::-1]
        assert ann.transport.state("bob") == bob.transport.state("ann") == "up"

    ann, bob = medium.talk(scenario)
    assert ann.connections == bob.connections == 1
    assert ann.reasons == [STOPPED]
    assert bob.reasons == [CLOSED]


def test_an_idle_party_speaks_as_soon_as_it_is_notified(medium):
    async def scenario(ann, bob):
        for k in range(50):
            ann.say(b"question %d" % k)
            await until(lambda k=k: len(bob.heard) > k)
            bob.say(b"answer %d" % k)
            await until(lambda k=k: len(ann.heard) > k)
        assert ann.heard == [b"answer %d" % k for k in range(50)]

    medium.talk(scenario)


def test_the_largest_frames_pass(medium, rng):
    frames = [rng.bytes(MAX_FRAME) for _ in range(5)]

    async def scenario(ann, bob):
        ann.say(*frames)
        bob.say(*frames)
        await until(lambda: len(ann.heard) == len(bob.heard) == len(frames))
        assert ann.heard == bob.heard == frames

    medium.talk(scenario)


def test_a_frame_that_is_too_large_is_not_sent(medium, caplog):
    async def scenario(ann, bob):
        ann.say(bytes(MAX_FRAME + 1), b"after it")
        await until(lambda: bob.heard)
        assert bob.heard == [b"after it"]  # over the next connection
        assert "an internal error of this party" in ann.reasons[0]

    medium.talk(scenario)
    assert f"a frame of {MAX_FRAME + 1} bytes to send; at most {MAX_FRAME}" in caplog.text


def test_a_slow_receiver_does_not_make_a_queue(medium):
    """Frames are asked for only when there is room: what a slow neighbour gets is then the newest."""
    asked = 0

    def newest() -> bytes:
        nonlocal asked
        asked += 1
        return b"%01000d" % asked

    async def scenario(ann, bob):
        ann.source = newest
        ann.say()
        await until(lambda: len(bob.heard) > 100)
        medium.freeze()
        before = asked
        await asyncio.sleep(0.3)
        waiting = asked
        await asyncio.sleep(0.2)
        assert asked == waiting <= before + medium.room
        medium.thaw()
        await until(lambda: len(bob.heard) > waiting + 100)
        assert [int(frame) for frame in bob.heard] == list(range(1, len(bob.heard) + 1))
        ann.source = lambda: None

    medium.talk(scenario)


def test_a_cut_is_noticed_and_mended(medium):
    async def scenario(ann, bob):
        for k in range(1, 4):
            medium.cut()
            await until(lambda: not ann.up and not bob.up)
            assert ann.transport.state("bob").startswith("down: ")
            assert bob.transport.state("ann").startswith("down: ")
            ann.say(b"said to nobody")  # nothing is kept by the transport: it asks once there is a connection
            assert len(ann.outbox) == 1
            await asyncio.sleep(0.2)
            assert not ann.up
            medium.heal()
            await until(lambda k=k: len(bob.heard) == k)
            assert ann.transport.state("bob") == bob.transport.state("ann") == "up"

    ann, bob = medium.talk(scenario)
    assert ann.connections == bob.connections == 4


@pytest.mark.parametrize("who", ["ann", "bob"])
def test_a_peer_that_breaks_the_protocol_is_dropped_and_dialled_again(medium, who):
    def refuse(frame):
        raise PeerError("a frame that is not what it should be.")

    async def scenario(ann, bob):
        hearer, speaker = (ann, bob) if who == "ann" else (bob, ann)
        spoken = 0

        def once_a_connection() -> bytes | None:  # what was lost with one is not missing from the next
            nonlocal spoken
            spoken, before = speaker.connections, spoken
            return b"x" if spoken > before else None

        hearer.check, speaker.source = refuse, once_a_connection
        speaker.say()
        await until(lambda: hearer.connections == 5)
        assert hearer.reasons[:3] == ["a frame that is not what it should be."] * 3
        if who in medium.explains:
            assert speaker.reasons[:3] == ["it refused: a frame that is not what it should be."] * 3
        speaker.source = lambda: None
        gaps = [b - a for a, b in itertools.pairwise(ann.times[0::2])]
        # Pauses are at least half of 0.05, 0.1, ..., by the jitter.
        assert all(gap > 0.5 * FIRST_PAUSE * 2**k for k, gap in enumerate(gaps[1:4]))

    medium.talk(scenario)


def test_stopping_sends_what_is_left(medium):
    frames = [b"%d" % k for k in range(500)]

    async def scenario(ann, bob):
        ann.outbox.extend(frames)  # without a word to the transport
        await ann.transport.stop()
        assert ann.transport.state("bob") == f"down: {STOPPED}"
        await until(lambda: not bob.up)
        assert bob.heard == frames

    medium.talk(scenario)


def test_stopping_the_one_that_was_dialled_sends_what_is_left(medium):
    frames = [b"%d" % k for k in range(500)]

    async def scenario(ann, bob):
        bob.outbox.extend(frames)
        await bob.transport.stop()
        await until(lambda: len(ann.heard) == 500)
        assert ann.heard == frames
        await until(lambda: ann.transport.state("bob") not in ("up", f"down: {CLOSED}"))
        assert ann.reasons == [CLOSED]

    medium.talk(scenario)


def test_stopping_does_not_wait_for_ever(medium):
    async def scenario(ann, bob):
        medium.freeze()
        ann.source = lambda: bytes(1000)
        ann.say()
        await asyncio.sleep(0.1)
        began = asyncio.get_running_loop().time()
        await ann.transport.stop()
        assert asyncio.get_running_loop().time() - began < FLUSH + 0.5
        assert ann.reasons == [STOPPED]
        medium.thaw()

    medium.talk(scenario)


def test_a_second_connection_replaces_the_first(medium):
    """The first one is dead, and nobody has told its listener."""

    async def scenario(ann, bob):
        second = Speaker()
        second.transport = medium.transport("ann")
        await second.transport.start(second)
        await until(lambda: bob.connections == 2)
        await ann.transport.stop()
        await until(lambda: second.up and bob.up)
        second.say(b"it is me again")
        await until(lambda: bob.heard)
        await second.transport.stop()

    _, bob = medium.talk(scenario)
    assert "replaced it" in bob.reasons[0]


def test_an_error_in_the_handler_is_logged_and_does_not_end_the_transport(medium, caplog):
    async def scenario(ann, bob):
        bob.check = lambda frame: 1 / 0
        ann.say(b"x")
        await until(lambda: bob.connections == 2)
        bob.check = lambda frame: None
        ann.say(b"y")
        await until(lambda: bob.heard == [b"y"])
        assert "an internal error of this party" in bob.reasons[0]

    medium.talk(scenario)
    assert "ZeroDivisionError" in caplog.text
