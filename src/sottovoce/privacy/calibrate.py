"""Calibration: the smallest mask that keeps the excess below a bound, for every coalition considered
(theory: Calibration)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..errors import InvalidInput, Unsupported, is_number
from ..network import Network, names
from ..pdmm.masks import DEVIATIONS, GaussianMask
from ..pdmm.overlay import AskedOverlay
from ..pdmm.penalties import AskedPenalty, Penalty, squares
from ..pdmm.problem import Problem
from ..pdmm.schedules import Schedule
from .adversary import Adversary, Channels, Eavesdropper, Nodes, Worst, worst_of
from .attacks.uncertified import Hessians, check_hessians, is_certifiable
from .methods.case import Case, Setting, check, describe_prior, setting_of
from .methods.closed_form import OpenView
from .methods.many_coalitions import whole_transcripts
from .methods.secrets_and_prior import prior_of, secrets_of
from .methods.worst_coalition import (
    WORK,
    adversaries,
    bounded,
    coalitions_up_to,
    seen_by_coalitions,
    seen_by_taps,
    work,
)
from .seen import Transcript

CLOSE = 1e-6  # relative width of the last bracket around the variance
LARGEST = 1e30  # variance at which the search ends
ONE_AT_A_TIME = "one node awake at a time"


@dataclass(frozen=True)
class CalibratedMask(GaussianMask):
    """A Gaussian mask and what it guarantees: ``excess <= delta`` for the coalitions named in ``against``.

    Made by ``calibrate``; a run that does not fit warns.

    Attributes
    ----------
    delta : float
        Nats that were asked for.
    excess : float
        What the worst coalition gets of them at most; ``delta`` where not all coalitions were tried.
    coalition : frozenset
        The worst one, by name; empty where that is the taps alone, or where not all were tried.
    against : str
        Who listens, in words.
    prior : str
        What is assumed of the secrets, in words.
    smallest : bool
        False where bounds were used, as the coalitions were too many to try: a smaller mask may do.
    c_range : tuple of float
        The guarantee is for ``c`` from the first to the second: the larger ``c``, the better do taps see a shift of all
        ``x``, and in the limit the answer. Of penalties that differ the root of their mean square over all edges of the
        network counts, an edge without messages having none.
    theta, schedule : float, str, or None
        It is for these; None where it does not hang on them.
    network : Network
        It is for this one.
    used : Network or None
        It is for messages over these edges; None where it does not hang on them.
    meant_for : float
        The largest ``|q_i|`` that the prior lets expect.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(5), [3.0, 1.0, 4.0, 1.0, 5.0])
    >>> mask = sv.privacy.calibrate(problem, delta=0.01)
    >>> mask.against
    'all 6 coalitions of at most 1, open channels'
    """

    delta: float = 0.0
    excess: float = 0.0
    coalition: frozenset[Any] = frozenset()
    against: str = ""
    prior: str = ""
    smallest: bool = True
    c_range: tuple[float, float] = (0.0, math.inf)
    theta: float | None = None
    schedule: str | None = None
    network: Network | None = field(default=None, repr=False, compare=False)
    used: Network | None = field(default=None, repr=False, compare=False)
    meant_for: float = 0.0

    @property
    def hides(self) -> float:
        """It is as small as ``delta`` lets it be, so its size alone says little: data that look like the prior."""
        return max(self.meant_for, super().hides)

    @property
    def accuracy(self) -> float:
        """About what float64 leaves of the answer under this mask: ``eps * sigma``."""
        return float(np.finfo(float).eps) * self.sigma

    @property
    def rounded_up(self) -> float:
        """The variance to three digits, to be written down: rounded down, the bound would not hold."""
        unit = 10.0 ** (math.floor(math.log10(self.variance)) - 2)
        return float(f"{math.ceil(self.variance / unit) * unit:.3g}")

    @property
    def holds_for(self) -> str:
        """The settings of a run for which it was calibrated; empty if all will do."""
        low, high = self.c_range
        step = f"c = {high:.4g}" if low == high else f"c up to {high:.4g}" if math.isfinite(high) else ""
        theta = "" if self.theta is None else f"theta = {self.theta:g}"
        return ", ".join(part for part in (step, theta, self.schedule) if part)

    def misfit(self, network: Network, schedule: Schedule, theta: float, c: Penalty, used: Network) -> str:
        low, high = self.c_range
        if self.network is not None and not _same(network, self.network):
            return f"a network of {self.network.n} nodes and {self.network.m} edges; this one is another"
        if self.used is not None and not _same(used, self.used):
            return f"messages over {self.used.m} edges; this run uses {used.m}, others"
        if not low * (1 - CLOSE) <= (size := typical(c, used, network)) <= high * (1 + CLOSE):
            return f"{self.holds_for}; this run has c = {size:.4g}"
        if self.theta not in (None, theta):
            return f"{self.holds_for}; this run has theta = {theta:g}"
        if self.schedule not in (None, _name(schedule), type(schedule).__name__):
            return f"{self.holds_for}; this run has {_name(schedule)}"
        return ""

    def __str__(self) -> str:
        least = f"excess {self.excess:.3g} <=" if self.smallest else "not the smallest, but excess <="
        held = f" for {self.holds_for}" if self.holds_for else ""
        return (
            f"variance {self.variance:.8g} (sigma {self.sigma:.4g}): {least} {self.delta:g} nats "
            f"against {self.against}{held}; {self.prior}; float64 leaves an accuracy of about {self.accuracy:.1e}"
        )


def calibrate(
    problem: Problem,
    *,
    delta: float,
    against: Worst = Worst(1),  # noqa: B008 - frozen
    channels: Channels = "open",
    prior: npt.ArrayLike | Mapping[Any, float] | None = None,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: AskedPenalty = "auto",
    overlay: AskedOverlay = "all",
    seed: int | None = None,
    hessians: Hessians = "private",
) -> CalibratedMask:
    """The smallest Gaussian mask whose exact excess is at most ``delta`` nats at every node, for every coalition.

    A larger one, which says so, where the coalitions are too many to try.

    Parameters
    ----------
    problem
        Network and costs.
    delta
        Nats that the procedure may add to what the result itself tells.
    against
        How many may be corrupt; over open channels they tap all.
    channels, prior, hessians, schedule, theta, c, overlay, seed
        As for ``audit``.

    Returns
    -------
    CalibratedMask
        A ``GaussianMask`` that knows for which runs its guarantee holds.

    Raises
    ------
    Unsupported
        Where no mask can do it, with the reason.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(5), [3.0, 1.0, 4.0, 1.0, 5.0])
    >>> mask = sv.privacy.calibrate(problem, delta=0.01)
    >>> bool(sv.privacy.audit(problem, mask, against=sv.privacy.Worst(1)).excess.max() <= 0.01)
    True
    """
    check(problem, channels)
    if not (is_number(delta) and 0 < delta < np.inf):
        raise InvalidInput(f"delta must be a positive number of nats; got {delta!r}.")
    network = problem.network
    max_corrupt = worst_of(against, network)
    check_hessians(hessians)
    is_certifiable(problem, hessians)
    for i in np.flatnonzero(network.degrees <= max_corrupt):
        raise Unsupported(
            f"no mask can do it: node {network.name(i)} has {network.degrees[i]} neighbour(s), and if all of them are "
            f"among the {max_corrupt} corrupt nodes it is disclosed exactly. Add edges (sv.privacy.suggest_edges), or "
            "lower max_corrupt."
        )
    setting = setting_of(problem, schedule, theta, c, seed, Transcript(), overlay)
    if setting.iterations is not None:
        raise InvalidInput("a Trace ends, and a mask must do for whole runs. Name the schedule that it was taken from.")
    assumed = prior_of(problem, prior)
    case = Case(secrets_of(problem, assumed.value), GaussianMask(1.0), channels, setting)
    if channels == "encrypted" and max_corrupt == 0:
        raise InvalidInput("nobody listens: over encrypted channels with max_corrupt=0 there is nothing to calibrate.")
    told: dict[str, Any] = {
        "prior": f"{describe_prior(case.secrets.variances)}, {assumed.told}",
        "network": network,
        "meant_for": DEVIATIONS * float(np.max(np.abs(case.secrets.Q)) * np.sqrt(case.secrets.variances.max())),
    }
    count = coalitions_up_to(network.n, max_corrupt) - (channels == "encrypted")
    named = f"all {count:,} coalitions of at most {max_corrupt}, {channels} channels"
    if count * work(case) > WORK:
        variance, most = _large_enough(case, max_corrupt, float(delta))
        return CalibratedMask(
            variance, float(delta), float(delta), against=named, smallest=False, c_range=(0.0, most), **told
        )
    listening = [a for a in adversaries(network.n, max_corrupt) if a.corrupt or channels == "open"]
    worst, exact = _worst_excess(case, listening)
    variance, coalition, excess = _smallest(worst, len(listening), float(delta), _safe(case, float(delta)))
    by = frozenset(names.labels(network, listening[coalition].corrupt))
    found = CalibratedMask(variance, float(delta), excess, by, named, smallest=exact, **told)
    if channels == "open":
        return replace(found, c_range=(0.0, _largest_c(case, variance, float(delta))))
    used = setting.problem.network
    if not setting.random:
        exactly = (typical(setting.c, used, network),) * 2
        only = type(setting.schedule).__name__
        return replace(found, c_range=exactly, theta=setting.theta, schedule=only, used=used)
    return replace(found, theta=1.0, schedule=ONE_AT_A_TIME, used=used) if _half_the_pads(setting) else found


def typical(c: Penalty, used: Network, network: Network) -> float:
    """The one ``c`` on all edges of the network with which taps see a shift of all ``x`` as well as with these."""
    return c if isinstance(c, float) and used.m == network.m else math.sqrt(squares(c, used) / network.m)


def _same(one: Network, other: Network) -> bool:
    return one.n == other.n and np.array_equal(one.edges, other.edges)


def _half_the_pads(setting: Setting) -> bool:
    """Whether one pad of every edge is overwritten before it is read over encrypted channels
    (theory: Encrypted channels)."""
    return setting.schedule.one_at_a_time and setting.theta == 1


def _name(schedule: Schedule) -> str:
    return ONE_AT_A_TIME if schedule.one_at_a_time else type(schedule).__name__


def _largest_c(case: Case, variance: float, delta: float) -> float:
    """Of the shift of all ``x`` taps know all but ``sigma^2/(2 c^2 m)``: the larger ``c``, the more they see.

    Without that they see the sum as well, so that no mask does for all ``c`` where the sum itself tells ``delta``.
    """
    view = case.view(Eavesdropper()).view
    assert isinstance(view, OpenView)
    view = replace(view, c=typical(view.c, view.talking, case.secrets.problem.network), overlay=None)
    assert isinstance(view.c, float)
    low, high = view.c, 2 * view.c
    while high < LARGEST and replace(view, c=high).leaks(variance).excess.max() <= delta:
        low, high = high, high * 4
    if high >= LARGEST:
        return math.inf
    while high > low * (1 + CLOSE):
        middle = math.sqrt(low * high)
        over = replace(view, c=middle).leaks(variance).excess.max() > delta
        low, high = (low, middle) if over else (middle, high)
    return low


def _large_enough(case: Case, t: int, delta: float) -> tuple[float, float]:
    """A variance that does for every coalition of at most ``t``, by bounds, and the largest ``c`` for which it does."""
    secrets = case.secrets
    if not bounded(secrets):
        raise Unsupported(
            f"{coalitions_up_to(secrets.n, t):,} coalitions are too many to try, and a bound for all of them needs "
            "independent secrets and isotropic costs. Lower max_corrupt, or give such a prior."
        )
    share = -math.expm1(-2 * delta / secrets.copies)
    variance = float(seen_by_coalitions(secrets, t).max()) / share if t else 0.0
    if case.channels == "encrypted":
        return variance, math.inf
    # By taps alone: a part that grows as c^2, and the rest.
    rest, grows = (float(seen_by_taps(secrets, strength).max()) for strength in (0.0, 1.0))
    grows -= rest
    variance = max(variance, (rest + case.setting.strength * grows) / share)
    return variance, math.sqrt((variance * share - rest) / grows / secrets.problem.network.m)


def _worst_excess(case: Case, listening: Sequence[Adversary]) -> tuple[Callable[[float, Nodes], Array], bool]:
    """The largest excess of a node, as a function of the variance and of who listens; it falls with the variance. And
    whether it is exact, not a bound.

    Over encrypted channels it depends on who happens to wake when, and a mask must do for all: no sequence shows more
    than open channels do, and with one node awake at a time and ``theta = 1`` none shows more than half the
    signal-to-noise ratio of these, since one pad of every edge is overwritten before it is read
    (theory: Encrypted channels).
    """
    setting, secrets, exact = case.setting, case.secrets, True
    everybody = np.ones(secrets.n, dtype=bool)
    views: list[Any]
    if case.channels == "encrypted" and setting.random:
        how: dict[str, Any] = {"overlay": setting.overlay, "unread": _half_the_pads(setting)}
        views = [OpenView(secrets, adversary.corrupt, everybody, 1.0, **how) for adversary in listening]
    else:
        found = [case.view(adversary) for adversary in listening]
        exact = all(seen.guarantee == "exact" for seen in found)
        views = [seen.view for seen in found]

    def excess(variance: float, some: Nodes) -> Array:
        if all(isinstance(view, OpenView) and view.is_stackable for view in views):
            coalitions = [views[k].corrupt for k in some]
            every = whole_transcripts(secrets, coalitions, views[0].pads * variance, views[0].strength)
        else:
            every = (views[k].leaks(variance) for k in some)
        return np.array([np.nanmax(leaks.excess) for leaks in every])

    return excess, exact


def _safe(case: Case, delta: float) -> float:
    """A first guess: ``sigma^2 = a^2 sigma_s^2 max [L^+]_ii / ((1 - 1/n) delta)``, for the whole network
    (theory: Calibration)."""
    L = case.secrets.problem.network.adjacency.toarray().astype(float)
    L = np.diag(L.sum(axis=1)) - L
    D = case.secrets.variances * np.max(np.abs(case.secrets.Q)) ** 2
    return float(D.max() * np.linalg.pinv(L).diagonal().max() / ((1 - 1 / len(L)) * delta))


def _smallest(
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
    only = np.array([k])
    while low == 0.0:
        if high < 1 / LARGEST:  # hardly any mask is needed
            return low, high
        if excess(high / 4, only)[0] > delta:
            low = high / 4
        else:
            high /= 4
    while high > low * (1 + CLOSE):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if excess(middle, only)[0] > delta else (low, middle)
    return low, high
