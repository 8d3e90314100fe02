"""The formulas of a whole transcript (theory: Transcripts), the calibration inequality, snapshots, sparse solves;
simulation."""

from __future__ import annotations

import numpy as np
import pytest
import rational as oracle

import sottovoce as sv
from sottovoce.privacy import Coalition, Eavesdropper, Snapshot, Transcript, audit
from sottovoce.privacy.methods import case, closed_form, sparse_estimators
from sottovoce.privacy.research import LinearRun, snapshot_information

EPS = float(np.finfo(float).eps)
GRAPH = sv.Network.from_edges(7, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 5), (5, 6), (3, 6)])
SCHEDULES = [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.3)]
COALITIONS = [{0}, {1, 4}, {3, 5}, {3, 4}]  # the third isolates 6; the last cuts {5, 6} off


def averages(network, a=2.0):
    """``f_i = (a/2)(x - s_i)^2``, whose secrets an audit does not look at."""
    return sv.Problem(network, sv.Quadratic.many(np.full(network.n, a), np.zeros((network.n, 1))))


def honest_laplacian(network, corrupt):
    honest = [i for i in range(network.n) if i not in corrupt]
    W = network.adjacency.toarray()[np.ix_(honest, honest)]
    return honest, np.diag(W.sum(axis=1)) - W


def group_sizes(network, honest):
    """``n_k``, the size of every honest node's component."""
    model = oracle.averaging(network, c=1, theta=1, v=1)
    parts = oracle.components(model, honest)
    return np.array([next(len(part) for part in parts if i in part) for i in honest])


# A number of nats -1/2 ln(1 - share) with share to a few eps: relative 1e-11 is far above, also for the excess, which
# is computed without a difference.


@pytest.mark.parametrize("corrupt", COALITIONS, ids=str)
@pytest.mark.parametrize("a", [2.0, 0.7])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: type(schedule).__name__)
def test_a_coalition_that_taps(schedule, a, corrupt):
    """``I = -1/2 ln(1 - [(I + rho L_h)^{-1}]_ii)``, ``rho = sigma^2 / (2 a^2 sigma_s^2)``: the constant is 1/8 for
    ``a = 2``; the floor is ``-1/2 ln(1 - 1/n_k)``, and the excess is the rest."""
    v, prior = 30.0, 4.0
    report = audit(
        averages(GRAPH, a), mask=sv.GaussianMask(v), corrupt=corrupt, prior=prior, schedule=schedule, theta=0.8, seed=0
    )
    honest, L = honest_laplacian(GRAPH, corrupt)
    kept = np.linalg.inv(np.eye(len(L)) + v / (2 * a**2 * prior) * L)
    size = group_sizes(GRAPH, honest)
    hidden = size > 1
    assert report.exposed == tuple(np.array(honest)[~hidden])
    with np.errstate(divide="ignore"):
        floor = -0.5 * np.log1p(-1 / size)
    np.testing.assert_allclose(report.leakage[honest][hidden], -0.5 * np.log1p(-np.diag(kept)[hidden]), rtol=1e-11)
    np.testing.assert_allclose(report.floor[honest], floor, rtol=1e-11)
    excess = -0.5 * np.log1p(-(np.diag(kept)[hidden] - 1 / size[hidden]) / (1 - 1 / size[hidden]))
    np.testing.assert_allclose(report.excess[honest][hidden], excess, rtol=1e-11)
    assert (report.guarantee, report.method) == ("exact", "closed form")


@pytest.mark.parametrize("v", [0.3, 40.0, 1e8])
@pytest.mark.parametrize("c", [0.2, 1.5])
def test_a_pure_eavesdropper(c, v):
    """``I = -1/2 ln(1 - [(I + rho L)^{-1}]_ii + 1/n - (1/n) kappa/(1 + kappa))``: it knows ``x`` up to a shift."""
    prior, n, m = 3.0, GRAPH.n, GRAPH.m
    report = audit(averages(GRAPH), mask=sv.GaussianMask(v), against=Eavesdropper(), prior=prior, c=c)
    _, L = honest_laplacian(GRAPH, ())
    kappa = 2 * c**2 * m * prior / (n * v)
    # Without the constant eigenvector, which is the 1/n of the formula: 1/n + share - 1/n would cancel.
    values, vectors = np.linalg.eigh(L)
    share = (vectors[:, 1:] ** 2) @ (1 / (1 + v / (8 * prior) * values[1:])) + kappa / (1 + kappa) / n
    np.testing.assert_allclose(report.leakage, -0.5 * np.log1p(-share), rtol=1e-11)
    assert (report.floor == 0).all()
    assert np.array_equal(report.excess, report.leakage)
    assert report.groups == []


def test_the_leak_to_an_eavesdropper_vanishes_and_that_to_a_coalition_does_not():
    for v in (1e2, 1e5, 1e8):
        tapped = audit(averages(GRAPH), mask=sv.GaussianMask(v), c=0.4)
        inside = audit(averages(GRAPH), mask=sv.GaussianMask(v), corrupt={0})
        assert tapped.leakage.max() < 10 / v
        assert np.nanmin(inside.leakage) > -0.5 * np.log1p(-1 / 6)
        assert np.nanmax(inside.excess) < 10 / v


@pytest.mark.parametrize("seed", range(4))
def test_the_calibration_inequality(seed):
    """``excess <= 4 sigma_s^2 [L_h^+]_ii / (sigma^2 (1 - 1/n_k))`` for every coalition, and tight for a large mask."""
    network = sv.Network.erdos_renyi(7, 0.5, seed=seed)
    prior, tightest = 2.5, 0.0
    for v in (1e-2, 1.0, 1e3, 1e7):
        for corrupt in ({0}, {1, 4}, {2, 3, 6}):
            honest, L = honest_laplacian(network, corrupt)
            size = group_sizes(network, honest)
            hidden = size > 1
            excess = audit(averages(network), mask=sv.GaussianMask(v), corrupt=corrupt, prior=prior).excess[honest]
            bound = 4 * prior * np.diag(np.linalg.pinv(L))[hidden] / (v * (1 - 1 / size[hidden]))
            assert (excess[hidden] <= bound * (1 + 1e-9)).all()
            tightest = max(tightest, float((excess[hidden] / bound).max()))
    assert tightest > 0.999


@pytest.mark.parametrize("corrupt", [{0}, {3, 4}], ids=str)
def test_encrypted_asynchronous_pdmm_uses_one_pad_an_edge(corrupt):
    """``theta = 1``, one node at a time: noise ``(sigma^2/4) L_h`` for ``a = 2``, half the signal-to-noise ratio."""
    v, prior = 30.0, 4.0
    report = audit(
        averages(GRAPH), mask=sv.GaussianMask(v), corrupt=corrupt, prior=prior, channels="encrypted",
        schedule=sv.Asynchronous(), theta=1.0, c=0.37, seed=3,
    )  # fmt: skip
    honest, L = honest_laplacian(GRAPH, corrupt)
    kept = np.linalg.inv(np.eye(len(L)) + v / (4 * prior) * L)
    # Elimination: functionals of 1e-4 at the faintest, turned by rounding of eps.
    np.testing.assert_allclose(report.leakage[honest], -0.5 * np.log1p(-np.diag(kept)), rtol=1e-9)


@pytest.mark.parametrize("theta", [0.5, 0.8])
def test_encrypted_channels_hide_nothing_more_from_a_whole_transcript_with_averaging(theta):
    """With ``theta < 1`` both pads of an edge are read, and show."""
    arguments = {"mask": sv.GaussianMask(30.0), "corrupt": {0}, "c": 0.37, "theta": theta, "seed": 3}
    for schedule in (sv.Asynchronous(), sv.Synchronous()):
        closed = audit(averages(GRAPH), channels="encrypted", schedule=schedule, **arguments)
        tapped = audit(averages(GRAPH), schedule=schedule, **arguments)
        np.testing.assert_allclose(closed.leakage, tapped.leakage, rtol=1e-9)


@pytest.mark.parametrize("adversary", [Eavesdropper(), Coalition({0}) | Eavesdropper(), Coalition({0})], ids=str)
@pytest.mark.parametrize("runs", [2, 5])
def test_runs_divide_the_noise(runs, adversary):
    arguments = {"against": adversary, "c": 0.37, "seed": 0}
    several = audit(averages(GRAPH), mask=sv.GaussianMask(30.0), seen=Transcript(runs=runs), **arguments)
    weaker = audit(averages(GRAPH), mask=sv.GaussianMask(30.0 / runs), **arguments)
    np.testing.assert_allclose(several.leakage, weaker.leakage, rtol=1e-13)
    assert (several.leakage > audit(averages(GRAPH), mask=sv.GaussianMask(30.0), **arguments).leakage)[1:].all()


# The paper's metric


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: type(schedule).__name__)
@pytest.mark.parametrize("iterations", [0, 3, 20])
@pytest.mark.parametrize("d", [1, 2])
def test_the_snapshot_is_that_of_eq_8(rng, d, iterations, schedule):
    """For independent secrets, and the honest neighbours of each node, it is ``snapshot_information``."""
    root = rng.normal(size=(GRAPH.n, d, d))
    Q = root @ root.transpose(0, 2, 1) + np.eye(d)
    problem = sv.Problem(GRAPH, sv.Quadratic.many(Q if d > 1 else Q[:, 0, 0], np.zeros((GRAPH.n, d))))
    corrupt, v, prior = {1, 3}, 5.0, 2.0
    run = {"theta": 0.8, "c": 0.6, "seed": 4}
    report = audit(
        problem, mask=sv.GaussianMask(v), corrupt=corrupt, prior=prior, schedule=schedule,
        seen=Snapshot(iterations), hessians="public", **run,
    )  # fmt: skip
    assert report.view.startswith(f"the snapshot of eq. 8 at iteration {iterations}")
    for i in {0, 2, 4, 5, 6}:
        expected = snapshot_information(
            problem, schedule, node=i, honest=set(GRAPH.neighbours(i).tolist()) - corrupt, variance=v,
            secret_variance=prior, iterations=iterations, **run,
        ).nats[-1]  # fmt: skip
        assert report.leakage[i] == pytest.approx(expected, rel=1e-9)


def test_the_snapshot_beyond_the_answer(rng):
    """``excess = I(S_i; Y_i | answer)``: ``Y_i`` of a played run, and a conditioning of everything at once."""
    a, prior, corrupt, v, n = rng.uniform(0.5, 3, GRAPH.n), rng.uniform(0.5, 3, GRAPH.n), {0, 3}, 5.0, GRAPH.n
    problem = sv.Problem(GRAPH, sv.Quadratic.many(a, np.zeros((n, 1))))
    report = audit(
        problem, mask=sv.GaussianMask(v), corrupt=corrupt, prior=prior, seen=Snapshot(4), theta=0.8, c=0.6,
        hessians="public",
    )  # fmt: skip
    run = LinearRun(problem, sv.Synchronous(), theta=0.8, c=0.6)
    run.advance(4)
    z0, K = np.arange(2 * GRAPH.m), np.diag(np.concatenate([np.full(2 * GRAPH.m, v), a**2 * prior]))  # of (z(0), q)
    told = np.zeros((3, len(K)))  # the coalition's own, and the sum over the one group that it leaves
    told[0, len(z0) + 0] = told[1, len(z0) + 3] = 1
    told[2, [len(z0) + i for i in range(n) if i not in corrupt]] = 1
    for i in set(range(n)) - corrupt:
        Y = a[i] * run.fresh()[i] + run.q[i]
        for h in range(GRAPH.indptr[i], GRAPH.indptr[i + 1]):
            if GRAPH.indices[h] not in corrupt:
                Y = Y + GRAPH.C.data[h] * run.stacked_z()[h]
        shares = []
        for rows in (told, np.vstack([told, Y[:-1]])):
            gain = K[len(z0) + i] @ rows.T
            shares.append(1 - gain @ np.linalg.solve(rows @ K @ rows.T, gain) / K[len(z0) + i, len(z0) + i])
        assert report.excess[i] == pytest.approx(0.5 * np.log(shares[0] / shares[1]), rel=1e-9)


def test_a_snapshot_shows_less_than_the_transcript():
    arguments = {"mask": sv.GaussianMask(5.0), "corrupt": {0}, "schedule": sv.Asynchronous(), "c": 0.5, "seed": 1}
    for iterations in (1, 10, 60):
        snapshot = audit(averages(GRAPH), seen=Snapshot(iterations), **arguments)
        transcript = audit(averages(GRAPH), seen=Transcript(iterations + 100), **arguments)  # in which all have woken
        assert (snapshot.leakage[1:] <= transcript.leakage[1:] + 1e-12).all()
        assert (snapshot.excess[1:] <= transcript.excess[1:] + 1e-12).all()


# Large networks


def bridged():
    left, right = (sv.Network.random_geometric(75, seed=seed).edges for seed in (1, 2))
    return sv.Network.from_edges(150, np.concatenate([left, right + 75, [[0, 75]]]))


@pytest.mark.parametrize("corrupt", [set(), {0, 7}], ids=str)
@pytest.mark.parametrize("v", [1e-2, 50.0, 1e6, 1e10])
def test_sparse_solves_are_the_dense_ones(rng, v, corrupt):
    """``nodes=``, one sparse solve each: to 1e-9 of the excess, which may be tiny itself. 150 nodes, and a bridge."""
    network = bridged()
    problem = sv.Problem(network, sv.Quadratic.many(rng.uniform(0.5, 3, 150), np.zeros((150, 1))))
    arguments = {"mask": sv.GaussianMask(v), "corrupt": corrupt, "prior": rng.uniform(0.2, 4, 150), "c": 0.3}
    asked = [1, 30, 75, 149]
    dense, sparse = (audit(problem, nodes=nodes, hessians="public", **arguments) for nodes in (None, asked))
    for name in ("leakage", "floor", "excess"):
        np.testing.assert_allclose(getattr(sparse, name)[asked], getattr(dense, name)[asked], rtol=1e-9)
    # A coalition's dense posterior comes from a system of condition v.
    np.testing.assert_allclose(sparse.posterior_std[asked], dense.posterior_std[asked], rtol=max(1e-9, v * EPS))
    assert np.isnan(np.delete(sparse.leakage, asked)).all()


def test_sparse_solves_where_groups_of_neighbours_are_merged(monkeypatch):
    """The coarse problem of the solver, which is there for long graphs, on a small one."""
    problem, arguments = averages(sv.Network.grid(4, 40)), {"mask": sv.GaussianMask(1e5), "corrupt": {0}}
    dense = audit(problem, **arguments)
    monkeypatch.setattr(sparse_estimators, "GROUPS", 10)
    label = sparse_estimators._aggregates(sv.Network.grid(4, 40).adjacency)
    assert 1 < len(np.unique(label)) <= 10
    assert np.array_equal(np.unique(label), np.arange(label.max() + 1))
    sparse = audit(problem, nodes=[1, 80, 159], **arguments)
    np.testing.assert_allclose(sparse.excess[[1, 80, 159]], dense.excess[[1, 80, 159]], rtol=1e-9)


LARGE = {
    "bridged": (bridged(), [set(), {0, 7}, {3}]),  # 0 is one end of the bridge
    "long": (sv.Network.from_edges(60, [(i, i + 1) for i in range(59)]), [set(), {5, 30}, {1, 3}]),  # isolates 0 and 2
    "grid": (sv.Network.grid(8, 9), [set(), {1, 9}]),  # isolates the corner
    "star": (sv.Network.from_edges(30, [(0, i) for i in range(1, 30)]), [set(), {0}, {1}]),  # isolates everybody
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("v", [1e-8, 1e-2, 50.0, 1e6, 1e12])
def test_one_factorisation_gives_what_dense_solves_give(rng, monkeypatch, v, name):
    """All nodes, the readable twin being the dense form: to 2e-12 of an excess that is tiny itself."""
    monkeypatch.setattr(closed_form, "LARGE", 1_000)  # no diagonals of inverses: tests/equivalence has them
    network, coalitions = LARGE[name]
    n = network.n
    problem = sv.Problem(network, sv.Quadratic.many(rng.uniform(0.5, 3, n), np.zeros((n, 1))))
    arguments = {"mask": sv.GaussianMask(v), "prior": rng.uniform(0.2, 4, n), "c": 0.3, "hessians": "public"}
    for corrupt in coalitions:
        dense = audit(problem, corrupt=corrupt, **arguments)
        with monkeypatch.context() as patch:
            patch.setattr(case, "DENSE", 0)
            sparse = audit(problem, corrupt=corrupt, **arguments)
        assert (dense.method, sparse.method) == ("closed form", "closed form, by sparse solves")
        for part in ("leakage", "floor", "excess", "posterior_std"):
            # Of an excess, however small: to eps times the condition of a bridge, 1e4. A floor is a difference of
            # variances: to eps of these.
            atol = 0.0 if part == "excess" else 4 * EPS
            np.testing.assert_allclose(getattr(sparse, part), getattr(dense, part), rtol=1e4 * EPS, atol=atol)


# Simulation


@pytest.mark.parametrize(("corrupt", "channels"), [(set(), "open"), ({0}, "open"), ({0}, "encrypted")], ids=str)
def test_nodes_that_talk_give_away_that_much(rng, corrupt, channels):
    """``S_i`` regressed on what is heard in many runs of ``sv.Node``: it explains ``1 - exp(-2 I)`` of the variance."""
    network = sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3), (1, 3)])
    a, c, theta, v, draws = np.array([2.0, 1.0, 2.0, 3.0]), 0.5, 0.75, 3.0, 1500
    awake = [1, 3, 1, 2, 0, 1]
    S, heard = rng.normal(size=(draws, 4)), []
    for s in S:
        z0 = np.sqrt(v) * rng.normal(size=8)
        nodes = sv.nodes_of(sv.Problem(network, sv.Quadratic.many(a, -(a * s)[:, None])), c=c, theta=theta, z0=z0)
        known = [
            *s[list(corrupt)],
            *(z0[h] for h, pair in enumerate(network.half_edges.tolist()) if set(pair) & corrupt),
        ]
        for i in awake:
            messages = nodes[i].wake()
            for message in messages:
                nodes[message.receiver].receive(message)
                if channels == "open" or {i, message.receiver} & corrupt:
                    known.append(message.r[0])
        heard.append(known)
    problem = sv.Problem(network, sv.Quadratic.many(a, np.zeros((4, 1))))
    share = audit(
        problem, mask=sv.GaussianMask(v), corrupt=corrupt, channels=channels, schedule=sv.Trace(awake), theta=theta,
        c=c, hessians="public",
    ).share  # fmt: skip
    X = np.column_stack([np.ones(draws), np.array(heard).reshape(draws, -1)])
    rank = np.linalg.matrix_rank(X, tol=1e-8 * np.linalg.norm(X, 2))
    for i in set(range(4)) - corrupt:
        estimate = X @ np.linalg.lstsq(X, S[:, i], rcond=1e-8)[0]
        # The unbiased share, and its standard error: Var R^2 = 4 R^2 (1 - R^2)^2 / draws for Gaussian data, plus that
        # of a share which is 0.
        left = np.sum((S[:, i] - estimate) ** 2) / (draws - rank) / S[:, i].var(ddof=1)
        stderr = 2 * np.sqrt(share[i] / draws) * (1 - share[i]) + np.sqrt(2 * rank) / draws
        assert abs((1 - left) - share[i]) < 4 * stderr
