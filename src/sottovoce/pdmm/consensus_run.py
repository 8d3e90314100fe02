"""What the fast runs share: consensus, nodes in memory order, and the way from the user's order and back.

A node's row has ``L = B d`` columns: some draws, entry by entry, then the next ones. Nothing here needs Numba: the runs
on a GPU do without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from .penalties import by_half_edge, of_nodes
from .problem import Problem
from .reference import Run
from .settings import Settings


def fits_node_space(problem: Problem, settings: Settings) -> bool:
    """Whether all wake at once, and node space keeps the digits: it adds up the ``x`` of all rounds and multiplies by
    ``c``. Penalties that are matched to a tree grow with its subtrees, and would lift the rounding of the sums above
    ``tol``; half-edges hold newest values only."""
    matched = settings.overlay is not None and isinstance(settings.c, np.ndarray) and problem.quadratic is not None
    law = settings.schedule.drawn
    return law is not None and law.of == "all" and not matched


class ConsensusRun(Run):
    """A run under consensus, every node with ``d`` entries.

    ``c_ij`` is ``scale`` times a weight (engine: Penalties), and ``D`` sums the weights at each node.
    """

    weights: Array | float  # by half-edge, in memory order; the number 1 where one ``c`` is for all
    together = 1  # draws whose columns lie entry by entry: all first entries, all second ones, ...

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        self.network, self.layout = problem.network, problem.network.layout
        self.draws, self.d = settings.batch or 1, problem.dim
        self.L = self.draws * self.d
        self.degrees = np.diff(self.layout.indptr).astype(np.float64)
        if isinstance(self.c, np.ndarray):
            self.scale, weights = 1.0, by_half_edge(self.c, self.network)
            self.weights = weights if self.layout.user is None else weights[self.layout.user]
            self.D = self.to_memory(of_nodes(self.c, self.network))
        else:
            self.scale, self.weights, self.D = self.c, 1.0, self.degrees

    def to_memory(self, rows: Array) -> Array:
        """Node by node, from the user's order."""
        if self.layout.user is None:
            return np.ascontiguousarray(rows)
        moved = np.empty_like(rows)
        moved[self.layout.number] = rows
        return moved

    def to_stacked(self, rows: Array) -> Array:
        """``(nodes or half-edges, L)`` in the user's order as ``(... d, B)``."""
        d, size = self.d, len(rows) * self.d
        return side_by_side([rows[:, d * r : d * end].reshape(size, -1) for r, end in self.some_draws()])

    def from_stacked(self, stacked: Array) -> Array:
        count = len(stacked) // self.d
        return side_by_side([stacked[:, r:end].reshape(count, -1) for r, end in self.some_draws()])

    def some_draws(self) -> Iterator[tuple[int, int]]:
        """First and end of those that lie together."""
        return ((r, min(r + self.together, self.draws)) for r in range(0, self.draws, self.together))

    def by_node(self, stacked: Array | float) -> Array | float:
        """What a tilted problem holds, in memory order; 0 in others."""
        return self.to_memory(self.from_stacked(stacked)) if isinstance(stacked, np.ndarray) else stacked

    @cached_property
    def signs(self) -> npt.NDArray[np.int8]:
        """``A_ij`` of every half-edge in the user's order, as a column."""
        return np.where(self.network.holders > self.network.indices, np.int8(1), np.int8(-1))[:, None]


def side_by_side(parts: list[Array]) -> Array:
    """In one array; a single part as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
