"""The support vector machine's loss: ``Hinge``."""

from __future__ import annotations

import numpy as np

from ._compiled import step_by_kernel
from ._rows import LabelledRows
from .base import Array


class Hinge(LabelledRows):
    """``f(x) = sum_j max(0, 1 - y_j a_j'x) + ridge ||x||^2``.

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
    >>> costs = [sv.Hinge([[1.0]], [1], ridge=0.1), sv.Hinge([[2.0]], [1], ridge=0.1)]
    >>> sv.solve(sv.Problem(sv.Network.complete(2), costs)).x.round(6).tolist()  # at the margin of the first
    [[1.0], [1.0]]
    """

    def _loss(self, margins: Array) -> Array:
        return np.asarray(np.maximum(0.0, 1.0 - margins))

    def step(self, g: Array, rho: Array) -> Array:
        """A box-constrained quadratic programme in the dual, solved to its last pivot; optimality is checked."""
        from ._hinge_kernels import step_all

        cure = "Scale the columns of A, raise c, or add a ridge."
        return step_by_kernel(step_all, self, g, rho, (self.A, self.starts, self.ridge), cure)

    @property
    def mean_curvature(self) -> Array:
        """``A'A/4 + 2 ridge I``, as of the logistic loss at zero, which is a hinge without its kink."""
        rows = self.A.reshape(-1, self.dim)
        return np.asarray(0.25 / self.count * rows.T @ rows + 2.0 * self.ridge.mean() * np.eye(self.dim))

    @property
    def irregular(self) -> str | None:
        return "a hinge is not differentiable at margin 1"
