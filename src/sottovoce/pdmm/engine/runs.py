"""Runs on compiled kernels. Each holds its state in the kernels' layout and translates at the border
(``consensus_run``)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...costs.quadratic import Quadratic
from ...numerics.tile import LANES
from ..consensus_run import ConsensusRun
from ..penalties import by_half_edge
from ..problem import Problem
from ..reference import kkt_residual, spread
from ..schedule_bases import NodeSchedule
from ..settings import Settings
from . import bernoulli as bernoulli_kernels
from . import kernels as compiled
from . import primitives
from . import products as matrix_products
from .state import Costs, EdgeSpace, Graph, NodeSpace, records

# Numba's dispatchers take what their sources take, which type checkers cannot see
kernels: Any = compiled
losing: Any = bernoulli_kernels
products: Any = matrix_products

PARALLEL_FROM = 20_000  # half-edges times columns, below which starting threads costs more than it gives
SEQUENCE = 1 << 16  # wakes that are drawn at a time: they stay in cache until they are played
NARROW = 32  # columns that one thread takes at a time in an asynchronous batch
WIDE = 256  # columns that are played at a time in other batches


class CompiledRun(ConsensusRun):
    """What the compiled runs share."""

    together = LANES

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        self.parallel = 2 * self.network.m * self.L >= PARALLEL_FROM
        self._x = np.zeros((self.network.n, self.L))
        form = problem.quadratic
        if form is not None:
            Q, q = self.to_memory(form.Q), self.to_memory(form.q)
            self.q = self.from_stacked(np.repeat(q.reshape(-1, 1), self.draws, axis=1))
            if isinstance(problem.lean, np.ndarray):
                self.q = self.q + self.by_node(problem.lean)
            rho = self.scale * self.D
            dense = Q.ndim == 3
            self.curvature = np.empty(0) if dense else Q + rho
            self.inverse = np.empty((0, 1, 1))
            if dense:
                self.inverse = Quadratic.many(Q, q).inverse(rho)
        self.scalar = form is not None and self.L == 1 and not len(self.inverse)
        self.graph = Graph(self.layout.indptr, self.layout.indices, self.layout.slots)
        if form is not None:
            q = self.q.reshape(-1) if self.scalar else self.q
            step_of = q, self.curvature, self.inverse, self.d
            self.costs = Costs(*step_of, self.scale, self.theta, self.weights, self.D)

    def parts(self, columns: int) -> npt.NDArray[np.uint64]:
        """Bounds that cut rows into parts of so many ``columns``; of dense costs, where those of a draw meet, into the
        draws that are stepped together (engine: Batches)."""
        width = self.d * self.together if len(self.inverse) else columns
        return np.append(np.arange(0, self.L, width), self.L).astype(np.uint64)

    def columns(self, *rows: Array) -> Iterator[Array]:
        """Rows as the kernels take them: flat where there is one column, which ``Q_i = a_i I`` steps."""
        return (array.reshape(-1) if self.scalar else array for array in rows)

    def stacked_x(self) -> Array:
        return self.to_stacked(self._x if self.layout.user is None else self._x[self.layout.number])

    @cached_property
    def order(self) -> npt.NDArray[np.uint32]:
        """In which one column goes from node to node."""
        return np.asarray(primitives.by_degree(self.layout.indptr))

    def adjacency(self, v: Array) -> Array:
        """``W v``, in memory order."""
        graph, out = (self.layout.indptr, self.layout.indices, self.weights), np.empty_like(v)
        if self.L > 1:
            products.adjacency(*graph, v, out)
        elif self.parallel:
            products.adjacency_scalar_parallel(compiled.CHUNKS, self.order, *graph, v[:, 0], out[:, 0])
        else:
            products.adjacency_scalar(1, self.order, *graph, v[:, 0], out[:, 0])
        return out

    # The residual

    def fresh(self, g: Array) -> Array:
        """What every node would compute now, given ``g = C'z``."""
        if not len(self.inverse):
            return -(self.q + g) / self.curvature[:, None]
        by_draw = self.to_stacked(self.q + g).reshape(-1, self.d, self.draws)
        return self.from_stacked(np.reshape(-(self.inverse @ by_draw), (-1, self.draws)))

    @abstractmethod
    def own_sums(self) -> Array:
        """``C'z`` in memory order."""

    @abstractmethod
    def other_sums(self) -> Array:
        """``C'Pz`` in memory order."""

    def residual(self, enough: float = np.inf) -> float:
        # In the gauge C'KC = D and C'PKC = -W, so the formulas of Reference.residual need one product with W.
        g = self.own_sums()
        x = self.fresh(g)
        by_draw = self.to_stacked(x), self.to_stacked(self._x)
        violation = spread(by_draw[0], self.d)
        nothing = np.zeros((1, self.draws))
        floors = self.floors
        of_x = floors._replace(rounding=0.0)  # which is measured against gradients: they are not known yet
        primal = kkt_residual(of_x, *by_draw, nothing, nothing, violation)
        if primal > enough:
            return primal
        Dx = self.D[:, None] * x
        subgradient = -(g + self.scale * Dx) - self.by_node(self.problem.tilt)
        around = self.scale * (Dx + self.adjacency(x))
        stationarity = 0.5 * (g - self.other_sums() + around) + self.by_node(self.problem.lost)
        dual = self.to_stacked(subgradient), self.to_stacked(stationarity)
        return kkt_residual(floors, *by_draw, *dual, violation)


class NodeSpaceRun(CompiledRun):
    """Synchronous, any cost: ``z(k) = p z(0) + r P z(0) + K C a + P K C b`` with ``a, b`` on the nodes
    (engine: Node space).

    One product with the adjacency matrix per iteration, and no half-edge is touched until ``z`` is asked for.
    """

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        self.z0: Array | None = None if settings.z0 is None else self.from_stacked(settings.z0)
        self.p, self.r = 1.0, 0.0
        self.a, self.b, self.spare = (np.zeros((self.network.n, self.L)) for _ in range(3))
        self.g0 = self.h0 = np.empty((0, self.L))
        if self.z0 is not None:
            C = self.network.C
            self.g0, self.h0 = self.to_memory(C.T @ self.z0), self.to_memory(C.T @ self.z0[self.network.twin])
        self.step = None if self.problem.quadratic is not None else self.problem.steps(self.c)

    def advance(self, count: int) -> None:
        if self.step is not None:
            for k in range(self.iteration, self.iteration + count):
                self.advance_with(self.step, k)
        else:
            self.advance_compiled(count)
        self.iteration += count
        self.activations += count * self.network.n
        self.messages += count * 2 * self.network.m

    def advance_compiled(self, count: int) -> None:
        state = NodeSpace(self.p, self.r, *self.columns(self.g0, self.h0, self.a, self.b, self.spare, self._x))
        chunks = compiled.CHUNKS if self.parallel else 1
        if self.scalar:
            kernel = kernels.node_space_scalar_parallel if self.parallel else kernels.node_space_scalar
            self.p, self.r = kernel(chunks, count, self.iteration, self.order, self.graph, self.costs, state)
        else:
            kernel = kernels.node_space_parallel if self.parallel else kernels.node_space
            bounds = self.parts(WIDE)
            self.p, self.r = kernel(bounds, chunks, count, self.iteration, self.graph, self.costs, state)
        if count % 2:
            self.b, self.spare = self.spare, self.b

    def advance_with(self, step: Any, k: int) -> None:
        """Iteration ``k`` for a cost that is not quadratic: its step is one call for all nodes."""
        theta, a, b = self.theta, self.a, self.b
        self._x = self.step_memory(step, self.own_sums())
        self.b = (1 - theta) * b + theta * (a + 2 * self.scale * self._x)
        self.a = (1 - theta) * a + theta * b
        self.p, self.r = (1 - theta) * self.p + theta * self.r, (1 - theta) * self.r + theta * self.p
        if (k + 1) % kernels.RECENTRE == 0:
            some = slice(None, None, max(1, self.network.n // kernels.MIDDLE))
            both = self.a[some] + self.b[some]
            middle = np.add.accumulate(both)[-1] / (2 * len(both))  # in order: ``sum`` takes a single column by pairs
            self.a -= middle
            self.b -= middle

    def step_memory(self, step: Any, g: Array) -> Array:
        in_order = g if self.layout.user is None else g[self.layout.number]
        return self.to_memory(self.from_stacked(step(self.to_stacked(in_order), self.stacked_x())))

    def fresh(self, g: Array) -> Array:
        return super().fresh(g) if self.step is None else self.step_memory(self.step, g)

    def own_sums(self) -> Array:
        return self.sums(self.p, self.r, self.a, self.b)

    def other_sums(self) -> Array:
        return self.sums(self.r, self.p, self.b, self.a)

    def sums(self, p: float, r: float, a: Array, b: Array) -> Array:
        """``C'z = p C'z(0) + r C'Pz(0) + D a - W b``; swapping both pairs gives ``C'Pz``."""
        total = self.D[:, None] * a - self.adjacency(b)
        return total if self.z0 is None else total + p * self.g0 + r * self.h0

    def iterated_z(self) -> Array:
        a, b = (v if self.layout.user is None else v[self.layout.number] for v in (self.a, self.b))
        z = self.signs * (a[self.network.holders] - b[self.network.indices])
        if isinstance(self.c, np.ndarray):
            z *= by_half_edge(self.c, self.network)[:, None]
        if self.z0 is not None:
            z += self.p * self.z0 + self.r * self.z0[self.network.twin]
        return self.to_stacked(z)


class EdgeMajorRun(CompiledRun):
    """Quadratic costs, half-edges updated in place; ``pairs`` holds ``A_ij z_{i|j}`` by slot."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        self.pairs = np.zeros((2 * self.network.m, self.L))
        if settings.z0 is not None:
            self.pairs[self.layout.slot] = self.signs * self.from_stacked(settings.z0)

    def own_sums(self) -> Array:
        return self.sums(0)

    def other_sums(self) -> Array:
        return self.sums(1)

    def sums(self, other: int) -> Array:
        total = np.empty((self.network.n, self.L))
        products.row_sums(self.layout.indptr, self.layout.slots, np.uint32(other), self.pairs, total)
        return total

    def iterated_z(self) -> Array:
        return self.to_stacked(self.signs * self.pairs[self.layout.slot])


class AsynchronousRun(EdgeMajorRun):
    """One node at a time."""

    schedule: NodeSchedule

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        if self.scalar:
            self.nodes = records(self.network.n)
            self.nodes["q"], self.nodes["curvature"] = self.costs.q, self.costs.curvature
            self.nodes["low"], self.nodes["high"] = self.layout.indptr[:-1], self.layout.indptr[1:]
            self._x = self.nodes["x"][:, None]

    def wakes(self, count: int) -> npt.NDArray[np.uint32]:
        """The next nodes, as positions in memory; the compiled twin of ``Asynchronous.nodes``."""
        if self.schedule.drawn is None:
            return self.layout.number[self.schedule.checked_nodes(self.network, self.key, self.iteration, count)]
        cumulative = self.schedule.drawn.cumulative()
        nodes = np.empty(count, dtype=np.uint32)
        kernels.wakes(
            np.uint64(self.key),
            self.iteration,
            self.network.n,
            np.empty(0) if cumulative is None else cumulative,
            self.layout.number,
            nodes,
        )
        return nodes

    def advance(self, count: int) -> None:
        for part in range(0, count, SEQUENCE):
            self.play(self.wakes(min(count - part, SEQUENCE)))

    def play(self, nodes: npt.NDArray[np.uint32]) -> None:
        if self.scalar:
            slots, pairs = self.layout.slots, self.pairs.reshape(-1)
            self.messages += kernels.asynchronous_scalar(nodes, self.nodes, slots, self.costs, pairs)
        else:
            bounds = self.parts(NARROW)
            kernel = kernels.asynchronous_parallel if self.parallel and len(bounds) > 2 else kernels.asynchronous
            kernel(bounds, nodes, self.graph, self.costs, self.pairs, self._x)
            self.messages += int(self.degrees[nodes].sum())
        self.iteration += len(nodes)
        self.activations += len(nodes)


class BernoulliRun(EdgeMajorRun):
    """Node- or edge-Bernoulli: everybody, or everybody awake, computes from ``z(k)``; what arrives is updated."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        assert self.schedule.drawn is not None
        self.law = self.schedule.drawn
        self.g = self.own_sums()
        self.active = np.full(self.network.n, bernoulli_kernels.AWAKE, dtype=np.uint64)

    def advance(self, count: int) -> None:
        threshold = np.uint64(math.ceil(self.law.p * 2.0**53))
        choice = (count, np.uint64(self.key), self.iteration, threshold, self.law.of == "nodes")
        pairs, g, x = self.columns(self.pairs, self.g, self._x)
        state = EdgeSpace(pairs, g, x, self.active)
        if self.scalar:
            done = losing.bernoulli_scalar(*choice, self.graph, self.costs, state)
        else:
            bounds = self.parts(WIDE)
            kernel = losing.bernoulli_parallel if self.parallel and len(bounds) > 2 else losing.bernoulli
            done = kernel(bounds, *choice, self.graph, self.costs, state)
        self.iteration += count
        self.activations += int(done[0])
        self.messages += int(done[1])
