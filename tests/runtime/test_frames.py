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
from sottovoce.runtime.protocol import frames, wire_pb2
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

hello = Hello(3, "ann", "bob", bytes(32), '{"c":0.4}', b"k" * 32, b"s" * 70, 1, 2000, 3, 1, 1999, 4, b"h" * 32)
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


def test_the_frame_is_what_wire_proto_says():
    """Another implementation needs only the .proto."""
    parsed = wire_pb2.Frame.FromString(encode(verdict, KEY, **NAMES))
    assert parsed.WhichOneof("body") == "verdict"
    assert [said.index for said in parsed.verdict.acceptances] == [0, 300]
    assert (parsed.verdict.epoch, len(parsed.mac)) == (9, 16)
    signed = [wire_pb2.Acceptance(signature=b"signed"), wire_pb2.Acceptance(index=300, signature=b"s" * 72)]
    plain = wire_pb2.Frame(verdict=wire_pb2.Verdict(epoch=9, acceptances=signed)).SerializeToString()
    assert decode(plain) == verdict


def test_wire_pb2_is_made_from_wire_proto(tmp_path):
    """Compared as descriptors, because the text depends on the compiler's version."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    source = Path(frames.__file__).parents[3]
    out = tmp_path / "wire.pb"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{source}", f"--descriptor_set_out={out}"]
    subprocess.run([*command, "sottovoce/runtime/protocol/wire.proto"], check=True)
    (made,) = FileDescriptorSet.FromString(out.read_bytes()).file
    made.ClearField("source_code_info")
    for message in made.message_type:
        for field in message.field:
            field.ClearField("json_name")  # only in descriptor sets
    assert made == FileDescriptorProto.FromString(wire_pb2.DESCRIPTOR.serialized_pb)


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
    with pytest.raises(PeerError, match="without a MAC"):
        decode(encode(value), KEY, **NAMES)
    with pytest.raises(PeerError, match="with a MAC where none belongs"):
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


def unchecked(body) -> bytes:
    """The frame of a body, right or wrong."""
    fields = {name: v.astype("<f8").tobytes() if isinstance(v, np.ndarray) else v for name, v in body._asdict().items()}
    kind = type(body).__name__
    if "acceptances" in fields:
        signed = fields["acceptances"].items()
        fields["acceptances"] = [wire_pb2.Acceptance(index=i, signature=signature) for i, signature in signed]
    return wire_pb2.Frame(**{kind.lower(): getattr(wire_pb2, kind)(**fields)}).SerializeToString()


@pytest.mark.parametrize("sentence", REFUSED)
def test_bodies_that_are_refused_on_both_sides(sentence):
    body = REFUSED[sentence]
    with pytest.raises(PeerError, match=sentence) as caught:
        decode(unchecked(body))
    assert len(str(caught.value)) < 160
    with pytest.raises(InvalidInput, match=f"about to send.*{sentence}"):
        encode(body)


def raw(field: int, content: bytes) -> bytes:
    return bytes([8 * field + 2, 128 | len(content) & 127, len(content) >> 7]) + content


MALFORMED = {
    "nothing": b"",
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "only a tag": b"\x12",
    "a length without end": b"\x12\xff\xff\xff\xff",
    "a body that is not there": b"\x12\x05",
    "two bodies": encode(verdict) + encode(verdict),
    "two kinds": encode(goodbye) + encode(verdict),
    "a body of no known kind": raw(14, b""),
    "only a MAC": b"\x7a\x10" + bytes(16),
    "a MAC in front": b"\x7a\x10" + bytes(16) + encode(verdict),
    "no protobuf inside": raw(2, b"\xff\xff\xff"),
    "seven bytes of a number": raw(2, b"\x10\x01\x20\x01\x2a\x07" + bytes(7)),
    "no UTF-8": raw(5, b"\x0a\x02\xff\xfe"),
    "a party that accepts twice": raw(4, b"\x10\x01" + b"\x22\x05\x08\x07\x12\x01s" * 2),
    "a group without end": raw(2, b"\x0b" * 200),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_frames_are_refused(what):
    with pytest.raises(PeerError) as caught:
        decode(MALFORMED[what])
    assert len(str(caught.value)) < 160


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_frame_has_a_largest_length(beyond):
    """A frame that is in order but for its length: an unknown field, which is ignored, fills it up."""
    body = b"\x10\x01\x20\x01\x2a\x08" + bytes(8)  # a value: counter 1, one chunk, the number 0
    fill = frames.MAX_FRAME + beyond - len(body) - 8  # less two tags, and two lengths of three bytes
    frame = b"\x12" + varint(len(body) + 4 + fill) + body + b"\x42" + varint(fill) + bytes(fill)
    assert len(frame) == frames.MAX_FRAME + beyond
    if beyond:
        with pytest.raises(PeerError, match=f"a frame of {len(frame)} bytes; at most {frames.MAX_FRAME} are allowed"):
            decode(frame)
    else:
        assert decode(frame).counter == 1


def varint(number: int) -> bytes:
    """In three bytes."""
    return bytes([128 | number & 127, 128 | number >> 7 & 127, number >> 14])


@settings(max_examples=300)
@given(st.binary(max_size=300), st.booleans())
def test_random_bytes_are_refused_or_a_frame(data, key):
    try:
        body = decode(data, KEY if key else None)
    except PeerError:
        return
    assert same(decode(encode(body)), body)


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
    assert same(decode(encode(found)), found)


HOSTILE = {
    "alternating bodies": b"\x0a\x00\x12\x00" * 2**18,  # to which protobuf gives 40 MiB
    "unknown fields": raw(2, b"")[:1] + b"\x80\x80\x40" + b"\x58\x01\x08\x01" * 2**18,
    "one field again and again": raw(2, b"")[:1] + b"\x80\x80\x40" + b"\x2a\x02xx" * 2**18,
    "a length of 2 MiB": b"\x12\xff\xff\x7f" + bytes(2**20),
    "nested groups": raw(2, b"")[:1] + b"\x80\x80\x40" + b"\x0b" * 2**20,
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
    print((peak() - before) / len(data))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured as Linux counts it")
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_frame_takes_a_few_times_its_own_memory(what):
    """Measured from outside, in a fresh process, because protobuf does not use Python's allocator."""
    done = subprocess.run([sys.executable, "-c", MEASURE], input=HOSTILE[what], capture_output=True, check=True)
    assert float(done.stdout) < 8


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
