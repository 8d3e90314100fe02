"""Every message of a run, as the parties would send it: ``r_{j|i} = y_{j|i} - z_{j|i}(0)`` (theory: Messages).

The run says what each node computed. What it said then follows as in ``Node``, from what it had heard, ``D``, and from
``e_ij = z_{i|j}(0) - z_{j|i}(0)``:

    r_{j|i} = D_{i|j} + e_ij + c_ij (2 A_ij x_i - b_ij),        D_{j|i} <- (1 - theta) D_{j|i} + theta r_{j|i}
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..files.frames import to_frame
from ..files.html_table import html_table
from .reference import Run
from .schedule_bases import Chosen, Nodes

SHOWN = 10  # rows in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class MessageTable:
    """The messages of a run, in the order in which they were sent: a column is an array, with an entry a message.

    Parameters
    ----------
    iteration : array of int
        When it was sent: 0 is the first.
    sender, receiver : array of int, or of str
        Two neighbours, by number, or by name where the network has labels.
    counter : array of int
        From 1: how often the sender has spoken to this neighbour.
    value : array of float
        What was said, ``(messages,)`` or ``(messages, d)``; NaN where an edge has fewer rows than another.
    arrived : array of bool
        Whether the receiver took it in. A message that was lost, that a later one overtook, or that was still under way
        at the end did not.

    Examples
    --------
    >>> import sottovoce as sv
    >>> network = sv.Network.ring(3).with_labels(["Ada", "Bob", "Eve"])
    >>> run = {"schedule": sv.Trace([0, 2]), "c": 0.5, "tol": 0}
    >>> result = sv.solve(sv.averaging(network, [1, 2, 6]), record=[sv.Transcript()], **run)
    >>> table = result.history["transcript"]
    >>> table
    MessageTable(4 messages)
    >>> [(str(a), str(b)) for a, b in zip(table.sender, table.receiver)]
    [('Ada', 'Bob'), ('Ada', 'Eve'), ('Eve', 'Ada'), ('Eve', 'Bob')]
    """

    iteration: npt.NDArray[np.int64]
    sender: npt.NDArray[Any]
    receiver: npt.NDArray[Any]
    counter: npt.NDArray[np.int64]
    value: Array
    arrived: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.iteration)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """By name; a ``value`` of several numbers is ``value0``, ``value1`` and so on."""
        found: dict[str, npt.NDArray[Any]] = {}
        for field in fields(self):
            column = getattr(self, field.name)
            parts = {field.name: column} if column.ndim == 1 else {f"value{k}": part for k, part in enumerate(column.T)}
            found |= parts
        return found

    def to_frame(self) -> Any:
        """As a data frame, with a row a message: of pandas, or of polars or pyarrow where pandas is not installed."""
        return to_frame({name: column.tolist() for name, column in self.columns().items()})

    def __repr__(self) -> str:
        return f"MessageTable({len(self)} messages)"

    def _repr_html_(self) -> str:
        columns = self.columns()
        rows = zip(*(column[:SHOWN].tolist() for column in columns.values()), strict=True)
        more = f", the first {SHOWN} of them" if len(self) > SHOWN else ""
        return html_table(rows, header=list(columns), caption=f"{len(self)} messages{more}")


class Listener:
    """Hears a run iteration by iteration. A ``Stage``: the schedule says to it who wakes, and what arrives."""

    def __init__(self, run: Run) -> None:
        self.run, self.problem = run, run.problem
        self.network, self.sizes = self.problem.network, np.diff(self.problem.rows)  # rows of a half-edge
        self.holders, self.along = self.network.holders, self.problem.along(run.c)
        start = run.iterated_z()
        self.e = start - start[self.problem.P]
        self.D = np.zeros_like(self.e)
        self.sent = np.zeros(self.network.n, dtype=np.int64)
        self.newest = np.full(2 * self.network.m, -1)  # when the value now in D was sent
        self.pending: dict[int, list[tuple[int, int, int, Array]]] = defaultdict(list)
        self.said: list[tuple[int, Nodes, Nodes, Array]] = []  # iteration, half-edges, counters, stacked values
        self.arrived: list[Chosen] = []

    def hear(self) -> None:
        """The iteration that the run has just played, or nothing before the first."""
        k = self.run.iteration - 1
        if k >= 0:
            self.run.schedule.play(self, self.network, self.run.key, k, 1)

    def wake_one(self, i: int) -> None:
        rows, r = self.speak(i)
        self.D[rows] = self.mixed(self.D[rows], r)
        self.arrived.append(np.ones(len(self.said[-1][1]), dtype=bool))

    def wake_many(self, active: Chosen | None, arrived: Chosen | None) -> None:
        problem, network = self.problem, self.network
        r = self.D + self.e + self.along * (2 * (problem.C @ self.run.stacked_x()) - problem.b)
        spoke = np.ones(2 * network.m, dtype=bool) if active is None else active[self.holders]
        told = spoke if arrived is None else spoke & arrived[network.twin]
        self.sent += 1 if active is None else active
        self.keep(np.flatnonzero(spoke), r[np.repeat(spoke, self.sizes)])
        self.arrived.append(told[spoke])
        rows = np.repeat(told, self.sizes)
        to = problem.P[rows]
        self.D[to] = self.mixed(self.D[to], r[rows])

    def wake_late(self, k: int, i: int, delays: Nodes) -> None:
        _, r = self.speak(i)
        half_edges = self.said[-1][1]
        self.arrived.append(np.zeros(len(half_edges), dtype=bool))
        ends = np.cumsum(self.sizes[half_edges])
        for at, (h, part) in enumerate(zip(half_edges, np.split(r, ends[:-1]), strict=True)):
            self.pending[k + int(delays[at])].append((len(self.said) - 1, at, int(h), part))
        for message, at, h, part in self.pending.pop(k, []):
            sent, to = self.said[message][0], self.network.twin[h]
            if sent > self.newest[to]:  # else overtaken by a later message of the same half-edge
                rows = slice(self.problem.rows[to], self.problem.rows[to + 1])
                self.D[rows] = self.mixed(self.D[rows], part)
                self.newest[to] = sent
                self.arrived[message][at] = True

    def speak(self, i: int) -> tuple[npt.NDArray[Any], Array]:
        """What node ``i`` says to its neighbours; and in which rows of ``D`` they keep it."""
        problem, network = self.problem, self.network
        half_edges = np.arange(network.indptr[i], network.indptr[i + 1])
        held = slice(problem.rows[half_edges[0]], problem.rows[half_edges[-1] + 1])
        x = self.run.stacked_x()[problem.columns[i] : problem.columns[i + 1]]
        if network.constraints is None:
            Ax = np.concatenate([sign * x for sign in network.C.data[half_edges]])
        else:
            Ax = np.concatenate([network.constraints.A[h] @ x for h in half_edges])
        b = problem.b if len(problem.b) == 1 else problem.b[held]
        c = self.along[held] if isinstance(self.along, np.ndarray) else self.along
        r = self.D[held] + self.e[held] + c * (2 * Ax - b)
        self.sent[i] += 1
        self.keep(half_edges, r)
        return problem.P[held], r

    def keep(self, half_edges: npt.NDArray[Any], r: Array) -> None:
        self.said.append((self.run.iteration - 1, half_edges, self.sent[self.holders[half_edges]], r[:, 0]))

    def mixed(self, D: Array, r: Array) -> Array:
        return np.asarray((1 - self.run.theta) * D + self.run.theta * r)

    def table(self) -> MessageTable:
        """All that was heard."""
        network, none = self.network, np.empty(0, dtype=np.int64)
        half_edges = np.concatenate([none, *(said[1] for said in self.said)])
        named = np.arange(network.n)
        if network.labels is not None:
            named = np.array([network.name(i) for i in named])
        return MessageTable(
            np.concatenate([none, *(np.full(len(said[1]), said[0]) for said in self.said)]),
            named[self.holders[half_edges]],
            named[network.indices[half_edges]],
            np.concatenate([none, *(said[2] for said in self.said)]),
            self.values(half_edges),
            np.concatenate([none.astype(bool), *self.arrived]),
        )

    def values(self, half_edges: npt.NDArray[Any]) -> Array:
        """``(messages,)`` where every edge has one row, else ``(messages, d)``."""
        flat = np.concatenate([np.empty(0), *(said[3] for said in self.said)])
        widest = int(self.sizes.max())
        wide = np.full((len(half_edges), widest), np.nan)
        wide[np.arange(widest) < self.sizes[half_edges][:, None]] = flat
        return wide[:, 0] if widest == 1 else wide
