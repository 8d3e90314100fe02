"""A linear model as the parties hold it in the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...costs.base import Array
from ...errors import InvalidInput
from ...files.frames import to_frame
from ...numerics.fixed_order import cholesky, forward, total
from ...numerics.unquoted import kind_of
from ...pdmm.modular_mask import Integers
from ...pdmm.result import Status
from ..fit import Fit
from ..new_rows import linear_prediction
from ..statistic import Value, plain

DEPENDENT = 1e-14  # of its variance, what those of other estimates leave of one that follows from them


class Test(NamedTuple):
    """Of a hypothesis: the statistic, its probability if the hypothesis is true, and its degrees of freedom, of an F
    test those of the residuals as well."""

    statistic: float
    pvalue: float
    df: int
    df_resid: int | None = None


def f_ratio(statistic: float, df: int, df_resid: int) -> Test:
    """Compare a statistic with Fisher's distribution."""
    from scipy import special

    return Test(statistic, float(special.fdtrc(df, df_resid, statistic)), df, df_resid)


def chi_squared(statistic: float, df: int) -> Test:
    """Compare a statistic with the chi-squared distribution."""
    from scipy import special

    return Test(statistic, float(special.chdtrc(df, statistic)), df)


@dataclass(frozen=True, eq=False, repr=False)
class LinearFit(Fit):
    """What ``Study.linear`` and ``private_linear`` return, besides the fields of ``Fit``: ordinary or weighted least
    squares. Errors are compared with Student's t, the robust ones too.

    Columns that depend on those before them, in the order of the formula, exactly or but for rounding, are left out:
    ``terms`` are the others.

    Attributes
    ----------
    all_terms : tuple of str
        All columns of the design in their order.
    response : str
        What is explained; the offset is subtracted from it, where the formula has one.
    formula, schema : str
        Of the design, the schema as JSON; empty where columns came as arrays.
    weights : str or None
        The column of weights.
    robust : str or None
        Which covariance: ``"HC0"`` to ``"HC3"``, or the classical one.
    df_model, df_resid : int
        Degrees of freedom: terms less the constant, and rows less terms.
    constant : bool
        Whether the columns span one: then ``rsquared`` is about the mean, as in statsmodels.
    ssr, ess, centered_tss, uncentered_tss : float
        Sums of squares: of the residuals, of what the model explains, and of the response about its mean and about 0.
        With weights, weighted.
    llf : float
        Log-likelihood, if errors are normal.
    condition_number : float
        Of the design, the root of the ratio of the eigenvalues of ``X'WX``.
    vif : ndarray
        Variance inflation factors, one per term; NaN for the intercept.
    gram : ndarray
        ``(terms + 1, terms + 1)``: sums of products of the terms, and last of the response. With weights, weighted.
    term_of : tuple of str
        By parameter, of which term of the formula it is.
    tested : tuple of str
        The terms of the formula, for ``anova``.
    tested_df, sum_sq : ndarray
        ``(terms, 3)``: their degrees of freedom and sums of squares of types I, II and III.

    Examples
    --------
    >>> import sottovoce as sv
    >>> shards = [([[0.0], [1.0]], [1.0, 3.0]), ([[2.0]], [5.0]), ([[3.0]], [8.0])]
    >>> fit = sv.private_linear(sv.Network.ring(3), shards)
    >>> fit.terms, fit.params.round(6).tolist(), fit.bse.round(6).tolist(), round(fit.rsquared, 6)
    (('Intercept', 'x0'), [0.8, 2.3], [0.324037, 0.173205], 0.988785)
    """

    all_terms: Value[tuple[str, ...]] = Value()
    response: Value[str] = Value()
    formula: Value[str] = Value()
    schema: Value[str] = Value()
    weights: Value[str | None] = Value()
    robust: Value[str | None] = Value()
    df_model: Value[int] = Value()
    df_resid: Value[int] = Value()
    constant: Value[bool] = Value()
    ssr: Value[float] = Value()
    ess: Value[float] = Value()
    centered_tss: Value[float] = Value()
    uncentered_tss: Value[float] = Value()
    llf: Value[float] = Value()
    condition_number: Value[float] = Value()
    vif: Value[Array] = Value()
    gram: Value[Array] = Value()
    term_of: Value[tuple[str, ...]] = Value()
    tested: Value[tuple[str, ...]] = Value()
    tested_df: Value[Integers] = Value()
    sum_sq: Value[Array] = Value()

    title: ClassVar[str] = "Linear model"

    @property
    def _df(self) -> float:
        return float(self.df_resid)

    @property
    def all_params(self) -> Array:
        """Estimates of ``all_terms``: 0 for those that are left out."""
        params = dict(zip(self.terms, self.params.tolist(), strict=True))
        return np.array([params.get(term, 0.0) for term in self.all_terms])

    @property
    def scale(self) -> float:
        """The variance of the errors, ``ssr / df_resid``."""
        return self.ssr / self.df_resid

    @property
    def rsquared(self) -> float:
        """The share of the response's squares that the model explains; NaN where there are none."""
        return self.ess / self._total if self._total else math.nan

    @property
    def rsquared_adj(self) -> float:
        """``rsquared``, by degrees of freedom."""
        left = self.ssr / self._total if self._total else math.nan
        return 1 - (self.nobs - self.constant) / self.df_resid * left

    @property
    def _total(self) -> float:
        return self.centered_tss if self.constant else self.uncentered_tss

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return -2 * self.llf + 2 * len(self.terms)

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return -2 * self.llf + math.log(self.nobs) * len(self.terms)

    @property
    def fvalue(self) -> float:
        """Of the F test that all terms but the constant are 0; from the robust covariance where that was asked for."""
        return self._whole()[0]

    @property
    def f_pvalue(self) -> float:
        """The probability of ``fvalue``."""
        return self._whole()[1]

    def _whole(self) -> Test:
        spans_alone = self.robust is not None and self.constant and "Intercept" not in self.terms
        if not self.df_model or spans_alone:  # no subset of the terms says that all but a constant is 0
            return Test(float("nan"), float("nan"), 0, self.df_resid)
        if self.robust is not None:
            return self.f_test([term for term in self.terms if term != "Intercept"])
        return self._f_ratio(self.ess, self.df_model)

    def _f_ratio(self, squares: float, df: int) -> Test:
        """Compare squares with those of the residuals; infinite where these are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return f_ratio(float(np.divide(squares / df, self.scale)), df, self.df_resid)

    def f_test(self, terms: str | Sequence[str]) -> Test:
        """The F test that some terms are all 0: names of parameters, or of terms of the formula, such as ``"C(arm)"``,
        with all their parameters. Only the estimates and their covariance are used: nothing more is agreed on."""
        at = self._places(terms)
        statistic = _squared_distance(self.params[at], self.covariance[np.ix_(at, at)]) / len(at)
        return f_ratio(statistic, len(at), self.df_resid)

    def wald_test(self, terms: str | Sequence[str]) -> Test:
        """``f_test`` with the chi-squared distribution."""
        F = self.f_test(terms)
        return chi_squared(F.df * F.statistic, F.df)

    def compare_lr(self, other: LinearFit) -> Test:
        """The likelihood ratio test of a model that is nested in this one; ``InvalidInput`` where it is not."""
        df = self._nested(other)
        return chi_squared(2 * (self.llf - other.llf), df)

    def compare_f(self, other: LinearFit) -> Test:
        """The F test of a model that is nested in this one; ``InvalidInput`` where it is not."""
        df = self._nested(other)
        return self._f_ratio(other.ssr - self.ssr, df)

    def anova(self, typ: int = 2) -> Any:
        """F tests of the terms of the formula as a frame: sums of squares of type I, each term after those before it,
        of type II, beside all that do not contain it, or of type III, beside all others. From the classical covariance,
        in the coding of the levels by differences from the reference. A term that adds no column has no degrees of
        freedom and no test, and is left out of type I, as in R."""
        from scipy import special

        if typ not in (1, 2, 3):
            raise InvalidInput(f"typ must be 1, 2 or 3; got {typ!r}.")
        df, squares = np.reshape(self.tested_df, (-1, 3))[:, typ - 1], np.reshape(self.sum_sq, (-1, 3))[:, typ - 1]
        shown = np.flatnonzero(df > 0) if typ == 1 else np.arange(len(df))
        squares, df = np.append(squares[shown], self.ssr), np.append(df[shown], self.df_resid)
        with np.errstate(divide="ignore", invalid="ignore"):
            F = squares / df / self.scale
            p = special.fdtrc(df, self.df_resid, F)
        F[-1] = p[-1] = np.nan
        terms = [*(self.tested[k] for k in shown), "Residual"]
        return to_frame({"term": terms, "sum_sq": squares, "df": df, "F": F, "p_value": p})

    def predict(self, table: Any) -> Array:
        """Expected responses of rows: a table with the columns that the formula reads, in any form that a party's table
        may have, or an array or a frame of the columns; offsets are added, and aliased columns have no part."""
        return linear_prediction(self.formula, self.schema, self.all_terms, self.all_params, table)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON: the fields, and what follows from them."""
        if self.status is not Status.CONVERGED:
            return super().to_dict()
        derived = ("scale", "rsquared", "rsquared_adj", "fvalue", "f_pvalue", "aic", "bic")
        return {**super().to_dict(), **{name: plain(getattr(self, name)) for name in derived}}

    def _places(self, terms: str | Sequence[str]) -> list[int]:
        names = [terms] if isinstance(terms, str) else list(terms)
        known = [*self.terms, *self.tested]
        if not names or any(name not in known for name in names):
            wrong = next((name for name in names if name not in known), "none")
            raise InvalidInput(f"terms must be some of {', '.join(dict.fromkeys(known))}; got {wrong!r}.")
        pairs = enumerate(zip(self.terms, self.term_of, strict=True))
        return [k for k, (term, of) in pairs if term in names or of in names]

    def _nested(self, other: LinearFit) -> int:
        if not isinstance(other, LinearFit):
            raise InvalidInput(f"other must be a LinearFit; got {kind_of(other)}.")
        for what in ("nobs", "response", "weights"):
            if getattr(other, what) != getattr(self, what):
                raise InvalidInput(
                    f"other must be fitted to the same rows: its {what} is {getattr(other, what)!r}, here "
                    f"{getattr(self, what)!r}."
                )
        if not set(other.terms) < set(self.terms):
            raise InvalidInput(
                f"other must have some of the terms {', '.join(self.terms)} and not all; it has "
                f"{', '.join(other.terms)}."
            )
        # Sums of products are exact. Where those that both have are equal, the smaller model is that of these rows,
        # whichever rows it was made from: it follows from these sums.
        at = [*(self.terms.index(term) for term in other.terms), len(self.terms)]
        if not np.array_equal(other.gram, self.gram[np.ix_(at, at)]):
            raise InvalidInput(
                "other must be fitted to the same rows and response: sums over its rows are others. Where missing "
                "values are dropped, give both models the rows of the larger one."
            )
        return len(self.terms) - len(other.terms)

    def _facts(self) -> str:
        errors = f", {self.robust} errors" if self.robust else ""
        kind = "Weighted least squares" if self.weights else "Least squares"
        return f"{kind} for {self.response}{errors}: {self.nobs} observations of {self.parties} parties"

    def _head(self) -> list[tuple[str, str]]:
        return [
            ("Response", self.response),
            ("Method", ("Weighted" if self.weights else "Ordinary") + " least squares"),
            ("Covariance", self.robust or "classical"),
            *super()._head(),
            ("Df Residuals", f"{self.df_resid:,}"),
            ("Df Model", f"{self.df_model}"),
            ("R-squared" + ("" if self.constant else " (uncentered)"), f"{self.rsquared:.4f}"),
            ("Adj. R-squared", f"{self.rsquared_adj:.4f}"),
            ("F-statistic", f"{self.fvalue:.5g}"),
            ("Prob (F-statistic)", f"{self.f_pvalue:.3g}"),
            ("Log-Likelihood", f"{self.llf:.6g}"),
            ("AIC", f"{self.aic:.6g}"),
            ("BIC", f"{self.bic:.6g}"),
            ("Cond. No.", f"{self.condition_number:.3g}"),
        ]


def _squared_distance(b: Array, V: Array) -> float:
    """``b'V^-1 b``: infinite where some combination of ``b`` has no variance, NaN where that is 0 as well."""
    sizes = np.sqrt(np.diag(V))
    if not (sizes > 0).all():
        return math.inf if b[sizes == 0].any() else math.nan
    L, dependent = cholesky(V / np.outer(sizes, sizes), DEPENDENT)
    if dependent is not None:
        return math.inf
    whitened = forward(L, b / sizes)
    return float(total(whitened * whitened))
