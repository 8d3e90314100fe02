"""Runs on an NVIDIA GPU, ``engine="cuda"``: the answers of the CPU, to rounding (engine: On a GPU).

Needs the extra ``cuda``, which is CuPy; neither Numba nor an installed compiler. Imported when first asked for.
"""

from __future__ import annotations

from ...errors import Unsupported
from ..consensus_run import fits_node_space
from ..problem import Problem
from ..schedule_bases import Law, wakes_in_turn
from ..settings import Settings
from .runs import BernoulliRun, GpuRun, NodeSpaceRun, WavefrontRun
from .steps import steps_of

OTHERWISE = "Use engine='auto', which plays it on the CPU."


def cuda_run(problem: Problem, settings: Settings) -> GpuRun:
    """A run on the GPU, or why there is none."""
    schedule = settings.schedule
    if not problem.consensus:
        raise Unsupported(f"engine='cuda' plays consensus, and this network has general edge constraints. {OTHERWISE}")
    family = steps_of(problem)
    if family is None:
        raise Unsupported(
            f"engine='cuda' has steps for quadratic costs, and for Huber, AbsoluteDeviation and Box where all nodes "
            f"have the same kind; got {problem!r}. {OTHERWISE}"
        )
    if fits_node_space(problem, settings):
        return NodeSpaceRun(problem, settings, family)
    if wakes_in_turn(schedule):
        return WavefrontRun(problem, settings, family)
    law = schedule.drawn
    if law is None:
        name = type(schedule).__name__
        raise Unsupported(f"engine='cuda' has no kernel for the schedule {name}. {OTHERWISE}")
    return BernoulliRun(problem, settings, family, Law("messages") if law.of == "all" else law)
