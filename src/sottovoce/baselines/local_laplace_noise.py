"""Laplace noise on every number, once: pure local differential privacy, and what it is in nats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np
from scipy.integrate import quad
from scipy.special import gammainccinv, gammaincinv, gammaln

from ..costs.base import Array
from .base import positive
from .noise_once import NoiseOnce

NODES = 250  # of the mixture: beyond 200 the error is rounding
TAIL = 1e-18  # of the mixture's weights, left out


@dataclass(frozen=True)
class LocalLaplaceNoise(NoiseOnce):
    """``s_i + Laplace(scale)``, and the mean of these (Dwork, McSherry, Nissim, Smith 2006; once on the data: Nozari,
    Tallapragada, Cortes 2017).

    For numbers that may change by ``Delta``, ``scale = Delta/eps`` gives ``eps``-differential privacy. The error is
    ``2 scale^2/n`` in the mean. ``I(S_i; S_i + noise)`` for Gaussian ``S_i`` has no closed form: an integral, to 1e-8.

    Parameters
    ----------
    scale : float
        Of the noise on a number, whose variance is ``2 scale^2``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> method = baselines.LocalLaplaceNoise(scale=2.0)
    >>> outcome = method.run([3, 1, 4, 1], sv.Network.ring(4), seed=0)
    >>> method.epsilon(1.0), round(outcome.leakage(sv.privacy.Eavesdropper()).worst, 4)
    (0.5, 0.088)
    """

    scale: float = 1.0

    name: ClassVar[str] = "local noise, Laplace"
    reference: ClassVar[str] = "Dwork, McSherry, Nissim, Smith 2006; Nozari, Tallapragada, Cortes 2017"
    hides: ClassVar[str] = "scale"

    def __post_init__(self) -> None:
        positive(self.scale, "scale")

    def epsilon(self, change: float) -> float:
        """Of differential privacy, for a number that may change by so much."""
        return positive(change, "change") / self.scale

    def perturbed(self, s: Array, seed: int | None) -> Array:
        rng = np.random.default_rng(None if seed is None else [seed, 4])  # a stream of its own: data may have this seed
        return s + rng.laplace(scale=self.scale, size=s.shape)

    def told(self, prior: float, size: int) -> float:
        return information(prior / self.scale**2, size)


@lru_cache(maxsize=1024)
def information(v: float, size: int) -> float:
    """``I(S_1; Y)``, ``Y`` the sum of ``size`` numbers ``S_k + E_k``, ``S_k ~ N(0, v)`` and ``E_k ~ Laplace(1)``.

    It is ``h(Y) - h(Y - S_1)``. Of a single Laplace number ``h = 1 + ln 2``.
    """
    rest = 1 + math.log(2) if size == 1 else entropy((size - 1) * v, size)
    return max(entropy(size * v, size) - rest, 0.0)


def entropy(v: float, size: int) -> float:
    """``h`` of ``N(0, v)`` and ``size`` Laplace numbers added up.

    A sum of Laplace numbers is normal of a random variance, ``2g`` with ``g ~ Gamma(size)``. So the density is a
    mixture of normal ones, all terms of which are positive, and the trapezoidal rule in ``u = ln g`` converges
    exponentially: the integrand is analytic for ``|Im u| < pi/2``, and dies off at both ends.
    """
    u, step = np.linspace(math.log(gammaincinv(size, TAIL)), math.log(gammainccinv(size, TAIL)), NODES, retstep=True)
    variances = v + 2 * np.exp(u)
    halves = 0.5 / variances
    weights = size * u - np.exp(u) - gammaln(size) + math.log(step) - 0.5 * np.log(2 * np.pi * variances)

    def surprise(y: float) -> float:
        density = float(np.exp(weights - y**2 * halves).sum())
        return -density * math.log(density) if density > 0 else 0.0

    spread, narrow = math.sqrt(v + 2 * size), math.sqrt(v)  # below the spread of the normal part there may be a peak
    end = 15 * spread + 60
    breaks = sorted({0.0, min(narrow, end), min(8 * narrow, end), spread, 4 * spread, end})
    return 2 * sum(quad(surprise, a, b, epsabs=1e-11, epsrel=1e-10, limit=200)[0] for a, b in pairwise(breaks))
