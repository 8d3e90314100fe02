"""What the page of the paper is asked for, as one value: figure, theta, masks, graph. Its address holds what differs
from the paper; whatever comes from there is checked as if somebody had typed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..network import Network
from ..paper.exact_figures import attacked
from ..paper.experiments import ITERATIONS, SEED, VARIANCE, VARIANCES, C, Experiment
from ..pdmm.common_problems import averaging
from .checks import one_of, whole, within
from .scene import VARIANCES as MASKS
from .scene import Scene

FIGURES = {1: "Figure 1", 2: "Figure 2", 3: "Figure 3"}
GRAPHS = {"paper": "the paper's", "drawn": "the playground's"}
AXES = {"iterations": "iterations", "activations": "activations"}
STEPS = (0.01, 10.0)  # of c
LENGTHS = (20, 500)  # iterations
PAIR = (1e-2, 1e4)  # variances of Figure 3
PARTIES, EDGES = 40, 300  # of a drawn network: beyond, a curve takes more than a second
WHOLE = ("figure", "iterations", "seed", "node", "honest")
WORDS = ("graph", "axis")


@dataclass(frozen=True)
class PaperControls:
    """As in the paper, unless changed.

    Attributes
    ----------
    figure : int
        Which of the three is looked at.
    theta, sigma2, c, iterations
        Of the run: averaging, variance of the mask (Figures 1 and 2), step, length.
    less, more : float
        The two variances of Figure 3.
    graph : str
        ``"paper"``, a random geometric graph of ten from the seed, or ``"drawn"``, that of the scene.
    seed : int
        Of the paper's graph and numbers, and of who wakes when.
    node, honest : int or None
        Whose secret is attacked, and its honest neighbour; None takes those of the paper.
    axis : str
        What is counted from left to right: ``"iterations"`` or ``"activations"``.
    """

    figure: int = 1
    theta: float = 1.0
    sigma2: float = VARIANCE
    less: float = VARIANCES[0]
    more: float = VARIANCES[1]
    c: float = C
    iterations: int = ITERATIONS
    graph: str = "paper"
    seed: int = SEED
    node: int | None = None
    honest: int | None = None
    axis: str = "iterations"

    def __post_init__(self) -> None:
        whole(self.figure, 1, 3, "the figure")
        within(self.theta, 0.05, 1, "theta")
        within(self.sigma2, *MASKS, "the variance of the mask")
        within(self.less, *PAIR, "the first variance of Figure 3")
        within(self.more, *PAIR, "the second variance of Figure 3")
        within(self.c, *STEPS, "c")
        whole(self.iterations, *LENGTHS, "the number of iterations")
        one_of(self.graph, tuple(GRAPHS), "the graph")
        whole(self.seed, 0, 2**32, "the seed")
        one_of(self.axis, tuple(AXES), "the axis")
        for name in ("node", "honest"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), 0, PARTIES - 1, f"the number of the {name} party")

    def query(self) -> dict[str, str]:
        """What differs from the paper, for an address."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: _text(value) for name, value in given.items() if value != getattr(PLAIN, name)}

    def changed(self, **changes: Any) -> PaperControls:
        """The same with something else; on another graph the paper's pair is attacked again."""
        if {"graph", "seed"} & set(changes):
            changes = {"node": None, "honest": None, **changes}
        if "node" in changes:
            changes = {"honest": None, **changes}
        return replace(self, **changes)


PLAIN = PaperControls()


def from_query(given: Mapping[str, str]) -> PaperControls:
    """From an address; ``InvalidInput`` for values that mean nothing, and what is not a control is left alone."""
    found: dict[str, Any] = {}
    for field in fields(PaperControls):
        if field.name in given:
            text = given[field.name]
            try:
                found[field.name] = text if field.name in WORDS else int(text) if field.name in WHOLE else float(text)
            except ValueError:
                raise InvalidInput(f"{field.name} in the address must be a number; got {text!r:.40}.") from None
    return replace(PLAIN, **found)


def _text(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def experiment_of(graph: str, seed: int, c: float, scene: Scene) -> Experiment:
    """The paper's, or the same on the network and the numbers of a scene."""
    if graph == "paper":
        return replace(Experiment.paper(seed), c=c)
    if scene.n > PARTIES or scene.network.m > EDGES:
        raise InvalidInput(
            f"exact curves are drawn here for networks of at most {PARTIES} parties and {EDGES} edges; the "
            f"playground's has {scene.n} and {scene.network.m}. Take fewer, or the paper's network."
        )
    return Experiment(averaging(scene.network, np.array(scene.numbers)), c=c, seed=seed)


def pair_of(controls: PaperControls, network: Network) -> tuple[int, int]:
    """Who is attacked, and who stays honest beside it; neighbours of each other."""
    node, honest = attacked(network, controls.node, controls.honest)
    if honest not in network.around(node):
        raise InvalidInput(f"{network.name(honest)} is no neighbour of {network.name(node)}." if honest < network.n else
                           f"there is no party number {honest} here.")  # fmt: skip
    return node, honest
