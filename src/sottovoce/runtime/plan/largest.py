"""How large the numbers of a model may be that leave a party."""

from __future__ import annotations

from ...pdmm.masks import GaussianMask
from ...pdmm.modular_mask import ModularMask


def largest_of_a_model(parties: int, size: float, mask: GaussianMask | ModularMask) -> float:
    """What a party says at most of score, information and objective, times n/N: no bound on the data tells how large
    these can get, so it is what the mask hides well, or what squares of values may be, where that is more."""
    hidden = mask.hides / 2 if isinstance(mask, GaussianMask) else 0.0
    return float(max(hidden, parties * (2 * size) ** 2))
