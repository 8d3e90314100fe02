"""What a party has told whom of its values, and what it has yet to tell: only what has changed.

A message that is not sent is ``U = 0`` of the model, and never wrong. So what equals the last one is not said again,
and over a tree a message waits for those on which it hangs: the one to the parent for all children, the one to a child
for everybody. With matched penalties (theory: Fewer messages) nothing else is ever said: ``2 (n - 1)`` messages. On a
route with cycles all would wait for ever, and nobody does.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...costs.base import Array
from .route import Route

EPS = float(np.finfo(float).eps)
ROUNDING = 16  # roundings of the largest number of a message, below which nothing can be certified


class Telling:
    """Of party ``i``, in one stage. ``always``: also what has not changed, for those who wait for their turn."""

    def __init__(self, i: int, neighbours: list[int], route: Route | None = None, *, always: bool = False) -> None:
        self.neighbours, self.always = neighbours, always  # those of the node, some of whom may leave
        self.said: dict[int, tuple[int, Array]] = {}  # the counter and the numbers that each was last told
        self.heard: set[int] = set()  # since this process has begun: who is back from a crash is told everything again
        self.parent: int | None = None
        self.waits = route is not None and route.is_tree and not always
        if route is not None and self.waits:
            self.parent = route.parent(i)

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

    def take(self, counter: int, messages: Mapping[int, Array]) -> None:
        """These are the newest; what has changed is to be told under this counter."""
        for j in self.open:
            r, told = messages[j], self.said.get(j)
            if self.always or told is None or not _same(told[1], r):
                self.said[j] = counter, r


def _same(told: Array, r: Array) -> bool:
    """But for rounding; half of what a party accepts is left for the rounding of others."""
    size = float(np.abs(told).max(initial=0.0))
    return bool(np.abs(r - told).max(initial=0.0) <= ROUNDING / 2 * EPS * size)
