"""Your own smooth cost, given by its value and gradient: ``FromGradient``."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidCost
from ..numerics.unquoted import kind_of
from ._arguments import as_shape, finite_vector, one_object
from ._newton import minimise, second_derivatives
from .base import Array, Cost, UnverifiedStep

PROBES = 3  # points around the start where value and gradient are compared
NEAR = 1e-3  # how far a probe looks, relative to its own distance
ROUNDING = 1e-9  # of a value, relative to it; a gradient that is wrong by a factor is further off


class FromGradient(Cost):
    """A convex, differentiable cost, given by functions of yours in NumPy.

    The step ``argmin_x f(x) + g'x + (rho/2)||x||^2`` is found by Newton's method, until its gradient is its own
    rounding error. A step that does not get there is an error, never an answer. ``value`` and ``gradient`` are compared
    when the cost is made, and again at every step. A step takes about a millisecond: for speed, write a subclass of
    ``Cost``; for a cost with kinks, give a prox to ``Custom``.

    Parameters
    ----------
    value : callable
        ``value(x)`` is ``f(x)``, or ``inf`` outside the domain. ``x`` is a vector of length ``dim``, or a plain number
        if ``dim`` is None.
    gradient : callable
        ``gradient(x)``, in the shape of ``x``.
    dim : int, optional
        Length of ``x``; None for a number.
    hessian : callable, optional
        ``hessian(x)``, a ``(dim, dim)`` array, or a number if ``dim`` is None. Without it the gradient is differenced:
        column by column up to 200 dimensions, along conjugate directions beyond.
    start : array_like, optional
        A point in the domain, where every step begins; zero by default. What is found does not depend on it.

    Raises
    ------
    InvalidCost
        Where a function returns what it must not, where value and gradient do not belong to one convex function, and
        where a step does not reach its minimum to rounding.

    Examples
    --------
    ``log cosh``, a smooth absolute value; consensus on it is close to the median.

    >>> import numpy as np
    >>> import sottovoce as sv
    >>> def soft(s):
    ...     return sv.FromGradient(lambda x: np.logaddexp(x - s, s - x) - np.log(2), lambda x: np.tanh(x - s))
    >>> problem = sv.Problem(sv.Network.ring(3), [soft(s) for s in (1.0, 2.0, 30.0)])
    >>> [round(float(x), 6) for x in sv.solve(problem).x]
    [2.175696, 2.175696, 2.175696]
    """

    _fields = ("_functions", "_start", "_slope")
    step_work = 200_000
    _functions: Any  # (count,), an object array of _Functions
    _start: Array  # (count, d)
    _slope: Array  # (count, d), the gradient there

    def __init__(
        self,
        value: Callable[[Any], float],
        gradient: Callable[[Any], Any],
        dim: int | None = None,
        hessian: Callable[[Any], Any] | None = None,
        start: npt.ArrayLike = 0.0,
    ) -> None:
        for name, function in (("value", value), ("gradient", gradient), ("hessian", hessian)):
            if not (callable(function) or (name == "hessian" and function is None)):
                raise InvalidCost(f"{name} must be a function; got {kind_of(function)}.")
        shape = as_shape(dim)
        rows, given = finite_vector(start, "start")
        if given not in ((), shape):
            raise InvalidCost(f"start must be a number, or a vector of dim = {dim} entries; got shape {given}.")
        rows = np.ascontiguousarray(np.broadcast_to(rows, (1, *(shape or (1,)))))
        functions = _Functions(value, gradient, hessian, shape)
        slope = functions.checked(rows[0])
        self._fill(shape, _functions=one_object(functions), _start=rows, _slope=slope[None])

    def value(self, x: Array) -> Array:
        result = np.empty(x.shape[:-1])
        with np.errstate(all="ignore"):  # log(-1) and the like, outside the domain
            for at in np.ndindex(result.shape):
                result[at] = self._functions[at[-1]].value(x[at])
        return result

    def step(self, g: Array, rho: Array) -> Array:
        """Damped Newton from ``start``, until the gradient is nothing but rounding; then the tangent is checked."""
        x = np.full(g.shape, np.nan)
        for at in np.ndindex(g.shape[:-1]):
            if np.isfinite(g[at]).all():  # a run that diverged steps to NaN, as with every other cost
                x[at] = self._step_one(at[-1], np.array(g[at]), float(rho[at[-1]]))
        return x

    @np.errstate(all="ignore")  # far out, where a step only looks
    def _step_one(self, i: int, g: Array, rho: float) -> Array:
        functions, start = self._functions[i], self._start[i]
        x = minimise(functions, start, g, rho)
        if x is None:
            cure = "Give hessian, bring x to size 1, raise c, or use Custom."
            raise UnverifiedStep(self, i, rho, g, f"Is gradient exact, and f smooth and convex? {cure}")
        functions.compare(x, start)
        return x

    @np.errstate(all="ignore")  # outside the domain
    def gradient(self, x: Array) -> Array:
        found = [functions.gradient(x[i]) for i, functions in enumerate(self._functions)]
        return np.stack([np.full(self.dim, np.nan) if one is None else one for one in found])

    @np.errstate(all="ignore")
    def hessian(self, x: Array) -> Array | None:
        """As given, or by differences of the gradient in up to 200 dimensions."""
        found = [second_derivatives(functions, x[i]) for i, functions in enumerate(self._functions)]
        return None if any(one is None for one in found) else np.stack([one for one in found if one is not None])

    @property
    def sizes(self) -> tuple[float, float]:
        return float(np.abs(self._start).max()), float(np.abs(self._slope).max())

    @property
    def irregular(self) -> str | None:
        return "a cost given by its gradient does not say whether it is strongly convex"


class _Functions:
    """One node's functions, with what they return checked. Nothing that they return is quoted: it is data."""

    def __init__(self, value: Any, gradient: Any, hessian: Any, shape: tuple[int, ...]) -> None:
        self._value, self._gradient, self._hessian, self.shape = value, gradient, hessian, shape

    def value(self, x: Array) -> float:
        """``f(x)``; ``inf`` outside the domain, where it may also be NaN."""
        result = self._returned("value", self._value, x, ())
        if result == -np.inf:
            raise InvalidCost("FromGradient: value returned -inf; a convex cost is bounded below on bounded sets.")
        return np.inf if np.isnan(result) else float(result)

    def gradient(self, x: Array) -> Array | None:
        """The gradient, or None outside the domain."""
        return self.both(x)[1]

    def both(self, x: Array) -> tuple[float, Array | None]:
        """Value and gradient."""
        value = self.value(x)
        if not isfinite(value):
            return value, None
        slope = self._returned("gradient", self._gradient, x, self.shape).reshape(-1)
        return value, slope if np.isfinite(slope).all() else None

    def hessian(self, x: Array) -> Array | None:
        """The Hessian, or None where there is none to ask."""
        if self._hessian is None:
            return None
        matrix = self._returned("hessian", self._hessian, x, 2 * self.shape).reshape(len(x), len(x))
        if not np.abs(matrix - matrix.T).max() <= 1e-8 * np.abs(matrix).max():  # nor is NaN
            raise InvalidCost("FromGradient: hessian must return finite numbers, symmetric; it did not.")
        return matrix

    def _returned(self, name: str, function: Any, x: Array, shape: tuple[int, ...]) -> Array:
        result = np.asarray(function(x.copy() if self.shape else float(x[0])))
        if result.shape != shape or result.dtype.kind not in "fiu":
            wanted = f"an array of shape {shape}" if shape else "a number"
            got = f"shape {result.shape}" if result.dtype.kind in "fiu" else f"type {result.dtype}"
            raise InvalidCost(f"FromGradient: {name} must return {wanted}; it returned one of {got}.")
        return result.astype(np.float64)

    @np.errstate(all="ignore")
    def checked(self, start: Array) -> Array:
        """The gradient at the start, once all functions are as they must be, there and around."""
        slope = self.gradient(start)
        if slope is None:
            raise InvalidCost(
                "FromGradient: value and gradient must be finite at start; they are not. Give start=, a point in the "
                "domain of the cost."
            )
        self.hessian(start)
        rng = np.random.default_rng(0)  # the same probes for everybody
        size = float(np.abs(start).max()) or 1.0
        for _ in range(PROBES):
            probe = start + size * rng.normal(size=start.shape)
            if self.gradient(probe) is not None:
                self.compare(probe, probe + NEAR * size * rng.normal(size=start.shape))
        return slope

    def compare(self, x: Array, y: Array) -> None:
        """A convex function lies above its tangents: at ``y`` above that of ``x``, and at ``x`` above that of ``y``."""
        (value, here), (other, there) = self.both(x), self.both(y)
        if here is None or there is None:
            return  # outside the domain nothing is promised
        low, high = float(here @ (y - x)), float(there @ (y - x))
        terms = float((np.abs(here) + np.abs(there)) @ (np.abs(x) + np.abs(y)))  # whose rounding is in low and high
        slack = ROUNDING * (abs(value) + abs(other)) + 1e-12 * terms
        if not low - slack <= other - value <= high + slack:
            raise InvalidCost(
                "FromGradient: value and gradient do not belong to one convex function: between two points, value does "
                "not rise as the gradients there say. Check the gradient by differences of value."
            )
