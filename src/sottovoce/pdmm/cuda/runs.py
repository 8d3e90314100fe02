"""Runs on the GPU. Each holds its state there, in memory order, and translates at the border (``consensus_run``)."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from ...costs.base import Array
from ..consensus_run import ConsensusRun
from ..problem import Problem
from ..reference import kkt_combined
from ..schedule_bases import Law, NodeSchedule
from ..settings import Settings
from .device import device
from .steps import DENSE, Steps

RECENTRE, MIDDLE = 10, 256  # iterations, and nodes, as in ``engine.kernels``
LEVELS = 64  # wavefronts that are launched before anybody looks whether all nodes have woken
AT_LEAST, AT_MOST = 1 << 20, 1 << 27  # activations whose order is made at a time


class GpuRun(ConsensusRun):
    """What runs on the GPU share: the graph, the step, ``x`` and the residual. Arrays that are CuPy's are ``Any``."""

    def __init__(self, problem: Problem, settings: Settings, steps: Steps) -> None:
        super().__init__(problem, settings)
        self.gpu, self.n = device(), self.network.n
        self.xp, self.size = self.gpu.xp, self.n * self.L
        upload = self.gpu.array
        with self.gpu.memory():
            self.indptr, self.indices = upload(self.layout.indptr, np.uint32), upload(self.layout.indices, np.uint32)
            self.half_weights = upload(self.weights) if isinstance(self.weights, np.ndarray) else None
            rho = self.scale * self.D
            dense = steps.kind == DENSE
            p, r = upload(self.to_memory(steps.p)), None if steps.r is None else upload(self.to_memory(steps.r))
            curvature = None if dense else upload(self.to_memory(steps.curvature) + rho)
            inverse = upload(self.to_memory(steps.inverse(self.to_user(rho)))) if dense else None
            lean = upload(self.by_node(problem.lean)) if isinstance(problem.lean, np.ndarray) else None
            self.entrywise = not dense
            self.costs = (np.int32(steps.kind), np.int32(self.d), p, r, curvature, inverse, lean)
            self.columns = np.int32(self.L)
            self._x = self.rows()

    def to_user(self, rows: Array) -> Array:
        """Node by node, from memory order."""
        return rows if self.layout.user is None else rows[self.layout.number]

    def rows(self) -> Any:
        """Zeros, a row for each node."""
        return self.xp.zeros((self.n, self.L))

    def stacked_x(self) -> Array:
        return self.to_stacked(self.to_user(self.xp.asnumpy(self._x)))

    def step(self, g: Any, x: Any, active: Any = None) -> None:
        """``x`` of all nodes, or of those active, from their sums ``g``."""
        self.gpu.launch("steps", self.size, self.n, self.columns, *self.costs, active, g, x)

    # The residual

    @abstractmethod
    def sums(self) -> tuple[Any, Any]:
        """``C'z`` and ``C'Pz``."""

    @cached_property
    def around(self) -> Any:
        """What the edges of each node weigh together, as a column."""
        return self.gpu.array(self.D)[:, None]

    @cached_property
    def _tilt(self) -> Any:
        return self._uploaded(self.problem.tilt)

    @cached_property
    def _lost(self) -> Any:
        return self._uploaded(self.problem.lost)

    def _uploaded(self, stacked: Array | float) -> Any:
        rows = self.by_node(stacked)
        return self.gpu.array(rows) if isinstance(rows, np.ndarray) else rows

    def largest(self, rows: Any) -> Array:
        """The largest absolute value of each draw."""
        by_draw = self.xp.abs(rows).reshape(self.n, self.draws, self.d)
        return np.asarray(self.xp.asnumpy(by_draw.max(axis=(0, 2))))

    def residual(self, enough: float = np.inf) -> float:
        # As CompiledRun.residual: in the gauge C'KC = D and C'PKC = -W.
        with self.gpu.memory():
            g, other = self.sums()
            fresh = self.rows()
            self.step(g, fresh)
            by_draw = fresh.reshape(self.n, self.draws, self.d)
            violation = self.xp.asnumpy((by_draw.max(axis=0) - by_draw.min(axis=0)).max(axis=1))
            primal = violation, self.largest(fresh), self.largest(fresh - self._x)
            floors, nothing = self.floors, np.zeros(self.draws)
            part = kkt_combined(floors._replace(rounding=0.0), *primal, nothing, nothing)
            if part > enough:
                return part
            Wx = self.rows()
            self.gpu.launch(
                "adjacency", self.size, self.n, self.columns, self.indptr, self.indices, self.half_weights, fresh, Wx
            )
            Dx = self.around * fresh
            subgradient = -(g + self.scale * Dx) - self._tilt
            stationarity = 0.5 * (g - other + self.scale * (Dx + Wx)) + self._lost
            return kkt_combined(floors, *primal, self.largest(subgradient), self.largest(stationarity))


class NodeSpaceRun(GpuRun):
    """Synchronous: ``z(k) = p z(0) + r P z(0) + K C a + P K C b`` with ``a, b`` on the nodes (engine: Node space)."""

    def __init__(self, problem: Problem, settings: Settings, steps: Steps) -> None:
        super().__init__(problem, settings, steps)
        self.z0: Array | None = None if settings.z0 is None else self.from_stacked(settings.z0)
        self.p, self.r = 1.0, 0.0
        self.g0 = self.h0 = None
        with self.gpu.memory():
            self.a, self.b, self.spare = self.rows(), self.rows(), self.rows()
            if self.z0 is not None:
                C = self.network.C
                self.g0 = self.gpu.array(self.to_memory(C.T @ self.z0))
                self.h0 = self.gpu.array(self.to_memory(C.T @ self.z0[self.network.twin]))
            self.near = None if self.half_weights is None else self.gpu.array(self.D)
            self.g = None if self.L == 1 and self.entrywise else self.rows()

    def advance(self, count: int) -> None:
        with self.gpu.memory():
            for k in range(self.iteration, self.iteration + count):
                self.iterate_once(last=k == self.iteration + count - 1)
                theta, p, r = self.theta, self.p, self.r
                self.p, self.r = (1 - theta) * p + theta * r, (1 - theta) * r + theta * p
                self.b, self.spare = self.spare, self.b
                if (k + 1) % RECENTRE == 0:
                    self.recentre()
        self.iteration += count
        self.activations += count * self.n
        self.messages += count * 2 * self.network.m

    def iterate_once(self, last: bool) -> None:
        """From ``a`` and ``b`` to ``a`` and ``spare``; ``x`` is needed in the last iteration only."""
        graph, penalty = (self.indptr, self.indices, self.half_weights, self.near), (self.scale, self.theta)
        pads, launch = (self.p, self.r, self.g0, self.h0), self.gpu.launch
        if self.g is None:
            x = self._x if last else None
            launch(
                "node_space_scalar", self.n, self.n, *graph, *self.costs, *penalty, *pads, self.a, self.b, self.spare, x
            )
            return
        launch("node_space_sums", self.size, self.n, self.columns, *graph, *pads, self.a, self.b, self.g)
        self.step(self.g, self._x)
        launch("node_space_mix", self.size, self.size, *penalty, self._x, self.a, self.b, self.spare)

    def recentre(self) -> None:
        """As ``kernels.recentre`` of the engine."""
        middle, apart = self.xp.empty(self.L), max(1, self.n // MIDDLE)
        self.gpu.launch("middles", self.L, self.n, self.columns, apart, self.a, self.b, middle)
        self.gpu.launch("recentre", self.size, self.size, self.columns, middle, self.a, self.b)

    def sums(self) -> tuple[Any, Any]:
        """``C'z = p C'z(0) + r C'Pz(0) + D a - W b``; swapping both pairs gives ``C'Pz``."""
        graph = self.n, self.columns, self.indptr, self.indices, self.half_weights, self.near
        own, other = self.rows(), self.rows()
        self.gpu.launch("node_space_sums", self.size, *graph, self.p, self.r, self.g0, self.h0, self.a, self.b, own)
        self.gpu.launch("node_space_sums", self.size, *graph, self.r, self.p, self.g0, self.h0, self.b, self.a, other)
        return own, other

    def iterated_z(self) -> Array:
        with self.gpu.memory():
            w = self.xp.empty((2 * self.network.m, self.L))
            graph = self.n, self.columns, self.indptr, self.indices, self.half_weights
            self.gpu.launch("node_space_z", self.size, *graph, self.a, self.b, w)
            found = self.xp.asnumpy(w)
        if self.layout.user is None:
            z = found
        else:
            z = np.empty_like(found)
            z[self.layout.user] = found
        z *= self.signs
        if self.z0 is not None:
            z += self.p * self.z0 + self.r * self.z0[self.network.twin]
        return self.to_stacked(z)


class EdgeMajorRun(GpuRun):
    """Half-edges updated in place; ``pairs`` holds ``A_ij z_{i|j}`` by slot."""

    def __init__(self, problem: Problem, settings: Settings, steps: Steps) -> None:
        super().__init__(problem, settings, steps)
        with self.gpu.memory():
            self.slots = self.gpu.array(self.layout.slots, np.uint32)
            self.pairs = self.xp.zeros((2 * self.network.m, self.L))
            if settings.z0 is not None:
                start = np.empty((2 * self.network.m, self.L))
                start[self.layout.slot] = self.signs * self.from_stacked(settings.z0)
                self.pairs = self.gpu.array(start)

    def row_sums(self, own: Any, other: Any = None) -> None:
        self.gpu.launch(
            "row_sums", self.size, self.n, self.columns, self.indptr, self.slots, self.pairs, own, other
        )  # fmt: skip

    def sums(self) -> tuple[Any, Any]:
        own, other = self.rows(), self.rows()
        self.row_sums(own, other)
        return own, other

    def iterated_z(self) -> Array:
        return self.to_stacked(self.signs * self.xp.asnumpy(self.pairs)[self.layout.slot])


class WavefrontRun(EdgeMajorRun):
    """One node at a time, exactly: activations of nodes that share no edge commute, so all that come before those of
    their neighbours are played together (engine: Wavefronts)."""

    schedule: NodeSchedule

    def __init__(self, problem: Problem, settings: Settings, steps: Steps) -> None:
        super().__init__(problem, settings, steps)
        with self.gpu.memory():
            self.sent = self.xp.diff(self.indptr)
            self.number = self.gpu.array(self.layout.number, np.uint32)
            self.ready, self.next = (self.xp.empty(self.n, np.uint32) for _ in range(2))
            self.g = None if self.entrywise else self.rows()

    def wakes(self, count: int) -> Any:
        """The next nodes, as positions in memory."""
        law, xp = self.schedule.drawn, self.xp
        if law is None:
            nodes = self.schedule.checked_nodes(self.network, self.key, self.iteration, count)
            return self.gpu.array(self.layout.number[nodes], np.uint32)
        key, cumulative = (np.uint64(self.key), np.uint64(self.iteration)), law.cumulative()
        if cumulative is None:
            nodes = xp.empty(count, np.uint32)
            self.gpu.launch("wakes", count, count, *key, float(self.n), self.number, nodes)
            return nodes
        u = xp.empty(count)
        self.gpu.launch("uniforms", count, count, *key, u)
        return self.number[xp.minimum(xp.searchsorted(self.gpu.array(cumulative), u, side="right"), self.n - 1)]

    def advance(self, count: int) -> None:
        longest = min(max(AT_LEAST, 8 * self.n), AT_MOST)  # the end of a sequence is narrow: long ones have few ends
        with self.gpu.memory():
            for part in range(0, count, longest):
                self.play(self.wakes(min(count - part, longest)))

    def play(self, nodes: Any) -> None:
        """The whole sequence: ``times`` has when each node wakes, node after node, and ``at`` where each of them is."""
        xp, count = self.xp, len(nodes)
        keys = (nodes.astype(np.uint64) << np.uint64(32)) | xp.arange(count, dtype=np.uint64)
        keys.sort()
        times = keys.astype(np.uint32)  # the lower half
        wakes = xp.bincount(nodes, minlength=self.n)
        ends = xp.cumsum(wakes).astype(np.uint32)
        at = ends - wakes.astype(np.uint32)
        self.gpu.launch("first_times", self.n, self.n, at, ends, times, self.next)
        played = 0
        while played < count:
            found = xp.zeros(LEVELS, np.uint32)
            for level in range(LEVELS):
                self.play_ready(found[level:], (at, ends, times, self.next))
            played += int(found.sum())
        self.iteration += count
        self.activations += count
        self.messages += int(self.sent[nodes].sum(dtype=np.uint64))

    def play_ready(self, found: Any, queue: tuple[Any, ...]) -> None:
        """One wavefront."""
        launch, columns = self.gpu.launch, self.columns
        launch("find_ready", self.n, self.n, self.indptr, self.indices, self.next, self.ready, found)
        graph, penalty = (self.indptr, self.slots), (self.scale, self.theta)
        ready, threads = (self.ready, found), min(self.size, self.gpu.at_once)
        if self.g is None:
            state = (*penalty, self.pairs, self._x)
            launch("wake", threads, columns, *graph, self.half_weights, *self.costs, *state, *ready, *queue)
            return
        launch("wake_sums", threads, columns, *graph, self.pairs, self.g, *ready)
        launch("wake_steps", threads, columns, *self.costs, self.g, self._x, *ready)
        state = (*penalty, self.pairs, self._x)
        launch("wake_sends", threads, columns, *graph, self.half_weights, *state, *ready, *queue)


class BernoulliRun(EdgeMajorRun):
    """Node- or edge-Bernoulli: everybody, or everybody awake, computes from ``z(k)``; what arrives is updated."""

    def __init__(self, problem: Problem, settings: Settings, steps: Steps, law: Law) -> None:
        super().__init__(problem, settings, steps)
        m, self.law = self.network.m, law
        with self.gpu.memory():
            self.low, self.high = (self.xp.empty(m, np.uint32) for _ in range(2))
            self.edge_weights = None if self.half_weights is None else self.xp.empty(m)
            graph = self.indptr, self.indices, self.slots, self.half_weights
            self.gpu.launch("edge_ends", self.n, self.n, *graph, self.low, self.high, self.edge_weights)
            self.g = self.rows()
            self.row_sums(self.g)
            self.active = self.xp.empty(self.n, np.uint8) if law.of == "nodes" else None

    def advance(self, count: int) -> None:
        threshold, launch = np.uint64(math.ceil(self.law.p * 2.0**53)), self.gpu.launch
        edges = self.network.m, self.columns, self.low, self.high, self.edge_weights
        with self.gpu.memory():
            done = self.xp.zeros(2, np.uint64)
            for k in range(self.iteration, self.iteration + count):
                chance = np.uint64(self.key), np.uint64(k), threshold
                if self.active is not None:
                    launch("wake_up", self.n, self.n, self.indptr, *chance, self.active, done)
                self.step(self.g, self._x, self.active)
                state = self.active, self.scale, self.theta, self._x, self.pairs
                launch("arrive", self.network.m * self.L, *edges, *chance, *state)
                self.row_sums(self.g)
        self.iteration += count
        everybody = count * self.n, count * 2 * self.network.m
        awake, sent = everybody if self.active is None else map(int, self.xp.asnumpy(done))
        self.activations += awake
        self.messages += sent
