"""The result of a multinomial logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...pdmm.modular_mask import Integers
from ..fit import Fit
from ..statistic import Value
from .levels import chi2_tail, design_rows


@dataclass(frozen=True, eq=False, repr=False)
class MultinomialFit(Fit):
    """What ``Study.multinomial`` returns, besides the fields of ``Fit``: ``log(p_level / p_reference) = x'beta_level``.
    Terms are called ``"level: term"``.

    Attributes
    ----------
    response : str
        The column that is explained.
    levels : tuple of str
        Of the response, the reference first.
    variables : tuple of str
        Names of the columns of the design, the same for every level.
    counts : ndarray
        Rows of all parties at each level.
    llf, llnull : float
        The log-likelihood, and that of shares that depend on no column.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> schema = {"age": {"type": "number", "range": (0, 100)}, "diet": {"type": "category", "levels": ["a", "b", "c"]}}
    >>> rng = np.random.default_rng(1)
    >>> tables = [{"age": rng.uniform(20, 90, n), "diet": rng.choice(["a", "b", "c"], n)} for n in (40, 25, 60)]
    >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).multinomial("diet ~ age")
    >>> fit.terms
    ('b: Intercept', 'b: age', 'c: Intercept', 'c: age')
    >>> fit.coefficients.shape, fit.predict([[50.0]]).round(3).sum()
    ((2, 2), 1.0)
    """

    response: Value[str] = Value()
    levels: Value[tuple[str, ...]] = Value()
    variables: Value[tuple[str, ...]] = Value()
    counts: Value[Integers] = Value()
    llf: Value[float] = Value()
    llnull: Value[float] = Value()

    title: ClassVar[str] = "Multinomial logistic regression"
    ratio: ClassVar[str | None] = "relative risk ratio"

    @property
    def coefficients(self) -> Array:
        """``params`` as a table with a column for every level but the reference, ``(variables, levels - 1)``."""
        return self.params.reshape(len(self.levels) - 1, len(self.variables)).T

    @property
    def df_model(self) -> int:
        """Parameters besides an intercept for every level."""
        return len(self.params) - ("Intercept" in self.variables) * (len(self.levels) - 1)

    @property
    def df_resid(self) -> int:
        """Rows less parameters."""
        return self.nobs - len(self.params)

    @property
    def aic(self) -> float:
        """Akaike's criterion, ``2 k - 2 llf``."""
        return 2 * len(self.params) - 2 * self.llf

    @property
    def bic(self) -> float:
        """That of Schwarz, ``k log(nobs) - 2 llf``."""
        return float(len(self.params) * np.log(self.nobs) - 2 * self.llf)

    @property
    def prsquared(self) -> float:
        """McFadden's, ``1 - llf / llnull``."""
        return 1 - self.llf / self.llnull

    @property
    def llr(self) -> float:
        """The likelihood ratio statistic of all columns together."""
        return 2 * (self.llf - self.llnull)

    @property
    def llr_pvalue(self) -> float:
        """Of that statistic."""
        return chi2_tail(self.llr, self.df_model)

    def predict(self, X: npt.ArrayLike) -> Array:
        """The probability of every level, in the order of ``levels``, ``(rows, levels)``, for rows of the design: an
        array with its columns but the intercept, or a frame that has them by name."""
        slopes = tuple(name for name in self.variables if name != "Intercept")
        x = design_rows(X, slopes)
        if len(slopes) < len(self.variables):
            x = np.column_stack([np.ones(len(x)), x])
        eta = np.column_stack([np.zeros(len(x)), x @ self.coefficients])
        odds = np.exp(eta - eta.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _head(self) -> list[tuple[str, str]]:
        return [
            ("Dep. Variable", self.response), ("Reference level", self.levels[0]), *super()._head(),
            ("Df Residuals", f"{self.df_resid:,}"), ("Df Model", f"{self.df_model}"),
            ("Log-Likelihood", f"{self.llf:.5g}"), ("LL-Null", f"{self.llnull:.5g}"),
            ("Pseudo R-squ.", f"{self.prsquared:.4g}"), ("LLR p-value", f"{self.llr_pvalue:.4g}"),
            ("AIC", f"{self.aic:.5g}"), ("BIC", f"{self.bic:.5g}"),
        ]  # fmt: skip
