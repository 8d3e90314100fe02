"""What a planned run will give away, and how exact it will be: known before anybody has started."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...data.cost_table import HIDDEN
from ...errors import Unsupported
from ...network import Network
from ...pdmm.common_problems import averaging
from ...pdmm.masks import DEVIATIONS, GaussianMask, resolution
from ...pdmm.overlay import Overlay, settled_overlay
from ...pdmm.penalties import Penalty
from ...pdmm.problem import Problem
from ...privacy import Eavesdropper, Exposure, Report, Worst, audit, calibrate, exposure
from ...privacy.adversary import Channels
from ...privacy.answers.verdict import DELTA
from ...privacy.methods.case import describe_mask
from .prospect import Prospect
from .question import Question
from .routes import Routes

LARGEST = 8  # sizes of groups that are told apart
FEWER = "messages go over {}, and pads hide on every edge: a coalition learns what it would over all of them"
FALLBACK = (
    "should a link stay dead, the parties go on over all other edges from the same padded numbers: that adds nothing "
    "to these figures, which are for both runs"
)


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
    mask that keeps the excess below, found as if there were no noise, which only makes it less.

    The sums of a statistic are behind uniform pads: by construction nothing is added to the totals of groups of honest
    parties. Of a cost the channels count as tapped: what
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
    setting: dict[str, Any] = {"channels": seen, "prior": prior, "theta": theta, "c": c}
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
    report = audit(problem, mask, noise=question.noise, against=Worst(max_corrupt), progress=False, **setting)
    if question.size > 1.01 * DEVIATIONS * math.sqrt(prior):
        times = question.size**2 / prior
        notes.append(
            f"parties may have values up to {question.size:g}, the mask being large: up to {times:,.3g} times as much"
        )
    return Prospect(question, found, report, "", accuracy, bound, notes + fewer)


def planned(network: Network, routes: Routes) -> dict[str, Any]:
    """The arguments of ``assess`` that say over which edges messages go, and how."""
    route, fallback = routes.route, routes.fallback
    told: dict[str, Any] = {"theta": route.theta, "c": route.penalty}
    if fallback is not None:
        pairs = [(network.label(i), network.label(j)) for i, j in route.edges]
        told |= {"overlay": settled_overlay(network, pairs), "fallback": fallback.penalty}
    return told


def _counts(network: Network, question: Question, found: Exposure, channels: Channels) -> Report:
    """Counts under modular pads tell the sums over groups, no fewer parties each than ``found`` says, and no more."""
    n, d = network.n, max(1, question.counts)
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


def hidden_by(question: Question) -> str:
    """What hides a party's numbers, in words."""
    if question.statistic is not None:
        return "uniform pads, modulo 2^64 on counts and 2^256 on other sums"
    return describe_mask(question.mask)


def _report(network: Network, question: Question, channels: Channels, **more: Any) -> Report:
    return Report(
        network=network,
        channels=channels,
        view="the whole transcript",
        mask=hidden_by(question),
        adversary=Eavesdropper(),
        posterior_std=np.full_like(more["prior_std"], np.nan),
        **more,
    )


def _calibrated(
    problem: Problem, question: Question, uncertified: str, delta: float, t: int, setting: dict[str, Any]
) -> GaussianMask:
    """The smallest mask, rounded up to three digits."""
    if not isinstance(question.mask, GaussianMask):
        raise Unsupported(
            f"delta has no meaning for a {question.kind}: its counts have no excess under any mask. Remove it."
        )
    if uncertified:
        raise Unsupported(f"delta cannot be kept by a mask: {uncertified}. Give a variance.")
    return GaussianMask(calibrate(problem, delta=delta, against=Worst(t), progress=False, **setting).rounded_up)
