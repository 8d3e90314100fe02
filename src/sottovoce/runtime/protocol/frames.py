"""One frame: bytes on the wire, a tuple here. What comes from a peer is checked before anybody uses it.

A frame is a byte for the kind of its body, the fields of the body in their order, and the MAC if there is one. There is
one way to write a body, and the MAC covers the very bytes that travelled: it is checked before anything is parsed.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from ...costs.base import Array
from ...errors import InvalidInput, PeerError
from ..keys.identity import NAME, with_lengths

MAX_FRAME = 2**20 + 1024  # bytes
CHUNK = 65_536  # numbers in one frame; longer vectors travel in chunks
MAX_CHUNKS = 1024
MAX_PARAMETERS = 2**19  # bytes
MAX_REASON = 200  # characters
MAX_ACCEPTANCES = 8192  # in one frame: 72 bytes of signature each, and a few more
MAX_SIGNATURE = 72  # bytes
SEAL = 12 + 16  # bytes that sealing adds: a nonce and a tag
MAX_PARTIES = 65_536
NUMBERS = 2**53  # counters stay below, so that a float can keep them
MAC_SIZE = 16
NONCE, TAG, DIGEST = 32, 16, 32  # bytes; tags of pads, and of routes that were not planned; digests of answers
OFFER = (32, 1300)  # bytes, at least and at most; none where a hello only says that there will be no conversation


class Progress(NamedTuple):
    """How far one party has spoken to another: the stage, and its newest counter and epoch there."""

    stage: int = 0
    counter: int = 0
    epoch: int = 0


class Opening(NamedTuple):
    """The first frame of either side: random bytes, which the other one has to sign."""

    nonce: bytes


class Hello(NamedTuple):
    """The second one: who, to whom, which run, what it takes to have secrets, and what was said so far; signed."""

    version: int
    name: str
    to: str
    parameters_hash: bytes
    parameters: str
    offer: bytes
    signature: bytes
    said_stage: int = 0
    said_counter: int = 0
    said_epoch: int = 0
    heard_stage: int = 0
    heard_counter: int = 0
    heard_epoch: int = 0
    known: bytes = b""

    @property
    def said(self) -> Progress:
        """What the sender may have said to the receiver; at most."""
        return Progress(self.said_stage, self.said_counter, self.said_epoch)

    @property
    def heard(self) -> Progress:
        """What the sender has heard from the receiver."""
        return Progress(self.heard_stage, self.heard_counter, self.heard_epoch)


class Pads(NamedTuple):
    """A keyed digest of the pads that this edge has in a stage: equal at both ends, or nothing will be."""

    stage: int
    tag: bytes


class Value(NamedTuple):
    """A chunk of ``r`` (theory: Messages) with the counter of its message."""

    stage: int
    counter: int
    chunk: int
    chunks: int
    data: Array
    route: bytes = b""


class Snapshot(NamedTuple):
    """A chunk of the ``r`` that was frozen for an epoch."""

    stage: int
    epoch: int
    chunk: int
    chunks: int
    data: Array
    route: bytes = b""


class Verdict(NamedTuple):
    """What is known about an epoch: whether anybody refuses it, and who accepts it, with their signatures."""

    stage: int
    epoch: int
    no: bool
    acceptances: Mapping[int, bytes]  # by index
    route: bytes = b""
    answer: bytes = b""  # the digest of what they accept

    @property
    def about(self) -> tuple[int, int, bytes, bytes]:
        """Which epoch: of which stage, on which route, and with which answer."""
        return self.stage, self.epoch, self.route, self.answer

    def after(self, earlier: Verdict | None) -> Verdict:
        """This, together with what was said earlier of the same epoch."""
        if earlier is None or earlier.about[:3] != self.about[:3]:
            return self
        if earlier.answer != self.answer:
            return self._replace(no=self.no or earlier.no)
        return self._replace(no=self.no or earlier.no, acceptances={**earlier.acceptances, **self.acceptances})


class Goodbye(NamedTuple):
    """The last frame of either side."""

    reason: str


class Escrow(NamedTuple):
    """A chunk of what a guardian keeps (escrow.py), sealed."""

    stage: int
    chunk: int
    chunks: int
    data: bytes


class Answer(NamedTuple):
    """A chunk of the answer of an epoch (answers.py), sealed."""

    stage: int
    epoch: int
    chunk: int
    chunks: int
    data: bytes
    route: bytes = b""


class Leave(NamedTuple):
    """A party's statement that another one has left for good (leaving.py); signed, and passed on to everybody."""

    leaver: str
    signer: str
    over: int
    heard: int
    escrow: int
    epoch: int
    accepted: bool
    seen: bool
    signature: bytes
    route: bytes = b""


class Lost(NamedTuple):
    """A party's statement that its link to another one stays dead (lost_links.py); signed, and passed on to all."""

    by: str
    other: str
    signature: bytes


Body = Hello | Value | Snapshot | Verdict | Goodbye | Opening | Pads | Escrow | Leave | Lost | Answer
# A frame begins with the number of its kind in this order, from 1.
KINDS: tuple[type[Body], ...] = (Hello, Value, Snapshot, Verdict, Goodbye, Opening, Pads, Escrow, Leave, Lost, Answer)
BARE = (Hello, Opening)  # without a MAC: they come before there is a key


def encode(body: Body, mac_key: bytes | None = None, sender: str = "", receiver: str = "") -> bytes:
    """The frame of a body. With a key it ends in a MAC, but for openings and hellos, which come before keys."""
    if wrong := _fault(body):
        raise InvalidInput(f"this party was about to send {wrong}.")
    frame = _written(body)
    if mac_key is None or isinstance(body, BARE):
        return frame
    return frame + _mac(mac_key, sender, receiver, frame)


def decode(frame: bytes, mac_key: bytes | None = None, sender: str = "", receiver: str = "") -> Body:
    """The body of a frame; ``PeerError`` where anything about it is not as ``encode`` makes it."""
    if len(frame) > MAX_FRAME:
        raise PeerError(f"a frame of {len(frame)} bytes; at most {MAX_FRAME} are allowed.")
    if not (frame and 1 <= frame[0] <= len(KINDS)):
        raise PeerError(f"{len(frame)} bytes that are no frame of this protocol.")
    kind = KINDS[frame[0] - 1]
    if mac_key is not None and kind not in BARE:
        frame, mac = frame[:-MAC_SIZE], frame[-MAC_SIZE:]
        if not hmac.compare_digest(mac, _mac(mac_key, sender, receiver, frame)):
            raise PeerError(f"a frame that {sender} did not send to {receiver}, or that was changed on its way.")
    body = _read(kind, frame)
    if wrong := _fault(body):
        raise PeerError(f"{wrong}.")
    return body


def chunks(r: Array) -> list[Array]:
    """A vector in parts that fit into a frame each."""
    if not 1 <= len(r) <= CHUNK * MAX_CHUNKS:
        raise InvalidInput(f"a vector to send must have 1 to {CHUNK * MAX_CHUNKS} numbers; got {len(r)}.")
    return [r[k : k + CHUNK] for k in range(0, len(r), CHUNK)]


class Assembly:
    """The newest vector of one neighbour and kind, from its chunks. ``order`` is ``(stage, counter or epoch)``.

    It holds the chunks of one vector only: those of an older one are dropped as soon as a newer one begins.
    """

    def __init__(self) -> None:
        self._order: tuple[int, int] = (-1, -1)
        self._parts: dict[int, Array] = {}
        self._chunks = 0  # of the vector under way; 0 when it is complete

    def add(
        self, order: tuple[int, int], chunk: int, chunks: int, data: Array, dimension: int | None = None
    ) -> Array | None:
        """Take a chunk in; the vector where it is complete, None where it is not, or where it is old news.

        With ``dimension``, the length that this stage's vectors have, others are refused at their first chunk.
        """
        if dimension is not None:
            expected = -(-dimension // CHUNK), min(CHUNK, dimension - CHUNK * chunk)
            if (chunks, len(data)) != expected:
                raise PeerError(
                    f"chunk {chunk} of {chunks} with {len(data)} numbers, which is not from a vector of {dimension}."
                )
        if order > self._order:
            self._order, self._parts, self._chunks = order, {}, chunks
        elif order < self._order or not self._chunks:
            return None
        if chunks != self._chunks:
            raise PeerError(f"a vector of {chunks} chunks, of which it was said before that it has {self._chunks}.")
        self._parts.setdefault(chunk, data)
        if len(self._parts) < chunks:
            return None
        parts, self._parts, self._chunks = self._parts, {}, 0
        return parts[0] if chunks == 1 else np.concatenate([parts[k] for k in range(chunks)])


def _written(body: Body) -> bytes:
    """A body after the byte of its kind, right or wrong."""
    parts = [form.write(value) for form, value in zip(FORMS[type(body)], body, strict=True)]
    return bytes([KINDS.index(type(body)) + 1]) + b"".join(parts)


def _read(kind: type[Body], frame: bytes) -> Body:
    """The body of this kind; ``PeerError`` where there is less or more."""
    bytes_left = _BytesLeft(frame, _called(kind))
    body = kind(*[form.read(bytes_left) for form in FORMS[kind]])
    if bytes_left.at < len(frame):
        raise PeerError(f"{bytes_left.what} and {len(frame) - bytes_left.at} bytes that do not belong to it.")
    return body


def _called(kind: type[Body]) -> str:
    """A kind in a sentence."""
    word = kind.__name__.lower()
    return word if kind is Pads else f"an {word}" if word[0] in "aeiou" else f"a {word}"


class _BytesLeft:
    """What is not read yet of a frame."""

    def __init__(self, frame: bytes, what: str) -> None:
        self.frame, self.what, self.at = frame, what, 1

    def take(self, count: int) -> bytes:
        begin, self.at = self.at, self.at + count
        if self.at > len(self.frame):
            raise PeerError(f"{self.what} that ends too early.")
        return self.frame[begin : self.at]


class _Form(NamedTuple):
    """How a field of some type is written, and read."""

    write: Callable[[Any], bytes]
    read: Callable[[_BytesLeft], Any]


def _read_integer(left: _BytesLeft) -> int:
    return int.from_bytes(left.take(8), "little")


def _read_flag(left: _BytesLeft) -> bool:
    (value,) = left.take(1)
    if value > 1:
        raise PeerError(f"{left.what} with the byte {value} for yes or no.")
    return bool(value)


def _read_bytes(left: _BytesLeft) -> bytes:
    return left.take(int.from_bytes(left.take(4), "little"))


def _read_text(left: _BytesLeft) -> str:
    try:
        return _read_bytes(left).decode()
    except UnicodeDecodeError:
        raise PeerError(f"{left.what} with a text that is no UTF-8.") from None


def _read_numbers(left: _BytesLeft) -> Array:
    data = _read_bytes(left)
    if len(data) % 8:
        raise PeerError(f"{left.what} of {len(data)} bytes, which are no float64 numbers.")
    return np.frombuffer(data, dtype="<f8").astype(np.float64, copy=False)


def _write_signatures(signatures: Mapping[int, bytes]) -> bytes:
    pairs = [index.to_bytes(8, "little") + with_lengths(signatures[index]) for index in sorted(signatures)]
    return len(pairs).to_bytes(8, "little") + b"".join(pairs)


def _read_signatures(left: _BytesLeft) -> dict[int, bytes]:
    count = _read_integer(left)
    if count > MAX_ACCEPTANCES:  # before anything is made of them
        raise PeerError(f"{left.what} with {count} acceptances; at most {MAX_ACCEPTANCES} are in one frame.")
    found: dict[int, bytes] = {}
    last = -1
    for _ in range(count):
        index = _read_integer(left)
        if index <= last:
            raise PeerError(f"{left.what} in which a party accepts twice, or out of order.")
        last, found[index] = index, _read_bytes(left)
    return found


_FORM_OF: dict[Any, _Form] = {
    int: _Form(lambda value: value.to_bytes(8, "little"), _read_integer),
    bool: _Form(lambda value: bytes([value]), _read_flag),
    bytes: _Form(with_lengths, _read_bytes),
    str: _Form(lambda value: with_lengths(value.encode()), _read_text),
    Array: _Form(lambda value: with_lengths(np.asarray(value, dtype="<f8").tobytes()), _read_numbers),
    Mapping[int, bytes]: _Form(_write_signatures, _read_signatures),
}
# How the fields of each kind are written: as their types say.
FORMS = {kind: tuple(_FORM_OF[of] for of in get_type_hints(kind).values()) for kind in KINDS}


def _mac(key: bytes, sender: str, receiver: str, frame: bytes) -> bytes:
    digest = blake2b(key=key, digest_size=16, person=b"sottovoce frame")
    digest.update(with_lengths(sender.encode(), receiver.encode()))
    digest.update(frame)
    return digest.digest()


def _fault(body: Body) -> str | None:
    """What is wrong with a body, as a phrase, or None."""
    if isinstance(body, Hello):
        return _hello_fault(body)
    if isinstance(body, Goodbye):
        fine = len(body.reason) <= MAX_REASON and body.reason.isprintable()
        return None if fine else f"a goodbye whose reason is not a line of at most {MAX_REASON} characters"
    if isinstance(body, Opening):
        return None if len(body.nonce) == NONCE else f"an opening of {len(body.nonce)} bytes"
    if isinstance(body, Pads):
        fine = 0 <= body.stage < 2**32 and len(body.tag) == TAG
        return None if fine else f"a tag of the pads of stage {body.stage}, of {len(body.tag)} bytes"
    if isinstance(body, Leave | Lost):
        return _statement_fault(body)
    if isinstance(body, Escrow | Answer):
        fine = 0 <= body.stage < 2**32 and 0 <= body.chunk < body.chunks <= MAX_CHUNKS
        fine = fine and 8 <= len(body.data) - SEAL <= 8 * CHUNK and (len(body.data) - SEAL) % 8 == 0
        if isinstance(body, Answer):
            fine = fine and 0 <= body.epoch < NUMBERS and len(body.route) in (0, TAG)
        kind = "an escrow" if isinstance(body, Escrow) else "an answer"
        return None if fine else f"{kind} of {len(body.data)} bytes that cannot be one"
    number = body.counter if isinstance(body, Value) else body.epoch
    least = 1 if isinstance(body, Value) else 0  # the first message has counter 1 (pdmm/node.py)
    if not (0 <= body.stage < 2**32 and least <= number < NUMBERS):
        return f"a {type(body).__name__.lower()} of stage {body.stage} with number {number}: out of range"
    if len(body.route) not in (0, TAG):
        return f"a {type(body).__name__.lower()} on a route with a tag of {len(body.route)} bytes"
    if isinstance(body, Verdict):
        if len(body.answer) not in (0, DIGEST):
            return f"a verdict on an answer with a digest of {len(body.answer)} bytes"
        return _acceptances_fault(body.acceptances)
    return _chunk_fault(body)


def _hello_fault(hello: Hello) -> str | None:
    if not 1 <= hello.version < 2**16:
        return f"a hello of version {hello.version}"
    for name in (hello.name, hello.to):
        if not NAME.fullmatch(name):
            return f"a hello with the name {name!r:.64}"
    if len(hello.parameters.encode()) > MAX_PARAMETERS:
        return f"a hello with parameters of more than {MAX_PARAMETERS} bytes"
    for field, value, sizes in (
        ("hash", hello.parameters_hash, (32, 32)),
        ("key", hello.offer, OFFER if hello.offer else (0, 0)),
        ("hash of a key", hello.known, (32, 32) if hello.known else (0, 0)),
        ("signature", hello.signature, (1, MAX_SIGNATURE)),
    ):
        if not sizes[0] <= len(value) <= sizes[1]:
            return f"a hello with a {field} of {len(value)} bytes"
    for stage, *numbers in (hello.said, hello.heard):
        if not (0 <= stage < 2**32 and all(0 <= number < NUMBERS for number in numbers)):
            return f"a hello of stage {stage} with numbers {numbers}: out of range"
    return None


def _statement_fault(said: Leave | Lost) -> str | None:
    kind, names = type(said).__name__.lower(), said[:2]
    if not all(NAME.fullmatch(name) for name in names):
        return f"a {kind} with the names {names[0]!r:.64} and {names[1]!r:.64}"
    if not 1 <= len(said.signature) <= MAX_SIGNATURE:
        return f"a {kind} with a signature of {len(said.signature)} bytes"
    if isinstance(said, Leave):
        counts = (said.over, said.heard, said.escrow)
        if not (all(0 <= count < 2**32 for count in counts) and 0 <= said.epoch < NUMBERS):
            return f"a leave with the numbers {counts} and {said.epoch}: out of range"
        if len(said.route) not in (0, TAG):
            return f"a leave on a route with a tag of {len(said.route)} bytes"
    return None


def _acceptances_fault(acceptances: Mapping[int, bytes]) -> str | None:
    if len(acceptances) > MAX_ACCEPTANCES:
        return f"a verdict with {len(acceptances)} acceptances; at most {MAX_ACCEPTANCES} are in one frame"
    for index, signature in acceptances.items():
        if not (0 <= index < MAX_PARTIES and 1 <= len(signature) <= MAX_SIGNATURE):
            return f"a verdict with an acceptance of party {index}, signed in {len(signature)} bytes"
    return None


def _chunk_fault(body: Value | Snapshot) -> str | None:
    data, kind = body.data, type(body).__name__.lower()
    if not 0 <= body.chunk < body.chunks <= MAX_CHUNKS:
        return f"a {kind} with chunk {body.chunk} of {body.chunks} (counted from 0, at most {MAX_CHUNKS})"
    if data.ndim != 1 or not 1 <= len(data) <= CHUNK or (body.chunk < body.chunks - 1 and len(data) < CHUNK):
        return (
            f"a {kind} whose chunk {body.chunk} of {body.chunks} has {data.size} numbers; all but the last have {CHUNK}"
        )
    if not np.isfinite(data).all():
        return f"a {kind} with a number that is not finite"
    return None
