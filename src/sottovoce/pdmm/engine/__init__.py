"""Compiled kernels with the reference's answer, far faster; picked automatically.

Imported on first use only: Numba takes longer to import than everything else together.
"""

from __future__ import annotations

from ..problem import Problem
from ..reference import Run
from ..settings import Settings
from .runs import AsynchronousRun, BernoulliRun, NodeSpaceRun


def compiled_run(problem: Problem, settings: Settings) -> Run | None:
    """A compiled run where there is one: consensus, and quadratic costs unless the schedule is synchronous."""
    schedule = settings.schedule
    if not problem.consensus:
        return None
    if schedule.synchronous:
        return NodeSpaceRun(problem, settings)
    if problem.quadratic is None:
        return None
    if schedule.one_at_a_time:
        return AsynchronousRun(problem, settings)
    return None if schedule.law is None else BernoulliRun(problem, settings)
