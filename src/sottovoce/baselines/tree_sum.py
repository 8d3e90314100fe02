"""Gaussian pads on every edge, and a plain sum over a spanning tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..costs.base import Array
from ..network import Network
from ..network.trees import SpanningTree
from ..pdmm.masks import GaussianMask
from ..pdmm.problem import Problem
from ..privacy.adversary import Adversary, honest_components
from .base import FLOAT, Family, Leakage, Method, Outcome, Traffic, numbers_of, positive
from .optimum import optimum
from .over_tree import summed, traffic_over
from .row_space import information
from .sent import Sent


@dataclass(frozen=True)
class TreeSum(Method):
    """Pads that cancel, and a sum over a spanning tree: the matched tree of the package as plain summation.

    The two ends of every edge share a pad ``p_ij = (z_{i|j}(0) + z_{j|i}(0)) / 4``, which one adds and the other
    subtracts: ``w_i = s_i - sum_j A_ij p_ij``. The ``w_i`` go up the tree as sums over subtrees, and the sum of all
    comes down. An oracle for ``SubspacePerturbation(overlay="tree")``: the same answer, and what the messages need.

    Parameters
    ----------
    variance : float
        Of ``z(0)``, as everywhere in the package; a ``p_ij`` has an eighth of it.

    Raises
    ------
    InvalidInput
        Where it is not positive.

    Notes
    -----
    What a coalition with taps learns is the closed form of the auditor. A pure eavesdropper learns more than from the
    package's own run: the sum comes down in the clear, where PDMM sends it under the pads ``e`` of the edges.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.TreeSum(variance=1e4).run([3, 1, 4, 1, 5], sv.Network.ring(5), seed=0)
    >>> [round(float(x), 9) for x in outcome.x[:, 0]], outcome.traffic.messages, outcome.traffic.rounds
    ([2.8, 2.8, 2.8, 2.8, 2.8], 8, 4)
    >>> round(outcome.leakage(sv.privacy.Eavesdropper()).worst, 3)
    0.112
    """

    variance: float = 1e8

    name: ClassVar[str] = "tree sum"
    family: ClassVar[Family] = "secret sharing"
    reference: ClassVar[str] = "pads and a spanning-tree sum; the package's theory, Fewer messages"
    needs: ClassVar[str] = "a pad on every edge, from the keys of its ends, and a spanning tree"
    breaks: ClassVar[str] = "the honest graph is cut: sums of its parts are disclosed"
    survives: ClassVar[str] = "nobody"
    hides: ClassVar[str] = "variance"

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(self.variance, "variance"))

    def traffic(self, network: Network, dim: int = 1) -> Traffic:
        return traffic_over(network.spanning_tree(), FLOAT * dim)

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        network, s = problem.network, numbers_of(problem, self)
        n, d = s.shape
        tree, sent = network.spanning_tree(), Sent()
        z0 = GaussianMask(self.variance).draw((2 * network.m, d), seed)
        first = np.flatnonzero(network.holders < network.indices)  # half-edges in the order of the edges
        pads, w = (z0[first] + z0[network.twin[first]]) / 4, s.copy()
        np.add.at(w, network.edges[:, 0], pads)
        np.subtract.at(w, network.edges[:, 1], pads)
        _, totals = summed(tree, w, FLOAT * d, sent)

        def view(adversary: Adversary, prior: float) -> Leakage:
            return self.seen(network, tree, adversary, prior, d)

        return Outcome(
            method=self, problem=problem, x=totals / n, exact=optimum(problem), traffic=sent.traffic, view=view
        )

    def seen(self, network: Network, tree: SpanningTree, adversary: Adversary, prior: float, dim: int) -> Leakage:
        """Of the sums that the adversary reads on the tree, given the pads that it holds."""
        n, corrupt = network.n, np.isin(np.arange(network.n), list(adversary.corrupt))
        sums, _ = summed(tree, np.eye(n), 0, Sent())  # a row per node: whose w its subtree adds up
        own = corrupt | (corrupt[tree.parents] & (tree.parents >= 0))
        rows = sums if adversary.taps else sums[own]
        # From these and the sum of all, which everybody is told, follow the sums over honest groups. As rows of their
        # own they are there to the last digit, whatever the size of the pads that cancel from them.
        if len(rows):
            groups = honest_components(network, adversary.corrupt)
            rows = np.vstack([rows, [np.isin(np.arange(n), group) for group in groups]])
        hidden = ~corrupt[network.edges].any(axis=1)
        noise = rows @ signs(network)[:, hidden] * np.sqrt(self.variance / 8)
        nats = dim * information(rows, noise, prior, np.flatnonzero(~corrupt), n)
        return Leakage(nats, "exact", "posterior variance given the sums on the tree, in the clear")


def signs(network: Network) -> Array:
    """``-A_ij``, ``(n, m)``: what each end does with the pad of an edge."""
    found = np.zeros((network.n, network.m))
    found[network.edges[:, 0], np.arange(network.m)] = 1.0
    found[network.edges[:, 1], np.arange(network.m)] = -1.0
    return found
