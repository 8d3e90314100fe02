"""Pictures of scores: ROC curves and calibration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...costs.base import Array
from ...network.pictures import BLUE, PALE, picture
from ...pdmm.modular_mask import Integers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_roc(path: str | Path | None, fpr: Array, tpr: Array, title: str) -> Figure:
    """The curve, and the diagonal of a score that tells nothing."""
    with picture(path, 5.2, 5.2) as figure:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=PALE, linewidth=1.2, linestyle="--")
        axes.plot(fpr, tpr, color=BLUE, linewidth=2.0)
        axes.set_xlim(-0.01, 1.01)
        axes.set_ylim(-0.01, 1.01)
        axes.set_aspect("equal")
        axes.set_xlabel("false positive rate")
        axes.set_ylabel("true positive rate")
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
    return figure


def plot_calibration(path: str | Path | None, predicted: Array, observed: Array, n: Integers, title: str) -> Figure:
    """Shares that were seen against probabilities that were predicted, larger where there are more rows."""
    with picture(path, 5.2, 5.2) as figure:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=PALE, linewidth=1.2, linestyle="--")
        axes.plot(predicted, observed, color=BLUE, linewidth=1.2)
        axes.scatter(predicted, observed, s=20 + 100 * np.sqrt(n / n.max()), color=BLUE, edgecolors="white", zorder=3)
        axes.set_xlim(-0.04, 1.04)
        axes.set_ylim(-0.04, 1.04)
        axes.set_aspect("equal")
        axes.set_xlabel("predicted probability")
        axes.set_ylabel("share with the outcome")
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
    return figure
