"""The linear model as the local parties run it, from their rows to the answer that they hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import NotConverged
from ..agreements import Agreements
from .equation import INTERCEPT, Equation
from .least_squares import Solved, solved
from .linear_fit import LinearFit

Told = dict[str, str | None]


def linear_program(
    agreements: Agreements,
    rows: Sequence[Rows],
    equation: Equation,
    robust: str | None,
    term_of: Sequence[tuple[str, ...]],
    told: Told,
) -> LinearFit:
    """``term_of``: by parameter the factors of its term in the formula; ``told``: fields of the answer that are known
    beforehand."""
    try:
        fit = solved(agreements, rows, equation, robust)
    except NotConverged:
        return LinearFit(*agreements.made)
    design, moments, H = fit.design, fit.design.moments, fit.H
    N, p = moments.N, len(equation.terms)
    df_resid, inverse = N - p, np.linalg.inv(H)
    unit = N * moments.weight * design.unit**2  # of sums of squares
    if fit.middle is None:
        covariance = fit.squares / df_resid * inverse
    else:
        covariance = inverse @ fit.middle @ inverse / (df_resid if robust == "HC1" else N)
    G, V = moments.products[0], design.V
    ssr = fit.squares * unit
    with np.errstate(divide="ignore"):
        llf = -N / 2 * (np.log(2 * np.pi * ssr / N) + 1) + fit.log_weights / 2
    tested, df, squares = _by_term(fit, term_of)
    return LinearFit(
        *agreements.made,
        terms=equation.terms,
        params=design.params(fit.b),
        covariance=design.T @ covariance @ design.T.T,
        nobs=N,
        response=equation.target,
        robust=robust,
        df_model=p - fit.constant,
        df_resid=df_resid,
        constant=fit.constant,
        ssr=ssr,
        centered_tss=float(V @ G @ V - (V @ G[0]) ** 2 / G[0, 0]) * unit,
        uncentered_tss=float(design.about_0 @ G @ design.about_0) * unit,
        llf=float(llf),
        condition_number=_condition_number(fit),
        vif=_inflation(fit),
        term_of=tuple(":".join(factors) or INTERCEPT for factors in term_of),
        tested=tested,
        tested_df=df,
        sum_sq=squares * unit,
        **told,  # type: ignore[arg-type]
    )


def _condition_number(fit: Solved) -> float:
    """Of the columns as they are: ``X = u K``, so that singular values of ``R K`` keep digits which ``X'X`` loses."""
    K = np.linalg.inv(fit.design.T / fit.design.unit)
    values = np.linalg.svd(np.linalg.cholesky(fit.H).T @ K, compute_uv=False)
    return float(values[0] / values[-1])


def _inflation(fit: Solved) -> Array:
    """By term what its variance would be without the others, in the denominator of what it is. Squares are about the
    mean where the others span the constant, as in statsmodels."""
    H, U, G = fit.H, fit.design.U, fit.design.moments.products[0]
    left = 1 / np.diag(np.linalg.inv(H))
    ones, vif = U.T @ G[:, 0], np.empty(len(H))
    for j in range(len(H)):
        others = np.delete(np.arange(len(H)), j)
        spanned = ones[others] @ np.linalg.solve(H[np.ix_(others, others)], ones[others]) if len(others) else 0.0
        about = ones[j] ** 2 / G[0, 0] if spanned > (1 - 1e-6) * G[0, 0] else 0.0
        vif[j] = (H[j, j] - about) / left[j]
    if fit.design.equation.intercept:
        vif[0] = np.nan
    return vif


def _by_term(fit: Solved, term_of: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], Array, Array]:
    """The terms of the formula but the intercept, their numbers of parameters, and their sums of squares over ``N`` of
    type II and III: ``b_T' ((H_SS^{-1})_TT)^{-1} b_T`` of the fit to the columns ``S``."""
    H, right = fit.H, fit.H @ fit.b
    terms = [term for term in dict.fromkeys(term_of) if term]
    columns = {term: [k for k, of in enumerate(term_of) if of == term] for term in terms}
    squares = np.empty((len(terms), 2))
    for row, term in zip(squares, terms, strict=True):
        containing = [other for other in terms if set(other) > set(term)]
        for place, beside in enumerate((containing, [])):
            S = [k for k, of in enumerate(term_of) if of not in beside]
            T = [S.index(k) for k in columns[term]]
            inverse = np.linalg.inv(H[np.ix_(S, S)])
            b = (inverse @ right[S])[T]
            row[place] = b @ np.linalg.solve(inverse[np.ix_(T, T)], b)
    return tuple(":".join(term) for term in terms), np.array([len(columns[term]) for term in terms]), squares
