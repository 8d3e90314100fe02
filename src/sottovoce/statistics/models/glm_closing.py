"""What is reported of a generalised linear model at its maximum: residuals, dispersion, errors, log-likelihoods."""

from __future__ import annotations

import numpy as np

from ...costs.base import Array
from ...numerics.symmetric import symmetric, upper
from ...pdmm.masks import GaussianMask
from ..agreements import Agreements, votable
from ..likelihood.maximise import Maximum
from ..settled import settled_powers
from .glm_fit import GLMFit
from .glm_model import Known
from .glm_sums import Part

AGREEMENTS = 4
VOTES = 4  # that ride along
LEAST = 1e-12  # of residuals in their unit: those of a perfect fit have a logarithm


def numbers(k: int) -> int:
    """How many real numbers of a party travel, at most."""
    return 4 + k * (k + 1) // 2 + k * (k + 1) + 2 + VOTES


def closed(
    agreements: Agreements, parts: list[Part], known: Known, mask: GaussianMask, top: Maximum, null: Array, first: Array
) -> GLMFit:
    """The answer. ``null``: the intercept of the model that has nothing else; ``first``: about its objective."""
    own, model = parts[0], parts[0].model
    N, df, n = known.N, known.N - model.k, agreements.parties
    # Deviances of a good fit are small: they are agreed on in units of their own.
    held = -2 * np.column_stack([top.sums[:, 0], first]) * known.size  # without a penalty
    fit, nothing = settled_powers(agreements, held, of="orders of magnitude of the deviances")
    estimated = model.family.estimated
    unit = np.array([fit if estimated else N, fit, nothing, min(N, known.size * known.weight)])
    own_sums = [_residuals(part, eta) / unit for part, eta in zip(parts, null, strict=True)]
    if model.by_newton:  # errors are those of the expected information, as everywhere
        at_top = [upper(part.expected(theta)) / known.size for part, theta in zip(parts, top.theta, strict=True)]
        own_sums = [np.append(one, other) for one, other in zip(own_sums, at_top, strict=True)]
    of = "squared residuals, deviances" + (", and the expected information" if model.by_newton else "")
    told = n * np.array(own_sums)
    # Those of a row that the model finds nearly impossible have no bound; but where the dispersion is known nothing
    # hangs on them, and there is an answer without.
    lacking = (model.dispersion == "fixed") & ~(np.abs(told[:, :1]) <= votable(agreements, mask))
    told[:, :1] = np.where(lacking, 0.0, told[:, :1])
    *agreed, lost = agreements.mean_together(np.column_stack([told, lacking]), mask, of=of, votes=1).T
    information = symmetric(np.array(agreed)[4:, 0], model.k) if model.by_newton else top.information[0]
    least = np.array([LEAST, LEAST, LEAST, -np.inf])[:, None]
    chi2, deviance, null_deviance, perfect = np.maximum(agreed[:4], least) * unit[:, None]
    chi2 = np.full_like(chi2, np.nan) if np.rint(n * lost[0]) else chi2
    scale = _scale(parts, chi2, df)  # in units of the parts
    llf, llnull = -deviance * own.measure / 2 + perfect, -null_deviance * own.measure / 2 + perfect
    if estimated:
        # That of a Gaussian is at the variance that makes it largest, as statsmodels has it.
        at = np.column_stack([deviance / N if model.family.power == 0 else scale, scale])
        perfects = _perfects(agreements, parts, known, mask, at) if df else np.nan
        llf, llnull = (perfects - np.column_stack([deviance, null_deviance]) / (2 * at)).T
    # Estimates with a penalty are biased on purpose: no information tells an error of them.
    covariance = np.full((model.k, model.k), np.nan)
    if model.robust is not None:
        covariance = _sandwich(agreements, parts, known, mask, top, unit[0] if estimated else known.size)
        covariance *= (N / df if df > 0 else np.nan) if model.robust == "HC1" else 1.0
    elif not model.ridge:
        covariance = scale[0] * np.linalg.inv(information) / known.size
    T = own.columns.back * own.factor
    params = T @ top.theta[0]
    if model.intercept:
        params[0] += own.centre
    return GLMFit(
        *agreements.made,
        terms=own.columns.terms,
        params=params,
        covariance=T @ covariance @ T.T,
        nobs=N,
        response=model.response,
        family=model.family.name,
        link=model.link.name,
        shape=getattr(model.family, "shape", None),
        dispersion=model.dispersion,
        robust=model.robust,
        ridge=model.ridge,
        scale=float(scale[0] * own.measure),
        deviance=float(deviance[0] * own.measure),
        null_deviance=float(null_deviance[0] * own.measure),
        pearson_chi2=float(chi2[0] * own.measure),
        llf=float(llf[0]),
        llnull=float(llnull[0]),
        steps=top.steps,
        formula=model.formula,
        schema=model.schema,
        weights=model.weights_name,
        exposure=model.exposure_name,
    )


def _residuals(part: Part, null: float) -> Array:
    """Squared residuals and the deviance where the climb ended, the deviance without columns, the log-likelihood of a
    perfect fit; the last where it does not hang on the dispersion."""
    perfect = 0.0 if part.model.family.estimated else part.saturated(1.0)
    return np.array([part.chi2, part.deviance, part.of_null(null), perfect])


def _scale(parts: list[Part], chi2: Array, df: int) -> Array:
    """The dispersion, as each local party holds it; NaN where no row is left to tell it."""
    if parts[0].model.dispersion == "fixed":
        return np.full(len(parts), 1 / parts[0].measure)
    return chi2 / df if df > 0 else np.full(len(parts), np.nan)


def _perfects(agreements: Agreements, parts: list[Part], known: Known, mask: GaussianMask, at: Array) -> Array:
    """The log-likelihood of a perfect fit at each of some dispersions, ``(local, dispersions)``."""
    scales = [(part, both * part.measure) for part, both in zip(parts, at, strict=True)]
    sums = np.array([[part.saturated(phi) for phi in both] for part, both in scales])
    of = "the log-likelihood of a perfect fit"
    return known.N * agreements.mean_together(agreements.parties / known.N * sums, mask, of=of)


def _sandwich(
    agreements: Agreements, parts: list[Part], known: Known, mask: GaussianMask, top: Maximum, unit: float
) -> Array:
    """``H^-1 (sum u u') H^-1`` for the scores ``u`` of the rows (White, 1982). ``H`` is the observed information, which
    is at hand but where steps took the expected one."""
    model, k = parts[0].model, parts[0].model.k
    known_H = model.canonical or model.by_newton
    sums = []
    for part, theta in zip(parts, top.theta, strict=True):
        observed = [] if known_H else [upper(part.observed(theta)) / known.size]
        sums.append(np.concatenate([upper(part.scores(theta)) / unit, *observed]))
    of = "products of scores" + ("" if known_H else ", and the observed information")
    agreed = agreements.mean_together(agreements.parties * np.array(sums), mask, of=of)[0]
    first, *second = agreed.reshape(-1, k * (k + 1) // 2)
    meat, H = symmetric(first, k) * unit, top.information[0] if known_H else symmetric(second[0], k)
    bread = np.linalg.inv(H) / known.size
    return np.asarray(bread @ meat @ bread)
