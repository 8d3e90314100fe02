"""Second moments of weighted rows, to the digits that the agreement has, whatever the sizes of the columns.

    N                                   agreement 1, integers; of every fold, where there are folds
    sum w, sum w t, sum w t^2           agreement 2, in public units: rough means and deviations
    centres c and units s               agreement 3, integers: the same at every party to the bit
    G = sum w a a' / N, a = (1, z)      agreement 4, with z = (t - c)/s of size 1

Columns of very different sizes, or far from 0, lose nothing: the rough numbers only have to be near. Where a column
does not seem to vary, agreements 2 and 3 are made again for it, about its mean and in units of what was open. As ``s``
is no smaller than a deviation, no entry of a party's share is larger than the number of parties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows, Sides
from ...errors import Undetermined
from ...numerics.symmetric import symmetric, upper
from ...pdmm.modular_mask import Integers, ModularMask
from ..agreements import Agreements, resolution
from ..analysis import check_rows
from ..settled import Flags, integers, majority, settled
from .equation import Columns
from .folds import fold_of

LARGER = 1.02  # a unit, than the deviation that it was made from
FLAT = 4.0  # a variance, in units of what the agreement leaves open, that is none
LOOKS = 3  # at a column that does not seem to vary, each in units that are some 5,000 times smaller
AGREEMENTS = 2 + 2 * LOOKS  # that ``agreed_moments`` takes, at most
ANYTHING, NOT_ZERO, VARIES = range(3)  # what columns must be, or a sentence says their names


@dataclass(frozen=True, eq=False)
class Moments:
    """What was agreed on.

    Attributes
    ----------
    N : int
        Rows of all parties.
    sizes : ndarray
        Of the folds; ``[N]`` without any.
    centre, spread : ndarray
        ``(k,)``: ``z = (t - centre) / spread``, the same at all parties to the bit.
    weight : float
        What weights are divided by; 1 without weights.
    by_fold : ndarray
        ``(local, folds, 1 + k, 1 + k)``: ``sum w a a' / N`` with ``a = (1, z)``, as each local party holds it.
    """

    N: int
    sizes: Integers
    centre: Array
    spread: Array
    weight: float
    by_fold: Array

    @property
    def products(self) -> Array:
        """Over all rows, ``(local, 1 + k, 1 + k)``."""
        return np.asarray(self.by_fold.sum(axis=1))

    def a(self, columns: Columns, block: Array) -> Array:
        """``(1, z)`` of some rows."""
        return np.column_stack([np.ones(len(block)), (columns.values(block) - self.centre) / self.spread])

    def weights(self, columns: Columns, block: Array) -> Array:
        """Of some rows ``(rows, 1)``, about 1."""
        return columns.weights(block) * (columns.weight_unit / self.weight)


def numbers_of_moments(k: int, folds: int = 1) -> int:
    """How many real numbers of a party travel for ``k`` columns, at most."""
    return LOOKS * (2 * k + 1) + folds * (k + 1) * (k + 2) // 2


def counts_of_moments(k: int, folds: int = 1) -> int:
    """How many integers of a party travel for ``k`` columns, at most."""
    return folds + LOOKS * integers(2 * k + 1, votes=2 * k)


def left_open(agreements: Agreements, columns: Columns, largest: float) -> float:
    """What CONVERGED leaves open in an agreed number, with room for parties that hold more than the mean."""
    return 10 * agreements.tol * max(1.0, largest) + resolution(columns.mask)


def agreed_moments(
    agreements: Agreements,
    rows: Sequence[Rows],
    columns: Columns,
    *,
    need: int,
    columns_are: int = VARIES,
    folds: int = 1,
    seed: int = 0,
) -> Moments:
    """Of all rows. ``need``: so many rows at least. ``columns_are``: what is asked of the columns."""
    sizes = _agreed_sizes(agreements, rows, folds, seed)
    N = int(sizes.sum())
    if need > N:
        raise Undetermined(f"the parties have {N} rows in all; this needs {need} at least.")
    centre, spread, weight = _rough(agreements, rows, columns, N, columns_are)
    found = Moments(N, sizes, centre, spread, weight, np.empty(0))
    return Moments(N, sizes, centre, spread, weight, _products(agreements, rows, columns, found, folds, seed))


def _agreed_sizes(agreements: Agreements, rows: Sequence[Rows], folds: int, seed: int) -> Integers:
    if folds == 1:
        counts = np.array([[len(part)] for part in rows], dtype=np.int64)
    else:
        own = [part.sums(lambda block: np.asarray(_in_fold(block, folds, seed), np.float64)) for part in rows]
        counts = np.rint(own).astype(np.int64)
    sizes = agreements.total(counts, ModularMask(), of="the number of rows" + (", by fold" if folds > 1 else ""))
    check_rows(sizes)
    if not sizes.all():
        empty = int(np.flatnonzero(sizes == 0)[0]) + 1
        raise Undetermined(f"folds: fold {empty} of {folds} has no rows, of {sizes.sum()} in all. Use fewer folds.")
    return sizes


def _in_fold(block: Array, folds: int, seed: int) -> Array:
    """``(rows, folds)``, 1 in the fold of a row."""
    return np.asarray(fold_of(block, folds, seed)[:, None] == np.arange(folds), np.float64)


def _rough(
    agreements: Agreements, rows: Sequence[Rows], columns: Columns, N: int, columns_are: int
) -> tuple[Array, Array, float]:
    """Centres and units of the columns, and of the weights. Columns that do not seem to vary are looked at again, in
    units of what was open."""
    k = len(columns.names)
    centre, spread, at = np.zeros(k), columns.unit.copy(), np.arange(k)
    for looks in range(1, LOOKS + 1):
        agreed = _looked(agreements, rows, columns, N, centre[at], spread[at], at, degree=2 if looks == 1 else 0)
        total = np.maximum(agreed[:, :1], np.finfo(float).tiny)
        mean, square = np.hsplit(agreed[:, 1:] / total, 2)
        variance = square - mean**2
        floor = FLAT * np.array([left_open(agreements, columns, float(np.abs(own).max())) for own in agreed])[:, None]
        flat, nothing = variance <= floor, square <= floor
        numbers, votes = settled(
            agreements,
            np.hstack([total, mean, LARGER * np.sqrt(np.where(flat, floor, variance))]),
            np.hstack([flat, nothing]),
            of="centres and units of the columns, which follow from these",
        )
        shift, step = np.split(numbers[1:], 2)
        still, empty = np.split(majority(agreements, votes), 2)
        if looks == 1:
            weight, zero = float(numbers[0] * columns.weight_unit), empty
        centre[at] += shift * spread[at]
        spread[at] *= step
        at = at[still]
        if not len(at):
            break
    same = np.isin(np.arange(k), at)
    zero = zero & same
    if columns_are >= NOT_ZERO and zero.any():
        raise _zero(columns, zero)
    if columns_are == VARIES and same.any():
        raise _flat(columns, same)
    # A column that does not vary is centred all the same, and divided by its size.
    spread[same] = np.where(zero, columns.unit, LARGER * np.abs(centre))[same]
    return centre, spread, weight


def _looked(
    agreements: Agreements,
    rows: Sequence[Rows],
    columns: Columns,
    N: int,
    centre: Array,
    unit: Array,
    at: Integers,
    *,
    degree: int,
) -> Array:
    """``sum w, sum w t, sum w t^2`` over ``N`` of the columns ``at`` about centres, in units."""

    def terms(block: Array) -> Array:
        t, w = (columns.values(block)[:, at] - centre) / unit, columns.weights(block)
        return np.hstack([w, w * t, w * t**2])

    sums = np.array([part.sums(terms) for part in rows]) * (agreements.parties / N)
    of = "values and their squares" if degree else "values and squares of columns that hardly vary, in smaller units"
    return agreements.mean(sums, columns.mask, degree=degree, of=of)


def _zero(columns: Columns, which: Flags) -> Undetermined:
    return Undetermined(
        f"{_named(columns, which)} 0 in all rows of all parties, to the precision of the agreement: no row has that "
        "level or value. Leave it out; or, if it is not 0 but small, give it a range or a scale of about its size."
    )


def _flat(columns: Columns, which: Flags) -> Undetermined:
    return Undetermined(
        f"{_named(columns, which)} constant over the rows of all parties, to the precision of the agreement. Leave it "
        "out (an intercept stands for it); or, if it varies a little, subtract a public number that is near to it."
    )


def _named(columns: Columns, which: Flags) -> str:
    names = [repr(name) for name, one in zip(columns.names, which, strict=True) if one]
    return f"column {names[0]} is" if len(names) == 1 else f"columns {', '.join(names)} are"


def _products(
    agreements: Agreements, rows: Sequence[Rows], columns: Columns, found: Moments, folds: int, seed: int
) -> Array:
    k = len(columns.names) + 1

    def sides(block: Array) -> tuple[Array, Array]:
        a = found.a(columns, block)
        if columns.weight is None and folds == 1:
            return a, a
        left = a * found.weights(columns, block)
        if folds > 1:
            left = (_in_fold(block, folds, seed)[:, :, None] * left[:, None, :]).reshape(len(block), folds * k)
        return left, a

    def own(part: Rows, sides: Sides) -> Array:
        return np.asarray(upper(part.products(sides).reshape(folds, k, k)).ravel())

    shares = np.array([own(part, sides) for part in rows]) * (agreements.parties / found.N)
    agreed = agreements.mean(
        shares, columns.mask, degree=0, of="products about the mean, pair by pair" + (", by fold" if folds > 1 else "")
    ).reshape(len(rows), folds, -1)
    return symmetric(agreed, k)
