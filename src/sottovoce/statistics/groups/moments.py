"""Counts, means and variances by group, with the digits of each group's own spread.

A public range may be far wider than the data. So there are two rounds: the first gives a rough mean and deviation, in
units of the range; the parties settle on a centre and a unit from them, the same everywhere;
the second is about that centre, in that unit. What it shows follows from what the first has shown:

    n                                   agreement 1, integers
    sum (x - c)/u, sum ((x - c)/u)^2    agreement 2, with c and u of the schema
    c and u                             agreement 3, integers
    the same sums                       agreement 4, with these c and u
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
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..settled import integers, majority, settled, voted

# Of groups (G, d): sums of (x - c)/u and of its squares, side by side (G, 2d).
Powers = Callable[[Array, Array], Array]

SMALLEST = 2.0**-12  # of the first unit, the deviation below which a variance drowns in what tol leaves of its square
LARGER = 1.04  # a unit, than the deviation that it was made from
CONSTANT = 1e-7  # in units of the range: no data have such a deviation, but tol may leave it of a constant
MOMENT_STAGES = 3  # after the counts
MOMENT_COUNTS = integers(2)  # for each group and column


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
    deviation = LARGER * np.sqrt(np.maximum(square - mean**2, SMALLEST**2))
    held = np.hstack([mean.reshape(len(mean), -1), deviation.reshape(len(mean), -1)])
    about, _ = settled(agreements, held, of="centres and units that follow from these")
    place, size = about.reshape(2, G, d)
    c, u = c + u * place, u * size
    mean, square = agreed(0)
    empty = np.broadcast_to((weight <= 0)[..., None], mean.shape)
    variance = u**2 * np.maximum(square - mean**2, 0.0)
    return Moments(np.where(empty, np.nan, c + u * mean), np.where(empty, np.nan, variance), u)


def check_varies(agreements: Agreements, spread: Array, unit: float, sentence: str) -> None:
    """Refuse a deviation of 0, ``(local,)`` as each holds it. Parties might differ about what is 0, so they vote."""
    flags = ~(spread > CONSTANT * unit)[:, None]
    against = voted(agreements, flags, of="parties who find no variation in what is agreed")
    if majority(agreements, against)[0]:
        raise Undetermined(sentence)
