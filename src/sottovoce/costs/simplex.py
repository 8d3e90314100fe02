"""Shares of a whole: ``Simplex``."""

from __future__ import annotations

import numpy as np

from ._arguments import as_shape, positive
from .base import Array
from .indicator import FEASIBLE, Indicator


class Simplex(Indicator):
    """The indicator of ``x >= 0``, ``sum(x) = total``: 0 there, infinite elsewhere.

    Parameters
    ----------
    total : float, optional
        Above 0; 1 for probabilities.
    dim : int, optional
        Length of ``x``; None for a number.

    Raises
    ------
    InvalidCost
        Where ``total`` is not positive.

    Examples
    --------
    >>> import sottovoce as sv
    >>> costs = [sv.Averaging([0.5, 0.9]), sv.Averaging([0.5, 0.9]) + sv.Simplex(dim=2)]
    >>> sv.solve(sv.Problem(sv.Network.complete(2), costs)).x[0].round(6).tolist()
    [0.3, 0.7]
    """

    _fields = ("total",)
    total: Array  # (count,)

    def __init__(self, total: float = 1.0, dim: int | None = None) -> None:
        shape = as_shape(dim)
        self._fill(shape, total=positive(total, "total"))

    @property
    def sizes(self) -> tuple[float, float]:
        return float(self.total.max()), 0.0

    def project(self, v: Array) -> Array:
        """``max(v - tau, 0)`` with the ``tau`` that makes the sum right, found by sorting and refined once."""
        total = self.total[:, None]
        # A shift of all entries changes nothing, and entries ``total`` below the largest end at zero: after this
        # the sums are of the size of ``total`` times ``d``, however large ``v`` is, and so is their rounding.
        v = v - v.max(axis=-1, keepdims=True)
        v = np.where(v <= -total, -np.inf, v)
        falling = -np.sort(-v, axis=-1)
        taus = (np.cumsum(falling, axis=-1) - total) / np.arange(1, self.dim + 1)
        positives = np.maximum(np.count_nonzero(falling > taus, axis=-1), 1)[..., None]
        tau = np.take_along_axis(taus, positives - 1, axis=-1)
        rest = np.cumsum(np.maximum(v - tau, 0.0), axis=-1)[..., -1:]  # in order, as its compiled twin sums
        tau += (rest - total) / positives
        return np.asarray(np.maximum(v - tau, 0.0))

    def _contains(self, x: Array) -> Array:
        slack = FEASIBLE * self.total
        return np.asarray((x.min(axis=-1) >= -slack) & (np.abs(x.sum(axis=-1) - self.total) <= slack))
