"""What the page says is what the auditor found; and the controls of a run are those of the library."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.pdmm.result import Status
from sottovoce.studio import words
from sottovoce.studio.audits import (
    RANGE,
    SCALE,
    audited,
    calibrated,
    drawing,
    groups_of,
    order,
    rounding,
    shade,
    suggested,
    worst,
)
from sottovoce.studio.frames import closeness, frame_of, frame_words, short
from sottovoce.studio.making import generated
from sottovoce.studio.play import Lossy, played, schedule_of, steps_of
from sottovoce.studio.scene import MOST, SCHEDULES, Scene

PATH = Scene(
    names=("Ada", "Bo", "Cy", "Dee", "Eli"),
    places=((0.0, 0.5), (0.25, 0.5), (0.5, 0.5), (0.75, 0.5), (1.0, 0.5)),
    numbers=(1.0, 2.0, 3.0, 4.0, 5.0),
    edges=((0, 1), (1, 2), (2, 3), (3, 4)),
    variance=1e6,
    prior=11.0,  # the mean square
)


def marked(*corrupt: int) -> Scene:
    return replace(PATH, corrupt=frozenset(corrupt))


def test_the_audit_of_a_scene_is_that_of_the_library():
    scene = marked(1)
    c, theta = steps_of(scene)
    run = {"prior": 11.0, "schedule": sv.Asynchronous(), "c": c, "theta": theta, "seed": 0}
    expected = sv.privacy.audit(scene.problem, sv.GaussianMask(1e6), corrupt={"Bo"}, **run)
    assert np.array_equal(audited(scene).leakage, expected.leakage, equal_nan=True)
    assert audited(scene).exposed == ("Ada",)
    tapped = sv.privacy.audit(PATH.problem, sv.GaussianMask(1e6), **run)
    assert np.array_equal(audited(PATH).leakage, tapped.leakage)
    closed = sv.privacy.audit(scene.problem, sv.GaussianMask(1e6), corrupt={"Bo"}, channels="encrypted", **run)
    assert np.array_equal(audited(replace(scene, channels="encrypted")).excess, closed.excess, equal_nan=True)


def test_sentences_follow_the_clicks():
    assert words.paragraph(audited(PATH), PATH)[0].startswith("Nobody is corrupt, but somebody taps")
    said = words.paragraph(audited(marked(1)), marked(1))
    told = "Once the run ends, everybody is told the exact mean."
    assert said[0] == f"Bo is corrupt; every channel is tapped. {told}"
    assert said[1].startswith("The number of Ada is disclosed exactly, at any mask")
    assert said[2] == "Bo learns the exact sum over each group that is left in one piece: Cy, Dee and Eli."
    assert "comes from the exact sum of its group, which no mask hides" in said[-1]
    said = words.paragraph(audited(marked(0)), marked(0))
    report = audited(marked(0))
    i = int(np.nanargmax(report.leakage))
    assert said[1] == "Nobody's number is disclosed."
    assert said[2] == "From the mean Ada learns the exact sum over the 4 others, and no single number exactly."
    assert said[3] == (
        f"Against Ada, the interval for {PATH.names[i]} narrows most: by {words.percent(report.narrower[i])} "
        f"({report.leakage[i]:.3g} nats)."
    )
    before, after = (1.96 * float(std[i, 0]) for std in (report.prior_std, report.posterior_std))
    assert said[4] == f"Before, they could be 95 % sure of it within ±{before:.3g}; after, within ±{after:.3g}."
    assert "comes from the mean itself" in said[5]
    assert f"({report.floor[i]:.3g} nats)" in said[5]
    assert f"({report.excess[i]:.3g} nats)." in said[5]


def test_sentences_are_true_in_every_state():
    closed = replace(marked(0), channels="encrypted")
    assert "channels between others are closed." in words.paragraph(audited(closed), closed)[0]
    bare = replace(marked(0), variance=None)
    told = words.paragraph(audited(bare), bare)
    assert told[-1] == "There is no mask: messages travel as they are, and hide nothing."
    assert "disclosed exactly" in told[1]
    assert "at any mask" not in told[1]
    alone = replace(PATH, variance=None, channels="encrypted")
    assert words.paragraph(audited(alone), alone) == [
        "Nobody is corrupt, and channels are encrypted: whoever listens learns nothing.",
        "There is no mask: encryption alone protects, and one corrupt neighbour reads numbers.",
    ]
    barely = replace(marked(0), variance=0.01, prior=1e6)
    told = words.paragraph(audited(barely), barely)
    assert "disclosed in effect" in told[1]
    assert told[2] == "From the mean Ada learns the exact sum over the 4 others."
    larger = replace(marked(0), prior=0.01)
    assert words.paragraph(audited(larger), larger)[-1].startswith(
        "The numbers are larger (3.32) than you said attackers expect (0.1)"
    )
    ring = replace(generated("ring", 6, seed=1), coalition=2, channels="encrypted")
    told = words.paragraph(worst(ring), ring)
    assert told[0].startswith(
        "Suppose any two parties are corrupt, nobody knows which, and channels between others are"
    )
    assert not any("comes from" in sentence for sentence in told)  # whose parts are of other coalitions


def test_the_verdict_says_against_whom_and_in_both_units():
    assert words.badge(audited(PATH), PATH)[0].startswith("safe from eavesdroppers (messages add ")
    report = audited(marked(0))
    assert words.badge(report, marked(0)) == (
        f"safe against Ada: messages add {words.both(float(np.nanmax(report.excess)))}", "safe",
    )  # fmt: skip
    assert words.badge(audited(marked(2)), marked(2)) == ("group sums are learned", "weak")
    assert words.badge(audited(marked(1)), marked(1)) == ("1 of 4 honest parties disclosed", "disclosed")
    small = replace(marked(0), variance=10.0)
    assert words.badge(audited(small), small)[0].startswith("weak: messages add ")
    ring = replace(generated("ring", 6, seed=1), variance=1e8)
    assert words.badge(worst(ring), ring)[0].startswith("safe, whichever party is corrupt: messages add ")


@pytest.mark.parametrize(
    "scene",
    [
        replace(generated("random_geometric", 10, seed=1), variance=1e10),
        replace(generated("complete", 60, seed=1), variance=1e8),
        replace(generated("random_geometric", 10, seed=1), variance=0.01),
    ],
)
def test_rounding_is_as_large_as_is_said(scene):
    c, theta = steps_of(replace(scene, schedule="synchronous"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sv.errors.SottovoceWarning)
        result = sv.solve(scene.problem, c=c, theta=theta, mask=scene.mask, seed=1, tol=0, max_iter=2000)
    off = float(np.abs(result.x - scene.mean).max())
    assert 0.05 < off / rounding(scene) < 3  # a figure for people: its size, and not its digits


def test_tips_name_who_learns_it():
    report = audited(marked(1, 3))
    assert words.about(report, marked(1, 3), 1) == "Bo is corrupt.\nClick to make honest."
    assert words.about(report, marked(1, 3), 0) == (
        "Ada is disclosed exactly.\nWho learns it: Bo and Dee, who also tap every channel."
    )
    assert "Who learns it: an eavesdropper on every channel." in words.about(audited(PATH), PATH, 2)
    tried = worst(PATH)
    assert "Who learns it: whichever party is corrupt." in words.about(tried, PATH, 2)
    assert "can be learned exactly" in " ".join(words.paragraph(tried, PATH))


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1e-9, "less than 0.0001 %"), (0.000123, "0.012 %"), (0.0512, "5.1 %"), (0.5, "50 %"), (1.0, "100 %"),
     (0.999999, "more than 99.99 %"), (0.123456, "12.3 %")],
)  # fmt: skip
def test_shares_for_people(share, text):
    assert words.percent(share) == text


def test_nats_for_people():
    assert [words.nats(value) for value in (math.nan, math.inf, 0.0, 0.0012345)] == ["-", "all", "0", "0.00123"]
    assert words.narrows(0.01) == "1 %"
    assert words.narrows(math.inf) == "100 %"
    assert words.listed(["A"]) == "A"
    assert words.listed(list("ABC")) == "A, B and C"
    assert words.listed(list("ABCDEFGH")) == "A, B, C, D, E, F and 2 more"


def test_colours_rings_and_groups_are_the_reports():
    scene = marked(2)
    report = audited(scene)
    nodes, edges, groups = drawing(scene, report)
    assert [node["ring"] for node in nodes] == [False] * 5
    assert [node["corrupt"] for node in nodes] == [False, False, True, False, False]
    assert nodes[0]["fill"] == SCALE[shade(float(report.excess[0]))]
    assert [(edge["a"], edge["b"]) for edge in edges] == list(PATH.edges)
    assert [(group["nodes"], group["edges"]) for group in groups] == [([0, 1], [(0, 1)]), ([3, 4], [(3, 4)])]
    assert groups_of(marked(0), audited(marked(0))) == []  # one group is everybody
    assert [node["ring"] for node in drawing(marked(1), audited(marked(1)))[0]] == [True, False, False, False, False]
    assert order(report, scene)[-1] == 2
    assert [shade(value) for value in (0.0, RANGE[0], 1e-3, RANGE[1], math.inf)] == [0, 0, 3, 5, 5]


def test_masks_coalitions_and_edges_are_the_librarys():
    ring = replace(generated("ring", 7, seed=1), prior=9.0, bound=0.004, coalition=1)
    c, theta = steps_of(ring)
    mask = sv.privacy.calibrate(ring.problem, delta=0.004, prior=9.0, schedule=sv.Asynchronous(), c=c, theta=theta)
    assert calibrated(ring).variance == mask.variance
    assert suggested(PATH).edges == (("Ada", "Eli"),)
    assert worst(PATH).exposed == ("Ada", "Eli")
    with pytest.raises(InvalidInput, match="all coalitions of 3 are tried for networks of at most 40"):
        worst(replace(generated("ring", 41, seed=1), coalition=3))
    with pytest.raises(InvalidInput, match="masks are calibrated against 2 for networks of at most 100"):
        calibrated(replace(generated("ring", 101, seed=1), coalition=2))
    with pytest.raises(InvalidInput, match="audits networks of at most 160 parties; this one has 161"):
        audited(replace(generated("ring", 161, seed=1), channels="encrypted", corrupt=frozenset({0})))
    with pytest.raises(InvalidInput, match="more than 1e\\+12"):
        calibrated(replace(ring, prior=1e14, bound=1e-3))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_run_is_the_librarys_frame_by_frame(schedule):
    scene = replace(generated("grid", 6, seed=2), schedule=schedule, variance=1e8, seed=3)
    found = played(scene)
    c, theta = steps_of(scene)
    run = {"schedule": schedule_of(scene), "c": c, "theta": theta, "mask": scene.mask, "seed": 3}
    states = sv.iterate(scene.problem, **run)
    for state, k in zip(states, range(4), strict=False):
        awake = ~np.isnan(found.x[k])
        assert found.iterations[k] == k
        assert np.array_equal(found.x[k][awake], np.asarray(state.x)[awake])
    assert found.status is Status.CONVERGED
    assert np.abs(found.x[-1] - scene.mean).max() < 1e-6
    assert sum(len(found.sent(k)) for k in range(len(found))) == found.messages
    assert np.isnan(found.x[0]).all()


def test_losses_are_those_of_edge_bernoulli_whatever_the_schedule():
    scene = replace(generated("ring", 8, seed=2), loss=0.3, schedule="asynchronous", variance=1e8)
    assert isinstance(schedule_of(scene), Lossy)
    assert isinstance(schedule_of(replace(scene, schedule="synchronous")), sv.EdgeBernoulli)
    found = played(scene)
    arrived = [message[3] for k in range(len(found)) for message in found.sent(k)]
    assert 0.6 < np.mean(arrived) < 0.8  # 4.5 standard errors of 400 messages and more
    assert len(arrived) > 400
    assert found.status is Status.CONVERGED


def test_frames_and_their_words():
    scene = replace(generated("ring", 5, seed=4), variance=1e8)
    found = played(scene)
    near = closeness(scene, found)
    first = frame_of(scene, found, 0, near)
    assert first["texts"] == [short(s) for s in scene.numbers]
    assert first["messages"] == [] == first["awake"]
    one = frame_of(scene, found, 1, near)
    (sender,) = one["awake"]
    assert {(m["a"], m["text"]) for m in one["messages"]} == {(sender, short(v)) for _, _, v, _ in found.sent(1)}
    assert one["fills"][sender] == SCALE[near[1, sender]]
    assert near[-1].min() == len(SCALE) - 1  # all as near as it gets
    assert near[1].max() < len(SCALE) - 1
    assert frame_words(scene, found, 1)[0].startswith(f"{scene.names[sender]} wakes, and 2 padded messages")
    assert frame_words(scene, found, len(found) - 1)[-1].startswith(
        f"Everybody holds the exact mean, {scene.mean:.10g}"
    )
    small = replace(scene, variance=1.0)
    assert "times as large as what they hide" in frame_words(small, played(small), 0)[-1]
    assert "numbers behind pads that are small" in frame_words(small, played(small), 1)[1]
    bare = replace(scene, variance=None)
    assert "There is no mask" in frame_words(bare, played(bare), 0)[1]
    assert "padded" not in frame_words(bare, played(bare), 1)[0]
    assert "for whoever listens" in frame_words(bare, played(bare), 1)[1]
    together = replace(generated("complete", 3, seed=1), schedule="synchronous", variance=1e8)
    told = frame_words(together, played(together), 1)
    assert told[0] == "Everybody wakes, and 6 padded messages travel to neighbours."
    assert not any(" says " in sentence for sentence in told)  # several spoke
    assert "pools what they see" in frame_words(together.toggled(0), played(together.toggled(0)), 0)[-1]


def test_a_run_keeps_so_many_messages_at_most(monkeypatch):
    monkeypatch.setattr("sottovoce.studio.play.MESSAGES", 5_000)
    scene = replace(generated("complete", 20, seed=1), schedule="synchronous", c=1e6, theta=0.05)
    found = played(scene)
    assert found.messages <= 5_000
    assert "has not converged within what a page plays" in frame_words(scene, found, len(found) - 1)[-1]


def test_a_run_that_does_not_end_says_so():
    scene = replace(generated("ring", 40, seed=1), c=1e-4, theta=0.05)
    found = played(scene)
    assert found.status is Status.MAX_ITER
    assert "has not converged" in frame_words(scene, found, len(found) - 1)[-1]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (48.24, "48.2"), (-2279.4, "-2279"), (123456.7, "1e5"), (0.00012, "1e-4"), (math.nan, "…"),
     (-1e-12, "-1e-12")],
)  # fmt: skip
def test_numbers_in_a_circle(value, text):
    assert short(value) == text


def test_a_large_scene_is_audited():
    scene = replace(generated("random_geometric", MOST, seed=1), corrupt=frozenset(range(5)))
    assert np.isnan(audited(scene).leakage).sum() == 5
