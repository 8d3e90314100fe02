"""Tests of a table of counts (A. Agresti, Categorical Data Analysis, 3rd ed., sections 3.2 and 3.5)."""

from __future__ import annotations

import numpy as np

from ...costs.base import Array
from ...pdmm.modular_mask import Integers

TIED = 1e-7  # tables as likely as the one that was seen, to rounding, are as extreme


def without_empty(counts: Integers) -> Integers:
    """The rows and columns that have counts: others say nothing about a dependence."""
    return np.asarray(counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0])


def expected_of(counts: Integers) -> Array:
    """Counts that rows and columns would have if they did not depend on each other; NaN of an empty table."""
    total = counts.sum()
    if not total:
        return np.full(counts.shape, np.nan)
    return np.outer(counts.sum(axis=1), counts.sum(axis=0)) / float(total)


def degrees_of_freedom(counts: Integers) -> int:
    """``(rows - 1)(columns - 1)`` of those that have counts."""
    rows, columns = without_empty(counts).shape
    return int(max(0, rows - 1) * max(0, columns - 1))


def chi2_of(counts: Integers, yates: bool = False) -> float:
    """Pearson's statistic; with Yates' correction counts are moved towards the expected ones, by half at most. NaN
    where a single row or column has counts."""
    if not degrees_of_freedom(counts):
        return float("nan")
    seen = without_empty(counts)
    expected = expected_of(seen)
    apart = np.abs(seen - expected)
    if yates:
        apart = apart - np.minimum(0.5, apart)
    return float((apart**2 / expected).sum())


def g_of(counts: Integers) -> float:
    """The likelihood ratio ``2 sum O log(O/E)``."""
    if not degrees_of_freedom(counts):
        return float("nan")
    from scipy.special import xlogy

    seen = without_empty(counts)
    return float(2 * xlogy(seen, seen / expected_of(seen)).sum())


def chi2_pvalue(statistic: float, df: float) -> float:
    """Of a statistic that has a chi-squared distribution; NaN of NaN."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic)) if df > 0 and statistic == statistic else float("nan")


def cramers_v(counts: Integers) -> float:
    """``sqrt(chi2 / (N min(rows - 1, columns - 1)))``, of those that have counts."""
    if not degrees_of_freedom(counts):
        return float("nan")
    return float(np.sqrt(chi2_of(counts) / (counts.sum() * (min(without_empty(counts).shape) - 1))))


def odds_ratio_of(counts: Integers) -> float:
    """``ad/bc`` of a table of two rows and two columns; NaN where both are 0."""
    (a, b), (c, d) = counts.tolist()
    if b * c == 0:
        return float("inf") if a * d else float("nan")
    return float(a * d / (b * c))


def fisher_pvalue(counts: Integers) -> float:
    """The probability, given the margins of a table of two rows and two columns, of tables no more likely than it."""
    (a, b), (c, d) = counts.tolist()
    row, column, rest = a + b, a + c, b + d - (a + b)
    first = max(0, -rest)
    # From one table to the next, in which the first cell has one more. Likelihoods rise to a mode and fall.
    k = np.arange(first, min(row, column) + 0.0)
    ratio = (row - k) * (column - k) / ((k + 1) * (rest + k + 1))
    mode = int((ratio > 1).sum())
    below, above = np.cumprod(1 / ratio[:mode][::-1])[::-1], np.cumprod(ratio[mode:])
    weight = np.concatenate([below, [1.0], above])  # of tables, where that of the mode is 1
    own = weight[a - first]
    return float(min(1.0, weight[weight <= own * (1 + TIED)].sum() / weight.sum()))
