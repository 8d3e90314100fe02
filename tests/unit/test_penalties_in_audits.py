"""A penalty per edge, and an overlay, in calibration, moments, and attacks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput, NotCalibrated
from sottovoce.privacy import Worst, audit, calibrate
from sottovoce.privacy.research import (
    LinearRun,
    RandomMoments,
    edge_attack,
    gradient_attack,
    kink_attack,
    pad_reuse_attack,
    record_transcript,
    regression_attack,
    row_attack,
)

HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3), (0, 2)])
PROBLEM = sv.averaging(HOUSE, [3.0, 1.0, 4.0, 1.0, 5.0])
EACH = np.array([0.3, 2.0, 0.9, 1.4, 0.5, 0.7, 1.1])


def warned(mask, **run):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sv.solve(PROBLEM, mask=mask, max_iter=1, tol=0.0, seed=1, **run)
    return [str(one.message) for one in caught if issubclass(one.category, NotCalibrated)]


# Calibration


def test_a_mask_for_a_tree_is_the_smallest_there():
    mask = calibrate(PROBLEM, delta=0.01, overlay="tree")
    excess = [
        audit(PROBLEM, sv.GaussianMask(v), against=Worst(1), overlay="tree").excess.max()
        for v in (mask.variance, 0.99 * mask.variance)
    ]
    assert excess[0] <= 0.01 < excess[1]
    assert warned(mask, overlay="tree") == []


def test_a_mask_knows_what_taps_see_of_larger_penalties():
    """Many corrupt would cost more than taps: here taps decide, and they see more where ``c`` is larger."""
    small = calibrate(PROBLEM, delta=0.01, against=Worst(0), c=0.1)
    (told,) = warned(small, overlay="tree")
    c = HOUSE.spanning_tree().matched(np.full(5, 2.0))
    assert f"this run has c = {np.sqrt((c**2).sum() / HOUSE.m):.4g}" in told
    each = calibrate(PROBLEM, delta=0.01, against=Worst(0), c=EACH)
    alike = calibrate(PROBLEM, delta=0.01, against=Worst(0), c=float(np.sqrt((EACH**2).mean())))
    assert each.variance == pytest.approx(alike.variance, rel=1e-5)
    assert warned(each, c=EACH) == warned(each, c=EACH / 2) == []
    assert warned(each, c=10 * EACH)


def test_over_encrypted_channels_a_mask_is_for_the_edges_with_messages():
    """One pad of an edge is overwritten unread only where messages go: a tree needs a larger mask."""
    how = {"delta": 0.01, "channels": "encrypted", "schedule": sv.Asynchronous(), "theta": 1.0}
    tree, whole = calibrate(PROBLEM, overlay="tree", **how), calibrate(PROBLEM, c=0.5, **how)
    tapped = calibrate(PROBLEM, delta=0.01, c=1e-6)
    assert whole.variance == pytest.approx(tapped.variance / 2, rel=1e-4)
    assert 1.2 * whole.variance < tree.variance < tapped.variance
    run = {"schedule": sv.Asynchronous(), "theta": 1.0}
    assert warned(tree, overlay="tree", **run) == warned(whole, c=0.5, **run) == []
    (told,) = warned(whole, overlay="tree", **run)
    assert "messages over 7 edges; this run uses 4, others" in told


@pytest.mark.parametrize("overlay", ["all", "tree"])
def test_bounds_for_too_many_coalitions_take_penalties(monkeypatch, overlay):
    monkeypatch.setattr("sottovoce.privacy.methods.worst_coalition.WORK", 0.0)
    c = EACH if overlay == "all" else EACH[:4]
    mask = calibrate(PROBLEM, delta=0.01, c=c, overlay=overlay)
    assert not mask.smallest
    monkeypatch.undo()
    assert audit(PROBLEM, mask, against=Worst(1), c=c, overlay=overlay).excess.max() <= 0.01


@pytest.mark.parametrize("channels", ["open", "encrypted"])
def test_the_worst_coalition_over_a_tree_is_the_worst_of_all(channels):
    how = {
        "mask": sv.GaussianMask(100.0),
        "overlay": "tree",
        "channels": channels,
        "schedule": sv.Asynchronous(),
        "seed": 2,
    }
    worst = audit(PROBLEM, against=Worst(1), **how)
    each = [audit(PROBLEM, corrupt=corrupt, **how) for corrupt in ((), *({i} for i in range(5)))]
    for name in ("leakage", "excess"):
        most = np.nanmax([getattr(report, name) for report in each], axis=0)
        np.testing.assert_allclose(getattr(worst, name), most, rtol=1e-12)


# Bad input


@pytest.mark.parametrize("call", [audit, lambda problem, mask, **how: calibrate(problem, delta=0.1, **how)])
def test_what_is_no_penalty_or_overlay_gets_a_sentence(call):
    for how, sentence in (
        ({"c": [1.0, 2.0]}, "c has 2 numbers, and messages go over 7 edges"),
        ({"c": -EACH}, r"c of the edge \(0, 1\) must be a positive number"),
        ({"c": EACH[:5], "overlay": "tree"}, "c has 5 numbers, and messages go over 4 edges"),
        ({"overlay": "star"}, "overlay must be 'all', 'tree', or a list of edges"),
        ({"overlay": [(0, 1)]}, "2 cannot be reached from 0"),
        ({"overlay": [(0, 3)]}, "overlay must be edges of the network"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            call(PROBLEM, sv.GaussianMask(9.0), **how)


# Moments


@pytest.mark.parametrize("schedule", [sv.Asynchronous(), sv.Asynchronous(rates=[1, 2, 3, 4, 5])])
def test_random_moments_with_a_penalty_per_edge(schedule):
    """Against the mean over who wakes, by maps of one wake each."""
    moments = RandomMoments(PROBLEM, schedule, theta=0.8, c=EACH, variance=2.0)
    moments.advance(3)
    rates = np.ones(5) if schedule.rates is None else np.array(schedule.rates, dtype=float)
    wakes = []
    for i in range(5):
        run = LinearRun(PROBLEM, sv.Trace([i]), theta=0.8, c=EACH)
        run.advance(1)
        wakes.append(run.M)
    Sigma = 2.0 * np.eye(2 * HOUSE.m)
    for _ in range(3):
        Sigma = sum(rate / rates.sum() * M @ Sigma @ M.T for rate, M in zip(rates, wakes, strict=True))
    np.testing.assert_allclose(moments.Sigma, Sigma, rtol=0, atol=1e-13)


def test_equal_penalties_have_the_moments_of_one():
    one, many = (
        RandomMoments(PROBLEM, sv.Asynchronous(), theta=0.8, c=c, variance=2.0) for c in (0.7, np.full(HOUSE.m, 0.7))
    )
    one.advance(9)
    many.advance(9)
    np.testing.assert_allclose(many.Sigma, one.Sigma, rtol=0, atol=1e-13)


# Attacks


def test_attacks_take_a_penalty_per_edge(rng):
    """What traffic shows does not hang on the penalties, as long as they are taken for what they are."""
    rows = [(rng.normal(size=(6, 2)), rng.normal(size=6)) for _ in range(5)]
    problem = sv.least_squares(HOUSE, rows)
    run = {"c": EACH, "mask": sv.GaussianMask(100.0), "seed": 1}
    assert regression_attack(problem, **run).errors(problem).max() < 1e-9
    path = sv.least_squares(sv.Network.from_edges(3, [(0, 1), (1, 2)]), rows[:3])
    on_edges = edge_attack(path, corrupt={1}, **(run | {"c": [0.3, 2.0]}))
    assert on_edges.errors(path)[[0, 2]].max() < 1e-9
    along = record_transcript(problem, iterations=2, **run).along
    np.testing.assert_array_equal(along[0], np.repeat(EACH[[0, 1, 2]], 2))
    gradients = gradient_attack(problem, **run)
    assert gradients.errors.max() < 1e-9 < gradients.ranges.min()
    changed = sv.averaging(HOUSE, [3.0, 1.0, 4.0, 1.0, 6.0])
    found = pad_reuse_attack(PROBLEM, changed, **run)
    np.testing.assert_allclose(found.q[:, 0], [0, 0, 0, 0, -2], atol=1e-9)


def test_values_at_kinks_and_rows_are_found_with_a_penalty_per_edge(rng):
    network, s = sv.Network.ring(4), np.array([1.0, 2.0, 3.0, 9.0])
    run = {"mask": sv.GaussianMask(1.0), "seed": 1, "c": [0.3, 0.5, 0.8, 0.6]}
    kinks = kink_attack(sv.Problem(network, [sv.AbsoluteDeviation(value) for value in s]), corrupt={0}, **run)
    assert kinks.found.any()
    assert np.nanmax(np.abs(kinks.values[:, 0] - s)) < 1e-9
    shards = [(rng.normal(size=(1, 2)), np.array([1.0 - 2 * (i % 2)])) for i in range(4)]
    problem = sv.logistic(network, shards, ridge=0.5)
    assert np.nanmax(row_attack(problem, **run).errors(problem)) < 1e-4


@pytest.mark.parametrize("overlay", ["all", "tree"])
def test_what_has_no_certificate_is_attacked_on_the_edges_that_it_uses(rng, overlay):
    rows = [(rng.normal(size=(6, 2)), rng.normal(size=6)) for _ in range(5)]
    report = audit(sv.least_squares(HOUSE, rows), sv.GaussianMask(100.0), overlay=overlay, seed=1, theta=1.0)
    assert report.guarantee == "none"
    assert "recovered 5 of 5 matrices" in report.flags["regression"]
    assert ("over a spanning tree, 4 of 7 edges" in report.view) == (overlay == "tree")
