"""Exact moments of ``z(k)`` for quadratic costs (paper, sections 4 and 5), where the iteration is affine.

With ``f_i(x) = x'Q_i x/2 + q_i'x`` everything is linear in ``(z(0), q)``, so no Monte Carlo is needed:

* for a given activation sequence ``z(k) = M_k z(0) + L_k q + t_k``, hence ``Cov z(k) = sigma^2 M_k M_k'``;
* for a random schedule the expectation of that over ``U`` obeys ``Sigma <- E_U[T_U Sigma T_U']`` (``random_moments``).

Other costs have ``monte_carlo``: the same variances from draws of ``z(0)``, with their standard errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...costs.base import Array, QuadraticForm
from ...errors import InvalidInput, Unsupported
from ...pdmm.masks import GaussianMask
from ...pdmm.overlay import Overlay, laid_on
from ...pdmm.penalties import Penalty, by_half_edge, checked_penalty
from ...pdmm.problem import Problem
from ...pdmm.reference import Party, Reference, Run
from ...pdmm.schedules import Schedule, key_of
from ...pdmm.settings import Settings, positive_integer, settle
from ...pdmm.solve import start
from .subspace import Subspace


def quadratic_of(problem: Problem) -> QuadraticForm:
    """The problem's quadratic form, or a refusal: exact moments exist for affine iterations only."""
    if problem.quadratic is None:
        raise Unsupported(
            f"exact moments need quadratic costs of one dimension; got {problem!r}. Use Monte Carlo: monte_carlo(...)."
        )
    return problem.quadratic


def inverse_penalised(problem: Problem, c: Penalty, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """``(Q_i + c sum_j A_ij'A_ij)^{-1}`` of every node, ``(n, d, d)``; a step is ``x = -(Q + c C'C)^{-1} (q + g)``."""
    Q = quadratic_of(problem).Q
    d = problem.dim
    blocks = Q if Q.ndim == 3 else Q[:, None, None] * np.eye(d)
    penalties = [problem.penalty(c, i) for i in range(problem.network.n)]
    full = np.array([rho[0] if rho.ndim == 3 else rho[0] * np.eye(d) for rho in penalties])
    if problem.consensus:  # c d_i without an intermediate rounding
        network = problem.network
        if isinstance(c, np.ndarray):
            rho = np.add.reduceat(by_half_edge(c, network).astype(dtype), network.indptr[:-1])
        else:
            rho = network.degrees.astype(dtype) * np.asarray(c, dtype=dtype)
        full = np.multiply.outer(rho, np.eye(d))
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
        c: Penalty,
        seed: int | None = None,
    ) -> None:
        check_run(theta=theta)
        c = checked_penalty(c, problem.network)
        self.blocks = inverse_penalised(problem, c, q.dtype)
        inverse = sparse.csr_array(sparse.block_diag(list(self.blocks)))
        self.q = q
        schedule = schedule.on(problem.network)
        schedule.check(problem.network)
        settings = Settings(schedule=schedule, key=key_of(seed), c=c, theta=theta, batch=q.shape[1], z0=start)
        super().__init__(problem, settings)
        # Python's floats would be rounded products of each other; in the wider type c and theta are what they are.
        self.along = self.along.astype(q.dtype) if isinstance(self.along, np.ndarray) else q.dtype.type(c)
        self.c, self.theta = c, q.dtype.type(theta)
        self._x = self._x.astype(q.dtype)
        self.step = lambda g, x: -(inverse @ (g + self.q))

    def step_one(self, party: Party, g: Array) -> Array:
        return np.asarray(-(self.blocks[party.i] @ (g + self.q[party.own])))


class LinearRun(AffineRun):
    """A run as a map: one column per entry of ``z(0)``, of ``q``, and one for 1.

    The state is ``z(k) = M z(0) + L q + t`` as the matrix ``[M, L, t]``, and likewise for ``x(k)``.

    Parameters
    ----------
    problem
        Network and quadratic costs.
    schedule, theta, c, overlay, seed
        How the run goes; a seed fixes the sequence of a random schedule. With an overlay ``z(k)`` is that of its edges,
        and ``z(0)`` that of all edges of the network.
    dtype
        ``np.longdouble`` for what decays by many orders of magnitude.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> run = sv.privacy.research.LinearRun(problem, sv.Synchronous(), theta=1.0, c=0.5)
    >>> run.advance(3)
    >>> run.M.shape, run.L.shape
    ((8, 8), (8, 4))
    """

    def __init__(
        self,
        problem: Problem,
        schedule: Schedule,
        *,
        theta: float,
        c: Penalty,
        overlay: Overlay | None = None,
        seed: int | None = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        rows, N = int(problem.rows[-1]), int(problem.columns[-1])
        q = np.zeros((N, rows + N + 1), dtype=dtype)
        q[:, rows : rows + N] = np.eye(N)
        start = np.zeros((rows, rows + N + 1), dtype=dtype)
        start[:, :rows] = np.eye(rows)
        q, start, played = laid_on(problem, overlay, q, start)
        super().__init__(played, schedule, start, q, theta=theta, c=c, seed=seed)
        self.b = np.zeros((len(start), rows + N + 1), dtype=dtype)
        self.b[:, -1] = np.broadcast_to(played.b[:, 0], len(start))
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
        return self.stepped()


@dataclass(frozen=True, eq=False)
class Variances:
    """Variance over the draws of ``z(0)``, mean over the entries: of ``z``, ``Z_Psi`` and ``Z_perp`` at each ``k``.

    Made by ``sequence_variances`` and ``random_variances``.

    Attributes
    ----------
    iterations : ndarray of int
        Each ``k``.
    z, z_psi, z_perp : ndarray
        The mean variance of an entry there, of ``z`` and of its parts in ``Psi`` and ``Psi_perp``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> run = {"theta": 0.5, "c": 0.5, "variance": 4.0, "iterations": 4, "every": 2}
    >>> sv.privacy.research.sequence_variances(problem, sv.Synchronous(), **run).iterations.tolist()
    [0, 2, 4]
    """

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
    c: Penalty,
    variance: float,
    iterations: int,
    every: int = 1,
    seed: int | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> Variances:
    """Exact variances for one activation sequence: that of a trace, of the synchronous schedule, or of a seed.

    Parameters
    ----------
    problem
        Network and quadratic costs.
    schedule, theta, c, seed
        How the run goes.
    variance
        Of an entry of ``z(0)``.
    iterations, every
        They are computed at 0, ``every``, .. up to ``iterations``.
    dtype
        ``np.longdouble`` keeps the relative precision of what has decayed by many orders of magnitude.

    Returns
    -------
    Variances
        Of ``z``, and of its parts in ``Psi`` and ``Psi_perp``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> run = {"theta": 0.5, "c": 0.5, "variance": 4.0, "iterations": 20}
    >>> found = sv.privacy.research.sequence_variances(problem, sv.Synchronous(), **run)
    >>> float(found.z[0]), bool(found.z_psi[-1] < 1e-3 * found.z_psi[0])
    (4.0, True)
    """
    check_run(variance=variance)
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
    """``Cov z(k) = sigma^2 M_k M_k'`` for the sequence played so far.

    Parameters
    ----------
    run
        Played up to ``k``.
    variance
        Of an entry of ``z(0)``.

    Returns
    -------
    Array
        Over the stacked ``z``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> run = sv.privacy.research.LinearRun(problem, sv.Synchronous(), theta=1.0, c=0.5)
    >>> sv.privacy.research.covariance(run, 4.0).trace()
    np.float64(32.0)
    """
    return variance * run.M @ run.M.T


@dataclass(frozen=True, eq=False)
class SampledVariances(Variances):
    """``Variances`` from draws of ``z(0)``, each with its standard error. Made by ``monte_carlo``.

    Attributes
    ----------
    z_stderr, z_psi_stderr, z_perp_stderr : ndarray
        Standard errors of ``z``, ``z_psi`` and ``z_perp``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> run = {"theta": 0.5, "c": 0.5, "variance": 4.0, "iterations": 1, "draws": 9, "seed": 1}
    >>> sv.privacy.research.monte_carlo(problem, sv.Synchronous(), **run).z_stderr.shape
    (2,)
    """

    z_stderr: Array
    z_psi_stderr: Array
    z_perp_stderr: Array


def monte_carlo(
    problem: Problem,
    schedule: Schedule,
    *,
    theta: float,
    c: Penalty,
    variance: float,
    draws: int,
    iterations: int,
    every: int = 1,
    seed: int | None = None,
) -> SampledVariances:
    """``sequence_variances`` for any cost and schedule, estimated from ``draws`` of ``z(0)`` under one sequence.

    Parameters
    ----------
    problem
        Network and costs.
    schedule, theta, c, seed
        How the run goes; the seed fixes the sequence and the pads, as in ``solve``.
    variance
        Of an entry of ``z(0)``.
    draws
        At least 2.
    iterations, every
        They are estimated at 0, ``every``, .. up to ``iterations``.

    Returns
    -------
    SampledVariances
        With standard errors.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> run = {"theta": 0.5, "c": 0.5, "variance": 4.0, "iterations": 5, "draws": 200, "seed": 1}
    >>> found = sv.privacy.research.monte_carlo(problem, sv.Synchronous(), **run)
    >>> bool(abs(found.z[0] - 4) < 5 * found.z_stderr[0])
    True
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


def check_run(theta: float = 1.0, mu: float = 1.0, variance: float = 1.0) -> None:
    """Refuse what is no such number."""
    if not 0 < theta <= 1:
        raise InvalidInput(f"theta must be in (0, 1]; got {theta}. Use theta=1 for PDMM, 0.5 for ADMM.")
    if not 0 < mu <= 1:
        raise InvalidInput(f"mu must be in (0, 1], the probability that an entry is updated; got {mu}.")
    if not 0 < variance < np.inf:
        raise InvalidInput(f"variance must be a positive number; got {variance}.")
