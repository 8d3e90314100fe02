"""Ridge and lasso paths from exact sums, and the penalty by exact cross-validation.

Sums are agreed on fold by fold, so that those of every training set are a difference, and the squared error in the fold
that was left out a quadratic form of its own sums: nothing more is agreed on for any number of penalties. Paths are
computed in a fixed order from moments that are rounded once, and so all parties choose alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import InvalidInput, Undetermined, is_number
from ...numerics.exact_algebra import nearest
from ...numerics.fixed_order import cholesky, solve, total
from ...sums import Whole
from ..agreements import Agreements
from .elastic_net import elastic_net_path
from .equation import Equation
from .folds import check_folds
from .gram import Gram, agreed_gram, check_folds_have_rows, check_told_apart
from .moments import Moments
from .penalty_path import LassoPath, PenaltyPath, RidgePath, within_one_error


def _falling(first: int, last: int, count: int) -> Array:
    """Powers of ten, evenly on their scale; decimals are the same on every machine."""
    step = Decimal(last - first) / (count - 1)
    return np.array([float(Decimal(10) ** (first + k * step)) for k in range(count)])


RIDGE_PENALTIES = _falling(2, -4, 25)  # unless told, per row, in units of a column's variance
LASSO_PENALTIES = _falling(0, -3, 50)  # unless told, in units of the least that leaves no column in
MOST = 1_000


@dataclass(frozen=True)
class Penalty:
    """What is asked: ``l1_ratio`` None for ridge; ``penalties`` None for those above."""

    penalties: tuple[float, ...] | None
    folds: int
    fold_seed: int
    standardize: bool
    l1_ratio: float | None

    def __post_init__(self) -> None:
        check_folds(self.folds, self.fold_seed)
        if not isinstance(self.standardize, bool):
            raise InvalidInput(f"standardize must be true or false; got {self.standardize!r}.")
        if self.l1_ratio is not None and not (is_number(self.l1_ratio) and 0 < self.l1_ratio <= 1):
            raise InvalidInput(f"l1_ratio must be above 0 and at most 1, which is the lasso; got {self.l1_ratio!r}.")
        if self.penalties is not None:
            object.__setattr__(self, "penalties", read_penalties(self.penalties))

    @property
    def family(self) -> type[PenaltyPath]:
        """Of the answer."""
        return RidgePath if self.l1_ratio is None else LassoPath

    @property
    def count(self) -> int:
        """How many penalties."""
        given = len(RIDGE_PENALTIES if self.l1_ratio is None else LASSO_PENALTIES)
        return given if self.penalties is None else len(self.penalties)

    @property
    def cut(self) -> int:
        """How many folds the rows are in: one where there is nothing to choose."""
        return self.folds if self.count > 1 else 1


def _residuals(b: Array, moments: Moments, units: Sequence[Fraction]) -> list[list[Fraction]]:
    """By estimates ``b (P, d)`` the residual ``a'v``, of mean 0 where there is an intercept, for ``a = (1, x, y)`` in
    its units."""
    found = []
    for estimates in b.tolist():
        v = [-Fraction(b_j) * unit for b_j, unit in zip(estimates, units[1:-1], strict=True)]
        v.append(units[-1])
        found.append([-sum(map(mul, v, moments.first), Fraction(0)) / moments.N, *v])
    return found


def _squared_errors(G: Whole, residuals: list[list[Fraction]]) -> Array:
    """``v'G v / N`` for the rows of ``G``, exact and rounded once."""
    found = []
    for v in residuals:
        below = math.lcm(*(entry.denominator for entry in v))
        whole = np.array([int(entry * below) for entry in v], object)
        found.append(Fraction(int(whole @ G @ whole), below**2 * int(G[0, 0])))
    return nearest(np.array(found, object))


def penalised_program(
    agreements: Agreements, rows: Sequence[Rows], equation: Equation, penalty: Penalty, told: dict[str, Any]
) -> PenaltyPath:
    """A path as the local parties run it. ``told``: fields of the answer that are known beforehand."""
    gram = agreed_gram(agreements, rows, equation, folds=penalty.cut, seed=penalty.fold_seed)
    check_folds_have_rows(gram)
    check_told_apart(gram, equation, intercept=equation.intercept)
    whole = Moments(gram.whole, gram.units, about_mean=equation.intercept)
    _check_varies(whole, equation)
    penalties = _penalties(penalty, whole)
    path = _path(penalty, penalties, whole, whole)
    residuals = _residuals(path, whole, gram.units)
    errors = _errors(penalty, penalties, gram, equation, whole)
    best, best_1se = within_one_error(errors) if penalty.cut > 1 else (0, 0)
    names = np.array(equation.slopes)
    if penalty.l1_ratio is not None:
        kept = [tuple(names[path[place] != 0].tolist()) for place in (best, best_1se)]
        told = {**told, "l1_ratio": penalty.l1_ratio, "selected": kept[0], "selected_1se": kept[1]}
    constant = nearest([-v[0] for v in residuals])
    return penalty.family(
        *agreements.made,
        terms=equation.terms,
        nobs=whole.N,
        response=equation.target,
        standardize=penalty.standardize,
        penalties=penalties,
        path=np.column_stack([constant, path]) if equation.intercept else path,
        deviations=np.where(whole.varies, whole.deviations, 0.0)[:-1],
        rsquared_path=1 - _squared_errors(gram.whole, residuals) / whole.S[-1, -1],
        folds=penalty.cut if penalty.cut > 1 else 0,
        fold_seed=penalty.fold_seed,
        fold_sizes=np.array(gram.sizes if penalty.cut > 1 else (), np.int64),
        cv_errors=errors,
        best=best,
        best_1se=best_1se,
        **told,
    )


def _check_varies(whole: Moments, equation: Equation) -> None:
    """Something must be explained, and something must explain."""
    what = "constant over the rows of all parties" if equation.intercept else "0 in all rows of all parties"
    if not whole.varies[-1]:
        raise Undetermined(f"the response {equation.target!r} is {what}: there is nothing to explain.")
    if not whole.varies[:-1].any():
        raise Undetermined(f"{', '.join(map(repr, equation.slopes))}: {what}. No penalty has an effect.")


def _errors(penalty: Penalty, penalties: Array, gram: Gram, equation: Equation, whole: Moments) -> Array:
    """Mean squared errors ``(P, folds)`` in a fold of what was fitted to the others."""
    errors = np.empty((len(penalties), penalty.cut if penalty.cut > 1 else 0))
    for k in range(errors.shape[1]):
        training = Moments(gram.whole - gram.by_fold[k], gram.units, about_mean=equation.intercept)
        residuals = _residuals(_path(penalty, penalties, training, whole), training, gram.units)
        errors[:, k] = _squared_errors(gram.by_fold[k], residuals)
    return errors


def _size(penalty: Penalty, training: Moments) -> Array:
    """By column what a coefficient is multiplied by before it is penalised."""
    return training.deviations[:-1] if penalty.standardize else np.ones(len(training.S) - 1)


def _penalties(penalty: Penalty, whole: Moments) -> Array:
    """From large to small."""
    if penalty.penalties is not None:
        return np.array(penalty.penalties)
    tau, there = _size(penalty, whole), whole.varies[:-1]
    if penalty.l1_ratio is None:
        variances = np.diag(whole.S)[:-1][there] / tau[there] ** 2
        return RIDGE_PENALTIES * (whole.N * float(total(variances)) / len(variances))
    largest = float(np.abs(whole.S[:-1, -1] / tau)[there].max())
    if largest == 0:
        raise Undetermined("the response is not correlated with any column: no penalty has an effect.")
    return LASSO_PENALTIES * (largest / penalty.l1_ratio)


def _path(penalty: Penalty, penalties: Array, training: Moments, whole: Moments) -> Array:
    """``(P, d)``, computed in units of the deviations in all rows. A column that does not vary in a training set has
    the coefficient 0 there."""
    there, unit = training.varies[:-1], whole.deviations
    S = (training.S / np.outer(unit, unit))[np.ix_([*there, True], [*there, True])]
    S, r = S[:-1, :-1], S[:-1, -1]
    tau = (_size(penalty, training) / unit[:-1])[there]
    path = np.zeros((len(penalties), len(there)))
    if penalty.l1_ratio is None:
        for own, value in zip(path, penalties, strict=True):
            L, dependent = cholesky(S + np.diag(value / training.N * tau**2))
            if dependent is not None:
                raise Undetermined(f"penalties: {value:.3g} is too small for columns that depend on each other.")
            own[there] = solve(L, r)
    else:
        l1 = penalty.l1_ratio * penalties[:, None] / unit[-1] * tau
        l2 = (1 - penalty.l1_ratio) * penalties[:, None] * tau**2
        path[:, there] = elastic_net_path(S, r, l1, l2)
    return np.asarray(path * (unit[-1] / unit[:-1]))


def read_penalties(given: Any) -> tuple[float, ...]:
    """From large to small."""
    numbers = tuple(np.ravel(given).tolist()) if isinstance(given, tuple | list | np.ndarray) else (given,)
    good = all(is_number(number) and math.isfinite(number) and number > 0 for number in numbers)
    if not good or not 1 <= len(set(numbers)) == len(numbers) <= MOST:
        raise InvalidInput(
            f"penalties must be one to {MOST} different positive numbers; got {given!r}. Without a penalty use linear."
        )
    return tuple(sorted(map(float, numbers), reverse=True))
