"""Pictures of statistics: rows with their intervals, bars, correlations, fitted models, scores, curves over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..costs.base import Array
from ..network.labels import shortened
from ..network.pictures import BLUE, INK, ORANGE, PALE, picture
from ..pdmm.modular_mask import Integers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .fit import Fit
    from .survival.curves import Curves

ONE_AXIS = 10.0  # intervals that reach further than others by more are in other units, and get a scale each
WRITTEN = 12  # columns whose correlations are written into their cells
ROWS = 50
LONGEST = 32  # letters of a name
LABELLED = 25  # bars with their counts
FARTHEST = np.log(1e4)  # a ratio beyond is at the edge of the picture, and in figures beside it
WIDER = 4.0  # than the intervals of most terms: so far beyond the estimates an interval is drawn, and no farther
TITLE = 90  # letters
MOST_TICKS = 8
COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK, "#F0E442")  # Okabe and Ito
COARSE = 26  # points in equal steps, at which the axis has its ticks
LONGEST_GROUP = 18  # letters of the name of a group


def plot_rows(
    path: str | Path | None, names: Sequence[str], values: Array, intervals: Array | None, title: str, label: str
) -> Figure:
    """A row per name: a value, its interval ``(lower, upper)`` where there is one, and both in figures at the right."""
    if len(names) > ROWS:
        label += f"; the first {ROWS} of {len(names)} rows"
        names, values, intervals = names[:ROWS], values[:ROWS], None if intervals is None else intervals[:ROWS]
    unit = np.ones(len(values))
    if intervals is not None:
        reach = np.abs(np.where(np.isfinite(intervals), intervals, values[:, None])).max(axis=1)
        reach[~((reach > 0) & (reach < np.inf))] = 1.0
        unit = reach if reach.max() > ONE_AXIS * reach.min() else unit
    own_scales = bool((unit != 1).any())
    with picture(path, 7.4, 1.3 + 0.36 * len(names)) as figure:
        axes = figure.subplots()
        at = np.arange(len(names))
        axes.axvline(0, color=PALE, linewidth=1.2, zorder=1)
        if intervals is None:
            axes.hlines(at, 0, values, color=PALE, linewidth=1.2, zorder=2)
        else:
            far = 1.1 * float((reach / unit).max())
            axes.hlines(
                at, *np.clip(intervals / unit[:, None], -2 * far, 2 * far).T, color=BLUE, linewidth=2.2, zorder=2
            )
            if np.isinf(intervals).any():  # an interval without an end leaves the picture
                axes.set_xlim(-far, far)
        axes.scatter(values / unit, at, color=BLUE, edgecolors="white", s=52, zorder=3)
        if own_scales:
            axes.set_xlim(-1.08, 1.08)
            axes.set_xticks([0], ["0"])
        axes.set_xlabel(f"{label}; each row has a scale of its own" if own_scales else label)
        _name_rows(axes, names, values, intervals)
        _title(figure, title)
    return figure


def _name_rows(axes: Any, names: Sequence[str], values: Array, intervals: Array | None) -> None:
    """Names at the left of rows, and what is drawn in figures at their right; the first row is the highest."""
    at, figures = np.arange(len(names)), [f"{value:.4g}" for value in values]
    if intervals is not None:
        figures = [f"{own}  [{low:.3g}, {high:.3g}]" for own, (low, high) in zip(figures, intervals, strict=True)]
    axes.set_yticks(at, [shortened(name, LONGEST) for name in names], parse_math=False)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    right = axes.secondary_yaxis("right")
    right.set_yticks(at, figures)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)


def plot_histogram(
    path: str | Path | None, edges: Array, counts: Sequence[int], outside: tuple[int, int], name: str
) -> Figure:
    """A bar per bin, of its width, with its count; how many lie outside is said beside the bars."""
    with picture(path, 7.0, 4.0) as figure:
        axes = figure.subplots()
        bars = axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=BLUE, edgecolor="white", linewidth=1.2)
        if len(counts) <= LABELLED:
            axes.bar_label(bars, [f"{count:,}" for count in counts], padding=2, color=INK, fontsize=9)
            axes.set_xticks(edges, [f"{edge:g}" for edge in edges], rotation=45 if len(edges) > 12 else 0)
        below, above = outside
        for count, side, where in ((below, 0.0, "below"), (above, 1.0, "above")):
            if count:
                axes.annotate(f"{count:,} {where}", (side, 1.0), xycoords="axes fraction", color=ORANGE,
                              ha="left" if side == 0 else "right", va="bottom", fontsize=9)  # fmt: skip
        axes.set_ylim(0, 1.1 * max(1, *counts))
        axes.locator_params(axis="y", integer=True)
        axes.set_xlabel(name, parse_math=False)
        axes.set_ylabel("count")
        total = sum(counts) + below + above
        axes.set_title(f"{total:,} observations", pad=16 if below or above else 6)
    return figure


def plot_correlation(path: str | Path | None, names: Sequence[str], correlation: Array, title: str) -> Figure:
    """Every pair of columns, from -1 to 1."""
    d = len(names)
    side = max(3.2, 1.6 + 0.55 * min(d, 16))
    with picture(path, side + 1.4, side) as figure:
        axes = figure.subplots()
        image = axes.imshow(correlation, vmin=-1, vmax=1, cmap="RdBu_r")
        written = [shortened(name, LONGEST) for name in names]
        axes.set_xticks(range(d), written, rotation=90, parse_math=False)
        axes.set_yticks(range(d), written, parse_math=False)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        if d <= WRITTEN:
            for (j, k), value in np.ndenumerate(correlation):
                text = "" if np.isnan(value) else f"{round(value, 2) + 0.0:.2f}"
                axes.text(k, j, text, ha="center", va="center", color="white" if abs(value) > 0.6 else INK, fontsize=9)
        bar: Any = figure.colorbar(image, ax=axes, shrink=0.85, ticks=[-1, 0, 1])
        bar.outline.set_visible(False)
        axes.set_title(title, pad=10)
    return figure


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
        _name_rows(axes, terms, ratios[:, 0], ratios[:, 1:])
        _title(figure, title)
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


def plot_curves(path: str | Path | None, curves: Curves) -> Figure:
    """All curves with 95 % intervals, and a table of those at risk; of many groups the first ones."""
    shown = min(len(curves.groups), len(COLOURS))
    names = [shortened(name, LONGEST_GROUP) for name in curves.groups[:shown]]
    with picture(path, 7.0, 4.2 + 0.24 * shown) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3.0, 0.35 + 0.24 * shown])
        times, ends = [0.0, *curves.times], curves.conf_int()
        for k, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
            curve = [curves.start, *curves.curve[k]] if curves.nobs[k] else [np.nan] * len(times)
            band = np.vstack([[curves.start] * 2, ends[k]])
            above.plot(times, curve, color=colour, linewidth=1.8, drawstyle="steps-post", label=name)
            above.fill_between(times, *band.T, step="post", color=colour, alpha=0.15, linewidth=0)
        above.set_ylim(0, 1.03 if curves.start else None)
        above.set_xlim(0, curves.times[-1])
        above.set_ylabel(curves.label)
        more = f", the first {shown} of {len(curves.groups)} groups" if shown < len(curves.groups) else ""
        rows, events = int(curves.nobs.sum()), int(curves.events.sum())
        _title(figure, f"{curves.event}: {events:,} events in {rows:,} observations{more}")
        if curves.by:
            figure.legend(loc="outside right upper", frameon=False, title=shortened(curves.by, LONGEST_GROUP))
        _write_at_risk(below, curves, names)
    return figure


def _write_at_risk(axes: Any, curves: Curves, names: list[str]) -> None:
    """A line of figures per group, at the ticks of the axis of times."""
    last = float(curves.times[-1])
    points = np.unique([0.0, *curves.times])
    own = len(points) <= COARSE and np.allclose(np.diff(points), points[1])  # in between nobody leaves
    ticks = [float(tick) for tick in (points if own else axes.get_xticks()) if 0 <= tick <= last]
    ticks = ticks[:: 1 + len(ticks) // 8]
    axes.set_xticks(ticks)
    axes.set_ylim(len(names) - 0.4, -0.6)
    for k, row in enumerate(curves.risk_table(ticks)[: len(names)]):
        for tick, count in zip(ticks, row, strict=True):
            axes.text(tick, k, f"{count:,}", ha="center", va="center", color=COLOURS[k], fontsize=9, clip_on=False)
    axes.set_yticks(range(len(names)), names, fontsize=9, parse_math=False)
    axes.tick_params(axis="y", length=0, pad=18)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_color(PALE)
    axes.set_title("at risk", fontsize=9)
    axes.set_xlabel(curves.time, parse_math=False)


def plot_roc(path: str | Path | None, fpr: Array, tpr: Array, title: str) -> Figure:
    """The curve, and the diagonal of a score that tells nothing."""
    with picture(path, 5.2, 5.2) as figure:
        axes = _square(figure, title, 0.01, "false positive rate", "true positive rate")
        axes.plot(fpr, tpr, color=BLUE, linewidth=2.0)
    return figure


def plot_calibration(path: str | Path | None, predicted: Array, observed: Array, n: Integers, title: str) -> Figure:
    """Shares that were seen against probabilities that were predicted, larger where there are more rows."""
    with picture(path, 5.2, 5.2) as figure:
        axes = _square(figure, title, 0.04, "predicted probability", "share with the outcome")
        axes.plot(predicted, observed, color=BLUE, linewidth=1.2)
        axes.scatter(predicted, observed, s=20 + 100 * np.sqrt(n / n.max()), color=BLUE, edgecolors="white", zorder=3)
    return figure


def _square(figure: Figure, title: str, margin: float, x: str, y: str) -> Any:
    """Axes from 0 to 1 with their diagonal."""
    axes: Any = figure.subplots()
    axes.plot([0, 1], [0, 1], color=PALE, linewidth=1.2, linestyle="--")
    axes.set_xlim(-margin, 1 + margin)
    axes.set_ylim(-margin, 1 + margin)
    axes.set_aspect("equal")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    _title(figure, title)
    return axes


def _title(figure: Figure, title: str) -> None:
    """Above a picture whose names leave the axes little room."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
