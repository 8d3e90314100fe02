"""Regression by private agreement on its sufficient statistics: the cure for what a masked regression shows.

With rows ``t = (x, y)`` in units of ``scale``, weights ``w``, and ``n/N`` in front of every party's sums:

    N = sum 1                       agreement 1, integers
    m = sum w t / sum w             agreement 2, with an intercept: centring keeps the digits of what follows
    S = sum w (t - m)(t - m)' / N   agreement 3
    sum w (y - x'beta)^2 / N        agreement 4, of the agreed beta: S alone would give it by cancellation

Then everybody solves ``(S_xx + ridge/N) beta = S_xy``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..data.rows import ArrayRows, Rows, Sides
from ..errors import InvalidInput, NotConverged, Undetermined, is_number
from ..network import Network
from ..pdmm.masks import GaussianMask
from ..pdmm.overlay import AskedOverlay
from ..pdmm.schedules import Schedule
from .agreements import DEFAULT_MASK, Agreements, SimulatedAgreements, Simulation, check_mask, resolution
from .mean_and_covariance import agreed_count, agreed_products
from .regression import Regression
from .shards import Sample, Shards, column_names, read_regression, read_scale

RIGHT = 1e-2  # refuse coefficients that are not known to two digits


@dataclass(frozen=True, eq=False)
class Model:
    """What is fitted, the same at all parties: the columns but the last explain the last one."""

    names: tuple[str, ...]
    ridge: float
    intercept: bool
    target: str | None

    @property
    def all_names(self) -> tuple[str, ...]:
        """Of the columns, and last of the target; ``y``, unless a column is called so, where it has none."""
        return (*self.names, self.target or ("y" if "y" not in self.names else "target"))


def private_least_squares(
    network: Network,
    shards: Shards,
    *,
    target: str | None = None,
    ridge: float = 0.0,
    weights: Shards | None = None,
    intercept: bool = True,
    names: Sequence[str] | None = None,
    scale: npt.ArrayLike | Mapping[str, float] | None = None,
    mask: GaussianMask = DEFAULT_MASK,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
) -> Regression:
    """The regression of ``b`` on the columns of ``A``, over the pooled rows of shards ``(A_i, b_i)``.

    Minimises ``sum w (b - intercept - A x)^2 + ridge ||x||^2``. Answers are in the units of the data.

    Revealed, of each honest component: its number of rows, its sums of ``w``, ``w x`` and ``w y``, its matrix
    ``sum w (t - m)(t - m)'`` for ``t = (x, y)``, and, which follows from these, its sum of squared residuals.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence of pairs, or mapping
        ``(A_i, b_i)`` of every party, with ``n_i`` rows, in the order of the nodes or by their names. The columns of
        frames are matched by name, in the order of the first party's.
    target : str, optional
        Shards are frames, and this one of their columns is ``b``; the others are ``A``.
    ridge : float
        Penalty on the coefficients; the intercept is not penalised. Above 0 there are no standard errors.
    weights : sequence, optional
        Per party a positive number per row, proportional to the inverse variance of its error (WLS); about 1, as they
        hide behind the same mask.
    intercept : bool
        Whether to fit one.
    names : sequence of str, optional
        Of the columns of arrays, for the summary; frames have them.
    scale : float, sequence or mapping, optional
        Public numbers that bring the columns, and last the target, to size 1: ``d + 1`` of them, one for all, or by
        name.
    mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of every run, as in ``sv.solve``; see ``sottovoce.statistics``.

    Returns
    -------
    Regression

    Raises
    ------
    InvalidInput
        Shards that do not fit together, or columns that do not determine the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> A = [np.array([[0.0], [1.0]]) + i for i in range(3)]
    >>> fit = sv.private_least_squares(sv.Network.ring(3), [(rows, 2 * rows[:, 0] + 1) for rows in A], names=["dose"])
    >>> fit.terms, fit.parameters.round(6).tolist()
    (('intercept', 'dose'), [1.0, 2.0])
    """
    rows, d, found, target = read_regression(network, shards, weights, target)
    columns = column_names(found, names, d, of="A", reserved="intercept" if intercept else None)
    model = Model(columns, ridge, bool(intercept), target)
    unit = read_scale(scale, model.all_names, "column of A and one for the target")
    check_ridge(ridge)
    check_mask(mask, GaussianMask)
    agreements = SimulatedAgreements(Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress))
    return least_squares_program(agreements, Sample(rows, unit, mask, model.all_names), model)


def least_squares_program(agreements: Agreements, sample: Sample, model: Model) -> Regression:
    """``private_least_squares`` as the local parties run it, from rows ``[A_i, b_i]`` to the answer that they hold."""
    sample.check_size()
    rows, unit, mask = sample.rows, sample.unit, sample.mask
    names, ridge, intercept, d = model.names, model.ridge, model.intercept, len(model.names)
    try:
        N = agreed_count(agreements, rows)
        if d + intercept > N and not ridge:
            raise Undetermined(f"{N} observations do not determine {d + intercept} coefficients. Use ridge > 0.")
        total, m = np.ones(len(rows)), np.zeros((len(rows), d + 1))
        if intercept:
            total, m = _weighted_means(agreements, N, sample)
        S = agreed_products(agreements, N, sample, [_weighted(sample, *own) for own in zip(rows, m, strict=True)])
        penalty = np.diag(ridge / N / unit[:d] ** 2)
        H = S[0, :d, :d] + penalty
        # What CONVERGED leaves open in an entry of S, with room for parties that hold more than the mean.
        condition = _condition(H, 10 * agreements.tol * float(np.abs(S[0]).max()) + resolution(mask), names)
        beta = np.array([np.linalg.solve(own[:d, :d] + penalty, own[:d, d:]) for own in S])
        squares = np.array([_squares(sample, *own) for own in zip(rows, m, beta[:, :, 0], strict=True)])
        residual = agreements.mean(agreements.parties / N * squares, mask, degree=2, of="squared residuals")
    except NotConverged:
        return Regression(*agreements.made)
    slopes = beta[0, :, 0] * unit[d] / unit[:d]
    means = m[0] * unit
    inverse = np.linalg.inv(H) / np.outer(unit[:d], unit[:d]) / N
    return Regression(
        *agreements.made,
        observations=N,
        names=names,
        target=model.target,
        coefficients=slopes,
        intercept=float(means[d] - means[:d] @ slopes) if intercept else 0.0,
        fitted_intercept=intercept,
        ridge=float(ridge),
        residual_sum_of_squares=max(0.0, float(residual[0, 0] * N * unit[d] ** 2)),
        total_sum_of_squares=float(S[0, d, d] * N * unit[d] ** 2),
        inverse_information=_with_intercept(inverse, means[:d], total[0] * N) if intercept else inverse,
        condition_number=condition,
        scale=unit,
        sizes=np.sqrt(np.maximum(np.diag(S[0]) + m[0] ** 2 * total[0], 0.0)) * unit,
    )


def _weighted_means(agreements: Agreements, N: int, sample: Sample) -> tuple[Array, Array]:
    """``sum w / N`` and ``sum w t / sum w`` as each local party holds them; the former is 1, and not sent, without
    weights."""
    d = len(sample.unit)
    sums = np.empty((len(sample.rows), d + sample.weighted))
    for own, part in zip(sums, sample.rows, strict=True):
        own[:d] = part.products(lambda block: (sample.weights(block), sample.values(block)))[0]
        if sample.weighted:
            own[d:] = part.sums(sample.weights)
    agreed = agreements.mean(agreements.parties / N * sums, sample.mask, of="values")
    total = agreed[:, -1] if sample.weighted else np.ones(len(agreed))
    return total, agreed[:, :d] / total[:, None]


def _weighted(sample: Sample, rows: Rows, centre: Array) -> Sides:
    """``w (t - centre)`` and ``t - centre``; one array where half of their products are enough, and bits do not depend
    on it, as they do in BLAS."""
    same = not (sample.weighted or isinstance(rows, ArrayRows))

    def sides(block: Array) -> tuple[Array, Array]:
        t = sample.values(block) - centre
        return (t if same else t * sample.weights(block)), t

    return sides


def _squares(sample: Sample, rows: Rows, centre: Array, beta: Array) -> Array:
    """``sum w (y - x'beta)^2``, ``(1,)``, about a centre."""

    def weighed(block: Array) -> tuple[Array, Array]:
        t = sample.values(block) - centre
        residual = t[:, -1] - rows.linear(t[:, :-1], beta)
        return sample.weights(block), residual[:, None] ** 2

    return np.asarray(rows.products(weighed)[0])


def _condition(H: Array, error: float, names: Sequence[str]) -> float:
    """The condition number of the columns brought to one length, ``sqrt(lambda_max / lambda_min)``; refused where an
    ``error`` in the entries of ``H`` could make it infinite."""
    size = np.diag(H)
    if (flat := size * RIGHT <= error).any():
        raise InvalidInput(
            f"column {names[int(flat.argmax())]!r} does not vary over the parties, to the precision of the agreement, "
            f"which is set by the largest column, {names[int(size.argmax())]!r}. Drop it (an intercept stands for a "
            "constant), or bring the columns to one size by scale=."
        )
    values, vectors = np.linalg.eigh(H / np.sqrt(np.outer(size, size)))
    # Entries of the scaled matrix are wrong by at most error / sqrt(size_j size_k): in norm, by error sum_j 1/size_j.
    if values[0] * RIGHT <= error * float((1 / size).sum()):
        share = np.abs(vectors[:, 0])
        among = ", ".join(repr(name) for name, part in zip(names, share, strict=True) if part > 0.1 * share.max())
        raise InvalidInput(
            f"the pooled columns {among} are linearly dependent, to the precision of the agreement. Drop one of them, "
            "use ridge > 0, or lower tol (and the mask) if they are only nearly so."
        )
    return float(np.sqrt(values[-1] / values[0]))


def _with_intercept(inverse: Array, means: Array, total: float) -> Array:
    """``(X'WX)^{-1}`` with the column of ones in front, from that of the centred columns."""
    cross = -(inverse @ means)
    corner = np.array([[1 / total - means @ cross]])
    return np.block([[corner, cross[None, :]], [cross[:, None], inverse]])


def check_ridge(ridge: float) -> None:
    """Of the whole penalty."""
    if not (is_number(ridge) and math.isfinite(ridge) and ridge >= 0):
        raise InvalidInput(f"ridge must be a finite number >= 0; got {ridge!r}.")
