"""What a party estimates from its own rows alone: an effect and its standard error, or nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...pdmm.modular_mask import Integers
from ..groups.moments import Grouped

# log odds and risk ratios are smaller, of any table
LOG = 64.0


class Estimate(NamedTuple):
    """An effect, and its variance."""

    value: float
    variance: float


def of_means(grouped: Grouped, rows: Rows, centre: float) -> Estimate | None:
    """The mean of one group, or that of the first less that of the second, with variances of their own. None where a
    group has fewer than two rows, or does not vary."""
    n = grouped.counts(rows)
    if (n < 2).any():
        return None
    mean = grouped.sums(rows, lambda x, group: x - centre)[:, 0] / n
    square = grouped.sums(rows, lambda x, group: (x - centre - mean[group][:, None]) ** 2)[:, 0] / n
    variance = float((square / (n - 1)).sum())
    value = float(mean[0] - mean[1]) if len(n) == 2 else float(mean[0]) + centre
    return Estimate(value, variance) if variance > 0 else None


def of_table(effect: str, table: Integers, continuity: float) -> Estimate | None:
    """Of ``a, b, c, d``. Where one is 0, ``continuity`` is added to all four; None where that is 0, or where nobody is
    exposed, or all are."""
    cells: Array = table.astype(np.float64)
    if not cells[:2].sum() or not cells[2:].sum():
        return None
    if (table == 0).any():
        if continuity <= 0:
            return None
        cells = cells + continuity
    a, b, c, d = cells.tolist()
    if effect == "log_odds_ratio":
        return Estimate(math.log(a * d / (b * c)), 1 / a + 1 / b + 1 / c + 1 / d)
    if effect == "log_risk_ratio":
        return Estimate(math.log(a / (a + b) / (c / (c + d))), 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))
    return Estimate(a / (a + b) - c / (c + d), a * b / (a + b) ** 3 + c * d / (c + d) ** 3)
