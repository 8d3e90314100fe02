"""The exact answer that all methods are measured against, and when an iteration has come to it.

All iterative methods stop by the same rule, of an observer who knows the answer: no method is judged by how well its
own residual tells how far it is.
"""

from __future__ import annotations

import numpy as np

from ..costs.base import Array
from ..errors import NotConverged
from ..pdmm.problem import Problem
from ..pdmm.solve import solve


def optimum(problem: Problem) -> Array:
    """``argmin_x sum_i f_i(x)``, ``(d,)``: by linear algebra for quadratic costs, by a long run for others."""
    form = problem.quadratic
    if form is not None:
        if form.Q.ndim == 1:
            return np.asarray(-form.q.sum(axis=0) / form.Q.sum())
        return np.asarray(np.linalg.solve(form.Q.sum(axis=0), -form.q.sum(axis=0)))
    result = solve(problem, tol=1e-13, progress=False)
    if not result.converged:
        raise NotConverged("no exact answer to compare with: the reference run did not converge to 1e-13.")
    return np.asarray(np.reshape(result.x, (problem.network.n, problem.dim)).mean(axis=0))


def reached(x: Array, exact: Array, tol: float) -> bool:
    """Whether every node's answer is within ``tol``, relative to the largest entry of the exact one, or 1."""
    return bool(np.abs(x - exact).max() <= tol * max(1.0, float(np.abs(exact).max())))
