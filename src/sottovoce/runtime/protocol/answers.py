"""The answer that everybody signs: numbers that are the same everywhere, to the bit.

Frozen ``x`` of honest parties differ in their last digits. So one of them, the *first* of the route, rounds its own to
a step, says the multiples with its acceptance, and everybody passes them on; who finds them no further than a step from
its own ``x`` signs their digest, and who does not, that no answer is right. Parties whose answers are not the same
cannot both end: each needs the signature of everybody, and an honest party signs one digest of an epoch.

The digest hides what it is of, for the signature of a number that could be guessed would confirm the guess: it begins
with a *salt*, 32 bytes that only the first party can make and that travel with the multiples, sealed, over every kind
of channel. Where an agreement is on whole numbers everybody rounds by itself, and nothing travels; what such an
agreement is on has no mask, and is public to those who see the channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Self

import numpy as np

from ...costs.base import Array
from ..keys.identity import with_lengths

SALT = 32  # bytes
WORDS = SALT // 4  # numbers of 32 bits
EXTRA = WORDS + 1  # numbers before the multiples: the salt and the step
LARGEST = 2.0**53  # multiples stay below: a float has all whole numbers up to there
UNSALTED = bytes(SALT)
NONE = bytes(32)  # in place of a digest: the epoch looks right, and no answer does


@dataclass(frozen=True, eq=False)
class Rounded:
    """Whole multiples of a step."""

    step: float
    multiples: Array
    salt: bytes = UNSALTED

    @classmethod
    def of(cls, x: Array, step: float, salt: bytes) -> Self:
        """The nearest."""
        return cls(step, np.rint(x / step) + 0.0, salt)

    @classmethod
    def whole(cls, x: Array, parties: int) -> Self:
        """Of a mean of whole numbers over so many parties."""
        return cls(1.0 / parties, np.rint(x * parties) + 0.0)

    @property
    def x(self) -> Array:
        """The answer: one product for each number, rounded as IEEE 754 has it."""
        return self.multiples * self.step

    @cached_property
    def digest(self) -> bytes:
        """What is signed."""
        parts = (np.array([self.step]), self.multiples)
        numbers = (np.ascontiguousarray(part, dtype="<f8").tobytes() for part in parts)
        return sha256(with_lengths(b"sottovoce answer", self.salt, *numbers)).digest()

    def off(self, x: Array) -> float:
        """How far it is from other numbers, in steps."""
        return float(np.abs(self.x - x).max(initial=0.0)) / self.step

    def as_array(self) -> Array:
        """As it travels, and for the journal."""
        return np.concatenate([np.frombuffer(self.salt, "<u4").astype(np.float64), [self.step], self.multiples])

    @classmethod
    def from_array(cls, numbers: Array) -> Self | None:
        """What ``as_array`` was made of, or None if nothing was."""
        words, step, multiples = numbers[:WORDS], float(numbers[WORDS]), numbers[EXTRA:]
        salted = np.array_equal(np.rint(words), words) and bool(((words >= 0) & (words < 2.0**32)).all())
        whole = np.array_equal(np.rint(multiples), multiples) and bool((np.abs(multiples) < LARGEST).all())
        if not (salted and whole and 0 < step < np.inf):
            return None
        return cls(step, multiples + 0.0, words.astype("<u4").tobytes())
