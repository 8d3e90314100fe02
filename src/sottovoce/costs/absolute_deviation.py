"""The median: ``AbsoluteDeviation``."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from ._arguments import finite_rows, finite_vector
from .base import Array, Cost


class AbsoluteDeviation(Cost):
    """``f(x) = ||x - s||_1``; consensus on it is the median, coordinate by coordinate.

    Parameters
    ----------
    s : array_like
        A number or a vector.

    Raises
    ------
    InvalidCost
        Where ``s`` is empty or not finite.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.Problem(sv.Network.ring(3), sv.AbsoluteDeviation.many([1, 2, 30]))
    >>> [round(float(x), 6) for x in sv.solve(problem).x]
    [2.0, 2.0, 2.0]
    """

    _fields = ("s",)
    s: Array  # (count, d)

    def __init__(self, s: npt.ArrayLike) -> None:
        rows, shape = finite_vector(s, "s")
        self._fill(shape, s=rows)

    @classmethod
    def many(cls, s: npt.ArrayLike) -> Self:
        """One node a row: ``s`` of shape ``(count,)`` or ``(count, d)``."""
        rows, shape = finite_rows(s, "s")
        return cls._make(shape, s=rows)

    def value(self, x: Array) -> Array:
        return np.asarray(np.abs(x - self.s).sum(axis=-1))

    def step(self, g: Array, rho: Array) -> Array:
        """In each coordinate ``s``, if a slope of at most 1 holds it there, else the minimum on one side of it."""
        rho = rho[:, None]
        pull = -(g + rho * self.s)
        return np.where(np.abs(pull) <= 1.0, self.s, -(g + np.copysign(1.0, pull)) / rho)

    @property
    def sizes(self) -> tuple[float, float]:
        return float(np.abs(self.s).max()), 1.0

    @property
    def bounded_slopes(self) -> bool:
        return True

    @property
    def irregular(self) -> str | None:
        return "an absolute value is not differentiable at its centre"
