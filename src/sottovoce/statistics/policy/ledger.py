"""What a party has released, and on which rows: kept beside its data, and asked before the next release."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ...data.identities import Words
from ...errors import PolicyError
from .book import KEY, Blobs, opened, read
from .indicators import Places, atoms, packed, unpacked
from .release import Release
from .span import Bools, Isolates

DEFAULT_LEAST = 3
CANNOT = (
    "It cannot check weights, values that have changed since, rows that go by other identities, and what other parties "
    "hold."
)


@dataclass(frozen=True)
class Ledger:
    """Every release of a party, each with the rows that it was computed on.

    A release is refused if, with all those before it, it would tell of fewer than ``least`` rows (``span``).

    Parameters
    ----------
    path : Path
        The file.
    least : int
        ``m``.
    most : int, optional
        How many different releases there may be.
    """

    path: Path
    least: int = DEFAULT_LEAST
    most: int | None = None

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
        """What can be said of a release that is not recorded yet.

        Raises
        ------
        PolicyError
            It is refused; or the ledger is damaged.
        """
        return self._judged(_Contents(read(self.path) or {}), release, Places.of(rows))

    def record(self, release: Release, rows: Words) -> str:
        """The same, and on the disk before this returns. The same release again, after a crash, is the same one."""
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
        """How many releases there are."""
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
