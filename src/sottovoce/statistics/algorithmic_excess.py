"""What the steps of an algorithm tell beyond its answer, counted in numbers.

A likelihood is fitted from sums over rows, ``F_j = sum_r f(x_r, y_r, theta_j)``, at points ``theta_1 .. theta_K`` of
Newton's method; ``f`` has the objective, its score and its information, ``1 + k + k (k + 1)/2`` numbers for ``k``
parameters. An honest component shows its own ``F_j``, at every step. The points are no further secret: each is a
function of the sums before it, so that the map from the rows to all that is shown has the rank it has at fixed points.

Of ``R`` rows with ``p`` numbers each, let ``J`` be the Jacobian of that map. Its rank, at almost all rows, is how many
numbers of the rows are known, up to finitely many ways; what the last step alone has is the answer's. So

    rank J <= min(R p, K (1 + k + k (k + 1)/2))
    algorithmic excess = rank J - rank J_K <= min(R p, (K - 1) (1 + k + k (k + 1)/2))

and where the rank is ``R p``, the rows themselves are determined. More than ``K (1 + k + k (k + 1)/2) / p`` rows never
are, by counting; that bound is what reports use. How many there really are depends on digits: the sums of
steps that lie close to each other differ by little (``tests/reference/test_algorithmic_excess.py`` measures it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..costs.base import Array

OfRows = Callable[[npt.NDArray[np.complex128], Array, Array], npt.NDArray[np.complex128]]
STEP = 1e-30  # of the complex step, which has no cancellation: derivatives are right to rounding
THRESHOLD = 1e-9  # of singular values: a number that shows in fewer digits is not counted as known


def step_numbers(k: int) -> int:
    """Objective, score and information of ``k`` parameters.

    >>> step_numbers(3)
    10
    """
    return 1 + k + k * (k + 1) // 2


def determined_rows(k: int, steps: int, covariates: int) -> int:
    """The most rows of ``covariates`` numbers each that ``steps`` of Newton's method on ``k`` parameters could
    determine, by counting.

    >>> determined_rows(k=3, steps=6, covariates=2)
    30
    """
    return steps * step_numbers(k) // covariates


def jacobian(of_rows: OfRows, x: Array, y: Array, points: Sequence[Array]) -> Array:
    """The derivatives of all sums by all numbers of the rows, ``(numbers, R p)``, by complex steps.

    ``of_rows(x, y, theta)``: what each row adds to the sums at a point, ``(R, numbers of a step)``, for complex
    covariates ``x`` ``(R, p)`` and the known ``y`` ``(R,)``; analytic in ``x``, so without ``abs``.
    """
    rows, p = x.shape
    at = [
        np.stack([of_rows(x + 1j * STEP * unit, y, theta).imag / STEP for unit in np.eye(p)], axis=1)
        for theta in points
    ]  # a row's numbers move with its own covariates alone
    return np.concatenate([slopes.reshape(rows * p, -1) for slopes in at], axis=1).T


def shown_rank(of_rows: OfRows, x: Array, y: Array, points: Sequence[Array], *, threshold: float = THRESHOLD) -> int:
    """How many numbers of the rows the sums at all ``points`` tell: singular values of the Jacobian above ``threshold``
    times the largest, each sum in units of its own largest change."""
    J = jacobian(of_rows, x, y, points)
    size = np.linalg.norm(J, axis=1, keepdims=True)
    values = np.linalg.svd(J / np.where(size > 0, size, 1.0), compute_uv=False)
    return int((values > threshold * values[0]).sum())


def measured_excess(
    of_rows: OfRows, x: Array, y: Array, points: Sequence[Array], *, threshold: float = THRESHOLD
) -> int:
    """The algorithmic excess of these rows: the rank of all steps less that of the last."""
    every, last = (shown_rank(of_rows, x, y, at, threshold=threshold) for at in (points, points[-1:]))
    return every - last


def measured_rows(of_rows: OfRows, x: Array, y: Array, points: Sequence[Array], *, threshold: float = THRESHOLD) -> int:
    """The most rows, of the first ones of ``x``, that the sums determine; there must be more than that."""
    p = x.shape[1]
    known = 0
    while known < len(x) and shown_rank(of_rows, x[: known + 1], y[: known + 1], points, threshold=threshold) == (
        p * (known + 1)
    ):
        known += 1
    return known
