"""``c="auto"``: a guess from curvature and graph, then short pilot runs. Unless given, ``theta`` is tuned with it.

The guess is exact for averaging on a regular graph. There a mode of the normalised adjacency matrix with eigenvalue
``l`` has the rates ``t^2 - g l t - (1 - g) = 0``, ``g = 2 c d / (a + c d)``, for the curvature ``a`` of the costs, and
the slowest mode is fastest where its roots meet: ``c = a / (d sqrt(1 - l^2))``. With several curvatures the two
extremes are balanced by their geometric mean.

The pilots play the synchronous iteration from ``z = 0`` and count iterations. A run in which nodes wake at random
behaves like an averaged one (in expectation it is ``theta mu``-averaged, paper section 5): at a given ``theta`` its
pilots use ``theta/2``.

For quadratic costs the iteration is linear, ``z <- (1 - theta) z + theta S z``, and a mode of ``S`` with eigenvalue
``l`` shrinks by ``|1 - theta + theta l|``. With equal curvatures on a regular graph ``theta = 1`` is best or nearly so.
Where curvatures or degrees differ, no ``c`` suits all: some eigenvalues lie near the unit circle, far from 1, and
``theta < 1`` moves them inwards. The search goes downhill along ``c`` and ``theta`` in turns. Waking at random averages
as well: such a run takes the ``c`` of the synchronous one, and the next larger ``theta``.

The pilots see all the data. That is fine in a simulation; parties that run for real agree on public numbers beforehand.
"""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..costs.base import Array
from ..costs.quadratic import Quadratic
from ..network import Network
from .problem import Problem
from .reference import Run
from .schedules import Schedule
from .settings import Settings

log = logging.getLogger(__name__)

GRID = 2**0.25  # resolution of the search
STRIDES = (4, 2, 1)  # in powers of GRID
SCAN = (8, -8, 16, -16, 24, -24)  # where to look first if the guess is far off
PILOTS = 24  # at most
WORK = 2e9  # multiplications, about, for all pilots together: seconds
CALL, INTERPRETED = 1e3, 1e5  # what an iteration costs at least: compiled, and in Python
SHORTEST = 200  # iterations below which a pilot would not see the slow modes, and the guess is better

THETAS = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
FIRST = 0.8  # never far off
UNTRIED = 0.9  # where a problem is too large for pilots
# Steps along c, in powers of GRID, and along THETAS. The third kind goes both ways at once: valleys lie aslant.
MOVES = ((4, 0), (2, 0), (0, 1), (2, -1), (2, 0), (0, 1), (1, 0))


def tuned_pair(problem: Problem, schedule: Schedule, theta: float | None, tol: float) -> tuple[float, float]:
    """``c`` and ``theta`` of a run with ``c="auto"``: a ``theta`` that is given stays."""
    return tune_both(problem, schedule, tol) if theta is None else (tune(problem, schedule, theta, tol), theta)


def tune(problem: Problem, schedule: Schedule, theta: float, tol: float) -> float:
    """A good ``c`` for this problem, schedule and ``theta``."""
    pilot_theta = theta if schedule.synchronous else theta / 2
    model, guess, limit = prepared(problem)
    if limit < SHORTEST:
        return guess

    def iterations(c: float, record: float) -> float:
        return iterations_to(tol, pilot(model, c, pilot_theta), record, limit)

    counts = {0: iterations(guess, math.inf)}
    best = 0
    for at in SCAN:  # only while no pilot has arrived: extrapolations are not to be trusted far
        if counts[best] > limit:
            counts[at] = iterations(guess * GRID**at, counts[best])
            best = at if counts[at] < counts[best] else best
    for stride in STRIDES:
        for at in (best - stride, best + stride):
            while at not in counts and len(counts) < PILOTS:
                counts[at] = iterations(guess * GRID**at, counts[best])
                if counts[at] < counts[best]:
                    at, best = 2 * at - best, at  # downhill: on in the same direction
    c = guess * GRID**best
    log.info("c='auto': %.4g after %d pilot runs, about %.0f rounds", c, len(counts), counts[best])
    return float(c)


def tune_both(problem: Problem, schedule: Schedule, tol: float) -> tuple[float, float]:
    """A good ``c`` and a good ``theta`` for this problem and schedule; ``theta = 1`` only where it must converge."""
    model, guess, limit = prepared(problem)
    if limit < SHORTEST:
        return guess, UNTRIED
    thetas = THETAS if problem.irregular is None else THETAS[:-1]
    best = 0, thetas.index(FIRST)
    counts = {best: iterations_to(tol, pilot(model, guess, FIRST), math.inf, limit, fine=True)}

    def better(at: int, t: int) -> bool:
        """Whether a pilot there beats the best one so far."""
        nonlocal best
        if (at, t) in counts or not 0 <= t < len(thetas) or len(counts) == PILOTS:
            return False
        run = pilot(model, guess * GRID**at, thetas[t])
        counts[at, t] = iterations_to(tol, run, counts[best], limit, fine=True)
        found = counts[at, t] < counts[best]
        best = (at, t) if found else best
        return found

    for at in SCAN:
        if counts[best] > limit:
            better(at, best[1])
    for along_c, along_theta in MOVES:
        for sign in (1, -1):
            while better(best[0] + sign * along_c, best[1] + sign * along_theta):
                pass
    at, t = best
    c, theta = guess * GRID**at, thetas[t if schedule.synchronous else min(t + 1, len(thetas) - 1)]
    log.info("c='auto': c %.4g, theta %g after %d pilot runs, about %.0f rounds", c, theta, len(counts), counts[best])
    return float(c), theta


def prepared(problem: Problem) -> tuple[Problem, float, int]:
    """What pilots play, the ``c`` to begin with, and how many iterations a pilot may take."""
    guess = guess_c(problem)
    model = quadratic_model(problem, guess) or problem
    if model is not problem:
        guess = guess_c(model)
    limit = int(WORK / PILOTS / work_per_iteration(model))
    if limit < SHORTEST:
        log.info("c='auto': %.4g, from curvature and graph; the problem is too large for pilot runs", guess)
    return model, guess, limit


def pilot(problem: Problem, c: float, theta: float) -> Run:
    """A synchronous run from ``z = 0``."""
    from .solve import make_run

    return make_run(problem, Settings(c=c, theta=theta))


def work_per_iteration(problem: Problem) -> float:
    """In units that do not depend on the machine, so that the same problem gets the same ``c`` everywhere."""
    form = problem.quadratic
    if problem.consensus and form is not None:
        return float(problem.rows[-1]) + float(form.Q.size) + CALL
    steps = sum(len(nodes) * cost.step_work for nodes, cost in problem.groups)
    return float(problem.rows[-1]) + steps + INTERPRETED


def iterations_to(tol: float, run: Run, record: float, limit: int, fine: bool = False) -> float:
    """Iterations until the residual is below ``tol``: interpolated between looks, extrapolated beyond ``limit``,
    ``inf`` as soon as ``record`` is not beaten. Pairs of ``c`` and ``theta`` lie closer together: ``fine`` looks from
    the start, later less often."""
    first, share = (1, 8) if fine else (4, 16)
    seen = [(0, run.residual())]
    while run.iteration < min(record, limit):
        run.advance(max(first, run.iteration // share))
        residual = run.residual()
        if not math.isfinite(residual):
            return math.inf
        seen.append((run.iteration, residual))
        if residual <= tol:
            return _crossing(tol, *seen[-2:])
    if run.iteration >= record:
        return math.inf
    return _crossing(tol, seen[len(seen) // 2], seen[-1])


def _crossing(tol: float, earlier: tuple[int, float], later: tuple[int, float]) -> float:
    """Where the line through two looks, on a logarithmic scale, meets ``tol``."""
    (k, residual), (k_later, residual_later) = earlier, later
    if residual_later >= residual:
        return math.inf
    slope = math.log(residual / max(residual_later, 1e-300)) / (k_later - k)
    return k + math.log(residual / tol) / slope


def guess_c(problem: Problem) -> float:
    """``sqrt(a_min a_max) / (d sqrt(1 - l^2))``, with the extreme curvatures of the mean cost and the mean degree."""
    network = problem.network
    if problem.consensus:
        gap = max(1 - second_eigenvalue(network) ** 2, network.n**-2.0)  # no connected graph has less
        return curvature(problem) / (float(network.degrees.mean()) * math.sqrt(gap))
    return curvature(problem) / general_scale(problem)


def general_scale(problem: Problem) -> float:
    """``d sqrt(1 - l^2)`` for general blocks: under consensus it is ``sqrt(s (2d - s))``, with ``2s`` the smallest
    positive eigenvalue of ``K'K``, ``K = (I + P) C``, and ``d`` the mean of ``C'C``."""
    K = problem.C + problem.C[problem.P]
    d = float(problem.C.power(2).sum()) / problem.C.shape[1]
    if K.shape[1] > 2000:
        return d  # the eigenvalue would cost more than the pilots
    eigenvalues = np.linalg.eigvalsh((K.T @ K).toarray()) / 2
    s = float(eigenvalues[eigenvalues > 1e-9 * eigenvalues[-1]][0])
    return math.sqrt(s * max(2 * d - s, s))


def curvature(problem: Problem) -> float:
    """Geometric mean of the smallest and the largest positive curvature of the mean cost."""
    if problem.quadratic is not None:
        mean = problem.quadratic.Q.mean(axis=0)
        eigenvalues = np.linalg.eigvalsh(mean) if mean.ndim else np.array([mean])
    else:  # nodes of different dimension have no mean: all their curvatures
        forms = [cost.quadratic for _, cost in problem.groups]
        dense = [form.Q if form.Q.ndim == 1 else np.linalg.eigvalsh(form.Q).ravel() for form in forms if form]
        eigenvalues = np.sort(np.concatenate(dense)) if dense else np.ones(1)
    eigenvalues = eigenvalues[eigenvalues > 1e-10 * max(eigenvalues[-1], 1e-300)]
    return float(np.sqrt(eigenvalues[0] * eigenvalues[-1])) if len(eigenvalues) else 1.0


def second_eigenvalue(network: Network) -> float:
    """The largest modulus in ``D^{-1/2} W D^{-1/2}`` apart from 1, and from -1 of a bipartite graph: the iteration does
    not feel those. A coarse value is enough."""
    root = np.sqrt(network.degrees.astype(np.float64))
    W = network.adjacency
    trivial = [(root / np.linalg.norm(root), 1.0)]
    if network.two_colouring is not None:
        trivial.append((network.two_colouring * trivial[0][0], -1.0))

    def deflated(v: Any) -> Array:
        v = np.asarray(v, dtype=np.float64).reshape(-1)
        return np.asarray((W @ (v / root)) / root - sum(value * (mode @ v) * mode for mode, value in trivial))

    if network.n < 5:  # ARPACK wants more
        return float(np.abs(np.linalg.eigvals(np.array([deflated(e) for e in np.eye(network.n)]))).max())
    start = np.cos(np.arange(network.n)) * root  # any fixed vector: the same network gets the same c
    operator = LinearOperator((network.n, network.n), matvec=deflated, dtype=np.float64)
    try:
        largest = eigsh(operator, k=1, which="LM", tol=1e-2, v0=start, maxiter=50, return_eigenvectors=False)
    except ArpackNoConvergence as unfinished:
        largest = np.abs(unfinished.eigenvalues)
    return float(np.abs(largest).max()) if len(largest) else 1.0


def quadratic_model(problem: Problem, c: float) -> Problem | None:
    """The problem with its smooth costs replaced by their second-order models, near the optimum: far cheaper pilots."""
    if problem.quadratic is not None or not problem.consensus:
        return None
    origin = np.zeros((problem.network.n, problem.dim))
    if any(cost.hessian(origin[nodes]) is None for nodes, cost in problem.groups):
        return None

    def model_at(x: Array) -> Problem:
        Q = np.empty((problem.network.n, problem.dim, problem.dim))
        for nodes, cost in problem.groups:
            Q[nodes] = cost.hessian(x[nodes])
        return Problem(problem.network, Quadratic.many(Q, -np.einsum("nij,nj->ni", Q, x)))

    c = guess_c(model_at(origin))
    run = pilot(problem, c, 0.5)
    run.advance(20)
    return model_at(np.broadcast_to(np.mean(run.stacked_x().reshape(origin.shape), axis=0), origin.shape))
