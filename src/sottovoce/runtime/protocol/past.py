"""What a party keeps of a route that was given up in the middle of a stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ...costs.base import Array
from .answers import Rounded


@dataclass(frozen=True, eq=False)
class Past:
    """The last epoch on a route that was given up. Where this party has accepted it, others may have ended with it."""

    number: int
    absent: int  # the bits of parties that had left by then
    residual: float = 0.0
    answer: Rounded | None = None  # where it has

    def as_array(self) -> Array:
        """For the journal."""
        accepted = [] if self.answer is None else [self.residual, *self.answer.as_array()]
        return np.array([float(self.number), *flag(self.absent), *accepted])

    @classmethod
    def from_array(cls, numbers: Array) -> Self:
        """What ``as_array`` was made of."""
        number, absent, *accepted = numbers.tolist()
        rest = (accepted[0], Rounded.from_array(np.array(accepted[1:]))) if accepted else ()
        return cls(int(number), bit(absent), *rest)


def flag(absent: int) -> Array:
    """The bit of at most one party as a number that a float holds."""
    return np.array([float(absent.bit_length())])


def bit(number: float) -> int:
    """What ``flag`` was made of."""
    return 1 << int(number) - 1 if number else 0


def tag_array(tag: bytes) -> Array:
    """The tag of a route, for the journal."""
    return np.array([float(byte) for byte in tag])


def tag_of(numbers: Array) -> bytes:
    """What ``tag_array`` was made of."""
    return bytes(int(byte) for byte in numbers)
