"""The run modulo a prime as NumPy has it, column for column: the readable twin of the compiled one.

``Span`` keeps whole rows, ``product`` is exact in float64, ``ever`` makes one large space of what can still be seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sottovoce.pdmm.reference import Reference
from sottovoce.privacy.encrypted import run_modulo_prime as compiled
from sottovoce.privacy.encrypted.prime_field import Residues

Rows = npt.NDArray[np.integer[Any]]

PIECE = 16  # bits of a factor: pieces of 16 bits times 31 bits add up exactly in float64 ...
LONGEST = 2**6  # ... for this many terms
TOGETHER = 64  # iterations after which what was heard is looked at


def product(a: Residues, b: Residues, p: int) -> Residues:
    """``a @ b`` modulo ``p``, by exact products in float64."""
    right, total = b.astype(np.float64), np.zeros((len(a), b.shape[1]))
    for first in range(0, a.shape[1], LONGEST):
        part = slice(first, first + LONGEST)
        high, low = (piece.astype(np.float64) @ right[part] for piece in np.divmod(a[:, part], 2**PIECE))
        total = _reduced(total + 2.0**PIECE * _reduced(high, p) + _reduced(low, p), p)
    return total.astype(np.int64)


def _reduced(whole: npt.NDArray[np.float64], p: int) -> npt.NDArray[np.float64]:
    """Modulo ``p``, of whole numbers below ``2^53``: much faster than integers divide."""
    rest = whole - p * np.floor(whole / p)
    return np.asarray(np.where(rest < 0, rest + p, rest))  # the quotient may have been rounded up


class Span:
    """The space that some rows span, as their reduced echelon form."""

    def __init__(self, width: int, p: int) -> None:
        self.p = p
        self.rows: Residues = np.zeros((0, width), dtype=np.int64)
        self.pivots: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def rank(self) -> int:
        return len(self.pivots)

    @property
    def width(self) -> int:
        return self.rows.shape[1]

    @property
    def free(self) -> Rows:
        return np.setdiff1d(np.arange(self.width), self.pivots)

    @property
    def tails(self) -> Residues:
        return self.rows[:, self.free]

    def without(self, vectors: Residues) -> Residues:
        """What of them is new, with zeros at the pivots."""
        return (vectors - product(vectors[:, self.pivots], self.rows, self.p)) % self.p

    def add(self, vectors: Residues) -> Residues:
        """Take some vectors in; returns the rows that are new."""
        p, rest = self.p, self.without(vectors)
        fresh: list[Residues] = []
        pivots: list[int] = []
        while len(rest := rest[rest.any(axis=1)]):
            row = rest[0]
            at = int(np.argmax(row != 0))
            row = row * pow(int(row[at]), -1, p) % p
            rest = (rest[1:] - np.multiply.outer(rest[1:, at], row) % p) % p
            fresh = [(other - other[at] * row % p) % p for other in fresh] + [row]
            pivots.append(at)
        new = np.array(fresh, dtype=np.int64).reshape(-1, self.rows.shape[1])
        if pivots:
            self.rows = np.vstack([(self.rows - product(self.rows[:, pivots], new, p)) % p, new])
            self.pivots = np.concatenate([self.pivots, pivots])
        return new


class FieldRun(compiled.FieldRun):
    """The same run; its arithmetic in ``int64``."""

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._z = self.start.copy()
        self.learned: Any = Span(self.start.shape[1], self.p)
        self.twice_c = self.twice_c[:, None]

    def wake_one(self, i: int) -> None:
        Reference.wake_one(self, i)

    def shown(self) -> bool:
        return self.ever().rank == self.learned.rank

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
        """What the coalition has learned, and all that it could ever learn of the present state."""
        both = Span(self.start.shape[1], self.p)
        both.add(self.learned.rows)
        both.add(product(self.future().rows, np.vstack([self.q[self.own], self._z[self.between]]), self.p))
        return both

    def future(self) -> Span:
        """The functionals of the state that may ever be seen.

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
            new = np.vstack([new[:0], *(future.add(rows) for rows in found)])
        return future
