"""The general method: a view as linear functionals of ``(q, z(0))``, eliminated one by one (theory: Transcripts).

The run is played on maps. Every message that is seen is a functional of the unknowns, known exactly; a reflection of
the unknowns turns it into one coordinate, which is then dropped. What is left is an orthonormal basis ``W`` of the
directions in which ``(q, z(0))`` can move without changing anything that was seen (``unseen_directions``).

Reflections are stable, and what is known is dropped instead of subtracted. Ranks are decided before any variance
enters, so that they depend on the network and the schedule alone. Over open channels no functional is faint: the first
message of a node tells all. (Over encrypted ones some are, see ``own_edges``.)
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import InvalidInput
from ...pdmm.overlay import Overlay, laid_on
from ...pdmm.penalties import Penalty
from ...pdmm.problem import Problem
from ...pdmm.schedules import Schedule
from ..moments.exact_moments import AffineRun
from .leaks import Leaks
from .secrets_and_prior import Secrets, entries
from .unseen_directions import RANK, Unseen


class Heard(AffineRun):
    """A run on maps, who has woken in it, and what was last sent: rows of ``z``, and the values ``y``."""

    sent: tuple[npt.NDArray[Any], Array]
    woken: npt.NDArray[np.bool_]

    def __init__(self, problem: Problem, *args: Any, **how: Any) -> None:
        super().__init__(problem, *args, **how)
        self.woken = np.zeros(problem.network.n, dtype=bool)

    def compute(self, i: int) -> tuple[npt.NDArray[Any], Array]:
        self.sent = super().compute(i)
        self.woken[i] = True
        return self.sent

    def wake_many(self, active: npt.NDArray[np.bool_] | None, arrived: npt.NDArray[np.bool_] | None) -> None:
        before, network = self._z, self.problem.network
        super().wake_many(active, arrived)
        y = (before + 2 * self.along * (self.C @ self._x))[self.P]
        awake = np.ones(network.n, dtype=bool) if active is None else active
        self.woken |= awake
        rows = np.flatnonzero(np.repeat(awake[network.indices], np.diff(self.problem.rows)))
        self.sent = rows, y[rows]


class Elimination(Heard):
    """What an adversary knows, message by message. Columns are the unknowns that are left."""

    def __init__(
        self,
        secrets: Secrets,
        schedule: Schedule,
        *,
        corrupt: frozenset[int],
        sees_all: bool,
        theta: float,
        c: Penalty,
        seed: int | None = None,
        pads: Array | None = None,
        overlay: Overlay | None = None,
    ) -> None:
        """``pads`` is the factor ``F`` of ``z(0) = sigma F zeta``, ``zeta ~ N(0, I)``; None is ``F = I``. It has the
        rows of all edges of the network, with messages or without."""
        problem = secrets.problem
        rows, N = int(problem.rows[-1]), int(problem.columns[-1])
        F = np.eye(rows) if pads is None else pads
        unknowns = N + F.shape[1]
        every = np.hstack([np.zeros((rows, N)), F])  # pad of the network
        q, start, played = laid_on(problem, overlay, np.eye(N, unknowns), every)
        super().__init__(played, schedule, start, q, theta=theta, c=c, seed=seed)
        self.secrets, self.corrupt = secrets, corrupt
        self.start, self.W = start.copy(), np.eye(unknowns)
        bad = np.isin(np.arange(secrets.n), list(corrupt))
        self.seen = _at(bad, played) | sees_all
        self.learn(self.W[entries(np.flatnonzero(bad), secrets.width)])
        self.learn(every[_at(bad, problem)] @ self.W)

    def learn(self, functionals: Array) -> None:
        """Drop the directions that these functionals (rows over the unknowns that are left) reveal."""
        V = functionals.copy()
        while V.size:
            sizes = np.linalg.norm(V, axis=1)
            loudest = int(np.argmax(sizes))
            if sizes[loudest] <= RANK:
                return
            mirror = V[loudest] / sizes[loudest]
            mirror[0] += np.copysign(1.0, mirror[0])
            mirror /= np.linalg.norm(mirror)
            V = _without_first(V, mirror)
            self._z, self._x, self.q, self.start, self.W = (
                _without_first(matrix, mirror) for matrix in (self._z, self._x, self.q, self.start, self.W)
            )
            under_way, self.pending = self.pending, defaultdict(list)  # a new one, as copies of this view share the old
            for k, messages in under_way.items():
                self.pending[k] = [(h, rows, _without_first(y, mirror), sent) for h, rows, y, sent in messages]

    def told(self, functional: Array) -> Array:
        """Learn one functional of ``(q, z(0))``, such as a recorded message; returns the direction that it measures, 0
        where it tells nothing new.

        A point that fits what was known before fits this one's value too after a step in that direction.
        """
        v = functional @ self.W
        size = float(np.linalg.norm(v))
        if size <= RANK:
            return np.zeros(len(self.W))
        along = self.W @ (v / size**2)
        self.learn(v[None, :])
        return np.asarray(along)

    def play(self, iterations: int) -> None:
        """Advance, and learn from what is sent."""
        length = self.schedule.length()
        if length is not None and self.iteration + iterations > length:
            raise InvalidInput(f"the trace has {length} iterations; got iterations={iterations}. Ask for no more.")
        for _ in range(iterations):
            self.advance(1)
            rows, y = self.sent
            visible = self.seen[rows]
            self.learn(y[visible] - self.start[rows[visible]])

    @property
    def unseen(self) -> Unseen:
        """What is left to guess."""
        return Unseen(self.secrets, self.corrupt, self.W, self.woken)

    def leaks(self, variance: float) -> Leaks:
        """What the view played so far gives away, for pads of this variance (divided by the number of runs)."""
        return self.unseen.leaks(variance)


def _at(chosen: npt.NDArray[np.bool_], problem: Problem) -> npt.NDArray[np.bool_]:
    """Which entries of ``z`` lie on an edge of these nodes."""
    ends = problem.network.half_edges
    return np.repeat(chosen[ends].any(axis=1), np.diff(problem.rows))


def first_sweep(run: Elimination, most: int) -> None:
    """Play until every honest node has sent."""
    wanted = ~np.isin(np.arange(len(run.woken)), list(run.corrupt))
    while not run.woken[wanted].all() and run.iteration < most:
        run.play(1)


def _without_first(matrix: Array, mirror: Array) -> Array:
    """The columns after the reflection, without the first, which is known."""
    return (matrix - np.multiply.outer(2 * (matrix @ mirror), mirror))[:, 1:]
