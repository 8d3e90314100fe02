"""Runs of every cost of the package, under any constraints and schedule: the reference with compiled iterations.

State, residual and shapes are the reference's own; only ``advance`` is another (engine: Every cost).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...costs import one_node
from ...costs.base import Array
from ...errors import InvalidCost
from ..penalties import by_half_edge
from ..problem import Problem
from ..reference import Reference
from ..schedule_bases import Nodes, NodeSchedule, SetSchedule, wakes_in_turn
from ..schedules import Delayed
from ..settings import Settings
from . import any_cost_kernels as compiled
from .any_cost_kernels import Chain, Links, Played, UnderWay

kernels: Any = compiled  # Numba's dispatchers take what their sources take, which type checkers cannot see

AT_ONCE = 1 << 12  # activations handed to a kernel, or members of sets
MOST_UNDER_WAY = 1 << 24  # numbers for messages under way, 128 MB; beyond, few are used: the reference has lists


def any_cost_run(problem: Problem, settings: Settings) -> AnyCostRun | None:
    """A compiled run; None of costs that are functions of Python, and of a schedule that plays in a way of its own."""
    schedule = settings.schedule
    kind: type[AnyCostRun] | None = None
    if wakes_in_turn(schedule):
        kind = InTurnRun
    elif isinstance(schedule, SetSchedule) and type(schedule).play is SetSchedule.play:
        kind = TogetherRun
    elif type(schedule) is Delayed and LateRun.slots(problem, settings) is not None:
        kind = LateRun
    if kind is None:
        return None
    chain = chained(problem, settings)
    return None if chain is None else kind(problem, settings, *chain)


def chained(problem: Problem, settings: Settings) -> tuple[Chain, int] | None:
    """All nodes' steps, and how many numbers they overwrite; None where one of them is a function of Python."""
    owners, found = [], []
    for nodes, cost, rho in problem.penalised(settings.c):
        steps = one_node.one_by_one(cost, rho)
        if steps is None:
            return None
        owners += [nodes] * len(steps)
        found += steps
    base = np.cumsum([0, *(len(steps.numbers) for steps in found)])
    numbers = [steps.numbers for steps in found if len(steps.numbers)]
    order = np.argsort(np.concatenate(owners), kind="stable")  # a node's steps stay in a row
    address = [np.full(len(steps.rho), one_node.compiled(*steps.function).address) for steps in found]
    counts = np.bincount(np.concatenate(owners), minlength=problem.network.n)
    chain = Chain(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate(address).astype(np.int64)[order],
        np.concatenate([steps.rho for steps in found])[order],
        np.concatenate([steps.weight for steps in found])[order],
        np.concatenate([start + steps.starts[:-1] for start, steps in zip(base, found, strict=False)])[order],
        np.concatenate([np.diff(steps.starts) for steps in found])[order],
        # Rows of one family are not copied.
        numbers[0] if len(numbers) == 1 else np.concatenate([np.empty(1), *numbers])[1:],
    )
    return chain, max(steps.work for steps in found)


class AnyCostRun(Reference):
    """What the runs share: the problem as the kernels take it."""

    def __init__(self, problem: Problem, settings: Settings, chain: Chain, work: int) -> None:
        super().__init__(problem, settings)
        network = self.network = problem.network
        self._z, self._x = np.ascontiguousarray(self._z), np.ascontiguousarray(self._x)
        self.chain, self.senders = chain, network.indices.astype(np.int64)
        blocks = [] if network.constraints is None else network.constraints.A
        sizes = [block.size for block in blocks]
        self.links = Links(
            indptr=network.indptr.astype(np.int64),
            twin=network.twin.astype(np.int64),
            rows=problem.rows.astype(np.int64),
            columns=problem.columns.astype(np.int64),
            signs=network.C.data.astype(np.float64) if problem.consensus else np.empty(0),
            blocks=np.concatenate([np.empty(0), *(block.ravel() for block in blocks)]),
            block_at=np.cumsum([0, *sizes])[:-1] if blocks else np.empty(0, dtype=np.int64),
            b=np.ascontiguousarray(self.b[:, 0]),
            c=by_half_edge(self.c, network) if isinstance(self.c, np.ndarray) else np.full(2 * network.m, self.c),
            lean=np.ascontiguousarray(problem.lean) if isinstance(problem.lean, np.ndarray) else np.empty((0, 0)),
        )
        largest = int(problem.dims.max())
        self.memory = (
            np.empty((largest, self._z.shape[1])), np.empty(largest), np.empty(largest), np.empty(max(work, 1)),
            np.empty_like(self._x), np.empty_like(self._z),
        )  # fmt: skip

    @property
    def of_kernels(self) -> tuple[Links, Chain, Played]:
        return self.links, self.chain, Played(self._z, self._x, *self.memory)

    def count(self, nodes: Nodes) -> None:
        self.activations += len(nodes)
        self.messages += int(self.network.degrees[nodes].sum())

    def explain(self, nodes: Nodes) -> None:
        """The step of one of these nodes could not be verified: the reference's, which is the same, says why."""
        for i in nodes:
            Reference.compute(self, int(i))
        raise InvalidCost(f"the compiled step of one of the nodes {nodes.tolist()} could not be verified.")


class InTurnRun(AnyCostRun):
    """One node at a time."""

    schedule: NodeSchedule

    def advance(self, count: int) -> None:
        for part in range(0, count, AT_ONCE):
            size = min(AT_ONCE, count - part)
            nodes = self.schedule.checked_nodes(self.network, self.key, self.iteration, size).astype(np.int64)
            played = kernels.in_turn(nodes, self.theta, *self.of_kernels)
            if played < size:
                self.explain(nodes[played : played + 1])
            self.iteration += size
            self.count(nodes)


class TogetherRun(AnyCostRun):
    """Sets of nodes wake, sets of messages arrive."""

    schedule: SetSchedule

    def advance(self, count: int) -> None:
        awake: list[Nodes] = []
        arrived: list[Nodes] = []
        members, last = 0, self.iteration + count - 1
        for k in range(self.iteration, self.iteration + count):
            nodes, half_edges = self.schedule.sets_as_numbers(self.network, self.key, k)
            awake.append(nodes)
            arrived.append(half_edges)
            members += len(nodes) + len(half_edges)
            if members >= AT_ONCE or k == last:
                self.play(awake, arrived)
                awake, arrived, members = [], [], 0

    def play(self, awake: list[Nodes], arrived: list[Nodes]) -> None:
        nodes, half_edges = (np.concatenate(sets).astype(np.int64) for sets in (awake, arrived))
        ends = (np.cumsum([len(members) for members in sets]) for sets in (awake, arrived))
        played = kernels.together(nodes, half_edges, *ends, self.senders, self.theta, *self.of_kernels)
        if played < len(awake):
            self.explain(awake[played])
        self.iteration += len(awake)
        self.count(nodes)


class LateRun(AnyCostRun):
    """One node at a time, whose messages arrive later."""

    schedule: Any  # Delayed

    @staticmethod
    def slots(problem: Problem, settings: Settings) -> tuple[int, int, int] | None:
        """Of messages under way: iterations, rows of a node, half-edges of a node; None where they take too much."""
        assert isinstance(settings.schedule, Delayed)
        rows = int(np.diff(problem.rows[problem.network.indptr]).max())
        slots, most = settings.schedule.max_delay + 1, int(problem.network.degrees.max())
        fits = slots * (rows * (settings.batch or 1) + 3 * most + 3) <= MOST_UNDER_WAY  # ``UnderWay``
        return (slots, rows, most) if fits else None

    def __init__(self, problem: Problem, settings: Settings, chain: Chain, work: int) -> None:
        super().__init__(problem, settings, chain, work)
        found = self.slots(problem, settings)
        assert found is not None
        slots, rows, most = found

        def empty(count: int) -> npt.NDArray[np.int64]:
            return np.full(count, -1, dtype=np.int64)

        values: Array = np.empty((slots, rows, settings.batch or 1))
        messages = slots * most
        self.under_way = UnderWay(
            values, empty(slots), empty(messages), empty(messages), empty(messages), empty(slots), empty(slots),
            empty(2 * self.network.m),
        )  # fmt: skip

    def advance(self, count: int) -> None:
        for part in range(0, count, AT_ONCE):
            size, first = min(AT_ONCE, count - part), self.iteration
            nodes, delays, _ = self.schedule.late_wakes(self.network, self.key, first, size)
            played = kernels.late(first, nodes, delays, self.theta, *self.of_kernels, self.under_way)
            if played < size:
                self.explain(nodes[played : played + 1])
            self.iteration += size
            self.count(nodes)
