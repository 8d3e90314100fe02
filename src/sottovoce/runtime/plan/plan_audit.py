"""What a planned run will give away, and how exact it will be: known before anybody has started."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...costs.base import Array
from ...data.cost_table import HIDDEN
from ...errors import Unsupported
from ...network import Network
from ...pdmm.common_problems import averaging
from ...pdmm.masks import DEVIATIONS, GaussianMask
from ...pdmm.overlay import Overlay, settled_overlay
from ...pdmm.penalties import Penalty
from ...pdmm.problem import Problem
from ...privacy import Eavesdropper, Exposure, Report, Verdict, Worst, audit, calibrate, exposure, suggest_edges
from ...privacy.adversary import Channels
from ...privacy.answers.verdict import DELTA
from ...privacy.methods.case import describe_mask
from ...statistics.agreements import resolution
from .question import Question
from .routes import Routes

LARGEST = 8  # sizes of groups that are told apart
FEWER = "messages go over {}, and pads hide on every edge: a coalition learns what it would over all of them"
FALLBACK = (
    "should a link stay dead, the parties go on over all other edges from the same padded numbers: that adds nothing "
    "to these figures, which are for both runs"
)


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
        return Verdict.DISCLOSED if self.exposure.exposed else self.report.verdict(self.delta)

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
            told.append(f"{party} is DISCLOSED, at any mask, if {those} corrupt: nobody else talks to it.")
        if told:
            edges = helpful_edges(network, t)
            if edges:
                pairs = ", ".join(f"{one} - {other}" for one, other in edges)
                told.append(f"What helps: edges {pairs}. Then {t} corrupt discloses nobody, and cuts nobody off.")
            else:
                told.append("No edge helps: everybody talks to everybody already. Find more parties, or trust more.")
        if self.uncertified:
            told.append(f"NOT ASSESSED: there is no guarantee, as {self.uncertified}.")
        if self.verdict is Verdict.WEAK:
            told.append(
                f"WEAK: the procedure adds up to {float(np.nanmax(self.report.excess)):.2g} nats to what the result "
                f"tells, more than {self.delta:g}. Write [mask] delta = {self.delta:g}, or a larger variance."
            )
        return told

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


def assess(
    network: Network,
    question: Question,
    *,
    max_corrupt: int,
    prior: float,
    channels: Channels,
    theta: float,
    tol: float,
    c: Penalty,
    overlay: Overlay | None = None,
    fallback: Penalty | None = None,
    delta: float | None = None,
) -> Prospect:
    """Audit a run that has not begun, for all coalitions of at most ``max_corrupt``; with ``delta``, under the smallest
    mask that keeps the excess below.

    Every agreement of a statistic is an averaging problem with pads of its own, so all of them together are one of as
    many entries as numbers travel, of the variance that ``question.spread`` says. The channels count as tapped: what
    encrypted ones leave depends on the order in which parties wake (theory: Encrypted channels), which nobody plans,
    and is never more.

    ``c`` is that of the edges of the ``overlay``, and ``fallback`` that of a second run over the whole network, should
    a link stay dead. Both together show what one run does over the whole network that has ``c`` on the edges of the
    overlay and ``fallback`` on the others (tests/equivalence/test_fallback_leakage.py): that one is audited.
    """
    found, notes = exposure(network, Worst(max_corrupt), largest=LARGEST), []
    uncertified = ""
    if question.cost is not None:
        uncertified = HIDDEN["averaging" if question.kind == "averaging" else "other"]
        if not uncertified:
            notes.append("this is for one row per party; of more rows the statistic 'mean' shows less")
    seen: Channels = channels if max_corrupt == 0 else "open"
    spread = question.spread(prior)
    setting: dict[str, Any] = {"channels": seen, "prior": spread, "theta": theta, "c": c}
    if overlay is not None:
        setting["overlay"] = overlay
        if fallback is not None:
            setting |= {"c": overlay.filled(c, fallback), "overlay": "all"}
    fewer = [] if overlay is None else [FEWER.format(overlay), *([] if fallback is None else [FALLBACK])]
    problem = averaging(network, np.zeros((network.n, max(1, question.numbers))))
    if delta is not None and not found.exposed:
        question = question.under(_calibrated(problem, question, uncertified, delta, max_corrupt, setting))
    question = replace(question, size=question.meant_for(prior, delta))
    mask, bound = question.mask, DELTA if delta is None else delta
    if not isinstance(mask, GaussianMask):
        counts = _counts(network, question, found, seen)
        return Prospect(question, found, counts, uncertified, None, bound, notes + fewer)
    if mask.grid > tol:
        notes.append(
            f"numbers are rounded to {mask.grid:.1e}, the grid of the mask, which is coarser than tol = {tol:g}: "
            "use a smaller mask or a larger tol"
        )
    accuracy = max(3 * tol, resolution(mask))
    if uncertified:
        return Prospect(question, found, _unknown(network, question, seen), uncertified, accuracy, bound, notes)
    report = audit(problem, mask, against=Worst(max_corrupt), **setting)
    if spread != prior:
        notes.append(
            f"values count as Gaussian of variance {prior:g} in units of scale, a row or more a party, and squares and "
            f"products as of variance {2 * prior**2:g}: {spread:.3g} over the {question.numbers} numbers that travel"
        )
        told = f"Gaussian values of variance {prior:g}, squares and products of {2 * prior**2:g}"
        unknown = np.full_like(report.posterior_std, np.nan)
        report = replace(report, prior=told, guarantee="upper bound", posterior_std=unknown)
    if question.statistic is not None:
        notes += _what_if(question, prior)
    return Prospect(question, found, _free(report, question), "", accuracy, bound, notes + fewer)


def planned(network: Network, routes: Routes) -> dict[str, Any]:
    """The arguments of ``assess`` that say over which edges messages go, and how."""
    route, fallback = routes.route, routes.fallback
    told: dict[str, Any] = {"theta": route.theta, "c": route.penalty}
    if fallback is not None:
        pairs = [(network.label(i), network.label(j)) for i, j in route.edges]
        told |= {"overlay": settled_overlay(network, pairs), "fallback": fallback.penalty}
    return told


def _what_if(question: Question, prior: float) -> list[str]:
    """What else parties may have, or do, within the limits that they keep (see ``Limits``). What is added is concave in
    the variance of what travels, so it grows by no more than that."""
    n, size, squares = question.parties, question.size, question.squares
    notes = []
    if size > 1.01 * DEVIATIONS * math.sqrt(prior):
        times = max(size**2 / prior, size**4 / (2 * prior**2) if squares else 0)
        notes.append(f"parties may have values up to {size:g}, the mask being large: up to {times:,.3g} times as much")
    times = question.spread_of_lies(prior) / question.spread(prior)
    notes.append(
        f"a party that lies about its rows or sums can make the sums of others up to {n} times as large, and what is "
        f"added up to {times:,.3g} times; beyond that it is refused"
    )
    return notes


def _free(report: Report, question: Question) -> Report:
    """The sum of squared residuals follows from the other sums: of a regression one result less tells anything."""
    if question.kind != "least_squares" or question.cost is not None:
        return report
    floor = report.floor * (1 - 1 / question.numbers)
    return replace(report, floor=floor, leakage=np.where(np.isnan(floor), report.leakage, floor + report.excess))


def _counts(network: Network, question: Question, found: Exposure, channels: Channels) -> Report:
    """Counts under modular pads tell the sums over groups, no fewer parties each than ``found`` says, and no more."""
    n, d = network.n, 1 if question.statistic is None else len(question.statistic.bins) + 1
    group = np.array([found.largest + 1 if size is None else size for size in found.group])
    with np.errstate(divide="ignore"):
        floor = -0.5 * d * np.log1p(-1 / group)
    return _report(
        network, question, channels, leakage=floor, floor=floor, excess=np.where(np.isinf(floor), np.inf, 0.0),
        prior_std=np.ones((n, d)), guarantee="upper bound", method="by construction, over groups of honest parties",
        prior="Gaussian counts", coalitions=found.coalition,
        max_corrupt=found.t,
    )  # fmt: skip


def _unknown(network: Network, question: Question, channels: Channels) -> Report:
    n, d = network.n, max(1, question.numbers)
    numbers: dict[str, Any] = dict.fromkeys(("leakage", "floor", "excess"), np.full(n, np.nan))
    return _report(
        network, question, channels, **numbers, prior_std=np.full((n, d), np.nan), guarantee="none",
        method="nothing is known before the run", prior="any data",
    )  # fmt: skip


def _report(network: Network, question: Question, channels: Channels, **more: Any) -> Report:
    return Report(
        network=network,
        channels=channels,
        view="the whole transcript",
        mask=describe_mask(question.mask),
        adversary=Eavesdropper(),
        posterior_std=np.full_like(more["prior_std"], np.nan),
        **more,
    )


def _calibrated(
    problem: Problem, question: Question, uncertified: str, delta: float, t: int, setting: dict[str, Any]
) -> GaussianMask:
    """The smallest mask, rounded up to three digits."""
    if not isinstance(question.mask, GaussianMask):
        raise Unsupported("delta has no meaning for a histogram: its counts have no excess under any mask. Remove it.")
    if uncertified:
        raise Unsupported(f"delta cannot be kept by a mask: {uncertified}. Give a variance.")
    return GaussianMask(calibrate(problem, delta=delta, against=Worst(t), **setting).rounded_up)


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
