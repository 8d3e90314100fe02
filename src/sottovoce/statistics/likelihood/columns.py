"""Columns of mean 0 and deviation 1, from exact sums: Newton's steps and their digits are then good in whatever units
the data come.

Rows are whole multiples of public units, so sums and products of columns are exact. Which columns vary, and which are
combinations of those before them, is known for sure; the latter are left out, as R does. Mean and deviation are rounded
once, and are the same at every party.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...errors import Undetermined
from ...numerics.exact_algebra import independent, nearest, solved
from ...numerics.fixed_order import cholesky, forward, product, solve
from ...pdmm.modular_mask import Integers
from ...sums import Whole, whole
from ..agreements import Agreements, unless_beyond
from ..fewer_digits import Rounding

NEARLY = 1e-12  # of a column's square, what others must leave of it so that float64 tells it apart
SAME = 1e-22  # what rounding of a combination may leave: R's glm calls a column aliased with 1e-11 of its length
SHARE = 0.1  # of the largest, what a column takes part in
STEEP = 0.1  # of a column's length, what those before it leave: below, columns are brought to right angles


@dataclass(frozen=True, eq=False)
class Columns:
    """Some columns of the rows, standardised; an intercept, which has no name, comes before them.

    Attributes
    ----------
    places : tuple of int
        Where they are in a row.
    centre, deviation : ndarray
        Mean and standard deviation, in the units of the data; without an intercept 0, and the root of the mean square.
    aliased : tuple of str
        Columns that are left out: constants beside an intercept, and combinations of columns before them, exactly or
        but for rounding.
    mix : ndarray, optional
        ``L`` of standardised columns ``z``, without the intercept, in whose place ``L^-1 z`` stands: with the Cholesky
        factor of their products these are at right angles, however nearly ``z`` depend on each other.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    intercept: bool
    centre: Array
    deviation: Array
    aliased: tuple[str, ...] = ()
    mix: Array | None = None

    def __len__(self) -> int:
        """How many parameters there are."""
        return len(self.names) + self.intercept

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return ("Intercept",) * self.intercept + self.names

    def matrix(self, block: Array) -> Array:
        """The matrix of some rows: ones for the intercept and the standardised columns, ``(rows, len(self))``."""
        matrix = np.empty((len(block), len(self)), order="F")
        if self.intercept:
            matrix[:, 0] = 1.0
        x = matrix[:, int(self.intercept) :]
        np.subtract(block[:, self.places], self.centre, out=x)
        x /= self.deviation
        if self.mix is not None:  # column by column: what is made of a row does not hang on the rows beside it
            for j in range(x.shape[1]):
                for i in range(j):
                    if self.mix[j, i]:
                        x[:, j] -= self.mix[j, i] * x[:, i]
                x[:, j] /= self.mix[j, j]
        return matrix

    @property
    def back(self) -> Array:
        """``T`` of which ``params = T theta`` are the parameters of the columns as they are."""
        T = np.diag(np.append(np.ones(int(self.intercept)), 1 / self.deviation))
        if self.intercept:
            T[0, 1:] = -self.centre / self.deviation
        return T if self.mix is None else product(T, self.unmixed.T)

    @property
    def unmixed(self) -> Array:
        """``L^-1``, with the intercept: its transpose makes parameters of standardised columns of those of mixed
        ones."""
        inverse = np.eye(len(self))
        if self.mix is not None:
            first = int(self.intercept)
            inverse[first:, first:] = forward(self.mix, np.eye(len(self.names)))
        return inverse

    def slopes(self, theta: Array) -> Array:
        """Of standardised columns, the rows of those of mixed ones: parameters without the intercept's."""
        first = int(self.intercept)
        return theta if self.mix is None else product(self.unmixed.T[first:, first:], theta)

    def params(self, theta: Array) -> Array:
        """Parameters of the columns as they are."""
        return product(self.back, theta)

    def covariance(self, of_theta: Array) -> Array:
        """The covariance of the parameters of the columns as they are."""
        return sandwiched(self.back, of_theta)


def sandwiched(back: Array, of_theta: Array) -> Array:
    """``back V back'``, symmetric to the bit."""
    found = product(product(back, of_theta), back.T)
    return np.asarray((found + found.T) / 2)


def own_products(
    rows: Rows, places: Sequence[int], units: Sequence[Fraction], weight: int | None = None,
    rounding: Rounding | None = None,
) -> Whole:  # fmt: skip
    """A party's part of the sums of products of ``(1, columns)`` in some places of a row, the half ``products_of(d)``
    that is sent. ``units``: of all columns of the rows; ``weight``: where positive weights are, in whose units products
    are as well; ``rounding``: how finely they are told. It may raise ``Beyond``."""
    taken, chosen = list(places), [units[place] for place in places]

    def sides(block: Array) -> tuple[Int64, Int64] | tuple[Int64, Int64, Int64]:
        z = np.empty((len(block), 1 + len(taken)), np.int64, order="F")
        z[:, 0] = 1
        z[:, 1:] = whole(block[:, taken], chosen)
        if weight is None:
            return z, z
        return z, z, whole(block[:, [weight]], [units[weight]])[:, 0]

    gram = rows.grams(sides)
    if rounding is not None:
        gram = rounding.gram(gram, taken, times=None if weight is None else rounding.size(weight))
    return half(gram)


def counted_products(
    agreements: Agreements, rows: Sequence[Rows], count: Callable[[Rows], Integers], places: Sequence[int],
    units: Sequence[Fraction], rounding: Rounding | None, *, counts: int, of: str,
) -> tuple[Integers, Whole]:  # fmt: skip
    """Totals of the ``counts`` numbers that ``count`` makes of rows, and the matrix of ``own_products``."""

    def own(part: Rows) -> Whole:
        return np.concatenate([count(part).astype(object), own_products(part, places, units, rounding=rounding)])

    shares = [unless_beyond(own, part) for part in rows]
    total = agreements.sum(shares, of=of, counts=counts, size=counts + products_of(len(places)))
    return total[:counts].astype(np.int64), square(total[counts:], 1 + len(places))


def half(gram: Whole) -> Whole:
    """What a symmetric matrix has on the diagonal and above, row by row."""
    return np.asarray(gram[np.triu_indices(len(gram))])


def square(part: Whole, k: int) -> Whole:
    """The symmetric matrix ``(k, k)`` of which ``part`` is the upper half."""
    gram = np.empty((k, k), object)
    gram[np.triu_indices(k)] = part
    gram.T[np.triu_indices(k)] = part
    return gram


def columns_of(
    gram: Whole, names: Sequence[str], units: Sequence[Fraction], *, intercept: bool, alias: bool = True,
    rounding: Rounding | None = None, weighted: bool = False,
) -> Columns:  # fmt: skip
    """The first columns of rows, from the ``square`` of the totals of ``own_products``: after the ones they come first
    in it, too.

    Parameters
    ----------
    alias : bool
        Whether columns that depend on others are left out. Where a penalty tells their parameters they need not be.
    rounding : Rounding, optional
        How finely products are told, with weights or without: columns that depend on others are then refused, unless
        both are counted.

    Columns that nearly depend on each other are mixed: at right angles neither their digits nor the size of an estimate
    is lost to that. Those that may be dependent, as a penalty tells their parameters, stay as they are.
    """
    d, n, centre, variance = len(names), int(gram[0, 0]), [], []
    gram_of_columns = gram[: d + 1, : d + 1]
    if rounding is not None:
        columns = rounding.distinct(gram_of_columns, range(d), names, intercept=intercept, weighted=weighted)
    else:
        columns = _independent(gram_of_columns, names, intercept=intercept) if alias else list(range(1, d + 1))
    for j in columns:
        unit, total, squares = units[j - 1], int(gram[0, j]), int(gram[j, j])
        centre.append(unit * Fraction(total, n) if intercept else Fraction(0))
        variance.append(unit**2 * Fraction(n * squares - total * total * intercept, n * n))
    deviation = np.sqrt(nearest(variance)) if columns else np.zeros(0)
    return Columns(
        tuple(names[j - 1] for j in columns),
        tuple(j - 1 for j in columns),
        intercept,
        nearest(centre) if columns else np.zeros(0),
        np.where(deviation > 0, deviation, 1.0),  # 0 only where nothing is left out
        tuple(names[j - 1] for j in range(1, d + 1) if j not in columns),
        _mix(gram, columns, intercept=intercept) if alias and rounding is None else None,
    )


def _mix(gram: Whole, columns: list[int], *, intercept: bool) -> Array | None:
    """The Cholesky factor of the correlations of some columns; None where these are far from dependent."""
    if len(columns) < 2:
        return None
    L, place = cholesky(_correlations(_products(gram, intercept=intercept), columns))
    return L if place is None and (np.diag(L) < STEEP).any() else None


def _products(gram: Whole, *, intercept: bool) -> Whole:
    """Of columns about their means, where there is an intercept; times the number of rows."""
    return np.asarray(gram[0, 0] * gram - np.multiply.outer(gram[0], gram[0]) if intercept else gram)


def _correlations(products: Whole, columns: list[int]) -> Array:
    size = np.sqrt(nearest([products[j, j] for j in columns]))
    return np.asarray(nearest(products[np.ix_(columns, columns)]) / np.multiply.outer(size, size))


def _independent(gram: Whole, names: Sequence[str], *, intercept: bool) -> list[int]:
    """The columns that do not depend on those before them: exactly, or but for what rounding of float64 can do."""
    first = 0 if intercept else 1
    columns = [place for place in (first + kept for kept in independent(gram[first:, first:])) if place]
    products = _products(gram, intercept=intercept)
    while columns:
        correlations = _correlations(products, columns)
        L, place = cholesky(correlations, NEARLY)
        if place is None:
            break
        if _left(products, columns[:place], columns[place]) > SAME:
            share = np.append(np.abs(solve(L[:place, :place], correlations[:place, place])), 1.0)
            those = [names[j - 1] for j, part in zip(columns, share, strict=False) if part >= SHARE * share.max()]
            raise Undetermined(
                f"the columns {', '.join(map(repr, those))} are so nearly linearly dependent over the rows of all "
                "parties that float64 does not tell them apart. Drop one of them, or take it about its mean."
            )
        del columns[place]
    return columns


def _left(products: Whole, before: list[int], place: int) -> Fraction:
    """The part of the square of a column that those before it leave."""
    mixed = products[before, place]
    explained = (mixed * solved(products[np.ix_(before, before)], mixed)).sum() if before else 0
    return 1 - Fraction(explained) / int(products[place, place])


def products_of(d: int) -> int:
    """How many integers of a party travel for ``d`` columns: a number, and theirs, and a symmetric matrix."""
    return (d + 1) * (d + 2) // 2
