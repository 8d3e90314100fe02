"""What is reported of a generalised linear model at its maximum: dispersion, errors, log-likelihoods."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np

from ...costs.base import Array
from ...errors import Undetermined
from ...numerics import fixed_order
from ...sums import Whole
from ..agreements import Agreements, Objected, unless_beyond
from ..fewer_digits import Index, climb_steps, rounded
from ..likelihood.columns import square
from ..likelihood.fixed_point import LOW, exponent, value
from ..likelihood.maximise import Maximum
from .glm_fit import GLMFit
from .glm_model import GLMModel
from .glm_sums import Part, Reading

NOTHING = 1e-12  # of what a variance is made of: rounding, where the terms cancel


def needed(model: GLMModel) -> int:
    """How many more agreements there are, at most."""
    return (model.robust is not None) + (not model.separable)


def numbers(model: GLMModel) -> int:
    """How many integers of a party travel in them, at most."""
    scores = model.k * (model.k + 1) // 2 if model.robust else 0
    return needed(model) * (scores + 2 * (not model.separable))


def closed(agreements: Agreements, parts: Sequence[Part], reading: Reading, top: Maximum) -> GLMFit:
    """The answer."""
    known, model, columns = reading.known, reading.known.model, reading.known.columns
    N, df = known.N, known.N - len(columns)
    deviance, null_deviance = reading.deviance(top.total), reading.null_deviance(top.total)
    squares = reading.squares(top.total)
    scale = 1.0 if not model.dispersed else squares / df if df > 0 else float("nan")
    told = (1.0, 1.0)  # dispersions of the log-likelihoods, of the model and of that without columns
    if model.family.estimated:
        told = model.family.likelihood_scale(deviance, N, scale), scale
    meat, perfect = _agreed(agreements, parts, reading, top, scale, told)
    with np.errstate(divide="ignore", invalid="ignore"):
        llf, llnull = np.array(perfect) - np.array([deviance, null_deviance]) / (2 * np.array(told))
    covariance = _covariance(reading, top, scale, meat)
    if model.robust == "HC1":
        covariance *= N / df if df > 0 else np.nan
    params = columns.params(top.theta[: len(columns)])
    params[:1] += known.centre * model.intercept
    return GLMFit(
        *agreements.made,
        terms=columns.terms,
        params=params,
        covariance=columns.covariance(covariance),
        nobs=N,
        aliased=columns.aliased,
        all_terms=model.terms,
        response=model.response,
        family=model.family.name,
        link=model.link.name,
        shape=model.family.shape,
        dispersion=model.dispersion,
        robust=model.robust,
        ridge=model.ridge,
        scale=scale,
        deviance=deviance,
        null_deviance=null_deviance,
        pearson_chi2=squares,
        llf=float(llf),
        llnull=float(llnull),
        steps=top.steps,
        formula=model.formula,
        schema=model.schema,
        weights=model.weights_name,
        exposure=model.exposure_name,
    )


def _agreed(
    agreements: Agreements,
    parts: Sequence[Part],
    reading: Reading,
    top: Maximum,
    scale: float,
    told: tuple[float, float],
) -> tuple[Array | None, tuple[float, float]]:
    """The products of the scores of rows, where errors are from the sandwich; and the log-likelihoods of a perfect fit
    at two dispersions."""
    model = reading.known.model
    if model.separable:
        meat = _scores(agreements, parts, reading, top, scale, None)[0] if model.robust else None
        return meat, _perfect(reading.known.saturated, model, reading.known.N, told)
    if all(0 < phi < np.inf for phi in told):
        try:
            return _scores(agreements, parts, reading, top, scale, told)
        except Objected:  # a density that is not finite, most likely: there are estimates without it
            pass
    meat = _scores(agreements, parts, reading, top, scale, None)[0] if model.robust else None
    return meat, (np.nan, np.nan)


def _scores(
    agreements: Agreements,
    parts: Sequence[Part],
    reading: Reading,
    top: Maximum,
    scale: float,
    told: tuple[float, float] | None,
) -> tuple[Array | None, tuple[float, float]]:
    """One agreement on both, as far as they are asked for."""
    k, robust, bits = reading.layout.k, reading.known.model.robust is not None, _bits(reading, scale)

    def own(part: Part) -> Whole:
        scores = [part.scores(top.theta, bits)] if robust else []
        return np.concatenate([*scores, *([] if told is None else [part.saturated(told)])])

    of = [*(["products of the scores of rows"] if robust else []), *([] if told is None else ["a perfect fit"])]
    size = k * (k + 1) // 2 * robust + 2 * (told is not None)
    shares = [unless_beyond(lambda part=part: own(part)) for part in parts]  # type: ignore[misc]
    if agreements.ends is not None:
        pairs: list[Index] = list(combinations_with_replacement(range(k), 2)) if robust else []
        sums: list[Index] = [] if told is None else [(), ()]
        information = np.diag(reading.expected(top.total)) * scale
        bits_of = [*[2 * bits] * len(pairs), *[LOW] * len(sums)]
        steps = climb_steps([*pairs, *sums], bits_of, reading.known.N, information)
        shares = [rounded(share, steps) for share in shares]
    total = agreements.sum(shares, of=" and ".join(of), size=size)
    perfect = (np.nan, np.nan)
    if told is not None:
        perfect = value(total[-2], LOW), value(total[-1], LOW)
    if not robust:
        return None, perfect
    half = square(total[: k * (k + 1) // 2], k)
    return np.array([[value(each, 2 * bits) for each in row] for row in half]), perfect


def _perfect(saturated: float, model: GLMModel, N: int, told: tuple[float, float]) -> tuple[float, float]:
    """From that at the dispersion 1: what another one changes is the same for all rows."""
    one = np.ones(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = [float(model.family.saturated(one, one, phi)[0]) for phi in (1.0, *told)]
    return saturated + N * (at[1] - at[0]), saturated + N * (at[2] - at[0])


def _bits(reading: Reading, scale: float) -> int:
    """Of the scores of rows: sums of their squares are about the information times the dispersion, and no row has more
    than all of them."""
    known = reading.known
    size = max(scale, known.dispersion) if scale == scale else known.dispersion
    square = exponent(float(known.weight) * known.information * size)
    return 60 - (min(24, known.wide + 8) + known.wide + square + 1) // 2


def _covariance(reading: Reading, top: Maximum, scale: float, meat: Array | None) -> Array:
    """Of the parameters of standardised columns."""
    model, k = reading.known.model, reading.layout.k
    if model.ridge:  # estimates are biased on purpose: no information tells an error of them
        return np.full((k, k), np.nan)
    expected = fixed_order.inverse(fixed_order.cholesky(reading.expected(top.total))[0])
    if meat is None:
        return np.asarray(scale * expected)
    L, place = fixed_order.cholesky(reading.observed(top.total))
    if place is not None:
        raise Undetermined("the observed information does not tell the errors of all parameters. Leave robust out.")
    bread = fixed_order.inverse(L)
    return _sandwich(reading, bread, meat)


def _sandwich(reading: Reading, bread: Array, meat: Array) -> Array:
    """``H^-1 (sum u u') H^-1`` for the scores ``u`` of the rows and the observed information (White, 1982)."""
    T = fixed_order.product(reading.known.columns.back, bread)
    variances = fixed_order.quadratic(meat, T)
    sizes = fixed_order.quadratic(np.abs(meat), np.abs(T))
    lost = variances <= NOTHING * sizes
    if lost.any():
        those = ", ".join(repr(t) for t, flag in zip(reading.known.columns.terms, lost, strict=True) if flag)
        raise Undetermined(
            f"the robust variance of {those} is 0: as for a level that one row has, nothing is left of the rows that "
            "tell it. Merge the level with another, or leave robust out."
        )
    return fixed_order.product(fixed_order.product(bread, meat), bread)
