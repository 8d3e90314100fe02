"""Integers modulo ``2^bits``, as words of 64 bits: what travels in an exact sum.

An integer is a row of words, the lowest first. Pads are uniform on the ring, so a covered integer is uniform whatever
it covers, and a pad that one party adds and another subtracts leaves the sum of both as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..network import Network
from .integer_sums import Whole

Words = npt.NDArray[np.uint64]

WORD = 64
HALF = np.uint64(32)
LOW_HALF = np.uint64(2**32 - 1)
MOST_PARTIES = 2**16  # integers leave room for as many


@dataclass(frozen=True)
class Ring:
    """Integers modulo ``2^bits``.

    Parameters
    ----------
    bits : int
        A multiple of 64; or fewer than 64, for enumerations of everything.

    Examples
    --------
    >>> import numpy as np
    >>> ring = Ring(128)
    >>> own = ring.words(np.array([-5, 2**100], dtype=object))
    >>> pad = ring.draw((2,))
    >>> ring.integers(ring.subtract(ring.add(own, pad), pad)).tolist() == [-5, 2**100]
    True
    """

    bits: int

    def __post_init__(self) -> None:
        if self.bits < 1 or (self.bits > WORD and self.bits % WORD):
            raise InvalidInput(f"bits must be a multiple of {WORD}, or at most {WORD}; got {self.bits}.")

    @property
    def width(self) -> int:
        """How many words an integer has."""
        return max(1, self.bits // WORD)

    @property
    def largest(self) -> int:
        """The largest integer that a total may be, in absolute value."""
        return (1 << (self.bits - 1)) - 1

    def words(self, integers: Whole | Iterable[int]) -> Words:
        """Words ``(k, width)`` of integers ``(k,)``, modulo ``2^bits``."""
        modulus, size = 1 << self.bits, 8 * self.width
        content = b"".join((int(value) % modulus).to_bytes(size, "little") for value in integers)
        return np.frombuffer(content, "<u8").astype(np.uint64).reshape(-1, self.width)

    def integers(self, words: Words) -> Whole:
        """Integers ``(k,)`` in ``[-2^(bits-1), 2^(bits-1))`` of words ``(k, width)``."""
        size, half, modulus = 8 * self.width, 1 << (self.bits - 1), 1 << self.bits
        content = np.ascontiguousarray(words, "<u8").tobytes()
        values = np.empty(len(words), object)
        for place in range(len(words)):
            value = int.from_bytes(content[place * size : (place + 1) * size], "little")
            values[place] = value - modulus if value >= half else value
        return values

    def draw(self, shape: tuple[int, ...]) -> Words:
        """Uniform words ``(*shape, width)`` from the operating system's generator."""
        count = int(np.prod(shape)) * self.width
        return self._reduced(np.frombuffer(os.urandom(8 * count), np.uint64).reshape(*shape, self.width))

    def add(self, left: Words, right: Words) -> Words:
        """The sum of words of one shape."""
        result, carry = np.empty_like(left), np.zeros(left.shape[:-1], np.uint64)
        for place in range(self.width):
            once = left[..., place] + right[..., place]
            twice = once + carry
            carry = ((once < left[..., place]) | (twice < once)).astype(np.uint64)
            result[..., place] = twice
        return self._reduced(result)

    def subtract(self, left: Words, right: Words) -> Words:
        """The difference of words of one shape: ``-x`` is the complement of ``x - 1``."""
        one = np.zeros_like(right)
        one[..., 0] = 1
        return self.add(left, self.add(~right, one))

    def cover(self, own: Words, pads: Iterable[tuple[int, Words]]) -> Words:
        """Words of one party under the pads of its edges, each with its sign."""
        for sign, pad in pads:
            own = self.add(own, pad) if sign > 0 else self.subtract(own, pad)
        return own

    def cover_all(self, network: Network, own: Words, pads: Words) -> Words:
        """Words ``(n, k, width)`` of all parties under pads ``(m, k, width)`` in the order of ``network.edges``: the
        smaller end adds, the larger subtracts. Halves of words are added up first, so that carries happen once."""
        low, high = (own & LOW_HALF).astype(np.int64), (own >> HALF).astype(np.int64)
        for place, (i, j) in enumerate(network.edges.tolist()):
            pad_low, pad_high = (pads[place] & LOW_HALF).view(np.int64), (pads[place] >> HALF).view(np.int64)
            low[i] += pad_low
            high[i] += pad_high
            low[j] -= pad_low
            high[j] -= pad_high
        result, carry = np.empty_like(own), np.zeros(own.shape[:-1], np.int64)
        for place in range(self.width):
            first = low[..., place] + carry
            second = high[..., place] + (first >> 32)  # an arithmetic shift: it borrows where the sum is negative
            carry = second >> 32
            result[..., place] = (first.view(np.uint64) & LOW_HALF) | (second.view(np.uint64) << HALF)
        return self._reduced(result)

    def _reduced(self, words: Words) -> Words:
        return words if self.bits >= WORD else words & np.uint64(2**self.bits - 1)
