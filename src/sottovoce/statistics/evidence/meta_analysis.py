"""Meta-analysis without anybody showing its own estimate: sums of weights, and of weighted estimates.

With estimates ``y`` of variance ``v`` and ``w = 1/v`` (R. DerSimonian and N. Laird, Controlled Clinical Trials 7 (1986)
177):

    m = sum wy / sum w,  Q = sum w (y - m)^2,  C = sum w - sum w^2 / sum w,  tau2 = max(0, (Q - df) / C)
    w* = 1 / (v + tau2),  m* = sum w*y / sum w*

Weights may be of any size, so the parties find a common unit first, as integers: the mean of ``log2 w``, then ``sum w``
in units of that, rounded. ``m`` and ``Q`` are the weighted mean of ``y`` and its weighted variance, times ``sum w``:
they keep their digits as those of rows do (``groups.moments``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...costs.base import Array
from ...errors import NotConverged, Undetermined
from ...pdmm.masks import GaussianMask
from ...pdmm.modular_mask import ModularMask
from ..groups.moments import MOMENT_STAGES, Powers, agreed_moments
from .effects import Estimate
from .meta_result import MetaAnalysis

if TYPE_CHECKING:
    from ..agreements import Agreements

EXPONENTS = 2**10  # added to logarithms of weights, as counts are not negative
FRACTION = 2.0**8  # of the mean weight, the unit of their rounded sum
STAGES = 3 + MOMENT_STAGES + 1
NUMBERS = 2 + 4 + 2
COUNTS = 2 + 1 + 2


def meta_program(
    agreements: Agreements,
    own: Sequence[Estimate | None],
    centre: float,
    unit: float,
    mask: GaussianMask,
    effect: str,
    nobody: str,
) -> MetaAnalysis:
    """What the local parties do, with an estimate each or none. ``centre, unit``: public, such that estimates lie
    between -1 and 1 in them. ``nobody``: the sentence where no party has one."""
    try:
        return _program(agreements, own, centre, unit, mask, effect, nobody)
    except NotConverged:
        return MetaAnalysis(*agreements.made)


def _program(
    agreements: Agreements,
    own: Sequence[Estimate | None],
    centre: float,
    unit: float,
    mask: GaussianMask,
    effect: str,
    nobody: str,
) -> MetaAnalysis:
    # A party without an estimate has the weight 0.
    y = np.array([centre if each is None else each.value for each in own])
    v = np.array([np.inf if each is None else each.variance for each in own])
    w = 1 / v
    k, total = _rough_total(agreements, w, nobody)
    share = np.column_stack([w / total, (w / total) ** 2]) * agreements.parties
    weight, squares = agreements.mean(share, mask, 0, of="weights and their squares").T
    weights = total * weight  # of all parties, as each local one holds it

    powers = [_powers(*each) for each in zip(w, y, strict=True)]
    about = np.array([centre]), np.array([unit])
    found = agreed_moments(agreements, mask, weights[:, None], powers, *about, of="weighted estimates")
    mean, q = found.mean[:, 0, 0], weights * found.variance[:, 0, 0]

    # Where studies are alone, or of weights so unequal that the largest is all, nothing is known of what lies between.
    C = weights * (1 - squares / weight**2)
    tau2 = np.where(k > 1, np.maximum(0.0, (q - (k - 1)) / np.where(C > 0, C, np.inf)), 0.0)

    # 1 / (1/w + tau2) is concave in w: its mean is at most that of the mean weight. And by Cauchy and Schwarz
    # |sum w*(y - m)| <= sqrt(sum w* Q). So both sums below are at most 1.
    typical = (k / weights + tau2) / k
    size = np.sqrt(typical * (q + 1))
    adjusted = 1 / (v + tau2)
    terms = typical[:, None] * np.column_stack([adjusted, adjusted * (y - mean) / size]) * agreements.parties
    agreed = agreements.mean(terms, mask, 0, of="weights with the variance between parties, and weighted estimates")
    adjusted_weight, shift = agreed[0, 0], agreed[0, 1] / agreed[0, 0] * size[0]
    return MetaAnalysis(
        *agreements.made,
        effect=effect,
        studies=k,
        fixed=float(mean[0]),
        fixed_se=float(weights[0] ** -0.5),
        random=float(mean[0] + shift),
        random_se=float(np.sqrt(typical[0] / adjusted_weight)),
        q=float(q[0]),
        tau2=float(tau2[0]),
    )


def _rough_total(agreements: Agreements, w: Array, nobody: str) -> tuple[int, float]:
    """How many have an estimate, and a number not far above ``sum w``, the same at all parties."""
    there = w > 0
    exponents = np.where(there, np.rint(np.log2(np.where(there, w, 1.0))) + EXPONENTS, 0)
    orders = np.column_stack([np.clip(exponents, 0, 2 * EXPONENTS), there]).astype(np.int64)
    of = "binary orders of the weights of parties, and how many have one"
    exponent, k = agreements.total(orders, ModularMask(), of_rows=False, of=of, votes=1).tolist()
    if not k:
        raise Undetermined(nobody)
    unit = 2.0 ** (round(exponent / k) - EXPONENTS) / FRACTION
    most = (2**45 - 1) // agreements.parties
    rounded = np.minimum(np.ceil(w / unit), most).astype(np.int64)[:, None]
    return k, unit * int(agreements.total(rounded, ModularMask(), of_rows=False, of="weights, rounded")[0])


def _powers(w: float, y: float) -> Powers:
    def of(centre: Array, unit: Array) -> Array:
        t = (y - centre) / unit
        return np.column_stack([w * t, w * t * t])

    return of
