"""Calibration: the smallest mask that keeps the excess below a bound, for every coalition considered (THEORY 4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, Unsupported, is_number
from ..masks import GaussianMask
from ..problem import Problem
from ..schedules import NodeSchedule, Schedule
from .adversary import Adversary, Channels
from .case import Case, check, describe_prior, setting_of
from .closed_form import OpenView
from .secrets import secrets_of
from .uncertified import Hessians, check_hessians, is_certifiable
from .worst import WORK, adversaries, check_size, coalitions_up_to, work

CLOSE = 1e-6  # relative width of the last bracket around the variance
LARGEST = 1e30  # variance at which the search ends


@dataclass(frozen=True)
class CalibratedMask(GaussianMask):
    """A Gaussian mask and what it guarantees: ``excess <= delta`` for the coalitions named in ``against``."""

    delta: float = 0.0
    excess: float = 0.0  # of the worst coalition, exact
    coalition: frozenset[int] = frozenset()  # the worst one
    against: str = ""
    prior: str = ""

    @property
    def accuracy(self) -> float:
        """About what float64 leaves of the answer under this mask: ``eps * sigma``."""
        return float(np.finfo(float).eps) * self.sigma

    @property
    def rounded_up(self) -> float:
        """The variance to three digits, to be written down: rounded down, the bound would not hold."""
        unit = 10.0 ** (math.floor(math.log10(self.variance)) - 2)
        return float(f"{math.ceil(self.variance / unit) * unit:.3g}")

    def __str__(self) -> str:
        return (
            f"variance {self.variance:.8g} (sigma {self.sigma:.4g}): excess {self.excess:.3g} <= {self.delta:g} nats "
            f"against {self.against}; {self.prior}; float64 leaves an accuracy of about {self.accuracy:.1e}"
        )


def calibrate(
    problem: Problem,
    *,
    delta: float,
    max_corrupt: int = 1,
    channels: Channels = "open",
    prior: npt.ArrayLike = 1.0,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: float | Literal["auto"] = "auto",
    seed: int | None = None,
    hessians: Hessians = "private",
) -> CalibratedMask:
    """The smallest Gaussian mask whose exact excess is at most ``delta`` nats at every node, for every coalition of at
    most ``max_corrupt`` nodes (and taps, over open channels). Refused, with the reason, where no mask can do it.
    ``hessians`` as in ``audit``."""
    check(problem, channels)
    if not (is_number(delta) and 0 < delta < np.inf):
        raise InvalidInput(f"delta must be a positive number of nats; got {delta!r}.")
    network = problem.network
    check_size(max_corrupt, network.n)
    check_hessians(hessians)
    is_certifiable(problem, hessians)
    for i in np.flatnonzero(network.degrees <= max_corrupt):
        name = network.labels[i] if network.labels else i
        raise Unsupported(
            f"no mask can do it: node {name} has {network.degrees[i]} neighbour(s), and if all of them are among "
            f"the {max_corrupt} corrupt nodes it is disclosed exactly. Add edges (sv.privacy.suggest_edges), or lower "
            "max_corrupt."
        )
    setting = setting_of(problem, schedule, theta, c, seed, "transcript", None)
    case = Case(secrets_of(problem, prior), GaussianMask(1.0), channels, setting)
    count = coalitions_up_to(network.n, max_corrupt)
    if count * work(case) > WORK:
        raise Unsupported(
            f"{count:,} coalitions of at most {max_corrupt} among {network.n} nodes are too many to try. "
            "Lower max_corrupt."
        )
    worst = {a: excess_of(case, a) for a in adversaries(network.n, max_corrupt) if a.corrupt or channels == "open"}
    if not worst:
        raise InvalidInput("nobody listens: over encrypted channels with max_corrupt=0 there is nothing to calibrate.")
    variance, coalition, excess = _smallest(worst, float(delta), _safe(case, float(delta)))
    against = f"all {len(worst):,} coalitions of at most {max_corrupt}, {channels} channels"
    told = describe_prior(case.secrets.variances)
    return CalibratedMask(variance, float(delta), excess, coalition.corrupt, against, told)


def excess_of(case: Case, adversary: Adversary) -> Callable[[float], float]:
    """The largest excess of a node as a function of the variance; it falls.

    Over encrypted channels it depends on who happens to wake when, and a mask must do for all: no sequence shows more
    than open channels do, and with one node awake at a time and ``theta = 1`` none shows more than half the
    signal-to-noise ratio of these, since one pad of every edge is overwritten before it is read (THEORY 4).
    """
    setting, secrets = case.setting, case.secrets
    if case.channels == "encrypted" and setting.random:
        bound = OpenView(secrets, adversary.corrupt, np.ones(secrets.n, dtype=bool), 1.0)
        pads = 2.0 if setting.theta == 1 and isinstance(setting.schedule, NodeSchedule) else 1.0
        return lambda variance: float(np.nanmax(bound.leaks(pads * variance).excess))
    view, _, guarantee = case.view(adversary)
    if guarantee != "exact":
        raise Unsupported(f"the network is too large for an exact view of {case.channels} channels.")
    return lambda variance: float(np.nanmax(view.leaks(variance).excess))


def _safe(case: Case, delta: float) -> float:
    """A first guess: ``sigma^2 = a^2 sigma_s^2 max [L^+]_ii / ((1 - 1/n) delta)``, for the whole network (THEORY 4)."""
    L = case.secrets.problem.network.adjacency.toarray().astype(float)
    L = np.diag(L.sum(axis=1)) - L
    D = case.secrets.variances * np.max(np.abs(case.secrets.Q)) ** 2
    return float(D.max() * np.linalg.pinv(L).diagonal().max() / ((1 - 1 / len(L)) * delta))


def _smallest(
    worst: dict[Adversary, Callable[[float], float]], delta: float, guess: float
) -> tuple[float, Adversary, float]:
    """Bisection on the coalition that is worst, until no other is worse there."""
    high = guess
    while (found := max(worst, key=lambda a: worst[a](high))) and worst[found](high) > delta:
        high *= 4
        if high > LARGEST:
            raise Unsupported(f"no mask was found: the excess stays at {worst[found](high):.3g} nats.")
    low = 0.0
    while True:
        low, high = _bisect(worst[found], delta, low, high)
        excess = {a: function(high) for a, function in worst.items()}
        now = max(excess, key=lambda a: excess[a])
        if excess[now] <= delta:
            return high, now, excess[now]
        found, low = now, high
        while worst[found](high) > delta:
            high *= 2


def _bisect(function: Callable[[float], float], delta: float, low: float, high: float) -> tuple[float, float]:
    while low == 0.0:
        if function(high / 4) > delta:
            low = high / 4
        else:
            high /= 4
    while high > low * (1 + CLOSE):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if function(middle) > delta else (low, middle)
    return low, high
