"""What every fitted model carries, in the words of statsmodels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..pdmm.result import Status
from .covariates import covariates, is_intercept
from .statistic import SHOWN, Statistic, Value, check_alpha, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Statistic):
    """A fitted model, besides the fields of ``Statistic``: estimates with their errors, one per term, as the first
    local party holds them, the others to within ``tol``.

    Attributes
    ----------
    terms : tuple of str
        Of the parameters.
    params : ndarray
        Estimates.
    covariance : ndarray
        Of the estimates.
    nobs : int
        Rows of all parties.
    aliased : tuple of str
        Terms that were left out, as they are constant or combinations of terms before them.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> from sottovoce.statistics import Fit
    >>> common = {"status": sv.Status.CONVERGED, "parties": 3}
    >>> given = {"terms": ("age",), "params": np.array([0.5]), "covariance": np.array([[0.04]]), "aliased": ()}
    >>> fit = Fit(**common, **given, nobs=80)
    >>> fit.bse, fit.zvalues, fit.conf_int().round(3).tolist()
    (array([0.2]), array([2.5]), [[0.108, 0.892]])
    >>> print(fit.summary())
                                  Fit
    ===============================================================
    No. Observations:           80   Parties:                     3
    ===============================================================
             coef   std err         z     P>|z|    [0.025    0.975]
    ---------------------------------------------------------------
    age       0.5       0.2     2.500    0.0124   0.10801   0.89199
    ===============================================================
    Of the rows of 3 parties together, from sums over groups of them.
    """

    terms: Value[tuple[str, ...]] = Value()
    params: Value[Array] = Value()
    covariance: Value[Array] = Value()
    nobs: Value[int] = Value()
    aliased: Value[tuple[str, ...]] = Value()

    title: ClassVar[str] = "Fit"  # above the summary
    ratio: ClassVar[str | None] = None  # what exp of an estimate is: "odds ratio", "rate ratio", "hazard ratio"

    @property
    def _df(self) -> float:
        """Degrees of freedom of Student's t that errors are compared with; infinite for the normal distribution."""
        return float("inf")

    @property
    def bse(self) -> Array:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def zvalues(self) -> Array:
        """Estimates in units of their errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.params / self.bse)

    @property
    def tvalues(self) -> Array:
        """The same, by the name that goes with Student's t."""
        return self.zvalues

    @property
    def pvalues(self) -> Array:
        """Of the two-sided test that a parameter is 0."""
        from scipy import special

        z = np.abs(self.zvalues)
        return np.asarray(2 * (special.ndtr(-z) if np.isinf(self._df) else special.stdtr(self._df, -z)))

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Intervals ``(lower, upper)`` that hold a parameter with probability ``1 - alpha``."""
        from scipy import special

        alpha = check_alpha(alpha)
        q = special.ndtri(1 - alpha / 2) if np.isinf(self._df) else special.stdtrit(self._df, 1 - alpha / 2)
        return np.column_stack([self.params - q * self.bse, self.params + q * self.bse])

    def cov_params(self) -> Array:
        """The covariance of the estimates."""
        return self.covariance

    def ratios(self, alpha: float = 0.05) -> Array:
        """``exp`` of estimates and of their intervals, ``(terms, 3)``: odds, rate or hazard ratios."""
        with np.errstate(over="ignore"):
            return np.exp(np.column_stack([self.params, self.conf_int(alpha)]))

    @property
    def _slopes(self) -> list[int]:
        """Places of the terms that say what a column does: all but intercepts."""
        return [k for k, term in enumerate(self.terms) if not is_intercept(term)]

    def _model_size(self) -> tuple[int, int, int] | None:
        if self.status is not Status.CONVERGED:
            return None
        return len(self.terms), covariates([self.terms[k] for k in self._slopes]), self.nobs

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON: the fields, and what follows from them; the status alone where the runs
        did not converge."""
        if self.status is not Status.CONVERGED:
            return {"status": self.status.value}
        derived = {"bse": self.bse, "zvalues": self.zvalues, "pvalues": self.pvalues, "conf_int": self.conf_int()}
        ratios = {} if self.ratio is None else {"ratios": self.ratios()}
        return {**super().to_dict(), **{name: plain(value) for name, value in (derived | ratios).items()}}

    def _facts(self) -> str:
        return f"{len(self.terms)} terms: {self.nobs} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        """The tidy table."""
        interval = self.conf_int()
        table: dict[str, npt.NDArray[Any]] = {
            "estimate": self.params, "std_error": self.bse, "statistic": self.zvalues, "p_value": self.pvalues,
            "conf_low": interval[:, 0], "conf_high": interval[:, 1],
        }  # fmt: skip
        if self.ratio is not None:
            table |= dict(zip(("ratio", "ratio_low", "ratio_high"), self.ratios().T, strict=True))
        return {"term": list(self.terms), **{name: values.tolist() for name, values in table.items()}}

    def _head(self) -> list[tuple[str, str]]:
        """What stands above the table of a summary: names and values."""
        return [("No. Observations", f"{self.nobs:,}"), ("Parties", f"{self.parties}")]

    def _notes(self) -> list[str]:
        """What stands below it."""
        dropped = self.data_notes()
        aliased = f"Left out, as they hang on terms before them: {', '.join(self.aliased)}."
        return [
            *([] if dropped is None else [f"{dropped}."]),
            *([aliased] if self.aliased else []),
            f"Of the rows of {self.parties} parties together, from sums over groups of them.",
        ]

    def _caption(self, rows: int) -> str:
        cut = f"the first {SHOWN} of {rows} rows" if rows > SHOWN else None
        facts = [f"{name}: {value}" for name, value in self._head()]
        return "; ".join(filter(None, [self.title, *facts, self.data_notes(), cut]))

    def summary(self) -> str:
        """A table like statsmodels': the model above, a line per term below."""
        from .summary import summary

        return summary(self)

    def _picture(self, path: str | Path | None) -> Figure:
        from .forest import plot_forest

        return plot_forest(path, self)
