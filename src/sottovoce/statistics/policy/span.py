r"""Whether sums over several sets of rows together tell of a few rows: the rule of the ledger.

A release shows ``sum_r v(r) f(r)``, where ``v`` is 1 on the rows that it was computed on and 0 elsewhere. Whoever has
several of them has every combination: of the same ``f``, all sums ``sum_r u(r) f(r)`` with ``u`` in the span of the
indicators ``v_1 .. v_k``, over the reals, and no others. So the rule is exact for sums: a new release ``v`` isolates
fewer than ``m`` rows if there are numbers ``y`` with

    0 < #{ r : u(r) != 0 } < m,    u = v - y_1 v_1 - ... - y_k v_k.

(Vectors of the old span alone were shown before; where that has none of fewer than ``m`` rows, these are all.)

Rows with the same membership form an *atom*, on which every ``u`` is constant: a column of the ``(k, A)`` matrix ``O``
of 0 and 1, and a weight. An atom of ``m`` rows or more must have ``u = 0``, which is a linear system. If it has no
solution, nothing is isolated. Else ``u = e + V' z`` on the small atoms, with ``V`` of full rank ``d``, and a search
decides: an atom on which ``u`` is not the same for all ``z`` is either put to zero, which costs a dimension, or given
up, which costs its rows; it has at most ``C(d + m, m)`` leaves. Beyond ``STEPS`` steps the answer is ``PERHAPS``, and
what may be isolated is refused. (To find the sparsest vector of a span is NP-hard in general.)

Most releases need less: of any ``m`` sets of atoms that have none in common, ``u`` must be zero on one at least, and on
all large atoms. If there is no such ``u`` for any of ``m`` sets of some hundred atoms, there is none (``surely_not``).

Whether a row that identifies somebody comes more than once, ``groups`` says: units, such as persons, and the atoms that
each has rows in. What counts are units.

Arithmetic is exact, modulo two primes. By Cramer's rule the numbers in a solution are quotients of minors of the
indicators, and it is lost modulo a prime only if that divides one of them which is not zero. A minor of order ``n`` of
a matrix of 0 and 1 is at most ``(n + 1)^((n + 1) / 2) / 2^n`` (Hadamard), which is below both primes up to ``n = 22``:
for up to 21 different sets in the ledger the answer is a theorem. Beyond, whoever wants to be overlooked needs minors
that are multiples of either prime.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from ...data.identities import BY_COLUMN, Words

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PRIMES = (2**31 - 1, 2**31 - 19)  # products of two numbers below them fit into 64 bits
STEPS = 5_000
Copies = npt.NDArray[np.uint32]
WORK = 10**9  # steps of an elimination, some ten seconds; bytes of what groups have
NEXT = np.uint64(0x9E3779B97F4A7C15)  # from the place of a row to that of the next one that is the same


class Isolates(Enum):
    """Whether a combination of releases tells of fewer than ``m`` rows."""

    NO = "no"
    YES = "yes"
    PERHAPS = "perhaps"


def isolates(old: Integers, new: Integers, weights: Integers, least: int, groups: Bools | None = None) -> Isolates:
    """Whether ``new`` brings a combination that is not zero on fewer than ``least`` rows, and on at least one.

    ``old`` ``(k, A)`` and ``new`` ``(A,)``, of 0 and 1: the atoms that each release has. ``weights``: rows of each
    atom; with ``groups`` ``(groups, A)``, the atoms in which the units of a group have rows, units of each group.
    """
    units = np.eye(len(weights), dtype=bool) if groups is None else groups
    found = [_isolates(old, new, weights, least, units, prime) for prime in PRIMES]
    return next((answer for answer in (Isolates.YES, Isolates.PERHAPS) if answer in found), Isolates.NO)


def surely_not(old: Integers, new: Integers, weights: Integers, least: int) -> bool:
    """Whether some of the atoms are enough to see that nothing is isolated; each is a group of its own."""
    return all(_surely_not(old, new, weights, least, prime) for prime in PRIMES)


def _surely_not(old: Integers, new: Integers, weights: Integers, least: int, p: int) -> bool:
    large = weights >= least
    rows, zero = _eliminated(np.vstack([old, new]).astype(np.int64), large, p)
    if not zero[-1]:
        return True
    V = rows[zero][:, ~large]
    blocks = np.arange(V.shape[1]) % least
    return not any(_eliminated(V[:, blocks == k], np.ones((blocks == k).sum(), bool), p)[1][-1] for k in range(least))


def _isolates(old: Integers, new: Integers, weights: Integers, least: int, groups: Bools, p: int) -> Isolates:
    large: Bools = np.asarray(groups[weights >= least].any(axis=0))
    rows, zero_there = _eliminated(np.vstack([old, new]).astype(np.int64), large, p)
    if not zero_there[-1]:  # whatever is subtracted, something is left on a large atom
        return Isolates.NO
    small = ~large
    V = rows[:-1][zero_there[:-1]][:, small]
    reduced, zero = _eliminated(np.vstack([V, rows[-1][small]]), np.ones(small.sum(), bool), p)
    if zero[-1]:  # it is a combination of the others, and tells nothing new
        return Isolates.NO
    search = _Search(groups[:, small], weights, least, p)
    try:
        return Isolates.YES if search.below(reduced[-1], reduced[:-1][~zero[:-1]], search.nobody) else Isolates.NO
    except _TooManySteps:
        return Isolates.PERHAPS


def _eliminated(matrix: Integers, where: Bools, p: int) -> tuple[Integers, Bools]:
    """Rows, each less multiples of earlier ones, and which of them are zero on the columns ``where`` then."""
    matrix, zero = matrix.copy(), np.zeros(len(matrix), bool)
    columns = np.flatnonzero(where)
    for i, row in enumerate(matrix):
        pivots = columns[row[columns] != 0]
        if not len(pivots):
            zero[i] = True
            continue
        scaled = row * pow(int(row[pivots[0]]), -1, p) % p
        matrix[i + 1 :] = _less(matrix[i + 1 :], scaled, int(pivots[0]), p)
    return matrix, zero


def _less(rows: Integers, pivot: Integers, column: int, p: int) -> Integers:
    """Rows that are zero in a column, by a multiple of one that is 1 there."""
    return (rows - rows[..., column, None] * pivot % p) % p


class _TooManySteps(Exception):
    pass


class _Search:
    """For a vector of ``e + span(V)`` that is zero on all groups but such that weigh less than ``least`` together."""

    def __init__(self, groups: Bools, weights: Integers, least: int, p: int) -> None:
        self.groups, self.weights, self.least, self.p = groups, weights, least, p
        self.nobody = np.zeros(len(groups), bool)
        self.steps = 0

    def below(self, e: Integers, V: Integers, given_up: Bools) -> bool:
        """Whether there is one; ``given_up`` are groups on which it need not be zero."""
        self.steps += 1
        if self.steps > STEPS:
            raise _TooManySteps
        told = given_up | self.groups[:, ~V.any(axis=0) & (e != 0)].any(axis=1)
        if self.weights[told].sum() >= self.least:
            return False
        V, open_ = self._remaining(V, told)
        if not len(open_):
            return True
        costs = self.weights @ (self.groups[:, open_] & ~told[:, None])
        column = int(open_[costs.argmax()])
        row = int(np.flatnonzero(V[:, column])[0])
        pivot = V[row] * pow(int(V[row, column]), -1, self.p) % self.p
        others = _less(np.delete(V, row, axis=0), pivot, column, self.p)
        if self.below(_less(e[None], pivot, column, self.p)[0], others, told):
            return True
        return self.below(e, V, told | self.groups[:, column])

    def _remaining(self, V: Integers, told: Bools) -> tuple[Integers, npt.NDArray[np.intp]]:
        """Directions that still matter, independent of each other, and atoms that they move: not those of which all
        rows are given up."""
        matters: Bools = np.asarray((self.groups & ~told[:, None]).any(axis=0))
        V, zero = _eliminated(V, matters, self.p)
        V = V[~zero]
        return V, np.flatnonzero(matters & V.any(axis=0))


@dataclass(frozen=True, eq=False)
class Places:
    """Rows as a ledger keeps them: their words, and which of those with this word each is, from 0.

    All rows that were ever released have a place, in the order in which they came; a set is a bitmap over these places.
    Rows that cannot be told apart are told by their number: the second row of the same content has a place of its own,
    and is in a set that has two such rows or more.
    """

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
