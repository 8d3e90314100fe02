"""What a party has told whom of its values, and what it has yet to tell: only what has changed.

A message that is not sent is ``U = 0`` of the model, and never wrong. So what the other side has taken in is not said
again (with ``theta < 1`` it goes a part of the way with every message), until an epoch is refused: then what was taken
in is anybody's guess. But where values come closer to the answer with every round, news are answered, to everybody:
to wait for who has nothing new to say would take longer than to hear it again. An idle party is silent.

Over a tree a message waits for those on which it hangs: the one to the parent for all children, the one to a child for
everybody. With matched penalties (theory: Fewer messages) nothing else is ever said: ``2 (n - 1)`` messages. On a route
with cycles all would wait for ever, and nobody does.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...costs.base import Array
from ...pdmm.node import Node
from .route import Route

EPS = float(np.finfo(float).eps)
ROUNDING = 16  # roundings of the largest number of a message, below which nothing can be certified


class Telling:
    """Of one party, in one stage. ``always``: also what has not changed, for those who wait for their turn."""

    def __init__(self, node: Node, route: Route | None = None, *, always: bool = False) -> None:
        self.neighbours, self.theta, self.always = node.neighbours, node.theta, always  # some neighbours may leave
        self.said: dict[int, tuple[int, Array]] = {}  # the counter and the numbers that each was last told
        self.taken: dict[int, Array] = {}  # their ``D``, if all that they were told has arrived
        self.heard: set[int] = set()  # since this process has begun: who is back from a crash is told everything again
        self.parent: int | None = None
        self.waits = route is not None and route.is_tree and not always
        self.answers = not (self.waits and self.theta == 1)
        if route is not None and self.waits:
            self.parent = route.parent(node.i)

    @property
    def open(self) -> set[int]:
        """Who may be told something."""
        silent = set(self.neighbours) - self.heard if self.waits else set()
        return {j for j in self.neighbours if not silent or (j == self.parent and silent == {j})}

    @property
    def urgent(self) -> bool:
        """Whether somebody may be told something for the first time."""
        return bool(self.open - self.said.keys())

    def changes(self, messages: Mapping[int, Array]) -> float:
        """By how much they differ from what was told; infinitely, where somebody was told nothing yet."""
        if not self.said.keys() >= set(self.neighbours):
            return float("inf")
        return max(float(np.abs(r - self.said[j][1]).max(initial=0.0)) for j, r in messages.items())

    def take(self, counter: int, messages: Mapping[int, Array], *, news: bool) -> None:
        """These are the newest; what has changed is to be told under this counter. ``news``: something was heard."""
        everything = self.always or (self.answers and news)
        for j in self.open:
            r, taken = messages[j], self.taken.get(j)
            if everything or taken is None or not _same(taken, r):
                self.said[j] = counter, r
                self.taken[j] = self.theta * r + (0.0 if taken is None else (1 - self.theta) * taken)

    def again(self) -> None:
        """Everybody is told once more: who was away may lack what it seems to have taken in."""
        self.taken.clear()


def _same(taken: Array, r: Array) -> bool:
    """But for rounding; half of what a party accepts is left for the rounding of others."""
    size = float(np.abs(r).max(initial=0.0))
    return bool(np.abs(r - taken).max(initial=0.0) <= ROUNDING / 2 * EPS * size)
