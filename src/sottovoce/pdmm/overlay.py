"""Fewer messages: pads lie on every edge of the network, messages go over an *overlay*, some of its edges that connect
all nodes (theory: Fewer messages).

What a run gives away is a function of ``w_i = q_i + sum_j A_ij u_ij`` and of ``e_ij``, where the sum is over all edges
of the network and ``z(0) = u + e/2`` (``collapsed_arithmetic``). An edge without messages keeps its part of ``w``, with
opposite signs at its two ends, so that it hides as before and cancels from the answer; its ``e`` is never used. On an
edge of the overlay both pads stay: without ``e`` an eavesdropper would learn the mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sized
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..errors import InvalidInput, InvalidNetwork, Unsupported
from ..network import Network
from ..network.trees import SpanningTree
from .penalties import Penalty, checked_penalty
from .problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class Overlay:
    """The edges over which messages go, where these are not all.

    Attributes
    ----------
    whole : Network
        Where pads lie.
    network : Network
        The same nodes, joined by the edges that messages use; ``network.edges`` is the order of a ``c`` per edge.
    tree : SpanningTree or None
        Where these edges are one, with its root and depth.
    """

    whole: Network
    network: Network
    tree: SpanningTree | None = None

    def __repr__(self) -> str:
        return f"Overlay({self})"

    def __str__(self) -> str:
        if self.tree is not None:
            return f"a tree of depth {self.tree.depth} with the root {self.whole.name(self.tree.root)}"
        return f"{self.network.m} of {self.whole.m} edges"

    def to_dict(self) -> dict[str, Any]:
        """For JSON; nodes by their numbers."""
        tree = {} if self.tree is None else {"root": self.tree.root, "depth": self.tree.depth}
        return {"type": "tree" if self.tree else "edges", **tree, "edges": self.network.edges.tolist()}

    @cached_property
    def kept(self) -> npt.NDArray[np.bool_]:
        """Which half-edges of ``whole`` have messages; those of ``network`` are these, in the same order."""
        key = self.network.half_edges @ [self.whole.n, 1]
        return np.isin(self.whole.half_edges @ [self.whole.n, 1], key, assume_unique=True)

    def entries(self, problem: Problem) -> npt.NDArray[np.bool_]:
        """``kept`` over the stacked ``z`` of a problem on ``whole``."""
        return np.repeat(self.kept, np.diff(problem.rows))

    @property
    def used(self) -> npt.NDArray[np.bool_]:
        """Which edges of ``whole`` have messages."""
        return np.isin(self.whole.edges @ [self.whole.n, 1], self.network.edges @ [self.whole.n, 1])

    def filled(self, c: Penalty, rest: Penalty) -> Array:
        """For each edge of ``whole`` its ``c``, or that of ``rest`` where it is none of the overlay's."""
        found = np.broadcast_to(np.asarray(rest, dtype=np.float64), self.whole.m).copy()
        found[self.used] = c
        return found

    def of_overlay(self, c: Any) -> Penalty:
        """``checked_penalty``; of a number for each edge of ``whole``, those of the overlay."""
        if isinstance(c, Sized) and np.iterable(c) and len(c) == self.whole.m != self.network.m:
            of_whole = np.broadcast_to(checked_penalty(c, self.whole), self.whole.m)
            return of_whole[self.used]
        return checked_penalty(c, self.network)


AskedOverlay = Literal["all", "tree"] | Iterable[tuple[Hashable, Hashable]] | npt.NDArray[Any] | Overlay | None


def settled_overlay(network: Network, overlay: AskedOverlay) -> Overlay | None:
    """What was asked for, if it fits the network; None is all of it. What is settled already stays."""
    if overlay is None or (isinstance(overlay, str) and overlay == "all"):
        return None
    if isinstance(overlay, Overlay):
        if not np.array_equal(overlay.whole.edges, network.edges):
            raise InvalidInput("overlay is of another network. Use 'all', 'tree', or a list of edges.")
        return overlay
    if overlay != "tree" if isinstance(overlay, str) else not isinstance(overlay, Iterable):
        raise InvalidInput(f"overlay must be 'all', 'tree', or a list of edges; got {overlay!r:.80}.")
    if network.constraints is not None:
        raise Unsupported(
            "an overlay leaves out edges, and on this network every edge is a constraint of its own: only where all "
            "say x_i = x_j do fewer of them say the same. Use overlay='all'."
        )
    if isinstance(overlay, str):
        tree = network.spanning_tree()
        return Overlay(network, tree.network, tree)
    try:
        few = network.restricted_to(overlay)
    except InvalidNetwork as error:
        raise InvalidInput(f"overlay must be edges of the network that connect it: {error}") from None
    return Overlay(network, few, few.spanning_tree() if few.m == few.n - 1 else None)


def matched(problem: Problem, overlay: Overlay) -> Array | None:
    """The penalties with which a run over the tree ends after two sweeps, where costs are ``(a_i/2) ||x - s_i||^2``."""
    form = problem.quadratic
    if overlay.tree is None or form is None:
        return None
    a = form.Q if form.Q.ndim == 1 else form.Q[:, 0, 0]
    if not (a > 0).all() or (form.Q.ndim == 3 and (a[:, None, None] * np.eye(problem.dim) != form.Q).any()):
        return None
    return overlay.tree.matched(a)


def over(problem: Problem, overlay: Overlay) -> Problem:
    """The problem with messages over the overlay, without pads."""
    played = copy(problem)
    for of_network in ("rows", "C", "P"):
        played.__dict__.pop(of_network, None)
    played.network = overlay.network
    return played


def leaning(problem: Problem, overlay: Overlay, z0: Array) -> Problem:
    """The problem, whose steps feel the pads ``z0 (M, B)`` of the edges without messages."""
    rest = ~overlay.entries(problem)
    leans = copy(problem)
    leans.tilt = leans.lean = np.asarray(problem.C[rest].T @ ((z0 + z0[problem.P]) / 2)[rest])
    return leans


def laid_on(
    problem: Problem, overlay: Overlay | None, q: npt.NDArray[Any], z0: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Problem]:
    """``q`` with the pads ``z0`` of edges without messages in it, those of the others, and the problem that is played:
    what each of them is on maps, a column per unknown."""
    if overlay is None:
        return q, z0, problem
    return q + leaning(problem, overlay, z0).lean, z0[overlay.entries(problem)], over(problem, overlay)


def unfolded(problem: Problem, overlay: Overlay, z: Array, z0: Array) -> Array:
    """``z`` of the overlay as one of the whole network: on the other edges it stays where it was folded."""
    whole: Array = (z0 + z0[problem.P]) / 2
    whole[overlay.entries(problem)] = z
    return whole
