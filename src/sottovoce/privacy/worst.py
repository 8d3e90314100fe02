"""The worst coalition of at most ``t`` nodes: every one is tried while that is affordable, else a bound is given."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np

from ..errors import InvalidInput, Unsupported
from .adversary import Adversary, Coalition, Eavesdropper
from .case import Case, nothing
from .indistinguishable import worst_told_apart
from .report import Guarantee, Report
from .views import Leaks

WORK = 2e10  # multiplications that enumeration may take: seconds
OVERHEAD = 3e6  # of one coalition, in multiplications


def worst_case(case: Case, t: int) -> Report:
    """For each node the coalition that learns most about it, and overall the one that learns most about anybody."""
    n = case.secrets.n
    if case.setting.view == "snapshot":
        raise Unsupported("the worst case is over transcripts; name the corrupt nodes of a snapshot.")
    check_size(t, n)
    count = coalitions_up_to(n, t)
    if count * work(case) > WORK:
        return _bounded(case, t)
    worst = nothing(case.secrets)
    by: list[frozenset[int] | None] = [None] * n
    overall, most = frozenset[int](), 0.0
    guarantee: Guarantee = "exact"
    method = "nothing is seen"
    for adversary in adversaries(n, t):
        if not adversary.corrupt and not adversary.sees_all(case.channels) and not case.published:
            continue
        leaks, method, guarantee = case.leaks(adversary)
        for i in np.flatnonzero(leaks.leakage > worst.leakage):
            by[i] = adversary.corrupt
            worst.leakage[i], worst.std[i] = leaks.leakage[i], leaks.std[i]
        # Who leaks most need not do so beyond the answer: each figure is a maximum of its own.
        for most_of, value in ((worst.floor, leaks.floor), (worst.excess, leaks.excess)):
            np.fmax(most_of, value, out=most_of)
        if np.nanmax(leaks.leakage) > most:
            overall, most = adversary.corrupt, float(np.nanmax(leaks.leakage))
    told = f"{method}, all {count:,} coalitions of at most {t}"
    mu = worst_told_apart(case, t)
    return case.assemble(worst, told, guarantee, Eavesdropper(), coalitions=tuple(by), overall=overall, mu=mu)


def check_size(t: int, n: int) -> None:
    """Refuse coalitions that leave nobody."""
    if isinstance(t, bool) or not isinstance(t, int | np.integer) or not 0 <= t < n:
        raise InvalidInput(f"max_corrupt must be an integer in 0 .. {n - 1}; got {t!r}.")


def adversaries(n: int, t: int) -> Iterator[Adversary]:
    """All coalitions of at most ``t`` nodes, with taps; the empty one is the eavesdropper."""
    for size in range(t + 1):
        for nodes in combinations(range(n), size):
            yield Coalition(nodes) | Eavesdropper()


def coalitions_up_to(n: int, t: int) -> int:
    return sum(comb(n, size) for size in range(t + 1))


def work(case: Case) -> float:
    """Of one coalition, in multiplications, about."""
    secrets = case.secrets
    unknowns = secrets.n * secrets.width
    if case.channels == "encrypted":
        unknowns += 2 * secrets.problem.network.m * secrets.width
    return 5 * float(unknowns) ** 3 + OVERHEAD


def _bounded(case: Case, t: int) -> Report:
    """A bound for every coalition of at most ``t``, from the neighbourhood alone.

    Fewer edges hide less, so keep only those between ``i`` and its honest neighbours, and give everything else away.
    Then ``Y_i = q_i + sum_j u_ij`` and ``Y_j = q_j - u_ij``: of ``u_ij`` the variance
    ``v_j = 1 / (1/D_j + 2/sigma^2)`` is left, ``D_j`` that of ``q_j``, and the share of ``S_i`` that is explained is
    ``D_i / (D_i + sum_j v_j)``. The worst coalition takes the ``t`` neighbours with the largest ``v_j``.
    """
    secrets, network = case.secrets, case.secrets.problem.network
    if secrets.K.ndim != 1 or secrets.width != 1 or case.variance == 0 or not hasattr(case.mask, "sigma"):
        raise Unsupported(
            f"{coalitions_up_to(secrets.n, t):,} coalitions are too many to try, and the bound for more needs "
            "independent secrets, isotropic costs and a Gaussian mask. Lower max_corrupt, or name the coalition."
        )
    D = secrets.Q**2 * secrets.K
    v = 1 / (1 / D + 2 / case.variance)
    left = np.zeros(secrets.n)
    for i in range(secrets.n):
        around = network.neighbours(i)
        if len(around) > t:
            left[i] = np.sort(v[around])[: len(around) - t].sum()
    copies = secrets.copies
    with np.errstate(divide="ignore"):
        leakage = 0.5 * copies * np.log1p(D / left)
    exposed = np.isinf(leakage)
    # How much of it is the floor depends on the coalition; the excess is at most all of it.
    floor = np.where(exposed, np.inf, np.nan)
    bound = Leaks(leakage, floor, leakage, np.full((secrets.n, 1), np.nan))
    by = tuple(frozenset(network.neighbours(i).tolist()) if exposed[i] else None for i in range(secrets.n))
    method = f"neighbourhood bound for all {coalitions_up_to(secrets.n, t):.3g} coalitions of at most {t}"
    mu = worst_told_apart(case, t)
    return case.assemble(bound, method, "upper bound", Eavesdropper(), coalitions=by, mu=mu)
