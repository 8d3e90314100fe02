"""Calibration: the smallest mask that keeps the excess below a bound, for every coalition considered
(theory: Calibration)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, Unsupported, is_number
from ..network import Network, names
from ..pdmm.masks import DEVIATIONS, GaussianMask
from ..pdmm.overlay import AskedOverlay
from ..pdmm.penalties import AskedPenalty, Penalty, squares
from ..pdmm.problem import Problem
from ..pdmm.progress import Line, Progress
from ..pdmm.schedules import Schedule
from .adversary import Channels, Eavesdropper, Worst, worst_of
from .attacks.uncertified import Hessians, check_hessians, is_certifiable
from .encrypted.own_edges import overwrites
from .methods.case import Case, check, describe_prior, setting_of
from .methods.closed_form import OpenView
from .methods.many_coalitions import overhearing
from .methods.secrets_and_prior import prior_of, secrets_of
from .methods.smallest_mask import (
    CLOSE,
    LARGEST,
    least_tried,
    safe_guess,
    smallest,
    worst_excess,
)
from .methods.worst_coalition import (
    adversaries,
    bounded,
    coalitions_up_to,
    seen_by_coalitions,
    seen_by_taps,
    too_many,
)
from .seen import Transcript

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
    progress: bool | Line | None = None,
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
    channels, prior, hessians, schedule, theta, c, overlay, seed, progress
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
    weakest = GaussianMask(least_tried(case.secrets, float(delta))) if bounded(case.secrets) else case.mask
    if too_many(replace(case, mask=weakest), max_corrupt):
        variance, most = _large_enough(case, max_corrupt, float(delta))
        return CalibratedMask(
            variance, float(delta), float(delta), against=named, smallest=False, c_range=(0.0, most), **told
        )
    listening = [a for a in adversaries(network.n, max_corrupt) if a.corrupt or channels == "open"]
    with Progress(progress, "calibrating", "coalitions") as bar:
        bar.begin(len(listening))
        worst, exact = worst_excess(case, listening, bar)
        variance, coalition, excess = smallest(worst, len(listening), float(delta), safe_guess(case, float(delta)))
    by = frozenset(names.labels(network, listening[coalition].corrupt))
    found = CalibratedMask(variance, float(delta), excess, by, named, smallest=exact, **told)
    if channels == "open":
        return replace(found, c_range=(0.0, _largest_c(case, variance, float(delta))))
    used = setting.problem.network
    if not setting.random:
        exactly = (typical(setting.c, used, network),) * 2
        only = type(setting.schedule).__name__
        return replace(found, c_range=exactly, theta=setting.theta, schedule=only, used=used)
    return (
        replace(found, theta=1.0, schedule=ONE_AT_A_TIME, used=used)
        if overwrites(setting.schedule, setting.theta)
        else found
    )


def typical(c: Penalty, used: Network, network: Network) -> float:
    """The one ``c`` on all edges of the network with which taps see a shift of all ``x`` as well as with these."""
    return c if isinstance(c, float) and used.m == network.m else math.sqrt(squares(c, used) / network.m)


def _same(one: Network, other: Network) -> bool:
    return one.n == other.n and np.array_equal(one.edges, other.edges)


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
    many = overhearing(case.secrets, view.pads * variance) if view.at_once(variance) else None

    def over(c: float) -> bool:
        asked = replace(view, c=c)
        found = None if many is None else many(asked.strength)
        return bool((found or asked.leaks(variance)).excess.max() > delta)

    low, high = view.c, 2 * view.c
    while high < LARGEST and not over(high):
        low, high = high, high * 4
    if high >= LARGEST:
        return math.inf
    while high > low * (1 + CLOSE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if over(middle) else (middle, high)
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
