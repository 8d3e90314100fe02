"""What a party must not forget when it crashes: SQLite, one file, secret.

Everything is a named blob. A ``put`` is one transaction, on the disk when it returns (``synchronous=FULL``), and whole
or not at all. The file is locked by the process that uses it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from ..costs.base import Array
from ..errors import JournalError

FORMAT = b"sottovoce journal 1"


class Journal:
    """Named blobs that survive ``kill -9``. Created with mode 600."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            # Made by hand, because SQLite would make it readable for others.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            self.database = sqlite3.connect(self.path, isolation_level=None, timeout=1.0)
            self.database.execute("PRAGMA locking_mode=EXCLUSIVE")
            self.database.execute("PRAGMA journal_mode=WAL")
            self.database.execute("PRAGMA synchronous=FULL")
            self.database.execute("BEGIN EXCLUSIVE")
            self.database.execute("CREATE TABLE IF NOT EXISTS blobs (name TEXT PRIMARY KEY, value BLOB NOT NULL)")
            self.database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise JournalError(f"{path}: another process runs this party. End it first.") from None
            raise JournalError(f"{path}: the journal cannot be used: {error}.") from None
        except (OSError, sqlite3.DatabaseError) as error:
            raise JournalError(f"{path}: the journal cannot be used: {error}.") from None
        if self.get("format") not in (None, FORMAT):
            self.close()
            raise JournalError(f"{path}: this is a journal of another version of sottovoce.")
        self.put({"format": FORMAT})

    def get(self, name: str) -> bytes | None:
        try:
            found = self.database.execute("SELECT value FROM blobs WHERE name = ?", (name,)).fetchone()
        except sqlite3.Error as error:
            raise JournalError(f"{self.path}: the journal cannot be read: {error}. Start a new run.") from None
        return None if found is None else bytes(found[0])

    def put(self, blobs: Mapping[str, bytes]) -> None:
        """Write all of them, or none."""
        try:
            self.database.execute("BEGIN IMMEDIATE")
            self.database.executemany("INSERT OR REPLACE INTO blobs VALUES (?, ?)", list(blobs.items()))
            self.database.execute("COMMIT")
        except sqlite3.Error as error:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
            raise JournalError(
                f"{self.path}: the state cannot be written: {error}. The run stops here; make room and start it again."
            ) from None

    def put_arrays(self, prefix: str, arrays: Mapping[str, Array], **more: bytes) -> None:
        """Arrays under one prefix, replacing what was there, and other blobs in the same transaction."""
        index = "\n".join(f"{name} {','.join(str(size) for size in array.shape)}" for name, array in arrays.items())
        blobs = {
            f"{prefix}/{name}": np.ascontiguousarray(array, dtype="<f8").tobytes() for name, array in arrays.items()
        }
        self.put({f"{prefix}#": index.encode(), **blobs, **more})

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
