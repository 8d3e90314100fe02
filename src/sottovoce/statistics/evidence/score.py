"""A score against what came of it: the question that ROC curves and calibration share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, Undetermined
from ...pdmm.modular_mask import Integers, check_size
from ..agreements import Agreements
from ..analysis import Analysis, check_rows
from ..groups.columns import ranged_column, yes_of, yes_or_no

MOST_BINS = 100_000


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreAnalysis(Analysis, ABC):
    """``outcome``: a boolean, or a category of two levels, of which the reference stands for no. ``score``: a number
    with a public range. ``bins``: how many that range is divided into."""

    outcome: str = ""
    score: str = ""
    bins: int = 10

    least_bins: ClassVar[int] = 2

    def __post_init__(self) -> None:
        yes_or_no(self.schema, self.outcome, "outcome")
        ranged_column(self.schema, self.score, "score")
        integer = isinstance(self.bins, int | np.integer) and not isinstance(self.bins, bool)
        if not (integer and self.least_bins <= self.bins <= MOST_BINS):
            raise InvalidInput(f"bins must be an integer from {self.least_bins} to {MOST_BINS:,}; got {self.bins!r}.")
        object.__setattr__(self, "bins", int(self.bins))

    @property
    def selection(self) -> PlainColumns:
        return PlainColumns((self.outcome, self.score))

    @cached_property
    def edges(self) -> Array:
        """Of the bins, public; a bin has its upper edge, and the first both."""
        limits = self.schema[self.score].limits
        assert limits is not None
        return np.linspace(*limits, self.bins + 1)

    def happened(self, block: Array) -> Array:
        """1 for a row that had the outcome, else 0."""
        return np.asarray(block[:, 0] == yes_of(self.schema[self.outcome]), dtype=np.float64)

    def places(self, block: Array) -> Integers:
        """The bin of each row."""
        return np.asarray(np.searchsorted(self.edges[1:-1], block[:, 1]))

    def cells(self, rows: Rows) -> Integers:
        """By bin, rows with the outcome, then those without."""

        def of_block(block: Array) -> Array:
            place = self.places(block) + self.bins * (1 - self.happened(block).astype(np.int64))
            return np.bincount(place, minlength=2 * self.bins)[None].astype(np.float64)

        return np.rint(rows.sums(of_block)).astype(np.int64)

    def check(self, rows: Rows, parties: int) -> None:
        check_size(np.array([len(rows)]), self.counting, parties)

    def agreed_counts(self, agreements: Agreements, rows: Sequence[Rows]) -> tuple[Integers, Integers]:
        """With and without the outcome, by bin; refused where all rows are of one kind."""
        of = f"rows by {self.outcome} in each of {self.bins} bins of {self.score}"
        total = agreements.total(np.array([self.cells(part) for part in rows]), self.counting, of=of)
        positives, negatives = total.reshape(2, self.bins)
        check_rows(total)
        if not (positives.any() and negatives.any()):
            raise Undetermined(f"all rows of the parties have one level of {self.outcome!r}: there is nothing to tell.")
        return positives, negatives

    @property
    def counts(self) -> int:
        return 2 * self.bins
