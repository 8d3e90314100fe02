"""What the models of a category have in common: counts of its levels, likelihoods, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...pdmm.modular_mask import Integers
from ..fit import Fit
from ..statistic import Value


@dataclass(frozen=True, eq=False, repr=False)
class LevelFit(Fit):
    """A fitted model of a category, besides the fields of ``Fit``.

    Attributes
    ----------
    response : str
        The column that is explained.
    formula, schema : str
        What was asked, and the columns that it reads as JSON: so much a prediction needs.
    levels : tuple of str
        Of the response.
    counts : ndarray
        Rows of all parties at each level.
    llf, llnull : float
        The log-likelihood, and that of shares that depend on no column.
    """

    response: Value[str] = Value()
    formula: Value[str] = Value()
    schema: Value[str] = Value()
    levels: Value[tuple[str, ...]] = Value()
    counts: Value[Integers] = Value()
    llf: Value[float] = Value()
    llnull: Value[float] = Value()

    @property
    def df_model(self) -> int:
        """Parameters besides those of shares that depend on no column."""
        return len(self.params) - (len(self.levels) - 1)

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
        """Of that statistic, by the chi-squared distribution."""
        from scipy import special

        return float(special.chdtrc(self.df_model, max(0.0, self.llr))) if self.df_model > 0 else 1.0

    def _head(self) -> list[tuple[str, str]]:
        return [
            ("Dep. Variable", self.response), *super()._head(),
            ("Df Residuals", f"{self.df_resid:,}"), ("Df Model", f"{self.df_model}"),
            ("Log-Likelihood", f"{self.llf:.5g}"), ("LL-Null", f"{self.llnull:.5g}"),
            ("Pseudo R-squ.", f"{self.prsquared:.4g}"), ("LLR p-value", f"{self.llr_pvalue:.4g}"),
            ("AIC", f"{self.aic:.5g}"), ("BIC", f"{self.bic:.5g}"),
        ]  # fmt: skip
