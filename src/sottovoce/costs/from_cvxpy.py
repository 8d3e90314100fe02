"""A cost written in CVXPY: ``FromCvxpy``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from threading import Lock
from typing import Any

import numpy as np

from ..errors import InvalidCost, MissingExtra, Unsupported, is_number
from ..numerics.unquoted import kind_of
from ._arguments import one_object
from .base import Array, Cost

FEASIBLE = 1e-8
"""By how much a point may violate a constraint, relative to its size, and still count as feasible."""

TOLERANCES = (1e-12, 1e-10, 1e-9)
"""What the solver is asked for, in this order; if it cannot even do the last one, the step is an error."""

STEPS = (0.95, 0.8)
"""How close to the boundary the solver may step; with its default, 0.99, it cycles on one problem in a hundred."""


class FromCvxpy(Cost):
    """``minimise objective subject to constraints`` over one CVXPY ``variable``, a number or a vector.

    Needs ``pip install 'sottovoce[cvxpy]'``. The step is compiled once, with ``g`` and ``rho`` as parameters, and
    solved by Clarabel, an interior-point method, to a gap of 1e-12 where it can and 1e-9 at worst. That is
    about 1e-6 in ``x``, and a millisecond a step: for a cost that no family of this package covers. Steps with
    ``||g||/rho`` above 1e4, as under a large mask, may defeat it. A solver that fails is an error that
    quotes its status, never an answer.

    Parameters
    ----------
    variable : cvxpy.Variable
        A number or a vector, without attributes.
    objective : cvxpy expression or cvxpy.Minimize
        Convex by CVXPY's rules, in ``variable`` alone.
    constraints : sequence of cvxpy constraints, optional
        In ``variable`` alone.

    Raises
    ------
    InvalidCost
        Where CVXPY does not see that the problem is convex, and where a step fails.
    Unsupported
        Where other variables occur, or ``variable`` has attributes.
    MissingExtra
        Where CVXPY is not installed.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import sottovoce as sv
    >>> x = cp.Variable()
    >>> costs = [sv.FromCvxpy(x, cp.abs(x - 3), [x >= 0]), sv.Averaging(1.0)]
    >>> [round(float(x), 4) for x in sv.solve(sv.Problem(sv.Network.complete(2), costs), c=1.0, tol=1e-6).x]
    [1.5, 1.5]
    """

    _fields = ("_compiled",)
    step_work = 2_000_000
    _compiled: Any  # (count,), an object array of _Compiled

    def __init__(self, variable: Any, objective: Any, constraints: Sequence[Any] = ()) -> None:
        compiled = _Compiled(variable, objective, constraints)
        self._fill(tuple(variable.shape), _compiled=one_object(compiled))

    def value(self, x: Array) -> Array:
        result = np.empty(x.shape[:-1])
        for at in np.ndindex(result.shape):
            result[at] = self._compiled[at[-1]].value(x[at].reshape(self.shape))
        return result

    def step(self, g: Array, rho: Array) -> Array:
        x = np.full(g.shape, np.nan)
        for at in np.ndindex(g.shape[:-1]):
            if np.isfinite(g[at]).all():  # a run that diverged steps to NaN, as with every other cost
                x[at] = self._compiled[at[-1]].step(g[at].reshape(self.shape), float(rho[at[-1]]))
        return x

    @property
    def irregular(self) -> str | None:
        return "a CVXPY cost does not say whether it is strongly convex and differentiable"


class _Compiled:
    """One node's problem with the step's tilt, ``objective + g'x + (rho/2)||x||^2``, as CVXPY keeps it compiled."""

    def __init__(self, variable: Any, objective: Any, constraints: Sequence[Any]) -> None:
        cp = _import_cvxpy()
        _check_variable(cp, variable)
        if isinstance(objective, cp.Maximize):
            raise InvalidCost("objective must be minimised; got a cvxpy.Maximize. Give its negative.")
        if not (is_number(objective) or isinstance(objective, cp.Minimize | cp.Expression)):
            raise InvalidCost(f"objective must be a cvxpy expression; got {kind_of(objective)}.")
        self.variable = variable
        self.objective = objective.expr if isinstance(objective, cp.Minimize) else cp.Constant(0) + objective
        self.constraints = list(constraints)
        if others := [rule for rule in self.constraints if not isinstance(rule, cp.Constraint | bool | np.bool_)]:
            raise InvalidCost(f"constraints must be a list of cvxpy constraints; it has {kind_of(others[0])} in it.")
        self.lock = Lock()  # CVXPY keeps parameters and solution in the problem: one thread at a time
        self.g = cp.Parameter(variable.shape)
        self.rho = cp.Parameter(nonneg=True)
        tilt = cp.sum(cp.multiply(self.g, variable)) + self.rho / 2 * cp.sum_squares(variable)
        self.problem = cp.Problem(cp.Minimize(self.objective + tilt), self.constraints)
        others = [other for other in self.problem.variables() if other.id != variable.id]
        if others:
            raise Unsupported(
                f"FromCvxpy: the objective and the constraints may use {variable} only; they also use {others}. "
                "Write the objective with CVXPY's own functions instead of auxiliary variables."
            )
        if not self.problem.is_dcp(dpp=True):
            rule = "its parameters must enter as DPP allows" if self.problem.is_dcp() else "it must be convex by DCP"
            raise InvalidCost(f"FromCvxpy: {rule}: look at objective.is_dcp() and at that of each constraint.")

    def value(self, x: Array) -> float:
        """The objective, or ``inf`` outside its domain or the constraints."""
        with self.lock:
            return self._value(x)

    def _value(self, x: Array) -> float:
        self.variable.save_value(x)
        slack = FEASIBLE * max(1.0, float(np.abs(x).max()))
        with np.errstate(all="ignore"):  # log(-1) and the like: outside the domain
            inside = all(np.max(rule.violation()) <= slack for rule in self.constraints)
            value = float(self.objective.value) if inside else np.inf
        return np.inf if np.isnan(value) else value

    def step(self, g: Array, rho: float) -> Array:
        """Solve to the tightest of ``TOLERANCES`` that the solver reaches, always from a cold start."""
        with self.lock:
            return self._step(g, rho)

    def _step(self, g: Array, rho: float) -> Array:
        self.g.value, self.rho.value = g, rho
        status = ""
        for tolerance, step in product(TOLERANCES, STEPS):
            status = self._solve(tolerance, step)
            if status == "optimal":
                return np.asarray(self.variable.value, dtype=np.float64).reshape(-1)
        raise InvalidCost(
            f"FromCvxpy: Clarabel could not solve a step to {TOLERANCES[-1]:g}; it said: {status}. The step had "
            f"rho = {rho:.3g} and ||g|| = {np.linalg.norm(g):.3g}. Are the constraints feasible, and is ||g||/rho, "
            "the size of the mask, below 1e4?"
        )

    def _solve(self, tolerance: float, step: float) -> str:
        cp = _import_cvxpy()
        options = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
        options["max_step_fraction"] = step
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # such a solution is refused
            try:
                self.problem.solve(solver=cp.CLARABEL, warm_start=False, **options)
            except cp.SolverError as error:
                return str(error).splitlines()[0]
        return str(self.problem.status)


def _check_variable(cp: Any, variable: Any) -> None:
    if not isinstance(variable, cp.Variable) or variable.ndim > 1:
        raise InvalidCost(f"variable must be a cvxpy.Variable() or cvxpy.Variable(d); got {kind_of(variable)}.")
    # CVXPY marks unused attributes with False, None or an empty list.
    used = [name for name, setting in variable.attributes.items() if np.any(setting)]
    if used:
        raise Unsupported(f"FromCvxpy: give {', '.join(used)} of {variable} as a constraint, not as an attribute.")


def _import_cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise MissingExtra("FromCvxpy", "cvxpy", "cvxpy") from None
    return cvxpy
