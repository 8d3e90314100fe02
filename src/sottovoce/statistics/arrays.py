"""Mean, variance, covariance and histogram of arrays and frames that parties hold: a ``Study`` of number columns."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..data.number_columns import NumberColumns
from ..data.schema import Schema
from ..errors import InvalidInput
from ..network import Network
from .gone import refuse_options
from .histogram import Histogram
from .pooled import PooledCovariance, PooledMean, PooledVariance
from .shards import Shards, read_rows
from .study import Study


def study_of(network: Network, columns: list[dict[str, npt.NDArray[np.float64]]]) -> Study:
    """A study of columns of numbers, by name, of every party."""
    return Study(network, [NumberColumns(part) for part in columns], schema=Schema.of_numbers(columns[0]))


def private_mean(network: Network, shards: Shards, **gone: Any) -> PooledMean:
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
    >>> result.observations, result.mean
    (3, 3.0)
    """
    study, columns = _read(network, shards, gone)
    return study.mean(columns)


def private_variance(network: Network, shards: Shards, *, ddof: int = 1, **gone: Any) -> PooledVariance:
    """Variances over all rows, ``sum (x - mean)^2 / (N - ddof)``.

    Revealed, of each honest component: its number of rows, and its sums of ``x`` and of ``x^2``.

    Parameters
    ----------
    network, shards
        As for ``private_mean``.
    ddof : int
        1 for the unbiased estimate.

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
    >>> result.variance, round(result.standard_deviation, 6)
    (7.0, 2.645751)
    """
    study, columns = _read(network, shards, gone)
    return study.variance(columns, ddof=ddof)


def private_covariance(network: Network, shards: Shards, *, ddof: int = 1, **gone: Any) -> PooledCovariance:
    """The covariance of the columns over all rows, and their ``correlation``.

    Revealed, of each honest component: its number of rows, and its sums of ``x`` and of ``x x'``.

    Parameters
    ----------
    network : Network
        As for ``private_mean``.
    shards : sequence, or mapping
        Rows ``(n_i, d)`` of every party, or frames.
    ddof : int
        1 for the unbiased estimate.

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
    study, columns = _read(network, shards, gone)
    if isinstance(columns, str):
        raise InvalidInput(
            "private_covariance takes rows (n_i, d) of every party; got vectors, which are n_i observations of one "
            "variable. Use private_variance for those, and [[...]] for a party with a single row."
        )
    return study.covariance(columns, ddof=ddof)


def private_histogram(network: Network, shards: Shards, *, bins: npt.ArrayLike, **gone: Any) -> Histogram:
    """How many values of all parties fall into each bin, exactly.

    Revealed, of each honest component: its own histogram. A component of one party shows that party's counts, and small
    counts may point to persons.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence, or mapping
        A number, a vector or a series per party, in the order of the nodes or by their names.
    bins : sequence of float
        The edges, public and agreed on before: the range of the pooled data is not known to anybody. Values outside are
        counted in ``below`` and ``above``.

    Returns
    -------
    Histogram

    Raises
    ------
    InvalidInput
        Bins that do not increase, or shards of more than one variable.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_histogram(sv.Network.ring(3), [[1.0, 2.5], [0.5], [7.0]], bins=[0, 2, 4])
    >>> result.counts.tolist(), result.below, result.above
    ([2, 1], 0, 1)
    """
    study, columns = _read(network, shards, gone)
    if not isinstance(columns, str) and len(columns) != 1:
        raise InvalidInput(
            f"private_histogram counts one variable; got rows of {len(columns)} columns. Call it once for each."
        )
    from .histogram import read_bins

    return study.histogram(columns if isinstance(columns, str) else columns[0], read_bins(bins))


def _read(network: Network, shards: Shards, gone: dict[str, Any]) -> tuple[Study, str | list[str]]:
    """A study, and its columns: the name of one variable, or a list of names."""
    refuse_options(gone)
    rows, shape, names = read_rows(network, shards)
    columns = [dict(zip(names, np.ascontiguousarray(cast(Any, part).array.T), strict=True)) for part in rows]
    return study_of(network, columns), list(names) if shape else names[0]
