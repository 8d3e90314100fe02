"""Columns in units of about their deviations, around about their means: Newton's steps and their digits are then good
in whatever units the data come.

What is subtracted and divided by is the same to the bit at every party: sums at the same parameters are then sums of
one model, however small a column's deviation is against what an agreement leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.rows import Rows, Terms
from ...pdmm.masks import GaussianMask
from ..agreements import Agreements, resolution
from ..settled import integers, majority, settled

AGREEMENTS = 3  # that ``agreed_columns`` takes, at most: one of them on counts


@dataclass(frozen=True, eq=False)
class Columns:
    """The first columns of the rows, standardised; an intercept comes before them.

    Attributes
    ----------
    names : tuple of str
        Of the columns, without the intercept.
    intercept : bool
        Whether there is one. Without it columns are not centred.
    flat : ndarray of bool
        Which of them do not vary, to the precision of the agreement.
    centre, deviation : ndarray
        What is subtracted, about the mean, and what the rest is divided by, about the standard deviation, in the units
        of the data.
    """

    names: tuple[str, ...]
    intercept: bool
    centre: Array
    deviation: Array
    flat: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """How many parameters there are."""
        return len(self.names) + self.intercept

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return ("Intercept",) * self.intercept + self.names

    def matrix(self, block: Array, spare: int = 0) -> Array:
        """Of some rows, ones for the intercept and the standardised columns, ``(rows, len(self) + spare)``; the
        ``spare`` ones at the end are to be filled."""
        matrix = np.empty((len(block), len(self) + spare))
        if self.intercept:
            matrix[:, 0] = 1.0
        x = matrix[:, int(self.intercept) : len(self)]
        np.subtract(block[:, : len(self.names)], self.centre, out=x)
        x /= self.deviation
        return matrix

    @property
    def back(self) -> Array:
        """``T`` of which ``params = T theta`` are the parameters of the columns as they are."""
        T = np.diag(np.append(np.ones(int(self.intercept)), 1 / self.deviation))
        if self.intercept:
            T[0, 1:] = -self.centre / self.deviation
        return T


def agreed_columns(
    agreements: Agreements,
    rows: Sequence[Rows],
    observations: int,
    mask: GaussianMask,
    names: tuple[str, ...],
    unit: Array,
    *,
    intercept: bool,
    also: Terms | None = None,
) -> tuple[list[Columns], Array]:
    """The columns, for each local party the same, and the means over all rows of what ``also`` makes of a block, which
    should be of size 1.

    Parameters
    ----------
    rows : sequence of Rows
        Of the local parties; their first columns are those of ``names``.
    observations : int
        ``N``, agreed on.
    unit : ndarray
        Public numbers that bring the columns to size 1.
    also : callable, optional
        ``(rows, k)`` numbers of a block whose means are agreed on with those of the columns.

    Returns
    -------
    columns : list of Columns
        One per local party.
    means : ndarray
        ``(local, k)``.
    """
    d, share = len(names), agreements.parties / observations

    def values(block: Array) -> Array:
        own = block[:, :d] / unit if intercept else block[:, :0]
        return own if also is None else np.column_stack([own, also(block)])

    found = np.zeros((len(rows), values(np.empty((0, rows[0].width))).shape[1]))
    if found.shape[1]:
        sums = np.array([part.sums(values) for part in rows])
        found = agreements.mean(share * sums, mask, degree=1 if also is None else 0, of="values of the columns")
    split = d if intercept else 0
    centres = found[:, :d] if intercept else np.zeros((len(rows), d))
    if not d:
        return [Columns(names, intercept, own, np.ones(0), np.zeros(0, bool)) for own in centres], found[:, split:]

    def squares(part: Rows, centre: Array) -> Array:
        return part.sums(lambda block: (block[:, :d] / unit - centre) ** 2)

    sums = np.array([squares(*own) for own in zip(rows, centres, strict=True)])
    moments = agreements.mean(share * sums, mask, degree=2, of="squares of the columns about their means")
    least = 100 * resolution(mask)
    held = np.hstack([np.sqrt(np.maximum(moments, least)), *([centres] if intercept else [])])
    about, votes = settled(agreements, held, moments <= least, of="what the columns are standardised by")
    flat = majority(agreements, votes)
    # A column that does not vary stays one of zeros, and is found by its information; it must not be divided by 0.
    deviation, centre = np.where(flat, 1.0, about[:d]), about[d:] if intercept else np.zeros(d)
    columns = Columns(names, intercept, centre * unit, deviation * unit, flat)
    return [columns] * len(rows), found[:, split:]


def numbers(d: int, also: int = 0) -> int:
    """How many real numbers of a party travel for ``d`` columns, at most."""
    return 2 * d + also


def counts(d: int) -> int:
    """How many integers of a party travel for ``d`` columns, at most."""
    return integers(2 * d, votes=d)
