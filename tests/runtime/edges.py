"""Both ends of an edge between parties of the fixture ``identities``."""

from __future__ import annotations

from typing import Any

from sottovoce.runtime.handshake import Handshake
from sottovoce.runtime.identity import Identity
from sottovoce.runtime.link import Link, canonical, digest
from sottovoce.runtime.secrets import EdgeSecrets

RUN = {"name": "a run", "parties": 3, "c": 0.4, "statistic": {"type": "mean", "columns": ["a", "b"]}}
INDEX = {"ann": 0, "bob": 1, "cat": 2}


def link(identities: dict[str, Identity], me: str, other: str, *, run: dict[str, Any] = RUN, mac: bool = True) -> Link:
    secrets = EdgeSecrets(digest(canonical(run)), me, other, f"{me} {other}".encode().ljust(32, b"."))
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
