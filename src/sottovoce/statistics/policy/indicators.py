"""Sets of rows as a ledger keeps them: what a release was computed on, and how such sets overlap.

All rows that were ever released have a place, in the order in which they came; a set is a bitmap over these places.
Rows that cannot be told apart are told by their number: the second row of the same content has a place of its own, and
is in a set that has two such rows or more.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...data.identities import BY_COLUMN, Words
from .span import Bools, Integers, Isolates, isolates, surely_not

Copies = npt.NDArray[np.uint32]
WORK = 10**9  # steps of an elimination, some ten seconds; bytes of what groups have
NEXT = np.uint64(0x9E3779B97F4A7C15)  # from the place of a row to that of the next one that is the same


@dataclass(frozen=True, eq=False)
class Places:
    """Rows: their words, and which of those with this word each is, from 0."""

    words: Words
    copies: Copies

    @classmethod
    def of(cls, words: Words) -> Places:
        """Of rows in any order."""
        words = np.sort(words)
        first = np.searchsorted(words, words)
        return cls(words, (np.arange(len(words)) - first).astype(np.uint32))

    def __len__(self) -> int:
        return len(self.words)

    @property
    def keys(self) -> Words:
        """A word for each, all different."""
        return self.words + self.copies.astype(np.uint64) * NEXT

    @property
    def digest(self) -> str:
        """The same for the same rows."""
        return hashlib.blake2b(np.sort(self.keys).astype("<u8").tobytes(), digest_size=16).hexdigest()

    @property
    def units(self) -> Words:
        """Who a row is of: all rows that a column calls the same are of one; others are of one each."""
        return np.where(self.words >= BY_COLUMN, self.words, self.keys)

    def joined(self, others: Places) -> Places:
        """These, and then those."""
        return Places(np.concatenate([self.words, others.words]), np.concatenate([self.copies, others.copies]))

    def at(self, kept: Bools) -> Places:
        """Some of them."""
        return Places(self.words[kept], self.copies[kept])

    def among(self, others: Places) -> tuple[npt.NDArray[np.intp], Bools]:
        """Where each is among others, and whether it is there."""
        keys, order = others.keys, np.argsort(others.keys)
        if not len(keys):
            return np.zeros(len(self), np.intp), np.zeros(len(self), bool)
        found = np.minimum(np.searchsorted(keys, self.keys, sorter=order), len(keys) - 1)
        return order[found], keys[order[found]] == self.keys

    def to_bytes(self) -> bytes:
        """For the file."""
        return self.words.astype("<u8").tobytes() + zlib.compress(self.copies.astype("<u4").tobytes())

    @classmethod
    def from_bytes(cls, rows: int, blob: bytes) -> Places:
        """What ``to_bytes`` gave."""
        copies = np.frombuffer(zlib.decompress(blob[8 * rows :]), "<u4")
        return cls(np.frombuffer(blob[: 8 * rows], "<u8").astype(np.uint64), copies.astype(np.uint32))


def packed(bits: Bools) -> bytes:
    """A bitmap for the file."""
    return zlib.compress(np.packbits(bits).tobytes())


def unpacked(blob: bytes, size: int) -> Bools:
    """A bitmap over ``size`` places, of which the last came after it was written."""
    bits = np.unpackbits(np.frombuffer(zlib.decompress(blob), np.uint8))[:size].astype(bool)
    return np.concatenate([bits, np.zeros(size - len(bits), bool)])


@dataclass(frozen=True, eq=False)
class Atoms:
    """Places by which sets they are in. ``first`` is one place of each atom; of ``weights`` and ``groups`` see
    ``isolates``."""

    places: Places
    sets: Sequence[bytes]
    first: npt.NDArray[np.intp]
    weights: Integers
    groups: Bools | None
    too_many: bool = False

    def isolates(self, least: int) -> Isolates:
        """Whether the last set, with those before it, isolates fewer than ``least`` rows."""
        each = self.groups is None and not self.too_many
        if each and surely_not(*self._of(some := self._some(least)), self.weights[some], least):
            return Isolates.NO
        if self.too_many or len(self.sets) ** 2 * len(self.first) > WORK:
            return Isolates.PERHAPS
        return isolates(*self._of(np.arange(len(self.first))), self.weights, least, self.groups)

    def _some(self, least: int) -> npt.NDArray[np.intp]:
        """The heaviest atoms, of those of ``least`` rows and of others, as many as mostly are enough."""
        enough = 2 * len(self.sets) + 32
        order = np.argsort(-self.weights, kind="stable")
        large = int((self.weights >= least).sum())
        return np.concatenate([order[:large][:enough], order[large:][: least * enough]])

    def _of(self, some: npt.NDArray[np.intp]) -> tuple[Integers, Integers]:
        """Which sets have these atoms, and whether the last one does."""
        member = np.array([unpacked(blob, len(self.places))[self.first[some]] for blob in self.sets], np.int64)
        return member[:-1], member[-1]


def atoms(places: Places, sets: Sequence[bytes]) -> Atoms:
    """Of bitmaps over these places, as the file has them."""
    # Random words, added up: two memberships that are not the same have the same sum with a chance of 2^-64.
    draw = np.random.default_rng()
    sums = np.zeros(len(places), np.uint64)
    for blob in sets:
        np.add(sums, draw.integers(2**64, dtype=np.uint64), out=sums, where=unpacked(blob, len(places)))
    _, first, atom, weights = np.unique(sums, return_index=True, return_inverse=True, return_counts=True)
    if not (places.copies[places.words >= BY_COLUMN] > 0).any():
        return Atoms(places, sets, first, weights, None)
    _, unit = np.unique(places.units, return_inverse=True)
    of_unit = np.zeros(unit.max() + 1, np.uint64)
    np.add.at(of_unit, unit, draw.integers(2**64, size=len(weights), dtype=np.uint64)[atom])
    _, group, counts = np.unique(of_unit, return_inverse=True, return_counts=True)
    if len(counts) * len(weights) > WORK:
        return Atoms(places, sets, first, counts, None, too_many=True)
    groups = np.zeros((len(counts), len(weights)), bool)
    groups[group[unit], atom] = True
    return Atoms(places, sets, first, counts, groups)
