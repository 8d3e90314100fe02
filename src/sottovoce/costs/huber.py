"""A robust mean: ``Huber``."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from ._arguments import finite_rows, finite_vector, positive
from .base import Array, Cost


class Huber(Cost):
    """``f(x) = sum_a h(x_a - s_a)``, ``h(t) = t^2/2`` for ``|t| <= delta``, ``delta |t| - delta^2/2`` beyond.

    Parameters
    ----------
    s : array_like
        A number or a vector.
    delta : float, optional
        Where the parabola ends, above 0.

    Raises
    ------
    InvalidCost
        Where ``s`` is empty or not finite, or ``delta`` not positive.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.Problem(sv.Network.ring(3), sv.Huber.many([1, 2, 30]))
    >>> [round(float(x), 6) for x in sv.solve(problem).x]
    [2.0, 2.0, 2.0]
    """

    _fields = ("s", "delta")
    s: Array  # (count, d)
    delta: Array  # (count,)

    def __init__(self, s: npt.ArrayLike, delta: float = 1.0) -> None:
        rows, shape = finite_vector(s, "s")
        self._fill(shape, s=rows, delta=positive(delta, "delta"))

    @classmethod
    def many(cls, s: npt.ArrayLike, delta: npt.ArrayLike = 1.0) -> Self:
        """One node a row: ``s`` of shape ``(count,)`` or ``(count, d)``; ``delta`` one for all, or one each."""
        rows, shape = finite_rows(s, "s")
        return cls._make(shape, s=rows, delta=positive(delta, "delta", len(rows)))

    def value(self, x: Array) -> Array:
        delta, distance = self.delta[:, None], np.abs(x - self.s)
        inside = np.minimum(distance, delta)
        return np.asarray(np.sum(inside * (distance - 0.5 * inside), axis=-1))

    def step(self, g: Array, rho: Array) -> Array:
        """In each coordinate, the minimum of the parabola if within ``delta`` of ``s``, else that of the slope."""
        rho, delta = rho[:, None], self.delta[:, None]
        offset = -(g + rho * self.s) / (1.0 + rho)  # of the parabola's minimum from s
        slope = np.copysign(delta, offset)
        with np.errstate(over="ignore"):  # where it is not taken, or the run diverges, which its status says
            straight = -(g + slope) / rho
        return np.where(np.abs(offset) <= delta, (self.s - g) / (1.0 + rho), straight)

    def gradient(self, x: Array) -> Array:
        """The distance from ``s``, clipped at ``delta``."""
        return np.clip(x - self.s, -self.delta[:, None], self.delta[:, None])

    @property
    def sizes(self) -> tuple[float, float]:
        sizes = np.abs(self.s).max(axis=1)
        return float(sizes.max()), float(np.minimum(sizes, self.delta).max())

    @property
    def bounded_slopes(self) -> bool:
        return True

    @property
    def mean_curvature(self) -> Array:
        """That of the parabola."""
        return np.eye(self.dim)

    def piece(self, x: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
        inside = np.abs(x - self.s) <= self.delta[:, None]
        return inside[:, :, None] * np.eye(self.dim), np.ones(x.shape, dtype=np.bool_)

    @property
    def irregular(self) -> str | None:
        return "a Huber loss is straight far from its centre, so it is not strongly convex"
