"""Two pictures of a comparison: error against leakage, and what it costs as the network grows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ..network.pictures import BLUE, INK, ORANGE, PALE, picture
from .comparison import EXACT, Comparison, Row, seconds_words, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)  # Okabe and Ito
MARKS = ("o", "s", "^", "D", "v", "P", "X")
STYLES = ("-", "--", ":", "-.")
LANE = 0.27  # inches for a method whose answer is exact
GONE = 4.0  # times the largest leakage: where disclosed ones are drawn
KNOWN = 10.0  # nats from which a number is as good as disclosed: an interval 20,000 times narrower


def plot_errors(path: str | Path | None, comparison: Comparison) -> Figure:
    """Above, what noise costs; below, on the same axis of leakage, those whose answers are exact, a lane each."""
    noisy = [row for row in comparison.rows if pays(row, comparison)]
    exact = [row for row in comparison.rows if row not in noisy]
    limits = nats_limits(comparison)
    tall = 3.4 if noisy else 0.4
    with picture(path, 9.6, tall + 1.3 + LANE * len(exact)) as figure:
        ratios = [tall, max(LANE * len(exact), 0.3)]
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=ratios)
        figure.set_layout_engine("constrained", hspace=0.01, h_pad=0.02)
        _errors(above, comparison, noisy, limits[1] * GONE)
        _lanes(below, comparison, exact, limits[1] * GONE)
        for axes in (above, below):
            axes.set_xscale("log")
            axes.set_xlim(limits[0], limits[1] * GONE * 1.6)
            axes.axvline(limits[1] * GONE / 1.7, color=PALE, linewidth=0.8)
            if math.isfinite(comparison.floor):
                axes.axvline(comparison.floor, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        _nats_axis(below, limits)
        above.set_title(
            f"{comparison.settings['n']} parties, {len(comparison.settings['corrupt'])} corrupt with taps: error of "
            "the mean against what the worst honest party gives away"
        )
    return figure


def pays(row: Row, comparison: Comparison) -> bool:
    """Whether the answer is off, at the leakage of the row or at another one."""
    errors = [row.error, *(point.error for point in comparison.curves[row.method])]
    return bool(max(errors) > EXACT * comparison.settings["prior"])


def nats_limits(comparison: Comparison) -> tuple[float, float]:
    """Of all leakages that are finite."""
    found = [point.nats for curve in comparison.curves.values() for point in curve]
    found += [row.nats for row in comparison.rows] + [comparison.floor, comparison.nats]
    known = [nats for nats in found if 0 < nats < KNOWN]
    return min(known) / 1.5, max(known) * 1.3


def _nats_axis(axes: Any, limits: tuple[float, float]) -> None:
    powers = [d * 10.0**k for k in range(-12, 3) for d in (1, 2, 5)]
    ticks = [tick for tick in powers if limits[0] <= tick <= limits[1]]
    axes.set_xticks([*ticks, limits[1] * GONE], [*(f"{tick:g}" for tick in ticks), "disclosed"])
    axes.minorticks_off()
    axes.set_xlabel("leakage of the worst honest party (nats)")


def _errors(axes: Any, comparison: Comparison, rows: list[Row], gone: float) -> None:
    """A curve for each noisy method, with what one run of it costs."""
    axes.set_yscale("log")
    axes.tick_params(axis="x", length=0)
    axes.axhline(comparison.useless, color=ORANGE, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    prior = comparison.settings["prior"]
    tops = [comparison.useless]
    for row, colour, mark in zip(rows, cycle(COLOURS), cycle(MARKS), strict=False):
        points = [point for point in comparison.curves[row.method] if point.error > EXACT * prior]
        if not points:
            points_x, points_y, spread = [min(row.nats, gone)], [row.error], [row.stderr]
        else:
            points_x, points_y = [p.nats for p in points], [p.error for p in points]
            spread = [p.stderr for p in points]
        tops += points_y
        axes.errorbar(points_x, points_y, yerr=np.array(spread), color=colour, marker=mark, markersize=5, lw=1.4,
                      elinewidth=0.8, label=f"{row.method}: {cost_words(row)}")  # fmt: skip
    axes.set_ylabel("error of the mean, $E(x - x^*)^2$")
    axes.set_ylim(min(tops) / 4, max(tops) * 4)
    note = f"useless: {comparison.useless:.2g}"
    axes.annotate(note, (gone, comparison.useless), (0, 3), textcoords="offset points", color=ORANGE, ha="center",
                  fontsize=8)  # fmt: skip
    if rows:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8.5)
    axes.spines["bottom"].set_visible(False)


def _lanes(axes: Any, comparison: Comparison, rows: list[Row], gone: float) -> None:
    """Exact answers: a mark where the method stands, a line where pads can take it."""
    for lane, row in enumerate(rows):
        curve = comparison.curves[row.method]
        if curve:
            reach = [comparison.floor, *(point.nats for point in curve)]  # which pads come near, without end
            axes.plot(reach, [lane] * len(reach), color=BLUE, lw=1.4)
        at = row.nats if row.nats < KNOWN else gone
        open_mark = row.kind == "computational"
        axes.plot([at], [lane], marker="o", color=ORANGE if at == gone else BLUE, ls="", markersize=6,
                  markerfacecolor="white" if open_mark else None)  # fmt: skip
    axes.set_yticks(range(len(rows)), [f"{row.method}: {cost_words(row)}" for row in rows], fontsize=8.5)
    axes.yaxis.tick_right()
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.4, -0.9)
    axes.set_ylabel("exact")
    axes.grid(axis="y", color=PALE, alpha=0.35, linewidth=0.6)
    if math.isfinite(comparison.floor):
        axes.annotate(f"floor: {comparison.floor:.3g}", (comparison.floor, -0.9), (-4, -9), textcoords="offset points",
                      ha="right", fontsize=8.5, color=INK)  # fmt: skip


def cost_words(row: Row) -> str:
    """Messages and bytes, and the seconds of cryptography where there are some."""
    crypto = f", {seconds_words(row.seconds)} s" if row.seconds else ""
    return f"{short(row.messages)} messages, {short(row.bytes, 'B')}{crypto}"


def plot_costs(path: str | Path | None, comparison: Comparison) -> Figure:
    """Messages, and bytes, against the number of parties. Methods that send the same share a line."""
    looks = dict(zip((row.method for row in comparison.rows), all_looks(), strict=False))
    sizes = sorted({cost.n for cost in comparison.costs})
    with picture(path, 9.6, 8.4) as figure:
        for axes, what in zip(figure.subplots(2, 1, sharex=True), ("messages", "bytes"), strict=True):
            for sent, names in shared_curves(comparison, what).items():
                colour, mark, style = looks[names[0]]
                label = names[0] if len(names) == 1 else f"{names[0]} (also: {', '.join(names[1:])})"
                label = fill(label, 44, subsequent_indent="  ")
                axes.plot(*zip(*sent, strict=True), color=colour, marker=mark, ls=style, ms=4, lw=1.2, label=label)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.minorticks_off()
            axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
            axes.set_title(f"{what.capitalize()} of one agreement, all parties together")
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, fontsize=8)
            axes.grid(color=PALE, alpha=0.3, linewidth=0.6)
        axes.set_xlabel("parties, on a random geometric graph")
    return figure


def all_looks() -> Iterator[tuple[str, str, str]]:
    """Colour, mark and style: no two alike among as many as there are methods."""
    for k, style in enumerate(STYLES):
        for i, colour in enumerate(COLOURS):
            yield colour, MARKS[(i + 3 * k) % len(MARKS)], style


def shared_curves(comparison: Comparison, what: str) -> dict[tuple[tuple[int, float], ...], list[str]]:
    """By what is sent, who sends it; most first."""
    found: dict[tuple[tuple[int, float], ...], list[str]] = {}
    for row in comparison.rows:
        costs = [cost for cost in comparison.costs if cost.method == row.method]
        sent = tuple((cost.n, getattr(cost, what)) for cost in costs if math.isfinite(getattr(cost, what)))
        if sent:
            found.setdefault(sent, []).append(row.method)
    return dict(sorted(found.items(), key=lambda entry: -entry[0][-1][1]))
