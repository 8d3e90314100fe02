"""What a party can say about its own privacy without knowing the network: a bound from its neighbourhood.

Fewer edges hide less, so let everything but the party and its honest neighbours be known, and channels be tapped. Then
the share of its secret's variance that is explained is at most ``D / (D + h v)``: ``h`` honest neighbours, ``D`` the
variance of ``q_i = 2 s_i``, ``v = 1 / (1/D + 2/sigma^2)`` what is left of a pad (see
``privacy.methods.worst_coalition``). The command ``sottovoce plan`` audits the whole network exactly.
"""

from __future__ import annotations

import math
from typing import Any

from ..pdmm.masks import GaussianMask
from .plan.node_file import NodeConfig

PRIOR = 1.0  # variance of a value, in the units that the parties agreed on; a square of such values has twice that


def own_privacy(config: NodeConfig) -> dict[str, Any]:
    """For every number of corrupt neighbours, in nats per number that travels."""
    degree, mask = len(config.neighbours), config.question.mask
    rows, squares = [], config.question.kind != "mean"
    for corrupt in range(degree + 1):
        honest = degree - corrupt
        rows.append(
            {"corrupt_neighbours": corrupt, "leakage_at_most": None if not honest else bound(honest, mask, squares)}
        )
    certified = config.statistic is not None
    sentence = (
        f"Each number that this party contributes leaks at most {rows[0]['leakage_at_most']:.3g} nats while none of "
        f"its {degree} neighbours is corrupt, most of it through the answer itself, if values have variance "
        f"{PRIOR:g}; it is disclosed if all are."
        if certified
        else "No guarantee: this cost is not a statistic. Masking hides the constant of the gradient and nothing else."
    )
    return {
        "unit": "nats",
        "method": "neighbourhood bound, open channels tapped, Gaussian values of variance 1",
        "guarantee": "upper bound" if certified else "none",
        "channels": config.channels,
        "by_corrupt_neighbours": rows if certified else [],
        "sentence": sentence,
    }


def bound(honest: int, mask: Any, squares: bool = False) -> float:
    """``1/2 ln(1 + D / (h v))``; for modular pads the floor of a sum over the party and its honest neighbours."""
    if not isinstance(mask, GaussianMask):
        return -0.5 * math.log1p(-1 / (honest + 1))
    D = 4 * PRIOR * (2 * PRIOR if squares else 1)
    return 0.5 * math.log1p(D * (1 / D + 2 / mask.variance) / honest)
