"""Pictures: the residual of a run, and who talks to whom. matplotlib is imported when a picture is asked for."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .atomic import write_whole
from .errors import InvalidInput, MissingExtra
from .network import Network
from .solve import Result, Status

SUFFIXES = (".png", ".pdf", ".svg")
BLUE, ORANGE, INK, PALE = "#0072B2", "#D55E00", "#222222", "#9AA5AE"  # Okabe and Ito, safe for the colour-blind
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
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"--plot {path}: the name must end in {', '.join(SUFFIXES)}.")
    if path.is_dir():
        raise InvalidInput(f"--plot {path} is a directory. Name a file in it.")
    if not path.parent.is_dir():
        raise InvalidInput(f"--plot {path}: the directory {path.parent} does not exist.")
    if not os.access(path.parent, os.W_OK):
        raise InvalidInput(f"--plot {path}: the directory {path.parent} cannot be written to.")
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
    from matplotlib.collections import LineCollection

    places = network.positions if network.positions is not None else spring_layout(network)
    few = network.n <= NAMED
    width = 1.2 if few else max(0.15, 0.8 * min(1.0, 500 / network.m))
    axes.add_collection(LineCollection(list(places[network.edges]), colors=PALE, linewidths=width, zorder=1))
    size = 330 if few else max(4, 4000 / network.n)
    axes.scatter(*places.T, s=size, color=BLUE, edgecolors="white", linewidths=1.0 if few else 0.2, zorder=2)
    if few:
        _names(axes, [str(name) for name in network.labels or range(network.n)], places)
    axes.set_title(f"Who talks to whom: {network.n} parties, {network.m} edges")
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.15)
    axes.axis("off")


def _names(axes: Any, names: list[str], places: npt.NDArray[np.float64]) -> None:
    """Inside the nodes where all are short, else beside them, away from the middle."""
    if max(len(name) for name in names) <= 2:
        for name, (x, y) in zip(names, places, strict=True):
            axes.text(x, y, name, ha="center", va="center_baseline", color="white", fontsize=9, zorder=4,
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
