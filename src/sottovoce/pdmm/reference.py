"""The iteration in NumPy: the readable reference that every faster path is tested against.

x        = argmin_x f(x) + z'Cx + (c/2) ||Cx - b/2||^2          (paper, eq. 2)
y        = P (z + c (2Cx - b))                                  (eq. 3)
z       <- (1 - theta) z + theta y   where U = 1                (eqs. 5 and 9)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs.base import Array, UnverifiedStep
from ..errors import InvalidCost
from .problem import Floors, Problem
from .schedule_bases import Chosen, Nodes
from .settings import Settings

Rows = npt.NDArray[np.integer[Any]]
EPS = float(np.finfo(np.float64).eps)
UNKNOWN = 1e-3  # of the slopes: what rounding may take of them


class Run(ABC):
    """A run under way: its state, and how to advance it. ``x`` and ``z`` have the user's shapes."""

    iteration: int = 0
    activations: int = 0  # nodes that computed
    messages: int = 0  # messages sent, arrived or not
    u: Array | None = None  # the part of z that a collapsed run leaves out; P u = u, so it never changes
    unfold: Callable[[Array], Array] | None = None  # ``z`` of an overlay as one of the whole network
    given: Problem  # whose shapes the user knows: the problem, on its whole network

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem = self.given = problem
        self.schedule, self.key = settings.schedule, settings.key
        self.c, self.theta, self.batch = settings.c, settings.theta, settings.batch
        self.overlay = settings.overlay

    @abstractmethod
    def advance(self, count: int) -> None:
        """Play ``count`` more iterations."""

    @abstractmethod
    def stacked_x(self) -> Array:
        """``x(k)``: what each node computed when it last woke (0 before), ``(N, B)``."""

    @abstractmethod
    def iterated_z(self) -> Array:
        """What the iteration works on, ``(M, B)``: ``z(k)``, or ``z(k) - u`` in a collapsed run."""

    def stacked_z(self) -> Array:
        """``z(k)``, ``(M, B)``."""
        return self.iterated_z() if self.u is None else self.iterated_z() + self.u

    @abstractmethod
    def residual(self, enough: float = np.inf) -> float:
        """The KKT residual of ``(x(k), z(k))``, see ``kkt_residual``; the worst of the draws of a batch.

        Once it is known to exceed ``enough``, a part of it may be returned instead.
        """

    @cached_property
    def floors(self) -> Floors:
        """Those of the problem. A step adds gradients to ``c_i x_i`` of the node's penalties, and where there are sets,
        or costs that are flat far away, that sum may stay as it is while gradients are lost in its last digit."""
        floors = self.problem.floors
        if not (floors.flat or np.isfinite(floors.steepest)):
            return floors
        reach = abs(self.problem.C)
        penalties = reach.T @ (self.problem.along(self.c) * reach.sum(axis=1)[:, None])
        return floors._replace(rounding=EPS * float(penalties.max()))

    @property
    def x(self) -> Any:
        return self.problem.shape_x(self.stacked_x(), self.batch)

    @property
    def z(self) -> Any:
        z = self.stacked_z()
        return self.given.shape_z(z if self.unfold is None else self.unfold(z), self.batch)


class Reference(Run):
    """Any problem, any schedule."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        z0, draws = settings.z0, settings.batch or 1
        self.C, self.P, self.b = problem.C, problem.P, problem.b
        self._z = np.zeros((self.C.shape[0], draws)) if z0 is None else z0.copy()
        self._x = np.zeros((self.C.shape[1], draws))
        self.step, self.along = problem.steps(settings.c), problem.along(settings.c)
        self.parties: list[Party | None] = [None] * problem.network.n  # made when they wake
        self.pending: dict[int, list[tuple[int, slice, Array, int]]] = defaultdict(list)
        self.newest = [-1] * (2 * problem.network.m)  # when the value now in z was sent (where messages are late)

    def advance(self, count: int) -> None:
        self.schedule.play(self, self.problem.network, self.key, self.iteration, count)
        self.iteration += count

    def stepped(self) -> Array:
        """What every node would compute now, ``x(k+1)`` if all woke (eq. 2)."""
        return self.step(self.C.T @ (self._z - (self.along / 2) * self.b), self._x)

    def wake_many(self, active: Chosen | None, arrived: Chosen | None) -> None:
        """One iteration of all nodes, or of those active; ``arrived`` half-edges are updated."""
        C, P, b, c, z, x = self.C, self.P, self.b, self.along, self._z, self.stepped()
        if active is not None:
            x = np.where(np.repeat(active, self.problem.dims)[:, None], x, self._x)
        y = (z + c * (2 * (C @ x) - b))[P]
        new = self.mixed(z, y)
        if arrived is not None:
            new = np.where(np.repeat(arrived, np.diff(self.problem.rows))[:, None], new, z)
        self._x, self._z = x, new
        network = self.problem.network
        self.activations += network.n if active is None else int(active.sum())
        self.messages += 2 * network.m if active is None else int(network.degrees[active].sum())

    def wake_one(self, i: int) -> None:
        """One iteration of one node: all its messages arrive."""
        rows, y = self.compute(i)
        self._z[rows] = self.mixed(self._z.take(rows, axis=0), y)

    def mixed(self, z: Array, y: Array) -> Array:
        """``(1 - theta) z + theta y`` (eq. 5)."""
        return np.asarray((1 - self.theta) * z + self.theta * y)

    def compute(self, i: int) -> tuple[Rows, Array]:
        """Node ``i`` wakes: its new ``x_i``, and the rows ``(j|i)`` with the values ``y`` that it sends."""
        party = self.party(i)
        z = self._z[party.held]
        self._x[party.own] = x = self.step_one(party, party.sums(z))
        self.activations += 1
        self.messages += len(party.messages)
        return party.written, z + party.push(x)

    def party(self, i: int) -> Party:
        party = self.parties[i]
        if party is None:
            party = self.parties[i] = Party(self, i)
        return party

    def step_one(self, party: Party, g: Array) -> Array:
        """One node's argmin for every draw."""
        x = self._x[party.own]
        g = g + self.problem.lean[party.own] if isinstance(self.problem.lean, np.ndarray) else g
        try:
            return np.asarray(party.step(g.T[:, None], x.T[:, None])[:, 0].T)
        except UnverifiedStep as error:
            raise InvalidCost(error.told(self.problem.network.name(party.i))) from None

    def wake_late(self, k: int, i: int, delays: Nodes) -> None:
        """Node ``i`` wakes at ``k``; its messages, and older ones still under way, arrive when their time has come."""
        _, y = self.compute(i)
        for (h, rows, part), delay in zip(self.party(i).messages, delays.tolist(), strict=True):
            self.pending[k + delay].append((h, rows, y[part], k))
        for h, rows, value, sent in self.pending.pop(k, ()):
            if sent > self.newest[h]:  # else overtaken by a later message of the same half-edge
                self._z[rows] = self.mixed(self._z[rows], value)
                self.newest[h] = sent

    def stacked_x(self) -> Array:
        return self._x

    def iterated_z(self) -> Array:
        return self._z

    def residual(self, enough: float = np.inf) -> float:
        C, b, c, z, x = self.C, self.b, self.along, self._z, self.stepped()
        dual = z + c * (C @ x - b / 2)
        if self.problem.consensus:
            violation = spread(x, self.problem.dim)
        else:
            assert self.problem.network.constraints is not None
            rows = self.problem.network.constraints.row_sizes[:, None]
            violation = (np.abs(C @ x + (C @ x)[self.P] - b) / rows).max(axis=0)
        subgradient = -(C.T @ dual) - self.problem.tilt
        stationarity = 0.5 * (C.T @ (dual - dual[self.P])) + self.problem.lost
        return kkt_residual(self.floors, x, self._x, subgradient, stationarity, violation)


class Party:
    """What one node needs of a run's stacked problem, cut out once."""

    def __init__(self, run: Reference, i: int) -> None:
        self.i = i
        problem, along = run.problem, run.along
        network, rows = problem.network, problem.rows
        half_edges = slice(network.indptr[i], network.indptr[i + 1])
        self.held = slice(int(rows[half_edges.start]), int(rows[half_edges.stop]))
        self.own = slice(int(problem.columns[i]), int(problem.columns[i + 1]))
        self.written = problem.P[self.held]
        self.messages = []  # half-edge that is updated, its rows of z, and those of the message among all that i sends
        for h, other in enumerate(network.twin[half_edges].tolist(), start=half_edges.start):
            part = slice(int(rows[h]) - self.held.start, int(rows[h + 1]) - self.held.start)
            self.messages.append((other, slice(int(rows[other]), int(rows[other + 1])), part))
        self.step = problem.cost(i).bind_from(problem.penalty(run.c, i))
        self.c = along[self.held] if isinstance(along, np.ndarray) else along
        self.b, self.C = run.b, None
        if not problem.consensus:
            self.b, self.C = run.b[self.held], problem.C[self.held, self.own]
            return
        # C is a sign for each neighbour; a sparse matrix would take longer to cut out than to use.
        self.signs = network.C.data[half_edges, None]
        of_neighbour = self.c[:: problem.dim] if isinstance(self.c, np.ndarray) else self.c
        self.twice = of_neighbour * (2 * self.signs)  # rounds as c (2 A x) does: signs and 2 are exact

    def sums(self, z: Array) -> Array:
        """``sum_j A_ij' (z_{i|j} - c b_ij / 2)``, neighbour by neighbour in their order (eq. 2)."""
        if self.C is not None:
            return np.asarray(self.C.T @ (z - (self.c / 2) * self.b))
        neighbours, draws = len(self.signs), z.shape[1]
        terms = self.signs * z.reshape(neighbours, z.size // neighbours)
        # In order; ``sum`` would take a single column by pairs.
        return np.asarray(np.add.accumulate(terms)[-1].reshape(len(z) // neighbours, draws))

    def push(self, x: Array) -> Array:
        """``c (2 A_ij x_i - b_ij)``, which a message adds to ``z_{i|j}`` (eq. 3)."""
        if self.C is not None:
            return np.asarray(self.c * (2 * (self.C @ x) - self.b))
        return np.asarray((self.twice * x.reshape(1, x.size)).reshape(len(self.signs) * len(x), x.shape[1]))


def spread(x: Array, dim: int) -> Array:
    """Worst disagreement between any two nodes, per draw: under consensus every pair is constrained, not only edges."""
    nodes = x.reshape(-1, dim, x.shape[-1])
    return np.asarray((nodes.max(axis=0) - nodes.min(axis=0)).max(axis=0))


def kkt_residual(
    floors: Floors, fresh: Array, x: Array, subgradient: Array, stationarity: Array, violation: Array
) -> float:
    """How far ``x`` is from optimal, without knowing the optimum. All arguments have one column per draw.

    ``fresh`` is what every node would compute now, ``argmin_x`` of eq. 2 at ``z(k)``. It is exactly stationary for the
    dual ``lambda_{i|j} = z_{i|j} + c (A_ij x_i - b_ij/2)``, with the subgradient ``u_i = -sum_j A_ij' lambda_{i|j}``.
    The KKT conditions then ask for two more things, and so does honesty about ``x``, which some nodes computed earlier:

    * the two ends of each edge hold the same dual: ``|| sum_j A_ij' (lambda_{i|j} - lambda_{j|i}) / 2 ||`` is
      ``stationarity``, relative to ``||u||``;
    * the constraints hold: ``violation``, in units of ``x``, and ``||fresh - x||``, relative to ``||x||``.

    ``floors`` keep both from being measured against zero: the sizes of ``x`` and of gradients in the data, at most 1.
    Where there are sets, ``u`` has normal vectors of any size, of that of ``c`` for one, beside which a gradient would
    vanish, even in the rounding: ``stationarity`` is then relative to the gradients alone, and what rounding takes of
    them, where a step adds them to ``c x``, counts as well. So it does where no gradient is large, as of a Huber loss:
    pads of 1e20 would leave ``x`` there, and all steps would agree.
    """
    largest = (np.abs(rows).max(axis=0) for rows in (fresh, fresh - x, subgradient, stationarity))
    return kkt_combined(floors, violation, *largest)


def kkt_combined(
    floors: Floors, violation: Array, fresh: Array, stale: Array, subgradient: Array, stationarity: Array
) -> float:
    """``kkt_residual`` from the largest entries of each draw; ``stale`` are those of ``fresh - x``."""
    if not (np.isfinite(fresh).all() and np.isfinite(stale).all()):
        return float("inf")
    primal = np.maximum(violation, stale) / np.maximum(floors.x, fresh)
    most = np.maximum(floors.steepest, floors.curvature * fresh)
    stationarity = np.where(subgradient > most, np.maximum(stationarity, EPS * subgradient), stationarity)
    sizes = np.maximum(floors.gradient, np.minimum(subgradient, most))
    dual = stationarity / sizes
    lost = floors.rounding * fresh / (sizes if floors.flat else np.maximum(floors.gradient, most))
    if floors.flat:  # far from 0, where the data may lie, a few digits of a slope tell where to go
        lost = np.where(lost > UNKNOWN, lost, 0.0)
    return float(np.maximum(np.maximum(primal, dual), lost).max())
