"""The three figures as curves for a page. Every number is the library's; here they only get names and colours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..paper.claims import Bench, Claim, snapshot_order
from ..paper.exact_figures import exact_curves, exact_information, exact_variances, transcript_information
from ..paper.experiments import THETAS, Experiment
from ..privacy.moments.information import Information
from .paper_controls import PaperControls, experiment_of, pair_of
from .plots import AXIS, COLOURS, DASHES, Curve, Line
from .scene import Scene

KEPT = 64  # curves that a page remembers
DUST = 1e-12  # of the variance of the mask: rounding, which may be below zero
FEW = 120  # edges up to which all pairs of neighbours are looked at: beyond, that takes seconds


@dataclass(frozen=True, eq=False)
class Found:
    """All that is told of one figure.

    Attributes
    ----------
    experiment : Experiment
        What it is about.
    controls : PaperControls
        What was asked for.
    values : dict
        The library's curves, by name.
    node, honest : int
        Of Figure 3.
    """

    experiment: Experiment
    controls: PaperControls
    values: dict[Any, Any]
    node: int
    honest: int

    @property
    def n(self) -> int:
        return self.experiment.problem.network.n

    @property
    def iterations(self) -> list[int]:
        return list(range(self.controls.iterations + 1))

    def along(self, which: str) -> tuple[list[int], slice]:
        """Places from left to right, and which of the values belong there: a synchronous iteration wakes all nodes, so
        that in activations it takes ``n`` steps."""
        k = self.iterations
        if which == "sync" and self.controls.axis == "activations":
            x = [i * self.n for i in k if i * self.n <= k[-1]]
            return x, slice(len(x))
        return k, slice(None)


class Exact:
    """Exact curves for one page, which remembers some of them: a slider moves one thing at a time."""

    def __init__(self) -> None:
        self.experiment = lru_cache(maxsize=2)(experiment_of)
        self.curves = lru_cache(maxsize=KEPT)(exact_curves)
        self.variances = lru_cache(maxsize=KEPT)(exact_variances)
        self.information = lru_cache(maxsize=KEPT)(exact_information)
        self.transcript = lru_cache(maxsize=KEPT)(transcript_information)
        self.pairs = lru_cache(maxsize=KEPT)(every_pair)

    def found(self, controls: PaperControls, scene: Scene) -> Found:
        """What the figure shows that is asked for."""
        experiment = self.experiment(controls.graph, controls.seed, controls.c, scene)
        node, honest = pair_of(controls, experiment.problem.network)
        if controls.figure == 1:
            values = self._figure1(experiment, controls)
        elif controls.figure == 2:
            values = self._figure2(experiment, controls)
        else:
            values = self._figure3(experiment, controls, node, honest)
        return Found(experiment, controls, values, node, honest)

    def _figure1(self, experiment: Experiment, controls: PaperControls) -> dict[Any, Any]:
        thetas = sorted({*THETAS, controls.theta}, reverse=True)
        run = (controls.sigma2, controls.iterations, np.float64)  # long double would take ten times as long
        return {theta: self.curves(experiment, theta, *run) for theta in thetas}

    def _figure2(self, experiment: Experiment, controls: PaperControls) -> dict[Any, Any]:
        return dict(self.variances(experiment, controls.theta, controls.sigma2, controls.iterations))

    def _figure3(self, experiment: Experiment, controls: PaperControls, node: int, honest: int) -> dict[Any, Any]:
        few = experiment.problem.network.m <= FEW
        found: dict[Any, Any] = {"pairs": self.pairs(experiment, controls.theta) if few else None}
        for sigma2 in sorted({controls.less, controls.more}):
            found[sigma2] = {
                **self.information(experiment, controls.theta, sigma2, controls.iterations, node, honest),
                "transcript": self.transcript(experiment, sigma2, node, honest),
            }
        return found


def every_pair(experiment: Experiment, theta: float) -> Claim:
    """Whether asynchronous runs reveal less in eq. 8, for every node and honest neighbour."""
    return snapshot_order(Bench(replace(experiment, thetas=(theta,))))


def figure1_curves(found: Found, name: str) -> list[Curve]:
    """``x_error``, ``var_z_psi`` or ``var_z_perp`` for the three thetas of the paper, and wider for the chosen one."""
    looks = dict(zip(THETAS, zip(COLOURS[1:], DASHES[1:], strict=False), strict=False))
    drawn = []
    for theta, curves in found.values.items():
        chosen = theta == found.controls.theta
        colour, dash = looks.get(theta, (COLOURS[0], "solid"))
        width = 3.5 if chosen else 1.5
        values = settled(found, curves[name]) if name == "var_z_perp" else curves[name]
        drawn.append(Curve(f"θ = {theta:g}", found.iterations, values, colour, dash, width))
    return drawn


def figure2_curves(found: Found) -> list[Curve]:
    """The variance of ``Z_perp``: two schedules, the mean over sequences, and the bound on that mean."""
    looks = {
        "async": ("asynchronous", COLOURS[0], DASHES[0]),
        "expected": ("mean over sequences", COLOURS[3], DASHES[3]),
        "sync": ("synchronous", COLOURS[1], DASHES[1]),
        "bound": ("bound on that mean", COLOURS[2], DASHES[2]),
    }
    drawn = []
    for which, (name, colour, dash) in looks.items():
        x, some = found.along(which)
        drawn.append(Curve(name, x, settled(found, found.values[which][some]), colour, dash))
    return drawn


def settled(found: Found, variances: list[float]) -> list[float]:
    """Variances of ``Z_perp``, a difference of sums: on a tree rounding is all that is left of it, and is none."""
    return [value if value > DUST * found.controls.sigma2 else 0.0 for value in variances]


def figure3_curves(found: Found, what: str) -> list[Curve]:
    """``nats``, or how much ``narrower`` an interval becomes, in per cent: a colour a schedule, a dash a variance."""
    drawn = []
    for sigma2, dash in zip(variances_of(found), DASHES, strict=False):
        for which, colour in (("async", COLOURS[0]), ("sync", COLOURS[1])):
            information: Information = found.values[sigma2][which]
            values = information.nats if what == "nats" else 100 * information.narrower
            x, some = found.along(which)
            drawn.append(Curve(f"{which}, σ² = {sigma2:g}", x, values[some].tolist(), colour, dash))
        if what == "nats":  # unseen, but the axis reaches as far as the line of ``figure3_lines``
            kept = found.values[sigma2]["transcript"]
            drawn.append(Curve(f"all messages, σ² = {sigma2:g}", [0, x[-1]], [kept, kept], AXIS, width=0, legend=False))
    return drawn


def figure3_lines(found: Found) -> list[Line]:
    """What those learn who keep every message."""
    return [
        Line(f"who keeps all messages, σ² = {sigma2:g}", y=found.values[sigma2]["transcript"])
        for sigma2 in variances_of(found)
    ]


def variances_of(found: Found) -> list[float]:
    """Of Figure 3, the smaller one first."""
    return sorted({found.controls.less, found.controls.more})
