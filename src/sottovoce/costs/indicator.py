"""What the indicator of a convex set is: zero on the set, infinite elsewhere."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from .base import Array, Cost

FEASIBLE = 1e-12
"""How far outside, relative to its size, a point still counts as in the set.

A projection is only as exact as its rounding, at most ``d * eps``: 1e-12 covers that up to ``d = 4,500``. It lies far
below the ``tol`` of any run, so a point that counts as feasible is so to every digit that a run settles.
"""


class Indicator(Cost):
    """``f(x) = 0`` for ``x`` in a closed convex set, ``inf`` elsewhere; the step is the projection of ``-g/rho``."""

    @abstractmethod
    def project(self, v: Array) -> Array:
        """The nearest point of each node's set, for ``v`` of shape ``(..., count, dim)``."""

    @abstractmethod
    def _contains(self, x: Array) -> Array:
        """Whether ``x`` is in the set, up to ``FEASIBLE``; ``(..., count)``."""

    def value(self, x: Array) -> Array:
        return np.where(self._contains(x), 0.0, np.inf)

    def step(self, g: Array, rho: Array) -> Array:
        return self.project(-g / rho[:, None])

    @property
    def irregular(self) -> str | None:
        return "an indicator is not differentiable at the boundary of its set"
