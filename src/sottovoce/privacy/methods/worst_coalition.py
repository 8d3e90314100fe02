"""The worst coalition of at most ``t`` nodes: every one is tried while that is affordable, else a bound is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from ...costs.base import Array
from ...errors import Unsupported
from ...network import Network, names
from ...pdmm.modular_mask import ModularMask
from ...pdmm.progress import Line, Progress
from ..adversary import Adversary, Coalition, Eavesdropper
from ..answers.indistinguishable import worst_told_apart
from ..answers.report import Report
from .by_construction import NothingSeen
from .case import Case
from .closed_form import OpenView
from .in_order import Question
from .leaks import Guarantee, Leaks
from .many_coalitions import LARGE, whole_transcripts
from .removed_coalitions import keeps_digits
from .secrets_and_prior import Secrets

WORK = 2e11  # multiplications that solving for every coalition may take: some twenty seconds of one core
UPDATES = 6e11  # and updates of one matrix: about a minute


def worst_case(case: Case, t: int, progress: bool | Line | None = None) -> Report:
    """For each node the coalition that learns most about it, and overall the one that learns most about anybody."""
    n = case.secrets.n
    if case.setting.one_moment:
        raise Unsupported("the worst case is over transcripts; name the corrupt nodes of a snapshot.")
    count = coalitions_up_to(n, t)
    if too_many(case, t):
        return _bounded(case, t)
    with Progress(progress, "auditing", "coalitions") as bar:
        bar.begin(count)
        return _enumerated(case, t, bar)


def _enumerated(case: Case, t: int, bar: Progress) -> Report:
    n = case.secrets.n
    worst = NothingSeen(case.secrets).leaks()
    by: list[frozenset[int] | None] = [None] * n
    overall, most = frozenset[int](), 0.0
    guarantee: Guarantee = "exact"
    method = "nothing is seen"
    for adversary, (leaks, method, certain) in every_leak(case, t):  # noqa: B007 - the last is that of all
        if certain != "exact":
            guarantee = "upper bound"
        for i in np.flatnonzero(leaks.leakage > worst.leakage):
            by[i] = adversary.corrupt
            worst.leakage[i], worst.std[i] = leaks.leakage[i], leaks.std[i]
        # Who leaks most need not do so beyond the answer: each figure is a maximum of its own.
        for most_of, value in ((worst.floor, leaks.floor), (worst.excess, leaks.excess)):
            np.fmax(most_of, value, out=most_of)
        if np.nanmax(leaks.leakage) > most:
            overall, most = adversary.corrupt, float(np.nanmax(leaks.leakage))
        bar.step("")
    told = f"{method}, all {coalitions_up_to(n, t):,} coalitions of at most {t}"
    network = case.secrets.problem.network
    more = {"overall": _named(network, overall), "max_corrupt": t, "mu": worst_told_apart(case, t)}
    return case.assemble(
        worst, told, guarantee, Eavesdropper(), coalitions=tuple(_named(network, nodes) for nodes in by), **more
    )


def _named(network: Network, nodes: frozenset[int] | None) -> frozenset[Any] | None:
    return None if nodes is None else frozenset(names.labels(network, nodes))


def every_leak(case: Case, t: int) -> Iterator[tuple[Adversary, tuple[Leaks, str, Guarantee]]]:
    """What each coalition learns, in the order of ``adversaries``; many at a time where they can be stacked."""
    every = adversaries(case.secrets.n, t)
    listening = [a for a in every if a.corrupt or a.sees_all(case.channels) or case.published]
    stacked = stackable(case)
    if stacked is None:
        yield from ((adversary, case.leaks(adversary)) for adversary in listening)
        return
    if case.published:  # which changes nothing for a coalition
        yield listening[0], case.leaks(listening.pop(0))
    found = whole_transcripts(case.secrets, [a.corrupt for a in listening], case.variance, stacked.strength)
    for adversary, leaks in zip(listening, found, strict=True):
        yield adversary, (leaks, "closed form", "exact")


def stackable(case: Case) -> OpenView | None:
    """What taps alone see, if of all coalitions it is a view that ``many_coalitions`` does, many at a time."""
    if case.channels != "open" or isinstance(case.mask, ModularMask) or case.method == "elimination":
        return None
    if not Question(case, Eavesdropper()).closed:  # another view takes an elimination, and is none of those
        return None
    view = case.view(Eavesdropper()).view
    if not isinstance(view, OpenView):
        return None
    alone = replace(view, public=False)  # a coalition knows the answer anyway
    return alone if alone.is_stackable else None


def adversaries(n: int, t: int) -> Iterator[Adversary]:
    """All coalitions of at most ``t`` nodes, with taps; the empty one is the eavesdropper."""
    for size in range(t + 1):
        for nodes in combinations(range(n), size):
            yield Coalition(nodes) | Eavesdropper()


def coalitions_up_to(n: int, t: int) -> int:
    return sum(comb(n, size) for size in range(t + 1))


def too_many(case: Case, t: int) -> bool:
    """Whether not all coalitions of at most ``t`` are tried."""
    count = coalitions_up_to(case.secrets.n, t)
    return updates(case, t) > UPDATES if are_updates(case) else count * work(case) > WORK


def are_updates(case: Case) -> bool:
    """Whether every coalition is an update of one matrix (``removed_coalitions``)."""
    large = bounded(case.secrets) and case.secrets.n >= LARGE and keeps_digits(case.secrets, case.variance)
    return large and stackable(case) is not None


def updates(case: Case, t: int) -> float:
    """One matrix, and for every coalition as many of its rows as there are links, in multiplications, about."""
    n, degrees = float(case.secrets.n), case.secrets.problem.network.degrees
    links, squared = t * degrees.mean(), t * degrees.var() + (t * degrees.mean()) ** 2
    return float(n**3 + coalitions_up_to(case.secrets.n, t) * (n * (1e3 * links + 4 * squared) + 4e6))


def work(case: Case) -> float:
    """Of one coalition that is solved for, in multiplications, about; the constants are what Python takes meanwhile."""
    unknowns = case.secrets.n * case.secrets.width
    if case.channels == "encrypted":
        unknowns += 2 * case.secrets.problem.network.m * case.secrets.width
        return 50 * float(unknowns) ** 3 + 1e8
    stacked = bounded(case.secrets) and case.setting.iterations is None
    return 5 * float(unknowns) ** 3 + 5e5 if stacked else 10 * float(unknowns) ** 3 + 3e7


def _bounded(case: Case, t: int) -> Report:
    """A bound for every coalition of at most ``t``: of the leakage from the neighbourhood alone, of the excess also
    from ``seen_by_coalitions``.

    Fewer edges hide less, so keep only those between ``i`` and its honest neighbours, and give everything else away.
    Then ``Y_i = q_i + sum_j u_ij`` and ``Y_j = q_j - u_ij``: of ``u_ij`` the variance
    ``v_j = 1 / (1/D_j + 2/sigma^2)`` is left, ``D_j`` that of ``q_j``, and the share of ``S_i`` that is explained is
    ``D_i / (D_i + sum_j v_j)``. The worst coalition takes the ``t`` neighbours with the largest ``v_j``.

    Behind local noise these are shares of the noisy number, and of that ``G_i = K_i / (K_i + T_i)`` is the secret's: a
    share ``r`` of the one is a share ``G_i r`` of the other, and at most that given the answer.
    """
    secrets, network = case.secrets, case.secrets.problem.network
    if not bounded(secrets) or case.variance == 0 or not hasattr(case.mask, "sigma"):
        raise Unsupported(
            f"{coalitions_up_to(secrets.n, t):,} coalitions are too many to try, and the bound for more needs "
            "independent secrets, isotropic costs and a Gaussian mask. Lower max_corrupt, or name the coalition."
        )
    D, noise = secrets.Q**2 * secrets.K, secrets.noise
    secret, lost = (1.0, 0.0) if noise is None else (part[:, 0, 0] for part in (noise.gain, noise.rest / noise.K))
    least = _least(secrets, 1 / (1 / D + 2 / case.variance), t)
    exposed = least == 0
    with np.errstate(divide="ignore"):  # -ln(1 - G r)
        leakage = 0.5 * secrets.copies * np.log1p(secret * D / (least + lost * D))
    share = seen_by_coalitions(secrets, t) if t else np.zeros(secrets.n)
    if case.channels == "open":
        share = np.maximum(share, seen_by_taps(secrets, case.setting.strength))
    with np.errstate(divide="ignore"):
        beyond = -0.5 * secrets.copies * np.log1p(-secret * np.minimum(share / case.variance, 1.0))
    # How much of the leakage is the floor depends on the coalition; the excess is at most all of it.
    floor = np.where(exposed, leakage, np.nan)
    bound = Leaks(leakage, floor, np.minimum(leakage, beyond), np.full((secrets.n, 1), np.nan))
    by = tuple(_named(network, frozenset(network.around(i))) if exposed[i] else None for i in range(secrets.n))
    method = f"neighbourhood bound for all {coalitions_up_to(secrets.n, t):.3g} coalitions of at most {t}"
    mu = worst_told_apart(case, t)
    return case.assemble(bound, method, "upper bound", Eavesdropper(), coalitions=by, max_corrupt=t, mu=mu)


def bounded(secrets: Secrets) -> bool:
    """Whether there are bounds for more coalitions than can be tried."""
    return secrets.K.ndim == 1 and secrets.width == 1


def seen_by_coalitions(secrets: Secrets, t: int) -> Array:
    """``sigma^2`` times a bound on the share of each variance that any coalition of at most ``t`` explains beyond the
    answer; infinite for nodes that it can isolate.

    The share is at most ``(2/sigma^2) T'L_h^+ T / (D_i - D_i^2/total)``, ``T = D_i (e_i - d/total)``
    (theory: Calibration), and ``(e_i - d/total)' L_h^+ (e_i - d/total)`` is the energy of a current that enters at
    ``i`` and leaves in proportion to ``d``: at most that of any flow (Thomson), so of one down a tree from ``i``, so of
    one down a path on which the smallest ``d`` come first, and of the path through all nodes rather than some.
    ``total`` is at least that of ``i`` and its honest neighbours.
    """
    D = secrets.Q**2 * secrets.K
    with np.errstate(divide="ignore"):
        return np.asarray(2 * D * _path_energy(D) * (1 + D / _least(secrets, D, t)))


def seen_by_taps(secrets: Secrets, strength: float) -> Array:
    """The same for taps without a corrupt node, which do not know a shift of variance ``sigma^2/(2 strength)``,
    ``strength`` the sum of ``c^2`` over the edges with messages.

    A current that leaves in proportion to ``Q``, and what is left of it, ``1 / sum Q``, against the shift.
    """
    shift = strength / secrets.Q.sum() ** 2
    return np.asarray(2 * secrets.Q**2 * secrets.K * (_path_energy(secrets.Q) + shift))


def _least(secrets: Secrets, values: Array, t: int) -> Array:
    """For each node the sum over its neighbours, but for the ``t`` largest."""
    network, least = secrets.problem.network, np.zeros(secrets.n)
    for i in range(secrets.n):
        around = network.around(i)
        if len(around) > t:
            least[i] = np.sort(values[around])[: len(around) - t].sum()
    return least


def _path_energy(weights: Array) -> float:
    """Of a current that enters a path of unit resistors at one end, and leaves in proportion to the sorted weights."""
    passed = np.cumsum(np.sort(weights))[:-1] / weights.sum()
    return float(((1 - passed) ** 2).sum())
