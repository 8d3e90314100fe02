"""The parties of a plan: where each can be reached, and what it is known by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...errors import InvalidFile
from ...files.toml_table import Table, TomlFile
from ...network.network import Network
from .in_common import array_of_tables, read_address, read_name

PARTY_KEYS = ("name", "address", "reachable", "data", "certificate")


@dataclass(frozen=True)
class PlannedParty:
    """Where a party can be reached, None where it cannot, and what it is known by."""

    name: str
    address: str | None
    data: str | None
    certificate: Path | None


def read_parties(file: TomlFile) -> tuple[PlannedParty, ...]:
    """Every ``[[party]]``, two or more."""
    found: list[PlannedParty] = []
    for table in array_of_tables(file, "party", PARTY_KEYS):
        certificate = table.string("certificate", None)
        party = PlannedParty(
            read_name(table),
            _address_of(table),
            _data_of(table),
            None if certificate is None else file.path.parent / certificate,
        )
        for key in ("name", "address"):
            # Names are folders, and some file systems do not tell capitals apart.
            taken = [getattr(earlier, key).lower() for earlier in found if getattr(earlier, key) is not None]
            if (own := getattr(party, key)) is not None and own.lower() in taken:
                raise table.refuse(key, f"= {getattr(party, key)!r} is that of an earlier party too.")
        found.append(party)
    if len(found) < 2:
        raise InvalidFile(f"{file.path}: there is one [[party]]; at least two are needed to agree on anything.")
    return tuple(found)


def _address_of(table: Table) -> str | None:
    """None for a party that nobody can call: it calls all its neighbours."""
    if table.flag("reachable", True):
        return read_address(table, "address")
    if "address" in table:
        raise table.refuse("address", "has no meaning with reachable = false: nobody calls this party. Remove one.")
    return None


def check_reachable(path: Path, parties: tuple[PlannedParty, ...], network: Network) -> None:
    """One end of every edge can be called."""
    for i, j in network.edges.tolist():
        if parties[i].address is None and parties[j].address is None:
            raise InvalidFile(
                f"{path}: {parties[i].name} and {parties[j].name} share an edge, and neither can be called "
                "(reachable = false). Leave the edge out of [network], or let one of them be called."
            )


def _data_of(table: Table) -> str | None:
    """A path. All else is for the party to write: others read the plan."""
    data = table.get("data", None)
    if data is None or (isinstance(data, str) and data and "://" not in data):
        return data
    raise table.refuse(
        "data", "must be the path of a file, relative to the party's node file. What a query or a database needs the "
        "party writes itself, in [party.data] of its node file.",
    )  # fmt: skip
