"""``type = "ridge"`` and ``type = "lasso"``: penalised regressions, and the penalty by exact cross-validation.

Sums are agreed on fold by fold, so that those of every training set are a difference, and the squared error in the fold
that was left out a quadratic form of its own sums: nothing more is agreed on for any number of penalties. Paths are
computed in a fixed order from moments that are rounded once, and so all parties choose alike.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import ModelColumns
from ...errors import InvalidInput, Undetermined, Unsupported
from ...numerics.exact_algebra import nearest
from ...numerics.fixed_order import cholesky, product, solve, total
from ...sums import Whole
from ..agreements import Agreements
from ..analysis import Analysis
from ..new_rows import schema_text
from .gram import Equation, Gram, Moments, agreed_gram, check_told_apart, numbers_of_gram
from .linear_model import equation_of, model_columns
from .penalty_path import LassoPath, PenaltyPath, RidgePath, within_one_error


def _falling(first: int, last: int, count: int) -> Array:
    """Powers of ten, evenly on their scale; decimals are the same on every machine."""
    step = Decimal(last - first) / (count - 1)
    return np.array([float(Decimal(10) ** (first + k * step)) for k in range(count)])


RIDGE_PENALTIES = _falling(2, -4, 25)  # unless told, per row, in units of a column's variance
LASSO_PENALTIES = _falling(0, -3, 50)  # unless told, in units of the least that leaves no column in
MOST = 1_000  # penalties
MOST_FOLDS = 100
SWEEPS = 20_000  # of coordinate descent
PATIENCE = 200  # of them, after which signs are searched for one by one
CHANGES = 50  # of signs there, for each column
SETTLED = 1e-15  # of the largest coefficient, a change that is none
SLACK = 1e-12  # of a bound


@dataclass(frozen=True, eq=False, kw_only=True)
class RidgeModel(Analysis):
    """``formula``; ``penalties``; ``folds`` of the cross-validation and their public ``fold_seed``; ``standardize``."""

    formula: str
    penalties: tuple[float, ...] | None = None
    folds: int = 5
    standardize: bool = True
    fold_seed: int = 0

    type: ClassVar[str] = "ridge"
    gives: ClassVar[builtins.type[PenaltyPath]] = RidgePath

    def __post_init__(self) -> None:
        if self.penalties is not None:
            object.__setattr__(self, "penalties", read_penalties(self.penalties))
        if not 2 <= self.folds <= MOST_FOLDS:
            raise InvalidInput(f"folds must be an integer from 2 to {MOST_FOLDS}; got {self.folds!r}.")
        if not 0 <= self.fold_seed < 2**63:
            raise InvalidInput(f"fold_seed must be an integer from 0 to 2^63 - 1; got {self.fold_seed!r}.")
        if self.share is not None and not 0 < self.share <= 1:
            raise InvalidInput(f"l1_ratio must be above 0 and at most 1, which is the lasso; got {self.share!r}.")
        if not self.selection.slopes:
            raise InvalidInput("formula has no column that a penalty could be on. Name one after ~.")

    @cached_property
    def selection(self) -> ModelColumns:
        return model_columns(self.formula, self.schema)

    @property
    def share(self) -> float | None:
        """The share of the penalty on absolute values, ``l1_ratio``; None for ridge."""
        return None

    @property
    def cut(self) -> int:
        """How many folds the rows are in: one where there is one penalty, and nothing to choose."""
        return 1 if self.penalties is not None and len(self.penalties) == 1 else self.folds

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> PenaltyPath:
        equation, has_folds = equation_of(self.selection, self, agreements), self.cut > 1
        gram = agreed_gram(agreements, rows, equation, folds=self.cut, seed=self.fold_seed)
        if not all(gram.sizes):
            empty, folds = gram.sizes.index(0) + 1, len(gram.sizes)
            raise Undetermined(f"folds: fold {empty} of {folds} has no rows, of {gram.N} in all. Use fewer folds.")
        check_told_apart(gram, equation, intercept=equation.intercept)
        whole = Moments(gram.whole, gram.units, about_mean=equation.intercept)
        _check_varies(whole, equation)
        penalties = _penalties(self, whole)
        path = _path(self, penalties, whole, whole)
        residuals = _residuals(path, whole, gram.units)
        errors = _errors(self, penalties, gram, equation, whole)
        best, best_1se = within_one_error(errors) if has_folds else (0, 0)
        chosen: dict[str, Any] = {}
        if self.share is not None:
            names = np.array(equation.slopes)
            kept = [tuple(names[path[place] != 0].tolist()) for place in (best, best_1se)]
            chosen = {"l1_ratio": self.share, "selected": kept[0], "selected_1se": kept[1]}
        constant = nearest([-v[0] for v in residuals])
        family = RidgePath if self.share is None else LassoPath
        return family(
            *agreements.made,
            terms=equation.terms,
            nobs=whole.N,
            response=equation.target,
            formula=self.formula,
            schema=schema_text(self.schema, self.selection.design.needs),
            standardize=self.standardize,
            penalties=penalties,
            path=np.column_stack([constant, path]) if equation.intercept else path,
            deviations=np.where(whole.varies, whole.deviations, 0.0)[:-1],
            rsquared_path=1 - _squared_errors(gram.whole, residuals) / whole.S[-1, -1],
            folds=self.cut if has_folds else 0,
            fold_seed=self.fold_seed,
            fold_sizes=np.array(gram.sizes if has_folds else (), np.int64),
            cv_errors=errors,
            best=best,
            best_1se=best_1se,
            **chosen,
        )

    @property
    def parameters(self) -> int:
        return len(self.selection.design.columns)

    @property
    def revealed(self) -> list[str]:
        names, by = ", ".join(self.selection.multiplied), ", by fold" if self.cut > 1 else ""
        return [f"the number of rows{by}", f"values and products, pair by pair, of {names}{by}"]

    @property
    def numbers(self) -> int:
        return numbers_of_gram(len(self.selection.multiplied), folds=self.cut)

    stages = 1
    counts = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class LassoModel(RidgeModel):
    """The options of ``RidgeModel``, and ``l1_ratio``."""

    l1_ratio: float = 1.0

    type: ClassVar[str] = "lasso"
    gives = LassoPath

    @property
    def share(self) -> float | None:
        return self.l1_ratio


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


def _check_varies(whole: Moments, equation: Equation) -> None:
    """Something must be explained, and something must explain."""
    what = "constant over the rows of all parties" if equation.intercept else "0 in all rows of all parties"
    if not whole.varies[-1]:
        raise Undetermined(f"the response {equation.target!r} is {what}: there is nothing to explain.")
    if not whole.varies[:-1].any():
        raise Undetermined(f"{', '.join(map(repr, equation.slopes))}: {what}. No penalty has an effect.")


def _errors(model: RidgeModel, penalties: Array, gram: Gram, equation: Equation, whole: Moments) -> Array:
    """Mean squared errors ``(P, folds)`` in a fold of what was fitted to the others."""
    errors = np.empty((len(penalties), model.cut if model.cut > 1 else 0))
    for k in range(errors.shape[1]):
        training = Moments(gram.whole - gram.by_fold[k], gram.units, about_mean=equation.intercept)
        residuals = _residuals(_path(model, penalties, training, whole), training, gram.units)
        errors[:, k] = _squared_errors(gram.by_fold[k], residuals)
    return errors


def _size(model: RidgeModel, training: Moments) -> Array:
    """What a coefficient is multiplied by before it is penalised, by column."""
    return training.deviations[:-1] if model.standardize else np.ones(len(training.S) - 1)


def _penalties(model: RidgeModel, whole: Moments) -> Array:
    """Penalties that are asked for or follow from the rows, from large to small."""
    if model.penalties is not None:
        return np.array(model.penalties)
    tau, there = _size(model, whole), whole.varies[:-1]
    if model.share is None:
        variances = np.diag(whole.S)[:-1][there] / tau[there] ** 2
        return RIDGE_PENALTIES * (whole.N * float(total(variances)) / len(variances))
    largest = float(np.abs(whole.S[:-1, -1] / tau)[there].max())
    if largest == 0:
        raise Undetermined("the response is not correlated with any column: no penalty has an effect.")
    return LASSO_PENALTIES * (largest / model.share)


def _path(model: RidgeModel, penalties: Array, training: Moments, whole: Moments) -> Array:
    """``(P, d)``, computed in units of the deviations in all rows. A column that does not vary in a training set has
    the coefficient 0 there."""
    there, unit = training.varies[:-1], whole.deviations
    S = (training.S / np.outer(unit, unit))[np.ix_([*there, True], [*there, True])]
    S, r = S[:-1, :-1], S[:-1, -1]
    tau = (_size(model, training) / unit[:-1])[there]
    path = np.zeros((len(penalties), len(there)))
    if model.share is None:
        for own, value in zip(path, penalties, strict=True):
            L, dependent = cholesky(S + np.diag(value / training.N * tau**2))
            if dependent is not None:
                raise Undetermined(f"penalties: {value:.3g} is too small for columns that depend on each other.")
            own[there] = solve(L, r)
    else:
        l1 = model.share * penalties[:, None] / unit[-1] * tau
        l2 = (1 - model.share) * penalties[:, None] * tau**2
        path[:, there] = elastic_net_path(S, r, l1, l2)
    return np.asarray(path * (unit[-1] / unit[:-1]))


def read_penalties(given: Sequence[float]) -> tuple[float, ...]:
    """Read penalties, from large to small; a single number is one, too."""
    numbers = np.ravel(given).tolist()
    if not all(0 < number < math.inf for number in numbers) or not 1 <= len(set(numbers)) == len(numbers) <= MOST:
        raise InvalidInput(
            f"penalties must be one to {MOST} different positive numbers; got {given!r}. Without a penalty use linear."
        )
    return tuple(sorted(map(float, numbers), reverse=True))


def elastic_net_path(S: Array, r: Array, l1: Array, l2: Array) -> Array:
    """``argmin b'Sb/2 - r'b + sum_j l1_j |b_j| + sum_j l2_j b_j^2/2``, exact: ``(P, d)`` for ``l1, l2 (P, d)``.

    Coordinate descent (Friedman, Hastie and Tibshirani, J. Stat. Software 33, 2010) finds the signs, starting where the
    last penalty ended; a solve on the support then gives the optimum to all digits, if the conditions of Karush, Kuhn
    and Tucker hold there. Where columns are nearly dependent descent takes very many sweeps, and the signs are searched
    for one by one (H. Lee, A. Battle, R. Raina and A. Y. Ng, Advances in Neural Information Processing Systems 19,
    2007). All of it is in a fixed order, so that all parties have the same columns in, to the last bit.
    """
    path = np.zeros_like(l1)
    b = np.zeros(len(r))
    for place, (own, ridge) in enumerate(zip(l1, l2, strict=True)):
        path[place] = b = _optimum(S + np.diag(ridge), r, own, b)
    return path


def _optimum(H: Array, r: Array, l1: Array, b: Array) -> Array:
    if (exact := _on_support(H, r, l1, np.sign(b))) is not None:
        return exact
    b = b.copy()
    signs = np.sign(b)
    for sweep in range(SWEEPS):
        before, rest = b.copy(), r - product(H, b)
        for j in range(len(b)):
            own = rest[j] + H[j, j] * b[j]
            b_j = np.sign(own) * max(abs(own) - l1[j], 0.0) / H[j, j]
            rest -= H[j] * (b_j - b[j])
            b[j] = b_j
        unchanged, signs = bool((np.sign(b) == signs).all()), np.sign(b)
        if (unchanged or sweep % 10 == 9) and (exact := _on_support(H, r, l1, signs)) is not None:
            return exact
        if np.abs(b - before).max(initial=0.0) <= SETTLED * np.abs(b).max(initial=0.0):
            return b  # columns of the support that are dependent: one optimum of several
        if sweep == PATIENCE and (exact := _by_signs(H, r, l1, b)) is not None:
            return exact
    raise Unsupported(
        "coordinate descent does not settle at the smallest penalties: columns are nearly dependent. Leave out the "
        "smallest penalties, or use l1_ratio below 1."
    )


def _on_support(H: Array, r: Array, l1: Array, signs: Array) -> Array | None:
    """The optimum if it has these signs, else None."""
    on = signs != 0
    b = np.zeros(len(r))
    L, dependent = cholesky(H[np.ix_(on, on)])
    if dependent is not None:
        return None
    b[on] = solve(L, r[on] - l1[on] * signs[on])
    slope = np.abs(r - product(H, b))
    bound = l1 + SLACK * np.abs(r).max(initial=0.0)
    return b if (np.sign(b) == signs).all() and (slope[~on] <= bound[~on]).all() else None


def _by_signs(H: Array, r: Array, l1: Array, b: Array) -> Array | None:
    """The optimum by way of supports: from one to the optimum on it, up to where the first coefficient comes to 0,
    which is then left out; at an optimum the column that misses its bound by most is taken in. None where columns of a
    support are dependent, or rounding leads in circles."""
    b, signs = b.copy(), np.sign(b)
    for _ in range(CHANGES * len(b)):
        on = signs != 0
        L, dependent = cholesky(H[np.ix_(on, on)])
        if dependent is not None:
            return None
        there = np.zeros(len(b))
        there[on] = solve(L, r[on] - l1[on] * signs[on])
        turned = np.flatnonzero(on & (np.sign(there) != signs))
        if len(turned):
            ways = b[turned] / (b[turned] - there[turned])
            first = int(ways.argmin())
            b = b + ways[first] * (there - b)
            signs[turned[first]] = b[turned[first]] = 0.0
            continue
        b = there
        if (exact := _on_support(H, r, l1, signs)) is not None:
            return exact
        slope = r - product(H, b)
        beyond = np.where(on, -np.inf, np.abs(slope) - l1)
        signs[beyond.argmax()] = np.sign(slope[beyond.argmax()])
    return None
