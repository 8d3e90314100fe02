"""The families of generalised linear models: see ``family`` for what each says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...errors import Undetermined
from . import special
from .family import Family, Flags, Pieces, excess
from .links import Link, OfProbability

NEAR = 0.5  # relative differences below it have more digits than logarithms of both


@dataclass(frozen=True)
class Binomial(Family):
    """Proportions of ``w`` trials, or outcomes 0 and 1."""

    name, links, canonical = "binomial", ("logit", "probit", "cloglog"), "logit"
    takes = "outcomes 0 and 1, or proportions of the trials in weights"
    concave, levels = True, 2
    counted = ("those with an event", "those without")

    def wrong(self, y: Array, *, weighted: bool, dispersed: bool) -> Flags:
        return np.asarray((y < 0) | (y > 1) | (not weighted) & (y != np.rint(y)))

    def count(self, y: Array) -> Flags:
        return np.column_stack([y > 0, y < 1])

    def check(self, response: str, counts: tuple[int, ...], mean: float) -> None:
        events, others = counts
        if not (events and others):
            none = "1 (no events)" if others else "0 (only events)"
            raise Undetermined(
                f"no row of any party has {response!r} = {none}: there is nothing to explain by a model."
            )

    def infinite(self, response: str) -> str:
        return f"the column separates the outcomes {response!r}, or a level has no events, or only events"

    def variance(self, mean: Array) -> Array:
        return mean * (1 - mean)

    def variance_slope(self, mean: Array) -> Array:
        return 1 - 2 * mean

    def deviance(self, y: Array, mean: Array) -> Array:
        return self._deviance(y, mean, np.log(mean), np.log1p(-mean))

    def pieces(self, link: Link, eta: Array, y: Array) -> Pieces:
        assert isinstance(link, OfProbability)
        p, q, slope = link.logs(eta)
        odds = np.exp((p - q) / 2)
        s, r = np.exp(slope - (p + q) / 2), y / odds - (1 - y) * odds
        score = y * np.exp(slope - p) - (1 - y) * np.exp(slope - q)
        return Pieces(score, s * s, r * r, self._deviance(y, np.exp(p), p, q))

    def _deviance(self, y: Array, mean: Array, p: Array, q: Array) -> Array:
        """With the logarithms of the mean and of 1 less it, which keep their digits next to 0 and 1."""
        d, inner = -y * p - (1 - y) * q, (y > 0) & (y < 1)
        if not inner.any():  # the same numbers in less time
            return np.asarray(2 * np.maximum(d, 0.0))
        d = d + special.xlogy(y, y) + special.xlogy(1 - y, 1 - y)
        u = np.where(inner, (mean - y) / np.where(inner, y, 1.0), 0.0)
        v = np.where(inner, (y - mean) / np.where(inner, 1 - y, 1.0), 0.0)
        near = inner & (np.abs(u) < NEAR) & (np.abs(v) < NEAR)
        close = y * excess(np.where(near, u, 0.0)) + (1 - y) * excess(np.where(near, v, 0.0))
        return np.asarray(2 * np.maximum(np.where(near, close, d), 0.0))

    def curvature(self, link: Link, eta: Array, y: Array) -> Array:
        assert isinstance(link, OfProbability)
        p, q = link.curvatures(eta)
        return y * p + (1 - y) * q

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        """With the number of ways to have ``w y`` events in ``w`` trials."""
        ways = special.gammaln(w + 1) - special.gammaln(w * y + 1) - special.gammaln(w * (1 - y) + 1)
        return np.asarray(w * (special.xlogy(y, y) + special.xlogy(1 - y, 1 - y)) + ways)


@dataclass(frozen=True)
class Poisson(Family):
    """Counts of variance ``mu``. With a dispersion that is estimated responses may be rates, which are not whole."""

    name, links = "poisson", ("log",)
    canonical: ClassVar[str | None] = "log"
    takes = "counts: whole numbers >= 0"

    def wrong(self, y: Array, *, weighted: bool, dispersed: bool) -> Flags:
        return np.asarray((y < 0) | (not dispersed) & (y != np.rint(y)))

    def check(self, response: str, counts: tuple[int, ...], mean: float) -> None:
        if mean == 0:
            raise Undetermined(f"all counts {response!r} of all parties are 0: the rate has no logarithm.")

    def infinite(self, response: str) -> str:
        return f"all counts {response!r} are 0 where the column is not, as in a level without events"

    def variance(self, mean: Array) -> Array:
        return mean

    def variance_slope(self, mean: Array) -> Array:
        return np.ones_like(mean)

    def deviance(self, y: Array, mean: Array) -> Array:
        some = y > 0
        u = np.where(some, (mean - y) / np.where(some, y, 1.0), 0.0)
        near = some & (np.abs(u) < NEAR)
        far = special.xlogy(y, np.where(some, y, 1.0) / mean) - (y - mean)
        return np.asarray(2 * np.where(near, y * excess(np.where(near, u, 0.0)), far))

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        return np.asarray(w * (special.xlogy(y, y) - y - special.gammaln(y + 1)))


@dataclass(frozen=True)
class NegativeBinomial(Poisson):
    """Counts of variance ``mu + shape mu^2``."""

    name, concave = "negative_binomial", True
    canonical: ClassVar[str | None] = None
    shaped_by = "the alpha of its variance mu + alpha mu^2"

    @property
    def _alpha(self) -> float:
        assert self.shape is not None
        return self.shape

    def variance(self, mean: Array) -> Array:
        return mean + self._alpha * mean**2

    def variance_slope(self, mean: Array) -> Array:
        return 1 + 2 * self._alpha * mean

    def deviance(self, y: Array, mean: Array) -> Array:
        """``2 (y log(y / mu) - (y + 1/a) log((1 + a y) / (1 + a mu)))``, which is ``2 (y log(1 + t) + log(1 + v) / a)``
        in relative differences, without numbers as large as ``y log y`` that cancel."""
        a = self._alpha
        t, v = (y - mean) / (mean * (1 + a * y)), a * (mean - y) / (1 + a * y)
        near = (np.abs(t) < NEAR) & (np.abs(v) < NEAR)
        close = (y - mean) * t - y * excess(np.where(near, t, 0.0)) - excess(np.where(near, v, 0.0)) / a
        far = special.xlog1py(y, t) + np.log1p(v) / a
        return np.asarray(2 * np.where(near, close, far))

    def curvature(self, link: Link, eta: Array, y: Array) -> Array:
        mean = link.mean(eta)
        return np.asarray(mean * (1 + self._alpha * y) / (1 + self._alpha * mean) ** 2)

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        a = self._alpha
        ways = special.gammaln(y + 1 / a) - special.gammaln(y + 1) - special.gammaln(1 / a)
        return np.asarray(w * (special.xlogy(y, a * y) - (y + 1 / a) * np.log1p(a * y) + ways))


@dataclass(frozen=True)
class Positive(Family):
    """Of positive responses, whose variance is ``mu^power``."""

    power: ClassVar[int]
    takes = "positive numbers"
    estimated = True

    def wrong(self, y: Array, *, weighted: bool, dispersed: bool) -> Flags:
        return np.asarray(y <= 0)

    def variance(self, mean: Array) -> Array:
        return np.asarray(mean**self.power)

    def variance_slope(self, mean: Array) -> Array:
        return np.asarray(self.power * mean ** (self.power - 1))


@dataclass(frozen=True)
class Gamma(Positive):
    """Of variance ``phi mu^2``."""

    name, links, canonical, power, concave = "gamma", ("log", "inverse"), "inverse", 2, True

    def deviance(self, y: Array, mean: Array) -> Array:
        u = (y - mean) / mean
        near = np.abs(u) < NEAR
        return np.asarray(2 * np.where(near, excess(np.where(near, u, 0.0)), u - np.log(y / mean)))

    def curvature(self, link: Link, eta: Array, y: Array) -> Array:
        return np.asarray(y / link.mean(eta) if link.name == "log" else super().curvature(link, eta, y))

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        shape = w / scale
        return np.asarray(shape * np.log(shape) - shape - special.gammaln(shape) - np.log(y))

    def separable(self, *, weighted: bool) -> bool:
        return not weighted


@dataclass(frozen=True)
class InverseGaussian(Positive):
    """Of variance ``phi mu^3``."""

    name, links, canonical, power = "inverse_gaussian", ("log", "inverse_squared"), "inverse_squared", 3

    def deviance(self, y: Array, mean: Array) -> Array:
        return np.asarray((y - mean) ** 2 / (y * mean**2))

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        return np.asarray((np.log(w / (2 * np.pi * scale)) - 3 * np.log(y)) / 2)

    def separable(self, *, weighted: bool) -> bool:
        return True


@dataclass(frozen=True)
class Gaussian(Family):
    """Of variance ``phi``: least squares."""

    name, links, canonical = "gaussian", ("identity",), "identity"
    takes = "numbers"
    estimated = centred = True

    def wrong(self, y: Array, *, weighted: bool, dispersed: bool) -> Flags:
        return np.zeros(len(y), dtype=bool)

    def variance(self, mean: Array) -> Array:
        return np.ones_like(mean)

    def variance_slope(self, mean: Array) -> Array:
        return np.zeros_like(mean)

    def deviance(self, y: Array, mean: Array) -> Array:
        return np.asarray((y - mean) ** 2)

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        return np.asarray(np.log(w / (2 * np.pi * scale)) / 2)

    def separable(self, *, weighted: bool) -> bool:
        return True

    def likelihood_scale(self, deviance: float, N: int, scale: float) -> float:
        """The variance that makes the likelihood largest, as statsmodels has it."""
        return deviance / N


FAMILIES: dict[str, type[Family]] = {
    family.name: family for family in (Binomial, Poisson, NegativeBinomial, Gamma, InverseGaussian, Gaussian)
}
