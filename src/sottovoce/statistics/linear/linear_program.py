"""The linear model as the local parties run it, from their rows to the answer that they hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ..agreements import Agreements
from .equation import INTERCEPT, Equation
from .exact_fit import ExactFit, TermOf
from .gram import agreed_gram
from .linear_fit import LinearFit
from .robust import robust_covariance

Told = dict[str, str | None]


def linear_program(
    agreements: Agreements,
    rows: Sequence[Rows],
    equation: Equation,
    robust: str | None,
    term_of: TermOf,
    told: Told,
) -> LinearFit:
    """``term_of``: by column of the design the factors of its term in the formula; ``told``: fields of the answer that
    are known beforehand."""
    fit = ExactFit(agreed_gram(agreements, rows, equation), equation)
    if fit.gram.rounding is not None:
        about = float(fit.left_by([0]))
        fit.gram.rounding.check_left(float(fit.left_by(fit.kept)) / about if about > 0 else 0.0, equation.target)
    sandwich = None if robust is None else robust_covariance(agreements, rows, fit, robust)
    N, rank, constant = fit.gram.N, len(fit.kept), fit.spans_constant()
    solution = fit.solution()
    inverse = solution.inverse / float(fit.gram.weight_unit)
    left, about_0, about_mean = (fit.left_by(columns) for columns in (fit.kept, [], [0]))
    ssr = float(left)
    tested, tested_df, sum_sq = fit.by_term(term_of)
    of = dict(zip(equation.terms, term_of, strict=True))
    terms, gram = fit.names(fit.kept), fit.cross_products()
    with np.errstate(divide="ignore"):
        llf = -N / 2 * (np.log(2 * np.pi * ssr / N) + 1) + fit.gram.log_weights / 2
    return LinearFit(
        *agreements.made,
        terms=terms,
        aliased=fit.aliased,
        all_terms=equation.terms,
        params=solution.coefficients,
        covariance=ssr / (N - rank) * inverse if sandwich is None else sandwich,
        nobs=N,
        response=equation.target,
        robust=robust,
        df_model=rank - constant,
        df_resid=N - rank,
        constant=constant,
        ssr=ssr,
        ess=float((about_mean if constant else about_0) - left),
        centered_tss=float(about_mean),
        uncentered_tss=float(about_0),
        llf=float(llf),
        condition_number=_condition_number(gram[:-1, :-1], inverse),
        vif=fit.inflation(solution.inverse),
        gram=gram,
        term_of=tuple(":".join(of[term]) or INTERCEPT for term in terms),
        tested=tested,
        tested_df=tested_df,
        sum_sq=sum_sq,
        **told,  # type: ignore[arg-type]
    )


def _condition_number(gram: Array, inverse: Array) -> float:
    """Of the columns as they are. The smallest eigenvalue of ``X'WX`` has no digits where columns are nearly dependent,
    the largest one of its inverse has all of them."""
    largest = [np.linalg.eigvalsh(matrix)[-1] for matrix in (gram, inverse)]
    return float(np.sqrt(largest[0]) * np.sqrt(largest[1]))
