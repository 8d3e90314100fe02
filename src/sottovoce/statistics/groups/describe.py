"""What the columns of all parties look like, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import InvalidInput
from .cohort import Cohort
from .cohort_program import CohortAnalysis
from .columns import NUMBERS, day

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STATISTICS = ("mean", "sd", "25%", "50%", "75%")


@dataclass(frozen=True, eq=False, repr=False)
class Description(Cohort):
    """What ``Study.describe`` returns, besides the fields of ``Statistic``: of all rows that have a value in every
    column asked for. The smallest and the largest value are not shown: each is a person's.

    Attributes
    ----------
    names, types : tuple of str
        Of the columns.
    by : None
        Nothing groups the rows.
    groups : tuple of str
        ``("all",)``.
    n : ndarray of int
        ``(1,)``, the rows.
    mean, sd : ndarray
        ``(names, 1)``; NaN of categories.
    quartiles : ndarray
        ``(names, 1, 3)``, to within ``resolution``; NaN of categories.
    resolution : ndarray
        Of the quartiles of each column.
    level_of : ndarray of int
        For each level of a category the place of its column in ``names``.
    level_names : tuple of str
        Levels of categories, one after the other.
    level_counts : ndarray of int
        ``(level_names, 1)``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = {"age": {"type": "integer", "range": (0, 120)}, "ill": "boolean"}
    >>> tables = [{"age": [61, 58], "ill": [True, False]}, {"age": [40], "ill": [True]}, {"age": [], "ill": []}]
    >>> print(sv.Study(sv.Network.ring(3), tables, schema=schema).describe().summary())
    Description: 2 columns, 3 observations of 3 parties
    <BLANKLINE>
    column  level  count  percent  mean       sd  25%  50%  75%
    age                3             53  11.3578   40   58   61
    ill     false      1  33.3333
    ill     true       2  66.6667
    """

    title: ClassVar[str] = "Description"

    def _facts(self) -> str:
        return f"{len(self.names)} columns, {self.observations} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        rows: list[list[Any]] = []
        for name, kind in zip(self.names, self.types, strict=True):
            if kind in NUMBERS:
                rows.append([name, "", self.observations, None, *self._described(name, kind)])
                continue
            counts = zip(self.levels(name), self.counts(name)[:, 0].tolist(), strict=True)
            rows += [[name, level, count, 100 * count / self.observations, *[None] * 5] for level, count in counts]
        header = ["column", "level", "count", "percent", *STATISTICS]
        return {head: [row[k] for row in rows] for k, head in enumerate(header)}

    def _described(self, name: str, kind: str) -> list[Any]:
        mean, sd, quartiles = self._numbers(name)
        found = [mean[0], sd[0], *quartiles[0]]
        dated = [kind == "date" and statistic != "sd" for statistic in STATISTICS]
        told = zip((float(value) for value in found), dated, strict=True)
        return [None if np.isnan(value) else day(value).isoformat() if date else value for value, date in told]

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_description

        return plot_description(path, self)


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribeAnalysis(CohortAnalysis):
    """``quartiles``: whether to search for those of numbers, which must have a range then."""

    quartiles: bool = True

    type: ClassVar[str] = "describe"
    gives = Description

    def __post_init__(self) -> None:
        if self.by is not None:
            raise InvalidInput("by is for table_one. Leave it out.")
        if not isinstance(self.quartiles, bool):
            raise InvalidInput(f"quartiles must be true or false; got {self.quartiles!r}.")
        super().__post_init__()

    @property
    def quartered(self) -> tuple[str, ...]:
        found = [self.schema[self.described[k]] for k in self._numeric]
        return tuple(column.name for column in found if self.quartiles and column.limits is not None)
