"""Shamir's secret sharing as a protocol for sums: all deal shares to all, and add up what they were dealt."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import numpy as np

from ..errors import InvalidInput
from ..network import Network
from ..pdmm.problem import Problem
from ..pdmm.settings import positive_integer
from ..privacy.adversary import Adversary, node_numbers, node_set
from .base import Family, Leakage, Method, Outcome, Traffic, numbers_of, positive, randomness
from .fixed_point import RESOLUTION, in_units, mean_of
from .known_sums import nats_of_sums
from .optimum import optimum
from .polynomial_shares import asked_threshold, deal, is_prime, reconstruct, settled_threshold
from .sent import Sent

MERSENNE = 2**61 - 1  # a share has 8 bytes


@dataclass(frozen=True)
class Shamir(Method):
    """A sum by Shamir's shares over a prime field (Shamir 1979; Ben-Or, Goldwasser, Wigderson 1988).

    Party ``i`` hides its number in a polynomial ``f_i`` of degree ``t`` with ``f_i(0) = s_i`` and sends ``f_i(j)`` to
    ``j``, for every ``j``. Each adds up what it was dealt, ``F(j) = sum_i f_i(j)``, and sends that to all; ``F(0)`` is
    the sum, from any ``t + 1`` of them. An oracle for answers without error and leakage at the floor.

    Parameters
    ----------
    threshold : int, optional
        ``t``: as many may collude and learn the sum only; ``(n - 1) // 2`` by default, and at least 1.
    resolution : float
        Numbers are rounded to multiples of it; whole numbers are exact with 1, and with the default.
    prime : int
        The size of the field, ``n |s_i| < prime/2`` in units of the resolution.
    dropouts : collection of nodes
        Those that vanish after they dealt, by name or number: their numbers are in the sum, which others still find as
        long as ``t + 1`` are left. Whoever vanishes before it dealt takes no part, and is no node.

    Raises
    ------
    InvalidInput
        A threshold that fits no network, a number that is no prime, a resolution that is not positive; as it runs, a
        threshold of ``n`` or more, numbers that are too large, and dropouts that are no nodes.

    Notes
    -----
    ``seconds`` are those of dealing and of reconstruction, at all parties; the encryption of private channels is not in
    them.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.Shamir(threshold=2, dropouts={4}).run([3, 1, 4, 1, 5], sv.Network.ring(5), seed=0)
    >>> outcome.x[:, 0].tolist(), outcome.traffic.messages
    ([2.8, 2.8, 2.8, 2.8, nan], 36)
    >>> [round(float(nats), 3) for nats in outcome.leakage(sv.privacy.Coalition({0, 1})).nats]
    [nan, nan, 0.203, 0.203, 0.203]
    """

    threshold: int | None = None
    resolution: float = RESOLUTION
    prime: int = MERSENNE
    dropouts: Collection[Hashable] = ()

    name: ClassVar[str] = "Shamir"
    family: ClassVar[Family] = "secret sharing"
    reference: ClassVar[str] = "Shamir 1979; Ben-Or, Goldwasser, Wigderson 1988"
    needs: ClassVar[str] = "private channels between all pairs: the edges of the network are not enough"
    breaks: ClassVar[str] = "more than t collude: everything is disclosed"
    survives: ClassVar[str] = "n - t - 1 that drop out after dealing; their numbers stay in the sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", asked_threshold(self.threshold))
        object.__setattr__(self, "resolution", positive(self.resolution, "resolution"))
        object.__setattr__(self, "dropouts", node_set(self.dropouts, "dropouts"))
        if not is_prime(positive_integer(self.prime, "prime")):
            raise InvalidInput(f"prime must be one, such as 2**61 - 1 or 2**127 - 1; got {self.prime}.")
        object.__setattr__(self, "prime", int(self.prime))

    @property
    def share(self) -> int:
        """Bytes of a share of one number."""
        return (self.prime.bit_length() + 7) // 8

    def settled(self, network: Network) -> tuple[int, list[int]]:
        """``t``, and those who stay."""
        if self.prime <= network.n:
            raise InvalidInput(f"prime must be larger than {network.n}, the number of nodes; got {self.prime}.")
        gone = set(node_numbers(network, self.dropouts, "dropouts"))
        return settled_threshold(self.threshold, network.n, "nodes"), [i for i in range(network.n) if i not in gone]

    def traffic(self, network: Network, dim: int = 1) -> Traffic:
        _, stay = self.settled(network)
        messages = (network.n + len(stay)) * (network.n - 1)
        return Traffic(messages, self.share * dim * messages, 2)

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        network, s, p = problem.network, numbers_of(problem, self), self.prime
        (n, d), (t, stay) = s.shape, self.settled(network)
        cure = "Take a larger prime, such as prime=2**127 - 1, or a coarser resolution."
        units = in_units(s, self.resolution, p, network, cure)
        rng, sent, began = randomness(seed), Sent(), perf_counter()
        points = range(1, n + 1)
        shares = deal(units.ravel().tolist(), t, points, p, rng).reshape(n, d, n)  # of whom, of which entry, at whom
        held = shares.sum(axis=0).T % p  # what each adds up, its own share included
        for senders in (range(n), stay):  # the sums go to all, since nobody knows yet who is gone
            for i in senders:
                for j in range(n):
                    if i != j:
                        sent.one(self.share * d)
            sent.rounds += 1
        x = np.full((n, d), np.nan)
        if found := len(stay) > t:
            for a, i in enumerate(stay):  # from its own sum and those of the next t
                chosen = [stay[(a + k) % len(stay)] for k in range(t + 1)]
                total = reconstruct([points[j] for j in chosen], held[chosen].T, p)
                x[i] = mean_of(total, self.resolution, p, n)
        seconds = perf_counter() - began
        lost = f"no answer: {len(stay)} of {n} nodes are left, and the sum needs {t + 1} of them."
        return Outcome(
            method=self,
            problem=problem,
            x=x,
            exact=optimum(problem),
            traffic=sent.traffic,
            seconds=seconds,
            converged=found,
            notes=() if found else (lost,),
            view=lambda adversary, prior: shown(adversary, n, d, t, stay),
        )


def shown(adversary: Adversary, n: int, dim: int, t: int, stay: Collection[int]) -> Leakage:
    """What the coalition's points on the polynomials determine. Sums of shares go over private channels too."""
    corrupt = adversary.corrupt
    honest = [i for i in range(n) if i not in corrupt]
    if len(corrupt) > t:
        everything = nats_of_sums([[i] for i in honest], corrupt, n, dim)
        return Leakage(everything, "exact", f"{len(corrupt)} shares of each polynomial, of degree {t}: all disclosed")
    # Points of the sum's polynomial: their own, and of those who stay where one of them stays to hear it.
    points = set(stay) | corrupt if not corrupt.isdisjoint(stay) else corrupt
    groups, told = ([honest], "the sum of the others") if len(points) > t else ([], "nothing")
    nats = nats_of_sums(groups, corrupt, n, dim)
    return Leakage(nats, "exact", f"{told}, as t shares are uniform; taps see nothing of private channels")
