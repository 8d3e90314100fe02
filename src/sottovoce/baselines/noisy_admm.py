"""Noise in every message of ADMM, and what a recorded run of it gives away.

ADMM is ``theta = 1/2`` (the paper, eqs. 2 to 5). For averages, ``f_i = (x - s_i)^2``, from ``z = 0``, with
``l_i = sum_j A_ij (z_{i|j} + z_{j|i})/2`` it reads, node by node,

    x_i = (2 s_i - l_i + (c/2) sum_j (v_i + v_j)) / (2 + c d_i)
    v_i = x_i + eta_i                                             which is sent to all neighbours
    l_i = l_i + (c/2) sum_j (v_i - v_j)

Without noise ``v = x``. With it, ``v`` stands for ``x`` in all that follows, at its own node too: primal variable
perturbation, after Zhang and Zhu (2017), with Gaussian noise. The sum of all ``l_i`` stays 0, so the answer has no bias
but that of a run that is not over.

Taps know ``v``, and so ``l``: every round they see ``2 s_i / (2 + c d_i) + eta_i`` anew. Noise that is drawn again
and again averages out for them; that is what a single draw on the data avoids.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from typing import ClassVar, Literal

import numpy as np

from ..costs.base import Array
from ..errors import InvalidInput
from ..network import Network
from ..pdmm.guess import guess_c
from ..pdmm.problem import Problem
from ..pdmm.settings import positive_integer
from ..privacy.adversary import Adversary
from .base import FLOAT, Family, Leakage, Method, Outcome, Traffic, numbers_of, positive

ENDED = (1e-2, 1e-5)  # of the error of answering 0: what a candidate's run may leave, without noise
ENDS = (1.0, 0.05)  # what a candidate's noise comes down to
SMALLEST = 1e-12  # what any noise may come down to: beyond, rounding shows in what is said to be exact
LONGEST = 2_000  # rounds of a candidate


@dataclass(frozen=True)
class NoisyADMM(Method):
    """DP-ADMM: ``x_i(k) + N(0, variance decay^k)`` in each message (Zhang and Zhu 2017; with noise that decays: Huang,
    Hu, Guo, Chan-Tin, Gong 2019).

    The number of rounds is known beforehand, for every round gives more away. The answer of a node is its ``x`` after
    the last messages, which nobody is sent.

    Parameters
    ----------
    variance : float
        Of the noise in the first message of a node.
    c : float or "auto"
        The step parameter; ``"auto"`` is a guess by curvature and graph.
    rounds : int
        Messages of a node to each of its neighbours.
    decay : float
        In ``(0, 1]``: what the variance is multiplied with from one round to the next.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.NoisyADMM(variance=1.0, c=1.0, rounds=20).run([3, 1, 4, 1], sv.Network.ring(4), seed=0)
    >>> outcome.traffic.messages, round(outcome.leakage(sv.privacy.Eavesdropper()).worst, 4)
    (160, 0.8959)
    """

    variance: float = 1.0
    c: float | Literal["auto"] = "auto"
    rounds: int = 20
    decay: float = 1.0

    name: ClassVar[str] = "noise in every ADMM iteration"
    family: ClassVar[Family] = "differential privacy"
    reference: ClassVar[str] = "Zhang, Zhu 2017; Huang, Hu, Guo, Chan-Tin, Gong 2019"
    needs: ClassVar[str] = "nothing: no keys, no private channels"
    breaks: ClassVar[str] = "nobody: all others together learn no more than taps do"
    survives: ClassVar[str] = "the rest go on, with what a party that leaves said last"
    hides: ClassVar[str] = "variance"
    noisy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(self.variance, "variance")
        if not isinstance(self.c, str):
            positive(self.c, "c")
        elif self.c != "auto":
            raise InvalidInput(f"c must be a positive number, or 'auto'; got {self.c!r}.")
        positive_integer(self.rounds, "rounds")
        if positive(self.decay, "decay") > 1:
            raise InvalidInput(f"decay must be in (0, 1], 1 for constant noise; got {self.decay!r}.")
        if self.decay**self.rounds < SMALLEST:
            raise InvalidInput(
                f"decay={self.decay!r} leaves less than {SMALLEST:g} of the noise after {self.rounds} rounds. Take a "
                "decay nearer to 1, or fewer rounds."
            )

    def traffic(self, network: Network, dim: int = 1) -> Traffic:
        messages = 2 * network.m * self.rounds
        return Traffic(messages, FLOAT * dim * messages, self.rounds)

    def candidates(self, problem: Problem) -> tuple[Method, ...]:
        """For every ``c`` the rounds that a run takes without noise, to one accuracy or another. Fewer would seem to do
        better where noise is large, by hardly looking at the data: a run begins at 0."""
        found = []
        for c in (guess_c(problem) * 2.0**power for power in range(4)):
            for rounds in sorted({rounds_to_end(problem.network, c, left) for left in ENDED}):
                found += [replace(self, c=c, rounds=rounds, decay=end ** (1 / rounds)) for end in ENDS]
        return tuple(found)

    def step(self, problem: Problem) -> float:
        """``c`` as a number."""
        return guess_c(problem) if isinstance(self.c, str) else float(self.c)

    def deviations(self) -> Array:
        """Of the noise in each round, where that in the first is 1."""
        return np.asarray(self.decay ** (np.arange(self.rounds) / 2))

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        s, c = numbers_of(problem, self), self.step(problem)
        rng = np.random.default_rng(None if seed is None else [seed, 5])  # a stream of its own: data may have this seed
        noise = (np.sqrt(self.variance) * sd * rng.standard_normal(s.shape) for sd in self.deviations())
        x = last(admm(problem.network, c, s, noise))
        sent = self.traffic(problem.network, problem.dim)

        def view(adversary: Adversary, prior: float) -> Leakage:
            nats = self.nats(problem.network, c, adversary, prior / self.variance)
            return Leakage(problem.dim * nats, "exact", "posterior of all messages that are seen")

        return Outcome(method=self, problem=problem, x=x, exact=s.mean(axis=0), traffic=sent, view=view)

    def expected_error(self, problem: Problem) -> float:
        """The mean of ``Outcome.error`` over the noise."""
        s, c = numbers_of(problem, self), self.step(problem)
        network, still = problem.network, repeat(np.zeros(()), self.rounds)
        bias = last(admm(network, c, s, still)) - s.mean(axis=0)
        of_noise = last(admm(network, c, *units(network.n, self.deviations())))[:, network.n :]
        return float(np.mean(bias**2) + self.variance * (of_noise**2).sum() / network.n)

    def nats(self, network: Network, c: float, adversary: Adversary, ratio: float) -> Array:
        """``I(S_i; view)`` of one number, where its variance is ``ratio`` times that of the first noise."""
        honest = np.setdiff1d(np.arange(network.n), list(adversary.corrupt))
        nats = np.full(network.n, np.nan)
        if adversary.sees_all("open"):  # so many independent looks at 2 s_i / (2 + c d_i)
            share = 2 / (2 + c * network.degrees[honest])
            nats[honest] = 0.5 * np.log1p(ratio * share**2 * (self.deviations() ** -2.0).sum())
            return nats
        J, V = fisher(network, c, self.rounds, self.decay, adversary.corrupt)
        known, left = V**2 @ (ratio * J / (1 + ratio * J)), V**2 @ (1 / (1 + ratio * J))
        nats[honest] = 0.5 * np.log1p(known / left)  # right to rounding at both ends, as known + left = 1
        return nats


def admm(
    network: Network, c: float, s: Array, noise: Iterable[Array], felt: Array | float = 1.0
) -> Iterator[tuple[Array, Array]]:
    """Round by round: ``v`` that is sent, and ``x`` once it has arrived; ``s`` and noise are ``(n, columns)``.

    Where ``felt`` is 0, ``v`` is taken for 0 afterwards: what remains when numbers that are known are subtracted.
    """
    W, d = network.adjacency.astype(np.float64), network.degrees[:, None]
    x, l = 2 * s / (2 + c * d), np.zeros_like(s)
    for eta in noise:
        v = x + eta
        own, around = d * (felt * v), W @ (felt * v)
        l = l + (c / 2) * (own - around)
        x = (2 * s - l + (c / 2) * (own + around)) / (2 + c * d)
        yield v, x


def last(rounds: Iterable[tuple[Array, Array]]) -> Array:
    """``x`` after the last round, without keeping those before."""
    return deque(rounds, maxlen=1)[0][1]


def units(n: int, deviations: Array) -> tuple[Array, Iterator[Array]]:
    """Secrets and noise as rows of coefficients: first of ``n`` secrets, then of the noise of each round."""
    width = n * (1 + len(deviations))

    def noise() -> Iterator[Array]:
        for k, sd in enumerate(deviations, start=1):
            yield sd * np.eye(n, width, k * n)

    return np.eye(n, width), noise()


@lru_cache(maxsize=64)
def fisher(network: Network, c: float, rounds: int, decay: float, corrupt: frozenset[int]) -> tuple[Array, Array]:
    """What corrupt nodes are told is as good as ``Y = A S + C E + N(0, variance I)``, where ``E ~ N(0, variance I)`` is
    the noise of nodes that they do not hear. Returned are the eigenvalues and eigenvectors of
    ``A' (I + C C')^{-1} A``: divided by the variance, what ``Y`` adds to the precision ``I/prior`` of honest secrets.
    """
    nodes, deviations = np.arange(network.n), decay ** (np.arange(rounds) / 2)
    inside = np.isin(nodes, list(corrupt))
    heard = ~inside & (network.adjacency @ inside.astype(np.float64) > 0)
    hidden = ~inside & ~heard
    played = admm(network, c, *units(network.n, deviations), felt=hidden[:, None].astype(np.float64))
    # In units of its own noise, which shows nowhere else: a number that is known is subtracted from all that follows.
    Y = np.concatenate([v[heard] / sd for (v, _), sd in zip(played, deviations, strict=True)])
    A, C = Y[:, nodes[~inside]], Y[:, network.n :][:, np.tile(hidden, rounds)]
    # By singular values: a product such as C C' would square the condition. U must be square.
    U, sizes, _ = np.linalg.svd(C, full_matrices=len(C) > C.shape[1])
    left = np.ones(len(Y))
    left[: len(sizes)] = 1 / np.hypot(1, sizes)
    _, sizes, V = np.linalg.svd(left[:, None] * (U.T @ A))
    return np.pad(sizes**2, (0, len(V) - len(sizes))), V.T


def rounds_to_end(network: Network, c: float, left: float) -> int:
    """Rounds after which a run without noise on random numbers leaves so much of the error of answering 0."""
    s = np.random.default_rng(0).standard_normal((network.n, 16))
    exact = s.mean(axis=0)
    played = enumerate(admm(network, c, s, repeat(np.zeros(()), LONGEST)), start=1)
    ended = (rounds for rounds, (_, x) in played if np.mean((x - exact) ** 2) <= left * np.mean(exact**2))
    return next(ended, LONGEST)
