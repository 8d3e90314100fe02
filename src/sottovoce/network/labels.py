"""Names beside marks: where they cover no mark and no other name.

Everything is in points (1/72 inch), which are the same on a screen and in a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SIZE = 9
LONGEST = 24  # characters of a name that are written
DIRECTIONS = 24
NEAR = (2, 5)  # from the rim of a mark to its name
FAR = (9, 14, 20, 28, 38, 50, 64, 80)  # a line leads from the name to its mark
AIR = 1.5  # kept free around a name
PAST_AN_EDGE, AWAY_FROM_OUTSIDE = 3.0, 1.5  # what a name over an edge, or towards the middle, costs in points


def place_names(
    axes: Any,
    places: Array,
    radii: Array,
    edges: npt.NDArray[np.int64],
    names: Sequence[str],
    wanted: Sequence[int],
    others: Sequence[int] = (),
    most: int = 0,
) -> None:
    """Write the names of the nodes ``wanted``, and beside their marks those of ``others`` while there is room, until
    there are ``most``.

    ``radii`` are those of the marks, rings included, in points. To be called when all else is drawn: a name finds its
    place in the picture as it will be.
    """
    figure = axes.figure.figure
    figure.draw_without_rendering()
    scale = 72 / figure.dpi
    centres = scale * axes.transData.transform(places)
    low, high = (scale * corner for corner in axes.get_window_extent().get_points())
    outwards = _unit(centres - centres.mean(axis=0))
    segments = centres[edges]
    taken = np.empty((0, 4))
    for rank, i in enumerate([*wanted, *others]):
        must = rank < len(wanted)
        if not must and len(taken) >= most:
            break
        name = shortened(names[i])
        half = _extent(axes, name) * scale / 2
        towards, away = _candidates((*NEAR, *FAR) if must else NEAR)
        # The box of a name touches the circle of radius r + away from outside, sideways sooner than at a corner.
        middles = centres[i] + towards * (radii[i] + away)[:, None] + np.clip(1.4 * towards, -1, 1) * half
        boxes = np.hstack([middles - half, middles + half])
        blocked = _over_marks(boxes, centres, radii) + _over_boxes(boxes, taken)
        blocked += ((boxes[:, :2] < low) | (boxes[:, 2:] > high)).any(axis=1)
        cost = away + PAST_AN_EDGE * _over_edges(boxes, segments) - AWAY_FROM_OUTSIDE * (towards @ outwards[i])
        best = int(np.argmin(np.where(blocked > 0, 1e6 * blocked, 0) + cost))
        if must or not blocked[best]:
            _write(axes, name, places[i], middles[best] - centres[i], bool(away[best] >= FAR[0]))
            taken = np.vstack([taken, boxes[best]])


def _candidates(distances: Sequence[int]) -> tuple[Array, Array]:
    """All directions at each distance."""
    angle = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    around = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.tile(around, (len(distances), 1)), np.repeat(np.asarray(distances, dtype=float), DIRECTIONS)


def shortened(name: str, longest: int = LONGEST) -> str:
    """So many characters of a name, at most."""
    return name if len(name) <= longest else name[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"


def write_inside(axes: Any, names: Sequence[str], places: Array, inks: Sequence[str]) -> None:
    """Short names, on the marks themselves."""
    for name, (x, y), ink in zip(names, places, inks, strict=True):
        axes.text(x, y, name, ha="center", va="center_baseline", color=ink, fontsize=SIZE, zorder=4,
                  parse_math=False)  # fmt: skip


def fit_inside(axes: Any, names: Sequence[str], places: Array, radius: float) -> bool:
    """Whether all names are short, and no mark lies on another."""
    if max(len(name) for name in names) > 2:
        return False
    figure = axes.figure.figure
    figure.draw_without_rendering()
    centres = 72 / figure.dpi * axes.transData.transform(places)
    apart = np.linalg.norm(centres[:, None] - centres[None], axis=2) + 1e9 * np.eye(len(centres))
    return bool(apart.min() >= 2 * radius)


def _write(axes: Any, name: str, place: Array, offset: Array, leader: bool) -> None:
    line = {"arrowstyle": "-", "color": "#222222", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0} if leader else None
    text = axes.annotate(
        name, place, tuple(offset), textcoords="offset points", ha="center", va="center", color="#222222",
        fontsize=SIZE, zorder=5, parse_math=False, arrowprops=line, annotation_clip=False,
        bbox={"fc": "white", "ec": "none", "pad": 0.8, "alpha": 0.8},
    )  # fmt: skip
    text.set_in_layout(False)


def _extent(axes: Any, name: str) -> Array:
    """Width and height of a name, in pixels."""
    text = axes.text(0, 0, name, fontsize=SIZE, parse_math=False)
    box = text.get_window_extent()
    text.remove()
    return np.array([box.width, box.height])


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))


def _over_marks(boxes: Array, centres: Array, radii: Array) -> Array:
    """How many marks each box meets."""
    nearest = np.clip(centres[None], boxes[:, None, :2], boxes[:, None, 2:])
    return np.asarray((np.linalg.norm(nearest - centres[None], axis=2) < radii + AIR).sum(axis=1), dtype=float)


def _over_boxes(boxes: Array, taken: Array) -> Array:
    meet = (boxes[:, None, :2] < taken[None, :, 2:] + AIR) & (boxes[:, None, 2:] > taken[None, :, :2] - AIR)
    return np.asarray(meet.all(axis=2).sum(axis=1), dtype=float)


def _over_edges(boxes: Array, segments: Array) -> Array:
    """How many edges pass each box: those on whose line it lies, between their ends (up to its corners)."""
    middle, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2 + AIR
    start, along = segments[:, 0], segments[:, 1] - segments[:, 0]
    length = np.maximum(np.linalg.norm(along, axis=1), 1e-9)
    across = np.column_stack([-along[:, 1], along[:, 0]]) / length[:, None]
    relative = middle[:, None] - start[None]
    off = np.abs(np.einsum("bek,ek->be", relative, across)) - half @ np.abs(across).T
    far = np.einsum("bek,ek->be", relative, along) / length
    reach = half @ np.abs(along / length[:, None]).T
    return np.asarray(((off < 0) & (far > -reach) & (far < length + reach)).sum(axis=1), dtype=float)
