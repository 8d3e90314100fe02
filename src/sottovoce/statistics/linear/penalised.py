"""Ridge and lasso paths from agreed moments, and the penalty by exact cross-validation.

The moments are agreed on fold by fold, so that those of every training set are a difference, and the squared error in
the fold that was left out a quadratic form of its own moments: nothing more is agreed on for any number of penalties.
Which penalty is best hangs on reals that differ between parties, so they vote; the lasso's choice of columns likewise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import InvalidInput, NotConverged, is_number
from ...pdmm.modular_mask import Integers, ModularMask
from ..agreements import Agreements
from ..settled import majority
from .elastic_net import elastic_net_path
from .equation import Equation
from .folds import check_folds
from .moments import NOT_ZERO, VARIES, Moments, agreed_moments
from .penalty_path import LassoPath, PenaltyPath, RidgePath

RIDGE_PENALTIES = np.logspace(2, -4, 25)  # unless told, per row, in units of a column's variance
LASSO_PENALTIES = np.logspace(0, -3, 50)  # unless told, in units of the least that leaves no column in
MOST = 1_000
GONE = 1e-7  # of its variance, what is left of a column that does not vary in a training set


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


@dataclass(frozen=True, eq=False)
class Training:
    """Means ``(d + 1,)`` and second moments ``(d + 1, d + 1)`` of ``N`` rows about them, in the coordinates ``z`` of
    ``Moments``; without an intercept about 0, of ``z + centre/spread``."""

    N: int
    mean: Array
    S: Array
    shift: Array

    @classmethod
    def of(cls, G: Array, N: int, equation: Equation, moments: Moments) -> Training:
        """Of ``G = sum a a'``, in any unit."""
        total, first = G[0, 0], G[0, 1:] / G[0, 0]
        S = G[1:, 1:] / total
        if equation.intercept:
            return cls(N, first, S - np.outer(first, first), np.zeros(len(S)))
        shift = moments.centre / moments.spread
        S = S + np.outer(first, shift) + np.outer(shift, first) + np.outer(shift, shift)
        return cls(N, np.zeros(len(S)), S, shift)

    def residual(self, b: Array) -> Array:
        """The residual ``a'v`` of estimates ``b (P, d)`` as ``v (P, 2 + d)``."""
        constant = (self.shift[-1] - self.mean[-1]) - b @ (self.shift - self.mean)[:-1]
        return np.column_stack([constant, -b, np.ones(len(b))])


def penalised_program(
    agreements: Agreements, rows: Sequence[Rows], equation: Equation, penalty: Penalty, told: dict[str, Any]
) -> PenaltyPath:
    """A path as the local parties run it. ``told``: fields of the answer that are known beforehand."""
    try:
        moments = agreed_moments(
            agreements, rows, equation, need=2, columns_are=VARIES if equation.intercept else NOT_ZERO,
            folds=penalty.cut, seed=penalty.fold_seed,
        )  # fmt: skip
        penalties, paths, errors = _all_paths(equation, penalty, moments)
        best = (0, 0) if penalty.cut == 1 else _voted(agreements, errors)
        selected = _selected(agreements, paths, best) if penalty.l1_ratio is not None else None
    except NotConverged:
        return penalty.family(*agreements.made)
    whole = Training.of(moments.products[0], moments.N, equation, moments)
    path = paths[0]
    if selected is not None:
        for place, which in zip(best, selected, strict=True):
            path[place] *= which
    v = whole.residual(path)
    slopes = path * moments.spread[-1] / moments.spread[:-1]
    constant = moments.centre[-1] - slopes @ moments.centre[:-1] - v[:, 0] * moments.spread[-1]
    left = np.einsum("pi,ij,pj->p", v, moments.products[0], v)
    names = np.array(equation.slopes)
    if selected is not None:
        kept = [tuple(names[which].tolist()) for which in selected]
        told = {**told, "l1_ratio": penalty.l1_ratio, "selected": kept[0], "selected_1se": kept[1]}
    return penalty.family(
        *agreements.made,
        terms=equation.terms,
        nobs=moments.N,
        response=equation.target,
        standardize=penalty.standardize,
        penalties=penalties[0],
        path=np.column_stack([constant, slopes]) if equation.intercept else slopes,
        deviations=np.sqrt(np.diag(whole.S)[:-1]) * moments.spread[:-1],
        rsquared_path=1 - left / moments.products[0][0, 0] / whole.S[-1, -1],
        folds=penalty.cut if penalty.cut > 1 else 0,
        fold_seed=penalty.fold_seed,
        fold_sizes=moments.sizes if penalty.cut > 1 else np.empty(0, np.int64),
        cv_errors=errors[0] * moments.spread[-1] ** 2,
        best=best[0],
        best_1se=best[1],
        **told,
    )


def _all_paths(equation: Equation, penalty: Penalty, moments: Moments) -> tuple[Array, Array, Array]:
    """Of each local party: penalties ``(P,)``, estimates ``(P, d)`` in units of the deviations, and mean squared errors
    ``(P, K)`` in the folds. Parties after the first begin with what it found, which differs by ``tol``."""
    penalties, paths, errors = [], [], []
    starts: list[Array] | None = None
    for by_fold, G in zip(moments.by_fold, moments.products, strict=True):
        whole = Training.of(G, moments.N, equation, moments)
        own = _penalties(penalty, whole, moments)
        found = [_path(penalty, own, whole, whole, moments, None if starts is None else starts[0])]
        fold_errors = []
        for k in range(penalty.cut if penalty.cut > 1 else 0):
            training = Training.of(G - by_fold[k], int(moments.N - moments.sizes[k]), equation, moments)
            found.append(_path(penalty, own, training, whole, moments, None if starts is None else starts[k + 1]))
            v = training.residual(found[-1])
            fold_errors.append(np.einsum("pi,ij,pj->p", v, by_fold[k], v) * (moments.N / moments.sizes[k]))
        starts = starts or found
        penalties.append(own)
        paths.append(found[0])
        errors.append(np.reshape(fold_errors, (-1, len(own))).T)
    return np.array(penalties), np.array(paths), np.array(errors)


def _size(penalty: Penalty, training: Training, moments: Moments) -> Array:
    """By column what a coefficient in units of deviations is multiplied by before it is penalised."""
    return np.sqrt(np.maximum(np.diag(training.S)[:-1], 0.0)) if penalty.standardize else 1 / moments.spread[:-1]


def _penalties(penalty: Penalty, whole: Training, moments: Moments) -> Array:
    """From large to small."""
    if penalty.penalties is not None:
        return np.array(penalty.penalties)
    tau = _size(penalty, whole, moments)
    if penalty.l1_ratio is None:
        return RIDGE_PENALTIES * (moments.N * float((np.diag(whole.S)[:-1] / tau**2).mean()))
    largest = float(np.abs(whole.S[:-1, -1] / tau).max() * moments.spread[-1])
    return LASSO_PENALTIES * (largest / penalty.l1_ratio)


def _path(
    penalty: Penalty, penalties: Array, training: Training, whole: Training, moments: Moments, start: Array | None
) -> Array:
    """``(P, d)``. A column that does not vary in a training set has the coefficient 0 there."""
    there = np.diag(training.S)[:-1] > GONE * np.diag(whole.S)[:-1]
    S, r = training.S[:-1, :-1][np.ix_(there, there)], training.S[:-1, -1][there]
    tau = _size(penalty, training, moments)[there]
    path = np.zeros((len(penalties), len(there)))
    if penalty.l1_ratio is None:
        H = S + penalties[:, None, None] / training.N * np.diag(tau**2)
        path[:, there] = np.linalg.solve(H, np.broadcast_to(r[:, None], (len(H), len(r), 1)))[:, :, 0]
    else:
        l1 = penalty.l1_ratio * penalties[:, None] / moments.spread[-1] * tau
        l2 = (1 - penalty.l1_ratio) * penalties[:, None] * tau**2
        path[:, there] = elastic_net_path(S, r, l1, l2, None if start is None else start[:, there])
    return path


def _voted(agreements: Agreements, errors: Array) -> tuple[int, int]:
    """The places of the penalty with the least mean error, and of the largest one within one standard error of it:
    the choices of most parties; of two that have as many votes the larger penalty."""
    mean, se = errors.mean(axis=2), errors.std(axis=2, ddof=1) / np.sqrt(errors.shape[2])
    least = mean.argmin(axis=1)
    at = np.arange(len(errors))
    within = (mean <= (mean[at, least] + se[at, least])[:, None]).argmax(axis=1)
    votes: Integers = np.zeros((len(errors), 2, mean.shape[1]), np.int64)
    votes[at, 0, least] = votes[at, 1, within] = 1
    said = agreements.total(votes.reshape(len(errors), -1), ModularMask(), of_rows=False, of="votes on the penalty")
    chosen = said.reshape(2, -1).argmax(axis=1)
    return int(chosen[0]), int(chosen[1])


def _selected(agreements: Agreements, paths: Array, best: tuple[int, int]) -> Array:
    """Which columns are in at these penalties, ``(2, d)``, in the eyes of most parties."""
    votes = (paths[:, best] != 0).astype(np.int64)
    said = agreements.total(votes.reshape(len(paths), -1), ModularMask(), of_rows=False, of="votes on the columns")
    return np.asarray(majority(agreements, said).reshape(2, -1))


def read_penalties(given: Any) -> tuple[float, ...]:
    """From large to small."""
    numbers = tuple(np.ravel(given).tolist()) if isinstance(given, tuple | list | np.ndarray) else (given,)
    good = all(is_number(number) and math.isfinite(number) and number > 0 for number in numbers)
    if not good or not 1 <= len(set(numbers)) == len(numbers) <= MOST:
        raise InvalidInput(
            f"penalties must be one to {MOST} different positive numbers; got {given!r}. Without a penalty use linear."
        )
    return tuple(sorted(map(float, numbers), reverse=True))
