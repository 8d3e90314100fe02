"""What a party estimates from its own rows alone: an effect and its standard error, or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...pdmm.modular_mask import Integers
from ...sums import whole


class Estimate(NamedTuple):
    """An effect, and its variance."""

    value: Fraction
    variance: Fraction


def of_means(rows: Rows, unit: Fraction, group: Callable[[Array], Integers], groups: int) -> Estimate | None:
    """The mean of one group, or that of the first less that of the second, with variances of their own. None where a
    group has fewer than two rows, or does not vary. ``group``: of a block the group of each row, -1 of none."""

    def sides(block: Array) -> tuple[Int64, Int64]:
        x = whole(block[:, :1], [unit])
        member = (group(block)[:, None] == np.arange(groups)).astype(np.int64)
        return np.hstack([member, member * x]), np.hstack([np.ones_like(x), x])

    gram = rows.grams(sides).tolist()
    means, variance = [], Fraction(0)
    for (n, total), (_, squares) in zip(gram[:groups], gram[groups:], strict=True):
        if n < 2:
            return None
        means.append(unit * Fraction(total, n))
        variance += unit**2 * Fraction(n * squares - total**2, n**2 * (n - 1))
    value = means[0] - means[1] if groups == 2 else means[0]
    return Estimate(value, variance) if variance > 0 else None


def of_table(effect: str, table: Integers, continuity: float) -> Estimate | None:
    """Of ``a, b, c, d``. Where one is 0, ``continuity`` is added to all four; None where that is 0, or where nobody is
    exposed, or all are."""
    if not table[:2].sum() or not table[2:].sum():
        return None
    if (table == 0).any() and continuity <= 0:
        return None
    more = Fraction(continuity) if (table == 0).any() else Fraction(0)
    a, b, c, d = (int(count) + more for count in table)
    if effect == "log_odds_ratio":
        return Estimate(_log(a * d / (b * c)), 1 / a + 1 / b + 1 / c + 1 / d)
    if effect == "log_risk_ratio":
        return Estimate(_log(a / (a + b) / (c / (c + d))), b / (a * (a + b)) + d / (c * (c + d)))
    return Estimate(a / (a + b) - c / (c + d), a * b / (a + b) ** 3 + c * d / (c + d) ** 3)


def _log(ratio: Fraction) -> Fraction:
    """Near 1 of what it is above it, which a float64 of the ratio would round away."""
    apart = ratio - 1
    return Fraction(math.log1p(float(apart)) if abs(apart) < 0.5 else math.log(ratio))
