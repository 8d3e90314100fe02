"""The search for the smallest mask: bisection on the coalition that is worst, until no other is worse there
(theory: Calibration). ``calibrate`` says for which runs what is found holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...costs.base import Array
from ...errors import Unsupported
from ...pdmm.progress import Progress
from ..adversary import Adversary, Nodes
from ..encrypted.own_edges import overwrites
from .case import Case
from .closed_form import OpenView
from .given_sums import laplacian
from .leaks import Leaks
from .many_coalitions import whole_transcripts
from .secrets_and_prior import Secrets
from .selected_inverse import inverse
from .worst_coalition import stackable

CLOSE = 1e-6  # relative width of the last bracket around the variance
LARGEST = 1e30  # variance at which the search ends


def worst_excess(
    case: Case, listening: Sequence[Adversary], bar: Progress
) -> tuple[Callable[[float, Nodes], Array], bool]:
    """The largest excess of a node, as a function of the variance and of who listens; it falls with the variance. And
    whether it is exact, not a bound.

    Over encrypted channels it depends on who happens to wake when, and a mask must do for all: no sequence shows more
    than open channels do, and with one node awake at a time and ``theta = 1`` none shows more than half the
    signal-to-noise ratio of these, since one pad of every edge is overwritten before it is read
    (theory: Encrypted channels).
    """
    setting, secrets, exact = case.setting, case.secrets, True
    alike, views = stackable(case), list[Any]()
    if case.channels == "encrypted" and setting.random:
        how: dict[str, Any] = {"overlay": setting.overlay, "unread": overwrites(setting.schedule, setting.theta)}
        alike = OpenView(secrets, frozenset(), np.ones(secrets.n, dtype=bool), 1.0, **how)
        views = [replace(alike, corrupt=adversary.corrupt) for adversary in listening]
    elif alike is None:
        found = [case.view(adversary) for adversary in listening]
        exact = all(seen.guarantee == "exact" for seen in found)
        views = [seen.view for seen in found]

    def every(variance: float, some: Nodes) -> Iterator[Leaks]:
        if alike is None or not alike.is_stackable:
            return (views[k].leaks(variance) for k in some)
        coalitions = [listening[k].corrupt for k in some]
        if len(some) == 1:
            return iter([replace(alike, corrupt=coalitions[0]).leaks(variance)])
        return whole_transcripts(secrets, coalitions, alike.pads * variance, alike.strength)

    def excess(variance: float, some: Nodes) -> Array:
        most, bar.iteration = np.zeros(len(some)), 0
        for k, leaks in enumerate(every(variance, some)):
            most[k] = np.nanmax(leaks.excess)
            bar.step(f"variance {variance:.3g}")
        return most

    return excess, exact


def least_tried(secrets: Secrets, delta: float) -> float:
    """No mask below this is tried, about, for independent secrets of one entry: a node of ``k`` links hides behind
    ``k sigma^2/2`` at most, and ``exp(-2 delta)`` of its variance must be left."""
    D = secrets.Q**2 * secrets.K
    return float(math.exp(-2 * delta / secrets.copies) * (D / secrets.problem.network.degrees).max() / 4)


def safe_guess(case: Case, delta: float) -> float:
    """A first guess: ``sigma^2 = a^2 sigma_s^2 max [L^+]_ii / ((1 - 1/n) delta)``, for the whole network
    (theory: Calibration)."""
    n, L = case.secrets.n, laplacian(case.secrets.problem.network).toarray()
    D = case.secrets.variances * np.max(np.abs(case.secrets.Q)) ** 2
    return float(D.max() * (inverse(L + 1 / n).diagonal().max() - 1 / n) / ((1 - 1 / n) * delta))


def smallest(
    excess: Callable[[float, Nodes], Array], count: int, delta: float, guess: float
) -> tuple[float, int, float]:
    """Bisection on the coalition that is worst, until no other is worse there."""
    everybody, safe = np.arange(count), guess
    while (most := excess(safe, everybody)).max() > delta:
        safe *= 4
        if safe > LARGEST:
            raise Unsupported(f"no mask was found: the excess stays at {most.max():.3g} nats.")
    found, low = int(np.argmax(most)), 0.0
    while True:
        low, high = _bisect(excess, found, delta, low, safe)
        rivals = np.flatnonzero((_at_most(most, safe / high) > delta) | (everybody == found))
        there = excess(high, rivals)
        now = int(np.argmax(there))
        if there[now] <= delta:
            return high, int(rivals[now]), float(there[now])
        found, low = int(rivals[now]), high


def _at_most(excess: Array, ratio: float) -> Array:
    """The most that an excess can grow to under a mask smaller by ``ratio``.

    With ``W(v)`` the share of the variance that is explained, ``v W(v)`` does not fall as ``v`` grows: it is
    ``B'(A A'/v + N)^+ B``. For several entries the bound is largest where a single direction is explained. A little is
    added for rounding.
    """
    share = -np.expm1(-2 * excess) * ratio * (1 + CLOSE)
    with np.errstate(divide="ignore"):
        return np.asarray(-0.5 * np.log1p(-np.minimum(share, 1.0)))


def _bisect(
    excess: Callable[[float, Nodes], Array], k: int, delta: float, low: float, high: float
) -> tuple[float, float]:
    """A bracket around the variance at which one coalition gets ``delta``, none of it above ``high``."""

    def of(variance: float) -> float:
        return float(excess(variance, np.array([k]))[0])

    while low == 0.0:
        if high < 1 / LARGEST:  # hardly any mask is needed
            return low, high
        if of(high / 4) > delta:
            low = high / 4
        else:
            high /= 4
    if high <= low * (1 + CLOSE):
        return low, high
    above, below, tries = of(low), of(high), 0
    while high > low * (1 + CLOSE):
        # An excess is nearly a power of the variance: a guess by that, tried a little to each side, then the middle.
        share = math.log(above / delta) / math.log(above / below) if 0 < below < above < math.inf else 0.5
        guess = low * (high / low) ** share * (1 + CLOSE / 4) ** (1, -1, 0)[tries % 3]
        middle = guess if tries % 3 < 2 and low < guess < high else math.sqrt(low * high)
        found, tries = of(middle), tries + 1
        low, high, above, below = (middle, high, found, below) if found > delta else (low, middle, above, found)
    return low, high
