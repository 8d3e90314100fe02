"""Fewer digits: each party's sums rounded to what statistics need of them (``digits = "statistical"``).

A sum over ``N`` rows is off by chance by ``sqrt(N)`` deviations of a row. Digits far below that say nothing of the
world, and much of single rows. So each party rounds each of its sums to a multiple of ``sqrt(N) / 100`` deviations of
what a row adds, before anything is hidden: products of columns about a public centre, scores and information by what
rows add to them. Counts stay as they are. With five parties estimates move by 0.006 standard errors, with fifteen by
0.011: the root of a twelfth of their number, in hundredths.

Where columns lie, and how widely, the parties find out first, in sums that are no finer: from the range in the schema
on, the interval in question shrinks until the deviation stands out of the rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..data.batch import Array
from ..data.rows import Int64, Rows
from ..errors import Undetermined
from ..numerics import fixed_order
from ..numerics.exact_algebra import independent, nearest
from ..sums import Whole, join_squares, square_parts, whole

if TYPE_CHECKING:
    from .agreements import Agreements

Digits = Literal["full", "statistical"]
Ends = Sequence[tuple[float, float]]  # between which the columns of rows lie
Index = tuple[int, ...]  # of a climb's sum, see ``climb_steps``

PART = 100  # of a standard error of a sum: how finely it is told
MOST_LOOKS = 20  # at where columns lie
STANDS_OUT = 4  # times what rounding may have done, a variance that is known
TOLD_APART = 5  # times what rounding may have done, the share of a column that others must leave of it
LEAVING = 0.1  # of the largest, the share with which a column takes part in a combination
SETTLED = Fraction(1, 3)  # of a step's square, by party and parameter: four times what rounding leaves of a decrement
FULL = 'Take digits = "full", or leave terms out.'


@dataclass(frozen=True, eq=False)
class Rounding:
    """How finely sums of columns are told, the same at every party."""

    sizes: tuple[int, ...]  # rows of all parties, by group where sums are by group
    parties: int
    centre: Mapping[int, int]  # by place of a column in a row, about where it lies, in its units
    variance: Mapping[int, Fraction]  # about there, in squared units
    counted: frozenset[int]  # columns that are 0 or 1: sums of their products are counts, and stay as they are

    @property
    def rows(self) -> int:
        """Of all groups."""
        return sum(self.sizes)

    def step(self, *places: int, times: Fraction = Fraction(1), rows: int | None = None) -> int:
        """The step of a sum of products of the columns in some places about their centres; ``times``: what else a row
        is multiplied by. ``rows``: of how many rows the sum is, if not of all."""
        if times == 1 and self.counted.issuperset(places):
            return 1
        of_row = math.prod((self.variance[place] for place in places), start=times**2)
        return max(1, math.isqrt(int(of_row * (self.rows if rows is None else rows) / PART**2)))

    def size(self, place: int) -> Fraction:
        """The root of a column's mean square about 0."""
        return Fraction(max(1, math.isqrt(int(self.centre[place] ** 2 + self.variance[place]))))

    @property
    def reach(self) -> int:
        """How many steps a total may be off: roundings of parties add up like errors (six standard deviations)."""
        return 2 * (math.isqrt(self.parties) + 1)

    @property
    def blur(self) -> float:
        """How much of a correlation of all rows rounding may make."""
        return self.reach / (PART * math.sqrt(self.rows))

    # Sums and squares by group

    def sums(self, own: Whole, counts: Whole, places: Sequence[int]) -> Whole:
        """A party's sums ``(groups, d)`` of some columns, each about its centre on its step."""
        middle = np.multiply.outer(counts, self._centres(places))
        return np.asarray(middle + _to_steps(own - middle, self._group_steps(places, 1)))

    def squares(self, own: Whole, sums: Whole, rounded_sums: Whole, counts: Whole, places: Sequence[int]) -> Whole:
        """A party's sums of squares ``(groups, d)``, beside its sums and those that ``sums`` made of them."""
        centres = self._centres(places)
        fixed = np.multiply.outer(counts, centres**2)
        about = _to_steps(own - 2 * sums * centres + fixed, self._group_steps(places, 2))
        return np.asarray(about + 2 * rounded_sums * centres - fixed)

    def off(self, place: int, power: int, group: int) -> int:
        """By how much a total of ``sums`` or ``squares`` about the centre may be off."""
        return self.reach * self.step(*[place] * power, rows=self.sizes[group])

    def _centres(self, places: Sequence[int]) -> Whole:
        return np.array([self.centre[place] for place in places], object)

    def _group_steps(self, places: Sequence[int], power: int) -> Whole:
        return np.array([[self.step(*[place] * power, rows=rows) for place in places] for rows in self.sizes], object)

    # Products of columns

    def gram(
        self, gram: Whole, places: Sequence[int], *, times: Fraction | None = None, rows: int | None = None
    ) -> Whole:
        """A party's sums of products of ``(1, columns)``, each entry about the centres on its step. ``times``: about
        what a row is multiplied by, where it is weighted."""
        centre = np.array([0, *self._centres(places)], object)
        about = _moved(gram, -centre)
        return _moved(_to_steps(about, self._product_steps(places, times, rows)), centre)

    def widened(
        self, gram: Whole, places: Sequence[int], *, times: Fraction | None = None, rows: int | None = None
    ) -> Whole:
        """Totals with as much added to squares as rounding may have taken: those of some rows for sure."""
        centre = np.array([0, *self._centres(places)], object)
        off = self.reach * self._product_steps(places, times, rows)
        return _moved(_moved(gram, -centre) + np.diag(off.sum(axis=1)), centre)

    def _product_steps(self, places: Sequence[int], times: Fraction | None, rows: int | None) -> Whole:
        of = [(), *((place,) for place in places)]
        factor = Fraction(1) if times is None else times
        steps = [[self.step(*a, *b, times=factor, rows=rows) for b in of] for a in of]
        if times is None:
            steps[0][0] = 1
        return np.array(steps, object)

    # What they tell

    def distinct(
        self, gram: Whole, places: Sequence[int], names: Sequence[str], *, intercept: bool, weighted: bool = False
    ) -> list[int]:
        """Columns of ``(1, columns)``, without the ones, that do not depend on those before them. Counts tell exactly;
        other columns that these digits do not tell apart are ``Undetermined``, by name."""
        exact = set() if weighted else {1 + j for j, place in enumerate(places) if place in self.counted}
        counted = [*([0] if intercept else []), *sorted(exact)]
        free = {counted[k] for k in independent(gram[np.ix_(counted, counted)])} if exact else set()
        measured = [k for k in range(1, len(gram)) if k not in exact]
        order = [*sorted(free - {0}), *measured]
        correlations = _correlations(gram, order, intercept=intercept)
        L, stop = fixed_order.cholesky(correlations)
        last = len(order) if stop is None else stop
        lost = [k for k in range(len(free - {0}), last) if L[k, k] ** 2 <= TOLD_APART * self.blur]
        place = lost[0] if lost else stop
        if place is not None:
            before = fixed_order.solve(L[:place, :place], correlations[:place, place]) if place else np.zeros(0)
            share = np.append(np.abs(before), 1.0)
            those = [names[k - 1] for k, part in zip(order, share, strict=False) if part >= LEAVING * share.max()]
            raise Undetermined(
                f'digits = "statistical" do not tell the columns {", ".join(map(repr, those))} apart: they depend on '
                f"each other, or nearly, over the rows of all parties, or do not vary. {FULL}"
            )
        return sorted(order)

    def check_left(self, share: float, response: str) -> None:
        """Refuse a fit that leaves no more of the response than rounding may make."""
        if not share > TOLD_APART * self.blur:
            raise Undetermined(
                f'digits = "statistical" do not tell what the columns leave of {response!r}: a share of '
                f"{max(share, 0.0):.2g} of its variance. {FULL}"
            )


def endless(names: Sequence[str], ends: Ends) -> list[str]:
    """Columns that nothing public bounds."""
    return [name for name, pair in zip(names, ends, strict=True) if not all(map(math.isfinite, pair))]


def rounded(own: Whole | None, steps: Sequence[int]) -> Whole | None:
    """A party's sums, each the nearest multiple of its step; None of one that objects."""
    return None if own is None else _to_steps(own, np.array(steps, object))


def agreed_rounding(
    agreements: Agreements,
    rows: Sequence[Rows],
    places: Sequence[int],
    units: Sequence[Fraction],
    counts: Callable[[Rows], Int64] | None = None,
) -> Rounding | None:
    """The step of every sum of the columns in some places, from a count of rows and as many looks as it takes; None
    where sums have all their digits. ``counts``: of a party's rows by group, where sums are by group. ``Undetermined``
    without rows, or if it does not show where columns lie."""
    ends = agreements.ends
    if ends is None:
        return None
    own = [[len(part)] if counts is None else counts(part).tolist() for part in rows]
    sizes = tuple(agreements.sum(own, of="rows" if counts is None else "rows by group", counts=True).tolist())
    if not sum(sizes):
        raise Undetermined("no party has any rows.")
    counted = frozenset(k for k in places if units[k] == 1 and ends[k][0] >= 0 and ends[k][1] <= 1)
    looked = {k: _Look.at_first(units[k], *ends[k]) for k in dict.fromkeys(places)}
    left = [k for k in looked if k not in counted]
    reach = 2 * (math.isqrt(agreements.parties) + 1)
    for _ in range(MOST_LOOKS):
        if not left:
            variance = {k: Fraction(1, 4) if k in counted else look.variance for k, look in looked.items()}
            centre = {k: 0 if k in counted else look.centre for k, look in looked.items()}
            return Rounding(sizes, agreements.parties, centre, variance, counted)
        looks = [looked[k] for k in left]
        steps = [step for look in looks for step in look.steps(sum(sizes))]
        told = [rounded(_about(part, left, units, looks), steps) for part in rows]
        total = agreements.sum(told, of="where columns lie, and how widely", iterate=True).reshape(-1, 2)
        looked |= {
            k: looked[k].after(int(differences), int(squares), sum(sizes), reach)
            for k, (differences, squares) in zip(left, total, strict=True)
        }
        left = [k for k in left if not looked[k].is_known]
    raise Undetermined(f'digits = "statistical": where columns lie does not show after {MOST_LOOKS} looks. {FULL}')


@dataclass(frozen=True)
class _Look:
    """At one column, in its units: it lies about ``centre``, and not much further away than ``width``."""

    centre: int
    width: int
    variance: Fraction = Fraction(0)
    is_known: bool = False

    @classmethod
    def at_first(cls, unit: Fraction, low: float, high: float) -> _Look:
        first, last = (int(Fraction(end) / unit) for end in (low, high))
        return cls((first + last) // 2, max(1, (last - first + 1) // 2))

    def steps(self, rows: int) -> tuple[int, int]:
        """Of sums of differences from the centre, and of their squares."""
        first, second = (max(1, math.isqrt(rows * self.width ** (2 * power)) // PART) for power in (1, 2))
        return first, second

    def after(self, differences: int, squares: int, rows: int, reach: int) -> _Look:
        """What totals say of it."""
        steps = self.steps(rows)
        mean = Fraction(differences, rows)
        variance = max(Fraction(0), Fraction(squares, rows) - mean**2)
        off = [reach * step for step in steps]
        error = Fraction(off[1] + math.ceil(2 * abs(mean)) * off[0], rows)
        centre = self.centre + round(mean)
        if steps == (1, 1) or variance >= STANDS_OUT * error:
            return _Look(centre, self.width, variance, True)
        return _Look(centre, max(1, min(self.width, math.isqrt(math.ceil(variance + error)) + 1)))


def _about(rows: Rows, places: Sequence[int], units: Sequence[Fraction], looks: Sequence[_Look]) -> Whole:
    """A party's sums of differences from the centres, and of their squares, column by column."""
    centres, own, d = np.array([look.centre for look in looks]), [units[k] for k in places], len(places)

    def terms(block: Array) -> Int64:
        z = whole(block[:, list(places)], own) - centres
        return np.column_stack([z, square_parts(z)])

    totals = rows.totals(terms)
    return np.column_stack([totals[:d], join_squares(totals[d:])]).ravel()


@dataclass(frozen=True, eq=False)
class ClimbDigits:
    """How finely the sums of a climb are told."""

    indices: Sequence[Index]  # of each sum, of which parameters it is: see ``climb_steps``
    bits: Sequence[int]  # it counts steps of ``2^-bits``
    rows: int  # of all parties
    first: Array  # about the information on each parameter at the start
    decrement: float  # of Newton's method, what rounding may leave
    fall: float  # of an objective, what rounding may take from it
    unit: float  # of objectives, a dispersion

    def steps(self, information: Array) -> list[int]:
        """By the information on each parameter."""
        return climb_steps(self.indices, self.bits, self.rows, information, self.unit)


def climb_digits(
    agreements: Agreements,
    indices: Sequence[Index],
    bits: Sequence[int],
    rows: int,
    first: Array,
    unit: float = 1.0,
) -> ClimbDigits | None:
    """For ``maximise``; None where sums have all their digits."""
    if agreements.ends is None:
        return None
    decrement = unit * float(SETTLED) * agreements.parties * len(first) / PART**2
    return ClimbDigits(indices, bits, rows, first, decrement, unit * agreements.parties / PART, unit)


def climb_steps(
    indices: Sequence[Index], bits: Sequence[int], rows: int, information: Array, unit: float = 1.0
) -> list[int]:
    """The steps of sums in ``2^-bits``, by the information on the parameters.

    ``indices``: of each sum, ``()`` for an objective, ``(i,)`` for the score of a parameter, ``(i, j)`` for the
    information on two, ``(-1,)`` for a sum of squares of rows. An objective is told to 0.01: its differences are what
    tests are made of.
    """
    root = np.sqrt(np.maximum(information, 0.0))
    found = []
    for index, fraction_bits in zip(indices, bits, strict=True):
        if index == (-1,):
            size = unit * math.sqrt(rows)
        elif len(index) == 2:
            size = float(root[index[0]] * root[index[1]]) / math.sqrt(rows)
        else:
            size = float(root[index[0]]) * math.sqrt(unit) if index else unit
        found.append(max(1, int(math.ldexp(size / PART, fraction_bits))))
    return found


def _moved(gram: Whole, by: Whole) -> Whole:
    """Sums of products of ``(1, x + by)`` from those of ``(1, x)``; the first of ``by`` is 0."""
    first = gram[0]
    mixed = np.multiply.outer(by, first)
    return np.asarray(gram + mixed + mixed.T + np.multiply.outer(by, by) * gram[0, 0])


def _to_steps(values: Whole, steps: Whole) -> Whole:
    return np.asarray((values + steps // 2) // steps * steps)


def _correlations(gram: Whole, columns: Sequence[int], *, intercept: bool) -> Array:
    about = gram[0, 0] * gram - np.multiply.outer(gram[0], gram[0]) if intercept else gram
    size = np.sqrt(np.maximum(nearest([about[j, j] for j in columns]), 0.0))
    size[size == 0] = np.inf  # of a column that does not vary: left with nothing
    return np.asarray(nearest(about[np.ix_(columns, columns)]) / np.multiply.outer(size, size))
