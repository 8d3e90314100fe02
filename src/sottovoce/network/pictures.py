"""Pictures of a network: who talks to whom. What other pictures share is here too: colours, style, and where to write.

matplotlib is imported when a picture is asked for.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import MissingExtra
from ..files.atomic import check_writable, write_whole
from .labels import fit_inside, place_names, write_inside
from .network import Network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".pdf", ".svg")
DPI = 160
BLUE, ORANGE, INK, PALE = "#0072B2", "#D55E00", "#222222", "#9AA5AE"  # Okabe and Ito, safe for the colour-blind
STYLE: Any = {
    "font.size": 10,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",
}
SPRING_STEPS = 300
NAMED = 30  # so many names at most


def check_plot_path(path: str | Path, what: str = "--plot") -> Path:
    """Refuse, before a run, what could not be written after it."""
    path = Path(path)
    check_writable(what, path, SUFFIXES)
    check_matplotlib(what)
    return path


def check_matplotlib(what: str) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra(what, "matplotlib", "plot")


@contextmanager
def picture(path: str | Path | None, width: float, height: float) -> Iterator[Figure]:
    """An empty figure in the style above, to be drawn on; written at the end, whole or not at all, where there is a
    path. What could not be written is refused first."""
    if path is not None:
        path = check_plot_path(path, "plot")
    check_matplotlib("a picture")
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure = figure_class()(figsize=(width, height), layout="constrained")
        yield figure
        if path is not None:
            write_whole(path, lambda temporary: figure.savefig(temporary, dpi=DPI))


@cache
def figure_class() -> type[Figure]:
    from matplotlib.figure import Figure

    class Picture(Figure):
        """Not known to pyplot, so that nothing needs closing; a notebook, which shows pyplot's figures by itself, shows
        this one where it is the last line of a cell."""

        def _repr_png_(self) -> bytes:
            buffer = BytesIO()
            self.savefig(buffer, format="png")
            return buffer.getvalue()

    return Picture


def plot_network(path: str | Path | None, network: Network, overlay: Network | None = None) -> Figure:
    """Who talks to whom."""
    with picture(path, 6.4, 5.6) as figure:
        draw_network(figure.subplots(), network, overlay)
    return figure


def draw_network(axes: Any, network: Network, overlay: Network | None = None) -> None:
    """Nodes, edges and names; when the rest of the figure is drawn, as names look for their places. The edges of an
    ``overlay``, which messages use, are drawn over those that carry pads alone."""
    places, size = places_of(network), node_size(network)
    draw_edges(axes, network, places)
    if overlay is not None:
        draw_edges(axes, overlay, places, BLUE)
    axes.scatter(*places.T, s=size, color=BLUE, edgecolors="white", linewidths=rim_width(network), zorder=2)
    used = "" if overlay is None else f",\nmessages over {overlay.m} of them"
    axes.set_title(f"Who talks to whom: {network.n} parties, {network.m} edges{used}")
    frame(axes)
    names, radii = [network.name(i) for i in range(network.n)], np.full(network.n, np.sqrt(size) / 2)
    if network.n <= NAMED and fit_inside(axes, names, places, radii[0]):
        write_inside(axes, names, places, ["white"] * network.n)
        return
    order = np.argsort(-network.degrees, kind="stable").tolist()  # the best connected first
    wanted, others = (order, []) if network.n <= NAMED else ([], order)
    place_names(axes, places, radii, network.edges, names, wanted, others, NAMED)


def places_of(network: Network) -> npt.NDArray[np.float64]:
    return network.positions if network.positions is not None else spring_layout(network)


def draw_edges(axes: Any, network: Network, places: npt.NDArray[np.float64], colour: str = PALE) -> None:
    from matplotlib.collections import LineCollection

    width = 1.2 if network.n <= NAMED else max(0.15, 0.8 * min(1.0, 500 / network.m))
    alpha = max(0.3, min(1.0, 3000 / network.m))
    lines = LineCollection(list(places[network.edges]), colors=colour, linewidths=width, alpha=alpha, zorder=1)
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
    return _lying(places)


def _lying(places: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Turned so that it is longest from left to right, as pictures are."""
    places = places - places.mean(axis=0)
    axes = np.linalg.svd(places, full_matrices=False)[2]
    axes *= np.where(axes[np.arange(2), np.abs(axes).argmax(axis=1)] < 0, -1, 1)[:, None]
    return np.asarray(places @ axes.T)
