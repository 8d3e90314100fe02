"""Averaging under Paillier encryption: each step over an edge is computed by its two ends on ciphertexts.

In every round and over every edge ``(i, j)``, ``i`` sends ``E_i(-X_i)``, ``j`` returns ``E_i(a_ji (X_j - X_i))`` with
a weight ``a_ji`` that it draws anew and keeps, and ``i`` decrypts and multiplies by its own ``a_ij``. The same goes the
other way round, four ciphertexts in all, and both ends move towards each other by the same step:

    X_i <- X_i + sum_j round(step a_ij a_ji (X_j - X_i) / 2^32)

States are whole multiples of a resolution, weights whole numbers up to ``2^16``. Both ends hold the same product but
for its sign, and rounding is symmetric: the sum of all states is kept exactly. What rounding costs is that differences
below about ``1/(2 step)`` units are not evened out any more.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..errors import InvalidInput
from ..network import Network
from ..pdmm.problem import Problem
from ..pdmm.settings import positive_integer, whole_number
from ..privacy.adversary import Adversary
from .base import Family, Leakage, Method, Outcome, Traffic, numbers_of, positive, randomness
from .optimum import optimum, reached
from .paillier import checked_bits, fixed_point
from .paillier_exchange import WEIGHT, Parties
from .paillier_leakage import shown

LARGEST = 2.0**50  # units of a number
DIVERGED = 2.0**52  # units of a state: up to here it and its differences are exact floats, and products rounded once


class Turn(NamedTuple):
    """One round over all edges."""

    X: Array  # (n, d) states after it
    weights: npt.NDArray[np.int64]  # (2, m, d): a_ij of the first end of each edge, a_ji of the second
    steps: Array  # (m, d): what the first end adds, and the second takes away


@dataclass(frozen=True)
class PaillierConsensus(Method):
    """Consensus on ciphertexts (Ruan, Gao, Wang 2019, arXiv 1707.04491); an oracle for exact averages without pads.

    Paillier's cryptosystem is the package's own, for this comparison only. It uses ``gmpy2`` where that is installed.

    Parameters
    ----------
    bits : int
        Of the modulus of a key: 2048 or 3072; 128 and more for tests. A ciphertext has twice as many.
    step : float or "auto"
        Below one over the largest degree it converges whatever the weights; ``"auto"`` is ``1/(1 + largest degree)``.
    resolution : float or "auto"
        Of which states are whole multiples; ``"auto"`` leaves 50 bits to the largest number, whose size is public then.
    encrypted : int or None
        So many exchanges over an edge, from the first on, are really encrypted, and None is all of them. The others
        are played on the same whole numbers in the clear, and their seconds are counted.
    tol : float
        The run ends where no answer is further from the exact one, relative to the largest answer or 1.
    max_rounds : int
        The most times that all edges are used.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> method = baselines.PaillierConsensus(bits=128, encrypted=None)  # a key for tests
    >>> outcome = method.run([3, 1, 4, 1], sv.Network.ring(4), seed=0)
    >>> [round(float(x), 6) for x in outcome.x[:, 0]]
    [2.25, 2.25, 2.25, 2.25]
    >>> outcome.leakage(sv.privacy.Coalition({0, 2})).nats.tolist()
    [nan, inf, nan, inf]
    """

    bits: int = 2048
    step: float | Literal["auto"] = "auto"
    resolution: float | Literal["auto"] = "auto"
    encrypted: int | None = 1
    tol: float = 1e-9
    max_rounds: int = 20_000

    name: ClassVar[str] = "Paillier consensus"
    family: ClassVar[Family] = "homomorphic encryption"
    reference: ClassVar[str] = "Ruan, Gao, Wang 2019 (arXiv 1707.04491); Paillier 1999"
    needs: ClassVar[str] = "a key pair of each party, and seconds of arithmetic in every round"
    breaks: ClassVar[str] = "one corrupt neighbour: whole products have few factors; all neighbours: disclosed"
    survives: ClassVar[str] = "nobody: what a party has moved to its neighbours stays in the mean"

    def __post_init__(self) -> None:
        checked_bits(self.bits)
        for value, name in ((self.step, "step"), (self.resolution, "resolution")):
            if isinstance(value, str) and value != "auto":
                raise InvalidInput(f"{name} must be a positive number or 'auto'; got {value!r}.")
            if value != "auto":
                positive(value, name)
        whole_number(self.encrypted, "encrypted")
        positive(self.tol, "tol")
        positive_integer(self.max_rounds, "max_rounds")

    def candidates(self, problem: Problem) -> tuple[Method, ...]:
        """Steps from one over the largest degree to 8 of them, because products of weights have the mean 1/4. To choose
        among them takes no ciphertexts."""
        if self.step != "auto":
            return (self,)
        largest = int(problem.network.degrees.max())
        return tuple(replace(self, step=2.0 ** (k / 2) / largest, encrypted=0) for k in range(7))

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        s, exact, network = numbers_of(problem, self), optimum(problem), problem.network
        unit = self.unit(s)
        weights, nonces = sources(seed)
        parties = Parties(self.bits, nonces, self.encrypted)
        X, k = fixed_point(s, unit), 0
        turns = self.turns(X, network, weights, parties)
        while not (done := reached(X * unit, exact, self.tol)) and k < self.max_rounds and np.abs(X).max() < DIVERGED:
            X, k = next(turns).X, k + 1
        seconds, notes = parties.seconds(network, problem.dim, k)
        notes += (f"answers are whole multiples of {unit:.1e}, and their sum is kept exactly",)

        def view(adversary: Adversary, prior: float) -> Leakage:
            return shown(network, adversary, prior, unit, problem.dim)

        sent = self.sent(network, problem.dim, k)
        return Outcome(
            method=self,
            problem=problem,
            x=X * unit,
            exact=exact,
            traffic=sent,
            seconds=seconds,
            converged=done,
            notes=notes,
            view=view,
        )

    def unit(self, s: Array) -> float:
        """The resolution of a run on these numbers."""
        largest = float(np.abs(s).max())
        if self.resolution == "auto":
            return float(2.0 ** (np.ceil(np.log2(largest or 1.0)) - np.log2(LARGEST)))
        if largest > LARGEST * self.resolution:
            raise InvalidInput(
                f"numbers must be below 2^50 times the resolution, {self.resolution!r}: take a coarser one, or 'auto'."
            )
        return float(self.resolution)

    def turns(self, X: Array, network: Network, rng: random.Random, parties: Parties) -> Iterator[Turn]:
        """The rounds, without an end."""
        from scipy import sparse

        i, j = network.edges.T
        m, d = network.m, X.shape[1]
        step = 1 / (1 + int(network.degrees.max())) if self.step == "auto" else self.step
        ends = (np.concatenate([i, j]), np.tile(np.arange(m), 2))
        move = sparse.csr_array((np.repeat([1.0, -1.0], m), ends), shape=(network.n, m))
        while True:
            a = np.frombuffer(rng.randbytes(4 * m * d), "<u2").reshape(2, m, d).astype(np.int64) + 1
            products = a[0] * a[1] * (X[j] - X[i])  # the nearest float to a whole number
            parties.encrypt(products, X, a, i, j)
            steps = np.rint(products * (step / WEIGHT**2))
            X = X + move @ steps
            yield Turn(X, a, steps)

    def sent(self, network: Network, dim: int, rounds: int) -> Traffic:
        """The key to each neighbour, and in every round a question to each, whose answer is waited for."""
        m, key, ciphertext = network.m, int(self.bits) // 8, int(self.bits) // 4
        return Traffic(2 * m + 4 * m * rounds, 2 * m * key + 4 * m * rounds * dim * ciphertext, 1 + 2 * rounds)


def sources(seed: int | None) -> tuple[random.Random, random.Random]:
    """Of weights, and of keys and ciphertexts: a run is the same however much of it is encrypted."""
    rng = randomness(seed)
    return rng, randomness(None if seed is None else rng.getrandbits(64))
