"""The iteration on maps modulo a prime: which functionals of ``(q, z(0))`` a coalition has seen, exactly.

Unknown are ``q`` of the honest nodes and both pads of every edge between two of them; what the coalition holds itself
is known, and drops out. Moving both pads of an edge by the same vector, and ``q`` of its ends against it, changes no
message that anybody sends (``directions``). So one pad of every edge is taken for 0, and all ranks stay as they are. Of
an edge without messages the difference of its pads is never used either: there both are taken for 0.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...pdmm.overlay import Overlay, over
from ...pdmm.penalties import Penalty
from ...pdmm.reference import Reference
from ...pdmm.schedules import Schedule, key_of
from ...pdmm.settings import Settings
from ..methods.secrets_and_prior import Secrets
from .ahead import Ahead
from .prime_field import TOGETHER, Residues, Span, dropped, inverse, less, product, residue

Rows = npt.NDArray[np.integer[Any]]

WAKES = 16  # of one node each, before it is asked how much was heard


class FieldRun(Reference):
    """A run whose ``z`` has a column per unknown: ``q`` of the honest nodes, and the pads ``z_{i|j}(0)``, ``i > j``, of
    edges between them. And what the coalition ``learned`` on its own edges.

    What is known drops out: ``z`` and ``q`` are kept modulo what was learned, at its free columns alone. So what is new
    in a message is seen at once, and a run that has shown nearly all takes hardly any time.

    ``masked`` is whether there are pads at all; without them ``q`` alone is unknown.
    """

    def __init__(
        self,
        secrets: Secrets,
        schedule: Schedule,
        *,
        corrupt: frozenset[int],
        theta: float,
        c: Penalty,
        p: int,
        seed: int | None = None,
        masked: bool = True,
        overlay: Overlay | None = None,
    ) -> None:
        self.whole, w, self.p = secrets.problem, secrets.width, p
        problem = secrets.problem if overlay is None else over(secrets.problem, overlay)
        network, self.width = problem.network, w
        honest = ~np.isin(np.arange(network.n), list(corrupt))
        ends = honest[network.holders], honest[network.indices]
        self.own = np.flatnonzero(np.repeat(honest, w))
        self.masked = masked
        self.between = np.flatnonzero(np.repeat(ends[0] & ends[1], w))
        self.seen = ~np.repeat(ends[0] & ends[1], w)
        above = np.repeat(network.holders > network.indices, w)[self.between]
        self.pads = self.between[above if masked else above & False]
        unknowns = len(self.own) + len(self.pads)
        self.q: Residues = np.zeros((network.n * w, unknowns), dtype=np.int64)
        self.q[self.own, np.arange(len(self.own))] = 1
        start: Residues = np.zeros((2 * network.m * w, unknowns), dtype=np.int64)
        start[self.pads, len(self.own) + np.arange(len(self.pads))] = 1
        settings = Settings(
            schedule=schedule, key=key_of(seed), c=c, theta=theta, overlay=overlay, batch=unknowns, z0=start
        )
        super().__init__(problem, settings)
        self.start = start
        self.honest, self.woken = honest, np.zeros(network.n, dtype=bool)
        self.A = problem.C.astype(np.int64)
        self.signs = self.A.data  # one entry a row: +-1
        each = np.array([residue(v, p) for v in np.broadcast_to(c, network.m).tolist()], dtype=np.int64)
        own = network.holders < network.indices
        of_half_edge = np.empty(2 * network.m, dtype=np.int64)
        of_half_edge[own] = of_half_edge[network.twin[own]] = each
        self.twice_c = np.repeat(2 * of_half_edge % p, w)  # along z
        self.weight = residue(theta, p)
        Q = secrets.Q if secrets.Q.ndim == 3 else secrets.Q[:, None, None]
        residues = np.array([[[residue(v, p) for v in row] for row in block] for block in Q.tolist()], dtype=np.int64)
        penalties = np.add.reduceat(of_half_edge, network.indptr[:-1]) % p
        self.inverse = np.array(
            [
                inverse(block + rho * np.eye(w, dtype=np.int64), p)
                for block, rho in zip(residues, penalties, strict=True)
            ]
        )  # (Q_i + c d_i)^{-1}
        self._z: Residues = start.astype(np.uint32)
        self._q: Residues = self.q.astype(np.uint32)
        self.learned = Span(unknowns, p)
        self.heard: list[Residues] = []  # since the last time, at the free columns

    def directions(self, seen: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Columns over the unknowns of the field as columns over all of ``(q, z(0))``, and those that nobody sees: an
        orthonormal basis of both."""
        N, width, place = len(self.q), seen.shape[1], self.place
        if not self.masked:
            found = np.zeros((N, width))
            found[self.own] = seen
            return np.asarray(np.linalg.qr(found / np.linalg.norm(found, axis=0))[0])
        P, C, silent = self.whole.P, self.whole.C, self.silent
        one, edges = np.concatenate([place[self.pads], silent]), np.arange(len(self.pads) + len(silent))
        found = np.zeros((N + len(P), width + len(edges) + len(silent)))
        found[self.own, :width] = seen[: len(self.own)]
        found[N + place[self.pads], :width] = seen[len(self.own) :]
        hidden, differences = np.split(found[:, width:], [len(edges)], axis=1)
        for ends in (one, P[one]):
            hidden[N + ends, edges] = 1.0
            hidden[:N] -= C[ends].T.toarray()
        for ends, sign in ((silent, 1.0), (P[silent], -1.0)):
            differences[N + ends, np.arange(len(silent))] = sign
        return np.asarray(np.linalg.qr(found / np.linalg.norm(found, axis=0))[0])

    def against(self, seen: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Such columns over ``q``, and over the pads ``z_{i|j}``, ``i > j``, with which the other pad of the edge moves
        against them: an orthonormal basis. What ``hidden`` has is left out."""
        rows = self.whole.C[self.place[self.pads]] + self.whole.C[self.whole.P[self.place[self.pads]]]
        q, pads = np.zeros((len(self.q), seen.shape[1])), seen[len(self.own) :]
        q[self.own] = seen[: len(self.own)]
        found = np.vstack([q + rows.T @ pads / 2, pads / np.sqrt(2)])
        return np.asarray(np.linalg.qr(found / np.linalg.norm(found, axis=0))[0])

    @property
    def hidden(self) -> sparse.csr_array[Any]:
        """What moves of ``q``, but for the sign, when both pads of an edge between honest nodes move by 1."""
        one = np.concatenate([self.place[self.pads], self.silent])
        return sparse.csr_array((self.whole.C[one] + self.whole.C[self.whole.P[one]]).T)

    @property
    def place(self) -> Rows:
        """Of each entry of ``z``, where it is among those of the whole network."""
        return np.arange(len(self.P)) if self.overlay is None else np.flatnonzero(self.overlay.entries(self.whole))

    @property
    def silent(self) -> Rows:
        """One entry of every edge between honest nodes over which nothing is said."""
        network = self.whole.network
        between = self.honest[network.half_edges].all(axis=1) & (network.holders > network.indices)
        entries = np.flatnonzero(np.repeat(between, self.width))
        return np.setdiff1d(entries, self.place)

    # The iteration

    def fresh(self, g: Residues, inverses: Residues) -> Residues:
        """``x = -(Q_i + c d_i)^{-1} (q_i + sum_j A_ij z_{i|j})`` of some nodes, from what is in brackets."""
        blocks = g.reshape(len(inverses), self.width, -1)
        x = sum(inverses[:, :, k, None] * blocks[:, k, None, :] % self.p for k in range(self.width))
        return np.asarray(-x % self.p).reshape(g.shape)

    def said(self, z: Residues, q: Residues, nodes: Rows) -> Residues:
        """``y`` of all that these nodes hold, which they send: one row after another."""
        from ._field_kernels import speak

        indptr = self.problem.network.indptr
        y = np.empty((int(self.problem.network.degrees[nodes].sum()) * self.width, z.shape[1]), dtype=np.uint32)
        speak(z, q, nodes, indptr, self.signs, self._steps, self._inverses, less(self.p), y)
        return y

    @cached_property
    def _steps(self) -> Residues:
        return np.asarray(self.signs * self.twice_c % self.p)

    @cached_property
    def _inverses(self) -> Residues:
        return np.asarray(-self.inverse % self.p)

    def compute(self, i: int) -> tuple[Rows, Residues]:
        indptr, w = self.problem.network.indptr, self.width
        rows = self.P[indptr[i] * w : indptr[i + 1] * w]
        y = self.said(self._z, self._q, np.array([i]))
        self.woken[i] = True
        self.hear(rows, y)
        return rows, y

    def wake_one(self, i: int) -> None:
        self.write(*self.compute(i))

    def wake_many(self, active: npt.NDArray[np.bool_] | None, arrived: npt.NDArray[np.bool_] | None) -> None:
        network = self.problem.network
        y = self.said(self._z, self._q, np.arange(network.n))  # in row h what is written into P[h]
        into = np.arange(len(y)) if arrived is None else np.flatnonzero(np.repeat(arrived, self.width))
        self.write(into, y[self.P[into]])
        awake = np.ones(network.n, dtype=bool) if active is None else active
        self.woken |= awake
        rows = np.flatnonzero(np.repeat(awake[network.indices], self.width) & self.seen)
        self.hear(rows, y[self.P[rows]])

    def mixed(self, z: Residues, y: Residues) -> Residues:
        """Of few rows: late messages, and those of a recorded run."""
        z, y = z.astype(np.int64), y.astype(np.int64)
        return np.asarray(((1 - self.weight) % self.p * z % self.p + self.weight * y % self.p) % self.p)

    def write(self, rows: Rows, y: Residues) -> None:
        """``z <- (1 - theta) z + theta y`` in these rows."""
        from ._field_kernels import mix

        mix(self._z, rows, y, np.uint64((1 - self.weight) % self.p), np.uint64(self.weight), less(self.p))

    # What is seen

    def hear(self, rows: Rows, y: Residues) -> None:
        """Keep what the coalition's edges carry, whose pads it knows."""
        visible = self.seen[rows]
        if visible.any():
            self.heard.append(y[visible])

    def play(self, iterations: int) -> None:
        """Advance, and learn from what was heard: many functionals at a time."""
        at_a_time = WAKES if self.schedule.one_at_a_time else 1
        for first in range(0, iterations, at_a_time):
            self.advance(min(at_a_time, iterations - first))
            if sum(map(len, self.heard)) >= TOGETHER:
                self.learn()
        self.learn()

    def learn(self) -> None:
        """Take in what was heard, and drop from all that is under way what is known now."""
        if not self.heard:
            return
        rest, self.heard = np.vstack(self.heard), []
        while len(rest):
            new, at = self.learned.take(rest[:TOGETHER])
            rest = rest[TOGETHER:]
            if len(at):
                rest, self._z, self._q = (dropped(rows, at, new, self.p) for rows in (rest, self._z, self._q))
                for k, messages in self.pending.items():
                    self.pending[k] = [(h, rows, dropped(y, at, new, self.p), sent) for h, rows, y, sent in messages]

    def opened(self, woken: npt.NDArray[np.bool_]) -> int:
        """The rank of what open channels show once these nodes have woken: of the first message of each on every edge.

        (``D = z - z(0)`` is public, so the change of ``x_i`` from wake to wake is.)
        """
        nodes = np.flatnonzero(woken & self.honest)
        first = self.said(self.start.astype(np.uint32), self.q.astype(np.uint32), nodes)
        senders = np.repeat(self.problem.network.holders, self.width)
        span = Span(self.start.shape[1], self.p)
        span.add(first - self.start[self.P[np.isin(senders, nodes)]])
        return span.rank

    def shown(self) -> bool:
        """Whether the coalition has learned all that it could ever learn of the present state.

        The state ``(q, z)`` of the honest nodes moves by ``I + E_b``, ``b`` running through the sets of entries that
        the schedule may update together. Of its functionals those of ``x_i`` next to the coalition are seen; what they
        show in the long run is the smallest space with them that no ``E_b`` leaves (``Ahead``): whether it is 0 modulo
        what was learned.
        """
        p, ahead = self.p, self.ahead
        known = np.vstack([self._q[self.own], self._z[self.between]])
        if product(ahead.first, known, p).any():
            return False
        y = self.said(self._z, self._q, np.arange(self.problem.network.n))
        change = (y[self.P[self.between]].astype(np.int64) - self._z[self.between]) % p  # E_b z / theta, for all b
        return not any(product(rows, change[block], p).any() for block, rows in ahead.blocks)

    @cached_property
    def ahead(self) -> Ahead:
        return Ahead.of(self)
