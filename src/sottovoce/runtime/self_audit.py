"""What a party can say about its own privacy without knowing the network.

To the exact sums of a statistic the procedure adds nothing, whoever colludes, while one neighbour is honest. Of a cost
with noise there is a bound from the party's neighbourhood. Fewer edges hide less, so let everything but the party and
its honest neighbours be known, and channels be tapped. Then the share of its secret's variance that is explained is at
most ``D / (D + h v)``: ``h`` honest neighbours, ``D`` the variance of ``q_i = 2 s_i``, ``v = 1 / (1/D + 2/sigma^2)``
what is left of a pad (see ``privacy.methods.worst_coalition``). The command ``sottovoce plan`` audits the whole network
exactly.

With noise the secret in this is the noisy number, of variance ``D + E``, and of that share ``D / (D + E)`` is the data:
what is explained of them is the product of both shares. So something is left even where all neighbours are corrupt.
"""

from __future__ import annotations

import math
from typing import Any

from ..pdmm.masks import GaussianMask
from .plan.node_file import NodeConfig

PRIOR = 1.0  # variance of a value in units of scale


def own_privacy(config: NodeConfig) -> dict[str, Any]:
    """For every number of corrupt neighbours, in nats per number that travels."""
    degree, question = len(config.neighbours), config.question
    if question.statistic is not None:
        return _of_sums(degree, config.channels)
    noise = 0.0 if question.noise is None else question.noise.variance
    prior = PRIOR
    assert isinstance(question.mask, GaussianMask)
    leaks = [bound(degree - corrupt, question.mask, noise, prior) for corrupt in range(degree + 1)]
    rows = [
        {"corrupt_neighbours": corrupt, "leakage_at_most": leak if math.isfinite(leak) else None}
        for corrupt, leak in enumerate(leaks)
    ]
    # Of a cost nothing is certified, as a party may have more rows than one; with noise it has one.
    certified = question.noise is not None
    at_worst = "it is disclosed" if not noise else f"behind its noise alone it is at most {leaks[-1]:.3g} nats"
    sentence = (
        f"Each number that this party contributes leaks at most {leaks[0]:.3g} nats while none of "
        f"its {degree} neighbours is corrupt, most of it through the answer itself, if values have variance "
        f"{prior:g}; {at_worst} if all are."
        if certified
        else "No guarantee: this is a cost. Masking hides the constant of the gradient and nothing else."
    )
    return {
        "unit": "nats",
        "method": f"neighbourhood bound, open channels tapped, Gaussian values of variance {prior:g}",
        "guarantee": "upper bound" if certified else "none",
        "channels": config.channels,
        "by_corrupt_neighbours": rows if certified else [],
        "sentence": sentence,
    }


def _of_sums(degree: int, channels: str) -> dict[str, Any]:
    rows = [{"corrupt_neighbours": corrupt, "leakage_at_most": 0.0} for corrupt in range(degree)]
    return {
        "unit": "nats",
        "method": "exact sums under uniform pads on every edge",
        "guarantee": "exact",
        "channels": channels,
        "by_corrupt_neighbours": [*rows, {"corrupt_neighbours": degree, "leakage_at_most": None}],
        "sentence": (
            "Added by the procedure: nothing. Parties in league, with taps on all channels, learn the sums over each "
            "group into which the honest ones fall without them, and nothing else; this party is a group by itself if "
            f"all of its {degree} neighbours are corrupt. What the sums and the answer tell is another question."
        ),
    }


def bound(honest: int, mask: GaussianMask, noise: float = 0.0, prior: float = PRIOR) -> float:
    """``1/2 ln(1 + D / (h v))``. With noise of this variance ``-1/2 ln(1 - D / (D + E) (D + E) / (D + E + h v))``,
    ``v`` that of noisy numbers."""
    if not honest and not noise:
        return math.inf
    D, E = 4 * prior, 4 * noise
    v = 1 / (1 / (D + E) + 2 / mask.variance)
    return 0.5 * math.log1p(D / (E + honest * v))
