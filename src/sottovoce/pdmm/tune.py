"""``c="auto"``: a guess from curvature and graph, then short pilot runs. Unless given, ``theta`` is tuned with it.

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

import numpy as np

from ..costs.base import Array
from ..costs.quadratic import Quadratic
from .guess import guess_c, is_kinked
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
KINKED = 2.0  # costs with kinks want a larger c than their curvature says
# Steps along c, in powers of GRID, and along THETAS. The third kind goes both ways at once: valleys lie aslant.
MOVES = ((4, 0), (2, 0), (0, 1), (2, -1), (2, 0), (0, 1), (1, 0))


def tuned_pair(problem: Problem, schedule: Schedule, theta: float | None, tol: float) -> tuple[float, float]:
    """``c`` and ``theta`` of a run with ``c="auto"``: a ``theta`` that is given stays."""
    return tune_both(problem, schedule, tol) if theta is None else (tune(problem, schedule, theta, tol), theta)


def tune(problem: Problem, schedule: Schedule, theta: float, tol: float) -> float:
    """A good ``c`` for this problem, schedule and ``theta``."""
    pilot_theta = theta if schedule.synchronous else theta / 2
    model, guess, _, limit = prepared(problem)
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
    model, guess, first, limit = prepared(problem)
    thetas = THETAS if problem.irregular is None else THETAS[:-1]
    best = 0, thetas.index(first)
    if limit >= SHORTEST:
        best = best_pair(model, guess, thetas, best, tol, limit)
    at, t = best
    c, theta = guess * GRID**at, thetas[t if schedule.synchronous else min(t + 1, len(thetas) - 1)]
    log.info("c='auto': c %.4g, theta %g", c, theta)
    return float(c), theta


def best_pair(
    model: Problem, guess: float, thetas: tuple[float, ...], best: tuple[int, int], tol: float, limit: int
) -> tuple[int, int]:
    """Downhill from ``best``: a power of ``GRID`` times ``guess``, and a place in ``thetas``."""
    counts: dict[tuple[int, int], float] = {}

    def better(at: int, t: int) -> bool:
        """Whether a pilot there beats all before it."""
        nonlocal best
        if (at, t) in counts or not 0 <= t < len(thetas) or len(counts) == PILOTS:
            return False
        record = counts.get(best, math.inf)
        counts[at, t] = iterations_to(tol, pilot(model, guess * GRID**at, thetas[t]), record, limit, fine=True)
        best = (at, t) if counts[at, t] < record else best
        return counts[at, t] < record

    better(*best)
    for at in SCAN:
        if counts[best] > limit:
            better(at, best[1])
    for along_c, along_theta in MOVES:
        for sign in (1, -1):
            while better(best[0] + sign * along_c, best[1] + sign * along_theta):
                pass
    log.info("%d pilot runs, the best about %.0f rounds", len(counts), counts[best])
    return best


def prepared(problem: Problem) -> tuple[Problem, float, float, int]:
    """What pilots play, the ``c`` and ``theta`` to begin with, and how many iterations a pilot may take."""
    model = quadratic_model(problem) or problem
    kinked = model is problem and is_kinked(problem)
    guess = guess_c(model) * (KINKED if kinked else 1.0)
    limit = 0 if kinked else int(WORK / PILOTS / work_per_iteration(model))
    if limit < SHORTEST:
        log.info("c='auto': %.4g, from curvature and graph, without pilot runs: they would take too long", guess)
    return model, guess, FIRST if kinked or limit >= SHORTEST else UNTRIED, limit


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


def quadratic_model(problem: Problem) -> Problem | None:
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
