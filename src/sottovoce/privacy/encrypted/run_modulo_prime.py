"""The iteration on maps modulo a prime: which functionals of ``(q, z(0))`` a coalition has seen, exactly.

Unknown are ``q`` of the honest nodes and both pads of every edge between two of them; what the coalition holds itself
is known, and drops out. Moving both pads of an edge by the same vector, and ``q`` of its ends against it, changes no
message that anybody sends (``directions``). So one pad of every edge is taken for 0, and all ranks stay as they are. Of
an edge without messages the difference of its pads is never used either: there both are taken for 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...pdmm.overlay import Overlay, over
from ...pdmm.penalties import Penalty
from ...pdmm.reference import Reference
from ...pdmm.schedules import Schedule, key_of
from ...pdmm.settings import Settings
from ..methods.secrets_and_prior import Secrets
from .prime_field import Residues, Span, inverse, product, residue

Rows = npt.NDArray[np.integer[Any]]

TOGETHER = 64  # iterations after which what was heard is looked at


class FieldRun(Reference):
    """A run whose ``z`` has a column per unknown: ``q`` of the honest nodes, and the pads ``z_{i|j}(0)``, ``i > j``, of
    edges between them. And what the coalition ``learned`` on its own edges.

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
        self.twice_c = np.repeat(2 * of_half_edge % p, w)[:, None]  # along z
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
        self.learned = Span(unknowns, p)
        self.heard: list[Residues] = []  # since the last time

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

    def compute(self, i: int) -> tuple[Rows, Residues]:
        network, w = self.problem.network, self.width
        held = slice(network.indptr[i] * w, network.indptr[i + 1] * w)
        own = slice(i * w, (i + 1) * w)
        signs = self.signs[held]
        z = (signs[:, None] * self._z[held]).reshape(-1, w, self._z.shape[1])
        x = self.fresh((self.q[own] + z.sum(axis=0)) % self.p, self.inverse[i : i + 1])
        y = (self._z[held] + self.twice_c[held] * (signs[:, None] * np.tile(x, (len(z), 1)) % self.p)) % self.p
        self.woken[i] = True
        self.hear(self.P[held], y)
        return self.P[held], y

    def wake_many(self, active: npt.NDArray[np.bool_] | None, arrived: npt.NDArray[np.bool_] | None) -> None:
        network, z = self.problem.network, self._z
        x = self.fresh((self.q + self.A.T @ z) % self.p, self.inverse)
        y = ((z + self.twice_c * (self.A @ x % self.p)) % self.p)[self.P]
        new = self.mixed(z, y)
        if arrived is not None:
            new = np.where(np.repeat(arrived, self.width)[:, None], new, z)
        self._z = new
        awake = np.ones(network.n, dtype=bool) if active is None else active
        self.woken |= awake
        rows = np.flatnonzero(np.repeat(awake[network.indices], self.width))
        self.hear(rows, y[rows])

    def mixed(self, z: Residues, y: Residues) -> Residues:
        return np.asarray(((1 - self.weight) % self.p * z % self.p + self.weight * y % self.p) % self.p)

    # What is seen

    def hear(self, rows: Rows, y: Residues) -> None:
        """Keep what the coalition's edges carry."""
        visible = self.seen[rows]
        if visible.any():
            self.heard.append((y[visible] - self.start[rows[visible]]) % self.p)

    def play(self, iterations: int) -> None:
        """Advance, and learn from what was heard: many functionals at a time."""
        for first in range(0, iterations, TOGETHER):
            self.advance(min(TOGETHER, iterations - first))
            if self.heard:
                self.learned.add(np.vstack(self.heard))
            self.heard = []

    def opened(self, woken: npt.NDArray[np.bool_]) -> int:
        """The rank of what open channels show once these nodes have woken: of the first message of each on every edge.

        (``D = z - z(0)`` is public, so the change of ``x_i`` from wake to wake is.)
        """
        z, heard, was = self._z, self.heard, self.woken
        self._z, self.heard, self.woken = self.start, [], was.copy()
        first = [self.compute(int(i)) for i in np.flatnonzero(woken & self.honest)]
        self._z, self.heard, self.woken = z, heard, was
        span = Span(self.start.shape[1], self.p)
        for rows, y in first:
            span.add((y - self.start[rows]) % self.p)
        return span.rank

    def ever(self) -> Span:
        """What the coalition has learned, and all that it could ever learn of the present state.

        The state ``(q, z)`` of the honest nodes moves by ``I + E_b``, ``b`` running through the sets of entries that
        the schedule may update together. Of its functionals those of ``x_i`` next to the coalition are seen; what they
        show in the long run is the smallest space with them that no ``E_b`` leaves.
        """
        p, w, network = self.p, self.width, self.problem.network
        own, between = self.own, self.between
        C = self.A[between][:, own]
        back = np.full(len(self.P), -1)
        back[between] = np.arange(len(between))
        swapped = back[self.P[between]]
        node = np.repeat(np.arange(len(own) // w), w)  # the honest node of an entry of x
        inverses = self.inverse[self.honest]
        writer = node[np.searchsorted(own, np.repeat(network.indices, w)[between] * w)]  # of an entry of z
        together = np.arange(len(between)) // w if self.schedule.loses else writer
        twice_c = self.twice_c[between]
        blocks = [np.flatnonzero(together == b) for b in np.unique(together)]

        def moved(functionals: Residues, block: npt.NDArray[np.int64]) -> Residues:
            """``v E_b / theta``: an entry ``(j|i)`` becomes ``z_{i|j} + 2 c A_ij x_i - z_{j|i}``."""
            v = functionals[:, len(own) + block]
            result = np.zeros_like(functionals)
            np.add.at(result.T, len(own) + swapped[block], v.T)
            result[:, len(own) + block] -= v
            written = swapped[block]
            in_x = C[written].T @ (twice_c[written] * v.T % p) % p  # (own, functionals)
            in_g = self.fresh(in_x, inverses)  # the inverses are symmetric
            result[:, : len(own)] += in_g.T
            result[:, len(own) :] += (C @ in_g).T
            return result % p

        adjacent = network.adjacency.astype(np.int64) @ ~self.honest > 0
        near = np.flatnonzero(np.repeat(adjacent[self.honest], w))
        future = Span(len(own) + len(between), p)
        first = np.zeros((len(near), len(own) + len(between)), dtype=np.int64)
        first[np.arange(len(near)), near] = 1
        first[:, len(own) :] = C[:, near].T.toarray()
        new = future.add(first % p)
        while len(new):
            found = [moved(new, block) for block in blocks]
            new = np.vstack([future.add(rows) for rows in found])
        both = Span(self.start.shape[1], p)
        both.add(self.learned.rows)
        both.add(product(future.rows, np.vstack([self.q[own], self._z[between]]), p))
        return both
