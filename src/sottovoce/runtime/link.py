"""One edge of a party, without I/O: who is at the other end, do both mean the same run, and what is new for it.

Every connection begins with a *hello* from both sides: version, names, the public parameters and their hash, a key for
the secrets of this edge, all signed. Then frames carry the newest of three things: the value ``r`` of eqs. 3 and 5 with
its counter, the frozen ``r`` of an epoch, and a verdict on it. Nothing is queued: a slow or absent neighbour is told
the newest of each when it is there again.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..costs.base import Array
from ..errors import PeerError
from .escrow import seal, unseal
from .frames import Assembly, Escrow, Goodbye, Hello, Leave, Snapshot, Value, Verdict, chunks, decode, encode
from .identity import Identity, verify
from .secrets import EdgeSecrets

VERSION = 1
AHEAD = 16  # chunks, a million numbers, of a vector whose length is not known yet


@dataclass(frozen=True, eq=False)
class Complete:
    """A whole vector from a neighbour: a value and its counter, a snapshot and its epoch, or an escrow."""

    kind: Literal["value", "snapshot", "escrow"]
    stage: int
    number: int
    data: Array


@dataclass(eq=False)
class News:
    """What a neighbour could be told: ``(stage, counter or epoch, r)``, and verdicts."""

    verdicts: list[Verdict] = field(default_factory=list)
    snapshot: tuple[int, int, Array] | None = None
    value: tuple[int, int, Array] | None = None
    leaves: list[Leave] = field(default_factory=list)  # before all else: what follows may hang on them
    escrow: tuple[int, Array] | None = None


class Disagreement(PeerError):
    """The other party is in another run, or wants other parameters."""


class Link:
    """The edge between this party and one neighbour."""

    def __init__(
        self,
        me: Identity,
        name: str,
        index: int,
        certificate: str,
        parameters: Mapping[str, Any],
        secrets: EdgeSecrets,
        *,
        authenticate: bool,
    ) -> None:
        """``authenticate``: a MAC on every frame, where the transport does not authenticate by itself."""
        self.me, self.name, self.index, self.certificate = me, name, index, certificate
        self.parameters = canonical(parameters)
        self.secrets, self.authenticate = secrets, authenticate
        self.farewell: str | None = None
        self.expected: dict[int, int] = {}  # the length of the vectors of the stage under way
        self.lags: int | None = None  # the stage in which the neighbour was last heard, where that is over here
        self.forget()

    def forget(self) -> None:
        """A connection has begun or ended: greet again, and tell everything again."""
        self.greeted = self.ready = False
        self.told: dict[str, object] = {}
        self.parts: deque[bytes] = deque()
        self.assemblies = {"value": Assembly(), "snapshot": Assembly(), "escrow": Assembly()}

    # What goes out

    def next_frame(self, news: News) -> bytes | None:
        """The next frame, or None: a hello first, then verdicts, the snapshot, the value, each once, the newest."""
        if not self.greeted:
            self.greeted = True
            return encode(self.hello())
        if not self.ready:
            return None
        if self.parts:
            return self.parts.popleft()
        for leave in news.leaves:
            if self._once(f"leave {leave.signer}", leave):
                return self._sealed(leave)
        for verdict in news.verdicts:
            if self._once(f"verdict {verdict.stage}", verdict):
                return self._sealed(verdict)
        if news.escrow is not None and self._once("escrow", news.escrow[0]):  # before the first value
            stage, estate = news.escrow
            sealed = seal(self.secrets.escrow_key(stage, self.me.name), stage, estate)
            self.parts.extend(self._sealed(part) for part in sealed)
            return self.parts.popleft()
        for kind, frame in (("snapshot", Snapshot), ("value", Value)):
            said = news.snapshot if kind == "snapshot" else news.value
            if said is not None and self._once(kind, said[:2]):
                stage, number, r = said
                pieces = chunks(r)
                self.parts.extend(self._sealed(frame(stage, number, k, len(pieces), p)) for k, p in enumerate(pieces))
                return self.parts.popleft()
        if self.farewell is not None and self._once("goodbye", self.farewell):
            return self._sealed(Goodbye(self.farewell))
        return None

    def _once(self, what: str, content: object) -> bool:
        new = self.told.get(what) != content
        self.told[what] = content
        return new

    def _sealed(self, body: Value | Snapshot | Verdict | Goodbye | Escrow | Leave) -> bytes:
        key = self.secrets.mac_key if self.authenticate else None
        return encode(body, mac_key=key, sender=self.me.name, receiver=self.name)

    def hello(self) -> Hello:
        """Who this is, what run it means, and its key for this edge, signed."""
        unsigned = Hello(
            VERSION, self.me.name, self.name, digest(self.parameters), self.parameters, self.secrets.public, b""
        )
        return Hello(*unsigned[:-1], self.me.sign(signed_part(unsigned)))

    # What comes in

    def receive(self, frame: bytes) -> Complete | Verdict | Goodbye | Leave | None:
        """What a frame completes, or None. ``PeerError`` where the neighbour breaks the protocol."""
        key = self.secrets.mac_key if self.authenticate and self.ready else None
        body = decode(frame, mac_key=key, sender=self.name, receiver=self.me.name)
        if isinstance(body, Hello):
            self._greeted_by(body)
            return None
        if not self.ready:
            raise PeerError("a frame came before the hello.")
        if isinstance(body, Verdict | Goodbye | Leave):
            return body
        if isinstance(body, Escrow):
            return self._entrusted(body)
        kind: Literal["value", "snapshot"] = "value" if isinstance(body, Value) else "snapshot"
        number = body.counter if isinstance(body, Value) else body.epoch
        dimension = self.expected.get(body.stage)
        if dimension is None and body.chunks > AHEAD:
            raise PeerError(f"a vector of {body.chunks} chunks for a stage that has not begun; at most {AHEAD} are.")
        whole = self.assemblies[kind].add((body.stage, number), body.chunk, body.chunks, body.data, dimension)
        return None if whole is None else Complete(kind, body.stage, number, whole)

    def _entrusted(self, body: Escrow) -> Complete | None:
        if body.chunks > AHEAD and body.stage not in self.expected:
            raise PeerError(f"an escrow of {body.chunks} chunks for a stage that has not begun; at most {AHEAD} are.")
        data = unseal(self.secrets.escrow_key(body.stage, self.name), body)
        whole = self.assemblies["escrow"].add((body.stage, 0), body.chunk, body.chunks, data)
        return None if whole is None else Complete("escrow", body.stage, 0, whole)

    def _greeted_by(self, hello: Hello) -> None:
        if (hello.name, hello.to) != (self.name, self.me.name):
            raise PeerError(f"a hello from {hello.name!r} to {hello.to!r} on the edge {self.name} - {self.me.name}.")
        # Before anything that it says is believed: over open channels anybody could feign a dispute.
        if not verify(self.certificate, signed_part(hello), hello.signature):
            raise PeerError(f"the hello of {self.name} is not signed by its certificate.")
        if hello.version != VERSION:
            raise Disagreement(f"{self.name} speaks version {hello.version} of the protocol, this party {VERSION}.")
        if hello.parameters_hash != digest(hello.parameters):
            raise PeerError(f"the parameters of {self.name} do not have the hash that it gave.")
        if hello.parameters != self.parameters:
            raise Disagreement(difference(self.name, self.parameters, hello.parameters))
        self.secrets.meet(hello.ephemeral)  # refuses a key that has changed: the pads hang on it
        self.ready = True


def canonical(parameters: Mapping[str, Any]) -> str:
    """The one way to write parameters down: sorted keys, shortest numbers."""
    return json.dumps(parameters, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(parameters: str) -> bytes:
    return hashlib.sha256(parameters.encode()).digest()


def signed_part(hello: Hello) -> bytes:
    """All of a hello but its signature, each part with its length."""
    parts = (
        b"sottovoce hello", str(hello.version).encode(), hello.name.encode(), hello.to.encode(), hello.parameters_hash,
        hello.ephemeral,
    )  # fmt: skip
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def difference(name: str, mine: str, theirs: str) -> str:
    """Which parameters differ, with both values."""
    try:
        here, there = flat(json.loads(mine)), flat(json.loads(theirs))
    except (ValueError, RecursionError):
        return f"{name} sent parameters that are not JSON."
    differing = [key for key in sorted({*here, *there}) if here.get(key) != there.get(key)]
    shown = {key: "".join(c if c.isprintable() else "?" for c in key[:60]) for key in differing[:5]}  # they are theirs
    told = "; ".join(f"{shown[key]} is {here.get(key)!r:.60} here and {there.get(key)!r:.60} there" for key in shown)
    return f"{name} means another run: {told}. All parties must have the same [run] table."


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys."""
    if not isinstance(value, dict):
        return {prefix: value}
    found: dict[str, Any] = {}
    for key, entry in value.items():
        found |= flat(entry, f"{prefix}.{key}" if prefix else str(key))
    return found
