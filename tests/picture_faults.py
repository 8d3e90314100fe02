"""What is wrong with a picture, found in its geometry as Matplotlib's renderer has it: every picture has ``[]``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

TOUCH = 0.5  # pixels that boxes may share: they are rounded
SAME = 1.0  # pixels within which two points are one
MOST = 0.6


def faults(figure: Any) -> list[str]:
    """A sentence for each: texts over each other, cut by a mark, crossed by a line or out of the picture; a legend over
    what is drawn; a curve hidden by another."""
    texts = [(text, *box_of(text)) for text in shown_texts(figure)]
    found = [f"{one!r} overlaps {other!r}" for (_, one, a), (_, other, b) in combinations(texts, 2) if meet(a, b)]
    page = figure.bbox.padded(1)
    found += [f"{said!r} leaves the picture" for _, said, box in texts if not inside(box, page)]
    for axes in figure.axes:
        curves, here = list(curves_of(axes)), [entry for entry in texts if shares(entry[0].axes, axes)]
        seen = [(said, part) for _, said, box in here if (part := Bbox.intersection(box, axes.bbox)) is not None]
        found += [f"a curve crosses {said!r}" for said, part in seen if crossed(curves, part)]
        for legend in legends_of(figure, axes):
            box = legend.get_window_extent()
            if crossed([*curves, *bars_of(axes)], box) or any(covers(box, mark) for mark in marks_of(axes)):
                found.append("a legend lies on what is drawn")
        for _, said, box in here:
            found += [f"{said!r} is cut by a mark" for mark in marks_of(axes) if cut(box, mark)]
        found += [f"{one!r} hides {other!r}" for other, one in hidden(axes)]
    return found


def shown_texts(figure: Any) -> list[Text]:
    """Every text that is drawn: axes have more, such as those of ticks outside their limits."""
    seen: list[Text] = []
    draw = Text.draw

    def noticed(text: Text, *arguments: Any, **options: Any) -> None:
        if text.get_visible() and text.get_text().strip() and text not in seen:
            seen.append(text)
        draw(text, *arguments, **options)

    with mock.patch.object(Text, "draw", noticed):
        FigureCanvasAgg(figure).draw()
    return seen


def shares(one: Any, other: Any) -> bool:
    """Whether two axes, such as twins, are drawn at one place."""
    return one is not None and np.allclose(one.get_position().bounds, other.get_position().bounds)


def box_of(text: Text) -> tuple[str, Bbox]:
    box = Text.get_window_extent(text) if isinstance(text, Annotation) else text.get_window_extent()
    return text.get_text(), box


def meet(a: Bbox, b: Bbox) -> bool:
    return bool(min(a.x1, b.x1) - max(a.x0, b.x0) > TOUCH and min(a.y1, b.y1) - max(a.y0, b.y0) > TOUCH)


def inside(box: Bbox, page: Bbox) -> bool:
    return bool(page.x0 <= box.x0 and page.y0 <= box.y0 and box.x1 <= page.x1 and box.y1 <= page.y1)


def curves_of(axes: Any) -> Iterator[Path]:
    for line in axes.lines:
        if line.get_visible() and line.get_linestyle() != "None":
            yield line.get_transform().transform_path(line.get_path())


def bars_of(axes: Any) -> Iterator[Path]:
    """Error bars, and edges of a network."""
    for lines in axes.collections:
        if isinstance(lines, LineCollection):
            yield from (lines.get_transform().transform_path(path) for path in lines.get_paths())


def crossed(curves: list[Path], box: Bbox) -> bool:
    return any(len(curve.vertices) > 1 and curve.intersects_bbox(box, filled=False) for curve in curves)


def legends_of(figure: Any, axes: Any) -> list[Any]:
    return [legend for legend in [axes.get_legend(), *figure.legends] if legend is not None]


def marks_of(axes: Any) -> Iterator[tuple[float, float, float]]:
    """Centre and radius, in pixels, of every dot of a scatter or of a line."""
    pixels = axes.figure.dpi / 72
    for dots in axes.collections:
        if isinstance(dots, PathCollection) and len(dots.get_offsets()):
            places = axes.transData.transform(dots.get_offsets())
            sizes = np.broadcast_to(dots.get_sizes(), len(places))
            rims = np.broadcast_to(dots.get_linewidths(), len(places))
            for (x, y), size, rim in zip(places, sizes, rims, strict=True):
                if dots.get_linewidths()[0] or dots.get_zorder() != 0:  # the pale bands under groups are no marks
                    yield x, y, pixels * (np.sqrt(size) / 2 + rim / 2)
    for line in axes.lines:
        if line.get_marker() not in ("None", "", None):
            for x, y in line.get_transform().transform(line.get_xydata()):
                yield x, y, pixels * line.get_markersize() / 2


def covers(box: Bbox, mark: tuple[float, float, float]) -> bool:
    x, y, r = mark
    return bool(np.hypot(x - np.clip(x, box.x0, box.x1), y - np.clip(y, box.y0, box.y1)) < r)


def cut(box: Bbox, mark: tuple[float, float, float]) -> bool:
    """Neither beside the mark nor wholly on it."""
    x, y, r = mark
    on = x - r <= box.x0 and box.x1 <= x + r and y - r <= box.y0 and box.y1 <= y + r
    return covers(box, mark) and not on


def hidden(axes: Any) -> Iterator[tuple[str, str]]:
    """Curves that lie under another of the same width and style, and dots under other dots, at most of their points.
    Those of one colour and mark are not meant to be told apart."""
    seen = [line for line in axes.lines if len(line.get_xdata()) > 3]
    for under, over in combinations(seen, 2):
        style = [(line.get_linestyle(), line.get_linewidth()) for line in (under, over)]
        dots = style[0][0] == style[1][0] == "None"
        alike = under.get_color() == over.get_color() and under.get_marker() == over.get_marker()
        if alike or (not dots and style[0] != style[1]):
            continue
        near = axes.figure.dpi / 72 * under.get_markersize() if dots else SAME
        a, b = (line.get_transform().transform(line.get_xydata()) for line in (under, over))
        if len(a) == len(b) and np.mean(np.abs(a - b).max(axis=1) < near) > MOST:
            yield under.get_label(), over.get_label()


def kept(monkeypatch: Any) -> list[Any]:
    """The figures that are written from now on, in a program that closes them afterwards."""
    figures: list[Any] = []
    save = Figure.savefig

    def noticed(figure: Any, *arguments: Any, **options: Any) -> None:
        figures.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", noticed)
    return figures
