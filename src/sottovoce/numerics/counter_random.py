"""A counter-based generator for schedules: a uniform number is a hash of ``(key, k, index)``.

Each hash is two rounds of a 64-bit finaliser (Stafford's variant 13 constants, as in SplitMix64). It is fast and well
mixed, not cryptographic: secrets (the pads) never come from here, see ``masks``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

STEP_K = 0x9E3779B97F4A7C15  # odd constants that spread consecutive counters
STEP_INDEX = 0xD1342543DE82EF95
FACTOR_1 = 0xBF58476D1CE4E5B9
FACTOR_2 = 0x94D049BB133111EB
UNIT = 2.0**-53

Words = npt.NDArray[np.uint64] | np.uint64


def mix(v: Words) -> npt.NDArray[np.uint64]:
    """Scramble 64-bit words."""
    v = np.array(v, dtype=np.uint64, ndmin=1)
    v = (v ^ (v >> np.uint64(30))) * np.uint64(FACTOR_1)
    v = (v ^ (v >> np.uint64(27))) * np.uint64(FACTOR_2)
    return v ^ (v >> np.uint64(31))


def words(key: int, k: Words, index: Words | int) -> npt.NDArray[np.uint64]:
    """64 random bits at iteration ``k`` for ``index``; arrays broadcast."""
    k = np.array(k, dtype=np.uint64, ndmin=1)
    index = np.array(index, dtype=np.uint64, ndmin=1)
    at_k = mix(np.uint64(key) + k * np.uint64(STEP_K))
    return mix(at_k + index * np.uint64(STEP_INDEX))


def uniform(key: int, k: Words, index: Words | int) -> npt.NDArray[Any]:
    """Uniform in [0, 1) at iteration ``k`` for ``index``; arrays broadcast. ``engine.primitives`` has its twin."""
    return (words(key, k, index) >> np.uint64(11)) * UNIT
