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
from sottovoce.errors import BadlyHidden, NotCalibrated, Unsupported
from sottovoce.privacy import Transcript, Worst, audit, calibrate
from sottovoce.privacy.methods.case import Case, setting_of
from sottovoce.privacy.methods.closed_form import OpenView, _dense
from sottovoce.privacy.methods.posterior import Posterior
from sottovoce.privacy.methods.secrets_and_prior import secrets_of

worst_module, search_module, coalitions_module = (
    import_module(f"sottovoce.privacy.methods.{name}")
    for name in ("worst_coalition", "smallest_mask", "many_coalitions")
)
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
    report = audit(
        sv.averaging(KITE, np.zeros(5)), mask=sv.GaussianMask(9.0), against=Worst(t), channels=channels, **RUN
    )
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
    report = audit(problem, against=Worst(t), **arguments)
    singles = [audit(problem, corrupt=corrupt, **arguments) for corrupt in coalitions(n, t)]
    for name in ("leakage", "floor", "excess"):
        np.testing.assert_array_equal(getattr(report, name), np.nanmax([getattr(one, name) for one in singles], axis=0))
    assert report.exposed == tuple(np.flatnonzero(network.degrees <= t))


def test_a_larger_budget_learns_no_less():
    problem, last = sv.averaging(sv.Network.complete(5), np.zeros(5)), np.zeros(5)
    for t in range(4):
        leakage = audit(problem, mask=sv.GaussianMask(5.0), against=Worst(t), **RUN).leakage
        assert (leakage > last).all()
        last = leakage
    assert audit(problem, mask=sv.GaussianMask(5.0), against=Worst(4), **RUN).exposed == (0, 1, 2, 3, 4)


def test_stacks_of_coalitions_are_the_coalitions(monkeypatch):
    """Whatever the size of a stack: the same bits."""
    problem, arguments = sv.averaging(KITE, np.zeros(5)), {"mask": sv.GaussianMask(5.0), "against": Worst(2), **RUN}
    whole = audit(problem, **arguments)
    monkeypatch.setattr(coalitions_module, "STACK", 60)  # two at a time
    cut = audit(problem, **arguments)
    for name in ("leakage", "floor", "excess", "posterior_std"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(cut, name))
    assert (whole.coalitions, whole.overall) == (cut.coalitions, cut.overall)


@settings(max_examples=60, deadline=None)
@given(networks(9), st.integers(0, 5), st.floats(-12, 12), st.integers(0, 99))
def test_stacked_coalitions_are_the_readable_ones(network, t, exponent, seed):
    """The twin of ``many_coalitions`` is ``_dense``: equal to 1e-12, for cuts, isolated nodes, any size of the mask."""
    rng, n, v = np.random.default_rng(seed), network.n, 10.0**exponent
    secrets = secrets_of(curved(network, rng.uniform(0.5, 3, n)), rng.uniform(0.3, 3, n))
    corrupt = frozenset(rng.permutation(n)[: min(t, n - 1)].tolist())
    view = OpenView(secrets, corrupt, np.ones(n, dtype=bool), 0.3)
    assert view.is_stackable
    fast, slow = view.leaks(v), _dense(view, v)
    for name in ("leakage", "floor", "excess", "std"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-12, atol=0)


def test_what_a_sum_leaves_of_a_secret_that_dominates_it():
    """``floor = -1/2 ln(1 - D_i/total)`` by the sum of the others: the difference of the totals would lose digits."""
    prior = np.array([1.0, 1e6, 0.5, 0.25, 1.0])
    report = audit(sv.averaging(KITE, np.zeros(5)), mask=sv.GaussianMask(1e9), corrupt={0}, prior=prior)
    assert report.floor[1] == pytest.approx(-0.5 * np.log(1.75 / (1e6 + 1.75)), rel=1e-14)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_informations_of_many_nodes_are_those_of_each(rng, width):
    """``Posterior.nats`` against factorisations one at a time: small shares, large ones, disclosed directions."""
    root = rng.normal(size=(12, width, width))
    before = root @ root.transpose(0, 2, 1) + 0.1 * np.eye(width)
    kept = np.linalg.qr(rng.normal(size=(12, width, width)))[0]
    share = rng.uniform(0, 1, size=(12, width)) * np.array([1e-9, 0.3, 0.7, 1.0] * 3)[:, None]
    share[-1], share[-2, 0] = 1.0, 1.0
    half = np.linalg.cholesky(before) @ kept
    gained, after = ((half * part[:, None]) @ half.transpose(0, 2, 1) for part in (share, 1 - share))
    before[0] = after[0] = gained[0] = 0.0

    def alone(before, after, gained):
        if not before.any():
            return np.inf
        whiten = np.linalg.inv(np.linalg.cholesky(before))
        share, left = (np.linalg.eigvalsh(whiten @ part @ whiten.T) for part in (gained, after))
        if share[-1] < 0.5:
            return -0.5 * np.log1p(-share).sum()
        return np.inf if left[0] <= 1e-20 else -0.5 * np.log(left).sum()

    nats = Posterior(before, after, gained).nats()
    known = 1 - share.max(axis=1) < 1e-12  # of these rounding decides whether something is left
    expected = np.array([alone(*blocks) for blocks in zip(before, after, gained, strict=True)])
    np.testing.assert_allclose(nats[~known], expected[~known], rtol=1e-9)
    assert (nats[known] > 15).all()
    assert np.isinf(nats[0])


@pytest.mark.parametrize(("n", "t"), [(100, 2), (300, 1)])
def test_coalitions_that_are_few_enough_to_try(n, t):
    assert worst_module.coalitions_up_to(n, t) * worst_module.work(_case(n)) <= worst_module.WORK
    assert worst_module.coalitions_up_to(1_000, 1) * worst_module.work(_case(1_000)) > worst_module.WORK


def _case(n, d=1, channels="open", iterations=None):
    problem, prior = sv.averaging(sv.Network.ring(n), np.zeros((n, d))), np.eye(n * d) if d > 1 else 1.0
    setting = setting_of(problem, sv.Asynchronous(), None, 0.4, 0, Transcript(iterations))
    return Case(secrets_of(problem, prior), None, channels, setting)


def test_the_work_of_a_coalition_grows_with_the_unknowns():
    """A secret of ``d`` entries that are coupled counts ``d`` times, and encrypted channels add the pads."""
    for channels in ("open", "encrypted"):
        work = [worst_module.work(_case(30, d, channels=channels)) for d in (2, 4, 8)]
        assert work[0] < work[1] < work[2]
        assert 6 < (work[2] - work[1]) / (work[1] - work[0]) < 10  # as the cube, less the constant
    whole, prefix, encrypted = _case(30), _case(30, iterations=20), _case(30, channels="encrypted")
    assert worst_module.work(whole) < worst_module.work(prefix) < worst_module.work(encrypted)


# Too many to try: the bound


@settings(max_examples=20, deadline=None)
@given(networks(7), st.integers(0, 3), st.sampled_from([1e-2, 1.0, 30.0, 1e6]), st.integers(0, 99))
def test_the_bound_is_above_the_exact_worst_case(network, t, v, seed):
    rng, n = np.random.default_rng(seed), network.n
    t = min(t, n - 2)
    problem, prior = curved(network, 4.0 ** rng.integers(-1, 2, n)), 4.0 ** rng.integers(-1, 2, n)
    arguments = {"mask": sv.GaussianMask(v), "prior": prior, "against": Worst(t), **RUN}
    exact = audit(problem, **arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worst_module, "WORK", 0.0)
        bound = audit(problem, **arguments)
        encrypted = audit(problem, channels="encrypted", **arguments)
    assert (exact.guarantee, bound.guarantee) == ("exact", "upper bound")
    assert (bound.leakage >= exact.leakage * (1 - 1e-12)).all()
    assert (bound.excess >= exact.excess * (1 - 1e-12)).all()
    assert (encrypted.excess <= bound.excess).all()
    assert bound.exposed == exact.exposed
    np.testing.assert_array_equal(bound.leakage, encrypted.leakage)
    assert np.isnan(bound.posterior_std).all()
    assert "Upper bounds" in bound.setting()


def test_the_bound_is_tight_on_a_path(monkeypatch):
    """The middle of a path has one honest neighbour left, which has nothing else to hide behind: no more to give."""
    network = sv.Network.from_edges(3, [(0, 1), (1, 2)])
    arguments = {"mask": sv.GaussianMask(7.0), "against": Worst(1), **RUN}
    exact = audit(sv.averaging(network, np.zeros(3)), **arguments)
    monkeypatch.setattr(worst_module, "WORK", 0.0)
    bound = audit(sv.averaging(network, np.zeros(3)), **arguments)
    assert bound.leakage[1] == pytest.approx(exact.leakage[1], rel=1e-12)
    assert bound.exposed == exact.exposed == (0, 2)
    assert bound.coalitions == (frozenset({1}), None, frozenset({1}))


def test_copies_count_in_the_bound(monkeypatch):
    monkeypatch.setattr(worst_module, "WORK", 0.0)
    one, three = (
        audit(sv.averaging(KITE, np.zeros(shape)), mask=sv.GaussianMask(7.0), against=Worst(1), **RUN)
        for shape in (5, (5, 3))
    )
    np.testing.assert_allclose(three.leakage, 3 * one.leakage, rtol=1e-14)


def test_the_bound_on_the_excess_falls_and_the_advice_is_right(monkeypatch):
    """That of the leakage tends to ``1/2 ln(1 + 1/h)``, ``h`` honest neighbours; that of the excess to nothing."""
    problem, v = sv.averaging(sv.Network.complete(6), np.zeros(6)), 1e9
    monkeypatch.setattr(worst_module, "WORK", 0.0)
    small, large = (audit(problem, mask=sv.GaussianMask(of), against=Worst(1), **RUN) for of in (v / 1e3, v))
    np.testing.assert_allclose(large.leakage, 0.5 * np.log(1 + 1 / 4), rtol=1e-6)
    np.testing.assert_allclose(small.excess, 1e3 * large.excess, rtol=1e-3)
    weak = audit(problem, mask=sv.GaussianMask(1.0), against=Worst(1), **RUN)
    assert any("calibrate" in sentence for sentence in weak.advice())
    mask = calibrate(problem, delta=1e-3, **RUN)  # which the advice names
    assert audit(problem, mask=mask, against=Worst(1), **RUN).excess.max() <= 1e-3 * (1 + 1e-9)


def test_the_bound_bounds_the_floor_too(monkeypatch):
    arguments = {"mask": sv.GaussianMask(30.0), "against": Worst(2), **RUN}
    exact = audit(sv.averaging(sv.Network.complete(5), np.zeros(5)), **arguments)
    monkeypatch.setattr(worst_module, "WORK", 0.0)
    bound = audit(sv.averaging(sv.Network.complete(5), np.zeros(5)), **arguments)
    assert (np.isnan(bound.floor) | (bound.floor >= exact.floor)).all()


@pytest.mark.parametrize("more", [{"prior": np.eye(5) + 1}, {"mask": None}])
def test_no_bound_where_its_assumptions_fail(monkeypatch, more):
    monkeypatch.setattr(worst_module, "WORK", 0.0)
    with pytest.raises(Unsupported, match="6 coalitions are too many to try, and the bound for more needs independent"):
        audit(sv.averaging(KITE, np.zeros(5)), **({"mask": sv.GaussianMask(1.0), "against": Worst(1)} | RUN | more))


# Calibration


CASES = {
    "averaging": (sv.averaging(KITE, np.zeros(5)), {"against": Worst(1)}, 1e-3),
    "loose": (sv.averaging(KITE, np.zeros(5)), {"against": Worst(1)}, 2.0),
    "eavesdropper only": (sv.averaging(KITE, np.zeros(5)), {"against": Worst(0), "prior": 3.0}, 1e-2),
    "two corrupt": (sv.averaging(sv.Network.complete(5), np.zeros(5)), {"against": Worst(2)}, 1e-2),
    "curvatures": (curved(KITE, [0.5, 2, 1, 3, 2]), {"against": Worst(1), "prior": [1.0, 0.3, 2.0, 5.0, 1.0]}, 1e-2),
    "related secrets": (curved(KITE, [0.5, 2, 1, 3, 2]), {"against": Worst(1), "prior": np.eye(5) + 0.5}, 1e-2),
    # The coalition that is worst under a large mask is not the worst under the mask that is found.
    "another coalition": (
        curved(sv.Network.complete(4), [4, 4, 0.25, 4]),
        {"against": Worst(1), "prior": [1.0, 0.01, 100.0, 1.0], "c": 2.0},
        3.0,
    ),
    "vectors": (sv.averaging(KITE, np.zeros((5, 3))), {"against": Worst(1)}, 1e-2),
    "encrypted": (sv.averaging(KITE, np.zeros(5)), {"against": Worst(1), "channels": "encrypted"}, 1e-2),
    "encrypted, asynchronous": (
        sv.averaging(KITE, np.zeros(5)),
        {"against": Worst(1), "channels": "encrypted", "schedule": sv.Asynchronous(), "theta": 1.0},
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
    t = arguments.pop("against").max_corrupt
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
    mask = calibrate(sv.averaging(KITE, np.zeros(5)), delta=0.01, against=Worst(1), prior=4.0, **RUN)
    assert mask.against == "all 6 coalitions of at most 1, open channels"
    assert "<= 0.01 nats" in str(mask)
    assert "Gaussian secrets of variance 4" in str(mask)
    assert mask.accuracy == pytest.approx(np.finfo(float).eps * mask.sigma)
    # theory: Calibration. What the closed inequality asks for is never less.
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
        worst = audit(problem, mask=mask, against=Worst(1), seed=seed, **arguments)
        assert np.max(worst.excess) <= 0.01 * (1 + 1e-9)


def test_the_mask_scales_with_the_secrets_and_falls_with_delta():
    problem = sv.averaging(KITE, np.zeros(5))
    small, large = (calibrate(problem, delta=0.01, prior=prior, **RUN).variance for prior in (1.0, 1e6))
    assert large == pytest.approx(1e6 * small, rel=1e-5)  # each to the width of the last bracket
    strict = calibrate(problem, delta=1e-4, **RUN).variance
    assert 90 * small < strict < 110 * small  # the excess is about one over the variance
    run = sv.solve(sv.averaging(KITE, np.arange(5.0)), mask=calibrate(problem, delta=0.01, **RUN), seed=0)
    assert run.status is sv.Status.CONVERGED


@settings(max_examples=25, deadline=None)
@given(networks(7), st.integers(0, 3), st.sampled_from([1e-4, 1e-2, 0.5]), st.integers(0, 99))
def test_a_mask_for_more_coalitions_than_can_be_tried_is_large_enough(network, t, delta, seed):
    """By currents in a path: for every coalition and every ``c`` that it names; it says that it is not the least."""
    rng, n = np.random.default_rng(seed), network.n
    t = min(t, n - 2, int(network.degrees.min()) - 1)
    problem = curved(network, rng.uniform(0.5, 3, n))
    arguments = {"prior": rng.uniform(0.3, 3, n), "against": Worst(t), "theta": 0.8, "seed": 0, "hessians": "public"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worst_module, "WORK", 0.0)
        mask = calibrate(problem, delta=delta, c=0.5, **arguments)
    assert not mask.smallest
    assert "not the smallest" in str(mask)
    assert mask.c_range[1] >= 0.5 * (1 - 1e-9)
    for c in (0.1, mask.c_range[1]):
        assert audit(problem, mask=mask, c=c, **arguments).excess.max() <= delta * (1 + 1e-9)
    least = calibrate(problem, delta=delta, c=0.5, **arguments)
    assert least.smallest
    assert least.variance <= mask.variance


@settings(max_examples=40, deadline=None)
@given(networks(6), st.integers(1, 3), st.floats(-3, 6), st.floats(0, 6), st.integers(0, 99))
def test_how_much_an_excess_can_grow_under_a_smaller_mask(network, d, exponent, step, seed):
    """``v`` times the explained share does not fall: coalitions are ruled out by it."""
    rng, n, v = np.random.default_rng(seed), network.n, 10.0**exponent
    root = rng.normal(size=(n, d, d))
    problem = sv.Problem(network, sv.Quadratic.many(root @ root.transpose(0, 2, 1) + np.eye(d), np.zeros((n, d))))
    for corrupt in ({0}, set()):
        large, small = (
            audit(problem, mask=sv.GaussianMask(of), corrupt=corrupt, c=0.5, hessians="public").excess
            for of in (v, v / 10.0**step)
        )
        most = search_module._at_most(large, 10.0**step)
        assert (np.isnan(small) | (small <= most * (1 + 1e-9)) | np.isinf(most)).all()


# A mask is for one setting


def test_a_calibrated_mask_says_up_to_which_c_it_holds():
    """The review's: 10 nodes, ``delta = 1e-3``, and taps that learn 20 and 50 times as much at c = 20 and 100."""
    network = sv.Network.random_geometric(10, seed=4)
    problem = sv.averaging(network, np.zeros(10))
    mask = calibrate(problem, delta=1e-3)
    largest = mask.c_range[1]
    assert 1 < largest < 10
    assert f"c up to {largest:.4g}" in str(mask)
    excess = [audit(problem, mask=mask, c=c).excess.max() for c in (0.1, largest, 1.01 * largest, 20, 100)]
    assert excess == sorted(excess)
    assert excess[1] <= 1e-3 < excess[2]
    assert (excess[3], excess[4]) == (pytest.approx(0.02, rel=0.1), pytest.approx(0.05, rel=0.1))
    # In the limit taps see the sum: 1/2 ln(10/9) is more than delta under any mask.
    assert audit(problem, mask=sv.GaussianMask(1e12), c=1e12).excess.max() == pytest.approx(0.5 * np.log(10 / 9))


def test_a_run_is_warned_that_its_mask_was_calibrated_for_another():
    problem = sv.averaging(KITE, np.arange(5.0))
    mask = calibrate(problem, delta=0.01)
    largest = mask.c_range[1]
    sv.solve(problem, mask=mask, seed=0)  # c="auto", as calibrated; warnings are errors here
    sv.solve(problem, mask=mask, seed=0, theta=0.5, schedule=sv.Asynchronous(), c=0.1)  # open channels: all the same
    with pytest.warns(NotCalibrated, match=r"calibrated for c up to .*; this run has c = "):
        sv.solve(problem, mask=mask, seed=0, c=2 * largest)
    with pytest.warns(NotCalibrated, match="this run has c = "):
        next(sv.iterate(problem, mask=mask, seed=0, c=2 * largest))
    with pytest.warns(NotCalibrated, match="a network of 5 nodes and 7 edges; this one is another"):
        sv.solve(sv.averaging(sv.Network.complete(5), np.arange(5.0)), mask=mask, seed=0, c=0.1)


def test_a_run_over_encrypted_channels_is_warned_of_what_its_mask_hangs_on():
    problem, encrypted = sv.averaging(KITE, np.arange(5.0)), {"delta": 0.01, "channels": "encrypted", "c": 0.5}
    half = calibrate(problem, schedule=sv.Asynchronous(), theta=1.0, **encrypted)
    sv.solve(problem, mask=half, seed=0, schedule=sv.Asynchronous(rates=np.arange(1.0, 6.0)), theta=1.0, c=0.3)
    with pytest.warns(NotCalibrated, match="one node awake at a time; this run has theta = 0.5"):
        sv.solve(problem, mask=half, seed=0, schedule=sv.Asynchronous(), theta=0.5, c=0.3)
    with pytest.warns(NotCalibrated, match="this run has Synchronous"):
        sv.solve(problem, mask=half, seed=0, theta=1.0, c=0.3)
    every = calibrate(problem, schedule=sv.Asynchronous(), theta=0.5, **encrypted)
    sv.solve(problem, mask=every, seed=0, theta=1.0, c=3.0)  # calibrated for open channels: whatever the run
    one = calibrate(problem, theta=0.8, **encrypted)
    sv.solve(problem, mask=one, seed=0, theta=0.8, c=0.5)
    with pytest.warns(NotCalibrated, match="calibrated for c = 0.5, theta = 0.8, Synchronous; this run has c = 0.4"):
        sv.solve(problem, mask=one, seed=0, theta=0.8, c=0.4)


def test_a_calibrated_mask_is_meant_for_data_like_its_prior():
    """It may be smaller than a hundred times the data; for larger data it is too small, and that is said."""
    mask = calibrate(sv.averaging(KITE, np.zeros(5)), delta=0.01, prior=1.0, **RUN)
    assert mask.sigma < 100
    assert sv.solve(sv.averaging(KITE, np.full(5, 4.0)), mask=mask, seed=0).hidden is True
    with pytest.warns(BadlyHidden):
        sv.solve(sv.averaging(KITE, np.full(5, 4.1)), mask=mask, seed=0)


def test_the_prior_of_a_calibration_is_that_of_the_data():
    own = calibrate(sv.averaging(KITE, 3.0 * np.ones(5)), delta=0.01, **RUN)
    assert own.variance == calibrate(sv.averaging(KITE, np.zeros(5)), delta=0.01, prior=9.0, **RUN).variance
    assert "variance 9, taken from the data" in str(own)
