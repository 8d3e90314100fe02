"""Mean, variance and covariance of all rows of all parties.

Three agreements at most: on the number of rows ``N`` (integers, ``ModularMask``: exact and without excess), on the
mean, and on second moments about it. Two passes keep their digits where ``E[x^2] - E[x]^2`` cancels. What is agreed on
is ``n/N`` times the parties' sums: their mean over the parties is the mean over the rows, and of the data's size
however many rows there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..data.rows import Rows, Sides
from ..errors import InvalidInput, NotConverged, Undetermined
from ..network import Network
from ..numerics.symmetric import symmetric, upper
from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import ModularMask
from ..pdmm.overlay import AskedOverlay
from ..pdmm.schedules import Schedule
from .agreements import DEFAULT_MASK, Agreements, SimulatedAgreements, Simulation, check_mask
from .analysis import check_rows
from .pooled import PooledCovariance, PooledMean, PooledVariance, shaped
from .shards import Sample, Shards, read_rows, read_scale


def private_mean(
    network: Network,
    shards: Shards,
    *,
    scale: npt.ArrayLike | Mapping[str, float] | None = None,
    mask: GaussianMask = DEFAULT_MASK,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
) -> PooledMean:
    """The mean over all rows of all parties: a party with more rows weighs more.

    Revealed, of each honest component: its number of rows, and its sum of ``x``.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence, or mapping
        An entry per party, in the order of the nodes or by their names. Its first axis is observations: a number is one
        observation of one variable, a vector ``n_i`` of them, a matrix ``(n_i, d)`` rows of ``d`` variables (one row of
        ``d``: ``[[...]]``). A party may have no rows. Frames and series are matched by the names of their columns, in
        the order of the first party's.
    scale : float, sequence or mapping, optional
        Public numbers, one for all columns, one each, or by name, that bring the data to size 1.
    mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of every run, as in ``sv.solve``; see ``sottovoce.statistics``.

    Returns
    -------
    PooledMean

    Raises
    ------
    InvalidInput
        Shards that do not fit together, or no rows at all.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_mean(sv.Network.ring(3), [[1.0, 2.0], [6.0], []])
    >>> result.observations, round(result.mean, 6)
    (3, 3.0)
    """
    rows, shape, names = read_rows(network, shards)
    unit = read_scale(scale, names, "column")
    check_mask(mask, GaussianMask)
    agreements = SimulatedAgreements(Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress))
    return mean_program(agreements, Sample(rows, unit, mask, names), shape)


def private_variance(
    network: Network,
    shards: Shards,
    *,
    ddof: int = 1,
    scale: npt.ArrayLike | Mapping[str, float] | None = None,
    mask: GaussianMask = DEFAULT_MASK,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
) -> PooledVariance:
    """Variances over all rows, ``sum (x - mean)^2 / (N - ddof)``.

    Revealed, of each honest component: its number of rows, its sum of ``x``, and its sum of ``(x - mean)^2``.

    Parameters
    ----------
    network, shards, scale
        As for ``private_mean``.
    ddof : int
        1 for the unbiased estimate.
    mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of every run, as in ``sv.solve``; see ``sottovoce.statistics``.

    Returns
    -------
    PooledVariance

    Raises
    ------
    InvalidInput
        What ``private_mean`` refuses, or no more rows than ``ddof``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_variance(sv.Network.ring(3), [[1.0, 2.0], [6.0], []])
    >>> round(result.variance, 6), round(result.standard_deviation, 6)
    (7.0, 2.645751)
    """
    rows, shape, names = read_rows(network, shards)
    unit = read_scale(scale, names, "column")
    check_mask(mask, GaussianMask)
    check_ddof(ddof)
    agreements = SimulatedAgreements(Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress))
    return variance_program(agreements, Sample(rows, unit, mask, names), shape, ddof)


def private_covariance(
    network: Network,
    shards: Shards,
    *,
    ddof: int = 1,
    scale: npt.ArrayLike | Mapping[str, float] | None = None,
    mask: GaussianMask = DEFAULT_MASK,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
) -> PooledCovariance:
    """The covariance of the columns over all rows, and their ``correlation``.

    Revealed, of each honest component: its number of rows, its sum of ``x``, and its sum of ``(x - mean)(x - mean)'``.

    Parameters
    ----------
    network, scale
        As for ``private_mean``.
    shards : sequence, or mapping
        Rows ``(n_i, d)`` of every party, or frames.
    ddof : int
        1 for the unbiased estimate.
    mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of every run, as in ``sv.solve``; see ``sottovoce.statistics``.

    Returns
    -------
    PooledCovariance

    Raises
    ------
    InvalidInput
        Shards that are no rows or do not fit together, or no more rows than ``ddof``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> rows = [[[0.0, 0.0], [1.0, 2.0]], [[2.0, 4.0]], [[3.0, 6.0]]]
    >>> sv.private_covariance(sv.Network.ring(3), rows).correlation.round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    rows, shape, names = read_rows(network, shards)
    if not shape:
        raise InvalidInput(
            "private_covariance takes rows (n_i, d) of every party; got vectors, which are n_i observations of one "
            "variable. Use private_variance for those, and [[...]] for a party with a single row."
        )
    unit = read_scale(scale, names, "column")
    check_mask(mask, GaussianMask)
    check_ddof(ddof)
    agreements = SimulatedAgreements(Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress))
    return covariance_program(agreements, Sample(rows, unit, mask, names), ddof)


# The programs: what the local parties do, from their rows to the answer that each of them holds.


def mean_program(agreements: Agreements, sample: Sample, shape: tuple[int, ...]) -> PooledMean:
    """``private_mean`` of a sample; ``shape`` is that of the answer."""
    sample.check_size()
    try:
        observations, mean = agreed_mean(agreements, sample)
    except NotConverged:
        return PooledMean(*agreements.made)
    return PooledMean(*agreements.made, observations, shaped(mean[0] * sample.unit, shape), sample.names)


def variance_program(agreements: Agreements, sample: Sample, shape: tuple[int, ...], ddof: int) -> PooledVariance:
    """``private_variance`` of a sample; ``shape`` is that of the answer."""
    sample.check_size()
    unit = sample.unit
    try:
        observations, mean = agreed_mean(agreements, sample)
        share = _share(observations, ddof)
        squares = [_squares(sample, part, centre) for part, centre in zip(sample.rows, mean, strict=True)]
        contributions = agreements.parties / observations * np.array(squares)
        moments = agreements.mean(contributions, sample.mask, degree=2, of="squares about the mean")
    except NotConverged:
        return PooledVariance(*agreements.made)
    sample.check_variances(moments[0], agreements.tol)
    values = shaped(mean[0] * unit, shape), sample.names, ddof, shaped(share * moments[0] * unit**2, shape)
    return PooledVariance(*agreements.made, observations, *values)


def covariance_program(agreements: Agreements, sample: Sample, ddof: int) -> PooledCovariance:
    """``private_covariance`` of a sample."""
    sample.check_size()
    unit = sample.unit
    try:
        observations, mean = agreed_mean(agreements, sample)
        share = _share(observations, ddof)
        moments = agreed_products(agreements, observations, sample, [_centred(sample, centre) for centre in mean])
    except NotConverged:
        return PooledCovariance(*agreements.made)
    sample.check_variances(np.diag(moments[0]), agreements.tol)
    values = mean[0] * unit, sample.names, ddof, share * moments[0] * np.outer(unit, unit)
    return PooledCovariance(*agreements.made, observations, *values)


def agreed_count(agreements: Agreements, rows: Sequence[Rows]) -> int:
    """``N``, exactly."""
    counts = np.array([[len(part)] for part in rows], dtype=np.int64)
    observations = int(agreements.total(counts, ModularMask(), of="the number of rows")[0])
    check_rows(observations)
    return observations


def agreed_mean(agreements: Agreements, sample: Sample) -> tuple[int, Array]:
    """``N``, and the mean over all rows as each local party holds it, ``(local, d)``."""
    observations = agreed_count(agreements, sample.rows)
    sums = np.array([part.sums(sample.values) for part in sample.rows])
    return observations, agreements.mean(agreements.parties / observations * sums, sample.mask, of="values")


def agreed_products(agreements: Agreements, observations: int, sample: Sample, sides: Sequence[Sides]) -> Array:
    """``sum left'right / N`` over all rows, symmetric, as each local party holds it; half of it travels. ``sides``:
    what left and right are, for each local party."""
    d = len(sample.unit)
    products = np.empty((len(sides), d * (d + 1) // 2))  # large: filled, and not copied
    for own, part, both in zip(products, sample.rows, sides, strict=True):
        own[:] = upper(part.products(both))
    products *= agreements.parties / observations
    return symmetric(agreements.mean(products, sample.mask, degree=2, of="products, pair by pair"), d)


def _squares(sample: Sample, rows: Rows, centre: Array) -> Array:
    return rows.sums(lambda block: (sample.values(block) - centre) ** 2)


def _centred(sample: Sample, centre: Array) -> Sides:
    def sides(block: Array) -> tuple[Array, Array]:
        t = sample.values(block) - centre
        return t, t

    return sides


def check_ddof(ddof: int) -> None:
    """What is subtracted from ``N``."""
    if isinstance(ddof, bool) or not isinstance(ddof, int | np.integer) or ddof < 0:
        raise InvalidInput(f"ddof must be an integer >= 0, 1 for the unbiased estimate; got {ddof!r}.")


def _share(observations: int, ddof: int) -> float:
    """``N / (N - ddof)``."""
    if observations <= ddof:
        raise Undetermined(f"ddof={ddof} needs more than {ddof} observations; the parties have {observations} in all.")
    return observations / (observations - ddof)
