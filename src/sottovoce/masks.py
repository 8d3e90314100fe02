"""Masks: the random ``z(0)`` that hides the data (paper, section 4)."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .errors import InvalidInput, is_number

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GaussianMask:
    """``z(0)`` i.i.d. ``N(0, variance)``. Without a seed the pads come from the operating system's generator.

    Pads are for one run. The same seed on changed data uses them twice, and the difference of two transcripts then
    shows the difference of the data: seeds are for simulation.
    """

    variance: float

    def __post_init__(self) -> None:
        if not (is_number(self.variance) and math.isfinite(self.variance) and self.variance > 0):
            raise InvalidInput(
                f"variance must be a positive number; got {self.variance!r}. "
                "Leave the mask out for a run without privacy."
            )
        object.__setattr__(self, "variance", float(self.variance))

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
