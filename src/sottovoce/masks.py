"""Masks: the random ``z(0)`` that hides the data (paper, section 4)."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .errors import InvalidInput

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GaussianMask:
    """``z(0)`` i.i.d. ``N(0, variance)``. Without a seed the pads come from the operating system's generator."""

    variance: float

    def __post_init__(self) -> None:
        if not (isinstance(self.variance, (int, float)) and math.isfinite(self.variance) and self.variance > 0):
            raise InvalidInput(
                f"variance must be a positive number; got {self.variance!r}. Leave mask=None for a run without privacy."
            )

    @property
    def sigma(self) -> float:
        """Standard deviation of a pad."""
        return math.sqrt(self.variance)

    def draw(self, shape: tuple[int, ...], seed: int | None = None) -> Array:
        """Pads of the given shape: secret without a seed; reproducible, and therefore *not* secret, with one."""
        if seed is not None:
            # A stream of its own: the schedule uses the same seed.
            return self.sigma * np.random.default_rng([seed, 1]).standard_normal(shape)
        from scipy.special import ndtri

        count = math.prod(shape)
        words = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        # 63 bits of tail probability and a sign bit: the tails keep full relative precision.
        tail = ((words >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-64
        sign = np.where(words & np.uint64(1), 1.0, -1.0)
        return np.asarray(self.sigma * sign * ndtri(tail)).reshape(shape)
