"""A node that leaves for good, and its heir (theory: A party leaves): nobody has to know when, and nobody learns
anything new."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.pdmm.masks import GaussianMask
from sottovoce.pdmm.node import Node, nodes_of
from sottovoce.privacy import audit

GRAPHS = {
    "ring": sv.Network.ring(5),
    "complete": sv.Network.complete(4),
    "grid": sv.Network.grid(2, 3),
    "house": sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (3, 4)]),
}
MASK, C, THETA, DIM = GaussianMask(1e8), 0.4, 0.8, 3


def some_nodes(network: sv.Network, rng: np.random.Generator) -> tuple[np.ndarray, list[Node]]:
    s = rng.normal(size=(network.n, DIM))
    z0 = MASK.draw((2 * network.m, DIM), 3)
    return s, nodes_of(sv.averaging(network, s), c=C, theta=THETA, z0=z0, grid=MASK.grid)


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


def leave(nodes: list[Node], leaver: int) -> list[Node]:
    """The neighbours cut their edges; the heir is the first of them."""
    gone = nodes[leaver]
    for j in gone.neighbours:
        nodes[j].cut(leaver)
    return [node for node in nodes if node is not gone]


@pytest.mark.parametrize("rounds", [0, 1, 3, 20])
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_rest_finds_the_mean_of_all(graph, rounds, rng):
    network = GRAPHS[graph]
    for leaver in (0, network.n - 2):
        s, nodes = some_nodes(network, rng)
        play(nodes, rounds, rng)
        estate, heir = nodes[leaver].estate, nodes[leaver].neighbours[0]
        rest = leave(nodes, leaver)
        nodes[heir].inherit(estate)
        found = settle(rest, rng)
        # 0.5 eps sigma is the floor of floats (theory: Collapsed arithmetic); an ill-shaped graph loses a factor of
        # some ten.
        np.testing.assert_allclose(found, np.broadcast_to(s.mean(axis=0), found.shape), rtol=0, atol=2e-10)


@pytest.mark.parametrize("rounds", [0, 3])
def test_without_an_heir_the_answer_is_wrong(rounds, rng):
    """Cutting alone leaves the pads of the cut edges in the sum, of size sigma / n: the estate is what is missing."""
    s, nodes = some_nodes(GRAPHS["ring"], rng)
    play(nodes, rounds, rng)
    rest = leave(nodes, 2)
    assert np.abs(settle(rest, rng) - s.mean(axis=0)).max() > 100


def test_costs_of_other_curvatures(rng):
    """Numbers and matrices; the optimum of all costs."""
    network = GRAPHS["house"]
    a, q = 1.0 + np.arange(5.0), rng.normal(size=(5, DIM))
    M = [np.diag([1.0, 2.0, 3.0]) + 0.3, *(number * np.eye(DIM) for number in a[1:])]
    costs = [sv.Quadratic(M[0], q[0]), *(sv.Quadratic(number, row) for number, row in zip(a[1:], q[1:], strict=True))]
    for leaver in range(5):
        nodes = nodes_of(sv.Problem(network, costs), c=C, theta=THETA, z0=MASK.draw((12, DIM), 1), grid=MASK.grid)
        play(nodes, 5, rng)
        rest, heir = leave(nodes, leaver), nodes[nodes[leaver].neighbours[-1]]
        heir.inherit(nodes[leaver].estate)
        np.testing.assert_allclose(settle(rest, rng)[0], -np.linalg.solve(sum(M), q.sum(axis=0)), rtol=0, atol=2e-10)


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
