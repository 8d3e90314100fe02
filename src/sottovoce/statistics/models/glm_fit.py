"""The result of a generalised linear model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array, as_floats
from ...errors import InvalidInput
from ..fit import Fit
from ..new_rows import design_rows, log_exposure
from ..statistic import Value
from .links import LINKS


@dataclass(frozen=True, eq=False, repr=False)
class GLMFit(Fit):
    """What ``private_glm`` and ``Study.glm`` return, besides the fields of ``Fit``; names are those of statsmodels.

    Attributes
    ----------
    all_terms : tuple of str
        Those of the parameters and those that are aliased, in the order of the design.
    response : str
        What is explained.
    family, link : str
        Of the model.
    shape : float, optional
        Of the negative binomial family: the variance is ``mu + shape mu^2``.
    dispersion : {"fixed", "pearson"}
        Whether ``scale`` is 1, or the estimate ``pearson_chi2 / df_resid``.
    robust : str, optional
        ``"HC0"`` or ``"HC1"`` where errors are from the sandwich.
    ridge : float
        Of the penalty ``ridge ||slopes||^2 / 2``; where it is not 0, errors are NaN: estimates are biased on purpose.
    scale : float
        The dispersion.
    deviance, null_deviance : float
        Of the fit, and of the model with an intercept alone (and the offset).
    pearson_chi2 : float
        The sum of squared Pearson residuals.
    llf, llnull : float
        Log-likelihoods, with all constants; for an estimated dispersion at that. Of the families with dispersion 1 they
        are those at 1 also where it was estimated (quasi-likelihood).
    steps : int
        Of Newton's method: points at which sums were agreed on.
    formula, schema : str
        Of the design, the schema as JSON; empty where columns came as arrays.
    weights, exposure : str, optional
        The columns of the table that were used so.

    Examples
    --------
    >>> import sottovoce as sv
    >>> shards = [([[0.0], [1.0], [2.0]], [0, 0, 1]), ([[0.0], [1.0]], [0, 1]), ([[2.0], [1.0], [2.0]], [1, 1, 0])]
    >>> fit = sv.private_glm(sv.Network.ring(3), shards, family="binomial", names=["dose"])
    >>> fit.terms, fit.params.round(4).tolist(), round(fit.deviance, 4), fit.df_resid
    (('Intercept', 'dose'), [-1.6392, 1.4381], 9.103, 6)
    >>> fit.predict([[1.0]]).round(4).tolist()
    [0.4499]
    """

    all_terms: Value[tuple[str, ...]] = Value()
    response: Value[str] = Value()
    family: Value[str] = Value()
    link: Value[str] = Value()
    shape: Value[float | None] = Value()
    dispersion: Value[str] = Value()
    robust: Value[str | None] = Value()
    ridge: Value[float] = Value()
    scale: Value[float] = Value()
    deviance: Value[float] = Value()
    null_deviance: Value[float] = Value()
    pearson_chi2: Value[float] = Value()
    llf: Value[float] = Value()
    llnull: Value[float] = Value()
    steps: Value[int] = Value()
    formula: Value[str] = Value()
    schema: Value[str] = Value()
    weights: Value[str | None] = Value()
    exposure: Value[str | None] = Value()

    title: ClassVar[str] = "Generalized Linear Model"

    @property
    def ratio(self) -> str | None:  # type: ignore[override]
        """What ``exp`` of an estimate is."""
        return LINKS[self.link].ratio

    @property
    def intercept(self) -> bool:
        """Whether the model has one."""
        return "Intercept" in self.terms

    @property
    def all_params(self) -> Array:
        """Estimates of ``all_terms``: 0 of those that are aliased, which have no part in predictions."""
        params = dict(zip(self.terms, self.params.tolist(), strict=True))
        return np.array([params.get(term, 0.0) for term in self.all_terms])

    @property
    def df_model(self) -> int:
        """Parameters less one, as statsmodels counts them."""
        return len(self.terms) - 1

    @property
    def df_resid(self) -> int:
        """Observations less parameters."""
        return self.nobs - len(self.terms)

    @property
    def aic(self) -> float:
        """``-2 llf + 2 k`` for ``k`` parameters; the dispersion is not counted."""
        return -2 * self.llf + 2 * len(self.terms)

    @property
    def bic(self) -> float:
        """``-2 llf + k log(nobs)``; ``bic_llf`` in statsmodels."""
        return -2 * self.llf + len(self.terms) * float(np.log(self.nobs))

    @property
    def bic_deviance(self) -> float:
        """``deviance - df_resid log(nobs)``."""
        return self.deviance - self.df_resid * float(np.log(self.nobs))

    def pseudo_rsquared(self, kind: str = "mcf") -> float:
        """McFadden's ``1 - llf / llnull`` (``"mcf"``), or Cox and Snell's ``1 - exp((llnull - llf) 2 / nobs)``
        (``"cs"``)."""
        if kind not in ("mcf", "cs"):
            raise InvalidInput(f"kind must be 'mcf' or 'cs'; got {kind!r}.")
        if kind == "cs":
            return float(-np.expm1(2 * (self.llnull - self.llf) / self.nobs))
        return 1 - self.llf / self.llnull

    def compare_lr(self, other: GLMFit) -> tuple[float, float, int]:
        """The likelihood-ratio test against a model with some of the terms only: the statistic, its p-value, and the
        degrees of freedom.

        The statistic is ``(other.deviance - deviance) / scale``, which is chi-squared where the terms that ``other``
        lacks have no effect; the dispersion is that of this model, the larger one.
        """
        from scipy import special

        if not isinstance(other, GLMFit):
            raise InvalidInput(f"other must be a GLMFit; got {type(other).__name__}.")
        same = ("response", "family", "link", "shape", "nobs", "dispersion", "weights", "exposure")
        for name in same:
            if getattr(self, name) != getattr(other, name):
                raise InvalidInput(f"other must be of the same data and family: its {name} is another.")
        if self.ridge or other.ridge:
            raise InvalidInput("a likelihood-ratio test compares maxima of likelihoods; these have a ridge penalty.")
        df = len(self.terms) - len(other.terms)
        if df < 1 or not set(other.terms) < set(self.terms):
            raise InvalidInput(
                "other must have some of this model's terms and no others: a likelihood-ratio test compares a model "
                "with one that it contains. Ask the larger one."
            )
        statistic = max(0.0, (other.deviance - self.deviance) / self.scale)
        return statistic, float(special.chdtrc(df, statistic)), df

    def predict(
        self,
        table: Any,
        *,
        offset: npt.ArrayLike | None = None,
        exposure: npt.ArrayLike | None = None,
        linear: bool = False,
    ) -> Array:
        """The mean response of new rows; with ``linear`` the linear predictor. ``table``: with the columns that the
        formula and the exposure read, in any form that a party's table may have; or an array or a frame of the columns,
        where the model was made from arrays, with ``offset`` and ``exposure`` for each row, if it has some."""
        given = {"offset": offset, "exposure": exposure}
        if self.formula and (named := [name for name, value in given.items() if value is not None]):
            raise InvalidInput(f"{named[0]}: this model reads all that it needs from the table. Leave it out.")
        X, fixed = design_rows(self.formula, self.schema, self.all_terms, table, self.exposure)
        eta = X @ self.all_params + fixed
        if offset is not None:
            eta = eta + as_floats(offset, "offset")
        if exposure is not None:
            if self.link != "log":
                raise InvalidInput(f"exposure needs the link log; this model has {self.link}.")
            eta = eta + log_exposure(as_floats(exposure, "exposure"))
        return np.asarray(eta if linear else LINKS[self.link].mean(eta))

    def _facts(self) -> str:
        return f"{self.family} model of {self.response}, {super()._facts()}"

    def _head(self) -> list[tuple[str, str]]:
        shape = [] if self.shape is None else [("Shape", f"{self.shape:g}")]
        return [
            ("Dep. Variable", self.response),
            ("Model Family", self.family),
            ("Link Function", self.link),
            *shape,
            *super()._head(),
            ("Df Residuals", f"{self.df_resid:,}"),
            ("Df Model", f"{self.df_model}"),
            ("Scale", f"{self.scale:.5g}"),
            ("Covariance Type", self.robust or "nonrobust"),
            ("Log-Likelihood", f"{self.llf:.6g}"),
            ("Deviance", f"{self.deviance:.6g}"),
            ("Null Deviance", f"{self.null_deviance:.6g}"),
            ("Pearson chi2", f"{self.pearson_chi2:.5g}"),
            ("Pseudo R-squ. (McFadden)", f"{self.pseudo_rsquared():.4f}"),
            ("AIC", f"{self.aic:.6g}"),
            ("BIC", f"{self.bic:.6g}"),
            ("Steps", f"{self.steps}"),
        ]
