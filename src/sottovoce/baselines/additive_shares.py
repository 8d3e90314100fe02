"""Additive shares between neighbours: every number is split among its party and the neighbours, and then added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..network import Network
from ..pdmm.problem import Problem
from ..pdmm.settings import positive_integer
from ..privacy.adversary import Adversary, honest_components
from .base import Family, Leakage, Method, Outcome, Traffic, numbers_of, positive, randomness
from .fixed_point import RESOLUTION, in_units, mean_of
from .known_sums import nats_of_sums
from .optimum import optimum
from .over_tree import summed, traffic_over
from .sent import Sent

Words = npt.NDArray[np.uint64]

WORD = 64  # bits


@dataclass(frozen=True)
class AdditiveShares(Method):
    """A sum by additive shares modulo ``2^bits`` (Cramer, Damgard, Nielsen 2015, chapter 3, between neighbours only).

    Party ``i`` gives a uniform share ``p_ij`` to every neighbour ``j``, and is left with

        m_i = s_i - sum_j p_ij + sum_j p_ji        modulo 2^bits,

    which is added up over a spanning tree, in the clear. An oracle for ``ModularMask``, which averages such ``m_i``.

    Parameters
    ----------
    bits : int
        Of a word, 2 to 64: ``n |s_i| < 2^(bits-1)`` in units of the resolution.
    resolution : float
        Numbers are rounded to multiples of it; whole numbers are exact with 1, and with the default.
    derived : bool
        Whether the two ends of an edge derive their shares from a key that they have, so that none is sent.

    Raises
    ------
    InvalidInput
        For other bits, or a resolution that is not positive; as it runs, for numbers that are too large.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.AdditiveShares().run([3, 1, 4, 1, 5], sv.Network.ring(5), seed=0)
    >>> outcome.x[:, 0].tolist(), outcome.traffic.messages
    ([2.8, 2.8, 2.8, 2.8, 2.8], 18)
    >>> [round(float(nats), 3) for nats in outcome.leakage(sv.privacy.Coalition({0, 2})).nats]
    [nan, inf, nan, 0.347, 0.347]
    """

    bits: int = WORD
    resolution: float = RESOLUTION
    derived: bool = False

    name: ClassVar[str] = "additive shares"
    family: ClassVar[Family] = "secret sharing"
    reference: ClassVar[str] = "Cramer, Damgard, Nielsen 2015, chapter 3"
    needs: ClassVar[str] = "private edges, or a key on each, and a spanning tree"
    breaks: ClassVar[str] = "the honest graph is cut: sums of its parts are disclosed"
    survives: ClassVar[str] = "nobody"

    def __post_init__(self) -> None:
        if not 2 <= positive_integer(self.bits, "bits") <= WORD:
            raise InvalidInput(f"bits must be an integer in 2 .. {WORD}; got {self.bits}.")
        object.__setattr__(self, "bits", int(self.bits))
        object.__setattr__(self, "resolution", positive(self.resolution, "resolution"))
        if not isinstance(self.derived, bool):
            raise InvalidInput(f"derived must be True or False; got {self.derived!r}.")

    @property
    def word(self) -> int:
        """Bytes of a share of one number."""
        return (self.bits + 7) // 8

    def traffic(self, network: Network, dim: int = 1) -> Traffic:
        size, sums = self.word * dim, traffic_over(network.spanning_tree(), self.word * dim)
        dealt = 0 if self.derived else 2 * network.m
        return Traffic(sums.messages + dealt, sums.bytes + size * dealt, sums.rounds + (not self.derived))

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        network, s = problem.network, numbers_of(problem, self)
        n, d = s.shape
        cure = f"Take a coarser resolution, or more bits (up to {WORD})."
        units = in_units(s, self.resolution, 2**self.bits, network, cure).astype(np.uint64)
        sent, size = Sent(), self.word * d
        stream = randomness(seed).randbytes(8 * 2 * network.m * d)
        shares = self.reduced(np.frombuffer(stream, "<u8").astype(np.uint64).reshape(-1, d))
        if not self.derived:
            for _ in shares:
                sent.one(size)
            sent.rounds = 1
        _, totals = summed(network.spanning_tree(), self.hidden(network, units, shares), size, sent)
        x = np.array([mean_of(total, self.resolution, 2**self.bits, n) for total in self.reduced(totals)])

        def view(adversary: Adversary, prior: float) -> Leakage:
            return sums_of_parts(network, adversary, d)

        return Outcome(method=self, problem=problem, x=x, exact=optimum(problem), traffic=sent.traffic, view=view)

    def reduced(self, words: Words) -> Words:
        """Modulo ``2^bits``. Sums of words wrap modulo ``2^64``, a multiple of it, so they need no care."""
        return words & np.uint64(2**self.bits - 1)

    def hidden(self, network: Network, units: Words, shares: Words) -> Words:
        """``m (n, d)``, from shares ``(2m, d)`` in the order of ``network.half_edges``: ``(i, j)`` is from ``i``."""
        m = units.copy()
        np.subtract.at(m, network.holders, shares)
        np.add.at(m, network.indices, shares)
        return self.reduced(m)


def sums_of_parts(network: Network, adversary: Adversary, dim: int) -> Leakage:
    """The sum over each connected group of honest nodes.

    Taps see all ``m_i``. A coalition without them sees its own tree edges: the sums of ``m`` over the parts into which
    the tree falls without it. Shares between two parts of one group hide both, so that it learns as much: their sum.
    """
    groups = honest_components(network, adversary.corrupt) if adversary.taps or adversary.corrupt else []
    nats = nats_of_sums(groups, adversary.corrupt, network.n, dim)
    return Leakage(nats, "exact", "the sum over each connected group of honest nodes, as shares are uniform")
