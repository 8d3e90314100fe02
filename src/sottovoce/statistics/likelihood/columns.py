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

LOOKS = 3  # at a column that does not seem to vary, each in units that are some 5,000 times smaller
AGREEMENTS = 1 + 2 * LOOKS  # that ``agreed_columns`` takes, at most: half of them on counts
ROUGH = 100.0  # of tol: what may be open of a variance, in units of the largest
SAME = "what the columns are standardised by, which follow from these"


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
    means = found[:, :d] if intercept else np.zeros((len(rows), d))
    if not d:
        return [Columns(names, intercept, np.zeros(0), np.ones(0), np.zeros(0, bool))] * len(rows), found[:, split:]

    def squares(part: Rows, mean: Array) -> Array:
        return part.sums(lambda block: (block[:, :d] / unit - mean) ** 2)

    sums = np.array([squares(*own) for own in zip(rows, means, strict=True)])
    moments = agreements.mean(share * sums, mask, degree=2, of="squares of the columns about their means")
    centre, deviation, at = np.zeros(d), unit.copy(), np.arange(d)
    for looks in range(1, LOOKS + 1):
        shift, step, still = _steps(agreements, means, moments, mask, intercept=intercept)
        centre[at] += shift * deviation[at]
        deviation[at] *= step
        at = at[still]
        if not len(at) or looks == LOOKS:
            break
        means, moments = _looked_again(agreements, rows, share, mask, at, centre, deviation, intercept=intercept)
    # A column that does not vary stays one of zeros, and is found by its information; it must not be divided by 0.
    flat = np.isin(np.arange(d), at)
    columns = Columns(names, intercept, centre, np.where(flat, unit, deviation), flat)
    return [columns] * len(rows), found[:, split:]


def _steps(
    agreements: Agreements, means: Array, moments: Array, mask: GaussianMask, *, intercept: bool
) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Of columns as each local party holds their means and variances, the same at all: what is to be subtracted, what
    the rest is to be divided by, and which of them do not vary, to the precision of the agreement."""
    d, largest = moments.shape[1], np.abs(moments).max(axis=1, keepdims=True)
    least = np.maximum(100 * resolution(mask), ROUGH * agreements.tol * largest)
    held = np.hstack([np.sqrt(np.maximum(moments, least)), means[:, : d * intercept]])
    about, votes = settled(agreements, held, moments <= least, of=SAME)
    return about[d:] if intercept else np.zeros(d), about[:d], majority(agreements, votes)


def _looked_again(
    agreements: Agreements,
    rows: Sequence[Rows],
    share: float,
    mask: GaussianMask,
    at: npt.NDArray[np.int64],
    centre: Array,
    deviation: Array,
    *,
    intercept: bool,
) -> tuple[Array, Array]:
    """Means and variances, about the centres, of the columns that did not seem to vary: what was open before is 1."""

    def terms(block: Array) -> Array:
        z = (block[:, at] - centre[at]) / deviation[at]
        return np.hstack([z, z**2])

    sums = np.array([part.sums(terms) for part in rows])
    of = "values and squares of columns that hardly vary, in smaller units"
    means, squares = np.hsplit(agreements.mean(share * sums, mask, degree=0, of=of), 2)
    return (means, squares - means**2) if intercept else (np.zeros_like(means), squares)


def numbers(d: int, also: int = 0) -> int:
    """How many real numbers of a party travel for ``d`` columns, at most."""
    return 2 * d * LOOKS + also


def counts(d: int) -> int:
    """How many integers of a party travel for ``d`` columns, at most."""
    return LOOKS * integers(2 * d, votes=d)
