"""The worst coalition against brute force, the bound where there are too many, and masks that are just large enough."""

from __future__ import annotations

from fractions import Fraction as F
from importlib import import_module
from itertools import chain, combinations

import numpy as np
import pytest
import rational as oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from situations import TOLERANCE, Situation, networks

import sottovoce as sv
from sottovoce.errors import Unsupported
from sottovoce.privacy import audit, calibrate

worst_module = import_module("sottovoce.privacy.worst")
KITE = sv.Network.from_edges(5, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)])
RUN = {"c": 0.5, "seed": 0, "theta": 0.8, "hessians": "public"}


def coalitions(n, t):
    return [frozenset(nodes) for nodes in chain.from_iterable(combinations(range(n), size) for size in range(t + 1))]


def curved(network, a):
    return sv.Problem(network, sv.Quadratic.many(np.asarray(a, dtype=float), np.zeros((network.n, 1))))


# The worst case


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("t", [0, 1, 2])
def test_the_worst_coalition_by_brute_force_in_fractions(t, channels):
    """Every coalition by the oracle: the most that anybody learns of each node, and who it is."""
    model = oracle.Model(KITE, [2] * 5, c=F(1, 2), theta=F(4, 5), v=9, Sigma_s=oracle.diagonal([F(1)] * 5))
    every = {
        # Twelve iterations are more than the far end of this graph needs to show.
        corrupt: Situation(model, sv.Synchronous(), 12, corrupt).expected(channels)
        for corrupt in coalitions(5, t)
    }
    most = np.nanmax(list(every.values()), axis=0)
    report = audit(sv.averaging(KITE, np.zeros(5)), mask=sv.GaussianMask(9.0), max_corrupt=t, channels=channels, **RUN)
    np.testing.assert_allclose([report.leakage, report.floor, report.excess], most, rtol=0, atol=TOLERANCE)
    for i, by in enumerate(report.coalitions):
        if most[0, i] == 0:
            assert by is None
        else:
            np.testing.assert_allclose(every[by][0, i], most[0, i], rtol=0, atol=TOLERANCE)
    if most[0].max() > 0:
        assert np.nanmax(every[report.overall][0]) >= most[0].max() - TOLERANCE
    assert report.guarantee == "exact"
    assert report.groups == []
    assert f"coalitions of at most {t}" in report.method or report.method.startswith("nothing is seen")


@settings(max_examples=10, deadline=None)
@given(networks(6), st.integers(0, 3), st.integers(0, 99))
def test_the_worst_coalition_by_brute_force_in_floats(network, t, seed):
    """Exposed are exactly the nodes with at most ``t`` neighbours; the others leak what some coalition learns."""
    rng, n = np.random.default_rng(seed), network.n
    t = min(t, n - 2)
    # Powers of 4: a conditional variance of 0 is then 0 without rounding (see test_isolated_nodes_whatever_the_prior).
    problem, prior = curved(network, 4.0 ** rng.integers(-1, 2, n)), 4.0 ** rng.integers(-1, 2, n)
    arguments = {"mask": sv.GaussianMask(5.0), "prior": prior, **RUN}
    report = audit(problem, max_corrupt=t, **arguments)
    singles = [audit(problem, corrupt=corrupt, **arguments) for corrupt in coalitions(n, t)]
    for name in ("leakage", "floor", "excess"):
        np.testing.assert_array_equal(getattr(report, name), np.nanmax([getattr(one, name) for one in singles], axis=0))
    assert report.exposed == tuple(np.flatnonzero(network.degrees <= t))


def test_a_larger_budget_learns_no_less():
    problem, last = sv.averaging(sv.Network.complete(5), np.zeros(5)), np.zeros(5)
    for t in range(4):
        leakage = audit(problem, mask=sv.GaussianMask(5.0), max_corrupt=t, **RUN).leakage
        assert (leakage > last).all()
        last = leakage
    assert audit(problem, mask=sv.GaussianMask(5.0), max_corrupt=4, **RUN).exposed == (0, 1, 2, 3, 4)


# Too many to try: the bound


@settings(max_examples=20, deadline=None)
@given(networks(7), st.integers(0, 3), st.sampled_from([1e-2, 1.0, 30.0, 1e6]), st.integers(0, 99))
def test_the_bound_is_above_the_exact_worst_case(network, t, v, seed):
    rng, n = np.random.default_rng(seed), network.n
    t = min(t, n - 2)
    problem, prior = curved(network, 4.0 ** rng.integers(-1, 2, n)), 4.0 ** rng.integers(-1, 2, n)
    arguments = {"mask": sv.GaussianMask(v), "prior": prior, "max_corrupt": t, **RUN}
    exact = audit(problem, **arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worst_module, "WORK", 0.0)
        bound = audit(problem, **arguments)
        encrypted = audit(problem, channels="encrypted", **arguments)
    assert (exact.guarantee, bound.guarantee) == ("exact", "upper bound")
    assert (bound.leakage >= exact.leakage * (1 - 1e-12)).all()
    assert (bound.excess >= exact.excess * (1 - 1e-12)).all()
    assert bound.exposed == exact.exposed
    np.testing.assert_array_equal(bound.leakage, encrypted.leakage)
    assert np.isnan(bound.posterior_std).all()
    assert "Upper bounds" in bound.setting()


def test_the_bound_is_tight_on_a_path(monkeypatch):
    """The middle of a path has one honest neighbour left, which has nothing else to hide behind: no more to give."""
    network = sv.Network.from_edges(3, [(0, 1), (1, 2)])
    arguments = {"mask": sv.GaussianMask(7.0), "max_corrupt": 1, **RUN}
    exact = audit(sv.averaging(network, np.zeros(3)), **arguments)
    monkeypatch.setattr(worst_module, "WORK", 0.0)
    bound = audit(sv.averaging(network, np.zeros(3)), **arguments)
    assert bound.leakage[1] == pytest.approx(exact.leakage[1], rel=1e-12)
    assert bound.exposed == exact.exposed == (0, 2)
    assert bound.coalitions == (frozenset({1}), None, frozenset({1}))


def test_copies_count_in_the_bound(monkeypatch):
    monkeypatch.setattr(worst_module, "WORK", 0.0)
    one, three = (
        audit(sv.averaging(KITE, np.zeros(shape)), mask=sv.GaussianMask(7.0), max_corrupt=1, **RUN)
        for shape in (5, (5, 3))
    )
    np.testing.assert_allclose(three.leakage, 3 * one.leakage, rtol=1e-14)


def test_the_bound_bounds_the_floor_too(monkeypatch):
    arguments = {"mask": sv.GaussianMask(30.0), "max_corrupt": 2, **RUN}
    exact = audit(sv.averaging(sv.Network.complete(5), np.zeros(5)), **arguments)
    monkeypatch.setattr(worst_module, "WORK", 0.0)
    bound = audit(sv.averaging(sv.Network.complete(5), np.zeros(5)), **arguments)
    assert (np.isnan(bound.floor) | (bound.floor >= exact.floor)).all()


@pytest.mark.parametrize("more", [{"prior": np.eye(5) + 1}, {"mask": None}])
def test_no_bound_where_its_assumptions_fail(monkeypatch, more):
    monkeypatch.setattr(worst_module, "WORK", 0.0)
    with pytest.raises(Unsupported, match="6 coalitions are too many to try, and the bound for more needs independent"):
        audit(sv.averaging(KITE, np.zeros(5)), **({"mask": sv.GaussianMask(1.0), "max_corrupt": 1} | RUN | more))


# Calibration


CASES = {
    "averaging": (sv.averaging(KITE, np.zeros(5)), {"max_corrupt": 1}, 1e-3),
    "loose": (sv.averaging(KITE, np.zeros(5)), {"max_corrupt": 1}, 2.0),
    "eavesdropper only": (sv.averaging(KITE, np.zeros(5)), {"max_corrupt": 0, "prior": 3.0}, 1e-2),
    "two corrupt": (sv.averaging(sv.Network.complete(5), np.zeros(5)), {"max_corrupt": 2}, 1e-2),
    "curvatures": (curved(KITE, [0.5, 2, 1, 3, 2]), {"max_corrupt": 1, "prior": [1.0, 0.3, 2.0, 5.0, 1.0]}, 1e-2),
    "related secrets": (curved(KITE, [0.5, 2, 1, 3, 2]), {"max_corrupt": 1, "prior": np.eye(5) + 0.5}, 1e-2),
    # The coalition that is worst under a large mask is not the worst under the mask that is found.
    "another coalition": (
        curved(sv.Network.complete(4), [4, 4, 0.25, 4]),
        {"max_corrupt": 1, "prior": [1.0, 0.01, 100.0, 1.0], "c": 2.0},
        3.0,
    ),
    "vectors": (sv.averaging(KITE, np.zeros((5, 3))), {"max_corrupt": 1}, 1e-2),
    "encrypted": (sv.averaging(KITE, np.zeros(5)), {"max_corrupt": 1, "channels": "encrypted"}, 1e-2),
    "encrypted, asynchronous": (
        sv.averaging(KITE, np.zeros(5)),
        {"max_corrupt": 1, "channels": "encrypted", "schedule": sv.Asynchronous(), "theta": 1.0},
        1e-2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_calibrated_mask_is_large_enough_and_not_larger(name):
    """Audited by the other method: ``delta`` holds against every coalition, and with a mask 1 % smaller it does not."""
    problem, more, delta = CASES[name]
    arguments = RUN | more
    mask = calibrate(problem, delta=delta, **arguments)
    assert isinstance(mask, sv.GaussianMask)
    assert (mask.delta, mask.excess) == (delta, pytest.approx(delta, rel=1e-5))  # the last bracket is 1e-6 wide
    t = arguments.pop("max_corrupt")
    method = {"method": "elimination"}

    def excess(variance):
        """The most of any node, for every coalition that listens."""
        open_channels = arguments.get("channels", "open") == "open"
        listening = [corrupt for corrupt in coalitions(problem.network.n, t) if corrupt or open_channels]
        return {
            corrupt: np.nanmax(
                audit(problem, mask=sv.GaussianMask(variance), corrupt=corrupt, **arguments | method).excess
            )
            for corrupt in listening
        }

    enough = excess(mask.variance)
    assert max(enough.values()) <= delta * (1 + 1e-9)
    assert enough[mask.coalition] == pytest.approx(mask.excess, rel=1e-9)
    assert max(excess(0.99 * mask.variance).values()) > delta


def test_a_calibrated_mask_says_what_it_promises():
    mask = calibrate(sv.averaging(KITE, np.zeros(5)), delta=0.01, max_corrupt=1, prior=4.0, **RUN)
    assert mask.against == "all 6 coalitions of at most 1, open channels"
    assert "<= 0.01 nats" in str(mask)
    assert "Gaussian secrets of variance 4" in str(mask)
    assert mask.accuracy == pytest.approx(np.finfo(float).eps * mask.sigma)
    # THEORY 4: what the closed inequality asks for is never less.
    assert mask.variance <= max(
        4 * 4.0 * np.linalg.pinv(laplacian(corrupt)).diagonal().max() / ((1 - 1 / (5 - len(corrupt))) * 0.01)
        for corrupt in coalitions(5, 1)
        if corrupt
    )


def laplacian(corrupt):
    honest = [i for i in range(5) if i not in corrupt]
    W = KITE.adjacency.toarray()[np.ix_(honest, honest)]
    return np.diag(W.sum(axis=1)) - W


@pytest.mark.parametrize("schedule", [sv.NodeBernoulli(0.5), sv.EdgeBernoulli(0.5)], ids=lambda s: type(s).__name__)
def test_a_calibrated_mask_holds_for_every_activation_sequence(schedule):
    problem = sv.averaging(KITE, np.zeros(5))
    arguments = {"channels": "encrypted", "schedule": schedule, "theta": 1.0, "c": 0.5}
    mask = calibrate(problem, delta=0.01, seed=1, **arguments)
    for seed in range(5):
        worst = audit(problem, mask=mask, max_corrupt=1, seed=seed, **arguments)
        assert np.max(worst.excess) <= 0.01 * (1 + 1e-9)


def test_the_mask_scales_with_the_secrets_and_falls_with_delta():
    problem = sv.averaging(KITE, np.zeros(5))
    small, large = (calibrate(problem, delta=0.01, prior=prior, **RUN).variance for prior in (1.0, 1e6))
    assert large == pytest.approx(1e6 * small, rel=1e-5)  # each to the width of the last bracket
    strict = calibrate(problem, delta=1e-4, **RUN).variance
    assert 90 * small < strict < 110 * small  # the excess is about one over the variance
    run = sv.solve(sv.averaging(KITE, np.arange(5.0)), mask=calibrate(problem, delta=0.01, **RUN), seed=0)
    assert run.status is sv.Status.CONVERGED
