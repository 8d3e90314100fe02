"""One edge of a party, without I/O: what is new for the neighbour, and what its frames come to.

A connection begins with a handshake (``handshake.py``). Then frames carry the newest of three things: the value ``r``
of eqs. 3 and 5 with its counter, the frozen ``r`` of an epoch, and a verdict on it; and before these, in each stage, a
tag of its pads. Nothing is queued: a slow or absent neighbour is told the newest of each when it is there again.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from ...costs.base import Array
from ...errors import PeerError
from ..keys.edge_secrets import EdgeSecrets
from ..keys.identity import Identity
from .answers import EXTRA
from .escrow import seal, unseal
from .frames import (
    CHUNK,
    MAX_ACCEPTANCES,
    Answer,
    Assembly,
    Escrow,
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
)  # fmt: skip
from .sealing import sealed, unsealed

STAGES = 256  # more than any run has
AHEAD = 16  # chunks, a million numbers, of a vector whose length is not known yet


@dataclass(frozen=True, eq=False)
class Complete:
    """A whole vector from a neighbour: a value and its counter, a snapshot or an answer and its epoch, or an escrow."""

    kind: Literal["value", "snapshot", "answer", "escrow"]
    stage: int
    number: int
    data: Array
    route: bytes = b""


@dataclass(eq=False)
class News:
    """What a neighbour could be told: ``(stage, counter or epoch, r)`` on a route, verdicts, the tag of the pads."""

    pads: Pads | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    snapshot: tuple[int, int, Array] | None = None
    value: tuple[int, int, Array] | None = None
    leaves: list[Leave] = field(default_factory=list)  # before all else: what follows may hang on them
    losts: Collection[Lost] = ()  # these too
    route: bytes = b""
    escrow: tuple[int, Array] | None = None
    answer: tuple[int, int, Array] | None = None


class Link:
    """The edge between this party and one neighbour."""

    def __init__(
        self,
        me: Identity,
        name: str,
        index: int,
        certificate: str,
        parameters: str,
        secrets: EdgeSecrets,
        *,
        authenticate: bool,
    ) -> None:
        """``parameters`` of the run are ``canonical``. ``authenticate``: a MAC on every frame, where the transport does
        not authenticate by itself."""
        self.me, self.name, self.index, self.certificate, self.parameters = me, name, index, certificate, parameters
        self.secrets, self.authenticate = secrets, authenticate
        self.farewell: str | None = None
        self.pads: dict[int, bytes] = {}  # tags of the pads here: of the stage under way, and of the next
        self.expected: dict[int, int] = {}  # the length of the vectors of the stage under way
        self.lags: int | None = None  # the stage in which the neighbour was last heard, where that is over here
        self.forget()

    def forget(self) -> None:
        """A connection has begun or ended: tell everything again."""
        self.ready = False
        self.mac_key: bytes | None = None
        self.their_pads: Pads | None = None
        self.told: dict[str, object] = {}
        self.said: dict[int, Verdict] = {}  # by stage, the verdicts that were said to the neighbour, in all
        self.shown: dict[int, Verdict] = {}  # and those that it has said
        self.parts: deque[bytes] = deque()
        self.assemblies = {kind: Assembly() for kind in ("value", "snapshot", "answer", "escrow")}

    def begin(self, nonces: bytes) -> None:
        """The handshake is done; both sides' nonces make the MACs of this connection its own."""
        self.forget()
        self.mac_key = self.secrets.mac_key(nonces) if self.authenticate else None
        self.ready = True

    def pad(self, stage: int, content: bytes) -> None:
        """These are the pads of a stage, in bytes."""
        self.pads[stage] = self.secrets.check(stage, content)

    # What goes out

    def next_frame(self, news: News) -> bytes | None:
        """The next frame, or None: the tag of the pads, the value, the snapshot, the answer, verdicts, each once, the
        newest. In this order, as who enters an epoch should have heard what others froze in it."""
        if not self.ready:
            return None
        if self.parts:
            return self.parts.popleft()
        for leave in news.leaves:
            if self._once(f"leave {leave.signer}", leave):
                return self._sealed(leave)
        for lost in news.losts:
            if self._once(f"lost {lost.by} {lost.other}", True):
                return self._sealed(lost)
        if news.pads is not None and self._once("pads", news.pads):
            return self._sealed(news.pads)
        if news.escrow is not None and self._once("escrow", news.escrow[0]):  # before the first value
            stage, estate = news.escrow
            entrusted = seal(self.secrets.escrow_key(stage, self.me.name), stage, estate)
            self.parts.extend(self._sealed(part) for part in entrusted)
            return self.parts.popleft()
        for kind, frame in (("value", Value), ("snapshot", Snapshot)):
            said = news.snapshot if kind == "snapshot" else news.value
            if said is not None and self._once(kind, said[:2]):
                stage, number, r = said
                pieces = chunks(r)
                bodies = (frame(stage, number, k, len(pieces), piece, news.route) for k, piece in enumerate(pieces))
                self.parts.extend(self._sealed(body) for body in bodies)
                return self.parts.popleft()
        if news.answer is not None and self._once("answer", news.answer[:2]):
            stage, epoch, numbers = news.answer
            texts = sealed(self.secrets.answer_key(stage, self.me.name), numbers, b"sottovoce answer")
            answers = (Answer(stage, epoch, k, len(texts), data, news.route) for k, data in enumerate(texts))
            self.parts.extend(self._sealed(answer) for answer in answers)
            return self.parts.popleft()
        for verdict in news.verdicts:
            if (news_of_it := self._unsaid(verdict)) is not None:
                return self._sealed(news_of_it)
        if self.farewell is not None and self._once("goodbye", self.farewell):
            return self._sealed(Goodbye(self.farewell))
        return None

    def _unsaid(self, verdict: Verdict) -> Verdict | None:
        """What of it the neighbour has not been told on this connection, as much as one frame holds."""
        told = self.said.get(verdict.stage)
        known = told.acceptances if told is not None and told.about == verdict.about else {}
        unknown = ((i, signature) for i, signature in verdict.acceptances.items() if i not in known)
        part = verdict._replace(acceptances=dict(islice(unknown, MAX_ACCEPTANCES)))
        if told is not None and (told.about, told.no) == (verdict.about, verdict.no) and not part.acceptances:
            return None
        self.said[verdict.stage] = part.after(told)
        return part

    def _once(self, what: str, content: object) -> bool:
        new = self.told.get(what) != content
        self.told[what] = content
        return new

    def _sealed(self, body: Value | Snapshot | Answer | Verdict | Goodbye | Pads | Escrow | Leave | Lost) -> bytes:
        return encode(body, mac_key=self.mac_key, sender=self.me.name, receiver=self.name)

    # What comes in

    def receive(self, frame: bytes) -> Complete | Verdict | Goodbye | Pads | Leave | Lost | None:
        """What a frame completes, or None. ``PeerError`` where the neighbour breaks the protocol."""
        if not self.ready:
            raise PeerError("a frame came before the hello.")
        body = decode(frame, mac_key=self.mac_key, sender=self.name, receiver=self.me.name)
        if isinstance(body, Hello | Opening):
            raise PeerError(f"the {type(body).__name__.lower()} came again.")
        if isinstance(body, Pads):
            self.their_pads = body
        if isinstance(body, Verdict | Goodbye | Pads | Leave | Lost):
            return body
        if isinstance(body, Escrow):
            return self._entrusted(body)
        if isinstance(body, Answer):
            return self._answered(body)
        if self.their_pads is None or self.their_pads.stage != body.stage:
            raise PeerError(f"a {type(body).__name__.lower()} of stage {body.stage} before the tag of its pads.")
        kind: Literal["value", "snapshot"] = "value" if isinstance(body, Value) else "snapshot"
        number = body.counter if isinstance(body, Value) else body.epoch
        dimension = self.expected.get(body.stage)
        if dimension is None and body.chunks > AHEAD:
            raise PeerError(f"a vector of {body.chunks} chunks for a stage that has not begun; at most {AHEAD} are.")
        whole = self.assemblies[kind].add((body.stage, number), body.chunk, body.chunks, body.data, dimension)
        return None if whole is None else Complete(kind, body.stage, number, whole, body.route)

    def _entrusted(self, body: Escrow) -> Complete | None:
        if self.secrets.forgotten(body.stage):  # it is over here; nobody has to be stood in for
            return None
        if body.stage >= STAGES:  # keys are made one after the other
            raise PeerError(f"an escrow of stage {body.stage}, which no run has.")
        d = self.expected.get(body.stage)
        most = AHEAD if d is None else -(-d * (d + 1) // CHUNK)  # an estate is a matrix and a vector, at most
        if body.chunks > most:
            raise PeerError(f"an escrow of {body.chunks} chunks; in this stage {most} are the most.")
        data = unseal(self.secrets.escrow_key(body.stage, self.name), body)
        whole = self.assemblies["escrow"].add((body.stage, 0), body.chunk, body.chunks, data)
        return None if whole is None else Complete("escrow", body.stage, 0, whole)

    def _answered(self, body: Answer) -> Complete | None:
        if self.secrets.forgotten(body.stage):
            return None
        if body.stage >= STAGES:
            raise PeerError(f"an answer of stage {body.stage}, which no run has.")
        dimension = self.expected.get(body.stage)
        if dimension is None and body.chunks > AHEAD:
            raise PeerError(f"an answer of {body.chunks} chunks for a stage that has not begun; at most {AHEAD} are.")
        data = unsealed(self.secrets.answer_key(body.stage, self.name), body, "an answer")
        order, wanted = (body.stage, body.epoch), None if dimension is None else dimension + EXTRA
        whole = self.assemblies["answer"].add(order, body.chunk, body.chunks, data, wanted)
        return None if whole is None else Complete("answer", body.stage, body.epoch, whole, body.route)


def canonical(parameters: Mapping[str, Any]) -> str:
    """The one way to write parameters down: sorted keys, shortest numbers."""
    return json.dumps(parameters, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(parameters: str) -> bytes:
    return hashlib.sha256(parameters.encode()).digest()
