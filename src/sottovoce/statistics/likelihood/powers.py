"""Powers of two that every party has the same of: agreed numbers differ by about ``tol``, their sizes must not."""

from __future__ import annotations

import numpy as np

from ...costs.base import Array
from ...pdmm.modular_mask import Integers, ModularMask
from ..agreements import Agreements

LOWEST = 1100  # below all exponents of float64: what is counted is never negative


def exponents(values: Array) -> Array:
    """Of the powers of two nearest to positive numbers, on a logarithmic scale; 0 for others."""
    positive = np.isfinite(values) & (values > 0)
    return np.asarray(np.where(positive, np.rint(np.log2(np.where(positive, values, 1.0))), 0.0))


def agreed_powers(agreements: Agreements, held: Array, of: str) -> Array:
    """About the size of numbers ``(local, p)`` as each local party holds them: powers of two ``(p,)``, the same to the
    bit at all parties. Those who are just at the border between two count as others do."""
    votes = exponents(held).astype(np.int64) + LOWEST
    total = agreements.total(votes, ModularMask(), of_rows=False, of=of, votes=votes.shape[1])
    return 2.0 ** mean_exponents(agreements, total)


def mean_exponents(agreements: Agreements, total: Integers) -> Array:
    """Of votes that were summed up."""
    return np.rint(total / agreements.parties) - LOWEST
