"""A score against what came of it: the question that ROC curves and calibration share."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, Undetermined
from ...numerics.grid import equal_steps
from ...pdmm.modular_mask import Integers
from ...sums import Whole
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
        return equal_steps(*limits, self.bins)

    def happened(self, block: Array) -> Integers:
        """1 for a row that had the outcome, else 0."""
        return np.asarray(block[:, 0] == yes_of(self.schema[self.outcome]), dtype=np.int64)

    def places(self, block: Array) -> Integers:
        """The bin of each row."""
        return np.asarray(np.searchsorted(self.edges[1:-1], block[:, 1]))

    def cells(self, rows: Rows) -> Integers:
        """By bin, rows with the outcome, then those without."""
        return rows.totals(lambda block: self.counted(block)[None]).astype(np.int64)

    def counted(self, block: Array) -> Integers:
        """The same of a block."""
        return np.bincount(self.places(block) + self.bins * (1 - self.happened(block)), minlength=2 * self.bins)

    @property
    def counts_of(self) -> str:
        """What the counts are of, for people."""
        return f"rows by {self.outcome} in each of {self.bins} bins of {self.score}"

    def by_outcome(self, total: Whole) -> tuple[Integers, Integers]:
        """With and without the outcome, by bin, of all parties; refused where all rows are of one kind."""
        positives, negatives = total.astype(np.int64).reshape(2, self.bins)
        check_rows(positives + negatives)
        if not (positives.any() and negatives.any()):
            raise Undetermined(f"all rows of the parties have one level of {self.outcome!r}: there is nothing to tell.")
        return positives, negatives
