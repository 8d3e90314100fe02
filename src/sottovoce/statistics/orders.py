"""Orders of magnitude of numbers that nobody else may know: exponents of two, summed up as integers."""

from __future__ import annotations

import numpy as np

from ..costs.base import Array

LOWEST = 1100  # below all exponents of float64: what is counted is never negative


def exponents(values: Array) -> Array:
    """Of the powers of two nearest to positive numbers, on a logarithmic scale; 0 for others."""
    positive = np.isfinite(values) & (values > 0)
    return np.asarray(np.where(positive, np.rint(np.log2(np.where(positive, values, 1.0))), 0.0))


def mean_power(total: int, count: int) -> float:
    """A power of two, from the sum of ``count`` exponents, each of them with ``LOWEST`` added."""
    return 2.0 ** (round(total / count) - LOWEST)
