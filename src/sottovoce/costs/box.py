"""Bounds: ``Box`` and ``NonNegative``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InvalidCost
from ._arguments import as_shape
from .base import Array, as_vector
from .indicator import FEASIBLE, Indicator


class Box(Indicator):
    """The indicator of ``lower <= x <= upper``: 0 inside, infinite outside.

    Parameters
    ----------
    lower, upper : array_like
        Numbers or vectors; ``-inf`` and ``inf`` mean no bound.
    dim : int, optional
        Length of ``x``, where both bounds are numbers; None for a number.

    Raises
    ------
    InvalidCost
        Where nothing lies between the bounds, or shapes do not agree.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.Problem(sv.Network.complete(2), [sv.Averaging(3.0), sv.Averaging(5.0) + sv.Box(0, 1)])
    >>> [round(float(x), 6) for x in sv.solve(problem).x]
    [1.0, 1.0]
    """

    _fields = ("lower", "upper")
    lower: Array  # (count, d)
    upper: Array  # (count, d)

    def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike, dim: int | None = None) -> None:
        (low, low_shape), (high, high_shape) = as_vector(lower, "lower"), as_vector(upper, "upper")
        shapes = {shape for shape in (low_shape, high_shape, as_shape(dim)) if shape}
        if len(shapes) > 1 or (0,) in shapes:
            raise InvalidCost(
                f"lower, upper and dim must agree on one dimension; got shapes {low_shape}, {high_shape} and dim={dim}."
            )
        shape = shapes.pop() if shapes else ()
        low, high = (np.ascontiguousarray(np.broadcast_to(bound, (1, *(shape or (1,))))) for bound in (low, high))
        bad = ~(low <= high) | (low == np.inf) | (high == -np.inf)
        if bad.any():
            entry = f"; entry {int(bad[0].argmax())} is not" if shape else ""
            raise InvalidCost(f"lower must be <= upper, with a number between{entry}.")
        self._fill(shape, lower=low, upper=high)

    @property
    def sizes(self) -> tuple[float, float]:
        bounds = np.concatenate([self.lower, self.upper])
        return float(np.abs(bounds[np.isfinite(bounds)]).max(initial=0.0)), 0.0

    def project(self, v: Array) -> Array:
        return np.clip(v, self.lower, self.upper)

    def _contains(self, x: Array) -> Array:
        slack = FEASIBLE * np.maximum(1.0, np.abs(x))
        return np.asarray(((self.lower - slack <= x) & (x <= self.upper + slack)).all(axis=-1))


class NonNegative(Box):
    """The indicator of ``x >= 0``: 0 there, infinite elsewhere.

    Parameters
    ----------
    dim : int, optional
        Length of ``x``; None for a number.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.Problem(sv.Network.complete(2), [sv.Averaging(-3.0), sv.Averaging(1.0) + sv.NonNegative()])
    >>> [round(abs(float(x)), 6) for x in sv.solve(problem).x]
    [0.0, 0.0]
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(0.0, np.inf, dim)
