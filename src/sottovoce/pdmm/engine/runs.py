"""Runs on compiled kernels. Each holds its state in the kernels' layout and translates at the border.

A node's row has ``L = B d`` columns, draw by draw: entry ``t`` of draw ``r`` is column ``r d + t``.
"""

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
from ..penalties import by_half_edge, of_nodes
from ..problem import Problem
from ..reference import Run, kkt_residual, spread
from ..schedule_bases import NodeSchedule
from ..settings import Settings
from . import kernels as compiled
from . import primitives
from . import products as matrix_products
from .state import Costs, EdgeSpace, Graph, NodeSpace

# Numba's dispatchers take what their sources take, which type checkers cannot see
kernels: Any = compiled
products: Any = matrix_products

PARALLEL_FROM = 20_000  # half-edges times columns, below which starting threads costs more than it gives
PART = 32  # columns that one thread takes at a time in an asynchronous batch


class CompiledRun(Run):
    """What the compiled runs share: consensus, every node with ``d`` entries.

    ``c_ij`` is ``scale`` times a weight (engine: Penalties), and ``D`` sums the weights at each node.
    """

    weights: Array | float  # by half-edge, in memory order; the number 1 where one ``c`` is for all

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        self.network, self.layout = problem.network, problem.network.layout
        self.draws, self.d = settings.batch or 1, problem.dim
        self.L = self.draws * self.d
        self.parallel = 2 * self.network.m * self.L >= PARALLEL_FROM
        self.degrees = np.diff(self.layout.indptr).astype(np.float64)
        if isinstance(self.c, np.ndarray):
            self.scale, weights = 1.0, by_half_edge(self.c, self.network)
            self.weights = weights if self.layout.user is None else weights[self.layout.user]
            self.D = self.to_memory(of_nodes(self.c, self.network))
        else:
            self.scale, self.weights, self.D = self.c, 1.0, self.degrees
        self._x = np.zeros((self.network.n, self.L))
        form = problem.quadratic
        if form is not None:
            Q, q = self.to_memory(form.Q), self.to_memory(form.q)
            self.q = np.tile(q, self.draws)
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

    def columns(self, *rows: Array) -> Iterator[Array]:
        """Rows as the kernels take them: flat where there is one column, which ``Q_i = a_i I`` steps."""
        return (array.reshape(-1) if self.scalar else array for array in rows)

    # Between the user's order and memory

    def to_memory(self, rows: Array) -> Array:
        """Node by node, from the user's order."""
        if self.layout.user is None:
            return np.ascontiguousarray(rows)
        moved = np.empty_like(rows)
        moved[self.layout.number] = rows
        return moved

    def to_stacked(self, rows: Array) -> Array:
        """``(nodes or half-edges, L)`` in the user's order as ``(... d, B)``."""
        count = len(rows)
        return rows.reshape(count, self.draws, self.d).transpose(0, 2, 1).reshape(count * self.d, self.draws)

    def from_stacked(self, stacked: Array) -> Array:
        count = len(stacked) // self.d
        by_draw = stacked.reshape(count, self.d, self.draws).transpose(0, 2, 1)
        return np.ascontiguousarray(by_draw).reshape(count, self.L)

    def by_node(self, stacked: Array | float) -> Array | float:
        """What a tilted problem holds, in memory order; 0 in others."""
        return self.to_memory(self.from_stacked(stacked)) if isinstance(stacked, np.ndarray) else stacked

    def stacked_x(self) -> Array:
        return self.to_stacked(self._x if self.layout.user is None else self._x[self.layout.number])

    @cached_property
    def signs(self) -> npt.NDArray[np.int8]:
        """``A_ij`` of every half-edge in the user's order, as a column."""
        return np.where(self.network.holders > self.network.indices, np.int8(1), np.int8(-1))[:, None]

    # The residual

    def fresh(self, g: Array) -> Array:
        """What every node would compute now, given ``g = C'z``."""
        if not len(self.inverse):
            return -(self.q + g) / self.curvature[:, None]
        per_draw = (self.q + g).reshape(-1, self.draws, self.d)
        return np.asarray(-np.einsum("nij,nbj->nbi", self.inverse, per_draw)).reshape(-1, self.L)

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
        floors = self.problem.floors
        primal = kkt_residual(floors, *by_draw, nothing, nothing, violation)
        if primal > enough:
            return primal
        Wx = np.empty_like(x)
        products.adjacency(self.layout.indptr, self.layout.indices, self.weights, x, Wx)
        Dx = self.D[:, None] * x
        subgradient = -(g + self.scale * Dx) - self.by_node(self.problem.tilt)
        stationarity = 0.5 * (g - self.other_sums() + self.scale * (Dx + Wx)) + self.by_node(self.problem.lost)
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
        self.order = primitives.by_degree(self.layout.indptr) if self.scalar else None

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
            self.p, self.r = kernel(chunks, count, self.iteration, self.graph, self.costs, state)
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
            middle = (self.a + self.b).mean(axis=0) / 2
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
        Wb = np.empty_like(b)
        products.adjacency(self.layout.indptr, self.layout.indices, self.weights, b, Wb)
        total = self.D[:, None] * a - Wb
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

    def sums(self) -> tuple[Array, Array]:
        own, other = np.empty_like(self._x), np.empty_like(self._x)
        products.row_sums(self.layout.indptr, self.layout.slots, self.pairs, own, other)
        return own, other

    def own_sums(self) -> Array:
        return self.sums()[0]

    def other_sums(self) -> Array:
        return self.sums()[1]

    def iterated_z(self) -> Array:
        return self.to_stacked(self.signs * self.pairs[self.layout.slot])


class AsynchronousRun(EdgeMajorRun):
    """One node at a time."""

    schedule: NodeSchedule

    def wakes(self, count: int) -> npt.NDArray[np.uint32]:
        """The next nodes, as positions in memory; the compiled twin of ``Asynchronous.nodes``."""
        if self.schedule.law is None:
            return self.layout.number[self.schedule.checked_nodes(self.network, self.key, self.iteration, count)]
        cumulative = self.schedule.law.cumulative()
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
        for part in range(0, count, 1 << 20):  # bounds the memory for the sequence
            self.play(self.wakes(min(count - part, 1 << 20)))

    def play(self, nodes: npt.NDArray[np.uint32]) -> None:
        state = self.columns(self.pairs, self._x)
        if self.scalar:
            kernels.asynchronous_scalar(nodes, self.graph, self.costs, *state)
        else:
            width = max(1, PART // self.d) * self.d
            bounds = np.append(np.arange(0, self.L, width), self.L)
            kernel = kernels.asynchronous_parallel if self.parallel and len(bounds) > 2 else kernels.asynchronous
            kernel(bounds, nodes, self.graph, self.costs, *state)
        self.iteration += len(nodes)
        self.activations += len(nodes)
        self.messages += int(self.degrees[nodes].sum())


class BernoulliRun(EdgeMajorRun):
    """Node- or edge-Bernoulli: everybody, or everybody awake, computes from ``z(k)``; what arrives is updated."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        assert self.schedule.law is not None
        self.law = self.schedule.law
        self.g = self.own_sums()
        self.active = np.ones(self.network.n, dtype=np.bool_)

    def advance(self, count: int) -> None:
        threshold = np.uint64(math.ceil(self.law.p * 2.0**53))
        choice = (count, np.uint64(self.key), self.iteration, threshold, self.law.of == "nodes")
        pairs, g, x = self.columns(self.pairs, self.g, self._x)
        state = EdgeSpace(pairs, g, x, self.active)
        kernel = kernels.bernoulli_scalar if self.scalar else kernels.bernoulli
        done = kernel(*choice, self.graph, self.costs, state)
        self.iteration += count
        self.activations += done[0]
        self.messages += done[1]
