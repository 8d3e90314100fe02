"""Pictures of groups: how rows divide, and what columns look like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...costs.base import Array
from ...network.labels import shortened
from ...network.pictures import BLUE, ORANGE, PALE, picture
from ..pictures import LONGEST, ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .describe import Description

COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#F0E442", "#56B4E9", "#E69F00", PALE)  # Okabe and Ito


def plot_shares(
    path: str | Path | None, rows: Sequence[str], parts: Sequence[str], percentages: Array, title: str, of: str
) -> Figure:
    """A bar per row, divided into parts; from the eighth on they share a colour."""
    rows, percentages = rows[:ROWS], percentages[:ROWS]
    shown = [*percentages.T[: len(COLOURS) - 1]]
    names = [shortened(name, LONGEST) for name in parts[: len(COLOURS) - 1]]
    if len(parts) >= len(COLOURS):
        shown.append(percentages.T[len(COLOURS) - 1 :].sum(axis=0))
        names.append(parts[-1] if len(parts) == len(COLOURS) else "others")
    with picture(path, 7.4, 1.9 + 0.36 * len(rows)) as figure:
        axes = figure.subplots()
        left = np.zeros(len(rows))
        for values, name, colour in zip(shown, names, COLOURS, strict=False):
            width = np.nan_to_num(values)
            axes.barh(np.arange(len(rows)), width, left=left, color=colour, edgecolor="white", label=name)
            left += width
        axes.set_yticks(np.arange(len(rows)), [shortened(name, LONGEST) for name in rows], parse_math=False)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(f"{of}, percent", parse_math=False)
        for text in figure.legend(loc="outside right upper", frameon=False, fontsize=9).get_texts():
            text.set_parse_math(False)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
    return figure


def plot_description(path: str | Path | None, description: Description) -> Figure:
    """A panel per column: of numbers the mean and a deviation about it with quartiles, of categories the counts."""
    names = description.names[:ROWS]
    heights = [max(1, len(description.levels(name))) for name in names]
    with picture(path, 7.4, 1.0 + 0.75 * len(names) + 0.3 * sum(heights)) as figure:
        panels = figure.subplots(len(names), 1, height_ratios=[1 + h for h in heights], squeeze=False)[:, 0]
        for axes, name in zip(panels, names, strict=True):
            levels = description.levels(name)
            if levels:
                at = np.arange(len(levels))
                axes.barh(at, description.counts(name)[:, 0], color=BLUE, edgecolor="white")
                axes.set_yticks(at, [shortened(level, LONGEST) for level in levels], parse_math=False)
                axes.set_ylim(len(levels) - 0.4, -0.6)
                axes.set_xlim(left=0)
            else:
                mean, sd, quartiles = (values[0] for values in description._numbers(name))
                axes.hlines(0, mean - np.nan_to_num(sd), mean + np.nan_to_num(sd), color=BLUE, linewidth=2.2, zorder=2)
                axes.scatter([mean], [0], color=BLUE, edgecolors="white", s=52, zorder=3)
                for value in quartiles[~np.isnan(quartiles)]:
                    axes.vlines(value, -0.35, 0.35, color=ORANGE, linewidth=1.4, zorder=1)
                axes.set_yticks([])
                axes.set_ylim(-0.6, 0.6)
                axes.spines["left"].set_visible(False)
            axes.tick_params(axis="y", length=0)
            axes.set_title(shortened(name, LONGEST), loc="left", fontsize=10, parse_math=False)
        panels[-1].set_xlabel("numbers: mean, one deviation about it (blue), quartiles (orange); categories: rows")
        figure.suptitle(description._facts(), x=0.01, ha="left", fontsize=10, parse_math=False)
    return figure
