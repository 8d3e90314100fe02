"""The result of a linear model in which parties differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...errors import Unsupported
from ..fit import Fit
from ..new_rows import linear_prediction
from ..statistic import Value


@dataclass(frozen=True, eq=False, repr=False)
class MixedFit(Fit):
    """What ``Study.mixed`` returns, besides the fields of ``Fit``: ``y = x'params + u_party + e``. Errors of ``params``
    are those of generalised least squares at the variances that were found.

    Attributes
    ----------
    response : str
        The column that is explained.
    formula, schema : str
        What was asked, and the columns that it reads as JSON: so much a prediction needs.
    method : str
        ``"reml"`` or ``"ml"``.
    groups : int
        Parties that have rows.
    tau2 : float
        The variance of ``u``, between parties; 0 where the likelihood is highest at this end of its range.
    scale : float
        The variance of ``e``, within parties.
    llf : float
        The log-likelihood, for ``"reml"`` the restricted one.
    llf_pooled : float
        The same without variance between parties.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> schema = {"age": {"type": "number", "range": (0, 100)}, "score": {"type": "number", "range": (0, 100)}}
    >>> rng = np.random.default_rng(1)
    >>> ages = [rng.uniform(20, 90, n) for n in (40, 25, 60)]
    >>> scores = [20 + 0.3 * age + 5 * k + rng.normal(size=len(age)) for k, age in enumerate(ages)]
    >>> tables = [{"age": age, "score": score} for age, score in zip(ages, scores)]
    >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).mixed("score ~ age")
    >>> fit.terms, fit.groups, 0.9 < fit.icc < 1
    (('Intercept', 'age'), 3, True)
    """

    response: Value[str] = Value()
    formula: Value[str] = Value()
    schema: Value[str] = Value()
    method: Value[str] = Value()
    groups: Value[int] = Value()
    tau2: Value[float] = Value()
    scale: Value[float] = Value()
    llf: Value[float] = Value()
    llf_pooled: Value[float] = Value()

    title: ClassVar[str] = "Linear mixed model, a random intercept by party"

    @property
    def icc(self) -> float:
        """The share of the variance that lies between parties: the correlation of two rows of one party."""
        return self.tau2 / (self.tau2 + self.scale)

    @property
    def at_boundary(self) -> bool:
        """Whether no variance between parties was found."""
        return self.tau2 == 0.0

    @property
    def llr(self) -> float:
        """The likelihood ratio statistic of a variance between parties."""
        return max(0.0, 2 * (self.llf - self.llf_pooled))

    @property
    def llr_pvalue(self) -> float:
        """Of that statistic: as 0 is an end of the range of a variance, half of that of a chi-squared distribution with
        one degree of freedom (Self and Liang 1987)."""
        from scipy import special

        return float(special.chdtrc(1, self.llr)) / 2 if self.llr else 1.0

    @property
    def aic(self) -> float:
        """Akaike's criterion, ``2 k - 2 llf``, with two variances in ``k``; of maximum likelihood alone."""
        self._need_ml("AIC")
        return 2 * (len(self.params) + 2) - 2 * self.llf

    @property
    def bic(self) -> float:
        """That of Schwarz, ``k log(nobs) - 2 llf``; of maximum likelihood alone."""
        self._need_ml("BIC")
        return float((len(self.params) + 2) * np.log(self.nobs) - 2 * self.llf)

    def _need_ml(self, what: str) -> None:
        if self.method != "ml":
            raise Unsupported(
                f'{what} compares models by likelihoods, and that of method="reml" depends on the columns. Use "ml".'
            )

    def predict(self, table: Any) -> Array:
        """``x'params`` in new rows, as at a party of which nothing is known: of a table with the columns that the
        formula reads, in any form that a party's table may have."""
        return linear_prediction(self.formula, self.schema, self.terms, self.params, table)

    def _head(self) -> list[tuple[str, str]]:
        boundary = ", the end of its range" if self.at_boundary else ""
        return [
            ("Dep. Variable", self.response), ("Method", self.method.upper()), *super()._head(),
            ("Parties with rows", f"{self.groups}"), ("Between parties", f"{self.tau2:.5g}{boundary}"),
            ("Within (scale)", f"{self.scale:.5g}"), ("ICC", f"{self.icc:.4g}"),
            ("Log-Likelihood", f"{self.llf:.5g}"), ("Without parties", f"{self.llf_pooled:.5g}"),
        ]  # fmt: skip
