"""What one sees in each figure, in plain words, and whether what the paper says of it holds here: sentences that follow
the sliders. docs/explanation/paper.md has the same for the paper's own settings."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..costs.base import Array
from ..paper.claims import CONDITION, FAILS, HOLDS, OPEN, SLACK
from .paper_figures import Found, variances_of
from .words import narrows, nats, percent

GONE = 1e-12  # of a variance: nothing that a screen shows
TREE = (
    "This network is a tree: Psi is the whole space, so no noise is left beside it. A cycle or two would change that."
)


class Said(NamedTuple):
    """A sentence; and where it is about a claim of the paper, whether that holds."""

    text: str
    claim: str = ""
    verdict: str = ""


def figure_words(found: Found) -> list[Said]:
    """Of the figure that was asked for."""
    return {1: figure1_words, 2: figure2_words, 3: figure3_words}[found.controls.figure](found)


def figure1_words(found: Found) -> list[Said]:
    """Error, and the two parts of the noise."""
    controls, curves = found.controls, found.values[found.controls.theta]
    error, psi, perp = (np.array(curves[name]) for name in ("x_error", "var_z_psi", "var_z_perp"))
    left, stays = psi[-1] / psi[0], perp[-1] / controls.sigma2
    beside = TREE if is_tree(found) else "The noise beside it cannot reach the answer, and stays in the messages."
    told = Said(
        f"{found.n} nodes wake one at a time, {controls.iterations} times in all. The error of the answer, squared, "
        f"{_fallen(error[1:])}. The noise in Psi, which would move the answer, {_left(left)}. {beside}"
    )
    arrived = error[-1] < 1e-16
    vanishes = Said(
        "less than 1e-12 of it is left" if left < GONE else f"{left:.1g} of it is left: give it more iterations",
        "the variance of Z_Psi goes to zero", HOLDS if left < GONE else OPEN,
    )  # fmt: skip
    remains = Said(
        TREE if is_tree(found) else f"it ends at {stays:.2g} times the variance of the mask",
        "the variance of Z_perp remains", FAILS if is_tree(found) or perp[-1] < 0.05 * perp[0] else HOLDS,
    )  # fmt: skip
    converges = Said(
        "the error falls below 1e-8 (squared: 1e-16)" if arrived else
        f"squared it is still {error[-1]:.1g}: give it more iterations",
        "x converges to the right answer", HOLDS if arrived else OPEN,
    )  # fmt: skip
    return [told, converges, _order(found), vanishes, remains]


def _fallen(error: Array) -> str:
    """How an error went; it may grow at first, and in a short run not come down from there."""
    most, last = f"{error.max():.2g}", f"{error[-1]:.2g}"
    return f"has not fallen so far: {last}" if most == last else f"falls from at most {most} to {last}"


def _left(share: float) -> str:
    """What became of the noise in Psi."""
    if share < GONE:
        return "vanishes: less than 1e-12 of it is left"
    return (
        f"falls: {percent(share)} of it is left so far"
        if share < 1
        else f"has not fallen so far: {percent(share)} of it is there"
    )


def _order(found: Found) -> Said:
    """Which theta is faster: activations to the error that the slowest ends with."""
    claim = "the rate decreases for increasing theta"
    errors = {theta: np.array(curves["x_error"]) for theta, curves in found.values.items()}
    level = max(error[-1] for error in errors.values())
    above = {theta: np.flatnonzero(error > level) for theta, error in errors.items()}
    if not all(places.size for places in above.values()):
        return Said("they have passed no common error yet: give it more iterations", claim, OPEN)
    first = {theta: int(places[-1]) + 1 for theta, places in above.items()}  # and stay there
    order = [k for _, k in sorted(first.items())]
    said = ", ".join(f"{k} at theta = {theta:g}" for theta, k in first.items())
    slower, faster = (all(low < high for low, high in pairwise(way)) for way in (order, order[::-1]))
    how = "it is as the paper says" if slower else "it is the other way round" if faster else "it is not monotone"
    return Said(
        f"{how}: activations to a squared error of {level:.1g} are {said}",
        claim, HOLDS if slower else FAILS,
    )  # fmt: skip


def figure2_words(found: Found) -> list[Said]:
    """How much noise stays, and what the bound promises of it."""
    controls = found.controls
    if is_tree(found):
        return [Said(TREE)]
    one, expected, synchronous, bound = (np.array(found.values[k]) for k in ("async", "expected", "sync", "bound"))
    mu = found.experiment.schedule.mu(found.experiment.problem.network) or 0.0
    ends = [f"{values[-1] / controls.sigma2:.2g}" for values in (one, expected, synchronous, bound)]
    told = Said(
        f"The noise that stays in the messages, in units of the mask's variance: after {controls.iterations} "
        f"iterations this sequence keeps {ends[0]}, the mean over all sequences is {ends[1]}, and synchronous updates "
        f"keep {ends[2]}. The paper's bound promises {ends[3]}."
    )
    ratio = expected / bound
    below = np.flatnonzero(one < bound * SLACK)
    this = f" This sequence alone falls below it at k = {below[0]}: the bound is about the mean." if below.size else ""
    holds = Said(
        f"the mean over sequences is {ratio[-1]:.2g} times the bound at the end.{this}",
        "the bound of section 5", HOLDS if ratio.min() > SLACK else FAILS,
    )  # fmt: skip
    return [
        told,
        holds,
        _promise(controls.theta, mu, bound / synchronous),
        _higher(expected / synchronous),
        _two(controls.theta),
    ]


def _promise(theta: float, mu: float, ratio: Array) -> Said:
    """What the bound is worth depends on ``theta (1 + mu)``."""
    condition = theta * (1 + mu)
    claim = "the bound makes asynchronous runs at least as private"
    if condition <= 1:
        said = f"here theta (1 + mu) = {condition:.3g} is at most 1: the bound stays above synchronous"
    else:
        said = f"here theta (1 + mu) = {condition:.3g} is above 1: the bound falls to {ratio.min():.2g} of synchronous"
    return Said(f"{said} (mu = {mu:.3g})", claim, HOLDS if ratio.min() > SLACK else FAILS)


def _higher(ratio: Array) -> Said:
    holds = ratio.min() > SLACK
    said = "on average over sequences, at every k" if holds else f"their mean falls to {ratio.min():.2g} of synchronous"
    return Said(said, "asynchronous runs keep more noise", HOLDS if holds else FAILS)


def _two(theta: float) -> Said:
    said = "so they do" if theta == 1 else f"they do at theta = 1 alone, not at {theta:g}"
    return Said(said, "two synchronous updates leave Z_perp as it was", HOLDS if theta == 1 else FAILS)


def figure3_words(found: Found) -> list[Said]:
    """What one iteration tells, and what all of them do."""
    network = found.experiment.problem.network
    others = len(network.around(found.node)) - 1
    node, honest = (f"{'node ' if network.labels is None else ''}{network.name(i)}" for i in (found.node, found.honest))
    if others:
        whom = f"Of the neighbours of {node} all but {honest} are corrupt ({others} of {others + 1})"
    else:
        whom = f"{honest} is the only neighbour of {node}, and honest; attackers look on from outside"
    low, high = variances_of(found)[0], variances_of(found)[-1]
    ends = []
    for sigma2 in variances_of(found):
        one, all_at_once = (float(found.values[sigma2][which].nats[-1]) for which in ("async", "sync"))
        ends.append(
            f"With σ² = {sigma2:g} their interval for the number of {node} is {narrows(one)} narrower ({nats(one)} "
            f"nats) at the end of the asynchronous run, and {narrows(all_at_once)} ({nats(all_at_once)} nats) of the "
            "synchronous one."
        )
    told = Said(f"{whom}, and look at one iteration. {' '.join(ends)} Beforehand a number is N(0, 1), as in the paper.")
    return [told, _noise(found, low, high), _reveals(found), *_every_pair(found), _transcript(found, low)]


def _noise(found: Found, low: float, high: float) -> Said:
    claim = "the more noise, the less they learn"
    if low == high:
        return Said("give Figure 3 two variances to see it", claim, OPEN)
    gap = min(float((found.values[low][k].nats - found.values[high][k].nats).min()) for k in ("async", "sync"))
    if gap > 1e-9:
        return Said(f"by {gap:.2g} nats or more at every k", claim, HOLDS)
    return Said("never more; equal where no other noise is left in eq. 8", claim, CONDITION if gap > -1e-9 else FAILS)


def _reveals(found: Found) -> Said:
    gaps = np.array([found.values[s]["sync"].nats - found.values[s]["async"].nats for s in variances_of(found)])
    less = float((gaps > -1e-9).mean())
    share = f"{percent(less)} of the iterations" if less else "no iteration"
    said = "at every k, for this pair" if less == 1 else f"for this pair at {share}"
    return Said(
        said, "asynchronous runs reveal less in one iteration", HOLDS if less == 1 else CONDITION if less else FAILS
    )


def _every_pair(found: Found) -> list[Said]:
    claim = found.values["pairs"]
    if claim is None:
        return []
    (by_theta,) = claim.measured.values()
    (measured,) = by_theta.values()
    share, mean = measured["share of pairs, at every k"], measured["mean difference at the end, nats"]
    whose = "every pair" if share == 1 else f"{percent(share)} of the pairs" if share else "no pair"
    average = f"; at the end, on average over all pairs, they {'do' if mean > 0 else 'do not'}"
    said = f"at every k for {whose}{average if share < 1 else ''}"
    return [Said(f"{said} (this sequence, σ² = 1)", "the same, for all pairs of neighbours", claim.verdict)]


def _transcript(found: Found, sigma2: float) -> Said:
    learned = found.values[sigma2]["transcript"]
    return Said(
        f"whoever keeps every message learns {nats(learned)} nats ({narrows(learned)} narrower, σ² = {sigma2:g}) "
        "from both, once every edge has carried one each way",
        "asynchronous runs reveal less in all", FAILS,
    )  # fmt: skip


def is_tree(found: Found) -> bool:
    """Whether nothing lies beside Psi."""
    network = found.experiment.problem.network
    return bool(network.m == network.n - 1)
