"""The general method: a view as linear functionals of ``(q, z(0))``, eliminated one by one (THEORY, section 4).

The run is played on maps. Every message that is seen is a functional of the unknowns, known exactly; a reflection of
the unknowns turns it into one coordinate, which is then dropped. What is left is an orthonormal basis ``W`` of the
directions in which ``(q, z(0))`` can move without changing anything that was seen. Under a Gaussian prior with
covariance ``K`` the posterior is the prior restricted to them:

    Cov(q, z(0) | view) = W (W' K^{-1} W)^{-1} W',      and q_i = -Q_i s_i.

Reflections are stable, and what is known is dropped instead of subtracted. Ranks are decided before any variance
enters, so that they depend on the network and the schedule alone.
"""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from ..costs.base import Array
from ..errors import InvalidInput
from ..schedules import Delayed, EdgeBernoulli, NodeSchedule, Schedule
from .moments import AffineRun
from .posterior import Posterior, diagonal_blocks
from .secrets import Secrets, entries
from .views import Answer, Leaks, leaks

RANK = 1e-10  # functionals of unit unknowns that are smaller than this are taken for rounding


class Elimination(AffineRun):
    """What an adversary knows, message by message. Columns are the unknowns that are left."""

    def __init__(
        self,
        secrets: Secrets,
        schedule: Schedule,
        *,
        corrupt: frozenset[int],
        sees_all: bool,
        theta: float,
        c: float,
        seed: int | None = None,
        pads: Array | None = None,
    ) -> None:
        """``pads`` is the factor ``F`` of ``z(0) = sigma F zeta``, ``zeta ~ N(0, I)``; None is ``F = I``."""
        problem = secrets.problem
        network, rows, N = problem.network, int(problem.rows[-1]), int(problem.columns[-1])
        F = np.eye(rows) if pads is None else pads
        unknowns = N + F.shape[1]
        q = np.eye(N, unknowns)
        start = np.hstack([np.zeros((rows, N)), F])
        super().__init__(problem, schedule, start, q, theta=theta, c=c, seed=seed)
        self.secrets, self.corrupt = secrets, corrupt
        self.start, self.W = start.copy(), np.eye(unknowns)
        self.sent: tuple[npt.NDArray[Any], Array]  # in the last iteration: rows of z, and the values y
        self.woken = np.zeros(network.n, dtype=bool)
        self.smallest = np.inf  # the size of the faintest functional that counted
        bad = np.isin(np.arange(network.n), list(corrupt))
        touched = np.repeat(bad[network.holders] | bad[network.indices], np.diff(problem.rows))
        self.seen = touched | sees_all
        self.learn(self.W[entries(np.flatnonzero(bad), secrets.width)])
        self.learn(self.start[touched])

    def learn(self, functionals: Array) -> None:
        """Drop the directions that these functionals (rows over the unknowns that are left) reveal."""
        V = functionals.copy()
        while V.size:
            sizes = np.linalg.norm(V, axis=1)
            faintest = int(np.argmax(sizes))
            if sizes[faintest] <= RANK:
                return
            self.smallest = min(self.smallest, float(sizes[faintest]))
            mirror = V[faintest] / sizes[faintest]
            mirror[0] += np.copysign(1.0, mirror[0])
            mirror /= np.linalg.norm(mirror)
            V = _without_first(V, mirror)
            self._z, self._x, self.q, self.start, self.W = (
                _without_first(matrix, mirror) for matrix in (self._z, self._x, self.q, self.start, self.W)
            )
            under_way, self.pending = self.pending, defaultdict(list)  # a new one, as copies of this view share the old
            for k, messages in under_way.items():
                self.pending[k] = [(rows, _without_first(y, mirror), sent) for rows, y, sent in messages]

    def told(self, functional: Array) -> Array:
        """Learn one functional of ``(q, z(0))``, such as a recorded message; returns the direction that it measures, 0
        where it tells nothing new.

        A point that fits what was known before fits this one's value too after a step in that direction.
        """
        v = functional @ self.W
        size = float(np.linalg.norm(v))
        if size <= RANK:
            return np.zeros(len(self.W))
        along = self.W @ (v / size**2)
        self.learn(v[None, :])
        return np.asarray(along)

    def play(self, iterations: int) -> None:
        """Advance, and learn from what is sent."""
        length = self.schedule.length()
        if length is not None and self.iteration + iterations > length:
            raise InvalidInput(f"the trace has {length} iterations; got iterations={iterations}. Ask for no more.")
        for _ in range(iterations):
            self.advance(1)
            rows, y = self.sent
            visible = self.seen[rows]
            self.learn(y[visible] - self.start[rows[visible]])

    def compute(self, i: int) -> tuple[npt.NDArray[Any], Array]:
        rows, y = super().compute(i)
        self.woken[i] = True
        self.sent = rows, y
        return rows, y

    def wake_many(self, active: npt.NDArray[np.bool_] | None, arrived: npt.NDArray[np.bool_] | None) -> None:
        before = self._z
        super().wake_many(active, arrived)
        y = (before + 2 * self.c * (self.C @ self._x))[self.P]
        awake = np.ones(len(self.woken), dtype=bool) if active is None else active
        self.woken |= awake
        rows = np.flatnonzero(np.repeat(awake[self.problem.network.indices], np.diff(self.problem.rows)))
        self.sent = rows, y[rows]

    def posterior(self, K: Array, sigma: float) -> Array:
        """Covariance of every node's secret given what was learned, ``(n, width, width)``; 0 where it is disclosed."""
        N, w = len(K), self.secrets.width
        of_secrets = self.W[:N]
        if not of_secrets.size:
            return np.zeros((N // w, w, w))  # nothing is left to guess
        Q = self.secrets.hessian(np.arange(N // w)).toarray()
        K = Q @ K @ Q
        root = linalg.cholesky(K, lower=True)
        scaled = [linalg.solve_triangular(root, of_secrets, lower=True), self.W[N:] / sigma if sigma else self.W[N:]]
        # Rows from large to small, columns pivoted: the elimination then keeps the small rows as they are.
        stacked = np.vstack(scaled if sigma > np.sqrt(K.max()) else scaled[::-1])
        R, pivots = linalg.qr(stacked, mode="r", pivoting=True)
        R = R[: R.shape[1]]
        in_q = linalg.solve_triangular(R, of_secrets[:, pivots].T, trans=1).T
        left = np.linalg.solve(Q, in_q).reshape(-1, w, R.shape[1])
        covariance = left @ left.transpose(0, 2, 1)
        blocks = of_secrets.reshape(-1, w, of_secrets.shape[1])
        visible = np.linalg.svd(blocks, compute_uv=False)[:, -1] if of_secrets.shape[1] >= w else np.zeros(len(blocks))
        covariance[visible < RANK] = 0.0
        return np.asarray(covariance)

    def mean(self, point: Array, K: Array, sigma: float) -> Array:
        """The posterior mean of every secret, given a point ``(q, z(0))`` (a column each) that fits what was learned.

        Of all that fit, it is the one that the prior, with mean 0, finds most likely.
        """
        N = len(K)
        Q = self.secrets.hessian(np.arange(self.secrets.n)).toarray()
        root = linalg.cholesky(Q @ K @ Q, lower=True)
        free, fixed = (
            np.vstack([linalg.solve_triangular(root, matrix[:N], lower=True), matrix[N:] / sigma])
            for matrix in (self.W, point)
        )
        q = point[:N] - self.W[:N] @ linalg.lstsq(free, fixed)[0]
        return np.asarray(-np.linalg.solve(Q, q))

    def leaks(self, variance: float) -> Leaks:
        """What the view played so far gives away, for pads of this variance (divided by the number of runs)."""
        answer, w, sigma = Answer(self.secrets, self.corrupt), self.secrets.width, float(np.sqrt(variance))
        prior = self.secrets.covariance()
        both = copy(self)
        own = entries(answer.honest, w)
        groups = [np.isin(answer.honest, group).astype(float) for group in answer.groups]
        both.learn(np.kron(np.reshape(groups, (-1, len(answer.honest))), np.eye(w)) @ self.W[own])
        before, given = diagonal_blocks(answer.K, w), diagonal_blocks(answer.given, w)
        after, left = (run.posterior(prior, sigma)[answer.honest] for run in (self, both))
        seen = Posterior(before, after, before - after)
        return leaks(
            answer, answer.honest, seen, Posterior(given, left, given - left), complete=False, heard=self.woken
        )

    def endless(self) -> None:
        """Learn what the messages of an endless run will show, beyond those of the iterations played so far.

        The state ``(q, z)`` of the honest nodes moves by ``T_b = I + E_b``, ``b`` running through the sets of entries
        that the schedule may update together. What the coalition can never see is the largest subspace that its
        functionals do not see and that no ``T_b`` leaves.

        That is all there is to learn where every ``T_b`` is regular, or where there is one only. Where a wake erases
        something, as at ``theta = 1``, it may be less: see ``settles``.
        """
        network, problem, w = self.problem.network, self.problem, self.secrets.width
        bad = np.isin(np.arange(network.n), list(self.corrupt))
        own = entries(np.flatnonzero(~bad), w)
        between = np.flatnonzero(np.repeat(~bad[network.holders] & ~bad[network.indices], np.diff(problem.rows)))
        back = np.full(len(self.P), -1)
        back[between] = np.arange(len(between))
        C = self.C[between][:, own]
        inverse = sparse.block_diag([self.blocks[i] for i in np.flatnonzero(~bad)])
        X = -sparse.csr_array(inverse @ sparse.hstack([sparse.eye_array(len(own)), C.T]))  # x from (q, z)
        z = sparse.csr_array(sparse.eye_array(len(between), len(own) + len(between), k=len(own)))
        E = sparse.csr_array(float(self.theta) * ((z + 2 * float(self.c) * (C @ X))[back[self.P[between]]] - z))
        adjacent = network.adjacency.astype(np.int64) @ bad > 0
        observed = X[np.flatnonzero(np.repeat(adjacent[~bad], w))].toarray()
        half_edge = np.repeat(np.arange(2 * network.m), w)[between]
        writer = network.indices[half_edge]
        together: Any = half_edge if isinstance(self.schedule, EdgeBernoulli) else writer
        if self.schedule.mu(network) == 1:
            together = np.zeros(len(between), dtype=np.int64)
        V = observable(observed, [(len(own) + np.flatnonzero(together == b), E[together == b]) for b in set(together)])
        self.learn(V.T @ np.vstack([self.q[own], self._z[between]]))


def settles(run: Elimination) -> bool:
    """Whether ``endless`` is exact: nothing is lost unread, almost surely.

    With one node awake at a time and ``theta = 1`` an edge's first wake erases one pad, which the first sweep has
    played; later ones erase nothing unless ``Q_i`` has the eigenvalue ``c d_i``. With several awake there is no proof.
    """
    if run.schedule.mu(run.problem.network) == 1:
        return True
    if not isinstance(run.schedule, NodeSchedule):
        return False
    Q, reach = run.secrets.Q, float(run.c) * run.problem.network.degrees
    own = Q[:, None] if Q.ndim == 1 else np.linalg.eigvalsh(Q)
    return bool(run.theta < 1 or (np.abs(own - reach[:, None]) > 1e-6 * reach[:, None]).all())


def observable(observed: Array, blocks: list[tuple[npt.NDArray[Any], sparse.csr_array[Any]]]) -> Array:
    """An orthonormal basis (columns) of the functionals that ``observed`` rows show in the long run.

    ``blocks`` are ``(rows, E_b[rows])`` with ``E_b`` zero elsewhere.
    """
    _, sizes, right = np.linalg.svd(observed)
    rank = int((sizes > RANK).sum())
    V, U = right[:rank].T, right[rank:].T
    while U.shape[1]:
        moved: Array = np.zeros((0, U.shape[1]))
        for rows, E in blocks:  # where E_b takes the unseen directions, as far as it is seen
            moved = np.vstack([moved, V[rows].T @ (E @ U)])
            if len(moved) > 4 * U.shape[1]:
                moved = np.asarray(np.linalg.qr(moved, mode="r"), dtype=np.float64)
        _, sizes, right = np.linalg.svd(moved)
        rank = int((sizes > RANK * max(1.0, sizes[0])).sum()) if len(sizes) else 0
        if not rank:
            break
        V, U = np.hstack([V, U @ right[:rank].T]), U @ right[rank:].T
    return np.asarray(V)


def first_sweep(run: Elimination, most: int) -> None:
    """Play until every honest node has sent, and once more as long: what the first wakes overwrite is gone by then."""
    wanted = ~np.isin(np.arange(len(run.woken)), list(run.corrupt))
    while not run.woken[wanted].all() and run.iteration < most:
        run.play(1)
    if isinstance(run.schedule, Delayed):
        run.play(run.schedule.max_delay)
    run.play(run.iteration)


def _without_first(matrix: Array, mirror: Array) -> Array:
    """The columns after the reflection, without the first, which is known."""
    return (matrix - np.multiply.outer(2 * (matrix @ mirror), mirror))[:, 1:]
