"""Compiled kernels with the reference's answer, far faster; picked automatically.

Imported on first use only: Numba takes longer to import than everything else together.
"""

from __future__ import annotations

from ...costs.base import Array
from ..problem import Problem
from ..reference import Run
from ..schedules import EdgeBernoulli, NodeBernoulli, NodeSchedule, Schedule, Synchronous
from .runs import AsynchronousRun, BernoulliRun, NodeSpaceRun


def compiled_run(
    problem: Problem, schedule: Schedule, key: int, c: float, theta: float, batch: int | None, z0: Array | None
) -> Run | None:
    """A compiled run where there is one: consensus, and quadratic costs unless the schedule is synchronous."""
    if not problem.consensus:
        return None
    if isinstance(schedule, Synchronous):
        return NodeSpaceRun(problem, schedule, key, c, theta, batch, z0)
    if problem.quadratic is None:
        return None
    if isinstance(schedule, NodeSchedule):
        return AsynchronousRun(problem, schedule, key, c, theta, batch, z0)
    if isinstance(schedule, EdgeBernoulli | NodeBernoulli):
        return BernoulliRun(problem, schedule, key, c, theta, batch, z0)
    return None
