"""Multinomial logistic regression of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import InvalidInput
from ...network import Network
from ..arrays import regression_study
from ..gone import refuse_options
from ..shards import Shards
from .multinomial import MultinomialFit


def private_multinomial(
    network: Network,
    shards: Shards,
    levels: Sequence[str],
    *,
    ridge: float = 0.0,
    weights: Shards | None = None,
    intercept: bool = True,
    names: Sequence[str] | None = None,
    **gone: Any,
) -> MultinomialFit:
    """Multinomial logistic regression of levels ``y`` on the columns of ``X``, over the pooled rows of shards
    ``(X_i, y_i)``.

    Revealed, of each honest component: its number of rows at each level, the sums of its columns and of their squares,
    and at every step its log-likelihood, score and information.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence of pairs, or mapping
        ``(X_i, y_i)`` of every party, with ``n_i`` rows; ``y_i`` are places among ``levels``, from 0.
    levels : sequence of str
        Names of the levels, public; the first is the one that the others are compared with.
    ridge : float
        ``ridge sum_a ||b_a||^2 / 2`` is subtracted from the log-likelihood, for slopes ``b_a`` of all levels that sum
        to 0, in the units of the data: scikit-learn's ``LogisticRegression(C=1 / ridge)``. Estimates have no errors
        then.
    weights : sequence, optional
        Per party a positive number per row: how often it counts.
    intercept : bool
        Whether to fit one.
    names : sequence of str, optional
        Of the columns of arrays; frames have them.
    **gone
        Options of older versions get a sentence.

    Returns
    -------
    MultinomialFit

    Raises
    ------
    InvalidInput
        Shards that do not fit together, a level that no row has, columns that do not determine the parameters, or that
        separate the levels.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.normal(size=(n, 1)) for n in (30, 9, 50)]
    >>> shards = [(own, np.rint(own[:, 0] + rng.normal(size=len(own))).clip(-1, 1) + 1) for own in X]
    >>> fit = sv.private_multinomial(sv.Network.ring(3), shards, ["low", "middle", "high"], names=["dose"])
    >>> fit.terms, bool((np.diff(fit.coefficients[1]) > 0).all())
    (('middle: Intercept', 'middle: dose', 'high: Intercept', 'high: dose'), True)
    """
    refuse_options(gone)
    called = tuple(levels)
    if len(called) < 2 or len(set(called)) != len(called) or not all(isinstance(level, str) for level in called):
        raise InvalidInput(f"levels must be two or more different strings; got {levels!r}.")
    asked = regression_study(network, shards, names=names, intercept=intercept, levels=called, weights=weights)
    fit = asked.study.multinomial(asked.formula, weights=asked.weights, ridge=ridge)
    return replace(fit, formula="", schema="")  # new rows are arrays, too
