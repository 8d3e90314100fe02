"""Generalised linear models of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...network import Network
from ..arrays import regression_study
from ..gone import refuse_options
from ..shards import Shards
from .glm_fit import GLMFit


def private_glm(
    network: Network,
    shards: Shards,
    *,
    family: str = "binomial",
    link: str | None = None,
    shape: float | None = None,
    dispersion: str | None = None,
    robust: str | None = None,
    ridge: float = 0.0,
    target: str | None = None,
    weights: Shards | None = None,
    offset: Shards | None = None,
    exposure: Shards | None = None,
    intercept: bool = True,
    names: Sequence[str] | None = None,
    **gone: Any,
) -> GLMFit:
    """A generalised linear model of ``y`` on the columns of ``X``, over the pooled rows of shards ``(X_i, y_i)``.

    Revealed, of each honest component: its number of rows, events or counts, the sums of its columns, of their squares
    and products, and at every step of Newton's method its deviance, score and information.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence of pairs, or mapping
        ``(X_i, y_i)`` of every party, with ``n_i`` rows, in the order of the nodes or by their names. The columns of
        frames are matched by name, in the order of the first party's.
    family : str
        Of the response: ``"binomial"`` (0 and 1, or proportions of the trials in ``weights``), ``"poisson"``,
        ``"negative_binomial"`` of a given ``shape``, ``"gamma"``, ``"inverse_gaussian"`` or ``"gaussian"``.
    link : str, optional
        ``"logit"``, ``"probit"`` or ``"cloglog"``; ``"log"``; ``"inverse"`` for gamma, ``"inverse_squared"`` for
        inverse Gaussian; ``"identity"``. Default: the first that the family has.
    shape : float, optional
        Of the negative binomial family, whose variance is ``mu + shape mu^2``.
    dispersion : {"fixed", "pearson"}, optional
        1, which binomial and count families have unless told otherwise, or estimated from Pearson's residuals. Counts
        may then be fractions, such as rates with their exposures in ``weights`` (quasi-likelihood).
    robust : {"HC0", "HC1"}, optional
        Errors from the sandwich, which hold where the variance is another than the family's.
    ridge : float
        ``ridge ||slopes||^2 / 2`` is added to half of the deviance, slopes in the units of the data: scikit-learn's
        ``LogisticRegression(C=1 / ridge)``, and ``PoissonRegressor(alpha)`` with ``ridge = alpha`` times the sum of
        weights. Of binomial and count families. Estimates are finite where columns separate the outcomes, or hang on
        each other; they have no errors then.
    target : str, optional
        Shards are frames, and this one of their columns is ``y``; the others are ``X``.
    weights : sequence, optional
        Per party a positive number per row: the variance of its response is divided by it, as in R; ``var_weights`` in
        statsmodels.
    offset, exposure : sequence, optional
        Per party a number per row: what is added to the linear predictor; positive numbers whose logarithm is.
    intercept : bool
        Whether to fit one.
    names : sequence of str, optional
        Of the columns of arrays; frames have them.
    **gone
        Options of older versions get a sentence.

    Returns
    -------
    GLMFit

    Raises
    ------
    InvalidInput
        Shards that do not fit together, responses that the family does not have, or columns that separate the outcomes.
        Columns that hang on others are left out, and named in ``aliased``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> X = [[[0.0], [1.0], [2.0]], [[0.0], [1.0]], [[3.0], [4.0]]]
    >>> visits = [[1, 2, 3], [1, 1], [6, 9]]
    >>> fit = sv.private_glm(sv.Network.ring(3), list(zip(X, visits)), family="poisson", names=["age"])
    >>> fit.terms, fit.params.round(4).tolist(), fit.bse.round(4).tolist()
    (('Intercept', 'age'), [-0.052, 0.5739], [0.4739, 0.1554])
    """
    refuse_options(gone)
    asked = regression_study(
        network, shards, target=target, names=names, intercept=intercept, weights=weights, offset=offset,
        exposure=exposure,
    )  # fmt: skip
    fit = asked.study.glm(
        asked.formula, family=family, link=link, weights=asked.weights, exposure=asked.exposure, shape=shape,
        dispersion=dispersion, robust=robust, ridge=ridge,
    )  # fmt: skip
    return replace(fit, formula="", schema="")  # new rows are arrays, too
