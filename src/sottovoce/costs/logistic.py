"""Logistic regression: ``Logistic``."""

from __future__ import annotations

import numpy as np

from ._compiled import step_by_kernel
from ._rows import LabelledRows
from .base import Array, StepFrom


class Logistic(LabelledRows):
    """``f(x) = sum_j log(1 + exp(-y_j a_j'x)) + ridge ||x||^2``.

    Parameters
    ----------
    A : array_like
        One observation ``a_j`` a row.
    labels : array_like
        One a row, all in ``{0, 1}`` or all in ``{-1, 1}``.
    ridge : float, optional
        At least 0.

    Raises
    ------
    InvalidCost
        Where an argument is not finite, lengths do not agree, or labels are others.

    Examples
    --------
    >>> import sottovoce as sv
    >>> costs = [sv.Logistic([[1.0], [1.0]], labels) for labels in ([1, 0], [1, 1])]
    >>> sv.solve(sv.Problem(sv.Network.complete(2), costs), c=0.5).x[0].round(6).tolist()  # three in four: log 3
    [1.098612]
    """

    def _loss(self, margins: Array) -> Array:
        return np.asarray(np.logaddexp(0.0, -margins))

    def step(self, g: Array, rho: Array) -> Array:
        """Damped Newton from zero, until the gradient is nothing but rounding; the same ``g`` gives the same bits."""
        return self._step_from(g, rho, np.zeros_like(g))

    def bind_from(self, rho: Array) -> StepFrom:
        """Damped Newton from the node's last ``x``: where a run has settled, two or three evaluations and one solve."""
        self.bind(rho)  # refuses a matrix
        return lambda g, x: self._step_from(g, rho, x)

    def _step_from(self, g: Array, rho: Array, start: Array) -> Array:
        from ._logistic_kernels import step_all

        cure = "Scale the columns of A, raise c, or add a ridge: the Hessian may be singular to rounding."
        return step_by_kernel(step_all, self, g, rho, (self.A, self.starts, self.ridge), cure, start)

    def gradient(self, x: Array) -> Array:
        """``-sum_j p_j y_j a_j + 2 ridge x`` with ``p_j = 1/(1 + exp(y_j a_j'x))``."""
        weights = 0.5 - 0.5 * np.tanh(0.5 * self._margins(x))  # p, without overflow
        slopes = np.zeros((self.count, self.dim))
        np.add.at(slopes, self._owners, -weights[:, None] * self.A)
        return slopes + 2.0 * self.ridge[:, None] * x

    def hessian(self, x: Array) -> Array:
        """``sum_j p_j (1 - p_j) a_j a_j' + 2 ridge I`` with ``p_j = 1/(1 + exp(a_j'x))``."""
        margins = self._margins(x)
        curvature = 0.25 / np.cosh(np.clip(0.5 * margins, -300.0, 300.0)) ** 2  # p (1 - p), without overflow
        ridge = 2.0 * self.ridge[:, None, None] * np.eye(self.dim)
        return np.asarray(self._gram(curvature) + ridge)

    @property
    def irregular(self) -> str | None:
        if (self.ridge > 0).all():
            return None
        return "a logistic loss without ridge flattens out at infinity, so it is not strongly convex"
