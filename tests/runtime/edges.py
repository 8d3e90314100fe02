"""Both ends of an edge between parties of the fixture ``identities``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from sottovoce.runtime.handshake import Handshake
from sottovoce.runtime.identity import Identity
from sottovoce.runtime.link import Link, canonical, digest
from sottovoce.runtime.secrets import EdgeSecrets

RUN = {"name": "a run", "parties": 3, "c": 0.4, "statistic": {"type": "mean", "columns": ["a", "b"]}}
INDEX = {"ann": 0, "bob": 1, "cat": 2}


class Shelf(dict[str, bytes]):
    """A journal in memory."""

    new, path = True, "a shelf"

    def put(self, blobs: Mapping[str, bytes], drop: Iterable[str] = ()) -> None:
        self.update(blobs)
        for name in drop:
            self.pop(name, None)


@cache
def shelf(me: str, other: str, run: str) -> Shelf:
    """The disk of one end: every link that is made of it has the same keys. The larger name has met the other one, so
    that it can say hello."""
    disk = Shelf()
    own = EdgeSecrets.saved(disk, digest(run), me, other)
    if me > other:
        own.meet(EdgeSecrets.saved(shelf(other, me, run), digest(run), other, me).offer)
        own.save(disk)
    return disk


def secrets_of(me: str, other: str, run: dict[str, Any] = RUN) -> EdgeSecrets:
    return EdgeSecrets.saved(shelf(me, other, canonical(run)), digest(canonical(run)), me, other)


def link(identities: dict[str, Identity], me: str, other: str, *, run: dict[str, Any] = RUN, mac: bool = True) -> Link:
    secrets = secrets_of(me, other, run)
    return Link(identities[me], other, INDEX[other], identities[other].certificate, run, secrets, authenticate=mac)


def shake(one: Handshake, other: Handshake) -> None:
    """All that two ends say to each other before they talk; what goes wrong is raised."""
    while not (one.done and other.done):
        frames = [(far, frame) for end, far in ((one, other), (other, one)) if (frame := end.next_frame()) is not None]
        assert frames
        for far, frame in frames:
            far.receive(frame)


def greet(one: Link, other: Link) -> tuple[Handshake, Handshake]:
    """A new connection, up to the end of the handshake."""
    ends = Handshake(one), Handshake(other)
    shake(*ends)
    for end in ends:
        end.link.begin(end.nonces)
    return ends
