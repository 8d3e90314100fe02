"""Error against leakage: above, what noise costs; below, on the same axis, a lane for each method with exact answers.
As ``Comparison.plot`` draws it, with the same limits."""

from __future__ import annotations

import math
from typing import Any

from ..baselines.comparison import EXACT, Comparison, Row, error_words, nats_words
from ..baselines.comparison_pictures import GONE, KNOWN, cost_words, nats_limits, pays
from .comparing import floor_words
from .plots import AXIS, COLOURS, Curve, Plot
from .words import narrows

SYMBOLS = ("circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle")
LANE = 26  # pixels of a method whose answer is exact
TOP, ABOVE, GAP, LEFT = 58, 250, 20, 236
USELESS = "#d55e00"


class ComparisonPlot(Plot):
    """The picture of a comparison."""

    comparison: Comparison | None = None

    def compare(self, found: Comparison, looks: dict[str, tuple[str, str]]) -> None:
        """Show this, every method in its colour and with its symbol."""
        self.comparison, self.looks = found, looks
        lanes = sum(not pays(row, found) for row in found.rows)
        self.chart.style(f"height: {TOP + ABOVE + GAP + 56 + LANE * max(1, lanes)}px")
        self.draw([
            Curve(row.method, [p.nats for p in points_of(row, found)], [p.error for p in points_of(row, found)],
                  looks[row.method][0], symbol=looks[row.method][1])
            for row in found.rows
        ])  # fmt: skip

    def _options(self, curves: Any, lines: Any) -> dict[str, Any]:
        found = self.comparison
        if found is None:
            return super()._options(curves, lines)
        noisy = [row for row in found.rows if pays(row, found)]
        exact = [row for row in found.rows if row not in noisy]
        low, high = nats_limits(found)
        gone, edge = high * GONE, high * GONE / 1.7
        top, lane = TOP + ABOVE + GAP, LANE * max(1, len(exact))
        across = {"type": "log", "min": low, "max": gone * 1.6, "axisLine": {"lineStyle": {"color": AXIS}},
                  "splitLine": {"lineStyle": {"color": AXIS, "opacity": 0.18}}}  # fmt: skip
        shown = f"v => v > {edge} ? '' : String(+v.toPrecision(3))"
        return {
            "animation": False,
            "aria": {"enabled": True, "label": {"description": f"{self.title}: {self.y} against {self.x}"}},
            "legend": {"data": [row.method for row in noisy], "top": 2, "left": LEFT - 10, "type": "scroll",
                       "itemWidth": 26},
            "tooltip": {"trigger": "item", "confine": True, "formatter": "{b}",
                        "extraCssText": "white-space: pre-line"},
            "grid": [{"left": LEFT, "right": 24, "top": TOP, "height": ABOVE},
                     {"left": LEFT, "right": 24, "top": top, "height": lane}],
            "xAxis": [{**across, "gridIndex": 0, "axisLabel": {"show": False}},
                      {**across, "gridIndex": 1, "name": self.x, "nameLocation": "middle", "nameGap": 30,
                       "axisLabel": {":formatter": shown, "showMinLabel": False}}],
            "yAxis": [{**self._axis(self.y.replace(" (", "\n("), True, 54), "gridIndex": 0},
                      {"type": "category", "gridIndex": 1, "inverse": True, "data": [row.method for row in exact],
                       "axisTick": {"show": False}, "axisLine": {"lineStyle": {"color": AXIS}},
                       "splitLine": {"show": True, "lineStyle": {"color": AXIS, "opacity": 0.12}},
                       "axisLabel": {"interval": 0, "fontSize": 12}}],
            "series": [
                *(self._noisy(row, found, gone) for row in noisy),
                *(series for row in exact for series in self._exact(row, found, gone)),
                _levels(0, found, edge, gone, useless=True),
                _levels(1, found, edge, gone, useless=False),
            ],
        }  # fmt: skip

    def _noisy(self, row: Row, found: Comparison, gone: float) -> dict[str, Any]:
        colour, symbol = self.looks[row.method]
        data = [
            {"value": [min(point.nats, gone), point.error], "name": told(row, found, point)}
            for point in points_of(row, found)
            if point.error > EXACT * found.settings["prior"]
        ]
        return {"name": row.method, "type": "line", "xAxisIndex": 0, "yAxisIndex": 0, "data": data, "color": colour,
                "symbol": symbol, "symbolSize": 9, "lineStyle": {"width": 2, "color": colour}}  # fmt: skip

    def _exact(self, row: Row, found: Comparison, gone: float) -> list[dict[str, Any]]:
        """A mark where it stands, and a line as far as its mask can take it."""
        colour, symbol = self.looks[row.method]
        at = row.nats if row.nats < KNOWN else gone
        on = {"xAxisIndex": 1, "yAxisIndex": 1, "color": colour}
        reach = [found.floor, *(point.nats for point in found.curves[row.method])]
        line = {**on, "name": f"{row.method}, reach", "type": "line", "showSymbol": False, "silent": True,
                "data": [[x, row.method] for x in reach if math.isfinite(x)] if len(reach) > 1 else [],
                "lineStyle": {"width": 2, "color": colour}}  # fmt: skip
        mark = {**on, "name": row.method, "type": "scatter", "symbol": symbol, "symbolSize": 12,
                "data": [{"value": [at, row.method], "name": told(row, found, row)}]}  # fmt: skip
        return [line, mark]


def points_of(row: Row, found: Comparison) -> list[Any]:
    """Its curve, or where it has no choice, the row itself."""
    return list(found.curves[row.method]) or [row]


def told(row: Row, found: Comparison, point: Any) -> str:
    """When one points at a mark."""
    nats, error = point.nats, error_words(point.error, point.stderr, found.settings["prior"])
    leaks = "disclosed" if math.isinf(nats) else f"{nats_words(nats)} nats, interval {narrows(nats)} narrower"
    whose = "Who learns it: the corrupt parties, who keep every message they see"
    return f"{row.method}\nerror {error}\n{leaks}\n{cost_words(row)}\n{whose}"


def _levels(grid: int, found: Comparison, edge: float, gone: float, *, useless: bool) -> dict[str, Any]:
    """The line *useless*, the floor, and the column of what is disclosed."""
    dashed = {"type": [6, 4], "width": 1.5}
    data: list[dict[str, Any]] = []
    if useless:
        data.append({"yAxis": found.useless, "name": f"useless from here on: {found.useless:.3g}",
                     "lineStyle": {**dashed, "color": USELESS},
                     "label": {"position": "insideEndTop", "formatter": "{b}"}})  # fmt: skip
    if math.isfinite(found.floor):
        name = floor_words(found) if useless else ""
        data.append({"xAxis": found.floor, "name": name, "lineStyle": {**dashed, "color": AXIS},
                     "label": {"show": bool(name), "position": "end", "formatter": "{b}"}})  # fmt: skip
    area = [{"xAxis": edge, "name": "disclosed" if useless else ""}, {"xAxis": gone * 1.6}]
    return {
        "type": "line", "xAxisIndex": grid, "yAxisIndex": grid, "data": [], "silent": True,
        "markLine": {"symbol": "none", "silent": True, "precision": 12, "animation": False, "data": data},
        "markArea": {"silent": True, "data": [area], "itemStyle": {"color": USELESS, "opacity": 0.08},
                     "label": {"show": useless, "position": "insideTop", "fontWeight": "bold"}},
    }  # fmt: skip


def looks_of(methods: list[str]) -> dict[str, tuple[str, str]]:
    """A colour and a symbol for each: no two alike among as many as there are."""
    return {
        method: (COLOURS[k % len(COLOURS)], SYMBOLS[(k + 3 * (k // len(COLOURS))) % len(SYMBOLS)])
        for k, method in enumerate(methods)
    }
