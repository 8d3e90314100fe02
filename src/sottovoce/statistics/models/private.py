"""Generalised linear models, multinomial ones and Cox's of arrays and frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...costs.base import as_floats
from ...data.formula.factors import spelled
from ...data.rows import ArrayRows
from ...data.schema import Column, Schema
from ...errors import InvalidInput
from ...files.frames import by_name, in_order, read_columns
from ...network import Network
from ...pdmm.shards import whose
from ..arrays import regression_study, study_of
from ..gone import refuse_options
from ..shards import Shards, column_names, of_party, one_per_party
from ..survival.grid import check_times
from .cox import CoxFit
from .glm import GLMFit
from .multinomial import MultinomialFit

RESPONSE = ("time", "event")  # of Cox's model


def private_glm(
    network: Network, shards: Shards, *, family: str = "binomial", link: str | None = None, shape: float | None = None,
    dispersion: str | None = None, robust: str | None = None, ridge: float = 0.0, target: str | None = None,
    weights: Shards | None = None, offset: Shards | None = None, exposure: Shards | None = None,
    intercept: bool = True, names: Sequence[str] | None = None, **gone: Any,
) -> GLMFit:  # fmt: skip
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


def private_multinomial(
    network: Network, shards: Shards, levels: Sequence[str], *, ridge: float = 0.0, weights: Shards | None = None,
    intercept: bool = True, names: Sequence[str] | None = None, **gone: Any,
) -> MultinomialFit:  # fmt: skip
    """Multinomial logistic regression of levels ``y`` on the columns of ``X``, over the pooled rows of shards
    ``(X_i, y_i)``.

    Revealed, of each honest component: its number of rows at each level, the sums of its columns and of their squares,
    and at every step its log-likelihood, score and information.

    Parameters
    ----------
    network, shards
        As for ``private_glm``; but ``y_i`` are places among ``levels``, from 0.
    levels : sequence of str
        Names of the levels, public; the first is the one that the others are compared with.
    ridge : float
        ``ridge sum_a ||b_a||^2 / 2`` is subtracted from the log-likelihood, for slopes ``b_a`` of all levels that sum
        to 0, in the units of the data: scikit-learn's ``LogisticRegression(C=1 / ridge)``. Estimates have no errors
        then.
    weights : sequence, optional
        Per party a positive number per row: how often it counts.
    intercept, names, **gone
        As for ``private_glm``.

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


def private_cox(
    network: Network, shards: Shards, *, ties: str = "efron", baseline: str = "party",
    grid: Sequence[float] | None = None, min_departures: int | None = None, names: Sequence[str] | None = None,
    **gone: Any,
) -> CoxFit:  # fmt: skip
    """Cox's proportional hazards of the pooled rows of shards ``(X_i, time_i, event_i)``.

    Revealed, of each honest component: its numbers of rows and events, its sums and squares of the columns, and at
    every step of Newton's method its log-likelihood, score and information; with one baseline for all parties, its
    events and censorings at every point of the grid, and at every step its sums over each risk set.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence of triples, or mapping
        ``(X_i, time_i, event_i)`` of every party, in the order of the nodes or by their names: columns, times from 0
        on, and 1 for an event or 0 for a censored time. The columns of frames are matched by name.
    ties, baseline, grid, min_departures
        As for ``Study.cox``; a grid is its points.
    names, **gone
        As for ``private_glm``.

    Returns
    -------
    CoxFit

    Raises
    ------
    InvalidInput
        Shards that do not fit together, no events, columns whose hazard ratios the rows do not tell, or a grid that
        would show single rows.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> rng = np.random.default_rng(0)
    >>> shards = [(x := rng.normal(size=(60, 1)), rng.exponential(np.exp(-x[:, 0])), np.ones(60)) for _ in range(3)]
    >>> fit = sv.private_cox(sv.Network.ring(3), shards, names=["dose"])
    >>> fit.terms, fit.params.round(2).tolist()
    (('dose',), [1.03])
    """
    refuse_options(gone)
    rows, frame_names = _read(network, shards)
    columns = column_names(frame_names, names, rows[0].width - 2)
    if twice := [name for name in RESPONSE if name in columns]:
        raise InvalidInput(f"a column of X is called {twice[0]!r}, as the response is. Rename it.")
    numbers = [Column(name, "number") for name in (*columns, "time")]
    schema = Schema([*numbers, Column("event", "boolean")])
    formula = f"time, event ~ {' + '.join(map(spelled, columns))}"
    study = study_of(network, schema, [part.array for part in rows])
    fit = study.cox(formula, ties=ties, baseline=baseline, grid=grid, min_departures=min_departures)
    return replace(fit, formula="", schema="")  # new rows are arrays, too


def _read(network: Network, shards: Shards) -> tuple[list[ArrayRows], tuple[str, ...] | None]:
    """Rows ``[X_i, time_i, event_i]`` of every party, and the names of columns that have some."""
    parties, given = whose(network, "party"), one_per_party(network, shards)
    for who, own in zip(parties, given, strict=True):
        if not isinstance(own, Sequence) or len(own) != 3:
            raise InvalidInput(f"{who}: its shard must be (X, time, event), columns, times and events.")
    found = [read_columns(own[0], who) for who, own in zip(parties, given, strict=True)]
    names = by_name(found, parties)
    tables = [own[0] for own in given] if names is None else list(in_order(found, names))
    rows = []
    for who, X, (_, time, event) in zip(parties, tables, given, strict=True):
        x = of_party(who, as_floats, X, "X")
        y = [of_party(who, as_floats, value, name) for value, name in ((time, "time"), (event, "event"))]
        if x.ndim != 2 or x.shape[1] == 0 or any(value.shape != (len(x),) for value in y):
            raise InvalidInput(f"{who}: X must be a matrix, and time and event have an entry for each of its rows.")
        rows.append(ArrayRows(np.column_stack([x, *y])))
        if not np.isfinite(rows[-1].array).all():
            raise InvalidInput(f"{who}: its shard has NaN or inf. Remove or impute the missing values first.")
        if rows[-1].width != rows[0].width:
            raise InvalidInput(
                f"parties must hold the same columns; {parties[0]} has {rows[0].width - 2}, {who} {x.shape[1]}."
            )
        try:
            check_times(rows[-1], "time", "event", at=x.shape[1])
        except InvalidInput as error:
            raise InvalidInput(f"{who}: {error}") from None
    return rows, names
