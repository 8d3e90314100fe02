"""Curves with units, and a button for each way to take them along: PNG, SVG, CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nicegui import ui

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7f87")  # Okabe and Ito
DASHES: tuple[Any, ...] = ("solid", [8, 4], [2, 3], [10, 3, 2, 3])
AXIS = "#7d8590"  # readable on white and on black
DIGITS = 6  # that a curve on a screen needs
POINTS = 400  # of a curve
TICKS = (
    "v => { const a = Math.abs(v); return a !== 0 && (a >= 1e5 || a < 1e-3) "
    "? v.toExponential(2).replace(/\\.?0+e/, 'e').replace('e+', 'e') : String(+v.toPrecision(6)); }"
)


@dataclass(frozen=True)
class Curve:
    """So many points under one name. ``marks`` draws points without a line; ``width`` 0 leaves the line out."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    colour: str = COLOURS[0]
    dash: Any = "solid"
    width: float = 2.0
    marks: bool = False
    symbol: str = "circle"
    legend: bool = True


@dataclass(frozen=True)
class Line:
    """A level that everything runs into, or that means something: horizontal (``y``) or vertical (``x``)."""

    name: str
    y: float | None = None
    x: float | None = None
    colour: str = AXIS


class Plot:
    """A picture with a title, axes with units, and buttons.

    Parameters
    ----------
    title
        What it shows; also the name of the files.
    x, y
        What the axes say, with their units.
    """

    def __init__(
        self, title: str, x: str, y: str, *, log_x: bool = False, log_y: bool = False, height: int = 240, tip: str = ""
    ) -> None:
        self.title, self.x, self.y = title, x, y
        self.log_x, self.log_y = log_x, log_y
        self.curves: tuple[Curve, ...] = ()
        self.name = "".join(ch if ch.isalnum() else "-" for ch in title.lower()).strip("-")
        with ui.element("figure").classes("plot").props(f'aria-label="{title}"') as self.box:
            with ui.element("div").classes("plot-head"):
                label = ui.label(title).classes("plot-title")
                if tip:
                    with label:
                        ui.tooltip(tip)
                for kind in ("png", "svg"):
                    self._button(kind, lambda _, kind=kind: self._picture(kind))
                self._button("csv", lambda _: ui.download.content(self.csv(), f"{self.name}.csv", "text/csv"))
            self.chart = ui.echart(self._options((), ()), renderer="svg").style(f"height: {height}px")

    def _button(self, kind: str, act: Any) -> None:
        button = ui.button(kind.upper(), on_click=act).props(
            f'flat dense size=sm aria-label="{self.title} as {kind.upper()}"'
        )
        with button:
            ui.tooltip(f"Save as {kind.upper()}")

    def _picture(self, kind: str) -> None:
        ui.run_javascript(
            f"studio.picture({json.dumps(self.chart.html_id)}, {json.dumps(self.name)}, {json.dumps(kind)})"
        )

    def draw(self, curves: Iterable[Curve], lines: Iterable[Line] = ()) -> None:
        """Show these curves, and no others."""
        self.curves = tuple(curves)
        self.chart.options.clear()
        self.chart.options.update(self._options(self.curves, tuple(lines)))
        self.chart.update()

    def append(self, points: Mapping[str, Sequence[tuple[float, float | None]]]) -> None:
        """Points at the end of curves that are drawn, by name; only these travel."""
        new = {name: list(zip(*more, strict=True)) for name, more in points.items() if more}
        if not new:
            return
        self.curves = tuple(
            replace(curve, x=[*curve.x, *new[curve.name][0]], y=[*curve.y, *new[curve.name][1]])
            if curve.name in new
            else curve
            for curve in self.curves
        )
        sent = {name: [self._point(x, y) for x, y in more] for name, more in points.items() if more}
        ui.run_javascript(f"studio.append({self.chart.id}, {json.dumps(sent)})")

    def mark(self, x: float) -> None:
        """Move the line that says: here we are."""
        self.chart.run_chart_method(
            "setOption", {"series": [{"id": "now", "markLine": _marks([Line("", x=x)], "#7d8590")}]}
        )

    def csv(self) -> bytes:
        """All points, a row each, with every digit."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["curve", self.x, self.y])
        for curve in self.curves:
            for x, y in zip(curve.x, curve.y, strict=True):
                writer.writerow([_plain_text(curve.name), x, "" if y is None else y])
        return text.getvalue().encode()

    def _options(self, curves: tuple[Curve, ...], lines: tuple[Line, ...]) -> dict[str, Any]:
        named = [_entry(curve) for curve in curves if curve.legend]
        return {
            "animation": False,
            "aria": {"enabled": True, "label": {"description": f"{self.title}: {self.y} against {self.x}"}},
            "grid": {"left": 74, "right": 24, "top": 40 if named else 16, "bottom": 44},
            "legend": {"data": named, "top": 4, "type": "scroll", "icon": None, "itemWidth": 38},
            "tooltip": {"trigger": "item" if any(curve.marks for curve in curves) else "axis", "confine": True,
                        "order": "valueDesc"},
            "xAxis": self._axis(self.x, self.log_x, 28),
            "yAxis": self._axis(self.y, self.log_y, 54),
            "series": [*(self._series(curve) for curve in curves),
                       {"id": "lines", "type": "line", "data": [], "markLine": _marks(lines, AXIS)},
                       {"id": "now", "type": "line", "data": []}],
        }  # fmt: skip

    def _axis(self, name: str, log: bool, gap: int) -> dict[str, Any]:
        return {
            "type": "log" if log else "value", "name": name, "nameLocation": "middle", "nameGap": gap, "scale": True,
            "nameTextStyle": {"lineHeight": 14},
            "axisLine": {"show": True, "lineStyle": {"color": AXIS}}, "axisTick": {"show": True},
            "splitLine": {"lineStyle": {"color": AXIS, "opacity": 0.18}},
            "axisLabel": {"hideOverlap": True, ":formatter": TICKS},
        }  # fmt: skip

    def _series(self, curve: Curve) -> dict[str, Any]:
        keep = max(1, len(curve.x) // POINTS)
        points = [
            self._point(x, y)
            for k, (x, y) in enumerate(zip(curve.x, curve.y, strict=True))
            if k % keep == 0 or k == len(curve.x) - 1
        ]
        return {
            "name": curve.name, "type": "scatter" if curve.marks else "line", "data": points, "color": curve.colour,
            "showSymbol": curve.marks, "symbol": curve.symbol, "symbolSize": 11,
            "lineStyle": {"width": curve.width, "type": curve.dash, "color": curve.colour},
            "emphasis": {"focus": "series"},
        }  # fmt: skip

    def _point(self, x: float, y: float | None) -> list[float | None]:
        return [_rounded(x), _rounded(y) if y is not None and not (self.log_y and y <= 0) else None]


def _entry(curve: Curve) -> dict[str, Any]:
    """Of the legend: a line as it is drawn, without the dot that would cover its dashes."""
    return {"name": curve.name, **({} if curve.marks else {"itemStyle": {"opacity": 0}})}


def _marks(lines: Iterable[Line], colour: str) -> dict[str, Any]:
    data: list[dict[str, Any]] = []
    for line in lines:
        place = {"yAxis": line.y} if line.y is not None else {"xAxis": line.x}
        data.append({**place, "name": line.name, "lineStyle": {"color": line.colour, "type": [6, 4], "width": 1.5},
                     "label": {"formatter": "{b}", "position": "insideEndTop", "show": bool(line.name),
                               "textBorderWidth": 0, "color": AXIS}})  # fmt: skip
    return {"symbol": "none", "silent": True, "animation": False, "precision": 12, "data": data}


def _rounded(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def _plain_text(name: str) -> str:
    """A name that a spreadsheet does not take for a formula."""
    return f"'{name}" if name[:1] in ("=", "+", "-", "@") else name
