"""What a party must not forget when it crashes: SQLite, one file, secret.

Everything is a named blob. A ``put`` is one transaction, on the disk when it returns (``synchronous=FULL``), and whole
or not at all. The file is locked by the process that uses it.

Disks rot, and SQLite has no checksums: a bit that flips in a saved answer would change everybody's. So one row, the
seal, is a keyed BLAKE2b over the names and values of all others, written with each of them and checked when the journal
is opened. The key comes from the party's private key and not from the file, so that the journal of another party does
not fit either. What a seal cannot see is a whole journal that is older than it should be: its neighbours can.

There is no write-ahead log: where a bit of one flips, SQLite takes what follows for never written, in silence.

What is dropped is gone from the file: SQLite overwrites it (``secure_delete``), but leaves copies behind where it moved
rows from page to page, so that the file is written anew afterwards (``sweep``). What the medium keeps of blocks that
were overwritten or freed, here or in the rollback journal, is beyond the reach of a program.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import numpy as np

from ..costs.base import Array
from ..errors import JournalError

KIND = b"sottovoce journal "
FORMAT = KIND + b"5"
SEAL, MADE = "seal", "made"
SYNCHRONOUS = "FULL"  # what is written survives power cuts; tests in one process, which have none, do not wait for it
UNSWEPT = "unswept"  # there while copies of what was dropped may be left in the file
PAGE = 4096  # bytes, the least that a database has
# One tree, whose rows are also its index: there is no second one that could tell something else.
TABLE = "CREATE TABLE blobs (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
WRITE = "INSERT OR REPLACE INTO blobs VALUES (?, ?)"
NONE: Mapping[str, bytes] = MappingProxyType({})
DROP = "DELETE FROM blobs WHERE name = ?"


class Journal:
    """Named blobs that survive ``kill -9``. Created with mode 600; ``key`` is 32 secret bytes, the same every time."""

    def __init__(self, path: str | Path, key: bytes) -> None:
        self.path, self._key = Path(path), key
        self._sums: dict[str, bytes] = {}  # of every row but the seal
        self._waiting: dict[str, bytes] | None = None  # what is put together
        try:
            if not self.path.exists():
                self._create()
            if self.path.stat().st_size < PAGE:  # SQLite would begin a new one in it
                raise self._damaged("it is empty, or cut short")
            self.database = sqlite3.connect(self.path, isolation_level=None, timeout=1.0)
        except (OSError, sqlite3.Error) as error:
            raise JournalError(f"{path}: the journal cannot be used: {error}.") from None
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @property
    def new(self) -> bool:
        """Whether the party has not finished to make it: only now may keys be drawn, as nobody has heard of any."""
        return MADE not in self._sums

    def _create(self) -> None:
        """Whole or not at all: a journal that exists has a seal, and one without is damaged, not new."""
        for rest in ("-wal", "-journal"):
            beside = self.path.with_name(self.path.name + rest)
            if beside.exists() and beside.stat().st_size:
                raise self._damaged(f"it is gone, but its {beside.name} is there")
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}-")  # with mode 600
        os.close(handle)
        try:
            with closing(sqlite3.connect(name, isolation_level=None)) as database:
                database.execute(f"PRAGMA page_size={PAGE}")
                database.execute("PRAGMA journal_mode=MEMORY")
                database.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
                rows = {"format": FORMAT}
                self._sums = {name: self._sum(name, value) for name, value in rows.items()}
                database.execute("BEGIN")
                database.execute(TABLE)
                database.executemany(WRITE, [*rows.items(), (SEAL, self._seal(self._sums))])
                database.execute("COMMIT")
            os.link(name, self.path)  # which, unlike a rename, does not replace one that another process has just made
        except FileExistsError:
            pass
        finally:
            os.unlink(name)
        folder = os.open(self.path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def _open(self) -> None:
        """Lock it, and look at all of it."""
        try:
            self.database.execute("PRAGMA locking_mode=EXCLUSIVE")
            self.database.execute("BEGIN EXCLUSIVE")
            self.database.execute("COMMIT")  # the lock stays
            if self.path.stat().st_size % PAGE:  # to SQLite the rest of a page is zeros
                raise self._damaged("it is cut short")
            if self.database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise self._damaged("the database is malformed")
            found = self.database.execute("SELECT value FROM blobs WHERE name = 'format'").fetchone()
            if found is not None and found[0] != FORMAT and re.fullmatch(KIND + b"[0-9]+", found[0]):
                raise JournalError(f"{self.path}: this is a journal of another version of sottovoce.")
            self.database.execute("PRAGMA journal_mode=DELETE")
            self.database.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
            self.database.execute("PRAGMA secure_delete=ON")
            self.database.execute("PRAGMA temp_store=MEMORY")  # of VACUUM: no second file with secrets
            rows = self.database.execute("SELECT name, value FROM blobs")
            self._sums = {name: self._sum(name, value) for name, value in rows if name != SEAL}
            seal = self.database.execute("SELECT value FROM blobs WHERE name = ?", (SEAL,)).fetchone()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise JournalError(f"{self.path}: another process runs this party. End it first.") from None
            raise JournalError(f"{self.path}: the journal cannot be used: {error}.") from None
        except sqlite3.Error as error:
            raise self._damaged(str(error)) from None
        except (TypeError, AttributeError):  # a blob that has become a number, a name that is none
            raise self._damaged("a row is malformed") from None
        if seal != (self._seal(self._sums),):
            raise self._damaged("its seal does not fit: something in it has changed, or it is another party's")
        self.sweep()  # a crash may have come between

    def _damaged(self, why: str) -> JournalError:
        return JournalError(
            f"{self.path}: the journal is damaged: {why}. Nothing in it can be trusted. If this party ever met its "
            "neighbours, all need a new run, with a new name and new journals; its old keys cannot be made again."
        )

    def _sum(self, name: str, value: bytes) -> bytes:
        digest = hashlib.blake2b(name.encode() + b"\0", key=self._key, digest_size=32, person=b"row")
        digest.update(value)
        return digest.digest()

    def _seal(self, sums: Mapping[str, bytes]) -> bytes:
        """Of all rows at once: none of them can be missing, or older than the others."""
        digest = hashlib.blake2b(key=self._key, digest_size=32, person=b"seal")
        for name in sorted(sums):
            digest.update(sums[name])
        return digest.digest()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Whatever is put inside is put at the end, at once; nothing, where it ends by an error. Others must not hear
        of any of it before."""
        waiting: dict[str, bytes] = {}
        self._waiting = waiting
        try:
            yield
        finally:
            self._waiting = None
        if waiting:
            self.put(waiting)

    def get(self, name: str) -> bytes | None:
        if self._waiting is not None and name in self._waiting:
            return self._waiting[name]
        try:
            found = self.database.execute("SELECT value FROM blobs WHERE name = ?", (name,)).fetchone()
            if found is None and name not in self._sums:
                return None
            if found is not None and self._sum(name, found[0]) == self._sums.get(name):
                return bytes(found[0])
        except (sqlite3.Error, TypeError) as error:
            raise self._damaged(f"it cannot be read: {error}") from None
        raise self._damaged("a row has changed since it was opened")

    def put(self, blobs: Mapping[str, bytes], drop: Iterable[str] = ()) -> None:
        """Write all of them, and drop other rows, or nothing of it."""
        if self._waiting is not None:
            assert not drop
            self._waiting |= blobs
            return
        gone = {name for name in drop if name in self._sums} - blobs.keys()
        blobs = {**blobs, UNSWEPT: b""} if gone else blobs
        self._change(blobs, gone)

    def under(self, *prefixes: str) -> list[str]:
        """The names of rows that begin like this."""
        return [name for name in self._sums if name.startswith(prefixes)]

    def sweep(self) -> None:
        """Write the file anew, without what SQLite has left of rows that were dropped."""
        if UNSWEPT in self._sums:
            try:
                self.database.execute("VACUUM")
            except sqlite3.Error as error:
                raise self._unwritten(error) from None
            self._change({}, {UNSWEPT})

    def keyed(self, content: bytes) -> bytes:
        """A digest by which nobody without the party's private key can try out what the content was."""
        return hashlib.blake2b(content, key=self._key, digest_size=32, person=b"content").digest()

    def _change(self, blobs: Mapping[str, bytes], gone: set[str]) -> None:
        sums = self._sums | {name: self._sum(name, value) for name, value in blobs.items()}
        sums = {name: digest for name, digest in sums.items() if name not in gone}
        try:
            self.database.execute("BEGIN IMMEDIATE")
            self.database.executemany(DROP, [(name,) for name in gone])
            self.database.executemany(WRITE, [*blobs.items(), (SEAL, self._seal(sums))])
            self.database.execute("COMMIT")
        except sqlite3.Error as error:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
            raise self._unwritten(error) from None
        self._sums = sums

    def _unwritten(self, error: sqlite3.Error) -> JournalError:
        return JournalError(
            f"{self.path}: the state cannot be written: {error}. The run stops here; make room and start it again."
        )

    def made(self) -> None:
        """From now on it is not new: a key that it lacks is never drawn again."""
        if self.new:
            self.put({MADE: b""})

    def put_arrays(
        self, prefix: str, arrays: Mapping[str, Array], more: Mapping[str, bytes] = NONE, drop: Iterable[str] = ()
    ) -> None:
        """Arrays under one prefix, replacing what was there; more blobs, and rows to drop, in the same transaction."""
        index = "\n".join(f"{name} {','.join(str(size) for size in array.shape)}" for name, array in arrays.items())
        blobs = {
            f"{prefix}/{name}": np.ascontiguousarray(array, dtype="<f8").tobytes() for name, array in arrays.items()
        }
        self.put({f"{prefix}#": index.encode(), **blobs, **more}, drop)

    def get_arrays(self, prefix: str) -> dict[str, Array] | None:
        """What ``put_arrays`` wrote last, or None."""
        index = self.get(f"{prefix}#")
        if index is None:
            return None
        arrays = {}
        for line in index.decode().splitlines():
            name, _, sizes = line.partition(" ")
            blob = self.get(f"{prefix}/{name}")
            assert blob is not None
            shape = tuple(int(size) for size in sizes.split(",") if size)
            arrays[name] = np.frombuffer(blob, dtype="<f8").reshape(shape).astype(np.float64)
        return arrays

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
