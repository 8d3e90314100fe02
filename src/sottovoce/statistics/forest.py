"""The picture of a fitted model: a row per term, its estimate and its interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..costs.base import Array
from ..network.labels import shortened
from ..network.pictures import BLUE, PALE, picture
from .pictures import ROWS, name_rows, plot_rows, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .fit import Fit

FARTHEST = np.log(1e4)  # a ratio beyond is at the edge of the picture, and in figures beside it
WIDER = 4.0  # than the intervals of most terms: so far beyond the estimates an interval is drawn, and no farther
TITLE = 90  # letters
MOST_TICKS = 8


def plot_forest(path: str | Path | None, fit: Fit) -> Figure:
    """Estimates with their 95 % intervals, or ratios on a logarithmic axis; without the intercept, which is of another
    kind, unless it is all there is."""
    at = fit._slopes or list(range(len(fit.terms)))
    terms, intervals = [fit.terms[k] for k in at], fit.conf_int()[at]
    title = shortened(f"{fit.title}: {fit.nobs:,} observations of {fit.parties} parties", TITLE)
    if fit.ratio is None:
        return plot_rows(path, terms, fit.params[at], intervals, title, "estimate and 95 % interval")
    label = f"{fit.ratio} and 95 % interval"
    if len(terms) > ROWS:
        label += f"; the first {ROWS} of {len(terms)} rows"
        terms, at, intervals = terms[:ROWS], at[:ROWS], intervals[:ROWS]
    params, ratios = fit.params[at], fit.ratios()[at]
    low, high = _limits(params, intervals)
    margin = 0.06 * max(high - low, 0.002)
    with picture(path, 7.4, 1.3 + 0.36 * len(terms)) as figure:
        axes = figure.subplots()
        rows = np.arange(len(terms))
        axes.axvline(1, color=PALE, linewidth=1.2, zorder=1)
        axes.set_xscale("log")
        axes.set_xlim(np.exp(low - margin), np.exp(high + margin))
        axes.hlines(rows, *np.exp(np.clip(intervals, low, high)).T, color=BLUE, linewidth=2.2, zorder=2)
        for beyond, edge, arrow in ((intervals[:, 0] < low, low, "<"), (intervals[:, 1] > high, high, ">")):
            axes.scatter(np.full(beyond.sum(), np.exp(edge)), rows[beyond], color=BLUE, marker=arrow, s=40, zorder=3)
        seen = (params >= low) & (params <= high)
        axes.scatter(ratios[seen, 0], rows[seen], color=BLUE, edgecolors="white", s=52, zorder=3)
        ticks = ratio_ticks(np.exp(low - margin), np.exp(high + margin))
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlabel(label)
        name_rows(axes, terms, written(ratios[:, 0], ratios[:, 1:]))
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
    return figure


def _limits(params: Array, intervals: Array) -> tuple[float, float]:
    """Of the logarithm: 0, the estimates and their intervals. What is far off, or far wider than most, ends in an arrow
    there, so that the others can be told apart."""
    half = (intervals[:, 1] - intervals[:, 0]) / 2
    half = half[np.isfinite(half) & (half < FARTHEST)]
    reach = WIDER * max(float(np.median(half)) if len(half) else 0.0, 0.05)
    near = np.append(params[np.abs(params) <= FARTHEST], 0.0)
    ends = np.append(intervals[np.isfinite(intervals)], near)
    return max(float(ends.min()), float(near.min()) - reach), min(float(ends.max()), float(near.max()) + reach)


def ratio_ticks(low: float, high: float) -> list[float]:
    """Round ratios between two, 1 among them.

    >>> ratio_ticks(0.3, 6.0), ratio_ticks(0.87, 1.2)
    ([0.5, 1.0, 2.0, 5.0], [0.9, 1.0, 1.1, 1.2])
    """
    if high < 3 * low:  # as on any axis
        for step in (500, 200, 100, 50, 20, 10, 5, 2, 1):  # thousandths
            ticks = [k / 1000 for k in range(0, int(1000 * high) + 1, step) if k >= 1000 * low]
            if len(ticks) > 2:
                return ticks
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ladder = (1, 2, 5) if high < 100 * low else (1,)
    ticks = [float(f"{mantissa}e{power}") for power in powers for mantissa in ladder]
    ticks = [tick for tick in ticks if low <= tick <= high]
    return ticks if len(ticks) <= MOST_TICKS else [tick for tick in ticks if round(np.log10(tick)) % 2 == 0]
