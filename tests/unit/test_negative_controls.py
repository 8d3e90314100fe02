"""What must be flagged: settings that look protected and are not. And the mirror image, which must not be."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce.masks import UniformMask
from sottovoce.privacy import Coalition, CorrelatedPads, Eavesdropper, Subspace, audit, pad_reuse_attack

# Two triangles that meet in 2, and a leaf at 5: the corrupt cut vertex 2 leaves {0, 1} and {3, 4, 5}; 4 isolates 5.
NETWORK = sv.Network.from_edges(6, [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5)])
AVERAGING = sv.averaging(NETWORK, np.arange(6.0))
GAUSSIAN = sv.GaussianMask(1e4)
HONEST = {"coalition": [0, 2, 3, 4, 5], "eavesdropper": [0, 1, 2, 3, 4, 5]}
WHO = {"coalition": {"corrupt": {1}}, "eavesdropper": {}}


def projected(variance=1e4):
    """Pads projected on ``Psi_perp``."""
    basis = Subspace(NETWORK).basis()
    return CorrelatedPads(variance * (np.eye(len(basis)) - basis @ basis.T))


def claims_privacy(report):
    """Whether a sentence says ``private`` without ``NOT`` in front; a function's name does not count."""
    return any(re.search(r"(?<!NOT )\bprivate\b", text, re.IGNORECASE) for text in report.sentences())


# Healthy


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(
    "mask",
    [GAUSSIAN, CorrelatedPads(1e4 * np.eye(14)), pytest.param(sv.ModularMask(), id="modular")],
    ids=lambda mask: type(mask).__name__,
)
def test_a_healthy_setting_raises_no_flag(mask, who, channels):
    report = audit(AVERAGING, mask=mask, c=0.4, channels=channels, seed=0, **WHO[who])
    assert report.flags == {}
    assert report.exposed == ()
    assert report.guarantee == "exact"
    assert np.isfinite(report.leakage[HONEST[who]]).all()
    assert "No node is disclosed exactly." in report.sentences()
    assert not claims_privacy(report)


# No mask, or one that hides nothing


@pytest.mark.parametrize("who", WHO)
def test_no_mask(who):
    report = audit(AVERAGING, mask=None, c=0.4, **WHO[who])
    assert list(report.flags) == ["no mask"]
    assert list(report.exposed) == HONEST[who]
    assert (report.posterior_std[HONEST[who]] == 0).all()
    assert "DISCLOSED exactly" in report.summary()


def test_no_mask_over_encrypted_channels():
    """The coalition's own edges carry everything in the end: a synchronous run on this graph is observable from 1."""
    report = audit(AVERAGING, mask=None, c=0.4, corrupt={1}, channels="encrypted")
    assert "no mask" in report.flags
    assert report.exposed == (0, 2, 3, 4, 5)


def test_before_anybody_speaks_nothing_is_disclosed():
    report = audit(AVERAGING, mask=None, c=0.4, iterations=0)
    assert report.exposed == ()
    assert (report.leakage == 0).all()


@pytest.mark.parametrize("method", ["auto", "elimination"])
@pytest.mark.parametrize("who", WHO)
def test_noise_projected_on_psi_perp(who, method):
    """``C' Pi_perp = 0``: no node ever feels it, at any variance."""
    report = audit(AVERAGING, mask=projected(1e12), c=0.4, method=method, **WHO[who])
    assert list(report.flags) == ["projected"]
    assert list(report.exposed) == HONEST[who]


def test_noise_projected_on_psi_can_give_a_node_away_too():
    """It is felt, so it is not called projected; but its ``2n - 1`` numbers are known from the coalition's pads and
    traffic as far as they reach node 0, and only a posterior tells."""
    basis = Subspace(NETWORK).basis()
    report = audit(AVERAGING, mask=CorrelatedPads(1e4 * basis @ basis.T), c=0.4, corrupt={1})
    assert report.flags == {}
    assert report.exposed == (0,)


# Uniform


def test_uniform_noise():
    report = audit(AVERAGING, mask=UniformMask(1e4), corrupt={1})
    assert list(report.flags) == ["uniform"]
    assert report.guarantee == "none"
    assert np.isnan(report.leakage).all()
    # The attack is on the node with the fewest honest neighbours, and beats what Gaussian pads allow.
    assert report.attack.node in (0, 5)
    assert report.attack.nats > 2 * report.attack.gaussian
    assert "NOT ASSESSED" in report.summary()
    assert not claims_privacy(report)


def test_uniform_noise_without_a_corrupt_node_has_no_guarantee_either():
    report = audit(AVERAGING, mask=UniformMask(1e4))
    assert list(report.flags) == ["uniform"]
    assert report.guarantee == "none"
    assert np.isnan(report.leakage).all()


# Twice


@pytest.mark.parametrize("who", WHO)
def test_pads_that_are_used_twice(who):
    """Of the change between the runs nothing is hidden, at any variance; and an attack takes it."""
    mask = sv.GaussianMask(1e8)
    report = audit(AVERAGING, mask=mask, runs=2, pads="reused", c=0.4, **WHO[who])
    assert list(report.flags) == ["pads reused"]
    assert list(report.exposed) == HONEST[who]
    after = sv.averaging(NETWORK, np.arange(6.0) ** 2)
    change = pad_reuse_attack(AVERAGING, after, mask=mask, seed=1, c=0.4)
    # A few dozen roundings at the size of the pads, 1e4.
    assert change.errors(AVERAGING, after).max() < 1e4 * 100 * np.finfo(float).eps


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("runs", [2, 10])
def test_repeated_runs_leak_as_a_smaller_mask_does(runs, channels):
    arguments = {"corrupt": {1}, "channels": channels, "c": 0.4, "seed": 0}
    report = audit(AVERAGING, mask=GAUSSIAN, runs=runs, **arguments)
    assert list(report.flags) == ["repeated runs"]
    weaker = audit(AVERAGING, mask=sv.GaussianMask(1e4 / runs), **arguments)
    assert weaker.flags == {}
    np.testing.assert_array_equal(report.leakage, weaker.leakage)
    once = audit(AVERAGING, mask=GAUSSIAN, **arguments)
    assert (report.excess > 1.9 * once.excess)[HONEST["coalition"]].all()


# The graph


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("variance", [1.0, 1e12])
def test_a_node_whose_neighbours_are_all_corrupt(variance, channels):
    report = audit(AVERAGING, mask=sv.GaussianMask(variance), corrupt={4}, channels=channels, c=0.4, seed=0)
    assert report.exposed == (5,)
    assert set(report.flags) == {"isolated", "cut"}
    assert (report.leakage[5], report.floor[5], report.posterior_std[5, 0]) == (np.inf, np.inf, 0)
    assert "all neighbours are corrupt: 5 (neighbours 4)" in report.summary()
    assert any(text.startswith("An edge 5 - ") for text in report.sentences())


@pytest.mark.parametrize("channels", ["open", "encrypted"])
def test_a_corrupt_cut_vertex(channels):
    report = audit(AVERAGING, mask=GAUSSIAN, corrupt={2}, channels=channels, c=0.4, seed=0)
    assert list(report.flags) == ["cut"]
    assert report.groups == [[0, 1], [3, 4, 5]]
    assert report.exposed == ()
    expected = [np.log(2) / 2, np.log(2) / 2, np.nan, *[-0.5 * np.log(2 / 3)] * 3]
    np.testing.assert_allclose(report.floor, expected, rtol=1e-12)
    assert "the sum over each of {0, 1}; {3, 4, 5}" in report.summary()


def test_a_coalition_that_cuts_nothing_learns_one_sum():
    report = audit(AVERAGING, mask=GAUSSIAN, corrupt={1})
    assert report.groups == [[0, 2, 3, 4, 5]]
    assert report.flags == {}


# No certificate


@pytest.mark.parametrize("variance", [1.0, 1e8])
@pytest.mark.parametrize("who", WHO)
def test_regression_is_not_private(rng, who, variance):
    problem = sv.least_squares(NETWORK, shards(rng, 6, rows=8, d=3), ridge=0.1)
    report = audit(problem, mask=sv.GaussianMask(variance), c=2.0, seed=0, **WHO[who])
    assert list(report.flags) == ["regression"]
    assert report.guarantee == "none"
    assert list(report.exposed) == HONEST[who]
    assert report.attack.errors(problem).max() < 1e-10
    for i in range(6):
        A = problem.cost(i).quadratic.Q[0]
        np.testing.assert_allclose(report.attack.matrices[i], A, rtol=0, atol=1e-10 * np.abs(A).max())
    assert not claims_privacy(report)
    assert "NOT PRIVATE" in report.summary()
    assert "private_least_squares" in report.summary()


def test_regression_over_encrypted_channels_has_no_guarantee_either(rng):
    problem = sv.least_squares(NETWORK, shards(rng, 6, rows=8, d=2), ridge=0.1)
    report = audit(problem, mask=GAUSSIAN, corrupt={1}, channels="encrypted")
    assert list(report.flags) == ["regression"]
    assert (report.guarantee, report.attack) == ("none", None)
    assert np.isnan(report.leakage).all()
    assert not claims_privacy(report)


def test_costs_that_are_not_quadratic():
    problem = sv.Problem(NETWORK, [sv.Huber(float(i), 1.0) for i in range(6)])
    report = audit(problem, mask=GAUSSIAN, theta=0.5, c=0.4, seed=0)
    assert list(report.flags) == ["not quadratic"]
    assert report.guarantee == "none"
    assert np.isnan(report.leakage).all()
    assert report.attack.points.max() > 1
    assert f"known up to a constant at {report.attack.points.max()} points" in report.summary()
    assert not claims_privacy(report)


def test_a_single_quadratic_regression_among_averages_spoils_all(rng):
    A, b = shards(rng, 1, rows=4, d=1)[0]
    problem = sv.Problem(NETWORK, [sv.LeastSquares(A, b), *(sv.Averaging([1.0]) for _ in range(5))])
    assert list(audit(problem, mask=GAUSSIAN, c=0.4, seed=0).flags) == ["regression"]


# Uniform pads modulo 2^bits


def test_modular_pads_leave_the_floor():
    report = audit(AVERAGING, mask=sv.ModularMask(), corrupt={2})
    assert (report.excess[[0, 1, 3, 4, 5]] == 0).all()
    np.testing.assert_array_equal(report.leakage, report.floor)
    assert audit(AVERAGING, mask=sv.ModularMask(), corrupt={4}).exposed == (5,)


def test_modular_pads_tell_an_eavesdropper_the_sum():
    """``sum m_i = sum s_i`` modulo ``2^bits``, and the ``m_i`` are averaged in the open, from ``z(0) = 0``."""
    s, mask = np.arange(6), sv.ModularMask()
    hidden = mask.hide(NETWORK, s[:, None], mask.draw((NETWORK.m, 1), 0))
    assert mask.centre(hidden.sum(axis=0)) == [15]  # so much is known
    report = audit(sv.averaging(NETWORK, s), mask=mask, adversary=Eavesdropper())
    np.testing.assert_allclose(report.leakage, -0.5 * np.log(5 / 6), rtol=1e-12)


def test_modular_pads_in_the_worst_case():
    worst = audit(sv.averaging(sv.Network.complete(5), np.arange(5)), mask=sv.ModularMask(), max_corrupt=2)
    np.testing.assert_allclose(worst.leakage, -0.5 * np.log(2 / 3), rtol=1e-12)


def test_modular_pads_that_are_used_twice():
    report = audit(AVERAGING, mask=sv.ModularMask(), runs=2, pads="reused", corrupt={1})
    assert report.exposed == (0, 2, 3, 4, 5)


@pytest.mark.parametrize("adversary", [Coalition(()), Coalition({1})], ids=str)
def test_nobody_is_told_what_nobody_hears(adversary):
    """Encrypted channels, and no corrupt node: nothing is seen; with one, its own edges."""
    report = audit(AVERAGING, mask=None, adversary=adversary, channels="encrypted", c=0.4)
    assert report.flags.keys() == {"no mask"}
    assert bool(report.exposed) == bool(adversary.corrupt)
