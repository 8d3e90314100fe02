"""``c="auto"``: a guess from curvature and graph, then short pilot runs. Unless given, ``theta`` is tuned with it.

At a given ``theta`` pilots play the synchronous iteration and count iterations. A run in which nodes wake at random
behaves like an averaged one (in expectation it is ``theta mu``-averaged, paper section 5): its pilots use ``theta/2``.
One in which they take turns does not, and has pilots of its own kind.

For quadratic costs the iteration is linear, ``z <- (1 - theta) z + theta S z``, and a mode of ``S`` with eigenvalue
``l`` shrinks by ``|1 - theta + theta l|``. With equal curvatures on a regular graph ``theta = 1`` is best or nearly so.
Where curvatures or degrees differ, no ``c`` suits all: some eigenvalues lie near the unit circle, far from 1, and
``theta < 1`` moves them inwards. The search goes downhill along ``c`` and ``theta`` in turns. Waking at random averages
as well, and how much depends on the graph: pilots for a pair play the schedule itself, with keys of their own. Where
such a pilot would be slow, the run takes the ``c`` of the synchronous one and the next larger ``theta``.

The pilots see all the data. That is fine in a simulation; parties that run for real agree on public numbers beforehand.
"""

from __future__ import annotations

import logging
import math

from .pilots import Stage, pilot, staged
from .problem import Problem
from .reference import Run
from .schedules import Schedule, Synchronous
from .settings import Engine
from .turns import Turns

log = logging.getLogger(__name__)

GRID = 2**0.25  # resolution of the search
STRIDES = (4, 2, 1)  # in powers of GRID
SCAN = (8, -8, 16, -16, 24, -24)  # where to look first if the guess is far off
PILOTS = 24  # at most
NODES = 30  # one sequence of activations says little in a small network: as many as make this many nodes
WORK = 2e9  # multiplications, about, for all pilots together: seconds
CALL, INTERPRETED = 1e3, 1e5  # what an iteration costs at least: compiled, and in Python
# A pilot looks at its residual after so many rounds, and later after this part of the rounds so far. Pairs of c and
# theta lie closer together than values of c. A look costs more than a round of a small model.
LOOKS, FINE, FEW = (4, 16), (1, 8), (10, 2)
SHORTEST = 200  # iterations below which a pilot would not see the slow modes, and the guess is better

THETAS = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
FIRST = 0.8  # never far off
UNTRIED = 0.9  # where there are no pilots
# Steps along c, in powers of GRID, and along THETAS. The third kind goes both ways at once: valleys lie aslant.
MOVES = ((4, 0), (2, 0), (0, 1), (2, -1), (2, 0), (0, 1), (1, 0))
# Where costs are straight or held, theta alone decides in a wide range of c, and valleys lie aslant both ways.
KINKED_MOVES = ((0, 1), (2, 0), (2, 1), (2, -1), (0, 1))


def tuned_pair(
    problem: Problem, schedule: Schedule, theta: float | None, tol: float, engine: Engine = "auto"
) -> tuple[float, float]:
    """``c`` and ``theta`` of a run with ``c="auto"``: a ``theta`` that is given stays. Pilots go on ``"cuda"`` if asked
    to: a machine with a GPU may have nothing else that is fast."""
    engine = "cuda" if engine == "cuda" else "auto"
    if theta is None:
        return tune_both(problem, schedule, tol, engine)
    return tune(problem, schedule, theta, tol, engine), theta


def tune(problem: Problem, schedule: Schedule, theta: float, tol: float, engine: Engine = "auto") -> float:
    """A good ``c`` for this problem, schedule and ``theta``."""
    stage, limit = prepared(problem, engine)
    turns = isinstance(schedule, Turns) and own_pilots(stage, schedule)
    played = schedule if turns else Synchronous()
    pilot_theta = theta if turns or schedule.synchronous else theta / 2
    guess = stage.guess
    if limit < SHORTEST:
        return guess

    def iterations(c: float, record: float) -> float:
        run = pilot(stage.problem, c, pilot_theta, played, z0=stage.z0, engine=stage.engine)
        return rounds_to(tol, run, record, limit, LOOKS)

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


def tune_both(problem: Problem, schedule: Schedule, tol: float, engine: Engine = "auto") -> tuple[float, float]:
    """A good ``c`` and a good ``theta`` for this problem and schedule; ``theta = 1`` only where it must converge."""
    stage, limit = prepared(problem, engine)
    thetas = THETAS if problem.irregular is None else THETAS[:-1]
    own = own_pilots(stage, schedule)
    tried = limit >= SHORTEST
    best = 0, thetas.index(FIRST if tried else UNTRIED)
    if tried:
        best = best_pair(stage, schedule if own else Synchronous(), thetas, best, tol, limit)
    at, t = best
    if not (schedule.synchronous or (own and tried)):
        t = min(t + 1, len(thetas) - 1)
    c, theta = stage.guess * GRID**at, thetas[t]
    log.info("c='auto': c %.4g, theta %g", c, theta)
    return float(c), theta


def own_pilots(stage: Stage, schedule: Schedule) -> bool:
    """Whether pilots can play the schedule itself: those of any law, and turns, are compiled where costs are quadratic;
    where not, only synchronous ones are vectorised."""
    known = schedule.law is not None or isinstance(schedule, Turns)
    return known and stage.problem.consensus and stage.problem.quadratic is not None


def best_pair(
    stage: Stage, schedule: Schedule, thetas: tuple[float, ...], best: tuple[int, int], tol: float, limit: int
) -> tuple[int, int]:
    """Downhill from ``best``: a power of ``GRID`` times the guess, and a place in ``thetas``."""
    counts: dict[tuple[int, int], float] = {}
    sequences = 1 if schedule.planned else max(1, NODES // stage.problem.network.n)

    def rounds(c: float, theta: float, record: float) -> float:
        """Of all sequences together."""
        total = 0.0
        for key in range(sequences):
            run = pilot(stage.problem, c, theta, schedule, key, stage.z0, stage.engine)
            total += rounds_to(tol, run, record - total, limit, FEW if stage.kinked else FINE)
            if total >= record:
                break
        return total

    def better(at: int, t: int) -> bool:
        """Whether a pilot there beats all before it."""
        nonlocal best
        if (at, t) in counts or not 0 <= t < len(thetas) or len(counts) == PILOTS:
            return False
        record = counts.get(best, math.inf)
        counts[at, t] = rounds(stage.guess * GRID**at, thetas[t], record)
        best = (at, t) if counts[at, t] < record else best
        return counts[at, t] < record

    better(*best)
    for at in SCAN:
        if counts[best] > sequences * limit:
            better(at, best[1])
    for along_c, along_theta in KINKED_MOVES if stage.kinked else MOVES:
        for sign in (1, -1):
            while better(best[0] + sign * along_c, best[1] + sign * along_theta):
                pass
    log.info("%d pilot runs, the best about %.0f rounds", len(counts), counts[best] / sequences)
    return best


def prepared(problem: Problem, engine: Engine) -> tuple[Stage, int]:
    """What pilots play, and how many iterations a pilot may take."""
    stage = staged(problem, WORK / PILOTS / SHORTEST, engine)
    limit = 0 if stage.kinked and stage.z0 is None else int(WORK / PILOTS / work_per_iteration(stage.problem))
    if limit < SHORTEST:
        log.info("c='auto': %.4g, from curvature and graph, without pilot runs: they would take too long", stage.guess)
    return stage, limit


def work_per_iteration(problem: Problem) -> float:
    """In units that do not depend on the machine, so that the same problem gets the same ``c`` everywhere."""
    form = problem.quadratic
    if problem.consensus and form is not None:
        return float(problem.rows[-1]) + float(form.Q.size) + CALL
    steps = sum(len(nodes) * cost.step_work for nodes, cost in problem.groups)
    return float(problem.rows[-1]) + steps + INTERPRETED


def rounds_to(tol: float, run: Run, record: float, limit: int, looks: tuple[int, int]) -> float:
    """Rounds until the residual is below ``tol``: interpolated between looks, extrapolated beyond ``limit``,
    ``inf`` as soon as ``record`` is not beaten."""
    first, share = looks
    done, a_round = 0, run.schedule.round(run.problem.network)
    seen = [(0, run.residual())]
    while done < min(record, limit):
        some = max(first, done // share)
        run.advance(some * a_round)
        done += some
        residual = run.residual()
        if not math.isfinite(residual):
            return math.inf
        seen.append((done, residual))
        if residual <= tol:
            return _crossing(tol, *seen[-2:])
    if done >= record:
        return math.inf
    return _crossing(tol, seen[len(seen) // 2], seen[-1])


def _crossing(tol: float, earlier: tuple[int, float], later: tuple[int, float]) -> float:
    """Where the line through two looks, on a logarithmic scale, meets ``tol``."""
    (k, residual), (k_later, residual_later) = earlier, later
    if residual_later >= residual:
        return math.inf
    slope = math.log(residual / max(residual_later, 1e-300)) / (k_later - k)
    return k + math.log(residual / tol) / slope
