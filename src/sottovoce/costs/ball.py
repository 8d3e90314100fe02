"""The Euclidean ball: ``Ball``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InvalidCost
from ._arguments import as_shape, finite_vector
from .base import Array, nonnegative
from .indicator import FEASIBLE, Indicator


class Ball(Indicator):
    """The indicator of ``||x - centre|| <= radius``: 0 inside, infinite outside.

    Parameters
    ----------
    radius : float
        At least 0; 0 is a point.
    centre : array_like, optional
        A number or a vector; zero by default.
    dim : int, optional
        Length of ``x``, where no centre says so; None for a number.

    Raises
    ------
    InvalidCost
        Where the radius is negative, or centre and dim do not agree.

    Examples
    --------
    >>> import sottovoce as sv
    >>> costs = [sv.Averaging([3.0, 4.0]), sv.Ball(1.0, dim=2)]
    >>> sv.solve(sv.Problem(sv.Network.complete(2), costs)).x[0].round(6).tolist()
    [0.6, 0.8]
    """

    _fields = ("radius", "centre")
    radius: Array  # (count,)
    centre: Array  # (count, d)

    def __init__(self, radius: float, centre: npt.ArrayLike | None = None, dim: int | None = None) -> None:
        asked = as_shape(dim)
        rows, shape = finite_vector(np.zeros(asked) if centre is None else centre, "centre")
        if dim is not None and shape != asked:
            raise InvalidCost(f"centre must have dim = {dim} entries; got shape {shape}.")
        self._fill(shape, radius=nonnegative(radius, "radius"), centre=rows)

    @property
    def sizes(self) -> tuple[float, float]:
        return float((length(self.centre) + self.radius).max()), 0.0

    def project(self, v: Array) -> Array:
        offset = v - self.centre
        distance = length(offset)
        with np.errstate(divide="ignore", invalid="ignore"):  # at the centre, where the quotient is not used
            surface = self.centre + offset * (self.radius / distance)[..., None]
        return np.where((distance <= self.radius)[..., None], v, surface)

    def _contains(self, x: Array) -> Array:
        slack = FEASIBLE * (self.radius + length(self.centre) + 1.0)
        return np.asarray(length(x - self.centre) <= self.radius + slack)


def length(v: Array) -> Array:
    """The Euclidean norm over the last axis, without overflow, summed in order: as its compiled twin does."""
    largest = np.abs(v).max(axis=-1)
    scale = np.where(largest > 0, largest, 1.0)
    return np.asarray(scale * np.sqrt(np.cumsum((v / scale[..., None]) ** 2, axis=-1)[..., -1]))
