"""Least squares and components of arrays and frames of all parties in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import InvalidInput
from ...network import Network
from ...pdmm.overlay import AskedOverlay
from ...pdmm.schedules import Schedule
from ..agreements import SimulatedAgreements, Simulation
from ..shards import Shards, read_rows
from .components_model import check_components, components_program
from .equation import INTERCEPT, Columns
from .linear_fit import LinearFit
from .linear_program import linear_program
from .principal_components import PrincipalComponents
from .robust import ROBUST
from .shards import read_equation


def private_linear(
    network: Network,
    shards: Shards,
    *,
    target: str | None = None,
    weights: Shards | None = None,
    robust: str | None = None,
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
) -> LinearFit:
    """Ordinary or weighted least squares over the pooled rows of shards ``(X_i, y_i)``, with tests and robust errors.

    Revealed, of each honest component: its number of rows, its sums of ``w``, ``w t`` and ``w t^2`` and of ``w t t'``
    about the mean, for ``t = (x, y)``; its sums of ``w e^2`` and ``w x e`` for the residuals ``e``; with ``robust``
    that of ``w^2 x x' e^2``, divided by a power of one less the leverage for HC2 and HC3.

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
    scale, mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of no use any more: sums are exact.

    Returns
    -------
    LinearFit

    Raises
    ------
    InvalidInput
        Shards that do not fit together, columns that are constant or dependent, or no more rows than terms.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> X = [np.array([[0.0], [1.0]]) + i for i in range(3)]
    >>> fit = sv.private_linear(sv.Network.ring(3), [(x, 2 * x[:, 0] + 1) for x in X], names=["dose"])
    >>> fit.terms, fit.params.round(6).tolist(), fit.nobs
    (('Intercept', 'dose'), [1.0, 2.0], 6)
    """
    if robust is not None and robust not in ROBUST:
        raise InvalidInput(f"robust must be one of {', '.join(ROBUST)}, or None; got {robust!r}.")
    rows, equation = read_equation(network, shards, target, weights, intercept, names)
    term_of = [() if term == INTERCEPT else (term,) for term in equation.terms]
    told = {"formula": "", "schema": "", "weights": None if weights is None else "weights"}
    agreements = SimulatedAgreements(Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress))
    return linear_program(agreements, rows, equation, robust, term_of, told)


def private_pca(
    network: Network,
    shards: Shards,
    *,
    standardize: bool = False,
    components: int | None = None,
    scale: Any = None,
    mask: Any = None,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
) -> PrincipalComponents:
    """Principal components of the pooled rows.

    Revealed, of each honest component of the network: its number of rows, its sums of ``x`` and ``x^2``, and of
    ``x x'`` about the mean.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence, or mapping
        Rows ``(n_i, d)`` of every party, or frames.
    standardize : bool
        Whether columns are brought to one variance first: components of the correlations.
    components : int, optional
        How many. Default: all.
    scale, mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of no use any more: sums are exact.

    Returns
    -------
    PrincipalComponents

    Raises
    ------
    InvalidInput
        Shards that do not fit together; a constant column where they are standardised.

    Examples
    --------
    >>> import sottovoce as sv
    >>> rows = [[[0.0, 0.0], [1.0, 2.0]], [[2.0, 4.1]], [[3.0, 5.9]]]
    >>> sv.private_pca(sv.Network.ring(3), rows, components=1).components.round(3).tolist()
    [[0.451, 0.893]]
    """
    rows, shape, names = read_rows(network, shards)
    if not shape:
        raise InvalidInput("private_pca takes rows (n_i, d) of every party; got vectors, which are of one variable.")
    check_components(components, len(names))
    columns = Columns(names, (None,) * len(names))
    count = len(names) if components is None else int(components)
    agreements = SimulatedAgreements(Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress))
    return components_program(agreements, rows, columns, bool(standardize), count, "")
