"""What is given away where the sums over groups of parties are known, and nothing else is."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from ..costs.base import Array


def nats_of_sums(groups: Iterable[Collection[int]], corrupt: Collection[int], n: int, dim: int) -> Array:
    """``I(S_i; sum of its group) = -(d/2) ln(1 - 1/|group|)`` for independent Gaussian secrets of equal variance: the
    floor of the auditor. 0 for those in no group, and ``nan`` at corrupt nodes."""
    nats = np.zeros(n)
    for group in groups:
        nats[list(group)] = -0.5 * dim * np.log1p(-1 / len(group)) if len(group) > 1 else np.inf
    nats[list(corrupt)] = np.nan
    return nats
