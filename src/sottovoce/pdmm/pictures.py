"""The picture of a run: its residual, beside the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..files.atomic import write_whole
from ..network import Network
from ..network.pictures import BLUE, INK, ORANGE, PALE, STYLE, check_plot_path, draw_network
from .result import Result, Status


def plot_run(path: str | Path, result: Result, network: Network, tol: float, title: str = "") -> None:
    """The residual (``result.history`` must hold it) beside the network, written whole or not at all."""
    path = check_plot_path(path)
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        _residual(left, result, tol)
        draw_network(right, network)
        if title:
            figure.suptitle(title, x=0.01, ha="left", color=INK, parse_math=False)
        write_whole(path, lambda temporary: figure.savefig(temporary, dpi=160))


def _residual(axes: Any, result: Result, tol: float) -> None:
    iteration, residual = result.history["iteration"], np.asarray(result.history["residual"], dtype=float)
    keep = np.isfinite(residual) & (residual > 0)
    axes.semilogy(iteration[keep], residual[keep], color=BLUE, linewidth=1.6)
    if tol > 0:
        axes.axhline(tol, color=ORANGE, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate(f"tol = {tol:g}", (0, tol), (5, 4), xycoords=("axes fraction", "data"),
                      textcoords="offset points", ha="left", va="bottom", color=ORANGE)  # fmt: skip
    ends = {
        Status.CONVERGED: f"converged after {result.iterations:,} iterations",
        Status.MAX_ITER: f"not converged in {result.iterations:,} iterations",
        Status.DIVERGED: f"diverged after {result.iterations:,} iterations",
    }
    axes.set_title(f"Residual: {ends[result.status]}")
    axes.set_xlabel("iteration")
    axes.set_ylabel("KKT residual")
    axes.set_xlim(left=0)
    axes.grid(axis="y", color=PALE, alpha=0.35, linewidth=0.6)
    axes.xaxis.get_major_formatter().set_useOffset(False)
