"""Pictures of curves over time: steps with their intervals, and below them how many are at risk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...network.labels import shortened
from ...network.pictures import BLUE, INK, ORANGE, PALE, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .curves import Curves

COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK, "#F0E442")  # Okabe and Ito
COARSE = 26  # points in equal steps, at which the axis has its ticks
LONGEST = 18  # letters of the name of a group


def plot_curves(path: str | Path | None, curves: Curves) -> Figure:
    """All curves with 95 % intervals, and a table of those at risk; of many groups the first ones."""
    shown = min(len(curves.groups), len(COLOURS))
    names = [shortened(name, LONGEST) for name in curves.groups[:shown]]
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
        figure.suptitle(f"{curves.event}: {events:,} events in {rows:,} observations{more}", x=0.01, ha="left",
                        fontsize=10, parse_math=False)  # fmt: skip
        if curves.by:
            figure.legend(loc="outside right upper", frameon=False, title=shortened(curves.by, LONGEST))
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
