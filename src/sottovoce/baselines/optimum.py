"""The exact answer that all methods are measured against, and when an iteration has come to it.

All iterative methods stop by the same rule, of an observer who knows the answer: no method is judged by how well its
own residual tells how far it is.
"""

from __future__ import annotations

import warnings

import numpy as np

from ..costs.base import Array
from ..errors import NotConverged, NotConvergedWarning
from ..pdmm.problem import Problem
from ..pdmm.settings import settle
from ..pdmm.solve import solve

AIM, ENOUGH = 1e-13, 1e-11  # of the reference run: a cost whose steps round more never reaches the first
LONGEST = 20_000  # rounds


def optimum(problem: Problem) -> Array:
    """``argmin_x sum_i f_i(x)``, ``(d,)``: by linear algebra for quadratic costs, by a long run for others. Where
    several points are best, as a median may be, it is one of them, and no method need come to it."""
    form = problem.quadratic
    if form is not None:
        if form.Q.ndim == 1:
            return np.asarray(-form.q.sum(axis=0) / form.Q.sum())
        return np.asarray(np.linalg.solve(form.Q.sum(axis=0), -form.q.sum(axis=0)))
    how = settle(problem)  # tuned for an ordinary run: pilot runs to 1e-13 would mostly see rounding
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        result = solve(problem, c=how.c, theta=how.theta, tol=AIM, max_rounds=LONGEST, progress=False)
    if not result.residual <= ENOUGH:
        raise NotConverged(
            f"no exact answer to compare with: the reference run stopped at a residual of {result.residual:.1e}, and "
            f"{ENOUGH:g} is needed. Scale the data, or add a ridge."
        )
    return np.asarray(np.reshape(result.x, (problem.network.n, problem.dim)).mean(axis=0))


def reached(x: Array, exact: Array, tol: float) -> bool:
    """Whether every node's answer is within ``tol``, relative to the largest entry of the exact one, or 1."""
    return bool(np.abs(x - exact).max() <= tol * max(1.0, float(np.abs(exact).max())))
