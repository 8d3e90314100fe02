"""What is seen of a run: its transcript, or the paper's snapshot of one iteration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from ..errors import InvalidInput
from ..pdmm.schedules import Schedule
from ..pdmm.settings import positive_integer, whole_number


@dataclass(frozen=True)
class Transcript:
    """Every message that reaches whoever listens, from the first iteration on: a question to the auditor. The recorder
    that keeps the messages of a run as a table is ``sv.Transcript``.

    Parameters
    ----------
    iterations
        How many iterations are seen; None is the whole run.
    runs
        How often the agreement was repeated on the same data.
    pads
        ``"fresh"`` for every run, or ``"reused"``: then the question is what the runs show of the change in the data.
    answer
        ``"public"`` where the result is published, so that eavesdroppers are told it too.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem, mask = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4]), sv.GaussianMask(1e6)
    >>> sv.privacy.audit(problem, mask=mask, seen=sv.privacy.Transcript(iterations=3), c=0.5).view
    'the first 3 iterations'
    """

    iterations: int | None = None
    runs: int = 1
    pads: Literal["fresh", "reused"] = "fresh"
    answer: Literal["private", "public"] = "private"

    def check(self) -> None:
        """Refuse what is no such thing."""
        whole_number(self.iterations, "iterations")
        positive_integer(self.runs, "runs")
        if self.pads not in ("fresh", "reused"):
            raise InvalidInput(f"pads must be 'fresh' or 'reused'; got {self.pads!r}.")
        if self.pads == "reused" and self.runs < 2:
            raise InvalidInput("pads='reused' compares two runs; give runs=2 or more.")
        if self.answer not in ("private", "public"):
            raise InvalidInput(f"answer must be 'private' or 'public'; got {self.answer!r}.")

    def until(self, length: int | None) -> Transcript:
        """The same of a run of so many iterations."""
        asked = self.iterations
        return replace(self, iterations=length if asked is None else int(asked))

    def describe(self) -> str:
        """In words."""
        return "the whole transcript" if self.iterations is None else f"the first {self.iterations} iterations"


@dataclass(frozen=True)
class Snapshot:
    """The paper's metric: one iteration, of which the messages and ``x`` are known, and none before (eq. 8).

    It understates: who sees one iteration has seen those before.

    Parameters
    ----------
    iteration
        Which one; 0 is the start.
    runs
        How often the agreement was repeated on the same data, with fresh pads.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem, mask = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4]), sv.GaussianMask(1e6)
    >>> sv.privacy.audit(problem, mask=mask, corrupt={0}, seen=sv.privacy.Snapshot(3), c=0.5).view
    'the snapshot of eq. 8 at iteration 3'
    """

    iteration: int
    runs: int = 1

    pads = "fresh"
    answer = "private"

    @property
    def iterations(self) -> int:
        """How far the run has gone."""
        return self.iteration

    def check(self) -> None:
        """Refuse what is no such thing."""
        if self.iteration is None:
            raise InvalidInput("a snapshot is of one iteration: give its number, as in Snapshot(3).")
        whole_number(self.iteration, "iteration")
        positive_integer(self.runs, "runs")

    def until(self, length: int | None) -> Snapshot:
        """The same of a run of so many iterations."""
        return replace(self, iteration=int(self.iteration))

    def describe(self) -> str:
        """In words."""
        return f"the snapshot of eq. 8 at iteration {self.iteration}"


Seen = Transcript | Snapshot


def settled(seen: Any, schedule: Schedule) -> Seen:
    """What is seen of a run with this schedule, checked."""
    if not isinstance(seen, Transcript | Snapshot):
        raise InvalidInput(f"seen must be sv.privacy.Transcript(...) or sv.privacy.Snapshot(iteration); got {seen!r}.")
    seen.check()
    length = schedule.length()
    if length is not None and (seen.iterations or 0) > length:
        raise InvalidInput(f"the trace has {length} iterations; got iterations={seen.iterations}. Ask for no more.")
    return seen.until(length)
