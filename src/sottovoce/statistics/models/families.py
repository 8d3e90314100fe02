"""Families of generalised linear models (McCullagh and Nelder, Generalized Linear Models, 1989).

With variance ``V(mu)``, link ``mu = h(eta)``, prior weights ``w`` and dispersion ``phi``, ``Var y = phi V(mu) / w``. A
row adds

    -w d / 2,        w s r x,        w s^2 x x'        for ``s = h' / sqrt V``, ``r = (y - mu) / sqrt V``

to half of the negative deviance, its score and its expected information. ``d`` is the unit deviance, ``r`` the Pearson
residual. In the observed information ``curvature`` stands for ``s^2``. With it Newton's method squares the error, where
the expected one (Fisher scoring) only divides it; they are the same for the canonical link. The log-likelihood is
``-D / (2 phi)`` and what a perfect fit (``mu = y``) would have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from . import special
from .links import Link, OfProbability

OUTSIDE = 1e30  # a unit deviance where there is no mean: no agreement carries it, so the step is halved


@dataclass(frozen=True)
class Family(ABC):
    """A distribution of responses. ``power``: of the mean in ``V``, where units of the response matter."""

    name: ClassVar[str]
    links: ClassVar[tuple[str, ...]]  # the default first
    canonical: ClassVar[str | None]
    takes: ClassVar[str]  # what a response is, for sentences
    estimated: ClassVar[bool] = False  # whether the dispersion is
    concave: ClassVar[bool] = False  # whether the log-likelihood is with all links, and not the canonical one alone
    power: ClassVar[int | None] = None

    @abstractmethod
    def wrong(self, y: Array) -> npt.NDArray[np.bool_]:
        """Responses that the family does not have."""

    @abstractmethod
    def variance(self, mean: Array) -> Array:
        """``V(mu)``."""

    @abstractmethod
    def variance_slope(self, mean: Array) -> Array:
        """``V'(mu)``."""

    @abstractmethod
    def deviance(self, y: Array, mean: Array) -> Array:
        """``d(y, mu)``."""

    @abstractmethod
    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        """The log-likelihood of each row where ``mu = y``."""

    def pieces(self, link: Link, eta: Array, y: Array) -> tuple[Array, Array, Array]:
        """``s``, ``r`` and ``d`` of some rows."""
        inside = link.inside(eta)
        eta = np.where(inside, eta, 1.0)
        mean = link.mean(eta)
        root = np.sqrt(self.variance(mean))
        d = np.maximum(self.deviance(y, mean), 0.0)
        return link.slope(eta) / root, (y - mean) / root, np.where(inside, d, OUTSIDE)

    def is_concave(self, link: Link) -> bool:
        """Whether ``curvature`` is never negative, so that Newton's method climbs."""
        return self.concave or link.name == self.canonical

    def curvature(self, link: Link, eta: Array, y: Array) -> Array:
        """``h' q - (y - mu) q'`` for ``q = h' / V``."""
        mean, slope = link.mean(eta), link.slope(eta)
        V = self.variance(mean)
        change = (link.curve(eta) * V - slope**2 * self.variance_slope(mean)) / V**2
        return np.asarray(slope**2 / V - (y - mean) * change)


class Binomial(Family):
    """Proportions of ``w`` trials, or outcomes 0 and 1."""

    name, links, canonical = "binomial", ("logit", "probit", "cloglog"), "logit"
    takes = "outcomes 0 and 1, or proportions of the trials in weights"
    concave = True

    def wrong(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.asarray((y < 0) | (y > 1))

    def variance(self, mean: Array) -> Array:
        return mean * (1 - mean)

    def variance_slope(self, mean: Array) -> Array:
        return 1 - 2 * mean

    def deviance(self, y: Array, mean: Array) -> Array:
        return np.asarray(2 * (special.rel_entr(y, mean) + special.rel_entr(1 - y, 1 - mean)))

    def pieces(self, link: Link, eta: Array, y: Array) -> tuple[Array, Array, Array]:
        assert isinstance(link, OfProbability)
        p, q, slope = link.logs(eta)
        odds = np.exp((p - q) / 2)
        d = 2 * (special.xlogy(y, y) + special.xlogy(1 - y, 1 - y) - y * p - (1 - y) * q)
        return np.exp(slope - (p + q) / 2), y / odds - (1 - y) * odds, np.maximum(d, 0.0)

    def curvature(self, link: Link, eta: Array, y: Array) -> Array:
        assert isinstance(link, OfProbability)
        p, q = link.curvatures(eta)
        return y * p + (1 - y) * q

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        """With the number of ways to have ``w y`` events in ``w`` trials."""
        ways = special.gammaln(w + 1) - special.gammaln(w * y + 1) - special.gammaln(w * (1 - y) + 1)
        return np.asarray(w * (special.xlogy(y, y) + special.xlogy(1 - y, 1 - y)) + ways)


class Poisson(Family):
    """Counts of variance ``mu``."""

    name, links = "poisson", ("log",)
    canonical: ClassVar[str | None] = "log"
    takes = "counts: whole numbers >= 0"

    def wrong(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.asarray((y < 0) | (y != np.rint(y)))

    def variance(self, mean: Array) -> Array:
        return mean

    def variance_slope(self, mean: Array) -> Array:
        return np.ones_like(mean)

    def deviance(self, y: Array, mean: Array) -> Array:
        return np.asarray(2 * (special.xlogy(y, y) - y * np.log(mean) - (y - mean)))

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        return np.asarray(w * (special.xlogy(y, y) - y - special.gammaln(y + 1)))


@dataclass(frozen=True)
class NegativeBinomial(Poisson):
    """Counts of variance ``mu + shape mu^2``."""

    shape: float = 1.0

    name, concave = "negative_binomial", True
    canonical: ClassVar[str | None] = None

    def variance(self, mean: Array) -> Array:
        return mean + self.shape * mean**2

    def variance_slope(self, mean: Array) -> Array:
        return 1 + 2 * self.shape * mean

    def deviance(self, y: Array, mean: Array) -> Array:
        a = self.shape
        tail = (y + 1 / a) * (np.log1p(a * y) - np.log1p(a * mean))
        return np.asarray(2 * (special.xlogy(y, y) - y * np.log(mean) - tail))

    def curvature(self, link: Link, eta: Array, y: Array) -> Array:
        mean = link.mean(eta)
        return np.asarray(mean * (1 + self.shape * y) / (1 + self.shape * mean) ** 2)

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        a = self.shape
        ways = special.gammaln(y + 1 / a) - special.gammaln(y + 1) - special.gammaln(1 / a)
        return np.asarray(w * (special.xlogy(y, a * y) - (y + 1 / a) * np.log1p(a * y) + ways))


class Positive(Family):
    """Of positive responses."""

    takes = "positive numbers"
    estimated = True

    def wrong(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(y <= 0)

    def variance(self, mean: Array) -> Array:
        assert self.power is not None
        return np.asarray(mean**self.power)

    def variance_slope(self, mean: Array) -> Array:
        assert self.power is not None
        return np.asarray(self.power * mean ** (self.power - 1))


class Gamma(Positive):
    """Of variance ``phi mu^2``."""

    name, links, canonical, power, concave = "gamma", ("log", "inverse"), "inverse", 2, True

    def deviance(self, y: Array, mean: Array) -> Array:
        ratio = (y - mean) / mean
        return np.asarray(2 * (ratio - np.log(y / mean)))

    def curvature(self, link: Link, eta: Array, y: Array) -> Array:
        return np.asarray(y / link.mean(eta) if link.name == "log" else super().curvature(link, eta, y))

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        shape = w / scale
        return np.asarray(shape * np.log(shape) - shape - special.gammaln(shape) - np.log(y))


class InverseGaussian(Positive):
    """Of variance ``phi mu^3``."""

    name, links, canonical, power = "inverse_gaussian", ("log", "inverse_squared"), "inverse_squared", 3

    def deviance(self, y: Array, mean: Array) -> Array:
        return np.asarray((y - mean) ** 2 / (y * mean**2))

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        return np.asarray(-np.log(2 * np.pi * scale * y**3 / w) / 2)


class Gaussian(Family):
    """Of variance ``phi``: least squares."""

    name, links, canonical, power = "gaussian", ("identity",), "identity", 0
    takes = "numbers"
    estimated = True

    def wrong(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.zeros(len(y), dtype=bool)

    def variance(self, mean: Array) -> Array:
        return np.ones_like(mean)

    def variance_slope(self, mean: Array) -> Array:
        return np.zeros_like(mean)

    def deviance(self, y: Array, mean: Array) -> Array:
        return np.asarray((y - mean) ** 2)

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        return np.asarray(-np.log(2 * np.pi * scale / w) / 2)


FAMILIES: dict[str, type[Family]] = {
    family.name: family for family in (Binomial, Poisson, NegativeBinomial, Gamma, InverseGaussian, Gaussian)
}


def family_of(name: str, shape: float | None) -> Family:
    """By its name in files."""
    return NegativeBinomial(shape) if shape is not None else FAMILIES[name]()
