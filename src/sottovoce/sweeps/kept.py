"""A sweep on disk while it runs: parts of it as Parquet files in a folder beside, one file of all in the end.

``sweep.parquet.parts`` holds ``part-000000.parquet`` and so on, each written whole or not at all, with a hash of its
rows and the digests of the sweep that it is of. A part is written every second at first, and every fiftieth of the time
so far later, so that a break costs little and files stay few.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from ..errors import InvalidFile, InvalidInput, MissingExtra
from ..files.atomic import check_writable, write_whole
from ..numerics.unquoted import kind_of
from .job import Job
from .play import FAILED, Row
from .table import arrow_table, row_of

SWEEP, ROWS = b"sottovoce.sweep", b"sottovoce.rows"  # what a file says of itself: which sweep, and a hash of the rows
SOON = 1.0  # seconds
SHARE = 0.02  # of the time so far


class Kept:
    """What is kept of one sweep, for as long as it runs. ``about`` says which sweep it is, by digests."""

    def __init__(self, path: Path, job: Job, about: dict[str, str]) -> None:
        check_parquet()
        check_writable("out", path, (".parquet",))
        check_longer(path)
        self.path, self.job, self.about = path, job, about
        self.folder = path.with_name(path.name + ".parts")
        self.started = self.written = time.monotonic()
        self.new: list[Row] = []
        self.number = 0  # of the next part
        self.finished = False
        self.lock: IO[bytes] | None = None

    def __enter__(self) -> Kept:
        try:
            while self.lock is None:
                self.folder.mkdir(exist_ok=True)
                with suppress(FileNotFoundError):  # another process has ended, and removed the folder
                    self.lock = self._locked()
        except BlockingIOError:
            raise InvalidInput(f"{self.path}: another process is writing it. Wait, or choose another out.") from None
        except OSError as error:
            raise InvalidInput(f"{self.folder} cannot be written: {error.strerror}. Choose another out.") from None
        return self

    def _locked(self) -> IO[bytes] | None:
        """The lock; none where another process has removed the file meanwhile, as somebody may have a new one."""
        import fcntl  # which Windows has not

        file = self.folder / "_lock"
        with ExitStack() as stack:
            lock = stack.enter_context(file.open("ab"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # which the system lets go of, however we end
            if os.path.samestat(file.stat(), os.fstat(lock.fileno())):
                stack.pop_all()
                return lock
        return None

    def __exit__(self, *_: object) -> None:
        try:
            self.write()
        finally:
            assert self.lock is not None
            if self.finished or not self.parts():
                self._clear()  # once: as soon as our lock is removed there may be another's
            self.lock.close()

    def _clear(self) -> None:
        """The folder goes, unless somebody has put something else into it."""
        for file in (*self.parts(), *self.folder.glob(".part-*"), self.folder / "_lock"):  # and halves, after a kill
            file.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    # What is there

    def parts(self) -> list[Path]:
        """In their order."""
        return sorted(file for file in self.folder.glob("part-*") if re.fullmatch(r"part-\d{6,}\.parquet", file.name))

    def rows(self) -> dict[int, Row]:
        """By point: what earlier calls have found. Files of another sweep, and damaged ones, are refused."""
        whole = {row["point"]: row for row in (self._read(self.path) if self.path.exists() else [])}
        found: dict[int, Row] = {}
        for part in self.parts():
            self.number = 1 + int(part.stem.removeprefix("part-"))
            for row in self._read(part):
                before = found.get(row["point"], {"status": FAILED})  # what failed may have been played again
                if before["status"] != FAILED:
                    raise InvalidFile(
                        f"{part}: point {row['point']} is in an earlier part as well. Remove {part.name}."
                    )
                found[row["point"]] = row
        # A part that has become part of the whole was left by a break before it was removed.
        return found | {point: row for point, row in whole.items() if row["status"] != FAILED or point not in found}

    def _read(self, file: Path) -> list[Row]:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            table = parquet.ParquetFile(file).read()
            told = table.schema.metadata or {}
            about = json.loads(told.get(SWEEP, b"null"))
            if about is not None and told.get(ROWS) != hash_of(table):
                raise ValueError("its rows are not those that were written")
        except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
            reason = "".join(each for each in str(error).splitlines()[0][:120] if each.isprintable())
            raise InvalidFile(
                f"{file} cannot be read ({reason}). If it is no file of a sweep, choose another out; if it is one, it "
                "is damaged: remove it, and its points are played again."
            ) from None
        self._check(file, about)
        rows = [row_of(self.job, cells) for cells in table.to_pylist()]
        assert all(0 <= row["point"] < len(self.job) for row in rows)  # as the digests are equal
        return rows

    def _check(self, file: Path, about: Any) -> None:
        if not isinstance(about, dict) or about.keys() != self.about.keys():
            raise InvalidFile(f"{file} was not written by a sweep. Choose another out.")
        if other := [name for name, told in self.about.items() if about[name] != told]:
            raise InvalidFile(
                f"{file} is of another sweep, with other {' and '.join(other)}. Choose another out, or remove "
                f"{self.path.name} and {self.folder.name}."
            )

    # What is new

    def add(self, row: Row) -> None:
        """One more; on disk after a while."""
        self.new.append(row)
        now = time.monotonic()
        if now - self.written > max(SOON, SHARE * (now - self.started)):
            self.write()

    def write(self) -> None:
        """What is not on disk yet, as one more part."""
        if self.new:
            self._write(self.folder / f"part-{self.number:06}.parquet", self.new)
            self.number, self.new = self.number + 1, []
        self.written = time.monotonic()

    def finish(self, rows: Sequence[Row]) -> None:
        """All of it as one file, in the order of the points; the parts go."""
        if self.new or self.number or not self.path.exists():
            self._write(self.path, rows)
            sync_folder(self.path.parent)  # a power cut must not take the new name and leave no parts
        self.new, self.finished = [], True

    def _write(self, path: Path, rows: Sequence[Row]) -> None:
        from pyarrow import parquet

        table = arrow_table(self.job, rows)
        table = table.replace_schema_metadata({SWEEP: json.dumps(self.about), ROWS: hash_of(table)})

        def save(temporary: str) -> None:
            parquet.write_table(table, temporary)
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())

        try:
            write_whole(path, save)
        except InvalidInput as error:
            raise InvalidInput(f"{error} What was written before is kept: the same call goes on from there.") from None


def sync_folder(folder: Path) -> None:
    """So that the names in it are on disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def path_of(out: Any) -> Path:
    if not isinstance(out, str | os.PathLike):
        raise InvalidInput(f"out must be the name of a Parquet file; got {kind_of(out)}.")
    return Path(out)


def check_longer(path: Path) -> None:
    """Refuse a name to which nothing can be added: folders and temporary files beside it have longer ones."""
    try:
        path.with_name(f".{path.name}-temporary").lstat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput(f"out {str(path)!r:.80} cannot be written: {why}. Choose another name.") from None


def hash_of(table: Any) -> bytes:
    """Of all cells by their names, and not of bytes of the file, which another version may lay out otherwise."""
    return sha256(repr(table.to_pydict()).encode()).hexdigest().encode()


def check_parquet() -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtra("out=", "pyarrow", "sweep") from None
