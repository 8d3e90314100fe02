"""A node that leaves for good, and its heir (theory: A party leaves), and a link that stays dead: nobody has to know
when, and nobody learns anything new."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.pdmm.masks import GaussianMask
from sottovoce.pdmm.node import Link, Node, nodes_of
from sottovoce.privacy import audit
from sottovoce.runtime.protocol.rerouting import PLANNED, Rerouting
from sottovoce.runtime.protocol.route import Route

GRAPHS = {
    "ring": sv.Network.ring(5),
    "complete": sv.Network.complete(4),
    "grid": sv.Network.grid(2, 3),
    "house": sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (3, 4)]),
}
MASK, C, THETA, DIM = GaussianMask(1e8), 0.4, 0.8, 3


@dataclass
class Run:
    """Everybody's costs and pads, and the planned route: the whole network, or a tree of it."""

    network: sv.Network
    costs: list[sv.Cost]
    z0: np.ndarray
    tree: bool = False

    def __post_init__(self) -> None:
        edges = [(int(i), int(j)) for i, j in self.network.edges]
        self.whole = self.planned = Route.over(edges, C, THETA)
        if self.tree:
            spanning = self.network.spanning_tree()
            matched = spanning.matched(np.full(self.network.n, 2.0)).tolist()
            self.planned = Route.over([(int(i), int(j)) for i, j in spanning.edges], matched, 1.0)
        self.rerouting = Rerouting(self.planned, self.whole, bytes(32))

    def edges(self, i: int) -> dict[int, Link]:
        place = {(int(a), int(b)): h for h, (a, b) in enumerate(self.network.half_edges)}
        around = self.network.neighbours(i).tolist()
        zero = np.zeros(self.z0.shape[1])
        return {j: Link(1.0 if i > j else -1.0, zero, self.z0[place[i, j]], self.z0[place[j, i]]) for j in around}

    def nodes(self) -> list[Node]:
        """As planned."""
        found = []
        for i, cost in enumerate(self.costs):
            links, folded, c = self.rerouting.links(i, self.edges(i), self.planned, PLANNED, MASK.grid)
            found.append(Node(i, cost, links, c=c, theta=self.planned.theta, grid=MASK.grid, folded=folded))
        return found

    def rerouted(self, dead: list[tuple[int, int]], leaver: int | None = None) -> dict[int, Node]:
        """On another route."""
        route, tag = self.rerouting.without(dead, leaver)
        assert tag
        found = {}
        for i, cost in enumerate(self.costs):
            if i != leaver:
                links, folded, c = self.rerouting.links(i, self.edges(i), route, tag, MASK.grid)
                found[i] = Node(i, cost, links, c=c, theta=route.theta, grid=MASK.grid, folded=folded)
        return found


def averages(network: sv.Network, rng: np.random.Generator, *, tree: bool = False) -> tuple[np.ndarray, Run]:
    s = rng.normal(size=(network.n, DIM))
    return s, Run(network, [sv.Averaging(row) for row in s], MASK.draw((2 * network.m, DIM), 3), tree)


def play(nodes: list[Node], rounds: int, rng: np.random.Generator) -> None:
    """Everybody wakes in a random order, and one message in ten is lost."""
    there = {node.i: node for node in nodes}
    for _ in range(rounds):
        for i in rng.permutation(sorted(there)):
            for message in there[i].wake():
                if rng.random() > 0.1:
                    there[message.receiver].receive(message)


def settle(nodes: list[Node], rng: np.random.Generator) -> np.ndarray:
    """Until nobody moves any more."""
    before = np.full((len(nodes), DIM), np.inf)
    for _ in range(100):
        play(nodes, 20, rng)
        x = np.array([node.x for node in nodes])
        if np.abs(x - before).max() < 1e-11:
            return x
        before = x
    raise TimeoutError("they never settle")


@pytest.mark.parametrize("tree", [False, True], ids=["all", "tree"])
@pytest.mark.parametrize("rounds", [0, 3])
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_rest_finds_the_mean_of_all(graph, rounds, tree, rng):
    network = GRAPHS[graph]
    for leaver in (0, network.n - 2):
        s, run = averages(network, rng, tree=tree)
        nodes = run.nodes()
        play(nodes, rounds, rng)
        rest = run.rerouted([], leaver)
        rest[int(network.neighbours(leaver)[0])].inherit(nodes[leaver].estate)
        found = settle(list(rest.values()), rng)
        # 0.5 eps sigma is the floor of floats (theory: Collapsed arithmetic); an ill-shaped graph loses a factor of
        # some ten.
        np.testing.assert_allclose(found, np.broadcast_to(s.mean(axis=0), found.shape), rtol=0, atol=2e-10)


def test_without_an_heir_the_answer_is_wrong(rng):
    """The pads of the leaver's edges stay in the sum, of size sigma / n: the estate is what is missing."""
    s, run = averages(GRAPHS["ring"], rng)
    assert np.abs(settle(list(run.rerouted([], 2).values()), rng) - s.mean(axis=0)).max() > 100


@pytest.mark.parametrize("graph", ["complete", "grid", "house"])
def test_a_dead_link_changes_nothing_but_the_way(graph, rng):
    """Whichever link of the tree it is. What one end did alone would not fit the other one."""
    network = GRAPHS[graph]
    s, run = averages(network, rng, tree=True)
    for edge in run.planned.edges:
        rest = run.rerouted([edge])
        assert edge[1] not in rest[edge[0]].neighbours
        found = settle(list(rest.values()), rng)
        np.testing.assert_allclose(found, np.broadcast_to(s.mean(axis=0), found.shape), rtol=0, atol=2e-10)


def test_costs_of_other_curvatures(rng):
    """Numbers and matrices; the optimum of all costs."""
    network = GRAPHS["house"]
    a, q = 1.0 + np.arange(5.0), rng.normal(size=(5, DIM))
    M = [np.diag([1.0, 2.0, 3.0]) + 0.3, *(number * np.eye(DIM) for number in a[1:])]
    costs = [sv.Quadratic(M[0], q[0]), *(sv.Quadratic(number, row) for number, row in zip(a[1:], q[1:], strict=True))]
    for leaver in range(5):
        run = Run(network, costs, MASK.draw((12, DIM), 1))
        rest = run.rerouted([], leaver)
        rest[int(network.neighbours(leaver)[-1])].inherit(run.nodes()[leaver].estate)
        found = settle(list(rest.values()), rng)[0]
        np.testing.assert_allclose(found, -np.linalg.solve(sum(M), q.sum(axis=0)), rtol=0, atol=2e-10)


def test_a_cost_without_a_quadratic_form_has_no_estate():
    problem = sv.Problem(GRAPHS["ring"], [sv.AbsoluteDeviation([float(i)]) for i in range(5)])
    assert all(node.estate is None for node in nodes_of(problem, c=C, theta=0.5))


@pytest.mark.parametrize("graph", GRAPHS)
def test_an_estate_tells_a_guardian_nothing_that_taps_do_not(graph):
    """Posterior variances from ``(w, e)``, what a guardian holds, and all estates of all others, against the audit of
    open channels, which knows of no estates. They are what a coalition gets from a run that nobody leaves, too."""
    network, variance = GRAPHS[graph], 25.0
    n, pads = network.n, 2 * network.m
    units = np.eye(n + pads)  # of (s, z(0))
    nodes = nodes_of(
        sv.Problem(network, sv.Quadratic.many(np.full(n, 2.0), -2 * units[:n])), c=C, theta=1.0, z0=units[n:]
    )
    seen = [node.form.q[0] for node in nodes] + [e for node in nodes for e in node.e.values()]
    place = {(int(i), int(j)): h for h, (i, j) in enumerate(network.half_edges)}
    for guardian in range(n):
        own = [units[guardian]] + [units[n + h] for pair, h in place.items() if guardian in pair]
        taps, estates = np.array(seen + own), np.array([node.estate[1:] for node in nodes])
        K = np.diag(np.concatenate([np.ones(n), np.full(pads, variance)]))
        left = []
        for view in (taps, np.concatenate([taps, estates])):
            gain = K @ view.T @ np.linalg.pinv(view @ K @ view.T, rcond=1e-12)
            left.append(np.diag(K - gain @ view @ K)[:n])
        np.testing.assert_allclose(left[1], left[0], rtol=0, atol=1e-9)
        report = audit(
            sv.averaging(network, np.zeros(n)), mask=GaussianMask(variance), corrupt=[guardian], channels="open",
            prior=1.0, theta=1.0, c=C,
        )  # fmt: skip
        honest = np.arange(n) != guardian
        np.testing.assert_allclose(-0.5 * np.log(left[1][honest]), report.leakage[honest], rtol=1e-6)
