"""``smooth + indicator``: the sums whose step stays exact, and the reason why others are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidCost, Unsupported
from ..numerics.unquoted import kind_of
from .absolute_deviation import AbsoluteDeviation
from .base import Array, Cost
from .box import Box
from .huber import Huber
from .indicator import Indicator
from .quadratic import Quadratic

AnyCost = TypeVar("AnyCost", bound=Cost)


class Constrained(Cost):
    """A cost within a set, made by ``cost + indicator``; its step projects the cost's own step onto the set.

    That is exact in two cases. For ``Q = aI``, ``f(x) + g'x + (rho/2)||x||^2`` is a multiple of the squared
    distance to its minimum. For a cost and a set that fall apart into coordinates, each of them is a convex
    function on an interval.

    Parameters
    ----------
    cost : Cost
        ``Averaging`` or ``Quadratic`` with a multiple of the identity; for a box also ``Huber`` or
        ``AbsoluteDeviation``.
    indicator : Indicator
        ``Box``, ``NonNegative``, ``Ball`` or ``Simplex``, of the same shape.

    Raises
    ------
    Unsupported
        Where the sum has no exact step.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> cost = sv.Averaging([3.0, 4.0]) + sv.Ball(1.0, dim=2)
    >>> cost.step(np.zeros((1, 2)), np.ones(1)).round(6).tolist()
    [[0.6, 0.8]]
    """

    _fields = ("cost", "indicator")  # costs themselves, not arrays
    cost: Cost
    indicator: Indicator

    def __init__(self, cost: Cost, indicator: Indicator) -> None:
        if not (isinstance(cost, Cost) and isinstance(indicator, Indicator)):
            raise InvalidCost(f"a cost and a set are needed; got {kind_of(cost)} and {kind_of(indicator)}.")
        if cost.shape != indicator.shape:
            raise InvalidCost(
                f"a cost and its set must have one shape; got {cost.shape} and {indicator.shape}, in {cost!r} + "
                f"{indicator!r}. Give the set the cost's dim."
            )
        if isinstance(cost, Quadratic):
            cost = _isotropic(cost)
        elif not (isinstance(cost, Huber | AbsoluteDeviation) and isinstance(indicator, Box)):
            raise Unsupported(
                f"{type(cost).__name__} + {type(indicator).__name__} has no exact step. A set can be added to "
                "Averaging or Quadratic(a, q); Box and NonNegative also to Huber and AbsoluteDeviation. Put the "
                "set on a node of its own, or use FromCvxpy."
            )
        self._pair(cost, indicator)

    def _pair(self, cost: Cost, indicator: Indicator) -> Self:
        self.count = max(cost.count, indicator.count)
        self.cost, self.indicator = _repeat(cost, self.count), _repeat(indicator, self.count)
        self.shape = cost.shape
        return self

    @property
    def signature(self) -> tuple[object, ...]:
        return (type(self), self.cost.signature, self.indicator.signature)

    @classmethod
    def join(cls, costs: Sequence[Self]) -> Self:
        cost, indicator = type(costs[0].cost), type(costs[0].indicator)
        return cls.__new__(cls)._pair(cost.join([f.cost for f in costs]), indicator.join([f.indicator for f in costs]))

    def take(self, nodes: npt.NDArray[np.intp] | slice) -> Self:
        return self.__new__(type(self))._pair(self.cost.take(nodes), self.indicator.take(nodes))

    def value(self, x: Array) -> Array:
        return self.cost.value(x) + self.indicator.value(x)

    def step(self, g: Array, rho: Array) -> Array:
        return self.indicator.project(self.cost.step(g, rho))

    @property
    def sizes(self) -> tuple[float, float]:
        return max(self.cost.sizes[0], self.indicator.sizes[0]), self.cost.sizes[1]

    @property
    def irregular(self) -> str | None:
        return self.indicator.irregular

    def __repr__(self) -> str:
        return f"{self.cost!r} + {self.indicator!r}"


def constrain(one: Cost, other: Cost) -> Constrained:
    """``one + other``, in either order."""
    if isinstance(one, Indicator) and not isinstance(other, Indicator):
        one, other = other, one
    if isinstance(one, Indicator):
        raise Unsupported(
            f"{type(one).__name__} + {type(other).__name__} has no exact step: projecting onto one set after the "
            "other does not project onto both. Give their intersection as one set, or put them on two nodes."
        )
    if not isinstance(other, Indicator):
        raise Unsupported(
            f"{type(one).__name__} + {type(other).__name__} has no exact step; only a set (Box, NonNegative, Ball, "
            "Simplex) can be added to a cost. Put the two on two nodes, or use FromCvxpy."
        )
    return Constrained(one, other)


def _isotropic(cost: Quadratic) -> Quadratic:
    """The same cost with ``Q = aI`` stored as ``a``."""
    if cost.Q.ndim == 1:
        return cost
    a = cost.Q[:, 0, 0]
    if not np.array_equal(cost.Q, a[:, None, None] * np.eye(cost.dim)):
        raise Unsupported(
            f"{type(cost).__name__} + a set has an exact step only where Q is a multiple of the identity: for another "
            "Q, projecting the minimum does not give the minimum on the set. Put the set on a node of its own."
        )
    return Quadratic._make(cost.shape, Q=a, q=cost.q, r=cost.r)


def _repeat(cost: AnyCost, count: int) -> AnyCost:
    """One node's cost for all of them; several are taken as they are."""
    if cost.count == count:
        return cost
    if cost.count != 1:
        raise InvalidCost(f"a sum needs as many sets as costs, or one for all; got {cost!r} for {count} nodes.")
    return cost.take(np.zeros(count, dtype=np.intp))
