"""Both ends of an edge between parties of the fixture ``identities``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from sottovoce.runtime.keys.edge_secrets import EdgeSecrets
from sottovoce.runtime.keys.identity import Identity, public_key
from sottovoce.runtime.protocol.acceptances import Acceptances
from sottovoce.runtime.protocol.handshake import Handshake
from sottovoce.runtime.protocol.link import Link, canonical, digest

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
def disk(me: str, other: str, run: str) -> Shelf:
    """Of one end, before it has met the other one: every link that is made of it has the same private keys."""
    shelf = Shelf()
    EdgeSecrets.saved(shelf, digest(run), me, other)
    return shelf


@cache
def disks(small: str, large: str, run: str) -> dict[str, Shelf]:
    """Of both ends, once they have met."""
    ends = {}
    for me, other in ((small, large), (large, small)):
        shelf = Shelf(disk(me, other, run))
        ends[me] = shelf, EdgeSecrets.saved(shelf, digest(run), me, other)
    (_, first), (_, second) = ends.values()
    second.meet(first.offer)
    first.meet(second.offer)
    for shelf, end in ends.values():
        end.save(shelf)
    return {me: shelf for me, (shelf, _) in ends.items()}


def met(me: str, other: str, run: dict[str, Any] = RUN) -> EdgeSecrets:
    """The secrets of a party that has met its neighbour before."""
    text = canonical(run)
    return EdgeSecrets.saved(disks(*sorted((me, other)), text)[me], digest(text), me, other)


def link(identities: dict[str, Identity], me: str, other: str, *, run: dict[str, Any] = RUN, mac: bool = True) -> Link:
    text = canonical(run)
    secrets = EdgeSecrets.saved(Shelf(disk(me, other, text)), digest(text), me, other)
    return Link(identities[me], other, INDEX[other], identities[other].certificate, text, secrets, authenticate=mac)


def acceptances(identities: dict[str, Identity], me: str, run: dict[str, Any] = RUN) -> Acceptances:
    """What a party signs and checks."""
    keys = [public_key(identities[name].certificate) for name in INDEX]
    return Acceptances(identities[me], list(INDEX), keys, digest(canonical(run)))


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
