"""Your own cost, given by its prox: ``Custom``."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, prod
from typing import Any

import numpy as np

from ..errors import InvalidCost
from ..numerics.unquoted import kind_of
from ._arguments import as_shape, one_object
from .base import Array, Cost


class Custom(Cost):
    """Any closed convex cost ``f``, given by its prox, a function of yours.

    A result must depend on the arguments only, and be exact to about the ``tol`` of the run. For a smooth cost,
    ``FromGradient`` needs no prox.

    Parameters
    ----------
    prox : callable
        ``prox(v, t)`` is ``argmin_x f(x) + ||x - v||^2/(2t)`` for a number ``t > 0``. ``v`` and the result are vectors
        of length ``dim``, or plain numbers if ``dim`` is None.
    value : callable
        ``value(x)`` is ``f(x)``, or ``inf`` outside the domain.
    dim : int, optional
        Length of ``x``; None for a number.

    Raises
    ------
    InvalidCost
        Where an argument is not a function, or a result not of the shape of ``x``, or not finite.

    Examples
    --------
    ``f(x) = -log(x)``, whose prox is the positive root of ``x^2 - v x - t``:

    >>> from math import inf, log, sqrt
    >>> import sottovoce as sv
    >>> barrier = sv.Custom(lambda v, t: (v + sqrt(v * v + 4 * t)) / 2, lambda x: -log(x) if x > 0 else inf)
    >>> problem = sv.Problem(sv.Network.complete(2), [barrier, sv.Averaging(-1.0)])  # -1/x + 2 (x + 1) = 0
    >>> round(float(sv.solve(problem, c=1.0).x[0]), 6) == round((sqrt(3) - 1) / 2, 6)
    True
    """

    _fields = ("_prox", "_value")
    step_work = 20_000
    _prox: Any  # (count,), an object array of functions
    _value: Any  # likewise

    def __init__(
        self, prox: Callable[[Any, float], Any], value: Callable[[Any], float], dim: int | None = None
    ) -> None:
        for name, function in (("prox", prox), ("value", value)):
            if not callable(function):
                raise InvalidCost(f"{name} must be a function; got {kind_of(function)}.")
        self._fill(as_shape(dim), _prox=one_object(prox), _value=one_object(value))

    def value(self, x: Array) -> Array:
        result = np.empty(x.shape[:-1])
        for at in np.ndindex(result.shape):
            result[at] = float(self._value[at[-1]](self._yours(x[at])))
        return result

    def step(self, g: Array, rho: Array) -> Array:
        v = (g / -rho[:, None]).reshape(prod(g.shape[:-2]), self.count, self.dim)
        x = np.empty(v.shape)
        for draw in range(len(v)):
            for i, (prox, penalty) in enumerate(zip(self._prox.tolist(), rho.tolist(), strict=True)):
                # A run that diverged steps to NaN, as with every other cost.
                x[draw, i] = self._checked(prox, v[draw, i], 1.0 / penalty) if finite(v[draw, i]) else np.nan
        return x.reshape(g.shape)

    def _yours(self, v: Array) -> Any:
        """What the user's functions get: a number, or a vector that they may overwrite."""
        return v.copy() if self.shape else float(v[0])

    def _checked(self, prox: Callable[[Any, float], Any], v: Array, t: float) -> Array:
        x = np.asarray(prox(self._yours(v), t))
        if x.shape != self.shape or x.dtype.kind not in "fiu":
            wanted = f"a vector of length {self.dim}" if self.shape else "a number"
            got = f"shape {x.shape}" if x.dtype.kind in "fiu" else f"type {x.dtype}"  # not quoted: it is data
            raise InvalidCost(f"Custom: prox must return {wanted}; at t = {t:.6g} it returned one of {got}.")
        if not finite(x):
            bad = x[~np.isfinite(x)][0]
            raise InvalidCost(f"Custom: prox must return finite numbers; at t = {t:.6g} one of them is {bad}.")
        return np.asarray(x, dtype=np.float64).reshape(-1)

    @property
    def irregular(self) -> str | None:
        return "a Custom cost does not say whether it is strongly convex and differentiable"


def finite(v: Array) -> bool:
    """Whether all entries are; their squares tell at once, unless they overflow."""
    return isfinite(v.dot(v)) or bool(np.isfinite(v).all())
