"""Pictures of penalties and of components."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...network.labels import shortened
from ...network.pictures import BLUE, INK, ORANGE, PALE, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .penalty_path import PenaltyPath
    from .principal_components import PrincipalComponents

NAMED = 8  # paths with their names, those that end furthest from 0
LONGEST = 24  # letters of a name


def plot_path(path: str | Path | None, fit: PenaltyPath) -> Figure:
    """By penalty what a standard deviation of each column adds to the response, with the choices; below that the mean
    error of the cross-validation with its standard error."""
    slopes = [k for k, term in enumerate(fit.terms) if term != "Intercept"]
    if len(fit.penalties) == 1:
        from ..pictures import plot_rows

        names = [fit.terms[k] for k in slopes]
        return plot_rows(path, names, fit.params[slopes], None, fit._facts(), "coefficient")
    curves = fit.path[:, slopes] * fit.deviations
    with picture(path, 7.2, 6.0) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        shown = np.argsort(-np.abs(curves[fit.best]))[:NAMED].tolist()
        for j in [*shown, *(j for j in range(len(slopes)) if j not in shown)]:
            colour = f"C{shown.index(j)}" if j in shown else PALE
            name = shortened(fit.terms[slopes[j]], LONGEST) if j in shown else None
            above.plot(fit.penalties, curves[:, j], color=colour, linewidth=1.4, label=name)
        above.axhline(0, color=PALE, linewidth=0.8)
        above.set_ylabel("coefficient times\ndeviation of its column")
        for text in above.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False).get_texts():
            text.set_parse_math(False)
        mean, se = fit.cv_mean, fit.cv_se
        below.fill_between(fit.penalties, mean - se, mean + se, color=BLUE, alpha=0.18, linewidth=0)
        below.plot(fit.penalties, mean, color=BLUE, linewidth=1.6)
        below.set_ylabel("mean squared error\nin the fold left out")
        below.set_xlabel("penalty")
        marks = (("least error", fit.penalty, INK, "-"), ("one standard error", fit.penalty_1se, ORANGE, "--"))
        for name, at, colour, line in marks:
            above.axvline(at, color=colour, linewidth=1, linestyle=line)
            below.axvline(at, color=colour, linewidth=1, linestyle=line, label=f"{name}: {at:.3g}")
        below.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        below.set_xscale("log")
        figure.suptitle(fit._facts(), x=0.01, ha="left", fontsize=10, parse_math=False)
    return figure


def plot_scree(path: str | Path | None, found: PrincipalComponents) -> Figure:
    """The share of each component in the variance, and of all up to it."""
    share = found.explained_variance_ratio
    at = np.arange(1, len(share) + 1)
    with picture(path, 6.4, 3.8) as figure:
        axes: Any = figure.subplots()
        axes.bar(at, share, color=BLUE, edgecolor="white", label="each")
        axes.plot(at, np.cumsum(share), color=ORANGE, marker="o", markersize=4, label="all up to it")
        axes.set_ylim(0, 1.05)
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel("component")
        axes.set_ylabel("share of the variance")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        figure.suptitle(found._facts(), x=0.01, ha="left", fontsize=10, parse_math=False)
    return figure
