"""Which fold of a cross-validation a row is in: a public function of its numbers, and of nothing else.

Rows have no numbers of their own that would survive another order or another cut into batches, so the fold follows from
what is in a row: its bits are mixed with a public seed, as a hash table would. Equal rows are in the same fold. Whoever
does not know a row cannot tell its fold.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...costs.base import Array

# The finaliser of SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
GOLDEN, FIRST, SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def fold_of(rows: Array, folds: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """The fold of each of some rows, ``0 .. folds - 1``.

    Parameters
    ----------
    rows : ndarray
        ``(rows, columns)``: the columns of the design but the intercept, the target, and the offset where there is one.
    folds : int
        How many there are.
    seed : int
        Public: another one gives other folds.

    Returns
    -------
    ndarray
        ``(rows,)``.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, 6.0]])
    >>> fold_of(rows, 3).tolist()
    [2, 0, 2, 2]
    """
    words = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # -0 is 0
    mixed = np.full(len(rows), seed, np.uint64)
    for column in words.T:
        mixed = _mixed((mixed + GOLDEN) ^ column)
    return (mixed % np.uint64(folds)).astype(np.int64)


def _mixed(word: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """All bits depend on all bits; products wrap modulo 2^64."""
    word = (word ^ (word >> np.uint64(30))) * FIRST
    word = (word ^ (word >> np.uint64(27))) * SECOND
    return np.asarray(word ^ (word >> np.uint64(31)))
