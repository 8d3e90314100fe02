"""Penalised regressions of arrays and frames of all parties in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ...network import Network
from ...pdmm.overlay import AskedOverlay
from ...pdmm.schedules import Schedule
from ..agreements import SimulatedAgreements, Simulation
from ..shards import Shards
from .penalised import Penalty, penalised_program
from .penalty_path import LassoPath, RidgePath
from .shards import read_equation


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
    scale: Any = None,
    mask: Any = None,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
) -> RidgePath:
    """Ridge regression over the pooled rows of shards ``(X_i, y_i)`` for many penalties, and the best one by exact
    cross-validation.

    Minimises ``sum (y - intercept - x'b)^2 + penalty ||b||^2``, as scikit-learn's ``Ridge``. The fold of a row follows
    from its numbers and a public seed (``sottovoce.statistics.linear.folds.fold_of``); equal rows share one.

    Revealed, of each honest component: of every fold its number of rows and its sum of ``t t'`` about the mean, for
    ``t = (x, y)``; its sums of ``t`` and ``t^2``.

    Parameters
    ----------
    network, shards, target, intercept, names
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
    scale, mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of no use any more: sums are exact.

    Returns
    -------
    RidgePath

    Raises
    ------
    InvalidInput
        Shards that do not fit together, a constant column, or a fold without rows.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> x = np.arange(30.0).reshape(3, 10, 1)
    >>> shards = [(own, 2 * own[:, 0] + np.sin(own[:, 0])) for own in x]
    >>> fit = sv.private_ridge(sv.Network.ring(3), shards, scale=30)
    >>> fit.folds, fit.path.shape, fit.params.round(2).tolist()
    (5, (25, 2), [0.15, 1.99])
    """
    rows, equation = read_equation(network, shards, target, None, intercept, names)
    penalty = Penalty(cast(tuple[float, ...] | None, penalties), folds, fold_seed, standardize, None)
    agreements = SimulatedAgreements(Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress))
    return cast(RidgePath, penalised_program(agreements, rows, equation, penalty, {"formula": "", "schema": ""}))


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
    scale: Any = None,
    mask: Any = None,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
) -> LassoPath:
    """The lasso over the pooled rows of shards ``(X_i, y_i)`` for many penalties, and the best one by exact
    cross-validation.

    Minimises ``sum (y - intercept - x'b)^2 / 2N + penalty (l1_ratio sum |b_j| + (1 - l1_ratio) ||b||^2 / 2)``, as
    scikit-learn's ``ElasticNet``. What is revealed is that of ``private_ridge``.

    Parameters
    ----------
    network, shards, target, intercept, names
        As for ``private_linear``.
    penalties : float or sequence of float, optional
        Default: 50, from the least one that leaves no column in to a thousandth of it.
    folds, standardize, fold_seed
        As for ``private_ridge``.
    l1_ratio : float
        1 for the lasso, less for an elastic net.
    scale, mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of no use any more: sums are exact.

    Returns
    -------
    LassoPath

    Raises
    ------
    InvalidInput
        What ``private_ridge`` refuses.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> x = np.random.default_rng(0).normal(size=(3, 20, 2))
    >>> fit = sv.private_lasso(sv.Network.ring(3), [(own, 2 * own[:, 0]) for own in x], penalties=[1.0])
    >>> fit.selected
    ('x0',)
    """
    rows, equation = read_equation(network, shards, target, None, intercept, names)
    penalty = Penalty(cast(tuple[float, ...] | None, penalties), folds, fold_seed, standardize, l1_ratio)
    agreements = SimulatedAgreements(Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress))
    return cast(LassoPath, penalised_program(agreements, rows, equation, penalty, {"formula": "", "schema": ""}))
