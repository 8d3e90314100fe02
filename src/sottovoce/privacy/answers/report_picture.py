"""The picture of a report: who gives away how much to whom."""

from __future__ import annotations

import textwrap
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...files.atomic import write_whole
from ...network.pictures import (
    INK,
    NAMED,
    STYLE,
    check_plot_path,
    draw_edges,
    draw_names,
    frame,
    node_size,
    places_of,
    rim_width,
)

if TYPE_CHECKING:
    from .report import Report

RED = "#E0102A"
GROUPS = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#0072B2")  # Okabe and Ito
DECADES = 6  # of excess that colours tell apart


def plot_report(path: str | Path, report: Report) -> None:
    """The network with nodes coloured by what the procedure adds, corrupt and disclosed ones marked; written whole or
    not at all."""
    path = check_plot_path(path)
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 6.6), layout="constrained")
        handles = draw_report(figure.subplots(), report)
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
        write_whole(path, lambda temporary: figure.savefig(temporary, dpi=160))


def draw_report(axes: Any, report: Report) -> list[Any]:
    """One mark a node: corrupt, disclosed, the colour of its excess, or empty where there is no number.

    Gives the entries of a legend.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.lines import Line2D

    network, places, excess = report.network, places_of(report.network), report.excess
    corrupt = np.isin(np.arange(network.n), list(report.adversary.corrupt))
    disclosed = np.isinf(report.leakage) | np.isinf(report.floor)
    measured = np.isfinite(excess) & ~disclosed
    empty = ~(corrupt | disclosed | measured)
    size, rim = node_size(network) * (1 if network.n <= NAMED else 4), rim_width(network)
    handles = _groups(axes, report, places, size)
    draw_edges(axes, network, places)

    norm, colours = _log_norm(excess[measured]), colormaps["viridis_r"]
    shades = colours(norm(np.where(measured, np.maximum(excess, norm.vmin), norm.vmin)))
    leaky = bool(excess[measured].any())
    for label, who, marker, face, edge in (
        ("honest" if leaky else "honest, nothing added", measured, "o", colours(0.5 if leaky else 0.0), "white"),
        ("not assessed" if report.guarantee == "none" else "not asked about", empty, "o", "white", INK),
        ("corrupt", corrupt, "s", "black", "white"),
        ("disclosed exactly", disclosed, "o", RED, "white"),
    ):
        if who.any():
            c = shades[measured] if who is measured else face
            axes.scatter(*places[who].T, s=size, c=c, marker=marker, edgecolors=edge, linewidths=rim, zorder=2)
            handles.append(Line2D([], [], color=face, marker=marker, markersize=9, linestyle="", label=label,
                                  markeredgecolor=RED if who is disclosed else edge))  # fmt: skip
    axes.scatter(*places[disclosed].T, s=2.2 * size, c="none", edgecolors=RED, linewidths=1.5 * max(rim, 0.5), zorder=2)
    if leaky:
        bar = axes.figure.colorbar(ScalarMappable(norm, colours), ax=axes, shrink=0.7, pad=0.02, aspect=28,
                                   extend="min" if excess[measured].min() < norm.vmin else "neither")  # fmt: skip
        bar.set_label("added by the procedure" + (", at most" if report.guarantee != "exact" else "") + " (nats)")
        bar.outline.set_visible(False)
    if network.n <= NAMED:
        light = empty | (measured & (shades[:, :3] @ (0.299, 0.587, 0.114) > 0.55))
        inks = [INK if bright else "white" for bright in light]
        draw_names(axes, [report.name(i) for i in range(network.n)], places, inks)
    axes.set_title(f"Who gives away how much: {network.n} parties, {network.m} edges", pad=44)
    axes.annotate(textwrap.fill(report.setting(), 110), (0, 1), (0, 40), xycoords="axes fraction", in_layout=False,
                  textcoords="offset points", va="top", fontsize=8, color=INK, parse_math=False)  # fmt: skip
    frame(axes)
    return handles


def _log_norm(excess: npt.NDArray[np.float64]) -> Any:
    """From the smallest to the largest, six decades at most; a factor of four where they are equal, or all 0."""
    from matplotlib.colors import LogNorm

    top = float(excess.max(initial=0.0))
    if top <= 0:
        return LogNorm(0.1, 1)
    low = max(float(excess[excess > 0].min()), top * 10.0**-DECADES)
    widen = max(1.0, 2 / np.sqrt(top / low))
    return LogNorm(low / widen, top * widen)


def _groups(axes: Any, report: Report, places: npt.NDArray[np.float64], size: float) -> list[Any]:
    """A pale band under each group of honest nodes whose sum is disclosed, where there are several."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    if len(report.groups) < 2:
        return []
    pale: list[Any] = [tuple(0.35 * shade + 0.65 for shade in to_rgb(colour)) for colour in GROUPS]
    band = 1.4 * np.sqrt(size)
    groups = [group for group in report.groups if len(group) > 1]
    for members, colour in zip(groups, cycle(pale), strict=False):
        group = [report.network.index(node) for node in members]
        inside = report.network.edges[np.isin(report.network.edges, group).all(axis=1)]
        axes.add_collection(LineCollection(list(places[inside]), colors=[colour], linewidths=band, zorder=0,
                                           capstyle="round"))  # fmt: skip
        axes.scatter(*places[group].T, s=band**2, color=colour, linewidths=0, zorder=0)
    return [Patch(color=pale[0], label="a group whose sum is disclosed")] if groups else []
