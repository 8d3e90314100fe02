"""The pictures: readable at column width, told apart without colour, both horizontal axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtra
from ..network.pictures import figure_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")  # Okabe and Ito
MARKS = ("o", "s", "^", "D", "v")
STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1)))
COLUMN = 3.5  # inches
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "lines.linewidth": 1.2,
    "legend.fontsize": 6.5,
    "legend.title_fontsize": 6.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 300,
}

Draw = Callable[[dict[str, Any]], "Figure"]


def in_style(draw: Draw) -> Draw:
    """Draw with the style above, and leave the user's settings alone."""

    @wraps(draw)
    def styled(data: dict[str, Any]) -> Figure:
        try:
            import matplotlib as mpl
        except ImportError:
            raise MissingExtra("drawing the figures", "matplotlib", "plot") from None
        with mpl.rc_context(STYLE):
            return draw(data)

    return styled


def new_figure(rows: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of column width."""
    figure = figure_class()(figsize=(COLUMN, height), layout="constrained")
    return figure, list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])


def activations_axis(axes: Axes, data: dict[str, Any]) -> None:
    """A second horizontal axis at the top: one synchronous iteration is ``n`` activations."""
    nodes = max(max(edge) for edge in data["edges"]) + 1
    top = axes.secondary_xaxis("top", functions=(lambda k: k * nodes, lambda a: a / nodes))
    top.set_xlabel("node activations of the synchronous run")


def band(axes: Axes, k: list[int], sampled: dict[str, Any], colour: str, unit: float = 1.0) -> None:
    """Where the exact curve is, if the draws are as they should be: two standard errors up and down."""
    mean, error = np.array(sampled["monte_carlo"]) / unit, 2 * np.array(sampled["stderr"]) / unit
    axes.fill_between(k, np.maximum(mean - error, 0), mean + error, color=colour, alpha=0.18, lw=0)


def in_turn(turn: int, turns: int, points: int, marks: int = 20) -> slice:
    """Some of the points; curves take turns, so that no mark lies on another's."""
    step = max(turns, points // marks)
    return slice(turn * step // turns, None, step)


def said_of_draws(data: dict[str, Any], marks: str = "band") -> str:
    return rf"line: exact; {marks}: {data['draws']} draws $\pm$ 2 standard errors"


def unit_of(data: dict[str, Any]) -> tuple[float, str]:
    """A power of ten for a vertical axis, and how its label says so: Matplotlib's own meets the top axis."""
    power = int(np.floor(np.log10(data["sigma2"]) - 0.5))
    return (1.0, "") if -3 < power < 4 else (10.0**power, rf" ($10^{{{power}}}$)")


def legend_below(figure: Figure, axes: Axes, title: str, columns: int) -> None:
    """Outside the panels, where it crosses no curve."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, title=title)


def normalised(nats: Any) -> Any:
    return -np.expm1(-2 * np.asarray(nats))


def in_nats(share: Any) -> Any:
    """The inverse, for shares below 1."""
    return -0.5 * np.log1p(-np.minimum(share, 0.999))


def schedule_name(data: dict[str, Any]) -> str:
    return str(data["schedule"]).lower()


@in_style
def draw_figure1(data: dict[str, Any]) -> Figure:
    """Three panels: error of ``x``, variance of ``Z_Psi``, variance of ``Z_perp``."""
    figure, panels = new_figure(3, 5.4)
    unit, power = unit_of(data)
    labels = {
        "x_error": (r"mean of $(x_i - x^*)^2$", 1.0),
        "var_z_psi": (r"variance of $Z_\Psi$", 1.0),
        "var_z_perp": (rf"variance of $Z_{{\Psi^\perp}}${power}", unit),
    }
    k, thetas = data["iterations"], list(data["curves"])
    for axes, (name, (label, by)) in zip(panels, labels.items(), strict=True):
        for turn, (theta, colour, style, mark) in enumerate(
            zip(thetas, cycle(COLOURS), cycle(STYLES), cycle(MARKS), strict=False)
        ):
            curve, some = data["curves"][theta][name], in_turn(turn, len(thetas), len(k))
            band(axes, k, curve, colour, by)
            if curve["exact"] is not None:
                axes.plot(k, np.array(curve["exact"]) / by, color=colour, ls=style)
            axes.plot(k[some], np.array(curve["monte_carlo"])[some] / by, ls="", marker=mark, ms=2.4, color=colour)
            axes.plot([], [], color=colour, ls=style, marker=mark, ms=2.4, label=rf"$\theta = {float(theta):g}$")
        axes.set_ylabel(label)
    for axes in panels[:2]:
        axes.set_yscale("log")
    legend_below(figure, panels[0], said_of_draws(data, "mark and band"), 3)
    panels[2].set_xlabel("iteration, one node activation each" if data["sequence"] is not None else "iteration")
    return figure


@in_style
def draw_figure2(data: dict[str, Any]) -> Figure:
    """One panel per theta: the schedule of the experiment, synchronous, and the bound."""
    figure, panels = new_figure(len(data["curves"]), 1.2 + 1.4 * len(data["curves"]))
    k, (unit, power) = data["iterations"], unit_of(data)
    for axes, (theta, curve) in zip(panels, data["curves"].items(), strict=True):
        for name, label, colour, style in (
            ("async", f"{schedule_name(data)}, this sequence", COLOURS[0], "-"),
            ("sync", "synchronous", COLOURS[1], "--"),
        ):
            drawn = curve[name]["exact"] or curve[name]["monte_carlo"]
            axes.plot(k, np.array(drawn) / unit, color=colour, ls=style, label=label)
            band(axes, k, curve[name], colour, unit)
        if curve["expected"] is not None:
            axes.plot(
                k,
                np.array(curve["expected"]) / unit,
                color=COLOURS[3],
                ls="-.",
                label=f"{schedule_name(data)}, expected",
            )
        if curve["bound"] is not None:
            axes.plot(k, np.array(curve["bound"]) / unit, color=COLOURS[2], ls=":", label="bound on the expected")
        axes.set_ylim(bottom=0)
        axes.set_ylabel(rf"variance of $Z_{{\Psi^\perp}}${power}")
        axes.annotate(rf"$\theta = {float(theta):g}$", (0.98, 0.08), xycoords="axes fraction", ha="right")
    legend_below(figure, panels[0], said_of_draws(data), 2)
    panels[-1].set_xlabel("iteration")
    activations_axis(panels[0], data)
    return figure


@in_style
def draw_figure3(data: dict[str, Any]) -> Figure:
    """One panel per variance, in nats; the normalised measure, a function of them, on the right."""
    figure, panels = new_figure(len(data["curves"]), 1.0 + 1.6 * len(data["curves"]))
    k = data["iterations"]
    for axes, (sigma2, curve) in zip(panels, data["curves"].items(), strict=True):
        for turn, (which, label, colour, style, mark) in enumerate(
            (
                ("async", schedule_name(data), COLOURS[0], "-", MARKS[0]),
                ("sync", "synchronous", COLOURS[1], "--", MARKS[1]),
            )
        ):
            axes.plot(k, curve[which]["nats"], color=colour, ls=style)
            axes.plot([], [], color=colour, ls=style, marker=mark, ms=2.4, label=label)
            if "monte_carlo" in curve[which]:  # bars, as the bands of both would lie on each other
                some = in_turn(turn, 2, len(k), 10)
                points, error = curve[which]["monte_carlo"][some], 2 * np.array(curve[which]["stderr"])[some]
                axes.errorbar(k[some], points, error, fmt=mark, ms=2.4, lw=0.6, color=colour)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("$I(S_i; Y_i)$, nats")
        right = axes.secondary_yaxis("right", functions=(normalised, in_nats))
        right.set_ylabel("$1 - e^{-2I}$")
        right.set_yticks([0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9])
        axes.annotate(rf"$\sigma^2 = {float(sigma2):g}$", (0.98, 0.08), xycoords="axes fraction", ha="right")
    sampled = any("monte_carlo" in curve["sync"] for curve in data["curves"].values())
    legend_below(figure, panels[0], said_of_draws(data, "mark") if sampled else "exact", 2)
    panels[-1].set_xlabel("iteration")
    activations_axis(panels[0], data)
    return figure
