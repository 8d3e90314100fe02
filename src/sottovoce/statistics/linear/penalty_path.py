"""Ridge and lasso paths as the parties hold them in the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...costs.base import Array
from ...data.selection import INTERCEPT
from ...network.labels import shortened
from ...network.pictures import BLUE, INK, ORANGE, PALE, picture
from ...numerics.fixed_order import total
from ...pdmm.modular_mask import Integers
from ...pdmm.result import Status
from ..fit import covariates
from ..new_rows import linear_prediction
from ..statistic import Statistic, Value, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED = 8  # paths with their names, those that end furthest from 0
LONGEST = 24  # letters of a name


@dataclass(frozen=True, eq=False, repr=False)
class PenaltyPath(Statistic):
    """A linear model for every one of some penalties, and which of them predicts best, besides the fields of
    ``Statistic``.

    There are no standard errors: penalised estimates are biased on purpose.

    Attributes
    ----------
    terms : tuple of str
        Of the parameters, the intercept first where there is one; it is not penalised.
    nobs : int
        Rows of all parties.
    response : str
        What is explained.
    formula, schema : str
        Of the design, the schema as JSON; empty where columns came as arrays.
    standardize : bool
        Whether the penalty is on coefficients of columns in units of their deviations; answers are in the units of the
        data either way.
    penalties : ndarray
        ``(P,)``, from large to small.
    path : ndarray
        ``(P, terms)``: the estimates for each.
    deviations : ndarray
        Of the columns that explain, over ``nobs``; without an intercept their root mean squares. Of a column that is
        constant, or 0, it is 0, and so is its coefficient.
    rsquared_path : ndarray
        ``(P,)``: the share of the response's squares that is explained, in the rows that were fitted.
    folds, fold_seed : int
        Of the cross-validation; 0 folds where there was one penalty and nothing to choose.
    fold_sizes : ndarray
        Rows of all parties in each fold.
    cv_errors : ndarray
        ``(P, folds)``: the mean squared error in a fold of the model that was fitted to the others.
    best, best_1se : int
        The place of the penalty with the least mean error, and of the largest penalty whose mean error is within one
        standard error of that.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> A = [np.array([[0.0], [1.0], [4.0]]) + i for i in range(3)]
    >>> shards = [(rows, 2 * rows[:, 0] + 1) for rows in A]
    >>> fit = sv.private_ridge(sv.Network.ring(3), shards, penalties=[9.0, 1.0], folds=2, standardize=False)
    >>> fit.penalty, fit.params.round(4).tolist(), isinstance(fit, sv.statistics.PenaltyPath)
    (1.0, [1.1616, 1.9394], True)
    """

    terms: Value[tuple[str, ...]] = Value()
    nobs: Value[int] = Value()
    response: Value[str] = Value()
    formula: Value[str] = Value()
    schema: Value[str] = Value()
    standardize: Value[bool] = Value()
    penalties: Value[Array] = Value()
    path: Value[Array] = Value()
    deviations: Value[Array] = Value()
    rsquared_path: Value[Array] = Value()
    folds: Value[int] = Value()
    fold_seed: Value[int] = Value()
    fold_sizes: Value[Integers] = Value()
    cv_errors: Value[Array] = Value()
    best: Value[int] = Value()
    best_1se: Value[int] = Value()

    def _title(self) -> str:
        return "Penalised regression"

    @property
    def _slopes(self) -> list[int]:
        """Places of the terms but the intercept."""
        return [k for k, term in enumerate(self.terms) if term != INTERCEPT]

    @property
    def aliased(self) -> tuple[str, ...]:
        """Columns that are constant, or without an intercept 0: a level without rows, for instance."""
        return tuple(self.terms[k] for k, size in zip(self._slopes, self.deviations, strict=True) if size == 0)

    @property
    def penalty(self) -> float:
        """The one with the least error."""
        return float(self.penalties[self.best])

    @property
    def penalty_1se(self) -> float:
        """The largest within one standard error of the least error."""
        return float(self.penalties[self.best_1se])

    @property
    def params(self) -> Array:
        """The estimates for ``penalty``."""
        return np.asarray(self.path[self.best])

    @property
    def params_1se(self) -> Array:
        """The estimates for ``penalty_1se``."""
        return np.asarray(self.path[self.best_1se])

    @property
    def rsquared(self) -> float:
        """For ``penalty``, in the rows that were fitted."""
        return float(self.rsquared_path[self.best])

    @property
    def cv_mean(self) -> Array:
        """``(P,)``: the mean over folds of the mean squared error; empty without folds."""
        return _mean(self.cv_errors) if self.folds else np.empty(0)

    @property
    def cv_std(self) -> Array:
        """``(P,)``: the standard deviation of that over folds (over ``folds``, as scikit-learn has it)."""
        return np.sqrt(_mean((self.cv_errors - _mean(self.cv_errors)[:, None]) ** 2)) if self.folds else np.empty(0)

    @property
    def cv_se(self) -> Array:
        """``(P,)``: the standard error of ``cv_mean``, as if folds were independent."""
        return _error_of_mean(self.cv_errors) if self.folds else np.empty(0)

    def predict(self, table: Any, *, rule: str = "min") -> Array:
        """Expected responses of rows, as of ``LinearFit.predict``, for ``penalty``, or with ``rule="1se"`` for
        ``penalty_1se``."""
        params = self.params_1se if rule == "1se" else self.params
        return linear_prediction(self.formula, self.schema, self.terms, params, table)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON: the fields, and what follows from them."""
        if self.status is not Status.CONVERGED:
            return super().to_dict()
        derived = ("aliased", "penalty", "penalty_1se", "params", "params_1se", "rsquared", "cv_mean", "cv_std")
        return {**super().to_dict(), **{name: plain(getattr(self, name)) for name in derived}}

    def _model_size(self) -> tuple[int, int, int] | None:
        return (len(self.terms), covariates(self.terms), self.nobs) if self.status is Status.CONVERGED else None

    def _facts(self) -> str:
        count = f"{len(self.penalties)} penalties" if self.folds else f"penalty {self.penalty:.4g}"
        return f"{self._title()} for {self.response}, {count}: {self.nobs} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        columns = {"term": list(self.terms), "estimate": self.params.tolist()}
        return columns | ({"estimate_1se": self.params_1se.tolist()} if self.folds else {})

    def _head(self) -> list[str]:
        """Lines above the table of the summary."""
        lines = [self._facts(), *filter(None, [self.data_notes()])]
        lines.append(f"Penalty on columns {'in units of their deviations' if self.standardize else 'as they are'}")
        if self.folds:
            for what, at in (("least error", self.best), ("one standard error", self.best_1se)):
                lines.append(
                    f"{what}: penalty {self.penalties[at]:.6g}, mean squared error {self.cv_mean[at]:.6g} +- "
                    f"{self.cv_se[at]:.2g} over {self.folds} folds, R-squared {self.rsquared_path[at]:.4f}"
                )
        else:
            lines.append(f"R-squared {self.rsquared:.4f}")
        if self.aliased:
            lines.append(f"Constant, and left out: {', '.join(self.aliased)}")
        return lines

    def summary(self) -> str:
        """A table for people."""
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: no path to report."
        columns = self._columns()
        terms = columns.pop("term")
        width = max(len(term) for term in terms)
        lines = [" " * width + "".join(f" {name:>13}" for name in columns)]
        for term, *values in zip(terms, *columns.values(), strict=True):
            lines.append(f"{term:{width}}" + "".join(f" {value:13.6g}" for value in values))
        return "\n".join([*self._head(), "", *lines])

    def _picture(self, path: str | Path | None) -> Figure:
        """By penalty what a standard deviation of each column adds to the response, with the choices; below that the
        mean error of the cross-validation with its standard error."""
        slopes = self._slopes
        if len(self.penalties) == 1:
            from ..pictures import plot_rows

            names = [self.terms[k] for k in slopes]
            return plot_rows(path, names, self.params[slopes], None, self._facts(), "coefficient")
        curves = self.path[:, slopes] * self.deviations
        with picture(path, 7.2, 6.0) as figure:
            above, below = figure.subplots(2, 1, sharex=True)
            shown = np.argsort(-np.abs(curves[self.best]))[:NAMED].tolist()
            for j in [*shown, *(j for j in range(len(slopes)) if j not in shown)]:
                colour = f"C{shown.index(j)}" if j in shown else PALE
                name = shortened(self.terms[slopes[j]], LONGEST) if j in shown else None
                above.plot(self.penalties, curves[:, j], color=colour, linewidth=1.4, label=name)
            above.axhline(0, color=PALE, linewidth=0.8)
            above.set_ylabel("coefficient times\ndeviation of its column")
            for text in above.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False).get_texts():
                text.set_parse_math(False)
            mean, se = self.cv_mean, self.cv_se
            below.fill_between(self.penalties, mean - se, mean + se, color=BLUE, alpha=0.18, linewidth=0)
            below.plot(self.penalties, mean, color=BLUE, linewidth=1.6)
            below.set_ylabel("mean squared error\nin the fold left out")
            below.set_xlabel("penalty")
            marks = (("least error", self.penalty, INK, "-"), ("one standard error", self.penalty_1se, ORANGE, "--"))
            for name, at, colour, line in marks:
                above.axvline(at, color=colour, linewidth=1, linestyle=line)
                below.axvline(at, color=colour, linewidth=1, linestyle=line, label=f"{name}: {at:.3g}")
            below.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
            below.set_xscale("log")
            figure.suptitle(self._facts(), x=0.01, ha="left", fontsize=10, parse_math=False)
        return figure


def within_one_error(errors: Array) -> tuple[int, int]:
    """The place of the penalty with the least mean of errors ``(P, folds)``, and of the largest one whose mean is
    within one standard error of that; of equal means the larger penalty."""
    mean = _mean(errors)
    least = int(mean.argmin())
    return least, int((mean <= mean[least] + _error_of_mean(errors)[least]).argmax())


def _mean(errors: Array) -> Array:
    return np.asarray(total(errors.T) / errors.shape[1])


def _error_of_mean(errors: Array) -> Array:
    """From the deviation of the sample, ``folds - 1``."""
    folds = errors.shape[1]
    return np.asarray(np.sqrt(total((errors - _mean(errors)[:, None]).T ** 2) / (folds - 1)) / math.sqrt(folds))


@dataclass(frozen=True, eq=False, repr=False)
class RidgePath(PenaltyPath):
    """What ``Study.ridge`` and ``private_ridge`` return: ``sum (y - x'b)^2 + penalty ||b||^2`` at its minimum, for
    every penalty. Fields are those of ``PenaltyPath``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> shards = [([[0.0], [1.0]], [1.0, 3.0]), ([[2.0]], [5.0]), ([[3.0]], [8.0])]
    >>> fit = sv.private_ridge(sv.Network.ring(3), shards, penalties=[1.0], standardize=False)
    >>> fit.terms, fit.params.round(6).tolist()
    (('Intercept', 'x0'), [1.375, 1.916667])
    """

    def _title(self) -> str:
        return "Ridge regression"


@dataclass(frozen=True, eq=False, repr=False)
class LassoPath(PenaltyPath):
    """What ``Study.lasso`` and ``private_lasso`` return: the minimum of ``sum (y - x'b)^2 / 2N + penalty (l1_ratio
    sum |b_j| + (1 - l1_ratio) ||b||^2 / 2)`` for every penalty, besides the fields of ``PenaltyPath``.

    Attributes
    ----------
    l1_ratio : float
        1 for the lasso, less for an elastic net.
    selected, selected_1se : tuple of str
        The columns with a coefficient other than 0 at ``penalty`` and at ``penalty_1se``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> shards = [([[0.0], [1.0]], [1.0, 3.0]), ([[2.0]], [5.0]), ([[3.0]], [8.0])]
    >>> fit = sv.private_lasso(sv.Network.ring(3), shards, penalties=[0.5], standardize=False)
    >>> fit.selected, fit.params.round(6).tolist()
    (('x0',), [1.4, 1.9])
    """

    l1_ratio: Value[float] = Value()
    selected: Value[tuple[str, ...]] = Value()
    selected_1se: Value[tuple[str, ...]] = Value()

    def _title(self) -> str:
        return "Lasso" if self.l1_ratio == 1 else f"Elastic net (l1_ratio {self.l1_ratio:g})"

    def _head(self) -> list[str]:
        return [*super()._head(), f"{len(self.selected)} of {len(self._slopes)} columns are in"]
