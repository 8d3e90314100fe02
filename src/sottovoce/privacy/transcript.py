"""What a recorded transcript reveals, for quadratic costs and Gaussian secrets and pads (THEORY, section 4).

An adversary that taps the channels keeps every message ``r_{j|i} = y_{j|i} - z_{j|i}(0)``; corrupt nodes add their own
secrets and the pads of their edges. All of it is linear in ``(z(0), q)``: stacked and scaled by the prior, the rows
span a subspace, and the share of ``S_i``'s variance that the view explains is its squared projection onto it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from ..costs.base import Array, QuadraticForm
from ..errors import InvalidInput, Unsupported
from ..problem import Problem
from ..schedules import NodeSchedule, Schedule, Synchronous
from .moments import LinearRun, quadratic_of

RANK = 1e-9  # singular values below this share of the largest are rounding


def transcript_information(
    problem: Problem,
    schedule: Schedule,
    *,
    corrupt: Collection[int],
    theta: float,
    c: float,
    variance: float,
    secret_variance: float = 1.0,
    iterations: int,
    seed: int | None = None,
) -> Array:
    """``I(S_i; view)`` in nats for every node, ``nan`` for corrupt ones, after ``iterations`` iterations."""
    form = _scalar_form(problem, corrupt, variance, secret_variance)
    if not isinstance(schedule, NodeSchedule | Synchronous):
        raise Unsupported("the transcript is implemented for synchronous and one-node schedules.")
    length = schedule.length()
    if length is not None and length < iterations:
        raise InvalidInput(f"the trace has {length} steps; got iterations={iterations}.")
    network = problem.network
    run = LinearRun(problem, schedule, theta=theta, c=c, seed=seed)
    rows, N = run.rows, run.N
    identity = np.eye(rows + N + 1)
    written = network.indices  # the node that writes row h
    view = [identity[rows + i] for i in corrupt]
    touched = np.isin(network.holders, list(corrupt)) | np.isin(written, list(corrupt))
    view.extend(identity[:rows][touched])
    basis = np.empty((0, rows + N))
    prior = np.concatenate([np.full(rows, np.sqrt(variance)), np.sqrt(secret_variance) * form.Q])
    before = run.stacked_z().copy()
    for k in range(iterations):
        run.advance(1)
        y = (before + 2 * run.c * (run.C @ run.stacked_x()))[run.P]
        view.extend((y - identity[:rows])[np.isin(written, _awake(run, k))])
        before = run.stacked_z().copy()
        if len(view) > 4 * (rows + N):  # only the row space matters
            basis, view = _row_space(basis, view, prior), []
    basis = _row_space(basis, view, prior)
    explained = np.sum(basis[:, rows:] ** 2, axis=0)
    nats = np.where(explained > 1 - RANK, np.inf, -0.5 * np.log1p(-np.minimum(explained, 1 - 1e-16)))
    nats[list(corrupt)] = np.nan
    return nats


def _scalar_form(problem: Problem, corrupt: Collection[int], variance: float, secret_variance: float) -> QuadraticForm:
    form = quadratic_of(problem)
    if problem.dim != 1 or not problem.consensus:
        raise Unsupported("implemented for consensus on scalars; entries of vectors are independent of each other.")
    for i in corrupt:
        if isinstance(i, bool) or not isinstance(i, int | np.integer) or not 0 <= i < problem.network.n:
            raise InvalidInput(f"corrupt must name nodes in 0 .. {problem.network.n - 1}; got {i!r}.")
    if not (variance > 0 and secret_variance > 0):
        raise InvalidInput(f"variances must be positive; got {variance} and {secret_variance}.")
    return form


def _awake(run: LinearRun, k: int) -> npt.NDArray[np.int64]:
    if isinstance(run.schedule, NodeSchedule):
        return run.schedule.nodes(run.problem.network, run.key, k, 1)
    return np.arange(run.problem.network.n, dtype=np.int64)


def _row_space(basis: Array, view: list[Array], prior: Array) -> Array:
    """Orthonormal rows that span the old basis and the new functionals, scaled by the prior; the constant is known."""
    new = np.array(view).reshape(len(view), len(prior) + 1)[:, :-1] * prior
    functionals = np.concatenate([basis, new])
    if not functionals.any():
        return basis  # nothing was seen
    norms = np.linalg.norm(functionals, axis=1)
    _, singular, right = np.linalg.svd(functionals[norms > 0] / norms[norms > 0, None], full_matrices=False)
    return np.asarray(right[singular > RANK * singular[0]])


def coalition_closed_form(
    problem: Problem, *, corrupt: Collection[int], variance: float, secret_variance: float = 1.0
) -> Array:
    """``-1/2 ln(1 - [(I + rho L_h)^{-1}]_ii)``, ``rho = sigma^2 / (2 a^2 sigma_s^2)``: coalition and tapped channels,
    once every directed edge has carried one message, for ``f_i = (a/2)||x - s_i||^2`` (THEORY 4, exact)."""
    form = _scalar_form(problem, corrupt, variance, secret_variance)
    if not len(set(corrupt)) or len(set(form.Q)) != 1:
        raise Unsupported("the closed form is for averaging with one curvature, and at least one corrupt node.")
    honest = [i for i in range(problem.network.n) if i not in set(corrupt)]
    W = problem.network.adjacency.toarray()[np.ix_(honest, honest)]
    rho = variance / (2 * form.Q[0] ** 2 * secret_variance)
    posterior = np.linalg.inv(np.eye(len(honest)) + rho * (np.diag(W.sum(axis=1)) - W))
    nats = np.full(problem.network.n, np.nan)
    with np.errstate(divide="ignore"):  # a node without honest neighbours is disclosed: inf
        nats[honest] = -0.5 * np.log1p(-np.minimum(np.diag(posterior), 1.0))
    return nats
