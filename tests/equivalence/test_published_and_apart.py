"""What a published result adds for eavesdroppers, and how well two data sets are told apart, against brute force."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
import rational as oracle
from hypothesis import given, settings
from scipy.stats import norm
from situations import TOLERANCE, Situation, situations

import sottovoce as sv
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.privacy import Snapshot, Transcript, Worst, audit
from sottovoce.privacy.answers.indistinguishable import best_guess, epsilon, largest_resistances
from sottovoce.privacy.research import CorrelatedPads

HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)])

PUBLISHED = Transcript(answer="public")

# The result is published


def published(situation: Situation) -> np.ndarray:
    """``leakage``, ``floor`` and ``excess`` of an eavesdropper who is also told ``sum q_i``, in fractions."""
    model = situation.model
    n = model.network.n
    total = [oracle.combine(*((model.a[i], model.secret(i)) for i in range(n)))]
    view = oracle.basis(situation.view("open"))
    told, both = (oracle.explained(model, rows, ()) for rows in (total, [*view, *total]))
    floor, leakage = (np.array([oracle.nats(shares[i]) for i in range(n)]) for shares in (told, both))
    return np.array([leakage, floor, leakage - floor])


@settings(max_examples=100, deadline=None)
@given(situations(most=6))
def test_eavesdroppers_who_are_told_the_result(situation):
    situation = Situation(situation.model, situation.schedule, situation.iterations, frozenset(), situation.seed)
    report = situation.audit(answer="public")
    got = np.array([report.leakage, report.floor, report.excess])
    np.testing.assert_allclose(got, published(situation), rtol=0, atol=TOLERANCE)
    # A number has one standard deviation, and it says the same.
    np.testing.assert_allclose(-np.log(report.posterior_std / report.prior_std)[:, 0], got[0], rtol=0, atol=TOLERANCE)


def test_the_figures_of_six_parties():
    """A mask that leaves an eavesdropper 2e-6 nats: the published mean tells 0.091."""
    problem, setting = sv.averaging(sv.Network.ring(6), np.zeros(6)), {"mask": sv.GaussianMask(1e6), "c": 0.5}
    private, public = audit(problem, **setting), audit(problem, **setting, seen=PUBLISHED)
    assert private.leakage.max() == pytest.approx(2e-6, rel=0.01)
    assert public.leakage.max() == pytest.approx(0.0912, rel=1e-3)
    assert public.groups == [[0, 1, 2, 3, 4, 5]]
    assert private.groups == []
    assert "the result published" in public.summary()
    assert "until somebody publishes it" in private.summary()


@pytest.mark.parametrize("mask", [sv.GaussianMask(7.0), sv.ModularMask(), None])
def test_over_encrypted_channels_the_published_result_is_all(mask):
    problem = sv.averaging(HOUSE, np.arange(5))
    report = audit(problem, mask=mask, channels="encrypted", seen=PUBLISHED)
    np.testing.assert_allclose(report.leakage, -0.5 * np.log(1 - 1 / 5), rtol=1e-12)
    np.testing.assert_allclose(report.posterior_std[:, 0], report.prior_std[:, 0] * np.sqrt(4 / 5), rtol=1e-12)
    assert np.all(report.floor == report.leakage)
    assert np.all(report.excess == 0)
    worst = audit(problem, mask=mask, channels="encrypted", seen=PUBLISHED, against=Worst(0))
    np.testing.assert_array_equal(worst.leakage, report.leakage)


def test_a_coalition_knows_the_result_anyway():
    problem, setting = sv.averaging(HOUSE, np.zeros(5)), {"mask": sv.GaussianMask(7.0), "corrupt": {1}}
    private, public = audit(problem, **setting), audit(problem, **setting, seen=PUBLISHED)
    np.testing.assert_array_equal(private.leakage, public.leakage)


def test_without_a_mask_everything_is_disclosed_published_or_not():
    report = audit(sv.averaging(HOUSE, np.zeros(5)), seen=PUBLISHED, c=1.0)
    assert report.exposed == (0, 1, 2, 3, 4)


def test_questions_about_published_results_that_have_no_answer():
    problem, mask = sv.averaging(HOUSE, np.zeros(5)), sv.GaussianMask(7.0)
    with pytest.raises(InvalidInput, match="answer must be 'private' or 'public'; got 'secret'"):
        audit(problem, mask=mask, seen=Transcript(answer="secret"))
    with pytest.raises(InvalidInput, match="of a whole run: leave iterations out"):
        audit(problem, mask=mask, corrupt={0}, seen=Transcript(iterations=0, answer="public"))
    with pytest.raises(Unsupported, match="leave nodes out"):
        audit(problem, mask=mask, seen=PUBLISHED, nodes=[0], c=1.0)
    with pytest.raises(Unsupported, match="for independent pads, by the closed form"):
        audit(problem, mask=CorrelatedPads(np.eye(12)), seen=PUBLISHED, c=1.0)


# Two sets of data with the same result


def distance(situation: Situation, i: int, j: int) -> float:
    """``mu`` of the best test between two transcripts: data that differ by 1 at ``i``, and the other way at ``j``."""
    model, n = situation.model, situation.model.network.n
    view = np.array([[float(entry) for entry in row] for row in situation.view("open")])
    shift = np.zeros(n)
    shift[i], shift[j] = 1.0, -float(model.a[i] / model.a[j])
    moved, noise = view[:, :n] @ shift, view[:, n:] * np.sqrt(float(model.v))
    return float(np.linalg.norm(np.linalg.lstsq(noise, moved, rcond=1e-9)[0]))  # noise is a linear image of pads


@pytest.mark.parametrize("corrupt", [set(), {0}, {1}, {1, 4}])
@pytest.mark.parametrize("equal", [True, False])
def test_mu_is_that_of_the_best_test_between_two_transcripts(corrupt, equal):
    a = [2] * 5 if equal else [1, 2, 3, F(3, 2), F(5, 2)]
    model = oracle.Model(HOUSE, a, c=F(7, 10), theta=F(4, 5), v=10, Sigma_s=np.eye(5, dtype=int))
    situation = Situation(model, sv.Synchronous(), 3, frozenset(corrupt))
    mu = situation.audit().mu
    honest = [i for i in range(5) if i not in corrupt]
    parts = oracle.components(model, honest)
    for i in range(5):
        if i in corrupt:
            assert np.isnan(mu[i])
            continue
        others = [j for part in parts if i in part for j in part if j != i]
        if not others:
            assert mu[i] == np.inf
            continue
        worst = max(distance(situation, i, j) for j in others)
        assert mu[i] == pytest.approx(worst, rel=1e-7)  # of the least-squares solution


def test_mu_of_vectors_matrices_runs_and_numbers():
    mask, corrupt = sv.GaussianMask(100.0), {0}
    one = audit(sv.averaging(HOUSE, np.zeros(5)), mask=mask, corrupt=corrupt, prior=1.0).mu
    R = largest_resistances(HOUSE, frozenset(corrupt))
    np.testing.assert_allclose(one[1:], np.sqrt(8 * R[1:]) / 10, rtol=1e-12)  # the review's formula
    three = audit(sv.averaging(HOUSE, np.zeros((5, 3))), mask=mask, corrupt=corrupt, prior=1.0)
    np.testing.assert_allclose(three.mu, np.sqrt(3) * one, rtol=1e-12)  # all three move
    four = audit(sv.averaging(HOUSE, np.zeros(5)), mask=mask, corrupt=corrupt, prior=1.0, seen=Transcript(runs=4))
    np.testing.assert_allclose(four.mu, 2 * one, rtol=1e-12)
    Q = np.broadcast_to(np.diag([2.0, 1.0]), (5, 2, 2))
    problem = sv.Problem(HOUSE, sv.Quadratic.many(Q, np.zeros((5, 2))))
    matrix = audit(problem, mask=mask, corrupt=corrupt, prior=1.0)
    np.testing.assert_allclose(matrix.mu, np.sqrt(2) * one, rtol=1e-12)  # both numbers, at the larger curvature
    assert audit(sv.averaging(HOUSE, np.arange(5)), mask=sv.ModularMask(), corrupt={0}).mu[1:].tolist() == [0.0] * 4
    assert np.isinf(audit(sv.averaging(HOUSE, np.zeros(5)), c=1.0).mu).all()  # no mask
    assert audit(sv.averaging(HOUSE, np.zeros(5)), mask=mask, channels="encrypted").mu.tolist() == [0.0] * 5
    assert audit(sv.averaging(HOUSE, np.zeros(5)), mask=mask, seen=Snapshot(1), corrupt={0}).mu is None


def test_mu_of_the_worst_coalition_is_the_largest_of_all():
    problem, mask = sv.averaging(sv.Network.complete(5), np.zeros(5)), sv.GaussianMask(100.0)
    worst = audit(problem, mask=mask, against=Worst(2), prior=1.0, c=1.0).mu
    pairs = [{i, j} for i in range(5) for j in range(i)]
    every = [
        audit(problem, mask=mask, corrupt=pair, prior=1.0).mu for pair in [set(), *({i} for i in range(5)), *pairs]
    ]
    np.testing.assert_allclose(worst, np.nanmax(every, axis=0), rtol=1e-12)


def test_the_best_guess_and_epsilon_are_those_of_the_gaussian_mechanism():
    """``delta(eps)`` integrated over where the likelihood ratio exceeds ``e^eps``; the classical bound is above."""
    for mu in (3.5e-4, 0.07, 1.3, 8.0):
        for delta in (1e-6, 1e-3, 0.2):
            eps = epsilon(mu, delta)
            if eps == 0:
                assert 2 * norm.cdf(mu / 2) - 1 <= delta
                continue
            x = eps / mu + mu / 2  # ln(N(mu,1)/N(0,1)) = mu x - mu^2/2 > eps
            assert norm.sf(x - mu) - np.exp(eps) * norm.sf(x) == pytest.approx(delta, rel=1e-8)
            assert eps <= mu * np.sqrt(2 * np.log(1.25 / delta)) * max(1.0, mu)
    assert 100 * best_guess(3.5e-4) == pytest.approx(50.007, abs=5e-4)
    assert 100 * best_guess(0.07) == pytest.approx(51.4, abs=0.05)
    assert epsilon(0.0, 1e-6) == 0.0
    assert epsilon(np.inf, 1e-6) == np.inf
    assert np.isnan(epsilon(np.nan, 1e-6))
