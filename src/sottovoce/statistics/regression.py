"""The result of a regression, with the quantities that statisticians report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..costs.base import Array, as_floats
from ..errors import InvalidInput, Unsupported, is_number
from ..files.frames import chosen, read_columns
from ..pdmm.result import Status
from .covariates import covariates
from .statistic import Statistic, Value, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS = {  # of the summary: what stands above a column, how wide it is, and how many digits it has
    "coefficient": ("coefficient", 13, ".6g"),
    "standard_error": ("std. error", 11, ".4g"),
    "t_value": ("t", 9, ".3f"),
    "p_value": ("P>|t|", 8, ".4f"),
    "lower_95": ("[0.025", 11, ".5g"),
    "upper_95": ("0.975]", 11, ".5g"),
}
UNEVEN = 300.0  # sizes in units of scale that differ by more: two or three digits of a sum of products


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Statistic):
    """What ``private_least_squares`` returns, besides the fields of ``Statistic``: the fit of
    ``b = intercept + A coefficients + error``, as the first local party holds it, the others to within ``tol``.

    ``standard_errors``, ``t_values``, ``p_values`` and ``confidence_interval`` have an entry per term, in the order of
    ``terms``: the intercept first, where there is one. With weights, sums of squares are weighted, as in WLS. Without
    an intercept the total sum of squares, and with it ``r_squared``, is taken about 0 and not about the mean.

    Attributes
    ----------
    observations : int
        Rows of all parties.
    names : tuple of str
        Of the columns.
    target : str or None
        Name of what they explain, where it has one.
    coefficients : ndarray
        One per column.
    intercept : float
        0 where none was fitted.
    fitted_intercept : bool
        Whether one was.
    ridge : float
        The penalty.
    residual_sum_of_squares, total_sum_of_squares : float
        What is left of the target's variation, and what there was.
    inverse_information : ndarray
        ``(X'WX + ridge)^{-1}``, in the order of ``terms``.
    condition_number : float
        Of the columns brought to one length, centred if there is an intercept.
    scale : ndarray
        What the columns, and last the target, were divided by.
    sizes : ndarray
        Their root mean squares, as agreed on, in the units of the data: what ``scale`` should be, roughly.

    Examples
    --------
    >>> import sottovoce as sv
    >>> shards = [([[0.0], [1.0]], [1.0, 3.0]), ([[2.0]], [5.0]), ([[3.0]], [8.0])]
    >>> fit = sv.private_least_squares(sv.Network.ring(3), shards, intercept=True)
    >>> fit.terms, fit.parameters.round(6).tolist(), round(fit.r_squared, 4)
    (('intercept', 'x0'), [0.8, 2.3], 0.9888)
    """

    observations: Value[int] = Value()
    names: Value[tuple[str, ...]] = Value()
    target: Value[str | None] = Value()
    coefficients: Value[Array] = Value()
    intercept: Value[float] = Value()
    fitted_intercept: Value[bool] = Value()
    ridge: Value[float] = Value()
    residual_sum_of_squares: Value[float] = Value()
    total_sum_of_squares: Value[float] = Value()
    inverse_information: Value[Array] = Value()
    condition_number: Value[float] = Value()
    scale: Value[Array] = Value()
    sizes: Value[Array] = Value()

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of what was fitted, ``"intercept"`` first where there is one."""
        return ("intercept", *self.names) if self.fitted_intercept else self.names

    @property
    def parameters(self) -> Array:
        """Intercept and coefficients, in the order of ``terms``."""
        return np.append(self.intercept, self.coefficients) if self.fitted_intercept else self.coefficients

    @property
    def degrees_of_freedom(self) -> int:
        """Of the residuals: observations less terms."""
        return self.observations - len(self.terms)

    @property
    def r_squared(self) -> float:
        """NaN for a target that does not vary."""
        total = self.total_sum_of_squares
        return 1 - self.residual_sum_of_squares / total if total > 0 else float("nan")

    @property
    def adjusted_r_squared(self) -> float:
        """``r_squared`` per degree of freedom. Like all that follows ``Unsupported`` with a ridge, or too few rows."""
        self._check_inference("adjusted_r_squared")
        return 1 - (1 - self.r_squared) * (self.observations - self.fitted_intercept) / self.degrees_of_freedom

    @property
    def residual_variance(self) -> float:
        """``sum w residual^2 / degrees_of_freedom``, the unbiased estimate."""
        self._check_inference("residual_variance")
        return self.residual_sum_of_squares / self.degrees_of_freedom

    @property
    def standard_errors(self) -> Array:
        """``sqrt(diag((X'WX)^{-1}) residual_variance)``: errors independent, of variance proportional to ``1/w``."""
        self._check_inference("standard_errors")
        return np.sqrt(np.diag(self.inverse_information) * self.residual_variance)

    @property
    def t_values(self) -> Array:
        """Parameters in units of their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):  # a perfect fit has standard errors of 0
            return np.asarray(self.parameters / self.standard_errors)

    @property
    def p_values(self) -> Array:
        """Two-sided, from Student's t."""
        from scipy.special import stdtr

        return np.asarray(2 * stdtr(self.degrees_of_freedom, -np.abs(self.t_values)))

    def confidence_interval(self, level: float = 0.95) -> Array:
        """``(terms, 2)``: lower and upper ends, which have the parameter between them in a share ``level`` of all
        samples. ``InvalidInput`` for a level outside 0 to 1."""
        from scipy.special import stdtrit

        if not (is_number(level) and 0 < level < 1):
            raise InvalidInput(f"level must lie between 0 and 1, such as 0.95; got {level!r}.")
        reach = stdtrit(self.degrees_of_freedom, (1 + level) / 2) * self.standard_errors
        return np.column_stack([self.parameters - reach, self.parameters + reach])

    def _check_inference(self, name: str) -> None:
        if self.ridge > 0:
            raise Unsupported(
                f"{name} is not given for ridge > 0: the estimate is biased, and the classical formulas would "
                "understate its error. Use ridge=0."
            )
        if self.degrees_of_freedom < 1:
            raise Unsupported(
                f"{name} needs more observations than terms; there are {self.observations} and {len(self.terms)}."
            )

    @property
    def _has_inference(self) -> bool:
        return self.ridge == 0 and self.degrees_of_freedom > 0

    def predict(self, A: npt.ArrayLike) -> Any:
        """``intercept + A coefficients`` for rows ``(k, d)``, or for one row ``(d,)``; of a frame by the names."""
        columns = read_columns(A, "A")
        rows = as_floats(A if columns is None else chosen(columns, self.names, "A"), "A")
        if rows.ndim not in (1, 2) or rows.shape[-1] != len(self.names):
            raise InvalidInput(f"A must have {len(self.names)} columns, as in the regression; got shape {rows.shape}.")
        return self.intercept + rows @ self.coefficients

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; the status alone where the runs did not converge."""
        if self.status is not Status.CONVERGED:
            return super().to_dict()
        derived = ["terms", "r_squared"]
        if self._has_inference:
            derived += [
                "degrees_of_freedom",
                "adjusted_r_squared",
                "residual_variance",
                "standard_errors",
                "t_values",
                "p_values",
            ]
        return {**super().to_dict(), **{name: plain(getattr(self, name)) for name in derived}}

    def _columns(self) -> dict[str, list[Any]]:
        columns = {"term": list(self.terms), "coefficient": self.parameters.tolist()}
        if self._has_inference:
            lower, upper = self.confidence_interval(0.95).T
            columns |= {"standard_error": self.standard_errors.tolist(), "t_value": self.t_values.tolist()}
            columns |= {"p_value": self.p_values.tolist(), "lower_95": lower.tolist(), "upper_95": upper.tolist()}
        return columns

    def _model_size(self) -> tuple[int, int, int] | None:
        if self.status is not Status.CONVERGED:
            return None
        return len(self.terms), covariates(self.terms) + 1, self.observations  # the target is a number, too

    def _facts(self) -> str:
        method = f"Ridge regression ({self.ridge:g})" if self.ridge else "Least squares"
        method += f" for {self.target}" if self.target else ""
        return f"{method}: {self.observations} observations of {self.parties} parties"

    def _quality(self) -> str:
        fit = [f"R-squared {self.r_squared:.4f}", f"condition number {self.condition_number:.3g}"]
        if self._has_inference:
            fit.insert(1, f"adjusted {self.adjusted_r_squared:.4f}")
            fit.append(
                f"residual variance {self.residual_variance:.5g} on {self.degrees_of_freedom} degrees of freedom"
            )
        return ", ".join(fit)

    def _caption(self, rows: int) -> str:
        return "; ".join([super()._caption(rows), self._quality(), *filter(None, [self.scale_hint()])])

    def _picture(self, path: str | Path | None) -> Figure:
        """Without the intercept, which is of another kind, unless it is all there is."""
        from .pictures import plot_rows

        first = int(self.fitted_intercept and len(self.names) > 0)
        intervals = self.confidence_interval(0.95)[first:] if self._has_inference else None
        label = "coefficient" + (" and 95 % interval" if self._has_inference else "")
        title = f"{self._facts()}, R-squared {self.r_squared:.3f}"
        return plot_rows(path, self.terms[first:], self.parameters[first:], intervals, title, label)

    def summary(self) -> str:
        """A table for people."""
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: no regression to report."
        columns = self._columns()
        terms = columns.pop("term")
        width, forms = max(len(term) for term in terms), [FORMS[name] for name in columns]
        lines = [" " * width + "".join(f" {head:>{wide}}" for head, wide, _ in forms)]
        for term, *values in zip(terms, *columns.values(), strict=True):
            cells = (f" {value:{wide}{digits}}" for value, (_, wide, digits) in zip(values, forms, strict=True))
            lines.append(f"{term:{width}}" + "".join(cells))
        hint = self.scale_hint()
        facts = [self._facts(), *filter(None, [self.dropped_words()]), self._quality()]
        return "\n".join([*facts, "", *lines, *(["", hint] if hint else [])])

    def scale_hint(self) -> str | None:
        """What ``scale=`` would do better another time, from what all parties know: the ``sizes`` they agreed on."""
        if "sizes" not in vars(self):  # read from a file that was written before there were any
            return None
        in_units = self.sizes / self.scale
        if in_units.max() <= UNEVEN * in_units.min():
            return None
        names = (*self.names, self.target or "the target")
        numbers = ", ".join(f"{name} {round_number(size):g}" for name, size in zip(names, self.sizes, strict=True))
        return (
            f"Columns differ in size by a factor of {in_units.max() / max(in_units.min(), 1e-300):.0g}, which costs "
            f"the small ones digits and the large ones cover. Another time give scale=, of about this size: {numbers}."
        )


def round_number(size: float) -> float:
    """With one digit: public numbers are round."""
    return float(f"{size:.0e}") if size > 0 else 1.0
