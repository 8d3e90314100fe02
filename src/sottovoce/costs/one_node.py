"""One node's step as a compiled function, one signature for all families: for runs in which nodes wake by themselves.

A run hands ``rho``, a number, the family's arrays, ``g`` and ``x`` to a function pointer, so that one kernel plays any
mixture of families, and only those that occur are compiled. The functions lie beside those that step a whole batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .absolute_deviation import AbsoluteDeviation
from .ball import Ball
from .base import Array, Cost
from .box import Box, NonNegative
from .constrained import Constrained
from .elastic_net import ElasticNet, Lasso
from .hinge import Hinge
from .huber import Huber
from .logistic import Logistic
from .quadratic import Averaging, LeastSquares, Quadratic
from .simplex import Simplex

Index = npt.NDArray[np.int64]


class Steps(NamedTuple):
    """What the steps of the nodes of one batch take, one after the other."""

    function: tuple[str, str]  # module and name
    rho: Array  # (count,)
    weight: Array  # (count,)
    numbers: Array  # flat
    starts: Index  # (count + 1,): where in ``numbers`` those of each node begin
    work: int = 0  # numbers that a step overwrites


def one_by_one(cost: Cost, rho: Array) -> list[Steps] | None:
    """The steps of these nodes for a fixed ``rho``, to be done in a row; None where a cost is a function of Python.

    The table has exact types only: a subclass may step otherwise.
    """
    pack = PACKED.get(type(cost))
    if rho.ndim == 3 and cost.quadratic is None:
        cost.bind(rho)  # which says that this cost has no step for a matrix
    return None if pack is None else pack(cost, rho)


@cache
def compiled(module: str, name: str) -> Any:
    """The function as a C callback, which has an ``address``; compiled here, or loaded from Numba's cache."""
    from numba import cfunc, types

    numbers = types.CPointer(types.float64)  # type: ignore[no-untyped-call]
    # int64 step(rho, weight, numbers, length, g, x, d, work): 1 where done, 0 where it could not be verified
    signature = types.int64(
        types.float64, types.float64, numbers, types.int64, numbers, numbers, types.int64, numbers
    )  # fmt: skip
    function = getattr(import_module(f".{module}", __package__), name)
    return cfunc(signature, cache=True, error_model="numpy")(function)


def closed(name: str, rho: Array, weight: Array, *parts: Array, work: int = 0) -> list[Steps]:
    """A closed form whose nodes keep these parts, each ``(count, ...)``, one after the other."""
    rows = [part.reshape(len(rho), -1) for part in parts]
    numbers = rows[0] if len(rows) == 1 else np.concatenate([np.empty((len(rho), 0)), *rows], axis=1)
    starts = np.arange(len(rho) + 1) * numbers.shape[1]
    return [Steps(("_closed_form_kernels", name), rho, weight, flat(numbers), starts, work)]


def flat(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers, dtype=np.float64).reshape(-1)


def none(cost: Cost) -> Array:
    """In place of a number that a family has not."""
    return np.zeros(cost.count)


def quadratic(cost: Quadratic, rho: Array) -> list[Steps]:
    if cost.Q.ndim == 1 and rho.ndim == 1:
        return closed("isotropic", cost.Q + rho, none(cost), cost.q)
    return closed("dense", none(cost), none(cost), cost.inverse(rho), cost.q)


def huber(cost: Huber, rho: Array) -> list[Steps]:
    return closed("huber", rho, cost.delta, cost.s)


def absolute_deviation(cost: AbsoluteDeviation, rho: Array) -> list[Steps]:
    return closed("absolute_deviation", rho, none(cost), cost.s)


def indicator(cost: Cost, rho: Array) -> list[Steps]:
    return closed("unconstrained", rho, none(cost), np.empty((cost.count, 0))) + PROJECTIONS[type(cost)](cost)


def constrained(cost: Constrained, rho: Array) -> list[Steps] | None:
    own, onto = one_by_one(cost.cost, rho), PROJECTIONS.get(type(cost.indicator))
    return None if own is None or onto is None else own + onto(cost.indicator)


def box(cost: Box) -> list[Steps]:
    return closed("box", none(cost), none(cost), cost.lower, cost.upper)


def ball(cost: Ball) -> list[Steps]:
    return closed("ball", none(cost), cost.radius, cost.centre)


def simplex(cost: Simplex) -> list[Steps]:
    return closed("simplex", none(cost), cost.total, np.empty((cost.count, 0)), work=2 * cost.dim)


def elastic_net(cost: ElasticNet, rho: Array) -> list[Steps]:
    d = cost.dim
    H = cost.Q + rho[:, None, None] * np.eye(d)
    numbers = np.concatenate([H.reshape(cost.count, -1), cost.q], axis=1)
    starts = np.arange(cost.count + 1) * (d * d + d)
    return [Steps(("_elastic_net_kernels", "step_one"), rho, cost.l1, flat(numbers), starts, d)]


def logistic(cost: Logistic, rho: Array) -> list[Steps]:
    from ._logistic_kernels import scratch_size

    work = scratch_size(int(cost.rows.max(initial=1)), cost.dim)
    return [Steps(("_logistic_kernels", "step_one"), rho, cost.ridge, flat(cost.A), cost.starts * cost.dim, work)]


def hinge(cost: Hinge, rho: Array) -> list[Steps]:
    work = int(cost.rows.max(initial=0))
    return [Steps(("_hinge_kernels", "step_one"), rho, cost.ridge, flat(cost.A), cost.starts * cost.dim, work)]


PROJECTIONS: dict[type[Cost], Callable[[Any], list[Steps]]] = {
    Box: box,
    NonNegative: box,
    Ball: ball,
    Simplex: simplex,
}
PACKED: dict[type[Cost], Callable[[Any, Array], list[Steps] | None]] = {
    Quadratic: quadratic,
    Averaging: quadratic,
    LeastSquares: quadratic,
    Huber: huber,
    AbsoluteDeviation: absolute_deviation,
    ElasticNet: elastic_net,
    Lasso: elastic_net,
    Logistic: logistic,
    Hinge: hinge,
    Constrained: constrained,
    **dict.fromkeys(PROJECTIONS, indicator),
}
