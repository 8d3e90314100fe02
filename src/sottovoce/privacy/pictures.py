"""Pictures: the residual of a run, who talks to whom, and who gives away how much to whom.

matplotlib is imported when a picture is asked for.
"""

from __future__ import annotations

import importlib.util
import textwrap
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import MissingExtra
from ..files.atomic import check_writable, write_whole
from ..network import Network
from ..pdmm.solve import Result, Status

if TYPE_CHECKING:
    from .report import Report

SUFFIXES = (".png", ".pdf", ".svg")
BLUE, ORANGE, INK, PALE = "#0072B2", "#D55E00", "#222222", "#9AA5AE"  # Okabe and Ito, safe for the colour-blind
RED = "#E0102A"
GROUPS = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#0072B2")  # Okabe and Ito
DECADES = 6  # of excess that colours tell apart
STYLE: Any = {
    "font.size": 10,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",
}
SPRING_STEPS = 300
NAMED = 30  # nodes get their names up to this many


def check_plot_path(path: str | Path) -> Path:
    """Refuse, before a run, what could not be written after it."""
    path = Path(path)
    check_writable("--plot", path, SUFFIXES)
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("--plot", "matplotlib", "plot")
    return path


def plot_run(path: str | Path, result: Result, network: Network, tol: float, title: str = "") -> None:
    """The residual (``result.history`` must hold it) beside the network, written whole or not at all."""
    path = check_plot_path(path)
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        _residual(left, result, tol)
        draw_network(right, network)
        if title:
            figure.suptitle(title, x=0.01, ha="left", color=INK, parse_math=False)
        write_whole(path, lambda temporary: figure.savefig(temporary, dpi=160))


def _residual(axes: Any, result: Result, tol: float) -> None:
    iteration, residual = result.history["iteration"], np.asarray(result.history["residual"], dtype=float)
    keep = np.isfinite(residual) & (residual > 0)
    axes.semilogy(iteration[keep], residual[keep], color=BLUE, linewidth=1.6)
    if tol > 0:
        axes.axhline(tol, color=ORANGE, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate(f"tol = {tol:g}", (0, tol), (5, 4), xycoords=("axes fraction", "data"),
                      textcoords="offset points", ha="left", va="bottom", color=ORANGE)  # fmt: skip
    ends = {
        Status.CONVERGED: f"converged after {result.iterations:,} iterations",
        Status.MAX_ITER: f"not converged in {result.iterations:,} iterations",
        Status.DIVERGED: f"diverged after {result.iterations:,} iterations",
    }
    axes.set_title(f"Residual: {ends[result.status]}")
    axes.set_xlabel("iteration")
    axes.set_ylabel("KKT residual")
    axes.set_xlim(left=0)
    axes.grid(axis="y", color=PALE, alpha=0.35, linewidth=0.6)
    axes.xaxis.get_major_formatter().set_useOffset(False)


def draw_network(axes: Any, network: Network) -> None:
    """Nodes and edges; names where there is room for them."""
    places = _places(network)
    _edges(axes, network, places)
    axes.scatter(*places.T, s=_size(network), color=BLUE, edgecolors="white", linewidths=_rim(network), zorder=2)
    if network.n <= NAMED:
        _names(axes, [str(name) for name in network.labels or range(network.n)], places, ["white"] * network.n)
    axes.set_title(f"Who talks to whom: {network.n} parties, {network.m} edges")
    _frame(axes)


def _places(network: Network) -> npt.NDArray[np.float64]:
    return network.positions if network.positions is not None else spring_layout(network)


def _edges(axes: Any, network: Network, places: npt.NDArray[np.float64]) -> None:
    from matplotlib.collections import LineCollection

    width = 1.2 if network.n <= NAMED else max(0.15, 0.8 * min(1.0, 500 / network.m))
    alpha = max(0.3, min(1.0, 3000 / network.m))
    lines = LineCollection(list(places[network.edges]), colors=PALE, linewidths=width, alpha=alpha, zorder=1)
    axes.add_collection(lines)


def _size(network: Network) -> float:
    return 330 if network.n <= NAMED else max(4, 4000 / network.n)


def _rim(network: Network) -> float:
    return 1.0 if network.n <= NAMED else 0.2


def _frame(axes: Any) -> None:
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.15)
    axes.axis("off")
    for marks in axes.collections:  # the equal aspect may eat the margin
        marks.set_clip_on(False)


def _names(axes: Any, names: list[str], places: npt.NDArray[np.float64], inks: list[str]) -> None:
    """Inside the nodes where all are short, else beside them, away from the middle."""
    if max(len(name) for name in names) <= 2:
        for name, (x, y), ink in zip(names, places, inks, strict=True):
            axes.text(x, y, name, ha="center", va="center_baseline", color=ink, fontsize=9, zorder=4,
                      parse_math=False)  # fmt: skip
        return
    outwards = places - places.mean(axis=0)
    outwards /= np.maximum(np.linalg.norm(outwards, axis=1, keepdims=True), 1e-9)
    for name, place, (across, up) in zip(names, places, outwards, strict=True):
        side = "left" if across > 0.5 else "right" if across < -0.5 else "center"
        level = "bottom" if up > 0.5 else "top" if up < -0.5 else "center"
        axes.annotate(name, place, (12 * across, 12 * up), textcoords="offset points", ha=side, va=level, color=INK,
                      fontsize=9, zorder=3, parse_math=False,
                      bbox={"fc": "white", "ec": "none", "pad": 0.8, "alpha": 0.8})  # fmt: skip


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

    network, places, excess = report.network, _places(report.network), report.excess
    corrupt = np.isin(np.arange(network.n), list(report.adversary.corrupt))
    disclosed = np.isinf(report.leakage) | np.isinf(report.floor)
    measured = np.isfinite(excess) & ~disclosed
    empty = ~(corrupt | disclosed | measured)
    size, rim = _size(network) * (1 if network.n <= NAMED else 4), _rim(network)
    handles = _groups(axes, report, places, size)
    _edges(axes, network, places)

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
        _names(axes, [report.name(i) for i in range(network.n)], places, inks)
    axes.set_title(f"Who gives away how much: {network.n} parties, {network.m} edges", pad=44)
    axes.annotate(textwrap.fill(report.setting(), 110), (0, 1), (0, 40), xycoords="axes fraction", in_layout=False,
                  textcoords="offset points", va="top", fontsize=8, color=INK, parse_math=False)  # fmt: skip
    _frame(axes)
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
    for group, colour in zip(groups, cycle(pale), strict=False):
        inside = report.network.edges[np.isin(report.network.edges, group).all(axis=1)]
        axes.add_collection(LineCollection(list(places[inside]), colors=[colour], linewidths=band, zorder=0,
                                           capstyle="round"))  # fmt: skip
        axes.scatter(*places[group].T, s=band**2, color=colour, linewidths=0, zorder=0)
    return [Patch(color=pale[0], label="a group whose sum is disclosed")] if groups else []


def spring_layout(network: Network) -> npt.NDArray[np.float64]:
    """Places for nodes that have none: from a circle, edges pull and nodes push (Fruchterman and Reingold)."""
    n = network.n
    angle = 2 * np.pi * np.arange(n) / n
    places = np.column_stack([np.sin(angle), np.cos(angle)])
    regular = len(set(network.degrees.tolist())) == 1
    if regular or n > 500:  # rings and complete graphs look best as they are, and n^2 forces cost too much
        return places
    W = network.adjacency.toarray()
    ideal = 2 / np.sqrt(n)
    for step in range(SPRING_STEPS):
        apart = places[:, None] - places[None]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
        force = np.einsum("ijk,ij->ik", apart, ideal**2 / distance**2 - W * distance / ideal)
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        places = places + force / length * np.minimum(length, 0.2 * (1 - step / SPRING_STEPS))
    return np.asarray(places)
