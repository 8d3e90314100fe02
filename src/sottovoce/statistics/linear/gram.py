"""Sums of products of all columns over all rows, exact, from one agreement: all that a linear model asks of the rows.

    G = sum w a a',  a = (1, x_1, ..)       whole multiples of products of public units
    N, sum log w                            where rows have weights; else N is the first entry of G

With folds, G of each of them: that of a training set is then a difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ...costs.base import Array
from ...data.formula.exact_columns import FINER
from ...data.rows import Int64, Rows, WholeColumns
from ...data.selection import INTERCEPT
from ...errors import InvalidInput
from ...numerics.exact_algebra import nearest
from ...sums import Whole, common_unit, on_grid, whole
from ..agreements import Agreements, unless_beyond
from ..analysis import check_rows, check_squares
from ..fewer_digits import PART, Rounding, agreed_rounding, rounded
from .folds import fold_of

ROUNDING = 46  # powers of two between a column and what is left of it, from which on that is rounding of float64
LOGARITHMS = 50  # bits behind the point: they are below 2^10, and 2^62 is left for all of it
MOST_COLUMNS = 1_000  # sums of all products are held at once


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of rows of which products are summed, the same at all parties: the first ones of a row; ``offset``, the
    place of a column that is subtracted from the last of them; ``weight``, that of the rows' weights; ``rests``, by
    place of a column that float64 rounds, that of what it lacks. ``declared``: units of all columns of a row, as far as
    they are public beforehand."""

    names: tuple[str, ...]
    declared: tuple[Fraction | None, ...]
    offset: int | None = None
    weight: int | None = None
    rests: Mapping[int, int] = field(default_factory=dict)

    @property
    def places(self) -> list[int]:
        """Places in a row of what is multiplied: the columns, and last the offset."""
        return [*range(len(self.names)), *([] if self.offset is None else [self.offset])]

    def exact_units(self, units: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Units of all columns of a row, where the rests are added."""
        return tuple(unit / FINER if place in self.rests else unit for place, unit in enumerate(units))

    def integers(self, block: Array, units: Sequence[Fraction]) -> WholeColumns:
        """Integers ``(rows, 1 + places)`` of some rows, in ``exact_units``: 1, and these columns. They are Python's
        where there are rests."""
        steps = [units[place] * (FINER if place in self.rests else 1) for place in self.places]
        integers = np.column_stack([np.ones(len(block), np.int64), whole(block[:, self.places], steps)])
        if not self.rests:
            return integers
        exact: Whole = integers.astype(object)
        for place, rest in self.rests.items():
            exact[:, 1 + place] = exact[:, 1 + place] * FINER + block[:, rest].astype(np.int64).astype(object)
        return exact


@dataclass(frozen=True, eq=False)
class Equation(Columns):
    """All columns but the last explain the last one, with an intercept or without."""

    intercept: bool = True

    @property
    def slopes(self) -> tuple[str, ...]:
        """The columns that explain."""
        return self.names[:-1]

    @property
    def target(self) -> str:
        """The column that is explained."""
        return self.names[-1]

    @property
    def terms(self) -> tuple[str, ...]:
        """The columns of the design."""
        return (INTERCEPT, *self.slopes) if self.intercept else self.slopes


@dataclass(frozen=True, eq=False)
class Gram:
    """Sums of products that all parties agreed on, and their units."""

    N: int  # rows of all parties
    units: tuple[Fraction, ...]  # of the columns of a; 1 for that of ones
    by_fold: tuple[Whole, ...]  # sum w a a', (1 + k, 1 + k) each, in these units and in those of the weights
    sizes: tuple[int, ...]  # rows in each fold; (N,) without folds
    of_rows: tuple[Fraction, ...]  # units of all columns of a row
    parts: tuple[int, ...] = (1,)  # the last column is so many units of the target, less so many of the offset
    weight_unit: Fraction = Fraction(1)
    log_weights: float = 0.0  # sum log w
    rounding: Rounding | None = None  # how finely it is told; None with all digits

    @property
    def whole(self) -> Whole:
        """Sums over the rows of all folds."""
        return np.asarray(sum(self.by_fold[1:], start=self.by_fold[0]))


def numbers_of_gram(k: int, *, folds: int = 1, weighted: bool = False) -> int:
    """How many numbers of a party travel for ``k`` columns, an offset among them."""
    return folds * (k + 1) * (k + 2) // 2 + 2 * weighted


def agreed_gram(
    agreements: Agreements, rows: Sequence[Rows], columns: Columns, *, folds: int = 1, seed: int = 0
) -> Gram:
    """Add up products of columns over all rows of all parties."""
    of_rows = columns.exact_units(agreements.units(rows, columns.declared))
    q, is_weighted = len(columns.places) + 1, columns.weight is not None
    weights = [] if columns.weight is None else [columns.weight]
    rounding = agreed_rounding(agreements, rows, [*columns.places, *weights], of_rows)
    times = rounding.size(weights[0]) if rounding and weights else None
    share = rounding.rows // folds if rounding else 0  # rows of a fold

    def own(part: Rows) -> Whole:
        grams = part.grams(lambda block: _sides(block, columns, of_rows, folds, seed)).reshape(folds, q, q)
        if rounding is not None:
            grams = np.array([rounding.gram(gram, columns.places, times=times, rows=share) for gram in grams])
        halves = grams[:, *np.triu_indices(q)]
        if not is_weighted:
            return np.asarray(halves.T.ravel())  # first of all the rows in each fold
        # In one memory layout: along strides a vectorised function may round otherwise.
        logs = part.totals(
            lambda block: on_grid(np.log(np.ascontiguousarray(block[:, columns.weight])), LOGARITHMS)[:, None]
        )
        logs = logs if rounding is None else np.asarray(rounded(logs, [(1 << LOGARITHMS) // PART]))
        return np.concatenate([np.array([len(part)], object), logs, halves.ravel()])

    by, logarithms = ", by fold" * (folds > 1), ", logarithms of weights" * is_weighted
    total = agreements.sum(
        [unless_beyond(own, part) for part in rows],
        of=f"rows{logarithms}, values and products, pair by pair{by}",
        counts=folds,
        size=numbers_of_gram(q - 1, folds=folds, weighted=is_weighted),
    )
    sizes = tuple(int(count) for count in total[:folds])
    check_rows(sum(sizes))
    logs, entries = (int(total[1]) / (1 << LOGARITHMS), total[2:]) if is_weighted else (0.0, total)
    by_fold = tuple(symmetric(half, q) for half in entries.reshape(-1, folds).T)
    for gram in by_fold:
        check_squares(rounding.widened(gram, columns.places, times=times, rows=share) if rounding else gram)
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


def symmetric(half: Whole, q: int) -> Whole:
    """A matrix ``(q, q)`` from its upper half, row by row."""
    G, (i, j) = np.empty((q, q), object), np.triu_indices(q)
    G[i, j] = G[j, i] = half
    return G


def check_told_apart(gram: Gram, columns: Columns, *, intercept: bool) -> None:
    """Refuse columns, the last one among them, that depend on each other as far as fewer digits tell."""
    if gram.rounding is not None:
        places, weighted = range(len(columns.names)), columns.weight is not None
        gram.rounding.distinct(gram.whole, places, columns.names, intercept=intercept, weighted=weighted)


def check_size(columns: int) -> None:
    """Refuse more columns than whose products are held at once, and computed with exactly."""
    if columns > MOST_COLUMNS:
        raise InvalidInput(f"{columns:,} columns are too many for sums of their products; at most {MOST_COLUMNS:,}.")


class Moments:
    """Means and second moments ``S``, over ``N``, of ``N`` rows ``t`` in the units of the data, each rounded once.

    From ``G = sum a a'`` of ``a = (1, t)`` in its ``units``; about the mean or about 0. ``varies``: whether the moment
    of a column is not 0, exactly or but for rounding.
    """

    def __init__(self, G: Whole, units: Sequence[Fraction], *, about_mean: bool = True) -> None:
        self.N = int(G[0, 0])
        u = np.array(units[1:], object)
        self.first = G[0, 1:] if about_mean else 0 * G[0, 1:]
        squares = self.N * G[1:, 1:] - np.outer(self.first, self.first)
        self.mean = nearest(G[0, 1:] * u * Fraction(1, self.N))
        self.S = nearest(squares * np.outer(u, u) * Fraction(1, self.N**2))
        about_0 = self.N * np.diagonal(G)[1:]
        self.varies = np.array(
            [left << 2 * ROUNDING > all_of_it for left, all_of_it in zip(np.diagonal(squares), about_0, strict=True)]
        )

    @property
    def deviations(self) -> Array:
        """Roots of the moments of the columns, and 1 of those that do not vary."""
        return np.sqrt(np.where(self.varies, np.diag(self.S), 1.0))
