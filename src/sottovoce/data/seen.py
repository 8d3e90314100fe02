"""What has been seen of a column, batch by batch, for a draft: what it may be, how far it goes, which texts it has."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from ..sums.units import DIGITS, decimals_of
from .arrow import cells_of
from .arrow.texts import is_text, stripped, without
from .batch import Array
from .cells import MISSING
from .column import WHOLE, Column
from .problems import Fault, looks

MANY = 30  # texts: with more it is free text, or an identifier
FEW = 5  # rows
KEPT = 100_000  # whole numbers, to see whether they are all different
POSSIBLE = {"boolean": Column("x", "boolean"), "number": Column("x", "number"), "date": Column("x", "date")}


class Seen:
    """Of one column. ``low`` and ``high`` are those of its numbers, or of its dates in days."""

    def __init__(self) -> None:
        self.possible = set(POSSIBLE)
        self.count = 0  # cells that are not missing
        self.whole = True
        self.low, self.high = math.inf, -math.inf
        self.codes: set[str] = set()  # texts that look like missing values
        self.texts: Counter[str] = Counter()
        self.texts_end = ""  # why they are not kept
        self._numbers: list[Array] = []
        self._decimals: int | None = 0  # of all numbers; None where some have more than 15 digits

    @property
    def decimals(self) -> int | None:
        """How many decimals its numbers have at most; None where more than 15 digits lie between the largest number and
        the last decimal."""
        if self._decimals is None or max(-self.low, self.high) * 10.0**self._decimals >= 10.0**DIGITS:
            return None
        return self._decimals

    def add(self, array: Any) -> None:
        """More cells of it."""
        import pyarrow as pa

        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if is_text(array.type):
            array = self._texts(array.cast(pa.large_string()))
        self.count += len(array) - int(np.count_nonzero(array.is_null(nan_is_null=pa.types.is_floating(array.type))))
        for kind in POSSIBLE:
            if kind in self.possible:
                self._try(kind, array)
        if not self.possible and not is_text(array.type):
            self.texts_end = "its cells are neither finite numbers nor dates nor texts"

    def different(self) -> int:
        """How many different whole numbers there are among the first."""
        return len(np.unique(np.concatenate(self._numbers))) if self._numbers else 0

    def all_different(self) -> bool:
        """Whether no whole number among the first comes twice."""
        return self.different() == sum(map(len, self._numbers))

    def _texts(self, array: Any) -> Any:
        """Counts texts, and gives them back without those that look like missing values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        array, fault = stripped(POSSIBLE["number"], array)
        if (fault == Fault.NOT_TEXT).any():
            self.texts_end = "it has texts that are not UTF-8"
        array = pc.utf8_normalize(without(array, fault), form="NFC")
        like = pc.is_in(pc.utf8_lower(array), value_set=pa.array([*MISSING, "nan"], pa.large_string()))
        self.codes.update(pc.unique(array.filter(like)).to_pylist())
        array = without(array, np.asarray(like).astype(np.uint8))
        if pc.any(pc.match_substring_regex(array, r"^[+-]?0\d")).as_py():
            self.possible.discard("number")  # 007 is none
        if not self.texts_end:
            counts = pc.value_counts(pc.drop_null(array))
            words = counts.field("values").slice(0, MANY + 1).to_pylist()
            for word, count in zip(words, counts.field("counts").slice(0, MANY + 1).to_pylist(), strict=True):
                self.texts[word] += count
            if len(self.texts) > MANY:
                like_others = looks(words[0])
                self.texts_end = f"it has more than {MANY} different texts, as free text and identifiers have" + (
                    f"; {like_others}" if like_others else ""
                )
                self.texts.clear()
        return array

    def _try(self, kind: str, array: Any) -> None:
        """Whether all cells may be of a kind; of numbers and dates, how far they go."""
        values, fault = cells_of(POSSIBLE[kind], array)
        if (fault > Fault.MISSING).any():
            self.possible.discard(kind)
            return
        values = values[fault == 0]
        if kind == "boolean" or not len(values):
            return
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        self.whole = self.whole and bool((values == np.floor(values)).all()) and self.high <= WHOLE >= -self.low
        if kind == "number" and self._decimals is not None:
            needed = decimals_of(_as_written(values, array.type))
            self._decimals = None if needed is None else max(needed, self._decimals)
        if kind == "number" and self.whole and (room := KEPT - sum(map(len, self._numbers))) > 0:
            self._numbers.append(values[:room])


def _as_written(values: Array, kind: Any) -> Array:
    """Numbers of fewer digits as their shortest decimals: 0.1 as a float32 is no decimal of 15 digits."""
    import pyarrow as pa

    return values.astype(np.float32).astype(str).astype(np.float64) if pa.types.is_float32(kind) else values
