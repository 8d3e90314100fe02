"""Exact moments of ``z(k)`` for quadratic costs (paper, sections 4 and 5), where the iteration is affine.

With ``f_i(x) = x'Q_i x/2 + q_i'x`` everything is linear in ``(z(0), q)``, so no Monte Carlo is needed:

* for a given activation sequence ``z(k) = M_k z(0) + L_k q + t_k``, hence ``Cov z(k) = sigma^2 M_k M_k'``;
* for a random schedule the expectation of that over ``U`` obeys ``Sigma <- E_U[T_U Sigma T_U']``.

Other costs have ``monte_carlo``: the same variances from draws of ``z(0)``, with their standard errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..costs.base import Array, QuadraticForm
from ..errors import InvalidInput, Unsupported
from ..pdmm.masks import GaussianMask
from ..pdmm.problem import Problem
from ..pdmm.reference import Party, Reference, Run
from ..pdmm.schedules import Schedule, key_of
from ..pdmm.settings import Settings, positive_integer, settle
from ..pdmm.solve import start
from .subspace import Subspace


def quadratic_of(problem: Problem) -> QuadraticForm:
    """The problem's quadratic form, or a refusal: exact moments exist for affine iterations only."""
    if problem.quadratic is None:
        raise Unsupported(
            f"exact moments need quadratic costs of one dimension; got {problem!r}. Use Monte Carlo: monte_carlo(...)."
        )
    return problem.quadratic


def inverse_penalised(problem: Problem, c: float, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """``(Q_i + c sum_j A_ij'A_ij)^{-1}`` of every node, ``(n, d, d)``; a step is ``x = -(Q + c C'C)^{-1} (q + g)``."""
    Q = quadratic_of(problem).Q
    d = problem.dim
    blocks = Q if Q.ndim == 3 else Q[:, None, None] * np.eye(d)
    penalties = [problem.penalty(c, i) for i in range(problem.network.n)]
    full = np.array([rho[0] if rho.ndim == 3 else rho[0] * np.eye(d) for rho in penalties])
    if problem.consensus:  # c d_i without an intermediate rounding
        full = np.multiply.outer(problem.network.degrees.astype(dtype) * np.asarray(c, dtype=dtype), np.eye(d))
    H = blocks.astype(dtype) + full
    inverse = np.linalg.inv(H.astype(np.float64)).astype(dtype)
    for _ in range(2):  # Newton: each round doubles the digits, up to those of the type
        inverse = inverse @ (2 * np.eye(d, dtype=dtype) - H @ inverse)
    return np.asarray(inverse)


class AffineRun(Reference):
    """The reference iteration played on maps: ``z(0)`` and ``q`` are linear in some unknowns, one column each."""

    def __init__(
        self,
        problem: Problem,
        schedule: Schedule,
        start: npt.NDArray[Any],
        q: npt.NDArray[Any],
        *,
        theta: float,
        c: float,
        seed: int | None = None,
    ) -> None:
        _check(theta=theta, c=c)
        self.blocks = inverse_penalised(problem, c, q.dtype)
        inverse = sparse.csr_array(sparse.block_diag(list(self.blocks)))
        self.q = q
        schedule.check(problem.network)
        settings = Settings(schedule=schedule, key=key_of(seed), c=c, theta=theta, batch=q.shape[1], z0=start)
        super().__init__(problem, settings)
        # Python's floats would be rounded products of each other; in the wider type c and theta are what they are.
        self.c, self.theta = q.dtype.type(c), q.dtype.type(theta)
        self._x = self._x.astype(q.dtype)
        self.step = lambda g: -(inverse @ (g + self.q))

    def step_one(self, party: Party, g: Array) -> Array:
        return np.asarray(-(self.blocks[party.i] @ (g + self.q[party.own])))


class LinearRun(AffineRun):
    """One column per entry of ``z(0)``, of ``q``, and one for 1.

    The state is ``z(k) = M z(0) + L q + t`` as the matrix ``[M, L, t]``, and likewise for ``x(k)``.
    """

    def __init__(
        self,
        problem: Problem,
        schedule: Schedule,
        *,
        theta: float,
        c: float,
        seed: int | None = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        rows, N = int(problem.rows[-1]), int(problem.columns[-1])
        q = np.zeros((N, rows + N + 1), dtype=dtype)
        q[:, rows : rows + N] = np.eye(N)
        start = np.zeros((rows, rows + N + 1), dtype=dtype)
        start[:, :rows] = np.eye(rows)
        super().__init__(problem, schedule, start, q, theta=theta, c=c, seed=seed)
        self.b = np.zeros((rows, rows + N + 1), dtype=dtype)
        self.b[:, -1] = np.broadcast_to(problem.b[:, 0], rows)
        self.rows, self.N = rows, N

    @property
    def M(self) -> Array:
        """``dz(k)/dz(0)``."""
        return self._z[:, : self.rows]

    @property
    def L(self) -> Array:
        """``dz(k)/dq``."""
        return self._z[:, self.rows : self.rows + self.N]

    def fresh(self) -> Array:
        """The map of what every node would compute now, ``x(k+1)`` if all woke."""
        return np.asarray(self.step(self.C.T @ (self._z - (self.c / 2) * self.b)))


@dataclass(frozen=True, eq=False)
class Variances:
    """Variance over the draws of ``z(0)``, mean over the entries: of ``z``, ``Z_Psi`` and ``Z_perp`` at each ``k``."""

    iterations: npt.NDArray[np.int64]
    z: Array
    z_psi: Array
    z_perp: Array


def play(run: Run, iterations: int, every: int = 1) -> Iterator[int]:
    """Advance the run, stopping at ``0, every, 2 every, ...``."""
    positive_integer(every, "every")
    length = run.schedule.length()
    if length is not None and iterations > length:
        raise InvalidInput(f"the trace has {length} iterations; got iterations={iterations}. Ask for no more.")
    for k in range(0, iterations + 1, every):
        run.advance(k - run.iteration)
        yield k


def sequence_variances(
    problem: Problem,
    schedule: Schedule,
    *,
    theta: float,
    c: float,
    variance: float,
    iterations: int,
    every: int = 1,
    seed: int | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> Variances:
    """Exact variances for one activation sequence: that of a trace, of the synchronous schedule, or of a seed.

    ``dtype=np.longdouble`` keeps the relative precision of what has decayed by many orders of magnitude.
    """
    _check(variance=variance)
    run = LinearRun(problem, schedule, theta=theta, c=c, seed=seed, dtype=dtype)
    basis = psi_basis(problem, dtype)
    seen = [(k, *_mean_variances(run.M.copy(), basis, variance)) for k in play(run, iterations, every)]
    k, z, psi, perp = (np.array(column) for column in zip(*seen, strict=True))
    return Variances(k, z, psi, perp)


def psi_basis(problem: Problem, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """An orthonormal basis of ``Psi`` over the stacked ``z``."""
    basis = Subspace(problem.network).basis(dtype)
    return basis if not problem.consensus else np.asarray(np.kron(basis, np.eye(problem.dim, dtype=dtype)))


def _mean_variances(M: Array, basis: Array, variance: float) -> tuple[float, float, float]:
    inside = basis.T @ M
    total, psi = (float(variance * np.vdot(matrix, matrix) / len(M)) for matrix in (M, inside))
    return total, psi, total - psi if basis.shape[1] < len(basis) else 0.0  # Pythagoras


def covariance(run: LinearRun, variance: float) -> Array:
    """``Cov z(k) = sigma^2 M_k M_k'`` for the sequence played so far."""
    return variance * run.M @ run.M.T


class RandomMoments:
    """``Sigma_k = E_U[Cov(z(k) | U)]`` for a random schedule, propagated exactly.

    ``T_U = I + diag(U) B`` with ``B = theta (S - I)`` and ``S = P (I + 2 c C X)`` the synchronous map, so

        E[T Sigma T'] = Sigma + diag(mu) B Sigma + (diag(mu) B Sigma)' + (B Sigma B') o E[U U'].

    ``E[U U']`` is ``mu_i`` where both entries are written by ``i`` and wake together, else the product or, if one node
    wakes at a time, 0. ``B`` is applied through ``C`` and ``X``, never formed.
    """

    def __init__(self, problem: Problem, schedule: Schedule, *, theta: float, c: float, variance: float) -> None:
        _check(theta=theta, c=c, variance=variance)
        self.problem, self.schedule, self.theta, self.c = problem, schedule, theta, c
        schedule.check(problem.network)
        network = problem.network
        self.Sigma = variance * np.eye(int(problem.rows[-1]))
        self.C, self.P = problem.C, problem.P
        self.X = -sparse.csr_array(sparse.block_diag(list(inverse_penalised(problem, c))) @ self.C.T)
        self.push = 2 * c * self.C[self.P]
        self.iteration = 0
        writer = np.repeat(network.indices, np.diff(problem.rows))
        self.written = [np.flatnonzero(writer == i) for i in range(network.n)]
        self.held = [self.P[rows] for rows in self.written]
        S = sparse.csr_array(sparse.eye_array(len(writer)) + 2 * c * (self.C @ self.X))
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
        if self.law.of == "one node" and self.problem.consensus and self.problem.dim == 1:
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
    c: float,
    variance: float,
    iterations: int,
    every: int = 1,
) -> Variances:
    """``sequence_variances``, in expectation over a random schedule."""
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


@dataclass(frozen=True, eq=False)
class SampledVariances(Variances):
    """``Variances`` from draws of ``z(0)``, each with its standard error."""

    z_stderr: Array
    z_psi_stderr: Array
    z_perp_stderr: Array


def monte_carlo(
    problem: Problem,
    schedule: Schedule,
    *,
    theta: float,
    c: float,
    variance: float,
    draws: int,
    iterations: int,
    every: int = 1,
    seed: int | None = None,
) -> SampledVariances:
    """``sequence_variances`` for any cost and schedule, estimated from ``draws`` of ``z(0)`` under one sequence.

    ``seed`` fixes the sequence and the pads, as in ``solve``.
    """
    if positive_integer(draws, "draws") < 2:
        raise InvalidInput("draws must be at least 2: one draw has no variance.")
    mask = GaussianMask(variance)
    run = start(problem, settle(problem, schedule=schedule, theta=theta, c=c, mask=mask, seed=seed, batch=draws))
    subspace = Subspace(problem.network)
    seen = [(k, *_sampled(run.stacked_z(), subspace, draws)) for k in play(run, iterations, every)]
    k, z, z_stderr, psi, psi_stderr, perp, perp_stderr = (np.array(column) for column in zip(*seen, strict=True))
    return SampledVariances(k, z, psi, perp, z_stderr, psi_stderr, perp_stderr)


def _sampled(stacked: Array, subspace: Subspace, draws: int) -> list[float]:
    """The mean over the entries of the sample variance, and its standard error: for ``z``, ``Z_Psi`` and ``Z_perp``."""
    off = stacked - stacked.mean(axis=1, keepdims=True)
    # Entry by entry of x: (d B, 2m), or (B, rows) under general constraints.
    z = off.reshape(subspace.C.shape[0], -1).T
    psi = subspace.psi(z, axis=-1)
    found = []
    for part in (z, psi, z - psi):
        # What each draw contributes. Draws are independent, so the spread of the contributions is that of their mean.
        shares = np.mean(part.reshape(-1, draws, part.shape[1]) ** 2, axis=(0, 2)) * draws / (draws - 1)
        found += [float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(draws))]
    return found


def perp_covariance(problem: Problem, *, theta: float, mu: float, variance: float, k: int) -> Array:
    """``Pi_perp (sigma^2/2) ((I + P) + |1 - 2 theta mu|^{2k} (I - P))``.

    For ``mu = 1`` this is the covariance of ``Z_perp(k)`` of a synchronous run (paper, section 4); for a random
    schedule with uniform ``mu`` its diagonal bounds that of the second moment from below (section 5).
    """
    _check(theta=theta, mu=mu, variance=variance)
    size = int(problem.rows[-1])
    basis = psi_basis(problem)
    perp = np.eye(size) - basis @ basis.T
    swapped = perp[:, problem.P]
    return np.asarray((variance / 2) * ((perp + swapped) + abs(1 - 2 * theta * mu) ** (2 * k) * (perp - swapped)))


def perp_variance(
    problem: Problem, *, theta: float, mu: float, variance: float, k: npt.NDArray[np.integer] | int
) -> Array:
    """Mean of the diagonal of ``perp_covariance`` at every ``k``; needs the two ranks only, no matrix."""
    _check(theta=theta, mu=mu, variance=variance)
    subspace = Subspace(problem.network)
    rows = subspace.C.shape[0]
    symmetric, antisymmetric = rows / 2 - subspace.rank_plus, rows / 2 - subspace.rank_minus
    decay = np.abs(1 - 2 * theta * mu) ** (2.0 * np.asarray(k))
    return np.asarray(variance * (symmetric + decay * antisymmetric) / rows)


def _check(theta: float = 1.0, mu: float = 1.0, c: float = 1.0, variance: float = 1.0) -> None:
    if not 0 < theta <= 1:
        raise InvalidInput(f"theta must be in (0, 1]; got {theta}. Use theta=1 for PDMM, 0.5 for ADMM.")
    if not 0 < mu <= 1:
        raise InvalidInput(f"mu must be in (0, 1], the probability that an entry is updated; got {mu}.")
    for name, value in (("c", c), ("variance", variance)):
        if not 0 < value < np.inf:
            raise InvalidInput(f"{name} must be a positive number; got {value}.")
