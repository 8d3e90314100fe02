"""What node files and plans have in common: tables and the keys in them that both know."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, cast

from ...errors import InvalidFile
from ...files.toml_table import Table, TomlFile, finite, nearest, shown
from ..keys.identity import check_name
from .routes import read_penalty

Wake = Literal["eager", "turns"] | float  # see ``waiting.py``; a float is of a Poisson clock

CHANNELS = ("encrypted", "open")
# At theta = 1, on routes with cycles, parties that happen to wake in lockstep keep part of their pads in z for ever
# (theory: Subspaces): x is right, but frozen numbers never satisfy the rule that ends the run.
THETA, TOL = 0.8, 1e-10
PACE = 0.25  # seconds: a million rows of a few columns are summed in less
RUN_NAME = 128  # characters
ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]/]+):([0-9]{1,5})")


def open_file(path: Path, tables: Iterable[str], required: Iterable[str]) -> TomlFile:
    """The file, with no table that is not known, and all that are required."""
    file = TomlFile(path)
    for name in file.values:
        if name not in tables:
            raise InvalidFile(f"{file.where(name, None)}: [{name}] is not a known table{nearest(name, tables)}")
    for name in required:
        if name not in file.values:
            raise InvalidFile(f"{path}: the table [{name}] is missing. docs/guides/deploy.md shows one.")
    return file


def array_of_tables(file: TomlFile, name: str, known: Iterable[str]) -> list[Table]:
    """Every ``[[name]]``, with no key that is not known."""
    entries = file.values.get(name, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidFile(f"{file.where(name, None)}: {name} must be tables: start each with [[{name}]].")
    tables = [Table(file, name, entry, at=k) for k, entry in enumerate(entries)]
    for table in tables:
        table.refuse_unknown(known)
    return tables


def read_settings(run: Table) -> dict[str, Any]:
    """``name``, ``channels``, ``theta``, ``tol``, and ``c``, which may be None."""
    name = run.string("name")
    if len(name) > RUN_NAME or not name.isprintable():
        raise run.refuse("name", f"must be at most {RUN_NAME} printable characters; got {shown(name)}.")
    theta, tol, c = run.number("theta", THETA), run.number("tol", TOL), read_penalty(run)
    if not 0 < theta <= 1:
        raise run.refuse("theta", f"must be in (0, 1]; got {theta:g}. Use 1 for PDMM, 0.5 for ADMM.")
    if not 0 < tol < 1:
        raise run.refuse("tol", f"must be a number between 0 and 1, such as {TOL:g}; got {tol:g}.")
    return {"name": name, "channels": run.choice("channels", CHANNELS, CHANNELS[0]), "theta": theta, "tol": tol, "c": c}


def read_name(table: Table) -> str:
    """The name of a party."""
    return table.call(check_name, table.string("name"), at="name")


def read_wake(table: Table) -> Wake:
    """When a party wakes."""
    wake = table.get("wake", "eager")
    if wake in ("eager", "turns"):
        return cast("Wake", wake)
    if not finite(wake) or wake <= 0:
        raise table.refuse(
            "wake", f'must be "eager", "turns", or a positive number of wakes per second; got {shown(wake)}.'
        )
    return float(wake)


def read_pace(table: Table) -> float:
    """How long the first message of a stage waits, in seconds."""
    pace = float(table.number("pace", PACE))
    if pace <= 0:
        raise table.refuse("pace", f"must be a positive number of seconds; got {pace:g}.")
    return pace


def read_address(table: Table, key: str) -> str:
    """``host:port``."""
    address = str(table.string(key))
    found = ADDRESS.fullmatch(address)
    if not found:
        raise table.refuse(key, f"must be host:port, such as '10.0.0.1:7401' or '[::1]:7401'; got {address!r}.")
    if not 1 <= int(found[2]) <= 65535:
        raise table.refuse(key, f"= {address!r}: a port is one of 1 .. 65535.")
    return address
