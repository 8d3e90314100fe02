"""Noise on the data, once, and then the mean of the noisy numbers over a spanning tree.

What is sent after the noise is a function of the noisy numbers, so nothing that carries their sum gives away more than
they do; the cheapest is fair. That is a sum up a tree and the total down again: ``2 (n - 1)`` messages, against
thousands of an iteration over all edges, and no other protocol that tells every node its answer has fewer.

Taps read the subtree sums, whose differences are the noisy numbers, all of them. Corrupt nodes without taps read what
their own neighbours on the tree say: the subtree sums below them, and the total. Together this is the sum over each
part of the tree that is left without them, and no more.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from ..costs.base import Array
from ..network import Network
from ..pdmm.problem import Problem
from ..privacy.adversary import Adversary, honest_components
from .base import FLOAT, Family, Leakage, Method, Outcome, Traffic, numbers_of


class NoiseOnce(Method):
    """What Gaussian and Laplace noise have in common: a draw, and what a sum of noisy numbers tells of one of them."""

    family: ClassVar[Family] = "differential privacy"
    needs: ClassVar[str] = "nothing but a tree: no keys, no private channels"
    breaks: ClassVar[str] = "nobody: all others together learn no more than taps do"
    survives: ClassVar[str] = "whoever leaves before the sum; during it, a lost tree edge means another tree"
    noisy: ClassVar[bool] = True

    @abstractmethod
    def perturbed(self, s: Array, seed: int | None) -> Array:
        """The numbers ``(n, d)`` with noise on each."""

    @abstractmethod
    def told(self, prior: float, size: int) -> float:
        """Nats about one secret number in the sum of so many noisy ones."""

    def traffic(self, network: Network, dim: int = 1) -> Traffic:
        messages = 2 * (network.n - 1)
        return Traffic(messages, FLOAT * dim * messages, 2 * network.spanning_tree().depth)

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        s, tree = numbers_of(problem, self), problem.network.spanning_tree()
        total = np.array([tree.sums(column)[tree.root] for column in self.perturbed(s, seed).T])
        x = np.tile(total / len(s), (len(s), 1))

        def view(adversary: Adversary, prior: float) -> Leakage:
            nats = np.full(len(s), np.nan)
            parts = honest_components(tree.network, adversary.corrupt)
            for part in parts:
                size = 1 if adversary.sees_all("open") else len(part)
                heard = adversary.taps or adversary.corrupt
                nats[part] = problem.dim * self.told(prior, size) if heard else 0.0
            seen = "the noisy numbers" if adversary.taps else "sums of noisy numbers over parts of the tree"
            return Leakage(nats, "exact", seen)

        sent = self.traffic(problem.network, problem.dim)
        return Outcome(method=self, problem=problem, x=x, exact=s.mean(axis=0), traffic=sent, view=view)
