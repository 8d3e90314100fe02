"""Linear models and components of arrays and frames of all parties in one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import InvalidInput
from ...network import Network
from ..arrays import columns_study, regression_study
from ..gone import refuse_options
from ..shards import Shards
from .linear_fit import LinearFit
from .penalty_path import LassoPath, RidgePath
from .principal_components import PrincipalComponents


def private_linear(
    network: Network,
    shards: Shards,
    *,
    target: str | None = None,
    weights: Shards | None = None,
    robust: str | None = None,
    intercept: bool = True,
    names: Sequence[str] | None = None,
    **gone: Any,
) -> LinearFit:
    """Ordinary or weighted least squares over the pooled rows of shards ``(X_i, y_i)``, with tests and robust errors.

    Columns that depend on those before them are left out, and named in ``aliased``.

    Revealed, of each honest component: its number of rows and its sum of ``w a a'`` for ``a = (1, x, y)``, with weights
    that of ``log w``; with ``robust`` its sum of ``w^2 e^2 x x'`` for the residuals ``e``, divided by a power of one
    less the leverage for HC2 and HC3.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence of pairs, or mapping
        ``(X_i, y_i)`` of every party, in the order of the nodes or by their names. The columns of frames are matched by
        name, in the order of the first party's.
    target : str, optional
        Shards are frames, and this one of their columns is ``y``; the others are ``X``.
    weights : sequence, optional
        Per party a positive number per row, proportional to the inverse variance of its error.
    robust : {"HC0", "HC1", "HC2", "HC3"}, optional
        Errors that stay right where the variance differs from row to row.
    intercept : bool
        Whether to fit one.
    names : sequence of str, optional
        Of the columns of arrays; frames have them.
    **gone
        Options of older versions get a sentence.

    Returns
    -------
    LinearFit

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> X = [np.array([[0.0], [1.0]]) + i for i in range(3)]
    >>> fit = sv.private_linear(sv.Network.ring(3), [(x, 2 * x[:, 0] + 1) for x in X], names=["dose"])
    >>> fit.terms, fit.params.round(6).tolist(), fit.nobs
    (('Intercept', 'dose'), [1.0, 2.0], 6)
    """
    refuse_options(gone)
    asked = regression_study(network, shards, target=target, names=names, intercept=intercept, weights=weights)
    fit = asked.study.linear(asked.formula, weights=asked.weights, robust=robust)
    return replace(fit, formula="", schema="")  # new rows are arrays, too


def private_ridge(
    network: Network,
    shards: Shards,
    *,
    target: str | None = None,
    penalties: float | Sequence[float] | None = None,
    folds: int = 5,
    standardize: bool = True,
    fold_seed: int = 0,
    intercept: bool = True,
    names: Sequence[str] | None = None,
    **gone: Any,
) -> RidgePath:
    """Ridge regression over the pooled rows of shards ``(X_i, y_i)`` for many penalties, and the best one by exact
    cross-validation.

    Minimises ``sum (y - intercept - x'b)^2 + penalty ||b||^2``, as scikit-learn's ``Ridge``. The fold of a row follows
    from its numbers and a public seed (``sottovoce.statistics.linear.folds.fold_of``); equal rows share one.

    Revealed, of each honest component: of every fold its number of rows and its sum of ``a a'``, for ``a = (1, x, y)``.

    Parameters
    ----------
    network, shards, target, intercept, names, **gone
        As for ``private_linear``.
    penalties : float or sequence of float, optional
        Default: 25, from 100 to 0.0001 per row, in units of the columns' variances. With one there is nothing to
        choose, and no cross-validation.
    folds : int
        Of the cross-validation.
    standardize : bool
        Whether columns are penalised in units of their deviations, those of the training rows, or as they are. Without
        an intercept in units of their root mean squares.
    fold_seed : int
        Public; another one gives other folds.

    Returns
    -------
    RidgePath

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> x = np.arange(30.0).reshape(3, 10, 1)
    >>> shards = [(own, 2 * own[:, 0] + np.sin(own[:, 0])) for own in x]
    >>> fit = sv.private_ridge(sv.Network.ring(3), shards)
    >>> fit.folds, fit.path.shape, fit.params.round(2).tolist()
    (5, (25, 2), [0.15, 1.99])
    """
    refuse_options(gone)
    asked = regression_study(network, shards, target=target, names=names, intercept=intercept)
    fit = asked.study.ridge(
        asked.formula, penalties=penalties, folds=folds, standardize=standardize, fold_seed=fold_seed
    )
    return replace(fit, formula="", schema="")


def private_lasso(
    network: Network,
    shards: Shards,
    *,
    target: str | None = None,
    penalties: float | Sequence[float] | None = None,
    folds: int = 5,
    l1_ratio: float = 1.0,
    standardize: bool = True,
    fold_seed: int = 0,
    intercept: bool = True,
    names: Sequence[str] | None = None,
    **gone: Any,
) -> LassoPath:
    """The lasso over the pooled rows of shards ``(X_i, y_i)`` for many penalties, and the best one by exact
    cross-validation.

    Minimises ``sum (y - intercept - x'b)^2 / 2N + penalty (l1_ratio sum |b_j| + (1 - l1_ratio) ||b||^2 / 2)``, as
    scikit-learn's ``ElasticNet``. What is revealed is that of ``private_ridge``.

    Parameters
    ----------
    network, shards, target, intercept, names, folds, standardize, fold_seed, **gone
        As for ``private_ridge``.
    penalties : float or sequence of float, optional
        Default: 50, from the least one that leaves no column in to a thousandth of it.
    l1_ratio : float
        The share of the penalty on absolute values, the rest being on squares; 1 for the lasso.

    Returns
    -------
    LassoPath

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> x = np.random.default_rng(0).normal(size=(3, 20, 2))
    >>> fit = sv.private_lasso(sv.Network.ring(3), [(own, 2 * own[:, 0]) for own in x], penalties=[1.0])
    >>> fit.selected
    ('x0',)
    """
    refuse_options(gone)
    asked = regression_study(network, shards, target=target, names=names, intercept=intercept)
    fit = asked.study.lasso(
        asked.formula, penalties=penalties, folds=folds, l1_ratio=l1_ratio, standardize=standardize, fold_seed=fold_seed
    )
    return replace(fit, formula="", schema="")


def private_pca(
    network: Network,
    shards: Shards,
    *,
    standardize: bool = False,
    components: int | None = None,
    **gone: Any,
) -> PrincipalComponents:
    """Principal components of the pooled rows.

    Revealed, of each honest component of the network: its number of rows, its sums of ``x`` and of ``x x'``.

    Parameters
    ----------
    network, **gone
        As for ``private_linear``.
    shards : sequence, or mapping
        Rows ``(n_i, d)`` of every party, or frames.
    standardize : bool
        Whether columns are brought to one variance first: components of the correlations.
    components : int, optional
        How many. Default: all.

    Returns
    -------
    PrincipalComponents

    Examples
    --------
    >>> import sottovoce as sv
    >>> rows = [[[0.0, 0.0], [1.0, 2.0]], [[2.0, 4.1]], [[3.0, 5.9]]]
    >>> sv.private_pca(sv.Network.ring(3), rows, components=1).components.round(3).tolist()
    [[0.451, 0.893]]
    """
    refuse_options(gone)
    study, columns = columns_study(network, shards)
    if isinstance(columns, str):
        raise InvalidInput("private_pca takes rows (n_i, d) of every party; got vectors, which are of one variable.")
    return replace(study.pca(columns, standardize=standardize, components=components), schema="")
