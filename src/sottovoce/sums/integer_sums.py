"""Exact sums of whole numbers, and of their products, whatever the order, the blocks and the threads.

Numbers are cut into limbs of 20 bits, of which the last has the sign. A product of two limbs is at most ``2^40``, and
so many rows are taken at a time that every sum of them, in any order, is a whole number below ``2^53``: float64 holds
it exactly, and matrix products of limbs are what linear algebra libraries are fastest at. Python's integers take up
what was summed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.object_]  # Python integers
Int64 = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]

LIMB = 20
LOW_LIMB = (1 << LIMB) - 1
ROWS = 2**10  # whose products of limbs add up to at most 2^50, and whose limbs stay in the cache
CHUNKS = 2**12  # of so many rows, whose sums are below 2^63 together
WINDOW = 2**62  # terms are smaller


class IntegerSums:
    """Sums of the shape ``(k,)`` of terms, or ``(p, q)`` of products, which are never rounded.

    Parameters
    ----------
    shape : int or tuple of int
        ``k``, or ``(p, q)``.

    Examples
    --------
    >>> import numpy as np
    >>> sums = IntegerSums((2, 2))
    >>> columns = np.array([[2**40, 1], [2**40, -1]])
    >>> sums.add_products(columns, columns)
    >>> sums.value().tolist() == [[2**81, 0], [0, 2]]
    True
    """

    def __init__(self, shape: int | tuple[int, ...]) -> None:
        self.shape = (shape,) if isinstance(shape, int) else shape
        self.total: Whole = _zeros(self.shape)
        self._parts: dict[int, Int64] = {}  # by shift, what is not in the total yet
        self._chunks = 0  # that are in them

    def add(self, terms: npt.NDArray[np.int64] | Whole) -> None:
        """Add rows of terms ``(rows, k)``, each below ``2^62`` in size, or Python integers of any size."""
        for first in range(0, len(terms), ROWS):
            limbs, k = _limbs(terms[first : first + ROWS]), self.shape[0]
            sums = limbs.sum(axis=0)
            for place in range(limbs.shape[1] // max(1, k)):
                self._take(LIMB * place, sums[place * k : (place + 1) * k])
            self._count()

    def add_products(
        self, left: npt.NDArray[np.int64] | Whole, right: npt.NDArray[np.int64] | Whole, weight: Int64 | None = None
    ) -> None:
        """Add ``sum_r weight_r left_r' right_r`` of columns ``(rows, p)`` and ``(rows, q)``."""
        for first in range(0, len(left), ROWS):
            rows = slice(first, first + ROWS)
            rights = _limbs(right[rows])
            lefts = rights if left is right else _limbs(left[rows])
            if weight is not None:
                lefts = _multiplied(lefts, _limbs(weight[rows][:, None]), self.shape[0])
            self._add_chunk(lefts, rights)

    def _add_chunk(self, lefts: Array, rights: Array) -> None:
        p, q = self.shape
        found, places = lefts.T @ rights, lefts.shape[1] // max(1, p)
        for i in range(places):
            for j in range(rights.shape[1] // max(1, q)):
                self._take(LIMB * (i + j), found[i * p : (i + 1) * p, j * q : (j + 1) * q])
        self._count(places)

    def merge(self, other: IntegerSums) -> None:
        """Add the sums of other rows."""
        self.total = self.total + other.value()

    def value(self) -> Whole:
        """The sums so far."""
        self._flush()
        return self.total.copy()

    def _take(self, shift: int, part: Array) -> None:
        """Whole numbers below ``2^53``, times ``2^shift``."""
        if shift in self._parts:
            self._parts[shift] += part.astype(np.int64)
        else:
            self._parts[shift] = part.astype(np.int64)

    def _count(self, shared: int = 1) -> None:
        """``shared``: how many parts of one chunk may have one shift."""
        self._chunks += shared
        if self._chunks >= CHUNKS:
            self._flush()

    def _flush(self) -> None:
        for shift, part in self._parts.items():
            self.total = self.total + part.astype(object) * (1 << shift)
        self._parts, self._chunks = {}, 0


class ProductSums:
    """Several sums of products, of pairs of columns that are made of the same rows.

    Columns that are multiplied with others are apart from those that are not: every product of limbs takes its time.

    Parameters
    ----------
    shapes : sequence of tuple of int
        ``(p, q)`` of each.
    """

    def __init__(self, shapes: Sequence[tuple[int, int]]) -> None:
        self.sums = [IntegerSums(shape) for shape in shapes]

    def add(self, pairs: Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]) -> None:
        """Add the products of some rows."""
        for sums, (left, right) in zip(self.sums, pairs, strict=True):
            sums.add_products(left, right)

    def merge(self, other: ProductSums) -> None:
        """Add the sums of other rows."""
        for own, more in zip(self.sums, other.sums, strict=True):
            own.merge(more)

    def value(self) -> list[Whole]:
        """The sums so far."""
        return [sums.value() for sums in self.sums]


def square_parts(values: Int64) -> Int64:
    """Terms ``(rows, 3k)`` below ``2^62`` in size, of whose totals ``join_squares`` makes the sums of squares."""
    high = (values + (1 << 30)) >> 31
    low = values - (high << 31)
    return np.column_stack([high * high, high * low, low * low])


def join_squares(totals: Whole) -> Whole:
    """Sums of squares ``(k,)`` from the totals of ``square_parts``."""
    high, mixed, low = np.split(totals, 3)
    return np.asarray(high * (1 << 62) + mixed * (1 << 32) + low)


def _zeros(shape: tuple[int, ...]) -> Whole:
    zeros = np.empty(shape, object)
    zeros[...] = 0
    return zeros


def _limbs(values: npt.NDArray[np.int64] | Whole) -> Array:
    """Limbs side by side, the lowest first: ``values = sum_k limbs[:, k p : (k + 1) p] 2^(20 k)``."""
    rows, p = values.shape
    lowest, highest = (int(values.min()), int(values.max())) if values.size else (0, 0)
    last = max((~lowest).bit_length() if lowest < 0 else 0, highest.bit_length()) // LIMB
    across = values.strides[0] > values.strides[1]
    limbs = np.empty((rows, (last + 1) * p), order="C" if across else "F")
    for place in range(last):
        limbs[:, place * p : (place + 1) * p] = values & LOW_LIMB
        values = values >> LIMB
    limbs[:, last * p :] = values
    return limbs


def _multiplied(left: Array, weight: Array, p: int) -> Array:
    """Limbs of the products of ``p`` columns and a weight, from the limbs of both."""
    lefts, weights = np.split(left, max(1, left.shape[1] // max(1, p)), axis=1), weight.T[:, :, None]
    places = [np.zeros(lefts[0].shape) for _ in range(len(lefts) + len(weights) - 1)]
    for i, part in enumerate(lefts):
        for j, factor in enumerate(weights):
            places[i + j] += part * factor
    limbs, carry = [], np.zeros(lefts[0].shape, np.int64)
    for part in places:
        value = part.astype(np.int64) + carry
        limbs.append((value & LOW_LIMB).astype(np.float64))
        carry = value >> LIMB
    return np.hstack([*limbs, _limbs(carry)])
