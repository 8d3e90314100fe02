"""Pictures of statistics: coefficients with their intervals, bars of a histogram, correlations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..costs.base import Array
from ..network.labels import shortened
from ..network.pictures import BLUE, INK, ORANGE, PALE, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE_AXIS = 10.0  # intervals that reach further than others by more are in other units, and get a scale each
WRITTEN = 12  # columns whose correlations are written into their cells
ROWS = 50
LONGEST = 32  # letters of a name
LABELLED = 25  # bars with their counts


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
        name_rows(axes, names, written(values, intervals))
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)  # names leave the axes little room
    return figure


def name_rows(axes: Any, names: Sequence[str], figures: Sequence[str]) -> None:
    """Names at the left of rows, and what is drawn in figures at their right; the first row is the highest."""
    at = np.arange(len(names))
    axes.set_yticks(at, [shortened(name, LONGEST) for name in names], parse_math=False)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    right = axes.secondary_yaxis("right")
    right.set_yticks(at, figures)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)


def written(values: Array, intervals: Array | None) -> list[str]:
    """A value, and its interval where there is one."""
    if intervals is None:
        return [f"{value:.4g}" for value in values]
    return [f"{value:.4g}  [{low:.3g}, {high:.3g}]" for value, (low, high) in zip(values, intervals, strict=True)]


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
