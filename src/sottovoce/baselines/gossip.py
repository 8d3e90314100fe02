"""Randomised gossip: two neighbours at a time take their mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..network import Network
from ..numerics.counter_random import uniform
from ..pdmm.problem import Problem
from ..pdmm.schedules import key_of
from ..pdmm.settings import positive_integer
from ..privacy.adversary import Adversary
from .base import FLOAT, Family, Leakage, Method, Outcome, Traffic, numbers_of, positive
from .gradient_method import follow
from .optimum import optimum
from .without_noise import Space, everybody, told_by, zero

Nodes = npt.NDArray[np.int64]
TOGETHER = 32  # rounds whose exchanges are drawn together
FLUSH = 64  # numbers that a coalition heard, looked at together


@dataclass(frozen=True)
class Gossip(Method):
    """Randomised gossip (Boyd, Ghosh, Prabhakar, Shah 2006): a node at random asks a neighbour at random, and both take
    the mean of their numbers. Two messages an exchange; ``n`` exchanges are a round, after which an observer looks.

    In mean square the distance from the mean shrinks by ``lambda_2(E W)`` an exchange at least (``averaging_matrix``).

    Parameters
    ----------
    tol : float
        The run ends where no answer is further from the exact one, relative to the largest answer or 1.
    max_rounds : int
        The most rounds.

    Raises
    ------
    InvalidInput
        Where a parameter is not a positive number.
    Unsupported
        When played, for costs other than ``Averaging``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.Gossip().run([3, 1, 4, 1], sv.Network.ring(4), seed=0)
    >>> outcome.converged, [round(float(x), 6) for x in outcome.x[:, 0]]
    (True, [2.25, 2.25, 2.25, 2.25])
    """

    tol: float = 1e-9
    max_rounds: int = 20_000

    name: ClassVar[str] = "gossip"
    family: ClassVar[Family] = "without privacy"
    reference: ClassVar[str] = "Boyd, Ghosh, Prabhakar, Shah 2006"
    needs: ClassVar[str] = "nothing"
    breaks: ClassVar[str] = "nobody need collude: every message is a function of data"
    survives: ClassVar[str] = "whoever leaves takes along what its number differs from the mean"

    def __post_init__(self) -> None:
        positive(self.tol, "tol")
        positive_integer(self.max_rounds, "max_rounds")

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        s, exact, network, key = numbers_of(problem, self), optimum(problem), problem.network, key_of(seed)
        end = follow(iterates(network, s, key), exact, self.tol, self.max_rounds)
        messages = 2 * network.n * end.rounds
        sent = Traffic(messages, FLOAT * problem.dim * messages, end.rounds)

        def view(adversary: Adversary, prior: float) -> Leakage:
            return heard(network, problem.dim, adversary, key, end.rounds)

        return Outcome(
            method=self, problem=problem, x=end.x, exact=exact, traffic=sent, converged=end.converged, view=view
        )


def averaging_matrix(network: Network) -> Array:
    """``E W``: an exchange of ``i`` and ``j`` is ``W = I - (e_i - e_j)(e_i - e_j)'/2``, and ``i`` asks ``j`` with
    probability ``1/(n d_i)``. As ``W'W = W``, its second eigenvalue bounds what an exchange leaves of the variance."""
    W = np.eye(network.n)
    for i, j in network.edges.tolist():
        chance = (1.0 / network.degrees[i] + 1.0 / network.degrees[j]) / network.n
        W[[i, j], [i, j]] -= 0.5 * chance
        W[[i, j], [j, i]] += 0.5 * chance
    return W


def exchanges(network: Network, key: int, first: int, count: int) -> tuple[Nodes, Nodes]:
    """Who asks whom in the exchanges ``first .. first + count - 1``, a function of these arguments alone."""
    k = np.arange(first, first + count, dtype=np.uint64)
    i = (uniform(key, k, 0) * network.n).astype(np.int64)
    which = (uniform(key, k, 1) * network.degrees[i]).astype(np.int64)
    return i, network.indices[network.indptr[i] + which].astype(np.int64)


def iterates(network: Network, s: Array, key: int) -> Iterator[Array]:
    """The numbers of all nodes after 0, 1, ... rounds of ``n`` exchanges."""
    from ._gossip_kernel import average

    x, n, first = s.copy(), network.n, 0
    yield x
    while True:
        i, j = exchanges(network, key, first, TOGETHER * n)
        first += TOGETHER * n
        for at in range(0, TOGETHER * n, n):
            average(x, i[at : at + n], j[at : at + n])
            yield x


def heard(network: Network, copies: int, adversary: Adversary, key: int, rounds: int) -> Leakage:
    """What the exchanges of this run showed: to taps whoever took part, to a coalition what it was told itself."""
    n, corrupt = network.n, adversary.corrupt
    if adversary.taps:
        spoke = np.unique(np.concatenate(exchanges(network, key, 0, rounds * n)))
        return everybody(network, adversary, spoke)
    honest = np.flatnonzero(~np.isin(np.arange(n), list(corrupt)))
    if not corrupt:
        return zero(n)

    def hear(space: Space) -> None:
        # Every number is a map of the honest secrets; the coalition's own are known, and count as nothing.
        maps = space.zeros(n)
        maps[honest] = space.unit(len(honest))
        half, told = space.number(0.5), []
        for first in range(0, rounds * n, n):
            for i, j in zip(*(part.tolist() for part in exchanges(network, key, first, n)), strict=True):
                if (i in corrupt) != (j in corrupt):
                    told.append(maps[j if i in corrupt else i].copy())
                maps[i] = maps[j] = space.reduced((maps[i] + maps[j]) * half)
            if len(told) >= FLUSH or first + n >= rounds * n:
                new = space.add(np.array(told).reshape(len(told), len(honest)))
                told = []
                if space.full or (not len(new) and space.holds(maps)):  # all that can still be told is known
                    return

    found = told_by(hear, n, honest, copies)
    return Leakage(found.nats, found.kind, f"{found.told}; who met whom is taken to be known")
