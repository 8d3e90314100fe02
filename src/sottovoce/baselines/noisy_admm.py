"""Noise in every message of ADMM, and what a recorded run of it gives away.

ADMM is ``theta = 1/2`` (the paper, eqs. 2 to 5). For averages, ``f_i = (x - s_i)^2``, from ``z = 0``, with
``l_i = sum_j A_ij (z_{i|j} + z_{j|i})/2`` it reads, node by node,

    x_i = (2 s_i - l_i + (c/2) sum_j (v_i + v_j)) / (2 + c d_i)
    v_i = x_i + eta_i                                             which is sent to all neighbours
    l_i = l_i + (c/2) sum_j (v_i - v_j)

Without noise ``v = x``. With it, ``v`` stands for ``x`` in all that follows, at its own node too: that is the primal
variable perturbation of Zhang and Zhu (2017), with Gaussian noise. The sum of all ``l_i`` stays 0, so the answer has no
bias but that of a run that is not over.

Taps know ``v``, and so ``l``: every round they see ``2 s_i / (2 + c d_i) + eta_i`` anew. Noise that is drawn again
and again averages out for them; that is what a single draw on the data avoids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from typing import ClassVar, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..costs.base import Array
from ..errors import InvalidInput
from ..network import Network
from ..pdmm.guess import guess_c
from ..pdmm.problem import Problem
from ..pdmm.settings import positive_integer
from ..privacy.adversary import Adversary
from .base import FLOAT, Family, Leakage, Method, Outcome, Traffic, numbers_of, positive

ENDED = 1e-2  # of the error of answering 0: what a candidate's run may leave, without noise
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

    def __post_init__(self) -> None:
        positive(self.variance, "variance")
        if not isinstance(self.c, str):
            positive(self.c, "c")
        elif self.c != "auto":
            raise InvalidInput(f"c must be a positive number, or 'auto'; got {self.c!r}.")
        positive_integer(self.rounds, "rounds")
        if positive(self.decay, "decay") > 1:
            raise InvalidInput(f"decay must be in (0, 1], 1 for constant noise; got {self.decay!r}.")

    def traffic(self, network: Network, dim: int = 1) -> Traffic:
        messages = 2 * network.m * self.rounds
        return Traffic(messages, FLOAT * dim * messages, self.rounds)

    def candidates(self, problem: Problem) -> tuple[Method, ...]:
        """Of every ``c`` the rounds that it needs without noise. Fewer would do better where noise is large, by hardly
        looking at the data: the run begins at 0."""
        steps = [guess_c(problem) * 2.0**power for power in range(5)]
        ended = [(c, rounds_to_end(problem.network, c)) for c in steps]
        decays = (1.0, 0.9, 0.8)
        return tuple(replace(self, c=c, rounds=rounds, decay=decay) for c, rounds in ended for decay in decays)

    def step(self, problem: Problem) -> float:
        """``c`` as a number."""
        return guess_c(problem) if isinstance(self.c, str) else float(self.c)

    def deviations(self) -> Array:
        """Of the noise in each round, where that in the first is 1."""
        return np.asarray(self.decay ** (np.arange(self.rounds) / 2))

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        s, rng, c = numbers_of(problem, self), np.random.default_rng(seed), self.step(problem)
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
        J = fisher(network, c, self.rounds, self.decay, adversary.corrupt)
        left = np.diag(np.linalg.inv(np.eye(len(honest)) + ratio * J))
        nats[honest] = np.maximum(-0.5 * np.log(left), 0.0)
        return nats


def admm(network: Network, c: float, s: Array, noise: Iterable[Array]) -> Iterator[tuple[Array, Array]]:
    """Round by round: ``v`` that is sent, and ``x`` once it has arrived; ``s`` and noise are ``(n, columns)``."""
    W, d = network.adjacency.astype(np.float64), network.degrees[:, None]
    x, l = 2 * s / (2 + c * d), np.zeros_like(s)
    for eta in noise:
        v = x + eta
        around = W @ v
        l = l + (c / 2) * (d * v - around)
        x = (2 * s - l + (c / 2) * (d * v + around)) / (2 + c * d)
        yield v, x


def last(rounds: Iterable[tuple[Array, Array]]) -> Array:
    """``x`` after the last round."""
    *_, (_, x) = rounds
    return x


def units(n: int, deviations: Array) -> tuple[Array, Iterator[Array]]:
    """Secrets and noise as rows of coefficients: first of ``n`` secrets, then of the noise of each round."""
    width = n * (1 + len(deviations))

    def noise() -> Iterator[Array]:
        for k, sd in enumerate(deviations, start=1):
            yield sd * np.eye(n, width, k * n)

    return np.eye(n, width), noise()


@lru_cache(maxsize=64)
def fisher(network: Network, c: float, rounds: int, decay: float, corrupt: frozenset[int]) -> Array:
    """``A' (B B')^{-1} A`` of what corrupt nodes are told, ``Y = A S + B E``: the posterior covariance of honest
    secrets is ``(I/prior + fisher/variance)^{-1}``, so that other variances take no more than this."""
    n = network.n
    inside = np.isin(np.arange(n), list(corrupt))
    heard = np.flatnonzero(~inside & (network.adjacency @ inside.astype(np.float64) > 0))
    if not len(heard):  # nobody listens
        return np.zeros((n - len(corrupt), n - len(corrupt)))
    deviations = decay ** (np.arange(rounds) / 2)
    rounds_of = zip(admm(network, c, *units(n, deviations)), deviations, strict=True)
    # Rows in units of their own noise, so that decay does not spoil the factor. What corrupt nodes drew is known.
    Y = np.concatenate([v[heard] / sd for (v, _), sd in rounds_of])
    honest = np.flatnonzero(~inside)
    A, B = Y[:, honest], Y[:, n:][:, np.tile(~inside, rounds)]
    return np.asarray(A.T @ cho_solve(cho_factor(B @ B.T), A))


def rounds_to_end(network: Network, c: float) -> int:
    """Rounds after which a run without noise is within ``ENDED`` of the mean of random numbers."""
    s = np.random.default_rng(0).standard_normal((network.n, 16))
    exact = s.mean(axis=0)
    played = enumerate(admm(network, c, s, repeat(np.zeros(()), LONGEST)), start=1)
    ended = (rounds for rounds, (_, x) in played if np.mean((x - exact) ** 2) <= ENDED * np.mean(exact**2))
    return next(ended, LONGEST)
