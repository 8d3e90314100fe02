"""The picture of docs/explanation/benchmarks.md: log against log, every solid curve named at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

# Okabe and Ito: told apart by every reader.
COLOURS = {
    "synchronous": "#0072B2", "asynchronous": "#D55E00", "edge-Bernoulli": "#009E73", "NumPy": "#555555",
    "tvopt": "#CC79A7", "decent-bench": "#56B4E9", "GPU": "#E69F00",
}  # fmt: skip
STYLES = {"geometric": "-", "random": (0, (4, 2))}
Curve = dict[str, Any]


def draw(found: dict[str, Any], others: list[Curve]) -> Figure:
    """Time, memory and generation per directed edge; ``others`` are curves of other machines, such as a GPU's."""
    curves = [curve for curve in [*found["curves"], *others] if curve["points"]]
    figure = Figure(figsize=(7.6, 7.8), layout="constrained")
    axes = figure.subplot_mosaic([["time", "time"], ["memory", "generation"]], height_ratios=[1.25, 1])
    panel(axes["time"], curves, "ns", "Nanoseconds for a directed edge and an iteration", lambda c: True)
    panel(axes["memory"], curves, "bytes", "Bytes a directed edge, at the peak", remembered)
    per_edge = [{**curve, "points": [made(point) for point in curve["points"]]} for curve in curves]
    panel(axes["generation"], per_edge, "made", "ns a directed edge, to generate",
          lambda c: c["series"] == "synchronous")  # fmt: skip
    here = found["machine"]
    figure.supxlabel(
        f"nodes; degree about 10. Lines: geometric graph, sorted by place; dashes: random regular graph. One thread.\n"
        f"{here['cpu']}, {here['cores']} cores, load {here['load']:.1f} at the start, Python {here['python']}, "
        f"NumPy {here['numpy']}, Numba {here['numba']}, {here['when'][:10]}",
        fontsize=8, color="#444444",
    )  # fmt: skip
    return figure


def remembered(curve: Curve) -> bool:
    """All schedules take the same memory: one of them, and the others."""
    return curve["series"] not in ("asynchronous", "edge-Bernoulli")


def made(point: dict[str, Any]) -> dict[str, Any]:
    return {**point, "made": 1e9 * point.get("generation", 0.0) / point["edges"]}


def colour(series: str) -> str:
    return next((shade for name, shade in COLOURS.items() if series.startswith(name)), "#000000")


def panel(axes: Any, curves: list[Curve], key: str, title: str, shown: Callable[[Curve], bool]) -> None:
    axes.set_title(title, loc="left", fontsize=9.5)
    axes.set(xscale="log", yscale="log", xlim=(70, 1.6e7), xticks=[10.0**k for k in range(2, 8)])
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8.5)
    axes.grid(axis="y", lw=0.4, color="#dddddd")
    ends: dict[str, tuple[float, float]] = {}
    for curve in filter(shown, curves):
        x, y = ([point[name] for point in curve["points"]] for name in ("n", key))
        name = f"{curve['series']}, {curve['graph']}"
        style = {"ls": STYLES[curve["graph"]], "color": colour(curve["series"])}
        axes.plot(x, y, lw=1.4, marker="o", ms=2.6, label=name, **style)
        if curve["graph"] == "geometric":
            ends[curve["series"]] = x[-1], y[-1]
    if key == "made":  # one series: the graphs are what differs
        return
    low, high = axes.get_ylim()
    apart = (high / low) ** (0.055 if key == "ns" else 0.085)
    level = 0.0
    for series, (x, y) in sorted(ends.items(), key=lambda item: item[1][1]):
        level = max(y, level * apart)
        axes.annotate(
            series, (x, level), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8.5,
            color=colour(series), annotation_clip=False,
        )  # fmt: skip
