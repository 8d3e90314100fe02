"""Pictures of a network: who talks to whom. What other pictures share is here too: colours, style, and where to write.

matplotlib is imported when a picture is asked for.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import MissingExtra
from ..files.atomic import check_writable
from .network import Network

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
    check_writable("--plot", path, SUFFIXES)
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("--plot", "matplotlib", "plot")
    return path


def draw_network(axes: Any, network: Network) -> None:
    """Nodes and edges; names where there is room for them."""
    places = places_of(network)
    draw_edges(axes, network, places)
    axes.scatter(
        *places.T, s=node_size(network), color=BLUE, edgecolors="white", linewidths=rim_width(network), zorder=2
    )
    if network.n <= NAMED:
        draw_names(axes, [network.name(i) for i in range(network.n)], places, ["white"] * network.n)
    axes.set_title(f"Who talks to whom: {network.n} parties, {network.m} edges")
    frame(axes)


def places_of(network: Network) -> npt.NDArray[np.float64]:
    return network.positions if network.positions is not None else spring_layout(network)


def draw_edges(axes: Any, network: Network, places: npt.NDArray[np.float64]) -> None:
    from matplotlib.collections import LineCollection

    width = 1.2 if network.n <= NAMED else max(0.15, 0.8 * min(1.0, 500 / network.m))
    alpha = max(0.3, min(1.0, 3000 / network.m))
    lines = LineCollection(list(places[network.edges]), colors=PALE, linewidths=width, alpha=alpha, zorder=1)
    axes.add_collection(lines)


def node_size(network: Network) -> float:
    return 330 if network.n <= NAMED else max(4, 4000 / network.n)


def rim_width(network: Network) -> float:
    return 1.0 if network.n <= NAMED else 0.2


def frame(axes: Any) -> None:
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.15)
    axes.axis("off")
    for marks in axes.collections:  # the equal aspect may eat the margin
        marks.set_clip_on(False)


def draw_names(axes: Any, names: list[str], places: npt.NDArray[np.float64], inks: list[str]) -> None:
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
