"""The families and links of generalised linear models (McCullagh and Nelder, Generalized Linear Models, 1989).

With variance ``V(mu)``, link ``mu = h(eta)``, prior weights ``w`` and dispersion ``phi``, ``Var y = phi V(mu) / w``. A
row adds

    -w d / 2,        w s r x,        w s^2 x x'        for ``s = h' / sqrt V``, ``r = (y - mu) / sqrt V``

to half of the negative deviance, its score and its expected information. ``d`` is the unit deviance, ``r`` the Pearson
residual. In the observed information ``curvature`` stands for ``s^2``. With it Newton's method squares the error, where
the expected one (Fisher scoring) only divides it; they are the same for the canonical link. The log-likelihood is
``-D / (2 phi)`` and what a perfect fit (``mu = y``) would have.

Nothing outside of a family asks which one it is: whoever adds one writes one class, and enters it in ``FAMILIES``.

``h`` is computed at any point that Newton's method may try: ``eta`` is clipped to where ``exp`` and what is made of it
stays finite. At such ends a row has no weight left in float64, so no estimate depends on them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import InvalidInput, Undetermined, is_number
from . import special

Flags = npt.NDArray[np.bool_]
NEAR = 0.5  # relative differences below it have more digits than logarithms of both
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


class IdentityLink(Link):
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
    link.name: link for link in (Logit(), Probit(), CLogLog(), Log(), IdentityLink(), Inverse(), InverseSquared())
}


class Pieces(NamedTuple):
    """Of some rows their ``s r``, ``s^2``, ``r^2`` and ``d``; NaN where there is no mean."""

    score: Array
    information: Array
    square: Array
    deviance: Array


@dataclass(frozen=True)
class Family(ABC):
    """A distribution of responses. ``shape``: a number that is given and not estimated, in families that have one."""

    shape: float | None = None

    name: ClassVar[str]
    links: ClassVar[tuple[str, ...]]  # the default first
    canonical: ClassVar[str | None] = None
    takes: ClassVar[str]  # what a response is, for sentences
    estimated: ClassVar[bool] = False  # whether the dispersion is
    concave: ClassVar[bool] = False  # whether the log-likelihood is with all links, and not the canonical one alone
    levels: ClassVar[int] = 0  # that a category may have as a response
    centred: ClassVar[bool] = False  # whether responses may be counted from anywhere, and only differences matter
    shaped_by: ClassVar[str | None] = None  # what the shape is, for sentences
    shapes: ClassVar[tuple[float, float]] = (0.0, math.inf)  # between which it lies
    counted: ClassVar[tuple[str, ...]] = ()  # what is counted of responses, for people

    @classmethod
    def of_shape(cls, shape: Any) -> Family:
        """The family of a shape, or a sentence that begins with ``shape``."""
        if (shape is not None) != (cls.shaped_by is not None):
            need = f"needs a shape, {cls.shaped_by}" if shape is None else "has no shape"
            raise InvalidInput(f"shape: family {cls.name} {need}; got {shape!r}.")
        if shape is None:
            return cls()
        low, high = cls.shapes
        if not (is_number(shape) and math.isfinite(shape) and low < shape < high):
            wanted = "a positive number" if (low, high) == (0.0, math.inf) else f"a number between {low:g} and {high:g}"
            raise InvalidInput(f"shape must be {wanted}; got {shape!r}.")
        return cls(float(shape))

    # Responses

    @abstractmethod
    def wrong(self, y: Array, *, weighted: bool, dispersed: bool) -> Flags:
        """Responses that the family does not have, with prior weights or without, with a dispersion that is estimated
        or not."""

    def count(self, y: Array) -> Flags:
        """Whether some rows are what is ``counted`` before anything else, ``(rows, len(counted))``."""
        return np.zeros((len(y), 0), dtype=bool)

    def check(self, response: str, counts: tuple[int, ...], mean: float) -> None:  # noqa: B027  most have nothing to do
        """Refuse responses of all parties together of which there is nothing to explain: ``Undetermined``."""

    def infinite(self, response: str) -> str:
        """Why a parameter may grow without bound."""
        return f"the responses {response!r} tell nothing of it"

    # Likelihood

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

    def separable(self, *, weighted: bool) -> bool:
        """Whether what the dispersion does to ``saturated`` is the same for all rows, so that its sum at one dispersion
        tells that at all."""
        return not self.estimated

    def likelihood_scale(self, deviance: float, N: int, scale: float) -> float:
        """The dispersion at which the log-likelihood is told, where it is estimated."""
        return scale

    def pieces(self, link: Link, eta: Array, y: Array) -> Pieces:
        """Deviances and residuals of some rows, with what they add to score and information."""
        inside = link.inside(eta)
        eta = np.where(inside, eta, 1.0)
        mean = link.mean(eta)
        V, slope = self.variance(mean), link.slope(eta)
        d = np.where(inside, np.maximum(self.deviance(y, mean), 0.0), np.nan)
        return Pieces(slope * (y - mean) / V, slope**2 / V, (y - mean) ** 2 / V, d)

    def is_concave(self, link: Link) -> bool:
        """Whether ``curvature`` is never negative, so that Newton's method climbs."""
        return self.concave or link.name == self.canonical

    def curvature(self, link: Link, eta: Array, y: Array) -> Array:
        """``h' q - (y - mu) q'`` for ``q = h' / V``."""
        mean, slope = link.mean(eta), link.slope(eta)
        V = self.variance(mean)
        change = (link.curve(eta) * V - slope**2 * self.variance_slope(mean)) / V**2
        return np.asarray(slope**2 / V - (y - mean) * change)


def excess(u: Array) -> Array:
    """``u - log(1 + u)``, never negative."""
    return np.asarray(u - np.log1p(u))


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
    """Families of positive responses, whose variance is ``phi mu^power``."""

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
    """Positive numbers of variance ``phi mu^2``."""

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
    """Positive numbers of variance ``phi mu^3``."""

    name, links, canonical, power = "inverse_gaussian", ("log", "inverse_squared"), "inverse_squared", 3

    def deviance(self, y: Array, mean: Array) -> Array:
        return np.asarray((y - mean) ** 2 / (y * mean**2))

    def saturated(self, y: Array, w: Array, scale: float) -> Array:
        return np.asarray((np.log(w / (2 * np.pi * scale)) - 3 * np.log(y)) / 2)

    def separable(self, *, weighted: bool) -> bool:
        return True


@dataclass(frozen=True)
class Gaussian(Family):
    """Numbers of variance ``phi``: least squares."""

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
