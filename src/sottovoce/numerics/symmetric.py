"""Symmetric matrices, of which half travels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def upper(matrices: Array) -> Array:
    """Of ``(..., k, k)`` the entries ``(..., k (k + 1) / 2)`` on the diagonal and above, row by row."""
    i, j = np.triu_indices(matrices.shape[-1])
    return np.asarray(matrices[..., i, j])


def symmetric(half: Array, k: int) -> Array:
    """The matrices ``(..., k, k)`` of which ``half`` is ``upper``."""
    whole, (i, j) = np.empty((*half.shape[:-1], k, k)), np.triu_indices(k)
    whole[..., i, j] = half
    whole[..., j, i] = half
    return whole
