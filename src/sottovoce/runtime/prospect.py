"""What a planned run will give away, and how exact it will be: known before anybody has started."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..costs.base import Array
from ..errors import Unsupported
from ..files.cost_table import HIDDEN
from ..masks import GaussianMask
from ..network import Network
from ..privacy import Exposure, audit, calibrate, exposure, suggest_edges
from ..privacy.adversary import Channels
from ..problem import Problem, averaging
from ..statistics.agreements import resolution
from .question import Question

LARGEST = 8  # sizes of groups that are told apart


@dataclass(frozen=True, eq=False)
class Prospect:
    """``excess`` has an entry per party, in nats over all agreements, ``inf`` for a disclosed one; None where nothing
    is certified, and ``uncertified`` says why."""

    question: Question
    exposure: Exposure
    excess: Array | None
    uncertified: str
    accuracy: float | None  # of an agreed number, relative to size 1; None: counts, which are exact
    notes: list[str] = field(default_factory=list)

    @property
    def safe(self) -> bool:
        """Whether nobody is exposed, and the numbers are a guarantee."""
        return not self.exposure.exposed and self.excess is not None

    def problems(self) -> list[str]:
        """Why the run should not take place, and what would help."""
        told = []
        network, t = self.exposure.network, self.exposure.t
        for i in self.exposure.exposed:
            coalition = self.exposure.coalition[i]
            assert coalition is not None
            those = f"{names(network, coalition)} {'is' if len(coalition) == 1 else 'are'}"
            told.append(f"{name(network, i)} is DISCLOSED, at any mask, if {those} corrupt: nobody else talks to it.")
        if told:
            edges = helpful_edges(network, t)
            if edges:
                pairs = ", ".join(f"{name(network, i)} - {name(network, j)}" for i, j in edges)
                told.append(f"What helps: edges {pairs}. Then {t} corrupt discloses nobody, and cuts nobody off.")
            else:
                told.append("No edge helps: everybody talks to everybody already. Find more parties, or trust more.")
        return [*told, *([f"NO GUARANTEE: {self.uncertified}."] if self.uncertified else [])]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON; an infinite excess is None, and its party is among ``exposed``."""
        excess = None if self.excess is None else [x if math.isfinite(x) else None for x in self.excess.tolist()]
        return {
            "safe": self.safe,
            "max_corrupt": self.exposure.t,
            "exposed": list(self.exposure.exposed),
            "group": list(self.exposure.group),
            "excess": excess,
            "unit": "nats",
            "accuracy": self.accuracy,
            "problems": self.problems(),
            "notes": self.notes,
        }


def assess(
    network: Network,
    question: Question,
    *,
    max_corrupt: int,
    prior: float,
    channels: Channels,
    theta: float,
    tol: float,
    c: float,
    delta: float | None = None,
) -> Prospect:
    """Audit a run that has not begun, for all coalitions of at most ``max_corrupt``; with ``delta``, under the smallest
    mask that keeps the excess below.

    Every agreement of a statistic is an averaging problem with pads of its own, so all of them together are one of as
    many entries as numbers travel. The channels count as tapped: what encrypted ones leave depends on the order in
    which parties wake (THEORY 4), which nobody plans, and is never more.
    """
    found, notes = exposure(network, max_corrupt, largest=LARGEST), []
    uncertified = ""
    if question.cost is not None:
        uncertified = HIDDEN["averaging" if question.kind == "averaging" else "other"]
        if not uncertified:
            notes.append("this is for one row per party; of more rows the statistic 'mean' shows less")
    seen: Channels = channels if max_corrupt == 0 else "open"
    setting: dict[str, Any] = {"channels": seen, "prior": prior, "theta": theta, "c": c}
    problem = averaging(network, np.zeros((network.n, max(1, question.numbers))))
    if delta is not None and not found.exposed:
        question = question.under(_calibrated(problem, question, uncertified, delta, max_corrupt, setting))
    mask = question.mask
    if not isinstance(mask, GaussianMask):
        excess = np.where(np.isin(np.arange(network.n), found.exposed), np.inf, 0.0)
        return Prospect(question, found, excess, uncertified, None, notes)
    if mask.grid > tol:
        notes.append(
            f"numbers are rounded to {mask.grid:.1e}, the grid of the mask, which is coarser than tol = {tol:g}: "
            "use a smaller mask or a larger tol"
        )
    accuracy = max(3 * tol, resolution(mask))
    if uncertified:
        return Prospect(question, found, None, uncertified, accuracy, notes)
    return Prospect(question, found, worst_excess(problem, mask, max_corrupt, setting), "", accuracy, notes)


def worst_excess(problem: Problem, mask: GaussianMask, t: int, setting: dict[str, Any]) -> Array:
    """For each node the largest excess under any coalition of at most ``t``, or a bound where they are too many."""
    return audit(problem, mask=mask, max_corrupt=t, **setting).excess


def _calibrated(
    problem: Problem, question: Question, uncertified: str, delta: float, t: int, setting: dict[str, Any]
) -> GaussianMask:
    """The smallest mask, rounded up to three digits."""
    if not isinstance(question.mask, GaussianMask):
        raise Unsupported("delta has no meaning for a histogram: its counts have no excess under any mask. Remove it.")
    if uncertified:
        raise Unsupported(f"delta cannot be kept by a mask: {uncertified}. Give a variance.")
    return GaussianMask(calibrate(problem, delta=delta, max_corrupt=t, **setting).rounded_up)


def helpful_edges(network: Network, t: int) -> list[tuple[int, int]]:
    """Edges after which ``t`` corrupt nodes neither isolate anybody nor cut the graph; none where no edges do."""
    edges: list[tuple[int, int]] = []
    while True:
        suggestion = suggest_edges(network, most=network.n)
        if suggestion.before > t:
            return edges
        if not suggestion.edges:
            return []
        edges += suggestion.edges
        network = suggestion.network


def name(network: Network, i: int) -> str:
    return str(network.labels[i] if network.labels else i)


def names(network: Network, nodes: Collection[int]) -> str:
    return " and ".join(name(network, i) for i in sorted(nodes))
