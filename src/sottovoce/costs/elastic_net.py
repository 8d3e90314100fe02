"""Sparse regression: ``ElasticNet`` and ``Lasso``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._compiled import step_by_kernel
from .base import Array, Cost, nonnegative
from .quadratic import Quadratic, as_rows


class ElasticNet(Cost):
    """``f(x) = ||Ax - b||^2 + l1 ||x||_1 + l2 ||x||^2``.

    Only ``Q = 2(A'A + l2 I)``, ``q = -2A'b`` and ``r = b'b`` are kept, so nodes with different row counts share
    a batch.

    Parameters
    ----------
    A : array_like
        One observation a row.
    b : array_like
        One number a row.
    l1, l2 : float
        Weights of the penalties, at least 0.

    Raises
    ------
    InvalidCost
        Where an argument is not finite, or lengths do not agree.

    Examples
    --------
    >>> import sottovoce as sv
    >>> cost = sv.ElasticNet([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.1], l1=1.0, l2=0.5)
    >>> problem = sv.Problem(sv.Network.complete(2), [cost, cost])
    >>> (abs(sv.solve(problem).x[0]).round(6)).tolist()
    [1.666667, 0.0]
    """

    _fields = ("Q", "q", "r", "l1")
    Q: Array  # (count, d, d)
    q: Array  # (count, d)
    r: Array  # (count,)
    l1: Array  # (count,)

    def __init__(self, A: npt.ArrayLike, b: npt.ArrayLike, l1: float, l2: float = 0.0) -> None:
        matrix, target = as_rows(A, b, "A", "b")
        d = matrix.shape[1]
        Q = 2.0 * (matrix.T @ matrix + float(nonnegative(l2, "l2")[0]) * np.eye(d))
        q = -2.0 * matrix.T @ target
        self._fill((d,), Q=Q[None], q=q[None], r=np.array([target @ target]), l1=nonnegative(l1, "l1"))

    def value(self, x: Array) -> Array:
        return np.asarray(self._smooth.value(x) + self.l1 * np.abs(x).sum(axis=-1))

    def step(self, g: Array, rho: Array) -> Array:
        """Coordinate descent finds the signs, a reduced linear solve the numbers; optimality is checked."""
        from ._elastic_net_kernels import step_all

        cure = "Scale the columns of A, raise c, or add l2: (Q + rho I) may be singular to rounding."
        return step_by_kernel(step_all, self, g, rho, (self.Q, self.q, self.l1), cure)

    @property
    def sizes(self) -> tuple[float, float]:
        x, gradient = self._smooth.sizes
        return x, max(gradient, float(self.l1.max()))

    def gradient(self, x: Array) -> Array | None:
        return None if (self.l1 > 0).any() else self._smooth.gradient(x)

    def hessian(self, x: Array) -> Array | None:
        return None if (self.l1 > 0).any() else self.Q

    @property
    def mean_curvature(self) -> Array:
        return np.asarray(self.Q.mean(axis=0))

    def piece(self, x: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
        return self.Q, (x != 0) | (self.l1 == 0)[:, None]

    @property
    def _smooth(self) -> Quadratic:
        return Quadratic._make(self.shape, Q=self.Q, q=self.q, r=self.r)

    @property
    def irregular(self) -> str | None:
        return "an l1 norm is not differentiable at zero" if (self.l1 > 0).any() else self._smooth.irregular


class Lasso(ElasticNet):
    """``f(x) = ||Ax - b||^2 + l1 ||x||_1``.

    Parameters
    ----------
    A : array_like
        One observation a row.
    b : array_like
        One number a row.
    l1 : float
        Weight of the penalty, at least 0.

    Examples
    --------
    >>> import sottovoce as sv
    >>> cost = sv.Lasso([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.1], l1=1.0)
    >>> problem = sv.Problem(sv.Network.complete(2), [cost, cost])
    >>> (abs(sv.solve(problem).x[0]).round(6)).tolist()
    [2.5, 0.0]
    """

    def __init__(self, A: npt.ArrayLike, b: npt.ArrayLike, l1: float) -> None:
        super().__init__(A, b, l1)
