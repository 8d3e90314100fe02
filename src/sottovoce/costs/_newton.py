"""The minimum of ``F(x) = f(x) + g'x + (rho/2)||x||^2`` to rounding, for a smooth convex ``f`` that is known by its
gradient: damped Newton. Only slopes are compared, never values, whose rounding hides half the digits of ``x``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from .base import Array

EPS = float(np.finfo(float).eps)
DENSE = 200  # up to this dimension a Hessian that is not given is differenced; beyond, only its products are
ITERATIONS = 200  # about ten are usual
BISECTIONS = 60
FORCING = 1e-4  # of the conjugate gradients, relative to their right-hand side
SLACK = 100.0  # of the accepted rounding over the aimed-for rounding: the terms of f's gradient are not known


class Smooth(Protocol):
    """What is asked of ``f``."""

    def gradient(self, x: Array) -> Array | None:
        """The gradient, or None outside the domain."""

    def hessian(self, x: Array) -> Array | None:
        """Second derivatives, or None where they are not known."""


def minimise(f: Smooth, x: Array, g: Array, rho: float) -> Array | None:
    """The minimum of ``F``, from ``x`` in the domain; None where its gradient is not its own rounding error."""
    slope = f.gradient(x)
    best, least, close, moved = None, SLACK, False, np.inf
    for _ in range(ITERATIONS):
        if slope is None:
            break
        h = slope + g + rho * x
        hessian = second_derivatives(f, x, moved)
        bend = np.abs(hessian) @ np.abs(x) if hessian is not None else np.abs(product(f, x, x, moved))
        # Of the terms of h, and of x itself, which passes through the curvature.
        rounding = (len(x) + 8) * EPS * (np.abs(slope) + np.abs(g) + rho * np.abs(x) + bend)
        excess = float((np.abs(h) / np.maximum(rounding, np.finfo(float).tiny)).max())
        if excess <= least:
            best, least = x, excess
        if close or not h.any():
            break
        change = direction(f, x, h, rho, hessian, moved)
        close = excess <= 1.0  # once more, in full: Newton's method doubles the digits
        following = (x + change, f.gradient(x + change)) if close else step(f, x, change, h, g, rho)
        if following is None:
            break
        moved = float(np.abs(following[0] - x).max())
        x, slope = following
    return best


def step(f: Smooth, x: Array, change: Array, h: Array, g: Array, rho: float) -> tuple[Array, Array] | None:
    """As far along ``change`` as ``F`` falls all the way, or its gradient halves; with the gradient of ``f`` there."""
    low, high, length = 0.0, 1.0, 1.0
    start, size = float(h @ change), float(np.linalg.norm(h))
    for _ in range(BISECTIONS):
        y = x + length * change
        slope = f.gradient(y)
        too_far = slope is None
        if slope is not None:
            there = slope + g + rho * y
            now = float(there @ change)
            falls = now <= 0.0 and (length == 1.0 or now >= 0.5 * start)
            if falls or np.linalg.norm(there) <= 0.5 * size:
                return y, slope
            too_far = not now <= 0.0
        low, high = (low, length) if too_far else (length, high)
        length = 0.5 * (low + high)
    return None


def direction(f: Smooth, x: Array, h: Array, rho: float, hessian: Array | None, moved: float) -> Array:
    """``-(H + rho I)^{-1} h``, as well as ``H`` is known."""
    if hessian is None:
        return conjugate_gradients(lambda v: product(f, x, v, moved) + rho * v, -h)
    try:
        change = np.linalg.solve(hessian + rho * np.eye(len(x)), -h)
    except np.linalg.LinAlgError:
        change = np.zeros_like(h)
    if change @ h < 0.0:
        return np.asarray(change)
    values, vectors = np.linalg.eigh(hessian)  # f is convex: an eigenvalue below zero is rounding, or differencing
    return np.asarray(-vectors @ ((vectors.T @ h) / (np.maximum(values, 0.0) + rho)))


def second_derivatives(f: Smooth, x: Array, moved: float = np.inf) -> Array | None:
    """The Hessian as given, or by differences in few dimensions; None in many."""
    given = f.hessian(x)
    if given is not None or len(x) > DENSE:
        return given
    columns = np.stack([product(f, x, axis, moved) for axis in np.eye(len(x))])
    return 0.5 * (columns + columns.T)


def product(f: Smooth, x: Array, v: Array, moved: float) -> Array:
    """``Hv`` by central differences of the gradient; closer ones near the boundary of the domain, zero on it.

    They reach a thousandth of what ``x`` moved last: where a bend is narrow, Newton's method moves little.
    """
    longest = float(np.abs(v).max(initial=0.0))
    if longest == 0.0:
        return np.zeros_like(x)
    size = max(1.0, float(np.abs(x).max()))
    reach = min(max(1e-3 * moved, EPS ** (1 / 2) * size), EPS ** (1 / 3) * size) / longest
    for _ in range(3):
        ahead, behind = f.gradient(x + reach * v), f.gradient(x - reach * v)
        if ahead is not None and behind is not None:
            return np.asarray((ahead - behind) / (2 * reach))
        reach *= 1e-2
    return np.zeros_like(x)


def conjugate_gradients(apply: Callable[[Array], Array], b: Array) -> Array:
    """``apply^{-1} b``, roughly; always a direction of descent."""
    p, r = np.zeros_like(b), b.copy()
    v, rr = r.copy(), float(r @ r)
    enough = FORCING**2 * rr
    for _ in range(2 * len(b)):
        Av = apply(v)
        curvature = float(v @ Av)
        if rr <= enough or curvature <= 0.0:
            break
        p += (rr / curvature) * v
        r -= (rr / curvature) * Av
        rr, previous = float(r @ r), rr
        v = r + (rr / previous) * v
    return p if p.any() else b
