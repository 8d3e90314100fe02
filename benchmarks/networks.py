"""The networks that the benchmarks run on, of average degree 10, and the arrays that the kernels take."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

import sottovoce as sv
from sottovoce.pdmm.engine import bernoulli, kernels
from sottovoce.pdmm.engine.state import records
from sottovoce.pdmm.settings import Settings
from sottovoce.pdmm.solve import make_run

C, THETA, KEY = 0.3, 1.0, 20_240_229
DEGREE = 10


def radius(n: int) -> float:
    """At which ``n`` uniform points in the unit square have ``DEGREE`` neighbours on average."""
    return math.sqrt(DEGREE / (math.pi * n))


@cache
def network(kind: str, n: int) -> sv.Network:
    """``geometric``: sorted by place, as the generator gives it; ``random``: regular, without any locality."""
    if kind == "geometric":
        return sv.Network.random_geometric(n, radius(n), seed=1, largest_component=True)
    return sv.Network.regular(n, DEGREE, seed=1)


@cache
def problem(kind: str, n: int) -> sv.Problem:
    graph = network(kind, n)
    return sv.averaging(graph, np.random.default_rng(2).standard_normal(graph.n))


def forget() -> None:
    """Give the large networks back."""
    problem.cache_clear()
    network.cache_clear()


class Arrays:
    """One averaging problem in the layout of the kernels."""

    def __init__(self, kind: str, n: int) -> None:
        self.problem = problem(kind, n)
        self.network = self.problem.network
        self.n, self.edges = self.network.n, 2 * self.network.m  # directed
        layout = self.network.layout
        self.indptr, self.indices, self.slots = layout.indptr, layout.indices, layout.slots
        run = make_run(self.problem, Settings(key=KEY, c=C, theta=THETA, engine="compiled"))
        self.q, self.curvature = run.q.reshape(-1), run.curvature  # type: ignore[attr-defined]
        self.x, self.g = np.zeros((2, self.n))
        self.pairs = np.zeros(self.edges)
        self.nodes = records(self.n)
        self.nodes["q"], self.nodes["curvature"] = self.q, self.curvature
        self.nodes["low"], self.nodes["high"] = self.indptr[:-1], self.indptr[1:]
        self.graph = run.graph  # type: ignore[attr-defined]
        self.costs = run.costs  # type: ignore[attr-defined]
        self.active = np.full(self.n, bernoulli.AWAKE)
        rng = np.random.default_rng(3)
        self.a, self.b, self.spare = np.zeros((3, self.n))
        self.g0, self.h0 = rng.standard_normal((2, self.n))

    def wakes(self, count: int) -> np.ndarray:
        nodes = np.empty(count, dtype=np.uint32)
        kernels.wakes(np.uint64(KEY), 0, self.n, np.empty(0), self.network.layout.number, nodes)
        return nodes

    def their_edges(self, nodes: np.ndarray) -> np.ndarray:
        """The edges that these activations touch, one after the other."""
        degrees = np.diff(self.indptr).astype(np.int64)[nodes]
        offsets = np.cumsum(degrees) - degrees
        at = np.repeat(self.indptr[nodes].astype(np.int64) - offsets, degrees) + np.arange(degrees.sum())
        return self.slots[at] >> np.uint32(1)
