"""``overlay=``: pads lie on every edge, messages use some of them."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce.errors import InvalidInput, Unsupported

# Masks are small here on purpose: what is compared is arithmetic, and small masks leave it more digits.
pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")

N, D = 8, 3
NAMES = ["Ada", "Bo", "Cy", "Dee", "Eve", "Fay", "Gus", "Hal"]


@pytest.fixture
def network():
    return sv.Network.random_geometric(N, radius=0.6, seed=2)


RING = sv.Network.ring(4).with_labels(NAMES[:4])
PATH = [("Ada", "Bo"), ("Bo", "Cy"), ("Cy", "Dee")]
WRONG = {
    "word": ("star", "overlay must be 'all', 'tree', or a list of edges; got 'star'."),
    "number": (3, "overlay must be 'all', 'tree', or a list of edges; got 3."),
    "array of no pairs": (np.arange(2), "an edge is a pair of nodes, such as ('Ada', 'Bo'); got"),
    "no array": (np.array(3), "edges must be pairs of nodes; got array(3)."),
    "not connected": (PATH[:2], "without more edges Dee cannot be reached from Ada."),
    "empty": ([], "without more edges Bo cannot be reached from Ada."),
    "an edge too many": ([*PATH, ("Ada", "Cy")], "there is no edge between Ada and Cy."),
    "no such node": ([*PATH, ("Ada", "Zoe")], "'Zoe' is no node of this network; they are Ada, Bo, Cy, Dee."),
    "loop": ([*PATH, ("Ada", "Ada")], "there is no edge between Ada and Ada."),
    "twice": ([*PATH, ("Cy", "Bo")], "the edge (Cy, Bo) is given twice. List it once."),
    "names": (["Ada", "Bo"], "an edge is a pair of nodes, such as ('Ada', 'Bo'); got 'Ada'."),
}


@pytest.mark.parametrize(("overlay", "sentence"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("ask", [sv.solve, lambda *a, **b: next(sv.iterate(*a, **b))], ids=["solve", "iterate"])
def test_bad_overlays_get_a_sentence(ask, overlay, sentence):
    with pytest.raises(InvalidInput, match="overlay must be") as error:
        ask(sv.averaging(RING, [1, 2, 3, 6]), overlay=overlay, mask=sv.GaussianMask(1e6))
    assert sentence in str(error.value)


def test_an_overlay_of_another_network_is_refused():
    other = sv.solve(sv.averaging(sv.Network.ring(5), np.arange(5.0)), overlay="tree").overlay
    with pytest.raises(InvalidInput, match="overlay is of another network"):
        sv.solve(sv.averaging(RING, [1, 2, 3, 6]), overlay=other)


def test_general_constraints_are_refused():
    network = sv.Network.ring(4)
    constrained = network.with_constraints({(i, j): [[1.0]] for i, j in network.half_edges.tolist()})
    problem = sv.Problem(constrained, sv.Averaging.many(np.arange(4.0)))
    with pytest.raises(Unsupported, match=r"every edge is a constraint of its own.* Use overlay='all'\."):
        sv.solve(problem, overlay="tree")


@pytest.mark.parametrize("c", [[1.0, 2.0], [1.0, 2.0, -3.0], [1.0, np.inf, 1.0], [[1.0, 2.0, 3.0]], ["a", "b", "c"]])
def test_bad_penalties_get_a_sentence(c):
    with pytest.raises(InvalidInput, match=r"^c "):
        sv.solve(sv.averaging(RING, [1, 2, 3, 6]), overlay=PATH, c=c)


def test_penalties_of_all_edges_are_those_of_the_overlay():
    problem = sv.averaging(RING, [1, 2, 3, 6])
    by_edge = dict(zip(map(tuple, RING.edges.tolist()), (1.0, 2.0, 3.0, 4.0), strict=True))
    few = [by_edge[0, 1], by_edge[1, 2], by_edge[2, 3]]
    whole, part = (sv.solve(problem, overlay=PATH, c=c) for c in (list(by_edge.values()), few))
    np.testing.assert_array_equal(whole.x, part.x)
    assert whole.c.tolist() == few


# What a result says


def test_a_result_says_its_overlay(tmp_path):
    problem = sv.averaging(RING, [1, 2, 3, 6])
    tree, few, everything = (sv.solve(problem, overlay=overlay) for overlay in ("tree", RING.edges, "all"))
    assert everything.overlay is None
    assert everything.to_dict()["overlay"] == {"type": "all"}
    assert tree.overlay.tree.root == 0
    assert "24 messages over a spanning tree, 3 of 4 edges (depth 2, root Ada)" in tree.summary() + tree._repr_html_()
    edges = [[0, 1], [0, 3], [1, 2]]
    told = json.loads(json.dumps(tree.to_dict()))
    assert told["overlay"] == {"type": "tree", "root": 0, "depth": 2, "edges": edges}
    assert told["c"] == [4.0, 2.0, 2.0]
    assert few.overlay.tree is None
    assert few.to_dict()["overlay"]["type"] == "edges"
    assert str(few.overlay) == "4 of 4 edges"
    for result in (tree, few, everything):
        result.save(tmp_path / "run.npz")
        for again in (sv.Result.load(tmp_path / "run.npz"), pickle.loads(pickle.dumps(result))):
            assert again.to_dict() == result.to_dict()


def test_the_overlay_of_a_result_is_one_to_ask_for():
    problem = sv.averaging(RING, [1, 2, 3, 6])
    first = sv.solve(problem, overlay=[("Dee", "Ada"), ("Ada", "Bo"), ("Bo", "Cy")])
    again = sv.solve(problem, overlay=first.overlay, c=first.c)
    assert again.overlay is first.overlay
    assert (again.iterations, again.messages) == (first.iterations, first.messages)


def test_a_list_that_is_a_tree_has_matched_penalties():
    result = sv.solve(sv.averaging(RING, [1, 2, 3, 6]), overlay=PATH, mask=sv.GaussianMask(1e6), seed=1)
    assert (result.overlay.tree.depth, result.iterations, result.theta) == (2, 4, 1.0)  # the halves weigh the same
    assert result.c.tolist() == [2.0, 4.0, 2.0]


# Where messages go, and where pads lie


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.8), sv.Delayed(3)])
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_messages_are_those_of_the_overlay(network, schedule, engine):
    tree = network.spanning_tree().network
    table = sv.solve(
        sv.averaging(network, np.arange(8.0)), overlay="tree", schedule=schedule, seed=3, engine=engine, tol=0,
        max_iter=40, record=[sv.Transcript()],
    )  # fmt: skip
    heard = table.history["transcript"]
    assert table.messages == len(heard)
    pairs = set(zip(heard.sender.tolist(), heard.receiver.tolist(), strict=True))
    assert pairs <= {(i, j) for i, j in tree.half_edges.tolist()}
    assert len(pairs) == 2 * tree.m  # nobody is silent for 40 iterations


@pytest.mark.parametrize("arithmetic", ["collapsed", "plain"])
def test_both_pads_stay_on_the_overlay(network, arithmetic):
    """On the other edges the two ends share what is left of theirs, so that it cancels."""
    mask, problem = sv.GaussianMask(1e6), sv.averaging(network, np.arange(8.0))
    setting = {"mask": mask, "seed": 4, "arithmetic": arithmetic}
    pads = next(sv.iterate(problem, c=0.5, **setting)).z
    z = next(sv.iterate(problem, overlay="tree", **setting)).z
    tree = {(i, j) for i, j in network.spanning_tree().network.half_edges.tolist()}
    used = np.array([(i, j) in tree for i, j in network.half_edges.tolist()])
    assert 0 < used.sum() < len(used)
    np.testing.assert_allclose(z[used], pads[used], rtol=1e-12)
    np.testing.assert_allclose(z[~used], ((pads + pads[network.P]) / 2)[~used], rtol=1e-12)
    assert np.abs(pads - pads[network.P])[used].min() > 1  # e


@pytest.mark.parametrize("overlay", ["tree", "cycle"])
def test_z_continues_a_run(network, overlay):
    """``z`` is of the whole network, and folds to what it was."""
    overlay = "tree" if overlay == "tree" else network.edges[: network.m - 2]
    problem = sv.averaging(network, np.arange(8.0))
    first = sv.solve(problem, overlay=overlay, c=0.7, mask=sv.GaussianMask(1e4), seed=1, tol=0, max_iter=30)
    both = sv.solve(problem, overlay=overlay, c=0.7, mask=sv.GaussianMask(1e4), seed=1, tol=0, max_iter=31)
    next_one = sv.solve(problem, overlay=overlay, c=0.7, z0=first.z, tol=0, max_iter=1)
    np.testing.assert_allclose(next_one.x, both.x, atol=1e-9)  # rounding at 1e2


# Answers


def costs(rng):
    """Name -> costs. Those that are no sums of squares of one curvature are not through after two sweeps."""
    data = shards(rng, N, 6, D)
    labels = [np.where(rng.random(6) < 0.5, 1.0, -1.0) for _ in range(N)]
    s = rng.normal(size=(N, D))
    return {
        "least squares": [sv.LeastSquares(A, b, 0.2) for A, b in data],
        "lasso": [sv.Lasso(A, b, 2.0) for A, b in data],
        "logistic": [sv.Logistic(A, y, 0.1) for (A, _), y in zip(data, labels, strict=True)],
        "hinge": [sv.Hinge(A, y, 0.5) for (A, _), y in zip(data, labels, strict=True)],
        "huber": [sv.Huber(s_i, 0.5) for s_i in s],
        "prox": [  # of ||x - t||^2 / 2, which the package does not know
            sv.Custom(lambda v, h, t=t: t + (v - t) / (1 + h), lambda x, t=t: ((x - t) ** 2).sum() / 2, D) for t in s
        ],
    }


FAMILIES = ["least squares", "lasso", "logistic", "hinge", "huber", "prox"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mask", [None, sv.GaussianMask(25.0)], ids=["bare", "masked"])
def test_other_costs_have_the_answer_of_all_edges(network, family, mask, rng):
    problem = sv.Problem(network, costs(rng)[family])
    few = network.edges[: network.m - 3] if family == "huber" else "tree"
    tree, everything = (sv.solve(problem, overlay=overlay, mask=mask, seed=1, tol=1e-10) for overlay in (few, "all"))
    assert tree.converged
    assert isinstance(tree.c, float)
    np.testing.assert_allclose(tree.x, everything.x, atol=1e-7)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("how", [{"batch": 3}, {"arithmetic": "plain"}, {"arithmetic": "collapsed"}])
def test_two_sweeps_however_pads_are_kept(network, engine, how):
    s = np.arange(8.0)
    result = sv.solve(sv.averaging(network, s), overlay="tree", mask=sv.GaussianMask(1e6), seed=1, engine=engine, **how)
    assert result.iterations == 2 * network.spanning_tree().depth + 1
    np.testing.assert_allclose(result.x, np.broadcast_to(s.mean(), result.x.shape), atol=1e-11)  # eps sigma is 2e-13


@pytest.mark.parametrize("overlay", ["tree", "list"])
def test_a_batch_has_the_answer_of_each_draw(network, overlay, rng):
    problem = sv.Problem(network, costs(rng)["lasso"])
    overlay = "tree" if overlay == "tree" else network.edges[: network.m - 2]
    batch = sv.solve(problem, overlay=overlay, c=2.0, theta=0.8, mask=sv.GaussianMask(25.0), seed=1, batch=3)
    single = sv.solve(problem, overlay="all", tol=1e-10)
    np.testing.assert_allclose(batch.x, np.broadcast_to(single.x, (3, N, D)), atol=1e-7)


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.7)])
@pytest.mark.parametrize("arithmetic", ["collapsed", "plain"])
@pytest.mark.parametrize("dense", [False, True])
def test_engines_agree_over_an_overlay(network, schedule, arithmetic, dense, rng):
    family = costs(rng)["least squares"] if dense else [sv.Averaging(s) for s in rng.normal(size=(N, D))]
    setting = {"mask": sv.GaussianMask(100.0), "seed": 2, "schedule": schedule, "arithmetic": arithmetic, "theta": 0.9}
    reference, compiled = (
        sv.solve(
            sv.Problem(network, family), overlay=network.edges[1:], c=0.6, engine=engine, tol=0, max_iter=60, **setting
        )
        for engine in ("reference", "compiled")
    )
    np.testing.assert_allclose(compiled.x, reference.x, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(compiled.z, reference.z, rtol=1e-10, atol=1e-10)


def test_a_deep_tree_keeps_its_digits():
    """Matched penalties grow with the subtree. Summed up over all rounds, as in node space, they would cost digits."""
    n, s = 1000, np.sin(np.arange(1000.0))
    result = sv.solve(
        sv.averaging(sv.Network.ring(n), s), overlay="tree", mask=sv.GaussianMask(1e8), seed=1, engine="compiled"
    )
    assert result.iterations == n + 1
    assert np.abs(result.x - s.mean()).max() < 1e-11  # eps sigma is 2e-12; node space leaves 6e-11
    assert result.residual < 2e-11  # and does not get below 1.3e-9


def test_a_modular_mask_is_exact_over_a_tree(network):
    counts = np.arange(8) ** 3
    result = sv.solve(sv.averaging(network, counts), overlay="tree", mask=sv.ModularMask())
    assert result.x.tolist() == [counts.mean()] * 8
    assert result.iterations == 2 * network.spanning_tree().depth + 1


# When to look


@pytest.mark.parametrize("n", [9, 60])
def test_a_tree_is_looked_at_when_its_sweeps_are_over(n):
    """Even where it is long, and a look every 5 % of the rounds would miss the end."""
    path = sv.Network.from_edges(n + n % 2 + 1, [(i, i + 1) for i in range(n + n % 2)])
    depth = path.spanning_tree().depth
    result = sv.solve(sv.averaging(path, np.arange(float(path.n))), overlay="tree", mask=sv.GaussianMask(1e6), seed=1)
    assert result.iterations == 2 * depth + 1
    asked = sv.solve(sv.averaging(path, np.arange(float(path.n))), overlay="tree", check_every=1000)
    assert asked.iterations == 1000


# Statistics


def test_statistics_go_over_a_tree(network, rng):
    """Two messages over each of its edges, and an audit of one party is the same over whatever edges are used."""
    found = sv.private_mean(network, [rng.normal(size=(5, 3)) for _ in range(N)])
    assert (found.traffic.agreements, found.traffic.messages) == (1, 2 * (N - 1))
    leaf = int(np.flatnonzero(network.spanning_tree().network.degrees == 1)[0])
    over_tree, over_all = (found.audit_total(corrupt={leaf}, overlay=overlay) for overlay in ("tree", "all"))
    np.testing.assert_array_equal(over_tree.leakage, over_all.leakage)
    assert np.nanmax(over_tree.excess) == 0
