"""Counts, means and variances by group, with the digits of each group's own spread.

A public range may be far wider than the data. So there are two rounds: the first gives a rough mean and deviation, in
units of the range; the parties vote on a common centre and unit that are near them, as integers, the same everywhere;
the second is about that centre, in that unit. What it shows follows from what the first has shown:

    n                                   agreement 1, integers
    sum (x - c)/u, sum ((x - c)/u)^2    agreement 2, with c and u of the schema
    votes on c and u                    agreement 3, integers
    the same sums                       agreement 4, with the c and u of the vote
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import Undetermined
from ...pdmm.masks import GaussianMask
from ...pdmm.modular_mask import Integers, ModularMask
from ..agreements import Agreements

# Of groups (G, d): sums of (x - c)/u and of its squares, side by side (G, 2d).
Powers = Callable[[Array, Array], Array]

SMALLEST = -12  # 2^-12 of the first unit, the deviation below which a variance drowns in what tol leaves of its square
LARGEST = 40
PLACES = 20  # bits of a centre: its error is then small against the smallest unit
ZERO = 2.0**32  # votes are not negative, as counts are not
ABOVE = 0.05  # binary orders by which a unit is larger than the deviation, at least
CONSTANT = 1e-7  # in units of the range: no data have such a deviation, but tol may leave it of a constant
MOMENT_STAGES = 3  # after the counts


@dataclass(frozen=True)
class Grouped:
    """Numbers of rows, by group.

    ``values``: of a block ``(rows, d)``, in the units of the data. ``group``: of a block the group of each row, from 0,
    and -1 for a row that belongs to none.
    """

    values: Callable[[Array], Array]
    group: Callable[[Array], Integers]
    groups: int

    def counts(self, rows: Rows) -> Integers:
        """How many rows each group has."""

        def of_block(block: Array) -> Array:
            return np.bincount(self.group(block) + 1, minlength=self.groups + 1)[None, 1:].astype(np.float64)

        return np.rint(rows.sums(of_block)).astype(np.int64)

    def sums(self, rows: Rows, terms: Callable[[Array, Integers], Array]) -> Array:
        """By group the sums of ``terms(values, group)``, ``(rows, k)``: ``(G, k)``."""

        def sides(block: Array) -> tuple[Array, Array]:
            group = self.group(block)
            return (group[:, None] == np.arange(self.groups)).astype(np.float64), terms(self.values(block), group)

        return np.asarray(rows.products(sides))

    def powers(self, rows: Rows) -> Powers:
        """Of the rows of a party."""

        def of(centre: Array, unit: Array) -> Array:
            def terms(x: Array, group: Integers) -> Array:
                t = (x - centre[group]) / unit[group]
                return np.column_stack([t, t * t])

            return self.sums(rows, terms)

        return of


@dataclass(frozen=True)
class Moments:
    """Means and variances ``(local, G, d)`` about them, as each local party holds them; NaN of an empty group. ``unit``
    ``(G, d)`` is public, and not far above the deviations."""

    mean: Array
    variance: Array
    unit: Array


def no_groups(block: Array) -> Integers:
    """Where all rows are one group."""
    return np.zeros(len(block), np.int64)


def grouping(place: int, chosen: Sequence[int], levels: int) -> Callable[[Array], Integers]:
    """By the level in a column: of the ``chosen`` ones, in their order."""
    group = np.full(levels, -1)
    group[list(chosen)] = np.arange(len(chosen))

    def of(block: Array) -> Integers:
        return np.asarray(group[block[:, place].astype(np.int64)])

    return of


def agreed_moments(
    agreements: Agreements,
    mask: GaussianMask,
    weight: npt.NDArray[Any],
    powers: Sequence[Powers],
    centre: Array,
    unit: Array,
    *,
    of: str,
    ranged: bool = True,
) -> Moments:
    """Of local parties with ``powers`` each. ``weight``: what counts are, of every group, ``(G,)``, or ``(local, G)``.
    ``centre, unit``: public, ``(d,)``. ``ranged``: whether values are known to lie between -1 and 1 in it."""
    G, d = np.shape(weight)[-1], len(centre)
    share = agreements.parties / np.where(weight > 0, weight, 1.0)[..., None]
    c, u = np.broadcast_to(centre, (G, d)), np.broadcast_to(unit, (G, d))

    def agreed(degree: int) -> tuple[Array, Array]:
        sums = np.array([own(c, u) for own in powers]) * share
        told = f"{of} and of their squares"
        found = agreements.mean(sums.reshape(len(sums), -1), mask, degree, of=told).reshape(-1, G, 2 * d)
        return found[:, :, :d], found[:, :, d:]

    mean, square = agreed(0 if ranged else 2)
    places, orders = _votes(agreements, mean, square - mean**2)
    c, u = c + u * places, u * orders
    mean, square = agreed(0)
    empty = np.broadcast_to((weight <= 0)[..., None], mean.shape)
    variance = u**2 * np.maximum(square - mean**2, 0.0)
    return Moments(np.where(empty, np.nan, c + u * mean), np.where(empty, np.nan, variance), u)


def _votes(agreements: Agreements, mean: Array, variance: Array) -> tuple[Array, Array]:
    """A centre and a unit for each group and column, ``(G, d)``, the same at all parties: each rounds what it holds,
    and the mean of the integers is taken."""
    most = (2.0**45 - 1) // agreements.parties
    place = np.clip(np.rint(mean * 2**PLACES) + ZERO, 0, most)
    order = np.ceil(np.log2(np.maximum(variance, 4.0**SMALLEST)) / 2 + ABOVE)
    order = np.clip(order, SMALLEST, LARGEST) - SMALLEST
    votes = np.stack([place, order], axis=1).astype(np.int64)
    total = agreements.total(
        votes.reshape(len(votes), -1), ModularMask(), of_rows=False, of="votes on units that follow from agreed sums"
    )
    place, order = np.rint(total.reshape(2, *mean.shape[1:]) / agreements.parties)
    return (place - ZERO) / 2.0**PLACES, 2.0 ** (order + SMALLEST)


def check_varies(agreements: Agreements, spread: Array, unit: float, sentence: str) -> None:
    """Refuse a deviation of 0, ``(local,)`` as each holds it. Parties might differ about what is 0, so they vote."""
    flags = (~(spread > CONSTANT * unit)).astype(np.int64)[:, None]
    against = agreements.total(
        flags, ModularMask(), of_rows=False, of="parties who find no variation in what is agreed"
    )
    if 2 * against[0] > agreements.parties:
        raise Undetermined(sentence)
