"""Compiled kernels with the reference's answer, far faster; picked automatically.

Imported on first use only: Numba takes longer to import than everything else together.
"""

from __future__ import annotations

import numpy as np

from ..problem import Problem
from ..reference import Run
from ..settings import Settings
from .runs import AsynchronousRun, BernoulliRun, NodeSpaceRun


def compiled_run(problem: Problem, settings: Settings) -> Run | None:
    """A compiled run where there is one: consensus, and quadratic costs unless the schedule is synchronous."""
    schedule = settings.schedule
    if not problem.consensus:
        return None
    # Node space adds up the x of all rounds and multiplies by c. Those matched to a tree grow with its subtrees, and
    # would lift the rounding of the sums above tol; half-edges hold newest values only.
    matched = settings.overlay is not None and isinstance(settings.c, np.ndarray) and problem.quadratic is not None
    if schedule.synchronous and not matched:
        return NodeSpaceRun(problem, settings)
    if problem.quadratic is None:
        return None
    if schedule.one_at_a_time:
        return AsynchronousRun(problem, settings)
    return None if schedule.law is None else BernoulliRun(problem, settings)
