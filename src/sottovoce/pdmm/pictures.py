"""The picture of a run: what came out, how it came about, and between whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..network import Network
from ..network.labels import shortened
from ..network.pictures import BLUE, INK, ORANGE, PALE, draw_network, picture
from .result import Result, Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENTRIES = 3  # of an answer that are drawn
NAMED = 25  # rows of the answer that have a name
SAME = 1e-6  # relative; parties that differ by less are said to agree


def plot_run(path: str | Path | None, result: Result, network: Network, tol: float, title: str = "") -> Figure:
    """The answer of each party, the residual and the network, side by side. The residual is that of every iteration
    where ``result.history`` holds it, and else what each party is off at the end."""
    x = answers(result, network)
    shown = 0 if x is None else min(x.shape[1], ENTRIES)
    recorded = "residual" in result.history
    apart = x is not None and not recorded and network.constraints is None and bool(np.isfinite(x).all())
    widths = [0.8 if shown == 1 else 0.6] * shown + [1.3] * recorded + [0.8] * apart + [1.5]
    with picture(path, (9.6 if recorded else 7.4 if apart else 6.4) + shown, 4.4) as figure:
        columns = figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0]
        if title:
            figure.suptitle(title, x=0.004, size=11, ha="left", color=INK, weight="bold", parse_math=False)
        if x is not None:
            _answer(columns[:shown], x, network, result)
        if recorded:
            _residual(columns[shown], result, tol)
        elif apart and x is not None:
            _apart(columns[shown], x, result)
        draw_network(columns[-1], network, None if result.overlay is None else result.overlay.network)
    return figure


def answers(result: Result, network: Network) -> npt.NDArray[np.float64] | None:
    """A row a party, padded with ``nan`` where some have fewer entries; None for the draws of a batch, and where the
    answer is another than ``x``."""
    if result.x is None or result.batch is not None:
        return None
    rows = [np.ravel(np.asarray(x, dtype=float)) for x in result.x]
    x = np.full((network.n, max(len(row) for row in rows)), np.nan)
    for i, row in enumerate(rows):
        x[i, : len(row)] = row
    x[~np.isfinite(x)] = np.nan
    return x


def _answer(panels: Any, x: npt.NDArray[np.float64], network: Network, result: Result) -> None:
    """A row for each party, in their order, from above; a panel for each of the first entries."""
    n, d = x.shape
    some = range(0, n, -(-n // NAMED))
    agreed = True
    for entry, (axes, values) in enumerate(zip(panels, x.T, strict=False)):
        axes.plot(values, np.arange(n), "o", color=BLUE, markersize=5 if n <= NAMED else 2.5)
        known = values[np.isfinite(values)] if np.isfinite(values).any() else np.zeros(1)
        middle, spread = (known.min() + known.max()) / 2, np.ptp(known) / 2
        half = max(1.3 * spread, 0.02 * abs(middle), 1e-6)  # what agrees lies on one line, whatever its last digits
        axes.set_xlim(middle - half, middle + half)
        if spread <= SAME * max(abs(middle), float(result.converged)):  # near 0 there is no relative error to speak of
            axes.set_xticks([middle], [f"{middle:.6g}"])
        else:
            agreed = False
            axes.locator_params(axis="x", nbins=2 if d > 1 else 3)
        axes.set_ylim(n - 0.5, -0.5)
        axes.set_yticks(list(some), [shortened(network.name(i)) for i in some] if entry == 0 else [], parse_math=False)
        axes.grid(axis="y", color=PALE, alpha=0.35, linewidth=0.6)
        own = "x" if d == 1 else f"x[{entry}]"
        axes.set_xlabel(own if result.variables is None else result.variables[entry], parse_math=False)
    more = f", {ENTRIES} of {d} numbers" if d > ENTRIES else ""
    panels[0].set_title((f"Answer, at all {n} parties" if agreed else "Answer of each party") + more)


def _apart(axes: Any, x: npt.NDArray[np.float64], result: Result) -> None:
    """How far each party is from the mean of all, in the rows of ``_answer``; who is there exactly lies on the left.
    The residual is relative, and of more than this, so its tolerance is not drawn."""
    n = len(x)
    off = np.abs(x - x.mean(axis=0)).max(axis=1)
    least = off[off > 0].min(initial=1.0) / 10
    axes.semilogx(np.maximum(off, least), np.arange(n), "o", color=BLUE, markersize=5 if n <= NAMED else 2.5)
    axes.set_xlim(least / 2, 10 * max(off.max(), least))
    axes.set_ylim(n - 0.5, -0.5)
    axes.set_yticks([])
    axes.xaxis.get_major_locator().set_params(numticks=4)
    axes.grid(axis="y", color=PALE, alpha=0.35, linewidth=0.6)
    axes.set_xlabel("distance from the mean")
    axes.set_title(f"Residual {result.residual:.1e}")


def _residual(axes: Any, result: Result, tol: float) -> None:
    iteration, residual = result.history["iteration"], np.asarray(result.history["residual"], dtype=float)
    keep = np.isfinite(residual) & (residual > 0)
    axes.semilogy(iteration[keep], residual[keep], color=BLUE, linewidth=1.6)
    if tol > 0 and keep.any():
        axes.axhline(tol, color=ORANGE, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate(f"tol\n{tol:g}", (1, tol), (3, 0), xycoords=("axes fraction", "data"),
                      textcoords="offset points", ha="left", va="center", color=ORANGE)  # fmt: skip
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
