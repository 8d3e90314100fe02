"""Compiled kernels with the reference's answer, far faster; picked automatically.

Imported on first use only: Numba takes longer to import than everything else together.
"""

from __future__ import annotations

from ..consensus_run import fits_node_space
from ..problem import Problem
from ..reference import Run
from ..schedule_bases import wakes_in_turn
from ..settings import Settings
from .any_cost_runs import any_cost_run
from .runs import AsynchronousRun, BernoulliRun, NodeSpaceRun


def compiled_run(problem: Problem, settings: Settings) -> Run | None:
    """A compiled run where there is one: of every cost that is not a function of Python, and of any in node space."""
    schedule = settings.schedule
    if not problem.consensus:
        return any_cost_run(problem, settings)
    if fits_node_space(problem, settings):
        return NodeSpaceRun(problem, settings)
    if problem.quadratic is not None and wakes_in_turn(schedule):
        return AsynchronousRun(problem, settings)
    if problem.quadratic is not None and schedule.drawn is not None:
        return BernoulliRun(problem, settings)
    return any_cost_run(problem, settings)
