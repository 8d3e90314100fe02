"""What a party has released, and on which rows: kept beside its data, and asked before the next release."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ...data.identities import Words
from ...data.rows import Rows
from ...data.selection import ModelColumns
from ...errors import PolicyError
from ...pdmm.modular_mask import Integers
from ..of_tables import AnyTable, Asked
from .span import Bools, Isolates, Places, atoms, packed, unpacked

FORMAT = b"sottovoce ledger 1"
SEAL, KEY = "seal", "key"
PAGE = 4096  # bytes, the least that a database has
PATIENCE = 30.0  # seconds to wait for another process that adds something
SYNCHRONOUS = "FULL"
TABLE = "CREATE TABLE blobs (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
WRITE = "INSERT OR REPLACE INTO blobs VALUES (?, ?)"

Blobs = dict[str, bytes]
DEFAULT_LEAST = 3
CANNOT = (
    "It cannot check weights, values that have changed since, rows that go by other identities, and what other parties "
    "hold."
)


@dataclass(frozen=True, eq=False)
class Release:
    """One analysis of one party's rows.

    ``run`` is what people call it and ``hash`` what tells it from others; ``columns`` are those of the table;
    ``cells`` are this party's counts, of which sums are shown.
    """

    run: str
    hash: str
    type: str
    columns: tuple[str, ...]
    rows: int
    parameters: int
    cells: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(cls, run: str, hash: str, asked: Asked, table: AnyTable) -> Release:
        """Of what is asked of a party's table, which is checked."""
        spec, rows = asked.spec, table.rows
        cells = spec.cells(rows)
        if isinstance(spec.selection, ModelColumns) or not len(cells):  # others count what they are asked to
            cells = np.concatenate([cells, yes_and_no(rows)])
        cells = np.concatenate([cells, asked.level_counts(table)])
        return cls(run, hash, spec.type, asked.selection.needs, len(rows), spec.parameters, cells)


def yes_and_no(rows: Rows) -> Integers:
    """Of every column that is 0 or 1 in all of a party's rows, such as a boolean, an event, or a level in a formula,
    how many are 1 and how many 0: its sum is a count, whatever it is called."""
    counted = rows.totals(lambda block: np.column_stack([block == 1, block == 0]).astype(np.int64))
    both = counted.astype(np.int64).reshape(2, rows.width)
    return np.asarray(both[:, both.sum(axis=0) == len(rows)].ravel())


@dataclass(frozen=True)
class Ledger:
    """Every release of a party, each with the rows that it was computed on.

    A release is refused if, with all those before it, it would tell of fewer than ``least`` rows (``span``).
    """

    path: Path
    least: int = DEFAULT_LEAST
    most: int | None = None  # different releases

    def key(self, *, create: bool) -> bytes:
        """By which rows are told apart; of a ledger that is not there, and is not made, one that is used once."""
        if create:
            with opened(self.path) as book:
                return book.blobs[KEY]
        blobs = read(self.path)
        return os.urandom(32) if blobs is None else blobs[KEY]

    def entries(self) -> list[dict[str, Any]]:
        """What was released: when, in which run, the type of analysis, its columns, and the number of rows."""
        return _Contents(read(self.path) or {}).entries

    def verdict(self, release: Release, rows: Words) -> str:
        """What can be said of a release that is not recorded yet; ``PolicyError`` if it is refused."""
        return self._judged(_Contents(read(self.path) or {}), release, Places.of(rows))

    def record(self, release: Release, rows: Words) -> str:
        """What ``verdict`` says of a release, recorded on the disk before this returns. The same release again, after a
        crash, is the same one."""
        own = Places.of(rows)
        with opened(self.path) as book:
            contents = _Contents(book.blobs)
            said = self._judged(contents, release, own)
            if contents.number_of(release, own.digest) is None:
                book.add(contents.added(release, own))
        return said

    def _judged(self, contents: _Contents, release: Release, own: Places) -> str:
        digest, before = own.digest, contents.entries
        if (known := contents.number_of(release, digest)) is not None:
            return f"It is release {known} of the ledger, which has it already. {CANNOT}"
        if self.most is not None and len(before) >= self.most:
            raise PolicyError(
                f"max_runs: the ledger {self.path} has {len(before)} releases, and {self.most} are allowed. Raise it "
                "if you want more."
            )
        number = len(before) + 1
        if digest in contents.sets:
            return f"It is release {number} of the ledger, on the same rows as an earlier one. {CANNOT}"
        places, bits = contents.with_(own)
        answer = atoms(places, [*contents.sets.values(), packed(bits)]).isolates(self.least)
        if answer is not Isolates.NO:
            raise PolicyError(self._refusal(contents, places, bits, answer))
        told = f"It is release {number} of the ledger; no combination of them is about fewer than {self.least} rows."
        if before and len(own) and not bits[: len(contents.places)].any():
            told += (
                " No row is in common with any release before: if rows have changed, or a column was added, then that "
                "was not noticed. An id in the policy would tell."
            )
        return f"{told} {CANNOT}"

    def _refusal(self, contents: _Contents, places: Places, bits: Bools, answer: Isolates) -> str:
        few = f"fewer than {self.least} rows"
        if bits.sum() < self.least:
            return f"ledger: the analysis is of {few}. Ask for more, or lower min_rows in the policy."
        ways = f"Ask for the same rows as before, or for some that differ in at least {self.least}."
        if answer is Isolates.PERHAPS:
            return (
                f"ledger: together with {contents.told()} in {self.path} it may tell of {few}, and "
                f"to find out takes too long. {ways}"
            )
        for entry in contents.entries:
            differ = (unpacked(contents.sets[entry["set"]], len(places)) != bits).sum()
            if 0 < differ < self.least:
                one = f"release {entry['number']} in {self.path} ({entry['type']}, run {entry['run']!r})"
                return f"ledger: its rows and those of {one} differ in {few}, of which both together tell. {ways}"
        return f"ledger: a combination of it and {contents.told()} in {self.path} tells of {few}. {ways}"


class _Contents:
    """What a file holds: ``sets`` are bitmaps by their digest, each kept once."""

    def __init__(self, blobs: Blobs) -> None:
        def under(prefix: str) -> list[str]:
            return sorted(name for name in blobs if name.startswith(prefix))

        self.entries: list[dict[str, Any]] = [json.loads(blobs[name]) for name in under("entry/")]
        self.sets = {name.rpartition("/")[2]: blobs[name] for name in under("set/")}
        self.places = Places(np.empty(0, np.uint64), np.empty(0, np.uint32))
        for name in under("rows/"):
            self.places = self.places.joined(Places.from_bytes(int(name.rpartition("/")[2]), blobs[name]))

    def told(self) -> str:
        """How many releases there are, for people."""
        return "the release" if len(self.entries) == 1 else f"the {len(self.entries)} releases"

    def number_of(self, release: Release, digest: str) -> int | None:
        """Which release this one is, if it is there."""
        same = (entry for entry in self.entries if (entry["hash"], entry["set"]) == (release.hash, digest))
        return next((int(entry["number"]) for entry in same), None)

    def with_(self, own: Places) -> tuple[Places, Bools]:
        """All places, with those of new rows last, and the bitmap of these."""
        where, there = own.among(self.places)
        bits = np.zeros(len(self.places) + int((~there).sum()), bool)
        bits[where[there]], bits[len(self.places) :] = True, True
        return self.places.joined(own.at(~there)), bits

    def added(self, release: Release, own: Places) -> Blobs:
        """What one more release puts into the file."""
        digest, number = own.digest, len(self.entries) + 1
        entry = {
            "number": number,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "run": release.run,
            "hash": release.hash,
            "type": release.type,
            "columns": list(release.columns),
            "rows": len(own),
            "set": digest,
        }
        blobs = {f"entry/{number:09}": json.dumps(entry).encode()}
        if digest not in self.sets:
            places, bits = self.with_(own)
            new = places.at(np.arange(len(places)) >= len(self.places))
            blobs[f"set/{digest}"] = packed(bits)
            if len(new):
                blobs[f"rows/{number:09}/{len(new)}"] = new.to_bytes()
        return blobs


class Book:
    """The file of a ledger, SQLite of mode 600: named blobs; ``blobs`` are those that were there when it was opened.

    What is added is one transaction, on the disk when it is over (``synchronous=FULL``). A file that is there is whole:
    it is made beside its place and then linked there. Disks rot, and SQLite has no checksums: one row, the seal, is a
    digest of all others, written with each change and checked whenever the ledger is read. What is damaged is refused.
    What a seal cannot see is a whole file that is older than it should be, or one that somebody has deleted.
    """

    def __init__(self, path: Path, database: sqlite3.Connection, blobs: Blobs) -> None:
        self.path, self._database, self.blobs = path, database, blobs

    def add(self, blobs: Mapping[str, bytes]) -> None:
        """On the disk once ``opened`` has ended without an error."""
        self.blobs |= blobs
        try:
            self._database.executemany(WRITE, [*blobs.items(), (SEAL, _seal(self.blobs))])
        except sqlite3.Error as error:
            raise PolicyError(
                f"{self.path}: the ledger cannot be written: {error}. Make room, and start again."
            ) from None


@contextmanager
def opened(path: Path) -> Iterator[Book]:
    """The ledger, made where there is none, and nobody else's until this ends. What is added is kept together, or not
    at all where it ends with an error."""
    try:
        if not path.exists():
            _create(path)
        with closing(_connected(path, read_only=False)) as database:
            database.execute("PRAGMA journal_mode=DELETE")
            database.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
            database.execute("BEGIN IMMEDIATE")
            try:
                yield Book(path, database, _read(path, database))
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")
    except (OSError, sqlite3.Error) as error:
        raise _unusable(path, error) from None


def read(path: Path) -> Blobs | None:
    """What is in it; None where there is no ledger yet."""
    try:
        if not path.exists():
            return None
        with closing(_connected(path, read_only=True)) as database:
            return _read(path, database)
    except (OSError, sqlite3.Error) as error:
        raise _unusable(path, error) from None


def _connected(path: Path, *, read_only: bool) -> sqlite3.Connection:
    if path.stat().st_mode & 0o077:  # it has the key of the rows' names in it
        raise PolicyError(f"{path}: others may read or write the ledger. Run chmod 600 on it first.")
    if path.stat().st_size < PAGE:  # SQLite would begin a new one in it
        raise _damaged(path, "it is empty, or cut short")
    mode = "?mode=ro" if read_only and not path.with_name(f"{path.name}-journal").exists() else ""  # else roll it back
    return sqlite3.connect(f"{path.absolute().as_uri()}{mode}", uri=True, isolation_level=None, timeout=PATIENCE)


def _read(path: Path, database: sqlite3.Connection) -> Blobs:
    try:
        if path.stat().st_size % PAGE:  # to SQLite the rest of a page is zeros
            raise _damaged(path, "it is cut short")
        if database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise _damaged(path, "the database is malformed")
        blobs = {str(name): bytes(value) for name, value in database.execute("SELECT name, value FROM blobs")}
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise
        raise _damaged(path, str(error)) from None
    except (sqlite3.Error, TypeError) as error:
        raise _damaged(path, str(error)) from None
    if blobs.pop(SEAL, None) != _seal(blobs):
        raise _damaged(path, "something in it has changed")
    if blobs.get("format") != FORMAT:
        raise PolicyError(f"{path}: this is a ledger of another version of sottovoce.")
    return blobs


def _create(path: Path) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # with mode 600
    os.close(handle)
    try:
        with closing(sqlite3.connect(name, isolation_level=None)) as database:
            database.execute(f"PRAGMA page_size={PAGE}")
            database.execute("PRAGMA journal_mode=MEMORY")
            database.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
            rows = {"format": FORMAT, KEY: os.urandom(32)}
            database.execute("BEGIN")
            database.execute(TABLE)
            database.executemany(WRITE, [*rows.items(), (SEAL, _seal(rows))])
            database.execute("COMMIT")
        os.link(name, path)  # which, unlike a rename, does not replace one that another process has just made
    except FileExistsError:
        pass
    finally:
        os.unlink(name)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _seal(blobs: Mapping[str, bytes]) -> bytes:
    digest = hashlib.blake2b(digest_size=32, person=b"ledger")
    for name in sorted(blobs):
        digest.update(hashlib.blake2b(name.encode() + b"\0" + blobs[name]).digest())
    return digest.digest()


def _damaged(path: Path, why: str) -> PolicyError:
    return PolicyError(
        f"{path}: the ledger is damaged: {why}. What was released cannot be told, so that nothing more is: "
        "restore its newest copy. A new one would forget all releases."
    )


def _unusable(path: Path, error: Exception) -> PolicyError:
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        return _damaged(path, str(error))
    why = "another process uses it" if "locked" in str(error) else f"{getattr(error, 'strerror', None) or error}"
    return PolicyError(f"{path}: the ledger cannot be used: {why}.")
