"""Exact second moments of ``z(k)`` in expectation over a random schedule (paper, section 5)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...costs.base import Array
from ...errors import Unsupported
from ...pdmm.penalties import Penalty, checked_penalty
from ...pdmm.problem import Problem
from ...pdmm.schedules import Schedule
from ...pdmm.settings import positive_integer
from .exact_moments import Variances, check_run, inverse_penalised, psi_basis, quadratic_of


class RandomMoments:
    """``Sigma_k = E_U[Cov(z(k) | U)]`` for a random schedule, propagated exactly.

    ``T_U = I + diag(U) B`` with ``B = theta (S - I)`` and ``S = P (I + 2 c C X)`` the synchronous map, so

        E[T Sigma T'] = Sigma + diag(mu) B Sigma + (diag(mu) B Sigma)' + (B Sigma B') o E[U U'].

    ``E[U U']`` is ``mu_i`` where both entries are written by ``i`` and wake together, else the product or, if one node
    wakes at a time, 0. ``B`` is applied through ``C`` and ``X``, never formed.

    Parameters
    ----------
    problem
        Network and quadratic costs.
    schedule, theta, c
        How the run goes.
    variance
        Of an entry of ``z(0)``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> moments = sv.privacy.research.RandomMoments(problem, sv.NodeBernoulli(0.5), theta=0.5, c=0.5, variance=1.0)
    >>> moments.advance(2)
    >>> moments.Sigma.shape
    (8, 8)
    """

    def __init__(self, problem: Problem, schedule: Schedule, *, theta: float, c: Penalty, variance: float) -> None:
        check_run(theta=theta, variance=variance)
        c = checked_penalty(c, problem.network)
        schedule = schedule.on(problem.network)
        self.problem, self.schedule, self.theta, self.c = problem, schedule, theta, c
        schedule.check(problem.network)
        network = problem.network
        self.Sigma = variance * np.eye(int(problem.rows[-1]))
        self.C, self.P = problem.C, problem.P
        self.X = -sparse.csr_array(sparse.block_diag(list(inverse_penalised(problem, c))) @ self.C.T)
        twice_c = sparse.diags_array(np.broadcast_to(2 * problem.along(c), (len(self.P), 1))[:, 0])
        self.push = sparse.csr_array(twice_c @ self.C[self.P])
        self.iteration = 0
        writer = np.repeat(network.indices, np.diff(problem.rows))
        self.written = [np.flatnonzero(writer == i) for i in range(network.n)]
        self.held = [self.P[rows] for rows in self.written]
        S = sparse.csr_array(sparse.eye_array(len(writer)) + twice_c @ (self.C @ self.X))
        self.local = [S[held][:, held].toarray().T for held in self.held]  # what i writes, from what it holds
        if schedule.law is None:
            raise Unsupported(f"no exact moments for {type(schedule).__name__}; a trace has sequence_variances.")
        self.law = schedule.law
        if self.law.of == "one node":
            rates = np.ones(network.n) if self.law.rates is None else self.law.rates
            self.mu = (rates / rates.sum())[writer]
        else:
            self.mu = np.full(len(writer), self.law.p)

    def apply_B(self, S: Array) -> Array:
        """``B S = theta (P (S + 2 c C X S) - S)``."""
        F = self.push @ (self.X @ S)
        F += S[self.P]
        F -= S
        F *= self.theta
        return np.asarray(F)

    def advance(self, count: int) -> None:
        network, form = self.problem.network, quadratic_of(self.problem)
        alike = self.problem.consensus and self.problem.dim == 1 and isinstance(self.c, float)
        if self.law.of == "one node" and alike:
            from ._moment_kernels import advance

            gain = 1 / (form.Q + self.c * network.degrees)
            edges = (network.indptr, network.indices, network.twin, network.C.data)
            advance(count, self.Sigma, *edges, gain, self.mu, self.c, self.theta)
        else:
            self.advance_readable(count)
        self.iteration += count

    def advance_readable(self, count: int) -> None:
        """The formula as it stands; any cost and schedule."""
        # Sigma is symmetric in exact arithmetic, and every sum below keeps it so to the bit: F' stands for Sigma B',
        # and an antisymmetric rounding error would be multiplied instead of carried along.
        for _ in range(count):
            F = self.apply_B(self.Sigma)
            twice = self._twice(F)
            F *= self.mu[:, None]
            self.Sigma += F + F.T
            for rows, block in twice:
                self.Sigma[np.ix_(rows, rows)] += (block + block.T) / 2

    def _twice(self, F: Array) -> list[tuple[npt.NDArray[np.intp], Array]]:
        """``(B Sigma B') o E[U U']`` with ``F = B Sigma``, as blocks to add."""
        if self.law.of == "one node":
            # Only rows written by one node wake together: B' is needed on the entries that it holds or writes.
            parts = zip(self.written, self.held, self.local, strict=True)
            return [
                (rows, self.theta * self.mu[rows[0]] * (F[np.ix_(rows, held)] @ local - F[np.ix_(rows, rows)]))
                for rows, held, local in parts
            ]
        both, p = self.apply_B(F.T).T, self.mu[0]
        # What is decided by one coin: the entries written by one node, or those of one message.
        messages = [np.arange(*span) for span in pairwise(self.problem.rows)]
        together = self.written if self.law.of == "nodes" else messages
        everything, scaled = np.arange(len(F)), p * p * both
        if together is messages and self.problem.rows[-1] == len(messages):  # messages of one number: the diagonal
            scaled[everything, everything] = p * np.diag(both)
            return [(everything, scaled)]
        return [(everything, scaled)] + [(rows, (p - p * p) * both[np.ix_(rows, rows)]) for rows in together]


def random_variances(
    problem: Problem,
    schedule: Schedule,
    *,
    theta: float,
    c: Penalty,
    variance: float,
    iterations: int,
    every: int = 1,
) -> Variances:
    """``sequence_variances``, in expectation over a random schedule.

    Parameters
    ----------
    problem
        Network and quadratic costs.
    schedule, theta, c
        How the run goes.
    variance
        Of an entry of ``z(0)``.
    iterations, every
        They are computed at 0, ``every``, .. up to ``iterations``.

    Returns
    -------
    Variances
        Exact.

    Raises
    ------
    Unsupported
        For a schedule that is not random, or whose messages are late.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> run = {"theta": 0.5, "c": 0.5, "variance": 4.0, "iterations": 4}
    >>> found = sv.privacy.research.random_variances(problem, sv.NodeBernoulli(0.5), **run)
    >>> float(found.z[0]), bool(found.z[4] < found.z[0])
    (4.0, True)
    """
    moments = RandomMoments(problem, schedule, theta=theta, c=c, variance=variance)
    basis = psi_basis(problem)
    complete = basis.shape[1] == len(basis)
    seen = []
    for k in range(0, iterations + 1, positive_integer(every, "every")):
        moments.advance(k - moments.iteration)
        total = float(np.trace(moments.Sigma))
        inside = max(0.0, float(np.sum(basis * (moments.Sigma @ basis))))  # all rounding, once it has decayed
        outside = 0.0 if complete else total - inside
        seen.append((k, total / len(basis), inside / len(basis), outside / len(basis)))
    k_, z, psi, perp = (np.array(column) for column in zip(*seen, strict=True))
    return Variances(k_, z, psi, perp)
