"""Local noise: what is learned of the secrets themselves from what is learned of the noisy numbers
(theory: Below the floor).

A run is given ``S' = S + eta`` and never sees ``S``: whatever is seen of it depends on ``S`` through ``S'`` alone. So
every method audits the noisy numbers, whose prior is ``K + T``, and what it finds is taken back here. For independent
nodes

    Cov(S_i | view) = K_i (K_i + T_i)^{-1} T_i + G_i Cov(S'_i | view) G_i',        G_i = K_i (K_i + T_i)^{-1},

and what is gained of ``S_i`` is ``G_i gained' G_i'``. Nothing is disclosed: the first part is always left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...costs.base import Array
from ...errors import Unsupported
from .posterior import Posterior, diagonal_blocks


@dataclass(frozen=True, eq=False)
class BehindNoise:
    """The secrets of some nodes behind their noise, ``(nodes, width, width)`` each."""

    K: Array
    gain: Array  # G
    rest: Array  # K (K + T)^{-1} T: what is left of a secret whose noisy number is known

    def __getitem__(self, nodes: Any) -> BehindNoise:
        return BehindNoise(self.K[nodes], self.gain[nodes], self.rest[nodes])

    def scaled(self, Q: Array) -> BehindNoise:
        """The same of ``Q_i S_i``, for numbers ``Q_i``."""
        square = (Q**2)[:, None, None]
        return BehindNoise(square * self.K, self.gain, square * self.rest)

    def secret(self, noisy: Posterior) -> Posterior:
        """The posterior of the secrets, from that of the noisy numbers."""
        before, after, gained = (self.gain @ part @ self.gain for part in (noisy.before, noisy.after, noisy.gained))
        return Posterior(self.rest + before, self.rest + after, gained)


def behind(K: Array, width: int, variance: float) -> BehindNoise:
    """For a prior ``K``, variances or a covariance, and independent noise of this variance on every number."""
    own = K[:, None, None] if K.ndim == 1 else diagonal_blocks(K, width)
    if K.ndim > 1:
        between = 1 - np.kron(np.eye(len(own)), np.ones((width, width)))
        if (K * between).any():
            raise Unsupported(
                "local noise is audited for independent parties, and this prior couples them: what is learned of one "
                "tells of the others. Give prior as a number, or one variance per party."
            )
    gain = np.linalg.solve(own + variance * np.eye(width), own)
    gain = (gain + np.swapaxes(gain, -2, -1)) / 2  # K and K + T commute
    return BehindNoise(own, gain, variance * gain)
