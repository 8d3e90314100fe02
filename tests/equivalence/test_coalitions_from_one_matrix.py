"""Coalitions as updates of one matrix, and all nodes from the diagonal of an inverse, against solves one at a time."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import rational as oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from situations import networks

import sottovoce as sv
from sottovoce.privacy import Worst, audit, calibrate
from sottovoce.privacy.methods import closed_form, in_order, many_coalitions, removed_coalitions, worst_coalition
from sottovoce.privacy.methods.case import Case, setting_of
from sottovoce.privacy.methods.closed_form import OpenView, _dense
from sottovoce.privacy.methods.given_sums import beyond_the_sum, diagonal_beyond_the_sum, laplacian
from sottovoce.privacy.methods.removed_coalitions import Removal
from sottovoce.privacy.methods.secrets_and_prior import secrets_of
from sottovoce.privacy.methods.selected_inverse import Levels, levels_of, work_of
from sottovoce.privacy.methods.smallest_mask import least_tried
from sottovoce.privacy.research import CorrelatedPads
from sottovoce.privacy.seen import Transcript

FIGURES = ("leakage", "floor", "excess", "std")


def bridged():
    """Two cliques and a bridge."""
    cliques = [(i, j) for a in (0, 8) for i, j in combinations(range(a, a + 8), 2)]
    return sv.Network.from_edges(17, [*cliques, (7, 16), (16, 8)])


NETWORKS = {
    "path": sv.Network.from_edges(30, [(i, i + 1) for i in range(29)]),
    "tree": sv.Network.from_edges(31, [(i, (i - 1) // 2) for i in range(1, 31)]),
    "star": sv.Network.star(20),
    "ring": sv.Network.ring(24),
    "complete": sv.Network.complete(12),
    "bridged": bridged(),
    "geometric": sv.Network.random_geometric(40, seed=3),
}


def random_secrets(network, rng, spread=3.0):
    """Curvatures and variances that differ."""
    n = network.n
    problem = sv.Problem(network, sv.Quadratic.many(rng.uniform(0.5, spread, n), np.zeros((n, 1))))
    return secrets_of(problem, rng.uniform(0.3, spread, n))


def of_coalition(secrets, corrupt):
    return OpenView(secrets, frozenset(corrupt), np.ones(secrets.n, dtype=bool), 0.3)


def components(network, corrupt):
    honest = np.ones((1, network.n), dtype=bool)
    honest[0, list(corrupt)] = False
    return many_coalitions._groups(network, honest)[0]


@pytest.fixture
def everywhere(monkeypatch):
    """Small networks too."""
    for module in (many_coalitions, closed_form, worst_coalition):
        monkeypatch.setattr(module, "LARGE", 2)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("v", [0.3, 1e2, 1e6, 1e12])
def test_updates_are_the_readable_solves(everywhere, monkeypatch, rng, name, v):
    """Cut vertices, isolated nodes, taps alone; the excess, which is 1e-12 of the rest at last, to 1e-10 of itself."""
    network = NETWORKS[name]
    secrets = random_secrets(network, rng)
    pairs = [frozenset(rng.choice(network.n, size, replace=False).tolist()) for size in (2, 2, 2, 3, 3)]
    coalitions = [frozenset[int](), *(frozenset({i}) for i in range(network.n)), *pairs]
    slow = [_dense(of_coalition(secrets, corrupt), v) for corrupt in coalitions]
    alone = [many_coalitions.all_nodes(secrets, corrupt, v, 0.09 * network.m) for corrupt in coalitions]
    monkeypatch.setattr(many_coalitions, "STACK", 7 * network.n)  # seven at a time
    solved = []
    stacked = many_coalitions._stacked
    monkeypatch.setattr(many_coalitions, "_stacked", lambda *how: solved.append(how) or stacked(*how))
    fast = list(many_coalitions.whole_transcripts(secrets, coalitions, v, 0.09 * network.m))
    for found in (fast, alone):
        for figure in FIGURES:
            one, other = ([getattr(leaks, figure) for leaks in some] for some in (found, slow))
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=4e-16 if figure == "floor" else 0)
    assert len(solved) <= (v < 1)  # next to nothing was left to solves


@settings(max_examples=80, deadline=None)
@given(networks(9), st.integers(0, 4), st.floats(-6, 12), st.integers(0, 99))
def test_updates_are_the_readable_solves_whatever_the_network(network, t, exponent, seed):
    rng, v = np.random.default_rng(seed), 10.0**exponent
    secrets = random_secrets(network, rng, spread=10.0 ** rng.integers(0, 3))
    corrupt = frozenset(rng.permutation(network.n)[: min(t, network.n - 1)].tolist())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many_coalitions, "LARGE", 2)
        _, fast = many_coalitions.whole_transcripts(secrets, [frozenset({0}), corrupt], v, 0.09 * network.m)
    slow = _dense(of_coalition(secrets, corrupt), v)
    for figure in FIGURES:
        np.testing.assert_allclose(getattr(fast, figure), getattr(slow, figure), rtol=1e-10, atol=4e-16)


def test_a_matrix_that_is_off_is_noticed(rng):
    """What is known of an update is held against it: an error of 1e-8 does not pass."""
    network = NETWORKS["geometric"]
    whole = Removal(random_secrets(network, rng), 1e6)
    group = components(network, {1})
    assert whole.diagonal(frozenset({1}), group) is not None
    off = 1 + 1e-8 * rng.normal(size=whole.E.shape)
    whole.E *= (off + off.T) / 2
    assert whole.diagonal(frozenset({1}), group) is None
    whole.E[:] = 0.0  # singular
    assert whole.diagonal(frozenset({1, 2}), components(network, {1, 2})) is None


TRIANGLES = sv.Network.from_edges(6, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)])


def excess_in_fractions(secrets, corrupt, v, c):
    """Of whole transcripts over open channels, every digit of it right."""
    model = oracle.Model(
        secrets.problem.network, secrets.Q.tolist(), c, 1, v, oracle.diagonal(list(map(oracle.exact, secrets.K)))
    )
    told = oracle.floor(model, corrupt)
    both = oracle.joint(model, oracle.synchronous(model.network, 1), corrupt)
    found = np.full(secrets.n, np.nan)
    for i in told:
        found[i] = oracle.nats(1 - (1 - both[i]) / (1 - told[i]))
    return found


def test_digits_that_an_update_would_lose_are_not_lost(everywhere, rng):
    """A weak mask leaves next to nothing of a variance; of a secret that dominates a sum its answer leaves next to
    nothing."""
    plain = random_secrets(TRIANGLES, rng)
    assert not removed_coalitions.keeps_digits(plain, 1e-7)
    assert not removed_coalitions.keeps_digits(plain, 0.0)
    variances = np.ones(6)
    variances[5] = 1e9
    large = secrets_of(sv.averaging(TRIANGLES, np.zeros(6)), variances)
    assert many_coalitions.all_nodes(large, frozenset({0}), 1e10, 1.0) is None
    for secrets, v in ((plain, 1e-7), (large, 1e10), (large, 1e3)):
        coalitions = [frozenset[int](), frozenset({0}), frozenset({2})]
        fast = many_coalitions.whole_transcripts(secrets, coalitions, v, 0.3**2 * TRIANGLES.m)
        for corrupt, found in zip(coalitions, fast, strict=True):
            view, values = of_coalition(secrets, corrupt), excess_in_fractions(secrets, corrupt, v, 0.3)
            for one in (found, view.leaks(v), _dense(view, v)):
                np.testing.assert_allclose(one.excess, values, rtol=1e-9)


@pytest.mark.parametrize(
    "more", [{"noise": sv.LocalNoise(0.5)}, {"c": "each"}, {"overlay": "tree"}, {"runs": 3}], ids=str
)
def test_whole_reports_are_those_of_solves(everywhere, monkeypatch, rng, more):
    """Vectors behind local noise, a penalty per edge, an overlay, several runs."""
    network = NETWORKS["bridged"]
    problem = sv.averaging(network, np.zeros((network.n, 2)))
    how = {"mask": sv.GaussianMask(50.0), "prior": rng.uniform(0.3, 3, network.n), "c": 0.4} | more
    if how["c"] == "each":
        how["c"] = rng.uniform(0.1, 2, network.m)
    how["seen"] = Transcript(runs=how.pop("runs", 1))
    fast = audit(problem, against=Worst(2), **how)
    monkeypatch.setattr(many_coalitions, "LARGE", 1_000)
    slow = audit(problem, against=Worst(2), **how)
    for figure in ("leakage", "floor", "excess", "posterior_std", "prior_std"):
        np.testing.assert_allclose(getattr(fast, figure), getattr(slow, figure), rtol=1e-10, atol=4e-16)
    assert (fast.exposed, fast.guarantee, fast.method) == (slow.exposed, "exact", slow.method)


def test_taps_on_a_node_that_dominates_the_answer(everywhere):
    """Of what it shows hardly anything is left but the shift: a difference of which digits would be lost."""
    Q = np.ones(6)
    Q[3] = 3e4
    problem = sv.Problem(TRIANGLES, sv.Quadratic.many(Q, np.zeros((6, 1))))
    secrets, v, c = secrets_of(problem, 1 / Q**2), 1e8, 0.01
    assert removed_coalitions.keeps_digits(secrets, v)
    assert many_coalitions.overhearing(secrets, v)(c**2 * TRIANGLES.m) is None
    values = excess_in_fractions(secrets, frozenset(), v, c)
    view = OpenView(secrets, frozenset(), np.ones(6, dtype=bool), c)
    fast = list(many_coalitions.whole_transcripts(secrets, [frozenset(), frozenset({1})], v, view.strength))
    for one in (view.leaks(v), fast[0]):
        np.testing.assert_allclose(one.excess, values, rtol=1e-9)


def test_a_network_too_large_for_matrices_is_left_to_sparse_solves(monkeypatch, rng):
    network = sv.Network.grid(11, 11)
    secrets = random_secrets(network, rng)
    view = of_coalition(secrets, {0, 13})
    found = view.leaks(1e4)
    monkeypatch.setattr(closed_form, "all_nodes", lambda *_: None)  # digits were lost
    monkeypatch.setattr(closed_form, "DENSE", 100)
    monkeypatch.delattr(closed_form, "whole_transcripts")
    np.testing.assert_allclose(view.leaks(1e4).excess, found.excess, rtol=1e-9)


@pytest.mark.parametrize("delta", [1e-4, 0.5])
def test_calibration_by_updates_is_that_by_solves(everywhere, monkeypatch, rng, delta):
    network = sv.Network.watts_strogatz(30, 6, 0.2, seed=2)
    how = {"delta": delta, "against": Worst(2), "c": 0.4, "prior": rng.uniform(0.3, 3, network.n)}
    fast = calibrate(sv.averaging(network, np.zeros(network.n)), **how)
    for module in (many_coalitions, closed_form, worst_coalition):
        monkeypatch.setattr(module, "LARGE", 1_000)
    slow = calibrate(sv.averaging(network, np.zeros(network.n)), **how)
    assert fast.smallest
    assert fast.coalition == slow.coalition
    assert (fast.variance, fast.excess) == (
        pytest.approx(slow.variance, rel=1e-9),
        pytest.approx(slow.excess, rel=1e-9),
    )
    assert fast.c_range[1] == pytest.approx(slow.c_range[1], rel=1e-9)


# What is tried


def case_of(network, variance=1e4, **more):
    problem = sv.averaging(network, np.zeros(network.n))
    setting = setting_of(problem, None, None, 0.4, 0, Transcript())
    return Case(secrets_of(problem), sv.GaussianMask(variance), "open", setting, **more)


def test_how_many_coalitions_are_tried():
    def tried(n, t, **more):
        return not worst_coalition.too_many(case_of(sv.Network.regular(n, 16, seed=1), **more), t)

    assert tried(100, 2)
    assert tried(1_000, 1)
    assert not tried(1_000, 2)
    assert not tried(1_000, 1, variance=1e-4)  # solved for one by one
    assert not tried(500, 1, method="elimination")
    case = case_of(sv.Network.regular(1_000, 16, seed=1))
    for delta, tried_then in ((1e-3, True), (10.0, False)):  # a weak mask would do: solved for one by one
        weakest = sv.GaussianMask(least_tried(case.secrets, delta))
        assert worst_coalition.too_many(replace(case, mask=weakest), 1) is not tried_then
    dense = sv.Network.complete(1_000)  # no low rank
    assert worst_coalition.too_many(case_of(dense), 1)


def test_work_grows_with_links_and_coalitions():
    few, many = (case_of(sv.Network.regular(200, degree, seed=1)) for degree in (4, 40))
    assert worst_coalition.updates(few, 1) < worst_coalition.updates(many, 1) < worst_coalition.updates(many, 2)
    hub = case_of(sv.Network.star(200))  # which alone has 199
    assert worst_coalition.updates(hub, 1) > worst_coalition.updates(case_of(sv.Network.ring(200)), 1)


def test_a_bar_counts_coalitions(monkeypatch):
    from sottovoce.pdmm import progress

    seen = []
    monkeypatch.setattr(progress, "APPEAR", -1.0)
    monkeypatch.setattr(progress, "REFRESH", 0.0)
    monkeypatch.setattr(progress.Terminal, "show", lambda self, k, limit, *_: seen.append((self.what, k, limit)))
    problem = sv.averaging(sv.Network.ring(5), np.zeros(5))
    audit(problem, sv.GaussianMask(1.0), against=Worst(1), c=0.4, progress=True)
    assert seen == [("auditing", k, 6) for k in range(6)]
    seen.clear()
    calibrate(problem, delta=0.1, c=0.4, progress=True)
    assert seen[:6] == [("calibrating", k, 6) for k in range(6)]
    seen.clear()
    audit(problem, sv.GaussianMask(1.0), against=Worst(1), c=0.4, progress=False)
    assert seen == []
    told = []  # by the line of a command
    audit(problem, sv.GaussianMask(1.0), against=Worst(1), c=0.4, progress=progress.Line(told.append))
    assert told == [f"auditing: {k} of 6 coalitions, 0 s" for k in range(6)]


# Matrices


@pytest.mark.parametrize("network", [*NETWORKS.values(), sv.Network.grid(12, 20)], ids=[*NETWORKS, "grid"])
def test_diagonals_level_by_level(rng, network):
    D = rng.uniform(0.3, 3, network.n)
    M = sv_matrix(network, D)
    factor = Levels(M, levels_of(network.adjacency))
    np.testing.assert_allclose(factor.diagonal(), np.diag(np.linalg.inv(M.toarray())), rtol=1e-12)
    columns = rng.normal(size=(network.n, 2))
    np.testing.assert_allclose(M @ factor.solve(columns), columns, atol=1e-11)
    E = beyond_the_sum(laplacian(network), D)
    np.testing.assert_allclose(E, np.linalg.inv(M.toarray()) - 1 / D.sum(), atol=1e-13)
    np.testing.assert_allclose(E @ D, 0, atol=1e-12)
    diagonal, EQ = diagonal_beyond_the_sum(laplacian(network), D, np.arange(float(network.n)))
    np.testing.assert_allclose(diagonal, np.diag(E), rtol=1e-11)
    np.testing.assert_allclose(EQ, E @ np.arange(network.n), atol=1e-11)


def sv_matrix(network, D):
    from scipy import sparse

    return sparse.csr_array(laplacian(network) + sparse.diags_array(D))


def test_levels_are_blocks_of_a_band_and_no_more_work_than_one_block():
    for network in (
        sv.Network.grid(40, 40),
        sv.Network.regular(400, 8, seed=1),
        sv.Network.star(300),
        *NETWORKS.values(),
    ):
        levels = levels_of(network.adjacency)
        assert sorted(np.concatenate(levels)) == list(range(network.n))
        at = np.empty(network.n, dtype=int)
        for k, level in enumerate(levels):
            at[level] = k
        assert np.abs(np.diff(at[network.edges], axis=1)).max(initial=0) <= 1
        assert work_of(levels) <= network.n**3
    assert work_of(levels_of(sv.Network.grid(40, 40).adjacency)) < 1600**3 / 100
    inside_out = sv.Network.grid(41, 41)
    inside_out = sv.Network.from_edges(1681, (inside_out.edges - 840) % 1681)  # 0 is the middle
    assert work_of(levels_of(inside_out.adjacency)) == work_of(levels_of(sv.Network.grid(41, 41).adjacency))
    path = sv.Network.from_edges(2_000, [(i, i + 1) for i in range(1_999)])
    assert len(levels_of(path.adjacency)) < 2_000 / 16  # not one node at a time


@pytest.mark.parametrize("family", ["geometric", "small world"])
def test_all_nodes_of_a_larger_network_are_those_of_one_at_a_time(family):
    """By conjugate gradients and sparse solves, which are another way."""
    n = 900
    network = {
        "geometric": lambda: sv.Network.random_geometric(n, seed=1),
        "small world": lambda: sv.Network.watts_strogatz(n, 8, 0.1, seed=1),
    }[family]()
    problem, nodes = sv.averaging(network, np.zeros(n)), [5, 100, 450, 800]
    for corrupt in ((), (0, 7)):
        how = {"mask": sv.GaussianMask(1e8), "corrupt": corrupt, "c": 0.4}
        every, some = audit(problem, **how), audit(problem, nodes=nodes, **how)
        for figure in ("leakage", "excess", "posterior_std"):
            np.testing.assert_allclose(getattr(every, figure)[nodes], getattr(some, figure)[nodes], rtol=1e-9)


def test_correlated_pads_are_eliminated_once_for_every_coalition(everywhere, monkeypatch):
    """Whether coalitions can be stacked is known without the view of taps, which is a whole elimination."""
    played = []
    view = in_order.ByElimination.view
    monkeypatch.setattr(in_order.ByElimination, "view", lambda self, asked: played.append(asked) or view(self, asked))
    problem = sv.averaging(TRIANGLES, np.zeros(6))
    audit(problem, CorrelatedPads(100 * np.eye(14)), against=Worst(1), prior=1.0, c=0.4, theta=0.8)
    assert [asked.corrupt for asked in played] == [frozenset(), *(frozenset({i}) for i in range(6))]
