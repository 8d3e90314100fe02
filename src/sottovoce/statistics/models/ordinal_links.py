"""Links of an ordinal model: the logarithm of ``p = F(a) - F(b)`` for ``a > b``, of which one may be infinite, and its
derivatives, without loss of digits in the tails."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...costs.base import Array

TINY = 1e-300  # a probability below is as good as none


class Between(NamedTuple):
    """Of ``log p``: its value, its slopes in ``a`` and ``b``, and the negatives of its second derivatives."""

    value: Array
    a: Array
    b: Array
    aa: Array
    ab: Array
    bb: Array


class Link(NamedTuple):
    """A distribution function ``F``, its inverse, and ``log(F(a) - F(b))``."""

    distribution: Callable[[Array], Array]
    quantile: Callable[[Array], Array]
    between: Callable[[Array, Array], Between]


def _derivatives(value: Array, up: Array, down: Array, bend_up: Array, bend_down: Array) -> Between:
    """From ``up = f(a)/p``, ``down = f(b)/p``, ``bend_up = f'(a)/p`` and ``bend_down = f'(b)/p``."""
    return Between(value, up, -down, up * up - bend_up, -up * down, down * down + bend_down)


def _softplus(t: Array) -> Array:
    return np.logaddexp(0.0, t)


def _logistic(t: Array) -> Array:
    return np.exp(-_softplus(-t))


def _logit(share: Array) -> Array:
    return np.log(share / (1 - share))


def _between_logistic(a: Array, b: Array) -> Between:
    """``F(a) - F(b) = F(a) F(-b) (1 - exp(b - a))``, and ``f = F (1 - F)``."""
    gap = -np.expm1(b - a)
    up = np.exp(_softplus(b) - _softplus(a)) / gap
    down = np.exp(_softplus(-a) - _softplus(-b)) / gap
    value = np.log(gap) - _softplus(-a) - _softplus(b)
    return _derivatives(value, up, down, up * (1 - 2 * _logistic(a)), down * (1 - 2 * _logistic(b)))


def _normal(t: Array) -> Array:
    from scipy import special

    return np.asarray(special.ndtr(t))


def _probit(share: Array) -> Array:
    from scipy import special

    return np.asarray(special.ndtri(share))


def _between_normal(a: Array, b: Array) -> Between:
    """In the tail where the difference keeps its digits; ``f'(t) = -t f(t)``."""
    upper = a + b > 0
    p = np.maximum(_normal(np.where(upper, -b, a)) - _normal(np.where(upper, -a, b)), TINY)
    up, down = (np.exp(-t * t / 2) / np.sqrt(2 * np.pi) / p for t in (a, b))
    end_a, end_b = (np.where(np.isinf(t), 0.0, t) for t in (a, b))
    return _derivatives(np.log(p), up, down, -end_a * up, -end_b * down)


LINKS = {
    "logit": Link(_logistic, _logit, _between_logistic),
    "probit": Link(_normal, _probit, _between_normal),
}
