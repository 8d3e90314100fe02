"""Counts, means and sums of squares about them by group, of all rows of all parties: exact, from one agreement.

Each party adds up its rows in whole multiples ``z`` of a public unit ``u``, ``x = u z``:

    n,   S = sum z,   Q = sum z^2

and of the totals everybody computes, as fractions, ``mean = u S / n`` and ``scatter = u^2 (Q - S^2 / n)``. They are
rounded once, where an answer shows them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...errors import PeerError
from ...pdmm.modular_mask import Integers
from ...sums import Whole, join_squares, square_parts, whole
from ..fewer_digits import Rounding, rounded

Units = tuple[Fraction, ...]  # of the columns of rows
Bounds = tuple[Fraction, Fraction]  # between which a mean lies
BROKEN = "a party has not kept to the protocol. Agree on a new run."


@dataclass(frozen=True)
class Grouping:
    """A division of rows into groups by the level in a column.

    ``place``: of that column, which has ``levels``; None where all rows are one group. ``chosen``: the levels that are
    groups, in their order; rows of another level belong to none.
    """

    place: int | None
    chosen: tuple[int, ...]
    levels: int

    @property
    def groups(self) -> int:
        """How many there are."""
        return len(self.chosen)

    def group_of(self, block: Array) -> Integers:
        """The group of each row, from 0; -1 for a row that belongs to none."""
        if self.place is None:
            return np.zeros(len(block), np.int64)
        group = np.full(self.levels, -1)
        group[list(self.chosen)] = np.arange(self.groups)
        return np.asarray(group[block[:, self.place].astype(np.int64)])

    def indicators(self, block: Array) -> Int64:
        """``(rows, groups)``: 1 in the place of the group of a row."""
        return np.asarray((self.group_of(block)[:, None] == np.arange(self.groups)).astype(np.int64))

    def counts(self, rows: Rows) -> Integers:
        """How many rows each group has."""
        return row_counts(rows, lambda block: np.bincount(self.group_of(block) + 1, minlength=self.groups + 1)[1:])


ALL_ROWS = Grouping(None, (0,), 1)


@dataclass(frozen=True)
class GroupMoments:
    """Exact moments of groups.

    ``n``: rows ``(G,)``. ``mean``: fractions ``(G, d)``, 0 of an empty group. ``scatter``: sums of squares about them.
    """

    n: Integers
    mean: Whole
    scatter: Whole

    @classmethod
    def of_totals(
        cls,
        total: Whole,
        units: Sequence[Fraction],
        bounds: Sequence[Bounds],
        groups: int,
        rounding: Rounding | None = None,
        places: Sequence[int] = (0,),
    ) -> GroupMoments:
        """From totals of ``own_sums``; refused where no rows can have them, as far as rounding by parties tells."""
        n, d = total[:groups], len(units)
        sums, squares = total[groups:].reshape(2, groups, d)
        mean, scatter = np.empty((groups, d), object), np.empty((groups, d), object)
        for g, count in enumerate(n.tolist()):
            for j, unit in enumerate(units):
                S, Q, off_mean, off_squares = int(sums[g, j]), int(squares[g, j]), Fraction(0), Fraction(0)
                if rounding is not None and count:
                    first, second = (rounding.off(places[j], power, g) for power in (1, 2))
                    from_centre = abs(Fraction(S, count) - rounding.centre[places[j]])
                    off_mean = Fraction(first, count)
                    off_squares = second + 2 * from_centre * first + Fraction(first**2, count)
                if count * (Q + off_squares) < S * S or (not count and Q):
                    raise PeerError(f"agreed sums of squares are smaller than any rows could have them: {BROKEN}")
                mean[g, j] = unit * Fraction(S, max(count, 1))
                scatter[g, j] = unit**2 * max(Fraction(count * Q - S * S, max(count, 1)), Fraction(0))
                low, high = bounds[j]
                if count and not low - unit * off_mean <= mean[g, j] <= high + unit * off_mean:
                    raise PeerError(f"an agreed mean lies beyond the public range of its column: {BROKEN}")
        return cls(n.astype(np.int64), mean, scatter)

    @property
    def means(self) -> Array:
        """Rounded, ``(G, d)``; NaN of an empty group."""
        return np.where(self.n[:, None] > 0, self.mean.astype(np.float64), np.nan)

    @property
    def variances(self) -> Array:
        """Unbiased ones, rounded, ``(G, d)``; NaN of a group of fewer than two rows."""
        rest = np.maximum(self.n - 1, 1).astype(object)[:, None]
        return np.where(self.n[:, None] > 1, (self.scatter / rest).astype(np.float64), np.nan)

    @property
    def between(self) -> Whole:
        """Sums of squares ``(d,)`` of the means about the mean of all rows."""
        n = self.n.astype(object)[:, None]
        apart = self.mean - (n * self.mean).sum(axis=0) / Fraction(max(1, int(self.n.sum())))
        return np.asarray((n * apart**2).sum(axis=0))

    @property
    def within(self) -> Whole:
        """Sums of squares ``(d,)`` of rows about the means of their groups."""
        return np.asarray(self.scatter.sum(axis=0))


def row_counts(rows: Rows, of_block: Callable[[Array], Integers]) -> Integers:
    """A party's counts ``(k,)``, from those of its blocks."""
    return rows.totals(lambda block: of_block(block)[None].astype(np.int64)).astype(np.int64)


def own_sums(
    rows: Rows,
    grouping: Grouping,
    places: Sequence[int],
    units: Sequence[Fraction],
    rounding: Rounding | None = None,
) -> Whole:
    """A party's ``n`` (G,), then ``S`` and ``Q`` (G, d) of the columns in some places: in one row, as it tells them."""
    d = len(places)

    def sides(block: Array) -> tuple[Int64, Int64]:
        z = whole(block[:, places], units)
        return grouping.indicators(block), np.column_stack([np.ones(len(z), np.int64), z, square_parts(z)])

    gram = rows.grams(sides)
    n, S, Q = gram[:, 0], gram[:, 1 : 1 + d], join_squares(gram[:, 1 + d :].T).T
    if rounding is not None:
        own, S = S, rounding.sums(S, n, places)
        Q = rounding.squares(Q, own, S, n, places)
    return np.concatenate([n, S.ravel(), Q.ravel()])


def own_distances(
    rows: Rows, grouping: Grouping, unit: Fraction, moments: GroupMoments, rounding: Rounding | None = None
) -> Whole:
    """A party's ``sum |n z - S|`` of the first column by group, where ``S / n`` is the mean in units; rounded to a
    hundredth of the deviations of the group's rows.

    A row lies above the mean, below it, or on it, which whole numbers beside it tell: with signs ``s`` this is
    ``n sum s z - S sum s``, so that no product is larger than an integer of 64 bits.
    """
    mean = moments.mean[:, 0] / unit
    low = np.array([int(m // 1) for m in mean], np.int64)
    high = np.array([int(-(-m // 1)) for m in mean], np.int64)

    def sides(block: Array) -> tuple[Int64, Int64]:
        z, group = whole(block[:, :1], [unit])[:, 0], grouping.group_of(block)
        sign = (z > low[group]).astype(np.int64) - (z < high[group])
        return grouping.indicators(block), np.column_stack([sign * z, sign])

    gram, n = rows.grams(sides), moments.n.astype(object)
    S = np.array([int(total) for total in n * mean], object)
    own = np.asarray(n * gram[:, 0] - S * gram[:, 1])
    if rounding is None:
        return own
    return np.asarray(rounded(own, [max(1, count) * rounding.step(0, rows=count) for count in moments.n.tolist()]))


def distance_moments(
    moments: GroupMoments, unit: Fraction, total: Whole, rounding: Rounding | None = None
) -> GroupMoments:
    """Of the distances ``|x - mean|`` of one column, from the totals of ``own_distances``: their squares add up to the
    scatter. Where parties round, totals that no rows have are those nearest to them that some rows have."""
    if rounding is not None:
        n = moments.n.astype(object)
        most = [
            math.isqrt(int(count**3 * spread)) for count, spread in zip(n, moments.scatter[:, 0] / unit**2, strict=True)
        ]
        total = np.minimum(np.maximum(total, 0), np.array(most, object))
    there = np.maximum(moments.n, 1).astype(object)
    mean = total * unit / there**2
    scatter = moments.scatter[:, 0] - moments.n.astype(object) * mean**2
    if (total < 0).any() or (scatter < 0).any():
        raise PeerError(f"agreed distances from means are not those of any rows: {BROKEN}")
    return GroupMoments(moments.n, mean[:, None], scatter[:, None])
