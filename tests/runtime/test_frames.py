"""Frames: what goes in comes out, and what a peer may not say is refused before anybody uses it."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sottovoce.errors import InvalidInput, PeerError
from sottovoce.runtime.protocol import frames
from sottovoce.runtime.protocol.frames import (
    Answer,
    Assembly,
    Goodbye,
    Hello,
    Leave,
    Lost,
    Opening,
    Pads,
    Snapshot,
    Value,
    Verdict,
    chunks,
    decode,
    encode,
)

KEY = bytes(range(32))
NAMES = {"sender": "ann", "receiver": "bob"}

hello = Hello(4, "ann", "bob", bytes(32), '{"c":0.4}', b"k" * 32, b"s" * 70, 1, 2000, 3, 1, 1999, 4, b"h" * 32)
opening = Opening(b"n" * 32)
pads = Pads(2, b"t" * 16)
value = Value(2, 7, 0, 1, np.array([1.5, -2e300, 0.0]))
snapshot = Snapshot(2, 3, 0, 1, np.array([1.5, -2e300, 0.0]))
verdict = Verdict(0, 9, False, {0: b"signed", 300: b"s" * 72})
goodbye = Goodbye("finished")
lost = Lost("ann", "bob", b"s" * 70)
answer = Answer(2, 3, 0, 1, b"a" * (28 + 8 * 10), b"r" * 16)
EVERY = [opening, hello, value, snapshot, verdict, goodbye, pads, lost, answer]
IDS = [type(body).__name__ for body in EVERY]

counters = st.integers(1, 2**53 - 1)
numbers = st.integers(0, 2**53 - 1)
stages = st.integers(0, 2**32 - 1)
vectors = arrays(np.float64, st.integers(1, 40), elements=st.floats(allow_nan=False, allow_infinity=False))
indices, signatures = st.integers(0, 2**16 - 1), st.binary(min_size=1, max_size=72)
accepting = st.dictionaries(indices, signatures, max_size=5)
routes, digests = st.sampled_from([b"", b"r" * 16]), st.sampled_from([b"", b"d" * 32])
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", fullmatch=True)
bodies = st.one_of(
    st.builds(
        Hello, st.integers(1, 2**16 - 1), names, names, st.binary(min_size=32, max_size=32), st.text(max_size=99),
        st.binary(min_size=32, max_size=1300), st.binary(min_size=1, max_size=72), stages, numbers, numbers, stages,
        numbers, numbers, st.sampled_from([b"", b"h" * 32]),
    ),
    st.builds(Opening, st.binary(min_size=32, max_size=32)),
    st.builds(Pads, stages, st.binary(min_size=16, max_size=16)),
    st.builds(Value, stages, counters, st.just(0), st.just(1), vectors, routes),
    st.builds(Snapshot, stages, counters, st.just(0), st.just(1), vectors, routes),
    st.builds(Value, stages, counters, st.just(4), st.just(5), vectors, routes),
    st.builds(Verdict, stages, counters, st.booleans(), accepting, routes, digests),
    st.builds(Answer, stages, numbers, st.just(2), st.just(3), st.binary(min_size=36, max_size=36), routes),
    st.builds(Leave, names, names, stages, stages, stages, numbers, st.booleans(), st.booleans(), signatures, routes),
    st.builds(Lost, names, names, signatures),
    st.builds(Goodbye, st.text(st.characters(categories=["L", "N", "P"]), max_size=200)),
)  # fmt: skip


def same(a, b) -> bool:
    return type(a) is type(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@given(bodies)
def test_what_is_encoded_is_decoded(body):
    assert same(decode(encode(body)), body)
    assert same(decode(encode(body, KEY, **NAMES), KEY, **NAMES), body)


def test_numbers_travel_as_raw_little_endian_bytes():
    """So that other languages can join; and floats arrive to the bit."""
    assert np.array([1.0, np.pi]).astype("<f8").tobytes() in encode(Value(0, 1, 0, 1, np.array([1.0, np.pi])))
    data = decode(encode(value)).data
    assert data.dtype == np.float64


def test_a_frame_is_a_byte_and_its_fields_in_order():
    """As the page says: integers in 8 bytes, the rest behind its length; all of it once, in one way."""
    assert encode(goodbye) == b"\x05" + b"\x08\0\0\0finished"
    assert encode(pads) == b"\x07" + (2).to_bytes(8, "little") + b"\x10\0\0\0" + b"t" * 16
    first, second = (number.to_bytes(8, "little") for number in (0, 300))
    signed = first + b"\x06\0\0\0signed" + second + b"\x48\0\0\0" + b"s" * 72
    epoch, count = (9).to_bytes(8, "little"), (2).to_bytes(8, "little")
    assert encode(verdict) == b"\x04" + bytes(8) + epoch + b"\0" + count + signed + bytes(4) + bytes(4)
    assert encode(verdict._replace(acceptances={300: b"s" * 72, 0: b"signed"})) == encode(verdict)
    assert encode(verdict, KEY, **NAMES)[:-16] == encode(verdict)


# MACs


@pytest.mark.parametrize("body", EVERY[2:], ids=IDS[2:])
def test_a_mac_covers_every_bit_and_both_names(body):
    frame = encode(body, KEY, **NAMES)
    for bit in range(8 * len(frame)):
        changed = bytearray(frame)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(PeerError):
            decode(bytes(changed), KEY, **NAMES)
    for key, sender, receiver in ((KEY[::-1], "ann", "bob"), (KEY, "bob", "ann"), (KEY, "an", "nbob")):
        with pytest.raises(PeerError, match="did not send"):
            decode(frame, key, sender, receiver)


def test_macs_are_neither_missing_nor_superfluous():
    with pytest.raises(PeerError, match="a frame that ann did not send to bob"):
        decode(encode(value), KEY, **NAMES)
    with pytest.raises(PeerError, match="a value and 16 bytes that do not belong to it"):
        decode(encode(value, KEY, **NAMES))
    for body in (opening, hello):  # sent before there is a key
        assert encode(body, KEY, **NAMES) == encode(body)
        assert decode(encode(body), KEY, **NAMES) == body


# What is refused

REFUSED = {
    "version 0": hello._replace(version=0),
    "version 70000": hello._replace(version=70000),
    "the name ''": hello._replace(name=""),
    "the name 'x y'": hello._replace(to="x y"),
    "the name 'aaaa": hello._replace(name="a" * 65),
    "a hash of 31 bytes": hello._replace(parameters_hash=bytes(31)),
    "parameters of more than 524288": hello._replace(parameters="ä" * 263_000),
    "a key of 31 bytes": hello._replace(offer=bytes(31)),
    "a key of 1301 bytes": hello._replace(offer=bytes(1301)),
    "a hash of a key of 31 bytes": hello._replace(known=bytes(31)),
    "numbers .9007199254740992, 3.: out of range": hello._replace(said_counter=2**53),
    "numbers .1999, 9007199254740992.: out of range": hello._replace(heard_epoch=2**53),
    "an opening of 31 bytes": opening._replace(nonce=bytes(31)),
    "a tag of the pads of stage 2, of 17 bytes": pads._replace(tag=bytes(17)),
    "a signature of 0 bytes": hello._replace(signature=b""),
    "a signature of 73 bytes": hello._replace(signature=bytes(73)),
    "number 0: out of range": value._replace(counter=0),
    "number 9007199254740992: out of range": snapshot._replace(epoch=2**53),
    "chunk 1 of 1": value._replace(chunk=1),
    "chunk 0 of 0": value._replace(chunks=0),
    "chunk 3 of 1025": snapshot._replace(chunk=3, chunks=1025),
    "has 3 numbers": value._replace(chunks=2),
    "has 0 numbers": value._replace(data=np.array([])),
    "has 65537 numbers": value._replace(data=np.zeros(65_537)),
    "not finite": value._replace(data=np.array([1.0, np.nan])),
    "snapshot with a number that is not finite": snapshot._replace(data=np.array([-np.inf])),
    "a verdict with 8193 acceptances": verdict._replace(acceptances=dict.fromkeys(range(8193), b"signed")),
    "a verdict with an acceptance of party 65536": verdict._replace(acceptances={65536: b"signed"}),
    "a verdict with an acceptance of party 7, signed in 0 bytes": verdict._replace(acceptances={7: b""}),
    "a verdict with an acceptance of party 7, signed in 73 bytes": verdict._replace(acceptances={7: bytes(73)}),
    "a verdict on an answer with a digest of 31 bytes": verdict._replace(answer=bytes(31)),
    "an answer of 107 bytes that cannot be one": answer._replace(data=answer.data[1:]),
    "an answer of 28 bytes that cannot be one": answer._replace(data=bytes(28)),
    "an answer of 108 bytes that cannot be one": answer._replace(route=bytes(15)),
    "a line of at most 200 characters": goodbye._replace(reason="x" * 201),
    "whose reason is not a line": goodbye._replace(reason="a\nb"),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_bodies_that_are_refused_on_both_sides(sentence):
    body = REFUSED[sentence]
    with pytest.raises(PeerError, match=sentence) as caught:
        decode(frames._written(body))
    assert len(str(caught.value)) < 160
    with pytest.raises(InvalidInput, match=f"about to send.*{sentence}"):
        encode(body)


def size(number: int) -> bytes:
    return number.to_bytes(4, "little")


def whole(number: int) -> bytes:
    return number.to_bytes(8, "little")


VALUE = b"\x02" + whole(0) + whole(1) + whole(0) + whole(1)
VERDICT = b"\x04" + whole(0) + whole(1)
MALFORMED = {
    "nothing": b"",
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "only a kind": b"\x02",
    "a length without end": VALUE + b"\xff",
    "numbers that are not there": VALUE + size(2**32 - 1),
    "an integer that ends": b"\x07" + bytes(7),
    "two bodies": encode(verdict) + encode(verdict),
    "one byte more": encode(goodbye) + b"\0",
    "one byte less": encode(goodbye)[:-1],
    "kind 0": b"\0" + encode(goodbye)[1:],
    "a body of no known kind": bytes([len(frames.KINDS) + 1]) + encode(goodbye)[1:],
    "only a MAC": bytes(16),
    "seven bytes of a number": VALUE + size(7) + bytes(7) + size(0),
    "no UTF-8": b"\x05" + size(2) + b"\xff\xfe",
    "neither yes nor no": VERDICT + b"\x02" + whole(0) + size(0),
    "a party that accepts twice": VERDICT + b"\0" + whole(2) + (whole(7) + size(1) + b"s") * 2 + size(0),
    "parties out of order": VERDICT + b"\0" + whole(2) + b"".join(whole(i) + size(1) + b"s" for i in (7, 6)) + size(0),
    "acceptances that are not there": VERDICT + b"\0" + whole(3) + size(0),
    "2^64 - 1 acceptances": VERDICT + b"\0" + b"\xff" * 8,
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_frames_are_refused(what):
    with pytest.raises(PeerError) as caught:
        decode(MALFORMED[what])
    assert len(str(caught.value)) < 160


def test_a_frame_has_a_largest_length():
    """Which is looked at first; all that may be sent is shorter."""
    with pytest.raises(
        PeerError, match=f"a frame of {frames.MAX_FRAME + 1} bytes; at most {frames.MAX_FRAME} are allow"
    ):
        decode(bytes(frames.MAX_FRAME + 1))
    largest = [
        hello._replace(parameters="x" * frames.MAX_PARAMETERS, offer=bytes(1300)),
        Value(0, 1, 0, 1, np.ones(frames.CHUNK), bytes(16)),
        Verdict(0, 1, True, dict.fromkeys(range(frames.MAX_ACCEPTANCES), bytes(72)), bytes(16)),
    ]
    for body in largest:
        assert len(encode(body, KEY, **NAMES)) <= frames.MAX_FRAME


@settings(max_examples=300)
@given(st.binary(max_size=300), st.booleans())
def test_random_bytes_are_refused_or_a_frame(data, key):
    try:
        body = decode(data, KEY if key else None)
    except PeerError:
        return
    assert key or encode(body) == data  # there is one way to write it


@settings(max_examples=300)
@given(bodies, st.data())
def test_mutated_frames_are_refused_or_a_frame(body, data):
    frame = bytearray(encode(body))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(frame) - 1))
        match data.draw(st.sampled_from(["change", "cut", "insert", "double"])):
            case "change":
                frame[position] = data.draw(st.integers(0, 255))
            case "cut":
                del frame[position + 1 :]
            case "insert":
                frame[position:position] = data.draw(st.binary(min_size=1, max_size=9))
            case "double":
                frame += frame[position:]
    try:
        found = decode(bytes(frame))
    except PeerError:
        return
    assert encode(found) == frame


HOSTILE = {
    "acceptances of nothing": VERDICT + b"\0" + whole(8192) + b"".join(whole(i) + size(0) for i in range(8192)),
    "2^63 acceptances": VERDICT + b"\0" + whole(2**63) + bytes(2**20 - 40),
    "4 GB of numbers": VALUE + size(2**32 - 1) + bytes(2**20),
    "a megabyte of text": b"\x05" + size(2**20) + b"x" * 2**20,
    "parameters of 2^20 letters": b"\x01" + whole(3) + (size(1) + b"a") * 2 + size(0) + size(2**20) + b"\xe4" * 2**20,
}


MEASURE = """
import sys
from sottovoce.errors import PeerError
from sottovoce.runtime.protocol import frames

def peak():
    return 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

data = sys.stdin.buffer.read()
open("/proc/self/clear_refs", "w").write("5")  # the peak is now what is in use
before = peak()
try:
    frames.decode(data)
except PeerError:
    print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured as Linux counts it")
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_frame_takes_a_few_times_its_own_memory(what):
    """Or a megabyte. Measured from outside, in a fresh process."""
    done = subprocess.run([sys.executable, "-c", MEASURE], input=HOSTILE[what], capture_output=True, check=True)
    assert int(done.stdout) < max(8 * len(HOSTILE[what]), 2**20)


def test_an_honest_frame_takes_a_few_times_its_own_memory():
    frame = encode(Value(0, 1, 0, 1, np.ones(frames.CHUNK)))
    tracemalloc.start()
    decode(frame)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * len(frame)


# Vectors in chunks


@given(st.integers(1, 4 * 8), st.randoms(use_true_random=False))
def test_vectors_are_put_together_in_any_order(length, random):
    r = np.arange(float(length))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "CHUNK", 8)
        pieces = list(enumerate(chunks(r)))
        random.shuffle(pieces)
        assembly = Assembly()
        *early, last = [assembly.add((0, 1), k, len(pieces), piece, length) for k, piece in pieces]
        assert all(part is None for part in early)
        assert (last == r).all()
        assert assembly.add((0, 1), 0, len(pieces), r[:8], length) is None  # a duplicate


def full(content: float) -> np.ndarray:
    return np.full(frames.CHUNK, content)


def test_the_newest_vector_wins():
    assembly = Assembly()
    assert assembly.add((0, 5), 0, 2, full(5)) is None
    assert assembly.add((0, 6), 0, 2, full(6)) is None  # drops 5
    assert assembly.add((0, 5), 1, 2, np.ones(3)) is None
    whole = assembly.add((0, 6), 1, 2, np.ones(3))
    assert (whole == np.r_[full(6), np.ones(3)]).all()
    assert assembly.add((0, 4), 0, 1, np.ones(3)) is None
    assert (assembly.add((1, 1), 0, 1, np.ones(3)) == np.ones(3)).all()  # another stage counts anew


def test_memory_is_that_of_one_vector():
    assembly = Assembly()
    for counter in range(1, 200):
        assert assembly.add((0, counter), counter % 3, 4, full(counter)) is None
        assert sum(part.size for part in assembly._parts.values()) <= 4 * frames.CHUNK
    assert len(assembly._parts) == 1


def test_vectors_of_another_length_are_refused():
    for chunk, count, size in ((0, 1, 3), (0, 1, 5), (0, 2, 4), (1, 2, 4)):
        with pytest.raises(PeerError, match="which is not from a vector of 4"):
            Assembly().add((0, 1), chunk, count, np.zeros(size), 4)
    dimension = frames.CHUNK + 4
    assert Assembly().add((0, 1), 1, 2, np.zeros(4), dimension) is None
    with pytest.raises(PeerError, match=f"not from a vector of {dimension}"):
        Assembly().add((0, 1), 1, 2, np.zeros(5), dimension)


def test_a_vector_does_not_change_its_number_of_chunks():
    assembly = Assembly()
    assembly.add((0, 1), 0, 3, full(0))
    with pytest.raises(PeerError, match="a vector of 2 chunks, of which it was said before that it has 3"):
        assembly.add((0, 1), 1, 2, np.zeros(3))


def test_vectors_that_cannot_travel():
    for size in (0, frames.CHUNK * frames.MAX_CHUNKS + 1):
        with pytest.raises(InvalidInput, match="a vector to send must have 1 to"):
            chunks(np.broadcast_to(0.0, size))
