"""Sums of float64 without rounding: the same to the bit in any order, in any blocks, on any number of threads.

A sum is kept as a whole multiple of ``2^-1074``, of which every float64 is one: a superaccumulator, after R. M. Neal,
"Fast exact summation using small and large superaccumulators" (2015). Here a block of terms is cut by columns: what of
each term is a multiple of a chunk's unit is summed up as integers, and the rest goes on to the chunk below, until
nothing is left. Most data take two or three such passes, which are plain vector arithmetic.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput

Array = npt.NDArray[np.float64]
Chunks = npt.NDArray[np.int64]

BITS = 48  # of a chunk
CHUNKS = 46  # from 2^-1074 to 2^1134: more terms of 2^1024 than anybody has
UNITS = 1 << 1074  # in 1


class ExactSums:
    """``k`` sums of float64 that are rounded once, when their value is asked for.

    Parameters
    ----------
    k : int
        How many sums.

    Attributes
    ----------
    chunks : ndarray
        ``(k, 46)`` integers: a sum is ``2^-1074 sum_c chunks[c] 2^(48c)``, with ``-2^47 <= chunks[c] < 2^47``. Equal
        sums have equal chunks.

    Examples
    --------
    >>> import numpy as np
    >>> sums = ExactSums(1)
    >>> sums.add(np.array([[1e100], [1.0], [-1e100]]))
    >>> sums.value()
    array([1.])
    """

    def __init__(self, k: int) -> None:
        self.chunks: Chunks = np.zeros((k, CHUNKS), np.int64)

    def __len__(self) -> int:
        return len(self.chunks)

    def add(self, terms: Array) -> None:
        """Add rows of terms, ``(rows, k)``.

        Raises
        ------
        InvalidInput
            A term is infinite or NaN. Some terms may have been added by then.
        """
        from . import _exact_sum_kernels as kernels

        if terms.ndim != 2 or terms.shape[1] != len(self):
            raise InvalidInput(f"terms must be (rows, {len(self)}), a column for each sum; got {terms.shape}.")
        self._finite(kernels.add(_plain(terms), self.chunks))

    def add_products(self, left: Array, right: Array) -> None:
        """Add the products of the columns of ``left (rows, p)`` and ``right (rows, q)``, each rounded to float64.

        The sums are ``left_0 right_0, left_0 right_1, ...``, so ``k = pq``. Where ``left is right`` they are those with
        ``i <= j`` alone, and ``k = p(p+1)/2``.

        Raises
        ------
        InvalidInput
            A product is infinite or NaN. Some may have been added by then.
        """
        from . import _exact_sum_kernels as kernels

        p, q = left.shape[1], right.shape[1]
        k = p * (p + 1) // 2 if left is right else p * q
        if len(left) != len(right) or k != len(self):
            raise InvalidInput(f"{left.shape} and {right.shape} do not make {len(self)} sums of products.")
        self._finite(kernels.add_products(_plain(left), _plain(right), left is right, self.chunks))

    def _finite(self, failed: int) -> None:
        if failed >= 0:
            raise InvalidInput(
                f"sum {failed} of {len(self)} has a term that is infinite or not a number. "
                "Drop missing values first; bring columns with very large values to size 1 by a scale."
            )

    def merge(self, other: ExactSums) -> None:
        """Add other sums, term by term."""
        self.chunks += other.chunks
        for c in range(CHUNKS - 1):
            over = (self.chunks[:, c] + (1 << (BITS - 1))) >> BITS
            self.chunks[:, c] -= over << BITS
            self.chunks[:, c + 1] += over

    def value(self) -> Array:
        """The sums, ``(k,)``, each the float64 nearest to the exact one, ties to even; a sum of 0 is never -0."""
        return np.array([_nearest(chunks) for chunks in self.chunks.tolist()], dtype=np.float64)


def _plain(array: Array) -> Array:
    """One memory layout, and so one compiled variant; an array that is read-only would be another."""
    return np.require(array, np.float64, ["C", "W"])


def _nearest(chunks: list[int]) -> float:
    units = 0
    for chunk in reversed(chunks):
        units = (units << BITS) + chunk
    try:
        return units / UNITS  # Python rounds a quotient of integers once
    except OverflowError:
        return float("inf") if units > 0 else float("-inf")
