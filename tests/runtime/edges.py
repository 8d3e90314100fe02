"""Both ends of an edge between parties of the fixture ``identities``."""

from __future__ import annotations

from typing import Any

from sottovoce.runtime.identity import Identity
from sottovoce.runtime.link import Link, News
from sottovoce.runtime.secrets import EdgeSecrets

RUN = {"name": "a run", "parties": 3, "c": 0.4, "statistic": {"type": "mean", "columns": ["a", "b"]}}
INDEX = {"ann": 0, "bob": 1, "cat": 2}


def link(identities: dict[str, Identity], me: str, other: str, *, run: dict[str, Any] = RUN, mac: bool = True) -> Link:
    secrets = EdgeSecrets(run["name"], me, other, f"{me} {other}".encode().ljust(32, b"."))
    return Link(identities[me], other, INDEX[other], identities[other].certificate, run, secrets, authenticate=mac)


def greet(one: Link, other: Link) -> None:
    """A new connection, up to both hellos."""
    for end in (one, other):
        end.forget()
    for end, far in ((one, other), (other, one)):
        far.receive(end.next_frame(News()))
