"""The beginning of a connection, without I/O: who is there, do both mean the same run, has one of them forgotten it.

Both sides send an *opening*, 32 random bytes. Then the one that dialled says *hello*, and the other one answers with
its own, which may hang on the first: version, names, the public parameters, an offer for the secrets of this edge, and
how far each has spoken and heard. A hello is signed together with both openings, so that one of another connection, or
of another run, is none. Only what has come so far may take the place of a connection that is there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from ...errors import PeerError
from ..keys.identity import public_key, with_lengths
from ..keys.public_keys import signed_by
from .agreement import ROLLED_BACK, Final
from .frames import NONCE, Hello, Opening, Progress, decode, encode
from .link import Link, digest

VERSION = 4


class Disagreement(PeerError):
    """The other party is in another run, or wants other parameters."""


class LostJournal(PeerError):
    """The other party has another key than before: what it shared with this one is gone."""


class Handshake:
    """One new connection of a neighbour, up to both hellos.

    ``said`` is what this party may have told the neighbour, by its disk, and ``heard`` what it has heard from it;
    ``keep`` writes the neighbour's offer down, before the answer to it leaves. Who has nothing more to do but to say
    goodbye, or that the neighbour has left for good, does not ``remember``.
    """

    def __init__(
        self,
        link: Link,
        *,
        said: Callable[[], Progress] = Progress,
        heard: Callable[[], Progress] = Progress,
        keep: Callable[[], None] = lambda: None,
        remember: bool = True,
    ) -> None:
        self.link, self.said, self.heard, self.keep, self.remember = link, said, heard, keep, remember
        self.dials = link.me.name < link.name
        self.met = link.secrets.met and not link.secrets.fresh  # whether the neighbour's offer is on the disk
        self.own, self.theirs = os.urandom(NONCE), b""
        self.opened = self.greeted = False  # whether this side has said its opening, its hello
        self.authentic = False  # whether the neighbour has said hello, on this connection
        self.agreed = False  # and nothing is wrong with it

    @property
    def done(self) -> bool:
        """Whether the conversation can begin."""
        return self.greeted and self.agreed

    @property
    def nonces(self) -> bytes:
        """Both openings, that of the smaller name first."""
        return self.own + self.theirs if self.dials else self.theirs + self.own

    def next_frame(self) -> bytes | None:
        """The next frame, or None. Whoever was dialled answers a hello also where it refuses it: to say why."""
        if not self.opened:
            self.opened = True
            return encode(Opening(self.own))
        if not self.greeted and (self.authentic or (self.dials and self.theirs)):
            self.greeted = True
            return encode(self.hello())
        return None

    def receive(self, frame: bytes) -> None:
        """A frame of whoever is there. ``PeerError`` where it is not what the neighbour would say."""
        body = decode(frame)
        if isinstance(body, Opening) and not self.theirs:
            self.theirs = body.nonce
        elif isinstance(body, Hello) and self.theirs and not self.authentic:
            self._greeted_by(body)
        else:
            raise PeerError(f"a connection begins with an opening and then a hello; a {type(body).__name__} came.")

    def hello(self) -> Hello:
        """Who this is, what run it means, and its offer for this edge, signed."""
        link = self.link
        # Whoever is dialled has an offer once it has written the other one's down; before, this is about a dispute.
        offer = link.secrets.offer if self.dials or self.met else b""
        names = (VERSION, link.me.name, link.name, digest(link.parameters), link.parameters)
        known = link.secrets.known if self.met else b""
        unsigned = Hello(*names, offer, b"", *self.said(), *self.heard(), known)
        return unsigned._replace(signature=link.me.sign(signed_part(unsigned, self.own, self.theirs)))

    def _greeted_by(self, hello: Hello) -> None:
        link = self.link
        if (hello.name, hello.to) != (link.name, link.me.name):
            raise PeerError(f"a hello from {hello.name!r} to {hello.to!r} on the edge {link.name} - {link.me.name}.")
        # Before anything that it says is believed: over open channels anybody could feign a dispute.
        if not signed_by(public_key(link.certificate), signed_part(hello, self.theirs, self.own), hello.signature):
            raise PeerError(f"the hello of {link.name} is not signed by its certificate, for this connection.")
        self.authentic = True
        if hello.version != VERSION:
            raise Disagreement(f"{link.name} speaks version {hello.version} of the protocol, this party {VERSION}.")
        if hello.parameters_hash != digest(hello.parameters):
            raise PeerError(f"the parameters of {link.name} do not have the hash that it gave.")
        if hello.parameters != link.parameters:
            raise Disagreement(difference(link.name, link.parameters, hello.parameters))
        if hello.known not in (b"", sha256(link.secrets.offer).digest()):
            raise Final(
                f"{link.name} knows another key of this party for this run than its journal has. The journal with it "
                "is lost, or this one was restored from an older copy: restore the newest one; if it is lost, agree on "
                "a new run."
            )
        if link.secrets.met:
            try:
                link.secrets.meet(hello.offer)  # refuses a key that has changed: the pads hang on it
            except PeerError as error:
                raise LostJournal(str(error)) from None
        if self.remember:
            self._compare(hello)
        link.secrets.meet(hello.offer)
        self.keep()
        self.met = self.agreed = True

    def _compare(self, hello: Hello) -> None:
        """What one has heard, the other one has on its disk since before it said it."""
        name = self.link.name
        if beyond(hello.heard, said := self.said()):
            raise Final(
                f"{name} has heard more of this party ({told(hello.heard)}) than its journal knows of ({told(said)}). "
                f"Either that is a lie, or {ROLLED_BACK}"
            )
        if beyond(heard := self.heard(), hello.said):
            raise Final(
                f"{name} has forgotten what it has said: this party heard {told(heard)}, its journal has "
                f"{told(hello.said)}. The journal of {name} was restored from an older copy: restore the newest one "
                "there; if it is lost, agree on a new run."
            )


def beyond(heard: Progress, said: Progress) -> bool:
    """Whether more was heard than said."""
    further = heard.counter > said.counter or heard.epoch > said.epoch
    return heard.stage > said.stage or (heard.stage == said.stage and further)


def told(progress: Progress) -> str:
    return f"stage {progress.stage}, message {progress.counter}, epoch {progress.epoch}"


def signed_part(hello: Hello, own: bytes, other: bytes) -> bytes:
    """All of a hello but its signature, and the openings of its sender and receiver, each part with its length."""
    numbers = [str(number).encode() for number in (*hello.said, *hello.heard)]
    parts = (
        b"sottovoce hello", str(hello.version).encode(), hello.name.encode(), hello.to.encode(), own, other,
        hello.parameters_hash, hello.offer, *numbers, hello.known,
    )  # fmt: skip
    return with_lengths(*parts)


def difference(name: str, mine: str, theirs: str) -> str:
    """Which parameters differ, with both values."""
    try:
        here, there = flat(json.loads(mine)), flat(json.loads(theirs))
    except (ValueError, RecursionError):
        return f"{name} sent parameters that are not JSON."
    differing = [key for key in sorted({*here, *there}) if here.get(key) != there.get(key)]
    shown = {key: "".join(c if c.isprintable() else "?" for c in key[:60]) for key in differing[:5]}  # they are theirs
    values = "; ".join(f"{shown[key]} is {here.get(key)!r:.60} here and {there.get(key)!r:.60} there" for key in shown)
    return f"{name} means another run: {values}. All parties must have the same [run] table."


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys; also those of a list in which each has a name, such as the columns of a schema."""
    if isinstance(value, list) and value and all(isinstance(entry, dict) and "name" in entry for entry in value):
        names = [str(entry["name"]) for entry in value]
        value = {"order": names} | dict(zip(names, value, strict=True))
    if not isinstance(value, dict):
        return {prefix: value}
    found: dict[str, Any] = {}
    for key, entry in value.items():
        found |= flat(entry, f"{prefix}.{key}" if prefix else str(key))
    return found
