"""Links of generalised linear models: ``eta = g(mu)``, and the mean ``mu = h(eta)`` with its derivatives.

``h`` is computed at any point that Newton's method may try: ``eta`` is clipped to where ``exp`` and what is made of it
stays finite. At such ends a row has no weight left in float64, so no estimate depends on them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from . import special

FAR = 200.0  # exp(3 FAR) is finite
LOG_ROOT = 0.5 * np.log(2 * np.pi)


class Link(ABC):
    """``power``: of the mean, where the linear predictor is one; parameters then have units of the response."""

    name: ClassVar[str]
    ratio: ClassVar[str | None] = None  # what exp of a parameter is
    power: ClassVar[int | None] = None

    @abstractmethod
    def of(self, mean: Array) -> Array:
        """``g(mu)``."""

    @abstractmethod
    def mean(self, eta: Array) -> Array:
        """``h(eta)``."""

    @abstractmethod
    def slope(self, eta: Array) -> Array:
        """``h'(eta)``."""

    @abstractmethod
    def curve(self, eta: Array) -> Array:
        """``h''(eta)``."""

    def inside(self, eta: Array) -> npt.NDArray[np.bool_]:
        """Where there is a mean."""
        return np.ones(np.shape(eta), dtype=bool)


class Log(Link):
    """``log mu``."""

    name, ratio = "log", "rate ratio"

    def of(self, mean: Array) -> Array:
        return np.asarray(np.log(mean))

    def mean(self, eta: Array) -> Array:
        return np.asarray(np.exp(np.clip(eta, -FAR, FAR)))

    slope = mean
    curve = mean


class Identity(Link):
    """``mu``."""

    name, power = "identity", 1

    def of(self, mean: Array) -> Array:
        return mean

    def mean(self, eta: Array) -> Array:
        return eta

    def slope(self, eta: Array) -> Array:
        return np.ones_like(eta)

    def curve(self, eta: Array) -> Array:
        return np.zeros_like(eta)


class Inverse(Link):
    """``mu^power``, for positive means."""

    name = "inverse"
    power: ClassVar[int] = -1

    def of(self, mean: Array) -> Array:
        return np.asarray(mean ** float(self.power))

    def mean(self, eta: Array) -> Array:
        return np.asarray(eta ** (1 / self.power))

    def slope(self, eta: Array) -> Array:
        q = 1 / self.power
        return np.asarray(q * eta ** (q - 1))

    def curve(self, eta: Array) -> Array:
        q = 1 / self.power
        return np.asarray(q * (q - 1) * eta ** (q - 2))

    def inside(self, eta: Array) -> npt.NDArray[np.bool_]:
        return np.asarray((eta > 1e-60) & (eta < 1e60))


class InverseSquared(Inverse):
    """``1 / mu^2``."""

    name, power = "inverse_squared", -2


class OfProbability(Link):
    """A link of probabilities, by logarithms that keep their digits next to 0 and 1."""

    @abstractmethod
    def logs(self, eta: Array) -> tuple[Array, Array, Array]:
        """``log h``, ``log (1 - h)`` and ``log h'``."""

    @abstractmethod
    def curvatures(self, eta: Array) -> tuple[Array, Array]:
        """Minus the second derivatives of ``log h`` and ``log (1 - h)``: never negative."""

    def mean(self, eta: Array) -> Array:
        return np.asarray(np.exp(self.logs(eta)[0]))

    def slope(self, eta: Array) -> Array:
        return np.asarray(np.exp(self.logs(eta)[2]))


class Logit(OfProbability):
    """``log(mu / (1 - mu))``."""

    name, ratio = "logit", "odds ratio"

    def of(self, mean: Array) -> Array:
        return np.asarray(special.logit(mean))

    def logs(self, eta: Array) -> tuple[Array, Array, Array]:
        eta = np.clip(eta, -FAR, FAR)
        p, q = -np.logaddexp(0.0, -eta), -np.logaddexp(0.0, eta)
        return p, q, p + q

    def curvatures(self, eta: Array) -> tuple[Array, Array]:
        both = np.exp(self.logs(eta)[2])
        return both, both

    def curve(self, eta: Array) -> Array:
        p, q, slope = self.logs(eta)
        return np.asarray(np.exp(slope) * (np.exp(q) - np.exp(p)))


class Probit(OfProbability):
    """The normal quantile of ``mu``."""

    name = "probit"
    FAR: ClassVar[float] = 25.0

    def of(self, mean: Array) -> Array:
        return np.asarray(special.ndtri(mean))

    def logs(self, eta: Array) -> tuple[Array, Array, Array]:
        eta = np.clip(eta, -self.FAR, self.FAR)
        return special.log_ndtr(eta), special.log_ndtr(-eta), -(eta**2) / 2 - LOG_ROOT

    def curvatures(self, eta: Array) -> tuple[Array, Array]:
        eta = np.clip(eta, -self.FAR, self.FAR)
        p, q, slope = self.logs(eta)
        up, down = np.exp(slope - p), np.exp(slope - q)
        return np.maximum(up * (up + eta), 0.0), np.maximum(down * (down - eta), 0.0)

    def curve(self, eta: Array) -> Array:
        return -np.clip(eta, -self.FAR, self.FAR) * self.slope(eta)


class CLogLog(OfProbability):
    """``log(-log(1 - mu))``."""

    name, ratio = "cloglog", "hazard ratio"

    def of(self, mean: Array) -> Array:
        return np.asarray(np.log(-np.log1p(-mean)))

    def logs(self, eta: Array) -> tuple[Array, Array, Array]:
        eta = self._clipped(eta)
        hazard = np.exp(eta)
        return np.log(-np.expm1(-hazard)), -hazard, eta - hazard

    def curvatures(self, eta: Array) -> tuple[Array, Array]:
        """With ``t = exp(eta)``: ``t (t e^t - e^t + 1) / (e^t - 1)^2``, for small ``t`` its series, and ``t``."""
        t = np.exp(self._clipped(eta))
        small = t < 0.01
        large = np.where(small, 1.0, t)
        ratio = large * (large * np.exp(large) - np.expm1(large)) / np.expm1(large) ** 2
        return np.where(small, t / 2 - t**2 / 6 + t**4 / 180, ratio), t

    def curve(self, eta: Array) -> Array:
        return np.asarray(self.slope(eta) * (1 - np.exp(self._clipped(eta))))

    def _clipped(self, eta: Array) -> Array:
        return np.asarray(np.clip(eta, -FAR, np.log(FAR)))


LINKS: dict[str, Link] = {
    link.name: link for link in (Logit(), Probit(), CLogLog(), Log(), Identity(), Inverse(), InverseSquared())
}
