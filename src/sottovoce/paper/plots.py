"""The pictures: readable at column width, told apart without colour, both horizontal axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import cycle
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")  # Okabe and Ito
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
    """A figure of column width; not known to pyplot, so nothing needs closing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(COLUMN, height), layout="constrained")
    return figure, list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])


def activations_axis(axes: Axes, data: dict[str, Any]) -> None:
    """A second horizontal axis at the top: one synchronous iteration is ``n`` activations."""
    nodes = max(max(edge) for edge in data["edges"]) + 1
    top = axes.secondary_xaxis("top", functions=(lambda k: k * nodes, lambda a: a / nodes))
    top.set_xlabel("node activations of the synchronous run")


def schedule_name(data: dict[str, Any]) -> str:
    return str(data["schedule"]).lower()


@in_style
def draw_figure1(data: dict[str, Any]) -> Figure:
    """Three panels: error of ``x``, variance of ``Z_Psi``, variance of ``Z_perp``."""
    figure, panels = new_figure(3, 5.2)
    labels = {
        "x_error": r"mean of $(x_i - x^*)^2$",
        "var_z_psi": r"variance of $Z_\Psi$",
        "var_z_perp": r"variance of $Z_{\Psi^\perp}$",
    }
    k = data["iterations"]
    some = slice(None, None, max(1, len(k) // 25))
    for axes, (name, label) in zip(panels, labels.items(), strict=True):
        for theta, colour, style in zip(data["curves"], cycle(COLOURS), cycle(STYLES), strict=False):
            curve, text = data["curves"][theta][name], rf"$\theta = {float(theta):g}$"
            exact = curve["exact"] is not None
            if exact:
                axes.plot(k, curve["exact"], color=colour, ls=style, label=text)
            axes.plot(k[some], curve["monte_carlo"][some], "o", ms=2, color=colour, label=None if exact else text)
        axes.set_ylabel(label)
    for axes in panels[:2]:
        axes.set_yscale("log")
    panels[2].set_ylim(bottom=0)
    panels[0].legend(title="line: exact; dot: Monte Carlo", loc="lower left")
    panels[2].set_xlabel("iteration, one node activation each" if data["sequence"] is not None else "iteration")
    return figure


@in_style
def draw_figure2(data: dict[str, Any]) -> Figure:
    """One panel per theta: the schedule of the experiment, synchronous, and the bound."""
    figure, panels = new_figure(len(data["curves"]), 1.2 + 1.4 * len(data["curves"]))
    k = data["iterations"]
    for axes, (theta, curve) in zip(panels, data["curves"].items(), strict=True):
        for name, label, colour, style in (
            ("async", f"{schedule_name(data)}, this sequence", COLOURS[0], "-"),
            ("sync", "synchronous", COLOURS[1], "--"),
        ):
            sampled, error = curve[name]["monte_carlo"], curve[name]["stderr"]
            axes.plot(k, curve[name]["exact"] or sampled, color=colour, ls=style, label=label)
            low = [mean - 2 * e for mean, e in zip(sampled, error, strict=True)]
            high = [mean + 2 * e for mean, e in zip(sampled, error, strict=True)]
            axes.fill_between(k, low, high, color=colour, alpha=0.15, lw=0)
        if curve["expected"] is not None:
            axes.plot(k, curve["expected"], color=COLOURS[3], ls="-.", label=f"{schedule_name(data)}, expected")
        if curve["bound"] is not None:
            axes.plot(k, curve["bound"], color=COLOURS[2], ls=":", label="bound on the expected")
        axes.set_ylim(bottom=0)
        axes.set_ylabel(r"variance of $Z_{\Psi^\perp}$")
        axes.annotate(rf"$\theta = {float(theta):g}$", (0.98, 0.08), xycoords="axes fraction", ha="right")
    handles, labels = panels[0].get_legend_handles_labels()
    title = r"line: exact; band: Monte Carlo $\pm$ 2 standard errors"
    figure.legend(handles, labels, loc="outside lower center", ncols=2, title=title)
    panels[-1].set_xlabel("iteration")
    activations_axis(panels[0], data)
    return figure


@in_style
def draw_figure3(data: dict[str, Any]) -> Figure:
    """Nats above, normalised below."""
    figure, panels = new_figure(2, 4.0)
    k = data["iterations"]
    some = slice(None, None, max(1, len(k) // 15))
    for axes, name, label in zip(panels, ("nats", "normalised"), ("nats", r"$1 - e^{-2I}$"), strict=True):
        for (sigma2, curve), colour in zip(data["curves"].items(), cycle(COLOURS), strict=False):
            for which, text, style in (("async", schedule_name(data), "-"), ("sync", "synchronous", "--")):
                axes.plot(
                    k, curve[which][name], color=colour, ls=style, label=rf"$\sigma^2 = {float(sigma2):g}$, {text}"
                )
                if name == "nats" and "monte_carlo" in curve[which]:
                    points, error = curve[which]["monte_carlo"][some], curve[which]["stderr"][some]
                    marker = "o" if which == "async" else "s"
                    axes.errorbar(k[some], points, error, fmt=marker, ms=2, lw=0.5, color=colour, alpha=0.6)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(rf"$I(S_i; Y_i)$, {label}")
    panels[1].legend(loc="lower right", title="line: exact; mark: Monte Carlo, 1 standard error")
    panels[1].set_xlabel("iteration")
    activations_axis(panels[0], data)
    return figure
