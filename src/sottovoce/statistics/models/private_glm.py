"""Generalised linear models of arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...costs.base import as_floats
from ...data.rows import ArrayRows, Rows
from ...errors import InvalidCost, InvalidInput, is_number
from ...files.frames import read_columns
from ...network import Network
from ...pdmm.masks import GaussianMask
from ...pdmm.overlay import AskedOverlay
from ...pdmm.schedules import Schedule
from ...pdmm.shards import whose
from ..agreements import DEFAULT_MASK, SimulatedAgreements, Simulation
from ..shards import Shards, column_names, one_per_party, read_regression
from .family import Family
from .glm import read_family
from .glm_fit import GLMFit
from .glm_model import GLMModel
from .glm_program import glm_program


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
    scale: npt.ArrayLike | Mapping[str, float] | None = None,
    mask: GaussianMask = DEFAULT_MASK,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
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
    scale : float, sequence or mapping, optional
        Public numbers that bring the columns, and last the target, to size 1: ``d + 1`` of them, one for all, or by
        name.
    mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of every run, as in ``sv.solve``; see ``sottovoce.statistics``.

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
    chosen, by, phi = read_family(family, link, shape, dispersion, robust, exposure is not None)
    _check_ridge(ridge, chosen, robust)
    if offset is not None and (by.power or 0) < 0:
        raise InvalidInput(f"offset has no use with the link {by.name}. Leave it out.")
    read, d, found, target = read_regression(network, shards, None, target)
    columns = column_names(found, names, d)
    response = target or ("y" if "y" not in columns else "target")
    further = {"offset": offset, "exposure": exposure, "weights": weights}
    given = {name: one_per_party(network, values, name) for name, values in further.items() if values is not None}
    places: dict[str, Any] = {name: d + 1 + place for place, name in enumerate(given)}
    model = GLMModel(
        columns, response, chosen, by, bool(intercept), (None,) * (d + 1 + len(given)), **places,
        dispersion=phi, robust=robust, ridge=float(ridge),
    )  # fmt: skip
    if not model.k:
        raise InvalidInput("shards: X has no columns, and there is no intercept. There is nothing to fit.")
    rows: list[Rows] = []
    for i, who in enumerate(whose(network, "party")):
        part = read[i]
        assert isinstance(part, ArrayRows)
        more = [_per_row(who, name, values[i], len(part)) for name, values in given.items()]
        rows.append(ArrayRows(np.column_stack([part.array, *more])))
        try:
            model.check(rows[-1])
        except InvalidInput as error:
            raise InvalidInput(f"{who}: {error}") from None
    simulation = Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress)
    return glm_program(SimulatedAgreements(simulation), rows, model)


def _check_ridge(ridge: float, family: Family, robust: str | None) -> None:
    if not (is_number(ridge) and math.isfinite(ridge) and ridge >= 0):
        raise InvalidInput(f"ridge must be a number >= 0; got {ridge!r}.")
    if ridge and family.estimated:
        raise InvalidInput(
            f"ridge: family {family.name} has a dispersion, against which a penalty has no size. Take binomial, "
            "poisson or negative_binomial; for a Gaussian response use private_ridge."
        )
    if ridge and robust is not None:
        raise InvalidInput(f"robust: estimates with a ridge penalty have no standard errors; got {robust!r}.")


def _per_row(who: str, name: str, given: Any, rows: int) -> npt.NDArray[np.float64]:
    columns = read_columns(given, f"{who}, {name}")
    try:
        values = as_floats(given if columns is None else columns.values, name)
    except InvalidCost as error:
        raise InvalidInput(f"{who}: {error}") from None
    values = values.reshape(-1) if values.ndim == 2 and values.shape[1] == 1 else values
    if values.shape != (rows,) or not np.isfinite(values).all():
        raise InvalidInput(f"{who}: {name} must be {rows} finite numbers, one per row; got shape {values.shape}.")
    return values
