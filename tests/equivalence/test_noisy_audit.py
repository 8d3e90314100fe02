"""The auditor of runs with local noise against the oracle in fractions, where the noise is ``n`` more unknowns; and
``mu`` against the covariance of whole transcripts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import rational as oracle
from situations import TOLERANCE, Situation, agree, expected, holds, random_situation

import sottovoce as sv
from sottovoce.privacy import Coalition, Eavesdropper, Snapshot, Transcript, Worst, audit

HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)])
PATH = sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3)])
CURVATURES = [1, 2, 3, F(3, 2), F(5, 2)]
VARIANCES = [1, F(1, 2), 2, F(3, 4), 3]
PUBLISHED = Transcript(answer="public")


def house(corrupt, schedule=sv.Synchronous(), iterations=2, **more):  # noqa: B008 - frozen
    """Five nodes with different curvatures and priors, behind noise."""
    model = {"c": F(7, 10), "theta": F(4, 5), "v": 10, "Sigma_s": oracle.diagonal(list(map(F, VARIANCES)))}
    return Situation(
        oracle.Model(HOUSE, **({"a": CURVATURES, "noise": F(1, 3)} | model | more)),
        schedule,
        iterations,
        frozenset(corrupt),
    )


def asked(situation, **more):
    """The audit, with the noise of the model."""
    variances = [float(row[i]) for i, row in enumerate(situation.model.Sigma_s)]
    own = {"prior": variances, "noise": sv.LocalNoise(float(situation.model.noise))}
    return situation.audit(**(own | more))


SCHEDULES = [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.6), sv.NodeBernoulli(0.5)]


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_prefixes_and_curvatures(seed):
    """Every method: closed form, elimination, encrypted own edges; with taps, without, and without anybody corrupt."""
    rng = np.random.default_rng(seed)
    noise = [F(1, 100), F(1, 2), F(7)][seed % 3]
    n, iterations = int(rng.integers(3, 7)), int(rng.integers(1, 8))
    situation = random_situation(rng, n, SCHEDULES[seed % 4], iterations, noise=noise)
    values = situation.expected("open")
    agree(asked(situation), values)
    agree(asked(situation, method="elimination"), values)
    holds(asked(situation, channels="encrypted"), situation.expected("encrypted"))
    tapped = replace(situation, corrupt=frozenset())
    for method in ("closed form", "elimination"):
        report = asked(tapped, method=method)
        agree(report, tapped.expected("open"))
        # A number has one standard deviation, and it says the same.
        spread = -np.log(report.posterior_std / report.prior_std)[:, 0]
        np.testing.assert_allclose(spread, report.leakage, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()], ids=["synchronous", "asynchronous"])
def test_whole_encrypted_transcripts(schedule):
    """An endless run against a long one (``test_audit_oracle`` says how long)."""
    long = house({0}, schedule, 25 if isinstance(schedule, sv.Synchronous) else 120, theta=1)
    values = long.expected("encrypted")
    for who in ({}, {"corrupt": (), "against": Coalition({0})}):
        holds(asked(long, channels="encrypted", iterations=None, **who), values)


def test_isolated_nodes_keep_their_noise():
    """1 is corrupt: of 0 the noisy number is learned, of 2 and 3 the sum. Nobody is disclosed."""
    model = oracle.averaging(PATH, c=1, theta=1, v=5)
    situation = Situation(replace(model, noise=F(1, 2)), sv.Synchronous(), 1, frozenset({1}))
    for more in ({}, {"method": "elimination"}, {"channels": "encrypted"}):
        report = asked(situation, **more)
        agree(report, situation.expected(more.get("channels", "open")))
        assert report.leakage[0] == pytest.approx(0.5 * np.log(1 + 1 / 0.5), abs=1e-12)  # I(S; S + N(0, 1/2))
        assert report.floor[0] == pytest.approx(report.leakage[0], abs=1e-12)
        assert report.excess[0] == 0
        assert report.exposed == report.doomed == ()
    agree(asked(replace(situation, iterations=0)), replace(situation, iterations=0).expected("open"))


@pytest.mark.parametrize("corrupt", [(), (0,), (1, 4)])
@pytest.mark.parametrize("channels", ["open", "encrypted"])
def test_noise_alone(corrupt, channels):
    """No mask: over open channels every noisy number is seen, and the noise is all there is."""
    situation = house(corrupt, iterations=6)
    report = asked(situation, channels=channels, mask=None)
    if channels == "encrypted" and not corrupt:
        assert not report.leakage.any()
        return
    # All pads are 0, and known to be.
    known = list(situation.model.pads.values())
    values = expected(situation.model, situation.view(channels) + known, situation.corrupt)
    holds(report, values)
    if channels == "open":
        honest = [i for i in range(5) if i not in corrupt]
        K = np.array(VARIANCES, dtype=float)[honest]
        np.testing.assert_allclose(values[0][honest], 0.5 * np.log1p(3 * K), rtol=0, atol=1e-12)


@pytest.mark.parametrize("noise", [F(1, 3), F(100)])
def test_the_snapshot(noise):
    """``Y_i`` of eq. 8 from the oracle's ``x`` and ``z``: all other secrets, noise and pads are noise to it."""
    situation, k = house({0}, noise=noise), 3
    model = situation.model
    report = asked(situation, seen=Snapshot(k))
    x, z = states(model, k)
    for i in range(1, 5):
        around = [j for j in model.neighbours[i] if j != 0]
        Y = oracle.combine(
            (model.a[i], x[i]), (-model.a[i], model.given(i)), *((oracle.A(i, j), z[i, j]) for j in around)
        )
        share = oracle.explained(model, [Y], [0])[i]
        assert report.leakage[i] == pytest.approx(oracle.nats(share), abs=TOLERANCE)
        told = oracle.answer(model, [0])
        floor, both = (oracle.nats(oracle.explained(model, rows, [0])[i]) for rows in (told, [*told, Y]))
        assert report.floor[i] == pytest.approx(floor, abs=TOLERANCE)
        assert report.excess[i] == pytest.approx(both - floor, abs=TOLERANCE)


def states(model, iterations):
    """``x`` and ``z`` after so many synchronous iterations, where ``x`` is that of the next wake."""
    z = dict(model.pads)

    def step():
        found = []
        for i, around in enumerate(model.neighbours):
            gradient = [(-model.a[i], model.given(i)), *((oracle.A(i, j), z[i, j]) for j in around)]
            found.append(oracle.combine((-1 / (model.a[i] + model.c * len(around)), oracle.combine(*gradient))))
        return found

    for _ in range(iterations):
        x = step()
        y = {(j, i): oracle.combine((1, z[i, j]), (2 * model.c * oracle.A(i, j), x[i])) for i, j in z}
        z = {pair: oracle.combine((1 - model.theta, z[pair]), (model.theta, y[pair])) for pair in z}
    return step(), z


def test_eavesdroppers_who_are_told_the_noisy_result():
    situation = house(())
    model = situation.model
    total = [oracle.combine(*((model.a[i], model.given(i)) for i in range(5)))]
    told, both = (oracle.explained(model, rows, ()) for rows in (total, situation.view("open") + total))
    floor, leakage = (np.array([oracle.nats(shares[i]) for i in range(5)]) for shares in (told, both))
    agree(asked(situation, seen=PUBLISHED), np.array([leakage, floor, leakage - floor]))
    alone = asked(situation, seen=PUBLISHED, channels="encrypted")
    agree(alone, np.array([floor, floor, np.zeros(5)]))


@pytest.mark.parametrize("corrupt", [(), (0,)])
@pytest.mark.parametrize("channels", ["open", "encrypted"])
def test_repeated_runs_average_pads_and_noise(corrupt, channels):
    """Three runs on the same secrets, each with pads and noise of its own, in one oracle."""
    if channels == "encrypted" and not corrupt:
        pytest.skip("nothing is seen")
    runs, once = 3, house(corrupt, sv.Trace([1, 2, 0, 3, 1]), 5)
    model, n = once.model, 5
    more = model.unknowns - n

    def shifted(row, run):
        return row[:n] + [F(0)] * (run * more) + row[n:] + [F(0)] * ((runs - 1 - run) * more)

    own = [row[n:] for row in model.prior[n:]]
    prior = oracle.block_diagonal(model.Sigma_s, *[own] * runs)
    view, told = once.view(channels), oracle.answer(model, corrupt)
    left = {}
    for name, rows in (("seen", view), ("told", told), ("both", view + told)):
        every = oracle.posterior(prior, [shifted(row, run) for run in range(runs) for row in rows], n)
        left[name] = {i: oracle.nats(1 - every[i][i] / model.Sigma_s[i][i]) for i in range(n) if i not in corrupt}
    values = np.full((3, n), np.nan)
    for i in left["seen"]:
        values[:, i] = left["seen"][i], left["told"][i], left["both"][i] - left["told"][i]
    agree(asked(once, channels=channels, runs=runs), values)


def test_the_worst_coalition_is_the_worst_of_all():
    situation = house((), iterations=3)
    report = asked(situation, corrupt=(), against=Worst(2), iterations=None)
    pairs = [(), *((i,) for i in range(5)), *((i, j) for i in range(5) for j in range(i))]
    every = np.array([replace(situation, corrupt=frozenset(who)).expected("open") for who in pairs])
    np.testing.assert_allclose(report.leakage, np.nanmax(every[:, 0], axis=0), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(report.floor, np.nanmax(every[:, 1], axis=0), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(report.excess, np.nanmax(every[:, 2], axis=0), rtol=0, atol=TOLERANCE)


def test_the_bound_for_more_coalitions_than_can_be_tried(monkeypatch):
    network = sv.Network.random_geometric(12, seed=3)
    problem, setting = sv.averaging(network, np.zeros(12)), {"noise": sv.LocalNoise(0.4), "c": 0.5, "prior": 2.0}
    mask = sv.GaussianMask(200.0)
    tried = audit(problem, mask, against=Worst(1), **setting)
    monkeypatch.setattr("sottovoce.privacy.methods.worst_coalition.WORK", 0.0)
    bound = audit(problem, mask, against=Worst(1), **setting)
    assert bound.guarantee == "upper bound"
    assert (bound.leakage >= tried.leakage).all()
    assert (bound.excess >= tried.excess).all()
    assert (bound.leakage <= 0.5 * np.log1p(2 / 0.4) + 1e-12).all()  # what the noisy number itself tells
    assert bound.exposed == ()


def test_vectors_and_matrices():
    """Independent entries count one by one, coupled ones together; against a posterior by plain linear algebra."""
    rng, n, d, t, v = np.random.default_rng(3), 5, 2, 0.3, 20.0
    roots = rng.normal(size=(n, d, d))
    Q = roots @ roots.transpose(0, 2, 1) + np.eye(d)
    problem = sv.Problem(HOUSE, sv.Quadratic.many(Q, np.zeros((n, d))))
    blocks = rng.normal(size=(n, d, d))
    K = np.zeros((n * d, n * d))
    for i, block in enumerate(blocks):
        K[i * d : (i + 1) * d, i * d : (i + 1) * d] = block @ block.T + np.eye(d) / 2
    report = audit(problem, sv.GaussianMask(v), noise=sv.LocalNoise(t), corrupt={0}, prior=K, hessians="public")
    W = HOUSE.adjacency.toarray()[1:, 1:]
    A = np.zeros((4 * d, 4 * d))
    for i in range(4):
        A[i * d : (i + 1) * d, i * d : (i + 1) * d] = Q[i + 1]
    own = K[d:, d:]
    seen = A @ (own + t * np.eye(4 * d)) @ A + v / 2 * np.kron(np.diag(W.sum(axis=1)) - W, np.eye(d))
    left = own - own @ A @ np.linalg.solve(seen, A @ own)
    for i in range(4):
        mine = slice(i * d, (i + 1) * d)
        nats = 0.5 * np.log(np.linalg.det(own[mine, mine]) / np.linalg.det(left[mine, mine]))
        assert report.leakage[i + 1] == pytest.approx(nats, abs=1e-9)
        np.testing.assert_allclose(report.posterior_std[i + 1], np.sqrt(np.diag(left)[mine]), rtol=1e-9)
    one, two = (
        audit(sv.averaging(HOUSE, zeros), sv.GaussianMask(v), noise=sv.LocalNoise(t), corrupt={0}, prior=1.5)
        for zeros in (np.zeros(5), np.zeros((5, 2)))
    )
    np.testing.assert_allclose(two.leakage, 2 * one.leakage, rtol=1e-12)
    np.testing.assert_allclose(two.mu, np.sqrt(2) * one.mu, rtol=1e-12)


# Gaussian differential privacy


def distance(situation, i, channels="open"):
    """``mu`` of the best test between two transcripts whose data differ at ``i`` alone, by one standard deviation: from
    the oracle's rows, by least squares. What a coalition knows of itself is the same in both."""
    model, n = situation.model, situation.model.network.n
    view = np.array([[float(entry) for entry in row] for row in situation.view(channels)])
    root = np.sqrt(np.array([float(model.prior[k][k]) for k in range(n, model.unknowns)]))
    moved, noise = view[:, i] * np.sqrt(float(model.Sigma_s[i][i])), view[:, n:] * root
    return float(np.linalg.norm(np.linalg.lstsq(noise, moved, rcond=1e-9)[0]))


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("corrupt", [(), (0,), (1, 4)])
def test_mu_is_that_of_the_best_test(corrupt, equal):
    """Without any condition, also to an eavesdropper, who does not know the shift of all ``x``."""
    situation = house(corrupt, iterations=3, **({"a": [2] * 5} if equal else {}))
    report = asked(situation, iterations=None)
    assert report.mu_bound is False
    for i in set(range(5)) - set(corrupt):
        assert report.mu[i] == pytest.approx(distance(situation, i), rel=1e-7)  # of the least-squares solution
    assert np.isnan(report.mu[list(corrupt)]).all()


def test_mu_is_a_bound_of_what_shows_less():
    situation = house({0}, iterations=3)
    for more, channels in (({"channels": "encrypted"}, "encrypted"), ({"iterations": 1}, "open")):
        report = asked(situation, **more)
        assert report.mu_bound == (channels == "encrypted")
        seen = situation if channels == "encrypted" else replace(situation, iterations=1)
        assert all(report.mu[i] >= distance(seen, i, channels) - 1e-9 for i in range(1, 5))
    early = asked(house({0}, sv.Trace([1, 2]), 2))
    assert early.mu_bound
    assert asked(situation, seen=Snapshot(1)).mu is None


def test_mu_in_closed_form():
    """``Delta sqrt([(t I + (sigma^2/8) L_h)^{-1}]_ii)``; noise alone is the Gaussian mechanism, ``Delta/sqrt(t)``."""
    network, t, v = sv.Network.random_geometric(9, seed=2), 0.25, 40.0
    problem, noise = sv.averaging(network, np.zeros(9)), sv.LocalNoise(t)
    W = network.adjacency.toarray()[1:, 1:]
    C = t * np.eye(8) + v / 8 * (np.diag(W.sum(axis=1)) - W)
    report = audit(problem, sv.GaussianMask(v), noise=noise, corrupt={0}, prior=4.0)
    np.testing.assert_allclose(report.mu[1:], 2 * np.sqrt(np.diag(np.linalg.inv(C))), rtol=1e-10)
    bare = audit(problem, noise=noise, corrupt={0}, prior=4.0)
    np.testing.assert_allclose(bare.mu[1:], 2 / np.sqrt(t), rtol=1e-12)
    huge = audit(problem, sv.GaussianMask(1e14), noise=noise, corrupt={0}, prior=4.0)
    np.testing.assert_allclose(huge.mu[1:], 2 / np.sqrt(8 * t), rtol=1e-9)  # of the sum over eight
    mean = audit(problem, noise=noise, prior=4.0, channels="encrypted", seen=PUBLISHED)
    np.testing.assert_allclose(mean.mu, 2 / np.sqrt(9 * t), rtol=1e-12)
    assert not audit(problem, noise=noise, prior=4.0, channels="encrypted").mu.any()
    four = audit(problem, sv.GaussianMask(v), noise=noise, corrupt={0}, prior=4.0, seen=Transcript(runs=4))
    np.testing.assert_allclose(four.mu, 2 * report.mu, rtol=1e-12)
    worst = audit(problem, sv.GaussianMask(v), noise=noise, prior=4.0, against=Worst(1), c=1.0)
    every = [audit(problem, sv.GaussianMask(v), noise=noise, prior=4.0, corrupt={i}).mu for i in range(9)]
    np.testing.assert_allclose(worst.mu, np.nanmax(every, axis=0), rtol=1e-12)


def test_an_eavesdropper_and_a_coalition_together_are_what_corrupt_says():
    situation = house({0})
    together = asked(situation, corrupt=(), against=Coalition({0}) | Eavesdropper())
    np.testing.assert_array_equal(together.leakage, asked(situation).leakage)
