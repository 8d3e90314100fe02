"""Means and second moments of exact sums, each rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ...costs.base import Array
from ...numerics.exact_algebra import nearest
from ...sums import Whole
from .gram import ROUNDING


class Moments:
    """Of ``N`` rows ``t``, in the units of the data.

    Parameters
    ----------
    G : Whole
        ``sum a a'`` of ``a = (1, t)``.
    units : sequence of Fraction
        Of ``a``.
    about_mean : bool
        Or about 0.

    Attributes
    ----------
    N : int
        Rows.
    mean : ndarray
        ``(k,)``.
    S : ndarray
        ``(k, k)``: second moments, over ``N``.
    varies : ndarray
        ``(k,)``: whether that of a column is not 0, exactly or but for rounding.
    """

    def __init__(self, G: Whole, units: Sequence[Fraction], *, about_mean: bool = True) -> None:
        self.N = int(G[0, 0])
        u = np.array(units[1:], object)
        self.first = G[0, 1:] if about_mean else 0 * G[0, 1:]
        squares = self.N * G[1:, 1:] - np.outer(self.first, self.first)
        self.mean = nearest(G[0, 1:] * u * Fraction(1, self.N))
        self.S = nearest(squares * np.outer(u, u) * Fraction(1, self.N**2))
        about_0 = self.N * np.diagonal(G)[1:]
        self.varies = np.array(
            [left << 2 * ROUNDING > all_of_it for left, all_of_it in zip(np.diagonal(squares), about_0, strict=True)]
        )

    @property
    def deviations(self) -> Array:
        """Roots of the moments of the columns, and 1 of those that do not vary."""
        return np.sqrt(np.where(self.varies, np.diag(self.S), 1.0))
