"""What every pass over a table looks at: which rows, in no order, and how large."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd
SHIFT = np.uint64(32)
MAGNITUDE = np.uint64(0x7FFFFFFFFFFFFFFF)


@njit(cache=True, nogil=True)
def look(block: Words, largest: Words) -> np.uint64:
    """Of rows given as their bits: a sum of a hash of each, modulo 2^64; their magnitudes into ``largest``."""
    total = np.uint64(0)
    for row in block:
        mixed = FACTOR
        for j in range(len(row)):
            mixed = (mixed ^ row[j]) * FACTOR
            mixed ^= mixed >> SHIFT
            largest[j] = max(largest[j], row[j] & MAGNITUDE)
        total += mixed * FACTOR
    return total
