"""The auditor on recorded runs whose messages go over some edges of the network, each with a penalty of its own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from runtime.test_replay import CLOSE, HOUSE, MASK, NAMES, Story, same

import sottovoce as sv
from sottovoce.pdmm.overlay import settled_overlay
from sottovoce.privacy import Coalition, Transcript, audit
from sottovoce.runtime.protocol.route import Route, routed
from sottovoce.runtime.traces import trace_audit
from sottovoce.runtime.traces.replay import replay
from sottovoce.runtime.traces.trace import RecordedNode
from sottovoce.runtime.traces.trace_audit import audit_trace, estimate

TREE = HOUSE.spanning_tree()
USED = [(int(j), int(i)) for i, j in TREE.edges[::-1]]  # in any order
PENALTY = [0.5, 3.0, 0.7, 1.1]
ROUTE = Route.over(USED, PENALTY, 1.0)
RUN = {"c": list(ROUTE.c), "overlay": settled_overlay(HOUSE, "tree"), "theta": 1.0}
PROBLEM = sv.averaging(HOUSE, np.zeros(5))


class OnTree(Story):
    """The same parties, over a tree."""

    how: ClassVar = {
        "edges": [[NAMES[i], NAMES[j]] for i, j in HOUSE.edges.tolist()],
        "overlay": [[NAMES[i], NAMES[j]] for i, j in USED],
        "c": PENALTY,
    }

    def node(self, i):
        own = self.holding(i)
        links, folded, c = routed(i, own.links, ROUTE)
        return RecordedNode(
            self.recorders[i], 0, i, own.cost, links, c=c, theta=self.theta, grid=MASK.grid, folded=folded
        )  # fmt: skip

    def node_of(self, i, stage):
        own = self.holding(i)
        links, folded, c = routed(i, own.links, ROUTE)
        return sv.Node(i, own.cost, links, c=c, theta=self.theta, grid=MASK.grid, folded=folded)


@pytest.mark.parametrize("corrupt", [(), {0}, {1, 3}, {2, 3}])
def test_the_whole_transcript_leaks_what_was_predicted(tmp_path, corrupt):
    story = OnTree(tmp_path, 1).play(300)
    assert replay(story.traces, story.node_of).equal
    report = audit_trace(story.traces, stage=0, corrupt=corrupt, prior=2.0)
    same(report, audit(PROBLEM, MASK, corrupt=corrupt, prior=2.0, **RUN))


def test_encrypted_channels_show_what_the_schedule_says(tmp_path, monkeypatch):
    monkeypatch.setattr(trace_audit, "guardians", lambda neighbours: ())
    story = OnTree(tmp_path, 5, channels="encrypted")
    wakes = story.rng.integers(5, size=60).tolist()
    for i in wakes:
        for message in story.wake(i):
            story.hear(message)
    seen = {"schedule": sv.Trace(wakes), "seen": Transcript(len(wakes)), "channels": "encrypted"}
    for corrupt in ({0}, {1}, {4}):
        expected = audit(PROBLEM, MASK, against=Coalition(corrupt), **seen, **RUN)
        same(audit_trace(story.traces, stage=0, corrupt=corrupt), expected)


def test_guardians_need_not_be_neighbours_on_the_tree(tmp_path, monkeypatch):
    """An escrow is a function of what open channels show."""
    story = OnTree(tmp_path, 5, channels="encrypted").play(200)
    tapped = audit(PROBLEM, MASK, corrupt={0}, **RUN)
    kept = audit_trace(story.traces, stage=0, corrupt={0})
    monkeypatch.setattr(trace_audit, "guardians", lambda neighbours: ())
    none = audit_trace(story.traces, stage=0, corrupt={0})
    assert (none.leakage[1:] <= kept.leakage[1:] + CLOSE).all()
    assert (kept.leakage[1:] <= tapped.leakage[1:] + CLOSE).all()
    assert kept.leakage[1:].sum() > none.leakage[1:].sum() + 0.01


def test_the_posterior_is_that_of_the_numbers(tmp_path):
    """One entry of a vector is a run of its own: the errors are as large as the posterior says."""
    d = 400
    story = OnTree(tmp_path, 1, d=d).play(200)
    truth = np.array([story.problem.cost(i).s[0] for i in range(5)])
    found = estimate(story.traces, {0: story.holding(0)}, stage=0)
    expected = audit(PROBLEM, MASK, corrupt={0}, **RUN)
    np.testing.assert_allclose(found.std[1:], expected.posterior_std[1:, 0], rtol=0, atol=CLOSE)
    squares = ((truth - found.mean)[1:] / found.std[1:, None]) ** 2
    assert np.abs(squares.mean(axis=1) - 1).max() < 4 * np.sqrt(2 / d)


def test_what_was_not_said_is_not_seen(tmp_path):
    """A party that holds back shows nothing to those whom it told nothing."""
    story = OnTree(tmp_path, 1)
    for i in range(5):
        story.wake(i)
    for path in story.traces[1:]:
        text = path.read_text().splitlines()
        path.write_text(
            "\n".join(line.partition(',"sent"')[0] + ',"sent":{}}' if "sent" in line else line for line in text) + "\n"
        )
    report = audit_trace(story.traces, stage=0, corrupt=())
    assert report.leakage[0] > 1e-3
    np.testing.assert_allclose(report.leakage[2:], 0, atol=CLOSE)
