"""An exhaustive search of what can happen: every order of steps, and every fault that a model allows, at any moment.

A search says two things that no number of random runs can: that *no* state is wrong, and that from *every* state all
can still end, without the help of another fault. Where that does not hold, it has the shortest way there.
"""

from __future__ import annotations

import gc
from array import array
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

S = TypeVar("S")


class Step(NamedTuple):
    """Something that can happen in a state, and what the state is then. A ``fault`` may happen, and need not."""

    name: str
    state: object
    fault: bool = False


class Model(Protocol[S]):
    """What a search asks for. States are never changed once they are made: a step has a new one."""

    def begin(self) -> S:
        """The first state."""

    def steps(self, state: S) -> Iterable[Step]:
        """All that can happen next."""

    def key(self, state: S) -> Hashable:
        """Equal for states from which the same can happen."""

    def over(self, state: S) -> bool:
        """Whether everybody has ended who should."""

    def wrong(self, state: S) -> str | None:
        """What must never be, as a sentence."""


@dataclass
class Found:
    """``wedged``: states from which not everybody can end any more; ``into_wedge`` is the shortest way to one. Of a
    search that was cut short, ``left_out`` states were not looked behind, and count as if they ended well."""

    states: int = 0
    steps: int = 0
    ends: int = 0
    left_out: int = 0
    wedged: int = 0
    into_wedge: list[str] = field(default_factory=list)
    wrong: dict[str, list[str]] = field(default_factory=dict)  # the shortest way to each

    @property
    def fine(self) -> bool:
        """Whether all was seen, and nothing is wrong."""
        return not (self.wedged or self.wrong or self.left_out)

    def __str__(self) -> str:
        lines = [f"{self.states:,} states, {self.steps:,} steps, {self.ends:,} states in which all have ended"]
        lines += [f"CUT SHORT: {self.left_out:,} states were not looked behind"] if self.left_out else []
        lines += [f"from {self.wedged:,} states not everybody can end"]
        lines += [f"  by {len(self.into_wedge)} steps: {' '.join(self.into_wedge)}"] if self.wedged else []
        for sentence, way in self.wrong.items():
            lines += [f"WRONG: {sentence}", f"  by {len(way)} steps: {' '.join(way)}"]
        return "\n".join(lines)


def search(model: Model[S], first: S | None = None, most: int = 10_000_000) -> Found:
    """Everything that can happen after the ``first`` state, breadth first, of at most so many states."""
    with uncollected():
        return _searched(model, first, most)


@contextmanager
def uncollected() -> Iterator[None]:
    """States are many and have no cycles: nobody looks for those meanwhile."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _searched(model: Model[S], first: S | None, most: int) -> Found:
    first = model.begin() if first is None else first
    known = {model.key(first): 0}
    came: list[tuple[int, str]] = [(-1, "")]  # from which state, by which step
    before, after = array("q"), array("q")  # of all steps that are no faults
    found, ending, unseen, waiting = Found(), list[int](), list[int](), deque([(0, first)])
    while waiting:
        at, state = waiting.popleft()
        if (sentence := model.wrong(state)) is not None:
            found.wrong.setdefault(sentence, way(came, at))
        if model.over(state):
            ending.append(at)
        if len(known) >= most:
            unseen.append(at)
            continue
        for step in model.steps(state):
            found.steps += 1
            key = model.key(step.state)  # type: ignore[arg-type]
            to = known.setdefault(key, len(known))
            if to == len(came):
                came.append((at, step.name))
                waiting.append((to, step.state))  # type: ignore[arg-type]
            if not step.fault:
                before.append(at)
                after.append(to)
    found.states, found.ends, found.left_out = len(known), len(ending), len(unseen)
    hopeful = can_reach([*ending, *unseen], len(known), before, after)
    wedged = [at for at in range(len(known)) if not hopeful[at]]
    found.wedged = len(wedged)
    found.into_wedge = way(came, wedged[0]) if wedged else []  # numbers are in the order of their distance
    return found


def way(came: Sequence[tuple[int, str]], at: int) -> list[str]:
    """The steps by which a state was found."""
    names = []
    while at > 0:
        at, name = came[at]
        names.append(name)
    return names[::-1]


def can_reach(goals: Iterable[int], count: int, before: Sequence[int], after: Sequence[int]) -> bytearray:
    """From which states one of the goals can be reached."""
    start = array("q", bytes(8 * (count + 1)))  # where the steps into each state begin
    for to in after:
        start[to + 1] += 1
    for at in range(count):
        start[at + 1] += start[at]
    place, into = array("q", start), array("q", bytes(8 * len(after)))
    for at, to in zip(before, after, strict=True):
        into[place[to]] = at
        place[to] += 1
    reached, waiting = bytearray(count), list(goals)
    while waiting:
        if not reached[to := waiting.pop()]:
            reached[to] = 1
            waiting += into[start[to] : start[to + 1]]
    return reached


def follow(model: Model[S], names: Iterable[str], first: S | None = None) -> S:
    """The state after these steps, each of which must be possible."""
    state = model.begin() if first is None else first
    for name in names:
        possible = {step.name: step.state for step in model.steps(state)}
        assert name in possible, f"{name} cannot happen; what can: {', '.join(possible)}"
        state = possible[name]  # type: ignore[assignment]
    return state
