"""Programs at parties that run in threads of their own, hold nothing but their own rows, and meet to agree.

Averages are exact; what a party holds of one may be moved a little, as it is in a network.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.statistics.agreements import Agreements

TOL = 1e-9


class Meeting:
    """Where parties in threads of their own meet. ``hold(i, stage, x)`` is what party ``i`` holds of the mean ``x``."""

    def __init__(self, n, hold=lambda i, stage, x: x):
        self.n, self.hold, self.rows, self.sent = n, hold, [None] * n, []
        self.barrier = threading.Barrier(n, timeout=5)  # parties that go apart wait for each other in vain

    def mean(self, i, stage, row):
        self.rows[i] = (stage, row)
        self.barrier.wait()
        assert len({(s, r.shape) for s, r in self.rows}) == 1, "parties are at different stages"
        mean = np.mean([r for _, r in self.rows], axis=0)
        if i == 0:
            self.sent.append([r for _, r in self.rows])
        self.barrier.wait()
        return mean


class OneParty(Agreements):
    """Exact averages, of which a party holds what the meeting says."""

    def __init__(self, meeting, i):
        super().__init__(meeting.n, [f"party {i}"], TOL)
        self.meeting, self.i = meeting, i

    def agree(self, contributions, mask):
        stage = len(self.runs)
        x = self.meeting.mean(self.i, stage, contributions[0])
        if not isinstance(mask, sv.ModularMask):
            x = self.meeting.hold(self.i, stage, x.copy())
        return sv.Result(
            x=x[None], z=None, status=sv.Status.CONVERGED, iterations=1, activations=1, messages=0, residual=0.0,
            history={}, wall_time=0.0, c=1.0, theta=1.0, seed=None,
        )  # fmt: skip


def together(program, n, hold=lambda i, stage, x: x):
    """``program(agreements, i)`` at each of ``n`` parties; what each came to, or its refusal."""
    meeting = Meeting(n, hold)

    def play(i):
        agreements = OneParty(meeting, i)
        try:
            return program(agreements, i), len(agreements.runs)
        except InvalidInput as error:
            return str(error), len(agreements.runs)

    with ThreadPoolExecutor(n) as threads:
        found = list(threads.map(play, range(n)))
    assert len({stages for _, stages in found}) == 1  # nobody waits for another
    return [answer for answer, _ in found], meeting
