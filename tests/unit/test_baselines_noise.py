"""Methods with noise: their answers, what they send, closed forms of what they give away, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce.baselines import LocalGaussianNoise, LocalLaplaceNoise, NoisyADMM, PaddedNoise, SubspacePerturbation
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.privacy import Coalition, Eavesdropper

METHODS = (
    LocalGaussianNoise(0.5),
    LocalLaplaceNoise(0.5),
    NoisyADMM(0.5, c=0.3, rounds=25),
    NoisyADMM(0.5, c=0.3, rounds=25, decay=0.8),
    PaddedNoise(0.5),
)
OF_TEN = sv.Network.random_geometric(10, seed=5)
TAPPED = Coalition({1}) | Eavesdropper()


def expected(method, problem):
    n = problem.network.n
    if isinstance(method, NoisyADMM):
        return method.expected_error(problem)
    return {LocalGaussianNoise: 0.5 / n, LocalLaplaceNoise: 2 * 0.5**2 / n, PaddedNoise: 0.5 / n}[type(method)]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_errors_are_those_expected_and_without_bias(method, rng):
    """Every entry of a long vector is a draw of its own."""
    s = np.tile(rng.normal(size=(10, 1)), 4000)
    outcome = method.run(s, OF_TEN, seed=3)
    assert outcome.converged
    squares = ((outcome.x - outcome.exact) ** 2).mean(axis=0)
    assert outcome.error == pytest.approx(squares.mean(), rel=1e-12)
    # Four standard errors: with this seed it holds or it does not.
    short = sv.averaging(OF_TEN, s[:, :1])
    assert abs(squares.mean() - expected(method, short)) < 4 * squares.std() / 4000**0.5
    # ADMM that is not over has a bias, less than 1e-4 here; noise adds none.
    off = (outcome.x - outcome.exact).mean(axis=0)
    assert abs(off.mean()) < 4 * off.std() / 4000**0.5 + 1e-4


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_seed_fixes_a_run_and_no_seed_does_not(method):
    first, again, other, free = (method.run(range(10), OF_TEN, seed=seed).x for seed in (1, 1, 2, None))
    np.testing.assert_array_equal(first, again)
    assert abs(first - other).max() > 1e-6
    assert abs(first - free).max() > 1e-6


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_entries_of_a_vector_count_each(method):
    one, three = (method.run(np.zeros((10, d)), OF_TEN, seed=0) for d in (1, 3))
    assert three.traffic.bytes == 3 * one.traffic.bytes
    for adversary in (Eavesdropper(), Coalition({1}), TAPPED):
        nats = [outcome.leakage(adversary, prior=2.0).nats for outcome in (one, three)]
        np.testing.assert_allclose(nats[1], 3 * nats[0], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_more_listeners_learn_more_and_nobody_nothing(method):
    outcome = method.run(range(10), OF_TEN, seed=0)
    nobody, alone, two = (outcome.leakage(Coalition(nodes)).nats for nodes in ((), {1}, {1, 4}))
    taps, both = outcome.leakage(Eavesdropper()).nats, outcome.leakage(TAPPED).nats
    np.testing.assert_array_equal(nobody, 0.0)
    honest = np.setdiff1d(np.arange(10), [1, 4])
    assert (alone[honest] > 0).all()
    assert np.isnan(alone[1])
    assert (alone[honest] <= two[honest] * (1 + 1e-9)).all()
    for less in (alone, taps):
        assert (less[honest] <= both[honest] * (1 + 1e-9)).all()


def test_messages_are_known_beforehand():
    tree = OF_TEN.spanning_tree()
    for method in (LocalGaussianNoise(), LocalLaplaceNoise()):
        sent = method.traffic(OF_TEN, 2)
        assert (sent.messages, sent.bytes, sent.rounds) == (18, 18 * 16, 2 * tree.depth)
    sent = NoisyADMM(rounds=7).traffic(OF_TEN, 3)
    assert (sent.messages, sent.bytes, sent.rounds) == (14 * OF_TEN.m, 14 * OF_TEN.m * 24, 7)
    for method in METHODS[:-1]:
        assert method.run(range(10), OF_TEN, seed=0).traffic == method.traffic(OF_TEN)


def test_taps_see_one_look_at_each_number_or_many():
    """``R2 = ss/(ss + t2)``, and of K rounds with ``a = 2/(2 + c d_i)`` the same with ``t2/(K a^2)``."""
    once = LocalGaussianNoise(0.5).run(range(10), OF_TEN, seed=0).leakage(TAPPED, prior=2.0).nats
    share = 1 - np.exp(-2 * once)
    np.testing.assert_allclose(np.delete(share, 1), 2 / 2.5, rtol=1e-12)
    often = NoisyADMM(0.5, c=0.3, rounds=25).run(range(10), OF_TEN, seed=0).leakage(TAPPED, prior=2.0).nats
    noise = 0.5 / (25 * (2 / (2 + 0.3 * OF_TEN.degrees)) ** 2)
    np.testing.assert_allclose(1 - np.exp(-2 * often), np.where(np.arange(10) == 1, np.nan, 2 / (2 + noise)))


def test_pads_leave_the_noise_of_all_together():
    """As pads grow, ``R2 -> 1/(n_h (1 + t2/ss))``; whoever has corrupt neighbours only has its own noise left."""
    method = PaddedNoise(0.5, variance=1e12)
    nats = method.run(range(10), OF_TEN, seed=0).leakage(TAPPED, prior=2.0).nats
    np.testing.assert_allclose(1 - np.exp(-2 * np.delete(nats, 1)), 1 / (9 * 1.25), rtol=1e-9)
    star = sv.Network.star(5)
    nats = method.run(range(5), star, seed=0).leakage(Coalition({0}) | Eavesdropper(), prior=2.0).nats
    np.testing.assert_allclose(nats[1:], 0.5 * np.log(1 + 2 / 0.5), rtol=1e-12)


def worst(method):
    return method.run(np.zeros(10), OF_TEN, seed=0).leakage(TAPPED).worst


def test_what_a_tenth_of_a_nat_costs():
    """Geometric graph of ten, one corrupt node and taps, secrets of variance 1: answering 0 has the error 0.1."""
    noise = 1 / np.expm1(0.2)
    assert worst(LocalGaussianNoise(noise)) == pytest.approx(0.1, rel=1e-12)
    assert noise / 10 == pytest.approx(0.4517, abs=1e-4)  # its error: worse than useless
    assert worst(SubspacePerturbation(48.55)) == pytest.approx(0.1, abs=1e-4)  # whose error is 0
    noise = 1 / (9 * -np.expm1(-0.06)) - 1
    assert worst(PaddedNoise(noise)) == pytest.approx(0.03, rel=1e-5)  # below the floor, 0.0589
    assert noise / 10 == pytest.approx(0.0908, abs=1e-4)


def test_noise_in_every_iteration_costs_more_than_once():
    """At equal leakage no candidate comes near to one draw, and constant noise costs more the longer it lasts."""
    problem = sv.averaging(OF_TEN, np.zeros(10))

    def against_once(method):
        ratio = np.expm1(2 * worst(method)) / np.expm1(0.2)  # what the variance is to be multiplied with for 0.1 nats
        return method.expected_error(problem) * ratio / (0.1 / np.expm1(0.2))

    candidates = NoisyADMM().candidates(problem)
    assert len(candidates) == 16
    ratios = {method: against_once(method) for method in candidates}
    assert min(ratios.values()) > 2
    c = candidates[0].c
    costs = [against_once(NoisyADMM(c=c, rounds=rounds)) for rounds in (15, 30, 60)]
    np.testing.assert_allclose([costs[1] / costs[0], costs[2] / costs[1]], 2, rtol=0.02)
    assert 20 < costs[1] < 35


def test_candidates_answer_what_is_asked(rng):
    """Without noise, each leaves a hundredth of the error of answering 0, about: numbers are others than it was tried
    on."""
    s = rng.normal(size=(10, 200))
    problem = sv.averaging(OF_TEN, s)
    for method in NoisyADMM(variance=1e-30).candidates(problem):
        assert method.run(problem, seed=0).error < 0.02 / 10
    assert PaddedNoise(0.5).candidates(problem) == (PaddedNoise(0.5),)
    others = PaddedNoise(0.5, variance=7.0, overlay="all").candidates(problem)
    assert len(others) > 5
    assert {(type(one), one.noise, one.variance, one.overlay) for one in others} == {(PaddedNoise, 0.5, 7.0, "all")}


def test_the_same_in_differential_privacy():
    assert LocalGaussianNoise(4.0).mu(1.0) == 0.5
    assert LocalLaplaceNoise(4.0).epsilon(1.0) == 0.25
    with pytest.raises(InvalidInput, match="change must be a positive number; got 0"):
        LocalGaussianNoise().mu(0)
    with pytest.raises(InvalidInput, match="change must be a positive number; got -1"):
        LocalLaplaceNoise().epsilon(-1)


@pytest.mark.parametrize("bad", [0, -1.0, np.nan, np.inf, "much", True, None])
def test_noise_must_be_positive(bad):
    made = {
        "variance": (LocalGaussianNoise, NoisyADMM, PaddedNoise),
        "scale": (LocalLaplaceNoise,),
        "noise": (PaddedNoise,),
        "decay": (NoisyADMM,),
        "tol": (PaddedNoise,),
    }
    for name, methods in made.items():
        for method in methods:
            with pytest.raises(InvalidInput, match=f"{name} must be a positive number; got {bad!r}"):
                method(**{name: bad})


def test_other_bad_arguments():
    with pytest.raises(InvalidInput, match="rounds must be an integer >= 1; got 0"):
        NoisyADMM(rounds=0)
    with pytest.raises(InvalidInput, match=r"decay must be in \(0, 1\], 1 for constant noise; got 1.5"):
        NoisyADMM(decay=1.5)
    with pytest.raises(InvalidInput, match=r"decay=0.5 leaves less than 1e-12 of the noise after 40 rounds. Take a"):
        NoisyADMM(decay=0.5, rounds=40)
    with pytest.raises(InvalidInput, match="c must be a positive number, or 'auto'; got 'best'"):
        NoisyADMM(c="best")
    with pytest.raises(InvalidInput, match="c must be a positive number; got -2"):
        NoisyADMM(c=-2)
    with pytest.raises(InvalidInput, match="overlay must be 'all' or 'tree'; got 'star'"):
        PaddedNoise(overlay="star")


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_only_means_are_answered(method, network, rng):
    problem = sv.least_squares(network, shards(rng, 12, 6, 3))
    with pytest.raises(Unsupported, match=f"{method.name} is for means"):
        method.run(problem, seed=0)


def test_small_and_large_nats_keep_their_digits():
    """``1 - R2 = t2/(ss + t2)``, near 1 and near 0 to rounding."""
    assert LocalGaussianNoise(1e-20).told(1.0, 1) == pytest.approx(10 * np.log(10), rel=1e-14)
    assert LocalGaussianNoise(1e20).told(1.0, 1) == pytest.approx(5e-21, rel=1e-14)
    full = sv.Network.complete(6)  # where corrupt nodes hear all that taps do
    for variance in (1e-20, 1e20):
        outcome = NoisyADMM(variance, c=0.3, rounds=9).run(range(6), full, seed=0)
        own, taps = (outcome.leakage(who).nats[1:] for who in (Coalition({0}), Coalition({0}) | Eavesdropper()))
        np.testing.assert_allclose(own, taps, rtol=1e-12)
