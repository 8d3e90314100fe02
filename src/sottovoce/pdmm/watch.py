"""What is seen of a run while it is played: when it ends, and what is kept of it along the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .problem import Problem
from .recorders import Recorder, Transcript
from .reference import Run
from .result import Status
from .settings import positive_integer
from .transcript import Listener

ROUNDS = 100_000  # default limit, in rounds: one round is every node waking once on average
CHECK_ROUNDS = 10  # the residual is looked at every 10 rounds ...
CHECK_SHARE = 0.05  # ... or every 5 % of the iterations so far, whichever is rarer
BLOW_UP = 1e10  # growth of |x| that no averaged operator shows


class Watch:
    """Looks at the residual now and then, and says when the run is over, and how it ended."""

    def __init__(
        self,
        problem: Problem,
        run: Run,
        tol: float,
        max_iter: int | None,
        max_rounds: int | None,
        check_every: int | None,
    ) -> None:
        a_round, length = run.schedule.round(problem.network), run.schedule.length()
        rounds = ROUNDS if max_rounds is None else positive_integer(max_rounds, "max_rounds")
        limit = rounds * a_round if max_iter is None else positive_integer(max_iter, "max_iter")
        self.run, self.tol = run, tol
        self.limit = limit if length is None else min(limit, length)
        # Over a tree a run may be over in a few rounds: a look after each of them, and after the two sweeps.
        tree = None if run.overlay is None else run.overlay.tree
        self.sweeps = 0 if tree is None else (2 * tree.depth + 1) * a_round
        self.cadence = (CHECK_ROUNDS if run.overlay is None else 1) * a_round
        self.share = CHECK_SHARE
        if check_every is not None:
            self.cadence, self.share, self.sweeps = positive_integer(check_every, "check_every"), 0.0, 0
        self.next = self._after(0) if tol else self.limit  # when to look
        self.status, self.residual = Status.MAX_ITER, math.inf
        self.data_size = max(cost.sizes[0] for _, cost in problem.groups)  # as given, not as collapsed
        self.smallest = math.inf  # |x| so far

    def over(self) -> bool:
        """Whether the run has ended; looks, where it is time to."""
        k = self.run.iteration
        if k >= self.next:
            self.status = self._look(k)
            self.next = self._after(k)
        return k >= self.limit or self.status is not Status.MAX_ITER

    def _after(self, k: int) -> int:
        """When to look next."""
        after = min(k + max(self.cadence, int(self.share * k)), self.limit)
        return min(after, self.sweeps) if k < self.sweeps else after

    def _look(self, k: int) -> Status:
        self.residual = self.run.residual(self.tol if k < self.limit else math.inf)
        size = float(np.abs(self.run.stacked_x()).max())
        if not math.isfinite(self.residual) or size > BLOW_UP * max(1.0, self.smallest, self.data_size):
            return Status.DIVERGED
        self.smallest = min(self.smallest, size)
        return Status.CONVERGED if self.tol and self.residual <= self.tol else Status.MAX_ITER


class History:
    """What recorders keep, every so many iterations; a transcript listens to each."""

    def __init__(self, recorders: Sequence[Recorder], every: int) -> None:
        self.recorders = [recorder for recorder in recorders if not isinstance(recorder, Transcript)]
        self.transcripts = [recorder for recorder in recorders if isinstance(recorder, Transcript)]
        self.listeners: list[Listener] = []
        self.every = every
        self.values: dict[str, list[Any]] = {name: [] for name in ("iteration", *(r.name for r in self.recorders))}

    def keep(self, run: Run) -> None:
        """Record, where it is time to."""
        if self.transcripts and not self.listeners:
            self.listeners = [transcript(run) for transcript in self.transcripts]
        for listener in self.listeners:
            listener.hear()
        if self.recorders and run.iteration % self.every == 0:
            self.values["iteration"].append(run.iteration)
            for recorder in self.recorders:
                self.values[recorder.name].append(recorder(run))

    def next(self, k: int) -> float:
        """The iteration after ``k`` at which to record."""
        if self.transcripts:
            return k + 1
        return (k // self.every + 1) * self.every if self.recorders else math.inf

    def arrays(self) -> dict[str, Any]:
        kept: dict[str, Any] = {name: np.array(values) for name, values in self.values.items()}
        heard = zip(self.transcripts, self.listeners, strict=True)
        return (kept if self.recorders else {}) | {transcript.name: listener.table() for transcript, listener in heard}
