"""A second implementation of docs/reference/protocol.md, written from that page, with nothing of the package: the
dialling end of one edge, for the statistic ``mean`` and the cost ``averaging``. It has one neighbour, on the route,
knows no restarts, keeps no pace, and nobody may leave its runs for good, or adds noise in them. Other links may stay
dead.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import ssl
import struct
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from runtime.mini_secrets import Secrets, concluded, grid, len32, offered
from websockets.exceptions import ConnectionClosedOK, InvalidHandshake
from websockets.sync.client import connect

HELLO, VALUE, SNAPSHOT, VERDICT, GOODBYE, OPENING, PADS, ESCROW, LEAVE, LOST, ANSWER = range(1, 12)
# Fields in their order: an integer, a flag, bytes, signatures by index.
FORMS = {
    HELLO: "ibbbbbbiiiiiib", VALUE: "iiiibb", SNAPSHOT: "iiiibb", VERDICT: "iifsbb", GOODBYE: "b", OPENING: "b",
    PADS: "ib", ESCROW: "iiib", LEAVE: "bbiiiiffbb", LOST: "bbb", ANSWER: "iiiibb",
}  # fmt: skip
MAX_FRAME = 2**20 + 1024
CURVE, ECDSA = ec.SECP256R1(), ec.ECDSA(hashes.SHA256())
Field = int | bytes | dict[int, bytes]
Fields = dict[int, Any]  # by their place, from 1
Edge = tuple[int, int]


# Frames


def written(form: str, value: Field) -> bytes:
    if form == "s":
        pairs = [struct.pack("<Q", index) + len32(value[index]) for index in sorted(value)]
        return struct.pack("<Q", len(pairs)) + b"".join(pairs)
    return len32(value) if form == "b" else struct.pack("<Q" if form == "i" else "<B", value)


def read(form: str, data: bytes, at: int) -> tuple[Field, int]:
    if form == "f":
        return data[at], at + 1
    if form == "b":
        size = int.from_bytes(data[at : at + 4], "little")
        assert len(data) >= at + 4 + size
        return data[at + 4 : at + 4 + size], at + 4 + size
    number, at = int.from_bytes(data[at : at + 8], "little"), at + 8
    if form == "i":
        return number, at
    signatures: dict[int, bytes] = {}
    for _ in range(number):
        index = int.from_bytes(data[at : at + 8], "little")
        assert index not in signatures
        signatures[index], at = read("b", data, at + 8)
    return signatures, at


def frame(kind: int, body: Fields) -> bytes:
    """What is not in the body is 0, or empty."""
    nothing: dict[str, Field] = {"i": 0, "f": 0, "b": b"", "s": {}}
    forms = enumerate(FORMS[kind], 1)
    return bytes([kind]) + b"".join(written(form, body.get(k, nothing[form])) for k, form in forms)


def fields_of(data: bytes) -> Fields:
    body: Fields = {}
    at = 1
    for k, form in enumerate(FORMS[data[0]], 1):
        body[k], at = read(form, data, at)
    assert at == len(data)
    return body


def doubles(data: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(data) // 8}d", data))


def vector(stage: int, number: int, r: list[float]) -> Fields:
    return {1: stage, 2: number, 3: 0, 4: 1, 5: struct.pack(f"<{len(r)}d", *r)}


def mac(key: bytes, sender: str, receiver: str, data: bytes) -> bytes:
    digest = hashlib.blake2b(key=key, digest_size=16, person=b"sottovoce frame")
    digest.update(len32(sender.encode()) + len32(receiver.encode()) + data)
    return digest.digest()


# Hellos and counts


def signed(hello: Fields, own: bytes, other: bytes) -> bytes:
    """``own`` is the nonce of its sender, ``other`` that of the receiver."""
    numbers = [str(hello.get(k, 0)).encode() for k in range(8, 14)]
    parts = (str(hello[1]).encode(), hello[2], hello[3], own, other, hello[4], hello.get(6, b""), *numbers)
    parts += (hello.get(14, b""),)
    return len32(b"sottovoce hello") + b"".join(len32(part) for part in parts)


def acceptance(digest: bytes, name: str, stage: int, epoch: int, route: bytes, answer: bytes) -> bytes:
    """What a party signs when it accepts an answer with this digest."""
    parts = (b"sottovoce accept", digest, name.encode(), str(stage).encode(), str(epoch).encode(), route, answer)
    return b"".join(len32(part) for part in parts)


def answer_digest(told: list[float]) -> bytes:
    """Of a salt, a step and multiples, as they travel."""
    salt, numbers = struct.pack("<8I", *map(int, told[:8])), (told[8:9], told[9:])
    parts = (b"sottovoce answer", salt, *(struct.pack(f"<{len(part)}d", *part) for part in numbers))
    return hashlib.sha256(b"".join(len32(part) for part in parts)).digest()


def first_of(edges: list[Edge]) -> tuple[int, int]:
    """The party of a route that says what the answer is, and how many edges the farthest one is away from it."""
    parties = sorted({end for edge in edges for end in edge})

    def farthest(i: int) -> int:
        found, hops = {i}, 0
        while len(found) < len(parties):
            found |= {end for edge in edges if found & set(edge) for end in edge}
            hops += 1
        return hops

    tree = len(edges) == len(parties) - 1
    first = min(parties, key=lambda i: (farthest(i) if tree else 0, i))
    return first, farthest(first)


def rerouted(
    digest: bytes, n: int, edges: list[Edge], planned: list[Edge], dead: set[Edge]
) -> tuple[list[Edge], bytes]:
    """The route of a run that nobody has left, and its tag."""
    kept, cut = list(edges), []
    for edge in sorted(dead):
        rest, reached = [other for other in kept if other != edge], {0}
        for _ in range(n):
            reached |= {end for other in rest if reached & set(other) for end in other}
        if len(reached) == n:
            kept, cut = rest, [*cut, edge]
    if not set(cut) & set(planned):
        return planned, b""
    parts = (digest, b"", *(str(end).encode() for edge in cut for end in edge))
    content = b"".join(len32(part) for part in parts)
    return kept, hashlib.blake2b(content, digest_size=16, person=b"sottovoce route").digest()


def limbs(number: int, bits: int, n: int) -> tuple[list[float], int]:
    """The limbs of a number, and their width."""
    widest = min(23, 28 - (n - 1).bit_length())
    count = -(-bits // widest)
    width = -(-bits // count)
    return [float(number >> width * k & 2**width - 1) for k in range(count)], width


# The party


@dataclass
class MiniParty:
    name: str
    index: int
    peer: str
    peer_index: int
    key: bytes  # PEM, like the certificates
    certificate: bytes
    peer_certificate: bytes
    run: dict  # the parameters
    private: bytes = field(default_factory=lambda: os.urandom(32 + 64))

    def __post_init__(self) -> None:
        self.parameters = json.dumps(self.run, sort_keys=True, separators=(",", ":"))
        self.digest = hashlib.sha256(self.parameters.encode()).digest()
        self.offer = offered(self.private)
        self.early: list[tuple[int, Fields]] = []
        self.A = 1.0 if self.index > self.peer_index else -1.0
        self.open = self.run["channels"] == "open"
        self.signer = serialization.load_pem_private_key(self.key, None)
        keys = [ec.EllipticCurvePublicKey.from_encoded_point(CURVE, bytes.fromhex(k)) for k in self.run["keys"]]
        certified = x509.load_pem_x509_certificate(self.peer_certificate).public_key()
        assert (keys[self.index], keys[self.peer_index]) == (self.signer.public_key(), certified)
        self.keys = dict(zip(self.run["parties"], keys, strict=True))
        self.lost: set[tuple[str, str]] = set()
        self.edges = self._indices(self.run["edges"])
        self.planned = self._indices(self.run.get("overlay", self.run["edges"]))

    def _indices(self, pairs: list[list[str]]) -> list[Edge]:
        return [tuple(self.run["parties"].index(name) for name in pair) for pair in pairs]

    def route(self) -> tuple[float, float, int, bytes, tuple[int, int], float]:
        """By what is known: ``c`` of this party's edge, ``theta``, how many edges are folded, the tag, who is first and
        its hops to the others, and the least ``c``."""
        number = self.run["parties"].index
        dead = {tuple(sorted(map(number, pair))) for pair in self.lost if pair[::-1] in self.lost}
        route, tag = rerouted(self.digest, len(self.keys), self.edges, self.planned, dead)
        on, edges = (self.run.get("fallback", self.run), self.edges) if tag else (self.run, self.planned)
        folded = len(self.edges) if tag else len(self.edges) - len(route)
        c = on["c"] if isinstance(on["c"], list) else [on["c"]]
        least = min(c[edges.index(edge)] for edge in route) if len(c) > 1 else c[0]
        return self._c(on["c"], edges), on["theta"], folded, tag, first_of(route), least

    def _c(self, c: float | list[float], edges: list[Edge]) -> float:
        own = tuple(sorted((self.index, self.peer_index)))
        return c[edges.index(own)] if isinstance(c, list) else c

    def _hear_lost(self, body: Fields) -> None:
        by, other = body[1].decode(), body[2].decode()
        ends = tuple(sorted(self.run["parties"].index(name) for name in (by, other)))
        assert ends in self.edges
        if (by, other) not in self.lost:
            parts = (b"sottovoce lost", self.digest, body[1], body[2])
            self.keys[by].verify(body[3], b"".join(len32(part) for part in parts), ECDSA)
            self.lost.add((by, other))
            self._send(LOST, body)  # on all links, and there is one

    def hello(self, version: int = 4) -> Fields:
        """One that knows no restarts has said and heard nothing yet: the numbers from 8 on are 0."""
        hello: Fields = {
            1: version, 2: self.name.encode(), 3: self.peer.encode(), 4: self.digest, 5: self.parameters.encode(),
            6: self.offer,
        }  # fmt: skip
        return hello | {7: self.signer.sign(signed(hello, self.nonces[0], self.nonces[1]), ECDSA)}

    def connect(self, address: str, version: int = 4, changes: Fields | None = None) -> None:
        """Dial until somebody listens; exchange openings and hellos."""
        at, tls = f"{'ws' if self.open else 'wss'}://{address}/{self.name}", None if self.open else self._tls()
        deadline = time.monotonic() + 10
        while True:
            try:
                self.line = connect(
                    at, ssl=tls, subprotocols=["sottovoce.v4"], compression=None, proxy=None, max_size=MAX_FRAME
                )
                break
            except (OSError, InvalidHandshake):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        if not self.open:  # exactly this certificate, and not one that it has signed
            shown = ssl.DER_cert_to_PEM_cert(self.line.socket.getpeercert(binary_form=True))
            assert x509.load_pem_x509_certificate(shown.encode()) == x509.load_pem_x509_certificate(
                self.peer_certificate
            )
        own = os.urandom(32)
        self.line.send(frame(OPENING, {1: own}))
        kind, opening = self._read()
        assert kind == OPENING
        self.nonces = [own, opening[1]]  # this party dials: its name is the smaller one
        self.line.send(frame(HELLO, self.hello(version) | (changes or {})))
        kind, theirs = self._read()
        assert kind == HELLO
        self._meet(theirs)

    def _tls(self) -> ssl.SSLContext:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.minimum_version = ssl.TLSVersion.TLSv1_3
        tls.check_hostname = False
        tls.load_verify_locations(cadata=self.peer_certificate.decode())
        with tempfile.NamedTemporaryFile() as own:
            own.write(self.certificate + self.key)
            own.flush()
            tls.load_cert_chain(own.name)
        return tls

    def talk(self, address: str, version: int, changes: Fields) -> None:
        """Say this hello, and listen to what comes of it."""
        self.connect(address, version, changes)
        while True:
            self._read()

    def _meet(self, theirs: Fields) -> None:
        assert (theirs[1], theirs[2], theirs[3]) == (4, self.peer.encode(), self.name.encode())
        assert (theirs[4], theirs[5]) == (self.digest, self.parameters.encode())
        self.keys[self.peer].verify(theirs[7], signed(theirs, self.nonces[1], self.nonces[0]), ECDSA)
        assert [theirs.get(k, 0) for k in (11, 12, 13)] == [0, 0, 0]  # it can have heard nothing
        if theirs[6]:  # or it refuses this party, and says why in a moment
            shared = concluded(self.private, theirs[6])
            self.secrets = Secrets(self.digest, {self.name: self.offer, self.peer: theirs[6]}, shared)
            self.mac_key = self.secrets.mac_key(b"".join(self.nonces))

    def _read(self) -> tuple[int, Fields]:
        data = self.line.recv(timeout=60)
        assert isinstance(data, bytes)
        kind = data[0]
        if self.open and kind not in (OPENING, HELLO):
            data, seal = data[:-16], data[-16:]
            assert seal == mac(self.mac_key, self.peer, self.name, data)
        return kind, fields_of(data)

    def _send(self, kind: int, body: Fields) -> None:
        data = frame(kind, body)
        if self.open:
            data += mac(self.mac_key, self.name, self.peer, data)
        self.line.send(data)

    def _frames(self, stage: int) -> Iterator[tuple[int, Fields]]:
        """Frames of a stage; those of the next are kept for it."""
        kept, self.early = self.early, []
        yield from kept
        while True:
            kind, body = self._read()
            if kind == LOST:
                self._hear_lost(body)
                yield LOST, {}
                continue
            if kind == GOODBYE or body[1] < stage:
                continue
            if body[1] > stage:
                self.early.append((kind, body))
                yield 0, {}  # this party lags; what it says next is answered
            else:
                yield kind, body

    def agree(
        self, stage: int, s: list[float], variance: float | None, tol: float, size: float, padded: bytes = b""
    ) -> list[float]:
        """One agreement on the average of ``s``, whose public size is ``size``; ``padded`` has modular pads."""
        n, A, sigma = len(self.run["parties"]), self.A, math.sqrt(variance or 0.0)
        held = written = [0.0] * len(s)
        q, g = [Fraction(-2.0 * v) for v in s], Fraction(0)
        if variance is not None:
            held, written = (self.secrets.pads(stage, name, len(s), variance) for name in (self.name, self.peer))
            g = Fraction(grid(variance))
            q = [round(v / g) * g for v in q]
            padded = struct.pack(f"<{2 * len(s)}d", *held, *written)  # this party has the smaller name
        tag = self.secrets.tag(stage, padded)
        self._send(PADS, {1: stage, 2: tag})
        counter, newest, epoch, route = 0, 0, 0, None
        earlier: dict[tuple[bytes, int], list[float]] = {}  # what was accepted on routes that were given up
        shown: dict[tuple[bytes, int], dict[int, bytes]] = {}
        no, ok, frozen_x = False, {}, s
        fine, told, claims = False, [], {}  # whether the epoch looks right; its answer; acceptances before it is known

        def wake() -> tuple[list[float], list[float]]:
            nonlocal counter
            counter += 1
            x = [-(a + A * b) / (2 + c) for a, b in zip(w, D, strict=True)]
            r = [d + pad + 2 * c * A * v for d, pad, v in zip(D, e, x, strict=True)]
            self._send(VALUE, vector(stage, counter, r) | {6: route})
            return x, r

        frames = self._frames(stage)
        kind, body = LOST, {}
        while True:
            if kind == LOST and self.route()[3] != route:
                if self.index in ok:
                    earlier[route, epoch] = told
                c, theta, folded, route, (first, hops), least = self.route()
                stretch = Fraction(c) / Fraction(self._c(self.run["c"], self.planned)) if route else 1
                u = [(Fraction(a) + Fraction(b)) / 2 for a, b in zip(held, written, strict=True)]
                half = [(Fraction(a) - Fraction(b)) / 2 * stretch for a, b in zip(held, written, strict=True)]
                half = [round(2 * v / g) * g / 2 if g else v for v in half]
                w = [float(v + Fraction(A) * (p + h)) for v, p, h in zip(q, u, half, strict=True)]
                e = [float(2 * h) for h in half]
                grown = sigma * max(1.0, float(stretch))
                largest = 2.0**64 * n**2 * (1 + c) * (10 * grown + size)
                D, theirs, no, ok, frozen_x, frozen_D, frozen = [0.0] * len(s), None, False, {}, s, [], 0
                fine, told, claims = False, [], {}
                _, r = wake()
            kind, body = next(frames)
            if kind == PADS:
                assert body[2] == tag
                continue
            number, on = body.get(2, 0), body.get(5 if kind == VERDICT else 6, b"")
            if kind in (VALUE, SNAPSHOT):
                assert max(map(abs, doubles(body[5]))) <= largest
            if kind in (SNAPSHOT, VERDICT):
                assert 1 <= number <= epoch + 2**20
            if kind == VERDICT:
                for index, signature in body[4].items():
                    who = self.run["parties"][index]
                    signed = acceptance(self.digest, who, stage, number, on, body[6])
                    self.keys[who].verify(signature, signed, ECDSA)
                shown[on, number] = shown.get((on, number), {}) | body[4]
                if len(shown[on, number]) == n and (on, number) in earlier and not body.get(3, 0):
                    assert body[6] == answer_digest(earlier[on, number])
                    return [m * earlier[on, number][8] for m in earlier[on, number][9:]]
            if kind in (VALUE, SNAPSHOT, VERDICT, ANSWER) and on != route:
                continue
            if kind == VERDICT and number >= epoch:
                assert self.index not in body[4] or (number == epoch and self.index in ok)
            if kind == VALUE and number > newest:
                newest = number
                D = [(1 - theta) * d + theta * v for d, v in zip(D, doubles(body[5]), strict=True)]
            if kind in (SNAPSHOT, VERDICT) and number > epoch:
                epoch, frozen, frozen_D, theirs, no, ok = number, number, D, None, False, {}
                fine, told, claims = False, [], {}
                frozen_x, r = wake()
                self._send(SNAPSHOT, vector(stage, epoch, r) | {6: route})
            before = (no, dict(ok))
            if kind == SNAPSHOT and number == frozen and theirs is None:
                theirs = doubles(body[5])
                rho = max(abs(a - b) for a, b in zip(theirs, frozen_D, strict=True))
                answer, largest_r = max(map(abs, frozen_x)), max(map(abs, (*theirs, *r)))
                tau = max(tol * max(1.0, answer) * min(c, 4.0), 16 * 2.0**-52 * largest_r)
                own_size = max(size, answer, max(map(abs, w)) - 10 * grown * math.sqrt(1 + folded))
                settled = largest_r <= 4 * (10 * grown * math.sqrt(1 + folded) + 2 * n * (1 + c) * own_size)
                assert rho > tau or tau > 16 * 2.0**-52 * largest_r or settled
                no, fine = no or rho > tau, rho <= tau
                own_r, top = max(map(abs, r)), max(1.0, answer)
                step = 2 * hops * max(tol * top, 16 * 2.0**-52 * max(own_r, 2 * grown * math.sqrt(1 + folded)) / least)
                if variance is None:
                    told = [0.0] * 8 + [1 / n] + [float(round(n * v)) for v in frozen_x]
                    assert all(abs(n * v - m) < 0.1 for v, m in zip(frozen_x, told[9:], strict=True))
                elif fine and self.index == first:
                    words = struct.unpack("<8I", os.urandom(32))  # this party knows no restarts
                    told = [*map(float, words), step, *(float(round(v / step)) for v in frozen_x)]
                    sealed = self.secrets.seal(stage, "answer", self.name, told)
                    self._send(ANSWER, {1: stage, 2: epoch, 4: 1, 5: sealed, 6: route})
            if kind == ANSWER and number == frozen:
                told = self.secrets.unseal(stage, "answer", self.peer, body[5])
            if fine and told and not no and self.index not in ok:
                if all(abs(m * told[8] - v) <= told[8] for m, v in zip(told[9:], frozen_x, strict=True)):
                    assert variance is None or told[8] <= 8 * step
                    signed = acceptance(self.digest, self.name, stage, epoch, route, answer_digest(told))
                    ok = claims | {self.index: self.signer.sign(signed, ECDSA)}
                else:
                    no = True
            if kind == VERDICT and number == frozen:
                no, claims = no or bool(body.get(3, 0)), claims | body[4]
                assert not claims or self.index not in ok or body[6] == answer_digest(told)
                ok = claims | ok if self.index in ok else ok
            if before != (no, ok):
                about = answer_digest(told) if ok else b""
                self._send(VERDICT, {1: stage, 2: epoch, 3: int(no), 4: ok, 5: route, 6: about})
            if not no and len(ok) == n:
                return [m * told[8] for m in told[9:]]
            if kind in (VALUE, 0):
                wake()

    def mean(self, cells: list[str]) -> float:
        """The statistic ``mean`` of one column: its rows, and the sum of their multiples of 10^-9, in one stage."""
        assert "noise" not in self.run
        assert len(cells) >= self.run["statistic"]["least_rows"]
        n, bits = len(self.run["parties"]), 256
        integers = [len(cells), sum(round(Fraction(cell) * 10**9) for cell in cells), 0]
        assert all(abs(integer) <= (2 ** (bits - 1) - 1) // n for integer in integers)
        stream = self.secrets.stream(bits // 8 * len(integers), 0, "modular")
        pads = [int.from_bytes(stream[k : k + bits // 8], "little") for k in range(0, len(stream), bits // 8)]
        sign = 1 if self.index < self.peer_index else -1
        hidden = [(own + sign * pad) % 2**bits for own, pad in zip(integers, pads, strict=True)]
        words = [covered >> 64 * k & 2**64 - 1 for covered in hidden for k in range(bits // 64)]
        own, width = [limb for word in words for limb in limbs(word, 64, n)[0]], limbs(0, 64, n)[1]
        tol = min(self.run["tol"], 0.1 / (3 * 2**28))
        told = [n * v for v in self.agree(0, own, None, tol, 2.0**width, stream)]
        assert all(abs(v - round(v)) < 0.1 for v in told)
        totals = []
        for first in range(0, len(told), len(told) // len(integers)):
            number = told[first : first + len(told) // len(integers)]
            each = len(number) // (bits // 64)
            total = sum(round(v) << 64 * (k // each) + width * (k % each) for k, v in enumerate(number)) % 2**bits
            totals.append(total - 2**bits if total >> bits - 1 else total)
        rows, multiples, objection = totals
        assert rows >= len(cells)
        assert objection == 0
        return float(Fraction(multiples, rows * 10**9))

    def averaging(self, rows: list[float]) -> float:
        """The cost ``averaging`` of one row: one stage behind Gaussian pads."""
        asked, tol = self.run["cost"], self.run["tol"]
        variance = asked["mask"]["variance"]
        assert len(rows) == 1
        assert 2 * abs(rows[0]) <= 2 * asked["size"]
        return self.agree(0, rows, variance, tol, max(1.0, 12 * grid(variance) / (3 * tol)))[0]

    def leave(self) -> None:
        self._send(GOODBYE, {1: b"finished"})
        with contextlib.suppress(ConnectionClosedOK):
            self.line.close()  # waits until the neighbour has closed its side
