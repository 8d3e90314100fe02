"""What is known of a planned run before anybody has started: a verdict, what is wrong, and what would help."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...costs.base import Array
from ...network import Network
from ...privacy import Exposure, Report, Verdict, suggest_edges
from ...privacy.answers.verdict import DELTA, headline
from .question import Question


@dataclass(frozen=True, eq=False)
class Prospect:
    """``report`` is on all agreements together, for the worst coalition of each party; it has no guarantee where
    nothing is certified, and ``uncertified`` says why."""

    question: Question
    exposure: Exposure
    report: Report
    uncertified: str
    accuracy: float | None  # of an agreed number, relative to size 1; None: counts, which are exact
    delta: float = DELTA  # nats that the procedure may add
    notes: list[str] = field(default_factory=list)

    @property
    def excess(self) -> Array | None:
        """Per party, in nats over all agreements, ``inf`` for a disclosed one; None where nothing is certified."""
        return None if self.uncertified else self.report.excess

    @property
    def noise_std(self) -> float:
        """By how much noise makes the answer wrong, in units of scale: the standard deviation; 0 without."""
        noise = self.question.noise
        return 0.0 if noise is None else math.sqrt(noise.variance / self.question.parties)

    @property
    def verdict(self) -> Verdict:
        """Of a party that nobody hides with, all is disclosed; with noise it is weak at best."""
        found = self.report.verdict(self.delta)
        if not self.exposure.exposed:
            return found
        return Verdict.DISCLOSED if self.question.noise is None or found is Verdict.DISCLOSED else Verdict.WEAK

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        if self.verdict is self.report.verdict(self.delta):
            return headline(self.report, self.delta)
        exposed, n = len(self.exposure.exposed), self.exposure.network.n
        return f"WEAK: noise is all that hides {exposed} of {n} parties, if the worst of the others are corrupt"

    @property
    def safe(self) -> bool:
        """Whether nobody is exposed, and the procedure adds no more than it may."""
        return self.verdict is Verdict.SAFE

    def problems(self) -> list[str]:
        """Why the run should not take place, and what would help."""
        told = []
        network, t = self.exposure.network, self.exposure.t
        for party in self.exposure.exposed:
            coalition = self.exposure.loc(party)["coalition"]
            those = f"{names(network, coalition)} {'is' if len(coalition) == 1 else 'are'}"
            told.append(self._exposed(party, f"if {those} corrupt: nobody else talks to it."))
        if told:
            edges = helpful_edges(network, t)
            if edges:
                pairs = ", ".join(f"{one} - {other}" for one, other in edges)
                told.append(f"What helps: edges {pairs}. Then {t} corrupt discloses nobody, and cuts nobody off.")
            else:
                told.append("No edge helps: everybody talks to everybody already. Find more parties, or trust more.")
        if self.uncertified:
            told.append(f"NOT ASSESSED: there is no guarantee, as {self.uncertified}.")
        if self.report.verdict(self.delta) is Verdict.WEAK:
            told.append(
                f"WEAK: the procedure adds up to {float(np.nanmax(self.report.excess)):.2g} nats to what the result "
                f"tells, more than {self.delta:g}. Write [mask] delta = {self.delta:g}, or a larger variance."
            )
        return told

    def _exposed(self, party: Any, when: str) -> str:
        if self.question.noise is None:
            return f"{party} is DISCLOSED, at any mask, {when}"
        variance = float(self.report.prior_std[self.exposure.network.index(party), 0]) ** 2
        nats = 0.5 * math.log1p(variance / self.question.noise.variance)
        return f"{party} shows its noisy numbers, at any mask, {when} Noise lets {nats:.2g} nats of each through."

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON; an infinite excess is None, and its party is among ``exposed``."""
        excess = None if self.excess is None else [x if math.isfinite(x) else None for x in self.excess.tolist()]
        return {
            "verdict": self.verdict.value,
            "safe": self.safe,
            "max_corrupt": self.exposure.t,
            "exposed": self.exposure.to_dict()["exposed"],
            "group": list(self.exposure.group),
            "excess": excess,
            "unit": "nats",
            "accuracy": self.accuracy,
            "noise_std": self.noise_std,
            "problems": self.problems(),
            "notes": self.notes,
        }


def helpful_edges(network: Network, t: int) -> list[tuple[Any, Any]]:
    """Edges after which ``t`` corrupt nodes neither isolate anybody nor cut the graph; none where no edges do."""
    edges: list[tuple[Any, Any]] = []
    while True:
        suggestion = suggest_edges(network, most=network.n)
        if suggestion.before > t:
            return edges
        if not suggestion.edges:
            return []
        edges += suggestion.edges
        network = suggestion.network


def names(network: Network, nodes: Collection[Any]) -> str:
    return " and ".join(network.name(i) for i in sorted(map(network.index, nodes)))
