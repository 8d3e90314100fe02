"""The picture of a report: who gives away how much to whom."""

from __future__ import annotations

import textwrap
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...network.labels import fit_inside, place_names, write_inside
from ...network.pictures import INK, NAMED, draw_edges, frame, node_size, picture, places_of, rim_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .report import Report

RED = "#E0102A"
GROUPS = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#0072B2")  # Okabe and Ito
DECADES = 6  # of excess that colours tell apart
ONE_VALUE = 1.05  # excess within this factor is told by a number, not by a scale
WORST = 3  # parties of a large network that are named for what they give away
RING = 2.2  # area of the ring around a mark, to that of the mark
BAND = 1.4  # width of the band under a group, to that of a mark


def plot_report(path: str | Path | None, report: Report) -> Figure:
    """The network with nodes coloured by what the procedure adds, corrupt and disclosed ones marked."""
    network, places = report.network, places_of(report.network)
    across, up = np.ptp(places, axis=0)
    height = float(np.clip(1.8 + 5.0 * up / max(across, 1e-9), 3.6, 6.6))  # a long network needs no square
    with picture(path, 7.2, height) as figure:
        figure.suptitle(f"Who gives away how much: {network.n} parties, {network.m} edges",
                        x=0.006, ha="left", color=INK, weight="bold", size=11)  # fmt: skip
        draw_report(figure.subplots(), report, places)
    return figure


def draw_report(axes: Any, report: Report, places: npt.NDArray[np.float64]) -> None:
    """One mark a node: corrupt, disclosed, the colour of its excess, or empty where there is no number."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.lines import Line2D

    network, excess = report.network, report.excess
    corrupt = np.isin(np.arange(network.n), list(report.adversary.corrupt))
    disclosed = np.isinf(report.leakage) | np.isinf(report.floor)
    measured = np.isfinite(excess) & ~disclosed
    empty = ~(corrupt | disclosed | measured)
    size, rim = node_size(network) * (1 if network.n <= NAMED else 4), rim_width(network)
    handles = _groups(axes, report, places, size)
    draw_edges(axes, network, places)

    norm, colours = _log_norm(excess[measured]), colormaps["viridis_r"]
    shades = colours(norm(np.where(measured, np.maximum(excess, norm.vmin), norm.vmin)))
    most = ", at most" if report.guarantee != "exact" else ""
    scale = _is_scale(excess[measured])
    for label, who, marker, face, edge in (
        (_honest(excess[measured], most), measured, "o", colours(0.5 if excess[measured].any() else 0.0), "white"),
        ("not assessed" if report.guarantee == "none" else "not asked about", empty, "o", "white", INK),
        ("corrupt", corrupt, "s", "black", "white"),
        ("disclosed exactly", disclosed, "o", RED, "white"),
    ):
        if who.any():
            c = shades[measured] if who is measured else face
            axes.scatter(*places[who].T, s=size, c=c, marker=marker, edgecolors=edge, linewidths=rim, zorder=2)
            handles.append(Line2D([], [], color=face, marker=marker, markersize=9, linestyle="", label=label,
                                  markeredgecolor=RED if who is disclosed else edge))  # fmt: skip
    ring = 1.5 * max(rim, 0.5)
    axes.scatter(*places[disclosed].T, s=RING * size, c="none", edgecolors=RED, linewidths=ring, zorder=2)
    if scale:
        bar = axes.figure.colorbar(ScalarMappable(norm, colours), ax=axes, shrink=0.7, pad=0.02, aspect=28,
                                   extend="min" if excess[measured].min() < norm.vmin else "neither")  # fmt: skip
        bar.set_label(f"added by the procedure{most} (nats)")
        bar.set_ticks(ticks := np.geomspace(norm.vmin, norm.vmax, 5), labels=[f"{tick:.2g}" for tick in ticks])
        bar.minorticks_off()
        bar.outline.set_visible(False)
    axes.set_title(textwrap.fill(report.setting(), 110), fontsize=8, color=INK, parse_math=False)
    columns = 4 if sum(len(handle.get_label()) for handle in handles) < 75 else 2
    axes.figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), columns), frameon=False)
    frame(axes)

    radii = np.where(disclosed, np.sqrt(RING * size) / 2 + ring, np.sqrt(size / 2))  # of a square, which holds a circle
    if len(report.groups) > 1:
        radii = np.maximum(radii, BAND * np.sqrt(size) / 2)
    names = [report.name(i) for i in range(network.n)]
    if network.n <= NAMED and fit_inside(axes, names, places, np.sqrt(size) / 2):
        light = empty | (measured & (shades[:, :3] @ (0.299, 0.587, 0.114) > 0.55))
        write_inside(axes, names, places, [INK if bright else "white" for bright in light])
    else:
        place_names(axes, places, radii, network.edges, names, named(report))


def named(report: Report) -> list[int]:
    """Whose names are written: everybody's, or in a large network the corrupt, the disclosed, and those who give away
    most; so many as can be read."""
    n = report.network.n
    if n <= NAMED:
        return list(range(n))
    left = np.where(np.isfinite(report.excess), report.excess, 0.0)
    worst = [int(i) for i in np.argsort(-left, kind="stable")[:WORST] if left[i] > 0]
    disclosed = np.flatnonzero(np.isinf(report.leakage) | np.isinf(report.floor)).tolist()
    return list(dict.fromkeys([*worst[:1], *sorted(report.adversary.corrupt), *disclosed, *worst]))[:NAMED]


def _is_scale(excess: npt.NDArray[np.float64]) -> bool:
    """Whether there are values to tell apart by colour."""
    top = float(excess.max(initial=0.0))
    return top > 0 and float(excess.min()) * ONE_VALUE < top


def _honest(excess: npt.NDArray[np.float64], most: str) -> str:
    if _is_scale(excess):
        return "honest"
    top = float(excess.max(initial=0.0))
    return f"honest, {top:.2g} nats added{most}" if top > 0 else "honest, nothing added"


def _log_norm(excess: npt.NDArray[np.float64]) -> Any:
    """From the smallest to the largest, six decades at most, a factor of two at least."""
    from matplotlib.colors import LogNorm

    top = float(excess.max(initial=0.0))
    if top <= 0:
        return LogNorm(0.1, 1)
    low = max(float(excess[excess > 0].min()), top * 10.0**-DECADES)
    widen = max(1.0, np.sqrt(2 / (top / low)))
    return LogNorm(low / widen, top * widen)


def _groups(axes: Any, report: Report, places: npt.NDArray[np.float64], size: float) -> list[Any]:
    """A pale band under each group of honest nodes whose sum is disclosed, where there are several."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    if len(report.groups) < 2:
        return []
    pale: list[Any] = [tuple(0.35 * shade + 0.65 for shade in to_rgb(colour)) for colour in GROUPS]
    band = BAND * np.sqrt(size)
    groups = [group for group in report.groups if len(group) > 1]
    for members, colour in zip(groups, cycle(pale), strict=False):
        group = [report.network.index(node) for node in members]
        inside = report.network.edges[np.isin(report.network.edges, group).all(axis=1)]
        axes.add_collection(LineCollection(list(places[inside]), colors=[colour], linewidths=band, zorder=0,
                                           capstyle="round"))  # fmt: skip
        axes.scatter(*places[group].T, s=band**2, color=colour, linewidths=0, zorder=0)
    total = "sum" if report.noise is None else "noisy sum"
    return [Patch(color=pale[0], label=f"a group whose {total} is disclosed")] if groups else []
