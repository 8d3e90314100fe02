"""What a family of a generalised linear model says of itself (McCullagh and Nelder, Generalized Linear Models, 1989).

With variance ``V(mu)``, link ``mu = h(eta)``, prior weights ``w`` and dispersion ``phi``, ``Var y = phi V(mu) / w``. A
row adds

    -w d / 2,        w s r x,        w s^2 x x'        for ``s = h' / sqrt V``, ``r = (y - mu) / sqrt V``

to half of the negative deviance, its score and its expected information. ``d`` is the unit deviance, ``r`` the Pearson
residual. In the observed information ``curvature`` stands for ``s^2``. With it Newton's method squares the error, where
the expected one (Fisher scoring) only divides it; they are the same for the canonical link. The log-likelihood is
``-D / (2 phi)`` and what a perfect fit (``mu = y``) would have.

Nothing outside of a family asks which one it is: whoever adds one writes one class, and enters it in ``FAMILIES``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import InvalidInput, is_number
from .links import Link

Flags = npt.NDArray[np.bool_]


class Pieces(NamedTuple):
    """Of some rows ``s r``, ``s^2``, ``r^2`` and ``d``; NaN where there is no mean."""

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
        """Of some rows, what is ``counted`` before anything else, ``(rows, len(counted))``."""
        return np.zeros((len(y), 0), dtype=bool)

    def check(self, response: str, counts: tuple[int, ...], mean: float) -> None:  # noqa: B027  most have nothing to do
        """Refuse responses of all parties together of which there is nothing to explain: ``Undetermined``, one sentence
        at all of them."""

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
        """What some rows add to the sums."""
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
