"""Sums of products of all columns over all rows, exact, from one agreement: all that a linear model asks of the rows.

    G = sum w a a',  a = (1, x_1, ..)       whole multiples of products of public units
    N, sum log w                            where rows have weights; else N is the first entry of G

With folds, G of each of them: that of a training set is then a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows, WholeColumns
from ...errors import InvalidInput, PeerError, Undetermined
from ...numerics.exact_algebra import is_semidefinite
from ...sums import Whole, common_unit, on_grid, whole
from ..agreements import Agreements, unless_beyond
from ..analysis import check_rows
from ..fewer_digits import PART, Rounding, agreed_rounding, rounded
from .equation import Columns
from .folds import fold_of

ROUNDING = 46  # powers of two between a column and what is left of it, from which on that is rounding of float64
LOGARITHMS = 50  # bits behind the point: they are below 2^10, and 2^62 is left for all of it
MOST_COLUMNS = 1_000  # sums of all products are held at once


@dataclass(frozen=True, eq=False)
class Gram:
    """What was agreed on.

    Attributes
    ----------
    N : int
        Rows of all parties.
    units : tuple of Fraction
        Of the columns of ``a``; 1 for that of ones.
    by_fold : tuple of Whole
        ``(1 + k, 1 + k)`` each: ``sum w a a'`` in these units, and in those of the weights.
    sizes : tuple of int
        Rows in each fold; ``(N,)`` without folds.
    of_rows : tuple of Fraction
        Units of all columns of a row.
    parts : tuple of int
        The last column is so many units of what rows have there, less so many of the offset, where there is one.
    weight_unit : Fraction
        Of the weights; 1 without any.
    log_weights : float
        ``sum log w``; 0 without any.
    rounding : Rounding, optional
        How finely it is told; None with all digits.
    """

    N: int
    units: tuple[Fraction, ...]
    by_fold: tuple[Whole, ...]
    sizes: tuple[int, ...]
    of_rows: tuple[Fraction, ...]
    parts: tuple[int, ...] = (1,)
    weight_unit: Fraction = Fraction(1)
    log_weights: float = 0.0
    rounding: Rounding | None = None

    @property
    def whole(self) -> Whole:
        """Over all rows."""
        return np.asarray(sum(self.by_fold[1:], start=self.by_fold[0]))


def numbers_of_gram(k: int, *, folds: int = 1, weighted: bool = False) -> int:
    """How many numbers of a party travel for ``k`` columns, an offset among them."""
    return folds * (k + 1) * (k + 2) // 2 + 2 * weighted


def agreed_gram(
    agreements: Agreements, rows: Sequence[Rows], columns: Columns, *, folds: int = 1, seed: int = 0
) -> Gram:
    """Of all rows of all parties."""
    of_rows = agreements.units(rows, columns.declared)
    if agreements.ends is None:
        of_rows = columns.exact_units(of_rows)
    elif columns.rests:  # fewer digits have no use for more
        columns = replace(columns, rests={})
    q = len(columns.places) + 1
    weights = [] if columns.weight is None else [columns.weight]
    rounding = agreed_rounding(agreements, rows, [*columns.places, *weights], of_rows)
    times = rounding.size(weights[0]) if rounding and weights else None

    def own(part: Rows) -> Whole:
        grams = part.grams(lambda block: _sides(block, columns, of_rows, folds, seed)).reshape(folds, q, q)
        if rounding is not None:
            share = rounding.rows // folds
            grams = np.array([rounding.gram(gram, columns.places, times=times, rows=share) for gram in grams])
        halves = grams[:, *np.triu_indices(q)]
        if columns.weight is None:
            return np.asarray(halves.T.ravel())  # first of all the rows in each fold
        logs = part.totals(lambda block: _logarithms(block[:, columns.weight]))
        logs = logs if rounding is None else np.asarray(rounded(logs, [(1 << LOGARITHMS) // PART]))
        return np.concatenate([np.array([len(part)], object), logs, halves.ravel()])

    by = ", by fold" if folds > 1 else ""
    weighted = ", logarithms of weights" if columns.weight is not None else ""
    total = agreements.sum(
        [unless_beyond(lambda part=part: own(part)) for part in rows],  # type: ignore[misc]
        of=f"rows{weighted}, values and products, pair by pair{by}",
        counts=folds,
        size=numbers_of_gram(q - 1, folds=folds, weighted=columns.weight is not None),
    )
    sizes = tuple(int(count) for count in total[:folds])
    check_rows(sum(sizes))
    logs, entries = (0.0, total) if columns.weight is None else (int(total[1]) / (1 << LOGARITHMS), total[2:])
    by_fold = tuple(_symmetric(half, q) for half in entries.reshape(-1, folds).T)
    for gram in by_fold:
        share = 0 if rounding is None else rounding.rows // folds
        _check_rows_have(gram if rounding is None else rounding.widened(gram, columns.places, times=times, rows=share))
    units: tuple[Fraction, ...] = (Fraction(1), *of_rows[: len(columns.names)])
    parts: tuple[int, ...] = (1,)
    if columns.offset is not None:
        by_fold, units, parts = _less_offset(by_fold, units, of_rows[columns.offset])
    weight_unit = Fraction(1) if columns.weight is None else of_rows[columns.weight]
    return Gram(sum(sizes), units, by_fold, sizes, of_rows, parts, weight_unit, logs, rounding)


def _less_offset(
    by_fold: tuple[Whole, ...], units: tuple[Fraction, ...], of_offset: Fraction
) -> tuple[tuple[Whole, ...], tuple[Fraction, ...], tuple[int, ...]]:
    """Sums of products with the target less the offset, in a unit of both, in the place of these."""
    unit = common_unit(units[-1], of_offset)
    parts = int(units[-1] / unit), int(of_offset / unit)
    T = np.eye(len(units) + 1, dtype=object)[:-1]
    T[-1, -2:] = parts[0], -parts[1]
    return tuple(T @ G @ T.T for G in by_fold), (*units[:-1], unit), parts


def _logarithms(weights: Array) -> Int64:
    """In one memory layout: along strides a vectorised function may round otherwise."""
    return on_grid(np.log(np.ascontiguousarray(weights)), LOGARITHMS)[:, None]


def _sides(
    block: Array, columns: Columns, units: Sequence[Fraction], folds: int, seed: int
) -> tuple[WholeColumns, WholeColumns] | tuple[WholeColumns, WholeColumns, Int64]:
    a = columns.integers(block, units)
    if columns.weight is not None:
        return a, a, whole(block[:, columns.weight, None], [units[columns.weight]])[:, 0]
    if folds == 1:
        return a, a
    inside = fold_of(block, folds, seed)[:, None] == np.arange(folds)
    return (inside[:, :, None] * a[:, None, :]).reshape(len(block), folds * a.shape[1]), a


def _symmetric(half: Whole, q: int) -> Whole:
    G, (i, j) = np.empty((q, q), object), np.triu_indices(q)
    G[i, j] = G[j, i] = half
    return G


def _check_rows_have(gram: Whole) -> None:
    if not is_semidefinite(gram):
        raise PeerError("sums of squares of all parties are impossible: a party has not kept to the protocol.")


def check_told_apart(gram: Gram, columns: Columns, *, intercept: bool) -> None:
    """Refuse columns, the last one among them, that depend on each other as far as fewer digits tell."""
    if gram.rounding is not None:
        places, weighted = range(len(columns.names)), columns.weight is not None
        gram.rounding.distinct(gram.whole, places, columns.names, intercept=intercept, weighted=weighted)


def check_folds_have_rows(gram: Gram) -> None:
    """A fold without rows has no error."""
    if not all(gram.sizes):
        empty, folds = gram.sizes.index(0) + 1, len(gram.sizes)
        raise Undetermined(f"folds: fold {empty} of {folds} has no rows, of {gram.N} in all. Use fewer folds.")


def check_size(columns: int) -> None:
    """All products of columns are held at once, and computed with exactly."""
    if columns > MOST_COLUMNS:
        raise InvalidInput(f"{columns:,} columns are too many for sums of their products; at most {MOST_COLUMNS:,}.")
