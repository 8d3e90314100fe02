"""Gaussian noise on every number, once: local differential privacy, in nats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..costs.base import Array
from ..pdmm.local_noise import LocalNoise
from .base import positive
from .noise_once import NoiseOnce


@dataclass(frozen=True)
class LocalGaussianNoise(NoiseOnce):
    """``s_i + N(0, variance)``, and the mean of these (Nozari, Tallapragada, Cortes 2017: of their linear consensus
    algorithms, noise in the first step alone is best).

    The error is ``variance/n`` in the mean, and ``R2_i = ss/(ss + variance)`` of the variance ``ss`` of a secret is
    known to taps, whoever colludes. Methods without pads are held against it: what taps know of a number is then the
    most that others can use, so no unbiased answer has less error at the same leakage (but for the noise that a node
    knows to be its own).

    Parameters
    ----------
    variance : float
        Of the noise on a number.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.LocalGaussianNoise(variance=1.0).run([3, 1, 4, 1], sv.Network.ring(4), seed=0)
    >>> outcome.traffic.messages, round(outcome.leakage(sv.privacy.Eavesdropper()).worst, 4)
    (6, 0.3466)
    """

    variance: float = 1.0

    name: ClassVar[str] = "local noise, Gaussian"
    reference: ClassVar[str] = "Nozari, Tallapragada, Cortes 2017; Dong, Roth, Su 2022"
    hides: ClassVar[str] = "variance"

    def __post_init__(self) -> None:
        positive(self.variance, "variance")

    def mu(self, change: float) -> float:
        """Of Gaussian differential privacy, for a number that may change by so much."""
        return positive(change, "change") / math.sqrt(self.variance)

    def perturbed(self, s: Array, seed: int | None) -> Array:
        return s + LocalNoise(self.variance).draw(s.shape, seed)

    def told(self, prior: float, size: int) -> float:
        # 1/2 ln(1 + signal/noise): the other numbers of the sum are noise as well.
        return 0.5 * math.log1p(prior / ((size - 1) * prior + size * self.variance))
