"""The file of a ledger: SQLite, of mode 600, to which one release after the other is added.

What is added is one transaction, on the disk when it is over (``synchronous=FULL``). A file that is there is whole: it
is made beside its place and then linked there. Disks rot, and SQLite has no checksums: one row, the seal, is a digest
of all others, written with each change and checked whenever the ledger is read. What is damaged is refused, and not
forgotten. What a seal cannot see is a whole file that is older than it should be, or one that somebody has deleted.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from ...errors import PolicyError

FORMAT = b"sottovoce ledger 1"
SEAL, KEY = "seal", "key"
PAGE = 4096  # bytes, the least that a database has
PATIENCE = 30.0  # seconds to wait for another process that adds something
SYNCHRONOUS = "FULL"
TABLE = "CREATE TABLE blobs (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
WRITE = "INSERT OR REPLACE INTO blobs VALUES (?, ?)"

Blobs = dict[str, bytes]


class Book:
    """Named blobs in a file; ``blobs`` are those that were there when it was opened."""

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
