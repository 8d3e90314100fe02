"""What a node file must have right beside its keys: files that do not get into each other's way, and the party's own
certificate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...errors import InvalidFile
from ...files.toml_table import Table
from ..keys.identity import check_certificate, load, public_key

if TYPE_CHECKING:
    from .node_file import NodeConfig

SOCKET_PATH = 107  # bytes that the operating system allows for the path of a Unix socket


def check_files(party: Table, config: NodeConfig) -> None:
    """Those of ``[party]``, and the ledger: each in a folder that is there, and no two of them one file."""
    seen = {} if config.data is None else {config.data.resolve(): "data"}
    for key in ("journal", "result", "record"):
        path = getattr(config, key)
        if path is None:
            continue
        if not path.parent.is_dir():
            raise party.refuse(key, f"= {str(path)!r}: its folder does not exist. Make it first.")
        if path.is_dir():
            raise party.refuse(key, f"= {str(path)!r} is a folder; name a file.")
        if (other := seen.setdefault(path.resolve(), key)) != key:
            raise party.refuse(key, f"and {other} are the same file.")
    ledger = None if config.policy is None else config.policy.ledger
    if ledger is not None and ledger.resolve() in seen:
        raise InvalidFile(
            f"{config.path}: [policy] ledger and {seen[ledger.resolve()]} are the same file. Name another."
        )
    if len(os.fsencode(config.socket)) > SOCKET_PATH:
        raise party.refuse(
            "journal", f"= {str(config.journal)!r} is too long: the socket beside it may have a path of {SOCKET_PATH} "
            "bytes. Give a shorter one, or start the party in the folder of its node file.",
        )  # fmt: skip


def check_calls(party: Table, config: NodeConfig) -> None:
    """One end of every edge can be called."""
    mute = next((other.name for other in config.neighbours if other.address is None), None)
    if config.listen is None and mute is not None:
        raise party.refuse(
            "listen", f"is missing, and {mute} has no address: one of the two must be reachable. Give this party an "
            f"address to listen on, or {mute} one to be called at.",
        )  # fmt: skip


def check_identity(party: Table, config: NodeConfig) -> None:
    """The key and certificate are those of this party, and of the plan."""
    me = party.call(load, config.identity, at="identity")
    if me.name != config.name:
        raise party.refuse(
            "identity",
            f"= {str(config.identity)!r} is that of {me.name!r}, but name is {config.name!r}. They must agree.",
        )
    party.call(check_certificate, me.certificate, me.name, me.fingerprint, at="identity")
    known = {me.name: public_key(me.certificate)}
    known |= {other.name: public_key(other.certificate) for other in config.neighbours}
    for name, key in zip(config.names, config.keys, strict=True):
        if known.get(name, key) != key:
            raise InvalidFile(
                f"{config.path}: [run] keys has {key} for {name}, but {known[name]} is the one of its certificate. "
                "Use the files of one plan."
            )
