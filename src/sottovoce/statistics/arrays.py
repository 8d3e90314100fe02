"""Arrays and frames that parties hold: a ``Study`` of number columns; and mean, variance, covariance and histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..data.formula.factors import spelled
from ..data.number_columns import NumberColumns
from ..data.schema import Schema
from ..errors import InvalidInput
from ..network import Network
from ..pdmm.shards import whose
from .gone import refuse_options
from .histogram import Histogram, read_bins
from .pooled import PooledCovariance, PooledMean, PooledVariance
from .shards import Shards, column_names, read_regression, read_rows
from .study import Study


def study_of(network: Network, schema: Schema, rows: Sequence[Array]) -> Study:
    """A study of the rows of every party, a column for each of the schema."""
    tables = [NumberColumns(dict(zip(schema, np.ascontiguousarray(part.T), strict=True))) for part in rows]
    return Study(network, tables, schema=schema)


def columns_study(network: Network, shards: Shards) -> tuple[Study, str | list[str]]:
    """A study of rows, and its columns: the name of one variable, or a list of names."""
    rows, shape, names = read_rows(network, shards)
    return study_of(network, Schema.of_numbers(names), rows), list(names) if shape else names[0]


@dataclass(frozen=True, eq=False)
class RegressionStudy:
    """A study of pairs ``(X_i, y_i)``, and the formula of ``y`` on the columns of ``X``; what the columns are called
    that hold weights and exposures, where there are some."""

    study: Study
    formula: str
    weights: str | None
    exposure: str | None


def regression_study(
    network: Network,
    shards: Shards,
    *,
    target: str | None = None,
    names: Sequence[str] | None = None,
    intercept: bool = True,
    levels: tuple[str, ...] = (),
    weights: Shards | None = None,
    offset: Shards | None = None,
    exposure: Shards | None = None,
) -> RegressionStudy:
    """A study of pairs, of arrays or frames. ``levels``: of the response, which are then places among them."""
    further = {"weights": weights, "offset": offset, "exposure": exposure}
    given = {name: values for name, values in further.items() if values is not None}
    read = read_regression(network, shards, target, given)
    columns = column_names(read.names, names, read.rows[0].shape[1] - 1 - len(given))
    response = read.target or _free("y", columns)
    called = {name: _free(name, (*columns, response)) for name in given}
    schema = Schema.of_numbers([*columns, response, *called.values()])
    if levels:
        for who, rows in zip(whose(network, "party"), read.rows, strict=True):
            if other := int((~np.isin(rows[:, len(columns)], np.arange(len(levels)))).sum()):
                raise InvalidInput(
                    f"{who}: y must be places among the levels, 0 to {len(levels) - 1}; {other} rows have others."
                )
        category = replace(schema[response], type="category", levels=levels)
        schema = Schema([category if column.name == response else column for column in schema.values()])
    terms = [*([] if intercept else ["0"]), *map(spelled, columns)]
    terms += [f"offset({spelled(called['offset'])})"] if offset is not None else []
    formula = f"{spelled(response)} ~ {' + '.join(terms)}"
    study = study_of(network, schema, read.rows)
    return RegressionStudy(study, formula, called.get("weights"), called.get("exposure"))


def _free(name: str, taken: Sequence[str]) -> str:
    """A name for a column, besides those that there are."""
    return f"({name})" if name in taken else name


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
    **gone
        Options of older versions get a sentence.

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
    refuse_options(gone)
    study, columns = columns_study(network, shards)
    return study.mean(columns)


def private_variance(network: Network, shards: Shards, *, ddof: int = 1, **gone: Any) -> PooledVariance:
    """Variances over all rows, ``sum (x - mean)^2 / (N - ddof)``.

    Revealed, of each honest component: its number of rows, and its sums of ``x`` and of ``x^2``.

    Parameters
    ----------
    network, shards, **gone
        As for ``private_mean``.
    ddof : int
        1 for the unbiased estimate.

    Returns
    -------
    PooledVariance

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_variance(sv.Network.ring(3), [[1.0, 2.0], [6.0], []])
    >>> result.variance, round(result.standard_deviation, 6)
    (7.0, 2.645751)
    """
    refuse_options(gone)
    study, columns = columns_study(network, shards)
    return study.variance(columns, ddof=ddof)


def private_covariance(network: Network, shards: Shards, *, ddof: int = 1, **gone: Any) -> PooledCovariance:
    """The covariance of the columns over all rows, and their ``correlation``.

    Revealed, of each honest component: its number of rows, and its sums of ``x`` and of ``x x'``.

    Parameters
    ----------
    network, shards, **gone
        As for ``private_mean``; shards are rows ``(n_i, d)``, or frames.
    ddof : int
        1 for the unbiased estimate.

    Returns
    -------
    PooledCovariance

    Examples
    --------
    >>> import sottovoce as sv
    >>> rows = [[[0.0, 0.0], [1.0, 2.0]], [[2.0, 4.0]], [[3.0, 6.0]]]
    >>> sv.private_covariance(sv.Network.ring(3), rows).correlation.round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    refuse_options(gone)
    study, columns = columns_study(network, shards)
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
    network, shards, **gone
        As for ``private_mean``; shards are a number, a vector or a series each.
    bins : sequence of float
        The edges, public and agreed on before: the range of the pooled data is not known to anybody. Values outside are
        counted in ``below`` and ``above``.

    Returns
    -------
    Histogram

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_histogram(sv.Network.ring(3), [[1.0, 2.5], [0.5], [7.0]], bins=[0, 2, 4])
    >>> result.counts.tolist(), result.below, result.above
    ([2, 1], 0, 1)
    """
    refuse_options(gone)
    study, columns = columns_study(network, shards)
    if not isinstance(columns, str) and len(columns) != 1:
        raise InvalidInput(
            f"private_histogram counts one variable; got rows of {len(columns)} columns. Call it once for each."
        )
    return study.histogram(columns if isinstance(columns, str) else columns[0], read_bins(bins))
