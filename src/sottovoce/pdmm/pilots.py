"""What the pilot runs of ``c="auto"`` play: the problem itself, or a quadratic model that is far cheaper to step.

Near the optimum a smooth cost is a parabola. A cost with kinks is one too, on the piece where a node's ``x`` comes to
rest: a coordinate that a lasso holds at zero stays there, and a Huber loss is straight or a parabola. Twenty iterations
of the true run tell the pieces, mostly. The model then starts at the ``z`` of its first iteration, before the kinks
took hold: what is held only averages, by ``|1 - 2 theta|`` an iteration, and ``z = 0`` would not show it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..costs.base import Array
from ..costs.quadratic import Quadratic
from .guess import guess_c, is_kinked
from .problem import Problem
from .reference import Run
from .schedules import Schedule, Synchronous
from .settings import Engine, Settings

LOOK = 20  # iterations of the true run before its model is made
KINKED, THETA = 2.0, 0.8  # costs with kinks want a larger c than their curvature says
HELD = 1e12  # times the largest curvature: far below any tolerance, what is held does not move


class Stage(NamedTuple):
    """What pilots play, from where, and the ``c`` to begin with."""

    problem: Problem
    guess: float
    z0: Array | None = None  # None is 0
    kinked: bool = False
    engine: Engine = "auto"


def staged(problem: Problem, room: float, engine: Engine) -> Stage:
    """The model of a problem where it has one. That of pieces costs a matrix a node: not where an iteration would take
    more than ``room`` multiplications."""
    return _model(problem, room, engine)._replace(engine=engine)


def _model(problem: Problem, room: float, engine: Engine) -> Stage:
    if problem.quadratic is not None or not problem.consensus:
        return Stage(problem, guess_c(problem))
    if (model := smooth_model(problem, engine)) is not None:
        return Stage(model, guess_c(model))
    if not is_kinked(problem):
        return Stage(problem, guess_c(problem))
    guess = KINKED * guess_c(problem)
    small = problem.network.n * problem.dim**2 <= room
    return (piece_model(problem, guess, engine) if small else None) or Stage(problem, guess, kinked=True)


def pilot(
    problem: Problem,
    c: float,
    theta: float,
    schedule: Schedule | None = None,
    key: int = 0,
    z0: Array | None = None,
    engine: Engine = "auto",
) -> Run:
    """A run, synchronous and from ``z = 0`` unless told."""
    from .solve import make_run

    asked = Settings(c=c, theta=theta, schedule=schedule or Synchronous(), key=key, z0=z0, engine=engine)
    return make_run(problem, asked)


def smooth_model(problem: Problem, engine: Engine) -> Problem | None:
    """The problem with its smooth costs replaced by their second-order models, near the optimum."""
    origin = np.zeros((problem.network.n, problem.dim))
    if any(cost.hessian(origin[nodes]) is None for nodes, cost in problem.groups):
        return None

    def model_at(x: Array) -> Problem:
        Q = np.empty((problem.network.n, problem.dim, problem.dim))
        for nodes, cost in problem.groups:
            Q[nodes] = cost.hessian(x[nodes])
        return Problem(problem.network, Quadratic.many(Q, -np.einsum("nij,nj->ni", Q, x)))

    c = guess_c(model_at(origin))
    run = pilot(problem, c, 0.5, engine=engine)
    run.advance(LOOK)
    return model_at(np.broadcast_to(np.mean(run.stacked_x().reshape(origin.shape), axis=0), origin.shape))


def piece_model(problem: Problem, guess: float, engine: Engine) -> Stage | None:
    """Each node's cost on the piece where its ``x`` is, with the slope that it has there; None where a cost does
    not tell its pieces."""
    run = pilot(problem, guess, THETA, engine=engine)
    run.advance(1)
    z0 = run.stacked_z().copy()
    run.advance(LOOK - 1)
    stacked, n, d = run.stacked_x(), problem.network.n, problem.dim
    x = stacked.reshape(n, d)
    slopes = -(problem.C.T @ (run.stacked_z() + guess * (problem.C @ stacked))).reshape(n, d)
    q = slopes - slopes.mean(axis=0)  # balanced: the model has its optimum at the mean of x, however flat it is
    Q, free = np.empty((n, d, d)), np.empty((n, d), dtype=np.bool_)
    for nodes, cost in problem.groups:
        piece = cost.piece(x[nodes])
        if piece is None:
            return None
        Q[nodes], free[nodes] = piece
    Q *= free[:, :, None] & free[:, None, :]
    q -= Q @ x.mean(axis=0)
    Q += (HELD * max(Q.max(), 1.0) * ~free)[:, :, None] * np.eye(d)
    # Coordinates that all nodes hold move alike, and apart from the others: one of them is enough.
    kept = np.union1d(np.flatnonzero(free.any(axis=0)), np.flatnonzero(~free.any(axis=0))[:1])
    model = Problem(problem.network, Quadratic.many(Q[:, kept[:, None], kept], q[:, kept]))
    return Stage(model, guess, z0.reshape(-1, d)[:, kept].reshape(-1, 1), kinked=True)
